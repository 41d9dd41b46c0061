"""Several stores as one Jelly-RDF stream, each by way of the text that it writes itself.

Each store is a part of the stream that begins at a restart point, so that it says nothing of what
stands before it, and can be made while others are. Parts that are made ahead wait in temporary
files; so memory does not grow, and the stream is the same whatever the number of threads is. No
Spark.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from tempfile import TemporaryFile
from threading import Event
from typing import IO, Any, Final

from pyoxigraph import Store

from ...codec import Limits, StreamOptions, TextEncoder
from ...io.sinks import Destination, Writable, open_output
from ...oxigraph.dumping.text_dump import TextWriting

#: Threads, at most, unless the caller says more. Each is joined by one in which a store writes.
MOST_THREADS: Final = 8

#: A statement for a frame of its own, which is left out: what follows is a restart point.
_BEFORE: Final = b"<urn:s> <urn:p> <urn:o> .\n"

#: Makes errors of the library of what a store raises, given its number.
Reading = Callable[[int], AbstractContextManager[None]]


def default_threads() -> int:
    """As many as there are processors for this process, within reason."""
    return min(
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1, MOST_THREADS
    )


def dump_stores(
    numbers: Sequence[int],
    store: Callable[[int], Store],
    reading: Reading,
    dst: Destination,
    *,
    options: StreamOptions,
    limits: Limits,
    threads: int,
) -> int:
    """Write stores, one after the other.

    :param numbers: of the stores, in order.
    :param store: opens one; called in this thread.
    :param threads: stores that are read at once; at least 1.
    :return: number of statements.
    """

    def part(number: int, opened: Store, out: Writable) -> int:
        encoder = TextEncoder(options, limits=limits)
        before = 0
        if number != numbers[0]:
            encoder.feed(_BEFORE)
            encoder.flush()
            encoder.restart()
            before = encoder.statements
        watched = _Watched(out)
        try:
            with reading(number):
                TextWriting(opened, encoder, None, None).write(watched)
        except Exception:
            if watched.failure is not None:
                # It is no fault of the store.
                raise watched.failure from None
            raise
        return encoder.statements - before

    with open_output(dst) as out:
        if threads == 1 or len(numbers) == 1:
            return sum(part(number, store(number), out) for number in numbers)
        written = 0
        with closing(_made_ahead(part, numbers, store, threads)) as parts:
            for count, file in parts:
                with file:
                    shutil.copyfileobj(file, out, 1 << 20)
                written += count
        return written


def _made_ahead(
    part: Callable[[int, Store, Writable], int],
    numbers: Iterable[int],
    store: Callable[[int], Store],
    threads: int,
) -> Generator[tuple[int, IO[bytes]], None, None]:
    """Parts with their counts, in order; there are never more of them than twice the threads."""

    stop = Event()

    def make(number: int, opened: Store) -> tuple[int, IO[bytes]]:
        file = TemporaryFile()  # noqa: SIM115  (whoever takes the part closes it)
        try:
            count = part(number, opened, _Stopping(file, stop))
            file.seek(0)
        except BaseException:
            file.close()
            raise
        return count, file

    waiting: list[Future[tuple[int, IO[bytes]]]] = []
    with ThreadPoolExecutor(threads, thread_name_prefix="jelly-dump") as pool:
        try:
            for number in numbers:
                waiting.append(pool.submit(make, number, store(number)))
                if len(waiting) == 2 * threads:
                    yield waiting.pop(0).result()
            while waiting:
                yield waiting.pop(0).result()
        finally:
            # Nobody waits for what nobody takes.
            stop.set()
            pool.shutdown(cancel_futures=True)
            for each in waiting:
                if not each.cancelled() and each.exception() is None:
                    each.result()[1].close()


class _Stopping:
    """An output that takes nothing any more once all is given up."""

    def __init__(self, out: Writable, stop: Event) -> None:
        self._out = out
        self._stop = stop

    def write(self, data: Any, /) -> Any:
        if self._stop.is_set():
            raise CancelledError
        return self._out.write(data)


class _Watched:
    """An output that remembers why it could not be written."""

    def __init__(self, out: Writable) -> None:
        self._out = out
        self.failure: BaseException | None = None

    def write(self, data: Any, /) -> Any:
        try:
            return self._out.write(data)
        except BaseException as error:
            self.failure = error
            raise
