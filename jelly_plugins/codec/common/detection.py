"""Detect the kind of a Jelly stream from its first bytes: every kind begins with its options.

Error messages use it, and readers of results choose a format with it. The decoder checks that the
options are valid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from ...errors import WireError
from .wire import (
    BYTES,
    DETECTION_BYTES,
    MAX_VARINT_BYTES,
    VARINT,
    is_delimited,
    read_field,
    read_varint,
)


class StreamKind(StrEnum):
    """A format by its name."""

    JELLY_RDF = "Jelly-RDF"
    JELLY_PATCH = "Jelly-Patch"
    JELLY_SPARQL = "Jelly-SPARQL"
    RDF_THRIFT = "RDF Thrift"
    RDF_PROTOBUF = "RDF Protobuf"


#: Field 1 of a frame is a row, field 1 of a row is the options.
_FIRST_MESSAGE = 1 << 3 | BYTES
#: A table size as the first field: in Jelly-SPARQL the frame holds the options without a row.
_NAME_TABLE = 9 << 3 | VARINT
#: Fields of the options that only one of the formats has. Jelly-RDF has a name and a logical type,
#: and may omit both; Jelly-Patch always has a statement type.
_TELLING = {
    1 << 3 | BYTES: StreamKind.JELLY_RDF,
    14 << 3 | VARINT: StreamKind.JELLY_RDF,
    1 << 3 | VARINT: StreamKind.JELLY_PATCH,
}


#: Bytes that options have, a version or a type at least, and that the start of a text has not.
_CONTROLS: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def kind_of(opening: bytes) -> StreamKind | None:
    """Detect the kind of a stream from its start; None if its options do not show it.

    :param opening: the first bytes of a source, delimited or not, including at least its first row.

    >>> from jelly_plugins.codec import PatchEncoder, PatchOptions
    >>> kind_of(PatchEncoder(PatchOptions()).finish()[0]).value
    'Jelly-Patch'
    """
    end = len(opening)
    try:
        pos = 0
        if is_delimited(opening[:DETECTION_BYTES]):
            _, pos = read_varint(opening, 0, end)
        tag = 0
        while tag != _FIRST_MESSAGE:
            tag, start, pos, _ = read_field(opening, pos, end)
        if _CONTROLS.search(opening, start, pos) is None:
            return None
        if _NAME_TABLE in _tags(opening, start, pos):
            return StreamKind.JELLY_SPARQL
        tag, start, stop, _ = read_field(opening, start, pos)
        if tag != _FIRST_MESSAGE:
            return None
        return next((_TELLING[tag] for tag in _tags(opening, start, stop) if tag in _TELLING), None)
    except WireError:
        return None


def jena_kind_of(opening: bytes) -> StreamKind | None:
    """Detect which of Apache Jena's binary formats a source has: its first bytes are a row or the
    variables of results. Return None for neither. A source detected as RDF Protobuf may also be
    Jelly.

    :param opening: the first 16 bytes of a source, or all of a shorter one.

    >>> jena_kind_of(bytes.fromhex("1c1802657818047572")).value
    'RDF Thrift'
    >>> jena_kind_of(bytes.fromhex("080a060a0165")).value
    'RDF Protobuf'
    """
    if len(opening) > 1 and (
        (opening[0] in (0x1C, 0x2C, 0x3C) and opening[1] in (0x18, 0x1C))
        or (opening[0] == 0x19 and opening[1] & 15 == 0x0C)
    ):
        return StreamKind.RDF_THRIFT
    at = 0
    while at < len(opening) and opening[at] & 0x80:
        at += 1
    if at + 1 < len(opening) and opening[at + 1] in (0x0A, 0x12, 0x1A, 0x22):
        return StreamKind.RDF_PROTOBUF
    return None


def is_cut(opening: bytes) -> bool:
    """Return whether the options of the stream may be incomplete, so that with more bytes
    :func:`kind_of` could return another kind.

    :param opening: the first bytes of a source.

    >>> is_cut(b"{"), is_cut(b'{"head"')
    (True, False)
    """
    end = len(opening)
    if end < DETECTION_BYTES:
        return True
    pos = 0
    try:
        if is_delimited(opening[:DETECTION_BYTES]):
            _, pos = read_varint(opening, 0, end)
        if pos < end and opening[pos] != _FIRST_MESSAGE:
            return False
        length, start = read_varint(opening, pos + 1, end)
    except WireError:
        # A length longer than a varint can be is malformed, not cut.
        return end - pos <= MAX_VARINT_BYTES
    return start + length > end


def _tags(data: bytes, pos: int, end: int) -> Iterator[int]:
    """Yield the tags of a message's fields."""
    while pos < end:
        tag, _, pos, _ = read_field(data, pos, end)
        yield tag
