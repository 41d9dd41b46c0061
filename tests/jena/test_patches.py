"""Binary RDF Patch: comparison with RDF Patch text and Jelly-Patch, and rejected input."""

from __future__ import annotations

import io
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import BlankNode, Iri, Literal, Quad, Triple, TruncatedError
from jelly_plugins.codec import DEFAULT_GRAPH, PatchStatementType
from jelly_plugins.errors import JellyError, OrderError, SourceError, StatementError, WireError
from jelly_plugins.jena import JenaFormat, write
from jelly_plugins.patch import (
    BEGIN,
    COMMIT,
    END,
    PatchFormat,
    PatchReader,
    add,
    add_namespace,
    delete,
    delete_namespace,
    header,
)
from jelly_plugins.patch.writer import write_rows

from ..fuzz.streams import damaged

TRP = PatchFormat.RDF_PATCH_THRIFT
S, P, O, G = (Iri(f"urn:{name}") for name in "spog")  # noqa: E741
ROWS = [
    header("id", Iri("urn:1")),
    header("label", Literal("é", "en")),
    BEGIN,
    add_namespace("x", Iri("urn:x:"), DEFAULT_GRAPH),
    add_namespace("", Iri("urn:y:"), G),
    delete_namespace("x", None, DEFAULT_GRAPH),
    add(Quad(S, P, Triple(S, P, Literal("1", None, "urn:d")), DEFAULT_GRAPH)),
    delete(Quad(BlankNode("b"), P, Literal("x", "ar--rtl"), G)),
    COMMIT,
    END,
    header("id", Iri("urn:2")),
    header("prev", Iri("urn:1")),
    add(Quad(S, P, O, DEFAULT_GRAPH)),
    END,
]


def written(rows: Any, **settings: Any) -> bytes:
    file = io.BytesIO()
    write_rows(rows, file, format=TRP, **settings)
    return file.getvalue()


def test_there_and_back() -> None:
    data = written(ROWS)
    with PatchReader(data) as reader:
        assert list(reader) == ROWS
        assert reader.format is TRP
    # The end of the stream ends the last patch; a mark ends each of the others.
    assert data.count(bytes.fromhex("650600")) == 1


def test_patches_of_triples() -> None:
    rows = [BEGIN, add(Triple(S, P, O)), add_namespace("x", Iri("urn:")), COMMIT, END]
    data = written(rows)
    triples = PatchStatementType.TRIPLES
    assert list(PatchReader(data, statement_type=triples)) == rows
    quads = list(PatchReader(data))
    assert quads[1] == add(Quad(S, P, O, DEFAULT_GRAPH))
    with pytest.raises(StatementError, match="patch of triples") as caught:
        list(PatchReader(written(ROWS[2:]), statement_type=triples))
    assert caught.value.row == 2


def test_headers_open_patches() -> None:
    # Without END between the patches, a header begins a new patch.
    rows = [header("id", Iri("urn:1")), add(Quad(S, P, O, DEFAULT_GRAPH))]
    data = written([*rows, END]) * 2
    assert [row.kind.code for row in PatchReader(data)] == ["H", "A", "Z", "H", "A", "Z"]


@pytest.mark.parametrize(
    ("data", "error", "row"),
    [
        ("650200", OrderError, 0),
        ("650000650000", OrderError, 1),
        ("650000650600", OrderError, 1),
        ("650800", WireError, 0),
        ("65000065", TruncatedError, 1),
        ("650000", TruncatedError, 1),
        ("7500", WireError, 0),
        ("650066", WireError, 0),
    ],
)
def test_invalid_patches(data: str, error: type[JellyError], row: int) -> None:
    with pytest.raises(error) as caught:
        list(PatchReader(bytes.fromhex(data), format=TRP))
    assert caught.value.row == row


def test_the_iri_of_a_deleted_namespace_is_not_written() -> None:
    rows = [BEGIN, delete_namespace("x"), COMMIT, END]
    assert written([BEGIN, delete_namespace("x", Iri("urn:")), COMMIT, END]) == written(rows)


def test_patches_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(StatementError, match="without an IRI"):
        written([BEGIN, add_namespace("x", None), COMMIT, END])
    from pyoxigraph import Store

    from jelly_plugins.oxigraph import record

    with pytest.raises(SourceError, match="recorded"), record(Store(), tmp_path / "x.trp"):
        pass


def test_rdf_thrift_is_not_a_patch(tmp_path: Path) -> None:
    path = tmp_path / "x.rt"
    write([Triple(S, P, O)], path, format=JenaFormat.THRIFT)
    with pytest.raises(JellyError):
        list(PatchReader(path))


def test_mutated_patches_end_in_one_error() -> None:
    draw = random.Random(4)
    good = written(ROWS)
    for _ in range(500):
        with suppress(JellyError):
            list(PatchReader(damaged(draw, good), format=TRP))
