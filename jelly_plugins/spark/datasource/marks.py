"""Marks in the rows of patch files, by which it can be told whether rows are all there.

The column ``mark`` is null but in the first row of a file and in its last one, or the first and the
last of what a batch of a stream has of it. There it is a JSON object: ``{"source": …, "number": …,
"before": …, "lenient": …}`` and ``{"rows": …}``, or both in one. Knows nothing of Spark.
"""

from __future__ import annotations

import json
from typing import NamedTuple


class Begin(NamedTuple):
    """What the first row of a file says.

    :ivar source: path of the file.
    :ivar number: the file's number among those that were read together, from 0.
    :ivar before: rows of it that were given before, by earlier batches of a stream.
    :ivar lenient: whether what is corrupt may be missing.
    """

    source: str
    number: int
    before: int = 0
    lenient: bool = False


def mark(begin: Begin | None, rows: int | None) -> str:
    """The text of a mark.

    :param begin: in a first row.
    :param rows: in a last row: rows of the file up to it.

    >>> mark(Begin("a.jellyp", 0), 3)
    '{"source": "a.jellyp", "number": 0, "before": 0, "lenient": false, "rows": 3}'
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
