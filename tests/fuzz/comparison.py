"""What comparisons of the compiled kernel with its reference share: what came of a case with each
of them, how two outcomes differ, and the run that goes on for as long as one likes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest

from jelly_plugins.errors import JellyError

#: What a stream or a series of statements came to: what came out, and the error at the end.
Outcome = tuple[list[Any], tuple[Any, ...] | None]


def native() -> Any:
    """The compiled kernel; skips the test where it was not built."""
    return pytest.importorskip(
        "jelly_plugins.codec._native",
        reason="the compiled kernel is not built",
        exc_type=ImportError,
    )


def describe_error(error: JellyError) -> tuple[Any, ...]:
    place = (getattr(error, "line", None), getattr(error, "column", None))
    return type(error), error.frame, error.row, error.message, place


def compare(outcome: Callable[..., Outcome], reference: type, *given: Any) -> Outcome:
    """The outcome with a class of the reference and with the compiled one of the same name.

    :param outcome: called with the class, and with what is ``given``.
    :return: what they agree on.
    :raises AssertionError: they do not agree.
    """
    expected = outcome(reference, *given)
    found = outcome(getattr(native(), reference.__name__), *given)
    assert found == expected, _difference(found, expected, given)
    return expected


def _difference(found: Outcome, expected: Outcome, given: tuple[Any, ...]) -> str:
    """Where two outcomes part, and what they are of."""
    for ours, theirs in zip(found[0], expected[0], strict=False):
        if ours != theirs:
            return f"{ours!r}\n  not {theirs!r}\n  for {given!r}"
    return (
        f"{len(found[0])} events, then {found[1]!r}\n  "
        f"not {len(expected[0])}, then {expected[1]!r}\n  for {given!r}"
    )


def main(run: Callable[[int, int], Iterator[Outcome]]) -> None:
    """Compare as many cases as the command line says, and say how far it is."""
    cases = int(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    outcomes = run(cases, seed)
    done = refused = 0
    while batch := list(islice(outcomes, 10_000)):
        done += len(batch)
        refused += sum(error is not None for _, error in batch)
        print(f"{done} cases, {refused} refused by both", flush=True)
