"""What a replay is compared with: quads and namespaces, and the rules of RDF Patch and its logs.

Plain tuples of text; nothing of the package is used here, so that no mistake is made twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

#: "A" or "D"; subject, predicate, object and, but for the default graph, graph as N-Quads has them.
#: Or "PA", a namespace's name in quotes, and its IRI; or "PD" and the name.
Row: TypeAlias = tuple[str, ...]


class Transaction(NamedTuple):
    rows: tuple[Row, ...]
    committed: bool = True
    #: Whether it is not between TX and TC.
    loose: bool = False


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


def text_of(log: Sequence[Patch], *, marked: bool = True) -> bytes:
    """A log as RDF Patch text.

    :param marked: whether a mark ends the last patch.
    """
    lines = ["# A log."]
    for patch in log:
        lines += [
            f"H {key} {value} ." for key, value in (("id", patch.id), ("prev", patch.prev)) if value
        ]
        for rows, committed, loose in patch.transactions:
            changes = [f"{' '.join(row)} ." for row in rows]
            lines += changes if loose else ["TX .", *changes, "TC ." if committed else "TA ."]
        lines.append("Z .")
    if not marked and log:
        lines.pop()
    return "".join(f"{line}\n" for line in lines).encode()


class RejectedError(Exception):
    """A log is not to be applied from here on."""


class IdleError(RejectedError):
    """A transaction has an operation without an effect, which is checked."""


class Model:
    """A store that one log is replayed into.

    :param forms: what the store makes of terms, where it does not keep them.
    :param name: whether the log has a name.
    :param checks: which operations must have an effect: "all", deletions of statements with "blank
        nodes", or "none".
    :ivar unmatched: how many deletions of the last replay had none.
    """

    def __init__(self, forms: Mapping[str, str], *, name: bool, checks: str = "none") -> None:
        self.unmatched = 0
        self._checks = checks
        self._quads: set[Row] = set()
        self._namespaces: dict[str, str] = {}
        self._forms = forms
        self._name = name
        #: The log by its first patch, and the last patch: by its id, or by its number in a log
        #: without ids. Transactions of that one, those of patches without ids after it included.
        self._log: str | None = None
        self._head: str | None = None
        self._count = 0

    @property
    def state(self) -> frozenset[Row]:
        """The quads, and the namespaces as rows that add them."""
        return frozenset(self._quads | {("PA", *each) for each in self._namespaces.items()})

    def keeps_position(self, log: Sequence[Patch]) -> bool:
        """Whether the store knows its place in a log."""
        first = next((patch for patch in log if not patch.is_blank), None)
        return self._name or first is None or first.id is not None

    def replay(self, log: Sequence[Patch]) -> Iterator[frozenset[Row]]:  # noqa: C901
        """Replay a log; give the state after each transaction that is applied.

        :raises RejectedError: something in the log is wrong; what comes before was applied.
        """
        self.unmatched = 0
        first = next((patch for patch in log if not patch.is_blank), None)
        if first is None:
            return
        keeps = self.keeps_position(log)
        head, count = (self._head, self._count) if keeps else (None, 0)
        key: str | None = None
        ids: set[str] = set()
        sought = head is not None
        if head is not None and first.prev == head:
            sought = False
            key = head
            ids = {head, str(self._log)}
        elif head is None and first.prev is not None and keeps:
            raise RejectedError("nothing was applied before")
        last_id: str | None = None
        repeatable: str | None = None
        transactions = 0
        for number, patch in enumerate(log, 1):
            if patch.is_blank or (patch.id is not None and patch.id == repeatable):
                continue
            if patch.id is not None:
                if patch.id in ids:
                    raise RejectedError("an id that recurs")
                ids.add(patch.id)
                if key == head:
                    sought = False
            if not sought and patch.prev is not None and key is not None and patch.prev != key:
                raise RejectedError("it follows another one")
            repeatable = patch.id
            if patch.id is not None or last_id is None:
                key, transactions, last_id = patch.id or str(number), 0, patch.id
            assert key is not None
            if sought and key == head and count == 0:
                sought = False
            for transaction in patch.effective:
                rows = transaction.rows
                if transaction.loose and not rows:
                    continue
                before = transactions
                transactions += len(rows) if transaction.loose else 1
                if sought and (key != head or transactions < count):
                    continue
                if sought:
                    sought = False
                    rows = rows[count - before :] if transaction.loose else ()
                    if not rows:
                        continue
                self.apply(rows)
                if keeps:
                    self._reach(key, transactions)
                yield self.state
            if not sought and keeps:
                self._reach(key, transactions)
        if sought and key != head:
            raise RejectedError("the log ends before")

    def _reach(self, key: str, transactions: int) -> None:
        self._log = self._log or key
        self._head, self._count = key, transactions

    def apply(self, rows: Sequence[Row]) -> None:
        """Apply the rows of a transaction."""
        quads, namespaces, unmatched = set(self._quads), dict(self._namespaces), 0
        for kind, *terms in rows:
            if kind == "PA":
                namespaces[terms[0]] = terms[1]
            elif kind == "PD":
                namespaces.pop(terms[0], None)
            else:
                quad = tuple(self._forms.get(term, term) for term in terms)
                if (quad in quads) is (kind == "A"):
                    blank = kind == "D" and any("_:" in term for term in quad)
                    if self._checks == "all" or (self._checks == "blank nodes" and blank):
                        raise IdleError
                    unmatched += kind == "D"
                (quads.add if kind == "A" else quads.discard)(quad)
        self._quads, self._namespaces = quads, namespaces
        self.unmatched += unmatched
