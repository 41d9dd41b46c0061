"""What a log is replayed into: the changes of a transaction, what a backend does with them, and
what is the same for all stores.

Locks are for stores of other libraries, which have no place for one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from threading import RLock
from typing import Any, Final, Protocol

from ...codec.patch.operations import AnyOperation, Namespace, Operation, OperationKind
from ...errors import ChainError, ConflictError
from .position import Position
from .settings import ReplaySettings

_ADD: Final = OperationKind.ADD
_DELETE: Final = OperationKind.DELETE


class NetChanges:
    """The net effect of operations: of those on one statement, the last one decides.

    Statements are tuples of strings, which a target's factory makes; equal ones are one statement
    in the store.

    :param strict: whether each operation must change something.
    :ivar net: whether a statement is there in the end; of all that were touched.
    :ivar first: whether the first operation on a statement adds it. If not strict, of those that
        delete it.
    :ivar idle: operations that change nothing because they repeat an earlier one. If not strict,
        deletions only.
    :ivar namespaces: operations on namespaces, in order.
    :ivar operations: number of operations.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self._strict = strict
        self.net: dict[Any, bool] = {}
        self.first: dict[Any, bool] = {}
        self.idle: list[AnyOperation] = []
        self.namespaces: list[AnyOperation] = []
        self.operations = 0

    def gather(self, rows: Iterator[AnyOperation]) -> AnyOperation | None:
        """Take operations on statements and namespaces, up to the first row of another kind.

        :return: that row; None if there are no more.
        """
        net, first, loose = self.net, self.first, not self._strict
        count = 0
        found = None
        for row in rows:
            kind, value = row
            if kind is _ADD and loose:
                net[value] = True
            elif kind is _ADD or kind is _DELETE:
                adds = kind is _ADD
                there = net.get(value)
                if there is None:
                    first[value] = adds
                elif there is adds:
                    self.idle.append(row)
                net[value] = adds
            elif type(value) is Namespace:
                self.namespaces.append(row)
            else:
                found = row
                break
            count += 1
        self.operations += count
        return found

    def join(self, following: NetChanges) -> None:
        """Add the changes of the next transaction, which stay as they are."""
        for value, adds in following.first.items():
            there = self.net.get(value)
            if there is None:
                self.first[value] = adds
            elif there is adds:
                self.idle.append(Operation(_ADD if adds else _DELETE, value))
        self.idle += following.idle
        self.net.update(following.net)
        self.namespaces += following.namespaces
        self.operations += following.operations

    @property
    def characters(self) -> int:
        """Number of characters of the statements; a term counts as often as it is there."""
        return sum(map(len, chain.from_iterable(self.net)))

    def unmatched(
        self,
        there: Iterable[bool],
        settings: ReplaySettings,
        *,
        has_blank_node: Callable[[Any], bool],
        text: Callable[[Any], str],
    ) -> int:
        """Count the deletions of what is not there.

        :param there: for each statement of :attr:`first`, whether the store has it before.
        :param text: a statement as text, for errors.
        :raises ConflictError: an operation changes nothing, and the settings do not allow that.
        """
        idle = self.idle + [
            Operation(_ADD if adds else _DELETE, value)
            for (value, adds), is_there in zip(self.first.items(), there, strict=True)
            if is_there is adds
        ]
        if idle and settings.check_unmatched:
            kind, value = idle[0]
            what = "deleted, but is not there" if kind is _DELETE else "added, but is there already"
            raise ConflictError(f"the statement {text(value)[:200]} is {what}")
        if settings.check_blank_nodes:
            for _, value in idle:
                if has_blank_node(value):
                    raise ConflictError(
                        f"the statement {text(value)[:200]} is deleted, but is not there: the "
                        "target may have other labels for blank nodes than the patch. A patch of "
                        "two files fits a store that was loaded with canonical labels; "
                        "check_blank_nodes=False ignores this"
                    )
        return len(idle)


class Target(Protocol):
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

    def apply(self, changes: NetChanges, before: Position | None, after: Position | None, /) -> int:
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
