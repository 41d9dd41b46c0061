"""Where a store stands in a log: what makes replaying the log again continue instead of repeat.

A store keeps one position for each log that was replayed into it. How it keeps them is the store's
affair; that a position moves together with the data is the whole point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: The graph in which stores of quads keep their positions, and that is no data.
BOOKKEEPING_IRI: Final = "urn:jelly-plugins:bookkeeping"


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The last transaction of a log that was applied.

    :ivar log: the log's name: given by the caller, or the key of the log's first patch.
    :ivar patch: key of the patch that the transaction is part of: its id in the syntax of
        N-Triples, or, for a patch without an id, ``sha256:`` and a digest of all that patches
        without ids have changed so far.
    :ivar number: number of that patch in the log, from 1.
    :ivar transactions: transactions of that patch that were applied; aborted ones do not count.
    :ivar complete: whether that patch is known to have no more of them.
    """

    log: str
    patch: str
    number: int
    transactions: int
    complete: bool


@dataclass(slots=True)
class Replayed:
    """What a replay did, so far or in the end.

    :ivar position: where the store stands now; None if it stands nowhere in the log.
    :ivar patches: patches that were applied, or the rest of which was.
    :ivar transactions: transactions that were applied.
    :ivar operations: operations on statements and namespaces in them.
    :ivar aborted: transactions that were passed over because they end with an abort.
    :ivar skipped: transactions that were passed over because they had been applied before.
    """

    position: Position | None = None
    patches: int = 0
    transactions: int = 0
    operations: int = 0
    aborted: int = 0
    skipped: int = 0
