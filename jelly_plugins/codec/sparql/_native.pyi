"""The compiled half has the interface of its reference."""

from typing import Any

from ..text.columns import Column
from .layouts import pack as pack
from .layouts import squeeze as squeeze
from .values import Described as Described
from .values import describe_all as describe_all
from .values import iri_numbers as iri_numbers
from .values import joined as joined
from .values import packed_entries as packed_entries
from .values import written_terms as written_terms

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
