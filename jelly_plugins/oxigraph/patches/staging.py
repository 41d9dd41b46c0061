"""Changes to a store that are gathered, and then made in one transaction.

Additions alone go into the store as they are, by ``Store.extend``, in half the time of an update.
All else becomes a SPARQL update, see ``transaction``.
What is deleted is written as text there, and text that could be parsed as something else is
rejected.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from pyoxigraph import BlankNode, NamedNode, Quad, Store

from ...reserved import BOOKKEEPING_IRI, reject_graph
from ..plain_text import PlainText, check_terms, plain_text
from ..rows import Row, row_of
from ..terms import DEFAULT_GRAPH, GraphName, may_have_blank_nodes
from .bookkeeping import BOOKKEEPING
from .transaction import Update
from .update_delta import UpdateDelta


class Staged(NamedTuple):
    """Quads that are all deleted, or all added, in the form that the store gives them.

    :ivar text: their text, if it is well-formed.
    :ivar changed: those that were requested in another form, by that form.
    """

    quads: list[Quad]
    text: PlainText | None
    changed: Mapping[Quad, Quad]

    @property
    def checked(self) -> list[Quad]:
        """The quads, if each of their terms is one.

        :raises TermError: one is not, so that text would be read as something else.
        """
        if self.text is None:
            check_terms(self.quads)
        return self.quads

    @property
    def rows(self) -> list[Row]:
        """The quads as rows.

        :raises TermError: text cannot express them.
        """
        return [row_of(quad) for quad in self.checked]


_NOTHING: Final = Staged([], {}, {})


class Changes(ABC):
    """The changes of one transaction; see :meth:`.Recorder.transaction`. They are not in the store
    until it ends.
    """

    def add(self, quad: Quad) -> None:
        """Add a quad.

        :raises TermError: it is in the graph that keeps the positions of logs.
        :raises TypeError: it is not a pyoxigraph quad.
        """
        self.change([quad], True)

    def remove(self, quad: Quad) -> None:
        """Remove a quad; errors are those of :meth:`add`."""
        self.change([quad], False)

    def extend(self, quads: Iterable[Quad]) -> None:
        """Add quads; errors are those of :meth:`add`."""
        self.change(list(quads), True)

    def remove_all(self, quads: Iterable[Quad]) -> None:
        """Remove quads; errors are those of :meth:`add`."""
        self.change(list(quads), False)

    @abstractmethod
    def update(self, update: str, **settings: Any) -> None:
        """Run a SPARQL update on the store and what was changed here so far.

        Its effect is recorded quad by quad. It takes more than twice the time of the update alone,
        which is run twice; ``LOAD`` fetches once. Graphs that are created or dropped are not part
        of a patch, which cannot express them; their quads are.

        :param settings: those of ``pyoxigraph.Store.update``.
        :raises SyntaxError: the update is malformed.
        :raises RuntimeError: it fails.
        """

    @abstractmethod
    def change(self, quads: list[Quad], there: bool) -> None:
        """Add or remove quads; errors are those of :meth:`add`."""


class StagedChanges(Changes):
    """Changes, and how they are made.

    :param exact: leave out what changes nothing.
    """

    def __init__(self, store: Store, *, exact: bool = True) -> None:
        self._store = store
        self._exact = exact
        #: Whether each quad is there in the end, in the order of the last changes.
        self._net: dict[Quad, bool] = {}
        #: Graphs that quads are in.
        self._used: set[GraphName] = set()
        #: Graphs that exist (True) or are dropped (False), whatever their quads.
        self._graphs: dict[GraphName, bool] = {}

    def update(self, update: str, **settings: Any) -> None:
        UpdateDelta(self._store, self, settings).update(update)

    def create_graph(self, graph: NamedNode) -> None:
        """Create a graph, even if empty. Patches do not record this.

        :raises TermError: it is the one that keeps the positions of logs.
        """
        reject_graph(graph.value, what="what is to be made")
        self._graphs[graph] = True

    def drop_graph(self, graph: NamedNode | BlankNode) -> None:
        """Remove a graph if it is empty. Patches do not record this."""
        self._graphs[graph] = False

    def known_graphs(self) -> Iterable[NamedNode | BlankNode]:
        """The named graphs of the store, and those that were made here."""
        named = [*self._store.named_graphs(), *self._graphs, *self._used]
        return [name for name in dict.fromkeys(named) if name != DEFAULT_GRAPH]  # type: ignore[misc]

    def change(self, quads: list[Quad], there: bool) -> None:
        try:
            graphs = {quad.graph_name for quad in quads}
        except AttributeError:
            wrong = next(quad for quad in quads if not isinstance(quad, Quad))
            raise TypeError(f"a pyoxigraph.Quad is needed, not {wrong!r:.200}") from None
        if BOOKKEEPING in graphs:
            reject_graph(BOOKKEEPING_IRI)
        net = self._net
        if net:
            # A graph stays though what was added to it may not.
            self._keep_graphs(quad for quad in quads if net.pop(quad, False))
        if there and self._graphs:
            self._keep_graphs(quads)
        self._used |= graphs
        changes = dict.fromkeys(quads, there)
        if net:
            net.update(changes)
        else:
            # Hashing quads takes longer than all else here.
            self._net = changes

    def _keep_graphs(self, quads: Iterable[Quad]) -> None:
        """Have the graphs of quads exist, whatever comes of the quads."""
        for quad in quads:
            if quad.graph_name != DEFAULT_GRAPH:
                self._graphs[quad.graph_name] = True

    # Results

    def staged(self) -> tuple[Staged, Staged]:
        """The quads to delete from the store, and those to add."""
        deletes, adds = self._requested()
        if (deletes.changed or adds.changed) and self._exchange(
            {**deletes.changed, **adds.changed}
        ):
            deletes, adds = self._requested()
        store, exact = self._store, self._exact
        # A replay rejects a deletion with a blank node that matches nothing.
        present = [
            quad
            for quad in deletes.quads
            if quad in store or not (exact or may_have_blank_nodes(quad))
        ]
        absent = [quad for quad in adds.quads if quad not in store] if exact else adds.quads
        return self._left(deletes, present), self._left(adds, absent)

    def _requested(self) -> tuple[Staged, Staged]:
        """The quads to delete and to add, regardless of the store's contents."""
        net = self._net
        return (
            self._stage([quad for quad, there in net.items() if not there]),
            self._stage([quad for quad, there in net.items() if there]),
        )

    def _stage(self, quads: list[Quad]) -> Staged:
        return Staged(*plain_text(quads)) if quads else _NOTHING

    def _left(self, staged: Staged, quads: list[Quad]) -> Staged:
        """The remaining quads."""
        return staged if len(quads) == len(staged.quads) else self._stage(quads)

    def _exchange(self, changed: Mapping[Quad, Quad]) -> bool:
        """Exchange quads for those that the store has for them; return whether there are fewer now:
        of operations on one quad the last one counts.

        :param changed: what becomes of those that have another form.
        """
        made: dict[Quad, bool] = {}
        for quad, there in self._net.items():
            now = changed.get(quad, quad)
            if there is not made.pop(now, there):
                self._keep_graphs([quad])
            made[now] = there
        fewer = len(made) < len(self._net)
        # In one step, whatever interrupts this.
        self._net = made
        return fewer

    def begin_update(self) -> Update:
        """What has changed so far, as an update."""
        deletes, adds = self.staged()
        return self._update(deletes, adds)

    def _update(self, deletes: Staged, adds: Staged) -> Update:
        update = Update()
        update.change(deletes.rows, adds.rows)
        for operation in self._graph_operations(adds):
            update.operation(operation)
        return update

    def make(
        self,
        deletes: Staged,
        adds: Staged,
        old: Collection[Row] = (),
        new: Collection[Row] = (),
    ) -> None:
        """Change the store, wholly or not at all.

        :param deletes: the quads to delete, as :meth:`staged` returns them.
        :param adds: the quads to add.
        :param old: rows of the bookkeeping to delete; ``new``: to add.
        :raises OSError: the store cannot be written.
        """
        if deletes.quads or old or new or self._graph_operations(adds):
            update = self._update(deletes, adds)
            update.change(old, new)
            update.run(self._store)
        else:
            self._store.extend(adds.quads)
        self._change_unnamed_graphs()

    def _change_unnamed_graphs(self) -> None:
        """Make and drop the graphs that SPARQL cannot name; there is nothing in them."""
        for graph, there in self._graphs.items():
            if isinstance(graph, BlankNode):
                if there:
                    self._store.add_graph(graph)
                elif not any(self._store.quads_for_pattern(None, None, None, graph)):
                    self._store.remove_graph(graph)

    def _graph_operations(self, adds: Staged) -> list[str]:
        """The operations that make and drop graphs, whatever their quads."""
        if not self._graphs:
            return []
        filled = {quad.graph_name for quad in adds.quads}
        return [
            f"{'CREATE' if there else 'DROP'} SILENT GRAPH {graph}"
            for graph, there in self._graphs.items()
            if graph not in filled and isinstance(graph, NamedNode)
        ]
