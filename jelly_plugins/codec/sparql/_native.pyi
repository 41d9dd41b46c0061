"""The compiled half has the interface of its reference."""

from typing import Any

from .layouts import described as described
from .layouts import joined as joined
from .layouts import pack as pack
from .layouts import squeeze as squeeze

def read_column(
    reader: Any, number: int, data: bytes, start: int, stop: int, rows: int
) -> list[Any] | None: ...
def enter_packed(reader: Any, prefixes: bool, data: bytes, start: int, stop: int) -> bool: ...
