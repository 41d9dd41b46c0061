"""Check which queries each shard can answer independently, so that the answers can be united.

A shard has all quads with the same key, the subject or the graph. A query is therefore supported if
everything that it joins provably has one key: the same variable, or the same term. The query's
algebra is analysed; a query that is not known to be supported is rejected.

Rules, for a part of a query and the key that all of its solutions have:
1. Triple patterns that are joined need the same key.
2. OPTIONAL, MINUS and EXISTS need, on the right, the key of the left, or no pattern at all.
3. The sides of a UNION may have different keys; what it is joined with must have none.
4. A part without patterns (VALUES, BIND) has no key: it has the same solutions in each shard, so it
   must be joined with a part that has a key.
5. Operations on several solutions (DISTINCT, ORDER BY, LIMIT, aggregates, subqueries) would only
   apply to the solutions of one shard.
6. A graph's name without a pattern in that graph (GRAPH ?g {}) would be evaluated in each shard,
   which has only some of the graphs.

rdflib parses the structure of a query, but Oxigraph evaluates it. Queries that the two could parse
differently are rejected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from pyoxigraph import Store

from ...errors import JellyError, MissingExtraError
from .root import ShardBy


class QueryError(JellyError):
    """The query is not well-formed, or shards cannot answer it independently."""


#: The key of a part without patterns, and that of a UNION of several.
_NONE: Final = None
_SEVERAL: Final = object()

#: An escape, which rdflib replaces before it parses a query; and a relative IRI.
_ESCAPED: Final = re.compile(r"\\[uU]")
_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")

#: Operators that keep the key of their operand.
_TRANSPARENT: Final = frozenset(("Project", "Filter", "Extend"))


class Scope(NamedTuple):
    """The shards to query.

    :ivar variables: names of the query's variables, in order.
    :ivar keys: the keys whose shards to query, in the syntax of N-Triples; None for all.
    """

    variables: list[str]
    keys: frozenset[str] | None


def scope_of(query: str, shard_by: ShardBy) -> Scope:
    """Return the shards that can answer a query independently.

    :raises QueryError: they cannot; the message has the reason.

    >>> scope_of("SELECT * { ?s <urn:p> ?o ; <urn:q> ?x }", "subject")
    Scope(variables=['o', 's', 'x'], keys=None)
    >>> scope_of("SELECT * { <urn:s> <urn:p> ?o }", "subject").keys
    frozenset({'<urn:s>'})
    """
    # Checked before Oxigraph evaluates it, which would query the endpoint of SERVICE.
    algebra = _algebra(query)
    analysis = _Analysis(shard_by)
    try:
        key = analysis.key(algebra)
    except QueryError as error:
        error.message += " (docs/how-to/spark-joins.md shows such queries in Spark SQL)"
        raise
    except JellyError:
        raise
    except Exception as error:
        # rdflib's algebra is not fully documented.
        raise QueryError(f"the query cannot be checked: {error!r}") from error
    if key is _NONE:
        raise QueryError("the query has no triple pattern, so every shard would answer it")
    try:
        found: Any = Store().query(query)
    except (SyntaxError, ValueError, OSError, RuntimeError) as error:
        raise QueryError(f"the query cannot be evaluated: {error}") from error
    keys = analysis.constants
    variables = [variable.value for variable in found.variables]
    return Scope(variables, None if keys is None else frozenset(keys))


def _algebra(query: str) -> Any:
    try:
        from rdflib import URIRef
        from rdflib.plugins.sparql.algebra import translateQuery, traverse
        from rdflib.plugins.sparql.parser import parseQuery
    except ImportError:
        raise MissingExtraError(
            "checking queries needs rdflib: pip install 'jelly-plugins[spark]', or in a checkout "
            "pip install '.[spark]'"
        ) from None
    if _ESCAPED.search(query):
        raise QueryError("escapes are not supported: write \\u and \\U as the character itself")

    def resolved(node: Any) -> Any:
        """Return the IRI of a prefixed name: rdflib knows one prefix of a namespace, and keeps
        backslashes."""
        if getattr(node, "name", None) != "pname":
            return None
        return URIRef(prefixes[node.prefix or ""] + (node.localname or "").replace("\\", ""))

    try:
        # A carriage return also ends a comment, which rdflib does not support.
        prologue, body = parseQuery(query.replace("\r", "\n"))
        prefixes = {each.prefix or "": str(each.iri) for each in prologue}
        body = traverse(body, visitPre=resolved)
        algebra: Any = translateQuery([[], body]).algebra  # type: ignore[arg-type]
    except KeyError as error:
        raise QueryError(f"the query is not well-formed: prefix {error} is unknown") from error
    except Exception as error:
        # rdflib raises exceptions of many types for queries that it cannot parse.
        raise QueryError(f"the query is not well-formed: {error}") from error
    # The two resolve some relative IRIs differently.
    if any(each.name == "Base" or not _ABSOLUTE.match(each.iri) for each in prologue):
        raise QueryError("BASE and relative IRIs are not supported: write absolute IRIs")
    if algebra.name != "SelectQuery":
        raise QueryError("only SELECT queries are supported for shards")
    if algebra.datasetClause:
        raise QueryError("FROM is not supported: remove it from the query")
    return algebra.p


class _Analysis:
    """Determines the keys of the parts of a query.

    :ivar constants: the keys that are terms; None once a key is a variable.
    """

    def __init__(self, shard_by: ShardBy) -> None:
        self._by_graph = shard_by == "graph"
        self.constants: set[str] | None = set()

    def key(self, part: Any, graph: Any = "") -> Any:
        """Return the key of a part.

        :param graph: the graph of the part; the empty string for the default graph.
        :raises QueryError: shards cannot answer the part independently.
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
                raise QueryError("nested GRAPH is not supported")
            found = self.key(part.p, part.term)
            if found is _NONE:
                raise QueryError("GRAPH must contain a triple pattern")
            return found
        if name in ("Join", "LeftJoin", "Minus"):
            left, right = self.key(part.p1, graph), self.key(part.p2, graph)
            self._check_expression(part.get("expr"), left, graph)
            if left is _NONE and name != "Join" and right is not _NONE:
                raise QueryError("OPTIONAL and MINUS need a triple pattern before them")
            return self._same(left, right)
        if name == "Union":
            left, right = self.key(part.p1, graph), self.key(part.p2, graph)
            if left is _NONE or right is _NONE:
                raise QueryError("each side of a UNION must have a triple pattern")
            return left if _equal(left, right) else _SEVERAL
        if name == "ToMultiSet" and _is_values(part.p):
            return _NONE
        raise QueryError(f"{name} needs the solutions of all shards: apply it to the result")

    def _patterns(self, triples: Iterable[Any], graph: Any) -> Any:
        found: Any = _NONE
        for subject, predicate, _ in triples:
            if not self._by_graph and not _is_term(predicate):
                raise QueryError("property paths are only supported with shards by graph")
            found = self._same(found, self._noted(graph if self._by_graph else subject))
        return found

    def _noted(self, key: Any) -> Any:
        """Return a key, and record it if it is a term."""
        from rdflib import URIRef

        if not isinstance(key, URIRef) and key != "":
            self.constants = None
        elif self.constants is not None:
            self.constants.add(f"<{key}>" if key else "")
        return key

    def _same(self, left: Any, right: Any) -> Any:
        if left is _NONE:
            return right
        if right is _NONE or _equal(left, right):
            return left
        what = "graph" if self._by_graph else "subject"
        raise QueryError(
            f"the query joins patterns that do not have the same {what}, so their quads may be in "
            "different shards"
        )

    def _check_expression(self, expression: Any, key: Any, graph: Any) -> None:
        """Check an expression for patterns, and for functions with one value per query."""
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
    """Return the algebra of a pattern in an expression, which rdflib may not have translated."""
    from rdflib.plugins.sparql.algebra import translateGroupGraphPattern, translatePath, traverse

    if not hasattr(found, "part"):
        return found
    return translateGroupGraphPattern(traverse(found, visitPost=translatePath))


def _is_values(table: Any) -> bool:
    """Return whether a table lists solutions (VALUES); rdflib has a list if it is empty."""
    return isinstance(table, list) or table.name == "values"


def _equal(left: Any, right: Any) -> bool:
    return left is not _SEVERAL and right is not _SEVERAL and bool(left == right)


def _is_term(predicate: Any) -> bool:
    from rdflib.term import Identifier

    return isinstance(predicate, Identifier)
