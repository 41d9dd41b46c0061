"""rdflib as a backend: what its entry point in the group ``jelly_plugins.backends`` names."""

from __future__ import annotations

from typing import Final

from rdflib.graph import Dataset, Graph

from ..backends import Backend, BlankNodes
from .reading import load
from .terms import RdflibFactory, describe
from .writing import dump


class RdflibBackend:
    """rdflib's terms, graphs and datasets; see :class:`~jelly_plugins.backends.Backend`,
    :func:`~jelly_plugins.rdflib.load` and :func:`~jelly_plugins.rdflib.writing.dump`."""

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

    load = staticmethod(load)
    dump = staticmethod(dump)


BACKEND: Final[Backend] = RdflibBackend()
