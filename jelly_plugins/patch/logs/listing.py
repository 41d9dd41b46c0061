"""Logs for people to read: a line for each row, or for each patch. Colours are the caller's.

The lines are not RDF Patch; no reader parses them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ...codec import Iri, Literal, Triple
from ...codec.patch.operations import OperationKind
from ...codec.text.ntriples import term_text
from ..model import Patch

#: What may follow a prefix without being ambiguous.
_LOCAL: Final = re.compile(r"[A-Za-z0-9_](?:[\w.\-]*[\w\-])?")
#: Control characters that N-Triples does not escape; a terminal may take them for commands.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_CACHE_ENTRIES: Final = 1 << 16

_SIGNS: Final = {OperationKind.ADD: "+", OperationKind.DELETE: "-"}


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

    IRIs are shortened by the prefixes that the log itself has declared so far.

    >>> from jelly_plugins.patch import read_patches
    >>> log = b"H id <urn:1> . TX . PA 'ex' <urn:ex:> . A <urn:ex:s> <urn:ex:p> _:o . TC ."
    >>> for line in lines(read_patches(log)):
    ...     print(line.text)
    patch 1
      id <urn:1>
      TX
        prefix ex: <urn:ex:>
        + ex:s ex:p _:o
      TC
    """
    terms = _Terms()
    for number, patch in enumerate(patches, 1):
        yield Line(None, f"patch {number}")
        indent = "  "
        for kind, value in patch.rows():
            if kind in (OperationKind.COMMIT, OperationKind.ABORT):
                indent = "  "
            yield Line(kind, indent + _CONTROL.sub(_escape, terms.line(kind, value)))
            if kind is OperationKind.BEGIN:
                indent = "    "


def summaries(patches: Iterable[Patch]) -> Iterator[Summary]:
    """A log patch by patch, in figures.

    >>> from jelly_plugins.patch import read_patches
    >>> list(summaries(read_patches(b"TX . TC .")))
    [Summary(number=1, id=None, prev=None, rows={'TX': 1, 'TC': 1})]
    """
    for number, patch in enumerate(patches, 1):
        rows = Counter(kind.code for kind, _ in patch.rows())
        # The rows may have brought headers of their own.
        yield Summary(number, _id_text(patch.id), _id_text(patch.prev), dict(rows))


def _id_text(term: Any) -> str | None:
    return None if term is None else term_text(term)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04X}"


class _Terms:
    """Rows as text, with the prefixes that were declared before."""

    def __init__(self) -> None:
        self._prefixes: dict[str, str] = {}
        self._cache: dict[str, str] = {}

    def line(self, kind: OperationKind, value: Any) -> str:
        if sign := _SIGNS.get(kind):
            return " ".join([sign, *filter(None, map(self._text, value))])
        if kind is OperationKind.HEADER:
            return f"{value.key} {self._text(value.value)}"
        if kind in (OperationKind.ADD_NAMESPACE, OperationKind.DELETE_NAMESPACE):
            return self._namespace(kind is OperationKind.ADD_NAMESPACE, *value)
        return kind.code

    def _namespace(self, added: bool, name: str, iri: Any, graph: Any) -> str:
        parts = ["prefix" if added else "no prefix", f"{name}:"]
        if iri is not None:
            # In full: it may be the prefix's current IRI.
            parts.append(term_text(iri))
        if graph is not None and (graph_text := self._text(graph)):
            parts.append(f"in {graph_text}")
        self._prefixes.pop(name, None)
        if added and iri is not None:
            self._prefixes[name] = iri.value
        self._cache.clear()
        return " ".join(parts)

    def _text(self, term: Any) -> str:
        if isinstance(term, Iri):
            return self._iri(term.value)
        if isinstance(term, Literal) and term.datatype is not None:
            return f"{term_text(Literal(term.lex))}^^{self._iri(term.datatype)}"
        if isinstance(term, Triple):
            return f"<<( {' '.join(map(self._text, term))} )>>"
        return term_text(term)

    def _iri(self, iri: str) -> str:
        text = self._cache.get(iri)
        if text is None:
            text = self._shortened(iri)
            if len(self._cache) >= _CACHE_ENTRIES:
                self._cache.clear()
            self._cache[iri] = text
        return text

    def _shortened(self, iri: str) -> str:
        fitting = [
            (len(start), name)
            for name, start in self._prefixes.items()
            if start and iri.startswith(start) and _LOCAL.fullmatch(iri, len(start))
        ]
        if not fitting:
            return term_text(Iri(iri))
        length, name = max(fitting)
        return f"{name}:{iri[length:]}"
