"""rdflib as a backend: what its entry point in the group ``jelly_plugins.backends`` names."""

from __future__ import annotations

from typing import Any, Final

from rdflib.graph import Dataset, Graph

from ..backends import Backend, BlankNodes
from ..io.sinks import Destination
from ..io.sources import Source
from .plugin import dump, load
from .terms import RdflibFactory, describe


class RdflibBackend:
    """rdflib's terms, graphs and datasets; see :class:`~jelly_plugins.backends.Backend`."""

    name: Final = "rdflib"
    describe = staticmethod(describe)

    def owns(self, store: object) -> bool:
        """Whether it is a graph or dataset of rdflib's."""
        return isinstance(store, Graph)

    def factory(self, *, blank_nodes: BlankNodes = "fresh") -> RdflibFactory:
        """A factory of rdflib's terms, for one reading."""
        return RdflibFactory(blank_nodes=blank_nodes)

    def new_store(self) -> Dataset:
        """An empty dataset in memory."""
        return Dataset()

    def load(self, store: Graph, src: Source, /, **settings: Any) -> int:
        """Read a Jelly-RDF source into a Graph, Dataset or ConjunctiveGraph; see
        :func:`~jelly_plugins.rdflib.plugin.load.load`."""
        return load.load(store, src, **settings)

    def dump(self, store: Graph, dst: Destination, /, **settings: Any) -> int:
        """Write a Graph, Dataset or ConjunctiveGraph; see
        :func:`~jelly_plugins.rdflib.plugin.dump.dump`."""
        return dump.dump(store, dst, **settings)


BACKEND: Final[Backend] = RdflibBackend()
