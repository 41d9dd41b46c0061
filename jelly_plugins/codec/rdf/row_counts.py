"""How many rows of each kind a frame of Jelly-RDF has, without reading what is in them."""

from __future__ import annotations

from collections import Counter
from typing import Final

from ...errors import WireError
from ..common.wire import BYTES, read_field, read_varint
from .rules import Row

_ROW_TAG: Final = 1 << 3 | BYTES
_ROW_NUMBERS: Final = frozenset(int(row) for row in Row)


def count_rows(data: bytes) -> dict[int, int]:
    """Number of rows by kind, as the numbers of :class:`~.rules.Row`; those that occur.

    :param data: a frame that a decoder has accepted, without a delimiter.
    :raises WireError: no decoder accepts it.

    >>> from jelly_plugins.codec import Encoder, StreamOptions
    >>> count_rows(Encoder(StreamOptions()).flush())
    {1: 1}
    """
    kinds: Counter[int] = Counter()
    pos = 0
    end = len(data)
    while pos < end:
        tag, start, pos, _ = read_field(data, pos, end)
        if tag == _ROW_TAG:
            kinds[_row_number(data, start, pos)] += 1
    return dict(sorted(kinds.items()))


def _row_number(data: bytes, pos: int, end: int) -> int:
    """The number of the one known field of a row."""
    if pos == end:
        raise WireError("a row is empty, or of an unknown kind")
    first = data[pos]
    if first >> 3 in _ROW_NUMBERS and first < 0x80:
        return first >> 3
    while True:
        tag, _ = read_varint(data, pos, end)
        if tag >> 3 in _ROW_NUMBERS:
            return tag >> 3
        _, _, pos, _ = read_field(data, pos, end)
