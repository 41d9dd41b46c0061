"""Compare two sequences of statements, where blank node labels have no meaning.

Two questions, in generic terms of any kind: the same statements in the same order
(:func:`compare_streams`), or the same RDF dataset (:func:`compare_datasets`). Terms are equal if
their text is equal, and a triple is the same as a quad in the default graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any, Final, TypeAlias

from ..codec.common.canonical_labels import canonical_labels
from ..codec.common.terms import (
    DEFAULT_GRAPH,
    Literal,
    Quad,
    Statement,
    Triple,
    describe,
)
from ..codec.text.ntriples import statement_text
from ..errors import LimitError, TermError
from ..patch.difference import has_blank_nodes, relabelled

#: Statements that a result names on either side, at most.
SHOWN: Final = 10
#: Steps that the search for a renaming of blank nodes may take; some microseconds each.
SEARCH_STEPS: Final = 5_000_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison; true if both sides are equal.

    :ivar reason: the difference in one line; empty if both sides are equal.
    :ivar missing: some statements that were expected and not found, as N-Quads.
    :ivar unexpected: some statements that were found and not expected, as N-Quads.
    """

    equal: bool
    reason: str = ""
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.equal


EQUAL: Final = Comparison(True)


def lower_cased(statement: Any) -> Any:
    """A statement with its language tags in lower case."""
    return statement._make(
        Literal(term.lex, term.langtag.lower())
        if isinstance(term, Literal) and term.langtag is not None
        else lower_cased(term)
        if isinstance(term, Triple)
        else term
        for term in statement
    )


def compare_streams(expected: Iterable[Statement], found: Iterable[Statement]) -> Comparison:
    """Compare two streams: the same statements in the same order, as often,
    with blank nodes mapped one to one over the whole stream.

    Neither side is held in memory, but for the labels of its blank nodes.

    >>> from jelly_plugins import BlankNode, Iri
    >>> one, other = (Triple(BlankNode(label), Iri("urn:p"), Iri("urn:o")) for label in "ab")
    >>> bool(compare_streams([one, one], [other, other]))
    True
    >>> compare_streams([one, one], [other, one]).reason
    'statement 1 differs'
    """
    labels, other_labels = _Numbers(), _Numbers()
    try:
        for number, (one, other) in enumerate(zip_longest(expected, found)):
            if one is None or other is None:
                side = "expected" if one is None else "found"
                reason = f"statements: {number} {side}, more on the other side"
                return _difference(reason, [one] if one else [], [other] if other else [])
            pair = relabelled(_quad(one), labels), relabelled(_quad(other), other_labels)
            if pair[0] != pair[1]:
                return _difference(f"statement {number} differs", [one], [other])
    except RecursionError:
        raise _too_deep() from None
    return EQUAL


class _Numbers(dict[str, str]):
    """Numbers for the labels of blank nodes, in order of their first occurrence."""

    def __missing__(self, label: str) -> str:
        number = self[label] = str(len(self))
        return number


def compare_datasets(
    expected: Iterable[Statement], found: Iterable[Statement], *, steps: int = SEARCH_STEPS
) -> Comparison:
    """Compare two RDF graphs or datasets: equal if renaming blank nodes makes them the same set of
    statements (RDF 1.1 Concepts, sections 3.6 and 4.1). Order and duplicates do not count.

    Blank nodes get canonical labels on each side. Where a statement with a blank node differs, all
    statements of the blank nodes that are connected to it count as different.

    :raises LimitError: the blank nodes are too symmetric to be compared.

    >>> from jelly_plugins import BlankNode, Iri
    >>> ring = [Triple(BlankNode(a), Iri("urn:p"), BlankNode(b)) for a, b in ("xy", "yz", "zx")]
    >>> bool(compare_datasets(ring, reversed(ring)))
    True
    >>> compare_datasets(ring, ring[:2]).reason
    'statements with blank nodes: 3 expected, 2 found'
    """
    try:
        return _compare_split(_split(expected), _split(found), steps)
    except RecursionError:
        raise _too_deep() from None


def _too_deep() -> LimitError:
    return LimitError("quoted triples are nested too deeply to be compared")


#: The statements of a side: those without blank nodes, and the others.
_Side: TypeAlias = tuple[set[Quad], set[Quad]]


def _compare_split(expected: _Side, found: _Side, steps: int) -> Comparison:
    ground, statements = expected
    other_ground, other_statements = found
    missing = [*(ground - other_ground)]
    unexpected = [*(other_ground - ground)]
    differs = bool(missing or unexpected)
    try:
        one, other = _canonical(statements, steps), _canonical(other_statements, steps)
    except LimitError:
        if not differs:
            raise
        reason = f"{_counts(missing, unexpected)}, besides those with blank nodes"
        return _difference(reason, missing, unexpected)
    if not differs and one.keys() == other.keys():
        return EQUAL
    missing += [each for canonical, each in one.items() if canonical not in other]
    unexpected += [each for canonical, each in other.items() if canonical not in one]
    if differs:
        reason = _counts(missing, unexpected)
    elif len(one) != len(other):
        reason = f"statements with blank nodes: {len(one)} expected, {len(other)} found"
    else:
        reason = "statements with blank nodes differ"
    return _difference(reason, missing, unexpected)


def _counts(missing: Sequence[Quad], unexpected: Sequence[Quad]) -> str:
    return f"statements: {len(missing)} missing, {len(unexpected)} unexpected"


def _canonical(statements: Iterable[Quad], steps: int) -> dict[Quad, Quad]:
    """Statements by their form with canonical labels."""
    try:
        labels = canonical_labels(statements, _describe, steps=steps)
    except LimitError:
        raise LimitError(
            f"the blank nodes could not be compared within {steps} steps of search"
        ) from None
    return {relabelled(statement, labels): statement for statement in statements}


def _describe(term: Any) -> tuple[Any, ...]:
    """Take a term apart so that the case of a language tag counts: the tag replaces the datatype,
    which never begins with an ``@``."""
    described = describe(term)
    if isinstance(term, Literal) and term.langtag is not None:
        return (*described[:2], None, f"@{term.langtag}")
    return described


def _quad(statement: Statement) -> Quad:
    return Quad._make(statement if len(statement) == 4 else (*statement, DEFAULT_GRAPH))


def _split(statements: Iterable[Statement]) -> _Side:
    """The statements as sets: those without blank nodes, and the others."""
    ground: set[Quad] = set()
    others: set[Quad] = set()
    for statement in statements:
        (others if has_blank_nodes(statement) else ground).add(_quad(statement))
    return ground, others


def _difference(
    reason: str, missing: Iterable[Statement], unexpected: Iterable[Statement]
) -> Comparison:
    shown = (tuple(map(_text, islice(side, SHOWN))) for side in (missing, unexpected))
    return Comparison(False, reason, *shown)


def _text(statement: Statement) -> str:
    try:
        return statement_text(statement)
    except TermError:
        return repr(statement)
