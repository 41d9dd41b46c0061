"""Stream options, which are the first row of every stream: those that all formats share, and those
of Jelly-RDF.

Reference: RdfStreamOptions in rdf.proto; Jelly-RDF specification, section "Stream options".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import Any, ClassVar, Final, Self, TypeVar

from ...errors import OptionsError, shown
from .limits import Limits, over
from .wire import (
    BYTES,
    MAX_UINT32,
    VARINT,
    read_fields,
    read_string,
    string_field,
    uint32,
    varint_field,
)

#: Minimum size of a name table, unless a format requires another.
MIN_NAME_TABLE: Final = 8

#: Fields of the options that all formats share, by number.
COMMON_FIELDS: Final = {
    9: "max_name_table_size",
    10: "max_prefix_table_size",
    11: "max_datatype_table_size",
    15: "version",
}
#: Boolean fields of the options.
FLAG_FIELDS: Final = {3: "generalized_statements", 4: "rdf_star"}

#: Boolean options.
FLAGS: Final = tuple(FLAG_FIELDS.values())
TABLES: Final = ("max_name_table_size", "max_prefix_table_size", "max_datatype_table_size")
_TABLE_LIMITS: Final = dict(
    zip(TABLES, ("name_table", "prefix_table", "datatype_table"), strict=True)
)
_STREAM_NAME: Final = "stream_name"


EnumT = TypeVar("EnumT", bound=Enum)


def member(kind: type[EnumT], given: EnumT | str, parameter: str) -> EnumT:
    """The member of an enumeration that a parameter names.

    :param given: a member, the name of one, or its value if that is text; in any case, with
        hyphens or underscores.

    >>> class Color(Enum):
    ...     DARK_RED = "Red"
    >>> member(Color, "dark-red", "color"), member(Color, "red", "color")
    (<Color.DARK_RED: 'Red'>, <Color.DARK_RED: 'Red'>)
    >>> member(Color, "blue", "color")
    Traceback (most recent call last):
    jelly_plugins.errors.OptionsError: color must be one of dark-red (got 'blue')
    """
    if isinstance(given, kind):
        return given
    if isinstance(given, str):
        name = re.sub("[-. ]", "_", given.casefold())
        for each in kind:
            value = each.value
            if name == each.name.casefold() or (
                isinstance(value, str) and given.casefold() == value.casefold()
            ):
                return each
    known = ", ".join(name.lower().replace("_", "-") for name in kind.__members__)
    raise OptionsError(f"{parameter} must be one of {known} (got {shown(given)})")


def presets(big: tuple[int, int, int], small: tuple[int, int, int]) -> dict[str, dict[str, Any]]:
    """Map the names of the presets to the sizes of the three tables."""
    return {
        "big": dict(zip(TABLES, big, strict=True)),
        "small": dict(zip(TABLES, small, strict=True)),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """Options shared by the streams of every format, as terms require them.

    A format adds its own options, and sets these:

    :cvar _message: the name of the message.
    :cvar _fields: the names of its fields by number.
    :cvar _enums: the types of its enumerated fields.
    :cvar _of_format: the name of the format in errors.
    :cvar _last_version: the highest version of its protocol.
    :cvar _least_names: the minimum size of a name table.
    :cvar _presets: the sizes of tables by the names of presets.
    """

    _message: ClassVar[str]
    _fields: ClassVar[Mapping[int, str]]
    _enums: ClassVar[Mapping[str, type[IntEnum]]] = {}
    _of_format: ClassVar[str] = ""
    _last_version: ClassVar[int]
    _least_names: ClassVar[int] = MIN_NAME_TABLE
    _presets: ClassVar = presets((4000, 150, 32), (128, 16, 16))

    generalized_statements: bool = False
    rdf_star: bool = False
    max_name_table_size: int = 4000
    max_prefix_table_size: int = 150
    max_datatype_table_size: int = 32
    version: int = 0

    def __post_init__(self) -> None:
        # Streams check the ranges.
        for name in COMMON_FIELDS.values():
            value = getattr(self, name)
            if not isinstance(value, int):
                raise OptionsError(f"{name} must be an integer (got {value!r})")
        for name in FLAGS:
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise OptionsError(f"{name} must be True or False (got {value!r})")
        for name, kind in self._enums.items():
            value = getattr(self, name)
            if isinstance(value, str):
                value = member(kind, value, name)
            try:
                object.__setattr__(self, name, kind(value))
            except ValueError:
                known = ", ".join(each.lower().replace("_", "-") for each in kind.__members__)
                raise OptionsError(
                    f"{name.replace('_', ' ')} {value} is not valid: it is one of {known}"
                ) from None

    @classmethod
    def big(cls, **changes: Any) -> Self:
        """The usual preset of writers: tables of 4000 names, 150 prefixes, 32 datatypes; for query
        results 8192, 1024, 64."""
        return cls(**(cls._presets["big"] | changes))

    @classmethod
    def small(cls, **changes: Any) -> Self:
        """Small tables for short streams and small machines: 128, 16, 16; for query results 256,
        64, 32."""
        return cls(**(cls._presets["small"] | changes))

    def changed(self, preset: str | None, changes: Mapping[str, Any]) -> Self:
        """Return these options with the tables of a preset and with those changes that are not
        None.
        """
        sizes = {} if preset is None else self._presets[preset]
        asked = {name: value for name, value in changes.items() if value is not None}
        return replace(self, **(sizes | asked))

    def check(self, limits: Limits) -> None:
        """Reject invalid options, and tables above ``limits``.

        :raises OptionsError: they are inconsistent or unsupported.
        :raises LimitError: a table is larger than allowed.
        """
        if self.version < 1:
            raise OptionsError("protocol version 0 is not valid")
        if self.version > self._last_version:
            raise OptionsError(
                f"protocol version {self.version}{self._of_format} is not supported, "
                f"at most {self._last_version} is"
            )
        if self.max_name_table_size < self._least_names:
            raise OptionsError(
                f"a name table of {self.max_name_table_size} entries is too small, "
                f"the minimum is {self._least_names}"
            )
        for name, limit in _TABLE_LIMITS.items():
            size = getattr(self, name)
            what = f"the {limit.replace('_', ' ')}'s size"
            if size < 0:
                raise OptionsError(f"{what} is negative")
            if size > getattr(limits, limit):
                raise over(limits, limit, size, what)


OptionsT = TypeVar("OptionsT", bound=CommonOptions)


def read_options(kind: type[OptionsT], data: bytes, pos: int, end: int, limits: Limits) -> OptionsT:
    """Read the options of a stream and check their types only."""
    fields = kind._fields
    wire_types: dict[int, int] = {}
    # A field that is absent on the wire is zero, not a writer's default.
    found: dict[str, Any] = {}
    for number, name in fields.items():
        if name == _STREAM_NAME:
            wire_types[number], found[name] = BYTES, ""
        else:
            wire_types[number], found[name] = VARINT, False if name in FLAGS else 0
    for number, start, stop, value in read_fields(data, pos, end, wire_types, kind._message):
        name = fields[number]
        if name == _STREAM_NAME:
            if stop - start > limits.string_bytes:
                raise over(limits, "string_bytes", stop - start, "the length of the stream name")
            found[name] = read_string(data, start, stop, "the stream name")
        elif name in FLAGS:
            found[name] = value != 0
        else:
            found[name] = uint32(value, f"{name} in the stream options")
    return kind(**found)


def write_options(options: CommonOptions) -> bytes:
    """Write the options of a stream, without tag and length."""
    written = b""
    for number, name in sorted(options._fields.items()):
        value = getattr(options, name)
        is_text = isinstance(value, str)
        written += string_field(number, value) if is_text else varint_field(number, value)
    return written


# Jelly-RDF


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
