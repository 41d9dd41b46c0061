# cython: language_level=3, auto_pickle=False
"""Columns of query results, and the lookup entries that they need: wire bytes to terms or text.

This module is compiled (as ``_reading``) where there is a compiler, and runs as it is otherwise;
:mod:`.kernel` chooses. Rules for both to agree and to be safe:

- A number from outside is a ``ulonglong`` of at most 64 bits. It is compared with what it counts or
  measures before it becomes a position.
- ``p`` is a pointer into the frame, and not checked: a position is compared with the end first.
  Lists and ``bytes`` are checked.
- A column has no more values than its frame has rows, which a limit bounds; each is counted before
  it is made.

Reference: sparql.proto, "Columns"; rdf2.proto.
"""

from __future__ import annotations

from typing import Any

from ...errors import LimitError, LookupTableError, StatementError, WireError
from ..common.limits import over
from ..common.terms import XSD_STRING, BlankNode, GenericFactory, Iri, Literal, build
from ..text.columns import Column
from .options import BLANK_NODES, DATATYPES, IRIS, LITERALS, MIXED, PREFIXES

try:
    import cython
except ImportError:
    from ..common import cython_shim as cython

#: Caches are cleared when they reach this many terms; terms of longer text are not cached.
_CACHED_TERMS = 1 << 16
_CACHED_CHARACTERS = 1024

_MAX_UINT32 = 0xFFFFFFFF
#: More than any input has; sums of two are within 64 bits.
_NO_LIMIT = 1 << 61

_MESSAGES = {
    IRIS: "SparqlIriColumn",
    BLANK_NODES: "SparqlBnodeColumn",
    LITERALS: "SparqlLiteralColumn",
    MIXED: "SparqlPolyColumn",
}

#: Bytes that text in N-Triples has unchanged: in an IRI (1), in a string (2), in a label (4), in a
#: language tag (8). All others are left to the factory.
_IN_IRI = 1
_IN_STRING = 2
_IN_LABEL = 4
_IN_TAG = 8
_UNCHANGED = bytes(
    (_IN_IRI if 0x20 < code < 0x7F and chr(code) not in '<>"{}|^`\\' else 0)
    | (_IN_STRING if 0x20 <= code < 0x7F and chr(code) not in '"\\' else 0)
    | (_IN_LABEL if code < 0x80 and (chr(code).isalnum() or chr(code) == "_") else 0)
    | (_IN_TAG if code < 0x80 and chr(code).isalpha() else 0)
    for code in range(256)
)
_ALLOWED = {
    kind: bytes(code for code in range(256) if _UNCHANGED[code] & kind) for kind in (1, 2, 4, 8)
}
#: Size of a ``Py_ssize_t``.
_PLACE_SIZE = memoryview(b"").cast("n").itemsize
#: Bytes of a number after which it continues.
_NOT_LAST = bytes(range(0x80, 0x100))

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
        """Begin at the start of a message; the caller has compared its end with the bytes, and
        holds them while the cursor is in use."""
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
        if pos < end and p[pos] < 0x80:
            # Most numbers have one byte.
            self.pos = pos + 1
            return p[pos]
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
        size: cython.ulonglong = 0
        left: cython.ulonglong
        tag: cython.ulonglong
        at: cython.Py_ssize_t = self.pos
        p: cython.p_uchar = self.p
        if at >= self.end:
            return False
        if self.end - at >= 2 and 8 < p[at] < 0x80 and p[at] & 7 == 2 and p[at + 1] < 0x80:
            # Most fields are short bytes.
            self.stop = at + 2 + p[at + 1]
            if self.stop <= self.end:
                self.number = p[at] >> 3
                self.wire_type = 2
                self.value = 0
                self.start = at + 2
                self.pos = self.stop
                return True
        tag = self.varint()
        self.number = tag >> 3
        self.wire_type = tag & 7
        if self.number == 0 or self.number >= 1 << 29:
            raise WireError(f"field number {self.number} is not valid")
        self.start = self.pos
        self.value = 0
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

    @cython.cfunc
    @cython.exceptval(-1)
    def packed(self, what: str) -> cython.ulonglong:
        """Read a packed number of 32 bits."""
        self.value = self.varint()
        return self.uint32(what)


def twice(number: int, message: str) -> WireError:
    """The error for a field that occurs twice."""
    return WireError(f"field {number} of {message} occurs twice")


def frame_fields(
    data: bytes, known: dict[int, int], once: frozenset[int], limits: Any
) -> dict[int, list[tuple[int, int, int]]]:
    """Find the fields of a frame by number, and skip unknown ones.

    :param known: wire type by number; ``once`` are the numbers that occur at most once.
    :return: for each field its payload's start and end, and its value if it is a number.
    """
    found: dict = {}
    count: cython.Py_ssize_t = 0
    cursor: Cursor = Cursor()
    cursor.open(data, 0, len(data))
    while cursor.next():
        number: object = cursor.number
        wire_type: object = known.get(number)
        if wire_type is None:
            continue
        cursor.check(wire_type, "SparqlResultsFrame")
        if number in once and number in found:
            raise twice(cursor.number, "SparqlResultsFrame")
        count += 1
        if count > limits.frame_rows:
            raise LimitError(
                f"the frame has more than {limits.frame_rows} fields "
                "(Limits.frame_rows, --limit frame_rows=NUMBER)"
            )
        found.setdefault(number, []).append((cursor.start, cursor.stop, cursor.value))
    return found


@cython.final
@cython.cclass
class Table:
    """A lookup: its entries by id; index 0 is unused. ``common.term_reader`` has the same for
    Python, which takes longer.

    :ivar values: the entries, as ``str`` or ``bytes``.
    :ivar iris: for each name, the last IRI that it was part of, and ``prefix_ids`` its prefix.
    """

    name: str
    size: cython.ulonglong
    characters: cython.Py_ssize_t
    last: cython.ulonglong
    values: list
    iris: list
    prefix_ids: list

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self.characters = 0
        self.last = 0
        self.values = [None]
        self.iris = [None]
        self.prefix_ids = [None]

    @cython.cfunc
    def assign(self, entry_id: cython.ulonglong, value: object) -> object:
        """Set an entry; id 0 is the previous entry's id plus one."""
        values: list = self.values
        if entry_id == 0:
            entry_id = self.last + 1
        if entry_id > self.size:
            raise self.outside(entry_id)
        self.last = entry_id
        while cython.cast(cython.ulonglong, len(values)) <= entry_id:
            values.append(None)
            self.iris.append(None)
            self.prefix_ids.append(None)
        at: cython.Py_ssize_t = entry_id
        before = values[at]
        self.characters += len(value) - (0 if before is None else len(before))
        values[at] = value
        if self.iris[at] is not None:
            self.iris[at] = None
        return None

    @cython.cfunc
    def outside(self, entry_id: cython.ulonglong) -> object:
        """The error for an entry outside the table."""
        return LookupTableError(
            f"{self.name} entry {entry_id} is outside the declared table of {self.size}"
        )

    @cython.cfunc
    def get(self, entry_id: cython.ulonglong) -> object:
        """Return the value of an entry."""
        values: list = self.values
        known: cython.ulonglong = len(values)
        at: cython.Py_ssize_t = entry_id if entry_id < known else 0
        value = values[at]
        if value is None:
            raise self.unset(entry_id)
        return value

    @cython.cfunc
    def unset(self, entry_id: cython.ulonglong) -> object:
        """The error for an entry without a value."""
        return LookupTableError(
            f"{self.name} entry {entry_id} is used but was never set "
            f"(the table has {self.size} entries)"
        )


@cython.cfunc
def _part(data: cython.p_char, start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> bytes:
    """A slice, which takes less time of a pointer."""
    return data[start:stop]


@cython.cfunc
@cython.exceptval(-1)
def _are_unchanged(
    p: cython.p_uchar, start: cython.Py_ssize_t, stop: cython.Py_ssize_t, kind: cython.int
) -> cython.bint:
    """Whether text in N-Triples has these bytes unchanged."""
    at: cython.Py_ssize_t
    if not cython.compiled:
        return not p[start:stop].translate(None, _ALLOWED[kind])
    unchanged: cython.p_uchar = _UNCHANGED
    kinds: cython.int = kind
    for at in range(start, stop):
        kinds &= unchanged[p[at]]
    return kinds != 0


@cython.cfunc
@cython.exceptval(-1)
def _is_at(
    data: cython.p_uchar, start: cython.Py_ssize_t, size: cython.Py_ssize_t, text: bytes
) -> cython.bint:
    """Whether a part of some bytes equals a text."""
    if not cython.compiled:
        return data[start : start + size] == text
    return size == len(text) and _memcmp(data + start, cython.cast(cython.p_char, text), size) == 0


@cython.cfunc
@cython.exceptval(check=False)
def _copied(
    into: cython.p_char, text: cython.p_char, size: cython.Py_ssize_t
) -> cython.p_char:  # fmt: skip
    """Copy text that often has one character or two; return the position after it."""
    if 1 <= size <= 2:
        into[0] = text[0]
        into[size - 1] = text[size - 1]
    elif size:
        _memcpy(into, text, size)
    return into + size


@cython.cfunc
@cython.exceptval(check=False)
def _as_places(places: bytearray) -> cython.p_Py_ssize_t:
    """The numbers in an object that outlives them."""
    if cython.compiled:
        return cython.cast(cython.p_Py_ssize_t, cython.cast(cython.p_char, places))
    return memoryview(places).cast("n")


@cython.cclass
class ColumnReader:
    """Reads the columns of a stream's frames as lists of terms.

    :param factory: makes the terms.
    :param options: sizes of the lookups.
    :param limits: the limits on untrusted input.
    """

    _factory: object
    _limits: object
    _generic: cython.bint
    _longest: cython.Py_ssize_t
    _most_characters: cython.Py_ssize_t
    _most_expansion: cython.Py_ssize_t
    # Characters that the frame expands to so far.
    _expansion: cython.Py_ssize_t
    _names: Table
    _prefixes: Table
    _datatypes: Table
    _outer: Cursor
    _middle: Cursor
    _inner: Cursor
    # Other terms of factories that take long, by their parts.
    _terms: dict
    # The values of the column that is being read.
    _values: list
    # The ids that zeros in the column's next IRI refer to.
    _prefix_id: cython.ulonglong
    _name_id: cython.ulonglong
    # The parts of the literal that was read last; the stop of an absent language tag is 0.
    _lex_start: cython.Py_ssize_t
    _tag_start: cython.Py_ssize_t
    _lex_stop: cython.Py_ssize_t
    _tag_stop: cython.Py_ssize_t
    _datatype: object

    def __init__(self, factory: Any, options: Any, limits: Any) -> None:
        self._factory = factory
        self._limits = limits
        self._generic = type(factory) is GenericFactory
        self._longest = min(limits.string_bytes, _NO_LIMIT)
        self._most_characters = min(limits.lookup_characters, _NO_LIMIT)
        self._most_expansion = min(limits.frame_expansion, _NO_LIMIT)
        self._expansion = 0
        self._names = Table("name", options.max_name_table_size)
        self._prefixes = Table("prefix", options.max_prefix_table_size)
        self._datatypes = Table("datatype", options.max_datatype_table_size)
        self._outer = Cursor()
        self._middle = Cursor()
        self._inner = Cursor()
        self._terms = {}
        self._values = []

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
        table: Table = self._names
        cursor: Cursor = self._outer
        entry_id: cython.ulonglong = 0
        count: cython.ulonglong = 0
        seen: cython.bint = False
        if number == PREFIXES:
            table = self._prefixes
        elif number == DATATYPES:
            table = self._datatypes
        # The id of the first entry may follow the entries.
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
                    raise table.outside(count)
        cursor.open(data, pos, end)
        while cursor.next():
            if cursor.number != 2:
                continue
            table.assign(entry_id, self._entry(number, data, cursor.start, cursor.stop))
            entry_id = 0
            if table.characters > self._most_characters:
                what = f"the length of all {table.name} entries"
                raise over(self._limits, "lookup_characters", table.characters, what)
        if number == PREFIXES:
            # An entry may have replaced another one.
            self._names.iris = [None] * len(self._names.iris)

    @cython.cfunc
    def _entry(
        self,
        number: cython.int,
        data: bytes,
        start: cython.Py_ssize_t,
        stop: cython.Py_ssize_t,
    ) -> object:
        return self._text(data, start, stop, "a lookup entry")

    @cython.cfunc
    def _text(
        self, data: bytes, start: cython.Py_ssize_t, stop: cython.Py_ssize_t, what: str
    ) -> str:
        if stop - start > self._longest:
            raise over(self._limits, "string_bytes", stop - start, f"the length of {what}")
        try:
            return _part(data, start, stop).decode("utf-8")
        except UnicodeDecodeError as error:
            raise WireError(f"{what} is not valid UTF-8 ({error.reason})") from None

    @cython.cfunc
    def _expand(self, size: cython.Py_ssize_t) -> object:
        """Count characters that a few bytes of the stream expand to."""
        if size > self._most_expansion - self._expansion:
            size += self._expansion
            raise over(self._limits, "frame_expansion", size, "what terms of a frame expand to")
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
        message: str = _MESSAGES[number]
        cursor: Cursor = self._outer
        layout: bytearray = bytearray()
        names: bytearray = bytearray()
        prefixes: bytearray = bytearray()
        values: cython.Py_ssize_t = 0
        lexes: cython.Py_ssize_t = 0
        datatype_id: object = None
        self._prefix_id = self._name_id = 0
        self._begin_values(rows)
        cursor.open(data, pos, end)
        while cursor.next():
            if cursor.number == 2 or (
                number == IRIS and (cursor.number == 1 or cursor.number == 3)
            ):
                # Repeated numbers, packed or not.
                if cursor.wire_type != 0:
                    cursor.check(2, message)
                packed: bytearray = layout
                if cursor.number != 2:
                    packed = names if cursor.number == 1 else prefixes
                packed += data[cursor.start : cursor.stop]
                if len(packed) > 20 * (rows + 1):
                    # A layout has two numbers for a cell at most, and a number ten bytes.
                    raise too_many(rows)
            elif cursor.number == 1 or (number == LITERALS and cursor.number == 3):
                cursor.check(2, message)
                values += cursor.number == 1
                lexes += cursor.number == 3
                if values + lexes > rows:
                    raise too_many(rows)
                if cursor.number == 1:
                    self._read_value(number, data, cursor.start, cursor.stop)
            elif number == LITERALS and cursor.number == 4:
                cursor.check(0, message)
                if datatype_id is not None:
                    raise twice(4, message)
                datatype_id = cursor.uint32("a datatype's id")
        if lexes and values:
            raise WireError("a literal column has both values and lex_values")
        if datatype_id and not lexes:
            raise WireError("a literal column has a datatype, but no lex_values")
        if number == IRIS:
            self._read_iris(bytes(names), bytes(prefixes), rows)
        elif lexes:
            self._read_lexes(data, pos, end, datatype_id or 0)
        return self._finish(bytes(layout), rows)

    @cython.cfunc
    def _read_iris(self, names: bytes, prefixes: bytes, rows: cython.Py_ssize_t) -> object:
        ids: Cursor = self._outer
        given: Cursor = self._middle
        count: cython.Py_ssize_t = len(names.translate(None, _NOT_LAST))
        prefix_count: cython.Py_ssize_t = len(prefixes.translate(None, _NOT_LAST))
        if count > rows:
            raise too_many(rows)
        each: cython.bint = prefix_count == count
        if not each and prefix_count > 1:
            raise WireError(f"the column has {count} names and {prefix_count} prefixes")
        ids.open(names, 0, len(names))
        given.open(prefixes, 0, len(prefixes))
        if not each and prefix_count:
            self._prefix_id = given.packed("a prefix's id")
        while ids.pos < ids.end:
            if each:
                self._prefix_id = given.packed("a prefix's id") or self._prefix_id
            self._name_id = ids.packed("a name's id") or self._name_id + 1
            self._put_iri()
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
        self._datatype = self._datatype_of(datatype_id) if datatype_id else None
        self._tag_start = self._tag_stop = 0
        cursor.open(data, pos, end)
        while cursor.next():
            if cursor.number == 3:
                self._lex_start = cursor.start
                self._lex_stop = cursor.stop
                self._put_literal(data)
        return None

    @cython.cfunc
    def _read_value(
        self,
        number: cython.int,
        data: bytes,
        start: cython.Py_ssize_t,
        stop: cython.Py_ssize_t,
    ) -> object:
        """Read a run value of a column that is not one of IRIs."""
        term: Cursor = self._middle
        kind: cython.ulonglong = number - IRIS + 1
        p: cython.p_uchar = data
        size: cython.Py_ssize_t = stop - start
        if (
            number == MIXED
            and 2 <= size < 0x80
            and p[start + 1] == size - 2
            and (p[start] == 0x0A or p[start] == 0x12 or p[start] == 0x1A)
        ):
            # Most cells have one short term, and no other fields.
            kind = p[start] >> 3
            start += 2
        elif number == MIXED:
            term.open(data, start, stop)
            kind = 0
            while term.pos < term.end:
                term.next()
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
            self._put_iri()
        elif kind == 2:
            self._put_blank_node(data, start, stop)
        else:
            self._read_literal(data, start, stop)
            self._put_literal(data)
        return None

    @cython.cfunc
    def _places(
        self, count: cython.Py_ssize_t, layout: bytes, rows: cython.Py_ssize_t
    ) -> bytearray:
        """Return the index of each cell's run value, -1 for an unbound cell, as ``Py_ssize_t``.

        :param count: the number of run values.
        """
        found: bytearray = bytearray(rows * _PLACE_SIZE)
        places: cython.p_Py_ssize_t = _as_places(found)
        cursor: Cursor = self._outer
        at: cython.Py_ssize_t = 0
        row: cython.Py_ssize_t = 0
        token: cython.ulonglong
        once: cython.ulonglong
        length: cython.ulonglong
        left: cython.ulonglong
        unbound: cython.bint
        stop: cython.Py_ssize_t
        cursor.open(layout, 0, len(layout))
        while cursor.pos < cursor.end:
            token = cursor.packed("a layout")
            length = token & 15
            if length == 15:
                if cursor.pos >= cursor.end:
                    raise WireError("the layout ends inside a run's length")
                length += cursor.packed("a layout")
            once = token >> 5
            unbound = (token & 16) != 0
            left = count - at
            if once > left:
                raise WireError(f"the layout skips {once} values, but {left} are left")
            if not unbound and once == left:
                raise WireError("the layout repeats a value after the last one")
            length += 1 if unbound else 2
            left = rows - row
            if once + length > left:
                raise too_many(rows)
            stop = row + once
            while row < stop:
                places[row] = at
                row += 1
                at += 1
            stop = row + length
            while row < stop:
                places[row] = -1 if unbound else at
                row += 1
            at += not unbound
        if count - at > rows - row:
            raise too_many(rows)
        while row < rows:
            places[row] = at if at < count else -1
            row += 1
            at += 1
        return found

    # The values of a column, which TextColumnReader collects in another way

    @cython.cfunc
    def _begin_values(self, most: cython.Py_ssize_t) -> object:
        self._values = []
        return None

    @cython.cfunc
    def _put_iri(self) -> object:
        self._values.append(self._iri())
        return None

    @cython.cfunc
    def _put_blank_node(
        self, data: bytes, pos: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> object:  # fmt: skip
        self._values.append(self._blank_node(data, pos, end))
        return None

    @cython.cfunc
    def _put_literal(self, data: bytes) -> object:
        self._values.append(self._literal(data))
        return None

    @cython.cfunc
    def _finish(self, layout: bytes, rows: cython.Py_ssize_t) -> object:
        """Return the cells of the column."""
        values: list = self._values
        cells: list = []
        row: cython.Py_ssize_t
        self._values = []
        if not layout and len(values) == rows:
            return values
        found: bytearray = self._places(len(values), layout, rows)
        places: cython.p_Py_ssize_t = _as_places(found)
        for row in range(rows):
            cells.append(None if places[row] < 0 else values[places[row]])
        return cells

    # Terms

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
        while cursor.pos < end:
            cursor.next()
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
        return None

    @cython.cfunc
    def _iri(self) -> object:
        """Make the IRI of the current entries; prefix 0 is none."""
        name_id: cython.ulonglong = self._name_id
        names: Table = self._names
        last_prefix: cython.ulonglong
        value: str = names.get(name_id)
        term: object = names.iris[name_id]
        if term is not None:
            last_prefix = names.prefix_ids[name_id]
            if last_prefix == self._prefix_id:
                return term
        if self._prefix_id:
            value = self._prefixes.get(self._prefix_id) + value
        if len(value) > self._longest:
            raise over(self._limits, "string_bytes", len(value), "the length of an IRI")
        self._expand(len(value))
        if self._generic:
            term = _NEW(Iri)
            _SET_IRI(term, value)
            if cython.compiled:
                # A term of strings only cannot be part of a cycle.
                _untrack(term)
        else:
            term = build(self._factory.iri, value)
        if len(value) <= _CACHED_CHARACTERS:
            names.iris[name_id] = term
            names.prefix_ids[name_id] = self._prefix_id
        return term

    @cython.cfunc
    def _blank_node(
        self, data: bytes, pos: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> object:  # fmt: skip
        label = self._text(data, pos, end, "a blank node label")
        if not self._generic:
            return self._cached(label, self._factory.blank_node, (label,), len(label))
        # Making a generic term takes no longer than finding it.
        term = _NEW(BlankNode)
        _SET_LABEL(term, label)
        if cython.compiled:
            _untrack(term)
        return term

    @cython.cfunc
    def _cached(
        self, key: object, make: object, parts: tuple, characters: cython.Py_ssize_t
    ) -> object:
        term = self._terms.get(key)
        if term is None:
            term = build(make, *parts)
            if characters <= _CACHED_CHARACTERS:
                if len(self._terms) >= _CACHED_TERMS:
                    self._terms.clear()
                self._terms[key] = term
        return term

    @cython.cfunc
    def _read_literal(
        self, data: bytes, pos: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> object:  # fmt: skip
        """Find the parts of an RdfLiteral."""
        cursor: Cursor = self._inner
        seen: cython.int = 0
        bit: cython.int
        self._lex_start = self._lex_stop = pos
        self._tag_start = self._tag_stop = 0
        self._datatype = None
        cursor.open(data, pos, end)
        while cursor.pos < end:
            cursor.next()
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
                self._datatype = self._datatype_of(cursor.uint32("a datatype's id"))
        if seen & 0b1100 == 0b1100:
            raise WireError("a literal has both a language tag and a datatype")
        return None

    @cython.cfunc
    def _datatype_of(self, entry_id: cython.ulonglong) -> object:
        """Return the datatype of an entry; None for xsd:string."""
        datatype: str = self._datatypes.get(entry_id)
        return None if datatype == XSD_STRING else datatype

    @cython.cfunc
    def _literal(self, data: bytes) -> object:
        """Make the literal whose parts were found."""
        datatype: object = self._datatype
        lex: str = self._text(data, self._lex_start, self._lex_stop, "a lexical form")
        tag: object = None
        size: cython.Py_ssize_t = 0
        if self._tag_stop:
            tag = self._text(data, self._tag_start, self._tag_stop, "a language tag")
        if datatype is not None:
            # A backend may copy the datatype's IRI into each literal, as text does.
            size = len(datatype)
            self._expand(size)
        if not self._generic:
            parts = (lex, tag, datatype)
            return self._cached(parts, self._factory.literal, parts, max(len(lex), size))
        term = _NEW(Literal)
        _SET_LEX(term, lex)
        _SET_TAG(term, tag)
        _SET_DATATYPE(term, datatype)
        if cython.compiled:
            _untrack(term)
        return term


@cython.final
@cython.cclass
class TextColumnReader(ColumnReader):
    """Reads the columns of a stream's frames as text in N-Triples syntax.

    The factory must be a ``TextFactory``, which makes the text of terms that need escapes.
    """

    # The bytes of text of the frame's previous columns, and of all columns at most.
    _text_bytes: cython.Py_ssize_t
    _most_text: cython.Py_ssize_t
    # The text of the column's values, and where each ends. The pointers point into the objects.
    _buffer: bytearray
    _offsets: bytearray
    _p: cython.p_char
    _ends: cython.p_int
    _count: cython.Py_ssize_t
    _size: cython.Py_ssize_t
    _capacity: cython.Py_ssize_t
    _usual: cython.Py_ssize_t
    # The text before the names of IRIs with the prefix `_opening_id`, 0 for none.
    _opening: bytes
    _opening_id: cython.ulonglong
    # The text after the lexical form of a literal with the datatype `_closing_of`.
    _closing: bytes
    _closing_of: object
    # The same of a literal with the language tag `_language`.
    _tagged: bytes
    _language: bytes

    def __init__(self, factory: Any, options: Any, limits: Any) -> None:
        super().__init__(factory, options, limits)
        self._text_bytes = 0
        self._most_text = min(limits.frame_expansion, 0x7FFFFFFF)
        self._usual = 4096
        self._closing = b'"'
        self._closing_of = None
        self._tagged = self._language = b""

    def begin_frame(self) -> None:
        """Reset the counters of the frame."""
        super().begin_frame()
        self._text_bytes = 0

    @cython.cfunc
    def _begin_values(self, most: cython.Py_ssize_t) -> object:
        self._buffer = bytearray()
        self._offsets = bytearray(4 * (most + 1))
        self._count = self._size = 0
        self._capacity = -1
        self._opening = b"<"
        self._opening_id = 0
        if cython.compiled:
            self._ends = cython.cast(cython.p_int, cython.cast(cython.p_char, self._offsets))
        else:
            self._ends = memoryview(self._offsets).cast("i")
        return None

    @cython.cfunc
    def _put(
        self,
        opening: bytes,
        data: cython.p_uchar,
        start: cython.Py_ssize_t,
        stop: cython.Py_ssize_t,
        closing: bytes,
    ) -> object:
        """Append a value: a part of some bytes, with the text around it. No more values may be
        added than `_begin_values` was given."""
        before: cython.Py_ssize_t = len(opening)
        after: cython.Py_ssize_t = len(closing)
        size: cython.Py_ssize_t = self._size + before + (stop - start) + after
        if size > self._most_text - self._text_bytes:
            raise self._too_much(size)
        if not cython.compiled:
            self._buffer += opening + data[start:stop] + closing
        else:
            if size > self._capacity:
                # Most columns are as long as the one before.
                self._reserve(max(2 * self._capacity, size, self._usual))
            into: cython.p_char = self._p + self._size
            into = _copied(into, cython.cast(cython.p_char, opening), before)
            _memcpy(into, data + start, stop - start)
            _copied(into + (stop - start), cython.cast(cython.p_char, closing), after)
        self._size = size
        self._count += 1
        self._ends[self._count] = size
        return None

    @cython.cfunc
    def _reserve(self, capacity: cython.Py_ssize_t) -> object:
        _resize(self._buffer, capacity)
        self._capacity = capacity
        self._p = self._buffer
        return None

    @cython.cfunc
    def _too_much(self, size: cython.Py_ssize_t) -> object:
        """The error for a column whose text is too long."""
        what = "the text of a frame's cells"
        return over(self._limits, "frame_expansion", self._text_bytes + size, what)

    @cython.cfunc
    def _entry(
        self, number: cython.int, data: bytes, start: cython.Py_ssize_t, stop: cython.Py_ssize_t
    ) -> object:  # fmt: skip
        """Names and prefixes are kept as they are in the text of an IRI."""
        if number == DATATYPES:
            return self._text(data, start, stop, "a lookup entry")
        text: bytes = _part(data, start, stop)
        if stop - start > self._longest or not _are_unchanged(data, start, stop, _IN_IRI):
            value = self._text(data, start, stop, "a lookup entry")
            text = build(self._factory.iri, value)[1:-1].encode()
        return b"<" + text if number == PREFIXES else text

    @cython.cfunc
    def _put_iri(self) -> object:
        name: bytes = self._names.get(self._name_id)
        if self._prefix_id != self._opening_id:
            self._opening = self._prefixes.get(self._prefix_id)
            self._opening_id = self._prefix_id
        opening: bytes = self._opening
        if len(opening) + len(name) - 1 > self._longest:
            size = len(opening) + len(name) - 1
            raise over(self._limits, "string_bytes", size, "the length of an IRI")
        return self._put(opening, name, 0, len(name), b">")

    @cython.cfunc
    def _put_made(self, text: bytes) -> object:
        return self._put(b"", text, 0, len(text), b"")

    @cython.cfunc
    def _put_blank_node(
        self, data: bytes, pos: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> object:  # fmt: skip
        if pos == end or end - pos > self._longest or not _are_unchanged(data, pos, end, _IN_LABEL):
            return self._put_made(self._blank_node(data, pos, end).encode())
        return self._put(b"_:", data, pos, end, b"")

    @cython.cfunc
    def _put_literal(self, data: bytes) -> object:
        start: cython.Py_ssize_t = self._lex_start
        stop: cython.Py_ssize_t = self._lex_stop
        tag: cython.Py_ssize_t = self._tag_start
        size: cython.Py_ssize_t = self._tag_stop - tag
        if stop - start > self._longest or not _are_unchanged(data, start, stop, _IN_STRING):
            return self._put_made(self._literal(data).encode())
        if size:
            if not _is_at(data, tag, size, self._language):
                if size > self._longest or not _are_unchanged(data, tag, tag + size, _IN_TAG):
                    return self._put_made(self._literal(data).encode())
                self._language = _part(data, tag, tag + size)
                self._tagged = b'"@' + self._language
            return self._put(b'"', data, start, stop, self._tagged)
        datatype: object = self._datatype
        if datatype is not self._closing_of:
            self._closing = build(self._factory.literal, "", None, datatype)[1:].encode()
            self._closing_of = datatype
        return self._put(b'"', data, start, stop, self._closing)

    @cython.cfunc
    def _finish(self, layout: bytes, rows: cython.Py_ssize_t) -> object:
        validity: object = None
        if layout or self._count != rows:
            validity = self._spread(self._places(self._count, layout, rows), rows)
        if cython.compiled:
            _resize(self._buffer, self._size)
        self._usual = min(self._size + 64, 1 << 20)
        self._text_bytes += self._size
        return Column(rows=rows, offsets=self._offsets, data=self._buffer, validity=validity)

    @cython.cfunc
    def _spread(self, found: bytearray, rows: cython.Py_ssize_t) -> object:
        """Make cells of the values; return a bit for each row, or None if all of them have one.

        :param found: the result of `_places`.
        """
        places: cython.p_Py_ssize_t = _as_places(found)
        values: bytearray = self._buffer
        offsets: bytearray = self._offsets
        ends: cython.p_int = self._ends
        unbound: cython.bint = False
        size: cython.Py_ssize_t = 0
        most: cython.Py_ssize_t = self._most_text - self._text_bytes
        at: cython.Py_ssize_t
        row: cython.Py_ssize_t
        self._begin_values(rows)
        cells: cython.p_int = self._ends
        for row in range(rows):
            at = places[row]
            if at < 0:
                unbound = True
            else:
                size += ends[at + 1] - ends[at]
                if size > most:
                    raise self._too_much(size)
            cells[row + 1] = size
        self._size = size
        if not cython.compiled:
            for row in range(rows):
                at = places[row]
                if at >= 0:
                    self._buffer += values[ends[at] : ends[at + 1]]
        else:
            self._reserve(size)
            source: cython.p_char = values
            for row in range(rows):
                at = places[row]
                if at >= 0:
                    _memcpy(self._p + cells[row], source + ends[at], ends[at + 1] - ends[at])
        del offsets  # It held `ends`.
        if not unbound:
            return None
        validity: bytearray = bytearray((rows + 7) // 8)
        bits: cython.p_uchar = validity
        for row in range(rows):
            if places[row] >= 0:
                bits[row >> 3] |= 1 << (row & 7)
        return validity
