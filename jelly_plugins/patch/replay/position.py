"""Positions of stores in logs, and what a replay did.

1. A position is the last patch that was applied, at least in part, and the number of its
   transactions. A store keeps one for each log and each graph that a log was replayed into; it
   moves together with the data.
2. A patch is known by its ``id``. A log is read from its beginning; everything before the position
   is skipped. Content is not compared.
3. A log is known by the name that the caller gives it, or by the ``id`` of its first patch. A
   source that begins with the patch at the position, or with one that follows it (``prev``),
   continues that log.
4. A log whose first patch has no ``id`` has a position only if it has a name. Its patches are
   known by their numbers. Without a name it is applied from its beginning each time, which gives
   the same state: the last operation on a statement decides.
5. A patch without an ``id`` that follows one with an ``id`` counts as more transactions of that
   one. One that changes nothing (a keepalive) is skipped wherever it occurs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...notebook import Shown

#: What a result says where no position is kept.
NO_POSITION: Final = (
    "no position is kept, because the patches have no ids: give the log a name to apply each patch "
    "once"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Position(Shown):
    """How far a log was applied.

    :ivar log: the log's name: given by the caller, or the ``id`` of the log's first patch.
    :ivar patch: the ``id`` of the last patch, in the syntax of N-Triples; or, in a log without
        ids, its number from 1.
    :ivar transactions: transactions of that patch that were applied; aborted ones do not count. Of
        operations outside of TX and TC, each counts.
    :ivar complete: whether the patch has ended.
    :ivar graph: name of the graph used instead of the default graph, in the syntax of N-Triples;
        empty for the default graph itself.
    """

    log: str
    patch: str
    transactions: int
    complete: bool
    graph: str = ""

    @property
    def has_id(self) -> bool:
        """Whether the patch has an ``id``."""
        return not self.patch.isdecimal()


@dataclass(slots=True)
class Replayed(Shown):
    """What a replay did.

    :ivar position: the store's position in the log; None if it has none.
    :ivar patches: patches that were applied, or the rest of which was.
    :ivar transactions: transactions that were applied.
    :ivar operations: operations on statements and namespaces in them.
    :ivar unmatched: deletions of statements among them that were not there.
    :ivar aborted: transactions that were skipped because they end with an abort.
    :ivar skipped: transactions that were skipped because they had been applied before.
    :ivar advice: what to do to have a position, if none is kept; otherwise empty.
    """

    position: Position | None = None
    patches: int = 0
    transactions: int = 0
    operations: int = 0
    unmatched: int = 0
    aborted: int = 0
    skipped: int = 0
    advice: str = ""
