"""Random results, for the tests and for the fuzzer."""

from __future__ import annotations

from random import Random
from typing import Any

from jelly_plugins import BlankNode, Iri, Literal
from jelly_plugins.codec.sparql.options import ResultsOptions

Results = tuple[list[str], list[tuple[Any, ...]]]


def term(draw: Random, kinds: int) -> Any:
    """Make a term of one of the kinds in a set of bits; the first bit is for None."""
    kind = draw.choice([bit for bit in range(6) if kinds >> bit & 1] or [0])
    if kind == 0:
        return None
    if kind == 1:
        return BlankNode(draw.choice(["", "b", "é", "x" * 40]) + str(draw.randrange(4)))
    if kind == 2:
        return Literal(str(draw.randrange(9)), None, draw.choice([None, "urn:d", "urn:é"]))
    if kind == 3:
        return Literal(draw.choice(["", "x", "\U0001f600", '"\n']), draw.choice(["en", "en--ltr"]))
    if kind == 4:
        return Literal(str(draw.randrange(1000)), None, "urn:d")
    return Iri(
        draw.choice(
            ["", "urn:", "http://e.org/", "http://e.org/a#", f"http://{draw.randrange(9)}/"]
        )
        + draw.choice(["", "é", "x"])
        + str(draw.randrange(draw.choice([3, 300])))
    )


def results(draw: Random, most_rows: int = 60) -> Results:
    """Make variables and solutions, with runs of equal and of unbound cells."""
    width = draw.randrange(5)
    kinds = [draw.choice([1 << 5, 1 << 5 | 1, 1 << 4, 1 << 1, 1 << 2, 63]) for _ in range(width)]
    repeats = draw.choice([0.0, 0.5, 0.95])
    count = draw.randrange(most_rows)
    rows: list[tuple[Any, ...]] = []
    for _ in range(count):
        last = rows[-1] if rows else (None,) * width
        rows.append(
            tuple(
                last[at] if draw.random() < repeats else term(draw, kinds[at])
                for at in range(width)
            )
        )
    return [f"v{at}" for at in range(width)], rows


def options(draw: Random) -> ResultsOptions:
    return ResultsOptions(
        max_name_table_size=draw.choice([128, 8192]),
        max_prefix_table_size=draw.choice([0, 1, 3, 64]),
        max_datatype_table_size=draw.choice([2, 64]),
    )
