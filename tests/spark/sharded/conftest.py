"""What tests of sharded stores share."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jelly_plugins.spark.sharded import cleaning


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a vacuum without a grace period take what may be of an attempt at work."""
    monkeypatch.setattr(cleaning, "LEAST_GRACE", timedelta())
