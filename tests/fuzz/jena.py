"""Cases for the kernel of Jena RDF Binary: rows in chunks, each freed after it was read, and lines.

Each function returns the :data:`~.comparison.Outcome` of one class, compiled or not; each
``…_case`` makes random input for one.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from jelly_plugins.codec import DEFAULT_LIMITS, Limits
from jelly_plugins.jena.names import JenaFormat
from jelly_plugins.jena.rows import RowWriter, StatementReader

from ..jena.kernels import rows as rows_of
from .comparison import Case, Outcome
from .lending import Rejection, lent
from .streams import damaged, limits_for
from .texts import random_text
from .writers import written

FORMATS: Final = tuple(JenaFormat)
_PREFIXES: Final = {"x": "urn:x:", "": "http://a/b#", "xsd": "http://www.w3.org/2001/XMLSchema#"}
_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_NAMES: Final = (*("x", "x", "", "xsd") * 20, "none")
_STRINGS: Final = (
    *("", "urn:a", "http://a/b#c", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString", "a b"),
    *("<>", "en", "en-US", "en--ltr", "é😀", "ltr", "y" * 70, "z" * 1100, '"\\\n', "_:b", "x:é"),
    *("urn:x-arq:DefaultGraphNode", f"{_XSD}decimal", f"{_XSD}double", f"{_XSD}integer"),
)


def text(
    reader_class: Callable[..., Any],
    name: JenaFormat,
    chunks: list[bytes],
    limits: Limits = DEFAULT_LIMITS,
) -> Outcome:
    """Rows as N-Quads: everything that is read from them, up to an error."""
    reader = reader_class(name, limits=limits)
    events: list[Any] = []
    rest = b""
    for chunk in chunks:
        rest += chunk
        at = 0
        while at < len(rest):
            made = lent(reader.read_text, rest, at)
            if isinstance(made, Rejection):
                return events, made.error
            found, stop = made
            events += (found, stop, reader.row, reader.statements, list(reader.declared))
            if stop == at:
                break
            at = stop
        rest = rest[at:]
    made = lent(reader.end, rest)
    return events, made.error if isinstance(made, Rejection) else None


def lines(
    writer_class: Callable[..., Any],
    name: JenaFormat,
    chunks: list[bytes],
    settings: dict[str, Any],
) -> Outcome:
    """Lines of text as rows, with prefixes and without, continuing after rejected chunks."""
    made: list[Any] = []
    for prefixes in ({}, _PREFIXES):
        writer = writer_class(name, **settings)
        made += [written(writer.add_prefix, *each) for each in prefixes.items()]
        for chunk in b"".join(chunks).splitlines(keepends=True):
            found = lent(writer.add_lines, chunk)
            made.append(found.error if isinstance(found, Rejection) else found)
        made.append(writer.statements)
    return made, None


# Cases


def in_chunks(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


class _Rows:
    """Makes rows whose terms recur."""

    def __init__(self, rng: random.Random, name: JenaFormat) -> None:
        self._rng = rng
        self._thrift = name is JenaFormat.THRIFT
        self._known: dict[str, list[Any]] = {part: [] for part in "SPOG"}

    def row(self) -> Any:
        kind = self._rng.random()
        if kind < 0.15:
            name = self._rng.choice(_NAMES[:-1])
            return "prefixDecl", {"prefix": name, "uri": self._rng.choice(_STRINGS[1:3])}
        if kind < 0.18 and not self._thrift:
            return "base", {"iri": self._string()}
        made = {part: self._term(part, 0) for part in "SPO"}
        if kind < 0.7:
            return "triple", made
        if kind < 0.95:
            made["G"] = self._term("G", 0)
        return "quad", made

    def _string(self) -> str:
        return self._rng.choice(_STRINGS)

    def _name(self) -> dict[str, str]:
        return {"prefix": self._rng.choice(_NAMES), "localName": self._string()}

    def _term(self, part: str, depth: int) -> Any:
        kind = self._rng.random()
        if kind < 0.35:
            if self._known[part]:
                return self._rng.choice(self._known[part])
            kind = 0.5
        elif kind < 0.353:
            return "repeat", {}
        if part != "O" and kind > 0.65 and self._rng.random() < 0.95:
            kind = 0.5 if part == "P" else 0.7
        usual = 0.8
        made: Any
        if kind < 0.55:
            made = "iri", {"iri": self._rng.choice(_STRINGS[1:4])}
        elif kind < 0.65:
            made = "prefixName", self._name()
        elif kind < usual:
            made = "bnode", {"label": self._string()}
        elif kind < 0.93:
            made = "literal", self._literal()
        elif kind < 0.97 and depth < 4:
            made = "tripleTerm", {part: self._term(part, depth + 1) for part in "SPO"}
        elif kind < 0.993:
            made = self._rng.choice(
                (
                    ("valInteger", self._rng.choice((0, -5, (1 << 63) - 1))),
                    ("valDouble", self._rng.choice((0.0, -1.5e300, float("inf")))),
                    ("valDecimal", {"value": -105, "scale": self._rng.choice((0, 2, -3, 400))}),
                )
            )
        else:
            made = self._rng.choice(
                (("variable", {"name": "v"}), ("any", {}), ("undefined", {}), ("iri", {"iri": ""}))
            )
        self._known[part].append(made)
        return made

    def _literal(self) -> dict[str, Any]:
        made: dict[str, Any] = {"lex": self._string()}
        kind = self._rng.randrange(8)
        if kind < 2:
            made["langtag"] = self._rng.choice(("en", "de-CH", "en--rtl", "x-é", ""))
        elif kind < 4:
            made["datatype"] = self._string()
        elif kind < 6:
            made["dtPrefix"] = self._name()
        elif kind == 6 and self._thrift:
            made |= {"langtag": "en", "baseDirection": self._rng.choice(("ltr", "up"))}
        elif kind == 6:
            made["langdir"] = self._rng.choice(("en--ltr", "en", "--ltr"))
        return made


def made_rows(rng: random.Random, name: JenaFormat, count: int | None = None) -> bytes:
    """Make rows of a stream, most of them valid."""
    maker = _Rows(rng, name)
    opening = [("prefixDecl", {"prefix": each, "uri": iri}) for each, iri in _PREFIXES.items()]
    opening *= rng.random() < 0.95
    count = count or rng.choice((1, 5, 20))
    return b"".join(rows_of(name, row) for row in (*opening, *(maker.row() for _ in range(count))))


def random_rows(rng: random.Random, name: JenaFormat) -> bytes:
    return damaged(rng, made_rows(rng, name))


def _some(rng: random.Random) -> tuple[JenaFormat, list[bytes], Limits]:
    name = rng.choice(FORMATS)
    data = random_rows(rng, name)
    sizes = (1, 7, 50) if len(data) < 400 else (100, 1000)
    return name, in_chunks(data, rng.choice((*sizes, 1 << 20, 1 << 20))), limits_for(rng)


def text_case(rng: random.Random) -> Case:
    return Case(text, StatementReader, _some(rng))


def lines_case(rng: random.Random) -> Case:
    chunks = random_text(rng, rng.choice((3, 4)))
    return Case(lines, RowWriter, (rng.choice(FORMATS), chunks, {"limits": limits_for(rng)}))
