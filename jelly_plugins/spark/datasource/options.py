"""The options of the formats, each once: its name, parser, default and description.

Spark passes options as text, and compares their names without case. Unknown options are rejected.
tests/spark/test_options.py makes the tables in docs/spark-options.md of this one. Does not import
Spark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any, Final, NamedTuple, Self

from ...codec import DEFAULT_LIMITS
from ...codec.common.options import MIN_NAME_TABLE
from ...codec.common.positions import POSITIONS
from ...codec.text.ntriples import Dialect, LineParser, term_text
from ...errors import OptionsError, SourceError, TextError
from ...io.sources import SUFFIXES

#: Options that Spark sets for ``load(path)`` and ``save(path)``, and for the sink of a stream.
OF_SPARK: Final = ("path", "paths", "checkpointlocation")
#: A property of tables that Spark's catalog passes as an option, to CREATE TABLE only.
_OF_TABLE: Final = "provider"
_IN_CATALOG: Final = (
    "Spark's catalog does not pass the path and the options of a table to a source in Python: "
    "instead of CREATE TABLE, use CREATE TEMPORARY VIEW name USING `format` OPTIONS (path '…')"
)

#: The values of ``mode``, and the column for errors of the second.
FAILFAST: Final = "FAILFAST"
PERMISSIVE: Final = "PERMISSIVE"
CORRUPT: Final = "_corrupt_record"
#: The value of ``terms`` for structures of value, kind, datatype and language.
SPLIT: Final = "split"

#: Maximum of a signed 64-bit number, which Spark and commits use.
_MOST: Final = (1 << 63) - 1
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE: Final = re.compile(r"(\d+)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_SUFFIXES: Final = {each: ending for ending, each in SUFFIXES.items()}


# Parsers of values; each raises a ValueError whose text continues "option NAME"


def _choice(*values: str) -> Callable[[str], str]:
    """Return a parser of an option with a fixed set of values, which are compared without case."""

    def parse(value: str) -> str:
        for each in values:
            if each.lower() == value.lower():
                return each
        raise ValueError(f"must be one of {', '.join(map(repr, values))}")

    return parse


def _switch(value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise ValueError("must be 'true' or 'false'")
    return value.lower() == "true"


def _number(least: int = 1, most: int = _MOST) -> Callable[[str], int]:
    def parse(value: str) -> int:
        text = value.strip()
        if text.isascii() and text.isdigit() and least <= int(text) <= most:
            return int(text)
        bounds = f"of at least {least}" if most == _MOST else f"from {least} to {most}"
        raise ValueError(f"must be a whole number {bounds}")

    return parse


def _size(least: int = 1) -> Callable[[str], int]:
    """Return a parser of a number of bytes: ``1048576``, ``1m``, ``1 MiB``."""

    def parse(value: str) -> int:
        found = _SIZE.fullmatch(value.strip())
        if found is None or int(found[1]) < least:
            raise ValueError("must be a size, such as '64m'")
        return int(found[1]) * _UNITS[found[2].lower()]

    return parse


def _json_object(value: str) -> dict[str, Any]:
    try:
        found = json.loads(value)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError("must be a JSON object")
    return found


def _compression(value: str) -> str | None:
    found = _choice("none", *_SUFFIXES)(value)
    return None if found == "none" else found


def _term(position: int, value: str) -> str:
    """Parse a term, in any form of N-Triples; the default graph is empty."""
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


class Option(NamedTuple):
    name: str
    formats: tuple[str, ...]
    parse: Callable[[str], Any]
    default: str | None
    #: In Markdown.
    meaning: str


_JELLY: Final = ("jelly",)
_PATCH: Final = ("jelly-patch",)
_STORE: Final = ("jelly-store",)
FILES: Final = (*_JELLY, *_PATCH)
#: Functions on columns.
_FROM: Final = ("from_jelly", "from_jelly_patch")
_TO: Final = ("to_jelly", "to_jelly_patch")
_STORAGE: Final = (
    "Settings of the file system, as fsspec takes them, or of the bucket of a sharded store: a "
    "JSON object."
)

READING: Final = (
    Option("storageOptions", (*FILES, *_STORE), _json_object, "{}", _STORAGE),
    Option(
        "terms",
        (*FILES, *_STORE, *_FROM),
        _choice("ntriples", SPLIT),
        "ntriples",
        "`ntriples`: terms are text of N-Triples. `split`: structures of value, kind, datatype and "
        "language. Applying patches requires text.",
    ),
    Option(
        "mode",
        (*FILES, *_FROM, *_TO),
        _choice(FAILFAST, PERMISSIVE),
        FAILFAST,
        "How to handle a corrupt file. `FAILFAST`: the query fails. `PERMISSIVE`: rows before the "
        "error are kept, and a row has it in `_corrupt_record`. Applying patches requires "
        "`FAILFAST`.",
    ),
    Option(
        "maxPartitionBytes",
        FILES,
        _size(),
        "32m",
        "Target size of a partition. Jelly-RDF files are split at restart points; patch files are "
        "not split.",
    ),
    Option(
        "maxFilesPerTrigger",
        FILES,
        _number(),
        None,
        "Maximum number of files in a batch of a stream.",
    ),
    *(
        Option(
            name,
            (*_JELLY, *_STORE),
            partial(_term, position),
            None,
            f"A term of N-Triples: rows with another {name} are skipped"
            + ("; empty for the default graph." if name == "graph" else "."),
        )
        for position, name in enumerate(POSITIONS)
    ),
    Option(
        "concatenated",
        (*_JELLY, "from_jelly"),
        _switch,
        "false",
        "Whether a file may hold several streams, as after `cat`. Without the option, the options "
        "of the second stream are a repeat, as the specification has it, and its terms are wrong.",
    ),
    Option(
        "blankNodes",
        _JELLY,
        _choice("keep", "file"),
        "keep",
        "`keep`: labels are as in the files, so that equal labels of two files become one node. "
        "`file`: each file has its own nodes; labels are `f`, a digest of the file's path, and "
        "the label.",
    ),
    Option(
        "sourceColumns",
        _JELLY,
        _switch,
        "false",
        "Add the columns `source` and `frame`: file and frame.",
    ),
    Option(
        "headers",
        (*_PATCH, "from_jelly_patch"),
        _switch,
        "false",
        "Add rows for headers (H) and ends of patches (Z).",
    ),
    Option("versionAsOf", _STORE, _number(0), None, "The version to read; by default the newest."),
)

WRITING: Final = (
    Option("storageOptions", FILES, _json_object, "{}", _STORAGE),
    Option("compression", FILES, _compression, "none", "`none`, `gzip`, `bz2` or `zstd`."),
    Option("quotedTriples", (*FILES, *_TO), _switch, "false", "Whether quoted triples may occur."),
    *(
        Option(
            f"max{lookup.capitalize()}TableSize",
            (*FILES, *_TO),
            _number(least, most),
            default,
            f"Size of the {lookup} lookup, in entries.",
        )
        for lookup, least, most, default in (
            ("name", MIN_NAME_TABLE, DEFAULT_LIMITS.name_table, "4000"),
            ("prefix", 0, DEFAULT_LIMITS.prefix_table, "150"),
            ("datatype", 0, DEFAULT_LIMITS.datatype_table, "32"),
        )
    ),
    Option(
        "restartEvery",
        _JELLY,
        _size(0),
        "2m",
        "Bytes between restart points, at which several tasks can read one file; 0 for none. "
        "Compressed files have none.",
    ),
)


def names_of(table: Iterable[Option], format_: str) -> list[str]:
    return [option.name for option in table if format_ in option.formats]


class Settings(dict[str, Any]):
    """The values of options, by name."""

    @classmethod
    def of(cls, table: Iterable[Option], format_: str, given: Mapping[str, str]) -> Self:
        """Parse the options of a format; others are ignored, see :func:`check_options`."""
        found = cls()
        for option in table:
            if format_ not in option.formats:
                continue
            value = given.get(option.name, option.default)
            try:
                found[option.name] = None if value is None else option.parse(value)
            except ValueError as error:
                raise OptionsError(f"option {option.name} {error} (got {value!r})") from error
        return found

    @property
    def is_permissive(self) -> bool:
        return self.get("mode") == PERMISSIVE

    @property
    def conditions(self) -> dict[str, str]:
        """The terms that rows must have, by position."""
        return {name: self[name] for name in POSITIONS if self.get(name) is not None}

    @property
    def stream_options(self) -> dict[str, Any]:
        """Options of the streams to write, by name."""
        return {
            "rdf_star": self["quotedTriples"],
            "max_name_table_size": self["maxNameTableSize"],
            "max_prefix_table_size": self["maxPrefixTableSize"],
            "max_datatype_table_size": self["maxDatatypeTableSize"],
        }

    @property
    def suffix(self) -> str:
        """The suffix that the compression adds to file names."""
        compression = self["compression"]
        return "" if compression is None else _SUFFIXES[compression]


def check_options(
    given: Iterable[str],
    names: Sequence[str],
    what: str,
    use: str = "",
    besides: Sequence[str] = (),
) -> None:
    """Check that the given options exist.

    :param names: names of the existing options.
    :param what: what has the options, such as ``jelly``, and ``use`` what they are for.
    :param besides: other names, in lower case, that a caller may give but a user does not choose.
    """
    known = {name.lower(): name for name in names}
    lower = [name.lower() for name in given]
    if _OF_TABLE in lower:
        raise OptionsError(_IN_CATALOG)
    for name in lower:
        if name in (*known, *besides):
            continue
        longer = [each for each in known if each.startswith(name)]
        close = longer or get_close_matches(name, known, 1)
        hint = f"did you mean {known[close[0]]}?" if close else f"choose from {', '.join(names)}"
        raise OptionsError(f"{what} has no option {name!r}{use}: {hint}")


def given_paths(options: Mapping[str, str]) -> list[str]:
    """Return the paths of a ``load()`` or ``save()``: Spark passes one as ``path``, several as
    JSON."""
    several = options.get("paths")
    paths = [str(path) for path in json.loads(several)] if several else []
    if one := options.get("path"):
        paths.append(one)
    if not paths:
        raise SourceError(f"no path is given: load(path), or option('path', …). {_IN_CATALOG}")
    return paths


def given_path(options: Mapping[str, str]) -> str:
    """Return the path of a ``load()`` or ``save()`` that takes one."""
    paths = given_paths(options)
    if len(paths) > 1:
        raise OptionsError(f"give one path (got {', '.join(paths)})")
    return paths[0]
