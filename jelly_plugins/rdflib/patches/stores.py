"""What rdflib's stores do not offer, or not fast enough: lookups, namespaces beside others, and
whether a store is being recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary, ref

from rdflib import namespace
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, Graph
from rdflib.plugins.stores.memory import Memory
from rdflib.store import Store
from rdflib.term import Literal, Node, URIRef

from ...errors import ChainError
from ...patch.replay.target import lock_of
from ..terms import other_form

if TYPE_CHECKING:
    from ...patch.recording import LogWriter

#: The logs that stores are recorded in. Their recorders may be closed, or gone.
_RECORDED: Final[WeakKeyDictionary[Store, ref[LogWriter]]] = WeakKeyDictionary()

#: A triple, as rdflib has it.
Triple = tuple[Node, Node, Node]


def is_in(store: Store, triple: Triple, graph: Any) -> bool:
    """Whether a triple is in a graph of a store."""
    return next(iter(store.triples(triple, graph)), None) is not None


def twin(store: Store, triple: Triple, graph: Any) -> Triple | None:
    """The triple with the other form of a triple's literal, see ``terms.other_form``, if that is in
    a graph."""
    subject, predicate, object_ = triple
    if type(object_) is not Literal or object_.language is not None:
        return None
    if object_.datatype is not None and object_.datatype != namespace.XSD.string:
        return None
    other = other_form(object_)
    assert other is not None
    found = (subject, predicate, other)
    return found if is_in(store, found, graph) else None


def graph_exists(graph: Any) -> bool:
    """Whether a store has a graph, be it empty. A default graph always exists."""
    if not isinstance(graph, Graph) or graph.identifier == DATASET_DEFAULT_GRAPH_ID:
        return True
    store = graph.store
    # Most graphs have something in them, and graphs are many. rdflib's store in memory copies a
    # graph before it gives anything of it.
    if isinstance(store, Memory):
        filled = store.__len__(graph) > 0
        # To look through all graphs for each new one would take quadratic time.
        known = getattr(store, "_Memory__all_contexts", None)
        if isinstance(known, set):
            return filled or graph in known
    else:
        filled = next(iter(store.triples((None, None, None), graph)), None) is not None
    return filled or any(name_of(context) == graph.identifier for context in store.contexts())


def bind_beside(graph: Graph, name: str, iri: URIRef) -> None:
    """Bind a namespace, replacing the binding of its name, and leave other names of the same
    IRI unchanged, if the store supports that: rdflib would remove them. After the last one, the
    caller resets the graph's namespace manager, which takes longer the more namespaces there are.
    """
    # Its first use binds rdflib's own namespaces.
    _ = graph.namespace_manager
    tables = _tables(graph)
    if tables is None:
        graph.bind(name, iri, override=True, replace=True)
        return
    by_name, by_iri = tables
    _take_away(by_name, by_iri, name)
    by_name[name] = iri
    by_iri[iri] = name


def unbind(graph: Graph, name: str) -> None:
    """Remove the binding of a name, if the store is one that can do that; see
    :func:`bind_beside`."""
    tables = _tables(graph)
    if tables is not None:
        _take_away(*tables, name)


def _take_away(by_name: dict[Any, Any], by_iri: dict[Any, Any], name: str) -> None:
    """Take a name out of a store's tables; another name of its IRI takes its place."""
    iri = by_name.pop(name, None)
    if iri is not None and by_iri.get(iri) == name:
        del by_iri[iri]
        by_iri.update((bound, other) for other, bound in by_name.items() if bound == iri)


def namespace_restorer(graph: Graph) -> Callable[[], None]:
    """A function that gives a graph the namespaces back that it has now, if its store is one that
    can do that."""
    tables = _tables(graph)
    before = [dict(table) for table in tables or ()]

    def restore() -> None:
        for table, content in zip(tables or (), before, strict=True):
            table.clear()
            table.update(content)
        graph.namespace_manager.reset()

    return restore


def name_of(context: Any) -> Any:
    """The name of a graph, which may be given as the name itself."""
    return context.identifier if isinstance(context, Graph) else context


def _tables(graph: Graph) -> tuple[dict[Any, Any], dict[Any, Any]] | None:
    """A store's namespaces by name and its names by namespace, where it has such tables.

    rdflib knows no way to unbind, so that its stores have to be looked into: its own in memory, and
    oxrdflib's.
    """
    store = graph.store
    pairs = [("_namespace_for_prefix", "_prefix_for_namespace")]
    pairs += [
        (f"_{kind.__name__}__namespace", f"_{kind.__name__}__prefix")
        for kind in type(store).__mro__
    ]
    for first, second in pairs:
        by_name, by_iri = getattr(store, first, None), getattr(store, second, None)
        if isinstance(by_name, dict) and isinstance(by_iri, dict):
            return by_name, by_iri
    return None


def mark_recorded(store: Store, writer: LogWriter) -> None:
    """Have other changes to a store rejected for as long as a log is open.

    :raises ChainError: the store is being recorded already.
    """
    with lock_of(store):
        check_recorded(store)
        _RECORDED[store] = ref(writer)


def check_recorded(store: Store) -> None:
    """Reject a store that is being recorded.

    :raises ChainError: it is.
    """
    found = _RECORDED.get(store)
    writer = None if found is None else found()
    if writer is not None and writer.is_of_this_process and not writer.closed:
        raise ChainError(
            f"the store is being recorded in the log at {writer.path}: change it through the "
            "recorder's graph only"
        )
