"""Sees what changes an rdflib store, triple by triple, and can take it back.

rdflib's events tell of patterns that are removed, not of triples, and some stores send none. So the
methods of the store object are replaced for a while: whatever changes a graph of the store, SPARQL
Update included, comes to them in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from threading import RLock
from typing import Any, Final, TypeAlias

from rdflib.graph import Graph
from rdflib.store import Store
from rdflib.term import Literal

from ...codec import Describe
from ...reserved import refuse_graph
from ..terms import describe, read_form
from .interrupts import guard, unguard, uninterrupted
from .journal import Triple, graph_exists, membership, twin_finder


class ChangeKind(Enum):
    """What a change does."""

    ADD = "add"
    REMOVE = "remove"
    #: The graph was not there before.
    MAKE_GRAPH = "make graph"
    #: The graph is not there any more.
    DROP_GRAPH = "drop graph"


#: What was done, the triple, and its graph; of graphs, there is no triple.
Change: TypeAlias = tuple[ChangeKind, Any, Any]

STATEMENTS: Final = (ChangeKind.ADD, ChangeKind.REMOVE)
#: In the place of what is not known yet.
_UNKNOWN: Final = ("unknown",)

_REPLACED: Final[tuple[str, ...]] = ("add", "addN", "remove", "add_graph", "remove_graph", "update")


def is_watched(store: Store) -> bool:
    """Whether what changes a store is being seen."""
    return isinstance(getattr(store.add, "__self__", None), StoreWatch)


class StoreWatch:
    """Watches a store from :meth:`attach` to :meth:`detach`.

    A triple that is added and there already, or removed and not there, is no change.

    :ivar changes: what was done since :meth:`keep`, in order; each is noted before it is made.
    :cvar describe: takes the terms apart that :meth:`changed` gives.
    """

    describe: Describe = staticmethod(describe)

    def __init__(self, store: Store) -> None:
        self._store = store
        self._twin = twin_finder(store)
        self._has = membership(store)
        self.changes: list[Change] = []
        self._attached = False
        #: Held while a change is noted and made, so that both are in the same order.
        self.lock: Final = RLock()
        self.keep()

    @uninterrupted
    def attach(self) -> None:
        """Start watching.

        :raises ValueError: someone else watches the store.
        """
        store = self._store
        if is_watched(store):
            raise ValueError("the changes of this store are being recorded already")
        guard()
        self._own = {name: store.__dict__[name] for name in _REPLACED if name in store.__dict__}
        self._add = store.add
        self._remove = store.remove
        self._add_graph = store.add_graph
        self._remove_graph = store.remove_graph
        for name in _REPLACED:
            setattr(store, name, getattr(self, f"_on_{name}"))
        self._attached = True

    @uninterrupted
    def detach(self) -> None:
        """Stop watching."""
        if self._attached:
            self._attached = False
            for name in _REPLACED:
                delattr(self._store, name)
            self._store.__dict__.update(self._own)
            unguard()

    def keep(self) -> None:
        """Have what was done until now stay."""
        self.changes.clear()
        #: Names of graphs that are known to exist, and the last graph that was found to.
        self._graphs: set[Any] = set()
        self._last_graph: Any = None

    @uninterrupted
    def undo(self) -> None:
        """Take back what was done since :meth:`keep`."""
        while self.changes:
            self._undo_change(*self.changes[-1])
            self.changes.pop()
        self.keep()

    def _undo_change(self, what: ChangeKind, triple: Any, graph: Any) -> None:
        if what is ChangeKind.ADD:
            self._remove(triple, graph)
        elif what is ChangeKind.REMOVE:
            self._add(triple, graph, False)
        elif what is ChangeKind.MAKE_GRAPH:
            self._remove_graph(graph)
        else:
            self._add_graph(graph)

    def name_of(self, graph: Any) -> Any:
        """The name of a graph, as :meth:`changed` has it."""
        return graph.identifier if isinstance(graph, Graph) else graph

    def changed(
        self, place: Callable[[Any], tuple[Any, ...] | None]
    ) -> Iterable[tuple[ChangeKind, tuple[Any, ...]]]:
        """The statements that are there and were not (ADD), or the other way round (REMOVE), since
        :meth:`keep`: doing something and its opposite leaves nothing.

        Literals are in the form in which they are read back. A literal of type xsd:string is one in
        either form; so are others in a form that rdflib's constructor would change and in the one
        that it gives, but for a literal in such a form that was there before and did not change.

        :param place: takes the name of a graph, gives what its statements have behind their
            triples; None if they are to be left out.
        """
        places: dict[int, tuple[Any, ...] | None] = {}
        noted = []
        removed = False
        for what, triple, context in self.changes:
            if what not in STATEMENTS:
                continue
            # Graphs live as long as they are noted here, and their names are slow to find.
            behind = places.get(id(context), _UNKNOWN)
            if behind is _UNKNOWN:
                behind = places[id(context)] = place(self.name_of(context))
            if behind is not None:
                removed = removed or what is ChangeKind.REMOVE
                noted.append((what, (*triple, *behind), context))
        if not removed and all(
            read_form(statement[2]) is statement[2]
            and self._twin(statement[:3], graph, present=True) is None
            for _, statement, graph in noted
            if type(statement[2]) is Literal
        ):
            # Each was missing before it was added.
            return [(what, statement) for what, statement, _ in noted]
        return self._net(noted)

    def _net(
        self, noted: Iterable[tuple[ChangeKind, tuple[Any, ...], Any]]
    ) -> Iterator[tuple[ChangeKind, tuple[Any, ...]]]:
        """What changes come to.

        :param noted: what each did, its statement, and its graph.
        """
        before: dict[tuple[Any, ...], bool] = {}
        after: dict[tuple[Any, ...], bool] = {}
        graphs = {}
        for what, statement, graph in noted:
            before.setdefault(statement, what is ChangeKind.REMOVE)
            after[statement] = what is ChangeKind.ADD
            graphs[statement] = graph
        # Of the forms of a literal that are read back as one, each is as good as another.
        merged: dict[tuple[Any, ...], tuple[bool, bool]] = {}
        for statement, was in before.items():
            triple, behind = statement[:3], statement[3:]
            stays = any(
                (*form, *behind) not in before
                for form in self._other_forms(triple, graphs[statement])
            )
            key = (*triple[:2], read_form(triple[2]), *behind)
            was_other, is_other = merged.get(key, (False, False))
            merged[key] = (was or stays or was_other, after[statement] or stays or is_other)
        for statement, (was, is_now) in merged.items():
            if was is not is_now:
                yield ChangeKind.ADD if is_now else ChangeKind.REMOVE, statement

    def _other_forms(self, triple: Triple, graph: Any) -> Iterator[Triple]:
        """The triples of a graph that are read back as the same as a triple, as far as they can be
        found."""
        twin = self._twin(triple, graph)
        if twin is not None:
            yield twin
        object_ = read_form(triple[2])
        read = (triple[0], triple[1], object_)
        if object_ is not triple[2] and read != twin and self._has(read, graph):
            yield read

    @uninterrupted
    def _on_add(self, triple: Triple, context: Any, quoted: bool = False) -> None:
        with self.lock:
            if not self._has(triple, context):
                # Before it is made, so that it can be taken back if that fails.
                if context is not self._last_graph:
                    self._note_graph(context)
                self.changes.append((ChangeKind.ADD, triple, context))
            self._add(triple, context, quoted)

    def _note_graph(self, graph: Any) -> None:
        """Note that a graph is not there, so that it will not be there again.

        :raises TermError: it is reserved.
        """
        name = graph.identifier if isinstance(graph, Graph) else graph
        if name not in self._graphs:
            refuse_graph(str(name))
            if self._store.graph_aware and not graph_exists(graph):
                self.changes.append((ChangeKind.MAKE_GRAPH, None, graph))
            self._graphs.add(name)
        self._last_graph = graph

    def _on_addN(self, quads: Iterable[tuple[Any, Any, Any, Any]]) -> None:  # noqa: N802
        for subject, predicate, object_, context in quads:
            self._on_add((subject, predicate, object_), context)

    @uninterrupted
    def _on_remove(self, pattern: Any, context: Any = None) -> None:
        with self.lock:
            if None not in pattern and context is not None:
                if not self._has(pattern, context):
                    return
                self.changes.append((ChangeKind.REMOVE, pattern, context))
            else:
                for triple, contexts in list(self._store.triples(pattern, context)):
                    # A store without contexts has no other word for its only one.
                    for graph in [context] if context is not None else list(contexts) or [None]:
                        self.changes.append((ChangeKind.REMOVE, triple, graph))
            self._remove(pattern, context)

    @uninterrupted
    def _on_add_graph(self, graph: Graph) -> None:
        with self.lock:
            self._note_graph(graph)
            self._add_graph(graph)

    @uninterrupted
    def _on_remove_graph(self, graph: Graph) -> None:
        with self.lock:
            there = graph_exists(graph)
            self._on_remove((None, None, None), graph)
            if there:
                self.changes.append((ChangeKind.DROP_GRAPH, None, graph))
            self._graphs.clear()
            self._last_graph = None
            self._remove_graph(graph)

    def _on_update(self, update: Any, *_: Any, **__: Any) -> None:
        """:raises NotImplementedError: always; rdflib's own engine comes back here."""
        raise NotImplementedError("it cannot be told what this update would change")
