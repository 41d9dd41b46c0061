"""Both kernels count rows by kind, including rows with unknown fields."""

from __future__ import annotations

from importlib import import_module

import pytest

from jelly_plugins.codec import count_rows
from jelly_plugins.codec.rdf import decoder
from jelly_plugins.codec.rdf.rules import Row
from jelly_plugins.errors import WireError

from .wire_builder import bytes_field, varint_field

EVERY_KIND = b"".join(bytes_field(1, bytes_field(row, b"")) * row for row in Row)
OTHER_FIELDS = [
    varint_field(77, 1) + bytes_field(Row.GRAPH_END, b""),
    bytes_field(Row.GRAPH_END, b"") + varint_field(77, 1),
    bytes_field(7, b"x") + bytes_field(Row.GRAPH_END, b""),
    bytes_field(1 << 20, b"x" * 300) + bytes_field(Row.GRAPH_END, b""),
]


@pytest.mark.parametrize(
    ("frame", "counted"),
    [
        (b"", {}),
        (EVERY_KIND, {int(row): int(row) for row in Row}),
        (b"".join(bytes_field(1, row) for row in OTHER_FIELDS), {int(Row.GRAPH_END): 4}),
        (bytes_field(15, b"metadata") + bytes_field(1, bytes_field(9, b"")), {9: 1}),
    ],
)
def test_rows_are_counted_by_kind(frame: bytes, counted: dict[int, int]) -> None:
    assert decoder.count_rows(frame) == counted
    assert count_rows(frame) == counted


def test_a_truncated_frame_is_rejected() -> None:
    for count in (decoder.count_rows, count_rows):
        with pytest.raises(WireError):
            count(EVERY_KIND[:-1])


def test_the_kernel_counts() -> None:
    native = pytest.importorskip("jelly_plugins.codec._native")
    assert native.count_rows is not decoder.count_rows
    chosen = import_module("jelly_plugins.codec")
    assert not chosen.native or chosen.count_rows is native.count_rows
