"""Positions of terms in a statement, and the kinds of terms allowed there.

Jelly-RDF and Jelly-Patch share them: statements have the same fields in both. Numbers are those of
rdf.proto.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from .terms import Kind

SUBJECT: Final = 0
PREDICATE: Final = 1
OBJECT: Final = 2
GRAPH: Final = 3

POSITIONS: Final = ("subject", "predicate", "object", "graph")

#: Fields of RdfTriple and RdfQuad: the position and the kind of term that each sets.
STATEMENT_FIELDS: Final[dict[int, tuple[int, Kind]]] = {
    1: (SUBJECT, Kind.IRI),
    2: (SUBJECT, Kind.BLANK_NODE),
    3: (SUBJECT, Kind.LITERAL),
    4: (SUBJECT, Kind.TRIPLE),
    5: (PREDICATE, Kind.IRI),
    6: (PREDICATE, Kind.BLANK_NODE),
    7: (PREDICATE, Kind.LITERAL),
    8: (PREDICATE, Kind.TRIPLE),
    9: (OBJECT, Kind.IRI),
    10: (OBJECT, Kind.BLANK_NODE),
    11: (OBJECT, Kind.LITERAL),
    12: (OBJECT, Kind.TRIPLE),
    13: (GRAPH, Kind.IRI),
    14: (GRAPH, Kind.BLANK_NODE),
    15: (GRAPH, Kind.DEFAULT_GRAPH),
    16: (GRAPH, Kind.LITERAL),
}

#: Fields of RdfGraphStart.
GRAPH_START_FIELDS: Final[dict[int, Kind]] = {
    1: Kind.IRI,
    2: Kind.BLANK_NODE,
    3: Kind.DEFAULT_GRAPH,
    4: Kind.LITERAL,
}

#: Kinds of terms that RDF 1.1 allows in each position. ``rdf_star`` adds Kind.TRIPLE as subject and
#: object; everything else needs ``generalized_statements``.
PLAIN: Final = (
    frozenset({Kind.IRI, Kind.BLANK_NODE}),
    frozenset({Kind.IRI}),
    frozenset({Kind.IRI, Kind.BLANK_NODE, Kind.LITERAL}),
    frozenset({Kind.IRI, Kind.BLANK_NODE, Kind.DEFAULT_GRAPH}),
)
_STAR_POSITIONS: Final = (SUBJECT, OBJECT)


# Few different arguments occur, and every stream asks for all of them.
@cache
def undeclared(position: int, kind: Kind, generalized: bool, rdf_star: bool) -> str | None:
    """Return the option that must be declared for a term of ``kind`` in ``position``; None if none
    is needed.

    >>> undeclared(PREDICATE, Kind.BLANK_NODE, generalized=False, rdf_star=True)
    'generalized_statements'
    """
    if kind == Kind.TRIPLE:
        if not rdf_star:
            return "rdf_star"
        allowed = position in _STAR_POSITIONS
    else:
        allowed = kind in PLAIN[position]
    return None if allowed or generalized else "generalized_statements"
