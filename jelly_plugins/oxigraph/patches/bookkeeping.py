"""What a store has to remember of the logs that were replayed into it, kept in one of its graphs.

The graph ``<urn:jelly-plugins:bookkeeping>`` has the following quads, and changes in the
transactions that it records:

- for each log, ``<urn:jelly-plugins:log:NAME>``, the position that was reached (see
  :class:`~jelly_plugins.patch.replay.position.Position`), as the value of
  ``<urn:jelly-plugins:position:GRAPH>``: the patch's number, the number of transactions,
  ``closed``, ``recording`` (closed, and the store may have more of the log, see ``deferred``),
  ``complete`` (not closed) or ``partial``, ``loose:`` and ``content:`` with their values if it has
  any, and the patch, with spaces between them. GRAPH is the name of the graph that the log's
  default graph is applied to, in the syntax of N-Triples, and empty for the default graph itself.
  Of several positions the furthest counts: a recorder that was killed has not removed the others;
- for each namespace, ``GRAPH <urn:jelly-plugins:prefix:NAME> IRI``, where GRAPH is the name of the
  graph that it was declared for, or ``<urn:jelly-plugins:default>``.

Names are percent-encoded. No other code may change this graph, see ``reserved``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import attrgetter
from typing import Final
from urllib.parse import quote, unquote

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Store

from ...errors import ChainError
from ...patch.replay.position import Position
from ...reserved import BOOKKEEPING_IRI, BOOKKEEPING_TEXT, bookkeeping_iri
from ..rows import Row, graph_text, row_of
from ..terms import DEFAULT_GRAPH, GraphName

#: The graph that is not data.
BOOKKEEPING: Final = NamedNode(BOOKKEEPING_IRI)
#: The pattern of its quads.
_ALL: Final = (None, None, None, BOOKKEEPING)

_reach: Final = attrgetter("reach")

_LOG: Final = bookkeeping_iri("log:")
_PREFIX: Final = bookkeeping_iri("prefix:")
_DEFAULT: Final = f"<{bookkeeping_iri('default')}>"

_POSITION: Final = bookkeeping_iri("position:")
#: By ``complete`` and ``closed``.
_ENDS: Final = {
    (False, False): "partial",
    (True, False): "complete",
    (True, True): "closed",
}
#: Instead of ``closed``, where the store may have more of the log.
_RECORDING: Final = "recording"
_ENDED: Final = {word: ends for ends, word in _ENDS.items()} | {_RECORDING: (True, True)}
_VALUE: Final = re.compile(
    r"([0-9]+) ([0-9]+) (closed|recording|complete|partial)(?: loose:([0-9]+:[0-9a-f]+))?"
    r"(?: content:([0-9]+:[0-9a-z-]*))? (.+)",
    re.DOTALL,
)


def count_quads(store: Store) -> int:
    """Number of quads in a store, without those of the bookkeeping.

    >>> count_quads(Store())
    0
    """
    return len(store) - sum(1 for _ in store.quads_for_pattern(*_ALL))


def noted_positions(store: Store) -> list[Position]:
    """The positions in a store's bookkeeping, which may be older than its data; use
    ``deferred.positions`` for the current position."""
    found: dict[tuple[str, str], Position] = {}
    for position, _ in _positions(store.quads_for_pattern(*_ALL)):
        place = (position.log, position.graph)
        found[place] = max(found.get(place, position), position, key=_reach)
    return list(found.values())


def positions_in(store: Store, graph: str) -> list[Position]:
    """The positions of a store in the logs that were replayed into a graph.

    :param graph: text of its name; that of the default graph is empty.
    """
    return [position for position in noted_positions(store) if position.graph == graph]


def recordings(store: Store) -> dict[str, Position]:
    """The positions of a store that may have more of their logs, by log: a recorder is active, or
    was when its process ended."""
    found: dict[str, Position] = {}
    certain: dict[str, Position] = {}
    for position, is_behind in _positions(store.quads_for_pattern(*_ALL)):
        if position.graph == "":
            known = found if is_behind else certain
            known[position.log] = max(known.get(position.log, position), position, key=_reach)
    for log in certain.keys() & found.keys():
        if certain[log].reach >= found[log].reach:
            del found[log]
    return found


def _positions(quads: Iterable[Quad]) -> Iterator[tuple[Position, bool]]:
    """The positions in quads, and whether the store may have more of the log."""
    for subject, predicate, value, _ in quads:
        if not predicate.value.startswith(_POSITION):
            continue
        name = unquote(subject.value.removeprefix(_LOG))
        match = _VALUE.fullmatch(value.value)
        if match is None:
            raise ChainError(f"the store's own position in log {name} is damaged: {value.value!r}")
        number, transactions, ends, loose, content, patch = match.groups()
        complete, closed = _ENDED[ends]
        position = Position(
            log=name,
            patch=patch,
            number=int(number),
            transactions=int(transactions),
            complete=complete,
            closed=closed,
            graph=unquote(predicate.value.removeprefix(_POSITION)),
            loose=loose or "",
            content=content or "",
        )
        yield position, ends == _RECORDING


def position_quad(position: Position, *, recording: bool = False) -> Quad:
    """The quad of a position.

    :param recording: whether the store may have more of the log.
    """
    ends = _ENDS[position.complete, position.complete and position.closed]
    ends = _RECORDING if recording else ends
    loose = f"loose:{position.loose} " if position.loose else ""
    content = f"content:{position.content} " if position.content else ""
    text = f"{position.number} {position.transactions} {ends} {loose}{content}{position.patch}"
    return Quad(*_place(position.log, position.graph), Literal(text), BOOKKEEPING)


@lru_cache
def _place(log_name: str, graph: str) -> tuple[NamedNode, NamedNode]:
    """Subject and predicate of the positions in a log, for a graph."""
    return (
        NamedNode(f"{_LOG}{quote(log_name, safe='')}"),
        NamedNode(f"{_POSITION}{quote(graph, safe='')}"),
    )


def position_quads(store: Store, log_name: str, graph: str = "") -> list[Quad]:
    """All quads of positions in a log, superseded ones included.

    :param graph: text of the name of the graph that the log is replayed into.
    """
    return list(store.quads_for_pattern(*_place(log_name, graph), None, BOOKKEEPING))


def position_of(quads: Iterable[Quad]) -> Position | None:
    """The furthest position in quads of one log and graph; None if there is none."""
    return max((position for position, _ in _positions(quads)), key=_reach, default=None)


def namespaces(store: Store, graph: GraphName = DEFAULT_GRAPH) -> dict[str, str]:
    """The namespaces that patches have declared, IRI by name.

    :param graph: the graph that they were declared for. Patches of triples declare them for the
        default graph.

    >>> namespaces(Store())
    {}
    """
    subject = graph_text(graph) or _DEFAULT
    return {
        unquote(predicate.value.removeprefix(_PREFIX)): value.value
        for owner, predicate, value, _ in store.quads_for_pattern(*_ALL)
        if str(owner) == subject
        and predicate.value.startswith(_PREFIX)
        and isinstance(value, NamedNode)
    }


def namespace_rows(store: Store, graph: str, name: str) -> set[Row]:
    """The rows of a namespace, none if there is none.

    :param graph: text of the name of the graph that it was declared for.
    """
    owner = graph or _DEFAULT
    subject = NamedNode(owner[1:-1]) if owner.startswith("<") else BlankNode(owner[2:])
    predicate = NamedNode(f"{_PREFIX}{quote(name, safe='')}")
    found = store.quads_for_pattern(subject, predicate, None, BOOKKEEPING)
    return set(map(row_of, found))


def namespace_row(graph: str, name: str, iri: str) -> Row:
    """The row that a namespace would have."""
    return (graph or _DEFAULT, f"<{_PREFIX}{quote(name, safe='')}>", iri, BOOKKEEPING_TEXT)
