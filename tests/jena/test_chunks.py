"""Chunks of N-Quads from rows, and rows from chunks."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins.codec import DEFAULT_LIMITS
from jelly_plugins.errors import JellyError, SourceError, StatementError
from jelly_plugins.io.chunks import Chunk, ChunkReader
from jelly_plugins.jena import JenaFormat
from jelly_plugins.jena.streams import RowsReader, write_rows

from ..shared_data import shared
from .kernels import rows
from .test_rows import O, P, S, literal, name_of, prefix, quad, triple

FORMATS = list(JenaFormat)


class Given(ChunkReader):
    """Chunks that a test has made, each with the prefixes before it."""

    def __init__(self, *chunks: tuple[dict[str, str], bytes]) -> None:
        self.name = "test"
        self.namespaces = {}
        self._chunks = chunks

    def __iter__(self) -> Iterator[Chunk]:
        for namespaces, text in self._chunks:
            self.namespaces.update(namespaces)
            yield Chunk(text, text.count(b"\n"))

    def close(self) -> None:
        """Nothing is open."""


def written(source: ChunkReader, format: JenaFormat, *, namespaces: bool = True) -> bytes:  # noqa: A002
    out = io.BytesIO()
    counts: list[int] = []
    write_rows(
        source,
        out,
        format,
        namespaces=namespaces,
        limits=DEFAULT_LIMITS,
        count=counts.append,
    )
    return out.getvalue()


@pytest.mark.parametrize("format", FORMATS)
def test_chunks_of_rows(format: JenaFormat) -> None:  # noqa: A002
    directed = {"langtag": "en", "baseDirection": "ltr"}
    if format is JenaFormat.PROTOBUF:
        directed = {"langdir": "en--ltr"}
    values: list[Any] = [
        prefix("x", "urn:x:"),
        triple(S, P, literal("a\tb", **directed)),
        quad(S, P, ("tripleTerm", {"S": S, "P": P, "O": O}), name_of("x", "g")),
    ]
    data = rows(format, *values, *[triple(S, P, O)] * 10_000)
    with RowsReader(io.BytesIO(data), format) as reader:
        chunks = list(reader)
    assert reader.namespaces == {"x": "urn:x:"}
    assert len(chunks) > 2
    assert sum(chunk.statements for chunk in chunks) == 10_002
    for chunk in chunks:
        assert chunk.text.endswith(b" .\n")
        assert chunk.text.count(b"\n") == chunk.statements
    text = b"".join(chunk.text for chunk in chunks)
    assert text.startswith(
        b'<urn:s> <urn:p> "a\\tb"@en--ltr .\n'
        b"<urn:s> <urn:p> <<( <urn:s> <urn:p> <urn:o> )>> <urn:x:g> .\n"
    )
    again = written(Given(({"x": "urn:x:"}, text)), format)
    with RowsReader(again) as reader:
        assert b"".join(chunk.text for chunk in reader) == text


def test_prefixes_are_declared_before_their_chunk() -> None:
    line = b"<http://e/a> <http://e/b> <http://f/c> .\n"
    source = Given(
        ({"e": "http://e/"}, line), ({"f": "http://f/"}, line), ({"e": "http://g/"}, b"")
    )
    named = triple(name_of("e", "a"), name_of("e", "b"), ("iri", {"iri": "http://f/c"}))
    both = triple(name_of("e", "a"), name_of("e", "b"), name_of("f", "c"))
    expected = [prefix("e", "http://e/"), named, prefix("f", "http://f/"), both]
    assert written(source, JenaFormat.THRIFT) == rows(
        JenaFormat.THRIFT, *expected, prefix("e", "http://g/")
    )
    source = Given(({"e": "http://e/"}, line))
    assert b"\x18\x01e" not in written(source, JenaFormat.THRIFT, namespaces=False)


@pytest.mark.parametrize("format", FORMATS)
def test_errors_name_source_and_row(format: JenaFormat, tmp_path: Path) -> None:  # noqa: A002
    data = rows(format, triple(S, P, O), triple(literal("x"), P, O))
    path = tmp_path / f"x.{format}"
    path.write_bytes(data)
    with RowsReader(path) as reader, pytest.raises(StatementError) as caught:
        list(reader)
    assert (caught.value.source, caught.value.row) == (str(path), 1)
    path.write_bytes(data[:20])
    with RowsReader(path) as reader, pytest.raises(JellyError, match="ends inside a row"):
        list(reader)
    with pytest.raises(SourceError, match="neither RDF Thrift nor RDF Protobuf"):
        RowsReader(b"<urn:s> <urn:p> <urn:o> .\n")


@pytest.mark.parametrize("format", FORMATS)
def test_real_files(format: JenaFormat) -> None:  # noqa: A002
    path = shared(f"data/jena/so.{format}.gz")
    with RowsReader(path) as reader:
        text = b"".join(chunk.text for chunk in reader)
    assert text.count(b"\n") == 45_584
    assert written(Given(({}, text)), format) == gzip.decompress(path.read_bytes())
