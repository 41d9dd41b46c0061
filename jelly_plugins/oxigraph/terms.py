"""pyoxigraph's terms: made for a decoder, taken apart for an encoder.

pyoxigraph checks what it is given: IRIs and language tags in the constructors of terms, positions
in those of ``Triple`` and ``Quad``. What it rejects becomes a ``TermError`` that names the term or
its position; the decoder adds frame and row.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, TypeAlias, get_args

from pyoxigraph import BaseDirection, BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple

from ..backends import BlankNodes
from ..codec import Kind
from ..codec.common.positions import GRAPH, POSITIONS, SUBJECT
from ..codec.common.terms import XSD_STRING
from ..codec.text.ntriples import read_label, written_label
from ..errors import TermError, shown

#: What pyoxigraph takes for the name of a graph.
GraphName: TypeAlias = NamedNode | BlankNode | DefaultGraph

DEFAULT_GRAPH: Final = DefaultGraph()

#: Why a statement cannot be in a named graph, where all go into one.
LEAVE_OUT: Final = "all statements go into one graph; leave graph out to keep their own graphs"

#: Characters of a rejected term that an error shows.
_SHOWN: Final = 80

#: The remedy for quoted triples, where there is one.
REIFY: Final = " (quoted_triples='reify' puts a reifier there)"

_QUOTED: Final = "a quoted triple"
_KINDS: Final[dict[type, str]] = {
    NamedNode: "an IRI",
    BlankNode: "a blank node",
    Literal: "a literal",
    Triple: _QUOTED,
    DefaultGraph: "the default graph",
}

_DIRECTIONS: Final = {"ltr": BaseDirection.LTR, "rtl": BaseDirection.RTL}

#: Types that Oxigraph takes in each position of a statement.
_HELD: Final[tuple[tuple[type, ...], ...]] = (
    (NamedNode, BlankNode),
    (NamedNode,),
    (NamedNode, BlankNode, Literal, Triple),
    (NamedNode, BlankNode, DefaultGraph),
)


def check_store(store: object) -> None:
    """Reject the path of a store where a store object is required."""
    if isinstance(store, str | bytes | os.PathLike):
        raise TypeError(
            f"a pyoxigraph.Store is needed, not {shown(store)}; Store(path) opens one on disk"
        )


def check_graph(graph: object) -> None:
    """Reject an invalid graph name, such as a string."""
    if not isinstance(graph, GraphName):
        raise TypeError(
            f"graph must be a NamedNode, BlankNode or DefaultGraph (got {shown(graph)})"
        )


def describe(term: object) -> tuple[Any, ...]:
    """Take a term of pyoxigraph apart, see ``codec.Describe``."""
    if isinstance(term, NamedNode):
        return (Kind.IRI, term.value)
    if isinstance(term, Literal):
        if term.language is None:
            datatype = term.datatype.value
            return (Kind.LITERAL, term.value, None, None if datatype == XSD_STRING else datatype)
        if term.direction is not None:
            raise TermError(f"Jelly cannot carry the base direction of {_short(str(term))}")
        return (Kind.LITERAL, term.value, term.language, None)
    if isinstance(term, BlankNode):
        return (Kind.BLANK_NODE, read_label(term.value))
    if isinstance(term, Triple):
        return (Kind.TRIPLE, term.subject, term.predicate, term.object)
    if isinstance(term, DefaultGraph):
        return (Kind.DEFAULT_GRAPH,)
    raise TermError(f"{term!r} is not a term of pyoxigraph")


def describe_directed(term: object) -> tuple[Any, ...]:
    """Take a term apart as :func:`describe` does; a base direction becomes part of the language
    tag.
    """
    if isinstance(term, Literal) and term.direction is not None:
        return (Kind.LITERAL, term.value, f"{term.language}--{term.direction}", None)
    return describe(term)


# Labels of blank nodes. Both ways to make nodes of them are functions of the label alone (and of a
# secret, for relabelled nodes), so that reading a stream of any length needs no table of labels.


def kept(label: str) -> BlankNode:
    """The blank node of a label that is kept.

    It has its label in N-Quads, see
    :func:`~jelly_plugins.codec.text.ntriples.written_label`; Oxigraph takes all of those. Different
    labels stay different, the same label is always the same node, here and in text, and what comes
    out of a store has the label that went in (:func:`describe` has ``ntriples.read_label``).
    """
    return BlankNode(written_label(label))


class Fresh:
    """Makes new blank nodes, the same one for the same text.

    Their labels are hashes of 124 bits under a random key: as unlikely to equal others as
    Oxigraph's own, which are random numbers of that size, and stored in as few bytes.
    """

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=16, key=os.urandom(32))

    def __call__(self, text: str) -> BlankNode:
        digest = self._hash.copy()
        digest.update(text.encode())
        # A letter first: RDF/XML has no labels that begin with a digit.
        return BlankNode("b" + digest.hexdigest()[1:])


class OxigraphFactory:
    """Makes pyoxigraph's terms for one reading; statements are its ``Triple`` and ``Quad``.

    :param blank_nodes: ``"fresh"`` relabels each node of this reading, ``"keep"``
        keeps the labels as far as Oxigraph takes them, see :func:`kept`.
    :param way_out: what errors add for a quoted triple as subject.
    """

    default_graph: Final = DEFAULT_GRAPH

    def __init__(self, *, blank_nodes: BlankNodes = "fresh", way_out: str = "") -> None:
        if blank_nodes not in get_args(BlankNodes):
            raise ValueError(f"blank_nodes must be 'fresh' or 'keep' (got {blank_nodes!r})")
        self.blank_node = Fresh() if blank_nodes == "fresh" else kept
        self._way_out = way_out

    def iri(self, value: str) -> Any:
        try:
            return NamedNode(value)
        except ValueError as error:
            raise TermError(f"Oxigraph rejects the IRI {_short(value)}: {error}") from None

    def literal(self, lex: str, langtag: str | None, datatype: str | None) -> Any:
        if langtag is not None:
            try:
                return Literal(lex, language=langtag)
            except ValueError as error:
                raise TermError(
                    f"Oxigraph rejects the language tag {_short(langtag)}: {error}"
                ) from None
        if datatype is None:
            return Literal(lex)
        try:
            return Literal(lex, datatype=_datatype(datatype))
        except ValueError as error:
            raise TermError(f"Oxigraph rejects the datatype {_short(datatype)}: {error}") from None

    def quoted_triple(self, subject: Any, predicate: Any, object_: Any) -> Any:
        return self._make(Triple, (subject, predicate, object_), " of a quoted triple")

    def triple(self, terms: tuple[Any, Any, Any]) -> Any:
        return self._make(Triple, terms)

    def quad(self, terms: tuple[Any, Any, Any, Any]) -> Any:
        # pyoxigraph tries one type of graph name after the other, and the default graph's last.
        return self._make(Quad, terms[:3] if terms[3] is DEFAULT_GRAPH else terms)

    def _make(self, make: Callable[..., Any], terms: tuple[Any, ...], where: str = "") -> Any:
        try:
            return make(*terms)
        except TypeError:
            pass
        for position, term in enumerate(terms):
            if not isinstance(term, _HELD[position]):
                raise _not_held(term, position, where, self._way_out)
        raise TermError(f"Oxigraph cannot hold the statement {_short(str(terms))}")

    def check_graph(self, name: Any, where: str = "") -> None:
        if not isinstance(name, _HELD[GRAPH]):
            raise _not_held(name, GRAPH, where)


class DirectedFactory(OxigraphFactory):
    """Makes literals with base directions too, which come in the language tag: ``en--ltr``."""

    def literal(self, lex: str, langtag: str | None, datatype: str | None) -> Any:
        language, mark, direction = (langtag or "").partition("--")
        if not mark:
            return super().literal(lex, langtag, datatype)
        # The language is validated as that of any literal is.
        super().literal(lex, language, None)
        known = _DIRECTIONS.get(direction)
        if known is None:
            raise TermError(f"Oxigraph has no base direction {_short(direction)}")
        return Literal(lex, language=language, direction=known)


def _not_held(term: Any, position: int, where: str = "", way_out: str = "") -> TermError:
    """The error for a term in a position in which Oxigraph has no terms of its kind."""
    kind = _KINDS.get(type(term))
    if kind is None:
        raise TypeError(f"a {type(term).__name__} is not a term of pyoxigraph")
    role = "graph name" if position == GRAPH else POSITIONS[position]
    hint = way_out if kind is _QUOTED and position == SUBJECT else ""
    return TermError(f"Oxigraph cannot hold {kind} as {role}{where}{hint}")


@lru_cache(maxsize=256)
def _datatype(iri: str) -> NamedNode:
    return NamedNode(iri)


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
