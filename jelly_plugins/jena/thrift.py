"""Rows in Thrift's compact protocol, as Apache Jena writes them: back to back.

Reference: Thrift Compact Protocol specification, sections "Base types", "Structs" and "List and
Set".
"""

from __future__ import annotations

import struct
from typing import Any, Final

from ..codec.common.limits import Limits
from ..codec.common.wire import varint
from ..errors import WireError
from .schema import Member, Message, Scalar
from .wire import (
    VARINT32,
    VARINT64,
    Incomplete,
    check_row_bytes,
    check_string,
    deeper,
    finished,
    missing,
    text,
    twice,
    unknown,
    unzigzag,
    wrong_type,
    zigzag,
)

#: Codes of types.
STRUCT: Final = 12
LIST: Final = 9
_CODES: Final = {Scalar.STRING: 8, Scalar.DOUBLE: 7, Scalar.I64: 6, Scalar.I32: 5}
#: The number of elements that means that the number follows as a varint.
_LONG_LIST: Final = 15
_DOUBLE: Final = struct.Struct("<d")


class ThriftWire:
    """The compact protocol; see :class:`~jelly_plugins.jena.wire.Wire`.

    >>> from jelly_plugins.jena.schema import STREAM_ROW
    >>> row = ("prefixDecl", {"prefix": "ex", "uri": "urn:"})
    >>> ThriftWire().write(STREAM_ROW, row).hex()
    '1c18026578180475726e3a0000'
    """

    def read(self, data: bytes, pos: int, message: Message, limits: Limits) -> tuple[Any, int]:
        reader = _Reader(data, pos, limits)
        try:
            value = reader.message(message, 0)
        except Incomplete:
            check_row_bytes(len(data) - pos, limits)
            raise
        check_row_bytes(reader.pos - pos, limits)
        return value, reader.pos

    def write(self, message: Message, value: Any) -> bytes:
        parts: list[bytes] = []
        _write(parts, message, value)
        return b"".join(parts)

    # A row has nothing around it.
    encode = write


class _Reader:
    """Reads one row."""

    def __init__(self, data: bytes, pos: int, limits: Limits) -> None:
        self.pos = pos
        self._data = data
        self._limits = limits

    def message(self, message: Message, depth: int) -> Any:
        found: dict[str, Any] = {}
        number = 0
        while header := self._byte():
            code = header & 15
            step = header >> 4
            number = number + step if step else unzigzag(self._varint(VARINT32))
            member = message.by_thrift.get(number)
            if member is None:
                raise unknown(number, message)
            if code != _code(member):
                raise wrong_type(number, message)
            if member.name in found:
                raise twice(number, message)
            found[member.name] = self._value(member, message, depth)
        if not message.union:
            for member in message.members:
                if member.thrift and member.required and member.name not in found:
                    raise missing(member, message)
        return finished(message, found)

    def _value(self, member: Member, message: Message, depth: int) -> Any:
        if member.repeated:
            return self._list(member, message, depth)
        kind = member.type
        if isinstance(kind, Message):
            return self.message(kind, deeper(member, message, depth, self._limits))
        if kind is Scalar.STRING:
            size = self._varint(VARINT32)
            check_string(size, member, message, self._limits)
            return text(self._take(size), member, message)
        if kind is Scalar.DOUBLE:
            return _DOUBLE.unpack(self._take(8))[0]
        return unzigzag(self._varint(VARINT64 if kind is Scalar.I64 else VARINT32))

    def _list(self, member: Member, message: Message, depth: int) -> list[Any]:
        header = self._byte()
        size = header >> 4
        if size == _LONG_LIST:
            size = self._varint(VARINT32)
        if header & 15 != STRUCT or not isinstance(member.type, Message):
            raise wrong_type(member.thrift, message)
        return [self.message(member.type, depth) for _ in range(size)]

    def _byte(self) -> int:
        if self.pos >= len(self._data):
            raise Incomplete
        self.pos += 1
        return self._data[self.pos - 1]

    def _take(self, size: int) -> bytes:
        if size > len(self._data) - self.pos:
            raise Incomplete
        self.pos += size
        return self._data[self.pos - size : self.pos]

    def _varint(self, longest: int) -> int:
        value = 0
        for at in range(longest):
            byte = self._byte()
            value |= (byte & 0x7F) << 7 * at
            if byte < 0x80:
                bits = 64 if longest == VARINT64 else 32
                if value >> bits:
                    break
                return value
        raise WireError("a number is too long for its type")


def _code(member: Member) -> int:
    if member.repeated:
        return LIST
    return STRUCT if isinstance(member.type, Message) else _CODES[member.type]


def _write(parts: list[bytes], message: Message, value: Any) -> None:
    if isinstance(value, bytes):
        parts.append(value)
        return
    members = dict([value]) if message.union else value
    before = 0
    for member in message.members:
        found = members.get(member.name)
        if found is None or not member.thrift:
            continue
        parts.append(bytes(((member.thrift - before) << 4 | _code(member),)))
        before = member.thrift
        if member.repeated:
            size = len(found)
            short = size < _LONG_LIST
            parts.append(bytes(((size if short else _LONG_LIST) << 4 | STRUCT,)))
            if not short:
                parts.append(varint(size))
        for each in found if member.repeated else (found,):
            _write_value(parts, member.type, each)
    parts.append(b"\0")


def _write_value(parts: list[bytes], kind: Scalar | Message, value: Any) -> None:
    if isinstance(kind, Message):
        _write(parts, kind, value)
    elif kind is Scalar.STRING:
        raw = value.encode()
        parts += (varint(len(raw)), raw)
    elif kind is Scalar.DOUBLE:
        parts.append(_DOUBLE.pack(value))
    else:
        parts.append(varint(zigzag(value)))
