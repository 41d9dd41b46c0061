"""Tests of sharded stores do not wait for the disk, unless they are about that."""

from __future__ import annotations

import pytest

from jelly_plugins.spark.shards import storage


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "_sync", lambda _: None)
