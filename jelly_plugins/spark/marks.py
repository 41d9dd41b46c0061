"""Marks in the rows of patch files, by which it can be told whether rows are all there.

The column ``mark`` is null but in the first row of a file and in its last one, or the first and the
last of what a batch of a stream has of it. There it is a JSON object: ``{"source": …, "number": …,
"files": …, "before": …, "lenient": …}`` and ``{"rows": …}``, or both in one.

A file that gives no rows, because it has headers and ends of patches at most, has one row that is
nothing but its mark: or it could not be told from one that was filtered away. So has a batch of a
stream that has no files, as Spark makes one where a stream begins. Knows nothing of Spark.
"""

from __future__ import annotations

import json
from typing import NamedTuple


class Begin(NamedTuple):
    """What the first row of a file says.

    :ivar source: path of the file.
    :ivar number: the file's number among those that were read together, from 0.
    :ivar files: how many were read together; 0 where there was none.
    :ivar before: rows of it that were given before, by earlier batches of a stream.
    :ivar lenient: whether what is corrupt may be missing.
    """

    source: str
    number: int
    files: int
    before: int = 0
    lenient: bool = False


def mark(begin: Begin | None, rows: int | None) -> str:
    """The text of a mark.

    :param begin: in a first row.
    :param rows: in a last row: rows of the file up to it.

    >>> mark(Begin("a.jellyp", 0, 1), 3)
    '{"source": "a.jellyp", "number": 0, "files": 1, "before": 0, "lenient": false, "rows": 3}'
    """
    said = {} if begin is None else begin._asdict()
    return json.dumps(said if rows is None else said | {"rows": rows})


def read_mark(text: str) -> tuple[Begin | None, int | None]:
    """What a mark says, see :func:`mark`.

    :raises ValueError: it is none.
    """
    found = json.loads(text)
    rows = found.pop("rows", None)
    return (Begin(**found) if found else None), rows
