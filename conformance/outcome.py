"""The possible outcomes of a case."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """The status of a case."""

    PASSED = "passed"
    FAILED = "failed"
    INAPPLICABLE = "inapplicable"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The status of a case, and the reason if it did not pass."""

    status: Status
    reason: str = ""


class FailedError(Exception):
    """The case failed, for the given reason."""


class InapplicableError(Exception):
    """The adapter's library cannot store the data of the case."""
