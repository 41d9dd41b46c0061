"""Cases for the kernel of message logs: counting, cutting and joining.

Each function returns the :data:`~.comparison.Outcome` of one function, compiled or not;
:func:`messages_case` compares both on random input.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from jelly_plugins.codec import Encoder, Iri, LogicalType, StreamOptions, delimit
from jelly_plugins.codec.common.row_writer import rows_of
from jelly_plugins.codec.rdf.rules import Row
from jelly_plugins.messages import boundaries

from .comparison import Outcome, compare
from .lending import lent
from .statements import Terms
from .streams import damaged, made_stream_of
from .texts import random_text

#: A function that returns the outcome of calls, the function that it calls, and the other
#: arguments.
Call = tuple[Callable[..., Outcome], Callable[..., Any], tuple[Any, ...]]

#: Bounds on bytes and rows.
BOUNDS: Final = ((1 << 20, 1 << 20), (1 << 20, 1 << 20), (300, 1 << 20), (1 << 20, 12))
_DELIMITERS: Final = (
    *(b"MESSAGE\n", b" MESSAGE # x\r\n", b"\tMESSAGE\t\r", b"MESSAGES\n", b"MESSAG\n", b"M\n"),
    *(b'VERSION "1.2-messages"\n', b"@message .\n", b"# MESSAGE\n", b"\n", b"  \n"),
)


def counted(function: Callable[..., Any], text: bytes, *given: Any) -> Outcome:
    """Count lines; return the counts, and the text, which the function may change."""
    data = bytearray(text)
    counts: list[int] = []
    firsts: list[int] = []
    made = function(data, *given, counts, firsts)
    return [made, counts, firsts, bytes(data)], None


def joined(function: Callable[..., Any], data: bytes, pos: int, *bounds: int) -> Outcome:
    """Join frames."""
    counts: list[int] = []
    rows: list[int] = []
    return [lent(function, data, pos, counts, rows, *bounds), counts, rows], None


def made(function: Callable[..., Any], *given: Any) -> Outcome:
    """Call a function."""
    return [lent(function, *given)], None


# Calls


def counting(text: bytes, settings: int) -> Call:
    """Count messages in lines."""
    return counted, boundaries.count_lines, (text, 0, 7, settings >> 1 & 3, bool(settings & 1))


def joining(data: bytes, settings: int) -> Call:
    """Join frames."""
    pos = min(settings >> 2, len(data))
    return joined, boundaries.join_frames, (data, pos, *BOUNDS[settings & 3])


def cutting(statements: list[Any], settings: int) -> Call:
    """Cut rows of this package's encoder into frames."""
    encoder = Encoder(StreamOptions(logical_type=LogicalType.GRAPHS))
    opening = encoder.flush()
    encoder.add(statements)
    rows = encoder.flush()
    found = sum(row in (Row.TRIPLE, Row.QUAD) for _, _, row in rows_of(rows))
    return (
        made,
        boundaries.cut_rows,
        (
            *(rows, opening, 0, 1, _counts(found, settings >> 2)),
            *BOUNDS[settings & 3],
        ),
    )


def is_usual(statement: tuple[Any, ...]) -> bool:
    """Whether a statement can certainly be written as one row."""
    return all(isinstance(term, Iri) for term in statement)


def weaving(text: bytes, settings: int) -> Call:
    """Insert delimiters between lines."""
    text = text[: text.rfind(b"\n") + 1]
    counts = _counts(text.count(b"\n"), settings)
    return made, boundaries.weave, (text, counts)


def wrapping(statements: list[Any]) -> Call:
    """Convert triples to quads in the default graph."""
    return made, boundaries.in_default_graph, (statements,)


def _counts(total: int, seed: int) -> list[int]:
    """Make numbers whose sum is a part of a total, or all of it."""
    rng = random.Random(seed)
    counts = []
    while total and rng.random() < 0.9:
        counts.append(rng.randrange(min(total, 5) + 1))
        total -= counts[-1]
    return counts


# Cases


@cache
def _frames(number: int) -> bytes:
    return b"".join(map(delimit, made_stream_of(number)))


def _statements(rng: random.Random) -> list[Any]:
    terms = Terms(rng)
    iris = [(terms.iri(), terms.iri(), terms.iri()) for _ in range(rng.randrange(20))]
    return [each for each in iris if not any("\ud800" in term.value for term in each)]


def log_lines(rng: random.Random) -> bytes:
    """Make lines of a log, some of which are delimiters or resemble them."""
    lines = [*random_text(rng, 3), *rng.choices(_DELIMITERS, k=rng.randrange(8))]
    rng.shuffle(lines)
    return b"".join(lines)


def frames_of_log(rng: random.Random) -> bytes:
    """Make delimited frames."""
    return damaged(rng, _frames(rng.randrange(200)))


def random_call(rng: random.Random) -> Call:
    settings = rng.randrange(256)
    kind = rng.randrange(5)
    if kind == 0:
        return counting(log_lines(rng), settings)
    if kind == 1:
        return joining(frames_of_log(rng), settings)
    if kind == 2:
        return weaving(log_lines(rng), settings)
    statements = _statements(rng)
    return cutting(statements, settings) if kind == 3 else wrapping(statements)


def messages_case(rng: random.Random) -> Outcome:
    outcome, reference, given = random_call(rng)
    return compare(outcome, reference, *given)
