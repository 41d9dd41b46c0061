"""Options of a Jelly-Patch stream: its first row, and what a reader or writer makes of it.

Reference: RdfPatchOptions in patch.proto; Jelly-Patch specification, section "Patch stream
options".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Final

from ..common.options import COMMON_FIELDS, FLAG_FIELDS, CommonOptions


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchOptions(CommonOptions):
    """Options of a Jelly-Patch stream (RdfPatchOptions).

    ``version`` 0 lets the writer choose.

    :raises OptionsError: a value is not of its type, or no type of statements or streams.

    >>> PatchOptions(stream_type=PatchStreamType.FLAT).statement_type.name
    'QUADS'
    """

    _message = "RdfPatchOptions"
    _fields: ClassVar = {1: "statement_type", 2: "stream_type", **FLAG_FIELDS, **COMMON_FIELDS}
    _enums: ClassVar = {"statement_type": PatchStatementType, "stream_type": PatchStreamType}
    _of_format = " of Jelly-Patch"
    _last_version = PATCH_VERSION_1_0

    statement_type: PatchStatementType = PatchStatementType.QUADS
    stream_type: PatchStreamType = PatchStreamType.PUNCTUATED
