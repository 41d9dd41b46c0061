"""All options of the formats, by name. Other names are rejected. Does not import Spark.

The tables in docs/spark-options.md are generated from this one, see :func:`table`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Final, NamedTuple

from ...codec.common.positions import POSITIONS
from ...errors import JellyError, OptionsError

_BOTH: Final = ("jelly", "jelly-patch")
_JELLY: Final = ("jelly",)
_PATCH: Final = ("jelly-patch",)
_STORE: Final = ("jelly-store",)


class Option(NamedTuple):
    """An option of a format.

    :ivar formats: formats that have the option.
    :ivar writes: whether it is for writing.
    :ivar default: the default as text for the table.
    :ivar meaning: the description for the table.
    """

    name: str
    formats: tuple[str, ...]
    writes: bool
    default: str
    meaning: str


#: Options that Spark sets for ``load(path)`` and ``save(path)``.
_PATHS: Final = ("path", "paths")
#: An option that Spark passes to the sink of a stream.
_CHECKPOINT: Final = "checkpointlocation"
#: A property of tables that Spark's catalog passes as an option, to CREATE TABLE only.
_OF_TABLE: Final = "provider"

IN_CATALOG: Final = (
    "Spark's catalog does not pass the path and the options of a table to a source in Python: "
    "instead of CREATE TABLE, use CREATE TEMPORARY VIEW name USING `format` OPTIONS (path '…')"
)

OPTIONS: Final = (
    Option(
        "terms",
        _BOTH + _STORE,
        False,
        "`ntriples`",
        "`ntriples`: terms are text of N-Triples. `split`: structures of value, kind, datatype and "
        "language. Applying patches requires text.",
    ),
    Option(
        "columns",
        _BOTH + _STORE,
        False,
        "all",
        "Comma-separated names of the columns to read. A schema with these columns has the same "
        "effect.",
    ),
    *(
        Option(
            name,
            _JELLY + _STORE,
            False,
            "none",
            f"A term of N-Triples: rows with another {name} are skipped"
            + ("; empty for the default graph." if name == "graph" else "."),
        )
        for name in POSITIONS
    ),
    Option(
        "blankNodes",
        _JELLY,
        False,
        "`keep`",
        "`keep`: labels are as in the files, so that equal labels of two files become one node. "
        "`file`: each file has its own nodes; labels are `f`, a digest of the file's path, and "
        "the label.",
    ),
    Option(
        "concatenated",
        _JELLY,
        False,
        "`false`",
        "Whether a file may hold several streams, as after `cat`. Without the option, the options "
        "of the second stream are a repeat, as the specification has it, and its terms are wrong.",
    ),
    Option(
        "sourceColumns",
        _JELLY,
        False,
        "`false`",
        "Add the columns `source` and `frame`: file and frame.",
    ),
    Option(
        "headers",
        _PATCH + _STORE,
        False,
        "`false`",
        "Add rows for headers (H) and ends of patches (Z). `jelly-store`: with `readChangeFeed`.",
    ),
    Option(
        "mode",
        _BOTH,
        False,
        "`FAILFAST`",
        "How to handle a corrupt file. `FAILFAST`: the query fails. `PERMISSIVE`: rows before the "
        "error are kept. Applying patches requires `FAILFAST`.",
    ),
    Option(
        "columnNameOfCorruptRecord",
        _BOTH,
        False,
        "`_corrupt_record`",
        "The column for the error, in mode `PERMISSIVE`.",
    ),
    Option(
        "badRecordsPath",
        _BOTH,
        False,
        "none",
        "A folder for the errors of mode `PERMISSIVE`, instead of a column.",
    ),
    Option(
        "partitionColumns",
        _BOTH,
        False,
        "none",
        "Comma-separated names: columns of text from folders such as `date=2026-11-21`, null for "
        "files outside of such folders; other such folders are ignored. Without the option, such "
        "folders are an error, so that no column is lost.",
    ),
    Option(
        "pathGlobFilter",
        _BOTH,
        False,
        "`*`",
        "Glob pattern for the names of files inside folders.",
    ),
    Option(
        "maxPartitionBytes",
        _BOTH,
        False,
        "`32m`",
        "Target size of a partition. Jelly-RDF files are split at restart points; patch files are "
        "not split.",
    ),
    Option(
        "maxFilesPerTrigger",
        _BOTH + _STORE,
        False,
        "all",
        "Maximum number of files, or of versions of a store, in a batch of a stream.",
    ),
    Option(
        "storageOptions",
        _BOTH + _STORE,
        False,
        "`{}`",
        "Settings of the file system, as fsspec takes them, or of the bucket of a sharded store: a "
        "JSON object. Also for writing.",
    ),
    Option(
        "versionAsOf",
        _STORE,
        False,
        "the newest",
        "The version to read.",
    ),
    Option(
        "timestampAsOf",
        _STORE,
        False,
        "none",
        "Read the version that was the newest at this time, such as `2026-11-21T15:45:59Z` (RFC "
        "3339).",
    ),
    Option(
        "readChangeFeed",
        _STORE,
        False,
        "`false`",
        "Read the changes of versions, with the columns of `jelly-patch`, instead of the quads of "
        "a version. Required for streams.",
    ),
    Option(
        "startingVersion",
        _STORE,
        False,
        "`0`",
        "With `readChangeFeed`: the first version whose changes are read. `0` and `1` start at the "
        "empty store; otherwise the version before must not be vacuumed.",
    ),
    Option(
        "endingVersion",
        _STORE,
        False,
        "the newest",
        "With `readChangeFeed`: the last version whose changes are read. Not for streams.",
    ),
    Option("compression", _BOTH, True, "`none`", "`none`, `gzip`, `bz2` or `zstd`."),
    Option(
        "restartEvery",
        _JELLY,
        True,
        "`2m`",
        "Bytes between restart points, at which several tasks can read one file; 0 for none. "
        "Compressed files have none.",
    ),
    Option("streamName", _JELLY, True, "none", "The name in the stream's options."),
    Option("quotedTriples", _BOTH, True, "`false`", "Whether quoted triples may occur."),
    Option("maxNameTableSize", _BOTH, True, "`4000`", "Size of the name lookup, in entries."),
    Option("maxPrefixTableSize", _BOTH, True, "`150`", "Size of the prefix lookup, in entries."),
    Option("maxDatatypeTableSize", _BOTH, True, "`32`", "Size of the datatype lookup, in entries."),
    Option(
        "shards",
        _STORE,
        True,
        "`16`",
        "Number of shards of a new store. An existing one must have this number.",
    ),
    Option(
        "shardBy",
        _STORE,
        True,
        "`subject`",
        "`subject` keeps the statements of a subject together, `graph` those of a named graph. An "
        "existing store must have this setting.",
    ),
    Option(
        "create",
        _STORE,
        True,
        "`true`",
        "Whether to create a store that does not exist.",
    ),
    Option(
        "txnAppId",
        _STORE,
        True,
        "none",
        "Name of the program that numbers its writes with `txnVersion`: `application` of "
        "`apply_patches`.",
    ),
    Option(
        "txnVersion",
        _STORE,
        True,
        "none",
        "Number of the write: `batch` of `apply_patches`. A write whose number is not above the "
        "program's last has no effect. In `foreachBatch`, the number of the batch.",
    ),
    Option(
        "metadata",
        _STORE,
        True,
        "`{}`",
        "Description of the version, for the history: a JSON object of strings.",
    ),
    Option(
        "retries",
        _STORE,
        True,
        "`10`",
        "How often to retry if another writer commits a version meanwhile.",
    ),
    Option(
        "processes",
        _STORE,
        True,
        "one per core, up to 4",
        "Maximum number of processes of the driver that write shards.",
    ),
)

#: Options for both reading and writing.
_EITHER: Final = ("storageOptions",)


def check_options(given: Iterable[str], kind: str, *, writes: bool | None = None) -> None:
    """Check that options exist.

    :param given: their names, case-insensitive.
    :param kind: name of the format.
    :param writes: whether they are for writing; None if that is not known.
    :raises OptionsError: an option does not exist; suggests a similar name.
    """
    known = {
        each.name.lower(): each.name
        for each in OPTIONS
        if kind in each.formats and (writes in (None, each.writes) or each.name in _EITHER)
    }
    if _OF_TABLE in {name.lower() for name in given}:
        raise OptionsError(IN_CATALOG)
    for name in given:
        if name.lower() in known or name.lower() in _PATHS:
            continue
        if name.lower() == _CHECKPOINT and writes is not False:
            continue
        use = {None: "", True: " for writing", False: " for reading"}[writes]
        raise OptionsError(f"{kind} has no option {name!r}{use}: {_meant(name, known)}")


def check_names(given: Iterable[str], names: Iterable[str], function: str) -> None:
    """Check that a function has these options.

    :param given: their names, case-insensitive.
    :param names: the options of the function.
    :raises OptionsError: an option does not exist; suggests a similar name.
    """
    known = {name.lower(): name for name in names}
    for name in given:
        if name.lower() not in known:
            raise OptionsError(f"{function} has no option {name!r}: {_meant(name, known)}")


def _meant(name: str, known: Mapping[str, str]) -> str:
    """Suggest an option for a name that does not exist.

    :param known: existing options by name in lower case.
    """
    longer = [each for each in known if each.startswith(name.lower())]
    close = longer or get_close_matches(name.lower(), known, 1)
    if close:
        return f"did you mean {known[close[0]]}?"
    return f"choose from {', '.join(known.values())}"


@contextmanager
def of_option(name: str | None) -> Iterator[None]:
    """Name an option in errors about its value.

    :param name: the option; None if it is not given.
    :raises OptionsError: instead of a ``ValueError`` of Python.
    """
    try:
        yield
    except JellyError as error:
        if name is not None:
            error.message = f"option {name}: {error.message}"
        raise
    except ValueError as error:
        raise OptionsError(f"option {name}: {error}") from error


def table(*, writes: bool) -> str:
    """Return the options as a Markdown table."""
    lines = ["| option | of | default | |", "|---|---|---|---|"]
    lines += [
        f"| `{each.name}` | {', '.join(f'`{kind}`' for kind in each.formats)} | {each.default} | "
        f"{each.meaning} |"
        for each in OPTIONS
        if each.writes is writes
    ]
    return "\n".join(lines) + "\n"
