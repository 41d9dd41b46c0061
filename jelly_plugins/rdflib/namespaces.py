"""Namespaces that a stream declares, on their way into an rdflib graph."""

from __future__ import annotations

from typing import Final

from rdflib.graph import Graph

from ..errors import LimitError, TermError

#: Namespaces that a stream may declare: rdflib takes a time for each that grows with their number.
MAX_NAMESPACES: Final = 4096

#: Namespaces of one stream that may begin with one another: rdflib keeps them in a tree and
#: descends it recursively.
MAX_NESTED: Final = 200


class DeclaredNamespaces:
    """Gathers declarations while a source is read, and binds them once it is."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], None] = {}
        #: How many of the IRIs each begins with, itself included.
        self._depths: dict[str, int] = {}

    def add(self, name: str, iri: str) -> None:
        """Take a declaration; repeats count once."""
        if " " in name:
            raise TermError(f"rdflib cannot bind the namespace {name!r}: it has a space")
        self._found[name, iri] = None
        if len(self._found) > MAX_NAMESPACES:
            raise LimitError(f"more than {MAX_NAMESPACES} namespaces are declared")
        if iri not in self._depths and self._nest(iri) > MAX_NESTED:
            raise LimitError(f"more than {MAX_NESTED} namespaces nest (begin with one another)")

    def _nest(self, iri: str) -> int:
        """Take an IRI that is not known; return how deep it, or one that begins with it, nests."""
        depths = self._depths
        longer = [each for each in depths if each.startswith(iri)]
        for each in longer:
            depths[each] += 1
        depths[iri] = 1 + sum(map(iri.startswith, depths))
        return max(depths[each] for each in (iri, *longer))

    def bind(self, graph: Graph) -> None:
        """Bind the declarations as rdflib's own parsers do."""
        try:
            for name, iri in self._found:
                graph.bind(name, iri)
        except RecursionError as error:
            # With those that the graph had, or near the caller's recursion limit.
            raise TermError("rdflib cannot bind namespaces that nest so deep") from error
