"""Tests of sharded stores do not wait for the disk, unless they are about that."""

from __future__ import annotations

import pytest

from jelly_plugins.spark.shards import root


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(root, "_sync", lambda _: None)
