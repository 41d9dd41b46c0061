"""Results in CSV, which does not record the kinds of terms, and in TSV, which has terms as in
Turtle.

Reference: SPARQL 1.1 Query Results CSV and TSV Formats, which uses RFC 4180.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from ..codec import Limits
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
from ..errors import TermError, TextError
from ..io.chunks import ChunkFile
from ..io.sources import CHUNK
from .terms import CEILING, PARTS, Row, TextFormat, check_count, check_depth

#: A cell of CSV that is not a literal: an IRI, or the label of a blank node.
_CSV_TERM: Final = re.compile(rf"https?://[^{NOT_IN_IRI}]*+|_:(\S++)")
#: A cell of CSV, and what follows it.
_CELL: Final = re.compile(r'(?:"((?:[^"]|"")*+)"|([^",\r\n]*+))(,|\r\n?|\n|\Z)')

_TO_QUOTE: Final = re.compile(r'[",\r\n]')

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


def _rows(
    chunks: Iterator[bytes],
    limits: Limits,
    *,
    separator: str,
    header: Callable[[list[str]], list[str] | bool],
) -> Iterator[Row]:
    """Read a table: a header, and a line for each solution."""
    records = _records(chunks, limits, quotes=separator == ",")
    line, record = next(records)
    check_count(record.count(separator) + 1, limits)
    names = _cells(record, separator, line, limits.variables)
    found = header(names if names != [""] else [])
    yield line, found
    if isinstance(found, bool):
        for line, _ in records:
            raise TextError("the result of ASK is followed by another line", line=line)
        return
    width = len(found)
    for line, record in records:
        cells = _cells(record, separator, line, width)
        if len(cells) != width and (width or cells != [""]):
            raise _wrong_width(len(cells), width, line)
        yield line, cells if width else []


def _records(chunks: Iterator[bytes], limits: Limits, *, quotes: bool) -> Iterator[tuple[int, str]]:
    """The records of a table with the line that each begins in; at least one record."""
    most = limits.frame_bytes
    file = io.BufferedReader(ChunkFile(chunks), CHUNK)
    lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    line = 1
    try:
        while record := lines.readline(most + 1):
            start = line
            line += 1
            if quotes and record.count('"') & 1:
                # The line ends in a quoted cell, or has a quote where none may be.
                parts = [record]
                size = len(record)
                while size <= most and (text := lines.readline(most + 1)):
                    parts.append(text)
                    size += len(text)
                    line += 1
                    if text.count('"') & 1:
                        break
                record = "".join(parts)
            if len(record) > most:
                raise over(limits, "frame_bytes", len(record), "the length of a line")
            yield start, record
    except UnicodeDecodeError as error:
        raise TextError(f"the text is not UTF-8: {error.reason}", line=line) from None
    if line == 1:
        yield 1, ""


def _cells(record: str, separator: str, line: int, most: int) -> list[str]:
    """The cells of a record; more than ``most`` are rejected before they are made."""
    if separator == "\t" or '"' not in record:
        count = record.count(separator) + 1
        if count > max(1, most):
            raise _wrong_width(count, most, line)
        return record.rstrip("\r\n").split(separator)
    cells: list[str] = []
    pos = 0
    while len(cells) <= most:
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
            break
        pos = found.end()
    return cells


def _wrong_width(cells: int, width: int, line: int) -> TextError:
    return TextError(f"the line has {cells} cells for {width} variables", line=line)


# CSV


def _csv_term(cell: str) -> dict[str, Any]:
    """The term that a cell most likely has been: an IRI with the scheme ``http`` or ``https``, a
    blank node, or a literal without a datatype."""
    found = _CSV_TERM.fullmatch(cell)
    if found is None:
        return {"type": "literal", "value": cell}
    if found[1] is None:
        return {"type": "uri", "value": cell}
    return {"type": "bnode", "value": found[1]}


def _csv_text(term: dict[str, Any]) -> str:
    if term["type"] == "triple":
        raise TermError("CSV has no place for quoted triples: write TSV")
    value: str = term["value"]
    if term["type"] == "bnode":
        return f"_:{value}"
    if _TO_QUOTE.search(value):
        value = value.replace('"', '""')
        return f'"{value}"'
    return value


def _csv_boolean(_: bool) -> str:
    raise TermError("CSV has no place for the result of an ASK query: it would be a variable")


_CSV: Final = TextFormat(
    rows=partial(
        _rows, separator=",", header=lambda names: [each.removeprefix("?") for each in names]
    ),
    term=_csv_term,
    head=lambda names: ",".join(names) + "\r\n",
    term_text=_csv_text,
    boolean=_csv_boolean,
    around=("", "\r\n"),
    separator=",",
    unbound="",
    # Many readers skip an empty line.
    empty='""',
)

# TSV


def _tsv_header(cells: list[str]) -> list[str] | bool:
    """The recommendation has no results of ASK: they are as Oxigraph has them."""
    if cells in (["true"], ["false"]):
        return cells == ["true"]
    for name in cells:
        if not name.startswith(("?", "$")):
            raise TextError(f"{name[:80]!r} is not a variable: it has no '?'", line=1)
    return [name[1:] for name in cells]


def _tsv_term(cell: str) -> dict[str, Any]:
    term, end = _term_at(cell, 0, 0)
    if end < len(cell):
        raise TextError(f"a cell has more than a term: {cell[end : end + 80]!r}")
    return term


def _term_at(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    """Read the term at a position, within ``depth`` quoted triples; return it and its end."""
    if text.startswith("<<", at):
        check_depth(depth + 1, CEILING)
        opening, closing = ("<<(", ")>>") if text.startswith("<<(", at) else ("<<", ">>")
        at += len(opening)
        parts = {}
        for name in PARTS:
            parts[name], at = _term_at(text, _after_spaces(text, at), depth + 1)
        at = _after_spaces(text, at)
        if not text.startswith(closing, at):
            raise TextError(f"a quoted triple does not end with {closing}")
        return {"type": "triple", "value": parts}, at + len(closing)
    found = _TERM.compiled.match(text, at)
    if found is None:
        raise TextError(f"not a term: {text[at : at + 80]!r}")
    iri, label, lex, other_lex, language, direction, datatype, *bare = found.groups()
    if lex is None:
        lex = other_lex
    if lex is None and iri is None and label is None:
        lex = found[0]
        datatype = next(each for each, form in zip(_BARE, bare, strict=True) if form)
    try:
        if iri is not None:
            term = {"type": "uri", "value": unescaped(iri)}
        elif label is not None:
            term = {"type": "bnode", "value": label}
        else:
            term = {"type": "literal", "value": unescaped(lex), "xml:lang": language}
            term["datatype"] = datatype and unescaped(datatype)
            term["its:dir"] = direction
    except ValueError as error:
        raise TextError(str(error)) from None
    return term, found.end()


def _after_spaces(text: str, at: int) -> int:
    while text.startswith(" ", at):
        at += 1
    return at


def _tsv_text(term: dict[str, Any]) -> str:
    kind = term["type"]
    value = term["value"]
    if kind == "uri":
        return f"<{value}>"
    if kind == "bnode":
        return f"_:{value}"
    if kind == "triple":
        return f"<<( {' '.join([_tsv_text(value[name]) for name in PARTS])} )>>"
    datatype = term.get("datatype")
    if datatype in _BARE and re.fullmatch(_BARE[datatype], value):
        return str(value)
    text = f'"{STRING_SPECIAL.sub(escape, value)}"'
    if "xml:lang" in term:
        return "--".join([f"{text}@{term['xml:lang']}", *filter(None, [term.get("its:dir")])])
    return text if datatype is None else f"{text}^^<{datatype}>"


_TSV: Final = TextFormat(
    rows=partial(_rows, separator="\t", header=_tsv_header),
    term=_tsv_term,
    head=lambda names: "\t".join([f"?{name}" for name in names]) + "\n",
    term_text=_tsv_text,
    boolean=lambda value: "true\n" if value else "false\n",
    separator="\t",
    unbound="",
)
FORMATS: Final = {"csv": _CSV, "tsv": _TSV}
