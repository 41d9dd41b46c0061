"""Stores to test with: every test of a store runs in memory and on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyoxigraph import Store


@pytest.fixture(params=["memory", "disk"])
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """Makes empty stores of one kind."""
    made: list[Path] = []

    def make() -> Store:
        if request.param == "memory":
            return Store()
        made.append(tmp_path / f"store{len(made)}")
        return Store(made[-1])

    return make


@pytest.fixture
def store(new_store: Callable[[], Store]) -> Store:
    """An empty store."""
    return new_store()
