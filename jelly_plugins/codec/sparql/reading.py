# cython: language_level=3, auto_pickle=False
"""Columns of query results, and the lookup entries that they need: wire bytes to terms or text.

This module is compiled (as ``_reading``) where there is a compiler, and runs as it is otherwise;
:mod:`.kernel` chooses. Rules for both to agree and to be safe:

- A number from outside is a ``ulonglong`` of at most 64 bits. It is compared with what it counts or
  measures before it becomes a position.
- ``p`` is a pointer into the frame, and not checked: a position is compared with the end first.
  Lists and ``bytes`` are checked.
- Nothing is made of a column's values before they were counted.

Reference: sparql.proto, "Columns"; rdf2.proto.
"""

from __future__ import annotations

from typing import Any

from ...errors import LookupTableError, StatementError, WireError
from ..common.limits import over
from ..common.terms import XSD_STRING, BlankNode, GenericFactory, Iri, Literal, build
from ..text.columns import Column

try:
    import cython
except ImportError:
    from ..common import cython_shim as cython

#: Types of columns: their fields in a frame, in the order in which a header numbers them.
IRIS = 7
BLANK_NODES = 8
LITERALS = 9
MIXED = 10

#: Lookups, by their fields in a frame.
NAMES = 4
PREFIXES = 5
DATATYPES = 6

#: Terms of longer text are not kept.
_KEPT_BYTES = 1024
_KEPT_TERMS = 1 << 16

#: Room for the text of a column at first, at most.
_FIRST_BYTES = 1 << 18

_MAX_UINT32 = 0xFFFFFFFF
#: More than any input has; sums of two are within 64 bits.
_NO_LIMIT = 1 << 61

_MESSAGES = {
    IRIS: "SparqlIriColumn",
    BLANK_NODES: "SparqlBnodeColumn",
    LITERALS: "SparqlLiteralColumn",
    MIXED: "SparqlPolyColumn",
}

#: Bytes that text in N-Triples has as they are: 1 in an IRI, 2 in a string, 4 in a label, 8 in a
#: language tag, 16 in a string of ASCII. EF begins two characters that are escaped in a string.
_PLAIN = bytes(
    (1 if code > 0x20 and chr(code) not in '<>"{}|^`\\' and code != 0x7F else 0)
    | (2 if code >= 0x20 and code not in (0x22, 0x5C, 0x7F, 0xEF) else 0)
    | (4 if code < 0x80 and (chr(code).isalnum() or code == 0x5F) else 0)
    | (8 if code < 0x80 and chr(code).isalpha() else 0)
    | (16 if 0x20 <= code < 0x7F and code not in (0x22, 0x5C) else 0)
    for code in range(256)
)
_PLAIN_OF = {
    kind: bytes(code for code in range(256) if _PLAIN[code] & kind) for kind in (1, 2, 4, 8, 16)
}
_IN_IRI = 1
_IN_STRING = 2
_IN_LABEL = 4
_IN_TAG = 8
_IN_ASCII_STRING = 16

# Setting the slots of a term takes less time than its constructor.
_NEW = object.__new__
_SET_IRI = Iri.__dict__["value"].__set__
_SET_LABEL = BlankNode.__dict__["label"].__set__
_SET_LEX = Literal.__dict__["lex"].__set__
_SET_TAG = Literal.__dict__["langtag"].__set__
_SET_DATATYPE = Literal.__dict__["datatype"].__set__


def too_many(rows: int) -> WireError:
    """The error for a column with more cells than its frame has rows."""
    return WireError(f"the column has more cells than the frame has rows ({rows})")


@cython.final
@cython.cclass
class Cursor:
    """A position in a message, and the field that was read last.

    :ivar number: the field's number.
    :ivar wire_type: 0 for a number, 2 for bytes.
    :ivar start: the start of the payload, and ``stop`` its end.
    :ivar value: the number, if it is one.
    """

    data: bytes
    p: cython.p_uchar
    pos: cython.Py_ssize_t
    end: cython.Py_ssize_t
    number: cython.ulonglong
    wire_type: cython.int
    # Not side by side: compilers would copy both at once, which waits for both to be written.
    start: cython.Py_ssize_t
    value: cython.ulonglong
    stop: cython.Py_ssize_t

    @cython.cfunc
    def open(self, data: bytes, pos: cython.Py_ssize_t, end: cython.Py_ssize_t) -> object:
        """Begin at the start of a message; the caller has compared its end with the bytes."""
        self.data = data
        self.p = data
        self.pos = pos
        self.end = end
        return None

    @cython.cfunc
    @cython.exceptval(-1)
    def varint(self) -> cython.ulonglong:
        """Read a number."""
        p: cython.p_uchar = self.p
        pos: cython.Py_ssize_t = self.pos
        end: cython.Py_ssize_t = self.end
        value: cython.ulonglong = 0
        byte: cython.ulonglong
        shift: cython.int = 0
        while True:
            if pos >= end:
                raise WireError("a number ends after its message")
            byte = p[pos]
            pos += 1
            if shift == 63 and byte > 1:
                raise WireError("a number is longer than 64 bits")
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        self.pos = pos
        return value

    @cython.cfunc
    @cython.exceptval(-1)
    def next(self) -> cython.bint:
        """Read a field; return whether there was one."""
        p: cython.p_uchar = self.p
        pos: cython.Py_ssize_t = self.pos
        left: cython.Py_ssize_t = self.end - pos
        if left <= 0:
            return False
        # Most fields are of less than 128 bytes, and their numbers below 16.
        if left < 2 or p[pos] & 0x87 != 2 or p[pos] < 8 or p[pos + 1] > min(left - 2, 0x7F):
            return self._next()
        self.number = p[pos] >> 3
        self.wire_type = 2
        self.value = 0
        self.start = pos + 2
        self.pos = self.stop = self.start + p[pos + 1]
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def _next(self) -> cython.bint:
        """Read a field of any form."""
        size: cython.ulonglong
        left: cython.ulonglong
        tag: cython.ulonglong = self.varint()
        self.number = tag >> 3
        self.wire_type = tag & 7
        if self.number == 0 or self.number >= 1 << 29:
            raise WireError(f"field number {self.number} is not valid")
        self.start = self.pos
        self.value = 0
        size = 0
        if self.wire_type == 0:
            self.value = self.varint()
        elif self.wire_type == 2:
            size = self.varint()
            self.start = self.pos
        elif self.wire_type == 1:
            size = 8
        elif self.wire_type == 5:
            size = 4
        else:
            raise WireError(f"wire type {self.wire_type} is not valid")
        left = self.end - self.pos
        if size > left:
            raise WireError("a field ends after its message")
        self.pos += size
        self.stop = self.pos
        return True

    @cython.cfunc
    def check(self, wire_type: cython.int, message: str) -> object:
        """Check the type of a field."""
        if self.wire_type != wire_type:
            raise WireError(
                f"field {self.number} of {message} has the wrong wire type: "
                "not Jelly, or a pre-release dialect of it"
            )
        return None

    @cython.cfunc
    @cython.exceptval(-1)
    def uint32(self, what: str) -> cython.ulonglong:
        """The field's number, which must have 32 bits."""
        if self.value > _MAX_UINT32:
            raise WireError(f"{what} is above 32 bits")
        return self.value


@cython.final
@cython.cclass
class Numbers:
    """The numbers of a repeated field, packed or not, in packed form.

    :param most: how many there may be.
    """

    packed: bytearray
    count: cython.Py_ssize_t
    _most: cython.Py_ssize_t
    _rows: cython.Py_ssize_t

    def __init__(self, most: cython.Py_ssize_t, rows: cython.Py_ssize_t) -> None:
        self.packed = bytearray()
        self.count = 0
        self._most = most
        self._rows = rows

    @cython.cfunc
    def add(self, cursor: Cursor) -> object:
        """Append the numbers of a field. The last byte of each is below 128."""
        data: bytes = cursor.data[cursor.start : cursor.stop]
        p: cython.p_uchar = data
        at: cython.Py_ssize_t
        if cython.compiled:
            for at in range(len(data)):
                self.count += p[at] < 0x80
        else:
            self.count += len(data.translate(None, _NOT_LAST))
        if self.count > self._most:
            raise too_many(self._rows)
        self.packed += data
        return None


#: Bytes of a number after which it goes on.
_NOT_LAST = bytes(range(0x80, 0x100))


def outside(name: str, entry_id: int, size: int) -> LookupTableError:
    """The error for an entry outside its table."""
    return LookupTableError(f"{name} entry {entry_id} is outside the declared table of {size}")


def twice(number: int, message: str) -> WireError:
    """The error for a field that occurs twice."""
    return WireError(f"field {number} of {message} occurs twice")


@cython.final
@cython.cclass
class Parts:
    """The parts of a column besides its values, which are only counted.

    :ivar count: number of values, for an IRI column of its names.
    :ivar lexes: whether the values are lexical forms.
    """

    message: str
    column_type: cython.int
    rows: cython.Py_ssize_t
    count: cython.Py_ssize_t
    values: cython.bint
    lexes: cython.bint
    has_datatype: cython.bint
    datatype_id: cython.ulonglong
    layout: Numbers
    names: Numbers
    prefixes: Numbers

    def __init__(self, column_type: cython.int, rows: cython.Py_ssize_t) -> None:
        self.message = _MESSAGES[column_type]
        self.column_type = column_type
        self.rows = rows
        self.count = 0
        self.values = self.lexes = self.has_datatype = False
        self.datatype_id = 0
        # A layout has at most two numbers for a cell.
        self.layout = Numbers(2 * rows, rows)
        self.names = Numbers(rows, rows)
        self.prefixes = Numbers(rows or 1, rows)

    @cython.cfunc
    def add(self, cursor: Cursor) -> object:
        """Note a field of the column."""
        if cursor.number == 2:
            self._add_numbers(self.layout, cursor)
        elif self.column_type == IRIS:
            if cursor.number == 1:
                self._add_numbers(self.names, cursor)
            elif cursor.number == 3:
                self._add_numbers(self.prefixes, cursor)
        elif cursor.number == 1:
            self.values = True
            self._add_value(cursor)
        elif self.column_type == LITERALS and cursor.number == 3:
            self.lexes = True
            self._add_value(cursor)
        elif self.column_type == LITERALS and cursor.number == 4:
            cursor.check(0, self.message)
            if self.has_datatype:
                raise twice(4, self.message)
            self.has_datatype = True
            self.datatype_id = cursor.uint32("a datatype's id")
        return None

    @cython.cfunc
    def _add_numbers(self, numbers: Numbers, cursor: Cursor) -> object:
        if cursor.wire_type != 0:
            cursor.check(2, self.message)
        numbers.add(cursor)
        return None

    @cython.cfunc
    def _add_value(self, cursor: Cursor) -> object:
        cursor.check(2, self.message)
        self.count += 1
        if self.count > self.rows:
            raise too_many(self.rows)
        return None

    @cython.cfunc
    def check(self) -> object:
        """Check the parts together."""
        if self.lexes and self.values:
            raise WireError("a literal column has both values and lex_values")
        if self.datatype_id and not self.lexes:
            raise WireError("a literal column has a datatype, but no lex_values")
        return None


@cython.final
@cython.cclass
class Lookup:
    """A lookup table.

    :ivar values: strings; for columns of text, entries that may be in an IRI as they are, are bytes
        in UTF-8.
    """

    name: str
    size: cython.ulonglong
    characters: cython.Py_ssize_t
    last: cython.ulonglong
    values: list

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self.characters = 0
        self.last = 0
        self.values = [None]

    @cython.cfunc
    def get(self, entry_id: cython.ulonglong) -> str:
        """The value of an entry."""
        known: cython.ulonglong = len(self.values)
        value = self.values[entry_id] if 0 < entry_id < known else None
        if value is None:
            raise LookupTableError(
                f"{self.name} entry {entry_id} is used but was never set "
                f"(the table has {self.size} entries)"
            )
        return value.decode() if type(value) is bytes else value


@cython.cfunc
@cython.exceptval(-1)
def _characters(entry: object) -> cython.Py_ssize_t:
    """The number of characters of a lookup entry, which may be None."""
    count: cython.Py_ssize_t = 0
    at: cython.Py_ssize_t
    if entry is None:
        return 0
    if type(entry) is not bytes:
        return len(entry)
    if not cython.compiled:
        return len(entry.decode())
    raw: bytes = entry
    p: cython.p_uchar = raw
    for at in range(len(raw)):
        # A character has one byte that does not continue another.
        count += (p[at] & 0xC0) != 0x80
    return count


@cython.cfunc
@cython.exceptval(-1)
def _plain_kinds(
    p: cython.p_uchar, start: cython.Py_ssize_t, stop: cython.Py_ssize_t, kinds: cython.int
) -> cython.int:
    """The kinds of text, of some, in which each byte may be as it is."""
    at: cython.Py_ssize_t
    if not cython.compiled:
        text = p[start:stop]
        return sum(
            kind for kind in _PLAIN_OF if kind & kinds and not text.translate(None, _PLAIN_OF[kind])
        )
    plain: cython.p_uchar = _PLAIN
    for at in range(start, stop):
        kinds &= plain[p[at]]
    return kinds


@cython.cclass
class ColumnReader:
    """Reads the columns of a stream's frames as lists of terms.

    :param factory: makes the terms.
    :param options: sizes of the lookups.
    :param limits: the limits on untrusted input.
    :raises JellyError: from each method; see the limits.
    """

    _factory: object
    _limits: object
    _generic: cython.bint
    _longest: cython.Py_ssize_t
    _most_expansion: cython.Py_ssize_t
    _most_characters: cython.Py_ssize_t
    _expansion: cython.Py_ssize_t
    _names: Lookup
    _prefixes: Lookup
    _datatypes: Lookup
    _outer: Cursor
    _middle: Cursor
    _inner: Cursor
    # For each name, by id, the last IRI that it was part of, and the prefix of that.
    _last_iris: list
    _last_prefixes: list
    # Literals and blank nodes by their bytes.
    _literals: dict
    _blank_nodes: dict
    # What zeros of the column's next IRI refer to.
    _prefix_id: cython.ulonglong
    _name_id: cython.ulonglong
    # The parts of the literal that was read last.
    _lex_start: cython.Py_ssize_t
    _tag_start: cython.Py_ssize_t
    _lex_stop: cython.Py_ssize_t
    _tag_stop: cython.Py_ssize_t
    _datatype_id: cython.ulonglong
    _values: list
    # Literals of the column by lexical form, for factories that take long.
    _made: dict

    def __init__(self, factory: Any, options: Any, limits: Any) -> None:
        self._factory = factory
        self._limits = limits
        self._generic = type(factory) is GenericFactory
        self._longest = min(limits.string_bytes, _NO_LIMIT)
        self._most_expansion = min(limits.frame_expansion, _NO_LIMIT)
        self._most_characters = min(limits.lookup_characters, _NO_LIMIT)
        self._expansion = 0
        self._names = Lookup("name", options.max_name_table_size)
        self._prefixes = Lookup("prefix", options.max_prefix_table_size)
        self._datatypes = Lookup("datatype", options.max_datatype_table_size)
        self._outer = Cursor()
        self._middle = Cursor()
        self._inner = Cursor()
        self._last_iris = [None]
        self._last_prefixes = [None]
        self._literals = {}
        self._blank_nodes = {}
        self._values = []
        self._made = {}

    def begin_frame(self) -> None:
        """Reset the counters of the frame."""
        self._expansion = 0

    # Lookup entries

    def set_entries(
        self, number: cython.int, data: bytes, pos: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> None:
        """Read packed entries of a lookup.

        :param number: the field in a frame: NAMES, PREFIXES or DATATYPES.
        """
        table: Lookup = self._names
        cursor: Cursor = self._outer
        entry_id: cython.ulonglong
        at: cython.Py_ssize_t
        if number == PREFIXES:
            table = self._prefixes
        elif number == DATATYPES:
            table = self._datatypes
        entry_id = self._packed_id(table, data, pos, end) or table.last + 1
        cursor.open(data, pos, end)
        while cursor.next():
            if cursor.number != 2:
                continue
            if entry_id > table.size:
                raise outside(table.name, entry_id, table.size)
            entry = self._entry(data, cursor.start, cursor.stop)
            while len(table.values) <= entry_id:
                table.values.append(None)
                if number == NAMES:
                    self._last_iris.append(None)
                    self._last_prefixes.append(None)
            at = entry_id
            before = table.values[at]
            table.characters += _characters(entry) - _characters(before)
            if table.characters > self._most_characters:
                raise over(
                    self._limits,
                    "lookup_characters",
                    table.characters,
                    f"the length of all {table.name} entries",
                )
            table.values[at] = entry
            if number == NAMES:
                self._last_iris[at] = None
            elif before is not None and number == PREFIXES:
                self._last_iris = [None] * len(self._last_iris)
            elif before is not None:
                self._forget_datatypes()
            table.last = entry_id
            entry_id += 1

    @cython.cfunc
    @cython.exceptval(-1)
    def _packed_id(
        self, table: Lookup, data: bytes, pos: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.ulonglong:
        """The id of the first of packed entries, 0 for the one after the last; also checks their
        fields."""
        cursor: Cursor = self._outer
        entry_id: cython.ulonglong = 0
        count: cython.ulonglong = 0
        seen: cython.bint = False
        cursor.open(data, pos, end)
        while cursor.next():
            if cursor.number == 1:
                cursor.check(0, "packed lookup entries")
                if seen:
                    raise twice(1, "packed lookup entries")
                seen = True
                entry_id = cursor.uint32("a lookup entry's id")
            elif cursor.number == 2:
                cursor.check(2, "packed lookup entries")
                count += 1
                if count > table.size:
                    raise outside(table.name, count, table.size)
        return entry_id

    @cython.cfunc
    def _entry(
        self, data: bytes, start: cython.Py_ssize_t, stop: cython.Py_ssize_t
    ) -> object:  # fmt: skip
        """A lookup entry, as it is kept."""
        return self._text(data, start, stop, "a lookup entry")

    @cython.cfunc
    def _forget_datatypes(self) -> object:
        """Forget what was made of datatypes."""
        self._literals.clear()
        return None

    @cython.cfunc
    def _text(
        self, data: bytes, start: cython.Py_ssize_t, stop: cython.Py_ssize_t, what: str
    ) -> str:
        if stop - start > self._longest:
            raise over(self._limits, "string_bytes", stop - start, f"the length of {what}")
        try:
            return data[start:stop].decode("utf-8")
        except UnicodeDecodeError as error:
            raise WireError(f"{what} is not valid UTF-8 ({error.reason})") from None

    @cython.cfunc
    def _expand(self, size: cython.Py_ssize_t) -> object:
        """Count characters that a few bytes of the stream expand to."""
        if size > self._most_expansion - self._expansion:
            size += self._expansion
            raise over(self._limits, "frame_expansion", size, "what IRIs of a frame expand to")
        self._expansion += size
        return None

    # Columns

    def column(
        self,
        number: cython.int,
        data: bytes,
        pos: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        rows: cython.Py_ssize_t,
    ) -> Any:
        """Read a column.

        :param number: its type: the number of its field in a frame.
        :param rows: number of rows in the frame, which a limit bounds.
        :return: the cells; None is an unbound cell. For columns of text, a ``Column``.
        """
        parts: Parts = Parts(number, rows)
        cursor: Cursor = self._outer
        cursor.open(data, pos, end)
        while cursor.next():
            parts.add(cursor)
        parts.check()
        self._prefix_id = self._name_id = 0
        self._begin_values(parts.names.count if number == IRIS else parts.count)
        if number == IRIS:
            self._read_iris(parts.names, parts.prefixes)
        elif parts.lexes:
            self._read_lexes(data, pos, end, parts.datatype_id)
        else:
            self._read_values(number, data, pos, end)
        return self._finish(bytes(parts.layout.packed), rows)

    @cython.cfunc
    def _read_iris(self, names: Numbers, prefixes: Numbers) -> object:
        ids: Cursor = self._outer
        given: Cursor = self._middle
        each: cython.bint = prefixes.count == names.count
        if not each and prefixes.count > 1:
            raise WireError(f"the column has {names.count} names and {prefixes.count} prefixes")
        ids.open(bytes(names.packed), 0, len(names.packed))
        given.open(bytes(prefixes.packed), 0, len(prefixes.packed))
        if not each and prefixes.count:
            given.value = given.varint()
            self._prefix_id = given.uint32("a prefix's id")
        while ids.pos < ids.end:
            if each:
                given.value = given.varint()
                self._prefix_id = given.uint32("a prefix's id") or self._prefix_id
            ids.value = ids.varint()
            self._name_id = ids.uint32("a name's id") or self._name_id + 1
            self._put_iri(self._prefix_id, self._name_id)
        return None

    @cython.cfunc
    def _read_lexes(
        self,
        data: bytes,
        pos: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        datatype_id: cython.ulonglong,
    ) -> object:
        cursor: Cursor = self._outer
        datatype = self._datatypes.get(datatype_id) if datatype_id else None
        if datatype == XSD_STRING:
            datatype = None
        self._begin_lexes(datatype)
        cursor.open(data, pos, end)
        while cursor.next():
            if cursor.number == 3:
                self._put_lex(data, cursor.start, cursor.stop, datatype)
        return None

    @cython.cfunc
    def _read_values(
        self, number: cython.int, data: bytes, pos: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> object:
        cursor: Cursor = self._outer
        term: Cursor = self._middle
        kind: cython.ulonglong = number - IRIS + 1
        start: cython.Py_ssize_t
        stop: cython.Py_ssize_t
        cursor.open(data, pos, end)
        while cursor.next():
            if cursor.number != 1:
                continue
            start = cursor.start
            stop = cursor.stop
            if number == MIXED:
                term.open(data, start, stop)
                kind = 0
                while term.next():
                    if term.number > 3:
                        continue
                    term.check(2, "SparqlTerm")
                    if kind:
                        raise WireError("a cell has two terms")
                    kind = term.number
                    start = term.start
                    stop = term.stop
                if not kind:
                    raise StatementError("a cell has no term")
            if kind == 1:
                self._read_iri(data, start, stop)
            elif kind == 2:
                self._put_blank_node(data, start, stop)
            else:
                self._put_literal(data, start, stop)
        return None

    @cython.cfunc
    def _read_iri(
        self, data: bytes, pos: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> object:  # fmt: skip
        """Read an RdfIri."""
        cursor: Cursor = self._inner
        prefix_id: cython.ulonglong = 0
        name_id: cython.ulonglong = 0
        seen: cython.int = 0
        cursor.open(data, pos, end)
        while cursor.next():
            if cursor.number > 2:
                continue
            cursor.check(0, "RdfIri")
            if seen & cursor.number:
                raise twice(cursor.number, "RdfIri")
            seen |= cursor.number
            if cursor.number == 1:
                prefix_id = cursor.uint32("a prefix's id")
            else:
                name_id = cursor.uint32("a name's id")
        self._prefix_id = prefix_id or self._prefix_id
        self._name_id = name_id or self._name_id + 1
        self._put_iri(self._prefix_id, self._name_id)
        return None

    @cython.cfunc
    def _literal(
        self, data: bytes, pos: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> object:  # fmt: skip
        """Make the term of an RdfLiteral."""
        raw: bytes = data[pos:end]
        known = None if self._generic else self._literals.get(raw)
        if known is not None:
            if known[1]:
                self._expand(known[1])
            return known[0]
        lex, tag, datatype = self._literal_parts(data, pos, end)
        if datatype == XSD_STRING:
            datatype = None
        size: cython.Py_ssize_t = 0
        if datatype is not None:
            size = len(datatype)
            # A backend may copy the datatype's IRI into each literal, as text does.
            self._expand(size)
        term = self._made_literal(lex, tag, datatype)
        if not self._generic and len(raw) <= _KEPT_BYTES and size <= _KEPT_BYTES:
            if len(self._literals) >= _KEPT_TERMS:
                self._literals.clear()
            self._literals[raw] = (term, size)
        return term

    @cython.cfunc
    def _literal_parts(
        self, data: bytes, pos: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> tuple:  # fmt: skip
        """Read an RdfLiteral: its lexical form, language tag and datatype."""
        self._find_literal(data, pos, end)
        lex = self._text(data, self._lex_start, self._lex_stop, "a lexical form")
        tag = datatype = None
        if self._tag_stop:
            tag = self._text(data, self._tag_start, self._tag_stop, "a language tag")
        elif self._datatype_id:
            datatype = self._datatypes.get(self._datatype_id)
        return lex, tag, datatype

    @cython.cfunc
    def _find_literal(
        self, data: bytes, pos: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> object:  # fmt: skip
        """Find the parts of an RdfLiteral: the places of its lexical form and language tag (0 if
        there is none), and the id of its datatype (likewise)."""
        cursor: Cursor = self._inner
        seen: cython.int = 0
        bit: cython.int
        self._lex_start = self._lex_stop = pos
        self._tag_start = self._tag_stop = 0
        self._datatype_id = 0
        cursor.open(data, pos, end)
        while cursor.next():
            if cursor.number > 3:
                continue
            cursor.check(0 if cursor.number == 3 else 2, "RdfLiteral")
            bit = 1 << cursor.number
            if seen & bit:
                raise twice(cursor.number, "RdfLiteral")
            seen |= bit
            if cursor.number == 1:
                self._lex_start = cursor.start
                self._lex_stop = cursor.stop
            elif cursor.number == 2:
                if cursor.start == cursor.stop:
                    raise StatementError("a language tag is empty")
                self._tag_start = cursor.start
                self._tag_stop = cursor.stop
            else:
                if not self._datatypes.size:
                    raise LookupTableError(
                        "a typed literal in a stream whose datatype table has size 0"
                    )
                if not cursor.value:
                    raise LookupTableError("datatype 0 is not valid")
                self._datatype_id = cursor.uint32("a datatype's id")
        if self._tag_stop and self._datatype_id:
            raise WireError("a literal has both a language tag and a datatype")
        return None

    @cython.cfunc
    def _made_literal(self, lex: object, tag: object, datatype: object) -> object:
        if not self._generic:
            return build(self._factory.literal, lex, tag, datatype)
        term = _NEW(Literal)
        _SET_LEX(term, lex)
        _SET_TAG(term, tag)
        _SET_DATATYPE(term, datatype)
        if cython.compiled:
            # A term of strings only cannot be part of a cycle.
            _untrack(term)
        return term

    @cython.cfunc
    def _iri(self, prefix_id: cython.ulonglong, name_id: cython.ulonglong) -> object:
        """The IRI of two entries; prefix 0 is none."""
        known: cython.ulonglong = len(self._last_iris)
        if name_id < known:
            term = self._last_iris[name_id]
            if term is not None and self._last_prefixes[name_id] == prefix_id:
                return term
        name: str = self._names.get(name_id)
        value: str = name if not prefix_id else self._prefixes.get(prefix_id) + name
        if len(value) > self._longest:
            raise over(self._limits, "string_bytes", len(value), "the length of an IRI")
        self._expand(len(value))
        if self._generic:
            term = _NEW(Iri)
            _SET_IRI(term, value)
            if cython.compiled:
                _untrack(term)
        else:
            term = build(self._factory.iri, value)
        if len(value) <= _KEPT_BYTES:
            self._last_iris[name_id] = term
            self._last_prefixes[name_id] = prefix_id
        return term

    @cython.cfunc
    def _blank_node(
        self, data: bytes, pos: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> object:  # fmt: skip
        if self._generic:
            # Making a generic term takes no longer than finding it.
            term = _NEW(BlankNode)
            _SET_LABEL(term, self._text(data, pos, end, "a blank node label"))
            if cython.compiled:
                _untrack(term)
            return term
        raw: bytes = data[pos:end]
        term = self._blank_nodes.get(raw)
        if term is None:
            label = self._text(data, pos, end, "a blank node label")
            term = build(self._factory.blank_node, label)
            if len(raw) <= _KEPT_BYTES:
                if len(self._blank_nodes) >= _KEPT_TERMS:
                    self._blank_nodes.clear()
                self._blank_nodes[raw] = term
        return term

    # Values: what TextColumnReader does in another way

    @cython.cfunc
    def _begin_values(self, count: cython.Py_ssize_t) -> object:
        self._values = []
        return None

    @cython.cfunc
    def _begin_lexes(self, datatype: object) -> object:
        self._made = {}
        return None

    @cython.cfunc
    def _put_iri(self, prefix_id: cython.ulonglong, name_id: cython.ulonglong) -> object:
        self._values.append(self._iri(prefix_id, name_id))
        return None

    @cython.cfunc
    def _put_blank_node(
        self, data: bytes, pos: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> object:  # fmt: skip
        self._values.append(self._blank_node(data, pos, end))
        return None

    @cython.cfunc
    def _put_literal(
        self, data: bytes, pos: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> object:  # fmt: skip
        self._values.append(self._literal(data, pos, end))
        return None

    @cython.cfunc
    def _put_lex(
        self, data: bytes, pos: cython.Py_ssize_t, end: cython.Py_ssize_t, datatype: object
    ) -> object:
        if datatype is not None:
            self._expand(len(datatype))
        lex = self._text(data, pos, end, "a lexical form")
        term = None if self._generic else self._made.get(lex)
        if term is None:
            term = self._made_literal(lex, None, datatype)
            if not self._generic:
                self._made[lex] = term
        self._values.append(term)
        return None

    @cython.cfunc
    def _finish(self, layout: bytes, rows: cython.Py_ssize_t) -> object:
        """The cells of a column whose values were read."""
        values: list = self._values
        cells: list = values
        at: cython.Py_ssize_t = 0
        self._values = []
        if layout:
            cells = []
            runs: Runs = Runs(layout, len(values), rows)
            while runs.next():
                cells += values[at : at + runs.once]
                at += runs.once
                if runs.unbound:
                    cells += [None] * runs.length
                else:
                    cells += [values[at]] * runs.length
                    at += 1
            cells += values[at:]
        missing = rows - len(cells)
        if missing < 0:
            raise too_many(rows)
        if missing:
            cells += [None] * missing
        return cells


@cython.final
@cython.cclass
class Runs:
    """The runs of a layout, one after the other.

    :param values: number of the column's values.
    :ivar once: how many values are used once before the run.
    :ivar length: the run's number of cells.
    :ivar unbound: whether they are unbound; otherwise they have the next value.
    :raises WireError: from :meth:`next`; the layout does not match the values and rows.
    """

    once: cython.Py_ssize_t
    length: cython.Py_ssize_t
    unbound: cython.bint
    _cursor: Cursor
    _rows: cython.Py_ssize_t
    # How many of both are left.
    _values_left: cython.Py_ssize_t
    _rows_left: cython.Py_ssize_t

    def __init__(
        self, layout: bytes, values: cython.Py_ssize_t, rows: cython.Py_ssize_t
    ) -> None:  # fmt: skip
        self.once = self.length = 0
        self.unbound = False
        self._cursor = Cursor()
        self._cursor.open(layout, 0, len(layout))
        self._rows = self._rows_left = rows
        self._values_left = values

    @cython.cfunc
    @cython.exceptval(-1)
    def next(self) -> cython.bint:
        """Read a run; return whether there was one."""
        cursor: Cursor = self._cursor
        token: cython.ulonglong
        once: cython.ulonglong
        length: cython.ulonglong
        left: cython.ulonglong
        if cursor.pos >= cursor.end:
            if self._values_left > self._rows_left:
                raise too_many(self._rows)
            return False
        cursor.value = cursor.varint()
        token = cursor.uint32("a layout")
        length = token & 15
        if length == 15:
            if cursor.pos >= cursor.end:
                raise WireError("the layout ends inside a run's length")
            cursor.value = cursor.varint()
            length += cursor.uint32("a layout")
        once = token >> 5
        left = self._values_left
        if once > left:
            raise WireError(f"the layout skips {once} values, but {left} are left")
        self.unbound = (token & 16) != 0
        if not self.unbound and once == left:
            raise WireError("the layout repeats a value after the last one")
        length += 1 if self.unbound else 2
        left = self._rows_left
        if once + length > left:
            raise too_many(self._rows)
        self.once = once
        self.length = length
        self._rows_left -= self.once + self.length
        self._values_left -= self.once + (0 if self.unbound else 1)
        return True


if cython.compiled:

    @cython.cfunc
    @cython.exceptval(check=False)
    def _copied(
        into: cython.p_char, source: cython.p_char, size: cython.Py_ssize_t
    ) -> cython.p_char:
        """Copy bytes; return the position after them."""
        if size == 1:
            into[0] = source[0]
        elif size:
            _memcpy(into, source, size)
        return into + size


@cython.final
@cython.cclass
class Text:
    """The text of cells, one after the other, and where each ends.

    :param most: number of cells.
    :param most_size: the bytes that all of them may have.
    :ivar count: number of cells so far, and ``size`` their bytes.
    :ivar ends: integers of 32 bits: 0, then where each cell ends.
    """

    count: cython.Py_ssize_t
    ends: cython.p_int
    size: cython.Py_ssize_t
    _most: cython.Py_ssize_t
    _most_size: cython.Py_ssize_t
    _capacity: cython.Py_ssize_t
    _first_capacity: cython.Py_ssize_t
    # What the pointers point into; no other object has them before take().
    _buffer: bytearray
    _p: cython.p_char
    _ends: bytearray

    def __init__(self, most: cython.Py_ssize_t, most_size: cython.Py_ssize_t) -> None:
        self.count = self.size = self._capacity = 0
        self._first_capacity = min(64 * most, _FIRST_BYTES)
        self._most = most
        self._most_size = most_size
        self._buffer = bytearray()
        self._ends = bytearray(4 * (most + 1))
        if cython.compiled:
            self._p = self._buffer
            self.ends = cython.cast(cython.p_int, cython.cast(cython.p_char, self._ends))
        else:
            self.ends = memoryview(self._ends).cast("i")

    @cython.cfunc
    @cython.exceptval(-1)
    def reserve(self, size: cython.Py_ssize_t) -> cython.bint:
        """Make room for a cell of some bytes; return whether there may be as many."""
        if size > self._most_size - self.size:
            return False
        if self.count >= self._most:
            raise too_many(self._most)
        if cython.compiled and size > self._capacity - self.size:
            self._capacity = max(2 * self._capacity, self.size + size, self._first_capacity)
            _resize(self._buffer, self._capacity)
            self._p = self._buffer
        return True

    @cython.cfunc
    def end_cells(self, cells: cython.Py_ssize_t) -> object:
        """End cells: the first after the bytes so far, the others empty."""
        for _ in range(cells):
            self.count += 1
            self.ends[self.count] = self.size
        return None

    @cython.cfunc
    def take(self) -> bytearray:
        """The text, which ends here."""
        buffer: bytearray = self._buffer
        if cython.compiled:
            _resize(buffer, self.size)
        return buffer


@cython.final
@cython.cclass
class TextColumnReader(ColumnReader):
    """Reads the columns of a stream's frames as text in N-Triples syntax.

    The factory must be a ``ColumnFactory``, which makes what is not plain.
    """

    # The text of the column's values.
    _cells: Text
    # The most bytes that the text of a frame may have, and its bytes so far.
    _most: cython.Py_ssize_t
    _text_bytes: cython.Py_ssize_t
    # What follows the lexical form of a literal, by the id of its datatype, and the last one.
    _closings: dict
    _closing: bytes
    _closing_id: cython.ulonglong

    def __init__(self, factory: Any, options: Any, limits: Any) -> None:
        super().__init__(factory, options, limits)
        self._most = min(limits.frame_expansion, 0x7FFFFFFF)
        self._text_bytes = 0
        self._closings = {}
        self._closing = b""
        self._closing_id = 0

    def begin_frame(self) -> None:
        """Reset the counters of the frame."""
        super().begin_frame()
        self._text_bytes = 0

    @cython.cfunc
    def _entry(
        self, data: bytes, start: cython.Py_ssize_t, stop: cython.Py_ssize_t
    ) -> object:  # fmt: skip
        p: cython.p_uchar = data
        kinds: cython.int = _plain_kinds(p, start, stop, _IN_IRI | _IN_ASCII_STRING)
        if stop - start <= self._longest and kinds & _IN_IRI:
            if not kinds & _IN_ASCII_STRING:
                self._text(data, start, stop, "a lookup entry")
            return p[start:stop]
        return self._text(data, start, stop, "a lookup entry")

    @cython.cfunc
    def _forget_datatypes(self) -> object:
        self._literals.clear()
        self._closings.clear()
        self._closing_id = 0
        return None

    @cython.cfunc
    def _new_cells(self, count: cython.Py_ssize_t) -> Text:
        return Text(count, max(0, self._most - self._text_bytes))

    @cython.cfunc
    def _begin_values(self, count: cython.Py_ssize_t) -> object:
        self._cells = self._new_cells(count)
        return None

    @cython.cfunc
    def _too_large(self, cells: Text, size: object) -> object:
        """The error for text that would make that of the frame too large."""
        return over(
            self._limits,
            "frame_expansion",
            self._text_bytes + cells.size + size,
            "the text of a frame's cells",
        )

    @cython.cfunc
    def _put(
        self,
        opening: bytes,
        first: cython.p_uchar,
        start: cython.Py_ssize_t,
        stop: cython.Py_ssize_t,
        middle: bytes,
        second: cython.p_uchar,
        second_start: cython.Py_ssize_t,
        second_stop: cython.Py_ssize_t,
        closing: bytes,
    ) -> object:
        """Append a value of five parts; the first and the second are parts of ``bytes``."""
        cells: Text = self._cells
        size: cython.Py_ssize_t = len(opening) + (stop - start) + len(middle)
        size += (second_stop - second_start) + len(closing)
        if not cells.reserve(size):
            raise self._too_large(cells, size)
        if not cython.compiled:
            cells._buffer += opening + first[start:stop] + middle
            cells._buffer += second[second_start:second_stop] + closing
        else:
            into: cython.p_char = cells._p + cells.size
            into = _copied(into, opening, len(opening))
            into = _copied(into, cython.cast(cython.p_char, first) + start, stop - start)
            into = _copied(into, middle, len(middle))
            into = _copied(
                into, cython.cast(cython.p_char, second) + second_start, second_stop - second_start
            )
            _copied(into, closing, len(closing))
        cells.size += size
        cells.count += 1
        cells.ends[cells.count] = cells.size
        return None

    @cython.cfunc
    def _put_made(self, text: bytes) -> object:
        """Append a value that the factory made."""
        return self._put(b"", text, 0, len(text), b"", b"", 0, 0, b"")

    @cython.cfunc
    def _put_iri(self, prefix_id: cython.ulonglong, name_id: cython.ulonglong) -> object:
        names: list = self._names.values
        prefixes: list = self._prefixes.values
        known: cython.ulonglong = len(names)
        known_prefixes: cython.ulonglong = len(prefixes)
        name: object = names[name_id] if name_id < known else None
        prefix: object = b""
        if prefix_id:
            prefix = prefixes[prefix_id] if prefix_id < known_prefixes else None
        if type(name) is bytes and type(prefix) is bytes:
            raw_prefix: bytes = prefix
            raw_name: bytes = name
            if len(raw_prefix) + len(raw_name) <= self._longest:
                return self._put(
                    b"<", raw_prefix, 0, len(raw_prefix), b"", raw_name, 0, len(raw_name), b">"
                )
        return self._put_made(self._iri(prefix_id, name_id))

    @cython.cfunc
    def _put_blank_node(
        self, data: bytes, pos: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> object:  # fmt: skip
        if pos == end or end - pos > self._longest or not _plain_kinds(data, pos, end, _IN_LABEL):
            return self._put_made(self._blank_node(data, pos, end))
        return self._put(b"_:", data, pos, end, b"", b"", 0, 0, b"")

    @cython.cfunc
    def _put_literal(
        self, data: bytes, pos: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> object:  # fmt: skip
        self._find_literal(data, pos, end)
        start: cython.Py_ssize_t = self._lex_start
        stop: cython.Py_ssize_t = self._lex_stop
        tag: cython.Py_ssize_t = self._tag_start
        tag_stop: cython.Py_ssize_t = self._tag_stop
        if end - pos > self._longest or not self._is_string(data, start, stop):
            return self._put_made(self._literal(data, pos, end))
        if not tag_stop:
            self._find_closing(self._datatype_id)
            return self._put(b'"', data, start, stop, self._closing, b"", 0, 0, b"")
        if not _plain_kinds(data, tag, tag_stop, _IN_TAG):
            return self._put_made(self._literal(data, pos, end))
        return self._put(b'"', data, start, stop, b'"@', data, tag, tag_stop, b"")

    @cython.cfunc
    def _find_closing(self, datatype_id: cython.ulonglong) -> object:
        """Find what follows the lexical form of a literal with a datatype; 0 is none."""
        if datatype_id == 0:
            self._closing = b'"'
        elif datatype_id != self._closing_id:
            closing: object = self._closings.get(datatype_id)
            if closing is None:
                closing = self._made_closing(self._datatypes.get(datatype_id))
                self._closings[datatype_id] = closing
            self._closing = closing
        self._closing_id = datatype_id
        return None

    @cython.cfunc
    def _made_closing(self, datatype: object) -> bytes:
        if datatype == XSD_STRING:
            datatype = None
        made: bytes = self._factory.literal("", None, datatype)
        return made[1:]

    @cython.cfunc
    @cython.exceptval(-1)
    def _is_string(
        self, data: bytes, start: cython.Py_ssize_t, stop: cython.Py_ssize_t
    ) -> cython.bint:
        """Whether bytes are text without escapes."""
        kinds: cython.int = _plain_kinds(data, start, stop, _IN_ASCII_STRING | _IN_STRING)
        if not kinds & _IN_STRING:
            return False
        if not kinds & _IN_ASCII_STRING:
            self._text(data, start, stop, "a lexical form")
        return True

    @cython.cfunc
    def _begin_lexes(self, datatype: object) -> object:
        self._closing = self._made_closing(datatype)
        self._closing_id = 0
        return None

    @cython.cfunc
    def _put_lex(
        self, data: bytes, pos: cython.Py_ssize_t, end: cython.Py_ssize_t, datatype: object
    ) -> object:
        if end - pos > self._longest or not self._is_string(data, pos, end):
            lex = self._text(data, pos, end, "a lexical form")
            return self._put_made(self._made_literal(lex, None, datatype))
        return self._put(b'"', data, pos, end, self._closing, b"", 0, 0, b"")

    @cython.cfunc
    def _finish(self, layout: bytes, rows: cython.Py_ssize_t) -> object:
        """The column of the values that were read."""
        values: Text = self._cells
        cells: Text = values
        validity: bytearray | None = None
        at: cython.Py_ssize_t = 0
        self._cells = None
        if layout or values.count != rows:
            cells = self._new_cells(rows)
            runs: Runs = Runs(layout, values.count, rows)
            while runs.next():
                self._repeat(cells, values, at, runs.once, 1)
                at += runs.once
                if runs.unbound:
                    validity = _unbound(validity, rows, cells.count, runs.length)
                    cells.end_cells(runs.length)
                else:
                    self._repeat(cells, values, at, 1, runs.length)
                    at += 1
            self._repeat(cells, values, at, values.count - at, 1)
            if cells.count < rows:
                validity = _unbound(validity, rows, cells.count, rows - cells.count)
                cells.end_cells(rows - cells.count)
        self._text_bytes += cells.size
        return Column(rows=rows, offsets=cells._ends, data=cells.take(), validity=validity)

    @cython.cfunc
    def _repeat(
        self,
        cells: Text,
        values: Text,
        at: cython.Py_ssize_t,
        count: cython.Py_ssize_t,
        times: cython.Py_ssize_t,
    ) -> object:
        """Append some values, as often as asked; there are as many, and as many cells are left."""
        start: cython.Py_ssize_t = values.ends[at]
        size: cython.Py_ssize_t = values.ends[at + count] - start
        value: cython.Py_ssize_t
        if count == 0:
            return None
        # Checked before the text is made.
        if size and times > (cells._most_size - cells.size) // size:
            raise self._too_large(cells, int(size) * times)
        cells.reserve(size * times)
        for _ in range(times):
            if cython.compiled:
                _copied(cells._p + cells.size, values._p + start, size)
            else:
                cells._buffer += values._buffer[start : start + size]
            for value in range(at + 1, at + count + 1):
                cells.count += 1
                cells.ends[cells.count] = cells.size - start + values.ends[value]
            cells.size += size
        return None


@cython.cfunc
def _unbound(
    bits: object, rows: cython.Py_ssize_t, first: cython.Py_ssize_t, length: cython.Py_ssize_t
) -> bytearray:
    """Clear Arrow's bits of unbound cells; None becomes the bits of a column."""
    if bits is None:
        bits = bytearray(b"\xff" * ((rows + 7) // 8))
    made: bytearray = bits
    row: cython.Py_ssize_t
    for row in range(first, first + length):
        made[row >> 3] &= ~(1 << (row & 7)) & 0xFF
    return made
