"""What the options of streams have in common, whatever the format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol, Self, TypeVar, cast

from ...errors import OptionsError
from .limits import Limits, over
from .wire import BYTES, VARINT, read_fields, read_string, string_field, uint32, varint_field

MIN_NAME_TABLE: Final = 8

TABLES: Final = ("max_name_table_size", "max_prefix_table_size", "max_datatype_table_size")
#: Options that are true or false.
FLAGS: Final = ("generalized_statements", "rdf_star")

#: Fields of options in every format, by their numbers.
COMMON_FIELDS: Final = {
    3: "generalized_statements",
    4: "rdf_star",
    9: "max_name_table_size",
    10: "max_prefix_table_size",
    11: "max_datatype_table_size",
    15: "version",
}

_STREAM_NAME: Final = "stream_name"

O = TypeVar("O")  # noqa: E741


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


class Presets:
    """Sizes of the three lookups under one name."""

    __slots__ = ()

    @classmethod
    def big(cls, **changes: Any) -> Self:
        """The usual preset of writers: tables of 4000 names, 150 prefixes, 32 datatypes."""
        return cls(**(_PRESETS["big"] | changes))

    @classmethod
    def small(cls, **changes: Any) -> Self:
        """Small tables for short streams and small machines: 128, 16, 16."""
        return cls(**(_PRESETS["small"] | changes))

    def changed(self, preset: str | None, changes: Mapping[str, Any]) -> Self:
        """The same options but for a preset's tables, and for those changes that are not None."""
        sizes = {} if preset is None else _PRESETS[preset]
        asked = {name: value for name, value in changes.items() if value is not None}
        return cast(Self, replace(cast(Any, self), **(sizes | asked)))


_PRESETS: Final[dict[str, dict[str, Any]]] = {
    "big": dict(zip(TABLES, (4000, 150, 32), strict=True)),
    "small": dict(zip(TABLES, (128, 16, 16), strict=True)),
}


def read_options(
    make: Callable[..., O],
    fields: Mapping[int, str],
    message: str,
    data: bytes,
    pos: int,
    end: int,
    limits: Limits,
) -> O:
    """Read the options of a stream, checking only their types.

    :param make: makes options of their values by name.
    :param fields: the names by the numbers of the fields.
    :param message: what the message is called.
    :raises WireError: malformed.
    :raises OptionsError: a type of the stream is not valid.
    """
    wire_types = {n: BYTES if name == _STREAM_NAME else VARINT for n, name in fields.items()}
    # What is absent on the wire is zero, not what a writer takes by default.
    found: dict[str, Any] = {
        name: False if name in FLAGS else 0 for name in fields.values() if name != _STREAM_NAME
    }
    for number, start, stop, value in read_fields(data, pos, end, wire_types, message):
        name = fields[number]
        if name == _STREAM_NAME:
            if stop - start > limits.string_bytes:
                raise over(limits, "string_bytes", stop - start, "the length of the stream name")
            found[name] = read_string(data, start, stop, "the stream name")
        elif name in FLAGS:
            found[name] = value != 0
        else:
            found[name] = uint32(value, f"{name} in the stream options")
    return make(**found)


def write_options(options: object, fields: Mapping[int, str]) -> bytes:
    """Write the options of a stream, without tag and length.

    :param fields: the names by the numbers of the fields.
    """
    named = ((number, getattr(options, name)) for number, name in sorted(fields.items()))
    return b"".join(
        string_field(number, value) if isinstance(value, str) else varint_field(number, value)
        for number, value in named
    )


def check_types(options: TermOptions) -> None:
    """Reject options that are not of their type, number or bool. The allowed numbers are checked by
    a stream.

    :raises OptionsError: there is such a value.
    """
    for name in (*TABLES, "version"):
        value = getattr(options, name)
        if not isinstance(value, int):
            raise OptionsError(f"{name} must be an integer (got {value!r})")
    for name in FLAGS:
        value = getattr(options, name)
        if not isinstance(value, bool):
            raise OptionsError(f"{name} must be True or False (got {value!r})")


def check_tables(options: TermOptions, limits: Limits, least: int = MIN_NAME_TABLE) -> None:
    """Reject lookup tables that are too small to be legal or larger than ``limits``.

    :param least: entries that a name table has at least.
    """
    if options.max_name_table_size < least:
        raise OptionsError(
            f"a name table of {options.max_name_table_size} entries is too small, "
            f"the minimum is {least}"
        )
    for size, limit, what in (
        (options.max_name_table_size, "name_table", "the name table's size"),
        (options.max_prefix_table_size, "prefix_table", "the prefix table's size"),
        (options.max_datatype_table_size, "datatype_table", "the datatype table's size"),
    ):
        if size < 0:
            raise OptionsError(f"{what} is negative")
        if size > getattr(limits, limit):
            raise over(limits, limit, size, what)
