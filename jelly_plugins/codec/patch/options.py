"""Options of a Jelly-Patch stream: its first row, and what a reader or writer makes of it.

Reference: RdfPatchOptions in patch.proto; Jelly-Patch specification, section "Patch stream
options".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from ...errors import OptionsError
from ..common.limits import Limits
from ..common.options import COMMON_FIELDS, Presets, check_tables, check_types


class PatchStatementType(IntEnum):
    """Whether statements are triples or quads."""

    TRIPLES = 1
    QUADS = 2


class PatchStreamType(IntEnum):
    """What one patch is: a frame, the whole stream, or the rows between two marks."""

    FRAME = 1
    FLAT = 2
    PUNCTUATED = 3


#: The protocol version of Jelly-Patch 1.0.x.
PATCH_VERSION_1_0: Final = 1

#: Fields of RdfPatchOptions, by their numbers.
OPTIONS_FIELDS: Final = {
    1: "statement_type",
    2: "stream_type",
    **COMMON_FIELDS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchOptions(Presets):
    """Options of a Jelly-Patch stream (RdfPatchOptions).

    ``version`` 0 lets the writer choose.

    :raises OptionsError: a value is not of its type, or no type of statements or streams.

    >>> PatchOptions(stream_type=PatchStreamType.FLAT).statement_type.name
    'QUADS'
    """

    statement_type: PatchStatementType = PatchStatementType.QUADS
    stream_type: PatchStreamType = PatchStreamType.PUNCTUATED
    generalized_statements: bool = False
    rdf_star: bool = False
    max_name_table_size: int = 4000
    max_prefix_table_size: int = 150
    max_datatype_table_size: int = 32
    version: int = 0

    def __post_init__(self) -> None:
        check_types(self)
        for name, kind in (
            ("statement_type", PatchStatementType),
            ("stream_type", PatchStreamType),
        ):
            value = getattr(self, name)
            try:
                object.__setattr__(self, name, kind(value))
            except ValueError:
                raise OptionsError(f"{name.replace('_', ' ')} {value} is not valid") from None

    def check(self, limits: Limits) -> None:
        """Reject options that no stream may have, and tables above ``limits``.

        :raises OptionsError: they are not supported.
        :raises LimitError: a table is larger than allowed.
        """
        if self.version < 1:
            raise OptionsError("protocol version 0 is not valid")
        if self.version > PATCH_VERSION_1_0:
            raise OptionsError(
                f"protocol version {self.version} of Jelly-Patch is not supported, "
                f"at most {PATCH_VERSION_1_0} is"
            )
        check_tables(self, limits)
