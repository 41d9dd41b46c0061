"""Terms of RDF Patch text, in every form that tools write them in, to a backend's terms.

Blank nodes are written as ``<_:label>`` or ``_:label``, numbers and booleans in short as in Turtle,
prefixed names under prefixes that were declared, quoted triples as ``<< s p o >>`` or
``<<( s p o )>>``. Rows are not known here (``reader``).
"""

from __future__ import annotations

import re
from typing import Any, Final, NoReturn

from ...codec import Kind, Limits, TermFactory
from ...codec.common import positions
from ...codec.common.limits import over
from ...codec.common.terms import XSD_STRING, build
from ...codec.text.lines import (
    BLANK_NODE,
    END_OF_LINE,
    IRI,
    LABEL,
    LABEL_PART,
    LITERAL,
    SPACE,
    LineReader,
    shorten,
)
from ...errors import LimitError

_XSD: Final = "http://www.w3.org/2001/XMLSchema#"

_ANY_TERM: Final = re.compile(rf"{IRI}|{BLANK_NODE}|{LITERAL}")
_NUMBER: Final = re.compile(
    r"(?P<double>[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)[eE][+-]?[0-9]++)"
    r"|(?P<decimal>[+-]?[0-9]*+\.[0-9]++)"
    r"|(?P<integer>[+-]?[0-9]++)"
    r"|(?P<boolean>true|false)(?![^\s.#])"
)
_LOCAL: Final = rf"(?:[{LABEL_PART}:]|%[0-9A-Fa-f]{{2}}|\\[_~.\-!$&'()*+,;=/?#@%])++"
_PREFIXED: Final = re.compile(rf"({LABEL})?:({_LOCAL}(?:\.++{_LOCAL})*+)?")
_LOCAL_ESCAPE: Final = re.compile(r"\\(.)")
_DIRECTION: Final = re.compile(r"--(?:ltr|rtl)(?![A-Za-z])")
_SKIP: Final = re.compile(SPACE)
REST_OF_LINE: Final = re.compile(SPACE + END_OF_LINE)

#: A cache of terms that reaches this many entries starts afresh.
_CACHE_ENTRIES: Final = 1 << 16
_CACHED_CHARACTERS: Final = 1 << 10


class TermScanner(LineReader):
    """Reads terms at a place in a text.

    :param factory: makes the terms.
    :param generalized: whether any kind of term may occur in any position.
    :param limits: ``nesting`` bounds quoted triples, ``frame_bytes`` the length of a line.
    :ivar text: the current chunk.
    :ivar pos: the current position in it.
    :ivar prefixes: IRI by prefix, for prefixed names.
    """

    def __init__(self, factory: TermFactory[Any], generalized: bool, limits: Limits) -> None:
        super().__init__(limits)
        self.text = ""
        self.pos = 0
        self.prefixes: dict[str, str] = {}
        self._factory = factory
        self._generalized = generalized
        self._iris: dict[str, Any] = {}
        self._blank_nodes: dict[str, Any] = {}

    def term(self, position: int, depth: int = 0) -> Any:
        """Read the term in ``position``, inside ``depth`` quoted triples.

        :raises TextError: the term is missing, or not allowed there.
        """
        self.skip()
        if self.text.startswith("<<", self.pos):
            self._check(position, Kind.TRIPLE)
            return self._quoted_triple(depth + 1)
        start = self.pos
        found = _ANY_TERM.match(self.text, start)
        if found is None:
            kind, term = self._short_form(position)
        else:
            iri, label, lex, langtag, datatype = found.groups()
            self.pos = found.end()
            if iri is not None:
                term = self.iri(iri, start)
                kind = Kind.BLANK_NODE if self.is_blank_node(iri) else Kind.IRI
            elif label is not None:
                kind = Kind.BLANK_NODE
                term = self.blank_node(label)
            else:
                kind = Kind.LITERAL
                if langtag is not None and _DIRECTION.match(self.text, self.pos):
                    self.refuse("Jelly cannot carry the base direction of a string")
                term = self.literal(lex, langtag, datatype, start)
        self._check(position, kind, start)
        return term

    def _short_form(self, position: int) -> tuple[Kind, Any]:
        """A number, a boolean, or a prefixed name."""
        found = _NUMBER.match(self.text, self.pos)
        # A name may begin with digits, a number is not followed by a colon.
        named = _PREFIXED.match(self.text, self.pos)
        if named is not None:
            prefix, local = named.groups("")
            if prefix not in self.prefixes:
                self.refuse(f"no PA row has declared the prefix {shorten(prefix)}:")
            self.pos = named.end()
            value = self.prefixes[prefix] + _LOCAL_ESCAPE.sub(r"\1", local)
            return Kind.IRI, build(self._factory.iri, value)
        if found is None:
            self.refuse(f"no {positions.POSITIONS[position]} can be read here")
        self.pos = found.end()
        return Kind.LITERAL, self._make_literal(found[0], None, f"{_XSD}{found.lastgroup}")

    def _quoted_triple(self, depth: int) -> Any:
        limits = self.limits
        if depth > limits.nesting:
            error = over(limits, "nesting", depth, "the depth of quoted triples")
            raise LimitError(f"line {self.line(self.text[: self.pos])}: {error.message}")
        parenthesised = self.text.startswith("<<(", self.pos)
        opening, closing = ("<<(", ")>>") if parenthesised else ("<<", ">>")
        self.pos += len(opening)
        terms = [self.term(position, depth) for position in range(3)]
        self.skip()
        if not self.text.startswith(closing, self.pos):
            self.refuse(f"the quoted triple does not end here with {closing}")
        self.pos += len(closing)
        return build(self._factory.quoted_triple, *terms)

    def _check(self, position: int, kind: Kind, pos: int | None = None) -> None:
        """Reject a kind of term that is not allowed in its position."""
        if positions.undeclared(position, kind, self._generalized, rdf_star=True) is not None:
            self.refuse(f"{kind.name} as {positions.POSITIONS[position]}", pos)

    # Terms whose parts are known. ``pos`` is the term's position, for an error.

    def iri(self, raw: str, pos: int) -> Any:
        """The text between ``<`` and ``>``: an IRI, or a blank node."""
        term = self._iris.get(raw)
        if term is None:
            value = self.unescape(raw, self.text, pos)
            if self.is_blank_node(raw):
                return self.blank_node(value[2:])
            term = build(self._factory.iri, value)
            _remember(self._iris, raw, term)
        return term

    @staticmethod
    def is_blank_node(raw: str) -> bool:
        """Whether the text between ``<`` and ``>`` is a blank node."""
        return raw.startswith("_:")

    def blank_node(self, label: str) -> Any:
        """A blank node by its label."""
        node = self._blank_nodes.get(label)
        if node is None:
            node = build(self._factory.blank_node, label)
            _remember(self._blank_nodes, label, node)
        return node

    def literal(self, raw: str, langtag: str | None, datatype: str | None, pos: int) -> Any:
        """A literal by its parts, which may have escapes."""
        lex = self.unescape(raw, self.text, pos)
        if datatype is not None:
            datatype = self.unescape(datatype, self.text, pos)
        return self._make_literal(lex, langtag, datatype)

    def _make_literal(self, lex: str, langtag: str | None, datatype: str | None) -> Any:
        if datatype == XSD_STRING:
            datatype = None
        return build(self._factory.literal, lex, langtag, datatype)

    # Position

    def skip(self) -> None:
        """Skip spaces."""
        found = _SKIP.match(self.text, self.pos)
        self.pos = found.end() if found else self.pos

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match a pattern, and advance past it if it matches."""
        found = pattern.match(self.text, self.pos)
        if found is not None:
            self.pos = found.end()
        return found

    def refuse(self, message: str, pos: int | None = None) -> NoReturn:
        """Reject the text because of what is at the current position, or at ``pos``."""
        self.fail(message, self.text, self.pos if pos is None else pos)


def _remember(cache: dict[str, Any], raw: str, term: Any) -> None:
    if len(raw) <= _CACHED_CHARACTERS:
        if len(cache) >= _CACHE_ENTRIES:
            cache.clear()
        cache[raw] = term
