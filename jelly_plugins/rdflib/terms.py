"""rdflib's terms: constructed for a decoder, described for an encoder.

Terms equal those of rdflib's own constructors and parsers, with its normalised lexical forms
(``rdflib.NORMALIZE_LITERALS``), values and warnings. The compiled module makes the usual ones
without calling the constructors. Statements are tuples.

Terms that rdflib cannot hold are rejected where they occur: many files declare ``rdf_star`` or
``generalized_statements`` without using them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from itertools import islice
from typing import Any, Final, TypeAlias

import rdflib
from rdflib import namespace
from rdflib.graph import (
    DATASET_DEFAULT_GRAPH_ID,
    ConjunctiveGraph,
    Graph,
    ReadOnlyGraphAggregate,
)
from rdflib.term import BNode, Literal, Node, URIRef

from ..backends import BlankNodes
from ..codec import DEFAULT_GRAPH, BlankNode, DefaultGraph, Iri, Kind
from ..codec import Literal as GenericLiteral
from ..codec.common.positions import POSITIONS
from ..codec.common.terms import XSD_STRING, terms_of
from ..errors import JellyError, OptionsError, TermError, shown
from ..io.streams import BATCH
from .memory import compiled

#: A statement made by a factory: a triple, or a quad whose last term is the name of its graph.
Statement: TypeAlias = tuple[Node, Node, Node] | tuple[Node, Node, Node, Node]

#: Maximum exponent of an xsd:decimal. XSD does not allow exponents, but Python reads them, and the
#: normalised form of ``1E999999999`` has a gigabyte.
MAX_DECIMAL_EXPONENT: Final = 1000

_XSD_DECIMAL: Final = "http://www.w3.org/2001/XMLSchema#decimal"


def default_graph(dataset: ConjunctiveGraph) -> Graph:
    """The default graph. rdflib 7.6 deprecates one of its two names; older ones lack the other."""
    name = "default_graph" if hasattr(dataset, "default_graph") else "default_context"
    graph: Graph = getattr(dataset, name)
    return graph


def name_of(context: Any) -> Any:
    """The name of what a store lists as a graph: some stores list graphs, others names."""
    return context.identifier if isinstance(context, Graph) else context


class RdflibFactory:
    """Makes rdflib's terms for one read; see :class:`~jelly_plugins.codec.TermFactory`.

    :param blank_nodes: ``"fresh"`` makes nodes that no other read has; ``"keep"`` keeps the labels.
    :param generalized: whether to accept generalized statements. rdflib can hold them, but most of
        its code, including all serializers, does not support them.
    :param named_graphs: if False, quads become triples, and must be in the default graph.

    >>> factory = RdflibFactory(blank_nodes="keep")
    >>> factory.literal("01", None, "http://www.w3.org/2001/XMLSchema#integer").n3()
    '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'
    >>> factory.blank_node("b0")
    rdflib.term.BNode('b0')
    """

    #: The name of a dataset's default graph for ``Dataset.add`` and ``Dataset.addN``.
    default_graph: Final = DATASET_DEFAULT_GRAPH_ID

    def __init__(
        self,
        *,
        blank_nodes: BlankNodes = "fresh",
        generalized: bool = False,
        named_graphs: bool = True,
    ) -> None:
        if blank_nodes not in ("fresh", "keep"):
            raise ValueError(f"blank_nodes must be 'fresh' or 'keep' (got {blank_nodes!r})")
        module = compiled()
        scope = BNode()
        node: Callable[[str], BNode] = BNode
        if blank_nodes == "fresh":
            node = partial(_fresh_node, scope)
        self.iri: Callable[[str], URIRef] = URIRef
        self.literal: Callable[[str, str | None, str | None], Literal] = make_literal
        check, check_quad = _check_triple, _check_quad
        if module is not None:
            node = (
                module.blank_node if node is BNode else module.Scope(f"{scope}b", node).blank_node
            )
            self.iri = module.iri
            self.literal = module.Literals(make_literal).literal
            check = module.Statements(check).check
            check_quad = module.Statements(check_quad).check
        if generalized:
            check, check_quad = _same, _check_graph_of
        self.blank_node = node
        self.triple: Callable[[tuple[Any, Any, Any]], Any] = check
        self.quad: Callable[[tuple[Any, Any, Any, Any]], Any] = (
            check_quad if named_graphs else partial(_in_default_graph, check)
        )
        self.check_graph: Callable[[Any], None] = partial(check_graph, named_graphs=named_graphs)

    def quoted_triple(self, _subject: Any, _predicate: Any, _object: Any, /) -> Any:
        raise TermError("rdflib cannot hold quoted triples")


def _fresh_node(scope: str, label: str) -> BNode:
    """Make the node of a label in one read."""
    # Derived from the label, because a stream may have more labels than fit into memory. "b" and
    # "x" distinguish an unchanged label from one in hexadecimal, which is valid in all formats.
    if label.isascii() and label.isalnum():
        return BNode(f"{scope}b{label}")
    return BNode(f"{scope}x{label.encode().hex()}")


def read_form(term: Any) -> Any:
    """Return the term that is read back after it was written: a literal of type xsd:string without
    its datatype, any other in the form of rdflib's constructor.
    """
    if type(term) is not Literal or term.datatype is None:
        return term
    if term.datatype == namespace.XSD.string:
        return Literal(str(term))
    module = compiled()
    make = make_literal if module is None else _literals(module.bindings())
    read = make(str(term), None, str(term.datatype))
    # The given term has its hash already.
    return term if str(read) == str(term) else read


@lru_cache(1)
def _literals(_bindings: int) -> Callable[[str, str | None, str | None], Literal]:
    module: Any = compiled()
    make: Callable[[str, str | None, str | None], Literal] = module.Literals(make_literal).literal
    return make


def make_literal(lex: str, langtag: str | None, datatype: str | None, /) -> Literal:
    """Make a literal with rdflib's constructor."""
    try:
        if datatype == _XSD_DECIMAL:
            _check_decimal(lex)
        return Literal(lex, lang=langtag, datatype=datatype)
    except JellyError:
        raise
    except Exception as error:
        # Converters of lexical forms, including the user's (rdflib.term.bind), may raise anything.
        raise TermError(f"rdflib cannot hold a literal: {error}") from error


def _same(terms: Any, /) -> Any:
    return terms


def _check_triple(terms: Any, /) -> Any:
    """Reject generalized statements."""
    if type(terms[1]) is URIRef and type(terms[0]) is not Literal:
        return terms
    position = 0 if isinstance(terms[0], Literal) else 1
    what = "literal" if isinstance(terms[position], Literal) else "blank node"
    raise TermError(
        f"rdflib is for RDF 1.1: a {what} cannot be a {POSITIONS[position]}; "
        "generalized=True accepts it"
    )


def _check_graph_of(terms: Any, /) -> Any:
    if type(terms[3]) is Literal or not terms[3]:
        check_graph(terms[3], named_graphs=True)
    return terms


def _check_quad(terms: Any, /) -> Any:
    return _check_triple(_check_graph_of(terms))


def _in_default_graph(check: Callable[[Any], Any], terms: Any, /) -> Any:
    """Return the triple of a quad in the default graph."""
    if terms[3] != DATASET_DEFAULT_GRAPH_ID:
        check_graph(terms[3], named_graphs=False)
    return check(terms[:3])


def check_graph(name: Node, /, *, named_graphs: bool) -> None:
    """Reject the name of a graph that rdflib, or the target graph, cannot hold."""
    if isinstance(name, Literal):
        raise TermError("rdflib cannot hold a graph that is named by a literal")
    if isinstance(name, BNode) and not name:
        # rdflib gives such a graph a new name each time.
        raise TermError("rdflib cannot hold a graph that is named by a blank node without a label")
    if not named_graphs and name != DATASET_DEFAULT_GRAPH_ID:
        raise TermError(
            "the stream has named graphs, which a Graph cannot show: parse into "
            "rdflib.Dataset(), or use jelly_plugins.rdflib.read_statements. "
            "jelly_plugins.rdflib.load fills a ConjunctiveGraph"
        )


def _check_decimal(lex: str) -> None:
    _, marker, exponent = lex.lower().partition("e")
    if not (marker and rdflib.NORMALIZE_LITERALS):
        return
    digits = exponent.strip().lstrip("+-").replace("_", "")
    if digits.isdecimal() and (len(digits) > 10 or int(digits) > MAX_DECIMAL_EXPONENT):
        raise TermError(
            f"rdflib would write out the xsd:decimal {lex[:40]} in full: its exponent is "
            f"above {MAX_DECIMAL_EXPONENT}"
        )


def describe_node(term: object) -> tuple[Any, ...]:
    """Describe a term of a graph; the default graph's name is ``codec.DEFAULT_GRAPH``."""
    if isinstance(term, URIRef):
        return (Kind.IRI, str(term))
    if isinstance(term, Literal):
        datatype = None if term.datatype is None else str(term.datatype)
        if datatype == XSD_STRING:
            datatype = None
        return (Kind.LITERAL, str(term), term.language, datatype)
    if isinstance(term, BNode):
        return (Kind.BLANK_NODE, str(term))
    if isinstance(term, DefaultGraph):
        return (Kind.DEFAULT_GRAPH,)
    raise TermError(f"{type(term).__name__} {str(term)[:80]!r} is not an RDF term")


def generic_term(description: tuple[Any, ...]) -> Any:
    """Make the generic term of a description."""
    kind, *parts = description
    return _GENERIC[kind](*parts)


_GENERIC: Final[dict[Kind, Callable[..., Any]]] = {
    Kind.IRI: Iri,
    Kind.BLANK_NODE: BlankNode,
    Kind.LITERAL: GenericLiteral,
    Kind.DEFAULT_GRAPH: lambda: DEFAULT_GRAPH,
}


class EncoderTerms:
    """Converts terms of graphs to generic terms, which the codec reads fastest.

    :ivar generic: the compiled converter; None without the compiled module.
    """

    def __init__(self) -> None:
        module = compiled()
        self.generic: Any = None if module is None else module.Generic(describe_node, generic_term)

    def term(self, term: Any) -> Any:
        """Convert a term or ``codec.DEFAULT_GRAPH``."""
        return (
            generic_term(describe_node(term)) if self.generic is None else self.generic.term(term)
        )

    def statements(
        self, triples: Iterable[tuple[Any, ...]], extra: tuple[Any, ...]
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Convert triples to batches of statements; the terms ``extra`` follow those of each."""
        iterator = iter(triples)
        while batch := list(islice(iterator, BATCH)):
            if self.generic is not None:
                yield self.generic.statements(batch, extra)
            else:
                yield [(*map(self.term, terms_of(triple)), *extra) for triple in batch]


def describe(term: object) -> tuple[Any, ...]:
    """Describe a term of a statement of :class:`RdflibFactory` or of rdflib; see
    :data:`~jelly_plugins.codec.Describe`.

    Literals that are equal in rdflib are one term: of language tags that differ in case only, the
    first is written.

    >>> describe(URIRef("urn:s")), describe(DATASET_DEFAULT_GRAPH_ID)
    ((<Kind.IRI: 0>, 'urn:s'), (<Kind.DEFAULT_GRAPH: 4>,))
    """
    if term is None or term == DATASET_DEFAULT_GRAPH_ID:
        return (Kind.DEFAULT_GRAPH,)
    return describe_node(term)


def reject_no_graph(graph: object) -> None:
    """Reject an object that is not a graph, such as the path of a file."""
    if not isinstance(graph, Graph):
        raise TypeError(f"an rdflib.Graph is needed, not {shown(graph)}")


def reject_unwritable(graph: object) -> None:
    """Reject an object that is not a graph, or a graph that cannot be changed."""
    reject_no_graph(graph)
    if isinstance(graph, ReadOnlyGraphAggregate):
        raise OptionsError("a ReadOnlyGraphAggregate cannot be changed: name one of its graphs")
