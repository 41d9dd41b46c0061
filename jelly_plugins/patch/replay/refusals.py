"""What is said of a store that a log cannot go on in, whatever kind of store it is."""

from __future__ import annotations

from ...codec.patch.operations import OperationKind
from ...errors import ChainError, ConflictError
from .position import Position


def moved(
    what: str, log: str, before: Position | None, found: Position | None, *, by: str
) -> ChainError:
    """The error for a store that does not stand in a log where it did.

    :param what: ``"store"`` or ``"graph"``.
    :param by: who may have moved it.
    """
    stands = "nowhere" if found is None else f"at patch {found.patch}"
    return ChainError(
        f"the {what} stands {stands} in log {log} now: {by} is at work",
        expected=None if before is None else before.patch,
        found=None if found is None else found.patch,
    )


def idle(kind: OperationKind, statement: str) -> ConflictError:
    """The error for an operation on a statement that changes nothing."""
    what = "added, but is there already"
    if kind is OperationKind.DELETE:
        what = "deleted, but is not there"
    return ConflictError(f"the statement {statement[:200]} is {what}")


def unmatched(statement: str) -> ConflictError:
    """The error for a deletion with a blank node of a statement that is not there."""
    return ConflictError(
        f"the statement {statement[:200]} is deleted, but is not there: the target may have other "
        "labels for blank nodes than the patch. A patch of two files fits a store that was loaded "
        "with canonical labels; check_blank_nodes=False (--no-check-blank-nodes) ignores this"
    )
