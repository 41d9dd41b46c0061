"""The one place that knows rdflib's insides: whether the compiled module may make and read its
terms, and write and read the indices of its store in memory.

For each triple, ``Memory.add`` notifies subscribers, converts the graph to a string, looks up
subject and predicate, and computes about ten hashes. The compiled module adds triples to the same
dictionaries and sets, in the same order, with the same result; likewise it makes terms without
rdflib's constructors. Tests compare both with rdflib's own. With a version of rdflib that is not
known here, rdflib's constructors, ``addN`` and ``triples`` are used instead.

It was tested with rdflib 7.1.0, 7.1.4, 7.2.1, 7.3.0, 7.4.0, 7.5.0 and 7.6.0.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import chain, repeat
from types import ModuleType
from typing import Any, Final

import rdflib
from rdflib.graph import Graph
from rdflib.plugins.stores.memory import Memory

from ..codec import native

_LOG: Final = logging.getLogger(__name__)

#: Versions of rdflib whose terms and stores the compiled module makes and reads.
_KNOWN: Final = frozenset(
    (
        "7.1.0",
        "7.1.1",
        "7.1.2",
        "7.1.3",
        "7.1.4",
        "7.2.0",
        "7.2.1",
        "7.3.0",
        "7.4.0",
        "7.5.0",
        "7.6.0",
    )
)


@cache
def compiled() -> ModuleType | None:
    """The compiled module; None if it is missing, switched off, or does not know this rdflib."""
    if not native:
        return None
    if rdflib.__version__ not in _KNOWN:
        _LOG.warning(
            "jelly-plugins does not know rdflib %s: "
            "rdflib's own methods are used, which are slower",
            rdflib.__version__,
        )
        return None
    try:
        from . import _native
    except ImportError:
        # It is built on its own, and may be missing.
        return None
    return _native


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
    store: Any, graph_of: Callable[[Any], Graph], batches: Iterable[list[Any]]
) -> None:
    """Add statements to a store in memory, see :func:`writable`.

    An error of ``batches`` or of a graph, or a malformed statement, leaves the store as it was. No
    code of the caller runs after these are read.

    :param graph_of: gives the graph of a quad's fourth term, and of None for triples.
    :param batches: tuples of three terms, or of four with a graph.
    """
    module: Any = compiled()
    with _collector_paused():
        statements = list(chain.from_iterable(batches))
        writer = module.IndexWriter(store._Memory__spo, store._Memory__pos, store._Memory__osp)
        graphs = {name: graph_of(name) for name in writer.begin(statements)}
        writer.add(statements)
        for name, graph in graphs.items():
            _add_new(store, graph, writer.graphs[name].new)
        for name, graph in graphs.items():
            _add_known(store, graph, writer.graphs[name].known)


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
    :param size: statements after which a batch ends.
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
