"""Jobs of Arrow columns: a column of text for each position of a statement."""

from __future__ import annotations

import io
from typing import Any, Final

import pyarrow
import pyoxigraph

from jelly_plugins import arrow

from .codec_jobs import pyjelly_encode, pyjelly_terms
from .data import Data
from .measure import Runs


def _pyoxigraph_table(data: Data) -> pyarrow.Table:
    """Make such a table in the shortest way without this package: parse N-Triples, and convert each
    term to text.
    """
    columns: tuple[list[str], ...] = ([], [], [])
    subjects, predicates, objects = (column.append for column in columns)
    for triple in pyoxigraph.parse(data.ntriples, data.text_format):
        subjects(str(triple.subject))
        predicates(str(triple.predicate))
        objects(str(triple.object))
    return pyarrow.table(dict(zip(("subject", "predicate", "object"), columns, strict=True)))


def _size(table: Any, data: Data) -> int:
    out = io.BytesIO()
    arrow.write(table, out, options=data.options)
    return out.tell()


def jelly_to_columns(data: Data) -> Runs:
    """Jelly → Arrow columns"""
    return Runs(
        {
            "ours": lambda: arrow.read(data.jelly).read_all(),
            "pyoxigraph, N-Triples": lambda: _pyoxigraph_table(data),
        }
    )


def columns_to_jelly(data: Data) -> Runs:
    """Arrow columns → Jelly"""
    table = arrow.read(data.jelly).read_all()
    theirs = pyjelly_terms(data)
    return Runs(
        {
            "ours": lambda: _size(table, data),
            "pyjelly, generic terms": lambda: pyjelly_encode(theirs),
        }
    )


JOBS: Final = (jelly_to_columns, columns_to_jelly)
