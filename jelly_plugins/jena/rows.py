# cython: language_level=3, auto_pickle=False, annotation_typing=False
"""Rows of Jena RDF Binary to N-Quads and back: one codec over two wires, Thrift's compact protocol
and delimited Protocol Buffers messages. No I/O, and no objects of a library: see ``streams``.

:class:`Message` describes what rows consist of, :class:`Wire` reads it from either wire,
:class:`RowReader` writes terms as text, and :class:`RowWriter` goes the other way.

The module is written in Cython's pure Python mode: setup.py compiles it as ``jena._rows``, with the
types of ``_rows.pxd``, and it runs uncompiled, too, some fifty times as slow; ``jena.streams``
chooses. Three rules keep the compiled form safe:

1. ``Wire.buf`` points into ``Wire.data``, which the wire keeps. Every read compares its position
   with ``Wire.end`` first, and every length with a limit before anything is allocated.
2. ``Buffer.buf`` points into a bytearray that no other object has, and every write reserves first.
3. A reader or writer serves one call at a time: other threads may call.

Reference: RDF Binary (Apache Jena), with the later additions ``baseDirection`` and ``langdir`` of a
literal and ``base`` as a row; Thrift Compact Protocol specification, sections "Base types",
"Structs" and "List and Set"; https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

try:
    import cython
except ModuleNotFoundError:
    from ..codec.common import cython_shim as cython

from ..codec import DEFAULT_LIMITS, BlankNode, Describe, Iri, Kind, Limits, Literal
from ..codec import describe as describe_generic
from ..codec.common.limits import over
from ..codec.common.positions import POSITIONS, undeclared
from ..codec.common.terms import XSD_STRING, text_of
from ..codec.common.wire import varint
from ..codec.text.lines import ESCAPE, LABEL, LANGTAG, NOT_IN_IRI, STRING, Pattern, unescaped
from ..codec.text.ntriples import TAGGED_DATATYPES, LineParser, read_label, term_text
from ..errors import (
    JellyError,
    LimitError,
    LookupTableError,
    OrderError,
    StatementError,
    TermError,
    TextError,
    TruncatedError,
    WireError,
)
from .names import DEFAULT_GRAPHS, JenaFormat

#: Rows that one call reads at most; some limits apply to these rows together. And bytes of text
#: after which a call ends.
_BATCH_ROWS = 4096
_BATCH_BYTES = 1 << 18

_DEFAULT_GRAPHS: Final = tuple(each.encode() for each in DEFAULT_GRAPHS)
#: The length of the shortest one, and of the longest.
_LEAST_NAME, _MOST_NAME = 22, 26

_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_XSD_STRING: Final = XSD_STRING.encode()
#: Datatypes that a language tag implies.
_TAGGED: Final = tuple(each.encode() for each in TAGGED_DATATYPES)

# Messages

#: Types of members, with the codes of Thrift's compact protocol.
BOOL: Final = 1
I32: Final = 5
I64: Final = 6
DOUBLE: Final = 7
TEXT: Final = 8
LIST: Final = 9
STRUCT: Final = 12

#: The codes of the same types in Protocol Buffers; that of any other type is 2.
_PROTOBUF_CODES: Final = {BOOL: 0, I32: 0, I64: 0, DOUBLE: 1}


class Member(NamedTuple):
    """A member of a message.

    :ivar thrift: its field id in Thrift, 0 where Thrift does not have it.
    :ivar protobuf: its field number in Protocol Buffers, 0 where those do not have it.
    :ivar required: whether it must be there. (In Protocol Buffers, an absent string or number is
        the empty string or 0.)
    """

    name: str
    type: int
    thrift: int
    protobuf: int
    required: bool = True


class Message:
    """A message of both encodings: a struct, or a union of which one member is there.

    Code refers to a member by its place among the members, from 1. That is also its field id in
    Thrift: members that Thrift does not have come last.

    Readers reject members that are not listed: a member that was added later, such as the base
    direction of a literal, may change what a term means, and skipping it would lose that silently.
    """

    def __init__(self, name: str, *members: Member, union: bool = False) -> None:
        codes, places = bytearray(32), bytearray(32)
        self.thrift_required = self.protobuf_required = 0
        for place, member in enumerate(members, 1):
            required = member.required and not union
            if member.thrift:
                codes[place] = member.type
                self.thrift_required |= required << place
            if member.protobuf:
                codes[16 + place] = _PROTOBUF_CODES.get(member.type, 2)
                places[member.protobuf] = place
                self.protobuf_required |= (required and member.type == STRUCT) << place
        self.name, self.members, self.union = name, members, union
        self.repeated = any(member.type == LIST for member in members)
        self.codes, self.places = bytes(codes), bytes(places)

    def member(self, place: int) -> str:
        """A member with its message, for errors."""
        return f"{self.members[place - 1].name} of {self.name}"


def strings(name: str, *members: str) -> Message:
    """A message of required strings, which are numbered from 1 in both encodings."""
    return Message(name, *(Member(each, TEXT, at, at) for at, each in enumerate(members, 1)))


IRI = strings("RDF_IRI", "iri")
BLANK_NODE = strings("RDF_BNode", "label")
LITERAL = Message(
    "RDF_Literal",
    Member("lex", TEXT, 1, 1),
    Member("langtag", TEXT, 2, 2, required=False),
    Member("datatype", TEXT, 3, 3, required=False),
    Member("dtPrefix", STRUCT, 4, 4, required=False),
    Member("baseDirection", TEXT, 5, 0, required=False),
    Member("langdir", TEXT, 0, 5, required=False),
    Member("simple", BOOL, 0, 9, required=False),
)
PREFIX_NAME = strings("RDF_PrefixName", "prefix", "localName")
EMPTY = Message("RDF_UNDEF")
DECIMAL = Message("RDF_Decimal", Member("value", I64, 1, 1), Member("scale", I32, 2, 2))
TERM = Message(
    "RDF_Term",
    Member("iri", STRUCT, 1, 1),
    Member("bnode", STRUCT, 2, 2),
    Member("literal", STRUCT, 3, 3),
    Member("prefixName", STRUCT, 4, 4),
    Member("variable", STRUCT, 5, 5),
    Member("any", STRUCT, 6, 7),
    Member("undefined", STRUCT, 7, 8),
    Member("repeat", STRUCT, 8, 9),
    Member("tripleTerm", STRUCT, 9, 6),
    Member("valInteger", I64, 10, 20),
    Member("valDouble", DOUBLE, 11, 21),
    Member("valDecimal", STRUCT, 12, 22),
    union=True,
)
TRIPLE = Message("RDF_Triple", *(Member(name, STRUCT, at, at) for at, name in enumerate("SPO", 1)))
QUAD = Message("RDF_Quad", *TRIPLE.members, Member("G", STRUCT, 4, 4, required=False))
PREFIX = strings("RDF_PrefixDecl", "prefix", "uri")
#: A row of a graph or dataset.
STREAM_ROW = Message(
    "RDF_StreamRow",
    Member("prefixDecl", STRUCT, 1, 1),
    Member("triple", STRUCT, 2, 2),
    Member("quad", STRUCT, 3, 3),
    Member("base", STRUCT, 0, 4),
    union=True,
)

# Places of members in a term and in a literal; that of the end of a struct is after all.
_IRI, _BLANK_NODE, _LITERAL, _PREFIX_NAME = 1, 2, 3, 4
_UNDEFINED, _TRIPLE_TERM, _INTEGER, _DOUBLE = 7, 9, 10, 11
_LEX, _LANGTAG, _DATATYPE, _DT_PREFIX, _DIRECTION, _LANGDIR, _SIMPLE = 1, 2, 3, 4, 5, 6, 7
_END = 31
#: Where the strings of a literal's ``dtPrefix`` are kept: after its own.
_DT_STRINGS = 7

PREDICATE, OBJECT, GRAPH = 1, 2, 3

#: The positions in which each kind of term is allowed: of the place of a term's member, bits of
#: positions. In solutions any term may be undefined.
_ALLOWED = bytes((0, 15, 13, 4, 15, 0, 0, 8, 0, 5, 4, 4, 4))
#: Terms that are not RDF, by their places.
_NOT_RDF: Final = {
    5: "a variable",
    6: "a pattern for any term",
    7: "an undefined term",
    8: "a repeat of a term",
}

# Text

# The bytes that text may contain as they are: in IRIs, in strings, in names (labels and language
# tags). Bytes of characters outside ASCII are among the first two. And those of an IRI's scheme.
_IN_IRI, _IN_STRING, _IN_NAME, _IN_SCHEME = 1, 2, 4, 8


def _flags(byte: int) -> int:
    character = chr(byte)
    if byte >= 0x80:
        return 3
    in_iri = byte > 0x20 and character not in '<>"{}|^`\\'
    in_string = 0x20 <= byte < 0x7F and character not in '"\\'
    in_name = character.isalnum() or character == "_"
    in_scheme = character.isalnum() or character in "+-."
    return in_iri | in_string << 1 | in_name << 2 | in_scheme << 3


_FLAGS = bytes(map(_flags, range(256)))
#: Those of ASCII.
_UNCHANGED: Final = {
    flag: bytes(at for at in range(128) if _flags(at) & flag) for flag in (1, 2, 4)
}
#: The letter of a short escape of a string's character; 0 for any other.
_ESCAPES = bytes({9: 116, 10: 110, 13: 114, 34: 34, 92: 92}.get(byte, 0) for byte in range(256))


def _escaped(text: str, flag: int) -> bytes:
    """The text of an IRI, a string or a label, where it needs other escapes than short ones."""
    if flag == _IN_IRI:
        return term_text(Iri(text))[1:-1].encode()
    if flag == _IN_STRING:
        return term_text(Literal(text))[1:-1].encode()
    return term_text(BlankNode(text))[2:].encode()


class Incomplete(Exception):  # noqa: N818 (not an error: the rest may follow)
    """The bytes end inside a row."""


class Buffer:
    """Bytes that grow."""

    def __init__(self) -> None:
        self.held = bytearray()
        self.buf = self.held
        self.size = self.capacity = 0

    def reserve(self, size: int) -> None:
        """Make space for more bytes."""
        if size > self.capacity - self.size:
            self.held.extend(bytes(self.capacity + size + 64))
            self.capacity = len(self.held)
            self.buf = self.held

    def byte(self, value: int) -> None:
        self.reserve(1)
        self.buf[self.size] = value
        self.size += 1

    def put(self, source: bytes | bytearray, start: int, stop: int) -> None:
        """Append bytes, which must not be this buffer's."""
        self.reserve(stop - start)
        if cython.compiled:
            for at in range(stop - start):
                self.buf[self.size + at] = source[start + at]
        else:
            self.buf[self.size : self.size + stop - start] = source[start:stop]
        self.size += stop - start

    def add(self, data: bytes) -> None:
        self.put(data, 0, len(data))

    def text(
        self,
        source: bytes,
        start: int,
        stop: int,
        flag: int,
    ) -> int:
        """Append the text of an IRI, a string or a label, with escapes where these are short.

        :param flag: ``_IN_IRI``, ``_IN_STRING`` or ``_IN_NAME``.
        :return: 0 if all is ASCII; 1 if it must be checked as UTF-8; 2 if a character has no short
            escape, and nothing was appended.
        """
        flags = _FLAGS
        escapes = _ESCAPES
        size = self.size
        high = 0
        if not cython.compiled and not source[start:stop].translate(None, _UNCHANGED[flag]):
            self.put(source, start, stop)
            return 0
        self.reserve(2 * (stop - start))
        for at in range(start, stop):
            byte = source[at]
            high |= byte
            if not flags[byte] & flag:
                if flag != _IN_STRING or not escapes[byte]:
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

    def varint(self, value: int) -> None:
        while value >= 0x80:
            self.byte(value & 0x7F | 0x80)
            value >>= 7
        self.byte(value)

    def cut(self, size: int) -> None:
        """Drop the bytes after a number of them. Much memory is not kept."""
        if size == 0 and self.capacity > 16 * _BATCH_BYTES:
            self.held = bytearray()
            self.buf = self.held
            self.capacity = 0
        self.size = size

    def between(self, start: int, stop: int) -> bytes:
        """A part of the bytes."""
        return bytes(self.buf[start:stop])


# Reading


class Wire:
    """A position in rows: a row is opened, then its structs and their members are read in order.

    Thrift has rows back to back, each struct with a stop byte; Protocol Buffers have each message
    with its length before it. Members come in the order of their places, as all writers have them.

    :param limits: ``string_bytes`` bounds strings, ``frame_bytes`` rows.

    :ivar pos: the position. After a row was read, that of the next one.
    """

    def __init__(self, format: JenaFormat, limits: Limits) -> None:  # noqa: A002
        self.thrift = format is JenaFormat.THRIFT
        self.limits = limits
        self.string_bytes = limits.string_bytes
        self.row_bytes = limits.frame_bytes
        self.start = self.stop = self.last = 0
        if not cython.compiled:
            self.ends, self.lasts = [0] * 256, [0] * 256
        self.hold(b"")

    def hold(self, data: bytes) -> None:
        """Read from these bytes."""
        self.data = data
        self.buf = self.data
        self.pos = self.end = len(data)
        self.depth = 0

    def open_row(self, at: int) -> None:
        """Begin the row at a position."""
        self.depth = 0
        self.pos = at
        self.end = len(self.data)
        self.begin()

    def begin(self) -> None:
        """Begin a struct that is a member's value, or a row."""
        size = 0
        limit = self.row_bytes
        if not self.thrift:
            size = self.varint(64)
            if size > limit:
                check_row_bytes(size, self.limits)
            rest = self.end - self.pos
            if size > rest:
                self.overrun()
        if self.depth >= 255:
            raise LimitError("structs are nested too deeply")
        self.ends[self.depth] = self.end
        self.lasts[self.depth] = self.last
        self.depth += 1
        self.last = 0
        if not self.thrift:
            self.end = self.pos + size

    def field(self, message: Message) -> int:
        """Begin the next member of the open struct: its place; 0 at its end."""
        bits = 1
        required = message.protobuf_required
        code = 0
        place = _END
        number = 0
        if self.thrift:
            required = message.thrift_required
            if self.pos >= self.end:
                raise Incomplete
            code = self.buf[self.pos]
            self.pos += 1
            if code:
                number = code >> 4
                code &= 15
                if number:
                    number += self.last
                else:
                    number = self.varint(32)
                    # An odd number is negative.
                    number = 0 if number & 1 else number >> 1
                place = number if number < 16 and message.codes[number] else 0
        elif self.pos < self.end:
            number = self.varint(64)
            code = number & 7
            number >>= 3
            place = message.places[number] if number < 32 else 0
        if place == 0:
            raise WireError(f"{message.name} has no field {number}")
        if required & (bits << place) - (2 * bits << self.last):
            self.check_required(message, place, required)
        if place == _END:
            if message.union and not self.last:
                raise WireError(f"{message.name} has no member")
            if self.depth <= 0:
                raise LimitError("no struct is open")
            self.depth -= 1
            self.end = self.ends[self.depth]
            self.last = self.lasts[self.depth]
            return 0
        if code != message.codes[place if self.thrift else 16 + place]:
            raise WireError(f"field {number} of {message.name} has the wrong type")
        if message.union and self.last:
            raise WireError(f"{message.name} has more than one member")
        if place <= self.last and (self.thrift or not message.repeated):
            raise WireError(f"field {number} of {message.name} occurs twice or is out of order")
        self.last = place
        return place

    def check_required(self, message: Message, place: int, required: int) -> None:
        """Reject a struct with a member missing between the last one and a place."""
        for at in range(self.last + 1, place):
            if required >> at & 1:
                raise WireError(f"{message.name} has no {message.members[at - 1].name}")

    def overrun(self) -> None:
        """Raise the error for a value that ends after :attr:`end`."""
        if self.thrift or self.depth == 0:
            raise Incomplete
        raise WireError("a field ends after its message")

    def varint(self, bits: int) -> int:
        value = 0
        shift = 0
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

    def elements(self) -> int:
        """The number of structs that follow as the value of a list."""
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

    def text(self, message: Message, place: int) -> None:
        """Read the value of a member that is a string: its position."""
        size = self.varint(32 if self.thrift else 64)
        limit = self.string_bytes
        if size > limit:
            raise over(self.limits, "string_bytes", size, f"the length of {message.member(place)}")
        rest = self.end - self.pos
        if size > rest:
            self.overrun()
        self.start = self.pos
        self.pos += size
        self.stop = self.pos

    def string_of(self, message: Message, place: int) -> str:
        """Read the value of a member that is a string, and decode it."""
        self.text(message, place)
        return _decoded(self.buf[self.start : self.stop], message, place)

    def number(self, bits: int) -> Any:
        """Read the value of a member that is a signed number, in ZigZag encoding."""
        value: Any = self.varint(64)
        if bits == 32 and value >> 32:
            raise WireError("a number is too long for its type")
        return value >> 1 ^ -(value & 1)

    def double(self) -> Any:
        if self.end - self.pos < 8:
            self.overrun()
        self.pos += 8
        return struct.unpack("<d", self.buf[self.pos - 8 : self.pos])[0]


def check_row_bytes(size: int, limits: Limits) -> None:
    """Reject a row that is too long; its length need not be known."""
    if size > limits.frame_bytes:
        raise LimitError(
            f"a row is longer than the limit of {limits.frame_bytes} bytes "
            "(Limits.frame_bytes, --limit frame_bytes=NUMBER)"
        )


def _decoded(raw: bytes, message: Message, place: int) -> str:
    try:
        return str(raw, "utf-8")
    except UnicodeDecodeError as error:
        raise WireError(f"{message.member(place)} is not valid UTF-8 ({error.reason})") from None


def _double_text(value: float) -> str:
    """The canonical lexical form of a double, see XML Schema 1.1 Part 2, section 3.3.5."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}INF"
    mantissa, _, exponent = f"{Decimal(repr(value)).normalize():E}".partition("E")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}E{int(exponent)}"


def _decimal_text(value: int, scale: int, limits: Limits) -> str:
    """The lexical form of ``value`` times ten to the power of ``-scale``."""
    size = max(len(str(abs(value))) - min(scale, 0), scale + 1)
    if size > limits.string_bytes:
        raise over(limits, "string_bytes", size, "the length of a decimal number")
    return f"{Decimal(f'{value}E{-scale}'):f}"


class RowReader:
    """Reads the rows of one stream, in order. Subclasses define :meth:`take`.

    Prefix names become IRIs. A number that is given by its value gets one lexical form, whatever it
    was written from: an integer and a decimal in plain digits, a double in its canonical form.
    (Apache Jena writes derived types of integers and numbers with other forms so too, and integers
    of more than 64 bits wrong; what they were is lost.)

    :param limits: the limits on untrusted input; those of a frame apply to a batch of rows.

    :ivar row: number of the row that is next.
    :ivar wire: the position in the rows.
    :ivar prefixes: IRI by name, both as UTF-8, as declared so far.
    :ivar solutions: whether the rows are solutions: terms may be undefined, and literals may have
        the datatypes that a language tag implies without having one.
    :ivar has_relative_iris: whether there was a relative IRI so far.
    """

    def __init__(self, format: JenaFormat, *, limits: Limits = DEFAULT_LIMITS) -> None:  # noqa: A002
        self.wire = Wire(format, limits)
        self.limits = limits
        self.row = 0
        self.prefixes: dict[bytes, bytes] = {}
        self.prefix_bytes = self.expansion = 0
        self.solutions = self.busy = self.has_relative_iris = False
        self.out = Buffer()
        if not cython.compiled:
            self.starts, self.stops = [0] * 10, [0] * 10

    def read_rows(self, data: bytes, at: int, batch: list[Any]) -> tuple[bytes, int]:
        """Read rows up to the end of the batch, or the last whole row.

        :return: the text that was written, and the position after the rows.
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

    def _read(self, at: int, end: int, batch: list[Any]) -> int:
        wire: Wire = self.wire
        while at < end:
            if self.row % _BATCH_ROWS == 0:
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
            if self.row % _BATCH_ROWS == 0 or self.out.size >= _BATCH_BYTES:
                break
        return at

    def end(self, rest: bytes = b"") -> None:
        """Mark the end of the input."""
        if rest:
            raise TruncatedError("the input ends inside a row", row=self.row)

    def take(self, batch: list[Any]) -> None:
        """Read the open row to its end, then add what it contains to a batch."""
        raise NotImplementedError

    def declare(self, name: str, iri: str) -> None:
        """Bind a prefix."""
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
        """
        start = self.out.size
        self._term(position)
        text = self.out.between(start, self.out.size)
        self.out.cut(start)
        return text

    def _term(self, position: int) -> None:
        """Read a term that is a member's value, and write its text."""
        wire: Wire = self.wire
        allowed = _ALLOWED
        wire.begin()
        kind = wire.field(TERM)
        if not allowed[kind] >> position & 1:
            if kind != _UNDEFINED or self.depth or not self.solutions:
                _reject(kind, position)
        if kind == _IRI:
            self._strings(IRI, 0)
            if position != GRAPH or self._bytes(1) not in _DEFAULT_GRAPHS:
                self._iri(wire.buf, self.starts[1], self.stops[1])
        elif kind == _LITERAL:
            self._strings(LITERAL, 0)
            self._literal()
        elif kind == _BLANK_NODE:
            self._strings(BLANK_NODE, 0)
            if self.stops[1] > self.starts[1]:
                self._text(wire.buf, self.starts[1], self.stops[1], _IN_NAME)
            else:
                self.out.add(b"_:" + _escaped("", _IN_NAME))
        elif kind == _PREFIX_NAME:
            self._strings(PREFIX_NAME, 0)
            whole: bytes = self._whole(1)
            if position != GRAPH or whole not in _DEFAULT_GRAPHS:
                self._iri(whole, 0, len(whole))
        elif kind == _TRIPLE_TERM:
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
        elif kind >= _INTEGER:
            self._number(kind)
        wire.field(TERM)

    def _write_terms(self, message: Message) -> None:
        """Read the terms of a statement, and write them, each with a space after it."""
        out: Buffer = self.out
        self.wire.begin()
        while True:
            place = self.wire.field(message)
            if place == 0:
                break
            start = out.size
            self._term(place - 1)
            if out.size > start:
                out.byte(32)

    def _strings(self, message: Message, offset: int) -> None:
        """Read a struct of strings. They are kept by place, after ``offset``."""
        wire: Wire = self.wire
        for at in range(offset + 1, 10):
            self.starts[at] = self.stops[at] = 0
        if offset == 0:
            self.seen = 0
        wire.begin()
        while True:
            place = wire.field(message)
            if place == 0:
                break
            if message is LITERAL and place > _LEX:
                if self.seen and not wire.thrift:
                    raise WireError("RDF_Literal has more than one kind")
                self.seen |= 1 << place
                if place == _SIMPLE:
                    wire.number(64)
                    continue
                if place == _DT_PREFIX:
                    self._strings(PREFIX_NAME, _DT_STRINGS)
                    continue
            wire.text(message, place)
            self.starts[offset + place] = wire.start
            self.stops[offset + place] = wire.stop

    def _bytes(self, place: int) -> bytes:
        """A string of the term; empty where there is none."""
        return self.wire.buf[self.starts[place] : self.stops[place]]

    def _whole(self, place: int) -> bytes:
        """The IRI of a prefix name."""
        prefix: bytes = self._bytes(place)
        iri: Any = self.prefixes.get(prefix)
        if iri is None:
            name = _decoded(prefix, PREFIX_NAME, 1)
            raise LookupTableError(f"the prefix {name[:80]!r} was not declared")
        whole: bytes = iri + self._bytes(place + 1)
        if len(whole) > self.wire.string_bytes:
            raise over(self.limits, "string_bytes", len(whole), "the length of an IRI")
        self._expand(len(whole))
        return whole

    def _expand(self, size: int) -> None:
        """Count bytes that were made of fewer."""
        self.expansion += size
        if self.expansion > self.limits.frame_expansion:
            what = f"what {_BATCH_ROWS} rows make of prefix names and numbers"
            raise over(self.limits, "frame_expansion", self.expansion, what)

    def _text(
        self,
        buf: bytes,
        start: int,
        stop: int,
        flag: int,
    ) -> None:
        """Write an IRI, a string or a label, with its marks and escapes; see ``Buffer.text``."""
        out: Buffer = self.out
        if flag == _IN_NAME:
            out.add(b"_:")
        else:
            out.byte(60 if flag == _IN_IRI else 34)
        checks = out.text(buf, start, stop, flag)
        if checks:
            message = {_IN_IRI: IRI, _IN_STRING: LITERAL}.get(flag, BLANK_NODE)
            text = _decoded(buf[start:stop], message, 1)
            if checks == 2:
                out.add(_escaped(text, flag))
        if flag != _IN_NAME:
            out.byte(62 if flag == _IN_IRI else 34)

    def _iri(self, buf: bytes, start: int, stop: int) -> None:
        """Write an IRI."""
        if _is_relative(buf, start, stop):
            self.has_relative_iris = True
        self._text(buf, start, stop, _IN_IRI)

    def _literal(self) -> None:
        """Write a literal, of the members that were read."""
        out: Buffer = self.out
        tag: bytes = self._bytes(_LANGDIR) or self._bytes(_LANGTAG)
        datatype: bytes = self._bytes(_DATATYPE)
        typed = self.seen >> _DATATYPE & 1
        self._text(self.wire.buf, self.starts[_LEX], self.stops[_LEX], _IN_STRING)
        if self.seen >> _DT_PREFIX & 1:
            if typed:
                raise TermError("a literal has two datatypes")
            typed = True
            datatype = self._whole(_DT_STRINGS + 1)
        if tag or self.seen >> _DIRECTION & 1:
            if typed and datatype not in _TAGGED:
                raise TermError("a literal has either a language tag or a datatype, not both")
            out.byte(64)
            out.add(tag if tag.isalpha() and not self.seen >> _DIRECTION & 1 else self._tag(tag))
        elif typed and datatype != _XSD_STRING:
            if datatype in _TAGGED and not self.solutions:
                raise TermError(f"a literal of type {datatype.decode()} has no language tag")
            out.add(b"^^")
            raw: bytes = datatype
            self._iri(raw, 0, len(raw))

    def _tag(self, tag: bytes) -> bytes:
        """A language tag, with its base direction."""
        langtag, mark, name = _decoded(tag, LITERAL, _LANGTAG).partition("--")
        if not mark and self.seen >> _DIRECTION & 1:
            mark, name = "--", _decoded(self._bytes(_DIRECTION), LITERAL, _DIRECTION)
        if mark and (name not in ("ltr", "rtl") or not langtag):
            raise TermError("a base direction is ltr or rtl, and that of a language-tagged string")
        text = term_text(Literal("", f"{langtag}{mark}{name}"), directions=True)
        return text[3:].encode()

    def _number(self, kind: int) -> None:
        """Read and write a number by its value."""
        wire: Wire = self.wire
        value: Any = 0
        scale: Any = 0
        if kind == _INTEGER:
            number, datatype = str(wire.number(64)), "integer"
        elif kind == _DOUBLE:
            number, datatype = _double_text(wire.double()), "double"
        else:
            wire.begin()
            while True:
                place = wire.field(DECIMAL)
                if place == 0:
                    break
                if place == 1:
                    value = wire.number(64)
                else:
                    scale = wire.number(32)
            number, datatype = _decimal_text(value, scale, self.limits), "decimal"
        self._expand(len(number))
        self.out.add(f'"{number}"^^<{_XSD}{datatype}>'.encode())


def _is_relative(buf: bytes, start: int, stop: int) -> bool:
    """Whether an IRI has no scheme."""
    flags = _FLAGS
    at = start
    # Most IRIs begin with "http:".
    if (
        stop - start > 4
        and buf[at] == 104
        and buf[at + 1] == 116
        and buf[at + 2] == 116
        and buf[at + 3] == 112
        and buf[at + 4] == 58
    ):
        return False
    while at < stop and flags[buf[at]] & _IN_SCHEME:
        at += 1
    # A scheme begins with a letter: its other characters come before the letters.
    return at == stop or buf[at] != 58 or buf[start] < 65


def _reject(kind: int, position: int) -> None:
    """Raise the error for a kind of term in a position."""
    if kind in _NOT_RDF:
        raise TermError(f"{_NOT_RDF[kind]} is used as {POSITIONS[position]}")
    name = {_BLANK_NODE: "BLANK_NODE", _TRIPLE_TERM: "TRIPLE"}.get(kind, "LITERAL")
    raise StatementError(f"{name} as {POSITIONS[position]}")


class StatementReader(RowReader):
    """Reads the rows of a stream of statements, as lines of N-Quads. For the parameters see
    :class:`RowReader`.

    :ivar base: the base IRI that was declared last; all IRIs are absolute without it.
    :ivar declared: the prefixes that the last call has read, as name and IRI.
    :ivar statements: number of statements so far.
    """

    def __init__(self, format: JenaFormat, *, limits: Limits = DEFAULT_LIMITS) -> None:  # noqa: A002
        RowReader.__init__(self, format, limits=limits)
        self.base: str | None = None
        self.declared: list[tuple[str, str]] = []
        self.statements = 0

    def read_text(self, data: bytes, at: int) -> tuple[bytes, int]:
        """Read rows as lines; see :meth:`read_rows`.

        :return: the lines, and the position after the rows.
        """
        self.declared = []
        return self.read_rows(data, at, [])

    def take(self, batch: list[Any]) -> None:  # noqa: ARG002
        wire: Wire = self.wire
        kind = wire.field(STREAM_ROW)
        if kind == 2 or kind == 3:
            self._write_terms(TRIPLE if kind == 2 else QUAD)
            wire.field(STREAM_ROW)
            self.out.add(b".\n")
            self.statements += 1
            return
        self._strings(PREFIX if kind == 1 else IRI, 0)
        wire.field(STREAM_ROW)
        if kind == 4:
            self.base = _decoded(self._bytes(1), IRI, 1)
            return
        name, iri = _decoded(self._bytes(1), PREFIX, 1), _decoded(self._bytes(2), PREFIX, 2)
        self.declare(name, iri)
        self.declared.append((name, iri))


# Writing

#: The texts of IRIs, strings and labels; and that after the string of a literal.
_IRI_TEXT: Final = re.compile(rf"(?:[^{NOT_IN_IRI}]++|{ESCAPE})*+")
_STRING_TEXT: Final = re.compile(STRING[1:-1])
_LABEL_TEXT: Final = Pattern(LABEL)
_TAG: Final = rf"{LANGTAG}(?:--(?:ltr|rtl))?+"
_SUFFIX: Final = re.compile(rf"(?:@({_TAG})|\^\^<({_IRI_TEXT.pattern})>)?+")
_LANGUAGE: Final = re.compile(_TAG)

#: Caches of terms are cleared at this many entries, that of suffixes at fewer; longer terms are not
#: kept.
_KEPT: Final = 1 << 16
_KEPT_SUFFIXES: Final = 1 << 12
_KEPT_BYTES: Final = 1 << 10

#: The first string of each kind of term, for errors.
_WHAT: Final = {1: "an IRI", 2: "a blank node label", 3: "a lexical form"}


class RowWriter:
    """Writes terms and lines as rows of one stream: what Apache Jena writes for them in this order.
    There are prefix names in Thrift only, where prefixes are declared; no value forms; statements
    in the default graph are triples.

    :param solutions: whether literals may lack the language tag that their datatype implies.

    :ivar row: number of the row that is next.
    :ivar statements: number of statements that were written.
    """

    def __init__(
        self,
        format: JenaFormat,  # noqa: A002
        describe: Describe = describe_generic,
        *,
        limits: Limits = DEFAULT_LIMITS,
        solutions: bool = False,
    ) -> None:
        self.limits = limits
        self.describe = describe
        self.solutions = solutions
        self.row_bytes = limits.frame_bytes
        self.string_bytes = limits.string_bytes
        self.thrift = format is JenaFormat.THRIFT
        self.row = self.statements = self.line = 0
        self.busy = False
        self.prefixes: dict[bytes, bytes] = {}
        self.names: dict[bytes, bytes] = {}
        self.lengths: list[int] = []
        self.suffixes: dict[bytes, bytes] = {}
        self.known: dict[Any, bytes] = {}
        self.alone, self.body, self.out = Buffer(), Buffer(), Buffer()
        self.parser = LineParser(
            relative_iris=True, limits=limits, quads=True, base_directions=True
        )

    # Messages and rows

    def struct(self, message: Message, members: Sequence[tuple[int, Any]]) -> bytes:
        """The bytes of a message; in Protocol Buffers without its length.

        :param members: the place and the value of each member, in order: bytes for a string and a
            struct, a list of these for a list.
        """
        out = bytearray()
        last = 0
        for place, value in members:
            member = message.members[place - 1]
            kind = member.type
            if self.thrift:
                out.append(place - last << 4 | kind)
                last = place
                if kind == LIST:
                    size = len(value)
                    out.append(min(size, 15) << 4 | STRUCT)
                    out += (varint(size) if size >= 15 else b"") + b"".join(value)
                elif kind == I32:
                    out += varint(value << 1 ^ value >> 63)
                else:
                    out += (varint(len(value)) if kind == TEXT else b"") + value
            elif kind == BOOL:
                out += varint(member.protobuf << 3) + varint(value)
            # An empty string is not written, unless its presence has a meaning.
            elif kind != TEXT or value or not member.required:
                for each in value if kind == LIST else (value,):
                    out += varint(member.protobuf << 3 | 2) + varint(len(each)) + each
        if self.thrift:
            out.append(0)
        return bytes(out)

    def row_of(self, message: Message, *members: tuple[int, Any]) -> bytes:
        """A row, of its members."""
        row = self.struct(message, members)
        if not self.thrift:
            row = varint(len(row)) + row
        check_row_bytes(len(row), self.limits)
        self.row += 1
        return row

    def add_prefix(self, name: str, iri: str) -> bytes:
        """Declare a prefix: its row."""
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
            self.known = {}
        return self.row_of(STREAM_ROW, (1, self.struct(PREFIX, [(1, key), (2, value)])))

    def string(self, text: Any, what: str) -> bytes:
        """The UTF-8 of a string."""
        text = text_of(text)
        if not isinstance(text, str):
            raise TermError(f"{what} is not a string: {text!r}")
        try:
            raw = text.encode()
        except UnicodeEncodeError:
            raise TermError(f"{what} has a surrogate, which is not a character") from None
        self._check_string(len(raw), what)
        return raw

    def _check_string(self, size: int, what: str) -> None:
        if size > self.string_bytes:
            raise over(self.limits, "string_bytes", size, f"the length of {what}")

    # Terms

    def _statement(self, fields: list[bytes]) -> bytes:
        """The row of a statement, of the fields of its terms, empty for the default graph."""
        # A struct in Thrift has a stop byte.
        body = b"".join(fields) + (b"\0" if self.thrift else b"")
        row = self.row_of(STREAM_ROW, (3 if len(fields) == 4 and fields[3] else 2, body))
        self.statements += 1
        return row

    def term(self, term: Any) -> bytes:
        """The bytes of a term of any kind; None for an undefined term."""
        if term is None:
            return self.struct(TERM, [(_UNDEFINED, self.struct(EMPTY, []))])
        # Hashing tuples that are nested deeply enough ends the process.
        if isinstance(term, tuple):
            return self._encoded(self.describe, term, OBJECT, 0)
        try:
            found = self.known.get(term)
        except TypeError:
            # All terms can be hashed: taking this apart reports the error.
            return self._encoded(self.describe, term, OBJECT, 0)
        if found is None:
            found = self._encoded(self.describe, term, OBJECT, 0)
            if len(found) <= _KEPT_BYTES:
                if len(self.known) >= _KEPT:
                    self.known.clear()
                self.known[term] = found
        return found

    def _field(self, term: Any, position: int) -> bytes:
        """The field of a generic term in a statement; none for the default graph."""
        data = self._encoded(describe_generic, term, position, 0)
        if not data:
            return data
        # In Thrift the id of a field is one more than that of the field before.
        return (
            b"\x1c" if self.thrift else varint(position + 1 << 3 | 2) + varint(len(data))
        ) + data

    def _encoded(self, describe: Describe, term: Any, position: int, depth: int) -> bytes:
        """The bytes of a term; none for the default graph."""
        kind, *parts = describe(term)
        if undeclared(position, kind, False, rdf_star=True) is not None:
            raise StatementError(f"{Kind(kind).name} as {POSITIONS[position]}")
        if kind == Kind.DEFAULT_GRAPH:
            return b""
        if kind == Kind.TRIPLE:
            if len(parts) != 3:
                raise TermError(f"a quoted triple of {len(parts)} terms")
            if depth == self.limits.nesting:
                raise over(self.limits, "nesting", depth + 1, "the depth of quoted triples")
            terms = [
                (at + 1, self._encoded(describe, part, at, depth + 1))
                for at, part in enumerate(parts)
            ]
            return self.struct(TERM, [(_TRIPLE_TERM, self.struct(TRIPLE, terms))])
        place = {Kind.IRI: _IRI, Kind.BLANK_NODE: _BLANK_NODE}.get(kind, _LITERAL)
        first: bytes = self.string(parts[0], _WHAT[place])
        suffix = b""
        if place == _LITERAL:
            suffix = self._kind(parts[1], parts[2])
        elif place == _IRI and position == GRAPH and first in _DEFAULT_GRAPHS:
            raise TermError(f"a graph is named <{parts[0]}>, which means the default graph here")
        elif place == _IRI and self.lengths:
            name = self._prefix_name(first)
            if name is not None:
                return self.struct(TERM, [(_PREFIX_NAME, name)])
        self.alone.cut(0)
        self._put_term(self.alone, place, 0, first, 0, len(first), suffix)
        return self.alone.between(0, self.alone.size)

    def _kind(self, langtag: Any, datatype: Any) -> bytes:
        """The bytes of a literal after its lexical form."""
        made = self.struct(LITERAL, [(_LEX, b""), *self._kind_members(langtag, datatype)])
        # Without the empty string that Thrift has, and the end of the struct.
        return made[2:-1] if self.thrift else made

    def _kind_members(self, langtag: Any, datatype: Any) -> list[tuple[int, Any]]:
        if langtag is not None:
            tag = self.string(langtag, "a language tag")
            if _LANGUAGE.fullmatch(tag.decode()) is None:
                raise TermError(f"{langtag!r} is not a language tag")
            language, mark, direction = tag.partition(b"--")
            if not mark:
                return [(_LANGTAG, tag)]
            if not self.thrift:
                return [(_LANGDIR, tag)]
            return [(_LANGTAG, language), (_DIRECTION, direction)]
        iri = _XSD_STRING if datatype is None else self.string(datatype, "an IRI")
        if iri == _XSD_STRING:
            return [] if self.thrift else [(_SIMPLE, True)]
        if iri in _TAGGED and not self.solutions:
            raise TermError(f"a literal of type {datatype} has no language tag")
        name = self._prefix_name(iri)
        return [(_DATATYPE, iri) if name is None else (_DT_PREFIX, name)]

    def _prefix_name(self, iri: bytes) -> bytes | None:
        """The prefix name of an IRI, by the longest prefix that it begins with; None if there is
        none. Apache Jena allows neither ``/`` nor ``#`` after the prefix."""
        least = max(iri.rfind(b"/"), iri.rfind(b"#")) + 1
        for length in self.lengths:
            if length < least:
                break
            prefix = self.names.get(iri[:length])
            if prefix is not None:
                return self.struct(PREFIX_NAME, [(1, prefix), (2, iri[length:])])
        return None

    # Lines

    def add_lines(self, text: bytes) -> bytes:
        """Write whole lines of N-Quads that follow the lines before.

        :return: their rows.
        """
        if self.busy:
            raise OrderError("another thread is using the writer")
        self.busy = True
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

    def _lines(self, text: bytes) -> None:
        buf = text
        end = len(text)
        pos = 0
        while pos < end:
            stop = self._line(buf, pos, end)
            if stop < 0:
                stop = text.find(b"\n", pos) + 1 or end
                self.parser.line_ends = self.line
                for statement in self.parser.statements(buf[pos:stop]):
                    fields = [self._field(term, at) for at, term in enumerate(statement)]
                    self.out.add(self._statement(fields))
                self.line = self.parser.line_ends
            else:
                self.line += 1
            pos = stop

    def _line(self, buf: bytes, pos: int, end: int) -> int:
        """Write the statement of a line in canonical form without quoted triples; return the
        position after it, or -1 if it has another form."""
        width = 0
        body: Buffer = self.body
        out: Buffer = self.out
        body.cut(0)
        while width < 3 or (width == 3 and pos < end and buf[pos] != 46):
            pos = self._line_term(buf, pos, end, width)
            if pos < 0 or pos >= end or buf[pos] != 32:
                return -1
            pos += 1
            width += 1
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

    def _line_term(
        self,
        buf: bytes,
        pos: int,
        end: int,
        position: int,
    ) -> int:
        """Write the field of the term at a position; return the position after it, or -1."""
        suffix: Any = b""
        raw: Any = None
        if end - pos < 3:
            return -1
        if buf[pos] == 60 and buf[pos + 1] != 60:
            place, flag, close = _IRI, _IN_IRI, 62
        elif buf[pos] == 34 and position == OBJECT:
            place, flag, close = _LITERAL, _IN_STRING, 34
        elif buf[pos] == 95 and buf[pos + 1] == 58 and position != PREDICATE:
            place, flag, close = _BLANK_NODE, _IN_NAME, 32
            pos += 1
        else:
            return -1
        pos += 1
        stop = _ascii_end(buf, pos, end, flag)
        if buf[stop] != close:
            stop = _closing(buf, close, stop, end)
            raw = _unescaped(buf[pos:stop], flag) if stop < end else None
            if raw is None:
                return -1
        elif flag == _IN_NAME and stop == pos:
            return -1
        quote = stop
        if place == _IRI:
            stop += 1
            if (
                position == GRAPH
                and _LEAST_NAME <= (quote - pos if raw is None else len(raw)) <= _MOST_NAME
                and (buf[pos:quote] if raw is None else raw) in _DEFAULT_GRAPHS
            ):
                # Rejected with the line's other form.
                return -1
            if self.lengths:
                name: Any = self._prefix_name(buf[pos:quote] if raw is None else raw)
                if name is not None:
                    self.body.byte(0x1C)
                    self.body.add(self.struct(TERM, [(_PREFIX_NAME, name)]))
                    return stop
        elif place == _LITERAL:
            stop = _closing(buf, 32, quote, end)
            suffix = self._suffix(buf[quote + 1 : stop])
            if suffix is None:
                return -1
        if raw is None:
            self._put_term(self.body, place, position + 1, buf, pos, quote, suffix)
        else:
            held: bytes = raw
            self._put_term(self.body, place, position + 1, held, 0, len(held), suffix)
        return stop

    def _put_term(
        self,
        out: Buffer,
        place: int,
        field: int,
        buf: bytes,
        start: int,
        stop: int,
        suffix: bytes,
    ) -> None:
        """Write a message of a string and other members as a term, in field 0 without a header."""
        size = stop - start
        inner = len(suffix)
        if size > self.string_bytes:
            self._check_string(size, _WHAT[place])
        if self.thrift:
            if field:
                out.byte(0x1C)
            out.byte(place << 4 | 12)
            out.byte(0x18)
            out.varint(size)
        else:
            if size:
                inner += _field_size(size)
            if field:
                out.byte(field << 3 | 2)
                out.varint(_field_size(inner))
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

    def _suffix(self, text: bytes) -> bytes | None:
        """The bytes of a literal after its lexical form, of the text after its string; None if that
        has another form."""
        suffix = self.suffixes.get(text)
        if suffix is None:
            found = _SUFFIX.fullmatch(str(text, "utf-8", "replace"))
            if found is None or "\\" in found[0] or "\ufffd" in found[0]:
                return None
            if found[2] in TAGGED_DATATYPES:
                # The parser reports the line.
                return None
            suffix = self._kind(*found.groups())
            if len(self.suffixes) >= _KEPT_SUFFIXES:
                self.suffixes = {}
            self.suffixes[text] = suffix
        return suffix


def _field_size(size: int) -> int:
    """Bytes of a field of bytes in Protocol Buffers."""
    rest = size >> 7
    size += 2
    while rest:
        size += 1
        rest >>= 7
    return size


def _ascii_end(buf: bytes, at: int, end: int, flag: int) -> int:
    """The position of the first byte that is not ASCII that may occur there as it is, or of the
    last byte."""
    flags = _FLAGS
    while at < end - 1 and buf[at] < 0x80 and flags[buf[at]] & flag:
        at += 1
    return at


def _closing(buf: bytes, close: int, at: int, end: int) -> int:
    """The position of the first such byte that is not escaped, or ``end``."""
    while at < end and buf[at] != close:
        at += 2 if buf[at] == 92 else 1
    return min(at, end)


def _unescaped(raw: bytes, flag: int) -> bytes | None:
    """The UTF-8 of the text of an IRI, a string or a label; None if it is not valid."""
    pattern = _STRING_TEXT if flag == _IN_STRING else _IRI_TEXT
    try:
        text = str(raw, "utf-8")
        if flag == _IN_NAME:
            return read_label(text).encode() if _LABEL_TEXT.compiled.fullmatch(text) else None
        return unescaped(text).encode() if pattern.fullmatch(text) else None
    except ValueError:
        return None
