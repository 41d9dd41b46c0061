"""Quoted triples: kept as objects, rejected elsewhere, or reified."""

from __future__ import annotations

import io

import pyoxigraph as ox
import pytest

from jelly_plugins import ConversionSettings, TermError, convert, read_frames
from jelly_plugins.codec.text.ntriples import Notation
from jelly_plugins.oxigraph import load, read_quads

from .support import (
    DEFAULT_GRAPH,
    GENERALIZED,
    BlankNode,
    G,
    Iri,
    Literal,
    O,
    P,
    Quad,
    S,
    Triple,
    contents,
    jelly,
)

QUOTED = Triple(S, P, O)
TERM = "<<( <urn:s> <urn:p> <urn:o> )>>"
REIFIES = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies>"


def reified(*statements: Triple | Quad) -> set[str]:
    """What statements are read as, the one reifier called ``_:r``."""
    quads = list(read_quads(jelly(*statements), quoted_triples="reify"))
    reifiers = {quad.subject for quad in quads if str(quad.predicate) == REIFIES}
    assert len(reifiers) == 1
    (reifier,) = reifiers
    return {str(quad).replace(str(reifier), "_:r") for quad in quads}


@pytest.mark.parametrize("quoted_triples", ["reject", "reify"])
def test_objects_are_triple_terms(store: ox.Store, quoted_triples: str) -> None:
    data = jelly(Triple(S, P, QUOTED), Triple(S, P, Triple(S, P, QUOTED)))
    assert load(store, data, quoted_triples=quoted_triples) == 2  # type: ignore[arg-type]
    assert contents(store) == {
        f"<urn:s> <urn:p> {TERM}",
        f"<urn:s> <urn:p> <<( <urn:s> <urn:p> {TERM} )>>",
    }


@pytest.mark.parametrize("in_bytes", [True, False])
def test_a_rejected_term_is_named_with_its_frame(store: ox.Store, in_bytes: bool) -> None:
    statements = [Triple(S, P, Literal(str(number))) for number in range(5000)]
    statements[1000] = Triple(S, P, Iri("http://[bad"))
    data = jelly(*statements)
    source = data if in_bytes else io.BytesIO(data)
    with pytest.raises(TermError, match=r"the IRI 'http://\[bad'") as caught:
        load(store, source, quoted_triples="reify")
    frames = list(read_frames(data))
    [frame] = [each.index for each in frames if statements[1000] in each.statements]
    assert caught.value.frame == frame
    assert contents(store) == set()


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        (Triple(QUOTED, P, O), "as subject "),
        (Triple(S, P, Triple(QUOTED, P, O)), "as subject of a quoted triple "),
        (Quad(QUOTED, P, O, G), "as subject "),
    ],
)
def test_other_positions_are_rejected_with_a_way_out(
    store: ox.Store, statement: Triple | Quad, says: str
) -> None:
    store.add(ox.Quad(ox.NamedNode("urn:x"), ox.NamedNode("urn:x"), ox.Literal("x")))
    before = contents(store)
    with pytest.raises(TermError, match="a quoted triple " + says) as caught:
        load(store, jelly(statement))
    assert "quoted_triples='reify'" in str(caught.value)
    assert (caught.value.frame, caught.value.source) == (0, "<bytes>")
    assert caught.value.row is not None
    assert contents(store) == before


def test_a_subject_is_reified() -> None:
    assert reified(Triple(QUOTED, P, Literal("x"))) == {
        '_:r <urn:p> "x"',
        f"_:r {REIFIES} {TERM}",
    }


def test_a_quoted_triple_has_one_reifier() -> None:
    assert reified(Triple(QUOTED, P, Iri("urn:1")), Triple(S, P, O), Triple(QUOTED, P, S)) == {
        "<urn:s> <urn:p> <urn:o>",
        "_:r <urn:p> <urn:1>",
        "_:r <urn:p> <urn:s>",
        f"_:r {REIFIES} {TERM}",
    }


def test_a_reifier_is_stated_in_every_graph_that_has_it() -> None:
    statements = [Quad(QUOTED, P, O, graph) for graph in (G, DEFAULT_GRAPH, BlankNode("g"))]
    assert reified(*statements) == {
        f"_:r {rest}{graph}"
        for rest in ("<urn:p> <urn:o>", f"{REIFIES} {TERM}")
        for graph in (" <urn:g>", "", " _:g")
    }


def test_subjects_inside_quoted_triples_are_reified() -> None:
    assert reified(Triple(S, P, Triple(QUOTED, P, O))) == {
        "<urn:s> <urn:p> <<( _:r <urn:p> <urn:o> )>>",
        f"_:r {REIFIES} {TERM}",
    }
    quads = list(read_quads(jelly(Triple(Triple(QUOTED, P, QUOTED), P, O)), quoted_triples="reify"))
    inner, outer = (quad for quad in quads if str(quad.predicate) == REIFIES)
    assert f"<<( {inner.object} )>>" == TERM
    assert str(outer.object) == f"{inner.subject} <urn:p> {TERM}"
    (statement,) = (quad for quad in quads if quad.predicate == ox.NamedNode("urn:p"))
    assert statement.subject == outer.subject != inner.subject


def test_strings_are_not_quoted_triples() -> None:
    strings = [
        Literal('<<( <<( \\ " )>> <urn:x> .', langtag="en"),
        Literal("<<(\n<<( ", None, "urn:d"),
    ]
    statements = [Quad(S, P, Triple(S, P, text), G) for text in strings]
    data = jelly(*statements)
    expected = set(map(str, read_quads(data)))
    assert set(map(str, read_quads(data, quoted_triples="reify"))) == expected
    assert reified(*statements, Quad(Triple(S, P, strings[0]), P, strings[1], G)) >= expected


def test_different_quoted_triples_have_different_reifiers() -> None:
    others = [QUOTED, Triple(S, P, S), Triple(BlankNode("s"), P, O), Triple(S, P, Literal("urn:o"))]
    data = jelly(*(Triple(quoted, P, O) for quoted in others))
    quads = read_quads(data, quoted_triples="reify")
    assert len({quad.subject for quad in quads}) == len(others)


def test_generalized_quoted_triples_are_rejected_when_reifying() -> None:
    for statement in (
        Triple(S, QUOTED, O),
        Triple(Triple(S, QUOTED, O), P, O),
        Triple(Triple(Literal("x"), P, O), P, O),
        Triple(Literal("x"), P, O),
    ):
        with pytest.raises(TermError):
            list(read_quads(jelly(statement, **GENERALIZED), quoted_triples="reify"))


@pytest.mark.parametrize(("blank_nodes", "again"), [("keep", 2), ("fresh", 4)])
def test_loading_again(store: ox.Store, blank_nodes: str, again: int) -> None:
    data = jelly(Triple(QUOTED, P, O))
    for size in (2, again):
        count = load(
            store,
            data,
            quoted_triples="reify",
            blank_nodes=blank_nodes,  # type: ignore[arg-type]
        )
        assert (count, len(store)) == (1, size)


def test_reified_triples_go_into_the_graph_that_was_asked_for(store: ox.Store) -> None:
    graph = ox.NamedNode("urn:target")
    load(store, jelly(Triple(QUOTED, P, O)), quoted_triples="reify", graph=graph)
    assert {quad.graph_name for quad in store} == {graph}


@pytest.mark.parametrize("format_", ["jelly", "nt", "nq", "rt", "rpb"])
def test_quoted_subjects_of_all_formats_that_have_them_are_reified(format_: str) -> None:
    out = io.BytesIO()
    settings = ConversionSettings(notation=Notation.RDF_STAR)
    convert(
        jelly(Triple(QUOTED, P, O)),
        out,
        source_format="jelly",
        target_format=format_,
        settings=settings,
    )
    store = ox.Store()
    assert load(store, out.getvalue(), format=format_, quoted_triples="reify") == 1
    assert len(store) == 2
    [reifies] = store.quads_for_pattern(None, ox.NamedNode(REIFIES[1:-1]), None)
    assert len(list(store.quads_for_pattern(reifies.subject, None, None))) == 2
