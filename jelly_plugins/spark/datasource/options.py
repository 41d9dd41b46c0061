"""The options of the formats: each is a field below, with its parser, default and description.

The field ``max_partition_bytes`` is the option ``maxPartitionBytes``. Spark passes options as text,
and compares their names without case. Unknown options are rejected. The tables in
docs/spark-options.md are generated from these classes, see :func:`table`. Does not import Spark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from difflib import get_close_matches
from functools import partial
from typing import Any, Final, Self, TypeVar

from ...codec import DEFAULT_LIMITS
from ...codec.common.options import MIN_NAME_TABLE
from ...codec.common.positions import POSITIONS
from ...codec.text.ntriples import Dialect, LineParser, term_text
from ...errors import OptionsError, SourceError, TextError
from ...io.sinks import SUFFIXES

#: Maximum of a signed 64-bit number, which Spark and commits use.
MOST_NUMBER: Final = (1 << 63) - 1

#: Options that Spark sets for ``load(path)`` and ``save(path)``, and for the sink of a stream.
OF_SPARK: Final = ("path", "paths", "checkpointlocation")
#: A property of tables that Spark's catalog passes as an option, to CREATE TABLE only.
_OF_TABLE: Final = "provider"

IN_CATALOG: Final = (
    "Spark's catalog does not pass the path and the options of a table to a source in Python: "
    "instead of CREATE TABLE, use CREATE TEMPORARY VIEW name USING `format` OPTIONS (path '…')"
)

_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE: Final = re.compile(r"(\d+)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)

#: The values of ``mode``.
FAILFAST: Final = "FAILFAST"
PERMISSIVE: Final = "PERMISSIVE"
#: The value of ``terms`` for structures of value, kind, datatype and language.
SPLIT: Final = "split"

_SUFFIXES: Final = {each: ending for ending, each in SUFFIXES.items()}

_ValueT = TypeVar("_ValueT")
_Parser = Callable[[str], _ValueT]


# Parsers of values; each raises a ValueError whose text continues "option NAME"


def choice(*values: str) -> _Parser[str]:
    """Return a parser of an option with a fixed set of values, which are compared without case."""

    def parse(value: str) -> str:
        for each in values:
            if each.lower() == value.lower():
                return each
        raise ValueError(f"must be one of {', '.join(map(repr, values))}")

    return parse


def switch(value: str) -> bool:
    """Parse ``true`` or ``false``."""
    if value.lower() not in ("true", "false"):
        raise ValueError("must be 'true' or 'false'")
    return value.lower() == "true"


def number(least: int = 1, most: int = MOST_NUMBER) -> _Parser[int]:
    """Return a parser of a whole number."""

    def parse(value: str) -> int:
        text_ = value.strip()
        if text_.isascii() and text_.isdigit() and least <= int(text_) <= most:
            return int(text_)
        bounds = f"of at least {least}" if most == MOST_NUMBER else f"from {least} to {most}"
        raise ValueError(f"must be a whole number {bounds}")

    return parse


def size(least: int = 1) -> _Parser[int]:
    """Return a parser of a number of bytes: ``1048576``, ``1m``, ``1 MiB``."""

    def parse(value: str) -> int:
        found = _SIZE.fullmatch(value.strip())
        if found is None or int(found[1]) < least:
            raise ValueError("must be a size, such as '64m'")
        return int(found[1]) * _UNITS[found[2].lower()]

    return parse


def text(value: str) -> str:
    """Parse text."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("must not have half of a surrogate pair") from None
    return value


def json_object(value: str) -> dict[str, Any]:
    """Parse a JSON object."""
    try:
        found = json.loads(value)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError("must be a JSON object")
    return found


def compression(value: str) -> str | None:
    """Parse the name of a compression; None without one."""
    found = choice("none", *_SUFFIXES)(value)
    return None if found == "none" else found


def term(position: int, value: str) -> str:
    """Parse a term, in any form of N-Triples.

    :return: the form that columns have; empty for the default graph.
    """
    value = value.strip()
    if not value and POSITIONS[position] == "graph":
        return value
    parser = LineParser(Dialect.RDF_STAR, True, True, DEFAULT_LIMITS, quads=True)
    try:
        return term_text(parser.term(value.encode(), position))
    except (TextError, UnicodeError) as error:
        message = getattr(error, "message", error)
        raise ValueError(
            f"must be a term of N-Triples, such as <http://example.org/>: {message}"
        ) from None


# The options


def option(parse: _Parser[Any], default: str | None, meaning: str) -> Any:
    """Declare a field that is an option.

    :param default: as text; None if the value is None without the option.
    """
    return field(
        default_factory=lambda: None if default is None else parse(default),
        metadata={"parse": parse, "default": default, "meaning": meaning},
    )


def _name(declared: Field[Any]) -> str:
    """Return the name of the option of a field."""
    first, *others = declared.name.split("_")
    return first + "".join(map(str.capitalize, others))


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Options, parsed."""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        """Parse options; those of others are ignored, see :func:`check_options`.

        :param options: case-insensitive.
        :raises OptionsError: a value is invalid; names the option.
        """
        values = {}
        for each in fields(cls):
            name = _name(each)
            value = options.get(name)
            if value is None:
                continue
            try:
                values[each.name] = each.metadata["parse"](value)
            except ValueError as error:
                raise OptionsError(f"option {name} {error} (got {value!r})") from error
        return cls(**values)

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of the options."""
        return [_name(each) for each in fields(cls)]


@dataclass(frozen=True, kw_only=True)
class Storage(Settings):
    """Options of all formats."""

    storage_options: Mapping[str, Any] = option(
        json_object,
        "{}",
        "Settings of the file system, as fsspec takes them, or of the bucket of a sharded store: a "
        "JSON object.",
    )


def _condition(position: int) -> Any:
    """Declare an option with a term that rows must have at a position."""
    name = POSITIONS[position]
    more = "; empty for the default graph." if name == "graph" else "."
    meaning = f"A term of N-Triples: rows with another {name} are skipped{more}"
    return option(partial(term, position), None, meaning)


@dataclass(frozen=True, kw_only=True)
class Conditions(Settings):
    """Conditions on rows."""

    subject: str | None = _condition(0)
    predicate: str | None = _condition(1)
    object: str | None = _condition(2)
    graph: str | None = _condition(3)

    @property
    def conditions(self) -> dict[str, str]:
        """The terms that rows must have, by position."""
        given = {name: getattr(self, name) for name in POSITIONS}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Reading(Storage):
    """Options of all formats for reading."""

    terms: str = option(
        choice("ntriples", SPLIT),
        "ntriples",
        "`ntriples`: terms are text of N-Triples. `split`: structures of value, kind, datatype and "
        "language. Applying patches requires text.",
    )


@dataclass(frozen=True, kw_only=True)
class FileReading(Reading):
    """Options of the formats of files."""

    mode: str = option(
        choice(FAILFAST, PERMISSIVE),
        FAILFAST,
        "How to handle a corrupt file. `FAILFAST`: the query fails. `PERMISSIVE`: rows before the "
        "error are kept. Applying patches requires `FAILFAST`.",
    )
    column_name_of_corrupt_record: str | None = option(
        text, None, "The column for the error, in mode `PERMISSIVE`; `_corrupt_record` by default."
    )

    max_partition_bytes: int = option(
        size(),
        "32m",
        "Target size of a partition. Jelly-RDF files are split at restart points; patch files are "
        "not split.",
    )
    max_files_per_trigger: int | None = option(
        number(), None, "Maximum number of files in a batch of a stream."
    )

    def __post_init__(self) -> None:
        if self.column_name_of_corrupt_record is not None and self.mode != PERMISSIVE:
            raise OptionsError("option columnNameOfCorruptRecord requires mode PERMISSIVE")

    @property
    def corrupt_column(self) -> str | None:
        """Name of the column for errors; None if errors are raised."""
        if self.mode != PERMISSIVE:
            return None
        return self.column_name_of_corrupt_record or "_corrupt_record"


@dataclass(frozen=True, kw_only=True)
class JellyReading(Conditions, FileReading):
    """Options of the format ``jelly``."""

    concatenated: bool = option(
        switch,
        "false",
        "Whether a file may hold several streams, as after `cat`. Without the option, the options "
        "of the second stream are a repeat, as the specification has it, and its terms are wrong.",
    )
    blank_nodes: str = option(
        choice("keep", "file"),
        "keep",
        "`keep`: labels are as in the files, so that equal labels of two files become one node. "
        "`file`: each file has its own nodes; labels are `f`, a digest of the file's path, and "
        "the label.",
    )
    source_columns: bool = option(
        switch, "false", "Add the columns `source` and `frame`: file and frame."
    )


@dataclass(frozen=True, kw_only=True)
class PatchReading(FileReading):
    """Options of the format ``jelly-patch``."""

    headers: bool = option(switch, "false", "Add rows for headers (H) and ends of patches (Z).")


@dataclass(frozen=True, kw_only=True)
class FileWriting(Storage):
    """Options of the format ``jelly-patch``, and of all formats of files."""

    compression: str | None = option(compression, "none", "`none`, `gzip`, `bz2` or `zstd`.")
    quoted_triples: bool = option(switch, "false", "Whether quoted triples may occur.")
    max_name_table_size: int = option(
        number(MIN_NAME_TABLE, DEFAULT_LIMITS.name_table),
        "4000",
        "Size of the name lookup, in entries.",
    )
    max_prefix_table_size: int = option(
        number(0, DEFAULT_LIMITS.prefix_table), "150", "Size of the prefix lookup, in entries."
    )
    max_datatype_table_size: int = option(
        number(0, DEFAULT_LIMITS.datatype_table), "32", "Size of the datatype lookup, in entries."
    )

    @property
    def tables(self) -> dict[str, Any]:
        """The sizes of lookups, by name of the stream's option."""
        return {
            "max_name_table_size": self.max_name_table_size,
            "max_prefix_table_size": self.max_prefix_table_size,
            "max_datatype_table_size": self.max_datatype_table_size,
        }

    @property
    def suffix(self) -> str:
        """The suffix that the compression adds to file names."""
        return "" if self.compression is None else _SUFFIXES[self.compression]


@dataclass(frozen=True, kw_only=True)
class JellyWriting(FileWriting):
    """Options of the format ``jelly``."""

    restart_every: int = option(
        size(0),
        "2m",
        "Bytes between restart points, at which several tasks can read one file; 0 for none. "
        "Compressed files have none.",
    )
    stream_name: str = option(text, "", "The name in the stream's options.")


@dataclass(frozen=True, kw_only=True)
class StoreReading(Conditions, Reading):
    """Options of the format ``jelly-store``."""

    version_as_of: int | None = option(
        number(0), None, "The version to read; by default the newest."
    )


#: For each format, the options for reading and for writing.
FORMATS: Final[Mapping[str, tuple[type[Reading], type[FileWriting] | None]]] = {
    "jelly": (JellyReading, JellyWriting),
    "jelly-patch": (PatchReading, FileWriting),
    "jelly-store": (StoreReading, None),
}


def check_options(
    given: Iterable[str],
    names: Iterable[str],
    what: str,
    use: str = "",
    besides: Sequence[str] = (),
) -> None:
    """Check that options exist.

    :param given: their names, case-insensitive.
    :param names: names of the existing options.
    :param what: what has the options, such as ``jelly``.
    :param use: what they are for, such as `` for reading``.
    :param besides: other names, in lower case, that a caller may give but a user does not choose.
    :raises OptionsError: an option does not exist; suggests a similar name.
    """
    known = {name.lower(): name for name in names}
    if _OF_TABLE in {name.lower() for name in given}:
        raise OptionsError(IN_CATALOG)
    for name in given:
        if name.lower() in (*known, *besides):
            continue
        longer = [each for each in known if each.startswith(name.lower())]
        close = longer or get_close_matches(name.lower(), known, 1)
        hint = f"did you mean {known[close[0]]}?" if close else f"choose from {', '.join(names)}"
        raise OptionsError(f"{what} has no option {name!r}{use}: {hint}")


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


def table(use: int) -> str:
    """Return the options as a Markdown table.

    :param use: 0 for reading, 1 for writing.
    """
    lines = ["| option | of | default | |", "|---|---|---|---|"]
    classes = {kind: made for kind, each in FORMATS.items() if (made := each[use]) is not None}
    every = {_name(each): each for made in classes.values() for each in fields(made)}
    for name, declared in every.items():
        kinds = [f"`{kind}`" for kind, made in classes.items() if name in made.names()]
        default = declared.metadata["default"]
        lines.append(
            f"| `{name}` | {', '.join(kinds)} | {f'`{default}`' if default else 'none'} | "
            f"{declared.metadata['meaning']} |"
        )
    return "\n".join(lines) + "\n"
