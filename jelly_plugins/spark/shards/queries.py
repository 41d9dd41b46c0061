"""Check which queries each shard can answer independently, so that the answers can be united.

A shard has all quads with the same key, the subject or the graph. A query is supported if all of
its triple patterns have one key, the same variable or the same term, and each of its groups has a
pattern. Everything that is not known to be safe is rejected: operations on several solutions, such
as DISTINCT and aggregates, and groups without patterns, such as VALUES, which have the same
solutions in each shard.

rdflib parses the structure of a query, but Oxigraph evaluates it. Queries that the two could parse
differently are rejected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from pyoxigraph import Store

from ...errors import JellyError, MissingExtraError
from .root import ShardBy

#: An escape, which rdflib replaces before it parses a query; and an absolute IRI.
_ESCAPED: Final = re.compile(r"\\[uU]")
_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
#: Functions and patterns in expressions that are not supported.
_EXPRESSIONS: Final = {
    "Builtin_NOW": "NOW() differs between shards: give the time as a value",
    "Builtin_EXISTS": "EXISTS is not supported: use OPTIONAL and FILTER(bound(…))",
    "Builtin_NOTEXISTS": "NOT EXISTS is not supported: use MINUS",
}
#: What parts of the algebra are in a query.
_KEYWORDS: Final = {
    "Slice": "LIMIT or OFFSET",
    "OrderBy": "ORDER BY",
    "Distinct": "DISTINCT",
    "Reduced": "REDUCED",
    "AggregateJoin": "an aggregate such as COUNT",
    "ToMultiSet": "VALUES or a subquery",
    "ServiceGraphPattern": "SERVICE",
}


class QueryError(JellyError):
    """The query is not well-formed, or shards cannot answer it independently."""


class Scope(NamedTuple):
    """The names of a query's variables, and the key whose shard to query, in the syntax of
    N-Triples; None for all shards."""

    variables: list[str]
    key: str | None


def scope_of(query: str, shard_by: ShardBy) -> Scope:
    """Return the shards that can answer a query independently.

    >>> scope_of("SELECT * { ?s <urn:p> ?o ; <urn:q> ?x }", "subject")
    Scope(variables=['o', 's', 'x'], key=None)
    >>> scope_of("SELECT * { <urn:s> <urn:p> ?o }", "subject").key
    '<urn:s>'
    """
    # Checked before Oxigraph evaluates it, which would query the endpoint of SERVICE.
    part = _algebra(query)
    try:
        keys = list(_keys(part, "", shard_by))
    except QueryError as error:
        error.message += " (docs/how-to/spark-joins.md shows such queries in Spark SQL)"
        raise
    except Exception as error:
        # rdflib's algebra is not fully documented.
        raise QueryError(f"the query cannot be checked: {error!r}") from error
    if any(key != keys[0] for key in keys):
        raise QueryError(
            f"not all triple patterns have the same {shard_by}, so their quads may be in different "
            "shards (docs/how-to/spark-joins.md shows such queries in Spark SQL)"
        )
    try:
        found: Any = Store().query(query)
    except (SyntaxError, ValueError, OSError, RuntimeError) as error:
        raise QueryError(f"the query cannot be evaluated: {error}") from error
    return Scope([variable.value for variable in found.variables], _text(keys[0]))


def _text(key: Any) -> str | None:
    """Return the text of a key; None for a variable."""
    from rdflib import URIRef

    return f"<{key}>" if isinstance(key, URIRef) else "" if key == "" else None


def _algebra(query: str) -> Any:
    try:
        from rdflib import URIRef
        from rdflib.plugins.sparql.algebra import translateQuery, traverse
        from rdflib.plugins.sparql.parser import parseQuery
    except ImportError as error:
        raise MissingExtraError.of(f"queries need rdflib ({error})", "spark") from None
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


def _keys(part: Any, graph: Any, shard_by: ShardBy) -> Iterator[Any]:
    """Return the keys of the triple patterns in a part of a query, of which there is at least one.

    :param graph: the graph of the part; the empty string for the default graph.
    """
    from rdflib.term import Identifier

    name = part.name
    _check_expression(part.get("expr"))
    if name == "BGP":
        if not part.triples:
            raise QueryError("each group must begin with a triple pattern")
        for subject, predicate, _ in part.triples:
            if shard_by == "subject" and not isinstance(predicate, Identifier):
                raise QueryError("property paths are only supported with shards by graph")
            yield subject if shard_by == "subject" else graph
    elif name in ("Project", "Filter", "Extend"):
        yield from _keys(part.p, graph, shard_by)
    elif name == "Graph" and graph == "":
        yield from _keys(part.p, part.term, shard_by)
    elif name in ("Join", "LeftJoin", "Minus", "Union"):
        yield from _keys(part.p1, graph, shard_by)
        yield from _keys(part.p2, graph, shard_by)
    else:
        found = _KEYWORDS.get(name, name)
        raise QueryError(f"{found} is not supported: apply it to the result")


def _check_expression(expression: Any) -> None:
    if isinstance(expression, list | tuple):
        for each in expression:
            _check_expression(each)
    elif hasattr(expression, "items"):
        if (reason := _EXPRESSIONS.get(getattr(expression, "name", ""))) is not None:
            raise QueryError(reason)
        _check_expression(list(expression.values()))
