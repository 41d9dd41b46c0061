"""The position of a store in a log, so that replaying the log again continues instead of repeating.

A store keeps one position for each log and each graph that the log was replayed into. How it keeps
them is the store's affair; that a position moves together with the data is the whole point.

What a position means, and what is known by what:

1. A patch is known by its ``id``. One without is known by a digest of what it changes and of what
   all patches without an id before it have changed, so that two that change the same differ. Ids
   are compared as a store has terms: to Oxigraph literals are the same whose language tags differ
   in case, or whose forms are of one value, and to other stores they are not. IRIs have one form.
2. A patch without an id that changes nothing (a keepalive) cannot be distinguished from another
   one, and need not be: it is skipped wherever it occurs, and moves no position.
3. An id names one patch of a log. The same patch again directly after itself, as when its sender
   was not sure that it had arrived, is skipped; with other content, or anywhere later in the log,
   it is an error.
4. A log is known by the name that the caller gives it, or by the key of its first patch that is no
   keepalive: so it may grow at its end. What begins with another patch is the same log if that
   patch has as its ``prev`` the patch at the store's position: so a log may come in several
   files, and its beginning may be cut off. For patches without ids that is impossible: a log of
   them whose beginning was cut off is another log, which is only rejected if the log has a name.
5. A position belongs to a log and to the graph used instead of the default graph of its patches.
   The same log into another graph begins there at its beginning.
6. Operations outside of TX and TC at the very end of a source, without a mark after
   them, are one transaction of those that are there; of those that the source grows by later, the
   rest is applied. If the transaction does not begin with the same operations then, that is an
   error. Without an id there has to be a name or a patch before: by what else should the log be
   known, if its first patch has changed?
7. The patch that was applied last is compared with the one of its id in a later reading: it must
   have the same content in as many transactions as were applied; fewer, or others, are an error. A
   patch that a row has ended (a mark, or the headers of the next one) has no more of them either.
   One that nothing but the end of its source has ended, or that was not complete, may have grown:
   the addition is applied, if the store is still at this patch. The content of earlier patches is
   not kept, nor what a recorder has written itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ....errors import OptionsError
from ....notebook import Shown

#: How the key of a patch begins that has no id.
DIGEST: Final = "sha256:"


def check_name(name: str | None) -> None:
    """Reject an invalid name of a log.

    :param name: as a caller gives it, None for none.
    :raises OptionsError: it is empty, or has a surrogate.
    """
    if name == "":
        raise OptionsError("the name of a log is empty")
    if name is not None:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise OptionsError(
                f"the name of a log has a surrogate, which is not a character: {name!r}"
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Position(Shown):
    """The last transaction of a log that was applied.

    :ivar log: the log's name: given by the caller, or the key of the log's first patch.
    :ivar patch: key of the patch that the transaction is part of: its id in the syntax of
        N-Triples, or, for a patch without an id, ``sha256:`` and a digest of all that patches
        without ids have changed so far.
    :ivar number: number of that patch in the log, from 1.
    :ivar transactions: transactions of that patch that were applied; aborted ones do not count.
    :ivar complete: whether that patch has no more of them, as far as known.
    :ivar closed: whether a row shows that, a mark or the headers of the next patch, and not only
        the end of the source, which may grow.
    :ivar graph: name of the graph used instead of the default graph, in the syntax of N-Triples;
        empty for the default graph itself.
    :ivar loose: of a transaction that was ended only by the end of its source, so that it may grow:
        its number of operations, a colon, and a digest of them; otherwise empty.
    :ivar content: of a patch with an id: the number of operations in the transactions that were
        applied, a colon, and, where known, a digest of them, after a word for the kind of store
        that has made it and a hyphen; empty if unknown.
    """

    log: str
    patch: str
    number: int
    transactions: int
    complete: bool
    graph: str = ""
    loose: str = ""
    closed: bool = False
    content: str = ""

    @property
    def reach(self) -> tuple[int, int, bool, bool]:
        """How far in its log it is, to be compared with that of another position."""
        return self.number, self.transactions, self.complete, self.closed


@dataclass(slots=True)
class Replayed(Shown):
    """What a replay did, so far or in the end.

    :ivar position: the store's current position; None if it has none in the log.
    :ivar patches: patches that were applied, or the rest of which was.
    :ivar transactions: transactions that were applied.
    :ivar operations: operations on statements and namespaces in them.
    :ivar unmatched: deletions of statements among them that were not there.
    :ivar aborted: transactions that were skipped because they end with an abort.
    :ivar skipped: transactions that were skipped because they had been applied before.
    """

    position: Position | None = None
    patches: int = 0
    transactions: int = 0
    operations: int = 0
    unmatched: int = 0
    aborted: int = 0
    skipped: int = 0
