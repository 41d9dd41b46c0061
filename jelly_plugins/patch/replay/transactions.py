"""The rows of a log as transactions; no store and no position is known here.

A transaction consists of the operations between TX and TC, or of consecutive operations outside of
any. An aborted transaction (TA) leaves no trace. A patch without an ``id`` that changes nothing (a
keepalive) never starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...codec.patch.operations import (
    CHAIN_KEYS,
    AnyOperation,
    Namespace,
    Operation,
    OperationKind,
)
from ...errors import ConflictError, OrderError

if TYPE_CHECKING:
    from .settings import ReplaySettings

_ADD: Final = OperationKind.ADD
_DELETE: Final = OperationKind.DELETE
#: Kinds of operations that change something.
CHANGES: Final = frozenset(
    (_ADD, _DELETE, OperationKind.ADD_NAMESPACE, OperationKind.DELETE_NAMESPACE)
)


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
        """Take operations on statements and namespaces, up to the first row of another kind; return
        that row; None if there are no more."""
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


@dataclass(slots=True)
class PatchStart:
    """The start of a patch that has an id or a change: its number in the source, from 1, and its
    ``id`` and ``prev`` as text."""

    number: int
    id: str | None = None
    prev: str | None = None


class Transaction(NamedTuple):
    """A transaction, which is not aborted.

    :ivar size: what a position counts it as: 1, or its number of operations outside of TX and TC,
        of which the source may have more later.
    """

    changes: NetChanges
    size: int


class PatchEnd(Enum):
    """The end of a patch: of one that has started, or of a keepalive."""

    STARTED = True
    KEEPALIVE = False


class Transactions:
    """Reads rows: headers, operations and ends of patches.

    :param text: a term as text.
    :param strict: see :class:`NetChanges`.
    :ivar patch: the patch that is read, as far as its headers were.
    :ivar has_headers: whether it has headers.
    :ivar aborted: number of transactions that were aborted.
    :ivar one_by_one: whether operations outside of TX and TC are a transaction each, from here on.
    """

    def __init__(self, text: Callable[[Any], str], *, strict: bool) -> None:
        self._text = text
        self._strict = strict
        self.patch = PatchStart(1)
        self.has_headers = False
        self.aborted = 0
        self.one_by_one = False

    def read(self, source: Iterable[AnyOperation]) -> Iterator[PatchStart | Transaction | PatchEnd]:
        """The events of rows, as these come."""
        rows = iter(source)
        changes = NetChanges(strict=self._strict)
        # Whether a transaction is open, the patch has started, and it has had a transaction.
        inside = started = sealed = False
        row = next(rows, None)
        while row is not None:
            kind = row.kind
            if kind in CHANGES:
                if not inside and not started:
                    started = True
                    yield self.patch
                if inside or not self.one_by_one:
                    row = changes.gather(chain((row,), rows))
                    continue
                changes.gather(iter((row,)))
                sealed = True
                yield Transaction(changes, 1)
                changes = NetChanges(strict=self._strict)
            elif kind is OperationKind.HEADER:
                self.has_headers = True
                key = row.value.chain_key
                if key in CHAIN_KEYS:
                    if sealed:
                        raise OrderError(
                            f"the header {row.value.key!r} comes after a transaction of its patch"
                        )
                    if getattr(self.patch, key) is None:
                        setattr(self.patch, key, self._text(row.value.value))
            else:
                if inside is not (kind in (OperationKind.COMMIT, OperationKind.ABORT)):
                    where = "inside" if inside else "outside"
                    raise OrderError(f"{kind.name} {where} a transaction")
                ends = kind is OperationKind.END
                if kind is OperationKind.ABORT:
                    changes = NetChanges(strict=self._strict)
                    self.aborted += 1
                    inside = False
                sealed = sealed or inside or changes.operations > 0
                # Empty transactions count only in a patch that has started.
                if not started and (changes.operations or (self.patch.id and (inside or ends))):
                    started = True
                    yield self.patch
                if changes.operations or (inside and started):
                    yield Transaction(changes, 1 if inside else changes.operations)
                    changes = NetChanges(strict=self._strict)
                if ends:
                    yield PatchEnd.STARTED if started else PatchEnd.KEEPALIVE
                    self.patch = PatchStart(self.patch.number + 1)
                    self.has_headers = started = sealed = False
                inside = kind is OperationKind.BEGIN
            row = next(rows, None)
