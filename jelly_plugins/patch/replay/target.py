"""What logs are replayed into: what every kind of store has to do, and what is the same for all.

:class:`Target` is implemented by each backend. Locks are for stores of other libraries, which have
no place for one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from threading import RLock
from typing import Any, Final, Protocol, Self, TypeVar

from ...codec.patch.operations import Operation, OperationKind
from ...errors import ChainError, ConflictError
from .position import Position


class TransactionChanges(Protocol):
    """The changes of one transaction, gathered."""

    @property
    def operations(self) -> int:
        """Number of operations."""
        ...

    @property
    def characters(self) -> int:
        """Number of characters that are held of them, or about as many."""
        ...

    def gather(self, rows: Iterator[Operation], /) -> Operation | None:
        """Take operations on statements and namespaces, up to the first row of another kind.

        :return: that row; None if there are no more.
        :raises JellyError: the store cannot hold a term.
        """
        ...

    def join(self, following: Self, /) -> None:
        """Add the changes of the next transaction, which stay as they are."""
        ...


C = TypeVar("C", bound=TransactionChanges)


class Target(Protocol[C]):
    """A store that a log is replayed into."""

    @property
    def graph(self) -> str:
        """The graph of its positions, see :class:`.Position`."""
        ...

    def text(self, term: Any, /) -> str:
        """A term that its operations are made of, in the syntax of N-Triples."""
        ...

    def positions(self) -> Iterable[Position]:
        """The store's positions in this target's graph, one for each log."""
        ...

    def changes(self) -> C:
        """An object to gather the changes of a transaction in."""
        ...

    def apply(self, changes: C, before: Position | None, after: Position | None, /) -> int:
        """Change the data and the position, both or none. The changes may be used up.

        :param before: the store's position, which must not have changed meanwhile.
        :param after: its next position; None if the log has none.
        :return: number of deletions of statements that were not there.
        :raises ChainError: it has changed. The store was not changed.
        """
        ...


#: Two objects may share a lock; that only costs waiting. A thread may acquire its lock again:
#: code under the lock of one store may need another store's, which may be the same.
_LOCKS: Final = [RLock() for _ in range(64)]


def _renew() -> None:
    """Have new locks in a child that was forked: the threads that hold the old ones, if any, are
    not there to release them."""
    _LOCKS[:] = [RLock() for _ in _LOCKS]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def lock_of(store: object) -> RLock:
    """The lock of a store: always the same one while the store lives.

    What is done under it may wait for the lock of a watch of the same store (rdflib's recorder has
    one), never the other way round; nothing of ours takes the locks of two stores.
    """
    # Addresses are multiples of 16.
    return _LOCKS[(id(store) >> 4) % len(_LOCKS)]


def moved(
    what: str, log_name: str, before: Position | None, found: Position | None, *, by: str
) -> ChainError:
    """The error for a store whose position in a log has changed.

    :param what: ``"store"`` or ``"graph"``.
    :param by: who may have moved it.
    """
    position = "nowhere" if found is None else f"at patch {found.patch}"
    return ChainError(
        f"the {what} is {position} in log {log_name} now: {by} has changed it",
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
        "with canonical labels; check_blank_nodes=False ignores this"
    )
