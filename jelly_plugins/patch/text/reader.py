"""RDF Patch text to rows of patches.

Text goes in by chunks, rows come out one by one; no I/O, and memory for no more than a chunk and a
line. The allowed order of rows is defined by the codec (``codec.patch.rules``); terms are read by
``terms``.

Taken as other tools write them: names and keys with or without quotes, TB for TX, an H row without
its dot, several rows on a line, comments.

Reference: RDF Patch (https://afs.github.io/rdf-delta/rdf-patch.html); Z as Apache Jena has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from ...codec import DEFAULT_LIMITS, Limits, PatchStatementType, TermFactory
from ...codec.common import positions
from ...codec.common.limits import over
from ...codec.common.terms import build
from ...codec.patch.operations import (
    ABORT,
    BEGIN,
    COMMIT,
    END,
    Namespace,
    Operation,
    OperationKind,
    header,
)
from ...codec.text.lines import (
    BLANK_NODE,
    END_OF_LINE,
    IRI,
    LABEL,
    LITERAL,
    SPACE,
    STRING,
    Text,
    count_line_ends,
)
from ...errors import OrderError, TruncatedError
from .order import PatchOrder
from .terms import REST_OF_LINE, TermScanner

#: What Apache Jena calls the default graph where it must have a name. Here only namespaces need
#: that: one that is deleted with its IRI, because a single term after its name is its graph.
DEFAULT_GRAPH_IRI: Final = "urn:x-arq:DefaultGraph"

_KINDS: Final = {kind.code: kind for kind in OperationKind} | {"TB": OperationKind.BEGIN}
_ALONE: Final = {
    OperationKind.BEGIN: BEGIN,
    OperationKind.COMMIT: COMMIT,
    OperationKind.ABORT: ABORT,
    OperationKind.END: END,
}
_STATEMENTS: Final = {"A": OperationKind.ADD, "D": OperationKind.DELETE}

#: A statement's row of a usual form, as a whole line.
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
        for data in self.pieces(text, growing=growing):
            piece = self.decode(data)
            self.text = piece
            self.pos = 0
            yield from self._rows(piece)
            self.line_ends += count_line_ends(piece)

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
                    self.refuse("BLANK_NODE as predicate", found.start(4) - 1)
                predicate = self.iri(p, found.start(4))
            if o is not None:
                object_ = get_iri(o) or self.iri(o, found.start(5))
            elif o_node is not None:
                object_ = get_blank_node(o_node) or self.blank_node(o_node)
            else:
                object_ = self.literal(lex, langtag, datatype, found.start(7))
            graph = None
            if g is not None:
                graph = get_iri(g) or self.iri(g, found.start(10))
            elif g_node is not None:
                graph = get_blank_node(g_node) or self.blank_node(g_node)
            statement = self._statement((subject, predicate, object_), graph)
            self.pos = found.end()
            yield self._row(_STATEMENTS[code], statement, start)

    def _line(self) -> Iterator[Operation]:
        """Read a line of any form, term by term; it may have no row, or several."""
        while not self.take(REST_OF_LINE):
            self.skip()
            start = self.pos
            found = self.take(_CODE)
            kind = None if found is None else _KINDS.get(found[0])
            if kind is None:
                self.refuse("no row of a patch starts here", start)
            if kind is OperationKind.HEADER:
                yield from self._header()
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
            yield self._row(kind, value, start)

    def _row(self, kind: OperationKind, value: Any, start: int) -> Operation:
        """A row, if it is allowed here."""
        try:
            self.order.take(kind)
        except OrderError as error:
            self.refuse(error.message, start)
        return _ALONE.get(kind) or Operation(kind, value)

    def _header(self) -> Iterator[Operation]:
        self.skip()
        quoted = self.take(_STRING)
        found = quoted or self.take(_SINGLE_QUOTED) or self.take(_WORD)
        if found is None:
            self.refuse("a header has no key")
        key = self.unescape(found[1], self.text, found.start()) if quoted else found[1]
        value = self.term(positions.OBJECT)
        self.skip()
        if self.text.startswith(".", self.pos) or not REST_OF_LINE.match(self.text, self.pos):
            # rdflib leaves the dot out.
            self._end_row()
        if self.order.header(key):
            yield END
        yield header(key, value)

    def _statement(self, terms: tuple[Any, ...], graph: Any) -> Any:
        if self._quads:
            terms += (self._factory.default_graph if graph is None else graph,)
        elif graph is not None:
            self.refuse("a statement has a graph in a patch of triples")
        return build(self._make, terms)

    def _graph(self) -> Any:
        """The graph's name, None where there is none."""
        self.skip()
        if self.text.startswith(".", self.pos):
            return None
        if REST_OF_LINE.match(self.text, self.pos):
            self._end_row()
        return self.term(positions.GRAPH)

    def _added_namespace(self) -> Namespace:
        name = self._name()
        value = self._namespace_iri()
        if value is None:
            # Apache Jena writes a string.
            found = self.take(_STRING)
            if found is None:
                self.refuse("a namespace is an IRI")
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
        default = graph is not None and graph == build(self._factory.iri, DEFAULT_GRAPH_IRI)
        if self._quads:
            return self._factory.default_graph if graph is None or default else graph
        if graph is not None and not default:
            self.refuse("a namespace has a graph in a patch of triples", start)
        return None

    def _end_row(self) -> None:
        self.skip()
        if not self.text.startswith(".", self.pos):
            self.refuse("the row does not end here with a '.'")
        self.pos += 1
