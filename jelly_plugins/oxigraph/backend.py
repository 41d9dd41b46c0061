"""Oxigraph as a backend: what the entry point ``oxigraph`` of ``jelly_plugins.backends`` names."""

from __future__ import annotations

from typing import Any, Final

from pyoxigraph import Store

from ..backends import Backend, BlankNodes
from ..codec import TermFactory
from .dumping import dump
from .loading import load
from .patches.record import record
from .patches.replay import replay
from .patches.store import (
    namespaces,
    positions,
    set_position,
)
from .terms import OxigraphFactory, describe


class OxigraphBackend:
    """pyoxigraph's terms and stores, see :class:`jelly_plugins.backends.Backend`."""

    name: Final = "oxigraph"
    describe = staticmethod(describe)

    def owns(self, store: object) -> bool:
        """Whether it is a ``Store``."""
        return isinstance(store, Store)

    def factory(self, *, blank_nodes: BlankNodes = "fresh") -> TermFactory[Any]:
        """A factory of pyoxigraph's terms; statements are its ``Triple`` and ``Quad``."""
        return OxigraphFactory(blank_nodes=blank_nodes)

    def new_store(self) -> Store:
        """An empty store in memory."""
        return Store()

    load = staticmethod(load)
    dump = staticmethod(dump)
    replay = staticmethod(replay)
    record = staticmethod(record)
    positions = staticmethod(positions)
    set_position = staticmethod(set_position)
    namespaces = staticmethod(namespaces)


BACKEND: Final[Backend] = OxigraphBackend()
