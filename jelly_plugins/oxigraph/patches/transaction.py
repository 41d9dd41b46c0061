"""Deletions and additions as one transaction of a store: all of them or none.

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
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeAlias

from pyoxigraph import Literal, NamedNode, Store

from ...reserved import private
from ..rows import Parameterised, Row

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
