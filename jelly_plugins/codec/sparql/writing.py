# cython: language_level=3, auto_pickle=False
"""Columns of query results, and the lookup entries that they need: terms to wire bytes.

This module is compiled (as ``_writing``) where there is a compiler, and runs as it is otherwise;
:mod:`.kernel` chooses. It has no pointers: every index is checked.

Reference: sparql.proto, "Columns"; rdf2.proto.
"""

from __future__ import annotations

from typing import Any

from ...errors import TermError
from ..common.limits import ROW_OVERHEAD, over
from ..common.lookups import WriterTable
from ..common.term_writer import NoRoomError
from ..common.terms import BlankNode, Iri, Kind, Literal, terms_of, text_of
from ..common.terms import describe as describe_generic
from .options import BLANK_NODES, DATATYPES, IRIS, LITERALS, LOOKUPS, MIXED, NAMES, PREFIXES

try:
    import cython
except ImportError:
    from ..common import cython_shim as cython

_IRI = int(Kind.IRI)
_BLANK_NODE = int(Kind.BLANK_NODE)
_LITERAL = int(Kind.LITERAL)

#: Values of longer terms are not kept.
_KEPT_BYTES = 1024
_KEPT_TERMS = 1 << 16


@cython.final
@cython.no_gc
@cython.cclass
class Value:
    """A term that can be written. It has only strings and bytes, so it is in no cycle.

    :ivar text: an IRI, the label of a blank node, or a literal's lexical form; ``raw`` in UTF-8.
    :ivar datatype: a literal's datatype; None for xsd:string.
    """

    kind: cython.int
    text: str
    raw: bytes
    tag: object
    datatype: object


@cython.cfunc
def _put_number(into: bytearray, value: cython.ulonglong) -> object:
    """Append a varint."""
    while value > 0x7F:
        into.append(value & 0x7F | 0x80)
        value >>= 7
    into.append(value)
    return None


@cython.cfunc
def _put_field(into: bytearray, number: cython.int, payload: object) -> object:
    """Append a field of bytes, empty or not."""
    into.append(number << 3 | 2)
    _put_number(into, len(payload))
    into += payload
    return None


@cython.cfunc
def _put_run(
    layout: bytearray, skip: cython.Py_ssize_t, unbound: cython.bint, length: cython.Py_ssize_t
) -> object:
    """Append a run's token, with an extension if its length needs one."""
    length -= 1 if unbound else 2
    code: cython.Py_ssize_t = length if length < 15 else 15
    _put_number(layout, skip << 5 | (16 if unbound else 0) | code)
    if code == 15:
        _put_number(layout, length - 15)
    return None


@cython.cfunc
@cython.exceptval(-1)
def _are_equal(cell: object, last: object) -> cython.bint:
    if cell is last:
        return True
    if cell is None or last is None:
        return False
    kind = type(cell)
    if kind is type(last):
        # The classes' own comparison takes many times as long.
        if kind is Iri:
            return cell.value == last.value
        if kind is Literal:
            return (
                cell.lex == last.lex
                and cell.langtag == last.langtag
                and cell.datatype == last.datatype
            )
    return cell == last


def squeeze(cells: Any) -> tuple[list[Any], bytearray]:
    """The run values and the layout of a column's cells; None is an unbound cell.

    :raises AttributeError: a cell cannot be compared with others.

    >>> squeeze(["a", "b", "b", None, None, None])
    (['a', 'b'], bytearray(b' '))
    """
    values: list = []
    layout: bytearray = bytearray()
    # Values used once since the last token, and the length of the current run.
    skip: cython.Py_ssize_t = 0
    run: cython.Py_ssize_t = 0
    last: object = None
    for cell in cells:
        if run and _are_equal(cell, last):
            run += 1
            continue
        if run == 1 and last is not None:
            skip += 1
        elif run:
            _put_run(layout, skip, last is None, run)
            skip = 0
        if cell is not None:
            values.append(cell)
        last = cell
        run = 1
    # Cells after the last run are unbound anyway.
    if run > 1 and last is not None:
        _put_run(layout, skip, False, run)
    return values, layout


@cython.final
@cython.cclass
class ColumnWriter:
    """Writes the columns of a stream's frames.

    :param options: sizes of the lookups.
    :param describe: describes the caller's terms.
    :param limits: limits on the output.
    :raises TermError: from each method; a term cannot be written.
    """

    _describe: object
    _generic: cython.bint
    _limits: object
    _longest: cython.Py_ssize_t
    _known: dict
    # Lookups by their fields in a frame, and the last value and id of each that the frame has used.
    _tables: dict
    _last: dict
    # Entries for the next frame: the complete fields, and the body of the last one.
    _entries: dict
    _bodies: dict
    _frame: cython.Py_ssize_t
    _whole: cython.bint
    # The ids that zeros in the next IRI would refer to.
    _prefix_id: cython.Py_ssize_t
    _name_id: cython.Py_ssize_t

    def __init__(self, options: Any, describe: Any, limits: Any) -> None:
        self._describe = describe
        self._generic = describe is describe_generic
        self._limits = limits
        self._longest = min(
            limits.string_bytes, max(limits.frame_bytes - ROW_OVERHEAD, -1), 1 << 61
        )
        self._known = {}
        self._tables = {
            NAMES: WriterTable("name", options.max_name_table_size),
            PREFIXES: WriterTable("prefix", options.max_prefix_table_size),
            DATATYPES: WriterTable("datatype", options.max_datatype_table_size),
        }
        self._last = {}
        self._entries = {number: bytearray() for number in LOOKUPS}
        self._bodies = {number: bytearray() for number in LOOKUPS}
        self._frame = 1
        self._whole = False
        self._prefix_id = self._name_id = 0

    def begin(self) -> None:
        """Start a frame: entries that are used from here on are kept until its end."""
        self._frame += 1
        self._last.clear()

    def text(self, value: Any, what: str) -> bytes:
        """The UTF-8 bytes of a string."""
        return self._raw(value, what)

    @cython.cfunc
    def _raw(self, value: object, what: str) -> bytes:
        if not isinstance(value, str):
            raise TermError(f"{what} is not a string: {value!r}")
        text: str = value if type(value) is str else text_of(value)
        try:
            raw: bytes = text.encode("utf-8")
        except UnicodeEncodeError:
            raise TermError(f"{what} has a lone surrogate, which UTF-8 cannot encode") from None
        if len(raw) <= self._longest:
            return raw
        if len(raw) > self._limits.string_bytes:
            raise over(self._limits, "string_bytes", len(raw), f"the length of {what}")
        size = len(raw) + ROW_OVERHEAD
        raise over(self._limits, "frame_bytes", size, "the length of a row")

    # Cells to values

    def column(self, cells: Any) -> tuple[tuple[list[Value], bytearray, bool], int, int]:
        """Make the column of some cells; None is an unbound cell.

        :return: the column (its run values, its layout, and whether literals have one datatype and
            no language tags), the bytes of its values, and a bit for each kind of term.
        """
        try:
            terms, layout = squeeze(cells)
        except AttributeError as error:
            raise TermError(f"a cell is not a term: {error}") from None
        values: list = []
        value: Value
        datatype: object = None
        of_one_datatype: cython.bint = True
        size: cython.Py_ssize_t = 0
        kinds: cython.int = 0
        for term in terms:
            value = self._value(term)
            if not values:
                datatype = value.datatype
            if value.tag is not None or value.datatype != datatype:
                of_one_datatype = False
            values.append(value)
            size += len(value.raw) + (0 if value.tag is None else len(value.tag))
            kinds |= 1 << value.kind
        return (values, layout, of_one_datatype), size, kinds

    @cython.cfunc
    def _value(self, term: object) -> Value:
        """The parts of a term; kept unless the term is long, or takes little to take apart."""
        if self._generic:
            # Taking generic terms apart takes less time than finding them.
            kind = type(term)
            try:
                if kind is Iri:
                    return self._text_value(_IRI, term.value, "an IRI")
                if kind is Literal:
                    return self._literal(term.lex, term.langtag, term.datatype)
                if kind is BlankNode:
                    return self._text_value(_BLANK_NODE, term.label, "a blank node label")
            except AttributeError:
                # The term lacks a part, which its description says.
                pass
        try:
            found = self._known.get(term)
        except (TypeError, AttributeError) as error:
            # Most such things are not terms, which their description says.
            self._made(self._describe(term))
            raise TermError(f"{term!r} is not a term: {error}") from None
        if found is None:
            found = self._made(self._describe(term))
            value: Value = found
            if len(value.raw) <= _KEPT_BYTES:
                if len(self._known) >= _KEPT_TERMS:
                    self._known.clear()
                self._known[term] = found
        return found

    @cython.cfunc
    def _made(self, described: object) -> Value:
        parts = terms_of(described)
        kind = int(parts[0])
        if kind == _IRI:
            return self._text_value(kind, parts[1], "an IRI")
        if kind == _BLANK_NODE:
            return self._text_value(kind, parts[1], "a blank node label")
        if kind != _LITERAL:
            raise TermError("Jelly-SPARQL has no quoted triples and no default graph")
        _, lex, tag, datatype = parts
        return self._literal(lex, tag, datatype)

    @cython.cfunc
    def _text_value(self, kind: cython.int, text: object, what: str) -> Value:
        made: Value = Value()
        made.kind = kind
        made.raw = self._raw(text, what)
        made.text = text if type(text) is str else text_of(text)
        made.tag = made.datatype = None
        return made

    @cython.cfunc
    def _literal(self, lex: object, tag: object, datatype: object) -> Value:
        made: Value = self._text_value(_LITERAL, lex, "a lexical form")
        if tag is not None:
            if datatype is not None:
                raise TermError("a literal has either a language tag or a datatype, not both")
            if not tag:
                raise TermError("a language tag is empty")
            made.tag = self._raw(tag, "a language tag")
        if datatype is not None:
            self._raw(datatype, "a datatype")
            made.datatype = text_of(datatype)
        return made

    # Values to columns

    def columns(self, columns: Any, whole: bool) -> bytes:
        """Write the columns of a frame.

        :param columns: the type of each column and the result of :meth:`column`, in order of the
            types.
        :param whole: whether IRIs are written whole, with the empty prefix.
        :raises NoRoomError: the columns need more entries than a lookup can hold.
        """
        into: bytearray = bytearray()
        self._whole = whole
        for number, (values, layout, of_one_datatype) in columns:
            body = self._body(number, values, of_one_datatype)
            if layout:
                _put_field(body, 2, layout)
            _put_field(into, number, body)
        return bytes(into)

    @cython.cfunc
    def _body(
        self, number: cython.int, values: list, of_one_datatype: cython.bint
    ) -> bytearray:  # fmt: skip
        """Write the run values of a column."""
        into: bytearray = bytearray()
        value: Value
        self._prefix_id = self._name_id = 0
        if number == IRIS:
            self._put_iris(into, values)
        elif number == BLANK_NODES:
            for value in values:
                _put_field(into, 1, value.raw)
        elif number == LITERALS and of_one_datatype and values:
            for value in values:
                _put_field(into, 3, value.raw)
            value = values[0]
            if value.datatype is not None:
                into.append(4 << 3)
                _put_number(into, self._datatype_id(value.datatype))
        else:
            for value in values:
                body = self._term(value)
                if number == MIXED:
                    # The number of its field is that of its kind plus one.
                    inner = body
                    body = bytearray()
                    _put_field(body, value.kind + 1, inner)
                _put_field(into, 1, body)
        return into

    @cython.cfunc
    def _put_iris(self, into: bytearray, values: list) -> object:
        names: bytearray = bytearray()
        prefixes: bytearray = bytearray()
        one: cython.bint = True
        first: cython.bint = True
        value: Value
        prefix_id: cython.Py_ssize_t
        name_id: cython.Py_ssize_t
        for value in values:
            prefix_id, name_id = self._written_ids(value)
            one = one and (first or prefix_id == 0)
            first = False
            _put_number(names, name_id)
            _put_number(prefixes, prefix_id)
        if names:
            _put_field(into, 1, names)
        if one:
            # One prefix for all values, or none.
            prefixes = bytearray()
            if self._prefix_id:
                _put_number(prefixes, self._prefix_id)
        if prefixes:
            _put_field(into, 3, prefixes)
        return None

    @cython.cfunc
    def _term(self, value: Value) -> bytearray:
        """Write the body of an RdfIri, a label, or an RdfLiteral."""
        body: bytearray = bytearray()
        if value.kind == _IRI:
            prefix_id, name_id = self._written_ids(value)
            if prefix_id:
                body.append(1 << 3)
                _put_number(body, prefix_id)
            if name_id:
                body.append(2 << 3)
                _put_number(body, name_id)
        elif value.kind == _BLANK_NODE:
            body += value.raw
        else:
            if value.raw:
                _put_field(body, 1, value.raw)
            if value.tag is not None:
                _put_field(body, 2, value.tag)
            if value.datatype is not None:
                body.append(3 << 3)
                _put_number(body, self._datatype_id(value.datatype))
        return body

    # Lookups

    @cython.cfunc
    def _written_ids(self, value: Value) -> tuple:
        """The ids of an IRI as written after those of the previous one."""
        prefix: str = ""
        name: str = value.text
        cut: cython.Py_ssize_t
        prefix_id: cython.Py_ssize_t = 0
        if self._tables[PREFIXES].size:
            if not self._whole:
                cut = max(name.rfind("#"), name.rfind("/")) + 1
                prefix = name[:cut]
                name = name[cut:]
            prefix_id = self._entry_id(PREFIXES, prefix)
        name_id: cython.Py_ssize_t = self._entry_id(NAMES, name)
        written = (
            0 if prefix_id == self._prefix_id else prefix_id,
            0 if name_id == self._name_id + 1 else name_id,
        )
        self._prefix_id = prefix_id
        self._name_id = name_id
        return written

    @cython.cfunc
    @cython.exceptval(-1)
    def _datatype_id(self, datatype: str) -> cython.Py_ssize_t:
        if not self._tables[DATATYPES].size:
            raise TermError(f"a literal of datatype {datatype}, but max_datatype_table_size is 0")
        return self._entry_id(DATATYPES, datatype)

    @cython.cfunc
    @cython.exceptval(-1)
    def _entry_id(self, number: cython.int, value: str) -> cython.Py_ssize_t:
        """The id of an entry, which is made if it is missing."""
        last = self._last.get(number)
        # Most IRIs have the prefix of the one before, and most literals its datatype.
        if last is not None and last[0] == value:
            return last[1]
        table = self._tables[number]
        found: cython.Py_ssize_t = table.find(value, self._frame)
        if not found:
            found = self._new_entry(number, table, value)
        self._last[number] = (value, found)
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    def _new_entry(self, number: cython.int, table: object, value: str) -> cython.Py_ssize_t:
        characters = table.characters + len(value)
        if characters > self._limits.lookup_characters:
            what = f"the length of all {table.name} entries"
            raise over(self._limits, "lookup_characters", characters, what)
        ids = table.assign(value, self._frame)
        if ids is None:
            raise NoRoomError(table)
        if ids[1]:
            # An id begins another field.
            self._end_entries(number)
            self._bodies[number].append(1 << 3)
            _put_number(self._bodies[number], ids[1])
        _put_field(self._bodies[number], 2, value.encode())
        return ids[0]

    @cython.cfunc
    def _end_entries(self, number: cython.int) -> object:
        if self._bodies[number]:
            _put_field(self._entries[number], number, self._bodies[number])
            self._bodies[number] = bytearray()
        return None

    def take_entries(self) -> bytes:
        """The entries for the next frame, as its fields."""
        for number in LOOKUPS:
            self._end_entries(number)
        taken = b"".join(self._entries.values())
        self._entries = {number: bytearray() for number in LOOKUPS}
        return taken
