"""What a replay is held against: a set of quads, and the rules of RDF Patch and of its logs.

Plain tuples of text; nothing of the package is used here, so that no mistake is made twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

#: "A" or "D"; subject, predicate, object and, but for the default graph, graph as N-Quads has them.
Row: TypeAlias = tuple[str, ...]


class Transaction(NamedTuple):
    rows: tuple[Row, ...]
    committed: bool = True


class Patch(NamedTuple):
    transactions: tuple[Transaction, ...] = ()
    id: str | None = None
    prev: str | None = None

    @property
    def effective(self) -> tuple[Transaction, ...]:
        return tuple(each for each in self.transactions if each.committed)

    @property
    def is_blank(self) -> bool:
        """Whether it has no visible content."""
        return self.id is None and not any(each.rows for each in self.effective)


def text_of(log: Sequence[Patch]) -> bytes:
    """A log as RDF Patch text."""
    lines = ["# A log."]
    for patch in log:
        lines += [
            f"H {key} {value} ." for key, value in (("id", patch.id), ("prev", patch.prev)) if value
        ]
        for rows, committed in patch.transactions:
            lines.append("TX .")
            lines += [f"{' '.join(row)} ." for row in rows]
            lines.append("TC ." if committed else "TA .")
        lines.append("Z .")
    return "".join(f"{line}\n" for line in lines).encode()


class RejectedError(Exception):
    """A log is not to be applied from here on."""


class Model:
    """A store that one log is replayed into.

    :param forms: what the store makes of terms, where it does not keep them.
    """

    def __init__(self, forms: Mapping[str, str]) -> None:
        self.quads: set[Row] = set()
        self._forms = forms
        #: The patches that were applied.
        self._done: list[Patch] = []

    def replay(self, log: Sequence[Patch]) -> Iterator[frozenset[Row]]:
        """Replay a log; give the state after each transaction that is applied.

        :raises RejectedError: something in the log is wrong; what comes before was applied.
        """
        before = list(self._done)
        real = [patch for patch in log if not patch.is_blank]
        # The log from its beginning, or from a later patch.
        seen: list[Patch] = []
        if real and before and real[0] != before[0] and real[0].prev is not None:
            ids = [each.id for each in before]
            seen = before[: ids.index(real[0].prev) + 1] if real[0].prev in ids else []
        for patch in real:
            if seen and patch.id is not None and patch.id == seen[-1].id:
                if patch.effective != seen[-1].effective:
                    raise RejectedError("other content")
                continue
            if patch.id is not None and any(patch.id == each.id for each in seen):
                raise RejectedError("an id that recurs")
            if len(seen) < len(before):
                if patch != before[len(seen)]:
                    raise RejectedError("another log")
                seen.append(patch)
                continue
            if patch.prev is not None and patch.prev != (seen[-1].id if seen else None):
                raise RejectedError("it follows another one")
            seen.append(patch)
            for transaction in patch.effective:
                self._apply(transaction)
                yield frozenset(self.quads)
            self._done = list(seen)
        if len(seen) < len(before):
            raise RejectedError("the log ends before")

    def _apply(self, transaction: Transaction) -> None:
        for kind, *terms in transaction.rows:
            quad = tuple(self._forms.get(term, term) for term in terms)
            (self.quads.add if kind == "A" else self.quads.discard)(quad)
