"""The options of the formats, parsed from text. Names are case-insensitive.

Does not import Spark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Self, TypeVar

from ...codec import StreamOptions
from ...codec.common.positions import POSITIONS
from ...errors import OptionsError, SourceError
from ...io.sinks import SUFFIXES
from .conditions import Conditions, conditions_of
from .options import IN_CATALOG

#: Options for the quads of a version of a sharded store, and for the changes of its versions.
_OF_VERSIONS: Final = ("versionAsOf", "timestampAsOf", *POSITIONS)
_OF_CHANGES: Final = ("startingVersion", "endingVersion", "headers")

_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
Choice = TypeVar("Choice", bound=Enum)

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


def number(options: Mapping[str, str], name: str, default: int, least: int = 1) -> int:
    """Parse an option that is a whole number."""
    value = options.get(name)
    if value is None:
        return default
    if not value.strip().isascii() or not value.strip().isdigit() or int(value) < least:
        raise OptionsError(
            f"option {name} must be a whole number of at least {least} (got {value!r})"
        )
    return int(value)


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


def storage(options: Mapping[str, str]) -> dict[str, Any]:
    """Parse the option ``storageOptions``: settings of the file system, as a JSON object."""
    return _json_object(options, "storageOptions")


def _metadata(options: Mapping[str, str]) -> dict[str, str]:
    """Parse the option ``metadata``: texts by name, as a JSON object."""
    found = _json_object(options, "metadata")
    for name, value in found.items():
        if not isinstance(value, str):
            raise OptionsError(
                f"option metadata must be a JSON object of strings (got {value!r} for {name!r})"
            )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSettings:
    """How files are read.

    :ivar columns: names of the selected columns; None for all.
    :ivar conditions: conditions on rows.
    :ivar source_columns: whether rows have their file and frame.
    :ivar corrupt_column: name of the column for errors, if they become rows; None otherwise.
    :ivar bad_records: folder for error records, if errors become records; None otherwise.
    :ivar pattern: glob pattern for the names of files inside folders.
    :ivar partition_bytes: target size of a partition.
    :ivar partition_columns: columns from the names of folders; None if such folders are an error.
    :ivar about: whether headers and ends of patches are rows too.
    :ivar growing: whether files of a stream may grow.
    :ivar most_files: maximum number of files in a batch of a stream; None for no maximum.
    :ivar storage: settings of the file system, as fsspec takes them.
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
        """Parse options.

        :raises OptionsError: an option is invalid; names it.
        """
        mode = choice(options, "mode", Mode.FAILFAST)
        bad_records = options.get("badRecordsPath")
        if bad_records is not None and mode is not Mode.PERMISSIVE:
            raise OptionsError("option badRecordsPath requires mode PERMISSIVE")
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
class StoreSettings:
    """What is read of a sharded store.

    :ivar root: root of the store.
    :ivar version: number of the version to read; None for the newest.
    :ivar timestamp: instead of a version, the time at which it was the newest.
    :ivar changes: whether to read the changes of versions instead.
    :ivar first: version after which the changes start.
    :ivar last: last version of the changes; None for the newest.
    :ivar storage: settings of the root's bucket; None if none are given.
    """

    root: str
    version: int | None = None
    timestamp: str | None = None
    changes: bool = False
    first: int = 0
    last: int | None = None
    storage: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        """Parse options.

        :raises OptionsError: an option is invalid, or does not apply; names it.
        :raises SourceError: no root is given.
        """
        changes = switch(options, "readChangeFeed")
        for name in _OF_VERSIONS if changes else _OF_CHANGES:
            if name in options:
                raise OptionsError(
                    f"option {name} {'excludes' if changes else 'requires'} option readChangeFeed"
                )
        if "versionAsOf" in options and "timestampAsOf" in options:
            raise OptionsError("give either option versionAsOf or timestampAsOf, not both")
        first, last, version = (
            number(options, name, -1, 0)
            for name in ("startingVersion", "endingVersion", "versionAsOf")
        )
        if 0 <= last < first:
            raise OptionsError(
                f"option endingVersion ({last}) must not be less than startingVersion ({first})"
            )
        return cls(
            root=given_path(options),
            version=None if version < 0 else version,
            timestamp=options.get("timestampAsOf"),
            changes=changes,
            first=max(first - 1, 0),
            last=None if last < 0 else last,
            storage=storage(options) or None,
        )


class ShardKey(Enum):
    """The term that determines the shard of a quad."""

    SUBJECT = "subject"
    GRAPH = "graph"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreWriteSettings:
    """How statements are written to a sharded store.

    :ivar root: root of the store.
    :ivar shards: number of shards of a new store; None for the default.
    :ivar shard_by: the term that determines the shard of a quad in a new store; None for the
        default.
    :ivar application: name of the program that numbers its writes.
    :ivar batch: number of the write.
    :ivar metadata: description of the version.
    :ivar create: whether to create the store if it does not exist.
    :ivar retries: how often to retry if another writer commits a version meanwhile.
    :ivar processes: maximum number of processes that write shards; None for one per processor.
    :ivar storage: settings of the root's bucket; None if none are given.
    """

    root: str
    shards: int | None = None
    shard_by: ShardKey | None = None
    application: str | None = None
    batch: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    create: bool = True
    retries: int | None = None
    processes: int | None = None
    storage: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        """Parse options.

        :raises OptionsError: an option is invalid, or requires another one; names it.
        :raises SourceError: no root is given.
        """
        root = given_path(options)
        application = options.get("txnAppId")
        batch = number(options, "txnVersion", -1, 0)
        retries = number(options, "retries", -1, 0)
        by = choice(options, "shardBy", ShardKey.SUBJECT) if "shardBy" in options else None
        return cls(
            root=root,
            shards=number(options, "shards", 0) or None,
            shard_by=by,
            application=application,
            batch=None if batch < 0 else batch,
            metadata=_metadata(options),
            create=switch(options, "create", True),
            retries=None if retries < 0 else retries,
            processes=number(options, "processes", 0) or None,
            storage=storage(options) or None,
        )


class Compression(Enum):
    """Compressions; each value is also the suffix family of file names."""

    NONE = "none"
    GZIP = "gzip"
    BZ2 = "bz2"
    ZSTD = "zstd"


_SUFFIXES: Final = {each: ending for ending, each in SUFFIXES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSettings:
    """How files are written.

    :ivar compression: name of the compression, see ``sinks.compressed``; None for none.
    :ivar restart_every: bytes between restart points, at which several tasks can read a file; None
        for no restart points. Compressed files have none.
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
        """Parse options.

        :raises OptionsError: an option is invalid; names it.
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
        """The suffix that the compression adds to file names."""
        return "" if self.compression is None else _SUFFIXES[self.compression]
