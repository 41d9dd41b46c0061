"""RDF Patch text to rows of patches.

Text goes in by chunks, rows come out one by one; no I/O, and memory for no more than a chunk and a
line. The allowed order of rows is defined by the codec (``codec.patch.rules``).

Taken as other tools write them: names and keys with or without quotes, TB for TX, an H row without
its dot, several rows on a line, comments.

Reference: RDF Patch (https://afs.github.io/rdf-delta/rdf-patch.html); Z as Apache Jena has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from ...codec import DEFAULT_LIMITS, Kind, Limits, PatchStatementType, TermFactory
from ...codec.common import positions
from ...codec.common.limits import over
from ...codec.common.terms import XSD_STRING, build
from ...codec.patch.operations import (
    ABORT,
    BEGIN,
    COMMIT,
    END,
    ENDS,
    Namespace,
    Operation,
    OperationKind,
    header,
)
from ...codec.patch.rules import PatchState
from ...codec.text.lines import (
    BLANK_NODE,
    END_OF_LINE,
    IRI,
    LABEL,
    LABEL_PART,
    LITERAL,
    SPACE,
    STRING,
    LineReader,
    Text,
    count_line_ends,
    shorten,
)
from ...errors import LimitError, OrderError, TextError, TruncatedError
from .order import PatchOrder

#: What Apache Jena calls the default graph where it must have a name. The writer needs that only
#: for a namespace that is deleted with its IRI, because a single term after its name is its graph.
DEFAULT_GRAPH_IRI: Final = "urn:x-arq:DefaultGraph"
_DEFAULT_GRAPH_IRIS: Final = frozenset((DEFAULT_GRAPH_IRI, f"{DEFAULT_GRAPH_IRI}Node"))

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

_KINDS: Final = {kind.code: kind for kind in OperationKind} | {"TB": OperationKind.BEGIN}
_ALONE: Final = {
    OperationKind.BEGIN: BEGIN,
    OperationKind.COMMIT: COMMIT,
    OperationKind.ABORT: ABORT,
    OperationKind.END: END,
}
_STATEMENTS: Final = {"A": OperationKind.ADD, "D": OperationKind.DELETE}

#: A statement's row of a usual form, as a whole line. Term by term, reading takes 2.5 times as
#: long.
_NODE: Final = rf"(?:{IRI}|{BLANK_NODE})"
_USUAL_LINE: Final = re.compile(
    SPACE.join(
        [
            r"([AD])[ \t]++",
            _NODE,
            IRI,
            rf"(?:{IRI}|{BLANK_NODE}|{LITERAL})",
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
_IRI: Final = re.compile(IRI)

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
_REST_OF_LINE: Final = re.compile(SPACE + END_OF_LINE)
#: The beginning of a row in a last line that has no line end, and does not end with the dot of its
#: row.
_CUT_ROW: Final = re.compile(
    rb"(?:.*\.)?\s*(?:TX?|TB|TC|TA|PA?|PD|[ADHZ])(?:[\s<\"'].*)?", re.DOTALL
)

#: A cache of terms that reaches this many entries starts afresh.
_CACHE_ENTRIES: Final = 1 << 16
_CACHED_CHARACTERS: Final = 1 << 10


class TermScanner(LineReader):
    """Reads terms at a place in a text, in every form that tools write them in: blank nodes as
    ``<_:label>`` or ``_:label``, numbers and booleans in short as in Turtle, prefixed names under
    prefixes that were declared, quoted triples as ``<< s p o >>`` or ``<<( s p o )>>``.

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
                    self.reject("Jelly cannot carry the base direction of a string")
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
                self.reject(f"no PA row has declared the prefix {shorten(prefix)}:")
            self.pos = named.end()
            value = self.prefixes[prefix] + _LOCAL_ESCAPE.sub(r"\1", local)
            return Kind.IRI, build(self._factory.iri, value)
        if found is None:
            self.reject(f"no {positions.POSITIONS[position]} can be read here")
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
            self.reject(f"the quoted triple does not end here with {closing}")
        self.pos += len(closing)
        return build(self._factory.quoted_triple, *terms)

    def _check(self, position: int, kind: Kind, pos: int | None = None) -> None:
        """Reject a kind of term that is not allowed in its position."""
        if positions.undeclared(position, kind, self._generalized, rdf_star=True) is not None:
            self.reject(f"{kind.name} as {positions.POSITIONS[position]}", pos)

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

    def reject(self, message: str, pos: int | None = None) -> NoReturn:
        """Reject the text because of what is at the current position, or at ``pos``."""
        self.fail(message, self.text, self.pos if pos is None else pos)


def _remember(cache: dict[str, Any], raw: str, term: Any) -> None:
    if len(raw) <= _CACHED_CHARACTERS:
        if len(cache) >= _CACHE_ENTRIES:
            cache.clear()
        cache[raw] = term


class PatchTextReader(TermScanner):
    """Reads the rows of one text.

    :param factory: makes terms and statements.
    :param statement_type: what a statement without a graph is: a quad in the default graph, or a
        triple (and then none may have a graph). The text does not declare it.
    :param generalized: whether any kind of term may occur in any position.
    :param limits: ``nesting`` bounds quoted triples, ``frame_bytes`` the length of a line,
        ``lookup_characters`` the namespaces.
    :ivar order: of the rows that were read.

    >>> from jelly_plugins.codec import GenericFactory
    >>> reader = PatchTextReader(GenericFactory())
    >>> [row.kind.name for row in reader.rows("TX . A <urn:s> <urn:p> 1 . TC .")]
    ['BEGIN', 'ADD', 'COMMIT']
    """

    def __init__(
        self,
        factory: TermFactory[Any],
        *,
        statement_type: PatchStatementType = PatchStatementType.QUADS,
        generalized: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        super().__init__(factory, generalized, limits)
        self._quads = statement_type is PatchStatementType.QUADS
        self._make = factory.quad if self._quads else factory.triple
        self.order = PatchOrder()
        self._prefix_characters = 0
        #: Bytes of the text up to the end of its last complete transaction.
        self.complete_bytes = 0
        #: Position in the current chunk of that end; None if it is in an earlier one.
        self._complete: int | None = None

    @property
    def inside_patch(self) -> bool:
        """Whether there was something after the last END: rows, or part of one."""
        return self.order.inside_patch or self.pending > 0

    def rows(self, text: Text, *, growing: bool = False) -> Iterator[Operation]:
        """Read rows. END comes where the text has Z, and where the headers of the next patch begin;
        for the last patch, :meth:`finish` has it.

        :param text: UTF-8, whole or in chunks.
        :param growing: whether a last line without a line end is not complete, and is left out.
        :raises TextError: with the line, while iterating.
        :raises JellyError: the text is beyond the limits, or a term cannot be held.
        """
        before = 0
        for data in self.chunks(text, growing=growing):
            shown = data if before else data.removeprefix(_BYTE_ORDER_MARK)
            chunk = ""
            self._complete = None
            before += len(data)
            try:
                chunk = self.decode(shown)
                self.text = chunk
                self.pos = 0
                yield from self._rows(chunk)
            except TextError as error:
                if _is_cut(shown):
                    raise TruncatedError(
                        f"line {error.line}: the text ends inside a row: {error.message}"
                    ) from None
                raise
            finally:
                if self._complete is not None:
                    self.complete_bytes = before - len(chunk[self._complete :].encode())
            self.line_ends += count_line_ends(chunk)

    def finish(self) -> list[Operation]:
        """Mark the end of the text.

        :return: END, unless there were no rows after the last one.
        :raises TruncatedError: it ended inside a transaction.
        """
        if self.order.inside_transaction:
            raise TruncatedError(f"line {self.line_ends + 1}: the text ends inside a transaction")
        return self.order.finish()

    def _rows(self, text: str) -> Iterator[Operation]:
        match = _USUAL_LINE.match
        get_iri = self._iris.get
        get_blank_node = self._blank_nodes.get
        end = len(text)
        while self.pos < end:
            start = self.pos
            found = match(text, start)
            if found is None:
                yield from self._line()
                continue
            code, s, s_node, p, o, o_node, lex, langtag, datatype, g, g_node = found.groups()
            if s is not None:
                subject = get_iri(s) or self.iri(s, found.start(2))
            else:
                subject = get_blank_node(s_node) or self.blank_node(s_node)
            predicate = get_iri(p)
            if predicate is None:
                if self.is_blank_node(p) and not self._generalized:
                    self.reject("BLANK_NODE as predicate", found.start(4) - 1)
                predicate = self.iri(p, found.start(4))
            if o is not None:
                object_ = get_iri(o) or self.iri(o, found.start(5))
            elif o_node is not None:
                object_ = get_blank_node(o_node) or self.blank_node(o_node)
            else:
                object_ = self.literal(lex, langtag, datatype, found.start(7))
            graph = None
            if g is not None:
                if g not in _DEFAULT_GRAPH_IRIS:
                    graph = get_iri(g) or self.iri(g, found.start(10))
            elif g_node is not None:
                graph = get_blank_node(g_node) or self.blank_node(g_node)
            statement = self._statement((subject, predicate, object_), graph)
            self.pos = found.end()
            yield self._row(_STATEMENTS[code], statement, start)

    def _line(self) -> Iterator[Operation]:
        """Read a line of any form, term by term; it may have no row, or several."""
        while not self.take(_REST_OF_LINE):
            self.skip()
            start = self.pos
            found = self.take(_CODE)
            kind = None if found is None else _KINDS.get(found[0])
            if kind is None:
                self.reject("no row of a patch starts here", start)
            if kind is OperationKind.HEADER:
                yield from self._header(start)
                continue
            value: Any = None
            if kind is OperationKind.ADD or kind is OperationKind.DELETE:
                terms = tuple(self.term(position) for position in range(3))
                value = self._statement(terms, self._graph())
            elif kind is OperationKind.ADD_NAMESPACE:
                value = self._added_namespace()
            elif kind is OperationKind.DELETE_NAMESPACE:
                value = self._deleted_namespace()
            self._end_row()
            # A mark after a transaction comes with the next patch.
            is_loose = self.order.state is PatchState.PUNCTUATED_LOOSE
            row = self._row(kind, value, start)
            if row.kind in ENDS and (is_loose or row is not END):
                self._complete = self.pos
            yield row

    def _row(self, kind: OperationKind, value: Any, start: int) -> Operation:
        """A row, if it is allowed here."""
        try:
            self.order.take(kind)
        except OrderError as error:
            self.reject(error.message, start)
        return _ALONE.get(kind) or Operation(kind, value)

    def _header(self, start: int) -> Iterator[Operation]:
        self.skip()
        quoted = self.take(_STRING)
        found = quoted or self.take(_SINGLE_QUOTED) or self.take(_WORD)
        if found is None:
            self.reject("a header has no key")
        key = self.unescape(found[1], self.text, found.start()) if quoted else found[1]
        value = self.term(positions.OBJECT)
        self.skip()
        if self.text.startswith(".", self.pos) or not _REST_OF_LINE.match(self.text, self.pos):
            # rdflib leaves the dot out.
            self._end_row()
        is_loose = self.order.state is PatchState.PUNCTUATED_LOOSE
        if self.order.header(key):
            if is_loose:
                self._complete = start
            yield END
        yield header(key, value)

    def _statement(self, terms: tuple[Any, ...], graph: Any) -> Any:
        if self._quads:
            terms += (self._factory.default_graph if graph is None else graph,)
        elif graph is not None:
            self.reject("a statement has a graph in a patch of triples")
        return build(self._make, terms)

    def _graph(self) -> Any:
        """The graph's name, None where there is none or one of the default graph."""
        self.skip()
        if self.text.startswith(".", self.pos):
            return None
        if _REST_OF_LINE.match(self.text, self.pos):
            self._end_row()
        named = _IRI.match(self.text, self.pos)
        if named is not None and named[1] in _DEFAULT_GRAPH_IRIS:
            self.pos = named.end()
            return None
        return self.term(positions.GRAPH)

    def _added_namespace(self) -> Namespace:
        name = self._name()
        value = self._namespace_iri()
        if value is None:
            # Apache Jena writes a string.
            found = self.take(_STRING)
            if found is None:
                self.reject("a namespace is an IRI")
            value = self.unescape(found[1], self.text, found.start())
        self._prefix_characters += len(name) + len(value)
        if self._prefix_characters > self.limits.lookup_characters:
            what = "the length of all namespaces"
            raise over(self.limits, "lookup_characters", self._prefix_characters, what)
        self.prefixes[name] = value
        return Namespace(name, build(self._factory.iri, value), self._namespace_graph())

    def _deleted_namespace(self) -> Namespace:
        """A name, then nothing, its graph, or its IRI and its graph."""
        name = self._name()
        self.prefixes.pop(name, None)
        iri = None
        before = self.pos
        value = self._namespace_iri()
        self.skip()
        if value is not None and not self.text.startswith(".", self.pos):
            iri = build(self._factory.iri, value)
        else:
            self.pos = before
        return Namespace(name, iri, self._namespace_graph())

    def _name(self) -> str:
        """A namespace's name, with or without quotes and colon."""
        self.skip()
        quoted = self.take(_STRING)
        if quoted is not None:
            return self.unescape(quoted[1], self.text, quoted.start())
        found = self.take(_SINGLE_QUOTED) or self.take(_NAME)
        return found[1] or "" if found else ""

    def _namespace_iri(self) -> str | None:
        """The IRI at the current position; None if there is none."""
        self.skip()
        found = _IRI.match(self.text, self.pos)
        if found is None or self.is_blank_node(found[1]):
            return None
        self.pos = found.end()
        return self.unescape(found[1], self.text, found.start())

    def _namespace_graph(self) -> Any:
        start = self.pos
        graph = self._graph()
        if self._quads:
            return self._factory.default_graph if graph is None else graph
        if graph is not None:
            self.reject("a namespace has a graph in a patch of triples", start)
        return None

    def _end_row(self) -> None:
        self.skip()
        if not self.text.startswith(".", self.pos):
            self.reject("the row does not end here with a '.'")
        self.pos += 1


def _is_cut(data: bytes) -> bool:
    """Whether a chunk of text ends inside a row: its last line has no line end, and the row there
    has no dot."""
    last = data[max(data.rfind(b"\n"), data.rfind(b"\r")) + 1 :].rstrip(b" \t")
    return bool(last) and not last.endswith(b".") and _CUT_ROW.fullmatch(last) is not None
