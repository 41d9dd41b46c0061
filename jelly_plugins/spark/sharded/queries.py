"""Which queries can each shard answer alone, so that the union of the answers is the answer?

What a shard has together is what has the same key: the subject, or the graph. So a query will do
if whatever it joins has one key, by name: the same variable, or the same term. That is looked for
in the query's algebra. What is not known to be right here is refused.

Rules, for a part of a query and the key that all of its solutions have:
1. Triple patterns that are joined need the same key.
2. OPTIONAL, MINUS and EXISTS need, on the right, the key of the left, or no pattern at all.
3. The sides of a UNION may have different keys; what it is joined with must have none.
4. A part without patterns (VALUES, BIND) has no key: it gives the same in each shard, so that it
   must be joined with one that has.
5. Whatever looks at several solutions at once (DISTINCT, ORDER BY, LIMIT, aggregates, subqueries)
   would look at those of one shard.
6. A graph's name without a pattern in that graph (GRAPH ?g {}) would be looked for in each shard,
   which has some of the graphs.

The structure of a query is read by rdflib's parser, but the shards answer it with Oxigraph: so what
the two could read in different ways is refused, and what an IRI is, with its prefix, its base and
its escapes, is asked of Oxigraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from pyoxigraph import Store

from ...errors import JellyError, MissingExtraError
from ...oxigraph.rows import text_of
from .layout import ShardBy


class QueryError(JellyError):
    """A query that is not well-formed, or that shards cannot answer alone."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What is to be asked a query.

    :ivar variables: names of the query's variables, in order.
    :ivar keys: the keys whose shards are to be asked, in the syntax of N-Triples; None for all.
    """

    variables: tuple[str, ...]
    keys: frozenset[str] | None = None

    @classmethod
    def all(cls, query: str) -> Scope:
        """All shards.

        :raises QueryError: it is no SELECT query, or asks other stores (SERVICE).
        """
        # Before Oxigraph sees it, which would ask them: once for each shard.
        if any(found[0].upper() == "SERVICE" for found in _TOKEN.finditer(query)):
            raise QueryError(
                "SERVICE asks other stores: query them separately, and join the results"
            )
        try:
            found: Any = Store().query(query)
        except (SyntaxError, ValueError) as error:
            raise QueryError(f"the query is not well-formed: {error}") from error
        except (OSError, RuntimeError) as error:
            raise QueryError(f"the query cannot be asked: {error}") from error
        variables = getattr(found, "variables", None)
        if variables is None:
            raise QueryError("only SELECT queries can be asked of shards")
        return cls(tuple(variable.value for variable in variables))


#: The key of a part without patterns, and that of a UNION of several.
_NONE: Final = None
_SEVERAL: Final = object()

#: An escape of SPARQL in IRIs and strings; rdflib replaces it before it reads a query.
_ESCAPED: Final = re.compile(r"\\[uU]")

#: Parts of a query in which, or as which, a keyword may stand: comments, strings, IRIs, variables,
#: names with a prefix, and words.
_TOKEN: Final = re.compile(
    r"""(?sx)
    \#[^\r\n]*
    | \"{3}(?:[^"\\]|\\.|"(?!""))*\"{3} | '{3}(?:[^'\\]|\\.|'(?!''))*'{3}
    | "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*'
    | <[^<>"{}|^`\\\x00-\x20]*>
    | [?$@][\w-]+
    | [\w.-]*:(?:[\w.:%-]|\\.)*
    | \w+
    """
)

#: Parts that do nothing to the key of what they are made of.
_TRANSPARENT: Final = frozenset(("Project", "Filter", "Extend"))


def scope_of(query: str, shard_by: ShardBy) -> Scope:
    """The shards that can answer a query alone.

    :raises QueryError: they cannot, for the reason that it gives.

    >>> scope_of("SELECT * { ?s <urn:p> ?o ; <urn:q> ?x }", "subject").keys is None
    True
    >>> sorted(scope_of("SELECT * { <urn:s> <urn:p> ?o }", "subject").keys)
    ['<urn:s>']
    """
    # Before Oxigraph sees it, which would ask what SERVICE names.
    analysis = _Analysis(shard_by)
    algebra = _algebra(query)
    try:
        key = analysis.key(algebra)
    except JellyError:
        raise
    except Exception as error:
        # What rdflib makes of a query is documented nowhere in full.
        raise QueryError(f"the query cannot be checked: {error!r}") from error
    if key is _NONE:
        raise QueryError("the query has no triple pattern, so every shard would answer it")
    keys = analysis.constants
    return Scope(Scope.all(query).variables, None if keys is None else frozenset(keys))


def _algebra(query: str) -> Any:
    try:
        from rdflib.plugins.sparql.algebra import translateQuery, traverse
        from rdflib.plugins.sparql.parser import parseQuery
    except ImportError:
        raise MissingExtraError(
            "checking queries needs a library: pip install 'jelly-plugins[spark]'"
        ) from None
    if _ESCAPED.search(query):
        raise QueryError("the query cannot be checked: write \\u and \\U as the character itself")
    try:
        # A comment ends with a carriage return too, which rdflib does not know.
        prologue, body = parseQuery(query.replace("\r", "\n"))
        iris = _iris(prologue, body)
        body = traverse(body, visitPre=lambda node: iris.get(_iri_text(node)))
        algebra: Any = translateQuery([[], body]).algebra  # type: ignore[arg-type]
    except Exception as error:
        # Whatever rdflib cannot read, it says so in errors of many kinds.
        raise QueryError(f"the query is not well-formed: {error}") from error
    if algebra.name != "SelectQuery":
        raise QueryError("only SELECT queries can be asked of shards")
    if algebra.datasetClause:
        raise QueryError("the query names its dataset (FROM)")
    return algebra.p


def _iris(prologue: Iterable[Any], body: Any) -> dict[str | None, Any]:
    """The IRIs of a query as Oxigraph reads them, by the text that they have in the query.

    :param prologue: BASE and PREFIX; likewise ``body`` as rdflib has parsed it.
    :raises SyntaxError: Oxigraph cannot read one.
    """
    from rdflib import URIRef
    from rdflib.plugins.sparql.algebra import traverse

    # In their order, and once each.
    texts: dict[str, None] = {}

    def note(node: Any) -> None:
        text = _iri_text(node)
        if text is not None:
            texts[text] = None

    traverse(body, visitPre=note)
    if not texts:
        return {}
    known = " ".join(
        f"BASE <{each.iri}>" if each.name == "Base" else f"PREFIX {each.prefix or ''}: <{each.iri}>"
        for each in prologue
    )
    asked = " ".join(f"({text} AS ?v{place})" for place, text in enumerate(texts))
    found: Any = Store().query(f"{known} SELECT {asked} {{}}")
    return {text: URIRef(iri.value) for text, iri in zip(texts, next(found), strict=True)}


def _iri_text(node: Any) -> str | None:
    """The text of an IRI, with a prefix or without; None for any other part of a query."""
    from rdflib import URIRef

    if isinstance(node, URIRef):
        return f"<{node}>"
    if getattr(node, "name", None) == "pname":
        return f"{node.prefix or ''}:{node.localname or ''}"
    return None


class _Analysis:
    """Looks for the keys of the parts of a query.

    :ivar constants: the keys that are terms; None once there is one that is a variable.
    """

    def __init__(self, shard_by: ShardBy) -> None:
        self._by_graph = shard_by == "graph"
        self.constants: set[str] | None = set()

    def key(self, part: Any, graph: Any = "") -> Any:
        """The key of a part.

        :param graph: the graph that it is about; the default graph is the empty string.
        :raises QueryError: shards cannot answer it alone.
        """
        name = part.name
        if name == "BGP":
            return self._patterns(part.triples, graph)
        if name in _TRANSPARENT:
            found = self.key(part.p, graph)
            self._check_expression(part.get("expr"), found, graph)
            return found
        if name == "Graph":
            if graph != "":
                raise QueryError("a GRAPH inside another one cannot be checked")
            found = self.key(part.p, part.term)
            if found is _NONE:
                raise QueryError("GRAPH has no triple pattern of its own in it")
            return found
        if name in ("Join", "LeftJoin", "Minus"):
            left, right = self.key(part.p1, graph), self.key(part.p2, graph)
            self._check_expression(part.get("expr"), left, graph)
            if left is _NONE and name != "Join" and right is not _NONE:
                raise QueryError("what is OPTIONAL or MINUS needs a triple pattern before it")
            return self._same(left, right)
        if name == "Union":
            left, right = self.key(part.p1, graph), self.key(part.p2, graph)
            if left is _NONE or right is _NONE:
                raise QueryError("a side of a UNION has no triple pattern")
            return left if _equal(left, right) else _SEVERAL
        if name == "ToMultiSet" and _is_values(part.p):
            return _NONE
        raise QueryError(f"{name} needs more than one shard can see: apply it to the result")

    def _patterns(self, triples: Iterable[Any], graph: Any) -> Any:
        found: Any = _NONE
        for subject, predicate, _ in triples:
            if not self._by_graph and not _is_term(predicate):
                raise QueryError("a property path leaves its subject, and so its shard")
            key = graph if self._by_graph else subject
            found = self._same(found, self._noted(key))
        return found

    def _noted(self, key: Any) -> Any:
        """A key, taken down if it is a term."""
        constant = key if key == "" and type(key) is str else _constant(key)
        if constant is None:
            self.constants = None
        elif self.constants is not None:
            self.constants.add(constant)
        return key

    def _same(self, left: Any, right: Any) -> Any:
        if left is _NONE:
            return right
        if right is _NONE or _equal(left, right):
            return left
        what = "graph" if self._by_graph else "subject"
        raise QueryError(
            f"the query joins what does not have the same {what}, and may be in different shards"
        )

    def _check_expression(self, expression: Any, key: Any, graph: Any) -> None:
        """Look at the patterns in an expression, and for what has one value in a whole query."""
        if isinstance(expression, list | tuple):
            for each in expression:
                self._check_expression(each, key, graph)
        elif hasattr(expression, "items"):
            name = getattr(expression, "name", "")
            if name == "Builtin_NOW":
                raise QueryError("NOW() differs between shards: give the time as a value")
            if name in ("Builtin_EXISTS", "Builtin_NOTEXISTS"):
                if key is _NONE:
                    raise QueryError("EXISTS needs a triple pattern outside of it")
                self._same(key, self.key(_pattern(expression.graph), graph))
            else:
                self._check_expression(list(expression.values()), key, graph)


def _pattern(found: Any) -> Any:
    """The algebra of a pattern in an expression, which rdflib may not have translated."""
    from rdflib.plugins.sparql.algebra import translateGroupGraphPattern, translatePath, traverse

    if not hasattr(found, "part"):
        return found
    return translateGroupGraphPattern(traverse(found, visitPost=translatePath))


def _is_values(table: Any) -> bool:
    """Whether solutions are listed in the query; without any, rdflib has an empty list."""
    return isinstance(table, list) or table.name == "values"


def _equal(left: Any, right: Any) -> bool:
    return left is not _SEVERAL and right is not _SEVERAL and bool(left == right)


def _is_term(predicate: Any) -> bool:
    from rdflib.term import Identifier

    return isinstance(predicate, Identifier)


def _constant(key: Any) -> str | None:
    """The text of a key that is an IRI; None for a variable, or a blank node, which is one."""
    from rdflib import URIRef

    return f"<{key}>" if isinstance(key, URIRef) else None


def as_text(names: Iterable[str], solution: Iterable[Any]) -> dict[str, str | None]:
    """A solution by the names of variables, with its terms in the syntax of N-Triples."""
    return {
        name: None if term is None else text_of(term)
        for name, term in zip(names, solution, strict=True)
    }
