"""rdflib's terms: made for a decoder, taken apart for an encoder.

Terms are those of rdflib's own constructors, so that they equal what any other parser of rdflib
makes: with its normalised lexical forms (``rdflib.NORMALIZE_LITERALS``), values and warnings. The
compiled module makes the usual ones without calling them.
Statements are tuples. What rdflib cannot hold is rejected where it occurs: files that declare
``rdf_star`` or ``generalized_statements`` without using them are common, and are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import islice
from typing import Any, Final, TypeAlias

import rdflib
from rdflib import namespace
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ConjunctiveGraph, Graph
from rdflib.term import BNode, Literal, Node, URIRef

from ..backends import BlankNodes
from ..codec import DEFAULT_GRAPH, BlankNode, DefaultGraph, Describe, Iri, Kind
from ..codec import Literal as GenericLiteral
from ..codec import describe as describe_generic
from ..codec.common.positions import POSITIONS
from ..codec.common.terms import XSD_STRING, terms_of
from ..errors import JellyError, TermError
from ..io.streams import BATCH
from .memory.compiled import compiled

#: What factories make: a triple, or a quad whose last term is the name of its graph.
Statement: TypeAlias = tuple[Node, Node, Node] | tuple[Node, Node, Node, Node]

#: Digits that rdflib may make of an xsd:decimal with an exponent. XSD has none there, Python takes
#: them, and a normalised ``1E999999999`` is a gigabyte.
MAX_DECIMAL_EXPONENT: Final = 1000

_XSD_DECIMAL: Final = "http://www.w3.org/2001/XMLSchema#decimal"


def kept(label: str) -> BNode:
    """The blank node of a label that is kept.

    >>> kept("b0"), kept("a b"), kept("")
    (rdflib.term.BNode('b0'), rdflib.term.BNode('a b'), rdflib.term.BNode(''))
    """
    if not isinstance(label, str):
        raise TypeError(f"a label must be a str (got {type(label).__name__})")
    return BNode(label)


def default_graph(dataset: ConjunctiveGraph) -> Graph:
    """The default graph. rdflib 7.6 deprecates one of its two names; older ones lack the other."""
    name = "default_graph" if hasattr(dataset, "default_graph") else "default_context"
    graph: Graph = getattr(dataset, name)
    return graph


class RdflibFactory:
    """Makes rdflib's terms for one reading; see :class:`~jelly_plugins.codec.TermFactory`.

    :param blank_nodes: ``"fresh"`` gives each label a node that no other reading has; ``"keep"``
        makes nodes by the labels as they are.
    :param generalized: let generalized statements through. rdflib holds them, but most of it, all
        its serializers included, takes no notice that there is such a thing.
    :param named_graphs: without it, quads become triples, and must be in the default graph.

    >>> factory = RdflibFactory(blank_nodes="keep")
    >>> factory.literal("01", None, "http://www.w3.org/2001/XMLSchema#integer").n3()
    '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'
    >>> factory.blank_node("b0")
    rdflib.term.BNode('b0')
    """

    #: The name of a dataset's default graph, as ``Dataset.add`` and ``Dataset.addN`` take it.
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
        scope = BNode() if blank_nodes == "fresh" else None
        module = compiled()
        self.iri: Callable[[str], URIRef] = make_iri
        self.blank_node: Callable[[str], BNode] = kept
        self.literal: Callable[[str, str | None, str | None], Literal] = make_literal
        self.triple: Callable[[tuple[Any, Any, Any]], Any] = _check_triple
        if scope is not None:
            self.blank_node = partial(_fresh_node, scope)
        if module is not None:
            self.iri = module.iri
            self.literal = module.Literals(make_literal).literal
            self.triple = module.Statements(_check_triple).check
            if scope is None:
                self.blank_node = module.blank_node
            else:
                fresh = partial(_fresh_node, scope)
                self.blank_node = module.Scope(f"{scope}b", fresh).blank_node
        if generalized:
            self.triple = _same
        self.quad: Callable[[tuple[Any, Any, Any, Any]], Any]
        if not named_graphs:
            self.quad = partial(_in_default_graph, self.triple)
        elif generalized:
            self.quad = _check_graph_of
        elif module is not None:
            self.quad = module.Statements(_check_quad).check
        else:
            self.quad = _check_quad
        self.check_graph: Callable[[Any], None] = partial(check_graph, named_graphs=named_graphs)

    def quoted_triple(self, _subject: Any, _predicate: Any, _object: Any, /) -> Any:
        raise TermError("rdflib cannot hold quoted triples")


def _fresh_node(scope: str, label: str) -> BNode:
    """The node of a label in a reading."""
    _check_string(label)
    # Derived, not remembered: a stream may have more labels than memory holds. "b" and "x"
    # distinguish a label as it is from one in hexadecimal, whose characters are valid in all
    # formats.
    if label.isascii() and label.isalnum():
        return BNode(f"{scope}b{label}")
    return BNode(f"{scope}x{label.encode().hex()}")


def other_form(term: Any) -> Literal | None:
    """The other of the two forms that rdflib has for a literal of type xsd:string, with that
    datatype and without one, which RDF 1.1 has for one literal; None for any other term."""
    if not isinstance(term, Literal) or term.language is not None:
        return None
    if term.datatype is None:
        return Literal(str(term), datatype=namespace.XSD.string)
    return Literal(str(term)) if term.datatype == namespace.XSD.string else None


def read_form(term: Any) -> Any:
    """The term as it is read back: a literal without a datatype if that is xsd:string, and else in
    the form that rdflib's constructor gives it."""
    if type(term) is not Literal or term.datatype is None:
        return term
    if term.datatype == namespace.XSD.string:
        return Literal(str(term))
    read = _read_literal()(str(term), None, str(term.datatype))
    # The one that is there has its hash by now.
    return term if str(read) == str(term) else read


@cache
def _read_literal() -> Callable[[str, str | None, str | None], Literal]:
    module = compiled()
    return make_literal if module is None else module.Literals(make_literal).literal


def make_iri(value: str, /) -> URIRef:
    """An IRI out of rdflib's constructor.

    :raises TypeError: it is not a string.
    """
    _check_string(value)
    return URIRef(value)


def make_literal(lex: str, langtag: str | None, datatype: str | None, /) -> Literal:
    """A literal out of rdflib's constructor.

    :raises TermError: rdflib rejects it.
    :raises TypeError: a part of it is not a string.
    """
    _check_string(lex)
    for part in (langtag, datatype):
        if part is not None:
            _check_string(part)
    try:
        if datatype == _XSD_DECIMAL:
            _check_decimal(lex)
        return Literal(lex, lang=langtag, datatype=datatype)
    except JellyError:
        raise
    except Exception as error:
        # Converters of lexical forms are rdflib's and the user's (rdflib.term.bind), and raise
        # what they like.
        raise TermError(f"rdflib cannot hold a literal: {error}") from error


def _check_string(value: Any) -> None:
    """Reject a part of a term that is not a string, as the compiled constructors do.

    :raises TypeError: it is not.
    """
    if not isinstance(value, str):
        raise TypeError(f"a part of a term is a str, not {type(value).__name__}")


def _same(terms: Any, /) -> Any:
    return terms


def _check_triple(terms: Any, /) -> Any:
    """The terms as they are.

    :raises TermError: the statement is a generalized one.
    """
    if type(terms[1]) is not URIRef or type(terms[0]) is Literal:
        raise _generalized(terms)
    return terms


def _check_graph_of(terms: Any, /) -> Any:
    if type(terms[3]) is Literal or not terms[3]:
        check_graph(terms[3], named_graphs=True)
    return terms


def _check_quad(terms: Any, /) -> Any:
    _check_graph_of(terms)
    return _check_triple(terms)


def _in_default_graph(check: Callable[[Any], Any], terms: Any, /) -> Any:
    """A quad's triple."""
    if terms[3] != DATASET_DEFAULT_GRAPH_ID:
        check_graph(terms[3], named_graphs=False)
    return check(terms[:3])


def check_graph(name: Node, /, *, named_graphs: bool) -> None:
    """Check a graph name.

    :param named_graphs: whether any but the default graph can be held.
    :raises TermError: rdflib, or the one graph that is read into, cannot hold such a graph.
    """
    if isinstance(name, Literal):
        raise TermError("rdflib cannot hold a graph that is named by a literal")
    if isinstance(name, BNode) and not name:
        # rdflib gives such a graph another name each time.
        raise TermError("rdflib cannot hold a graph that is named by a blank node without a label")
    if not named_graphs and name != DATASET_DEFAULT_GRAPH_ID:
        raise TermError(
            "the stream has named graphs, which a Graph cannot show: parse into "
            "rdflib.Dataset(), or use jelly_plugins.rdflib.read_statements"
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


def _generalized(terms: tuple[Any, ...]) -> TermError:
    position, term = (0, terms[0]) if isinstance(terms[0], Literal) else (1, terms[1])
    what = "literal" if isinstance(term, Literal) else "blank node"
    return TermError(
        f"rdflib is for RDF 1.1: a {what} cannot be a {POSITIONS[position]}; "
        "generalized=True lets it through"
    )


def describe_node(term: object) -> tuple[Any, ...]:
    """Take a term of a graph apart; the default graph's name is ``codec.DEFAULT_GRAPH``.

    :raises TermError: it is not an RDF term: a variable or a formula of Notation3, for example.
    """
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
    """The generic term of a description; see :data:`~jelly_plugins.codec.Describe`."""
    kind, *parts = description
    return _GENERIC[kind](*parts)


_GENERIC: Final[dict[Kind, Callable[..., Any]]] = {
    Kind.IRI: Iri,
    Kind.BLANK_NODE: BlankNode,
    Kind.LITERAL: GenericLiteral,
    Kind.DEFAULT_GRAPH: lambda: DEFAULT_GRAPH,
}


class EncoderTerms:
    """Terms of graphs on their way to an encoder: the compiled module makes generic ones of them,
    which the codec knows; without it they stay what they are.

    :ivar describe: takes apart this factory's terms for the encoder.
    :ivar generic: the compiled half, None without it.
    """

    def __init__(self) -> None:
        module = compiled()
        self.generic: Any = None if module is None else module.Generic(describe_node, generic_term)
        self.describe: Describe = describe_node if module is None else describe_generic

    def term(self, term: Any) -> Any:
        """A term, or ``codec.DEFAULT_GRAPH``.

        :raises TermError: it is not an RDF term.
        """
        return term if self.generic is None else self.generic.term(term)

    def statements(
        self, triples: Iterable[tuple[Any, ...]], extra: tuple[Any, ...]
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Batches of statements.

        :param extra: terms returned by :meth:`term`, appended to the terms of each triple.
        :raises TermError: a term is not an RDF term.
        """
        iterator = iter(triples)
        while batch := list(islice(iterator, BATCH)):
            if self.generic is not None:
                yield self.generic.statements(batch, extra)
            elif extra:
                yield [(*terms_of(triple), *extra) for triple in batch]
            else:
                yield batch


def describe(term: object) -> tuple[Any, ...]:
    """Take apart a term of a statement of :class:`RdflibFactory` or of rdflib; see
    :data:`~jelly_plugins.codec.Describe`.

    Literals that rdflib holds equal are one term: language tags in another case are written as
    they were met first.

    :raises TermError: it is not an RDF term.

    >>> describe(URIRef("urn:s")), describe(DATASET_DEFAULT_GRAPH_ID)
    ((<Kind.IRI: 0>, 'urn:s'), (<Kind.DEFAULT_GRAPH: 4>,))
    """
    if term is None or term == DATASET_DEFAULT_GRAPH_ID:
        return (Kind.DEFAULT_GRAPH,)
    return describe_node(term)


def reject_no_graph(graph: object) -> None:
    """Reject an object that is not a graph, such as the path of a file.

    :raises TypeError: it is none.

    >>> reject_no_graph("data.ttl")
    Traceback (most recent call last):
    TypeError: an rdflib.Graph is needed, not 'data.ttl'
    """
    if not isinstance(graph, Graph):
        raise TypeError(f"an rdflib.Graph is needed, not {graph!r}")
