"""Write columns of a frame: run values, layouts, and the lookup entries that they need.

The reference of the compiled ``ColumnWriter``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ...errors import TermError
from ..common.limits import Limits
from ..common.term_reader import CACHED_STRING
from ..common.term_writer import CACHE_ENTRIES, TermWriter
from ..common.terms import Describe, Kind, terms_of, text_of
from ..common.wire import bytes_field, string_field, varint_field
from .layouts import BLANK_NODES, IRIS, LITERALS, MIXED, pack, squeeze
from .options import ResultsOptions

#: Field of a mixed column's value by kind of term.
_MIXED_FIELDS: Final = {Kind.IRI: 1, Kind.BLANK_NODE: 2, Kind.LITERAL: 3}

#: Field of a frame for the entries of each lookup.
_LOOKUPS: Final = {"name": 4, "prefix": 5, "datatype": 6}


class Value(NamedTuple):
    """A term that can be written.

    :ivar text: an IRI, the label of a blank node, or a literal's lexical form.
    :ivar datatype: a literal's datatype; None for xsd:string.
    :ivar size: its length in bytes, without a datatype.
    """

    kind: Kind
    text: str
    tag: str | None
    datatype: str | None
    size: int


class Column(NamedTuple):
    """The run values of a column, its layout, the size of its values in bytes, and a bit for each
    kind.
    """

    values: list[Value]
    layouts: list[int]
    size: int
    kinds: int


class ColumnWriter(TermWriter):
    """Writes the columns of a stream's frames.

    :param options: sizes of the lookups.
    :param describe: describes the caller's terms.
    :param limits: limits on the output.
    """

    def __init__(self, options: ResultsOptions, describe: Describe, limits: Limits) -> None:
        super().__init__(options, describe, limits, self._no_rows)
        #: Entries for the next frame by lookup: the id as written, and the value.
        self._entries: dict[str, list[tuple[int, str]]] = {name: [] for name in _LOOKUPS}

    @staticmethod
    def _no_rows(_table: str, _body: bytes) -> None:
        raise AssertionError("entries are packed")

    def _write_entry(self, table: str, written: int, value: str) -> None:
        self._entries[table].append((written, value))

    def column(self, cells: Sequence[Any]) -> Column:
        """Make the column of some cells; None is an unbound cell.

        :raises TermError: a cell is not a term, or cannot be written.
        """
        try:
            terms, layouts = squeeze(cells)
        except AttributeError as error:
            raise TermError(f"a cell is not a term: {error}") from None
        values = [self.value(term) for term in terms]
        kinds = 0
        for value in values:
            kinds |= 1 << value.kind
        return Column(values, layouts, sum(value.size for value in values), kinds)

    def value(self, term: Any) -> Value:
        """Return the parts of a term to write; cached unless the term is long.

        :raises TermError: it is not a term, or cannot be written.
        """
        known: dict[Any, Any] = self._described
        try:
            found: Any = known.get(term)
        except (TypeError, AttributeError) as error:
            self._reject(term, error)
        if found is None:
            found = self._describe(term)
            if found.size <= CACHED_STRING:
                if len(known) >= CACHE_ENTRIES:
                    known.clear()
                known[term] = found
        value: Value = found
        return value

    def _encoded(self, parts: tuple[Any, ...]) -> Any:
        parts = terms_of(parts)
        kind = Kind(parts[0])
        if kind is Kind.IRI:
            return Value(kind, text_of(parts[1]), None, None, len(self.text(parts[1], "an IRI")))
        if kind is Kind.BLANK_NODE:
            size = len(self.text(parts[1], "a blank node label"))
            return Value(kind, text_of(parts[1]), None, None, size)
        if kind is not Kind.LITERAL:
            raise TermError("Jelly-SPARQL has no quoted triples and no default graph")
        _, lex, langtag, datatype = parts
        size = len(self.text(lex, "a lexical form"))
        if langtag is not None:
            if datatype is not None:
                raise TermError("a literal has either a language tag or a datatype, not both")
            if not langtag:
                raise TermError("a language tag is empty")
            size += len(self.text(langtag, "a language tag"))
        if datatype is not None:
            self.text(datatype, "a datatype")
        return Value(kind, text_of(lex), text_of(langtag), text_of(datatype), size)

    def begin(self) -> None:
        """Start a frame: entries that are used from here on are kept until its end."""
        self._row_number += 1

    def columns(self, columns: Sequence[tuple[int, Column]], whole: bool) -> bytes:
        """Write the columns of a frame.

        :param columns: the type of each column and the result of :meth:`column`, in order of the
            types.
        :param whole: whether IRIs are written whole, with the empty prefix.
        :raises NoRoomError: the columns need more entries than a lookup can hold.
        """
        self._whole = whole
        return b"".join(
            bytes_field(number, self._column(number, column.values) + _numbers(2, column.layouts))
            for number, column in columns
        )

    def take_entries(self) -> bytes:
        """Return the entries for the next frame, as its fields."""
        taken = b"".join(
            _packed_entries(number, self._entries[name]) for name, number in _LOOKUPS.items()
        )
        self._entries = {name: [] for name in _LOOKUPS}
        return taken

    def _column(self, number: int, values: list[Value]) -> bytes:
        """Write the run values of a column."""
        if number == IRIS:
            return self._iri_column(values)
        if number == BLANK_NODES:
            return b"".join([bytes_field(1, value.text.encode()) for value in values])
        if number == LITERALS and len({(value.tag, value.datatype) for value in values}) == 1:
            _, _, tag, datatype, _ = values[0]
            if tag is None:
                lexes = b"".join([bytes_field(3, value.text.encode()) for value in values])
                return lexes + varint_field(4, self._datatype_id(datatype))
        return self._terms_column(values, number == MIXED)

    def _iri_column(self, values: list[Value]) -> bytes:
        names = []
        prefixes = []
        self.ids = (0, 0)
        for value in values:
            prefix, name = self._written_ids(value)
            prefixes.append(prefix)
            names.append(name)
        if not any(prefixes[1:]):
            # One prefix for all values, or none.
            prefixes = [prefix for prefix in prefixes[:1] if prefix]
        return _numbers(1, names) + _numbers(3, prefixes)

    def _terms_column(self, values: list[Value], mixed: bool) -> bytes:
        """Write values as RdfLiteral, or in a mixed column as SparqlTerm."""
        fields = []
        self.ids = (0, 0)
        for value in values:
            if value.kind is Kind.IRI:
                prefix, name = self._written_ids(value)
                body = varint_field(1, prefix) + varint_field(2, name)
            elif value.kind is Kind.BLANK_NODE:
                body = value.text.encode()
            else:
                body = string_field(1, value.text)
                if value.tag is not None:
                    body += string_field(2, value.tag)
                body += varint_field(3, self._datatype_id(value.datatype))
            if mixed:
                body = bytes_field(_MIXED_FIELDS[value.kind], body)
            fields.append(bytes_field(1, body))
        return b"".join(fields)

    def _written_ids(self, value: Value) -> tuple[int, int]:
        """Return the ids of an IRI as written after those of the previous one."""
        last_prefix, last_name = self.ids
        self.ids = prefix, name = self._iri_ids(*self._cut(value.text))
        return 0 if prefix == last_prefix else prefix, 0 if name == last_name + 1 else name

    def _datatype_id(self, datatype: str | None) -> int:
        return 0 if datatype is None else self._datatype(datatype)


def _numbers(number: int, values: list[int]) -> bytes:
    """Write a packed field; write nothing if there are no values."""
    return bytes_field(number, pack(values)) if values else b""


def _packed_entries(number: int, entries: list[tuple[int, str]]) -> bytes:
    """Write entries of a lookup in packed form, as fields of a frame."""
    fields = []
    body = b""
    for written, value in entries:
        if written and body:
            fields.append(bytes_field(number, body))
            body = b""
        body += varint_field(1, written) + bytes_field(2, value.encode())
    if body:
        fields.append(bytes_field(number, body))
    return b"".join(fields)
