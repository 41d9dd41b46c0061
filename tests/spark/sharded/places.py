"""Object stores for tests that do not need a network: what a bucket has, in a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from obstore.store import LocalStore

from jelly_plugins.spark.sharded.storage.objects import ObjectStorage
from jelly_plugins.spark.sharded.storage.objects.cache import FOLDER_VARIABLE
from jelly_plugins.spark.sharded.storage.objects.storage import CACHE_FOLDER


def _connect(url: str, _: Mapping[str, Any]) -> LocalStore:
    return LocalStore(url, automatic_cleanup=True, mkdir=True)


class FolderOfObjects(ObjectStorage):
    """An object store in a folder, which is called as the folder is."""

    def __init__(self, path: Path, options: Mapping[str, Any] | None = None) -> None:
        # Workers of Spark's have the environment that they were started in.
        options = options or {CACHE_FOLDER: os.environ[FOLDER_VARIABLE]}
        super().__init__("memory://objects", options, _connect)
        self.name = str(path)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (Path(self.name), self._options)

    @property
    def root(self) -> Path:  # type: ignore[override]
        return Path(self.name)
