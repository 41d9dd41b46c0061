"""Open sources of rows, read batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from itertools import chain
from typing import Final, TypeVar

from ..errors import JellyError, SourceError
from ..io.sources import CHUNK, Closing, Input, Source
from .names import DETECTION_BYTES, JenaFormat, detect, format_named, format_of

_T = TypeVar("_T")

#: Bytes that a reader is given at once, where the source has them ready.
_AT_ONCE: Final = 4 * CHUNK


class RowSource(Closing):
    """An open source of rows.

    :param src: path, URL, open binary file or bytes; compression is detected from the content.
    :param format: how rows are encoded, as :class:`JenaFormat` or its name; by default detected
        from the source's name or the content.
    :raises SourceError: the source cannot be opened, or is neither encoding.
    :raises ValueError: there is no format of that name.
    """

    def __init__(self, src: Source, format: JenaFormat | str | None) -> None:  # noqa: A002
        named = None if format is None else format_named(format)
        self._input = Input(src)
        self.name = self._input.name
        self._chunks = self._input.chunks()
        try:
            self.format = named or format_of(self.name) or self._detected()
        except BaseException:
            self._input.close()
            raise

    def _detected(self) -> JenaFormat:
        """The encoding by the first bytes; a source without any has no rows in either."""
        head = b""
        for chunk in self._chunks:
            head += chunk
            if len(head) >= DETECTION_BYTES:
                break
        self._chunks = chain((head,), self._chunks)
        found = detect(head[:DETECTION_BYTES])
        if found is None and head:
            raise SourceError(
                "neither RDF Thrift nor RDF Protobuf: name the format", source=self.name
            )
        return found or JenaFormat.THRIFT

    def batches(
        self, read: Callable[[bytes, int], tuple[_T, int]], end: Callable[[bytes], object]
    ) -> Generator[_T]:
        """What the rows contain; see :func:`batches`. An error names and closes the source."""
        try:
            yield from batches(self._chunks, read, end)
        except JellyError as error:
            raise error.locate(source=self.name) from error.__cause__
        finally:
            self._input.close()

    def close(self) -> None:
        """Close the source, if it was opened here."""
        self._input.close()


def batches(
    chunks: Iterable[bytes],
    read: Callable[[bytes, int], tuple[_T, int]],
    end: Callable[[bytes], object],
) -> Generator[_T]:
    """What rows contain that come in chunks.

    :param read: takes bytes and a position, and returns the contents of the rows from there on, and
        the position after the last whole one.
    :param end: takes the bytes after the last whole row.
    """
    pending: list[bytes] = []
    size = wanted = 0
    rest = b""
    for chunk in chain(chunks, (b"",)):
        pending.append(chunk)
        size += len(chunk)
        # Fast sources are read in large chunks: the overhead of a call is more work than a row. A
        # long row is not scanned again before there is twice as much of it.
        if chunk and (size < wanted or (size < _AT_ONCE and len(chunk) >= CHUNK)):
            continue
        rest = b"".join(pending)
        at = 0
        while at < len(rest):
            batch, stop = read(rest, at)
            yield batch
            if stop == at:
                break
            at = stop
        rest = rest[at:]
        pending = [rest]
        size = len(rest)
        wanted = 2 * size if size > CHUNK else 0
    end(rest)
