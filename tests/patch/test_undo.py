"""The patch that undoes another, and many patches as one."""

from __future__ import annotations

from typing import Any

import pytest

from jelly_plugins import DEFAULT_GRAPH, Iri, Literal, Quad, Triple
from jelly_plugins.errors import ChainError, LimitError, OrderError, StatementError
from jelly_plugins.patch import (
    ABORT,
    BEGIN,
    COMMIT,
    Operation,
    Patch,
    add,
    add_namespace,
    compact,
    delete,
    delete_namespace,
    diff,
    invert,
)
from jelly_plugins.patch.logs import invert_log

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


def test_triples_are_quads_in_the_default_graph() -> None:
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
