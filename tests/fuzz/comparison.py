"""Shared parts of the comparisons of the compiled kernel with its reference: outcomes of cases, and
differences between outcomes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from jelly_plugins.errors import JellyError

#: The outcome of a stream or a series of statements: the output, and the error at the end.
Outcome = tuple[list[Any], tuple[Any, ...] | None]


def native() -> Any:
    """Return the compiled kernel; skip the test if it was not built."""
    return pytest.importorskip(
        "jelly_plugins.codec._native",
        reason="the compiled kernel is not built",
        exc_type=ImportError,
    )


def native_of(reference: Any) -> Any:
    """Return the compiled form of a reference's class or function; skip the test if it was not
    built.
    """
    # For example, jelly_plugins.codec.rdf.decoder is compiled in jelly_plugins.codec.
    package = ".".join(reference.__module__.split(".")[:2])
    name = "_rows" if package == "jelly_plugins.jena" else "_native"
    module = pytest.importorskip(
        f"{package}.{name}", reason="the compiled kernel is not built", exc_type=ImportError
    )
    return getattr(module, reference.__name__)


def describe_error(error: JellyError) -> tuple[Any, ...]:
    """Return all parts of an error: type, position, and message."""
    position = (getattr(error, "line", None), getattr(error, "column", None))
    return type(error), error.source, error.frame, error.row, error.message, position


class Case(NamedTuple):
    """One input of a class or function that exists in both kernels.

    :ivar outcome: called with the class or function, and with ``given``.
    :ivar reference: the reference's class or function.
    """

    outcome: Callable[..., Outcome]
    reference: Callable[..., Any]
    given: tuple[Any, ...]

    def run(self) -> Outcome:
        """Return the outcome with the compiled kernel."""
        return self.outcome(native_of(self.reference), *self.given)

    def compare(self) -> Outcome:
        """Return the outcome, if both kernels agree.

        :raises AssertionError: the outcomes differ.
        """
        expected = self.outcome(self.reference, *self.given)
        found = self.run()
        assert found == expected, _difference(found, expected, self.given)
        return expected


def _difference(found: Outcome, expected: Outcome, given: tuple[Any, ...]) -> str:
    """Describe the first difference between two outcomes, and their input."""
    for number, (ours, theirs) in enumerate(zip(found[0], expected[0], strict=False)):
        if ours != theirs:
            where = f"event {number}"
            return f"{where} is {_shown(ours)}\n  not {_shown(theirs)}\n  for {_shown(given)}"
    return (
        f"{len(found[0])} events, then {_shown(found[1])}\n  "
        f"not {len(expected[0])}, then {_shown(expected[1])}\n  for {_shown(given)}"
    )


def _shown(value: Any) -> str:
    """Format a value, shortening runs of a repeated letter."""
    return re.sub(r"((?:\\x..)+?|.)\1{15,}", r"\1…", repr(value))
