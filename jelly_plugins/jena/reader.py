"""Rows of Jena RDF Binary to statements: the Python codec, which the compiled one follows.

Bytes in, terms of the caller's factory out; no I/O. Rows have no frames around them: what one call
reads is a batch, of so many rows at most, and some limits hold for the batch.

What the rows mean: RDF Binary (Apache Jena), sections "RDF terms" and "Thrift encoding of RDF
Graphs and RDF Datasets".
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from ..codec import DEFAULT_LIMITS, AnyFrame, Frame, Kind, Limits, TermFactory
from ..codec.common.limits import over
from ..codec.common.positions import GRAPH, POSITIONS, undeclared
from ..codec.common.terms import RDF_LANG_STRING, XSD_STRING, build
from ..errors import JellyError, LookupTableError, StatementError, TermError, TruncatedError
from .names import JenaFormat
from .protobuf import ProtobufWire
from .schema import STREAM_ROW, Message
from .thrift import ThriftWire
from .values import lexical_form
from .wire import Incomplete, Wire

#: The wire of each encoding.
WIRES: Final[dict[JenaFormat, Wire]] = {
    JenaFormat.THRIFT: ThriftWire(),
    JenaFormat.PROTOBUF: ProtobufWire(),
}

#: Rows of a batch: the limits of a frame hold for the rows of one.
BATCH_ROWS: Final = 4096

#: Terms that are remembered.
_CACHE_ENTRIES: Final = 1 << 16

_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
#: Datatypes that are implied by a language tag.
_TAGGED: Final = (RDF_LANG_STRING, _RDF + "dirLangString")
_DIRECTIONS: Final = ("ltr", "rtl")

#: What Apache Jena calls the default graph, where it does not leave it out.
DEFAULT_GRAPH_IRIS: Final = ("urn:x-arq:DefaultGraphNode", "urn:x-arq:DefaultGraph")

_VALUES: Final = ("valInteger", "valDouble", "valDecimal")
#: Names of the members that are not terms of a statement.
_NO_TERMS: Final = {
    "variable": "a variable",
    "any": "a pattern for any term",
    "undefined": "an undefined term",
}


class TermReader:
    """Makes a factory's terms of those that rows have, by the prefixes that were declared.

    :param directions: whether language-tagged strings may have a base direction. The factory gets
        both as one: ``en--ltr``.

    :ivar prefixes: IRI by name, as declared so far.
    :ivar expansion: bytes that the rows of the batch have made of fewer: IRIs of prefix names,
        numbers, and what repeats copy.
    """

    def __init__(
        self,
        factory: TermFactory[Any],
        *,
        generalized: bool,
        directions: bool = True,
        limits: Limits,
    ) -> None:
        self.factory = factory
        self._directions = directions
        self.generalized = generalized
        self.limits = limits
        self.prefixes: dict[str, str] = {}
        self.expansion = 0
        self._prefix_bytes = 0
        #: Makes a term, or takes it out of the cache.
        self.make = lru_cache(_CACHE_ENTRIES)(build)

    def declare(self, name: str, iri: str) -> None:
        """Bind a prefix's name.

        :raises LimitError: there are too many prefixes, or they are too long together.
        """
        before = self.prefixes.get(name)
        count = len(self.prefixes) + (before is None)
        if count > self.limits.prefix_table:
            raise over(self.limits, "prefix_table", count, "the number of prefixes")
        size = _size(iri) - (-_size(name) if before is None else _size(before))
        self._prefix_bytes += size
        if self._prefix_bytes > self.limits.lookup_characters:
            what = "the length of all prefixes"
            raise over(self.limits, "lookup_characters", self._prefix_bytes, what)
        self.prefixes[name] = iri

    def expand(self, size: int) -> None:
        """Count bytes that were made of fewer.

        :raises LimitError: they are too many in this batch.
        """
        self.expansion += size
        if self.expansion > self.limits.frame_expansion:
            what = f"what {BATCH_ROWS} rows make of prefix names, numbers and repeats"
            raise over(self.limits, "frame_expansion", self.expansion, what)

    def term(self, term: tuple[str, Any], position: int) -> Any:
        """A term other than a repeat or an absent term.

        :param position: its position in its statement.
        :raises JellyError: it is not a term, or not allowed in this position.
        """
        name, value = term
        if name == "iri":
            self._check(position, Kind.IRI)
            return self.make(self.factory.iri, value["iri"])
        if name == "prefixName":
            self._check(position, Kind.IRI)
            return self.make(self.factory.iri, self.whole(value))
        if name == "bnode":
            self._check(position, Kind.BLANK_NODE)
            return self.make(self.factory.blank_node, value["label"])
        if name == "literal":
            self._check(position, Kind.LITERAL)
            return self.make(self.factory.literal, *self._literal(value))
        if name in _VALUES:
            self._check(position, Kind.LITERAL)
            lex, datatype = lexical_form(term, self.limits)
            self.expand(len(lex))
            return self.make(self.factory.literal, lex, None, datatype)
        if name == "tripleTerm":
            self._check(position, Kind.TRIPLE)
            parts = [self.term(value[part], at) for at, part in enumerate("SPO")]
            return build(self.factory.quoted_triple, *parts)
        if name == "repeat":
            raise StatementError("there is a repeat in a quoted triple")
        raise TermError(f"{_NO_TERMS[name]} is used as {POSITIONS[position]}")

    def whole(self, name: dict[str, str]) -> str:
        """The IRI of a prefix name.

        :raises LookupTableError: the prefix was not declared.
        :raises LimitError: the IRI is too long, or it is one too many.
        """
        prefix, local = name["prefix"], name["localName"]
        iri = self.prefixes.get(prefix)
        if iri is None:
            raise LookupTableError(f"the prefix {prefix[:80]!r} was not declared")
        size = _size(iri) + _size(local)
        if size > self.limits.string_bytes:
            raise over(self.limits, "string_bytes", size, "the length of an IRI")
        self.expand(size)
        return iri + local

    def _check(self, position: int, kind: Kind) -> None:
        if undeclared(position, kind, self.generalized, rdf_star=True) is not None:
            raise StatementError(f"{kind.name} as {POSITIONS[position]}")

    def _literal(self, literal: dict[str, Any]) -> tuple[str, str | None, str | None]:
        """Lexical form, language tag and datatype, as a factory takes them.

        :raises TermError: they do not go together.
        """
        langtag = literal.get("langtag")
        datatype = literal.get("datatype")
        if "dtPrefix" in literal:
            if datatype is not None:
                raise TermError("a literal has two datatypes")
            datatype = self.whole(literal["dtPrefix"])
        langtag, mark, direction = (literal.get("langdir") or langtag or "").partition("--")
        if not mark:
            direction = literal.get("baseDirection")
        if direction is not None:
            if not self._directions:
                raise TermError("Jelly cannot carry the base direction of a language-tagged string")
            if direction not in _DIRECTIONS or not langtag:
                raise TermError(
                    "a base direction is ltr or rtl, and that of a language-tagged string"
                )
            langtag = f"{langtag}--{direction}"
        if not langtag:
            return literal["lex"], None, None if datatype == XSD_STRING else datatype
        if datatype is not None and datatype not in _TAGGED:
            raise TermError("a literal has either a language tag or a datatype, not both")
        return literal["lex"], langtag, None


class RowReader:
    """Reads the rows of one stream, in order. Subclasses set ``_message``, the message of the next
    row, and define :meth:`_take`.

    :ivar row: number of the row that is next.
    """

    _message: Message

    def __init__(
        self,
        factory: TermFactory[Any],
        format: JenaFormat,  # noqa: A002
        *,
        generalized: bool,
        directions: bool = True,
        limits: Limits,
    ) -> None:
        self.format = format
        self.limits = limits
        self.row = 0
        self.terms = TermReader(
            factory, generalized=generalized, directions=directions, limits=limits
        )
        self._wire: Wire = WIRES[format]

    def read_rows(self, data: bytes, at: int, batch: Any) -> int:
        """Read rows up to the end of the batch, or the last whole row.

        :param batch: takes their contents.
        :return: the position after them.
        :raises JellyError: with the row, on any error.
        """
        while at < len(data):
            stop = self.decode_row(data, at, batch)
            if stop == at:
                break
            at = stop
            if self.row % BATCH_ROWS == 0:
                break
        return at

    def decode_row(self, data: bytes, at: int, batch: Any) -> int:
        """Decode one row into a batch.

        :return: the position after it, ``at`` if it is not complete.
        :raises JellyError: with the row, on any error.
        """
        if self.row % BATCH_ROWS == 0:
            self.terms.expansion = 0
        try:
            row, stop = self._wire.read(data, at, self._message, self.limits)
            self._take(row, batch)
        except Incomplete:
            return at
        except JellyError as error:
            raise error.locate(row=self.row) from error.__cause__
        self.row += 1
        return stop

    def _take(self, row: Any, batch: Any) -> None:
        """Add the contents of a row to a batch."""
        raise NotImplementedError


class RowDecoder(RowReader):
    """Reads the rows of one stream of statements, in order.

    :param factory: makes terms and statements.
    :param format: how rows are encoded.
    :param quads: whether triples come as quads in the default graph. By default they are triples,
        and quads are quads.
    :param generalized: whether any kind of term may occur in any position.
    :param directions: whether language-tagged strings may have a base direction.
    :param limits: the limits on untrusted input; those of a frame hold for a batch.

    >>> from jelly_plugins.codec import GenericFactory
    >>> decoder = RowDecoder(GenericFactory(), JenaFormat.THRIFT)
    >>> batch, _ = decoder.decode(bytes.fromhex("1c180178180475726e3a0000"))
    >>> batch.namespaces
    [('x', Iri(value='urn:'))]
    """

    _message = STREAM_ROW
    #: Whether statements have copies of their terms, so that repeats cost what they repeat.
    _copies = False

    def __init__(
        self,
        factory: TermFactory[Any],
        format: JenaFormat,  # noqa: A002
        *,
        quads: bool = False,
        generalized: bool = False,
        directions: bool = True,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        super().__init__(
            factory, format, generalized=generalized, directions=directions, limits=limits
        )
        self.quads = quads
        #: The base IRI that was declared last; all IRIs are whole without it.
        self.base: str | None = None
        #: Terms of the statement before, None for each that it does not have.
        self._last: list[Any] = [None] * 4
        #: The row of the previous statement, if the compiled kernel has read it.
        self.before: bytes | None = None

    @property
    def prefixes(self) -> dict[str, str]:
        """The prefixes that were declared so far, IRI by name."""
        return self.terms.prefixes

    @property
    def expansion(self) -> int:
        """Bytes that the rows of the batch have made of fewer."""
        return self.terms.expansion

    @expansion.setter
    def expansion(self, size: int) -> None:
        self.terms.expansion = size

    def decode(self, data: bytes, at: int = 0) -> tuple[AnyFrame, int]:
        """Decode rows up to the end of the batch, or the last whole row.

        :param at: where they start.
        :return: their contents, and the position after them.
        :raises JellyError: with the row, on any error.
        """
        frame = Frame(self.row // BATCH_ROWS)
        first = self.row
        stop = self.read_rows(data, at, frame)
        frame.rows = self.row - first
        frame.size = stop - at
        return frame, stop

    def finish(self, rest: bytes = b"") -> None:
        """Mark the end of the input.

        :param rest: what no row was made of.
        :raises TruncatedError: that is a part of one.
        """
        if rest:
            raise TruncatedError("the input ends inside a row", row=self.row)

    def _take(self, row: tuple[str, Any], batch: AnyFrame) -> None:
        name, value = row
        if name == "prefixDecl":
            # What was read under the prefixes so far.
            self._recall()
            iri = build(self.terms.factory.iri, value["uri"])
            self.terms.declare(value["prefix"], value["uri"])
            batch.namespaces.append((value["prefix"], iri))
        elif name == "base":
            self.base = value["iri"]
        else:
            batch.statements.append(self._statement(name == "quad", value))

    def _statement(self, quad: bool, value: dict[str, Any]) -> Any:
        terms = [self._term(value[part], at) for at, part in enumerate("SPO")]
        factory = self.terms.factory
        graph: Any = None
        if quad and not is_default(value.get("G")):
            graph = self._term(value["G"], GRAPH)
        self._last = [*terms, graph]
        self.before = None
        if not quad and not self.quads:
            return build(factory.triple, tuple(terms))
        terms.append(factory.default_graph if graph is None else graph)
        return build(factory.quad, tuple(terms))

    def _term(self, term: tuple[str, Any], position: int) -> Any:
        if term[0] != "repeat":
            return self.terms.term(term, position)
        self._recall()
        again = self._last[position]
        if again is None:
            raise StatementError(f"a repeat is used as {POSITIONS[position]}, with none before it")
        if self._copies:
            self.terms.expand(_size(again))
        return again

    def _recall(self) -> None:
        """Read the terms of the previous statement, if the compiled kernel has read it."""
        if self.before is None:
            return
        row, self.before = self.before, None
        expansion, self.terms.expansion = self.terms.expansion, 0
        (name, value), _ = self._wire.read(row, 0, STREAM_ROW, self.limits)
        self._statement(name == "quad", value)
        self.terms.expansion = expansion


def is_default(graph: tuple[str, Any] | None) -> bool:
    """Whether a graph's name is that of the default graph: there is none, an undefined one, or one
    of Apache Jena's own."""
    if graph is None or graph[0] == "undefined":
        return True
    return graph[0] == "iri" and graph[1]["iri"] in DEFAULT_GRAPH_IRIS


def _size(text: str) -> int:
    """Bytes of a text."""
    return len(text) if text.isascii() else len(text.encode())


__all__ = ["BATCH_ROWS", "WIRES", "RowDecoder", "RowReader", "TermReader"]
