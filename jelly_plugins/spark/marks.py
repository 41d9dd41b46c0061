"""Marks in the rows of patch files, with which a reader detects missing rows.

The column ``mark`` is null except in the first and the last row of a file, or of the part of a file
that one batch of a stream has. There it is a JSON object: ``{"source": …, "number": …, "files": …,
"before": …, "lenient": …}`` in the first row, ``{"rows": …}`` in the last row, or both in one
object.

A file without rows (it has at most headers and ends of patches) has one row with only its mark, to
distinguish it from a file whose rows were filtered out. So does a batch of a stream without files,
such as the first batch that Spark creates. Does not import Spark.
"""

from __future__ import annotations

import json
from typing import NamedTuple


class Begin(NamedTuple):
    """The mark of a file's first row.

    :ivar source: path of the file.
    :ivar number: number of the file among the files that are read together, from 0.
    :ivar files: number of files that are read together; 0 if there are none.
    :ivar before: number of its rows that earlier batches of the stream returned.
    :ivar lenient: whether corrupt data may be missing.
    """

    source: str
    number: int
    files: int
    before: int = 0
    lenient: bool = False


def mark(begin: Begin | None, rows: int | None) -> str:
    """Return the text of a mark.

    :param begin: for a first row.
    :param rows: for a last row: number of rows of the file up to and including it.

    >>> mark(Begin("a.jellyp", 0, 1), 3)
    '{"source": "a.jellyp", "number": 0, "files": 1, "before": 0, "lenient": false, "rows": 3}'
    """
    fields = {} if begin is None else begin._asdict()
    return json.dumps(fields if rows is None else fields | {"rows": rows})


def read_mark(text: str) -> tuple[Begin | None, int | None]:
    """Parse a mark, see :func:`mark`.

    :raises ValueError: the text is not a mark.
    """
    found = json.loads(text)
    rows = found.pop("rows", None)
    return (Begin(**found) if found else None), rows
