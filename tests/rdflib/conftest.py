"""Stores of graphs: rdflib's own in memory, and Oxigraph's (oxrdflib)."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from jelly_plugins.backends import get_backend


@pytest.fixture(params=["default", "Oxigraph"])
def store(request: pytest.FixtureRequest) -> str:
    """The name of a store, as rdflib's constructors take it."""
    return str(request.param)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Counts loads and dumps that go to Oxigraph's own functions."""
    counted = SimpleNamespace(load=0, dump=0)
    backend = type(get_backend("oxigraph"))

    def counting(name: str) -> Any:
        method = getattr(backend, name)

        def call(*arguments: Any, **settings: Any) -> Any:
            setattr(counted, name, getattr(counted, name) + 1)
            return method(*arguments, **settings)

        return staticmethod(call)

    for name in ("load", "dump"):
        monkeypatch.setattr(backend, name, counting(name))
    return counted


@pytest.fixture
def quiet() -> Iterator[None]:
    """rdflib logs and warns what it thinks of lexical forms."""
    logging.disable(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield
    logging.disable(logging.NOTSET)
