"""The one place that knows rdflib's insides: whether the compiled module may make and read its
terms, and write and read the indices of its store in memory; graphs and namespaces of stores.

For each triple, ``Memory.add`` notifies subscribers, converts the graph to a string, looks up
subject and predicate, and computes about ten hashes. The compiled module adds triples to the same
dictionaries and sets, in the same order, with the same result; likewise it makes terms without
rdflib's constructors. :func:`compiled` compares both with rdflib's own on first use. If anything
differs, rdflib's constructors, ``addN`` and ``triples`` are used instead.

It was tested with rdflib 7.1.0, 7.1.4, 7.2.1, 7.3.0, 7.4.0, 7.5.0 and 7.6.0.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import chain, repeat
from types import MemberDescriptorType, ModuleType
from typing import Any, Final

import rdflib
from rdflib import namespace
from rdflib import term as rdflib_term
from rdflib.graph import Graph
from rdflib.plugins.stores.memory import Memory
from rdflib.term import BNode, Literal, URIRef

from ..codec import BlankNode, Iri, native
from ..codec import Literal as GenericLiteral

_LOG: Final = logging.getLogger(__name__)

_TEXTS: Final = ("urn:a", "urn:\u00e9\u20ac", "")
#: Lexical forms by datatype, canonical and others; rdflib logs no warning for any of them.
_FORMS: Final = {
    namespace.XSD.string: "a",
    namespace.XSD.anyURI: "urn:x",
    namespace.XSD.token: "a",
    namespace.XSD.normalizedString: "a\tb",
    namespace.XSD.integer: f"0 -0 01 -17 +1 {'9' * 30}",
    namespace.XSD.int: "5 4294967296",
    namespace.XSD.unsignedByte: "255 -1",
    namespace.XSD.decimal: "0 1.50 -.5 1. 01.0 -0.0 0.00000000010",
    namespace.XSD.double: "1.0 1.5E0 INF 1e300",
    namespace.XSD.float: "17.25 NaN",
    namespace.XSD.boolean: "true false 1",
    namespace.XSD.date: "2020-02-29 2020-01-01Z",
    namespace.XSD.dateTime: "2020-01-01T00:00:00 2020-01-01T00:00:00Z 2020-01-01T00:00:00.5+01:30",
    namespace.XSD.time: "12:00:00",
    namespace.XSD.duration: "P1D P1Y2M",
    namespace.XSD.hexBinary: "0aFF",
    namespace.XSD.base64Binary: "YQ==",
    URIRef("urn:x"): "a",
}


@cache
def compiled() -> ModuleType | None:
    """The compiled module; None if it is missing, switched off, or does not match rdflib."""
    if not native:
        return None
    try:
        from . import _native

        reason = next(_differences(_native), None)
    except ModuleNotFoundError:
        return None
    except Exception as error:
        # It looks up parts of rdflib by name.
        reason = f"it lacks {error}"
    if reason is None:
        return _native
    _LOG.warning(
        "rdflib %s differs from the versions that jelly-plugins supports: %s; rdflib's own methods "
        "are used, which are slower",
        rdflib.__version__,
        reason,
    )
    return None


def overridden(graph: Graph) -> set[str]:
    """Names of the methods for adding statements that a graph overrides."""
    return {
        name
        for name in ("add", "addN")
        if getattr(type(graph), name) is not getattr(Graph, name) or name in vars(graph)
    }


# Writing


def writable(graph: Graph) -> bool:
    """Whether :func:`add_statements` may add to the graph's store, instead of ``graph.addN``."""
    store: Any = graph.store
    kind: Any = type(store)
    return (
        kind is Memory
        and compiled() is not None
        and not overridden(graph)
        and not {"add", "addN", "add_graph"} & vars(store).keys()
        # With a map, the store notifies subscribers of each addition, or fails if there are none.
        and store.dispatcher.get_map() is None
    )


def add_statements(
    store: Any,
    graph_of: Callable[[Any], Graph],
    statements: list[Any],
    module: Any = None,
) -> None:
    """Add statements to a store in memory, see :func:`writable`.

    An error of a graph, or a malformed statement, leaves the store as it was. No code of the caller
    runs after the graphs are known.

    :param graph_of: gives the graph of a quad's fourth term, and of None for triples.
    :param statements: the list is empty afterwards.
    """
    module = module or compiled()
    with _collector_paused():
        writer = module.IndexWriter(store._Memory__spo, store._Memory__pos, store._Memory__osp)
        graphs = {name: graph_of(name) for name in writer.begin(statements)}
        writer.add(statements)
        for name, graph in graphs.items():
            _add_new(store, graph, writer.graphs[name].new)
        for name, graph in graphs.items():
            _add_known(store, graph, writer.graphs[name].known)
        # The collector would visit each of them.
        statements.clear()


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause the garbage collector while millions of objects are created that stay in use."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _add_new(store: Any, graph: Graph, triples: dict[Any, None]) -> None:
    """Do what ``Memory.__add_triple_context`` does for triples that are new."""
    store._Memory__all_contexts.add(graph)
    key = store._Memory__ctx_to_str(graph)
    members = store._Memory__contextTriples
    own = members.setdefault(key, set())
    if not triples:
        return
    usual = {key: False, None: False}
    if store._Memory__defaultContexts is None:
        # The first triple ever added defines the usual contexts of this store.
        store._Memory__defaultContexts = usual
    if usual != store._Memory__defaultContexts:
        contexts = map(dict, repeat(usual))
        store._Memory__tripleContexts.update(zip(triples, contexts, strict=False))
    members[None].update(triples)
    own.update(triples)


def _add_known(store: Any, graph: Graph, triples: list[Any]) -> None:
    """Add triples to a graph that the store had, in this graph or in others."""
    contexts = store._Memory__tripleContexts
    key = store._Memory__ctx_to_str(graph)
    usual = store._Memory__defaultContexts or {}
    settled = usual.get(key, True) is False and usual.get(None, True) is False
    for triple in triples:
        # A triple in the usual contexts may be in this graph already.
        if not settled or triple in contexts:
            store._Memory__add_triple_context(triple, True, graph, False)


# Reading


def batches_by_subject(
    graph: Graph, terms: Any, extra: tuple[Any, ...], size: int
) -> Iterator[list[Any]] | None:
    """The statements of a graph in generic terms, subject by subject, in the order in which
    subjects, and predicates and objects of each, came into its store.

    :param terms: a ``Generic`` of the compiled module.
    :param extra: generic terms that follow those of each triple.
    :return: None if the graph has to be read with ``triples``: if its store is of another class, or
        the graph is a small part of it. A store of many small graphs may have one subject in all.
    """
    store: Any = graph.store
    kind: Any = type(store)
    if (
        kind is not Memory
        or type(graph).triples is not Graph.triples
        or "triples" in vars(graph).keys() | vars(store).keys()
        or 2 * len(graph) < len(store._Memory__contextTriples[None])
    ):
        return None
    return _batches(graph, terms, extra, size)


def _batches(graph: Graph, terms: Any, extra: tuple[Any, ...], size: int) -> Iterator[list[Any]]:
    store: Any = graph.store
    context = store._Memory__ctx_to_str(graph)
    contexts = store._Memory__tripleContexts
    usual = store._Memory__defaultContexts or {}
    if not contexts and context in usual:
        # All triples of the store are in this graph.
        contexts = None
    spo = store._Memory__spo
    found: list[Any] = []
    for subject in list(spo):
        terms.subject(spo, subject, extra, found, contexts, usual, context)
        if len(found) >= size:
            yield found
            found = []
    if found:
        yield found


# What stores do not offer


def graphs_in_memory(store: Any) -> set[Graph] | None:
    """The graphs of a store in memory: to list them for each new one would take quadratic time;
    None if it is a store of another class."""
    known = getattr(store, "_Memory__all_contexts", None)
    return known if isinstance(known, set) else None


def namespace_tables(store: Any) -> tuple[dict[str, Any], dict[Any, str]] | None:
    """A store's namespaces by name and its names by namespace, in rdflib's own stores in memory and
    oxrdflib's: rdflib knows no way to unbind. None if the store has no such tables."""
    names = [("_namespace_for_prefix", "_prefix_for_namespace")]
    names += [
        (f"_{kind.__name__}__namespace", f"_{kind.__name__}__prefix")
        for kind in type(store).__mro__
    ]
    for pair in names:
        by_name, by_iri = (getattr(store, name, None) for name in pair)
        if isinstance(by_name, dict) and isinstance(by_iri, dict):
            return by_name, by_iri
    return None


# Comparing


def _differences(module: Any) -> Iterator[str]:
    """How the compiled module's terms and stores differ from rdflib's; any exception means that
    rdflib lacks a name."""
    code = vars(Literal)["__new__"].__func__.__code__
    if "NORMALIZE_LITERALS" not in code.co_names or vars(rdflib_term).get("rdflib") is not rdflib:
        yield "Literal does not read rdflib.NORMALIZE_LITERALS"
    for character in map(chr, range(128)):
        invalid = character in rdflib_term._invalid_uri_chars
        if rdflib_term._is_valid_uri(character) is invalid:
            yield f"URIRef has another rule for the character {character!r}"
    literal = module.Literals(_literal).literal
    pairs: list[tuple[Any, Any]] = [(module.iri(text), URIRef(text)) for text in _TEXTS]
    pairs += [(module.blank_node(text), BNode(text)) for text in _TEXTS]
    for parts in _literals():
        pairs.append((literal(*parts), _literal(*parts)))
    for made, expected in pairs:
        what = f"the {type(expected).__name__} {str(expected)!r}"
        if parts_of(made) != parts_of(expected):
            yield f"{what} is made in another way"
        # A fallback would hide that a slot is read wrongly.
        if module.Generic(_reject, _reject).term(expected) != _generic(expected):
            yield f"{what} is described in another way"
    yield from _differences_of_stores(module)


def _literals() -> Iterator[tuple[str, str | None, str | None]]:
    yield "", None, str(namespace.XSD.string)
    for datatype, forms in _FORMS.items():
        yield from ((form, None, str(datatype)) for form in forms.split(" "))
    yield from ((text, None, None) for text in ("", "a b", "\u00e9"))
    yield from (("x", langtag, None) for langtag in ("en", "de-CH-1996", "EN"))


def _literal(lex: str, langtag: str | None, datatype: str | None) -> Literal:
    return Literal(lex, lang=langtag, datatype=datatype)


def _reject(term: Any) -> Any:
    raise ValueError(f"{term!r} is not a term of a known class")


def _generic(term: Any) -> Any:
    if not isinstance(term, Literal):
        return (Iri if isinstance(term, URIRef) else BlankNode)(str(term))
    datatype = None if term.datatype in (None, namespace.XSD.string) else str(term.datatype)
    return GenericLiteral(str(term), term.language, datatype)


def parts_of(term: Any) -> tuple[Any, ...]:
    """A term's class, text and hash, and all its attributes with their types."""
    unset = object()
    slots = [
        (name, getattr(term, name, unset))
        for base in type(term).__mro__
        for name, value in vars(base).items()
        if isinstance(value, MemberDescriptorType)
    ]
    # Not a number is not equal to itself.
    described = [(name, type(value), value is unset or repr(value)) for name, value in slots]
    return type(term), str(term), hash(term), described, getattr(term, "__dict__", None)


def _differences_of_stores(module: Any) -> Iterator[str]:
    terms = module.Generic(_reject, _reject)
    names = [URIRef(f"urn:g{n}") for n in range(3)]
    nodes = [URIRef("urn:0"), URIRef("urn:1"), BNode("b")]
    texts = [Literal("x", lang="en-GB"), Literal("1"), Literal("1", datatype=nodes[0])]
    objects = [*nodes[1:], *texts]
    # New and known triples, other graphs, alternating graphs, repeated subjects and predicates.
    quads = [(nodes[n % 3], nodes[n % 2], objects[n % 5], n % 11 % 3) for n in range(40)]
    slow, fast = Memory(), Memory()
    slow_graphs, fast_graphs = ([Graph(store, name) for name in names] for store in (slow, fast))
    for s, p, o, g in quads:
        slow.add((s, p, o), slow_graphs[g])
    # Three calls, so that the store knows some triples of the later ones.
    for part in quads[:9], quads[9:30], quads[30:]:
        add_statements(fast, fast_graphs.__getitem__, part, module)
    for store in slow, fast:
        # Listing triples stores the requested graph with its name.
        list(store.triples((None, None, None), None))
    if state_of(slow) != state_of(fast):
        yield "Memory stores triples in another way"
    for graph in (*slow_graphs, *fast_graphs):
        read = set(chain.from_iterable(_batches(graph, terms, (), 1)))
        if read != set(terms.statements(graph)):
            yield "Memory is read in another way"


def state_of(store: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(store).items() if name != "dispatcher"}
