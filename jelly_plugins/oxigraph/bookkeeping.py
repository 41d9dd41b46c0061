"""What a store has to remember of the logs that were replayed into it, kept in one of its graphs.

The graph ``<urn:jelly-plugins:bookkeeping>`` has, and changes in the transactions that it tells of:

- for each log, ``<urn:jelly-plugins:log:NAME>``, the position that was reached (see
  :class:`~jelly_plugins.patch.position.Position`), as values of ``<urn:jelly-plugins:patch>``,
  ``<urn:jelly-plugins:number>``, ``<urn:jelly-plugins:transactions>`` and
  ``<urn:jelly-plugins:complete>``;
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

_PATCH: Final = "<urn:jelly-plugins:patch>"
_NUMBER: Final = "<urn:jelly-plugins:number>"
_TRANSACTIONS: Final = "<urn:jelly-plugins:transactions>"
_COMPLETE: Final = "<urn:jelly-plugins:complete>"


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
    logs: dict[str, dict[str, str]] = {}
    for subject, predicate, value, _ in _quads(store):
        if isinstance(subject, NamedNode) and subject.value.startswith(_LOG):
            assert isinstance(value, Literal)
            name = unquote(subject.value.removeprefix(_LOG))
            logs.setdefault(name, {})[str(predicate)] = value.value
    return [
        Position(
            log=name,
            patch=found[_PATCH],
            number=int(found[_NUMBER]),
            transactions=int(found[_TRANSACTIONS]),
            complete=found[_COMPLETE] == "true",
        )
        for name, found in logs.items()
    ]


def position_rows(position: Position) -> set[Row]:
    """The rows that tell a position."""
    log = _log_text(position.log)
    return {
        (log, _PATCH, str(Literal(position.patch)), _GRAPH),
        (log, _NUMBER, str(Literal(position.number)), _GRAPH),
        (log, _TRANSACTIONS, str(Literal(position.transactions)), _GRAPH),
        (log, _COMPLETE, str(Literal(position.complete)), _GRAPH),
    }


@lru_cache(maxsize=16)
def _log_text(name: str) -> str:
    """The IRI of a log."""
    return f"<{_LOG}{quote(name, safe='')}>"


def set_position(store: Store, position: Position) -> None:
    """Say where a store stands in a log, in place of what it says itself.

    For a store that was filled otherwise: from a copy of another one, for example.
    """
    known = [position_rows(each) for each in positions(store) if each.log == position.log]
    before = known[0] if known else set()
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
