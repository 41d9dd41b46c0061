"""What a shard contains, as numbers. No Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pyoxigraph import Store

#: Counts quads; a triple pattern outside of GRAPH is in the default graph only.
_COUNTS: Final = """
    SELECT ?p (COUNT(*) AS ?n) { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }
    GROUP BY ?p ORDER BY DESC(?n) ?p
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardStatistics:
    """What a shard contains.

    :ivar shard: number of the shard.
    :ivar quads: number of quads.
    :ivar files: number of files of its store.
    :ivar bytes: size of these files; those that other versions share are included.
    :ivar predicates: number of quads by predicate, in the syntax of N-Triples, the most frequent
        first.
    """

    shard: int
    quads: int = 0
    files: int = 0
    bytes: int = 0
    predicates: Mapping[str, int] = field(default_factory=dict)


def predicates_of(store: Store) -> dict[str, int]:
    """Return the number of quads of a store by predicate, the most frequent first."""
    found: Any = store.query(_COUNTS)
    return {str(predicate): int(count.value) for predicate, count in found}
