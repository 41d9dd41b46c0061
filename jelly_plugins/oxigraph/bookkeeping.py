"""What a store has to remember of the logs that were replayed into it, kept in one of its graphs.

The graph ``<urn:jelly-plugins:bookkeeping>`` has, and changes in the transactions that it tells of:

- for each log, ``<urn:jelly-plugins:log:NAME>``, the position that was reached (see
  :class:`~jelly_plugins.patch.position.Position`), as the value of
  ``<urn:jelly-plugins:position>``: the patch's number, the number of transactions, ``complete`` or
  ``partial``, and the patch, with spaces between them. Where there are several, the one counts that
  is the furthest: a recorder that was killed has not removed the other yet;
- for each namespace, ``GRAPH <urn:jelly-plugins:prefix:NAME> IRI``, where GRAPH is the name of the
  graph that it was declared for, or ``<urn:jelly-plugins:default>``.

Names are percent-encoded. Patches may not touch this graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final
from urllib.parse import quote, unquote

from pyoxigraph import Literal, NamedNode, Quad, Store

from ..patch.position import BOOKKEEPING_IRI, Position
from .rows import Row, graph_text, row_of
from .terms import DEFAULT_GRAPH, GraphName
from .transaction import apply

#: The graph that is no data.
BOOKKEEPING: Final = NamedNode(BOOKKEEPING_IRI)

_GRAPH: Final = str(BOOKKEEPING)
_LOG: Final = "urn:jelly-plugins:log:"
_PREFIX: Final = "urn:jelly-plugins:prefix:"
_DEFAULT: Final = "<urn:jelly-plugins:default>"

_POSITION: Final = "<urn:jelly-plugins:position>"
_COMPLETE: Final = {True: "complete", False: "partial"}


def _quads(store: Store) -> Iterator[Quad]:
    return store.quads_for_pattern(None, None, None, BOOKKEEPING)


def count(store: Store) -> int:
    """Number of quads in a store, without those of the bookkeeping.

    >>> count(Store())
    0
    """
    return len(store) - sum(1 for _ in _quads(store))


def positions(store: Store) -> list[Position]:
    """Where a store stands in the logs that were replayed into it.

    >>> positions(Store())
    []
    """
    logs: dict[str, Position] = {}
    for subject, predicate, value, _ in _quads(store):
        if str(predicate) != _POSITION:
            continue
        name = unquote(subject.value.removeprefix(_LOG))
        number, transactions, complete, patch = value.value.split(" ", 3)
        found = Position(
            log=name,
            patch=patch,
            number=int(number),
            transactions=int(transactions),
            complete=complete == _COMPLETE[True],
        )
        if name not in logs or _reach(found) > _reach(logs[name]):
            logs[name] = found
    return list(logs.values())


def _reach(position: Position) -> tuple[int, int, bool]:
    """How far in a log a position is."""
    return position.number, position.transactions, position.complete


def position_quad(position: Position) -> Quad:
    """The quad that tells a position."""
    return Quad(
        _log_node(position.log),
        NamedNode(_POSITION[1:-1]),
        Literal(_position_text(position)),
        BOOKKEEPING,
    )


def _position_text(position: Position) -> str:
    complete = _COMPLETE[position.complete]
    return f"{position.number} {position.transactions} {complete} {position.patch}"


def position_quads(store: Store, log: str) -> list[Quad]:
    """All quads that tell of a position in a log, those included that count no more."""
    return list(store.quads_for_pattern(_log_node(log), None, None, BOOKKEEPING))


@lru_cache
def _log_node(log: str) -> NamedNode:
    return NamedNode(f"{_LOG}{quote(log, safe='')}")


def position_rows(position: Position) -> set[Row]:
    """The rows that tell a position."""
    value = str(Literal(_position_text(position)))
    return {(str(_log_node(position.log)), _POSITION, value, _GRAPH)}


def set_position(store: Store, position: Position) -> None:
    """Say where a store stands in a log, in place of what it says itself.

    For a store that was filled otherwise: from a copy of another one, for example.
    """
    before = set(map(row_of, position_quads(store, position.log)))
    after = position_rows(position)
    apply(store, before - after, after - before)


def namespaces(store: Store, graph: GraphName = DEFAULT_GRAPH) -> dict[str, str]:
    """The namespaces that patches have declared, IRI by name.

    :param graph: the graph that they were declared for. Patches of triples declare them for the
        default graph.

    >>> namespaces(Store())
    {}
    """
    subject = _owner(graph_text(graph))
    return {
        unquote(predicate.value.removeprefix(_PREFIX)): value.value
        for owner, predicate, value, _ in _quads(store)
        if str(owner) == subject
        and predicate.value.startswith(_PREFIX)
        and isinstance(value, NamedNode)
    }


def _owner(graph: str) -> str:
    return graph or _DEFAULT


class Namespaces:
    """The namespaces of a store as rows, by graph and name."""

    def __init__(self, store: Store) -> None:
        rows = [row_of(quad) for quad in _quads(store)]
        self._rows = {row[:2]: row for row in rows if row[1].startswith(f"<{_PREFIX}")}

    def find(self, graph: str, name: str) -> Row | None:
        """The row of a namespace, None if there is none."""
        return self._rows.get((_owner(graph), _predicate(name)))

    @staticmethod
    def row(graph: str, name: str, iri: str) -> Row:
        """The row that a namespace would have."""
        return (_owner(graph), _predicate(name), iri, _GRAPH)

    def update(self, deletes: set[Row], adds: set[Row]) -> None:
        """Take notice of rows that were deleted and added."""
        for row in deletes:
            self._rows.pop(row[:2], None)
        self._rows.update((row[:2], row) for row in adds)


def _predicate(name: str) -> str:
    return f"<{_PREFIX}{quote(name, safe='')}>"


def is_reserved(graph: str) -> bool:
    """Whether a graph, by the text of its name, is the bookkeeping's."""
    return graph == _GRAPH
