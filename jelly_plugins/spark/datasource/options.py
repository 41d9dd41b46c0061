"""All options of the formats, by name: what is none of them is refused. Knows nothing of Spark.

docs/spark-options.md is this table, see :func:`table`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final, NamedTuple

from ...codec.common.positions import POSITIONS
from ...errors import OptionsError

_BOTH: Final = ("jelly", "jelly-patch")
_JELLY: Final = ("jelly",)
_PATCH: Final = ("jelly-patch",)


class Option(NamedTuple):
    """An option of a format.

    :ivar formats: that have it.
    :ivar writes: whether it is for writing.
    :ivar default: as the table has it.
    """

    name: str
    formats: tuple[str, ...]
    writes: bool
    default: str
    meaning: str


#: Options of a sharded store's changes.
ROOT: Final = "root"
FROM_VERSION: Final = "from_version"
TO_VERSION: Final = "to_version"
#: Options that files have, and changes have not.
_OF_FILES: Final = (
    "badRecordsPath",
    "growing",
    "maxPartitionBytes",
    "partitionColumns",
    "path",
    "pathGlobFilter",
    "paths",
)

#: What Spark makes of ``load(path)`` and ``save(path)``.
_PATHS: Final = ("path", "paths")
#: An option of Spark's own that a stream's sink is told.
_CHECKPOINT: Final = "checkpointlocation"

OPTIONS: Final = (
    Option(
        "terms",
        _BOTH,
        False,
        "`ntriples`",
        "`ntriples`: terms are text of N-Triples. `split`: structures of value, kind, datatype and "
        "language. Patches are applied from text.",
    ),
    Option(
        "columns",
        _BOTH,
        False,
        "all",
        "Names, with commas between them: columns that are read, and no others. A schema that is "
        "given does the same.",
    ),
    *(
        Option(
            name,
            _JELLY,
            False,
            "none",
            f"A term of N-Triples: rows with another {name} are passed over"
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
        "`file`: a node of each file is its own; labels are `f`, a digest of the file's path, and "
        "the label.",
    ),
    Option(
        "sourceColumns", _JELLY, False, "`false`", "Columns `source` and `frame`: file, and frame."
    ),
    Option(
        "headers", _PATCH, False, "`false`", "Rows for headers (H) and ends of patches (Z), too."
    ),
    Option(
        "mode",
        _BOTH,
        False,
        "`FAILFAST`",
        "What becomes of a corrupt file. `FAILFAST`: the query fails. `PERMISSIVE`: what came "
        "before stays. Patches are applied from `FAILFAST` only.",
    ),
    Option(
        "columnNameOfCorruptRecord",
        _BOTH,
        False,
        "`_corrupt_record`",
        "The column that has the error, in mode `PERMISSIVE`.",
    ),
    Option(
        "badRecordsPath",
        _BOTH,
        False,
        "none",
        "A folder that gets the errors of mode `PERMISSIVE`, instead of a column.",
    ),
    Option(
        "partitionColumns",
        _BOTH,
        False,
        "none",
        "Names, with commas between them: columns of text from folders such as `date=2026-11-21`, "
        "null where there is none; other such folders say nothing then. Without the option they "
        "are an error, rather than left out.",
    ),
    Option(
        "pathGlobFilter",
        _BOTH,
        False,
        "`*`",
        "What names of files inside of folders have to match.",
    ),
    Option(
        "maxPartitionBytes",
        _BOTH,
        False,
        "`32m`",
        "About how much one task reads. Files are cut at restart points; those of patches are not.",
    ),
    Option(
        "maxFilesPerTrigger", _BOTH, False, "all", "Files that a batch of a stream takes, at most."
    ),
    Option(
        "growing", _BOTH, False, "`false`", "Files of a stream may get longer, and are read on."
    ),
    Option(
        "storageOptions",
        _BOTH,
        False,
        "`{}`",
        "Settings of the file system, as fsspec takes them: a JSON object. For writing as well. "
        "With a `root`, those of its bucket.",
    ),
    Option(
        ROOT,
        _PATCH,
        False,
        "none",
        "Of a sharded store, in the place of a path: what is read is what its versions have "
        "changed, each as one patch.",
    ),
    Option(
        FROM_VERSION, _PATCH, False, "`0`", "Of that store: changes behind this version are read."
    ),
    Option(
        TO_VERSION,
        _PATCH,
        False,
        "the newest",
        "Of that store: the last version whose changes are read. Streams have no last one.",
    ),
    Option("compression", _BOTH, True, "`none`", "`none`, `gzip`, `bz2` or `zstd`."),
    Option(
        "restartEvery",
        _JELLY,
        True,
        "`2m`",
        "Bytes after which a file has a restart point, so that several tasks can read it; 0 for "
        "none. Compressed files have none.",
    ),
    Option("streamName", _JELLY, True, "none", "The name in the stream's options."),
    Option("quotedTriples", _BOTH, True, "`false`", "Whether there may be quoted triples."),
    Option("maxNameTableSize", _BOTH, True, "`4000`", "Entries of the table of names."),
    Option("maxPrefixTableSize", _BOTH, True, "`150`", "Entries of the table of prefixes."),
    Option("maxDatatypeTableSize", _BOTH, True, "`32`", "Entries of the table of datatypes."),
)

#: Options that mean the same for reading and writing.
_EITHER: Final = ("storageOptions",)


def check_options(given: Iterable[str], kind: str, *, writes: bool | None = None) -> None:
    """Refuse options that are none.

    :param given: their names; letters may be of any case.
    :param kind: name of the format.
    :param writes: whether they are for writing; None where that is not known.
    :raises OptionsError: with what may have been meant.
    """
    known = {
        each.name.lower(): each.name
        for each in OPTIONS
        if kind in each.formats and (writes in (None, each.writes) or each.name in _EITHER)
    }
    for name in given:
        if name.lower() in known or name.lower() in _PATHS:
            continue
        if name.lower() == _CHECKPOINT and writes is not False:
            continue
        use = {None: "", True: " for writing", False: " for reading"}[writes]
        raise OptionsError(f"{kind} has no option {name!r}{use}: {_meant(name, known)}")


def check_names(given: Iterable[str], names: Iterable[str], function: str) -> None:
    """Refuse options that a function does not have.

    :param given: their names; letters may be of any case.
    :raises OptionsError: with what may have been meant.
    """
    known = {name.lower(): name for name in names}
    for name in given:
        if name.lower() not in known:
            raise OptionsError(f"{function} has no option {name!r}: {_meant(name, known)}")


def _meant(name: str, known: Mapping[str, str]) -> str:
    """What may have been meant by an option that there is not.

    :param known: the options that there are, by their names in lower case.
    """
    close = get_close_matches(name.lower(), known, 1)
    return f"did you mean {known[close[0]]}?" if close else f"there are {', '.join(known.values())}"


def is_of_changes(given: Mapping[str, str], *, streams: bool) -> bool:
    """Whether options ask for the changes of a sharded store.

    :raises OptionsError: there are options that do not go together.
    """
    names = {name.lower() for name in given}
    if ROOT not in names:
        for name in (FROM_VERSION, TO_VERSION):
            if name in names:
                raise OptionsError(f"option {name} goes with root, a sharded store")
        return False
    for name in _OF_FILES:
        if name.lower() in names:
            raise OptionsError(f"option {name} is for files, and root is a sharded store")
    if streams and TO_VERSION in names:
        raise OptionsError(f"option {TO_VERSION}: a stream has no last version")
    return True


def table(*, writes: bool) -> str:
    """The options as a table in Markdown."""
    lines = ["| option | of | default | |", "|---|---|---|---|"]
    lines += [
        f"| `{each.name}` | {', '.join(f'`{kind}`' for kind in each.formats)} | {each.default} | "
        f"{each.meaning} |"
        for each in OPTIONS
        if each.writes is writes
    ]
    return "\n".join(lines) + "\n"
