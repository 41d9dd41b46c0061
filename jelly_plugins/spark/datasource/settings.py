"""The options of the formats, parsed from text. Names are case-insensitive.

Does not import Spark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias, TypeVar

from ...codec import DEFAULT_LIMITS
from ...codec.common.options import MIN_NAME_TABLE
from ...codec.common.positions import POSITIONS
from ...codec.text.ntriples import Dialect, LineParser, term_text
from ...errors import OptionsError, SourceError, TextError
from ...io.sinks import SUFFIXES
from .options import IN_CATALOG, of_option

if TYPE_CHECKING:
    from ..sharded.storage import Storage

#: Options for the quads of a version of a sharded store, and for the changes of its versions.
_OF_VERSIONS: Final = ("versionAsOf", "timestampAsOf", *POSITIONS)
_OF_CHANGES: Final = ("startingVersion", "endingVersion", "headers")

_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
#: Maximum of a signed 64-bit number, which Spark and commits use.
MOST_NUMBER: Final = (1 << 63) - 1
Choice = TypeVar("Choice", bound=Enum)

#: Conditions on the terms of rows, by name of the position: sets of texts, formatted as in the
#: columns. A term must equal one of them; empty text means the default graph.
Conditions: TypeAlias = Mapping[str, frozenset[str]]

#: Target size of a partition; a task takes about a second.
PARTITION_BYTES: Final = 32 << 20
#: Bytes between restart points; they add little to the size.
RESTART_EVERY: Final = 2 << 20
#: Cost of opening a file, in bytes read.
OPENING_BYTES: Final = 1 << 20

_SIZE: Final = re.compile(r"(\d+)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)


class Mode(Enum):
    """What to do with a corrupt file."""

    #: The query fails; the error has file and frame.
    FAILFAST = "FAILFAST"
    #: Rows before the error are kept; the error becomes a row or an error record.
    PERMISSIVE = "PERMISSIVE"


class Terms(Enum):
    """How columns represent terms."""

    #: As text of N-Triples.
    NTRIPLES = "ntriples"
    #: As structures of value, kind, datatype and language.
    SPLIT = "split"


class BlankNodes(Enum):
    """The scope of blank node labels in a DataFrame of several files."""

    #: All files: equal labels are one node.
    KEEP = "keep"
    #: The file: each file has its own nodes.
    FILE = "file"


def switch(options: Mapping[str, str], name: str, default: bool = False) -> bool:
    """Parse a Boolean option."""
    value = options.get(name)
    if value is None:
        return default
    if value.lower() not in ("true", "false"):
        raise OptionsError(f"option {name} must be 'true' or 'false' (got {value!r})")
    return value.lower() == "true"


def number(
    options: Mapping[str, str], name: str, least: int = 1, most: int = MOST_NUMBER
) -> int | None:
    """Parse an option that is a whole number."""
    value = options.get(name)
    if value is None:
        return None
    text = value.strip()
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        bounds = f"of at least {least}" if most == MOST_NUMBER else f"from {least} to {most}"
        raise OptionsError(f"option {name} must be a whole number {bounds} (got {value!r})")
    return int(text)


def size(options: Mapping[str, str], name: str, default: int, least: int = 1) -> int:
    """Parse an option that is a number of bytes: ``1048576``, ``1m``, ``1 MiB``."""
    value = options.get(name)
    if value is None:
        return default
    found = _SIZE.fullmatch(value.strip())
    if found is None or int(found[1]) < least:
        raise OptionsError(f"option {name} must be a size, such as '64m' (got {value!r})")
    return int(found[1]) * _UNITS[found[2].lower()]


def choice(options: Mapping[str, str], name: str, default: Choice) -> Choice:
    """Parse an option with a fixed set of values."""
    value = options.get(name)
    if value is None:
        return default
    for member in type(default):
        if str(member.value).lower() == value.lower():
            return member
    known = ", ".join(repr(member.value) for member in type(default))
    raise OptionsError(f"option {name} must be one of {known} (got {value!r})")


def _names(options: Mapping[str, str], name: str) -> tuple[str, ...] | None:
    """Parse an option that is a comma-separated list of names."""
    value = options.get(name)
    if value is None:
        return None
    return tuple(each.strip() for each in value.split(",") if each.strip())


def given_paths(options: Mapping[str, str]) -> list[str]:
    """Return the paths of a ``load()`` or ``save()``: Spark passes one as ``path``, several as
    JSON.

    :raises SourceError: no path is given.
    """
    several = options.get("paths")
    paths = [str(path) for path in json.loads(several)] if several else []
    if one := options.get("path"):
        paths.append(one)
    if not paths:
        raise SourceError(f"no path is given: load(path), or option('path', …). {IN_CATALOG}")
    return paths


def given_path(options: Mapping[str, str]) -> str:
    """Return the path of a ``load()`` or ``save()`` that takes one.

    :raises SourceError: no path is given.
    :raises OptionsError: several are given.
    """
    paths = given_paths(options)
    if len(paths) > 1:
        raise OptionsError(f"give one path (got {', '.join(paths)})")
    return paths[0]


def text(options: Mapping[str, str], name: str) -> str | None:
    """Parse an option that is text."""
    value = options.get(name)
    if value is not None:
        _check_text(name, value)
    return value


def _check_text(name: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise OptionsError(
            f"option {name} must not have half of a surrogate pair (got {value!r})"
        ) from None


def _json_object(options: Mapping[str, str], name: str) -> dict[str, Any]:
    """Parse an option that is a JSON object."""
    value = options.get(name)
    if value is None:
        return {}
    try:
        found = json.loads(value)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise OptionsError(f"option {name} must be a JSON object")
    return found


def metadata(options: Mapping[str, str]) -> dict[str, str]:
    """Parse the option ``metadata``: texts by name, as a JSON object."""
    found = _json_object(options, "metadata")
    for name, value in found.items():
        if not isinstance(value, str):
            raise OptionsError(
                f"option metadata must be a JSON object of strings (got {value!r} for {name!r})"
            )
        _check_text("metadata", name + value)
    return found


def storage_of(options: Mapping[str, str]) -> Storage:
    """Return the storage of a sharded store, with a root that other processes can use.

    :raises SourceError: no root is given.
    :raises RootError: the root is not valid.
    :raises OptionsError: the storage has no such settings; names the option.
    """
    # Importing it takes long.
    from ..sharded.storage import storage_at

    path, given = given_path(options), _json_object(options, "storageOptions")
    with of_option("storageOptions" if given else None):
        return storage_at(path, given or None).everywhere()


def conditions_of(options: Mapping[str, str]) -> Conditions:
    """Return the conditions of the options that are named after positions.

    Each value is a term of N-Triples, in any valid spelling.

    :raises OptionsError: a value is not a term; names the option.
    """
    given = ((name, options.get(name)) for name in POSITIONS)
    return {
        name: frozenset([_term(name, value.strip())]) for name, value in given if value is not None
    }


def _term(name: str, value: str) -> str:
    if not value and name == "graph":
        return value
    parser = LineParser(Dialect.RDF_STAR, True, True, DEFAULT_LIMITS, quads=True)
    try:
        return term_text(parser.term(value.encode(), POSITIONS.index(name)))
    except (TextError, UnicodeError) as error:
        raise OptionsError(
            f"option {name}: {value!r} is not a valid term of N-Triples, such as <http://example.org/>"
            f": {getattr(error, 'message', error)}"
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSettings:
    """How files are read.

    :ivar columns: names of the selected columns; None for all.
    :ivar conditions: conditions on rows.
    :ivar concatenated: whether options at the start of a frame start a new stream.
    :ivar source_columns: whether rows have their file and frame.
    :ivar corrupt_column: name of the column for errors, if they become rows; None otherwise.
    :ivar bad_records: folder for error records, if errors become records; None otherwise.
    :ivar pattern: glob pattern for the names of files inside folders.
    :ivar partition_bytes: target size of a partition.
    :ivar partition_columns: columns from the names of folders; None if such folders are an error.
    :ivar about: whether headers and ends of patches are rows too.
    :ivar most_files: maximum number of files in a batch of a stream; None for no maximum.
    :ivar storage: settings of the file system, as fsspec takes them.
    """

    terms: Terms = Terms.NTRIPLES
    columns: tuple[str, ...] | None = None
    conditions: Conditions = field(default_factory=dict)
    concatenated: bool = False
    source_columns: bool = False
    mode: Mode = Mode.FAILFAST
    corrupt_column: str | None = None
    bad_records: str | None = None
    pattern: str | None = None
    partition_bytes: int = PARTITION_BYTES
    blank_nodes: BlankNodes = BlankNodes.KEEP
    partition_columns: tuple[str, ...] | None = None
    about: bool = False
    most_files: int | None = None
    storage: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        """Parse options.

        :raises OptionsError: an option is invalid; names it.
        """
        mode = choice(options, "mode", Mode.FAILFAST)
        corrupt_column, bad_records = (
            options.get(name) for name in ("columnNameOfCorruptRecord", "badRecordsPath")
        )
        if mode is not Mode.PERMISSIVE:
            for name in ("columnNameOfCorruptRecord", "badRecordsPath"):
                if name in options:
                    raise OptionsError(f"option {name} requires mode PERMISSIVE")
        elif bad_records is None:
            corrupt_column = corrupt_column or "_corrupt_record"
        elif corrupt_column is not None:
            raise OptionsError(
                "give either option columnNameOfCorruptRecord or badRecordsPath, not both"
            )
        return cls(
            terms=choice(options, "terms", Terms.NTRIPLES),
            columns=_names(options, "columns"),
            conditions=conditions_of(options),
            concatenated=switch(options, "concatenated"),
            source_columns=switch(options, "sourceColumns"),
            mode=mode,
            corrupt_column=corrupt_column,
            bad_records=bad_records,
            pattern=options.get("pathGlobFilter"),
            partition_bytes=size(options, "maxPartitionBytes", PARTITION_BYTES),
            blank_nodes=choice(options, "blankNodes", BlankNodes.KEEP),
            partition_columns=_names(options, "partitionColumns"),
            about=switch(options, "headers"),
            most_files=number(options, "maxFilesPerTrigger"),
            storage=_json_object(options, "storageOptions"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """What is read of a sharded store.

    :ivar version: number of the version to read; None for the newest.
    :ivar timestamp: instead of a version, the time at which it was the newest.
    :ivar changes: whether to read the changes of versions instead.
    :ivar first: version after which the changes start.
    :ivar last: last version of the changes; None for the newest.
    """

    version: int | None = None
    timestamp: str | None = None
    changes: bool = False
    first: int = 0
    last: int | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        """Parse options.

        :raises OptionsError: an option is invalid, or does not apply; names it.
        """
        changes = switch(options, "readChangeFeed")
        for name in _OF_VERSIONS if changes else _OF_CHANGES:
            if name in options:
                raise OptionsError(
                    f"option {name} {'excludes' if changes else 'requires'} option readChangeFeed"
                )
        if "versionAsOf" in options and "timestampAsOf" in options:
            raise OptionsError("give either option versionAsOf or timestampAsOf, not both")
        first, last = (number(options, name, 0) for name in ("startingVersion", "endingVersion"))
        if first is not None and last is not None and last < first:
            raise OptionsError(
                f"option endingVersion ({last}) must not be less than startingVersion ({first})"
            )
        return cls(
            version=number(options, "versionAsOf", 0),
            timestamp=options.get("timestampAsOf"),
            changes=changes,
            first=max((first or 0) - 1, 0),
            last=last,
        )


class ShardKey(Enum):
    """The term that determines the shard of a quad."""

    SUBJECT = "subject"
    GRAPH = "graph"


class Compression(Enum):
    """Compressions; each value is also the suffix family of file names."""

    NONE = "none"
    GZIP = "gzip"
    BZ2 = "bz2"
    ZSTD = "zstd"


#: The sizes of lookups: by option, the name in the stream's options, and the bounds.
_TABLES: Final = {
    "maxNameTableSize": ("max_name_table_size", MIN_NAME_TABLE, DEFAULT_LIMITS.name_table),
    "maxPrefixTableSize": ("max_prefix_table_size", 0, DEFAULT_LIMITS.prefix_table),
    "maxDatatypeTableSize": ("max_datatype_table_size", 0, DEFAULT_LIMITS.datatype_table),
}
_SUFFIXES: Final = {each: ending for ending, each in SUFFIXES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSettings:
    """How files are written.

    :ivar compression: name of the compression, see ``sinks.compressed``; None for none.
    :ivar restart_every: bytes between restart points, at which several tasks can read a file; None
        for no restart points. Compressed files have none.
    :ivar tables: sizes of lookups that differ from the default, by name of the stream's option.
    """

    compression: str | None = None
    restart_every: int | None = RESTART_EVERY
    stream_name: str = ""
    quoted_triples: bool = False
    tables: Mapping[str, Any] = field(default_factory=dict)
    storage: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        """Parse options.

        :raises OptionsError: an option is invalid; names it.
        """
        compression = choice(options, "compression", Compression.NONE)
        packed = compression is not Compression.NONE
        return cls(
            compression=compression.value if packed else None,
            restart_every=None
            if packed
            else size(options, "restartEvery", RESTART_EVERY, 0) or None,
            stream_name=text(options, "streamName") or "",
            quoted_triples=switch(options, "quotedTriples"),
            tables={
                table: entries
                for name, (table, least, most) in _TABLES.items()
                if (entries := number(options, name, least, most)) is not None
            },
            storage=_json_object(options, "storageOptions"),
        )

    @property
    def suffix(self) -> str:
        """The suffix that the compression adds to file names."""
        return "" if self.compression is None else _SUFFIXES[self.compression]
