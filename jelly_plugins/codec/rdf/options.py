"""Stream options, which are the first row of every stream.

Reference: RdfStreamOptions in rdf.proto; Jelly-RDF specification, section "Stream options".
Jelly-Patch has its own options, which share the table sizes and the features.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Final, Self

from ...errors import OptionsError
from ..common.limits import Limits
from ..common.options import COMMON_FIELDS, FLAG_FIELDS, CommonOptions
from ..common.wire import MAX_UINT32


class PhysicalType(IntEnum):
    """How statements are encoded (PhysicalStreamType)."""

    TRIPLES = 1
    QUADS = 2
    GRAPHS = 3

    @property
    def flat(self) -> LogicalType:
        """The logical type of a flat stream of this physical type."""
        triples = self is PhysicalType.TRIPLES
        return LogicalType.FLAT_TRIPLES if triples else LogicalType.FLAT_QUADS


class LogicalType(IntEnum):
    """The elements of the stream, according to RDF-STaX (LogicalStreamType). The last decimal digit
    is the base type; unknown types are treated as their base type.
    """

    UNSPECIFIED = 0
    FLAT_TRIPLES = 1
    FLAT_QUADS = 2
    GRAPHS = 3
    DATASETS = 4
    SUBJECT_GRAPHS = 13
    NAMED_GRAPHS = 14
    TIMESTAMPED_NAMED_GRAPHS = 114


_LOGICAL_TYPES: Final = frozenset(LogicalType)

#: Base logical types that are consistent with each physical type.
CONSISTENT: Final[dict[PhysicalType, frozenset[int]]] = {
    PhysicalType.TRIPLES: frozenset({LogicalType.FLAT_TRIPLES, LogicalType.GRAPHS}),
    PhysicalType.QUADS: frozenset({LogicalType.FLAT_QUADS, LogicalType.DATASETS}),
    PhysicalType.GRAPHS: frozenset({LogicalType.FLAT_QUADS, LogicalType.DATASETS}),
}

#: Base logical types whose frames are the elements (graphs or datasets).
GROUPED: Final = frozenset({LogicalType.GRAPHS, LogicalType.DATASETS})

#: Protocol versions of Jelly-RDF: 1 is 1.0.x, 2 is 1.1.x (namespace declarations).
VERSION_1_0: Final = 1
VERSION_1_1: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions(CommonOptions):
    """Options of a Jelly-RDF stream (RdfStreamOptions).

    With ``version`` 0 the writer chooses the lowest suitable version.

    :raises OptionsError: a value has the wrong type, or is not a physical type.

    >>> StreamOptions(physical_type=PhysicalType.QUADS).grouped
    False
    """

    _message = "RdfStreamOptions"
    _fields: ClassVar = {
        1: "stream_name",
        2: "physical_type",
        14: "logical_type",
        **FLAG_FIELDS,
        **COMMON_FIELDS,
    }
    _enums: ClassVar = {"physical_type": PhysicalType}
    _last_version = VERSION_1_1

    physical_type: PhysicalType = PhysicalType.TRIPLES
    logical_type: int = LogicalType.UNSPECIFIED
    stream_name: str = ""

    def __post_init__(self) -> None:
        CommonOptions.__post_init__(self)
        if not isinstance(self.logical_type, int):
            raise OptionsError(f"logical_type must be an integer (got {self.logical_type!r})")
        if self.logical_type in _LOGICAL_TYPES:
            object.__setattr__(self, "logical_type", LogicalType(self.logical_type))

    @classmethod
    def flat(cls, physical_type: PhysicalType, **changes: Any) -> Self:
        """Make the options of a flat stream."""
        return cls(physical_type=physical_type, logical_type=physical_type.flat, **changes)

    @property
    def base_logical_type(self) -> int:
        """The base of the logical type; 0 if it is unspecified."""
        return self.logical_type % 10

    @property
    def grouped(self) -> bool:
        """Whether each frame is one element of the stream. A writer may then have used each frame
        as the scope of its blank node labels.
        """
        return self.base_logical_type in GROUPED

    def check(self, limits: Limits) -> None:
        self.check_consistency()
        CommonOptions.check(self, limits)

    @property
    def has_namespaces(self) -> bool:
        """Whether the protocol version supports namespace declarations."""
        return self.version >= VERSION_1_1

    def check_namespaces(self) -> None:
        """Reject namespace declarations in a stream whose version does not support them.

        :raises OptionsError: the version is too low.
        """
        if not self.has_namespaces:
            raise OptionsError(
                f"namespace declarations need protocol version {VERSION_1_1}, "
                f"the stream has {self.version}"
            )

    def check_consistency(self) -> None:
        """Reject a logical type that does not match the physical type.

        :raises OptionsError: the types are inconsistent.
        """
        if not 0 <= self.logical_type <= MAX_UINT32:
            raise OptionsError(f"logical type {self.logical_type} is not valid")
        if self.logical_type and self.base_logical_type not in CONSISTENT[self.physical_type]:
            raise OptionsError(
                f"logical type {logical_name(self.logical_type)} does not match "
                f"physical type {self.physical_type.name}"
            )


def logical_name(logical_type: int) -> str:
    """Return the name of a logical type, or its number if it is unknown."""
    try:
        return LogicalType(logical_type).name
    except ValueError:
        return str(logical_type)
