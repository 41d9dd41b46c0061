"""The effect of a SPARQL update, quad by quad, before it is made.

Oxigraph does not report what an update changes, and to compare the store with a copy takes 14 times
as long where a small update changes a store of 30,000 quads. So:

- Oxigraph itself turns a template into quads: IRIs replace its variables, and an empty store runs
  it as an insertion.
- The store evaluates the pattern: an update passes the values of the template's variables to
  functions, and then fails, so that nothing changes. The changes of the operations before are part
  of that update, so that the pattern sees them.
- Each solution, substituted for the variables, gives the quads. Blank nodes of the template are new
  ones for each solution.

The functions are methods of lists: no Python code runs in which a signal could raise an exception,
which Oxigraph would treat as a missing value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from pyoxigraph import BlankNode, NamedNode, Quad, Store, Triple

from ...reserved import BOOKKEEPING_TEXT, private
from .bookkeeping import BOOKKEEPING
from .sparql_parts import (
    SparqlOperation,
    operations_of,
    prologue_end,
    with_variables_as,
)
from .transaction import Function

if TYPE_CHECKING:
    from .staging import StagedChanges

_NOT_THERE: Final = f"<{private('not-there')}>"
_UNBOUND: Final = NamedNode(private("unbound"))
_VARIABLE: Final = private("variable:")
_FUNCTION: Final = private("value:")
_PROBE: Final = f"<{private('probe')}>"

_ALL: Final = "?s ?p ?o"
_ANY_GRAPH: Final = "GRAPH ?g { ?s ?p ?o }"


class UpdateDelta:
    """Finds what an update changes in a store, and passes it to the changes of a transaction.

    :param settings: of ``Store.update``: ``base_iri``, ``prefixes`` and custom functions.
    """

    def __init__(self, store: Store, changes: StagedChanges, settings: dict[str, Any]) -> None:
        self._store = store
        self._changes = changes
        self._functions: dict[NamedNode, Function] = dict(
            settings.pop("custom_functions", None) or {}
        )
        self._settings = settings

    def update(self, text: str) -> None:
        """Pass an update's changes to the transaction, one operation after the other.

        :raises SyntaxError: the update is malformed.
        :raises RuntimeError: an operation fails.
        """
        self._check(text)
        for operation in operations_of(text):
            if operation.words:
                self._graph_operation(operation)
            elif operation.data:
                self._changes.remove_all(self._template(operation, operation.delete))
                self._changes.extend(self._template(operation, operation.insert))
            else:
                self._modify(operation)

    def _check(self, text: str) -> None:
        """Have Oxigraph parse the text."""
        try:
            # The whole is parsed before this fails.
            start = prologue_end(text)
            Store().update(
                f"{text[:start]}\nDROP GRAPH {_NOT_THERE}; {text[start:]}",
                custom_functions=self._functions,
                **self._settings,
            )
        except RuntimeError as error:
            if _NOT_THERE not in str(error):
                raise

    def _modify(self, operation: SparqlOperation) -> None:
        templates = []
        names: dict[str, None] = {}
        for text in (operation.delete, operation.insert):
            template, found = with_variables_as(text, _VARIABLE)
            names.update(dict.fromkeys(found))
            templates.append(list(self._template(operation, template)))
        solutions = list(self._solutions(operation, list(names)))
        deletes, inserts = templates
        self._changes.remove_all(_fill(deletes, solutions, fresh=False))
        self._changes.extend(_fill(inserts, solutions, fresh=True))

    def _template(self, operation: SparqlOperation, template: str) -> Iterator[Quad]:
        """The quads of a template."""
        store = Store()
        if template.strip():
            store.update(
                f"{operation.prologue}{operation.with_graph} INSERT {{ {template} }} WHERE {{}}",
                **self._settings,
            )
        return iter(store)

    def _solutions(self, operation: SparqlOperation, names: list[str]) -> Iterator[dict[str, Any]]:
        """The values of variables, one dict per solution; unbound variables are left out."""
        columns: list[list[Any]] = [[] for _ in names] or [[]]
        functions = dict(self._functions)
        binds = []
        for number, column in enumerate(columns):
            functions[NamedNode(f"{_FUNCTION}{number}")] = column.append
            value = f"COALESCE(?{names[number]}, {_UNBOUND})" if names else str(_UNBOUND)
            binds.append(f"BIND(<{_FUNCTION}{number}>({value}) AS ?jelly_plugins_{number})")
        # Functions return nothing, so that no quad is made; but Oxigraph does not know that.
        made = " ".join(
            f"{_PROBE} {_PROBE} ?jelly_plugins_{number} ." for number in range(len(columns))
        )
        self._rehearse(
            operation.prologue,
            f"{operation.with_graph} INSERT {{ {made} }} {operation.using} "
            f"WHERE {{ {operation.where} {' '.join(binds)} }}",
            functions,
        )
        if len({len(column) for column in columns}) > 1:
            raise RuntimeError("Oxigraph could not hand over all solutions; nothing changed")
        if not names:
            return iter([{} for _ in columns[0]])
        return (
            {name: value for name, value in zip(names, values, strict=True) if value != _UNBOUND}
            for values in zip(*columns, strict=True)
        )

    def _rehearse(
        self, prologue: str, operation: str, functions: dict[NamedNode, Function]
    ) -> None:
        """Run an operation after what has changed so far, and undo it all. It does not see the
        bookkeeping.

        :raises RuntimeError: the operation fails.
        """
        update = self._changes.begin_update()
        update.prologue = prologue
        update.operation(f"DROP SILENT GRAPH {BOOKKEEPING_TEXT}")
        update.operation(operation)
        update.operation(f"DROP GRAPH {_NOT_THERE}")
        try:
            update.run(self._store, functions, **self._settings)
        except RuntimeError as error:
            if _NOT_THERE not in str(error):
                raise

    # Operations on graphs

    def _graph_operation(self, operation: SparqlOperation) -> None:
        verb, *rest = operation.words
        words = [word for word in rest if word != "SILENT"]
        if verb == "LOAD":
            self._load(operation)
            return
        # It may fail, for a graph that is not there.
        self._rehearse(operation.prologue, operation.text, self._functions)
        if verb == "CREATE":
            self._changes.create_graph(self._iri(operation, words[-1]))
        elif verb in ("CLEAR", "DROP"):
            self._clear(operation, words[-1], drop=verb == "DROP")
        else:
            at = words.index("TO")
            source, target = words[at - 1], words[at + 1 :][-1]
            if self._name(operation, source) == self._name(operation, target):
                return
            if verb != "ADD":
                self._clear(operation, target, drop=True)
            self._run_modify(operation, insert=_in_graph(target), where=_in_graph(source))
            if verb == "MOVE":
                self._clear(operation, source, drop=True)

    def _load(self, operation: SparqlOperation) -> None:
        store = Store()
        store.update(f"{operation.prologue}{operation.text}", **self._settings)
        self._changes.extend(store)

    def _clear(self, operation: SparqlOperation, graph: str, *, drop: bool) -> None:
        patterns = {"DEFAULT": (_ALL,), "NAMED": (_ANY_GRAPH,), "ALL": (_ALL, _ANY_GRAPH)}
        for pattern in patterns.get(graph, (_in_graph(graph),)):
            self._run_modify(operation, delete=pattern, where=pattern)
        if drop and graph != "DEFAULT":
            dropped = self._changes.known_graphs()
            if graph not in patterns:
                dropped = [self._iri(operation, graph)]
            for name in list(dropped):
                if name != BOOKKEEPING:
                    self._changes.drop_graph(name)

    def _run_modify(
        self, operation: SparqlOperation, *, where: str, delete: str = "", insert: str = ""
    ) -> None:
        self._modify(
            SparqlOperation(
                operation.prologue, delete=delete, insert=insert, where=f"{{ {where} }}"
            )
        )

    def _name(self, operation: SparqlOperation, word: str) -> Any:
        return None if word == "DEFAULT" else self._iri(operation, word)

    def _iri(self, operation: SparqlOperation, word: str) -> NamedNode:
        """The IRI that a word of an operation means."""
        [quad] = self._template(operation, f"{_PROBE} {_PROBE} {word}")
        assert isinstance(quad.object, NamedNode)
        return quad.object


def _in_graph(word: str) -> str:
    return _ALL if word == "DEFAULT" else f"GRAPH {word} {{ {_ALL} }}"


def _fill(template: list[Quad], solutions: list[dict[str, Any]], *, fresh: bool) -> Iterator[Quad]:
    """The quads that solutions make of a template.

    :param fresh: whether blank nodes are new ones for each solution.
    """
    for values in solutions:
        yield from filter(None, map(_Filling(values, fresh=fresh), template))


class _Filling:
    """Puts the values of one solution into quads of a template.

    :param fresh: whether blank nodes are new ones, the same in all quads of the solution.
    """

    def __init__(self, values: dict[str, Any], *, fresh: bool) -> None:
        self._values = values
        self._fresh = fresh
        self._nodes: dict[BlankNode, BlankNode] = {}

    def __call__(self, quad: Quad) -> Quad | None:
        """The quad; None if a variable has no value, or one that is not allowed there."""
        try:
            return Quad(*map(self._term, quad))
        except (KeyError, TypeError):
            return None

    def _term(self, term: Any) -> Any:
        if isinstance(term, NamedNode):
            if term.value.startswith(_VARIABLE):
                return self._values[term.value.removeprefix(_VARIABLE)]
        elif isinstance(term, BlankNode):
            if self._fresh:
                return self._nodes.setdefault(term, BlankNode())
        elif isinstance(term, Triple):
            return Triple(*map(self._term, term))
        return term
