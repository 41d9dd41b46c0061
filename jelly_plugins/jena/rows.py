# cython: language_level=3, auto_pickle=False
"""Rows of Jena RDF Binary to terms and N-Quads, and back: one codec over two wires, Thrift's
compact protocol and delimited Protocol Buffers messages. No I/O.

The module is written in Cython's pure Python mode: setup.py compiles it as ``jena._rows``, and it
runs uncompiled, too; ``jena.codec`` chooses. Three rules keep the compiled form safe:

1. ``Wire.buf`` points into ``Wire.data``, which the wire keeps. Every read compares its position
   with ``Wire.end`` first, and every length with a limit before anything is allocated.
2. ``Buffer.buf`` points into a bytearray that no other object has, and every write reserves first.
3. A reader or writer serves one call at a time: a factory may call back, other threads may call.

Where the two forms differ (``cython.compiled``), a loop over bytes takes the place of a method of
bytes. Text and rows are copied without objects in between; with a factory, each distinct term is
made once, by its bytes in the row.

Reference: RDF Binary (Apache Jena); Thrift Compact Protocol specification, sections "Base types",
"Structs" and "List and Set"; https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence
from typing import Any, Final

try:
    import cython
except ModuleNotFoundError:
    from ..codec.common import cython_shim as cython

from ..codec import DEFAULT_LIMITS, Describe, Kind, Limits
from ..codec import describe as describe_generic
from ..codec.common.limits import over
from ..codec.common.positions import POSITIONS, undeclared
from ..codec.common.terms import (
    RDF_LANG_STRING,
    XSD_STRING,
    BlankNode,
    Iri,
    Literal,
    build,
    terms_of,
    text_of,
)
from ..codec.common.wire import varint
from ..codec.text.lines import LANGTAG, STRING, unescaped
from ..codec.text.ntriples import Dialect, LineParser, term_text
from ..errors import (
    JellyError,
    LimitError,
    LookupTableError,
    OptionsError,
    OrderError,
    StatementError,
    TermError,
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

#: Terms with longer bytes are not cached; caches are cleared at this many bytes.
_CACHED_TERM = cython.declare(cython.int, 1024)
_CACHE_BYTES = cython.declare(cython.Py_ssize_t, 16 << 20)

#: Apache Jena's names of the default graph.
DEFAULT_GRAPH_IRIS: Final = (b"urn:x-arq:DefaultGraphNode", b"urn:x-arq:DefaultGraph")

#: Datatypes that a language tag implies.
_TAGGED: Final = (
    RDF_LANG_STRING.encode(),
    RDF_LANG_STRING.encode().replace(b"langString", b"dirLangString"),
)
_XSD_STRING: Final = XSD_STRING.encode()

SUBJECT = cython.declare(cython.int, 0)
PREDICATE = cython.declare(cython.int, 1)
OBJECT = cython.declare(cython.int, 2)
GRAPH = cython.declare(cython.int, 3)

# Places of members in a term and in a literal.
_IRI = cython.declare(cython.int, 1)
_BLANK_NODE = cython.declare(cython.int, 2)
_LITERAL = cython.declare(cython.int, 3)
_PREFIX_NAME = cython.declare(cython.int, 4)
_VARIABLE = cython.declare(cython.int, 5)
_ANY = cython.declare(cython.int, 6)
_UNDEFINED = cython.declare(cython.int, 7)
_REPEAT = cython.declare(cython.int, 8)
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

# The characters of ASCII that text may contain as they are: in IRIs, in strings, in names (labels
# and language tags).
_IN_IRI = cython.declare(cython.int, 1)
_IN_STRING = cython.declare(cython.int, 2)
_IN_NAME = cython.declare(cython.int, 4)


def _flags(byte: int) -> int:
    character = chr(byte)
    if byte >= 0x80:
        return 0
    in_iri = byte > 0x20 and character not in '<>"{}|^`\\'
    in_string = 0x20 <= byte < 0x7F and character not in '"\\'
    return in_iri | in_string << 1 | (character.isalnum() or character == "_") << 2


_FLAGS = cython.declare(bytes, bytes(map(_flags, range(256))))
_ALLOWED: Final = {flag: bytes(at for at in range(256) if _flags(at) & flag) for flag in (1, 2, 4)}
_NON_ASCII: Final = bytes(range(0x80, 0x100))
_ESCAPES: Final = (
    (b"\\", b"\\\\"),
    (b'"', b'\\"'),
    (b"\n", b"\\n"),
    (b"\r", b"\\r"),
    (b"\t", b"\\t"),
)
_ESCAPED: Final = _ALLOWED[2] + _NON_ASCII + b'"\\'


class Incomplete(Exception):  # noqa: N818 (not an error: the rest may follow)
    """The bytes end inside a row."""


@cython.cfunc
@cython.exceptval(check=False)
def _allowed(
    buf: cython.p_uchar, start: cython.Py_ssize_t, stop: cython.Py_ssize_t, flag: cython.int
) -> cython.bint:
    """Whether all bytes are ASCII that may occur there."""
    if cython.compiled:
        table: cython.p_uchar = _FLAGS
        at: cython.Py_ssize_t
        for at in range(start, stop):
            if not table[buf[at]] & flag:
                return False
        return True
    else:
        return not buf[start:stop].translate(None, _ALLOWED[flag])


@cython.cfunc
@cython.exceptval(check=False)
def _find(
    buf: cython.p_uchar, byte: cython.uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The position of a byte; ``end`` if there is none."""
    if cython.compiled:
        while at < end and buf[at] != byte:
            at += 1
        return min(at, end)
    else:
        found = buf.find(byte, at, end)
        return end if found < 0 else found


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
        if cython.compiled:
            if size > self.capacity - self.size:
                self.held.extend(bytes(self.capacity + size + 64))
                self.capacity = len(self.held)
                self.buf = self.held

    @cython.cfunc
    def byte(self, value: cython.uchar) -> None:
        self.reserve(1)
        if cython.compiled:
            self.buf[self.size] = value
        else:
            self.held.append(value)
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
            self.held += source[start:stop]
        self.size += stop - start

    @cython.cfunc
    def add(self, data: bytes) -> None:
        self.put(data, 0, len(data))

    @cython.cfunc
    def varint(self, value: cython.Py_ssize_t) -> None:
        while value >= 0x80:
            self.byte(value & 0x7F | 0x80)
            value >>= 7
        self.byte(value)

    @cython.cfunc
    def cut(self, size: cython.Py_ssize_t) -> None:
        """Drop the bytes after a number of them. Much memory is not kept."""
        if not cython.compiled:
            del self.held[size:]
        elif size == 0 and self.capacity > 16 * _BATCH_BYTES:
            self.held = bytearray()
            self.buf = self.held
            self.capacity = 0
        self.size = size

    @cython.cfunc
    def between(self, start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> bytes:
        """A part of the bytes."""
        if cython.compiled:
            return self.buf[start:stop]
        else:
            return bytes(self.held[start:stop])


@cython.final
@cython.cclass
class Fields:
    """The members of a message on one wire."""

    #: Places of members by field number, 0 where there is none, and codes of types by place.
    places: bytes
    codes: bytes
    required: cython.uint

    def __init__(self, schema: Schema, numbers: list[int], protobuf: bool) -> None:
        places = bytearray(32)
        codes = bytearray(1)
        self.required = 0
        for place, (member, number) in enumerate(zip(schema.members, numbers, strict=True), 1):
            if number:
                places[number] = place
            codes.append(_PROTOBUF_CODES[member.type] if protobuf else member.type)
            # An empty string or number is not written in Protocol Buffers.
            if number and member.required and not (protobuf and member.type is not Type.STRUCT):
                self.required |= 1 << place
        self.places = bytes(places)
        self.codes = bytes(codes)


_PROTOBUF_CODES: Final = {
    **dict.fromkeys((Type.BOOL, Type.I32, Type.I64), 0),
    Type.DOUBLE: 1,
    **dict.fromkeys((Type.STRING, Type.LIST, Type.STRUCT), 2),
}


@cython.final
@cython.cclass
class Message:
    """A message, prepared for reading."""

    schema = cython.declare(object, visibility="public")
    union: cython.bint
    repeated: cython.bint
    count: cython.int
    thrift: Fields
    protobuf: Fields

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.union = schema.union
        self.repeated = any(member.type is Type.LIST for member in schema.members)
        self.count = len(schema.members)
        self.thrift = Fields(schema, [member.thrift for member in schema.members], False)
        self.protobuf = Fields(schema, [member.protobuf for member in schema.members], True)
        if schema.union:
            self.thrift.required = self.protobuf.required = 0

    def name(self, place: int) -> str:
        """A member with its message, for errors."""
        return f"{self.schema.members[place - 1].name} of {self.schema.name}"


IRI = cython.declare(Message, Message(messages.IRI))
BLANK_NODE = cython.declare(Message, Message(messages.BLANK_NODE))
LITERAL = cython.declare(Message, Message(messages.LITERAL))
PREFIX_NAME = cython.declare(Message, Message(messages.PREFIX_NAME))
DECIMAL = cython.declare(Message, Message(messages.DECIMAL))
VARIABLE = cython.declare(Message, Message(messages.VARIABLE))
EMPTY = cython.declare(Message, Message(messages.ANY))
TERM = cython.declare(Message, Message(messages.TERM))
TRIPLE = cython.declare(Message, Message(messages.TRIPLE))
QUAD = cython.declare(Message, Message(messages.QUAD))
PREFIX = cython.declare(Message, Message(messages.PREFIX))
STREAM_ROW = cython.declare(Message, Message(messages.STREAM_ROW))


@cython.cclass
class Wire:
    """A position in rows: a row is opened, then its structs and their members are read in order.

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
    string_bytes: cython.Py_ssize_t
    row_bytes: cython.Py_ssize_t
    limits: Any

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.string_bytes = limits.string_bytes
        self.row_bytes = limits.frame_bytes
        self.seen = self.last = self.depth = 0
        self.start = self.stop = self.pos = self.end = 0
        if not cython.compiled:
            self.ends = [0] * 256
            self.seens = [0] * 256
            self.lasts = [0] * 256
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
        raise NotImplementedError

    @cython.ccall
    def begin(self) -> None:
        """Begin a struct that is a member's value."""
        raise NotImplementedError

    @cython.ccall
    @cython.exceptval(-1)
    def field(self, message: Message) -> cython.int:
        """Begin the next member of the open struct: its place. At the end 0; this ends the struct.

        :raises WireError: the member is unknown, misplaced or of the wrong type, or one is missing.
        """
        raise NotImplementedError

    @cython.ccall
    @cython.exceptval(-1)
    def elements(self) -> cython.Py_ssize_t:
        """The number of structs that follow as the value of a list."""
        raise NotImplementedError

    @cython.cfunc
    def overrun(self) -> None:
        """Raise the error for a value that ends after :attr:`end`."""
        raise NotImplementedError

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
    @cython.exceptval(-1)
    def member(
        self, message: Message, fields: Fields, number: cython.ulonglong, code: cython.int
    ) -> cython.int:
        """The place of a field's member."""
        place: cython.int = fields.places[number] if number < 32 else 0
        if place == 0:
            raise WireError(f"{message.schema.name} has no field {number}")
        if code != fields.codes[place]:
            raise WireError(f"field {number} of {message.schema.name} has the wrong type")
        if self.seen >> place & 1:
            if not message.repeated or isinstance(self, ThriftWire):
                raise WireError(f"field {number} of {message.schema.name} occurs twice")
        elif message.union and self.seen:
            raise WireError(f"{message.schema.name} has more than one member")
        self.seen |= 1 << place
        return place

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

    @cython.cfunc
    def string(self, message: Message, place: cython.int, bits: cython.int) -> None:
        size: cython.ulonglong = self.varint(bits)
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

    @cython.ccall
    def text(self, message: Message, place: cython.int) -> None:
        """Read the value of a member that is a string.

        :raises LimitError: it is too long.
        """
        raise NotImplementedError

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
        return value >> 1 ^ -(value & 1)

    @cython.cfunc
    def double(self) -> Any:
        if self.end - self.pos < 8:
            self.overrun()
        self.pos += 8
        return struct.unpack("<d", self.buf[self.pos - 8 : self.pos])[0]

    @cython.ccall
    def check_row(self, size: cython.Py_ssize_t) -> None:
        """Reject a row that is too long, including bytes still to come.

        :raises LimitError: it is too long. The message has not its length, which need not be known.
        """
        if size > self.row_bytes:
            check_row_bytes(size, self.limits)


@cython.final
@cython.cclass
class ThriftWire(Wire):
    """Thrift's compact protocol: rows back to back, each struct with a stop byte."""

    @cython.cfunc
    def open_row(self, at: cython.Py_ssize_t) -> None:
        self.pos = at
        self.end = len(self.data)
        self.depth = 0
        self.push()

    @cython.ccall
    def begin(self) -> None:
        self.push()

    @cython.ccall
    @cython.exceptval(-1)
    def field(self, message: Message) -> cython.int:
        header: cython.int
        raw: cython.ulonglong
        if self.pos >= self.end:
            raise Incomplete
        header = self.buf[self.pos]
        self.pos += 1
        if header == 0:
            self.pop(message, message.thrift.required)
            return 0
        if header >> 4:
            self.last += header >> 4
        else:
            raw = self.varint(32)
            # No field has a negative id, or one of 32 and above.
            self.last = 32 if raw & 1 or raw >> 1 > 32 else raw >> 1
            if self.last == 32:
                value: Any = raw
                raise WireError(f"{message.schema.name} has no field {value >> 1 ^ -(value & 1)}")
        return self.member(message, message.thrift, self.last, header & 15)

    @cython.ccall
    @cython.exceptval(-1)
    def elements(self) -> cython.Py_ssize_t:
        header: cython.int
        size: cython.ulonglong
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
    def overrun(self) -> None:
        raise Incomplete

    @cython.ccall
    def text(self, message: Message, place: cython.int) -> None:
        self.string(message, place, 32)


@cython.final
@cython.cclass
class ProtobufWire(Wire):
    """Protocol Buffers: messages with their lengths before them."""

    @cython.cfunc
    def open_row(self, at: cython.Py_ssize_t) -> None:
        size: cython.ulonglong
        limit: cython.ulonglong = self.row_bytes
        rest: cython.ulonglong
        self.depth = 0
        self.pos = at
        self.end = len(self.data)
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
        size: cython.ulonglong = self.varint(64)
        rest: cython.ulonglong = self.end - self.pos
        if size > rest:
            self.overrun()
        self.push()
        self.end = self.pos + size

    @cython.ccall
    @cython.exceptval(-1)
    def field(self, message: Message) -> cython.int:
        tag: cython.ulonglong
        if self.pos == self.end:
            self.pop(message, message.protobuf.required)
            return 0
        tag = self.varint(64)
        if tag >> 3 == 0 or tag >> 3 >= 1 << 29:
            raise WireError(f"field number {tag >> 3} is not valid")
        if tag & 7 == 3 or tag & 7 == 4 or tag & 7 > 5:
            raise WireError(f"wire type {tag & 7} is not valid")
        return self.member(message, message.protobuf, tag >> 3, tag & 7)

    @cython.ccall
    @cython.exceptval(-1)
    def elements(self) -> cython.Py_ssize_t:
        return 1

    @cython.cfunc
    def overrun(self) -> None:
        raise WireError("a field ends after its message")

    @cython.ccall
    def text(self, message: Message, place: cython.int) -> None:
        self.string(message, place, 64)


def check_row_bytes(size: int, limits: Limits) -> None:
    """Reject a row that is too long.

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


def _iri_text(raw: bytes) -> bytes:
    """The text of an IRI in N-Triples, without brackets."""
    text = decoded(raw, IRI, 1)
    if raw.translate(None, _ALLOWED[1] + _NON_ASCII):
        return term_text(Iri(text))[1:-1].encode()
    return raw


def _string_text(raw: bytes) -> bytes:
    """The text of a string in N-Triples, without quotes."""
    text = decoded(raw, LITERAL, 1)
    for character, escape in _ESCAPES:
        raw = raw.replace(character, escape)
    if raw.translate(None, _ESCAPED) or b"\xef\xbf" in raw:
        # Rare escapes.
        return term_text(Literal(text))[1:-1].encode()
    return raw


@cython.cclass
class RowReader:
    """Reads the rows of one stream, in order. Subclasses define :meth:`take`.

    :param factory: makes terms, see :class:`~jelly_plugins.codec.TermFactory`; None for text.
    :param format: how rows are encoded.
    :param directions: whether language-tagged strings may have a base direction. A factory gets
        both as one: ``en--ltr``.
    :param limits: the limits on untrusted input; those of a frame apply to a batch of rows.

    :ivar row: number of the row that is next.
    :ivar wire: the position in the rows.
    :ivar prefixes: IRI by name, both as UTF-8, as declared so far.
    :ivar last: the terms that repeats refer to, by column.
    :ivar optional: whether terms may be absent, as in solutions; they are None.
    """

    row = cython.declare(cython.ulonglong, visibility="public")
    wire = cython.declare(Wire, visibility="readonly")
    prefixes = cython.declare(dict, visibility="public")
    factory = cython.declare(object, visibility="public")
    limits = cython.declare(object, visibility="public")
    optional = cython.declare(cython.bint, visibility="public")
    last = cython.declare(list, visibility="public")
    default_graph = cython.declare(object, visibility="public")
    directions: cython.bint
    busy: cython.bint
    #: Number of quoted triples around a term.
    depth: cython.int
    #: Bytes that the rows of the batch have made of fewer.
    expansion: cython.Py_ssize_t
    #: Terms by their bytes, for each position; and about the bytes of them all.
    caches: list
    cached: cython.Py_ssize_t
    prefix_bytes: cython.Py_ssize_t
    #: The strings of the term that was read, by place; stops are -1 where there is none.
    starts: cython.Py_ssize_t[10]
    stops: cython.Py_ssize_t[10]
    #: The lexical form of its number.
    number: str
    #: Text that was written, and the positions in it of the last row's terms; -1 for none.
    out: Buffer
    froms: cython.Py_ssize_t[4]
    tos: cython.Py_ssize_t[4]

    def __init__(
        self,
        factory: Any,
        format: JenaFormat,  # noqa: A002
        *,
        directions: bool = True,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.wire = ThriftWire(limits) if format is JenaFormat.THRIFT else ProtobufWire(limits)
        self.factory = factory
        self.default_graph = None if factory is None else factory.default_graph
        self.directions = directions
        self.limits = limits
        self.row = 0
        self.prefixes = {}
        self.prefix_bytes = self.expansion = 0
        self.optional = self.busy = False
        self.last = [None] * 4
        self.number = ""
        self.out = Buffer()
        self._forget()
        if not cython.compiled:
            self.starts, self.stops = [0] * 10, [0] * 10
            self.froms, self.tos = [0] * 4, [0] * 4
        self._keep_last(True)

    def read_rows(self, data: bytes, at: int, batch: list[Any]) -> int:
        """Read rows up to the end of the batch, or the last whole row.

        :param at: where the first row starts.
        :param batch: takes what rows contain; without a factory, their text as one item.
        :return: the position after them.
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
            if self.factory is None:
                batch.append(self.out.between(0, self.out.size))
                self._keep_last()
            return stop
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
                wire.open_row(at)
                self.take(batch)
                wire.check_row(wire.pos - at)
            except Incomplete:
                if self.factory is None:
                    # A factory's terms are cached, and not counted again.
                    self.expansion = expansion
                self.out.cut(mark)
                self._check_incomplete(end - at)
                break
            except JellyError as error:
                raise error.locate(row=self.row) from error.__cause__
            except ValueError as error:
                raise TermError(str(error), row=self.row) from error
            self.row += 1
            at = wire.pos
            if self.row % BATCH_ROWS == 0 or self.out.size >= _BATCH_BYTES:
                break
        return at

    def _check_incomplete(self, size: int) -> None:
        try:
            check_row_bytes(size, self.limits)
        except LimitError as error:
            raise error.locate(row=self.row) from None

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
        self._forget()

    def undeclare(self, name: str) -> None:
        """Release a prefix, if it is bound."""
        iri = self.prefixes.pop(name.encode(), None)
        if iri is not None:
            self.prefix_bytes -= len(name.encode()) + len(iri)
            self._forget()

    @cython.cfunc
    def _forget(self) -> None:
        self.caches = [{}, {}, {}, {}]
        self.cached = 0

    @cython.cfunc
    def _expand(self, size: cython.Py_ssize_t) -> None:
        """Count bytes that were made of fewer.

        :raises LimitError: they are too many in this batch.
        """
        self.expansion += size
        if self.expansion > self.limits.frame_expansion:
            what = f"what {BATCH_ROWS} rows make of prefix names, numbers and repeats"
            raise over(self.limits, "frame_expansion", self.expansion, what)

    # The wire

    @cython.cfunc
    @cython.exceptval(-1)
    def _open(self, position: cython.int) -> cython.int:
        """Read a term that is a member's value, of a quoted triple only its beginning; return its
        kind, which is allowed in its position."""
        wire: Wire = self.wire
        kind: cython.int
        wire.begin()
        kind = wire.field(TERM)
        if kind == _IRI:
            self._strings(IRI, 0)
        elif kind == _LITERAL:
            self._strings(LITERAL, 0)
        elif kind == _PREFIX_NAME:
            self._strings(PREFIX_NAME, 0)
        elif kind == _BLANK_NODE:
            self._strings(BLANK_NODE, 0)
            if position == PREDICATE:
                raise StatementError("BLANK_NODE as predicate")
        elif kind == _TRIPLE_TERM:
            if position == PREDICATE or position == GRAPH:
                raise StatementError(f"TRIPLE as {POSITIONS[position]}")
            self.depth += 1
            if self.depth > self.limits.nesting:
                what = "the depth of quoted triples"
                raise over(self.limits, "nesting", self.depth, what)
            return kind
        else:
            self._rare(kind, position)
        wire.field(TERM)
        if position != OBJECT and (kind == _LITERAL or kind >= _INTEGER):
            raise StatementError(f"LITERAL as {POSITIONS[position]}")
        return kind

    @cython.cfunc
    def _close(self) -> None:
        """End a quoted triple."""
        self.wire.field(TERM)
        self.depth -= 1

    @cython.cfunc
    def _strings(self, message: Message, offset: cython.int) -> None:
        """Read a struct of strings. They are kept by place, after ``offset``."""
        wire: Wire = self.wire
        place: cython.int
        kinds: cython.int = 0
        at: cython.int
        for at in range(offset + 1, 10):
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
        if kinds > 1 and isinstance(wire, ProtobufWire):
            raise WireError("RDF_Literal has more than one kind")

    @cython.cfunc
    def _rare(self, kind: cython.int, position: cython.int) -> None:
        """Read what is not an IRI, a blank node, a literal with strings or a quoted triple."""
        wire: Wire = self.wire
        place: cython.int
        if kind == _INTEGER:
            self.number = str(wire.number(64))
        elif kind == _DOUBLE:
            self.number = double_text(wire.double())
        elif kind == _VARIABLE or kind == _ANY:
            what = "a variable" if kind == _VARIABLE else "a pattern for any term"
            raise TermError(f"{what} is used as {POSITIONS[position]}")
        elif kind == _UNDEFINED or kind == _REPEAT:
            wire.begin()
            wire.field(EMPTY)
        else:
            value: Any = 0
            scale: Any = 0
            wire.begin()
            while True:
                place = wire.field(DECIMAL)
                if place == 0:
                    break
                if place == 1:
                    value = wire.number(64)
                else:
                    scale = wire.number(32)
            self.number = decimal_text(value, scale, self.limits)

    # Terms

    @cython.ccall
    def term(self, position: cython.int, column: cython.int) -> Any:
        """Read a term that is a member's value, and have the factory make it.

        :param position: its position in its statement, which limits its kind.
        :param column: its place in :attr:`last`; -1 inside a quoted triple.
        :return: the term; None if it is absent and may be. In a graph's position,
            :attr:`default_graph` for that.
        :raises JellyError: it is invalid, or not allowed in this position.
        """
        start: cython.Py_ssize_t = self.wire.pos
        size: cython.Py_ssize_t
        place: cython.int
        cache: dict
        key: bytes
        kind: cython.int = self._open(position)
        if kind == _TRIPLE_TERM:
            terms: list = [None] * 3
            self.wire.begin()
            while True:
                place = self.wire.field(TRIPLE)
                if place == 0:
                    break
                terms[place - 1] = self.term(place - 1, -1)
            self._close()
            return build(self.factory.quoted_triple, *terms)
        if kind == _REPEAT:
            return self._repeated(position, column)
        if kind == _UNDEFINED:
            return self._absent(position, column)
        size = self.wire.pos - start
        if size > _CACHED_TERM:
            return self._make(kind, position)
        key = self.wire.buf[start : self.wire.pos]
        cache = self.caches[position]
        made = cache.get(key)
        if made is None:
            made = self._make(kind, position)
            self.cached += 4 * size + 200
            if self.cached > _CACHE_BYTES:
                self._forget()
                cache = self.caches[position]
            cache[key] = made
        return made

    @cython.cfunc
    def _repeated(self, position: cython.int, column: cython.int) -> Any:
        if column < 0:
            raise StatementError("there is a repeat in a quoted triple")
        if self.factory is None and column < 4 and self.tos[column] >= 0:
            return self.out.between(self.froms[column], self.tos[column]).rstrip()
        again: Any = self.last[column] if column < len(self.last) else None
        if again is None and (column >= len(self.last) or not self.optional):
            raise StatementError(f"a repeat is used as {POSITIONS[position]}, with none before it")
        return again

    @cython.cfunc
    def _absent(self, position: cython.int, column: cython.int) -> Any:
        if column >= 0 and position == GRAPH:
            return self.default_graph
        if column >= 0 and self.optional:
            return None
        raise TermError(f"an undefined term is used as {POSITIONS[position]}")

    @cython.cfunc
    def _make(self, kind: cython.int, position: cython.int) -> Any:
        raw: bytes
        if kind == _IRI or kind == _PREFIX_NAME:
            raw = self._bytes(1) if kind == _IRI else self._whole(1)
            if position == GRAPH and raw in DEFAULT_GRAPH_IRIS:
                return self.default_graph
            return build(self.factory.iri, decoded(raw, IRI, 1))
        if kind == _BLANK_NODE:
            return build(self.factory.blank_node, decoded(self._bytes(1), BLANK_NODE, 1))
        return build(self.factory.literal, *self._literal(kind))

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
        local: bytes = self._bytes(place + 1)
        iri: Any = self.prefixes.get(prefix)
        if iri is None:
            name = decoded(prefix, PREFIX_NAME, 1)
            raise LookupTableError(f"the prefix {name[:80]!r} was not declared")
        whole: bytes = iri + local
        if len(whole) > self.wire.string_bytes:
            raise over(self.limits, "string_bytes", len(whole), "the length of an IRI")
        self._expand(len(whole))
        return whole

    @cython.cfunc
    def _datatype(self) -> Any:
        """The datatype of a literal; None if it has none."""
        if self.stops[_DT_PREFIX] < 0:
            return self._bytes(_DATATYPE) if self.stops[_DATATYPE] >= 0 else None
        if self.stops[_DATATYPE] >= 0:
            raise TermError("a literal has two datatypes")
        return self._whole(_DT_STRINGS + 1)

    def _literal(self, kind: int) -> tuple[str, str | None, str | None]:
        """Lexical form, language tag and datatype, as a factory takes them.

        :raises TermError: they do not go together.
        """
        if kind >= _INTEGER:
            self._expand(len(self.number))
            names = (XSD_INTEGER, XSD_DOUBLE, XSD_DECIMAL)
            return self.number, None, names[kind - _INTEGER]
        lex = decoded(self._bytes(_LEX), LITERAL, _LEX)
        datatype = self._datatype()
        tag = decoded(self._bytes(_LANGDIR) or self._bytes(_LANGTAG), LITERAL, _LANGTAG)
        langtag, mark, name = tag.partition("--")
        direction = name if mark else None
        if not mark and self.stops[_DIRECTION] >= 0:
            direction = decoded(self._bytes(_DIRECTION), LITERAL, _DIRECTION)
        if direction is not None:
            if not self.directions:
                raise TermError("Jelly cannot carry the base direction of a language-tagged string")
            if direction not in ("ltr", "rtl") or not langtag:
                raise TermError(
                    "a base direction is ltr or rtl, and that of a language-tagged string"
                )
            langtag = f"{langtag}--{direction}"
        if not langtag:
            is_string = datatype is None or datatype == _XSD_STRING
            return lex, None, None if is_string else decoded(datatype, LITERAL, _DATATYPE)
        if datatype is not None and datatype not in _TAGGED:
            raise TermError("a literal has either a language tag or a datatype, not both")
        return lex, langtag, None

    # Text

    @cython.cfunc
    def _write(self, position: cython.int, column: cython.int) -> None:
        """Read a term that is a member's value, and write its text; nothing for the default
        graph."""
        out: Buffer = self.out
        kind: cython.int = self._open(position)
        if kind == _IRI:
            if position == GRAPH and self._bytes(1) in DEFAULT_GRAPH_IRIS:
                return
            self._write_iri(self.wire.buf, self.starts[1], self.stops[1])
        elif kind == _LITERAL:
            self._write_literal()
        elif kind == _BLANK_NODE:
            if self.stops[1] > self.starts[1] and _allowed(
                self.wire.buf, self.starts[1], self.stops[1], _IN_NAME
            ):
                out.add(b"_:")
                out.put(self.wire.buf, self.starts[1], self.stops[1])
            else:
                label = decoded(self._bytes(1), BLANK_NODE, 1)
                out.add(term_text(BlankNode(label)).encode())
        elif kind == _PREFIX_NAME:
            whole: bytes = self._whole(1)
            if not (position == GRAPH and whole in DEFAULT_GRAPH_IRIS):
                self._write_iri(whole, 0, len(whole))
        elif kind == _TRIPLE_TERM:
            out.add(b"<<( ")
            self._write_terms(TRIPLE, False)
            out.add(b")>>")
            self._close()
        elif kind == _REPEAT:
            again: bytes = self._repeated(position, column)
            self._expand(len(again))
            out.add(again)
        elif kind == _UNDEFINED:
            self._absent(position, column)
        else:
            self._write_any_literal(self._literal(kind))

    @cython.cfunc
    def _write_iri(
        self, buf: cython.p_uchar, start: cython.Py_ssize_t, stop: cython.Py_ssize_t
    ) -> None:
        if stop < start:
            # An absent one, which is empty in Protocol Buffers.
            stop = start
        self.out.byte(60)
        if _allowed(buf, start, stop, _IN_IRI):
            self.out.put(buf, start, stop)
        else:
            self.out.add(_iri_text(buf[start:stop]))
        self.out.byte(62)

    @cython.cfunc
    def _write_literal(self) -> None:
        """Write a literal with strings."""
        out: Buffer = self.out
        buf: cython.p_uchar = self.wire.buf
        start: cython.Py_ssize_t = self.starts[_LEX]
        stop: cython.Py_ssize_t = self.stops[_LEX]
        datatype: Any = None
        tagged: cython.bint = self.stops[_LANGTAG] > self.starts[_LANGTAG]
        usual: cython.bint = self.stops[_DIRECTION] < 0 and self.stops[_LANGDIR] < 0
        if self.stops[_LANGTAG] < 0:
            tagged = False
        if tagged:
            usual = usual and self.stops[_DATATYPE] < 0 and self.stops[_DT_PREFIX] < 0
            # A digit or an underscore may not occur everywhere.
            usual = usual and self._bytes(_LANGTAG).isalpha()
            usual = usual and _allowed(buf, self.starts[_LANGTAG], self.stops[_LANGTAG], _IN_NAME)
        elif usual:
            datatype = self._datatype()
            usual = datatype not in _TAGGED
        if not usual:
            self._write_any_literal(self._literal(_LITERAL))
            return
        out.byte(34)
        if stop >= 0 and _allowed(buf, start, stop, _IN_STRING):
            out.put(buf, start, stop)
        elif stop >= 0:
            out.add(_string_text(buf[start:stop]))
        out.byte(34)
        if tagged:
            out.byte(64)
            out.put(buf, self.starts[_LANGTAG], self.stops[_LANGTAG])
        elif datatype is not None and datatype != _XSD_STRING:
            out.add(b"^^")
            raw: bytes = datatype
            self._write_iri(raw, 0, len(raw))

    def _write_any_literal(self, parts: tuple[str, str | None, str | None]) -> None:
        lex, langtag, datatype = parts
        language, mark, direction = (langtag or "").partition("--")
        text = term_text(Literal(lex, language or None, datatype))
        self.out.add(f"{text}{mark}{direction}".encode())

    @cython.cfunc
    @cython.exceptval(-1)
    def _write_terms(self, message: Message, is_row: cython.bint) -> cython.int:
        """Read the terms of a statement, and write them in order, each with a space after it.

        :return: the bits of the places that occurred.
        """
        out: Buffer = self.out
        place: cython.int
        at: cython.int
        last: cython.int = 0
        ordered: cython.bint = True
        seen: cython.int = 0
        start: cython.Py_ssize_t
        first: cython.Py_ssize_t = out.size
        starts: cython.Py_ssize_t[4]
        stops: cython.Py_ssize_t[4]
        if not cython.compiled:
            starts, stops = [0] * 4, [0] * 4
        self.wire.begin()
        while True:
            place = self.wire.field(message)
            if place == 0:
                break
            start = out.size
            self._write(place - 1, place - 1 if is_row else -1)
            if out.size > start:
                out.byte(32)
            starts[place - 1] = start
            stops[place - 1] = out.size
            ordered = ordered and place > last
            last = place
            seen |= 1 << place
        if not ordered:
            texts = [
                out.between(starts[at], stops[at]) if seen & 2 << at else b"" for at in range(4)
            ]
            out.cut(first)
            for at in range(4):
                starts[at] = out.size
                out.add(texts[at])
                stops[at] = out.size
        if is_row:
            self.wire.field(STREAM_ROW)
            for at in range(4):
                self.froms[at] = starts[at]
                self.tos[at] = stops[at]
                if not seen & 2 << at:
                    self.tos[at] = -1
                    self.last[at] = None
        return seen

    @cython.cfunc
    def _keep_last(self, initial: cython.bint = False) -> None:
        """Keep the terms that the next row may repeat."""
        at: cython.int
        for at in range(4):
            if not initial and self.tos[at] >= 0:
                self.last[at] = self.out.between(self.froms[at], self.tos[at]).rstrip()
            self.tos[at] = -1


@cython.cclass
class StatementReader(RowReader):
    """Reads the rows of a stream of statements, as lines of N-Quads or by a factory.

    :param quads: whether a factory gets triples as quads in the default graph.

    :ivar base: the base IRI that was declared last; all IRIs are absolute without it.
    :ivar declared: the prefixes that the last call has read, as name and IRI.
    :ivar statements: number of statements so far.

    For the other parameters see :class:`RowReader`.

    >>> terms = ["1c1c1805" + term.encode().hex() + "0000" for term in ("urn:s", "urn:p", "urn:o")]
    >>> rows = bytes.fromhex("2c" + "".join(terms) + "0000")
    >>> StatementReader(None, JenaFormat.THRIFT).read_text(rows, 0)
    (b'<urn:s> <urn:p> <urn:o> .\\n', 36)
    """

    base = cython.declare(object, visibility="public")
    declared = cython.declare(list, visibility="public")
    statements = cython.declare(cython.ulonglong, visibility="public")
    quads: cython.bint
    make_triple: Any
    make_quad: Any

    def __init__(
        self,
        factory: Any,
        format: JenaFormat,  # noqa: A002
        *,
        quads: bool = False,
        directions: bool = True,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        RowReader.__init__(self, factory, format, directions=directions, limits=limits)
        self.base = None
        self.declared = []
        self.statements = 0
        self.quads = quads
        self.make_triple = None if factory is None else factory.triple
        self.make_quad = None if factory is None else factory.quad

    def read_statements(self, data: bytes, at: int) -> tuple[list[Any], int]:
        """Read rows as statements of the factory; see :meth:`read_rows`.

        :return: the statements, and the position after the rows.
        """
        batch: list[Any] = []
        self.declared = []
        stop = self.read_rows(data, at, batch)
        return batch, stop

    def read_text(self, data: bytes, at: int) -> tuple[bytes, int]:
        """Read rows as lines; see :meth:`read_rows`.

        :return: the lines, and the position after the rows.
        """
        batch: list[bytes] = []
        self.declared = []
        stop = self.read_rows(data, at, batch)
        return batch[0], stop

    @cython.ccall
    def take(self, batch: list) -> None:
        wire: Wire = self.wire
        kind: cython.int = wire.field(STREAM_ROW)
        message: Message = TRIPLE if kind == 2 else QUAD
        place: cython.int
        if kind == 1 or kind == 4:
            self._strings(PREFIX if kind == 1 else IRI, 0)
            wire.field(STREAM_ROW)
            if kind == 4:
                self.base = decoded(self._bytes(1), IRI, 1)
                return
            name, iri = decoded(self._bytes(1), PREFIX, 1), decoded(self._bytes(2), PREFIX, 2)
            self.declare(name, iri)
            self.declared.append((name, iri))
            return
        if self.factory is None:
            self._write_terms(message, True)
            self.out.add(b".\n")
            self.statements += 1
            return
        terms: list = [None] * 4
        wire.begin()
        while True:
            place = wire.field(message)
            if place == 0:
                break
            terms[place - 1] = self.term(place - 1, place - 1)
        wire.field(STREAM_ROW)
        if kind == 3 and terms[3] is None:
            terms[3] = self.default_graph
        self.last = terms
        subject, predicate, object_, graph = terms
        if graph is None and not self.quads:
            batch.append(self.make_triple((subject, predicate, object_)))
        else:
            if graph is None:
                graph = self.default_graph
            batch.append(self.make_quad((subject, predicate, object_, graph)))
        self.statements += 1


_TAG: Final = re.compile(rf"@({LANGTAG}(?:--(?:ltr|rtl))?)".encode())
_DATATYPE_TEXT: Final = re.compile(rb'\^\^<([^\x00-\x20<>"{}|^`\\]*+)>')
_IRI_TEXT: Final = re.compile(rb'[^\x00-\x20<>"{}|^`\\]*+')
_STRING: Final = re.compile(STRING.encode())

#: A member's place and its value: bytes for a string and a struct, a list of these for a list.
Members = Sequence[tuple[int, Any]]


@cython.cfunc
@cython.exceptval(check=False)
def _string_end(
    buf: cython.p_uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The position of the quote that ends a string, or ``end``."""
    quote: cython.Py_ssize_t
    before: cython.Py_ssize_t
    while True:
        quote = _find(buf, 34, at, end)
        before = quote
        while before > at and buf[before - 1] == 92:
            before -= 1
        if quote == end or (quote - before) & 1 == 0:
            return quote
        at = quote + 1


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
    """Writes statements as rows of one stream: what Apache Jena writes for them in this order.
    There are prefix names in Thrift only, where prefixes are declared; no value forms; statements
    in the default graph are triples.

    :param format: how rows are encoded.
    :param describe: takes terms apart, see ``codec.Describe``. Lines need the default.
    :param limits: limits on the output.

    :ivar row: number of the row that is next.
    :ivar statements: number of statements that were written.

    >>> from jelly_plugins import Iri, Triple
    >>> writer = RowWriter(JenaFormat.THRIFT)
    >>> triple = writer.add([Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))])
    >>> triple.hex(" ", 4)
    '2c1c1c18 0575726e 3a730000 1c1c1805 75726e3a 7000001c 1c180575 726e3a6f 00000000'
    >>> writer.add_lines(b"<urn:s> <urn:p> <urn:o> .\\n") == triple
    True
    """

    row = cython.declare(cython.ulonglong, visibility="public")
    statements = cython.declare(cython.ulonglong, visibility="public")
    limits = cython.declare(object, visibility="public")
    describe: Any
    row_bytes: cython.Py_ssize_t
    string_bytes: cython.Py_ssize_t
    thrift: cython.bint
    busy: cython.bint
    #: IRI by name; in Thrift, names by IRI and the lengths that IRIs have, the longest first.
    prefixes: dict
    names: dict
    lengths: list
    #: The bytes of terms, for each position; and of what follows the string in literals' text.
    terms: list
    suffixes: dict
    cached: cython.Py_ssize_t
    #: A term, the members of a statement, and rows.
    term_out: Buffer
    body: Buffer
    out: Buffer
    #: Reads lines that are not in canonical form; and the number of lines before.
    parser: Any
    line: cython.ulonglong

    def __init__(
        self,
        format: JenaFormat,  # noqa: A002
        describe: Describe = describe_generic,
        *,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.describe = describe
        self.limits = limits
        self.row_bytes = limits.frame_bytes
        self.string_bytes = limits.string_bytes
        self.thrift = format is JenaFormat.THRIFT
        self.row = self.statements = self.line = 0
        self.busy = False
        self.prefixes = {}
        self.names = {}
        self.lengths = []
        self.term_out = Buffer()
        self.body = Buffer()
        self.out = Buffer()
        self.parser = None
        self._forget()

    @cython.cfunc
    def _forget(self) -> None:
        self.terms = [{}, {}, {}, {}]
        self.suffixes = {}
        self.cached = 0

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
            self._forget()
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
        self._check_row(len(row))
        self.row += 1
        return row

    @cython.cfunc
    def _check_row(self, size: cython.Py_ssize_t) -> None:
        if size > self.row_bytes:
            check_row_bytes(size, self.limits)

    @cython.cfunc
    def _add_member(
        self, position: cython.int, term: cython.p_uchar, size: cython.Py_ssize_t
    ) -> None:
        """Add a term to the statement."""
        if self.thrift:
            self.body.byte(0x1C)
        else:
            self.body.byte((position + 1) << 3 | 2)
            self.body.varint(size)
        self.body.put(term, 0, size)

    @cython.cfunc
    def _end_statement(self, quad: cython.bint) -> None:
        """Write the row of the statement."""
        out: Buffer = self.out
        size: cython.Py_ssize_t = self.body.size
        self._check_row(size)
        if self.thrift:
            out.byte(0x3C if quad else 0x2C)
        else:
            out.varint(_field_size(size))
            out.byte(0x1A if quad else 0x12)
            out.varint(size)
        out.put(self.body.buf, 0, size)
        if self.thrift:
            out.byte(0)
            out.byte(0)
        self.body.cut(0)
        self.row += 1
        self.statements += 1

    # Terms

    @cython.cfunc
    def _put_string(
        self,
        place: cython.int,
        buf: cython.p_uchar,
        start: cython.Py_ssize_t,
        stop: cython.Py_ssize_t,
        suffix: bytes,
    ) -> None:
        """Write a term that is a message whose first member is a string.

        :param suffix: its other members.
        """
        out: Buffer = self.term_out
        size: cython.Py_ssize_t = stop - start
        inner: cython.Py_ssize_t = len(suffix)
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
        self._put_string(_IRI, buf, start, stop, b"")

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

    def _suffix(self, langtag: bytes | None, datatype: bytes | None) -> bytes:
        """The members of a literal after its lexical form."""
        members: list[tuple[int, Any]] = [(_LEX, b"")]
        if langtag is not None:
            language, mark, direction = langtag.partition(b"--")
            if mark and (not language or direction not in (b"ltr", b"rtl")):
                text = langtag.decode()
                raise TermError(f"{text[:80]!r} is not a language tag with a base direction")
            if mark and not self.thrift:
                members.append((_LANGDIR, langtag))
            else:
                members.append((_LANGTAG, language))
                if mark:
                    members.append((_DIRECTION, direction))
        elif datatype is not None and datatype != _XSD_STRING:
            name = self._prefix_name(datatype)
            members.append((_DATATYPE, datatype) if name is None else (_DT_PREFIX, name))
        elif not self.thrift:
            members.append((_SIMPLE, True))
        made = self.struct(messages.LITERAL, members)
        # Without the empty string that Thrift has, and the end of the struct.
        return made[2:-1] if self.thrift else made

    def term(self, term: Any, position: int, depth: int = 0) -> bytes:
        """The bytes of a term.

        :param position: its position in its statement.
        :param depth: number of quoted triples around it.
        :raises JellyError: it cannot be written, or not there.
        """
        kind, *parts = self.describe(term)
        if undeclared(position, kind, False, rdf_star=True) is not None:
            raise StatementError(f"{Kind(kind).name} as {POSITIONS[position]}")
        if kind == Kind.TRIPLE:
            if len(parts) != 3:
                raise TermError(f"a quoted triple of {len(parts)} terms")
            if depth == self.limits.nesting:
                raise over(self.limits, "nesting", depth + 1, "the depth of quoted triples")
            terms = [(at + 1, self.term(part, at, depth + 1)) for at, part in enumerate(parts)]
            triple = self.struct(messages.TRIPLE, terms)
            return self.struct(messages.TERM, [(_TRIPLE_TERM, triple)])
        raw: bytes
        if kind == Kind.IRI:
            raw = self.string(parts[0], "an IRI")
            self._put_iri(raw, 0, len(raw))
        elif kind == Kind.BLANK_NODE:
            raw = self.string(parts[0], "a blank node label")
            self._put_string(_BLANK_NODE, raw, 0, len(raw), b"")
        else:
            raw = self.string(parts[0], "a lexical form")
            langtag, datatype = parts[1:]
            suffix: bytes = self._suffix(
                None if langtag is None else self.string(langtag, "a language tag"),
                None if datatype is None else self.string(datatype, "an IRI"),
            )
            self._put_string(_LITERAL, raw, 0, len(raw), suffix)
        return self.term_out.between(0, self.term_out.size)

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
        if len(raw) > self.string_bytes:
            raise over(self.limits, "string_bytes", len(raw), f"the length of {what}")
        return raw

    # Statements

    def add(self, statements: Iterable[Iterable[Any]]) -> bytes:
        """Write triples or quads.

        :return: their rows.
        :raises JellyError: with the row, if one cannot be written.
        """
        return self._add(self._statements, statements)

    def add_lines(self, text: bytes) -> bytes:
        """Write whole lines of N-Quads that follow the lines before.

        :return: their rows.
        :raises TextError: with the line.
        :raises JellyError: with the row, if a statement cannot be written.
        """
        return self._add(self._lines, bytes(text))

    def _add(self, write: Any, data: Any) -> bytes:
        if self.busy:
            raise OrderError("another thread is using the writer")
        self.busy = True
        try:
            write(data)
            return self.out.between(0, self.out.size)
        finally:
            self.out.cut(0)
            self.body.cut(0)
            self.busy = False

    def _statements(self, statements: Iterable[Iterable[Any]]) -> None:
        for statement in statements:
            try:
                self._statement(statement)
            except JellyError as error:
                error.locate(row=self.row)
                raise

    def _statement(self, statement: Iterable[Any]) -> None:
        terms = terms_of(statement)
        width: cython.int = len(terms)
        if width != 3 and width != 4:
            raise StatementError(f"a statement of {width} terms")
        if width == 4 and self.describe(terms[3])[0] == Kind.DEFAULT_GRAPH:
            width = 3
        position: cython.int
        for position in range(width):
            encoded: bytes = self.encoded(terms[position], position)
            self._add_member(position, encoded, len(encoded))
        self._end_statement(width == 4)

    @cython.ccall
    def encoded(self, term: Any, position: cython.int) -> bytes:
        """The bytes of a term, which are cached; see :meth:`term`."""
        # Hashing tuples that are nested deeply enough ends the process.
        if isinstance(term, tuple):
            return self.term(term, position)
        known: dict = self.terms[position]
        try:
            found = known.get(term)
        except TypeError:
            # All terms can be hashed: taking this apart reports the error.
            return self.term(term, position)
        if found is not None:
            return found
        made: bytes = self.term(term, position)
        if len(made) <= _CACHED_TERM:
            self.cached += 4 * len(made) + 200
            if self.cached > _CACHE_BYTES:
                self._forget()
                known = self.terms[position]
            known[term] = made
        return made

    # Lines

    def _lines(self, text: bytes) -> None:
        buf: cython.p_uchar = text
        end: cython.Py_ssize_t = len(text)
        pos: cython.Py_ssize_t = 0
        stop: cython.Py_ssize_t
        while pos < end:
            stop = self._usual_line(buf, pos, end)
            if stop < 0:
                self.body.cut(0)
                stop = _find(buf, 10, pos, end) + 1
                if stop > end:
                    stop = end
                self._any_line(buf[pos:stop])
            self.line += 1
            pos = stop

    def _any_line(self, text: bytes) -> None:
        """Write the statement of a line, in any form of N-Quads."""
        if self.parser is None:
            self.parser = LineParser(
                Dialect.RDF_STAR, False, True, self.limits, quads=True, base_directions=True
            )
        self.parser.line_ends = self.line
        self._statements(self.parser.statements(text))

    @cython.cfunc
    @cython.exceptval(-1)
    def _usual_line(
        self, buf: cython.p_uchar, pos: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Write the statement of a line in canonical form; return the position after it, or -1 if
        it has another form."""
        first: cython.Py_ssize_t = _find(buf, 32, pos, end)
        second: cython.Py_ssize_t = _find(buf, 32, first + 1, end)
        third: cython.Py_ssize_t = second + 1
        last: cython.Py_ssize_t
        if third >= end:
            return -1
        if buf[third] == 34:
            third = _string_end(buf, third + 1, end)
        third = _find(buf, 32, third, end)
        last = third
        if third + 2 < end and buf[third + 1] != 46:
            last = _find(buf, 32, third + 1, end)
        if last + 2 >= end or buf[last + 1] != 46 or buf[last + 2] != 10:
            return -1
        if not (
            self._token(buf, pos, first, SUBJECT)
            and self._token(buf, first + 1, second, PREDICATE)
            and self._token(buf, second + 1, third, OBJECT)
            and (last == third or self._token(buf, third + 1, last, GRAPH))
        ):
            return -1
        self._end_statement(last > third)
        return last + 3

    @cython.cfunc
    @cython.exceptval(-1)
    def _token(
        self,
        buf: cython.p_uchar,
        start: cython.Py_ssize_t,
        stop: cython.Py_ssize_t,
        position: cython.int,
    ) -> cython.bint:
        """Add a term to the statement, of its text; False if that is unusual or invalid."""
        quote: cython.Py_ssize_t
        if stop - start < 2 or stop - start > self.string_bytes:
            return False
        if buf[start] == 60:
            if buf[stop - 1] != 62:
                return False
            if not _allowed(buf, start + 1, stop - 1, _IN_IRI) and not _is_iri(
                buf[start + 1 : stop - 1]
            ):
                return False
            self._put_iri(buf, start + 1, stop - 1)
        elif buf[start] == 95:
            if position == PREDICATE or buf[start + 1] != 58 or stop - start == 2:
                return False
            if not _allowed(buf, start + 2, stop, _IN_NAME):
                return False
            self._put_string(_BLANK_NODE, buf, start + 2, stop, b"")
        elif buf[start] == 34 and position == OBJECT:
            quote = _string_end(buf, start + 1, stop)
            if quote == stop:
                return False
            suffix: Any = self._suffix_of(buf[quote + 1 : stop])
            if suffix is None:
                return False
            if _allowed(buf, start + 1, quote, _IN_STRING):
                self._put_string(_LITERAL, buf, start + 1, quote, suffix)
            else:
                found: Any = _unescaped(buf[start : quote + 1])
                if found is None:
                    return False
                lex: bytes = found
                self._put_string(_LITERAL, lex, 0, len(lex), suffix)
        else:
            return False
        self._add_member(position, self.term_out.buf, self.term_out.size)
        return True

    @cython.cfunc
    def _suffix_of(self, text: bytes) -> Any:
        """The members of a literal after its lexical form, of the text after its string; None if
        that is unusual or invalid."""
        suffix: Any = self.suffixes.get(text)
        if suffix is not None:
            return suffix
        langtag: Any = _TAG.fullmatch(text)
        datatype: Any = _DATATYPE_TEXT.fullmatch(text)
        if (text and not langtag and not datatype) or not text.isascii():
            return None
        if datatype and datatype[1] in _TAGGED:
            return None
        suffix = self._suffix(langtag[1] if langtag else None, datatype[1] if datatype else None)
        if len(self.suffixes) >= 4096:
            self.suffixes = {}
        self.suffixes[text] = suffix
        return suffix


def _is_iri(raw: bytes) -> bool:
    """Whether the text of an IRI has no escapes, and is valid."""
    try:
        str(raw, "utf-8")
    except UnicodeDecodeError:
        return False
    return _IRI_TEXT.fullmatch(raw) is not None


def _unescaped(raw: bytes) -> bytes | None:
    """The UTF-8 of a string, of its text with quotes; None if that is invalid."""
    if not _STRING.fullmatch(raw):
        return None
    try:
        return unescaped(str(raw[1:-1], "utf-8")).encode()
    except ValueError:
        return None
