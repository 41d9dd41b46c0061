"""Only this module chooses between the compiled and the interpreted form of the modules in pure
Python mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...lazy import pure_python

if TYPE_CHECKING:
    from .reading import ColumnReader, TextColumnReader, frame_fields
    from .writing import ColumnWriter
else:
    try:
        if pure_python():
            raise ModuleNotFoundError("the interpreted modules are chosen")
        from ._reading import ColumnReader, TextColumnReader, frame_fields
        from ._writing import ColumnWriter
    except ModuleNotFoundError:
        from .reading import ColumnReader, TextColumnReader, frame_fields
        from .writing import ColumnWriter

#: Whether the compiled modules are used.
native: Final = ColumnReader.__module__.endswith("._reading")

__all__ = ["ColumnReader", "ColumnWriter", "TextColumnReader", "frame_fields", "native"]
