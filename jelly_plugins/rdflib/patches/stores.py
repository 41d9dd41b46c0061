"""What rdflib's stores do not offer, or not fast enough: lookups, namespaces beside others, and
whether a store is being recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary, ref

from rdflib import namespace
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, Graph
from rdflib.store import Store
from rdflib.term import Literal, Node, URIRef

from ...errors import ChainError
from ...patch.replay.settings import lock_of
from ..memory import graphs_in_memory, namespace_tables

if TYPE_CHECKING:
    from ...patch.recording import LogWriter

#: The logs that stores are recorded in. Their recorders may be closed, or gone.
_RECORDED: Final[WeakKeyDictionary[Store, ref[LogWriter]]] = WeakKeyDictionary()

#: A triple, as rdflib has it.
Triple = tuple[Node, Node, Node]


def is_in(store: Store, triple: Any, graph: Any) -> bool:
    """Whether a graph of a store has what a pattern matches."""
    return next(iter(store.triples(triple, graph)), None) is not None


def twin(store: Store, triple: Triple, graph: Any) -> Triple | None:
    """The triple with the other of rdflib's two forms of a literal of type xsd:string, with the
    datatype and without one, if that is in a graph. In RDF 1.1 both are the same literal."""
    subject, predicate, object_ = triple
    if type(object_) is not Literal or object_.language is not None:
        return None
    if object_.datatype is not None and object_.datatype != namespace.XSD.string:
        return None
    datatype = namespace.XSD.string if object_.datatype is None else None
    other = (subject, predicate, Literal(str(object_), datatype=datatype))
    return other if is_in(store, other, graph) else None


def graph_exists(graph: Any) -> bool:
    """Whether a store has a graph, be it empty. A default graph always exists."""
    if not isinstance(graph, Graph) or graph.identifier == DATASET_DEFAULT_GRAPH_ID:
        return True
    known = graphs_in_memory(graph.store)
    if known is not None:
        return graph in known or len(graph) > 0
    return is_in(graph.store, (None, None, None), graph) or any(
        name_of(context) == graph.identifier for context in graph.store.contexts()
    )


def set_namespace(graph: Graph, name: str, iri: URIRef | None) -> None:
    """Bind a name to a namespace instead of the one that it has, or to none.

    Other names of the same IRI stay bound, if the store is one of ``memory.namespace_tables``. In
    any other, rdflib removes them, and no name can be unbound. After the last change, the caller
    resets the graph's namespace manager, which takes longer the more namespaces there are.
    """
    # Its first use binds rdflib's own namespaces.
    _ = graph.namespace_manager
    tables = namespace_tables(graph.store)
    if tables is None:
        if iri is not None:
            graph.bind(name, iri, override=True, replace=True)
        return
    by_name, by_iri = tables
    before = by_name.pop(name, None)
    if before is not None and by_iri.get(before) == name:
        del by_iri[before]
        by_iri.update((bound, other) for other, bound in by_name.items() if bound == before)
    if iri is not None:
        by_name[name] = iri
        by_iri[iri] = name


def name_of(context: Any) -> Any:
    """The name of a graph, which may be given as the name itself."""
    return context.identifier if isinstance(context, Graph) else context


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
