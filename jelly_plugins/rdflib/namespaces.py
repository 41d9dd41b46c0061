"""Namespaces that a stream declares, on their way into an rdflib graph."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from rdflib.graph import Graph

from ..errors import LimitError, TermError

#: Namespaces that a stream may declare: rdflib takes a time for each that grows with their number.
MAX_NAMESPACES: Final = 4096

#: Namespaces of one stream that may begin with one another: rdflib keeps them in a tree and
#: descends it recursively.
MAX_NESTED: Final = 200


class DeclaredNamespaces:
    """Gathers declarations while a source is read, and binds them once it is.

    >>> graph = Graph()
    >>> declared = DeclaredNamespaces()
    >>> declared.add("x", "http://example.org/")
    >>> declared.bind(graph)
    >>> print(graph.namespace_manager.store.namespace("x"))
    http://example.org/
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], None] = {}
        #: The IRIs in order, so that those which begin with one another are neighbours; how many of
        #: them each begins with, itself included; and their lengths.
        self._iris: list[str] = []
        self._depths: dict[str, int] = {}
        self._lengths: set[int] = set()

    def add(self, name: str, iri: str) -> None:
        """Take a declaration; repeats count once.

        :raises TermError: rdflib cannot bind it.
        :raises LimitError: there are too many, or they nest too deep.
        """
        if " " in name:
            raise TermError(f"rdflib cannot bind the namespace {name!r}: it has a space")
        self._found[name, iri] = None
        if len(self._found) > MAX_NAMESPACES:
            raise LimitError(f"more than {MAX_NAMESPACES} namespaces are declared")
        if iri not in self._depths and self._nest(iri) > MAX_NESTED:
            raise LimitError(f"more than {MAX_NESTED} namespaces nest (begin with one another)")

    def _nest(self, iri: str) -> int:
        """Take an IRI that is not known.

        :return: the number of namespaces that it nests, at most: of those that it begins with, or
            of those that one beginning with it does.
        """
        iris, depths = self._iris, self._depths
        start = bisect_left(iris, iri)
        end = bisect_left(iris, True, start, key=lambda other: not other.startswith(iri))
        longer = iris[start:end]
        shorter = (iri[:length] for length in self._lengths if length < len(iri))
        depths[iri] = 1 + sum(each in depths for each in shorter)
        for other in longer:
            depths[other] += 1
        iris.insert(start, iri)
        self._lengths.add(len(iri))
        return max(depths[each] for each in [iri, *longer])

    def bind(self, graph: Graph) -> None:
        """Bind the declarations as rdflib's own parsers do.

        :raises TermError: rdflib cannot bind one.
        """
        try:
            for name, iri in self._found:
                graph.bind(name, iri)
        except RecursionError as error:
            # With those that the graph had, or near the caller's recursion limit.
            raise TermError("rdflib cannot bind namespaces that nest so deep") from error
