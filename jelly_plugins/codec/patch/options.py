"""Options of a Jelly-Patch stream, which are its first row.

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
    """The extent of one patch: a frame, the stream, or the rows up to punctuation."""

    FRAME = 1
    FLAT = 2
    PUNCTUATED = 3


#: The protocol version of Jelly-Patch 1.0.x.
PATCH_VERSION_1_0: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchOptions(CommonOptions):
    """Options of a Jelly-Patch stream (RdfPatchOptions).

    With ``version`` 0 the writer chooses the version.

    :raises OptionsError: a value has the wrong type, or is not a valid statement or stream type.

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
