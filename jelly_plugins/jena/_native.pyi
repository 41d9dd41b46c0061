"""The compiled kernel has the interface of its reference."""

from typing import Final

from .reader import RowDecoder as RowDecoder
from .text import LineEncoder as LineEncoder
from .text import RowTextDecoder as RowTextDecoder
from .writer import RowEncoder as RowEncoder

poisoned: Final[bool]
