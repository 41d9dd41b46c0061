"""pyoxigraph's terms: made for a decoder, taken apart for an encoder.

pyoxigraph checks what it is given: IRIs and language tags in the constructors of terms, positions
in those of ``Triple`` and ``Quad``. What it rejects becomes a ``TermError`` that names the term or
its position; the decoder adds frame and row.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, TypeAlias, get_args

from pyoxigraph import BaseDirection, BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple

from ..backends import BlankNodes
from ..codec import DEFAULT_LIMITS, Kind, Limits
from ..codec.common.limits import over
from ..codec.common.positions import GRAPH, POSITIONS, SUBJECT
from ..codec.common.terms import XSD_STRING
from ..codec.text.ntriples import read_label, written_label
from ..codec.text.transcoding import LONG_TERM
from ..errors import TermError
from ..reserved import BOOKKEEPING_IRI

#: What pyoxigraph takes for the name of a graph.
GraphName: TypeAlias = NamedNode | BlankNode | DefaultGraph

DEFAULT_GRAPH: Final = DefaultGraph()

#: Why a statement cannot be in a named graph, where all go into one.
LEAVE_OUT: Final = "all statements go into one graph; leave graph out to keep their own graphs"

#: Characters of a rejected term that an error shows.
_SHOWN: Final = 80

#: The remedy for quoted triples, where there is one.
_REIFY: Final = " (quoted_triples='reify' puts a reifier there)"

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
    """Reject the path of a store where a store object is required.

    :raises TypeError: it is a path.

    >>> check_store("data.store")
    Traceback (most recent call last):
    TypeError: a pyoxigraph.Store is needed, not 'data.store'; Store(path) opens one on disk
    """
    if isinstance(store, str | bytes | os.PathLike):
        raise TypeError(
            f"a pyoxigraph.Store is needed, not {store!r}; Store(path) opens one on disk"
        )


def check_graph(graph: object) -> None:
    """Reject an invalid graph name, such as a string.

    :raises TypeError: it is none.

    >>> check_graph("urn:g")
    Traceback (most recent call last):
    TypeError: graph must be a NamedNode, BlankNode or DefaultGraph (got 'urn:g')
    """
    if not isinstance(graph, GraphName):
        raise TypeError(f"graph must be a NamedNode, BlankNode or DefaultGraph (got {graph!r})")


def describe(term: object) -> tuple[Any, ...]:
    """Take a term of pyoxigraph apart, see ``codec.Describe``.

    :raises TermError: it is not a term, or a literal with a base direction (Jelly has none).

    >>> describe(Literal("1", datatype=NamedNode("urn:d")))
    (<Kind.LITERAL: 2>, '1', None, 'urn:d')
    """
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

    >>> from pyoxigraph import BaseDirection
    >>> describe_directed(Literal("x", language="en", direction=BaseDirection.LTR))
    (<Kind.LITERAL: 2>, 'x', 'en--ltr', None)
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

    >>> kept("b0").value, kept("a b").value, kept("").value
    ('b0', 'label-612062', 'label-')
    """
    return BlankNode(written_label(label))


class Fresh:
    """Makes new blank nodes, the same one for the same text.

    Their labels are hashes of 124 bits under a random key: as unlikely to equal others as
    Oxigraph's own, which are random numbers of that size, and stored in as few bytes.

    :param key: up to 64 bytes; by default a random one. Equal keys give equal nodes.

    >>> fresh = Fresh()
    >>> fresh("b0") == fresh("b0"), fresh("b0") == fresh("b1"), fresh("b0") == Fresh()("b0")
    (True, False, False)
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._hash = blake2b(digest_size=16, key=os.urandom(32) if key is None else key)

    def __call__(self, text: str) -> BlankNode:
        digest = self._hash.copy()
        digest.update(text.encode())
        # A letter first: RDF/XML has no labels that begin with a digit.
        return BlankNode("b" + digest.hexdigest()[1:])


def may_have_blank_nodes(quad: Quad) -> bool:
    """Whether a term of a quad is a blank node or a quoted triple, which may hold one."""
    return any(isinstance(term, BlankNode | Triple) for term in quad)


class OxigraphFactory:
    """Makes pyoxigraph's terms for one reading; statements are its ``Triple`` and ``Quad``.

    :param blank_nodes: ``"fresh"`` relabels each node of this reading, ``"keep"``
        keeps the labels as far as Oxigraph takes them, see :func:`kept`.
    """

    default_graph: Final = DEFAULT_GRAPH

    def __init__(self, *, blank_nodes: BlankNodes = "fresh") -> None:
        if blank_nodes not in get_args(BlankNodes):
            raise ValueError(f"blank_nodes must be 'fresh' or 'keep' (got {blank_nodes!r})")
        self.blank_node = Fresh() if blank_nodes == "fresh" else kept

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
        return make_triple((subject, predicate, object_), quoted=True)

    def triple(self, terms: tuple[Any, Any, Any]) -> Any:
        return make_triple(terms)

    def quad(self, terms: tuple[Any, Any, Any, Any]) -> Any:
        return make_quad(terms)

    def check_graph(self, name: Any) -> None:
        if not isinstance(name, _HELD[GRAPH]):
            raise _not_held(name, GRAPH)


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


class QuadFactory(OxigraphFactory):
    """Makes quads of triples too, all in one graph.

    A quad has copies of its terms, and a few bytes of a frame can repeat a term of megabytes: what
    long terms take is counted.

    :param graph: the graph that all statements go into, which may be in no other; None for their
        own graphs.
    :param limits: ``frame_expansion`` bounds the characters of long terms in the quads of a frame.
    """

    def __init__(
        self, *, graph: GraphName | None, blank_nodes: BlankNodes, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        super().__init__(blank_nodes=blank_nodes)
        self._graph = graph
        self._place: tuple[Any, ...] = () if graph in (None, DEFAULT_GRAPH) else (graph,)
        self._limits = limits
        self.copied = 0
        #: Quads that were made besides the statements of a frame, such as those of reifiers.
        self.added: list[Quad] = []
        #: Whether an IRI was made that no graph may have.
        self.may_have_reserved = False
        #: Long terms that the next statement may have, by their identity, with their length: those
        #: made since the one before, and its own. No cache of a decoder keeps others.
        self._long: dict[int, tuple[Any, int]] = {}

    def begin_frame(self) -> None:
        """Start to count anew."""
        self.copied = 0

    def iri(self, value: str) -> Any:
        term = super().iri(value)
        if value == BOOKKEEPING_IRI:
            self.may_have_reserved = True
        return self._noted(term, len(value)) if len(value) > LONG_TERM else term

    def literal(self, lex: str, langtag: str | None, datatype: str | None) -> Any:
        term = super().literal(lex, langtag, datatype)
        return self._noted(term, len(lex)) if len(lex) > LONG_TERM else term

    def quoted_triple(self, subject: Any, predicate: Any, object_: Any) -> Any:
        terms = (subject, predicate, object_)
        made = make_triple(terms, quoted=True, way_out=_REIFY)
        size = sum(self._long[id(term)][1] for term in terms if id(term) in self._long)
        return self._noted(made, size) if size else made

    def triple(self, terms: tuple[Any, Any, Any]) -> Any:
        if self._long:
            self.count_copies(terms)
        return make_quad(terms + self._place, way_out=_REIFY)

    def quad(self, terms: tuple[Any, Any, Any, Any]) -> Any:
        if self._graph is not None:
            self.check_default(terms[3])
            return self.triple(terms[:3])
        if self._long:
            self.count_copies(terms)
        return make_quad(terms, way_out=_REIFY)

    def check_default(self, name: Any) -> None:
        """Reject a named graph, where statements go into one graph.

        :raises TermError: it is not the default graph.
        """
        if name is not DEFAULT_GRAPH:
            raise TermError(f"a quad in a named graph: {LEAVE_OUT}")

    def _noted(self, term: Any, size: int) -> Any:
        self._long[id(term)] = (term, size)
        return term

    def count_copies(self, terms: tuple[Any, ...]) -> None:
        """Count the long terms of a statement.

        :raises LimitError: they are too much in this frame.
        """
        self._long = {id(term): self._long[id(term)] for term in terms if id(term) in self._long}
        self.copied += sum(size for _, size in self._long.values())
        if self.copied > self._limits.frame_expansion:
            what = "what long terms of a frame take in its quads"
            raise over(self._limits, "frame_expansion", self.copied, what)


def make_triple(terms: tuple[Any, Any, Any], *, quoted: bool = False, way_out: str = "") -> Triple:
    """A triple of these terms.

    :param quoted: whether errors call it a quoted one.
    :param way_out: what an error adds for a quoted triple as subject.
    :raises TermError: Oxigraph does not allow a term of this kind in its position.
    """
    try:
        return Triple(*terms)
    except TypeError:
        raise _rejection(terms, " of a quoted triple" if quoted else "", way_out) from None


def make_quad(terms: tuple[Any, ...], *, way_out: str = "") -> Quad:
    """A quad of these terms; three are one in the default graph.

    :param way_out: what an error adds for a quoted triple as subject.
    :raises TermError: Oxigraph does not allow a term of this kind in its position.
    """
    # pyoxigraph tries one type of graph name after the other, and the default graph's last.
    if terms[-1] is DEFAULT_GRAPH:
        terms = terms[:3]
    try:
        return Quad(*terms)
    except TypeError:
        raise _rejection(terms, "", way_out) from None


def _rejection(terms: Sequence[Any], where: str, way_out: str) -> TermError:
    """The error for terms that pyoxigraph did not take as a statement."""
    for position, term in enumerate(terms):
        if not isinstance(term, _HELD[position]):
            return _not_held(term, position, where, way_out)
    return TermError(f"Oxigraph cannot hold the statement {_short(str(terms))}")


def _not_held(term: Any, position: int, where: str = "", way_out: str = "") -> TermError:
    """The error for a term in a position in which Oxigraph has no terms of its kind."""
    # Any class but pyoxigraph's is that of a quoted triple that waits to be reified.
    kind = _KINDS.get(type(term), _QUOTED)
    role = "graph name" if position == GRAPH else POSITIONS[position]
    hint = way_out if kind is _QUOTED and position == SUBJECT else ""
    return TermError(f"Oxigraph cannot hold {kind} as {role}{where}{hint}")


@lru_cache(maxsize=256)
def _datatype(iri: str) -> NamedNode:
    return NamedNode(iri)


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
