"""How a log is replayed, and into what: the settings, what a backend has to offer, and locks of
stores, which are for stores of other libraries that have no place for one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Protocol, TypedDict

from ...codec import DEFAULT_LIMITS, BlankNode, Iri, Limits, Literal, Term
from ...codec.text.ntriples import term_text
from ...errors import ChainError, OptionsError
from ...io.streams import Progress

if TYPE_CHECKING:
    from .positions import Position
    from .transactions import NetChanges


def as_term(text: str | Term, name: str = "until") -> str:
    """An id as it is given by a user, in the syntax of N-Triples.

    :param name: of the parameter that has it, for errors.

    >>> as_term("urn:uuid:1"), as_term('"seven"')
    ('<urn:uuid:1>', '"seven"')
    """
    if isinstance(text, Iri | BlankNode | Literal):
        return term_text(text)
    if not isinstance(text, str):
        raise TypeError(f"{name} must be the id of a patch as a string (got {text!r})")
    return text if text.startswith(("<", '"', "_:")) else f"<{text}>"


def check_name(name: str) -> None:
    """Reject an invalid name of a log."""
    if not name:
        raise OptionsError("the name of a log is empty")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise OptionsError(
            f"the name of a log has a surrogate, which is not a character: {name!r}"
        ) from None


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
    :raises OptionsError: ``name`` is empty, or ``commit_every`` is less than 1.
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
        if self.name is not None:
            check_name(self.name)
        if self.commit_every is not None and self.commit_every < 1:
            raise OptionsError(f"commit_every must be at least 1 (got {self.commit_every})")
        _ = self.last

    @property
    def last(self) -> str | None:
        """``until`` in the syntax of N-Triples."""
        return None if self.until is None else as_term(self.until)


#: The settings by default.
DEFAULT: ReplaySettings = ReplaySettings()


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
