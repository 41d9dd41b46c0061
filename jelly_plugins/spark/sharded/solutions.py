"""The solutions of a query in one store, with their terms as text. Knows nothing of Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyoxigraph import Store

from ...oxigraph.rows import text_of


def solutions(store: Store, query: str) -> Iterator[dict[str, str | None]]:
    """The solutions of a SELECT query, terms as text."""
    found: Any = store.query(query)
    names = [variable.value for variable in found.variables]
    for solution in found:
        yield {
            name: None if term is None else text_of(term)
            for name, term in zip(names, solution, strict=True)
        }
