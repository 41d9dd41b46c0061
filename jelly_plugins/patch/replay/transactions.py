"""The settings of a replay, the net changes of a transaction, and the targets that take them. No
store is known here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Protocol, TypedDict

from ...codec import DEFAULT_LIMITS, BlankNode, Iri, Limits, Literal, Term
from ...codec.patch.operations import (
    AnyOperation,
    Namespace,
    Operation,
    OperationKind,
)
from ...codec.text.ntriples import term_text
from ...errors import ChainError, ConflictError, OptionsError
from ...io.streams import Progress

if TYPE_CHECKING:
    from .replay import Position

_ADD: Final = OperationKind.ADD
_DELETE: Final = OperationKind.DELETE


def as_term(text: str | Term, name: str = "until") -> str:
    """An id as a user gives it, in the syntax of N-Triples.

    >>> as_term("urn:uuid:1"), as_term('"seven"')
    ('<urn:uuid:1>', '"seven"')
    """
    if isinstance(text, Iri | BlankNode | Literal):
        return term_text(text)
    if not isinstance(text, str):
        raise TypeError(f"{name} must be the id of a patch as a string (got {text!r})")
    return text if text.startswith(("<", '"', "_:")) else f"<{text}>"


def check_name(name: str | None) -> None:
    """Reject what cannot be the name of a log."""
    if name == "":
        raise OptionsError("the name of a log is empty")
    try:
        (name or "").encode()
    except UnicodeEncodeError:
        raise OptionsError(f"the name of a log has a surrogate: {name!a}") from None


class ReplayOptions(TypedDict, total=False):
    """The fields of :class:`ReplaySettings`, as keyword arguments."""

    name: str | None
    until: str | Term | None
    check_prev: bool
    check_unmatched: bool
    check_blank_nodes: bool
    follow: bool
    stop: Callable[[], bool] | None
    commit_every: int | None
    dry_run: bool
    progress: Progress | None
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySettings:
    """The settings of a replay.

    :ivar name: name of the log in the store, by default the ``id`` of its first patch. A log whose
        patches have no ids has a position only with a name.
    :ivar until: ``id`` of the patch after which to stop: an IRI, or a term in the syntax of
        N-Triples. It is an error if the store is past it already. Whether the log has it is checked
        before anything is applied, where the log can be read twice (a file, bytes, a list of
        patches); otherwise, as in a pipe, once it has ended.
    :ivar check_prev: require each patch to follow the one that it names as ``prev``. Without it,
        patches are applied in the order of the log. Then a source without ``name`` that begins
        before the store's position, but not at the beginning of its log, is taken for another log
        and applied again: give the log a name, or leave this on.
    :ivar check_unmatched: reject operations on statements that change nothing.
    :ivar check_blank_nodes: require each deletion of a statement with a blank node to match. If
        none does, the store may have other labels than the patch, as after a load with new ones.
        Other deletions that match nothing are counted: see ``Replayed.unmatched``.
    :ivar follow: apply complete transactions and wait for more, in a file given by its path. It is
        an error if the file is deleted or replaced (rotated), or loses complete transactions; its
        contents so far are applied, and a new replay continues in the new file.
    :ivar stop: called before each wait; ends the replay when it returns True.
    :ivar commit_every: maximum number of transactions to apply together, up to 10,000 operations
        and some megabytes in all. If one of them cannot be applied, those before it are applied,
        and none after it. Waiting transactions are applied before more of the source is read, so
        that a pipe or a growing file delays nothing. The default is 100; for patches from an
        iterable other than a list, and for graphs that are not in an Oxigraph store, it is 1. With
        1, other readers of the store see each transaction.
    :ivar dry_run: read and check the log, and change nothing.
    :ivar progress: called after each transaction with the number of its operations, as
        ``tqdm.update`` takes it. An exception that it raises ends the replay; the transactions
        reported stay applied, with the rest of their group, and nothing after it.
    :ivar limits: the limits on untrusted input.
    :raises OptionsError: ``name`` is empty or has a surrogate, or ``commit_every`` is less than 1.
    :raises TypeError: ``until`` is not a string.
    """

    name: str | None = None
    until: str | Term | None = None
    check_prev: bool = True
    check_unmatched: bool = False
    check_blank_nodes: bool = True
    follow: bool = False
    stop: Callable[[], bool] | None = None
    commit_every: int | None = None
    dry_run: bool = False
    progress: Progress | None = None
    limits: Limits = DEFAULT_LIMITS

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.commit_every is not None and self.commit_every < 1:
            raise OptionsError(f"commit_every must be at least 1 (got {self.commit_every})")
        if self.until is not None:
            object.__setattr__(self, "until", as_term(self.until))


#: The settings by default.
DEFAULT: ReplaySettings = ReplaySettings()


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


class Target(Protocol):
    """A store that a log is replayed into."""

    @property
    def graph(self) -> str:
        """The graph of its positions, see :class:`.Position`."""
        ...

    def text(self, term: Any, /) -> str:
        """A term of its operations in the syntax of N-Triples."""
        ...

    def positions(self) -> Iterable[Position]:
        """The store's positions in this target's graph, one for each log."""
        ...

    def apply(self, changes: NetChanges, position: Position | None, /) -> int:
        """Change the data and the position, both or none, if the store is still where
        :meth:`positions` or the last change has left it. The changes may be used up.

        :param position: the next position; None if the log has none.
        :return: number of deletions of statements that were not there.
        """
        ...


#: Two objects may share a lock; that only costs waiting. A thread may acquire its lock again:
#: code under the lock of one store may need another store's, which may be the same.
_LOCKS: Final = [RLock() for _ in range(64)]


def _renew() -> None:
    # The threads that hold the old ones are not in the child to release them.
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


def moved(log: str) -> ChainError:
    """The error for a store whose position has changed since a replay read it."""
    return ChainError(f"the position in log {log} has moved: another replay or recorder was faster")
