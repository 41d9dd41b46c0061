"""Only this module chooses between the compiled and the Python module for columns."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ..text.columns import Column
    from .column_writer import ColumnWriter

    def read_column(
        reader: Any, number: int, data: bytes, start: int, stop: int, rows: int
    ) -> list[Any] | None: ...
    def find_fields(
        data: bytes,
        start: int,
        stop: int,
        known: dict[int, int],
        repeated: frozenset[int],
        most: int,
    ) -> dict[int, list[tuple[int, int, int]]] | None: ...
    def enter_packed(
        reader: Any, prefixes: bool, data: bytes, fields: list[tuple[int, int, int]]
    ) -> int: ...
    def text_column(
        reader: Any, number: int, data: bytes, start: int, stop: int, rows: int, most_bytes: int
    ) -> Column | None: ...

else:
    try:
        if os.environ.get("JELLY_PURE_PYTHON", "0") not in ("", "0"):
            raise ModuleNotFoundError("the Python codec runs")
        from ._native import ColumnWriter, enter_packed, find_fields, read_column, text_column
    except ModuleNotFoundError:
        from .column_writer import ColumnWriter

        def read_column(*_):
            return None

        def find_fields(*_):
            return None

        def enter_packed(*_):
            return 0

        def text_column(*_):
            return None


#: Whether the compiled module is used.
native: Final = ColumnWriter.__module__.endswith("._native")

__all__ = ["ColumnWriter", "enter_packed", "find_fields", "native", "read_column", "text_column"]
