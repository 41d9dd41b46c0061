"""Text for a store's bulk loader that is still being made: through a pipe that it opens as a file.

Of the ways into ``Store.bulk_load`` this is the one that keeps to bounded memory and to the speed
of ready bytes: a file object would be read in small pieces, each with the interpreter's lock taken.
The loader reads in a thread of its own; what makes the text runs in the caller's, so that a source,
callbacks and interrupts see nothing of it.

A text that breaks off must never be taken for a whole one. So the end of what there is, from its
last space on, is always held back: what the loader has is then a text that ends inside a statement,
which it refuses, until the last write makes it whole. Nothing needs to be sent for that when things
go wrong, which could go wrong too; it is enough that the pipe is closed, and it always is.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from io import FileIO

from pyoxigraph import RdfFormat, Store

from ..descriptors import large_pipe, name_of
from ..terms import GraphName


class _Loading:
    """A bulk load in a thread of its own, and the pipe that it reads."""

    def __init__(self, store: Store, format: RdfFormat, graph: GraphName | None) -> None:  # noqa: A002
        self._store = store
        self._format = format
        self._graph = graph
        self._reading, self._writing = map(FileIO, large_pipe(), "rw")
        self._thread = threading.Thread(target=self._load, name="jelly-bulk-load", daemon=True)
        #: What the loader raised.
        self.failure: BaseException | None = None
        self._over = threading.Event()
        try:
            self._thread.start()
        except BaseException:
            # If the thread runs all the same, it finds an empty text, and closes its own end.
            self._writing.close()
            if self._thread.ident is None:
                self._reading.close()
            raise

    def _load(self) -> None:
        # Once it is closed, a writer that waits for room is told that nobody reads any more.
        with self._reading:
            try:
                self._store.bulk_load(
                    path=name_of(self._reading.fileno()),
                    format=self._format,
                    to_graph=self._graph,
                    lenient=True,
                )
            except BaseException as error:
                self.failure = error
            finally:
                self._over.set()

    @property
    def is_over(self) -> bool:
        """Whether the loader has ended."""
        return self._over.is_set()

    def write(self, data: bytes) -> None:
        """Write all of it.

        :raises BrokenPipeError: the loader ended before.
        """
        view = memoryview(data)
        while view:
            view = view[os.write(self._writing.fileno(), view) :]

    def end(self) -> None:
        """Close the pipe and wait for the loader: it is not to be stopped. So what the handler of a
        signal raises meanwhile is raised behind that; a second one at once."""
        self._writing.close()
        try:
            self._over.wait()
        except BaseException:
            # To join again would not do: before Python 3.13, a join that was interrupted takes the
            # thread for one that has ended.
            self._over.wait()
            raise
        self._thread.join()


def bulk_load(
    store: Store,
    pieces: Iterable[bytes],
    format: RdfFormat,  # noqa: A002
    graph: GraphName | None,
    on_loaded: Callable[[], object],
) -> None:
    """Load a text, all of it or, whatever is raised, nothing: only what comes while the store does
    the last of it is raised when all is there.

    :param pieces: text whose statements are one to a line, end in a space, a dot and a line feed,
        and have no other space but between terms and in strings.
    :param graph: what becomes of the default graph; None leaves it.
    :param on_loaded: called once the store has all of it, before an interrupt is raised.
    :raises Exception: what ``pieces`` raises, or the store.
    """
    loading = _Loading(store, format, graph)
    held = b""
    whole = False
    try:
        for piece in pieces:
            cut = piece.rfind(b" ")
            if cut < 0:
                held += piece
                continue
            loading.write(held + piece[:cut])
            held = piece[cut:]
        whole = True
        loading.write(held)
    except BrokenPipeError:
        # The loader's failure is the reason; without one somebody else's pipe has broken.
        if loading.failure is None:
            raise
    finally:
        try:
            loading.end()
        finally:
            # Without the last write, the loader would have rejected the text.
            if whole and loading.is_over and loading.failure is None:
                on_loaded()
    if loading.failure is not None:
        raise loading.failure
