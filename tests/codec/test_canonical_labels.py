"""Labels of blank nodes that depend on the statements alone."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from jelly_plugins import DEFAULT_GRAPH, BlankNode, Iri, Literal, Quad, Triple
from jelly_plugins.codec import describe
from jelly_plugins.codec.common.canonical_labels import canonical_labels
from jelly_plugins.errors import LimitError
from jelly_plugins.tools.compare import compare_datasets

P, Q, OB = Iri("urn:p"), Iri("urn:q"), Iri("urn:o")


def edges(pairs: Iterable[tuple[Any, Any]]) -> list[Triple[Any, Any, Any]]:
    return [Triple(BlankNode(f"{one}"), P, BlankNode(f"{other}")) for one, other in pairs]


def ring(nodes: int, name: str = "") -> list[Any]:
    return edges((f"{name}{at}", f"{name}{(at + 1) % nodes}") for at in range(nodes))


def two_way_chain(nodes: int) -> list[Any]:
    return edges(pair for at in range(nodes - 1) for pair in ((at, at + 1), (at + 1, at)))


def tree(depth: int, root: str = "t") -> Iterator[tuple[str, str]]:
    for child in ("l", "r") if depth else ():
        yield root, root + child
        yield from tree(depth - 1, root + child)


def renamed(term: Any, labels: dict[str, str]) -> Any:
    if isinstance(term, BlankNode):
        return BlankNode(labels[term.label])
    if isinstance(term, Triple | Quad):
        return type(term)(*(renamed(part, labels) for part in term))  # type: ignore[call-arg]
    return term


def canonical(statements: list[Any]) -> set[Any]:
    labels = canonical_labels(statements, describe)
    assert len(set(labels.values())) == len(labels)
    return {renamed(each, labels) for each in statements}


def shuffled(statements: list[Any], seed: int) -> list[Any]:
    made = random.Random(seed)
    labels = list(canonical_labels(statements, describe))
    others = [f"x{number}" for number in range(len(labels))]
    made.shuffle(others)
    result = [renamed(each, dict(zip(labels, others, strict=True))) for each in statements]
    made.shuffle(result)
    return result


@pytest.mark.parametrize(
    "statements",
    [
        ring(100),
        ring(1000),
        [*ring(20, "a"), *ring(20, "b"), *ring(21, "c")],
        edges((at, at + 1) for at in range(2000)),
        edges(("hub", at) for at in range(2000)),
        edges(tree(9)),
        two_way_chain(501),
        two_way_chain(1200),
        edges(((x, y), (x, (y + 1) % 8)) for x in range(8) for y in range(8)),
        edges((a, b) for a in range(5) for b in range(5) if a != b),
        [Quad(BlankNode("a"), P, BlankNode("b"), BlankNode("a")), Quad(OB, P, OB, BlankNode("b"))],
        [Triple(BlankNode("a"), P, Triple(BlankNode("b"), P, BlankNode("a")))],
    ],
)
def test_isomorphic_statements_have_the_same_labels(statements: list[Any]) -> None:
    assert canonical(shuffled(statements, 7)) == canonical(statements)


def test_labels_agree_with_isomorphism() -> None:
    made = random.Random(3)

    def some(number: int) -> list[Any]:
        terms: list[Any] = [BlankNode(str(at)) for at in range(4)] + [OB]
        return [
            Triple(made.choice(terms), made.choice((P, Q)), made.choice(terms))
            for _ in range(number)
        ]

    equal = 0
    for number in range(1500):
        one, other = some(2 + number % 4), some(2 + number % 4)
        assert canonical(shuffled(one, number)) == canonical(one)
        same = canonical(one) == canonical(other)
        assert same is bool(compare_datasets(one, other))
        equal += same
    assert equal > 3


def test_a_label_does_not_depend_on_other_components() -> None:
    one = [Triple(BlankNode("a"), P, Literal("1"))]
    alone = canonical_labels(one, describe)["a"]
    more = canonical_labels([Triple(BlankNode("b"), P, Literal("2")), *one], describe)
    assert more["a"] == alone
    assert more["b"] != alone


def test_labels_are_those_of_all_versions() -> None:
    """Stores contain these labels: with another method, patches would not match them."""
    statements = [
        Triple(BlankNode("a"), P, BlankNode("b")),
        Triple(BlankNode("b"), P, Literal("x", "en-GB")),
        Triple(BlankNode("c"), P, Literal("1", datatype="urn:d")),
    ]
    assert canonical_labels(statements, describe) == {
        "a": "b1eeb541e73627af9c420dc546103e79",
        "b": "b4bc327fa9a1c4137aeca7fdcf544b99",
        "c": "bff86082392bdb0b986cc67a2a3d8c4e",
    }
    # The order determines which node gets which label.
    assert set(canonical_labels(ring(3), describe).values()) == {
        "b27cfb1fb48959f47172d7814eaa2b46",
        "beab8e7fe1c079c18857f198bb089143",
        "bfe9a8fa9e622f41a0b663306cc346f7",
    }


def test_equivalent_statements_have_the_same_labels() -> None:
    one = [
        Triple(BlankNode("a"), P, Literal("x", "en-GB")),
        Triple(BlankNode("a"), P, Literal("x")),
    ]
    string = "http://www.w3.org/2001/XMLSchema#string"
    other = [
        Quad(BlankNode("a"), P, Literal("x", "en-gb"), DEFAULT_GRAPH),
        Quad(BlankNode("a"), P, Literal("x", "EN-GB"), DEFAULT_GRAPH),
        Quad(BlankNode("a"), P, Literal("x", datatype=string), DEFAULT_GRAPH),
    ]
    assert canonical_labels(one, describe) == canonical_labels(other, describe)


@pytest.mark.parametrize(
    "pairs",
    [
        [(a, b) for a in range(12) for b in range(12) if a != b],
        [((at, x), (at + 1, y)) for at in range(1000) for x in "ab" for y in "ab"],
    ],
)
def test_a_search_is_bounded(pairs: list[Any]) -> None:
    with pytest.raises(LimitError, match="too symmetric"):
        canonical_labels(edges(pairs), describe, steps=20_000)
