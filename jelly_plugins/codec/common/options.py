"""What readers and writers of terms need to know of a stream's options, whatever the format."""

from __future__ import annotations

from typing import Protocol


class TermOptions(Protocol):
    """What terms need to know of a stream's options, whatever the format."""

    @property
    def generalized_statements(self) -> bool: ...
    @property
    def rdf_star(self) -> bool: ...
    @property
    def max_name_table_size(self) -> int: ...
    @property
    def max_prefix_table_size(self) -> int: ...
    @property
    def max_datatype_table_size(self) -> int: ...
