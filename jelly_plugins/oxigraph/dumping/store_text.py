"""The text of a store while the store still writes it: in a thread of its own, into a pipe that it
opens as a file.

Handed over through a Python file object, the text is made and taken in turns. Here the store goes
on while the caller is at work with what it has: the one writes without the interpreter's lock, and
the other reads in its own thread, which is where callbacks, errors and interrupts belong.

A store ends a dump to a path by having the system put the file on the disk, which it cannot do for
a pipe: an error, after all is said. Which error that is, is not guessed but seen once, on the dump
of a quad that came out whole. With any other error a dump is not whole.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Iterator
from functools import cache
from io import FileIO
from typing import Final, NamedTuple, TypeAlias

from pyoxigraph import NamedNode, Quad, RdfFormat, Store

from ...reserved import private
from ..descriptors import POSSIBLE, large_pipe, name_of
from ..terms import GraphName

#: Bytes of text that are handed on at once.
PIECE: Final = 1 << 17

#: An error's type, and its number (the words for it depend on the language that is set), or words.
_Ending: TypeAlias = tuple[type[BaseException], str]

_NUMBER: Final = re.compile(r"\(os error \d+\)$")
_PROBE: Final = NamedNode(private("probe"))


class StoreText:
    """A store's text, in pieces; to be closed in any case.

    :param graph: write this graph only.
    """

    def __init__(self, store: Store, format: RdfFormat, graph: GraphName | None) -> None:  # noqa: A002
        self._store = store
        self._format = format
        self._graph = graph
        self._reading: FileIO | None = None
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    def pieces(self) -> Iterator[bytes]:
        """All of it.

        :raises Exception: what the store raises; the pieces that came before are not all then.
        """
        reading, writing = map(FileIO, large_pipe(), "rw")
        self._reading = reading
        self._thread = threading.Thread(
            target=self._dump, args=(writing,), name="jelly-dump", daemon=True
        )
        try:
            self._thread.start()
        except RuntimeError:
            writing.close()
            raise
        while piece := _piece(reading.fileno()):
            yield piece
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Stop, at once where not all was read."""
        if self._reading is not None:
            # What the store writes next fails.
            self._reading.close()
        if self._thread is not None and self._thread.ident is not None:
            self._thread.join()

    def _dump(self, writing: FileIO) -> None:
        # It is closed nowhere else: what the store opens by its number might be another file then.
        with writing:
            try:
                _have_errors_for_signals()
                self._store.dump(name_of(writing.fileno()), self._format, from_graph=self._graph)
            except BaseException as error:
                if _ending_of(error) != _probe().ending:
                    # Without the frames, which would keep a store open that nobody has any more.
                    self._failure = error.with_traceback(None)


def is_possible() -> bool:
    """Whether stores write to pipes here."""
    return POSSIBLE and _probe().works


class _Probe(NamedTuple):
    """What came of a dump to a pipe."""

    works: bool
    ending: _Ending | None


@cache
def _probe() -> _Probe:
    store = Store()
    store.add(Quad(_PROBE, _PROBE, _PROBE))
    expected = store.dump(format=RdfFormat.N_QUADS) or b""
    ending = None
    try:
        reading, writing = map(FileIO, os.pipe(), "rw")
    except OSError:
        return _Probe(False, None)
    with reading:
        with writing:
            try:
                store.dump(name_of(writing.fileno()), RdfFormat.N_QUADS)
            except OSError as error:
                ending = _ending_of(error)
        return _Probe(reading.read(2 * len(expected)) == expected, ending)


def _piece(descriptor: int) -> bytes:
    parts = []
    size = 0
    while size < PIECE and (part := os.read(descriptor, PIECE - size)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _ending_of(error: BaseException) -> _Ending:
    words = str(error)
    number = _NUMBER.search(words)
    return type(error), number[0] if number else words


def _have_errors_for_signals() -> None:
    """Have writing to a pipe that nobody reads be an error in this thread: where a program has
    asked for the signal's default, it would be the end of the process."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPIPE])
