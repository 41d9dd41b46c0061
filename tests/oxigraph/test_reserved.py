"""What the package keeps for itself: rejected on the way in, invisible on the way out, and out of
reach for data that happen to have names like ours."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from jelly_plugins import (
    ChainError,
    Iri,
    Literal,
    LogicalType,
    PhysicalType,
    Quad,
    StreamOptions,
    TermError,
    convert,
    read,
    read_frames,
)
from jelly_plugins.oxigraph import BOOKKEEPING, count_quads, dump, load, positions, record, replay
from jelly_plugins.oxigraph.loading import SMALL
from jelly_plugins.patch import diff

from .support import G, O, P, S, contents, data, jelly, log, patch, transaction

RESERVED = Iri(BOOKKEEPING.value)
FORGED = Quad(
    Iri("urn:jelly-plugins:log:x"),
    Iri("urn:jelly-plugins:position:"),
    Literal("7 1 complete <urn:p:7>"),
    RESERVED,
)
MANY = [Quad(S, P, Literal(str(i)), G) for i in range(SMALL + 100)]


@pytest.mark.parametrize("before", [[], MANY], ids=["small", "bulk"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"blank_nodes": "keep"},
        {"quoted_triples": "reify"},
        {"concatenated": True},
        {"atomic": False},
        {"atomic": False, "blank_nodes": "keep"},
    ],
    ids=str,
)
def test_load(store: ox.Store, before: list[Quad], settings: dict[str, Any]) -> None:
    source = jelly(*before, FORGED, Quad(S, P, O, G))
    with pytest.raises(TermError, match=r"<bytes>: .*bookkeeping") as caught:
        load(store, source, **settings)
    assert caught.value.frame == max(frame.index for frame in read_frames(source))
    assert contents(store) == set()
    # In any other position it is an IRI as others.
    assert load(store, jelly(Quad(RESERVED, RESERVED, RESERVED, G)), **settings) == 1


@pytest.mark.parametrize("quoted_triples", ["reject", "reify"])
@pytest.mark.parametrize("format_", ["jelly", "nt", "ttl", "rt", "rpb"])
def test_load_into_it(store: ox.Store, format_: str, quoted_triples: Any) -> None:
    out = BytesIO()
    convert(b"<urn:s> <urn:p> <urn:o> .", out, source_format="nt", target_format=format_)
    source, settings = out.getvalue(), {"format": format_, "quoted_triples": quoted_triples}
    with pytest.raises(TermError, match="bookkeeping"):
        load(store, source, graph=BOOKKEEPING, **settings)
    assert contents(store) == set()
    load(store, source, graph=ox.NamedNode("urn:g"), **settings)
    assert len(store) == 1


def test_a_dump_with_it_can_be_loaded_with_it(store: ox.Store) -> None:
    whole = log(patch(1, "A <urn:s> <urn:p> <urn:o> .", "PA 'x' <urn:x> ."))
    replay(store, whole)
    file = BytesIO()
    dump(store, file, bookkeeping=True)
    for settings in ({}, {"blank_nodes": "keep"}, {"quoted_triples": "reify"}):
        copy = ox.Store()
        load(copy, file.getvalue(), bookkeeping=True, **settings)
        assert contents(copy) == contents(store)
        assert replay(copy, whole).patches == 0
        # Two positions in one log would contradict each other.
        with pytest.raises(ChainError, match="the store has positions"):
            load(copy, file.getvalue(), bookkeeping=True, **settings)
        assert contents(copy) == contents(store)


REJECTED = [
    "INSERT DATA { GRAPH <urn:jelly-plugins:bookkeeping> { <urn:s> <urn:p> 1 } }",
    "DELETE DATA { GRAPH <urn:jelly-plugins:bookkeeping> { <urn:s> <urn:p> 1 } }",
    "INSERT { GRAPH <urn:jelly-plugins:bookkeeping> { ?s <urn:p> 2 } } WHERE { ?s ?p ?o }",
    "INSERT { GRAPH ?g { ?s <urn:p> 2 } } "
    "WHERE { ?s ?p ?o BIND(<urn:jelly-plugins:bookkeeping> AS ?g) }",
    "ADD DEFAULT TO GRAPH <urn:jelly-plugins:bookkeeping>",
]
#: What reads all graphs there are.
READING = [
    "INSERT { GRAPH <urn:x> { ?s ?p ?o } } WHERE { GRAPH ?g { ?s ?p ?o } }",
    "INSERT { <urn:n> <urn:is> ?n } WHERE { SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } }",
    "INSERT { <urn:g> <urn:is> ?g } WHERE { GRAPH ?g { } }",
    "DELETE { GRAPH ?g { ?s ?p ?o } } WHERE { GRAPH ?g { ?s ?p ?o } }",
    "INSERT { <urn:yes> <urn:is> 1 } WHERE { GRAPH <urn:jelly-plugins:bookkeeping> { ?s ?p ?o } }",
    "COPY GRAPH <urn:jelly-plugins:bookkeeping> TO GRAPH <urn:x>",
    "MOVE SILENT GRAPH <urn:jelly-plugins:bookkeeping> TO GRAPH <urn:x>",
    "DROP ALL",
    "CLEAR NAMED",
    "DROP SILENT GRAPH <urn:jelly-plugins:bookkeeping>",
]


@pytest.mark.parametrize("update", REJECTED)
def test_recorded_updates_that_would_change_it(
    store: ox.Store, tmp_path: Path, update: str
) -> None:
    with record(store, tmp_path / "log.jellyp") as recorder:
        recorder.update("INSERT DATA { <urn:s> <urn:p> 1 }")
        before = contents(store)
        with pytest.raises((TermError, RuntimeError)):
            recorder.update(update)
        assert contents(store) == before


@pytest.mark.parametrize("update", READING)
def test_recorded_updates_do_not_see_it(store: ox.Store, tmp_path: Path, update: str) -> None:
    filling = "INSERT DATA { <urn:s> <urn:p> 1 GRAPH <urn:h> { <urn:s> <urn:p> 2 } }"
    expected = ox.Store()
    expected.update(filling)
    expected.update(update)
    with record(store, tmp_path / "log.jellyp") as recorder:
        recorder.update(filling)
        recorder.update(update)
    assert data(store) == {str(quad) for quad in expected}
    assert len(positions(store)) == 1
    # The log has no more of it.
    copy = ox.Store()
    replay(copy, tmp_path / "log.jellyp")
    assert data(copy) == data(store)


def test_it_is_not_seen_on_the_way_out(store: ox.Store) -> None:
    replay(store, log(patch(1, "A <urn:s> <urn:p> <urn:o> .", "PA 'x' <urn:x> .")))
    plain = ox.Store()
    plain.extend(quad for quad in store if quad.graph_name != BOOKKEEPING)
    assert count_quads(store) == 1
    assert dump(store, BytesIO(), bookkeeping=True) == len(store)
    assert dump(store, BytesIO(), graph=BOOKKEEPING) == len(store) - 1
    assert diff(plain, store).operations == diff(store, plain).operations == []
    for options in (
        None,
        StreamOptions(physical_type=PhysicalType.GRAPHS, logical_type=LogicalType.FLAT_QUADS),
    ):
        file = BytesIO()
        assert dump(store, file, options=options) == 1
        assert len(list(read(file.getvalue()))) == 1


#: Names of graphs that mean something during a call, as they were when users could know them.
NAMES = ["failed", "not-there", "unbound", "probe", "term", "variable:s", "value:0", "literal:0"]


@pytest.mark.parametrize("name", NAMES)
def test_other_names_of_ours_are_data_as_any(store: ox.Store, tmp_path: Path, name: str) -> None:
    iri = f"<urn:jelly-plugins:{name}>"
    # With blank nodes there are guards in the update.
    rows = [
        f"A {iri} {iri} {iri} {iri} .",
        f"A _:b {iri} {iri} {iri} .",
        f"A {iri} <urn:p> << _:b {iri} 01 >> .",
    ]
    assert replay(store, log(patch(1, transaction(*rows)))).operations == 3
    assert count_quads(store) == 3
    replay(store, log(patch(2, transaction(*(row.replace("A ", "D ", 1) for row in rows)))))
    assert data(store) == set()
    with record(store, tmp_path / "log.jellyp", name="recorded") as recorder:
        recorder.update(f"INSERT DATA {{ GRAPH {iri} {{ {iri} {iri} {iri} }} }}")
        recorder.update(
            f"DELETE {{ GRAPH ?g {{ ?s ?p ?o }} }} INSERT {{ {iri} ?p ?o . ?o {iri} {iri} }} "
            "WHERE { GRAPH ?g { ?s ?p ?o } }"
        )
    assert data(store) == {f"{iri} {iri} {iri}"}
