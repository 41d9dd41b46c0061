"""Both kernels count rows by kind, including rows with unknown fields."""

from __future__ import annotations

from typing import Any

import pytest

from jelly_plugins.codec.rdf.decoder import count_rows
from jelly_plugins.codec.rdf.rules import Row
from jelly_plugins.errors import WireError

from ..fuzz.comparison import native_of
from .wire_builder import bytes_field, varint_field

PICKS = [lambda reference: reference, native_of]

EVERY_KIND = b"".join(bytes_field(1, bytes_field(row, b"")) * row for row in Row)
OTHER_FIELDS = [
    varint_field(77, 1) + bytes_field(Row.GRAPH_END, b""),
    bytes_field(Row.GRAPH_END, b"") + varint_field(77, 1),
    bytes_field(7, b"x") + bytes_field(Row.GRAPH_END, b""),
    bytes_field(1 << 20, b"x" * 300) + bytes_field(Row.GRAPH_END, b""),
]


@pytest.mark.parametrize("pick", PICKS)
@pytest.mark.parametrize(
    ("frame", "counted"),
    [
        (b"", {}),
        (EVERY_KIND, {int(row): int(row) for row in Row}),
        (b"".join(bytes_field(1, row) for row in OTHER_FIELDS), {int(Row.GRAPH_END): 4}),
        (bytes_field(15, b"metadata") + bytes_field(1, bytes_field(9, b"")), {9: 1}),
    ],
)
def test_rows_are_counted_by_kind(pick: Any, frame: bytes, counted: dict[int, int]) -> None:
    assert pick(count_rows)(frame) == counted


@pytest.mark.parametrize("pick", PICKS)
@pytest.mark.parametrize("data", [b"\x0a\x00", b"\x0a\x02\x12\x00\x0a\x00", EVERY_KIND[:-1]])
def test_malformed_frames_cannot_be_counted(pick: Any, data: bytes) -> None:
    with pytest.raises(WireError):
        pick(count_rows)(data)
