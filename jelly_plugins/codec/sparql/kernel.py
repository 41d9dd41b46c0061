"""Whether columns are read and written by the compiled module is decided here and nowhere else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .layouts import described, joined, pack, squeeze

    def read_column(
        reader: Any, number: int, data: bytes, start: int, stop: int, rows: int
    ) -> list[Any] | None: ...
    def enter_packed(reader: Any, prefixes: bool, data: bytes, start: int, stop: int) -> bool: ...

else:
    try:
        if os.environ.get("JELLY_PURE_PYTHON", "0") not in ("", "0"):
            raise ImportError("the Python codec runs")
        from ._native import described, enter_packed, joined, pack, read_column, squeeze
    except ImportError:
        from .layouts import described, joined, pack, squeeze

        def read_column(*_):
            return None

        def enter_packed(*_):
            return False


#: Whether the compiled module is used.
native: Final = squeeze.__module__.endswith("._native")

__all__ = ["described", "enter_packed", "joined", "native", "pack", "read_column", "squeeze"]
