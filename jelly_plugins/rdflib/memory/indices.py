"""Direct reads and writes of the indices of rdflib's stores in memory.

For each triple, ``Memory.add`` notifies subscribers, converts the graph to a string, looks up
subject and predicate, and computes about ten hashes. This module adds triples to the same
dictionaries and sets, in the same order, with the same result (``_trusted`` checks this).

It depends on the internals of two classes of rdflib. If anything differs from what it expects
(another class, a replaced method, a subscriber to each triple), ``graph.addN`` is used instead.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import chain, islice, repeat
from typing import Any, Final

from rdflib.graph import Graph
from rdflib.plugins.stores.memory import Memory, SimpleMemory
from rdflib.store import Store
from rdflib.term import BNode, Literal, URIRef

from .compiled import compiled, reject, replaced, warn_of_slow_path

_Triple = tuple[Any, Any, Any]
_Index = dict[Any, dict[Any, dict[Any, int]]]

#: The methods of reading and writing that this module bypasses.
_METHODS: Final = tuple(
    (owner, name)
    for owner, names in (
        (Graph, ("add", "addN", "triples")),
        (Store, ("add", "addN")),
        (Memory, ("add", "add_graph", "triples")),
        (Memory, ("_Memory__add_triple_context", "_Memory__ctx_to_str")),
        (SimpleMemory, ("add", "triples")),
        (Literal, ("__hash__", "__eq__")),
    )
    for name in names
    if name in vars(owner)
)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the garbage collector while millions of objects are created that stay in use."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _attributes(store: Any, *names: str) -> list[Any]:
    """The private attributes of a store."""
    own = vars(store)
    prefix = f"_{type(store).__name__}__"
    return [own[prefix + name] for name in names]


class BulkWriter:
    """Adds statements to a store in memory. The compiled module writes the indices.

    :param store: a store for which :func:`writable` returned True.
    :param graph: gives the graph of a quad's fourth term, and of None for triples.
    """

    def __init__(self, store: Any, graph: Callable[[Any], Graph]) -> None:
        self._store = store
        self._graph = graph

    def add(self, batches: Iterable[list[Any]]) -> None:
        """Add statements: tuples of three terms, or of four with a graph.

        An error of ``batches`` or of a graph, or a malformed statement, leaves the store as it was.
        No code of the caller runs after these are read.
        """
        module = compiled()
        assert module is not None  # writable() checks this
        with collector_paused():
            statements = list(chain.from_iterable(batches))
            writer = module.IndexWriter(*_attributes(self._store, "spo", "pos", "osp"))
            graphs = {name: self._graph(name) for name in writer.begin(statements)}
            writer.add(statements)
            if type(self._store) is Memory:
                for name, graph in graphs.items():
                    self._set_contexts(graph, writer.graphs[name])
                for name, graph in graphs.items():
                    self._add_contexts(graph, writer.graphs[name].known)

    def _set_contexts(self, graph: Graph, added: Any) -> None:
        """Do what ``Memory.__add_triple_context`` does for triples that are new."""
        store = self._store
        contexts, members, everything = _attributes(
            store, "tripleContexts", "contextTriples", "all_contexts"
        )
        everything.add(graph)
        key = store._Memory__ctx_to_str(graph)
        own = members.setdefault(key, set())
        if not added.new:
            return
        usual = {key: False, None: False}
        if store._Memory__defaultContexts is None:
            # The first triple ever added defines the usual contexts of this store.
            store._Memory__defaultContexts = usual
        if usual != store._Memory__defaultContexts:
            contexts.update(zip(added.new, map(dict, repeat(usual)), strict=False))
        members[None].update(added.new)
        own.update(added.new)

    def _add_contexts(self, graph: Graph, known: list[_Triple]) -> None:
        """Add triples to a graph that the store had, in this graph or in others."""
        store = self._store
        (contexts,) = _attributes(store, "tripleContexts")
        key = store._Memory__ctx_to_str(graph)
        default = store._Memory__defaultContexts or {}
        settled = default.get(key, True) is False and default.get(None, True) is False
        for triple in known:
            # A triple in the usual contexts may be in this graph already.
            if not settled or triple in contexts:
                store._Memory__add_triple_context(triple, True, graph, False)


def overridden(graph: Graph) -> set[str]:
    """Names of the methods for adding statements that a graph overrides."""
    return {
        name
        for name in ("add", "addN")
        if getattr(type(graph), name) is not getattr(Graph, name) or name in vars(graph)
    }


def writable(graph: Graph) -> bool:
    """Whether triples may bypass ``graph.addN`` and ``graph.store.add``."""
    store: Any = graph.store
    return (
        type(store) in (Memory, SimpleMemory)
        and compiled() is not None
        and not overridden(graph)
        and not {"add", "addN", "add_graph"} & vars(store).keys()
        # With a map, the store notifies subscribers of each addition, or fails if there are none.
        and store.dispatcher.get_map() is None
        and replaced(_METHODS) is None
        and _trusted(store.__class__)
    )


def _state(store: Any) -> dict[str, Any]:
    """The contents of a store."""
    return {name: value for name, value in vars(store).items() if name != "dispatcher"}


@cache
def _trusted(kind: Any) -> bool:
    """Whether this module fills and reads a store with the same result as its own methods."""
    try:
        reason = next(_differences(kind), None)
    except Exception as error:
        # The class differs from the one that this module knows.
        reason = f"{kind.__name__} cannot be written by its indices ({error!r})"
    if reason is not None:
        warn_of_slow_path(f"graphs in {kind.__name__} are written and read", reason)
    return reason is None


def _differences(kind: Any) -> Iterator[str]:
    """How a class of stores differs from what this module expects.

    :raises Exception: the class lacks an attribute.
    """
    names = [URIRef(f"urn:g{n}") for n in range(3)]
    one, two, three = (URIRef(f"urn:{n}") for n in range(3))
    text = Literal("x", lang="en-GB")
    # New and known triples, other graphs, alternating graphs, repeated subjects and predicates.
    quads = [
        (one, two, three, 0),
        (one, two, text, 0),
        (one, two, text, 0),
        (one, three, Literal("1", datatype=two), 1),
        (one, two, three, 1),
        (two, two, text, 0),
        (three, one, one, 2),
        (three, one, one, 0),
        (three, one, one, 1),
        (three, one, one, 2),
        (three, two, Literal("1"), 2),
        (BNode("b"), two, three, 2),
    ]
    for count in (6, len(quads)):
        slow, fast = kind(), kind()
        slow_graphs, fast_graphs = (
            [Graph(store, name) for name in names] for store in (slow, fast)
        )
        for s, p, o, g in quads[:count]:
            slow.add((s, p, o), slow_graphs[g])
            if compiled() is None:
                fast.add((s, p, o), fast_graphs[g])
        if compiled() is not None:
            writer = BulkWriter(fast, fast_graphs.__getitem__)
            # Two calls, so that the store knows some triples of the second one.
            writer.add([quads[:1], quads[1:3]])
            writer.add([quads[3:count]])
        for store in slow, fast:
            # Listing triples stores the requested graph with its name.
            list(store.triples((None, None, None), None))
        if _state(slow) != _state(fast) or any(
            list(slow.triples((s, None, None))) == [] for s in (one, two)
        ):
            yield f"{kind.__name__} stores triples in another way"
        if any(set(graph) != _read(graph) for graph in (*slow_graphs, *fast_graphs)):
            yield f"{kind.__name__} is read in another way"
        for s, p, o, g in quads[:count]:
            slow.remove((s, p, o), slow_graphs[g])
            fast.remove((s, p, o), fast_graphs[g])
            if _state(slow) != _state(fast):
                yield f"{kind.__name__} removes triples in another way"
        if any(_read(graph) for graph in slow_graphs):
            yield f"{kind.__name__} is read in another way once triples were removed"


def _read(graph: Graph) -> set[_Triple]:
    """The triples of a graph, read by :class:`SubjectRuns`.

    :raises ValueError: the compiled module reads other terms.
    """
    found = {triple for run in SubjectRuns(graph) for triple in run}
    if (module := compiled()) is not None:
        terms = module.Generic(reject, reject)
        runs = SubjectRuns(graph).generic(terms, (), 1)
        if {triple for run in runs for triple in run} != set(terms.statements(found)):
            raise ValueError("indices are read in two ways")
    return found


def triples_by_subject(graph: Graph) -> SubjectRuns | None:
    """The triples of a graph over a store in memory; None if its indices cannot be read."""
    store: Any = graph.store
    if (
        type(store) not in (Memory, SimpleMemory)
        or type(graph).triples is not Graph.triples
        or {"triples"} & (vars(graph).keys() | vars(store).keys())
        or replaced(_METHODS) is not None
        or not _trusted(store.__class__)
    ):
        return None
    return SubjectRuns(graph)


class SubjectRuns:
    """Reads the triples of a graph out of its store's indices, subject by subject, in the order in
    which subjects, and predicates and objects of each, came into the store.

    A graph that is a small part of its store is read in the order of its triples' text, without the
    indices: a store of many small graphs may have one subject in all of them.
    """

    def __init__(self, graph: Graph) -> None:
        store: Any = graph.store
        self._spo: _Index
        (self._spo,) = _attributes(store, "spo")
        #: Contexts by triple, those of any other triple, and the requested one. The first is None
        #: if all triples of the store are in it.
        self._contexts: dict[_Triple, Any] | None = None
        self._usual: Any = {}
        self._context: str | None = None
        #: The triples of a small graph; None for any other.
        self._few: set[_Triple] | None = None
        if type(graph.store) is Memory:
            self._context = store._Memory__ctx_to_str(graph)
            contexts, members, usual = _attributes(
                store, "tripleContexts", "contextTriples", "defaultContexts"
            )
            if contexts or self._context not in (usual or {}):
                self._contexts = contexts
                self._usual = usual or {}
                own = members.get(self._context, set())
                if len(own) * 2 < len(members[None]):
                    self._few = own

    def __iter__(self) -> Iterator[list[_Triple]]:
        """Runs of triples, one for each subject."""
        if self._few is not None:
            yield from self._runs_of_few(self._few)
            return
        contexts, usual, context = self._contexts, self._usual, self._context
        for s in list(self._spo):
            run = [
                (s, p, o)
                for p, objects in list(self._spo.get(s, {}).items())
                for o in list(objects)
            ]
            if contexts is not None:
                run = [triple for triple in run if context in contexts.get(triple, usual)]
            if run:
                yield run

    def _runs_of_few(self, few: set[_Triple]) -> Iterable[list[_Triple]]:
        runs: dict[Any, list[_Triple]] = {}
        for triple in sorted(few, key=_texts):
            runs.setdefault(triple[0], []).append(triple)
        return runs.values()

    def generic(self, terms: Any, extra: tuple[Any, ...], size: int) -> Iterator[list[Any]]:
        """Batches of statements in generic terms.

        :param terms: a ``Generic`` of the compiled module.
        :param extra: generic terms that follow those of each triple.
        :param size: statements after which a batch ends.
        """
        if self._few is not None:
            triples = chain.from_iterable(self)
            while batch := list(islice(triples, size)):
                yield terms.statements(batch, extra)
            return
        found: list[Any] = []
        for s in list(self._spo):
            terms.subject(self._spo, s, extra, found, self._contexts, self._usual, self._context)
            if len(found) >= size:
                yield found
                found = []
        if found:
            yield found


def _texts(triple: _Triple) -> tuple[str, ...]:
    return tuple(map(str, triple))
