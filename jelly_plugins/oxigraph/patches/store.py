"""Transactions of an Oxigraph store, and what it remembers of the logs replayed into it.

pyoxigraph's only transaction is a single ``Store.update``. So all changes go into the text of one
SPARQL update.

- Rows without blank nodes are written as ``DELETE DATA`` and ``INSERT DATA``. Without other
  operations in the text, Oxigraph applies it as one write, without a transaction that could be read
  from.
- SPARQL cannot name a blank node, and a long term must not be copied for each of many rows. Such a
  row is a solution of a ``VALUES`` block where a key replaces the term, and a custom function
  returns the term of the key.
- If a custom function fails, Oxigraph drops the row silently. Such a row therefore adds a quad to a
  graph that must not exist: the ``CREATE GRAPH`` that follows is an error then, and undoes
  everything. The function is a method of a dict, so that no Python code runs in which a signal
  could raise an exception.

Measured with pyoxigraph 0.5.13.

Bookkeeping
-----------

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
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import quote, unquote

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Store

from ...errors import ChainError
from ...patch.replay.replay import Position
from ...patch.replay.transactions import lock_of
from ...reserved import BOOKKEEPING_IRI, BOOKKEEPING_TEXT, bookkeeping_iri, private
from ..rows import Parameterised, Row, graph_text, row_of
from ..terms import DEFAULT_GRAPH, GraphName, check_store

#: Takes the key of a term, gives the term.
_TERM: Final = NamedNode(private("term"))
#: The graph that rows whose terms were not given make.
_FAILED: Final = f"<{private('failed')}>"

#: A custom function of Oxigraph's.
Function: TypeAlias = Callable[..., Any]

_NAMES: Final = ("s", "p", "o", "g")
#: Rows whose texts are put together at once.
_BATCH: Final = 4096
#: Characters of the terms that are handed over in one operation.
_OPERATION_CHARACTERS: Final = 16 << 20


def apply(store: Store, deletes: Iterable[Row], adds: Iterable[Row]) -> None:
    """Delete quads and add others, in one transaction. A quad that is to be deleted and is not
    there, or to be added and is, makes no difference. No quad may be in both."""
    update = Update()
    update.change(deletes, adds)
    update.run(store)


class Update:
    """Operations that are run as one transaction. Oxigraph takes their declarations in the
    beginning only."""

    def __init__(self) -> None:
        self.prologue = ""
        self._parts: list[str] = []
        #: The keys of terms by their text, and the terms by their keys.
        self._keys: dict[str, str] = {}
        self._terms: dict[Literal, Any] = {}

    def change(self, deletes: Iterable[Row], adds: Iterable[Row]) -> None:
        """Delete quads and add others; no quad may be in both."""
        data: list[str] = []
        guarded: list[str] = []
        for operation, rows in (("DELETE", deletes), ("INSERT", adds)):
            text, parameterised = self._ground(rows)
            if text:
                data.append(f"{operation} DATA {{{text}}}")
            guarded.extend(
                self._where(operation, part) for group in parameterised for part in _parted(group)
            )
        if guarded:
            guarded += [f"CREATE GRAPH {_FAILED}", f"DROP GRAPH {_FAILED}"]
        self._parts += guarded + data

    def operation(self, text: str) -> None:
        """Run an operation of SPARQL, after all others."""
        self._parts.append(text)

    def run(
        self, store: Store, functions: Mapping[NamedNode, Function] | None = None, **settings: Any
    ) -> None:
        """Run the operations, which may call ``functions``; the settings are those of
        ``Store.update``."""
        if not self._parts:
            return
        text = self.prologue + ";\n".join(self._parts)
        # A large text needs memory.
        self._parts.clear()
        needed = dict(functions or {})
        if self._terms:
            needed[_TERM] = self._terms.__getitem__
        try:
            # Passing functions takes Oxigraph longer than a small update.
            if needed:
                store.update(text, custom_functions=needed, **settings)
            else:
                store.update(text, **settings)
        except RuntimeError as error:
            if _FAILED in str(error):
                raise RuntimeError(
                    "a term could not be passed to Oxigraph; nothing changed"
                ) from error
            raise

    def _ground(self, rows: Iterable[Row]) -> tuple[str, list[list[Row]]]:
        """Ground rows as the quads of a DATA operation, and the others by the positions in which
        terms are parameterised."""
        texts: defaultdict[str, list[str]] = defaultdict(list)
        parameterised: defaultdict[tuple[bool, ...], list[Row]] = defaultdict(list)
        iterator = iter(rows)
        # Texts of single rows take more memory than what they come to.
        while batch := list(islice(iterator, _BATCH)):
            lines: defaultdict[str, list[str]] = defaultdict(list)
            for row in batch:
                subject, predicate, object_, graph = row
                if type(subject) is type(predicate) is type(object_) is type(graph) is str:
                    lines[graph].append(f"{subject} {predicate} {object_}.\n")
                else:
                    shape = (*(type(term) is str for term in row), graph == "")
                    parameterised[shape].append(row)
            for graph, chunk in lines.items():
                texts[graph].append("".join(chunk))
        data = (
            f"GRAPH {graph} {{{''.join(chunks)}}}\n" if graph else "".join(chunks)
            for graph, chunks in texts.items()
        )
        return "".join(data), list(parameterised.values())

    def _where(self, operation: str, rows: Sequence[Row]) -> str:
        """One operation for rows whose terms are parameterised in the same positions."""
        in_graph = rows[0][3] != ""
        width = 4 if in_graph else 3
        parameterised = [
            position for position in range(width) if isinstance(rows[0][position], Parameterised)
        ]
        columns = [
            f"?k{name}" if position in parameterised else f"?{name}"
            for position, name in enumerate(_NAMES[:width])
        ]
        lines = []
        for row in rows:
            cells: list[Any] = list(row[:width])
            for position in parameterised:
                cells[position] = self._key(cells[position])
            lines.append(f"({' '.join(cells)})\n")
        binds = "".join(
            f" BIND({_TERM}(?k{_NAMES[position]}) AS ?{_NAMES[position]})"
            for position in parameterised
        )
        found = " && ".join(f"BOUND(?{_NAMES[position]})" for position in parameterised)
        template = "GRAPH ?g { ?s ?p ?o }" if in_graph else "?s ?p ?o"
        # ?f is unbound unless a term is missing, so that it makes no quad.
        failed = f"GRAPH {_FAILED} {{ {_FAILED} {_FAILED} ?f }}"
        heads = (
            f"INSERT {{ {template} . {failed} }}"
            if operation == "INSERT"
            else f"DELETE {{ {template} }} INSERT {{ {failed} }}"
        )
        return (
            f"{heads} WHERE {{ VALUES ({' '.join(columns)}) {{\n{''.join(lines)}}}{binds}"
            f" BIND(IF({found}, ?none, {_FAILED}) AS ?f) }}"
        )

    def _key(self, text: Parameterised) -> str:
        key = self._keys.get(text)
        if key is None:
            name = str(len(self._keys))
            key = self._keys[text] = f'"{name}"'
            self._terms[Literal(name)] = text.term
        return key


def _parted(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Rows in parts of limited text: Oxigraph holds copies of the terms of an operation for each of
    its rows."""
    start = size = 0
    for number, row in enumerate(rows, 1):
        size += sum(map(len, row))
        if size > _OPERATION_CHARACTERS:
            yield rows[start:number]
            start = number
            size = 0
    if start < len(rows):
        yield rows[start:] if start else rows


# Bookkeeping

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
