"""Quads and triples from anywhere as Jelly."""

from __future__ import annotations

import gzip
from io import BytesIO
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from jelly_plugins import (
    PhysicalType,
    StatementError,
    StreamOptions,
    TermError,
    read,
    read_frames,
)
from jelly_plugins.oxigraph import dump, encode_quads, load, read_quads, write_quads

S, P, G = ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), ox.NamedNode("urn:g")
TRIPLE = ox.Triple(S, P, ox.Literal("x", language="en"))
QUADS = [
    ox.Quad(S, P, ox.BlankNode("b"), G),
    ox.Quad(
        ox.BlankNode("b"), P, ox.Literal("1", datatype=ox.NamedNode("urn:d")), ox.BlankNode("g")
    ),
    ox.Quad(S, P, ox.Literal('"\\\n\u00e9')),
]


def written(quads: Any, **settings: Any) -> bytes:
    file = BytesIO()
    quads = list(quads)
    assert write_quads(quads, file, **settings) == len(quads)
    assert b"".join(encode_quads(quads, **settings)) == file.getvalue()
    return file.getvalue()


def test_quads() -> None:
    assert list(read_quads(written(QUADS))) == QUADS
    assert list(read_quads(written(iter(QUADS), frame_rows=1))) == QUADS
    assert list(read_quads(written([]))) == []


def test_triples() -> None:
    data = written([TRIPLE])
    assert list(read_quads(data)) == [ox.Quad(*TRIPLE)]
    with read_frames(data) as frames:
        assert frames.options.physical_type is PhysicalType.TRIPLES


def test_a_query(tmp_path: Path) -> None:
    store = ox.Store()
    store.extend(QUADS)
    path = tmp_path / "x.jelly.gz"
    found = store.query(
        "CONSTRUCT { ?o <urn:of> ?s } WHERE { GRAPH ?g { ?s ?p ?o } FILTER isBlank(?o) }"
    )
    assert write_quads(found, path) == 1
    assert gzip.decompress(path.read_bytes())
    assert load(ox.Store(), path) == 1


def test_a_store_as_dump_writes_it() -> None:
    store = ox.Store()
    store.extend(ox.Quad(S, P, ox.Literal(number)) for number in range(3000))
    file = BytesIO()
    dump(store, file)
    assert list(read(written(store))) == list(read(file.getvalue()))


def test_both_widths() -> None:
    default = ox.Quad(*TRIPLE)
    quads = StreamOptions.flat(PhysicalType.QUADS)
    triples = StreamOptions.flat(PhysicalType.TRIPLES)
    assert list(read_quads(written([TRIPLE, *QUADS], options=quads))) == [default, *QUADS]
    assert list(read_quads(written([default, TRIPLE], options=triples))) == [default, default]
    for statements in ([TRIPLE, *QUADS], QUADS):
        with pytest.raises(StatementError, match="no place for a named graph"):
            write_quads(statements, BytesIO(), options=triples)


def test_namespaces() -> None:
    with read_frames(written(QUADS, namespaces={"ex": "urn:"})) as frames:
        assert [(name, iri.value) for frame in frames for name, iri in frame.namespaces] == [
            ("ex", "urn:")
        ]


def test_what_jelly_cannot_express(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    directed = ox.Literal("x", language="en", direction=ox.BaseDirection.LTR)
    with pytest.raises(TermError, match="base direction"):
        write_quads([TRIPLE, ox.Triple(S, P, directed)], path)
    quoted = ox.Triple(S, P, TRIPLE)
    with pytest.raises(StatementError, match="rdf_star"):
        write_quads([TRIPLE, quoted], path)
    assert not path.exists()
    options = StreamOptions.flat(PhysicalType.TRIPLES, rdf_star=True)
    assert list(read_quads(written([quoted], options=options))) == [ox.Quad(*quoted)]


@pytest.mark.parametrize("wrong", ["x.nt", [1], [("urn:s", "urn:p", "urn:o")]])
def test_what_is_no_quads(wrong: Any) -> None:
    with pytest.raises(TypeError, match="is not an instance of"):
        write_quads(wrong, BytesIO())


def test_a_grouped_stream() -> None:
    options = StreamOptions(physical_type=PhysicalType.QUADS, logical_type=4)
    assert list(read_quads(written(QUADS, options=options))) == QUADS
