"""Results in CSV, of which no term has its kind: :func:`read_csv` and :func:`csv_chunks`.

Reference: SPARQL 1.1 Query Results CSV and TSV Formats, which uses RFC 4180.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from ..codec import Describe, Kind, Limits, TermFactory
from ..codec.common.limits import over
from ..codec.common.terms import build
from ..codec.text.ntriples import read_label, written_label
from ..errors import TermError, TextError
from ..formats.reading import ChunkFile
from ..io.sources import CHUNK
from .jena import Solution
from .w3c import TermTexts, check_names, chunks_of

#: A cell, and what follows it.
_CELL: Final = re.compile(r'(?:"((?:[^"]|"")*+)"|([^",\r\n]*+))(,|\r\n?|\n|\Z)')


def read_csv(
    chunks: Iterator[bytes], factory: TermFactory[Any], limits: Limits
) -> tuple[list[str], Iterator[Solution]]:
    """Read the header; return the names of the variables, and the solutions.

    A cell that begins with ``http://`` or ``https://`` is an IRI, and one that begins with ``_:`` a
    blank node. An empty one is unbound, and any other is a literal without a datatype.

    :raises TextError: here or while iterating; the text is not well-formed, or a line does not have
        a cell for each variable.
    :raises LimitError: likewise; a line is longer than a frame may be.
    """
    records = _records(chunks, limits)
    _, cells = next(records)
    # A line without cells looks like one with an empty cell.
    names = [] if cells == [""] else [name.removeprefix("?") for name in cells]
    if "" in names:
        raise TextError("a variable has no name", line=1)
    if len(set(names)) < len(names):
        raise TextError("two variables have the same name", line=1)
    return names, _solutions(records, len(names), factory)


def _solutions(
    records: Iterator[tuple[int, list[str]]], width: int, factory: TermFactory[Any]
) -> Iterator[Solution]:
    for line, cells in records:
        if not width and cells == [""]:
            cells = []
        if len(cells) != width:
            raise TextError(f"the line has {len(cells)} cells for {width} variables", line=line)
        try:
            yield tuple([_term(cell, factory) for cell in cells])
        except TermError as error:
            raise TextError(error.message, line=line) from None


def _term(cell: str, factory: TermFactory[Any]) -> Any:
    if not cell:
        return None
    if cell.startswith("_:"):
        return build(factory.blank_node, read_label(cell[2:]))
    if cell.startswith(("http://", "https://")):
        return build(factory.iri, cell)
    return build(factory.literal, cell, None, None)


def _records(chunks: Iterator[bytes], limits: Limits) -> Iterator[tuple[int, list[str]]]:
    """The cells of each record, and the line that it begins in; at least one record."""
    most = limits.frame_bytes
    file = io.BufferedReader(ChunkFile(chunks), CHUNK)
    lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    start = line = 1
    record = ""
    quotes = 0
    try:
        while text := lines.readline(most + 1):
            record += text
            if len(record) > most:
                raise over(limits, "frame_bytes", len(record), "the length of a line")
            quotes += text.count('"')
            line += 1
            if quotes & 1:
                # The line ends in a quoted cell, or has a quote where none may be.
                continue
            yield start, _cells(record, start)
            start, record, quotes = line, "", 0
    except UnicodeDecodeError as error:
        raise TextError(f"the text is not UTF-8: {error.reason}", line=line) from None
    if record or start == 1:
        yield start, _cells(record, start)


def _cells(record: str, line: int) -> list[str]:
    cells = []
    pos = 0
    while True:
        found = _CELL.match(record, pos)
        if found is None:
            raise TextError(
                "a quoted cell does not end, or a quote is in a cell that is not quoted",
                line=line + record.count("\n", 0, pos),
                column=pos - record.rfind("\n", 0, pos),
            )
        quoted, bare, end = found.groups()
        cells.append(bare if quoted is None else quoted.replace('""', '"'))
        if end != ",":
            return cells
        pos = found.end()


def csv_chunks(
    variables: Sequence[str], solutions: Iterable[Sequence[Any]], describe: Describe
) -> Iterator[bytes]:
    """Solutions as CSV, see :func:`.w3c.chunks_of`."""
    check_names(variables)
    line = csv.writer(_Line()).writerow
    text_of = TermTexts(lambda term: _cell(term, describe))

    def row_text(solution: Sequence[Any]) -> Any:
        return line(["" if term is None else text_of(term) for term in solution])

    return chunks_of(line(variables), len(variables), solutions, row_text, "")


class _Line:
    """A file whose writer returns what it writes."""

    def write(self, text: str) -> str:
        return text


def _cell(term: Any, describe: Describe) -> str:
    kind, *parts = describe(term)
    if kind == Kind.TRIPLE:
        raise TermError("CSV has no place for quoted triples: write TSV")
    if kind not in (Kind.IRI, Kind.BLANK_NODE, Kind.LITERAL):
        raise TermError("the default graph is not a term of a solution")
    text: str = parts[0]
    return "_:" + written_label(text) if kind == Kind.BLANK_NODE else text
