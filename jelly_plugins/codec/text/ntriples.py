"""N-Triples and N-Quads: conversion of text to statements with generic terms and back.

The parser reads text in chunks and yields statements; it performs no I/O, and needs memory for one
chunk and one line. Terms keep their exact lexical forms and language tags; labels that N-Triples
cannot express are replaced, see :func:`written_label`.

The patterns below define the grammar. One of them matches a whole line of a usual form. It consists
of the same parts that :class:`_Line` uses to read any other line term by term.

Reference: RDF 1.1 N-Triples, RDF 1.1 N-Quads, RDF 1.2 N-Triples (for triple terms and the canonical
form), RDF-star (for quoted triples), RDF 1.1 Concepts, section 7 (for generalized statements).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, Final, NoReturn, cast

from ...errors import LimitError, TermError
from ..common import positions
from ..common.limits import DEFAULT_LIMITS, NESTING_CEILING, Limits, over
from ..common.options import member
from ..common.terms import (
    DEFAULT_GRAPH,
    BlankNode,
    DefaultGraph,
    Iri,
    Kind,
    Literal,
    Quad,
    Statement,
    Term,
    Triple,
)
from .lines import (
    BLANK_NODE,
    END_OF_LINE,
    IRI,
    LABEL,
    LANGTAG,
    LITERAL,
    NOT_IN_IRI,
    SPACE,
    STRING,
    LineReader,
    Pattern,
    Text,
    count_line_ends,
    shorten,
)


class Dialect(Enum):
    """The triples that may be terms, and their syntax."""

    #: No triples.
    RDF_1_1 = "RDF 1.1"
    #: ``<<( s p o )>>`` as object.
    RDF_1_2 = "RDF 1.2"
    #: ``<< s p o >>`` or ``<<( s p o )>>``, as subject or object. A superset of the other two.
    RDF_STAR = "RDF-star"


_SUBJECT: Final = rf"(?:{IRI}|{BLANK_NODE})"
_USUAL: Final = SPACE.join(["", _SUBJECT, IRI, rf"(?:{IRI}|{BLANK_NODE}|{LITERAL})", ""])
_TRIPLE_LINE: Final = Pattern(_USUAL + SPACE.join([r"\.", END_OF_LINE]))
_QUAD_LINE: Final = Pattern(_USUAL + SPACE.join([rf"{_SUBJECT}?+", r"\.", END_OF_LINE]))

_ANY_TERM: Final = Pattern(rf"{IRI}|{BLANK_NODE}|{LITERAL}")
_SKIP: Final = re.compile(SPACE)
_REST: Final = Pattern(SPACE + END_OF_LINE)
_VERSION: Final = Pattern(rf"{SPACE}VERSION{SPACE}{STRING}{SPACE}{END_OF_LINE}")
_DIRECTION: Final = re.compile(r"--(?:ltr|rtl)(?![A-Za-z])")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*+:")

_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
TAGGED_DATATYPES: Final = (_RDF + "langString", _RDF + "dirLangString")

#: A cache of terms is cleared when it reaches this many entries.
_CACHE_ENTRIES: Final = 1 << 16
_CACHED_CHARACTERS: Final = 1 << 10


def parse_ntriples(text: Text, **settings: Any) -> Iterator[Triple]:
    """Read N-Triples.

    >>> [triple] = parse_ntriples('<urn:s> <urn:p> "o"@en .')
    >>> triple.object
    Literal(lex='o', langtag='en', datatype=None)
    """
    return cast(Iterator[Triple], LineParser(quads=False, **settings).parse(text))


def parse_nquads(text: Text, **settings: Any) -> Iterator[Quad]:
    """Read N-Quads; see :func:`parse_ntriples`.

    >>> [quad] = parse_nquads('<urn:s> <urn:p> _:o .')
    >>> quad.graph
    DEFAULT_GRAPH
    """
    return cast(Iterator[Quad], LineParser(quads=True, **settings).parse(text))


class LineParser(LineReader):
    """Reads one text: its options, its position, and caches of its terms.

    :param dialect: the triples that may be terms.
    :param generalized: whether any kind of term may occur in any position.
    :param relative_iris: whether IRIs without a scheme are accepted; N-Triples has none.
    :param limits: ``nesting`` bounds quoted triples, ``frame_bytes`` the length of a line.
    :param quads: whether the text is N-Quads.
    :param base_directions: whether language-tagged strings may have a base direction, which stays
        part of the language tag.
    """

    def __init__(
        self,
        dialect: Dialect = Dialect.RDF_STAR,
        generalized: bool = False,
        relative_iris: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        *,
        quads: bool,
        base_directions: bool = False,
    ) -> None:
        super().__init__(limits)
        self.base_directions = base_directions
        self.dialect = member(Dialect, dialect, "dialect")
        self.generalized = generalized
        self.relative_iris = relative_iris
        self.quads = quads
        #: Number of statements that the caller has consumed.
        self.count = 0
        self._iris: dict[str, Iri] = {}
        self._blank_nodes: dict[str, BlankNode] = {}

    def begin(self) -> None:
        """Begin another text with the same options."""
        self.count = self.line_ends = 0
        self._iris.clear()
        self._blank_nodes.clear()

    def parse(self, text: Text) -> Iterator[Statement]:
        for data in self.chunks(text):
            yield from self.statements(data)

    def statements(self, data: bytes) -> Iterator[Statement]:
        """Read whole lines that follow the previous ones."""
        text = self.decode(data)
        for statement in self._statements(text):
            yield statement
            # Count the statement only after the ``yield``: a caller that rejects it reads no
            # further.
            self.count += 1
        self.line_ends += count_line_ends(text)

    def _statements(self, text: str) -> Iterator[Statement]:
        match = (_QUAD_LINE if self.quads else _TRIPLE_LINE).compiled.match
        pos = 0
        while pos < len(text):
            found = match(text, pos)
            if found is None:
                line = _Line(self, text, pos)
                statement = line.statement()
                pos = line.pos
                if statement is not None:
                    yield statement
                continue
            s, s_node, p, o, o_node, lex, langtag, datatype, *graph = found.groups()
            subject = self._node(s, s_node, text, found.start(1))
            predicate = self.iri(p, text, found.start(3))
            object_: Term
            if lex is None:
                object_ = self._node(o, o_node, text, found.start(4))
            else:
                object_ = self.literal(lex, langtag, datatype, text, found.start(6))
            pos = found.end()
            if not graph:
                yield Triple(subject, predicate, object_)
                continue
            g, g_node = graph
            name: Any = DEFAULT_GRAPH
            if g is not None or g_node is not None:
                name = self._node(g, g_node, text, found.start(9))
            yield Quad(subject, predicate, object_, name)

    def _node(self, iri: str | None, label: str, text: str, pos: int) -> Iri | BlankNode:
        return self.blank_node(label) if iri is None else self.iri(iri, text, pos)

    def term(self, data: bytes, position: int) -> Term:
        """Read a text that is exactly one term.

        :param position: the term's position in a statement.
        :raises TextError: the text is not exactly one term, or the term is not allowed there.
        """
        self.check_length(len(data))
        return _Line(self, self.decode(data), 0).whole_term(position)

    # Terms. ``text`` and ``pos`` locate the term in errors.

    def iri(self, raw: str, text: str, pos: int) -> Iri:
        iri = self._iris.get(raw)
        if iri is None:
            value = self.unescape(raw, text, pos)
            if not self.relative_iris and _SCHEME.match(value) is None:
                self.fail(f"the IRI <{shorten(value)}> is relative", text, pos)
            iri = Iri(value)
            _remember(self._iris, raw, iri)
        return iri

    def blank_node(self, label: str) -> BlankNode:
        node = self._blank_nodes.get(label)
        if node is None:
            node = BlankNode(read_label(label))
            _remember(self._blank_nodes, label, node)
        return node

    def literal(
        self, raw: str, langtag: str | None, datatype: str | None, text: str, pos: int
    ) -> Literal:
        lex = self.unescape(raw, text, pos)
        if datatype is not None:
            datatype = self.iri(datatype, text, pos).value
        if datatype in TAGGED_DATATYPES:
            self.fail(f"a literal of type {datatype} has no language tag", text, pos)
        return Literal(lex, langtag, datatype)


class _Line:
    """Reads a line of any form, term by term.

    :ivar pos: the current position; after :meth:`statement`, the start of the next line.
    """

    def __init__(self, parser: LineParser, text: str, pos: int) -> None:
        self._parser = parser
        self._text = text
        self.pos = pos

    def statement(self) -> Statement | None:
        """Read the line; return None if it has no statement."""
        parser = self._parser
        if self._take(_REST) or (parser.dialect is not Dialect.RDF_1_1 and self._take(_VERSION)):
            return None
        statement: Statement = self._triple(0)
        self._skip()
        if parser.quads:
            graph: Any = DEFAULT_GRAPH
            if not self._text.startswith(".", self.pos):
                graph = self._term(positions.GRAPH, 0)
            statement = Quad(*statement[:3], graph)
        self._end()
        return statement

    def whole_term(self, position: int) -> Term:
        """Read a line that is a single term."""
        if self._text.startswith((" ", "\t")):
            self._fail("there is space before the term")
        term = self._term(position, 0)
        if self.pos < len(self._text):
            self._fail("there is more than a term here")
        return term

    def _triple(self, depth: int) -> Triple:
        return Triple(
            self._term(positions.SUBJECT, depth),
            self._term(positions.PREDICATE, depth),
            self._term(positions.OBJECT, depth),
        )

    def _end(self) -> None:
        self._skip()
        if not self._text.startswith(".", self.pos):
            self._fail("the statement does not end here with a '.'")
        self.pos += 1
        if not self._take(_REST):
            self._fail("more than a comment follows the statement on its line")

    def _term(self, position: int, depth: int) -> Term:
        """Read the term in ``position``, within ``depth`` quoted triples."""
        self._skip()
        parser = self._parser
        text = self._text
        start = self.pos
        if text.startswith("<<", start):
            self._check(position, Kind.TRIPLE)
            return self._quoted_triple(depth + 1)
        found = _ANY_TERM.compiled.match(text, start)
        if found is None:
            why = ""
            if text.startswith("<", start):
                why = ": an IRI ends with '>' and has no spaces, quotes or braces"
            self._fail(f"no {positions.POSITIONS[position]} can be read here{why}")
        iri, label, lex, langtag, datatype = found.groups()
        term: Term
        if iri is not None:
            self._check(position, Kind.IRI)
            term = parser.iri(iri, text, start)
        elif label is not None:
            self._check(position, Kind.BLANK_NODE)
            term = parser.blank_node(label)
        else:
            self._check(position, Kind.LITERAL)
            direction = None if langtag is None else _DIRECTION.match(text, found.end())
            if direction is not None:
                if not parser.base_directions:
                    self._fail("Jelly cannot carry the base direction of a language-tagged string")
                langtag = f"{langtag}{direction[0]}"
            term = parser.literal(lex, langtag, datatype, text, start)
            if direction is not None:
                self.pos = direction.end()
                return term
        self.pos = found.end()
        return term

    def _quoted_triple(self, depth: int) -> Triple:
        limits = self._parser.limits
        if depth > limits.nesting:
            line = self._parser.line(self._text[: self.pos])
            error = over(limits, "nesting", depth, "the depth of quoted triples")
            raise LimitError(f"line {line}: {error.message}")
        parenthesised = self._text.startswith("<<(", self.pos)
        if not parenthesised and self._parser.dialect is Dialect.RDF_1_2:
            self._fail(
                "RDF 1.2 has triple terms as <<( s p o )>>, not as << s p o >>: "
                "ask for RDF-star (rdf_star, --rdf-star)"
            )
        opening, closing = ("<<(", ")>>") if parenthesised else ("<<", ">>")
        self.pos += len(opening)
        triple = self._triple(depth)
        self._skip()
        if not self._text.startswith(closing, self.pos):
            self._fail(f"the quoted triple does not end here with {closing}")
        self.pos += len(closing)
        return triple

    def _check(self, position: int, kind: Kind) -> None:
        """Reject a kind of term that is not allowed in its position."""
        parser = self._parser
        dialect = parser.dialect
        if kind is Kind.TRIPLE and dialect is Dialect.RDF_1_1:
            self._fail("RDF 1.1 has no quoted triples")
        allowed = positions.undeclared(position, kind, parser.generalized, rdf_star=True) is None
        if kind is Kind.TRIPLE and dialect is Dialect.RDF_1_2 and position != positions.OBJECT:
            allowed = parser.generalized
        if not allowed:
            self._fail(f"{kind.name} as {positions.POSITIONS[position]}")

    def _skip(self) -> None:
        found = _SKIP.match(self._text, self.pos)
        self.pos = found.end() if found else self.pos

    def _take(self, pattern: Pattern[str]) -> bool:
        found = pattern.compiled.match(self._text, self.pos)
        if found is None:
            return False
        self.pos = found.end()
        return True

    def _fail(self, message: str) -> NoReturn:
        self._parser.fail(message, self._text, self.pos)


def _remember(cache: dict[str, Any], raw: str, term: Any) -> None:
    if len(raw) <= _CACHED_CHARACTERS:
        if len(cache) >= _CACHE_ENTRIES:
            cache.clear()
        cache[raw] = term


# Writing

STRING_SPECIAL: Final = re.compile(r'[\x00-\x1f"\\\x7f\ufffe\uffff\ud800-\udfff]')
IRI_SPECIAL: Final = re.compile(rf"[{NOT_IN_IRI}\ud800-\udfff]")
_WHOLE_LABEL: Final = Pattern(LABEL)
_WHOLE_LANGTAG: Final = re.compile(LANGTAG)
_WHOLE_DIRECTED_TAG: Final = re.compile(rf"{LANGTAG}(?:--(?:ltr|rtl))?+")
_SHORT_ESCAPES: Final = {
    "\t": "\\t",
    "\b": "\\b",
    "\n": "\\n",
    "\r": "\\r",
    "\f": "\\f",
    '"': '\\"',
    "\\": "\\\\",
}
#: Prefix of stand-ins for labels; see :class:`StandIns`.
STAND_IN: Final = "label-"
_HEXADECIMAL: Final = re.compile("(?:[0-9a-f]{2})*+")


class Notation(Enum):
    """The written form of quoted triples. The parser reads both."""

    #: As in RDF-star; parsers of RDF 1.2 do not read it.
    RDF_STAR = ("<< ", " >>")
    #: As triple terms in RDF 1.2.
    RDF_1_2 = ("<<( ", " )>>")


def term_text(
    term: Term | DefaultGraph,
    notation: Notation = Notation.RDF_1_2,
    *,
    directions: bool = False,
    depth: int = 0,
) -> str:
    r"""Write a term in canonical N-Triples; the default graph is the empty string.

    Language tags are written unchanged, although RDF 1.2's canonical form has them in lower case.
    Any IRI can be written: characters that are not allowed in IRIs are escaped.

    :param directions: whether a language tag may have a base direction, as in ``en--ltr``.

    >>> print(term_text(Literal('say "x"', langtag="en")), term_text(Iri("urn:a b")))
    "say \"x\""@en <urn:a\u0020b>
    """
    if isinstance(term, Iri):
        return f"<{IRI_SPECIAL.sub(escape_code, term.value)}>"
    if isinstance(term, BlankNode):
        return f"_:{written_label(term.label)}"
    if isinstance(term, Literal):
        text = f'"{STRING_SPECIAL.sub(escape, term.lex)}"'
        if term.langtag is not None:
            tag = _WHOLE_DIRECTED_TAG if directions else _WHOLE_LANGTAG
            if tag.fullmatch(term.langtag) is None:
                raise TermError(f"N-Triples cannot express the language tag {term.langtag!r}")
            return f"{text}@{term.langtag}"
        if term.datatype in TAGGED_DATATYPES:
            raise TermError(f"a literal of type {term.datatype} has no language tag")
        if term.datatype is not None:
            return f"{text}^^<{IRI_SPECIAL.sub(escape_code, term.datatype)}>"
        return text
    if isinstance(term, Triple):
        if depth == NESTING_CEILING:
            raise LimitError(f"quoted triples are nested more than {NESTING_CEILING} deep")
        opening, closing = notation.value
        parts = [term_text(part, notation, directions=directions, depth=depth + 1) for part in term]
        return f"{opening}{' '.join(parts)}{closing}"
    if isinstance(term, DefaultGraph):
        return ""
    raise TermError(f"{term!r} is not a term of jelly_plugins")


def statement_text(
    statement: Statement, notation: Notation = Notation.RDF_1_2, *, directions: bool = False
) -> str:
    """Write a statement as one line, without a line end; see :func:`term_text`.

    >>> statement_text(Quad(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"), BlankNode("g")))
    '<urn:s> <urn:p> <urn:o> _:g .'
    """
    terms = [term_text(term, notation, directions=directions) for term in statement]
    if not terms[-1]:
        # Omit the default graph.
        terms.pop()
    return f"{' '.join(terms)} ."


class StandIns:
    """Labels that replace labels that cannot be written: ``label-`` and the original's UTF-8 in
    hexadecimal.

    A label has a stand-in if and only if it cannot be written or has the form of a stand-in.
    Different labels therefore have different written forms, and :meth:`read` and :meth:`write` are
    inverse functions.

    :param can_be_had: returns whether a label can be written unchanged; must return False for the
        empty label.
    """

    def __init__(self, can_be_had: Callable[[str], object]) -> None:
        self._can_be_had = can_be_had

    def write(self, label: str) -> str:
        """Return the written form of a label."""
        if self._can_be_had(label) and self._meant_by(label) is None:
            return label
        try:
            return STAND_IN + label.encode().hex()
        except UnicodeEncodeError:
            raise TermError(
                "a blank node label has a surrogate, which is not a character"
            ) from None

    def read(self, written: str) -> str:
        """Return the label of a written form."""
        meant = self._meant_by(written)
        return written if meant is None else meant

    def _meant_by(self, label: str) -> str | None:
        """Return the label that a stand-in replaces; None for any other label."""
        if not label.startswith(STAND_IN):
            return None
        digits = label[len(STAND_IN) :]
        if _HEXADECIMAL.fullmatch(digits) is None:
            return None
        try:
            meant = bytes.fromhex(digits).decode()
        except UnicodeDecodeError:
            return None
        return None if self._can_be_had(meant) and self._meant_by(meant) is None else meant


_LABELS: Final = StandIns(lambda label: _WHOLE_LABEL.compiled.fullmatch(label))


def written_label(label: str) -> str:
    """Return the label for ``label`` in N-Triples, which cannot express all labels; see
    :class:`StandIns`.

    >>> written_label("b1"), written_label("a b"), written_label("label-")
    ('b1', 'label-612062', 'label-6c6162656c2d')
    """
    return _LABELS.write(label)


def read_label(written: str) -> str:
    """Return the original label of a label in N-Triples.

    >>> read_label("b1"), read_label("label-612062"), read_label("label-612"), read_label("label-")
    ('b1', 'a b', 'label-612', '')
    """
    return _LABELS.read(written)


def escape(found: re.Match[str]) -> str:
    return _SHORT_ESCAPES.get(found[0]) or escape_code(found)


def escape_code(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xD800 <= code <= 0xDFFF:
        raise TermError("a term has a surrogate, which is not a character")
    return f"\\u{code:04X}"
