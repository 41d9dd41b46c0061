# cython: language_level=3, auto_pickle=False
"""Rows of Jena RDF Binary to N-Quads and back: one codec over two wires, Thrift's compact protocol
and delimited Protocol Buffers messages. No I/O, and no objects of a library: see ``terms``.

The module is written in Cython's pure Python mode: setup.py compiles it as ``jena._rows``, and it
runs uncompiled, too, some fifty times as slow; ``jena.terms`` chooses. Three rules keep the
compiled form safe:

1. ``Wire.buf`` points into ``Wire.data``, which the wire keeps. Every read compares its position
   with ``Wire.end`` first, and every length with a limit before anything is allocated.
2. ``Buffer.buf`` points into a bytearray that no other object has, and every write reserves first.
3. A reader or writer serves one call at a time: other threads may call.

Reference: RDF Binary (Apache Jena); Thrift Compact Protocol specification, sections "Base types",
"Structs" and "List and Set"; https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any, Final

try:
    import cython
except ModuleNotFoundError:
    from ..codec.common import cython_shim as cython

from ..codec import DEFAULT_LIMITS, BlankNode, Iri, Limits, Literal
from ..codec.common.limits import over
from ..codec.common.positions import POSITIONS
from ..codec.common.terms import RDF_LANG_STRING, XSD_STRING, text_of
from ..codec.common.wire import varint
from ..codec.text.lines import ESCAPE, LABEL, LANGTAG, NOT_IN_IRI, STRING, Pattern, unescaped
from ..codec.text.ntriples import Dialect, LineParser, read_label, statement_text, term_text
from ..errors import (
    JellyError,
    LimitError,
    LookupTableError,
    OptionsError,
    OrderError,
    StatementError,
    TermError,
    TextError,
    TruncatedError,
    WireError,
)
from . import messages
from .messages import Schema, Type
from .names import JenaFormat
from .values import XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER, decimal_text, double_text

#: Rows that one call reads at most; some limits apply to these rows together.
BATCH_ROWS = cython.declare(cython.int, 4096)
#: Bytes of text after which a call ends.
_BATCH_BYTES = cython.declare(cython.Py_ssize_t, 1 << 18)

#: Apache Jena's names of the default graph.
_DEFAULT_GRAPHS: Final = (b"urn:x-arq:DefaultGraphNode", b"urn:x-arq:DefaultGraph")

#: Datatypes that a language tag implies.
_TAGGED: Final = (
    RDF_LANG_STRING.encode(),
    RDF_LANG_STRING.encode().replace(b"langString", b"dirLangString"),
)
_XSD_STRING: Final = XSD_STRING.encode()

PREDICATE = cython.declare(cython.int, 1)
OBJECT = cython.declare(cython.int, 2)
GRAPH = cython.declare(cython.int, 3)

# Places of members in a term and in a literal.
_IRI = cython.declare(cython.int, 1)
_BLANK_NODE = cython.declare(cython.int, 2)
_LITERAL = cython.declare(cython.int, 3)
_PREFIX_NAME = cython.declare(cython.int, 4)
_UNDEFINED = cython.declare(cython.int, 7)
_TRIPLE_TERM = cython.declare(cython.int, 9)
_INTEGER = cython.declare(cython.int, 10)
_DOUBLE = cython.declare(cython.int, 11)
_LEX = cython.declare(cython.int, 1)
_LANGTAG = cython.declare(cython.int, 2)
_DATATYPE = cython.declare(cython.int, 3)
_DT_PREFIX = cython.declare(cython.int, 4)
_DIRECTION = cython.declare(cython.int, 5)
_LANGDIR = cython.declare(cython.int, 6)
_SIMPLE = cython.declare(cython.int, 7)
#: Where the strings of a literal's ``dtPrefix`` are kept: after its own.
_DT_STRINGS = cython.declare(cython.int, 7)

#: Terms that are not RDF, by their places.
_NOT_RDF: Final = {5: "a variable", 6: "a pattern for any term", 8: "a repeat of a term"}

# The bytes that text may contain as they are: in IRIs, in strings, in names (labels and language
# tags). Bytes of characters outside ASCII are among the first two.
_IN_IRI = cython.declare(cython.int, 1)
_IN_STRING = cython.declare(cython.int, 2)
_IN_NAME = cython.declare(cython.int, 4)


def _flags(byte: int) -> int:
    character = chr(byte)
    if byte >= 0x80:
        return 3
    in_iri = byte > 0x20 and character not in '<>"{}|^`\\'
    in_string = 0x20 <= byte < 0x7F and character not in '"\\'
    return in_iri | in_string << 1 | (character.isalnum() or character == "_") << 2


_FLAGS = cython.declare(bytes, bytes(map(_flags, range(256))))
#: Those of ASCII.
_UNCHANGED: Final = {flag: bytes(at for at in range(128) if _flags(at) & flag) for flag in (1, 2)}
#: The letter of a short escape of a string's character; 0 for any other.
_ESCAPES = cython.declare(
    bytes, bytes({9: 116, 10: 110, 13: 114, 34: 34, 92: 92}.get(byte, 0) for byte in range(256))
)


class Incomplete(Exception):  # noqa: N818 (not an error: the rest may follow)
    """The bytes end inside a row."""


@cython.final
@cython.cclass
class Buffer:
    """Bytes that grow.

    :ivar size: their number.
    """

    held: bytearray
    buf: cython.p_uchar
    size: cython.Py_ssize_t
    capacity: cython.Py_ssize_t

    def __init__(self) -> None:
        self.held = bytearray()
        self.buf = self.held
        self.size = self.capacity = 0

    @cython.cfunc
    def reserve(self, size: cython.Py_ssize_t) -> None:
        """Make space for more bytes."""
        if size > self.capacity - self.size:
            self.held.extend(bytes(self.capacity + size + 64))
            self.capacity = len(self.held)
            self.buf = self.held

    @cython.cfunc
    def byte(self, value: cython.uchar) -> None:
        self.reserve(1)
        self.buf[self.size] = value
        self.size += 1

    @cython.cfunc
    def put(
        self, source: cython.p_uchar, start: cython.Py_ssize_t, stop: cython.Py_ssize_t
    ) -> None:
        """Append bytes, which must not be this buffer's."""
        at: cython.Py_ssize_t
        self.reserve(stop - start)
        if cython.compiled:
            for at in range(stop - start):
                self.buf[self.size + at] = source[start + at]
        else:
            self.buf[self.size : self.size + stop - start] = source[start:stop]
        self.size += stop - start

    @cython.cfunc
    def add(self, data: bytes) -> None:
        self.put(data, 0, len(data))

    @cython.cfunc
    @cython.exceptval(-1)
    def text(
        self,
        source: cython.p_uchar,
        start: cython.Py_ssize_t,
        stop: cython.Py_ssize_t,
        flag: cython.int,
    ) -> cython.int:
        """Append the text of an IRI or a string, with escapes where these are short.

        :param flag: ``_IN_IRI`` or ``_IN_STRING``.
        :return: 0 if all is ASCII; 1 if it must be checked as UTF-8; 2 if a character has no short
            escape, and nothing was appended.
        """
        flags: cython.p_uchar = _FLAGS
        escapes: cython.p_uchar = _ESCAPES
        at: cython.Py_ssize_t
        size: cython.Py_ssize_t = self.size
        byte: cython.uchar
        high: cython.uchar = 0
        if not cython.compiled and not source[start:stop].translate(None, _UNCHANGED[flag]):
            self.put(source, start, max(stop, start))
            return 0
        # Also where the size of the text is negative, as that of an absent one is.
        self.reserve(max(2 * (stop - start), 0))
        for at in range(start, stop):
            byte = source[at]
            high |= byte
            if not flags[byte] & flag:
                if flag == _IN_IRI or not escapes[byte]:
                    return 2
                self.buf[size] = 92
                size += 1
                byte = escapes[byte]
            elif byte == 0xBF and flag == _IN_STRING and at > start and source[at - 1] == 0xEF:
                # U+FFFE and U+FFFF are escaped; others look like them so far.
                return 2
            self.buf[size] = byte
            size += 1
        self.size = size
        return high >> 7

    @cython.cfunc
    def varint(self, value: cython.Py_ssize_t) -> None:
        while value >= 0x80:
            self.byte(value & 0x7F | 0x80)
            value >>= 7
        self.byte(value)

    @cython.cfunc
    def cut(self, size: cython.Py_ssize_t) -> None:
        """Drop the bytes after a number of them. Much memory is not kept."""
        if size == 0 and self.capacity > 16 * _BATCH_BYTES:
            self.held = bytearray()
            self.buf = self.held
            self.capacity = 0
        self.size = size

    @cython.cfunc
    def between(self, start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> bytes:
        """A part of the bytes."""
        return bytes(self.buf[start:stop])


_PROTOBUF_CODES: Final = {
    **dict.fromkeys((Type.BOOL, Type.I32, Type.I64), 0),
    Type.DOUBLE: 1,
    **dict.fromkeys((Type.STRING, Type.LIST, Type.STRUCT), 2),
}


@cython.final
@cython.cclass
class Message:
    """A message, prepared for reading from both wires: Thrift's tables come first."""

    schema = cython.declare(object, visibility="public")
    union: cython.bint
    repeated: cython.bint
    #: Places of members by field number, 0 where there is none: 32 bytes for each wire.
    places: bytes
    #: Codes of types by place: 16 bytes for each wire.
    codes: bytes
    #: The places of members that must occur, as bits.
    thrift_required: cython.uint
    protobuf_required: cython.uint

    def __init__(self, schema: Schema) -> None:
        places, codes = bytearray(64), bytearray(32)
        required = [0, 0]
        for place, member in enumerate(schema.members, 1):
            for wire, number in enumerate((member.thrift, member.protobuf)):
                codes[16 * wire + place] = _PROTOBUF_CODES[member.type] if wire else member.type
                if number:
                    places[32 * wire + number] = place
                # An empty string or number is not written in Protocol Buffers.
                present = member.type is Type.STRUCT or not wire
                if number and member.required and present and not schema.union:
                    required[wire] |= 1 << place
        self.schema = schema
        self.union = schema.union
        self.repeated = any(member.type is Type.LIST for member in schema.members)
        self.places, self.codes = bytes(places), bytes(codes)
        self.thrift_required, self.protobuf_required = required

    def name(self, place: int) -> str:
        """A member with its message, for errors."""
        return f"{self.schema.members[place - 1].name} of {self.schema.name}"


IRI = cython.declare(Message, Message(messages.IRI))
BLANK_NODE = cython.declare(Message, Message(messages.BLANK_NODE))
LITERAL = cython.declare(Message, Message(messages.LITERAL))
PREFIX_NAME = cython.declare(Message, Message(messages.PREFIX_NAME))
DECIMAL = cython.declare(Message, Message(messages.DECIMAL))
EMPTY = cython.declare(Message, Message(messages.UNDEFINED))
TERM = cython.declare(Message, Message(messages.TERM))
TRIPLE = cython.declare(Message, Message(messages.TRIPLE))
QUAD = cython.declare(Message, Message(messages.QUAD))
PREFIX = cython.declare(Message, Message(messages.PREFIX))
STREAM_ROW = cython.declare(Message, Message(messages.STREAM_ROW))


@cython.final
@cython.cclass
class Wire:
    """A position in rows: a row is opened, then its structs and their members are read in order.

    Thrift has rows back to back, each struct with a stop byte; Protocol Buffers have each message
    with its length before it.

    :param limits: ``string_bytes`` bounds strings, ``frame_bytes`` rows.

    :ivar pos: the position. After a row was read, that of the next one.
    """

    data: bytes
    buf: cython.p_uchar
    pos: cython.Py_ssize_t
    #: Where the message ends, or the data.
    end: cython.Py_ssize_t
    #: The last string.
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    #: Of the open struct: the members that occurred, by place, and the last field id in Thrift.
    seen: cython.uint
    last: cython.int
    #: The same of the structs around it.
    depth: cython.int
    ends: cython.Py_ssize_t[256]
    seens: cython.uint[256]
    lasts: cython.int[256]
    thrift: cython.bint
    string_bytes: cython.Py_ssize_t
    row_bytes: cython.Py_ssize_t
    limits: Any

    def __init__(self, format: JenaFormat, limits: Limits) -> None:  # noqa: A002
        self.thrift = format is JenaFormat.THRIFT
        self.limits = limits
        self.string_bytes = limits.string_bytes
        self.row_bytes = limits.frame_bytes
        self.seen = self.last = self.depth = 0
        self.start = self.stop = self.pos = self.end = 0
        if not cython.compiled:
            self.ends, self.seens, self.lasts = [0] * 256, [0] * 256, [0] * 256
        self.hold(b"")

    @cython.cfunc
    def hold(self, data: bytes) -> None:
        """Read from these bytes."""
        self.data = data
        self.buf = self.data
        self.pos = self.end = len(data)
        self.depth = 0

    @cython.cfunc
    def open_row(self, at: cython.Py_ssize_t) -> None:
        """Begin the row at a position, which is not the data's end.

        :raises Incomplete: its length is not known, or its end is missing.
        """
        size: cython.ulonglong
        limit: cython.ulonglong = self.row_bytes
        rest: cython.ulonglong
        self.depth = 0
        self.pos = at
        self.end = len(self.data)
        if self.thrift:
            self.push()
            return
        while self.buf[at] >= 0x80:
            at += 1
            if at - self.pos == 10:
                raise WireError("the length of a row is not a number")
            if at == self.end:
                raise Incomplete
        size = self.varint(64)
        rest = self.end - self.pos
        if size > limit:
            check_row_bytes(size, self.limits)
        if size > rest:
            raise Incomplete
        self.push()
        self.end = self.pos + size

    @cython.ccall
    def begin(self) -> None:
        """Begin a struct that is a member's value."""
        size: cython.ulonglong
        rest: cython.ulonglong
        if self.thrift:
            self.push()
            return
        size = self.varint(64)
        rest = self.end - self.pos
        if size > rest:
            self.overrun()
        self.push()
        self.end = self.pos + size

    @cython.cfunc
    def push(self) -> None:
        if self.depth >= 255:
            raise LimitError("structs are nested too deeply")
        self.ends[self.depth] = self.end
        self.seens[self.depth] = self.seen
        self.lasts[self.depth] = self.last
        self.depth += 1
        self.seen = 0
        self.last = 0

    @cython.ccall
    @cython.exceptval(-1)
    def field(self, message: Message) -> cython.int:
        """Begin the next member of the open struct: its place. At the end 0; this ends the struct.

        :raises WireError: the member is unknown, misplaced or of the wrong type, or one is missing.
        """
        header: cython.int
        number: cython.ulonglong
        code: cython.int
        place: cython.int
        if self.thrift:
            if self.pos >= self.end:
                raise Incomplete
            header = self.buf[self.pos]
            self.pos += 1
            if header == 0:
                self.pop(message, message.thrift_required)
                return 0
            code = header & 15
            if header >> 4:
                self.last += header >> 4
            else:
                number = self.varint(32)
                # No field has a negative id, or one of 32 and above.
                if number & 1 or number >> 1 >= 32:
                    raise WireError(f"{message.schema.name} has no field {_signed(number)}")
                self.last = number >> 1
            number = self.last
            place = message.places[number] if number < 32 else 0
        else:
            if self.pos == self.end:
                self.pop(message, message.protobuf_required)
                return 0
            number = self.varint(64)
            code = number & 7
            number >>= 3
            if number == 0 or number >= 1 << 29:
                raise WireError(f"field number {number} is not valid")
            if code == 3 or code == 4 or code > 5:
                raise WireError(f"wire type {code} is not valid")
            place = message.places[32 + number] if number < 32 else 0
        if place == 0:
            raise WireError(f"{message.schema.name} has no field {number}")
        if code != message.codes[place if self.thrift else 16 + place]:
            raise WireError(f"field {number} of {message.schema.name} has the wrong type")
        if self.seen >> place & 1:
            if self.thrift or not message.repeated:
                raise WireError(f"field {number} of {message.schema.name} occurs twice")
        elif message.union and self.seen:
            raise WireError(f"{message.schema.name} has more than one member")
        self.seen |= 1 << place
        return place

    @cython.cfunc
    def pop(self, message: Message, required: cython.uint) -> None:
        """End the open struct."""
        if self.depth <= 0:
            raise LimitError("no struct is open")
        if message.union and not self.seen:
            raise WireError(f"{message.schema.name} has no member")
        if self.seen & required != required:
            for place, member in enumerate(message.schema.members, 1):
                if required & ~self.seen & 1 << place:
                    raise WireError(f"{message.schema.name} has no {member.name}")
        self.depth -= 1
        self.end = self.ends[self.depth]
        self.seen = self.seens[self.depth]
        self.last = self.lasts[self.depth]

    @cython.cfunc
    def overrun(self) -> None:
        """Raise the error for a value that ends after :attr:`end`."""
        if self.thrift:
            raise Incomplete
        raise WireError("a field ends after its message")

    @cython.cfunc
    @cython.exceptval(-1)
    def varint(self, bits: cython.int) -> cython.ulonglong:
        value: cython.ulonglong = 0
        part: cython.ulonglong
        shift: cython.int = 0
        while True:
            if self.pos >= self.end:
                self.overrun()
            part = self.buf[self.pos]
            self.pos += 1
            value |= (part & 0x7F) << shift
            if part < 0x80:
                break
            shift += 7
            if shift >= bits:
                raise WireError("a number is too long for its type")
        if (bits == 32 and value >> 32) or (shift == 63 and part > 1):
            raise WireError("a number is too long for its type")
        return value

    @cython.ccall
    @cython.exceptval(-1)
    def elements(self) -> cython.Py_ssize_t:
        """The number of structs that follow as the value of a list."""
        header: cython.int
        size: cython.ulonglong
        if not self.thrift:
            return 1
        if self.pos >= self.end:
            raise Incomplete
        header = self.buf[self.pos]
        self.pos += 1
        size = header >> 4
        if size == 15:
            size = self.varint(32)
        if header & 15 != 12:
            raise WireError("a list has elements of the wrong type")
        return size

    @cython.cfunc
    def text(self, message: Message, place: cython.int) -> None:
        """Read the value of a member that is a string.

        :raises LimitError: it is too long.
        """
        size: cython.ulonglong = self.varint(32 if self.thrift else 64)
        limit: cython.ulonglong = self.string_bytes
        rest: cython.ulonglong
        if size > limit:
            raise over(self.limits, "string_bytes", size, f"the length of {message.name(place)}")
        rest = self.end - self.pos
        if size > rest:
            self.overrun()
        self.start = self.pos
        self.pos += size
        self.stop = self.pos

    def string_of(self, message: Message, place: int) -> str:
        """Read the value of a member that is a string, and decode it."""
        self.text(message, place)
        return decoded(self.buf[self.start : self.stop], message, place)

    @cython.ccall
    def number(self, bits: cython.int) -> Any:
        """Read the value of a member that is a signed number."""
        value: Any = self.varint(64)
        if bits == 32 and value >> 32:
            raise WireError("a number is too long for its type")
        return _signed(value)

    @cython.cfunc
    def double(self) -> Any:
        if self.end - self.pos < 8:
            self.overrun()
        self.pos += 8
        return struct.unpack("<d", self.buf[self.pos - 8 : self.pos])[0]


def _signed(value: Any) -> Any:
    """The number that ZigZag encoding writes so."""
    return value >> 1 ^ -(value & 1)


def check_row_bytes(size: int, limits: Limits) -> None:
    """Reject a row that is too long, including bytes still to come.

    :raises LimitError: it is too long. The message has not its length, which need not be known.
    """
    if size > limits.frame_bytes:
        raise LimitError(
            f"a row is longer than the limit of {limits.frame_bytes} bytes "
            "(Limits.frame_bytes, --limit frame_bytes=NUMBER)"
        )


def decoded(raw: bytes, message: Message, place: int) -> str:
    """A string of UTF-8.

    :raises WireError: it is not valid.
    """
    try:
        return str(raw, "utf-8")
    except UnicodeDecodeError as error:
        raise WireError(f"{message.name(place)} is not valid UTF-8 ({error.reason})") from None


@cython.cclass
class RowReader:
    """Reads the rows of one stream, in order. Subclasses define :meth:`take`.

    :param format: how rows are encoded.
    :param limits: the limits on untrusted input; those of a frame apply to a batch of rows.

    :ivar row: number of the row that is next.
    :ivar wire: the position in the rows.
    :ivar prefixes: IRI by name, both as UTF-8, as declared so far.
    :ivar optional: whether terms may be undefined in any position, as in solutions.
    """

    row = cython.declare(cython.ulonglong, visibility="public")
    wire = cython.declare(Wire, visibility="readonly")
    prefixes = cython.declare(dict, visibility="public")
    limits = cython.declare(object, visibility="public")
    optional = cython.declare(cython.bint, visibility="public")
    busy: cython.bint
    #: Number of quoted triples around a term.
    depth: cython.int
    #: Bytes that the rows of the batch have made of fewer.
    expansion: cython.Py_ssize_t
    prefix_bytes: cython.Py_ssize_t
    #: The strings of the term that was read, by place; stops are -1 where there is none.
    starts: cython.Py_ssize_t[10]
    stops: cython.Py_ssize_t[10]
    #: Text that was written.
    out: Buffer

    def __init__(self, format: JenaFormat, *, limits: Limits = DEFAULT_LIMITS) -> None:  # noqa: A002
        self.wire = Wire(format, limits)
        self.limits = limits
        self.row = 0
        self.prefixes = {}
        self.prefix_bytes = self.expansion = 0
        self.optional = self.busy = False
        self.out = Buffer()
        if not cython.compiled:
            self.starts, self.stops = [0] * 10, [0] * 10

    def read_rows(self, data: bytes, at: int, batch: list[Any]) -> tuple[bytes, int]:
        """Read rows up to the end of the batch, or the last whole row.

        :param at: where the first row starts.
        :param batch: takes what :meth:`take` adds.
        :return: the text that was written, and the position after the rows.
        :raises JellyError: with the row, on any error.
        """
        held = bytes(data)
        if not 0 <= at <= len(held):
            raise IndexError("the position is outside the data")
        if self.busy:
            raise OrderError("another thread is using the reader")
        self.busy = True
        self.wire.hold(held)
        try:
            stop = self._read(at, len(held), batch)
            return self.out.between(0, self.out.size), stop
        finally:
            self.out.cut(0)
            self.wire.hold(b"")
            self.busy = False

    @cython.cfunc
    @cython.exceptval(-1)
    def _read(
        self, at: cython.Py_ssize_t, end: cython.Py_ssize_t, batch: list
    ) -> cython.Py_ssize_t:
        wire: Wire = self.wire
        expansion: cython.Py_ssize_t
        mark: cython.Py_ssize_t
        while at < end:
            if self.row % BATCH_ROWS == 0:
                self.expansion = 0
            expansion = self.expansion
            self.depth = 0
            mark = self.out.size
            try:
                try:
                    wire.open_row(at)
                    self.take(batch)
                except Incomplete:
                    # The row is read again, from its start.
                    self.expansion = expansion
                    self.out.cut(mark)
                    check_row_bytes(end - at, self.limits)
                    break
                if wire.pos - at > wire.row_bytes:
                    check_row_bytes(wire.pos - at, self.limits)
            except JellyError as error:
                raise error.locate(row=self.row) from error.__cause__
            except ValueError as error:
                raise TermError(str(error), row=self.row) from error
            self.row += 1
            at = wire.pos
            if self.row % BATCH_ROWS == 0 or self.out.size >= _BATCH_BYTES:
                break
        return at

    def end(self, rest: bytes = b"") -> None:
        """Mark the end of the input.

        :param rest: the bytes after the last whole row.
        :raises TruncatedError: there are any.
        """
        if rest:
            raise TruncatedError("the input ends inside a row", row=self.row)

    @cython.ccall
    def take(self, batch: list) -> None:
        """Read the open row to its end, then add what it contains to a batch."""
        raise NotImplementedError

    def declare(self, name: str, iri: str) -> None:
        """Bind a prefix.

        :raises LimitError: there are too many prefixes, or they are too long together.
        """
        key, value = name.encode(), iri.encode()
        before = self.prefixes.get(key)
        count = len(self.prefixes) + (before is None)
        if count > self.limits.prefix_table:
            raise over(self.limits, "prefix_table", count, "the number of prefixes")
        self.prefix_bytes += len(value) + (len(key) if before is None else -len(before))
        if self.prefix_bytes > self.limits.lookup_characters:
            what = "the length of all prefixes"
            raise over(self.limits, "lookup_characters", self.prefix_bytes, what)
        self.prefixes[key] = value

    def undeclare(self, name: str) -> None:
        """Release a prefix, if it is bound."""
        key = name.encode()
        iri = self.prefixes.pop(key, None)
        if iri is not None:
            self.prefix_bytes -= len(key) + len(iri)

    def term_text(self, position: int) -> bytes:
        """Read a term that is a member's value.

        :param position: its position in its statement, which limits its kind.
        :return: its text; none for the default graph, and an undefined term where it may be one.
        :raises JellyError: it is invalid, or not allowed in this position.
        """
        start: cython.Py_ssize_t = self.out.size
        self._write(position)
        text = self.out.between(start, self.out.size)
        self.out.cut(start)
        return text

    @cython.cfunc
    def _write(self, position: cython.int) -> None:
        """Read a term that is a member's value, and write its text."""
        wire: Wire = self.wire
        kind: cython.int
        wire.begin()
        kind = wire.field(TERM)
        if position != OBJECT and (kind == _LITERAL or kind >= _INTEGER):
            raise StatementError(f"LITERAL as {POSITIONS[position]}")
        if position == PREDICATE and kind == _BLANK_NODE:
            raise StatementError("BLANK_NODE as predicate")
        if kind == _IRI:
            self._strings(IRI, 0)
            if position != GRAPH or self._bytes(1) not in _DEFAULT_GRAPHS:
                self._write_iri(wire.buf, self.starts[1], self.stops[1])
        elif kind == _LITERAL:
            self._strings(LITERAL, 0)
            self._write_literal()
        elif kind == _BLANK_NODE:
            self._strings(BLANK_NODE, 0)
            self._write_label()
        elif kind == _PREFIX_NAME:
            self._strings(PREFIX_NAME, 0)
            whole: bytes = self._whole(1)
            if position != GRAPH or whole not in _DEFAULT_GRAPHS:
                self._write_iri(whole, 0, len(whole))
        elif kind == _TRIPLE_TERM:
            if position == PREDICATE or position == GRAPH:
                raise StatementError(f"TRIPLE as {POSITIONS[position]}")
            self.depth += 1
            if self.depth > self.limits.nesting:
                what = "the depth of quoted triples"
                raise over(self.limits, "nesting", self.depth, what)
            self.out.add(b"<<( ")
            self._write_terms(TRIPLE)
            self.out.add(b")>>")
            self.depth -= 1
        elif kind == _UNDEFINED:
            wire.begin()
            wire.field(EMPTY)
            if self.depth or not (self.optional or position == GRAPH):
                raise TermError(f"an undefined term is used as {POSITIONS[position]}")
        else:
            self._write_number(kind, position)
        wire.field(TERM)

    @cython.cfunc
    def _write_terms(self, message: Message) -> None:
        """Read the terms of a statement, and write them in order, each with a space after it."""
        out: Buffer = self.out
        place: cython.int
        at: cython.int
        last: cython.int = 0
        ordered: cython.bint = True
        first: cython.Py_ssize_t = out.size
        start: cython.Py_ssize_t
        starts: cython.Py_ssize_t[4]
        stops: cython.Py_ssize_t[4]
        if not cython.compiled:
            starts, stops = [0] * 4, [0] * 4
        for at in range(4):
            starts[at] = stops[at] = first
        self.wire.begin()
        while True:
            place = self.wire.field(message)
            if place == 0:
                break
            start = out.size
            self._write(place - 1)
            if out.size > start:
                out.byte(32)
            starts[place - 1] = start
            stops[place - 1] = out.size
            ordered = ordered and place > last
            last = place
        if not ordered:
            text = b"".join([out.between(starts[at], stops[at]) for at in range(4)])
            out.cut(first)
            out.add(text)

    @cython.cfunc
    def _strings(self, message: Message, offset: cython.int) -> None:
        """Read a struct of strings. They are kept by place, after ``offset``."""
        wire: Wire = self.wire
        place: cython.int
        kinds: cython.int = 0
        at: cython.int
        for at in range(offset + 1, 10):
            self.starts[at] = 0
            self.stops[at] = -1
        wire.begin()
        while True:
            place = wire.field(message)
            if place == 0:
                break
            if message is LITERAL and place > 1:
                kinds += 1
                if place == _SIMPLE:
                    wire.number(64)
                    continue
                if place == _DT_PREFIX:
                    self._strings(PREFIX_NAME, _DT_STRINGS)
                    self.stops[_DT_PREFIX] = 0
                    continue
            wire.text(message, place)
            self.starts[offset + place] = wire.start
            self.stops[offset + place] = wire.stop
        if kinds > 1 and not wire.thrift:
            raise WireError("RDF_Literal has more than one kind")

    @cython.cfunc
    def _bytes(self, place: cython.int) -> bytes:
        """A string of the term; empty where there is none."""
        if self.stops[place] < 0:
            return b""
        return self.wire.buf[self.starts[place] : self.stops[place]]

    @cython.cfunc
    def _whole(self, place: cython.int) -> bytes:
        """The IRI of a prefix name."""
        prefix: bytes = self._bytes(place)
        iri: Any = self.prefixes.get(prefix)
        if iri is None:
            name = decoded(prefix, PREFIX_NAME, 1)
            raise LookupTableError(f"the prefix {name[:80]!r} was not declared")
        whole: bytes = iri + self._bytes(place + 1)
        if len(whole) > self.wire.string_bytes:
            raise over(self.limits, "string_bytes", len(whole), "the length of an IRI")
        self._expand(len(whole))
        return whole

    @cython.cfunc
    def _expand(self, size: cython.Py_ssize_t) -> None:
        """Count bytes that were made of fewer.

        :raises LimitError: they are too many in this batch.
        """
        self.expansion += size
        if self.expansion > self.limits.frame_expansion:
            what = f"what {BATCH_ROWS} rows make of prefix names and numbers"
            raise over(self.limits, "frame_expansion", self.expansion, what)

    @cython.cfunc
    def _write_iri(
        self, buf: cython.p_uchar, start: cython.Py_ssize_t, stop: cython.Py_ssize_t
    ) -> None:
        self.out.byte(60)
        # An absent IRI is empty in Protocol Buffers.
        checks: cython.int = self.out.text(buf, start, stop, _IN_IRI)
        if checks:
            text = decoded(buf[start:stop], IRI, 1)
            if checks == 2:
                self.out.add(term_text(Iri(text))[1:-1].encode())
        self.out.byte(62)

    @cython.cfunc
    def _write_label(self) -> None:
        buf: cython.p_uchar = self.wire.buf
        flags: cython.p_uchar = _FLAGS
        at: cython.Py_ssize_t
        for at in range(self.starts[1], self.stops[1]):
            if not flags[buf[at]] & _IN_NAME:
                break
        else:
            if self.stops[1] > self.starts[1]:
                self.out.add(b"_:")
                self.out.put(buf, self.starts[1], self.stops[1])
                return
        label = decoded(self._bytes(1), BLANK_NODE, 1)
        self.out.add(term_text(BlankNode(label)).encode())

    @cython.cfunc
    def _write_literal(self) -> None:
        out: Buffer = self.out
        start: cython.Py_ssize_t = self.starts[_LEX]
        stop: cython.Py_ssize_t = self.stops[_LEX]
        datatype: bytes = self._bytes(_DATATYPE)
        has_datatype: cython.bint = self.stops[_DATATYPE] >= 0
        tag: bytes = self._bytes(_LANGDIR) or self._bytes(_LANGTAG)
        if self.stops[_DT_PREFIX] >= 0:
            if has_datatype:
                raise TermError("a literal has two datatypes")
            has_datatype = True
            datatype = self._whole(_DT_STRINGS + 1)
        out.byte(34)
        checks: cython.int = out.text(self.wire.buf, start, stop, _IN_STRING)
        if checks:
            text = decoded(self._bytes(_LEX), LITERAL, _LEX)
            if checks == 2:
                out.add(term_text(Literal(text))[1:-1].encode())
        out.byte(34)
        if tag or self.stops[_DIRECTION] >= 0:
            out.byte(64)
            out.add(self._tag(tag, datatype if has_datatype else None))
        elif has_datatype and datatype != _XSD_STRING:
            # Results of queries have such literals, which text does not.
            if datatype in _TAGGED and not self.optional:
                term_text(Literal("", None, decoded(datatype, LITERAL, _DATATYPE)))
            out.add(b"^^")
            raw: bytes = datatype
            self._write_iri(raw, 0, len(raw))

    def _tag(self, tag: bytes, datatype: bytes | None) -> bytes:
        """The language tag of a literal, with its base direction.

        :raises TermError: it is not valid, or does not go with the datatype.
        """
        if datatype is not None and datatype not in _TAGGED:
            raise TermError("a literal has either a language tag or a datatype, not both")
        directed = self.stops[_DIRECTION] >= 0
        if tag.isalpha() and not directed:
            return tag
        langtag, mark, name = decoded(tag, LITERAL, _LANGTAG).partition("--")
        if not mark and directed:
            mark, name = "--", decoded(self._bytes(_DIRECTION), LITERAL, _DIRECTION)
        if mark and (name not in ("ltr", "rtl") or not langtag):
            raise TermError("a base direction is ltr or rtl, and that of a language-tagged string")
        text = term_text(Literal("", f"{langtag}{mark}{name}"), directions=True)
        return text[3:].encode()

    @cython.cfunc
    def _write_number(self, kind: cython.int, position: cython.int) -> None:
        """Read and write a number by its value."""
        wire: Wire = self.wire
        place: cython.int
        value: Any = 0
        scale: Any = 0
        number: str
        if kind == _INTEGER:
            number, datatype = str(wire.number(64)), XSD_INTEGER
        elif kind == _DOUBLE:
            number, datatype = double_text(wire.double()), XSD_DOUBLE
        elif kind > _DOUBLE:
            wire.begin()
            while True:
                place = wire.field(DECIMAL)
                if place == 0:
                    break
                if place == 1:
                    value = wire.number(64)
                else:
                    scale = wire.number(32)
            number, datatype = decimal_text(value, scale, self.limits), XSD_DECIMAL
        else:
            raise TermError(f"{_NOT_RDF[kind]} is used as {POSITIONS[position]}")
        self._expand(len(number))
        self.out.add(f'"{number}"^^<{datatype}>'.encode())


@cython.cclass
class StatementReader(RowReader):
    """Reads the rows of a stream of statements, as lines of N-Quads. For the parameters see
    :class:`RowReader`.

    :ivar base: the base IRI that was declared last; all IRIs are absolute without it.
    :ivar declared: the prefixes that the last call has read, as name and IRI.
    :ivar statements: number of statements so far.

    >>> terms = ["1c1c1805" + term.encode().hex() + "0000" for term in ("urn:s", "urn:p", "urn:o")]
    >>> rows = bytes.fromhex("2c" + "".join(terms) + "0000")
    >>> StatementReader(JenaFormat.THRIFT).read_text(rows, 0)
    (b'<urn:s> <urn:p> <urn:o> .\\n', 36)
    """

    base = cython.declare(object, visibility="public")
    declared = cython.declare(list, visibility="public")
    statements = cython.declare(cython.ulonglong, visibility="public")

    def __init__(self, format: JenaFormat, *, limits: Limits = DEFAULT_LIMITS) -> None:  # noqa: A002
        RowReader.__init__(self, format, limits=limits)
        self.base = None
        self.declared = []
        self.statements = 0

    def read_text(self, data: bytes, at: int) -> tuple[bytes, int]:
        """Read rows as lines; see :meth:`read_rows`.

        :return: the lines, and the position after the rows.
        """
        self.declared = []
        return self.read_rows(data, at, [])

    @cython.ccall
    def take(self, batch: list) -> None:  # noqa: ARG002
        wire: Wire = self.wire
        kind: cython.int = wire.field(STREAM_ROW)
        if kind == 2 or kind == 3:
            self._write_terms(TRIPLE if kind == 2 else QUAD)
            wire.field(STREAM_ROW)
            self.out.add(b".\n")
            self.statements += 1
            return
        self._strings(PREFIX if kind == 1 else IRI, 0)
        wire.field(STREAM_ROW)
        if kind == 4:
            self.base = decoded(self._bytes(1), IRI, 1)
            return
        name, iri = decoded(self._bytes(1), PREFIX, 1), decoded(self._bytes(2), PREFIX, 2)
        self.declare(name, iri)
        self.declared.append((name, iri))


# Writing

# The texts of terms, and of what follows the string in literals.
_IRI_TEXT: Final = re.compile(rf"(?:[^{NOT_IN_IRI}]++|{ESCAPE})*+")
_STRING: Final = re.compile(STRING)
_LABEL_TEXT: Final = Pattern(LABEL)
_SUFFIX_TEXT: Final = re.compile(rf"@{LANGTAG}(?:--(?:ltr|rtl))?+|\^\^<{_IRI_TEXT.pattern}>|")
#: The latter that are kept.
_SUFFIXES: Final = 4096

#: A member's place and its value: bytes for a string and a struct, a list of these for a list.
Members = Sequence[tuple[int, Any]]


@cython.cfunc
@cython.exceptval(check=False)
def _field_size(size: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Bytes of a field of bytes in Protocol Buffers."""
    rest: cython.Py_ssize_t = size >> 7
    size += 2
    while rest:
        size += 1
        rest >>= 7
    return size


def thrift_struct(schema: Schema, members: Members) -> bytes:
    """The bytes of a message in Thrift's compact protocol.

    >>> thrift_struct(messages.PREFIX, [(1, b"ex"), (2, b"urn:")]).hex()
    '18026578180475726e3a00'
    """
    out = bytearray()
    last = 0
    for place, value in members:
        member = schema.members[place - 1]
        kind = member.type
        out.append(member.thrift - last << 4 | kind)
        last = member.thrift
        if kind is Type.STRING:
            out += varint(len(value))
            out += value
        elif kind is Type.LIST:
            size = len(value)
            out.append(min(size, 15) << 4 | Type.STRUCT)
            if size >= 15:
                out += varint(size)
            out += b"".join(value)
        elif kind is Type.STRUCT:
            out += value
        else:
            out += varint(value << 1 ^ value >> 63)
    out.append(0)
    return bytes(out)


def protobuf_struct(schema: Schema, members: Members) -> bytes:
    """The bytes of a message in Protocol Buffers, without its length.

    >>> protobuf_struct(messages.PREFIX, [(1, b"ex"), (2, b"urn:")]).hex()
    '0a026578120475726e3a'
    """
    out = bytearray()
    for place, value in members:
        member = schema.members[place - 1]
        kind = member.type
        if kind is Type.BOOL:
            out += varint(member.protobuf << 3) + varint(value)
        # An empty string is not written, unless its presence has a meaning.
        elif kind is not Type.STRING or value or not member.required:
            for each in value if kind is Type.LIST else (value,):
                out += varint(member.protobuf << 3 | 2) + varint(len(each))
                out += each
    return bytes(out)


@cython.cclass
class RowWriter:
    """Writes lines as rows of one stream: what Apache Jena writes for them in this order. There are
    prefix names in Thrift only, where prefixes are declared; no value forms; statements in the
    default graph are triples.

    :param format: how rows are encoded.
    :param limits: limits on the output.

    :ivar row: number of the row that is next.
    :ivar statements: number of statements that were written.

    >>> writer = RowWriter(JenaFormat.THRIFT)
    >>> writer.add_lines(b"<urn:s> <urn:p> <urn:o> .\\n").hex(" ", 4)
    '2c1c1c18 0575726e 3a730000 1c1c1805 75726e3a 7000001c 1c180575 726e3a6f 00000000'
    """

    row = cython.declare(cython.ulonglong, visibility="public")
    statements = cython.declare(cython.ulonglong, visibility="public")
    limits = cython.declare(object, visibility="public")
    row_bytes: cython.Py_ssize_t
    string_bytes: cython.Py_ssize_t
    nesting: cython.int
    thrift: cython.bint
    busy: cython.bint
    #: IRI by name; in Thrift, names by IRI and the lengths that IRIs have, the longest first.
    prefixes: dict
    names: dict
    lengths: list
    #: Members of literals, by the text that follows their string.
    suffixes: dict
    #: A term, the members of a statement, and rows.
    term_out: Buffer
    body: Buffer
    out: Buffer
    #: Reads lines that are not in canonical form; and the number of lines before.
    parser: Any
    line: cython.ulonglong

    def __init__(self, format: JenaFormat, *, limits: Limits = DEFAULT_LIMITS) -> None:  # noqa: A002
        self.limits = limits
        self.row_bytes = limits.frame_bytes
        self.string_bytes = limits.string_bytes
        self.nesting = limits.nesting
        self.thrift = format is JenaFormat.THRIFT
        self.row = self.statements = self.line = 0
        self.busy = False
        self.prefixes = {}
        self.names = {}
        self.lengths = []
        self.suffixes = {}
        self.term_out = Buffer()
        self.body = Buffer()
        self.out = Buffer()
        self.parser = LineParser(
            Dialect.RDF_STAR, False, True, limits, quads=True, base_directions=True
        )

    # Rows

    def add_prefix(self, name: str, iri: str) -> bytes:
        """Declare a prefix: its row.

        :raises JellyError: it cannot be declared.
        """
        key, value = self.string(name, "a prefix"), self.string(iri, "an IRI")
        before = self.prefixes.get(key)
        self.prefixes[key] = value
        if len(self.prefixes) > self.limits.prefix_table:
            count = len(self.prefixes)
            raise over(self.limits, "prefix_table", count, "the number of prefixes")
        if self.thrift and before != value:
            # Of several names for an IRI, the first is used.
            self.names = {}
            for each, known in self.prefixes.items():
                self.names.setdefault(known, each)
            self.lengths = sorted(set(map(len, self.names)), reverse=True)
            self.suffixes = {}
        return self.row_of(
            messages.STREAM_ROW, 1, self.struct(messages.PREFIX, [(1, key), (2, value)])
        )

    def set_base(self, iri: str) -> bytes:
        """The row of a base IRI. All IRIs are written in full anyway.

        :raises OptionsError: the encoding has no such row.
        """
        if self.thrift:
            raise OptionsError("RDF Thrift has no row for a base IRI")
        value = self.struct(messages.IRI, [(1, self.string(iri, "an IRI"))])
        return self.row_of(messages.STREAM_ROW, 4, value)

    def struct(self, schema: Schema, members: Members) -> bytes:
        """The bytes of a message, of its members in order."""
        return (thrift_struct if self.thrift else protobuf_struct)(schema, members)

    def row_of(self, schema: Schema, place: int, value: Any) -> bytes:
        """A row, of one of its members.

        :raises LimitError: it is too long.
        """
        return self.whole_row(self.struct(schema, [(place, value)]))

    def whole_row(self, data: bytes) -> bytes:
        """A row, of the bytes of its message.

        :raises LimitError: it is too long.
        """
        row = data if self.thrift else varint(len(data)) + data
        check_row_bytes(len(row), self.limits)
        self.row += 1
        return row

    def string(self, text: Any, what: str) -> bytes:
        """The UTF-8 of a string.

        :raises LimitError: it is too long.
        :raises TermError: it is not a string, or has a surrogate.
        """
        text = text_of(text)
        if not isinstance(text, str):
            raise TermError(f"{what} is not a string: {text!r}")
        try:
            raw = text.encode()
        except UnicodeEncodeError:
            raise TermError(f"{what} has a surrogate, which is not a character") from None
        self._check_string(len(raw), what)
        return raw

    @cython.cfunc
    def _check_string(self, size: cython.Py_ssize_t, what: str) -> None:
        if size > self.string_bytes:
            raise over(self.limits, "string_bytes", size, f"the length of {what}")

    # Lines

    def add_lines(self, text: bytes) -> bytes:
        """Write whole lines of N-Quads that follow the lines before.

        :return: their rows.
        :raises TextError: with the line.
        :raises JellyError: with the row, if a statement cannot be written.
        """
        self._enter()
        try:
            self._lines(bytes(text))
            return self.out.between(0, self.out.size)
        except JellyError as error:
            if not isinstance(error, TextError):
                error.locate(row=self.row)
            raise
        finally:
            self.out.cut(0)
            self.body.cut(0)
            self.busy = False

    def term(self, text: bytes) -> bytes:
        """The bytes of a term of any kind.

        :param text: as ``term_text`` writes it, with base directions.
        :raises JellyError: it cannot be written.
        """
        self._enter()
        try:
            held: bytes = text + b" "
            if self._term(held, 0, len(held), OBJECT, 0) != len(text):
                raise TermError(f"{text[:80]!r} is not a term")
            return self.term_out.between(0, self.term_out.size)
        finally:
            self.busy = False

    def _enter(self) -> None:
        if self.busy:
            raise OrderError("another thread is using the writer")
        self.busy = True

    def _lines(self, text: bytes) -> None:
        buf: cython.p_uchar = text
        end: cython.Py_ssize_t = len(text)
        pos: cython.Py_ssize_t = 0
        stop: cython.Py_ssize_t
        while pos < end:
            stop = self._line(buf, pos, end)
            if stop < 0:
                stop = min(_find(buf, 10, pos, end) + 1, end)
                self.parser.line_ends = self.line
                for statement in self.parser.statements(buf[pos:stop]):
                    self._usual(f"{statement_text(statement, directions=True)}\n".encode())
            self.line += 1
            pos = stop

    def _usual(self, line: bytes) -> None:
        if self._line(line, 0, len(line)) < 0:
            raise StatementError(f"rows cannot express {line[:80]!r}")

    @cython.cfunc
    @cython.exceptval(-2)
    def _line(
        self, buf: cython.p_uchar, pos: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Write the statement of a line in canonical form; return the position after it, or -1 if
        it has another form."""
        width: cython.int = 0
        body: Buffer = self.body
        out: Buffer = self.out
        term: Buffer = self.term_out
        size: cython.Py_ssize_t
        body.cut(0)
        while width < 3 or (width == 3 and pos < end and buf[pos] != 46):
            pos = self._term(buf, pos, end, width, 0)
            if pos < 0 or pos >= end or buf[pos] != 32:
                return -1
            pos += 1
            width += 1
            if self.thrift:
                body.byte(0x1C)
            else:
                body.byte(width << 3 | 2)
                body.varint(term.size)
            body.put(term.buf, 0, term.size)
        if end - pos < 2 or buf[pos] != 46 or buf[pos + 1] != 10:
            return -1
        size = body.size
        if size > self.row_bytes:
            check_row_bytes(size, self.limits)
        if self.thrift:
            out.byte(0x3C if width == 4 else 0x2C)
        else:
            out.varint(_field_size(size))
            out.byte(0x1A if width == 4 else 0x12)
            out.varint(size)
        out.put(body.buf, 0, size)
        if self.thrift:
            out.byte(0)
            out.byte(0)
        self.row += 1
        self.statements += 1
        return pos + 2

    @cython.cfunc
    @cython.exceptval(-2)
    def _term(
        self,
        buf: cython.p_uchar,
        pos: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        position: cython.int,
        depth: cython.int,
    ) -> cython.Py_ssize_t:
        """Write the term at a position, alone; return the position after it, or -1 if it has
        another form, or is not allowed there."""
        stop: cython.Py_ssize_t
        if end - pos < 3:
            return -1
        if buf[pos] == 60 and buf[pos + 1] == 60:
            return self._triple(buf, pos, end, position, depth)
        if buf[pos] == 60:
            pos += 1
            stop = _ascii_end(buf, pos, end, _IN_IRI)
            if buf[stop] == 62:
                self._put_iri(buf, pos, stop)
                return stop + 1
            stop = _find(buf, 62, stop, end)
            iri: Any = _plain(buf[pos:stop], _IRI_TEXT)
            if stop == end or iri is None:
                return -1
            raw: bytes = iri
            self._put_iri(raw, 0, len(raw))
            return stop + 1
        if buf[pos] == 95 and buf[pos + 1] == 58 and position != PREDICATE:
            pos += 2
            stop = _ascii_end(buf, pos, end, _IN_NAME)
            if buf[stop] == 32 and stop > pos:
                self._put_string(_BLANK_NODE, buf, pos, stop, b"", "a blank node label")
                return stop
            stop = _find(buf, 32, stop, end)
            label: Any = _plain(buf[pos:stop], _LABEL_TEXT.compiled)
            if label is None:
                return -1
            raw = read_label(label.decode()).encode()
            self._put_string(_BLANK_NODE, raw, 0, len(raw), b"", "a blank node label")
            return stop
        if buf[pos] == 34 and position == OBJECT:
            pos += 1
            quote: cython.Py_ssize_t = _ascii_end(buf, pos, end, _IN_STRING)
            lex: Any = None
            if buf[quote] != 34:
                quote = _string_end(buf, quote, end)
                lex = _plain(buf[pos - 1 : quote + 1] if quote < end else b"", _STRING)
                if lex is None:
                    return -1
            stop = _find(buf, 32, quote, end)
            suffix: Any = self._suffix(buf[quote + 1 : stop])
            if suffix is None:
                return -1
            if lex is None:
                self._put_string(_LITERAL, buf, pos, quote, suffix, "a lexical form")
            else:
                raw = lex[1:-1]
                self._put_string(_LITERAL, raw, 0, len(raw), suffix, "a lexical form")
            return stop
        return -1

    @cython.cfunc
    @cython.exceptval(-2)
    def _triple(
        self,
        buf: cython.p_uchar,
        pos: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        position: cython.int,
        depth: cython.int,
    ) -> cython.Py_ssize_t:
        """The same for a quoted triple."""
        part: cython.int
        parts: list = []
        if (
            position == PREDICATE
            or position == GRAPH
            or depth == self.nesting
            or buf[pos + 2] != 40
        ):
            return -1
        pos += 3
        for part in range(3):
            if pos >= end or buf[pos] != 32:
                return -1
            pos = self._term(buf, pos + 1, end, part, depth + 1)
            if pos < 0:
                return -1
            parts.append((part + 1, self.term_out.between(0, self.term_out.size)))
        if end - pos < 4 or buf[pos : pos + 4] != b" )>>":
            return -1
        triple = self.struct(messages.TRIPLE, parts)
        self.term_out.cut(0)
        self.term_out.add(self.struct(messages.TERM, [(_TRIPLE_TERM, triple)]))
        return pos + 4

    @cython.cfunc
    def _put_iri(
        self, buf: cython.p_uchar, start: cython.Py_ssize_t, stop: cython.Py_ssize_t
    ) -> None:
        if self.lengths:
            name: Any = self._prefix_name(buf[start:stop])
            if name is not None:
                self.term_out.cut(0)
                self.term_out.add(self.struct(messages.TERM, [(_PREFIX_NAME, name)]))
                return
        self._put_string(_IRI, buf, start, stop, b"", "an IRI")

    @cython.cfunc
    def _put_string(
        self,
        place: cython.int,
        buf: cython.p_uchar,
        start: cython.Py_ssize_t,
        stop: cython.Py_ssize_t,
        suffix: bytes,
        what: str,
    ) -> None:
        """Write a term that is a message whose first member is a string.

        :param suffix: its other members.
        """
        out: Buffer = self.term_out
        size: cython.Py_ssize_t = stop - start
        inner: cython.Py_ssize_t = len(suffix)
        self._check_string(size, what)
        out.cut(0)
        if self.thrift:
            out.byte(place << 4 | 12)
            out.byte(0x18)
            out.varint(size)
        else:
            if size:
                inner += _field_size(size)
            out.byte(place << 3 | 2)
            out.varint(inner)
            if size:
                out.byte(0x0A)
                out.varint(size)
        out.put(buf, start, stop)
        out.add(suffix)
        if self.thrift:
            out.byte(0)
            out.byte(0)

    def _prefix_name(self, iri: bytes) -> bytes | None:
        """The prefix name of an IRI, by the longest prefix that it begins with; None if there is
        none. Apache Jena allows neither ``/`` nor ``#`` after the prefix."""
        least = max(iri.rfind(b"/"), iri.rfind(b"#")) + 1
        for length in self.lengths:
            if length < least:
                break
            prefix = self.names.get(iri[:length])
            if prefix is not None:
                return self.struct(messages.PREFIX_NAME, [(1, prefix), (2, iri[length:])])
        return None

    def _suffix(self, text: bytes) -> bytes | None:
        """The members of a literal after its lexical form, of the text after its string; None if
        that has another form."""
        suffix = self.suffixes.get(text)
        if suffix is not None:
            return suffix
        plain = _plain(text, _SUFFIX_TEXT)
        if plain is None:
            return None
        members: list[tuple[int, Any]] = [(_LEX, b"")]
        if plain[:1] == b"@":
            language, mark, direction = plain[1:].partition(b"--")
            self._check_string(len(language), "a language tag")
            if mark and not self.thrift:
                members.append((_LANGDIR, plain[1:]))
            else:
                members.append((_LANGTAG, language))
                if mark:
                    members.append((_DIRECTION, direction))
        elif plain and plain[3:-1] != _XSD_STRING:
            datatype = plain[3:-1]
            if datatype in _TAGGED:
                return None
            self._check_string(len(datatype), "an IRI")
            name = self._prefix_name(datatype)
            members.append((_DATATYPE, datatype) if name is None else (_DT_PREFIX, name))
        elif not self.thrift:
            members.append((_SIMPLE, True))
        made = self.struct(messages.LITERAL, members)
        # Without the empty string that Thrift has, and the end of the struct.
        suffix = made[2:-1] if self.thrift else made
        if len(self.suffixes) >= _SUFFIXES:
            self.suffixes = {}
        self.suffixes[text] = suffix
        return suffix


def _plain(raw: bytes, pattern: re.Pattern[str]) -> bytes | None:
    """The UTF-8 of a text without its escapes; None if it is not of the pattern."""
    try:
        text = str(raw, "utf-8")
        return unescaped(text).encode() if pattern.fullmatch(text) else None
    except ValueError:
        return None


@cython.cfunc
@cython.exceptval(check=False)
def _find(
    buf: cython.p_uchar, byte: cython.uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The position of a byte; ``end`` if there is none."""
    while at < end and buf[at] != byte:
        at += 1
    return at


@cython.cfunc
@cython.exceptval(check=False)
def _ascii_end(
    buf: cython.p_uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t, flag: cython.int
) -> cython.Py_ssize_t:
    """The position of the first byte that is not ASCII that may occur there as it is, or of the
    last byte."""
    flags: cython.p_uchar = _FLAGS
    while at < end - 1 and buf[at] < 0x80 and flags[buf[at]] & flag:
        at += 1
    return at


@cython.cfunc
@cython.exceptval(check=False)
def _string_end(
    buf: cython.p_uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The position of the quote that ends a string, or ``end``.

    :param at: a position in the string, not after a backslash.
    """
    while at < end and buf[at] != 34:
        at += 2 if buf[at] == 92 else 1
    return min(at, end)
