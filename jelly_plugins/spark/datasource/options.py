"""The options of the formats, each once: its name, formats, parser and default.

Spark passes options as text, and compares their names without case. Unknown options are rejected.
docs/spark-options.md describes them; a test compares its tables with these. Does not import Spark.
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
    default: str | None = None


_JELLY: Final = ("jelly",)
_PATCH: Final = ("jelly-patch",)
_STORE: Final = ("jelly-store",)
FILES: Final = (*_JELLY, *_PATCH)
#: Functions on columns.
_FROM: Final = ("from_jelly", "from_jelly_patch")
_TO: Final = ("to_jelly", "to_jelly_patch")

READING: Final = (
    Option("storageOptions", (*FILES, *_STORE), _json_object, "{}"),
    Option("terms", (*FILES, *_STORE, *_FROM), _choice("ntriples", SPLIT), "ntriples"),
    Option("mode", (*FILES, *_FROM, *_TO), _choice(FAILFAST, PERMISSIVE), FAILFAST),
    Option("maxPartitionBytes", FILES, _size(), "32m"),
    Option("maxFilesPerTrigger", FILES, _number()),
    *(
        Option(name, (*_JELLY, *_STORE), partial(_term, position))
        for position, name in enumerate(POSITIONS)
    ),
    Option("concatenated", (*_JELLY, "from_jelly"), _switch, "false"),
    Option("blankNodes", _JELLY, _choice("keep", "file"), "keep"),
    Option("sourceColumns", _JELLY, _switch, "false"),
    Option("headers", (*_PATCH, "from_jelly_patch"), _switch, "false"),
    Option("versionAsOf", _STORE, _number(0)),
)

WRITING: Final = (
    Option("storageOptions", FILES, _json_object, "{}"),
    Option("compression", FILES, _compression, "none"),
    Option("quotedTriples", (*FILES, *_TO), _switch, "false"),
    *(
        Option(f"max{lookup.capitalize()}TableSize", (*FILES, *_TO), _number(least, most), default)
        for lookup, least, most, default in (
            ("name", MIN_NAME_TABLE, DEFAULT_LIMITS.name_table, "4000"),
            ("prefix", 0, DEFAULT_LIMITS.prefix_table, "150"),
            ("datatype", 0, DEFAULT_LIMITS.datatype_table, "32"),
        )
    ),
    Option("restartEvery", _JELLY, _size(0), "2m"),
)


class Settings(dict[str, Any]):
    """The values of options, by name."""

    @classmethod
    def of(
        cls, table: Sequence[Option], format_: str, given: Mapping[str, str], use: str = ""
    ) -> Self:
        """Check the names of options, and parse the values.

        :param format_: the format or function that has the options, and ``use`` what they are for.
        """
        options = {option.name: option for option in table if format_ in option.formats}
        values = {name.lower(): str(value) for name, value in given.items()}
        _check_names(values, list(options), format_, use)
        found = cls()
        for name, option in options.items():
            value = values.get(name.lower(), option.default)
            try:
                found[name] = None if value is None else option.parse(value)
            except ValueError as error:
                raise OptionsError(f"option {name} {error} (got {value!r})") from error
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


def _check_names(given: Iterable[str], names: Sequence[str], what: str, use: str) -> None:
    known = {name.lower(): name for name in names}
    if _OF_TABLE in given:
        raise OptionsError(_IN_CATALOG)
    for name in given:
        if name in known:
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
