"""Logs for people to read: RDF Patch text row by row, or a summary of each patch. Colours are the
caller's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ...codec.patch.operations import OperationKind
from ...codec.text.ntriples import term_text
from ..model import Patch
from ..text.writer import PatchTextWriter

#: Control characters that N-Triples does not escape; a terminal may take them for commands.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Line(NamedTuple):
    """A line of a listing.

    :ivar kind: of the row; None for the line that opens a patch.
    """

    kind: OperationKind | None
    text: str


@dataclass(frozen=True, slots=True)
class Summary:
    """A patch in figures.

    :ivar number: of the patch in the log, from 1.
    :ivar id: of the patch, in the syntax of N-Triples; None without one.
    :ivar prev: id of the patch before it, likewise.
    :ivar rows: number of rows of each kind, by its code in RDF Patch; headers are ``H``.
    """

    number: int
    id: str | None
    prev: str | None
    rows: dict[str, int]


def lines(patches: Iterable[Patch]) -> Iterator[Line]:
    """A log line by line, as it is read.

    >>> from jelly_plugins.patch import read_patches
    >>> for line in lines(read_patches(b"H id <urn:1> . TX . A <urn:s> <urn:p> _:o . TC .")):
    ...     print(line.text)
    # patch 1
    H id <urn:1> .
    TX .
    A <urn:s> <urn:p> <_:o> .
    TC .
    """
    for number, patch in enumerate(patches, 1):
        yield Line(None, f"# patch {number}")
        writer = PatchTextWriter()
        for kind, value in patch.rows():
            text = writer.row(kind, value).decode().removesuffix("\n")
            yield Line(kind, _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04X}", text))


def summaries(patches: Iterable[Patch]) -> Iterator[Summary]:
    """A log patch by patch, in figures.

    >>> from jelly_plugins.patch import read_patches
    >>> list(summaries(read_patches(b"TX . TC .")))
    [Summary(number=1, id=None, prev=None, rows={'TX': 1, 'TC': 1})]
    """

    def text(term: Any) -> str | None:
        return None if term is None else term_text(term)

    for number, patch in enumerate(patches, 1):
        rows = Counter(kind.code for kind, _ in patch.rows())
        # The rows may have brought headers of their own.
        yield Summary(number, text(patch.id), text(patch.prev), dict(rows))
