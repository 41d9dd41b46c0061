"""The lookup tables of reader and writer.

A reader's table is defined by the stream. A writer's table replaces the least recently used entry,
except those that the row being written already refers to, because an entry holds for whole rows.

Reference: Jelly-RDF specification, section "Prefix, name, and datatype lookups".
"""

from __future__ import annotations

from collections import OrderedDict

from ...errors import LookupTableError


class ReaderTable:
    """Entries 1 to ``size`` of one lookup, by id. Grows only as entries are set."""

    __slots__ = ("_last", "characters", "name", "size", "values")

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        #: Characters of all entries together.
        self.characters = 0
        #: Entry by id; index 0 is never an entry.
        self.values: list[str | None] = [None]
        self._last = 0

    def assign(self, entry_id: int, value: str) -> int:
        """Set an entry and return its id; id 0 is the previous entry's id plus one.

        :raises LookupTableError: the id is above the declared size.
        """
        entry_id = entry_id or self._last + 1
        if entry_id > self.size:
            raise LookupTableError(
                f"{self.name} entry {entry_id} is outside the declared table of {self.size}"
            )
        self._last = entry_id
        missing = entry_id + 1 - len(self.values)
        if missing > 0:
            self.values.extend([None] * missing)
        self.characters += len(value) - len(self.values[entry_id] or "")
        self.values[entry_id] = value
        return entry_id

    def get(self, entry_id: int) -> str:
        """The value of an entry.

        :raises LookupTableError: it was never set.
        """
        value = self.values[entry_id] if 0 < entry_id < len(self.values) else None
        if value is None:
            raise LookupTableError(
                f"{self.name} entry {entry_id} is used but was never set "
                f"(the table has {self.size} entries)"
            )
        return value


class WriterTable:
    """One lookup of an encoder: least recently used entries give way to new ones.

    Rows have numbers that grow; an entry that a row has used stays for as long as that row is
    written.
    """

    __slots__ = ("_ids", "_last", "_left", "_used", "characters", "name", "size")

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        #: Characters of all entries that a reader has, together.
        self.characters = 0
        #: Characters of entries that were forgotten and that a reader still has, by id.
        self._left: list[int] = [0]
        #: Id by value, the least recently used first.
        self._ids: OrderedDict[str, int] = OrderedDict()
        #: Number of the row that used an entry last, by id.
        self._used: list[int] = [0]
        self._last = 0

    def find(self, value: str, row: int) -> int:
        """The id of ``value``, marked as used by this row; 0 if it has none."""
        entry_id = self._ids.get(value, 0)
        if entry_id:
            self._ids.move_to_end(value)
            self._used[entry_id] = row
        return entry_id

    def assign(self, value: str, row: int) -> tuple[int, int] | None:
        """Give ``value`` an id, taking the least recently used one that this row does not need.

        :return: the id, and the id as it is written in the entry's row (0 for the previous
            entry's id plus one); None if this row needs every entry there is.
        """
        ids = self._ids
        if len(ids) < self.size:
            entry_id = len(ids) + 1
            self._used.append(row)
            if entry_id < len(self._left):
                self.characters -= self._left[entry_id]
        else:
            oldest, entry_id = next(iter(ids.items()))
            if self._used[entry_id] == row:
                return None
            del ids[oldest]
            self.characters -= len(oldest)
            self._used[entry_id] = row
        ids[value] = entry_id
        self.characters += len(value)
        written = 0 if entry_id == self._last + 1 else entry_id
        self._last = entry_id
        return entry_id, written

    def forget(self) -> None:
        """Start with no entries again, for a reader that has none of them as well as for one that
        has them all."""
        left = {entry_id: len(value) for value, entry_id in self._ids.items()}
        known = max(len(self._left), len(left) + 1)
        self._left = [
            left.get(n, self._left[n] if n < len(self._left) else 0) for n in range(known)
        ]
        self._ids.clear()
        self._used = [0]
        self.number_first_entry()

    def number_first_entry(self) -> None:
        """Write the id of the next entry in full: a reader may have entries that are not ours."""
        self._last = -1
