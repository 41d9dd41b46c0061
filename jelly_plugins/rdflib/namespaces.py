"""Namespaces that a stream declares, on their way into an rdflib graph."""

from __future__ import annotations

from bisect import insort
from typing import Final

from rdflib.graph import Graph

from ..errors import LimitError, TermError

#: Namespaces that a stream may declare: rdflib takes a time for each that grows with their number.
MAX_NAMESPACES: Final = 4096

#: Namespaces of one stream that may begin with one another, counted from time to time: rdflib keeps
#: them in a tree and descends it recursively.
MAX_NESTED: Final = 200

#: Declarations after which they are counted again.
_COUNTED: Final = 50


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
        #: In order: an IRI comes after those that it begins with, and before any other.
        self._iris: list[str] = []

    def add(self, name: str, iri: str) -> None:
        """Take a declaration; repeats count once.

        :raises TermError: rdflib cannot bind it.
        :raises LimitError: there are too many, or they nest too deep.
        """
        if " " in name:
            raise TermError(f"rdflib cannot bind the namespace {name!r}: it has a space")
        if (name, iri) in self._found:
            return
        self._found[name, iri] = None
        if len(self._found) > MAX_NAMESPACES:
            raise LimitError(f"more than {MAX_NAMESPACES} namespaces are declared")
        insort(self._iris, iri)
        # Each count takes as many steps as there are declarations.
        if len(self._iris) % _COUNTED == 0 and self._depth() > MAX_NESTED:
            raise LimitError(f"more than {MAX_NESTED} namespaces nest (begin with one another)")

    def _depth(self) -> int:
        """The number of IRIs of which each begins with the one before."""
        deepest = 0
        outer: list[str] = []
        for iri in self._iris:
            while outer and not iri.startswith(outer[-1]):
                outer.pop()
            if not outer or iri != outer[-1]:
                outer.append(iri)
            deepest = max(deepest, len(outer))
        return deepest

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
