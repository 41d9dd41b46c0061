"""What a store has to remember of the logs that were replayed into it, kept in one of its graphs.

The graph ``<urn:jelly-plugins:bookkeeping>`` has the following quads, and changes in the
transactions that it records:

- for each log, ``<urn:jelly-plugins:log:NAME>``, the position that was reached (see
  :class:`~jelly_plugins.patch.replay.replay.Position`), as the value of
  ``<urn:jelly-plugins:position:GRAPH>``: the number of transactions, ``complete`` or ``partial``,
  and the patch, with spaces between them. GRAPH is the name of the graph that the log's default
  graph is applied to, in the syntax of N-Triples, and empty for the default graph itself;
- while a log is recorded, its path, as the value of ``<urn:jelly-plugins:recording>``. The store
  may have more of that log than its position says, until the recorder is closed. NAME is empty as
  long as the log has neither a name nor a patch;
- for each namespace, ``GRAPH <urn:jelly-plugins:prefix:NAME> IRI``, where GRAPH is the name of the
  graph that it was declared for, or ``<urn:jelly-plugins:default>``.

Names are percent-encoded. No other code may change this graph, see ``reserved``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Store

from ...errors import ChainError
from ...patch.replay.replay import Position
from ...patch.replay.transactions import lock_of
from ...reserved import BOOKKEEPING_IRI, BOOKKEEPING_TEXT, bookkeeping_iri
from ..rows import Row, graph_text, row_of
from ..terms import DEFAULT_GRAPH, GraphName, check_store
from .transaction import apply

#: The graph that is not data.
BOOKKEEPING: Final = NamedNode(BOOKKEEPING_IRI)
#: The pattern of its quads.
_ALL: Final = (None, None, None, BOOKKEEPING)

_LOG: Final = bookkeeping_iri("log:")
_PREFIX: Final = bookkeeping_iri("prefix:")
_DEFAULT: Final = f"<{bookkeeping_iri('default')}>"
_POSITION: Final = bookkeeping_iri("position:")
_RECORDING: Final = NamedNode(bookkeeping_iri("recording"))
_VALUE: Final = re.compile(r"([0-9]+) (complete|partial) (.+)", re.DOTALL)


def count_quads(store: Store) -> int:
    """Number of quads in a store, without those of the bookkeeping.

    >>> count_quads(Store())
    0
    """
    return len(store) - sum(1 for _ in store.quads_for_pattern(*_ALL))


# Positions


def positions(store: Store) -> list[Position]:
    """The positions of a store in the logs that were replayed into it, or recorded: for each log
    and each graph used instead of the default graph one position.

    While a log is recorded, and after a recorder that was not closed, the store may be further.

    >>> positions(Store())
    []
    """
    check_store(store)
    return [
        _position(*quad)
        for quad in store.quads_for_pattern(*_ALL)
        if quad.predicate.value.startswith(_POSITION)
    ]


def position_in(store: Store, log: str, graph: str = "") -> Position | None:
    """The position in one log; None if there is none."""
    quads = store.quads_for_pattern(*_place(log, graph), None, BOOKKEEPING)
    return next((_position(*quad) for quad in quads), None)


def _position(subject: Any, predicate: Any, value: Any, _graph: object) -> Position:
    name = unquote(subject.value.removeprefix(_LOG))
    match = _VALUE.fullmatch(value.value)
    if match is None:
        raise ChainError(f"the store's own position in log {name} is damaged: {value.value!r}")
    transactions, end, patch = match.groups()
    return Position(
        log=name,
        patch=patch,
        transactions=int(transactions),
        complete=end == "complete",
        graph=unquote(predicate.value.removeprefix(_POSITION)),
    )


def position_quad(position: Position) -> Quad:
    end = "complete" if position.complete else "partial"
    text = f"{position.transactions} {end} {position.patch}"
    return Quad(*_place(position.log, position.graph), Literal(text), BOOKKEEPING)


@lru_cache
def _place(log: str, graph: str) -> tuple[NamedNode, NamedNode]:
    return _log(log), NamedNode(f"{_POSITION}{quote(graph, safe='')}")


def _log(name: str) -> NamedNode:
    return NamedNode(f"{_LOG}{quote(name, safe='')}")


def set_position(store: Store, position: Position) -> None:
    """Set a store's position in a log, replacing its own.

    For a store that was filled otherwise: from a copy of another one, for example.

    :raises ChainError: the store is being recorded.
    """
    with lock_of(store):
        check_recorded(store)
        move(store, None, position, None)


# Logs that are being recorded


class Recording(NamedTuple):
    """The mark of a store whose changes are recorded: the log's name, empty if it has neither a
    name nor a patch, and its path."""

    log: str
    path: str

    def rows(self) -> set[Row]:
        return {row_of(Quad(_log(self.log), _RECORDING, Literal(self.path), BOOKKEEPING))}


def recording_of(store: Store) -> Recording | None:
    log: Any
    value: Any
    for log, _, value, _ in store.quads_for_pattern(None, _RECORDING, None, BOOKKEEPING):
        return Recording(unquote(log.value.removeprefix(_LOG)), value.value)
    return None


def check_recorded(
    store: Store,
    allowed: Recording | None = None,
    *,
    remedy: str = "change it through the recorder only",
) -> None:
    """Reject a store that is being recorded, unless changes come from the ``allowed`` mark."""
    found = recording_of(store)
    if found is not None and found != allowed:
        name = f" {found.log}" if found.log else ""
        raise ChainError(
            f"the store is being recorded in log{name} at {found.path}: {remedy}. If the process "
            "of the recorder has ended without closing it, open that log with record() again"
        )


def moved_rows(
    store: Store, before: Recording | None, position: Position | None, after: Recording | None
) -> tuple[set[Row], set[Row]]:
    """The rows to delete and to add for a position, if there is one, and for a mark that replaces
    another."""
    old = set() if before is None else before.rows()
    new = set() if after is None else after.rows()
    if position is not None:
        found = position_in(store, position.log, position.graph)
        old |= set() if found is None else {row_of(position_quad(found))}
        new.add(row_of(position_quad(position)))
    return old - new, new - old


def move(
    store: Store, before: Recording | None, position: Position | None, after: Recording | None
) -> None:
    """Write a position and a mark, see :func:`moved_rows`."""
    with lock_of(store):
        apply(store, *moved_rows(store, before, position, after))
        if next(store.quads_for_pattern(*_ALL), None) is None:
            store.remove_graph(BOOKKEEPING)


# Namespaces


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
    """The rows of a namespace, none if there is none."""
    owner = graph or _DEFAULT
    subject = NamedNode(owner[1:-1]) if owner.startswith("<") else BlankNode(owner[2:])
    predicate = NamedNode(f"{_PREFIX}{quote(name, safe='')}")
    found = store.quads_for_pattern(subject, predicate, None, BOOKKEEPING)
    return set(map(row_of, found))


def namespace_row(graph: str, name: str, iri: str) -> Row:
    return (graph or _DEFAULT, f"<{_PREFIX}{quote(name, safe='')}>", iri, BOOKKEEPING_TEXT)
