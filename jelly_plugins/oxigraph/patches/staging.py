"""Changes to a store that are gathered, before they are made in one transaction.

What is deleted is written as text in an update, and text that could be parsed as something else is
rejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias

from pyoxigraph import Quad, Store

from ...reserved import BOOKKEEPING_IRI, reject_graph
from ..rows import Row, check_terms, plain_text, row_of
from ..terms import GraphName
from .bookkeeping import BOOKKEEPING
from .transaction import Update

#: Whether each quad is there in the end, in the order of the last changes.
Net: TypeAlias = dict[Quad, bool]

_GRAPH_NAME: Final = attrgetter("graph_name")


class Staged(NamedTuple):
    """Quads that are all deleted, or all added, in the form that the store gives them.

    :ivar text: their lines of N-Quads, if these are well-formed.
    :ivar changed: those that were requested in another form, by that form.
    """

    quads: list[Quad]
    text: bytes | None
    changed: Mapping[Quad, Quad]

    @classmethod
    def of(cls, quads: list[Quad]) -> Staged:
        """Stage quads."""
        return cls(*plain_text(quads)) if quads else _NOTHING

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


_NOTHING: Final = Staged([], b"", {})


def requested(quads: list[Quad], there: bool) -> Net:
    """Changes that a caller requests.

    :param there: whether the quads are added, and not deleted.
    :raises TermError: one is in the graph that keeps the positions of logs.
    :raises TypeError: one is not a pyoxigraph quad.
    """
    try:
        if BOOKKEEPING in map(_GRAPH_NAME, quads):
            reject_graph(BOOKKEEPING_IRI)
    except AttributeError:
        wrong = next(quad for quad in quads if not isinstance(quad, Quad))
        raise TypeError(f"a pyoxigraph.Quad is needed, not {wrong!r:.200}") from None
    return dict.fromkeys(quads, there)


def staged(store: Store, net: Net) -> tuple[Staged, Staged]:
    """The quads to delete from a store, and those to add: no others than those that are, and that
    are not, in it."""
    deletes, adds = _by_kind(net)
    if deletes.changed or adds.changed:
        changed = {**deletes.changed, **adds.changed}
        kept = set(changed.values())
        if len(kept) < len(changed) or not kept.isdisjoint(net):
            # Of operations on one quad in several forms, the last one counts.
            last: Net = {}
            for quad, there in net.items():
                now = changed.get(quad, quad)
                last.pop(now, None)
                last[now] = there
            deletes, adds = _by_kind(last)
    if deletes.quads:
        present = [quad for quad in deletes.quads if quad in store]
        if len(present) < len(deletes.quads):
            deletes = Staged.of(present)
    if adds.quads:
        absent = [quad for quad in adds.quads if quad not in store]
        if len(absent) < len(adds.quads):
            adds = Staged.of(absent)
    return deletes, adds


def _by_kind(net: Net) -> tuple[Staged, Staged]:
    """The quads to delete and to add, regardless of the store's contents."""
    adds = [quad for quad, there in net.items() if there]
    if len(adds) == len(net):
        return _NOTHING, Staged.of(adds)
    return Staged.of([quad for quad, there in net.items() if not there]), Staged.of(adds)


class Changes:
    """The changes of one transaction; see :meth:`.Recorder.transaction`. They are not in the store
    until it ends.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._net: Net = {}

    def add(self, quad: Quad) -> None:
        """Add a quad.

        :raises TermError: it is in the graph that keeps the positions of logs.
        :raises TypeError: it is not a pyoxigraph quad.
        """
        self._change([quad], True)

    def remove(self, quad: Quad) -> None:
        """Remove a quad; errors are those of :meth:`add`."""
        self._change([quad], False)

    def extend(self, quads: Iterable[Quad]) -> None:
        """Add quads; errors are those of :meth:`add`."""
        self._change(list(quads), True)

    def remove_all(self, quads: Iterable[Quad]) -> None:
        """Remove quads; errors are those of :meth:`add`."""
        self._change(list(quads), False)

    def update(self, update: str, **settings: Any) -> None:
        """Run a SPARQL update on the store and what was changed here so far.

        Its effect is recorded quad by quad. It takes more than twice the time of the update alone,
        whose patterns are evaluated first; ``LOAD`` fetches once. Graphs are those that quads are
        in: creating one has no effect, dropping one removes its quads, and dropping one that is
        missing is not an error.

        :param settings: those of ``pyoxigraph.Store.update``.
        :raises SyntaxError: the update is malformed.
        :raises RuntimeError: it fails.
        """
        from .updates import UpdateEffect

        UpdateEffect(self._store, self, settings).take(update)

    def has_graph(self, name: GraphName | None) -> bool:
        """Whether the store has a graph, or something was added to it here; None is the default
        graph."""
        if name is None or self._store.contains_named_graph(name):
            return True
        return any(there and quad.graph_name == name for quad, there in self._net.items())

    def _change(self, quads: list[Quad], there: bool) -> None:
        changes = requested(quads, there)
        for quad in changes if self._net else ():
            self._net.pop(quad, None)
        self._net.update(changes)

    def _begin_update(self) -> Update:
        """What has changed so far, as an update."""
        deletes, adds = staged(self._store, self._net)
        update = Update()
        update.change(deletes.rows, adds.rows)
        return update
