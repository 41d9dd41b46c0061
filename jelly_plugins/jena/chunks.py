"""RDF Thrift and RDF Protobuf to chunks of N-Quads and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..codec import DEFAULT_LIMITS, Limits
from ..io.chunks import Chunk, ChunkReader, reject_relative
from ..io.sinks import Writable
from ..io.sources import Source
from .codec import RowWriter, StatementReader
from .names import JenaFormat
from .sources import RowSource


class RowsReader(ChunkReader):
    """Reads rows as chunks.

    :param format: how rows are encoded; by default detected from the name or the content.
    :raises SourceError: the source cannot be opened, or is neither encoding.

    >>> with RowsReader(bytes.fromhex("1c180178180475726e3a0000")) as chunks:
    ...     list(chunks), chunks.namespaces
    ([], {'x': 'urn:'})
    """

    def __init__(
        self,
        src: Source,
        format: JenaFormat | None = None,  # noqa: A002
        *,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._source = RowSource(src, format)
        self._reader = StatementReader(self._source.format, limits=limits)
        self.name = self._source.name
        self.namespaces = {}

    def __iter__(self) -> Iterator[Chunk]:
        reader = self._reader
        before = 0
        for text in self._source.batches(reader.read_text, reader.end):
            self.namespaces.update(reader.declared)
            if text:
                yield Chunk(text, reader.statements - before)
                before = reader.statements

    def close(self) -> None:
        """Close the source, if it was opened here."""
        self._source.close()


def write_rows(
    source: ChunkReader,
    out: Writable,
    format: JenaFormat,  # noqa: A002
    *,
    namespaces: bool,
    limits: Limits,
    count: Callable[[int], object],
) -> None:
    """Write the statements of a source as rows.

    :param namespaces: whether to declare the prefixes of the source, each before the first chunk
        that follows it.
    :param count: called with the number of statements of each chunk.
    :raises JellyError: a statement cannot be written.
    """
    writer = RowWriter(format, limits=limits)
    declared: dict[str, str] = {}

    def declare() -> None:
        for prefix, iri in source.namespaces.items() if namespaces else ():
            if declared.get(prefix) != iri:
                out.write(writer.add_prefix(prefix, iri))
                declared[prefix] = iri

    for chunk in source:
        declare()
        if source.has_relative_iris:
            reject_relative(chunk.text)
        out.write(writer.add_lines(chunk.text))
        count(chunk.statements)
    declare()
