"""The common part of both encodings of Jena RDF Binary: a row as Python values, and errors.

A struct is a dict of its members by name, a union a pair of its member's name and value, a list a
list. Each encoding is a :class:`Wire`.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from ..codec.common.limits import Limits, over
from ..errors import LimitError, WireError
from .schema import TERM, TRIPLE, Member, Message


class Incomplete(Exception):  # noqa: N818 (no error: the rest may follow)
    """The bytes end inside a row."""


class Wire(Protocol):
    """An encoding of rows."""

    def read(self, data: bytes, pos: int, message: Message, limits: Limits) -> tuple[Any, int]:
        """Read the row that starts at ``pos``.

        :return: the row's value, and the position after it.
        :raises Incomplete: the bytes end inside the row.
        :raises WireError: the bytes are not such a row.
        :raises LimitError: the row is beyond ``limits``.
        """
        ...

    def write(self, message: Message, value: Any) -> bytes:
        """A row's bytes.

        :param value: in which a message may be the bytes that :meth:`encode` gave.
        """
        ...

    def encode(self, message: Message, value: Any) -> bytes:
        """The bytes of a message inside a row."""
        ...


def check_row_bytes(size: int, limits: Limits) -> None:
    """Reject a row that is too long, including bytes still to come.

    :raises LimitError: it is too long. The message has not its length, which need not be known.
    """
    if size > limits.frame_bytes:
        raise LimitError(
            f"a row is longer than the limit of {limits.frame_bytes} bytes "
            "(Limits.frame_bytes, --limit frame_bytes=NUMBER)"
        )


def check_string(size: int, member: Member, message: Message, limits: Limits) -> None:
    """Reject a string that is too long before it is read.

    :raises LimitError: it is too long.
    """
    if size > limits.string_bytes:
        raise over(limits, "string_bytes", size, f"the length of {member.name} in {message.name}")


def deeper(member: Member, message: Message, depth: int, limits: Limits) -> int:
    """The number of quoted triples around what a member holds.

    :param depth: those around the message.
    :raises LimitError: they are too many.
    """
    if member.type is TRIPLE and message is TERM:
        depth += 1
        if depth > limits.nesting:
            raise over(limits, "nesting", depth, "the depth of quoted triples")
    return depth


def text(raw: bytes, member: Member, message: Message) -> str:
    """A string of UTF-8.

    :raises WireError: it is not valid.
    """
    try:
        return str(raw, "utf-8")
    except UnicodeDecodeError as error:
        raise WireError(
            f"{member.name} of {message.name} is not valid UTF-8 ({error.reason})"
        ) from None


def unknown(number: int, message: Message) -> WireError:
    """The error for a field that a message does not have."""
    return WireError(f"{message.name} has no field {number}")


def wrong_type(number: int, message: Message) -> WireError:
    """The error for a field of another type than its own."""
    return WireError(f"field {number} of {message.name} has the wrong type")


def twice(number: int, message: Message) -> WireError:
    """The error for a field that occurs twice."""
    return WireError(f"field {number} of {message.name} occurs twice")


def finished(message: Message, found: dict[str, Any]) -> Any:
    """The value of a message whose members are all read.

    :raises WireError: one is missing, or one too many is there.
    """
    if message.union:
        if len(found) != 1:
            count = "more than one member" if found else "no member"
            raise WireError(f"{message.name} has {count}")
        return next(iter(found.items()))
    return found


def missing(member: Member, message: Message) -> WireError:
    """The error for a member that is not there."""
    return WireError(f"{message.name} has no {member.name}")


#: Bytes of a varint of 32 and of 64 bits, at most.
VARINT32: Final = 5
VARINT64: Final = 10


def zigzag(value: int) -> int:
    """The unsigned encoding of a signed number of 64 bits.

    >>> zigzag(-1), zigzag(1), zigzag(-(1 << 63)) == (1 << 64) - 1
    (1, 2, True)
    """
    return (value << 1) ^ (value >> 63)


def unzigzag(value: int) -> int:
    """The signed number of an unsigned encoding.

    >>> unzigzag(1), unzigzag(2)
    (-1, 1)
    """
    return (value >> 1) ^ -(value & 1)
