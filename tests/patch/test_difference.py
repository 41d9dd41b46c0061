"""What changed between two graphs, the patch that undoes another, and many patches as one."""

from __future__ import annotations

import gzip
import io
import itertools
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest
import rdflib

from jelly_plugins import DEFAULT_GRAPH, BlankNode, Iri, Literal, Quad, Triple, oxigraph, write
from jelly_plugins.codec import PhysicalType, StreamOptions
from jelly_plugins.errors import (
    ChainError,
    JellyError,
    LimitError,
    OrderError,
    StatementError,
    TermError,
)
from jelly_plugins.io.streams import write_bytes
from jelly_plugins.patch import (
    ABORT,
    BEGIN,
    COMMIT,
    Operation,
    OperationKind,
    Patch,
    add,
    add_namespace,
    compact,
    delete,
    delete_namespace,
    diff,
    invert,
    write_patches,
)
from jelly_plugins.patch.logs import invert_log

from ..ntriples import write_lines
from ..oxigraph.support import ODD_LABELS, data

S, P, OB, G = Iri("urn:s"), Iri("urn:p"), Iri("urn:o"), Iri("urn:g")
ONE, TWO, THREE = (Triple(S, P, Literal(str(number))) for number in (1, 2, 3))


def applied(patch: Patch, statements: Any) -> set[Any]:
    """Statements after a patch, each of whose operations must do something."""
    result = set(statements)
    for kind, value in patch:
        if kind is OperationKind.ADD:
            assert value not in result
            result.add(value)
        elif kind is OperationKind.DELETE:
            result.remove(value)
    return result


def test_deletions_then_additions_in_one_transaction() -> None:
    patch = diff([ONE, TWO], [TWO, THREE], id=S, prev=P)
    assert patch.operations == [BEGIN, delete(ONE), add(THREE), COMMIT]
    assert (patch.id, patch.prev) == (S, P)


def test_triples_are_quads_in_the_default_graph() -> None:
    in_graph = Quad(*TWO, G)
    patch = diff([ONE, TWO], [Quad(*ONE, DEFAULT_GRAPH), in_graph])
    assert patch.operations == [
        BEGIN,
        delete(Quad(*TWO, DEFAULT_GRAPH)),
        add(in_graph),
        COMMIT,
    ]


# Blank nodes


@pytest.mark.parametrize(
    "statement",
    [
        Triple(BlankNode("a"), P, OB),
        Quad(S, P, OB, BlankNode("a")),
        Triple(S, P, Triple(S, P, BlankNode("a"))),
    ],
)
def test_blank_nodes_are_rejected(statement: Any) -> None:
    for old, new in (([statement], []), ([], [statement])):
        with pytest.raises(TermError, match="blank node _:a"):
            diff(old, new, blank_nodes="reject")
    assert diff([ONE], [], blank_nodes="reject").operations[1] == delete(ONE)


def test_blank_nodes_are_canonicalized() -> None:
    def graph(one: str, other: str, *more: Any) -> list[Any]:
        return [
            Triple(BlankNode(one), P, BlankNode(other)),
            Triple(BlankNode(other), P, Literal("x")),
            Triple(S, P, Literal("01", datatype="http://www.w3.org/2001/XMLSchema#integer")),
            *more,
        ]

    assert diff(graph("a", "b"), graph("b", "a"), blank_nodes="canonicalize").operations == []
    patch = diff(graph("a", "b"), graph("x", "y", ONE), blank_nodes="canonicalize")
    assert patch.operations == [BEGIN, add(ONE), COMMIT]
    in_graph = [Quad(*each, BlankNode("g")) for each in graph("a", "b")]
    others = [Quad(*each, BlankNode("a")) for each in graph("g", "b")]
    assert diff(in_graph, others, blank_nodes="canonicalize").operations == []


def test_odd_labels_in_stores() -> None:
    for old, new in itertools.product((ODD_LABELS[::2], ODD_LABELS[1::2], []), repeat=2):
        stores = []
        quads = [
            [Quad(BlankNode(each), P, OB, BlankNode(each)) for each in labels]
            for labels in (old, old, new)
        ]
        for each in quads:
            stores.append(pyoxigraph.Store())
            oxigraph.load(stores[-1], write_bytes(each, options=OPTIONS), blank_nodes="keep")
        oxigraph.replay(stores[0], [diff(stores[0], stores[2])])
        # Nor does it matter on which side the store is.
        oxigraph.replay(stores[1], [diff(stores[1], quads[2])])
        assert data(stores[0]) == data(stores[1]) == data(stores[2])


def test_how_blank_nodes_are_treated_is_one_of_three() -> None:
    with pytest.raises(ValueError, match="blank_nodes must be one of"):
        diff([], [], blank_nodes="fresh")  # type: ignore[arg-type]


# Sources


def test_files(tmp_path: Path) -> None:
    jelly, text = tmp_path / "x.jelly", tmp_path / "x.nt.gz"
    write([ONE, TWO], jelly)
    text.write_bytes(gzip.compress(b"".join(write_lines([TWO, THREE]))))
    expected = [BEGIN, delete(ONE), add(THREE), COMMIT]
    for old in (jelly, str(jelly), jelly.read_bytes(), io.BytesIO(jelly.read_bytes())):
        assert diff(old, text).operations == expected
    with text.open("rb") as file:
        assert diff(jelly, file).operations == expected


OLD = b"".join(write_lines([ONE, TWO]))


def store_of(data: bytes) -> pyoxigraph.Store:
    store = pyoxigraph.Store()
    store.load(data, format=pyoxigraph.RdfFormat.N_TRIPLES)
    return store


@pytest.mark.parametrize(
    "make", [lambda data: rdflib.Graph().parse(data=data, format="nt"), store_of]
)
def test_graphs_and_stores(make: Any) -> None:
    [_, *changes, _] = diff(make(OLD), [TWO, THREE]).operations
    assert [(row.kind.code, row.value[:3]) for row in changes] == [("D", ONE), ("A", THREE)]
    dataset = rdflib.Dataset()
    dataset.graph(rdflib.URIRef("urn:g")).parse(data=OLD, format="nt")
    *deleted, one, two, _ = diff(make(OLD), dataset).operations
    assert set(deleted[1:]) == {delete(Quad(*each, DEFAULT_GRAPH)) for each in (ONE, TWO)}
    assert {one, two} == {add(Quad(*each, G)) for each in (ONE, TWO)}


@pytest.mark.parametrize(
    ("ending", "text"),
    [("jsonld", '{"@id": "s", "http://e/p": {"@id": "o"}}'), ("ttl", "<s> <http://e/p> <o> .")],
)
def test_relative_iris_of_files_need_a_base(tmp_path: Path, ending: str, text: str) -> None:
    file = tmp_path / f"new.{ending}"
    file.write_text(text)
    with pytest.raises(JellyError, match="base"):
        diff([], file)
    expected = Triple(Iri("http://e/s"), Iri("http://e/p"), Iri("http://e/o"))
    [_, (_, statement), _] = diff([], file, base="http://e/x").operations
    assert statement[:3] == expected


OPTIONS = StreamOptions(physical_type=PhysicalType.QUADS, rdf_star=True)
XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Literal("01", None, XSD + "integer"), Literal("1", None, XSD + "integer")),
        (Literal("1.50", None, XSD + "decimal"), Literal("+1.5", None, XSD + "decimal")),
        (Literal("1e0", None, XSD + "double"), Literal("1.0E0", None, XSD + "double")),
        (Literal("1e300", None, XSD + "float"), Literal("2e300", None, XSD + "float")),
        (Literal("0.1", None, XSD + "float"), Literal("0.10000000001", None, XSD + "float")),
        (Literal("1", None, XSD + "boolean"), Literal("true", None, XSD + "boolean")),
        (
            Literal("2026-01-01T00:00:00Z", None, XSD + "dateTime"),
            Literal("2026-01-01T00:00:00.0+00:00", None, XSD + "dateTime"),
        ),
        (
            Literal("P1D", None, XSD + "duration"),
            Literal("PT24H", None, XSD + "duration"),
        ),
        (Literal("x", "en"), Literal("x", "EN")),
    ],
)
@pytest.mark.parametrize("nested", [False, True])
def test_other_forms_of_what_stays(one: Literal, other: Literal, nested: bool) -> None:
    """A store holds both as one: what stays may not go with what is deleted."""
    deleted, stays = (
        Quad(S, P, Triple(S, P, term) if nested else term, G) for term in (one, other)
    )
    old, new = [deleted, stays, Quad(S, P, OB, G)], [stays]
    patch = diff(old, new)
    assert applied(patch, old) == set(new)
    assert applied(invert(patch), new) == set(old)
    for written in (patch, compact([patch])):
        store = pyoxigraph.Store()
        oxigraph.load(store, write_bytes(old, options=OPTIONS))
        log = io.BytesIO()
        write_patches([written], log)
        oxigraph.replay(store, log.getvalue())
        expected = pyoxigraph.Store()
        oxigraph.load(expected, write_bytes(new, options=OPTIONS))
        graph = pyoxigraph.NamedNode(G.value)
        found = set(store.quads_for_pattern(None, None, None, graph))
        assert found == set(expected)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Literal("1", None, XSD + "integer"), Literal("2", None, XSD + "integer")),
        (Literal("1", None, XSD + "integer"), Literal("1", None, XSD + "decimal")),
        (Literal("1.5", None, XSD + "double"), Literal("2", None, XSD + "double")),
        (Literal("x"), Literal("x", "en")),
        (Literal("01", None, "urn:integer"), Literal("1", None, "urn:integer")),
    ],
)
def test_other_values_stay_as_they_are(one: Literal, other: Literal) -> None:
    patch = diff([Triple(S, P, one), Triple(S, P, other)], [Triple(S, P, other)])
    assert patch.operations == [BEGIN, delete(Triple(S, P, one)), COMMIT]


# The patch that undoes another, and many patches as one


S, P, G, H = Iri("urn:s"), Iri("urn:p"), Iri("urn:g"), Iri("urn:h")
ONE, TWO, THREE = (Triple(S, P, Literal(str(number))) for number in (1, 2, 3))


# Undo


def test_the_inverse_goes_backwards() -> None:
    patch = Patch([BEGIN, add(ONE), delete(TWO), COMMIT, add(THREE)], [("id", S), ("label", P)])
    inverse = invert(patch, id=H)
    assert inverse.operations == [delete(THREE), BEGIN, add(TWO), delete(ONE), COMMIT]
    assert inverse.headers == [("id", H), ("prev", S)]
    assert invert(Patch([])).headers == []


def test_namespaces_are_undone() -> None:
    patch = Patch(
        [
            add_namespace("a", S, G),
            delete_namespace("b", P, G),
            delete_namespace("a", None, G),
            add_namespace("a", P, G),
        ]
    )
    assert invert(patch).operations == [
        delete_namespace("a", P, G),
        add_namespace("a", S, G),
        add_namespace("b", P, G),
        delete_namespace("a", S, G),
    ]
    with pytest.raises(StatementError, match="namespace x: is deleted without its IRI"):
        invert(Patch([add_namespace("x", S, H), delete_namespace("x", None, G)]))


@pytest.mark.parametrize(
    "operations", [[COMMIT], [BEGIN], [BEGIN, BEGIN, COMMIT], [BEGIN, COMMIT, ABORT]]
)
def test_order_is_checked(operations: list[Operation]) -> None:
    for make in (invert, lambda patch: compact([patch])):
        with pytest.raises(OrderError, match="transaction"):
            make(Patch(operations))


# Compaction


def test_the_ends_of_the_chain_are_kept() -> None:
    def patch(number: int, prev: int | None) -> Patch:
        headers: list[tuple[str, Any]] = [("id", Iri(f"urn:{number}")), ("label", S)]
        if prev is not None:
            headers.append(("prev", Iri(f"urn:{prev}")))
        return Patch(iter([add(ONE)]), headers)

    result = compact(patch(number, number - 1) for number in (5, 6, 7))
    assert result.headers == [("id", Iri("urn:7")), ("prev", Iri("urn:4"))]
    assert compact([patch(1, None), patch(2, None)]).headers == [("id", Iri("urn:2"))]
    message = "patch <urn:2>: it follows patch <urn:9>, but the one before it is <urn:1>"
    with pytest.raises(ChainError, match=message):
        compact([patch(1, 0), patch(2, 9)])


@pytest.mark.parametrize(
    "blank",
    [[], [BEGIN, COMMIT], [BEGIN, add(TWO), ABORT], [BEGIN, COMMIT, BEGIN, delete(TWO), ABORT]],
)
def test_patches_without_id_and_effect_do_not_break_the_chain(blank: list[Operation]) -> None:
    def patch(number: int | None, operations: list[Operation], *headers: tuple[str, Any]) -> Patch:
        id_ = [] if number is None else [("id", Iri(f"urn:{number}"))]
        return Patch(iter(operations), [*id_, *headers])

    def log(prev: int = 1) -> list[Patch]:
        follows = ("prev", Iri("urn:1"))
        return [
            patch(None, blank, ("label", S)),
            patch(1, [BEGIN, add(ONE), COMMIT], ("prev", Iri("urn:0"))),
            patch(None, blank),
            patch(None, blank, follows),
            patch(2, [BEGIN, add(TWO), COMMIT], ("prev", Iri(f"urn:{prev}"))),
            patch(None, blank),
        ]

    result = compact(log())
    assert result.headers == [("id", Iri("urn:2")), ("prev", Iri("urn:0"))]
    inverse = invert_log(log())
    assert [each.prev for each in inverse] == [Iri("urn:2"), inverse[0].id]
    for failing in (compact, invert_log):
        with pytest.raises(ChainError, match="patch <urn:2>: it follows patch <urn:9>, but the"):
            failing(log(prev=9))


def test_triples_and_quads_are_compacted_as_one() -> None:
    quad = Quad(*ONE, DEFAULT_GRAPH)
    for one, other in ((ONE, quad), (quad, ONE)):
        patches = [Patch([add(one)]), Patch([delete(other)])]
        assert compact(patches, exact=True).operations == []
        assert compact(patches).operations == [BEGIN, delete(other), COMMIT]
    patches = [Patch([add_namespace("a", S)]), Patch([delete_namespace("a", None, DEFAULT_GRAPH)])]
    assert [row.kind.code for row in compact(patches)] == ["TX", "PD", "TC"]


def test_what_repeats_is_undone_once() -> None:
    patch = Patch([add(ONE), add(ONE), delete(TWO), delete(TWO), add_namespace("a", S, G)])
    patch.operations.append(add_namespace("a", P, G))
    assert invert(patch).operations == [
        delete_namespace("a", P, G),
        add_namespace("a", S, G),
        delete_namespace("a", S, G),
        add(TWO),
        delete(ONE),
    ]
    log = [Patch([BEGIN, add(ONE), COMMIT], [("id", S)]), Patch([add(ONE)], [("id", P)])]
    second, first = invert_log(log)
    assert (second.operations, first.operations) == ([], [BEGIN, delete(ONE), COMMIT])


def test_nesting_that_would_end_the_process() -> None:
    deep = ONE
    for _ in range(100_000):
        deep = Triple(S, P, deep)
    patch = Patch([add(deep)])
    for function in (invert, lambda patch: compact([patch]), lambda _: diff([deep], [])):
        with pytest.raises(LimitError, match="nested more than"):
            function(patch)
