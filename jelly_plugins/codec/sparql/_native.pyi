"""The compiled module has the interface of the reference modules."""

from typing import Any

from ..text.columns import Column
from .column_writer import ColumnWriter as ColumnWriter

def read_column(
    reader: Any, number: int, data: bytes, start: int, stop: int, rows: int
) -> list[Any] | None: ...
def find_fields(
    data: bytes, start: int, stop: int, known: dict[int, int], repeated: frozenset[int], most: int
) -> dict[int, list[tuple[int, int, int]]] | None: ...
def enter_packed(
    reader: Any, prefixes: bool, data: bytes, fields: list[tuple[int, int, int]]
) -> int: ...
def text_column(
    reader: Any, number: int, data: bytes, start: int, stop: int, rows: int, most_bytes: int
) -> Column | None: ...
