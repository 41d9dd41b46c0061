"""RDF Thrift and RDF Protobuf to chunks of N-Quads and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..codec import Limits
from ..io.chunks import Chunk, ChunkReader
from ..io.sinks import Writable
from ..io.sources import Source
from .codec import LineEncoder
from .names import JenaFormat
from .streams import JenaText


class RowsReader(ChunkReader):
    """Reads rows."""

    def __init__(
        self,
        src: Source,
        format: JenaFormat,  # noqa: A002
        *,
        limits: Limits,
        generalized: bool = False,
    ) -> None:
        self.namespaces = {}
        self._text = JenaText(
            src,
            format=format,
            generalized=generalized,
            on_namespace=self.namespaces.__setitem__,
            limits=limits,
        )
        self.name = self._text.name

    def __iter__(self) -> Iterator[Chunk]:
        for text in self._text:
            if text:
                yield Chunk(text, text.count(b"\n"))

    def close(self) -> None:
        self._text.close()


def write_rows(
    source: ChunkReader,
    out: Writable,
    format: JenaFormat,  # noqa: A002
    *,
    namespaces: bool,
    generalized: bool,
    limits: Limits,
    count: Callable[[int], object],
) -> None:
    """Write the statements of a source as rows.

    :param count: called with the number of statements of each chunk.
    """
    lines = LineEncoder(format, quads=True, generalized=generalized, limits=limits)
    declared: dict[str, str] = {}

    def declare() -> None:
        for prefix, iri in source.namespaces.items() if namespaces else ():
            if declared.get(prefix) != iri:
                out.write(lines.rows.add_prefix(prefix, iri))
                declared[prefix] = iri

    for chunk in source:
        declare()
        for rows in lines.encode(chunk.text):
            out.write(rows)
        count(chunk.statements)
    declare()
