"""The codec of rows. Only this module chooses its form, compiled or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..codec import native as _native_codec

if TYPE_CHECKING:
    from .rows import Message, RowReader, RowWriter, StatementReader
else:
    try:
        if not _native_codec:
            raise ModuleNotFoundError("the Python codec runs")
        from ._rows import Message, RowReader, RowWriter, StatementReader
    except ModuleNotFoundError:
        from .rows import Message, RowReader, RowWriter, StatementReader

#: Whether the compiled form runs.
native: Final = RowWriter.__module__.endswith("._rows")

__all__ = ["Message", "RowReader", "RowWriter", "StatementReader", "native"]
