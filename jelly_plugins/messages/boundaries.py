"""Where messages end: in lines of text, in rows of Jelly, in frames; and text and rows cut there.

The codec's kernels read and write text and rows in bulk and know nothing of messages. So boundaries
are removed from the input, as numbers of statements, and added to the output. This is the reference
of the compiled module; ``kernel`` selects one of the two.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from ..codec.common.row_writer import rows_of
from ..codec.common.terms import DEFAULT_GRAPH, Quad, Triple, terms_of
from ..codec.common.wire import BYTES, varint
from ..codec.rdf.rules import Row

#: What ends a message in a log of lines, as it is written.
DELIMITER: Final = b"MESSAGE\n"

_LINE: Final = re.compile(
    rb"[ \t]*+(?:(MESSAGE)[ \t]*+(?:#[^\r\n]*+)?+(?=[\r\n])|([^\r\n]?+)[^\r\n]*+)(?:\r\n?|\n)"
)
_STATEMENTS: Final = (Row.TRIPLE, Row.QUAD)
_ROW_TAG: Final = 1 << 3 | BYTES
_OPTIONS_TAG: Final = Row.OPTIONS << 3 | BYTES
_quad: Final = partial(tuple.__new__, Quad)


def count_lines(
    text: bytearray,
    pos: int,
    line: int,
    open_: int,
    announced: bool,
    counts: list[int],
    firsts: list[int],
) -> tuple[int, int, int]:
    """Count the statements of each message in lines of N-Triples or N-Quads, up to a line that must
    be checked: one that opens like a directive and is not a delimiter.

    A delimiter is overwritten with spaces, so that a parser of statements sees an empty line.

    :param text: whole lines, ``pos`` the start of one.
    :param line: its number.
    :param open_: statements so far of the message that is not ended yet.
    :param announced: whether there may be delimiters.
    :param counts: takes the number of statements of each message that ends.
    :param firsts: takes, for each message that has statements, the line of its first one.
    :return: what ``pos``, ``line`` and ``open_`` have become.
    """
    while found := _LINE.match(text, pos):
        opening = found[2]
        if opening is None and announced:
            start = found.start(1)
            stop = found.end() - len(found[0]) + len(found[0].rstrip(b"\r\n"))
            text[start:stop] = b" " * (stop - start)
            if not open_:
                firsts.append(line)
            counts.append(open_)
            open_ = 0
        elif opening in (None, b"M", b"V", b"@"):
            break
        elif opening not in (b"", b"#"):
            if not open_:
                firsts.append(line)
            open_ += 1
        line += 1
        pos = found.end()
    return pos, line, open_


def cut_rows(
    rows: bytes,
    opening: bytes,
    statements: int,
    opening_rows: int,
    counts: list[int],
    max_bytes: int,
    max_rows: int,
) -> tuple[bytes, int, int, int, int]:
    """Cut rows of our own into delimited frames, each of which ends after so many statements.

    :param opening: rows that the first frame opens with; ``opening_rows`` is their number, and
        ``statements`` that of the statements among them.
    :param counts: the number of statements of each frame, all of which the rows have.
    :param max_bytes: of a frame; one that is longer, or has more than ``max_rows`` rows, is not
        written, nor is what follows.
    :return: the frames; their number; where in ``rows`` the rest starts; its rows and statements,
        together with those of ``opening`` where no frame was written.
    """
    out: list[bytes] = []
    ended = 0
    start = 0
    number = opening_rows
    walk = rows_of(rows)
    stop = 0
    for count in counts:
        while statements < count:
            _, stop, row = next(walk)
            number += 1
            statements += row in _STATEMENTS
        size = len(opening) + stop - start
        if size > max_bytes or number > max_rows:
            return b"".join(out), ended, start, number, statements
        out += (varint(size), opening, rows[start:stop])
        opening = b""
        start = stop
        ended += 1
        number = statements = 0
    for _, _, row in walk:
        number += 1
        statements += row in _STATEMENTS
    return b"".join(out), ended, start, number, statements


def join_frames(
    data: bytes, pos: int, counts: list[int], rows: list[int], max_bytes: int, max_rows: int
) -> tuple[bytes, int]:
    """Join delimited frames into one with the same contents, up to one that must be checked:
    anything but rows of a usual form, options, a frame that does not end in ``data``.

    :param counts: takes the number of statements of each frame.
    :param rows: takes the number of rows of each frame.
    :param max_bytes: that are joined; and ``max_rows`` of them.
    :return: the rows of the frames, and where the next frame is delimited.
    """
    joined: list[bytes] = []
    size = total = 0
    while (found := _short_varint(data, pos, len(data))) is not None:
        length, start = found
        size += length
        if length > len(data) - start or size > max_bytes:
            break
        counted = _usual_rows(data, start, start + length)
        if counted is None or total + counted[0] > max_rows:
            break
        total += counted[0]
        rows.append(counted[0])
        counts.append(counted[1])
        pos = start + length
        joined.append(data[start:pos])
    return b"".join(joined), pos


def _short_varint(data: bytes, pos: int, end: int) -> tuple[int, int] | None:
    """A varint of at most four bytes, and where it ends."""
    value = 0
    for shift in range(0, 28, 7):
        if pos >= end:
            return None
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, pos
    return None


def _usual_rows(data: bytes, pos: int, end: int) -> tuple[int, int] | None:
    """The numbers of rows and of statements in a frame with only rows of the usual form."""
    rows = statements = 0
    while pos < end:
        found = _short_varint(data, pos + 1, end)
        if data[pos] != _ROW_TAG or found is None or not 2 <= found[0] <= end - found[1]:
            return None
        length, start = found
        pos = start + length
        tag = data[start]
        body = _short_varint(data, start + 1, pos)
        if tag >= 0x80 or tag & 7 != BYTES or tag == _OPTIONS_TAG:
            return None
        if body is None or body[0] != pos - body[1]:
            return None
        rows += 1
        statements += tag >> 3 in _STATEMENTS
    return rows, statements


def weave(text: bytes, counts: list[int]) -> bytes:
    """Put a delimiter into lines of one statement each, after so many of them for each of
    ``counts``, which come to all of them.

    >>> weave(b"<s> <p> <o> .\\n", [0, 1])
    b'MESSAGE\\n<s> <p> <o> .\\nMESSAGE\\n'
    """
    out: list[bytes] = []
    pos = 0
    for count in counts:
        start = pos
        for _ in range(count):
            pos = text.index(b"\n", pos) + 1
        out += (text[start:pos], DELIMITER)
    return b"".join(out)


def in_default_graph(triples: list[Triple]) -> list[Quad]:
    """Triples as quads.

    >>> from jelly_plugins.codec import Iri
    >>> in_default_graph([Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))])[0].graph
    DEFAULT_GRAPH
    """
    quads = []
    for terms in map(terms_of, triples):
        if len(terms) != 3:
            raise TypeError("a triple must be a tuple of three terms")
        quads.append(_quad((*terms, DEFAULT_GRAPH)))
    return quads
