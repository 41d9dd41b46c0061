"""The lookup tables of reader and writer.

The stream defines a reader's table. A writer's table replaces the least recently used entry, but
never one that the current row already refers to, because an entry applies to whole rows.

Reference: Jelly-RDF specification, section "Prefix, name, and datatype lookups".
"""

from __future__ import annotations

from collections import OrderedDict

from ...errors import LookupTableError


class ReaderTable:
    """Entries 1 to ``size`` of one lookup, by id. Grows only as entries are set."""

    __slots__ = ("characters", "last", "name", "size", "values")

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        #: Total characters of all entries.
        self.characters = 0
        #: Entries by id; index 0 is unused.
        self.values: list[str | None] = [None]
        #: The id that was set last; the next entry's id of 0 denotes the one after it.
        self.last = 0

    def assign(self, entry_id: int, value: str) -> int:
        """Set an entry and return its id; id 0 is the previous entry's id plus one.

        :raises LookupTableError: the id is above the declared size.
        """
        entry_id = entry_id or self.last + 1
        if entry_id > self.size:
            raise LookupTableError(
                f"{self.name} entry {entry_id} is outside the declared table of {self.size}"
            )
        self.last = entry_id
        missing = entry_id + 1 - len(self.values)
        if missing > 0:
            self.values.extend([None] * missing)
        self.characters += len(value) - len(self.values[entry_id] or "")
        self.values[entry_id] = value
        return entry_id

    def get(self, entry_id: int) -> str:
        """Return the value of an entry.

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
    """One lookup of an encoder; new entries replace the least recently used ones.

    Row numbers increase; an entry that a row has used is kept until that row is written.
    """

    __slots__ = ("_ids", "_last", "_left", "_used", "characters", "name", "size")

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        #: Total characters of all entries that a reader holds.
        self.characters = 0
        #: Characters of forgotten entries that a reader still holds, by id.
        self._left: list[int] = [0]
        #: Ids by value, the least recently used first.
        self._ids: OrderedDict[str, int] = OrderedDict()
        #: Number of the last row that used each entry, by id.
        self._used: list[int] = [0]
        self._last = 0

    def find(self, value: str, row: int) -> int:
        """Return the id of ``value`` and mark it as used by this row; 0 if it has none."""
        entry_id = self._ids.get(value, 0)
        if entry_id:
            self._ids.move_to_end(value)
            self._used[entry_id] = row
        return entry_id

    def assign(self, value: str, row: int) -> tuple[int, int] | None:
        """Assign ``value`` an id: the least recently used one that this row does not need.

        :return: the id, and the id as it is written in the entry's row (0 for the previous entry's
            id plus one); None if this row needs all entries.
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
        """Forget all entries, for readers that start here and for readers that still have them."""
        left = {entry_id: len(value) for value, entry_id in self._ids.items()}
        known = max(len(self._left), len(left) + 1)
        self._left = [
            left.get(n, self._left[n] if n < len(self._left) else 0) for n in range(known)
        ]
        self._ids.clear()
        self._used = [0]
        self.number_first_entry()

    def number_first_entry(self) -> None:
        """Write the id of the next entry in full, because the reader may have entries of another
        writer.
        """
        self._last = -1
