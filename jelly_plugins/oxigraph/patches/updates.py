"""The effect of a SPARQL update, quad by quad, before it is made.

Oxigraph does not report what an update changes, and to compare the store with a copy takes 14 times
as long where a small update changes a store of 30,000 quads. So the text of an update is split into
its operations, and these into templates and patterns:

- Oxigraph itself turns a template into quads: IRIs replace its variables, and an empty store runs
  it as an insertion.
- The store evaluates the pattern: an update passes the values of the template's variables to
  functions, and then fails, so that nothing changes. The changes of the operations before are part
  of that update, so that the pattern sees them.
- Each solution, substituted for the variables, gives the quads. Blank nodes of the template are new
  ones for each solution.

The functions are methods of lists: no Python code runs in which a signal could raise an exception,
which Oxigraph would treat as a missing value.

Reference: SPARQL 1.1 Update, section "SPARQL Update Grammar"; SPARQL 1.2 for triple terms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyoxigraph import BlankNode, NamedNode, Quad, Store, Triple

from ...reserved import BOOKKEEPING_TEXT, private
from ..terms import DEFAULT_GRAPH
from .store import Function

if TYPE_CHECKING:
    from .record import Changes

_ESCAPE: Final = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_LOCAL: Final = r"(?:[\w\-.:·]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%])*"
_TOKEN: Final = re.compile(
    rf"""
      (?P<space>  \s+ | \#[^\r\n]* )
    | (?P<iri>    <(?:[^<>"{{}}|^`\\\x00-\x20]|{_ESCAPE})*> )
    | (?P<string> "{{3}}(?:[^"\\]|\\.|"(?!""))*"{{3}} | '{{3}}(?:[^'\\]|\\.|'(?!''))*'{{3}}
                | "(?:[^"\\\r\n]|\\.)*" | '(?:[^'\\\r\n]|\\.)*' )
    | (?P<variable> [?$]\w[\w·]* )
    | (?P<name>   (?:[^\W\d_][\w\-.·]*)?:{_LOCAL} | _:[\w\-.·]+ )
    | (?P<tag>    @[A-Za-z]+(?:-[A-Za-z0-9]+)* )
    | (?P<word>   [^\W\d_]\w* )
    | (?P<other>  . )
    """,
    re.VERBOSE | re.DOTALL,
)
#: Operations on whole graphs, which have no pattern.
_GRAPH_OPERATIONS: Final = ("LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY")

_NOT_THERE: Final = f"<{private('not-there')}>"
_UNBOUND: Final = NamedNode(private("unbound"))
_VARIABLE: Final = private("variable:")
_FUNCTION: Final = private("value:")
_PROBE: Final = f"<{private('probe')}>"


class _Token(NamedTuple):
    """A token outside of braces, or a group in braces: ``{``. A word is in upper case."""

    text: str
    start: int
    end: int


@dataclass(slots=True)
class SparqlOperation:
    """One operation of an update, in parts of its text, which are empty where it has none: its
    declarations, the whole operation without these, words of an operation on graphs, whether the
    templates are data, WITH and its IRI, templates without braces, the clauses USING, and the
    pattern with its braces."""

    prologue: str
    text: str = ""
    words: tuple[str, ...] = ()
    data: bool = False
    with_graph: str = ""
    delete: str = ""
    insert: str = ""
    using: str = ""
    where: str = ""


def _tokens(text: str) -> Iterator[_Token]:
    """The tokens of an update that Oxigraph has parsed; groups in braces as one token."""
    depth = start = 0
    for found in _TOKEN.finditer(text):
        token = found[0]
        if found.lastgroup == "space":
            continue
        if token == "{":
            start = start if depth else found.start()
            depth += 1
        elif token == "}":
            depth -= 1
            if not depth:
                yield _Token("{", start, found.end())
        elif not depth:
            word = token.upper() if found.lastgroup == "word" else token
            yield _Token(word, *found.span())


def operations_of(text: str) -> tuple[int, Iterator[SparqlOperation]]:
    """Where the declarations at the start of an update end, and its operations, in order; the text
    must be valid before these are iterated over."""
    tokens = list(_tokens(text))
    at = end = 0
    while at < len(tokens) and tokens[at].text in ("BASE", "PREFIX", "VERSION"):
        at += 3 if tokens[at].text == "PREFIX" else 2
        end = tokens[min(at, len(tokens)) - 1].end
    operations = (
        _operation(text, f"{text[:end]}\n", list(group))
        for is_separator, group in groupby(tokens[at:], lambda token: token.text == ";")
        if not is_separator
    )
    return end, operations


def _operation(text: str, prologue: str, tokens: list[_Token]) -> SparqlOperation:
    made = SparqlOperation(prologue)
    words = tuple(token.text for token in tokens)
    last = tokens[-1]
    made.text = text[tokens[0].start : last.end]
    if words[0] in _GRAPH_OPERATIONS:
        made.words = words
        return made
    made.data = "DATA" in words
    if not made.data:
        made.where = text[last.start : last.end]
    if words[0] == "WITH":
        made.with_graph = text[tokens[0].start : tokens[1].end]
    if "USING" in words:
        made.using = text[tokens[words.index("USING")].start : tokens[-2].start]
    for (word, *_), following in pairwise(tokens):
        # The template of DELETE WHERE is the pattern.
        group = following if following.text == "{" else last
        if word == "DELETE":
            made.delete = text[group.start + 1 : group.end - 1]
        elif word == "INSERT":
            made.insert = text[group.start + 1 : group.end - 1]
    return made


def with_variables_as(text: str, prefix: str) -> tuple[str, list[str]]:
    """A template with IRIs instead of variables, which are ``prefix`` and the variable's name; and
    the names."""
    names: dict[str, None] = {}
    parts = []
    for found in _TOKEN.finditer(text):
        token = found[0]
        if found.lastgroup == "variable":
            names[token[1:]] = None
            token = f"<{prefix}{token[1:]}>"
        parts.append(token)
    return "".join(parts), list(names)


class UpdateEffect:
    """Finds what an update changes in a store, and passes it to the changes of a transaction."""

    def __init__(self, store: Store, changes: Changes, settings: dict[str, Any]) -> None:
        self._store = store
        self._changes = changes
        self._functions: dict[NamedNode, Function] = dict(
            settings.pop("custom_functions", None) or {}
        )
        self._settings = settings

    def take(self, text: str) -> None:
        """Pass an update's changes to the transaction, one operation after the other."""
        end, operations = operations_of(text)
        try:
            # Oxigraph parses the whole text, and runs nothing of it after this failure.
            Store().update(
                f"{text[:end]}\nDROP GRAPH {_NOT_THERE};\n{text[end:]}",
                custom_functions=self._functions,
                **self._settings,
            )
        except RuntimeError as error:
            if _NOT_THERE not in str(error):
                raise
        for operation in operations:
            if operation.words:
                self._change_graphs(operation)
            elif operation.data:
                self._changes.remove_all(self._template(operation, operation.delete))
                self._changes.extend(self._template(operation, operation.insert))
            else:
                self._modify(operation)

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
        store = Store()
        if template.strip():
            store.update(
                f"{operation.prologue}{operation.with_graph} INSERT {{ {template} }} WHERE {{}}",
                **self._settings,
            )
        return iter(store)

    def _solutions(self, operation: SparqlOperation, names: list[str]) -> Iterator[dict[str, Any]]:
        """The values of variables, one dict per solution; unbound variables are left out."""
        # The last value, which is always the same, counts solutions without variables.
        values = [*(f"COALESCE(?{name}, {_UNBOUND})" for name in names), str(_UNBOUND)]
        columns: list[list[Any]] = [[] for _ in values]
        functions = dict(self._functions)
        binds = []
        for number, (column, value) in enumerate(zip(columns, values, strict=True)):
            functions[NamedNode(f"{_FUNCTION}{number}")] = column.append
            binds.append(f"BIND(<{_FUNCTION}{number}>({value}) AS ?jelly_plugins_{number})")
        # Functions return nothing, so that no quad is made; but Oxigraph does not know that.
        made = " ".join(
            f"{_PROBE} {_PROBE} ?jelly_plugins_{number} ." for number in range(len(columns))
        )
        update = self._changes._begin_update()
        update.prologue = operation.prologue
        # The pattern does not see the bookkeeping.
        update.operation(f"DROP SILENT GRAPH {BOOKKEEPING_TEXT}")
        update.operation(
            f"{operation.with_graph} INSERT {{ {made} }} {operation.using} "
            f"WHERE {{ {operation.where} {' '.join(binds)} }}"
        )
        # It fails, and undoes all.
        update.operation(f"DROP GRAPH {_NOT_THERE}")
        try:
            update.run(self._store, functions, **self._settings)
        except RuntimeError as error:
            if _NOT_THERE not in str(error):
                raise
        if len({len(column) for column in columns}) > 1:
            raise RuntimeError("Oxigraph could not hand over all solutions; nothing changed")
        return (
            {name: value for name, value in zip(names, found, strict=False) if value != _UNBOUND}
            for found in zip(*columns, strict=True)
        )

    def _change_graphs(self, operation: SparqlOperation) -> None:
        changes = self._changes
        verb, *rest = operation.words
        words = [word for word in rest if word != "SILENT"]
        if verb == "LOAD":
            store = Store()
            store.update(f"{operation.prologue}{operation.text}", **self._settings)
            changes.extend(store)
        elif verb in ("CLEAR", "DROP"):
            which = words[-1]
            graph = None if which in ("NAMED", "ALL") else self._graph(operation, which)
            quads = changes._quads(graph)
            if which == "NAMED":
                quads = [quad for quad in quads if quad.graph_name != DEFAULT_GRAPH]
            changes.remove_all(quads)
        elif verb != "CREATE":
            source = self._graph(operation, words[words.index("TO") - 1])
            target = self._graph(operation, words[-1])
            if source == target:
                return
            quads = changes._quads(source)
            if verb != "ADD":
                changes.remove_all(changes._quads(target))
            changes.extend(
                Quad(quad.subject, quad.predicate, quad.object, target) for quad in quads
            )
            if verb == "MOVE":
                changes.remove_all(quads)

    def _graph(self, operation: SparqlOperation, word: str) -> Any:
        """The name of a graph that a word of an operation means."""
        if word == "DEFAULT":
            return DEFAULT_GRAPH
        [quad] = self._template(operation, f"{_PROBE} {_PROBE} {word}")
        return quad.object


def _fill(template: list[Quad], solutions: list[dict[str, Any]], *, fresh: bool) -> Iterator[Quad]:
    """The quads that solutions make of a template; none of a quad with a variable that has no
    value, or one that is not allowed there. Blank nodes may be ``fresh`` ones for each solution."""
    for values in solutions:
        nodes: dict[BlankNode, BlankNode] = {}
        for quad in template:
            with suppress(KeyError, TypeError):
                yield Quad(*[_value(term, values, nodes if fresh else None) for term in quad])


def _value(term: Any, values: dict[str, Any], nodes: dict[BlankNode, BlankNode] | None) -> Any:
    """The term that a solution makes of a term of a template. ``nodes`` are the new blank nodes of
    the solution; None keeps those of the template."""
    if isinstance(term, NamedNode) and term.value.startswith(_VARIABLE):
        return values[term.value.removeprefix(_VARIABLE)]
    if isinstance(term, BlankNode) and nodes is not None:
        return nodes.setdefault(term, BlankNode())
    if isinstance(term, Triple):
        return Triple(*[_value(part, values, nodes) for part in term])
    return term
