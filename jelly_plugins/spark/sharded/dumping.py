"""Dump several stores as one Jelly-RDF stream, each through the text that Oxigraph writes.

Each store becomes a section of the stream that begins at a restart point. A section is therefore
independent of earlier ones, and several are written in parallel, to temporary files. Memory does
not grow, and the stream does not depend on the number of threads. No Spark.
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
from ...io.names import check_jelly_name
from ...io.progress import Steps
from ...io.sinks import Destination, Writable, open_output
from ...oxigraph.dumping.store_reader import encode_text

#: Default maximum of threads. Each starts another one, in which a store writes its text.
MOST_THREADS: Final = 8

#: A statement for a first frame, which is discarded: the next frame is then a restart point.
_BEFORE: Final = b"<urn:s> <urn:p> <urn:o> .\n"

#: Converts exceptions of a store to errors of this library, given the store's number.
Reading = Callable[[int], AbstractContextManager[None]]


def default_threads() -> int:
    """Return the number of processors available to this process, up to a maximum."""
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

    :param numbers: numbers of the stores, in order.
    :param store: opens a store; called in this thread.
    :param reading: converts exceptions of a store.
    :param dst: where to write.
    :param options: options of the stream.
    :param limits: limits of the encoder.
    :param threads: number of stores to read in parallel; at least 1.
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
                encode_text(opened, encoder, None, watched, Steps(None))
        except Exception:
            if watched.failure is not None:
                # The output failed, not the store.
                raise watched.failure from None
            raise
        return encoder.statements - before

    check_jelly_name(dst)
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
    """Yield sections with their counts, in order; at most two per thread exist at once."""

    stop = Event()

    def make(number: int, opened: Store) -> tuple[int, IO[bytes]]:
        file = TemporaryFile()  # noqa: SIM115  (the caller closes it)
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
            # After an error, or if the caller stops, no section is needed.
            stop.set()
            pool.shutdown(cancel_futures=True)
            for each in waiting:
                if not each.cancelled() and each.exception() is None:
                    each.result()[1].close()


class _Stopping:
    """An output that raises once the dump is cancelled."""

    def __init__(self, out: Writable, stop: Event) -> None:
        self._out = out
        self._stop = stop

    def write(self, data: Any, /) -> Any:
        if self._stop.is_set():
            raise CancelledError
        return self._out.write(data)


class _Watched:
    """An output that records why it could not be written."""

    def __init__(self, out: Writable) -> None:
        self._out = out
        self.failure: BaseException | None = None

    def write(self, data: Any, /) -> Any:
        try:
            return self._out.write(data)
        except BaseException as error:
            self.failure = error
            raise
