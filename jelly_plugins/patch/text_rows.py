"""RDF Patch text to rows of patches, and back.

No I/O, and memory for no more than a chunk of text and a line. The order of rows is in
``patch.rows``.

Taken as other tools write them: names and keys with or without quotes, TB for TX, an H row without
its dot, several rows on a line, comments; blank nodes as ``<_:label>`` or ``_:label``, numbers and
booleans in short as in Turtle, quoted triples as ``<< s p o >>`` or ``<<( s p o )>>``.

Written in the plainest form, one row on a line: blank nodes as ``<_:label>``, which Apache Jena and
rdflib read with the intended label, and Z only where it is needed, since rdflib cannot read it.

Reference: RDF Patch (https://afs.github.io/rdf-delta/rdf-patch.html); Z as Apache Jena has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from ..codec import Iri, Kind, Literal
from ..codec.common import positions
from ..codec.common.limits import over
from ..codec.common.terms import XSD_STRING, parts_of
from ..codec.patch.operations import (
    ENDS,
    NAMESPACES,
    OPENS,
    STATEMENTS,
    AnyOperation,
    Header,
    Namespace,
    Operation,
    OperationKind,
)
from ..codec.patch.rules import PatchState
from ..codec.text.lines import (
    END_OF_LINE,
    ESCAPE,
    LABEL,
    LITERAL,
    NOT_IN_IRI,
    SPACE,
    STRING,
    LineReader,
    Text,
    count_line_ends,
)
from ..codec.text.ntriples import Notation, term_text
from ..codec.text.transcoding import LONG_TERM
from ..errors import (
    JellyError,
    LimitError,
    OrderError,
    StatementError,
    TermError,
    TextError,
    TruncatedError,
)
from ..jena.names import DEFAULT_GRAPHS
from .rows import WRITE, ReadSettings, RowReader, RowWriter, WriteSettings

_DEFAULT_GRAPHS: Final = tuple(f"<{each}>" for each in DEFAULT_GRAPHS)

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

_KINDS: Final = {kind.code: kind for kind in OperationKind} | {"TB": OperationKind.BEGIN}
#: An IRI or a blank node, with its delimiters.
_IRI: Final = rf"(<(?:[^{NOT_IN_IRI}]++|{ESCAPE})*+>)"
_NODE: Final = rf"(<(?:[^{NOT_IN_IRI}]++|{ESCAPE})*+>|_:{LABEL})"
#: A statement's row of a usual form, as a whole line. Term by term, reading takes 2.5 times as
#: long.
_USUAL_LINE: Final = re.compile(
    SPACE.join(
        [
            r"([AD])[ \t]++",
            _NODE,
            _IRI,
            rf"(?:{_NODE}|{LITERAL})",
            rf"{_NODE}?+",
            r"\.",
            END_OF_LINE,
        ]
    )
)

_CODE: Final = re.compile(r"[A-Z]++(?![^\s.<\"'#])")
_STRING: Final = re.compile(STRING)
_SINGLE_QUOTED: Final = re.compile(r"'([^'\\\n\r]*+)'")
_WORD: Final = re.compile(r"([^\s\"'<>#]++)")
_NAME: Final = re.compile(rf"({LABEL})?:?")
_TERM: Final = re.compile(rf"{_NODE}|{LITERAL}")
_ONLY_IRI: Final = re.compile(rf"(?!<_:){_IRI}")

#: How the text of terms starts that are not IRIs.
_STARTS: Final = (('"', Kind.LITERAL), ("<_:", Kind.BLANK_NODE), ("<<", Kind.TRIPLE))
_NOT_IRI: Final = tuple(start for start, _ in _STARTS)
_NOT_GRAPH: Final = ('"', "<<", "<urn:x-arq:")

#: Messages of errors.
NO_ROW: Final = "no row of a patch starts here"
_NO_END: Final = "the row does not end here with a '.'"
_CUT_CHARACTER: Final = "(unexpected end of data)"

_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_NUMBER: Final = re.compile(
    r"(?:(?P<double>[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)[eE][+-]?[0-9]++)"
    r"|(?P<decimal>[+-]?[0-9]*+\.[0-9]++)"
    r"|(?P<integer>[+-]?[0-9]++)"
    r"|(?P<boolean>true|false)(?![^\s.#]))(?!:)"
)
_DIRECTION: Final = re.compile(r"--(?:ltr|rtl)(?![A-Za-z])")
_SKIP: Final = re.compile(SPACE)
_REST_OF_LINE: Final = re.compile(SPACE + END_OF_LINE)
#: A cache of terms that reaches this many entries starts afresh.
_CACHE_ENTRIES: Final = 1 << 16
_CACHED_CHARACTERS: Final = 1 << 10
_PLAIN_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_\-]*+")


class PatchTextReader(RowReader, LineReader):
    """Reads the rows of one text. The limit ``nesting`` bounds quoted triples, ``frame_bytes`` the
    length of a line."""

    def __init__(self, settings: ReadSettings) -> None:
        LineReader.__init__(self, settings.limits)
        RowReader.__init__(self, settings)
        factory = settings.factory
        self._make = factory.quad if self._quads else factory.triple
        #: The current chunk, and the position in it.
        self._text = ""
        self._pos = 0
        #: Position in the current chunk where the last complete transaction or patch ends; None if
        #: that is in an earlier one.
        self._complete: int | None = None
        #: IRIs and blank nodes by their text.
        self._nodes: dict[str, Any] = {}

    def truncated(self, message: str) -> TruncatedError:
        return TruncatedError(f"line {self.line_ends + 1}: the text {message}")

    def batches(self, text: Text, *, growing: bool = False) -> Iterator[list[Operation]]:
        """Read rows, those of each chunk together. If the text is ``growing``, a last line without
        a line end is left out."""
        size = 0
        for data in self.chunks(text, growing=growing):
            rows: list[Operation] = []
            found: JellyError | None = None
            self._text, self._pos, self._complete = "", 0, None
            try:
                self._text = self.decode(data if size else data.removeprefix(_BYTE_ORDER_MARK))
                self._read(rows)
            except JellyError as error:
                found = self._of_end(error, data)
            except ValueError as error:
                found = TermError(str(error))
                found.__cause__ = error
            size += len(data)
            if self._complete is not None:
                self.complete_bytes = size - len(self._text[self._complete :].encode())
            yield rows
            if found is not None:
                raise found
            self.line_ends += count_line_ends(self._text)

    def _of_end(self, error: JellyError, data: bytes) -> JellyError:
        """The error of a chunk; another one if it is a row in a last line that is not whole."""
        *before, last = data.splitlines(keepends=True) or [b""]
        is_whole = last.rstrip(b" \t").endswith((b"\n", b"\r", b"."))
        if is_whole or not isinstance(error, TextError):
            return error
        if error.line != self.line_ends + len(before) + 1:
            return error
        # What could not be the beginning of a row, or of a character.
        is_other = error.message == NO_ROW and self._text[self._pos :].strip()
        if is_other or (not self._text and not error.message.endswith(_CUT_CHARACTER)):
            return error
        return TruncatedError(f"line {error.line}: the text ends inside a row: {error.message}")

    def _read(self, rows: list[Operation]) -> None:
        """Read the rows of the current chunk."""
        text = self._text
        match = _USUAL_LINE.match
        get = self._nodes.get
        take_statement = self.order.take_statement
        end = len(text)
        while self._pos < end:
            start = self._pos
            found = match(text, start)
            if found is None:
                self._line(rows)
                continue
            code, s, p, o, lex, langtag, datatype, g = found.groups()
            if p.startswith("<_:") and not self._generalized:
                self._reject("BLANK_NODE as predicate", found.start(3))
            terms = (
                get(s) or self._node(s, found.start(2)),
                get(p) or self._node(p, found.start(3)),
                self._literal(lex, langtag, datatype, found.start(5))
                if o is None
                else get(o) or self._node(o, found.start(4)),
            )
            graph = None
            if g is not None and g not in _DEFAULT_GRAPHS:
                graph = get(g) or self._node(g, found.start(8))
            statement = self._statement(terms, graph)
            self._pos = found.end()
            kind = OperationKind.ADD if code == "A" else OperationKind.DELETE
            take_statement()
            rows.append(Operation(kind, statement))

    def _line(self, rows: list[Operation]) -> None:
        """Read a line of any form, term by term; it may have no row, or several."""
        while not self._take(_REST_OF_LINE):
            start = self._pos
            found = self._take(_CODE)
            kind = None if found is None else _KINDS.get(found[0])
            if kind is None:
                self._reject(NO_ROW, start)
            value: Any = None
            if kind is OperationKind.HEADER:
                key = self._name(_WORD)
                if key is None:
                    self._reject("a header has no key")
                value = Header(key, self._term(positions.OBJECT))
            elif kind in STATEMENTS:
                terms = tuple(self._term(position) for position in range(3))
                value = self._statement(terms, self._graph())
            elif kind in NAMESPACES:
                value = self._namespace(kind)
            # rdflib leaves the dot of a header out.
            is_open = _REST_OF_LINE.match(self._text, self._pos) is not None
            if kind is not OperationKind.HEADER or not is_open:
                if not self._at("."):
                    self._reject(_NO_END)
                self._pos += 1
            self._add(rows, Operation(kind, value), start)

    def _add(self, rows: list[Operation], row: Operation, start: int) -> None:
        # A mark after a transaction comes with the next patch.
        after_transaction = self.order.state is PatchState.PUNCTUATED
        ends_others = self.order.has_operations and row.kind in OPENS
        try:
            if self.order.add(row, rows) or ends_others:
                self._complete = start
        except OrderError as error:
            self._reject(error.message, start)
        if row.kind in ENDS and not (after_transaction and row.kind is OperationKind.END):
            self._complete = self._pos

    def _statement(self, terms: tuple[Any, ...], graph: Any) -> Any:
        if self._quads:
            terms += (self._factory.default_graph if graph is None else graph,)
        elif graph is not None:
            self._reject("a statement has a graph in a patch of triples")
        return self._make(terms)

    def _graph(self) -> Any:
        """The graph's name; None for the default graph."""
        if self._at("."):
            return None
        if _REST_OF_LINE.match(self._text, self._pos):
            self._reject(_NO_END)
        named = _ONLY_IRI.match(self._text, self._pos)
        if named is not None and named[1] in _DEFAULT_GRAPHS:
            self._pos = named.end()
            return None
        return self._term(positions.GRAPH)

    def _namespace(self, kind: OperationKind) -> Namespace:
        """A name, then its IRI and its graph, of which a row PD may have none or only the graph."""
        name = self._name(_NAME) or ""
        start = self._pos
        named = self._take(_ONLY_IRI)
        iri = None if named is None else self._node(named[1], named.start())
        if kind is OperationKind.ADD_NAMESPACE:
            # Apache Jena writes a string.
            text = self._take(_STRING) if iri is None else None
            if text is not None:
                iri = self._factory.iri(self._unescape(text))
            elif iri is None:
                self._reject("a namespace is an IRI")
        elif self._at("."):
            self._pos, iri = start, None
        start = self._pos
        graph = self._graph()
        if not self._quads and graph is not None:
            self._reject("a namespace has a graph in a patch of triples", start)
        if self._quads and graph is None:
            graph = self._factory.default_graph
        return Namespace(name, iri, graph)

    def _name(self, bare: re.Pattern[str]) -> str | None:
        """A key or name, in quotes or bare; None if there is none."""
        quoted = self._take(_STRING)
        if quoted is not None:
            return self._unescape(quoted)
        found = self._take(_SINGLE_QUOTED) or self._take(bare)
        return None if found is None else found[1]

    # Terms. ``pos`` is the term's position, for an error.

    def _term(self, position: int, depth: int = 0) -> Any:
        """Read the term in ``position``, inside ``depth`` quoted triples."""
        if self._at("<<"):
            self._check(position, Kind.TRIPLE, self._pos)
            return self._quoted_triple(depth + 1)
        start = self._pos
        found = self._take(_TERM)
        if found is None:
            found = self._take(_NUMBER)
            if found is None:
                self._reject(f"no {positions.POSITIONS[position]} can be read here")
            kind = Kind.LITERAL
            term = self._literal(found[0], None, f"{_XSD}{found.lastgroup}", start)
        else:
            node, lex, langtag, datatype = found.groups()
            if node is not None:
                term = self._node(node, start)
                is_label = node.startswith(("_:", "<_:"))
                kind = Kind.BLANK_NODE if is_label else Kind.IRI
            else:
                kind = Kind.LITERAL
                if langtag is not None and _DIRECTION.match(self._text, self._pos):
                    self._reject("Jelly cannot carry the base direction of a string")
                term = self._literal(lex, langtag, datatype, start)
        self._check(position, kind, start)
        return term

    def _quoted_triple(self, depth: int) -> Any:
        limits = self.limits
        if depth > limits.nesting:
            error = over(limits, "nesting", depth, "the depth of quoted triples")
            raise LimitError(f"line {self.line(self._text[: self._pos])}: {error.message}")
        opening, closing = ("<<(", ")>>") if self._at("<<(") else ("<<", ">>")
        self._pos += len(opening)
        terms = [self._term(position, depth) for position in range(3)]
        if not self._at(closing):
            self._reject(f"the quoted triple does not end here with {closing}")
        self._pos += len(closing)
        return self._factory.quoted_triple(*terms)

    def _check(self, position: int, kind: Kind, pos: int) -> None:
        if positions.undeclared(position, kind, self._generalized, rdf_star=True) is not None:
            self._reject(f"{kind.name} as {positions.POSITIONS[position]}", pos)

    def _node(self, text: str, pos: int) -> Any:
        term = self._nodes.get(text)
        if term is None:
            raw = text[1:-1] if text.startswith("<") else text
            value = self.unescape(raw, self._text, pos)
            if raw.startswith("_:"):
                term = self._factory.blank_node(value[2:])
            else:
                term = self._factory.iri(value)
            if len(text) <= _CACHED_CHARACTERS:
                if len(self._nodes) >= _CACHE_ENTRIES:
                    self._nodes.clear()
                self._nodes[text] = term
        return term

    def _literal(self, raw: str, langtag: str | None, datatype: str | None, pos: int) -> Any:
        lex = self.unescape(raw, self._text, pos)
        if datatype is not None:
            datatype = self.unescape(datatype, self._text, pos)
        if datatype == XSD_STRING:
            datatype = None
        return self._factory.literal(lex, langtag, datatype)

    # Position

    def _at(self, text: str) -> bool:
        """Skip spaces; return whether a text comes next."""
        found = _SKIP.match(self._text, self._pos)
        self._pos = found.end() if found else self._pos
        return self._text.startswith(text, self._pos)

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Skip spaces, match a pattern, and advance past it if it matches."""
        self._at("")
        found = pattern.match(self._text, self._pos)
        if found is not None:
            self._pos = found.end()
        return found

    def _unescape(self, found: re.Match[str]) -> str:
        return self.unescape(found[1], self._text, found.start())

    def _reject(self, message: str, pos: int | None = None) -> NoReturn:
        self.fail(message, self._text, self._pos if pos is None else pos)


class PatchTextWriter(RowWriter):
    """Writes the rows of one text. The limit ``nesting`` bounds quoted triples, and
    ``frame_expansion`` the long terms that a patch repeats."""

    mark = b"Z .\n"

    def __init__(self, settings: WriteSettings = WRITE, *, continues: bool = False) -> None:
        super().__init__(settings, continues=continues)
        self._opening, self._closing = Notation(settings.notation).value
        self._texts: dict[Any, str] = {}
        #: Bytes of the long terms that the patch repeats, so far.
        self._repeated = 0

    def row(self, row: AnyOperation) -> bytes:
        kind, value = row
        parts: list[str] = []
        if kind in STATEMENTS:
            parts = [self._text(term) for term in parts_of(value, (3, 4), "a statement")]
            if not all(parts[:3]):
                raise StatementError("the default graph may only be the graph of a statement")
            if parts[0][0] == '"':
                self._check(positions.SUBJECT, parts[0])
            if parts[1].startswith(_NOT_IRI):
                self._check(positions.PREDICATE, parts[1])
            if parts[-1].startswith(_NOT_GRAPH) and len(parts) == 4:
                self._check(positions.GRAPH, parts[3])
            if not parts[-1]:
                # The default graph.
                parts.pop()
        elif kind in NAMESPACES:
            parts = self._namespace(kind, value)
        elif kind is OperationKind.HEADER:
            key, term = parts_of(value, (2,), "a header")
            _check_string(key, "a header's key")
            plain = _PLAIN_KEY.fullmatch(key)
            parts = [key if plain else term_text(Literal(key)), self._text(term)]
        elif kind is OperationKind.END:
            self._repeated = 0
        line = " ".join([kind.code, *parts, ".\n"]).encode()
        if len(line) > self._limits.frame_bytes:
            raise over(self._limits, "frame_bytes", len(line), "the length of a line")
        return line

    def _check(self, position: int, text: str) -> None:
        """Check a term by its text."""
        kind = next((kind for start, kind in _STARTS if text.startswith(start)), Kind.IRI)
        self.check(position, kind if text else Kind.DEFAULT_GRAPH)
        if position == positions.GRAPH and text in _DEFAULT_GRAPHS:
            raise TermError(f"a graph is named {text}, which means the default graph here")

    def _namespace(self, kind: OperationKind, namespace: Namespace) -> list[str]:
        name, iri, graph = parts_of(namespace, (3,), "a namespace")
        _check_string(name, "a namespace's name")
        parts = [term_text(Literal(name))]
        graph_text = "" if graph is None else self._text(graph)
        self._check(positions.GRAPH, graph_text)
        if iri is not None:
            parts.append(self._text(iri))
            if not parts[1] or parts[1].startswith(_NOT_IRI):
                raise StatementError("a namespace is not an IRI")
            if kind is OperationKind.DELETE_NAMESPACE:
                # A single term after the name would be the graph.
                graph_text = graph_text or _DEFAULT_GRAPHS[0]
        elif kind is OperationKind.ADD_NAMESPACE:
            raise StatementError("a namespace is added without an IRI")
        return [*parts, graph_text] if graph_text else parts

    def _text(self, term: Any) -> str:
        if isinstance(term, tuple):
            # Hashing tuples that are nested deeply enough ends the process.
            return self._make(term, 0)
        try:
            text = self._texts.get(term)
        except (TypeError, AttributeError):
            # Unhashable terms have no parts, or parts that are not strings.
            return self._make(term, 0)
        if text is None:
            text = self._make(term, 0)
            if len(self._texts) >= _CACHE_ENTRIES:
                self._texts.clear()
            self._texts[term] = text
        elif len(text) > LONG_TERM:
            self._repeated += len(text)
            if self._repeated > self._limits.frame_expansion:
                what = "what a patch repeats of long terms"
                raise over(self._limits, "frame_expansion", self._repeated, what)
        return text

    def _make(self, term: Any, depth: int) -> str:
        kind, *parts = self._describe(term)
        if kind == Kind.DEFAULT_GRAPH:
            return ""
        if kind == Kind.TRIPLE:
            if depth >= self._limits.nesting:
                raise over(self._limits, "nesting", depth + 1, "the depth of quoted triples")
            for position, part in enumerate(parts):
                self.check(position, self._describe(part)[0])
            inner = " ".join(self._make(part, depth + 1) for part in parts)
            return f"{self._opening}{inner}{self._closing}"
        text, *others = parts
        for part in (text, *(each for each in others if each is not None)):
            _check_string(part, "a part of a term")
        if kind == Kind.IRI:
            if text.startswith("_:"):
                raise TermError(f"RDF Patch text has <{text}> for a blank node")
            return term_text(Iri(text))
        if kind == Kind.BLANK_NODE:
            return term_text(Iri(f"_:{text}"))
        langtag, datatype = others
        if langtag is None and datatype is not None:
            # Readers accept a literal of rdf:langString without a tag, which N-Triples lacks.
            return f"{term_text(Literal(text))}^^{term_text(Iri(datatype))}"
        return term_text(Literal(text, langtag))


def _check_string(value: Any, what: str) -> None:
    if not isinstance(value, str):
        raise TermError(f"{what} is not a string: {value!r}")
