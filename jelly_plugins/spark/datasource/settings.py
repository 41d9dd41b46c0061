"""The options of the formats, as users give them: text by name, in any case of letters.

Knows nothing of Spark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Self, TypeVar

from ...codec import StreamOptions
from ...errors import OptionsError
from ...io.sinks import SUFFIXES
from .conditions import Conditions, conditions_of

_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
Choice = TypeVar("Choice", bound=Enum)

#: About how much one task reads: a second's work or so.
PARTITION_BYTES: Final = 32 << 20
#: Bytes after which files can be read from, at little cost in size.
RESTART_EVERY: Final = 2 << 20
#: What it takes to open a file, in bytes read.
OPENING_BYTES: Final = 1 << 20

_SIZE: Final = re.compile(r"(\d+)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)


class Mode(Enum):
    """What becomes of a file that is corrupt."""

    #: The query fails, with file and frame.
    FAILFAST = "FAILFAST"
    #: What was read before stays, and the error becomes a row or a record of bad input.
    PERMISSIVE = "PERMISSIVE"


class Terms(Enum):
    """How terms stand in the columns."""

    #: As N-Triples has them.
    NTRIPLES = "ntriples"
    #: As structures of value, kind, datatype and language.
    SPLIT = "split"


class BlankNodes(Enum):
    """What labels of blank nodes mean in a DataFrame of several files."""

    #: Equal labels are one node.
    KEEP = "keep"
    #: A node of each file is its own.
    FILE = "file"


def switch(options: Mapping[str, str], name: str, default: bool = False) -> bool:
    """An option that is true or false."""
    value = options.get(name)
    if value is None:
        return default
    if value.lower() not in ("true", "false"):
        raise OptionsError(f"option {name}: {value!r} is neither 'true' nor 'false'")
    return value.lower() == "true"


def number(options: Mapping[str, str], name: str, default: int, least: int = 1) -> int:
    """An option that is a whole number."""
    value = options.get(name)
    if value is None:
        return default
    if not value.strip().isascii() or not value.strip().isdigit() or int(value) < least:
        raise OptionsError(f"option {name}: {value!r} is not a whole number of at least {least}")
    return int(value)


def size(options: Mapping[str, str], name: str, default: int, least: int = 1) -> int:
    """An option that is a number of bytes: ``1048576``, ``1m``, ``1 MiB``."""
    value = options.get(name)
    if value is None:
        return default
    found = _SIZE.fullmatch(value.strip())
    if found is None or int(found[1]) < least:
        raise OptionsError(f"option {name}: {value!r} is not a valid size, such as '64m'")
    return int(found[1]) * _UNITS[found[2].lower()]


def choice(options: Mapping[str, str], name: str, default: Choice) -> Choice:
    """An option that is one of a few words."""
    value = options.get(name)
    if value is None:
        return default
    for member in type(default):
        if str(member.value).lower() == value.lower():
            return member
    known = ", ".join(repr(member.value) for member in type(default))
    raise OptionsError(f"option {name}: {value!r} is not one of {known}")


def _names(options: Mapping[str, str], name: str) -> tuple[str, ...] | None:
    """An option that is names, with commas between them."""
    value = options.get(name)
    if value is None:
        return None
    return tuple(each.strip() for each in value.split(",") if each.strip())


def storage(options: Mapping[str, str]) -> dict[str, Any]:
    """The option ``storageOptions``: settings of the file system, as a JSON object."""
    value = options.get("storageOptions")
    if value is None:
        return {}
    try:
        found = json.loads(value)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise OptionsError("option storageOptions is not a JSON object")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSettings:
    """How files are read.

    :ivar columns: names of those that are asked for; None for all.
    :ivar conditions: that rows have to meet.
    :ivar source_columns: whether rows say which file and frame they come from.
    :ivar corrupt_column: name of the column for errors, where they become rows; None elsewhere.
    :ivar bad_records: folder for errors, where they become records there; None elsewhere.
    :ivar pattern: what names of files have to match, inside folders.
    :ivar partition_bytes: about how much one task reads.
    :ivar partition_columns: columns that folders' names give; None if there may be none such.
    :ivar about: whether headers and ends of patches are rows too.
    :ivar growing: whether files of a stream may get longer.
    :ivar most_files: files that a batch of a stream takes; None for as many as there are.
    """

    terms: Terms = Terms.NTRIPLES
    columns: tuple[str, ...] | None = None
    conditions: Conditions = field(default_factory=dict)
    source_columns: bool = False
    mode: Mode = Mode.FAILFAST
    corrupt_column: str | None = None
    bad_records: str | None = None
    pattern: str | None = None
    partition_bytes: int = PARTITION_BYTES
    blank_nodes: BlankNodes = BlankNodes.KEEP
    partition_columns: tuple[str, ...] | None = None
    about: bool = False
    growing: bool = False
    most_files: int | None = None
    storage: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        """The settings that options ask for.

        :raises OptionsError: with the option.
        """
        mode = choice(options, "mode", Mode.FAILFAST)
        bad_records = options.get("badRecordsPath")
        if bad_records is not None and mode is not Mode.PERMISSIVE:
            raise OptionsError("option badRecordsPath goes with mode PERMISSIVE")
        corrupt = None
        if mode is Mode.PERMISSIVE and bad_records is None:
            corrupt = options.get("columnNameOfCorruptRecord", "_corrupt_record")
        return cls(
            terms=choice(options, "terms", Terms.NTRIPLES),
            columns=_names(options, "columns"),
            conditions=conditions_of(options),
            source_columns=switch(options, "sourceColumns"),
            mode=mode,
            corrupt_column=corrupt,
            bad_records=bad_records,
            pattern=options.get("pathGlobFilter"),
            partition_bytes=size(options, "maxPartitionBytes", PARTITION_BYTES),
            blank_nodes=choice(options, "blankNodes", BlankNodes.KEEP),
            partition_columns=_names(options, "partitionColumns"),
            about=switch(options, "headers"),
            growing=switch(options, "growing"),
            most_files=number(options, "maxFilesPerTrigger", 0) or None,
            storage=storage(options),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesSettings:
    """Which changes of a sharded store are read.

    :ivar root: the store's.
    :ivar first: the version behind which changes are read.
    :ivar last: the last version whose changes are read; None for the newest.
    :ivar storage: settings of the root's bucket; None where none are given.
    """

    root: str
    first: int = 0
    last: int | None = None
    storage: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        """The settings that options ask for, of which ``root`` is one.

        :raises OptionsError: with the option.
        """
        last = number(options, "to_version", -1, 0)
        return cls(
            root=options["root"],
            first=number(options, "from_version", 0, 0),
            last=None if last < 0 else last,
            storage=storage(options) or None,
        )


class Compression(Enum):
    """How files are compressed, by the ending of their names."""

    NONE = "none"
    GZIP = "gzip"
    BZ2 = "bz2"
    ZSTD = "zstd"


_SUFFIXES: Final = {each: ending for ending, each in SUFFIXES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSettings:
    """How files are written.

    :ivar compression: as ``sinks.compressed`` has it.
    :ivar restart_every: bytes after which a file has a restart point, so that several tasks can
        read it; None for none. A compressed file has no use for them.
    """

    compression: str | None = None
    restart_every: int | None = RESTART_EVERY
    stream_name: str = ""
    quoted_triples: bool = False
    name_table: int = 4000
    prefix_table: int = 150
    datatype_table: int = 32
    storage: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        """The settings that options ask for.

        :raises OptionsError: with the option.
        """
        compression = choice(options, "compression", Compression.NONE)
        packed = compression is not Compression.NONE
        defaults = StreamOptions()
        return cls(
            compression=compression.value if packed else None,
            restart_every=None
            if packed
            else size(options, "restartEvery", RESTART_EVERY, 0) or None,
            stream_name=options.get("streamName", ""),
            quoted_triples=switch(options, "quotedTriples"),
            name_table=number(options, "maxNameTableSize", defaults.max_name_table_size, 0),
            prefix_table=number(options, "maxPrefixTableSize", defaults.max_prefix_table_size, 0),
            datatype_table=number(
                options, "maxDatatypeTableSize", defaults.max_datatype_table_size, 0
            ),
            storage=storage(options),
        )

    @property
    def suffix(self) -> str:
        """What a compression adds to a file's name."""
        return "" if self.compression is None else _SUFFIXES[self.compression]
