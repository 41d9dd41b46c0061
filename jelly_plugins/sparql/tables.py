"""Results in CSV, which does not record the kinds of terms, and in TSV, which has terms as in
Turtle.

Reference: SPARQL 1.1 Query Results CSV and TSV Formats, which uses RFC 4180.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from ..codec import Describe, Limits, TermFactory
from ..codec.common.limits import over
from ..codec.text.lines import (
    BLANK_NODE,
    IRI,
    LANGTAG,
    NOT_IN_IRI,
    STRING,
    Pattern,
    unescaped,
)
from ..codec.text.ntriples import STRING_SPECIAL, escape
from ..codec.text.transcoding import LONG_TERM
from ..errors import TermError, TextError
from ..formats.reading import ChunkFile
from ..io.sources import CHUNK
from .terms import (
    CACHE_ENTRIES,
    Results,
    Solution,
    TermReader,
    TextFormat,
    check_count,
    check_variables,
    written,
)

#: A cell of CSV that is not a literal: an IRI, or the label of a blank node.
_CSV_TERM: Final = re.compile(rf"https?://[^{NOT_IN_IRI}]*+|_:(\S++)")
#: A cell of CSV, and what follows it.
_CELL: Final = re.compile(r'(?:"((?:[^"]|"")*+)"|([^",\r\n]*+))(,|\r\n?|\n|\Z)')

_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
#: Literals that TSV may have without quotes and datatype, by datatype.
_BARE: Final = {
    _XSD + "integer": r"[+-]?[0-9]++(?![.0-9eE])",
    _XSD + "decimal": r"[+-]?[0-9]*+\.[0-9]++(?![0-9eE])",
    _XSD + "double": r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)[eE][+-]?[0-9]++",
    _XSD + "boolean": "true|false",
}
#: A term of TSV. Each datatype without quotes has a group.
_TERM: Final = Pattern(
    rf"{IRI}|{BLANK_NODE}"
    rf"|(?:{STRING}|'((?:[^'\\\n\r]++|\\.)*+)')(?:@({LANGTAG})(?:--(ltr|rtl))?+|\^\^{IRI})?+|"
    + "|".join(f"({form})" for form in _BARE.values())
)


def read_csv(chunks: Iterator[bytes], factory: TermFactory[Any], limits: Limits) -> Results:
    """Read the header.

    A cell that is an IRI with the scheme ``http`` or ``https`` is read as an IRI, and ``_:`` with a
    label as a blank node. An empty cell is unbound, and any other is a literal without a datatype.

    :raises TextError: here or while iterating; the text is not well-formed, or a line does not have
        a cell for each variable.
    :raises LimitError: likewise; a line is longer than a frame may be, or has too many cells.
    """
    terms = TermReader(factory, limits)

    def term(cell: str) -> Any:
        found = _CSV_TERM.fullmatch(cell)
        if found is None:
            return terms.term("literal", cell)
        return terms.term("uri", cell) if found[1] is None else terms.term("bnode", found[1])

    records = _records(chunks, limits, quotes=True)
    line, record = next(records)
    check_count(record.count(",") + 1, limits)
    names = [name.removeprefix("?") for name in _csv_cells(record, line, limits.variables)]
    return _table(names, records, _csv_cells, term, limits)


def read_tsv(chunks: Iterator[bytes], factory: TermFactory[Any], limits: Limits) -> Results:
    """Read the header, or the result of ASK; see :func:`read_csv` for what is raised."""
    records = _records(chunks, limits, quotes=False)
    line, record = next(records)
    check_count(record.count("\t") + 1, limits)
    names = _tsv_cells(record, line, limits.variables)
    if names in (["true"], ["false"]):
        for line, _ in records:
            raise TextError("the result of ASK is followed by another line", line=line)
        return Results([], names == ["true"], iter(()))
    for name in names:
        if not name.startswith(("?", "$")) and names != [""]:
            raise TextError(f"{name[:80]!r} is not a variable: it has no '?'", line=1)
    term = partial(_tsv_term, TermReader(factory, limits))
    return _table([name[1:] for name in names], records, _tsv_cells, term, limits)


def _table(
    names: list[str],
    records: Iterator[tuple[int, str]],
    cells_of: Callable[[str, int, int], list[str]],
    term: Callable[[str], Any],
    limits: Limits,
) -> Results:
    """The results whose header has these names, or is empty."""
    if names == [""]:
        names = []
    try:
        check_variables(names, limits)
    except TermError as error:
        raise TextError(error.message, line=1) from None
    return Results(names, None, _solutions(records, len(names), cells_of, term))


def _solutions(
    records: Iterator[tuple[int, str]],
    width: int,
    cells_of: Callable[[str, int, int], list[str]],
    term: Callable[[str], Any],
) -> Iterator[Solution]:
    # The terms of short cells are kept. An empty cell is unbound.
    known: dict[str, Any] = {"": None}
    for line, record in records:
        cells = cells_of(record, line, width)
        if len(cells) != width:
            if width or cells != [""]:
                raise _wrong_width(len(cells), width, line)
            cells = []
        terms = []
        try:
            for cell in cells:
                if cell in known:
                    terms.append(known[cell])
                    continue
                terms.append(term(cell))
                if len(cell) <= LONG_TERM:
                    if len(known) >= CACHE_ENTRIES:
                        known = {"": None}
                    known[cell] = terms[-1]
        except (TermError, TextError) as error:
            raise TextError(error.message, line=line) from None
        yield tuple(terms)


def _wrong_width(cells: int, width: int, line: int) -> TextError:
    return TextError(f"the line has {cells} cells for {width} variables", line=line)


def _tsv_cells(record: str, line: int, most: int) -> list[str]:
    """The cells of a line of TSV.

    :param most: more are rejected before they are made.
    """
    if record.count("\t") > most:
        raise _wrong_width(record.count("\t") + 1, most, line)
    return record.rstrip("\r\n").split("\t")


def _csv_cells(record: str, line: int, most: int) -> list[str]:
    """The cells of a record of CSV, see :func:`_tsv_cells`."""
    if '"' not in record:
        if record.count(",") > most:
            raise _wrong_width(record.count(",") + 1, most, line)
        return record.rstrip("\r\n").split(",")
    cells: list[str] = []
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
        if end != "," or len(cells) > most + 1:
            return cells
        pos = found.end()


def _tsv_term(terms: TermReader, cell: str) -> Any:
    found, end = _term_at(terms, cell, 0, 0)
    if end < len(cell):
        raise TextError(f"a cell has more than a term: {cell[end : end + 80]!r}")
    return found


def _term_at(terms: TermReader, text: str, at: int, depth: int) -> tuple[Any, int]:
    """Read the term at a position, within ``depth`` quoted triples; return it and its end."""
    if text.startswith("<<", at):
        terms.check_depth(depth + 1)
        opening, closing = ("<<(", ")>>") if text.startswith("<<(", at) else ("<<", ">>")
        at += len(opening)
        parts = []
        for _ in range(3):
            term, at = _term_at(terms, text, _after_spaces(text, at), depth + 1)
            parts.append(term)
        at = _after_spaces(text, at)
        if not text.startswith(closing, at):
            raise TextError(f"a quoted triple does not end with {closing}")
        return terms.triple(parts), at + len(closing)
    found = _TERM.compiled.match(text, at)
    if found is None:
        raise TextError(f"not a term: {text[at : at + 80]!r}")
    iri, label, lex, other_lex, language, direction, datatype, *bare = found.groups()
    try:
        if iri is not None:
            term = terms.term("uri", unescaped(iri))
        elif label is not None:
            term = terms.term("bnode", label)
        elif (raw := lex if lex is not None else other_lex) is not None:
            datatype = None if datatype is None else unescaped(datatype)
            term = terms.term("literal", unescaped(raw), datatype, language, direction)
        else:
            datatype = next(each for each, form in zip(_BARE, bare, strict=True) if form)
            term = terms.term("literal", found[0], datatype)
    except ValueError as error:
        raise TextError(getattr(error, "message", str(error))) from None
    return term, found.end()


def _after_spaces(text: str, at: int) -> int:
    while text.startswith(" ", at):
        at += 1
    return at


def _records(chunks: Iterator[bytes], limits: Limits, *, quotes: bool) -> Iterator[tuple[int, str]]:
    """The records of a table with the line that each begins in; at least one record.

    :param quotes: whether a record may have line ends between quotes.
    """
    most = limits.frame_bytes
    file = io.BufferedReader(ChunkFile(chunks), CHUNK)
    lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    line = 1
    try:
        while text := lines.readline(most + 1):
            start = line
            line += 1
            if quotes and text.count('"') & 1:
                # The line ends in a quoted cell, or has a quote where none may be.
                parts = [text]
                size = len(text)
                while size <= most and (text := lines.readline(most + 1)):
                    parts.append(text)
                    size += len(text)
                    line += 1
                    if text.count('"') & 1:
                        break
                text = "".join(parts)
            if len(text) > most:
                raise over(limits, "frame_bytes", len(text), "the length of a line")
            yield start, text
    except UnicodeDecodeError as error:
        raise TextError(f"the text is not UTF-8: {error.reason}", line=line) from None
    if line == 1:
        yield 1, ""


def csv_chunks(
    variables: Sequence[str], solutions: Iterable[Sequence[Any]], describe: Describe
) -> Iterator[bytes]:
    """Solutions as CSV, see :func:`.terms.written`."""
    line = csv.writer(_Line()).writerow
    return written(
        "csv",
        (line(variables), ""),
        variables,
        solutions,
        describe=describe,
        term_text=_csv_cell,
        row_text=line,
    )


class _Line:
    """A file whose writer returns what it writes."""

    def write(self, text: str) -> str:
        return text


def _csv_cell(parts: tuple[Any, ...]) -> str:
    kind, value = parts[:2]
    if kind == "triple":
        raise TermError("CSV has no place for quoted triples: write TSV")
    return f"_:{value}" if kind == "bnode" else value


def tsv_chunks(
    variables: Sequence[str], solutions: Iterable[Sequence[Any]], describe: Describe
) -> Iterator[bytes]:
    """Solutions as TSV, see :func:`.terms.written`."""
    return written(
        "tsv",
        ("\t".join("?" + name for name in variables) + "\n", ""),
        variables,
        solutions,
        describe=describe,
        term_text=_tsv_cell,
        row_text=lambda texts: "\t".join([text or "" for text in texts]) + "\n",
    )


def tsv_boolean(value: bool) -> bytes:
    """The result of an ASK query as TSV, as Oxigraph writes it: the recommendation does not define
    one."""
    return b"true\n" if value else b"false\n"


def _tsv_cell(parts: tuple[Any, ...]) -> str:
    kind, *values = parts
    if kind == "uri":
        return f"<{values[0]}>"
    if kind == "bnode":
        return f"_:{values[0]}"
    if kind == "triple":
        return f"<<( {' '.join(map(_tsv_cell, values))} )>>"
    lex, datatype, language, direction = values
    if datatype in _BARE and re.fullmatch(_BARE[datatype], lex):
        return str(lex)
    text = f'"{STRING_SPECIAL.sub(escape, lex)}"'
    if language is not None:
        return f"{text}@{language}" + (f"--{direction}" if direction else "")
    return text if datatype is None else f"{text}^^<{datatype}>"


# In CSV the result of ASK would be read as a variable name.
CSV: Final = TextFormat(read_csv, csv_chunks)
TSV: Final = TextFormat(read_tsv, tsv_chunks, tsv_boolean)
