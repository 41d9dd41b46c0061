"""Rows in Protocol Buffers, as Apache Jena writes them: each with its length before it.

Stricter than message libraries: a repeated field, two members of a union, and fields
that the schema does not have are rejected.

Reference: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import struct
from typing import Any, Final

from ..codec.common.limits import Limits
from ..codec.common.wire import (
    BYTES,
    FIXED64,
    MAX_VARINT_BYTES,
    VARINT,
    bytes_field,
    read_field,
    read_varint,
    varint,
)
from ..errors import WireError
from .schema import LITERAL, Member, Message, Scalar
from .wire import (
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

_DOUBLE: Final = struct.Struct("<d")
_EMPTY: Final[dict[Scalar | Message, Any]] = {Scalar.STRING: "", Scalar.I32: 0, Scalar.I64: 0}
#: Members of a literal that exclude one another.
_KINDS: Final = ("langtag", "datatype", "dtPrefix", "langdir", "simple")


class ProtobufWire:
    """Delimited messages; see :class:`~jelly_plugins.jena.wire.Wire`.

    >>> from jelly_plugins.jena.schema import STREAM_ROW
    >>> ProtobufWire().write(STREAM_ROW, ("base", {"iri": "urn:"})).hex()
    '0822060a0475726e3a'
    """

    def read(self, data: bytes, pos: int, message: Message, limits: Limits) -> tuple[Any, int]:
        if all(byte & 0x80 for byte in data[pos : pos + MAX_VARINT_BYTES]):
            if len(data) - pos >= MAX_VARINT_BYTES:
                raise WireError("the length of a row is not a number")
            raise Incomplete
        size, start = read_varint(data, pos, len(data))
        check_row_bytes(size, limits)
        stop = start + size
        if stop > len(data):
            raise Incomplete
        return _read(data, start, stop, message, limits, 0), stop

    def write(self, message: Message, value: Any) -> bytes:
        row = _write(message, value)
        return varint(len(row)) + row

    def encode(self, message: Message, value: Any) -> bytes:
        return _write(message, value)


def _read(data: bytes, pos: int, end: int, message: Message, limits: Limits, depth: int) -> Any:
    found: dict[str, Any] = {}
    while pos < end:
        tag, start, pos, number = read_field(data, pos, end)
        member = message.by_protobuf.get(tag >> 3)
        if member is None:
            raise unknown(tag >> 3, message)
        kind = member.type
        if tag & 7 != _wire_type(kind):
            raise wrong_type(tag >> 3, message)
        value: Any
        if isinstance(kind, Message):
            inner = deeper(member, message, depth, limits)
            value = _read(data, start, pos, kind, limits, inner)
        elif kind is Scalar.STRING:
            check_string(pos - start, member, message, limits)
            value = text(data[start:pos], member, message)
        elif kind is Scalar.DOUBLE:
            value = _DOUBLE.unpack_from(data, start)[0]
        elif kind is Scalar.BOOL:
            value = number != 0
        else:
            value = unzigzag(number)
            if kind is Scalar.I32 and number >> 32:
                raise WireError("a number is too long for its type")
        if member.repeated:
            found.setdefault(member.name, []).append(value)
        elif member.name in found:
            raise twice(tag >> 3, message)
        else:
            found[member.name] = value
    if not message.union:
        _complete(message, found)
    return finished(message, found)


def _complete(message: Message, found: dict[str, Any]) -> None:
    """Add what is not written because it is empty.

    :raises WireError: something is missing, or excludes something else.
    """
    for member in message.members:
        if not member.protobuf or member.name in found:
            continue
        if member.repeated:
            found[member.name] = []
        elif not member.required:
            continue
        elif isinstance(member.type, Message):
            raise missing(member, message)
        else:
            found[member.name] = _EMPTY[member.type]
    if message is LITERAL and sum(name in found for name in _KINDS) > 1:
        raise WireError(f"{message.name} has more than one kind")


def _wire_type(kind: Scalar | Message) -> int:
    if isinstance(kind, Message) or kind is Scalar.STRING:
        return BYTES
    return FIXED64 if kind is Scalar.DOUBLE else VARINT


def _write(message: Message, value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    members = dict([value]) if message.union else value
    parts: list[bytes] = []
    for member in message.members:
        found = members.get(member.name)
        if found is None or not member.protobuf:
            continue
        for each in found if member.repeated else (found,):
            # A member of a union, or of several kinds, is written though it be empty.
            if message.union or not member.required or each != _EMPTY.get(member.type):
                parts.append(_field(member, each))
    return b"".join(parts)


def _field(member: Member, value: Any) -> bytes:
    number, kind = member.protobuf, member.type
    if isinstance(kind, Message):
        return bytes_field(number, _write(kind, value))
    if kind is Scalar.STRING:
        return bytes_field(number, value.encode())
    if kind is Scalar.DOUBLE:
        return varint(number << 3 | FIXED64) + _DOUBLE.pack(value)
    raw = int(value) if kind is Scalar.BOOL else zigzag(value)
    return varint(number << 3) + varint(raw)
