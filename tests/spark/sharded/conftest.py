"""What tests of sharded stores share."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from jelly_plugins.spark.sharded import cleaning, storage
from jelly_plugins.spark.sharded.storage.objects.cache import FOLDER_VARIABLE

from .places import FolderOfObjects


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a vacuum without a grace period remove data that may belong to an active attempt."""
    monkeypatch.setattr(cleaning, "LEAST_GRACE", timedelta())


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _cached(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """No test leaves anything in the user's cache."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(cache))


@pytest.fixture(params=["folders", pytest.param("objects", marks=pytest.mark.slow)])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes of each root a folder, as it is, or an object store that keeps all in that folder."""
    if request.param == "objects":
        monkeypatch.setattr(storage, "LocalStorage", FolderOfObjects)
