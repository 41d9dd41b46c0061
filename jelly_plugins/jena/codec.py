"""The codec of rows: which of the two kernels runs is chosen here and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..codec import native as _native_codec

if TYPE_CHECKING:
    from .reader import RowDecoder
    from .rows import RowWriter, StatementReader
    from .text import LineEncoder, RowTextDecoder
    from .writer import RowEncoder
else:
    try:
        if not _native_codec:
            raise ModuleNotFoundError("the Python codec runs")
        from ._native import LineEncoder, RowDecoder, RowEncoder, RowTextDecoder
        from ._rows import RowWriter, StatementReader
    except ModuleNotFoundError:
        from .reader import RowDecoder
        from .rows import RowWriter, StatementReader
        from .text import LineEncoder, RowTextDecoder
        from .writer import RowEncoder

#: Whether the compiled kernel runs.
native: Final = RowDecoder.__module__.endswith("._native")

__all__ = [
    "LineEncoder",
    "RowDecoder",
    "RowEncoder",
    "RowTextDecoder",
    "RowWriter",
    "StatementReader",
    "native",
]
