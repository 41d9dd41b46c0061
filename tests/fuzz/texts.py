"""Text for encoders: lines in chunks, and columns of terms."""

from __future__ import annotations

import random
import re
import struct
from dataclasses import replace
from itertools import pairwise
from typing import Any

from jelly_plugins.codec import DEFAULT_GRAPH
from jelly_plugins.codec.text.columns import Column, Columns
from jelly_plugins.codec.text.ntriples import statement_text, term_text
from jelly_plugins.errors import JellyError

from .statements import Terms

#: Text that makes a line unusual or invalid.
_ODD = (
    *(b"@en", b"^^", b"<<", b">>", b"--ltr", b".", b"VERSION", b"^^bad", b"^^<rel>", b"_:", b"<"),
    *(b'"', b"\\", b"\\u00e9", b"\\uD800", b"\xc3", b"#", b"\n", b"<<( ", b" )>>", b"@", b"\x00"),
)


def random_text(rng: random.Random, width: int, *, whole_lines: bool = False) -> list[bytes]:
    """Make lines of N-Triples or N-Quads in chunks, sometimes with errors.

    :param width: usual number of terms of a line.
    :param whole_lines: whether chunks end at line ends.
    """
    terms = Terms(rng)
    lines = []
    if rng.random() < 0.1:
        width = 7 - width
    before = None
    for _ in range(rng.randrange(1, 20)):
        before = terms.statement(width, before)
        try:
            line = statement_text(before)  # type: ignore[arg-type]
        except (JellyError, TypeError, AttributeError):
            continue
        if rng.random() < 0.2:
            line = line.replace(" ", rng.choice(("", "\t", "  ")))
        if rng.random() < 0.1:
            line = line.replace("a", rng.choice(("\\u0061", "\\U00000061", "\\n", "\\uD800")))
        lines.append(line + rng.choice(("\n", "\n", "\n", "\r\n", "\r", "\n\n", " # c\n", "")))
    made = [bytearray(line.encode("utf-8", "surrogatepass")) for line in lines]
    if made and rng.random() < 0.5:
        # Choose a late line, so that other lines precede it.
        _damage(rng, made[max(rng.randrange(len(made)) for _ in range(2))])
    data = b"".join(made)
    if whole_lines or rng.random() < 0.4:
        ends = [found.end() for found in re.finditer(rb"\r\n|[\r\n]", data)]
        borders = [end for end in ends if rng.random() < 0.6]
    elif rng.random() < 0.3:
        borders = [rng.randrange(len(data) + 1) for _ in range(rng.randrange(6))]
    else:
        size = rng.choice((1, 7, 100, 10_000))
        borders = list(range(size, len(data), size))
    borders = sorted({0, *borders, len(data)})
    return [data[start:stop] for start, stop in pairwise(borders)]


def _damage(rng: random.Random, line: bytearray) -> None:
    """Damage a line in one place."""
    pos = rng.randrange(len(line) + 1)
    typed = line.rfind(b"^^<")
    kind = rng.randrange(6)
    if kind == 0 and pos < len(line):
        line[pos] = rng.choice(b'<>"\\@^_:. \n\r\t#\xc3\xed\xff\x00Aa0')
    elif kind == 1:
        del line[pos : pos + rng.randrange(1, 4)]
    elif kind == 2:
        line[pos:pos] = line[pos : pos + 30]
    elif kind == 3 and typed >= 0:
        # Replace a whole datatype.
        line[typed + 2 : line.find(b">", typed) + 1] = rng.choice(_ODD)
    else:
        line[pos:pos] = rng.choice(_ODD)


def column_of(cells: list[bytes | None], skipped: int = 0) -> Column:
    """Make a column of cells; its offset skips the first ones."""
    offsets = [0]
    for cell in cells:
        offsets.append(offsets[-1] + len(cell or b""))
    bits = sum(1 << row for row, cell in enumerate(cells) if cell is not None)
    return Column(
        rows=len(cells) - skipped,
        offsets=struct.pack(f"<{len(offsets)}i", *offsets),
        data=b"".join(cell or b"" for cell in cells),
        validity=None if None not in cells else bits.to_bytes((len(cells) + 7) // 8, "little"),
        offset=skipped,
    )


def random_columns(rng: random.Random, width: int) -> Columns:
    """Make columns, sometimes with errors."""
    terms = Terms(rng)
    rows: list[list[bytes | None]] = []
    before = None
    for _ in range(rng.randrange(20)):
        before = terms.statement(width, before)
        cells: list[bytes | None] = []
        for term in (*before, DEFAULT_GRAPH)[:4]:
            try:
                text = term_text(term)
            except JellyError:
                text = ""
            cell = text.encode("utf-8", "surrogatepass")
            kind = rng.random()
            if kind < 0.01:
                cell = bytearray(cell or b"x")
                cell[rng.randrange(len(cell))] = rng.choice(b'<>"\\@^_:. \n\t\xc3\xed\xff\x00Aa0')
                cell = bytes(cell)
            elif kind < 0.02:
                cell = (
                    rng.choice((b" ", b"")) + cell + rng.choice((b" ", b".", b"@en", b"\n", b"#"))
                )
            elif kind < 0.03:
                cell = cell.replace(b"a", rng.choice((b"\\u0061", b"\\U00000061", b"\\uD800")))
            cells.append(None if not cell and rng.random() < 0.5 else cell)
        rows.append(cells)
    skipped = rng.randrange(len(rows) + 1) if rng.random() < 0.3 else 0
    made = [column_of([row[position] for row in rows], skipped) for position in range(4)]
    if rng.random() < 0.05:
        at = rng.randrange(4)
        damage: list[dict[str, Any]] = [
            {"offsets": bytes(made[at].offsets)[: rng.randrange(1 + len(made[at].offsets))]},
            {"offsets": bytes(rng.choice((0, 0, 0, 1, 255)) for _ in made[at].offsets)},
            {"data": made[at].data[:-1]},
            {"validity": b""},
            {"rows": rng.choice((-1, made[at].rows + 1))},
            {"offset": rng.choice((-1, 1, 1 << 70))},
        ]
        made[at] = replace(made[at], **rng.choice(damage))
    subject, predicate, object_, graph = made
    return Columns(
        rows=len(rows) - skipped,
        subject=subject,
        predicate=predicate,
        object=object_,
        graph=None if width == 3 and rng.random() < 0.5 else graph,
    )
