"""What comparisons of the compiled kernel with its reference share: what came of a case with each
of them, and how two outcomes differ."""

from __future__ import annotations

import re
from collections.abc import Callable
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


def native_of(reference: Any) -> Any:
    """What is compiled of a class or a function of a reference; skips the test where it was not
    built."""
    # jelly_plugins.codec.rdf.decoder is compiled in jelly_plugins.codec.
    package = ".".join(reference.__module__.split(".")[:2])
    module = pytest.importorskip(
        f"{package}._native", reason="the compiled kernel is not built", exc_type=ImportError
    )
    return getattr(module, reference.__name__)


def describe_error(error: JellyError) -> tuple[Any, ...]:
    """All of an error: its type, its place, and what it says."""
    place = (getattr(error, "line", None), getattr(error, "column", None))
    return type(error), error.source, error.frame, error.row, error.message, place


def compare(outcome: Callable[..., Outcome], reference: Callable[..., Any], *given: Any) -> Outcome:
    """The outcome with a class or function of a reference and with the compiled one of that name.

    :param outcome: called with it, and with what is ``given``.
    :return: what they agree on.
    :raises AssertionError: they do not agree.
    """
    expected = outcome(reference, *given)
    found = outcome(native_of(reference), *given)
    assert found == expected, _difference(found, expected, given)
    return expected


def _difference(found: Outcome, expected: Outcome, given: tuple[Any, ...]) -> str:
    """Where two outcomes part, and what they are of."""
    for number, (ours, theirs) in enumerate(zip(found[0], expected[0], strict=False)):
        if ours != theirs:
            where = f"event {number}"
            return f"{where} is {_shown(ours)}\n  not {_shown(theirs)}\n  for {_shown(given)}"
    return (
        f"{len(found[0])} events, then {_shown(found[1])}\n  "
        f"not {len(expected[0])}, then {_shown(expected[1])}\n  for {_shown(given)}"
    )


def _shown(value: Any) -> str:
    """A value, with letters said once that stand in it many times over."""
    return re.sub(r"((?:\\x..)+?|.)\1{15,}", r"\1…", repr(value))
