"""Namespaces that a stream declares, on their way into an rdflib graph."""

from __future__ import annotations

from typing import Final

from rdflib.graph import Graph

from ..errors import LimitError, TermError

#: Namespaces that a stream may declare: rdflib takes a time for each that grows with their number.
MAX_NAMESPACES: Final = 4096


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

    def add(self, name: str, iri: str) -> None:
        """Take a declaration; repeats count once.

        :raises TermError: rdflib cannot bind it.
        :raises LimitError: there are too many.
        """
        if " " in name:
            raise TermError(f"rdflib cannot bind the namespace {name!r}: it has a space")
        self._found[name, iri] = None
        if len(self._found) > MAX_NAMESPACES:
            raise LimitError(f"more than {MAX_NAMESPACES} namespaces are declared")

    def bind(self, graph: Graph) -> None:
        """Bind the declarations as rdflib's own parsers do.

        :raises TermError: rdflib cannot bind one.
        """
        try:
            for name, iri in self._found:
                graph.bind(name, iri)
        except RecursionError as error:
            # rdflib keeps namespaces in a tree, as deep as they are prefixes of one another.
            raise TermError("rdflib cannot bind namespaces that nest so deep") from error
