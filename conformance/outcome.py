"""What can become of a case."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """What became of a case."""

    PASSED = "passed"
    FAILED = "failed"
    INAPPLICABLE = "inapplicable"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a case, and why if it did not pass."""

    status: Status
    reason: str = ""


class FailedError(Exception):
    """The case failed, for the reason given."""


class InapplicableError(Exception):
    """The adapter's library cannot hold what the case is about."""
