"""Whether columns are read and written by the compiled module is decided here and nowhere else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ..text.columns import Column
    from .layouts import pack, squeeze
    from .values import Described, describe_all, iri_numbers, joined, packed_entries, written_terms

    def read_column(
        reader: Any, number: int, data: bytes, start: int, stop: int, rows: int
    ) -> list[Any] | None: ...
    def find_fields(
        data: bytes, start: int, stop: int, known: dict[int, int], repeated: frozenset[int]
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
            raise ImportError("the Python codec runs")
        from ._native import (
            Described,
            describe_all,
            enter_packed,
            find_fields,
            iri_numbers,
            joined,
            pack,
            packed_entries,
            read_column,
            squeeze,
            text_column,
            written_terms,
        )
    except ImportError:
        from .layouts import pack, squeeze
        from .values import (
            Described,
            describe_all,
            iri_numbers,
            joined,
            packed_entries,
            written_terms,
        )

        def read_column(*_):
            return None

        def find_fields(*_):
            return None

        def enter_packed(*_):
            return 0

        def text_column(*_):
            return None


#: Whether the compiled module is used.
native: Final = squeeze.__module__.endswith("._native")

__all__ = [
    "Described",
    "describe_all",
    "enter_packed",
    "find_fields",
    "iri_numbers",
    "joined",
    "native",
    "pack",
    "packed_entries",
    "read_column",
    "squeeze",
    "text_column",
    "written_terms",
]
