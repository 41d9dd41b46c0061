"""From a backend's terms to wire bytes: lookups, IRIs, literals, quoted triples, repeats.

All formats built on Jelly's terms share it; it does not depend on frames. Lookup entries are
written as separate rows, before the row that refers to them.

Reference: Jelly-RDF specification, sections "Prefix, name, and datatype lookups", "RDF terms" and
"Repeated terms".
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, Final, NoReturn

from ...errors import StatementError, TermError
from ..common import positions
from .limits import ROW_OVERHEAD, Limits, over
from .options import CommonOptions
from .row_writer import RowWriter
from .terms import Describe, Kind, terms_of, text_of
from .wire import BYTES, bytes_field, string_field, varint, varint_field

#: A cache is cleared when it reaches this many entries.
CACHE_ENTRIES: Final = 1 << 16

#: Tag of the field that a term sets, by position and kind.
_TAGS: Final = {
    (position, kind): varint(number << 3 | BYTES)
    for number, (position, kind) in positions.STATEMENT_FIELDS.items()
}

#: Smallest prefix table for which IRIs are split: a statement may need four prefixes, and one that
#: quotes triples more. With a smaller table IRIs are written whole, with the empty prefix.
LEAST_PREFIXES: Final = 8

#: Prefix id and name id at a restart point: no subsequent IRI may refer to earlier ids.
NO_IDS: Final = (0, 1 << 32)

#: Minimum bytes of a quoted triple: its own tag and length and those of its three terms.
LEAST_TRIPLE: Final = 8

GRAPH_START_TAGS: Final = {
    kind: varint(number << 3 | BYTES) for number, kind in positions.GRAPH_START_FIELDS.items()
}


def _sized(payload: bytes) -> bytes:
    """Put a payload's length before it."""
    return varint(len(payload)) + payload


@lru_cache(maxsize=1 << 14)
def _sized_iri(prefix_id: int, name_id: int) -> bytes:
    """Write the body of an RdfIri with its length before it; the ids are those on the wire."""
    return _sized(varint_field(1, prefix_id) + varint_field(2, name_id))


@cache
def _allowed_tags(generalized: bool, rdf_star: bool) -> dict[Kind, list[bytes | None]]:
    """Map each kind of term to its field's tag by position; None where it is not allowed."""
    tags: dict[Kind, list[bytes | None]] = {kind: [] for kind in Kind}
    for kind, found in tags.items():
        for position in range(len(positions.POSITIONS)):
            allowed = positions.undeclared(position, kind, generalized, rdf_star) is None
            found.append(_TAGS.get((position, kind)) if allowed else None)
    return tags


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


class NoRoomError(Exception):
    """A row needs more entries of a lookup than the lookup can hold."""

    def __init__(self, table: WriterTable) -> None:
        super().__init__(table)
        self.table = table


class TermWriter:
    """The state of writing terms: three lookups, the last ids, the last terms.

    :param encoder: the owner, which gets the rows of entries; held by a weak reference.

    A row that fails with any exception changes only the lookups, whose entries' rows are already
    written.
    """

    def __init__(
        self,
        options: CommonOptions,
        describe: Describe,
        limits: Limits,
        encoder: RowWriter,
    ) -> None:
        self._describe = describe
        self._limits = limits
        # A strong reference would make a cycle: the encoder owns this writer.
        self._encoder = weakref.proxy(encoder)
        self._generalized = options.generalized_statements
        self._rdf_star = options.rdf_star
        self._names = WriterTable("name", options.max_name_table_size)
        self._prefixes = WriterTable("prefix", options.max_prefix_table_size)
        self._datatypes = WriterTable("datatype", options.max_datatype_table_size)
        self._splits = options.max_prefix_table_size >= LEAST_PREFIXES
        #: Number of the current row; identifies the entries that it has used.
        self._row_number = 1
        #: Prefix id and name id that zeros in the next IRI would refer to.
        self.ids = (0, 0)
        self._last: list[Any] = [None, None, None, None]
        #: The result of :meth:`encoded` for each term.
        self._described: dict[Any, tuple[Any, ...]] = {}
        self.tags = _allowed_tags(self._generalized, self._rdf_star)

    def restart(self) -> None:
        """Make the next rows readable both from here and from the start of the stream."""
        self.forget_repeats()
        self.ids = NO_IDS
        for table in (self._names, self._prefixes, self._datatypes):
            table.forget()

    def forget_repeats(self) -> None:
        """Write the next statement in full."""
        self._last = [None, None, None, None]

    def statement(self, terms: tuple[Any, ...]) -> bytes:
        """Write the body of an RdfTriple or RdfQuad; a term that repeats the one in the same
        position of the previous statement is omitted.
        """
        body = self._row(self._terms, terms, self._last)
        self._last[: len(terms)] = terms
        return body

    def graph_name(self, term: Any) -> bytes:
        """Write the body of an RdfGraphStart."""
        return self._row(self._graph_name, term)

    def iri(self, value: str) -> bytes:
        """Write an RdfIri, with its length before it."""
        self.text(value, "an IRI")
        return self._row(self._iri, *self._cut(text_of(value)))

    def text(self, value: str, what: str) -> bytes:
        """The UTF-8 bytes of a string."""
        if not isinstance(value, str):
            raise TermError(f"{what} is not a string: {value!r}")
        try:
            raw = str.encode(value)
        except UnicodeEncodeError:
            raise TermError(f"{what} has a lone surrogate, which UTF-8 cannot encode") from None
        limits = self._limits
        if len(raw) > limits.string_bytes:
            raise over(limits, "string_bytes", len(raw), f"the length of {what}")
        self.check_row(len(raw))
        return raw

    def check_row(self, size: int) -> None:
        if size + ROW_OVERHEAD > self._limits.frame_bytes:
            raise over(self._limits, "frame_bytes", size + ROW_OVERHEAD, "the length of a row")

    def _row(self, write: Callable[..., bytes], *arguments: Any) -> bytes:
        """Write a whole row or nothing."""
        ids = self.ids
        self._row_number += 1
        try:
            body = write(*arguments)
            self.check_row(len(body))
        except NoRoomError as error:
            self.ids = ids
            raise TermError(
                f"the statement needs more {error.table.name} entries than the table has "
                f"({error.table.size}): raise max_{error.table.name}_table_size"
            ) from None
        except BaseException:
            self.ids = ids
            raise
        return body

    def _terms(self, terms: tuple[Any, ...], last: list[Any] | None, depth: int = 0) -> bytes:
        parts: list[bytes] = []
        for position, term in enumerate(terms):
            before = None if last is None else last[position]
            if depth == 0 and isinstance(term, tuple):
                # Hashing or comparing very deeply nested tuples would crash the process.
                self.check_nesting(term)
            if before is not None:
                try:
                    if before is term or before == term:
                        continue
                except AttributeError as error:
                    self._reject(term, error)
            description = self._find(term)
            tag = description[1][position]
            if tag is None:
                raise self.rejection(position, description[0])
            parts += (tag, self._term(description, depth))
        return b"".join(parts)

    def _graph_name(self, term: Any) -> bytes:
        description = self._find(term)
        kind, tags = description[:2]
        if tags[positions.GRAPH] is None:
            raise self.rejection(positions.GRAPH, kind)
        return GRAPH_START_TAGS[kind] + self._term(description, 0)

    def _find(self, term: Any) -> tuple[Any, ...]:
        """Describe a term, see :meth:`encoded`. Descriptions are cached, except those of quoted
        triples: hashing very deeply nested tuples would crash the process.
        """
        if isinstance(term, tuple):
            return self.encoded(self._describe(term))
        try:
            description = self._described.get(term)
        except (TypeError, AttributeError) as error:
            self._reject(term, error)
        if description is None:
            description = self.encoded(self._describe(term))
            if len(self._described) >= CACHE_ENTRIES:
                self._described.clear()
            self._described[term] = description
        return description

    def check_nesting(self, term: tuple[Any, ...]) -> None:
        """Reject a quoted triple that is nested too deeply or contains more triples than a row can
        hold. No recursion: a triple quoted in many places is visited once on each level.
        """
        level = {id(term): (term, 1)}
        depth = triples = 0
        while level:
            depth += 1
            if depth > self._limits.nesting:
                raise over(self._limits, "nesting", depth, "the depth of quoted triples")
            inner: dict[int, tuple[tuple[Any, ...], int]] = {}
            for quoted, times in level.values():
                triples += times
                for part in terms_of(quoted):
                    if isinstance(part, tuple):
                        _, before = inner.get(id(part), (part, 0))
                        inner[id(part)] = (part, before + times)
            self.check_row(triples * LEAST_TRIPLE)
            level = inner

    def _reject(self, term: Any, error: Exception) -> NoReturn:
        """Reject a term that cannot be compared with others; all writable terms can be."""
        self.encoded(self._describe(term))
        raise TermError(f"{term!r} is not a term: {error}") from None

    def encoded(self, parts: tuple[Any, ...]) -> tuple[Any, ...]:
        """Convert the parts returned by the caller's function to four parts: the term's kind, its
        tags by position, and

        - for an IRI, its prefix and name;
        - for a literal with a datatype, its bytes on the wire up to the datatype, and the
          datatype's IRI;
        - for a quoted triple, its terms and their number;
        - for any other term, its bytes with their length before them, and None.
        """
        parts = terms_of(parts)
        kind = Kind(parts[0])
        tags = self.tags[kind]
        if kind is Kind.IRI:
            self.text(parts[1], "an IRI")
            return (kind, tags, *self._cut(text_of(parts[1])))
        if kind is Kind.LITERAL:
            _, lex, langtag, datatype = parts
            wire = self.text(lex, "a lexical form")
            wire = bytes_field(1, wire) if wire else b""
            if langtag is not None:
                if datatype is not None:
                    raise TermError("a literal has either a language tag or a datatype, not both")
                if not langtag:
                    raise TermError("a language tag is empty")
                wire += bytes_field(2, self.text(langtag, "a language tag"))
            if datatype is None:
                return (kind, tags, _sized(wire), None)
            self.text(datatype, "a datatype")
            return (kind, tags, wire, text_of(datatype))
        if kind is Kind.BLANK_NODE:
            return (kind, tags, _sized(self.text(parts[1], "a blank node label")), None)
        if kind is Kind.TRIPLE:
            if len(parts) != 4:
                raise TermError(f"a quoted triple of {len(parts) - 1} terms")
            return (kind, tags, parts[1:], 3)
        return (kind, tags, _sized(b""), None)

    def rejection(self, position: int, kind: Kind) -> StatementError:
        if position == positions.GRAPH and kind == Kind.TRIPLE:
            return StatementError("a quoted triple cannot name a graph")
        if kind == Kind.DEFAULT_GRAPH:
            return StatementError(f"the default graph cannot be a {positions.POSITIONS[position]}")
        option = positions.undeclared(position, kind, self._generalized, self._rdf_star)
        return StatementError(
            f"{kind.name} as {positions.POSITIONS[position]} needs {option}=True in the options"
        )

    def _term(self, description: tuple[Any, ...], depth: int) -> bytes:
        """Write a term with its length before it."""
        kind, _, first, second = description
        if kind is Kind.IRI:
            return self._iri(first, second)
        if kind is Kind.TRIPLE:
            if depth >= self._limits.nesting:
                raise over(self._limits, "nesting", depth + 1, "the depth of quoted triples")
            return _sized(self._terms(first, None, depth + 1))
        if second is not None:
            return _sized(first + varint_field(3, self.datatype_id(second)))
        wire: bytes = first
        return wire

    def _cut(self, value: str) -> tuple[str, str]:
        """Split an IRI into prefix and name."""
        if not self._splits:
            return "", value
        cut = max(value.rfind("#"), value.rfind("/")) + 1
        return value[:cut], value[cut:]

    def _iri(self, prefix: str, name: str) -> bytes:
        """Write an RdfIri, with its length before it; entries are created if missing."""
        last_prefix_id, last_name_id = self.ids
        prefix_id = 0
        if self._prefixes.size:
            prefix_id = self._entry_id(self._prefixes, prefix)
        name_id = self._entry_id(self._names, name)
        self.ids = prefix_id, name_id
        return _sized_iri(
            0 if prefix_id == last_prefix_id else prefix_id,
            0 if name_id == last_name_id + 1 else name_id,
        )

    def datatype_id(self, datatype: str) -> int:
        table = self._datatypes
        if not table.size:
            raise TermError(f"a literal of datatype {datatype}, but max_datatype_table_size is 0")
        return self._entry_id(table, datatype)

    def _entry_id(self, table: WriterTable, value: str) -> int:
        """Return the id of an entry; write its row if it is missing."""
        found = table.find(value, self._row_number)
        if found:
            return found
        characters = table.characters + len(value)
        if characters > self._limits.lookup_characters:
            what = f"the length of all {table.name} entries"
            raise over(self._limits, "lookup_characters", characters, what)
        assigned = table.assign(value, self._row_number)
        if assigned is None:
            raise NoRoomError(table)
        entry_id, written = assigned
        self._encoder.add_entry(table.name, varint_field(1, written) + string_field(2, value))
        return entry_id
