"""Apply logs to a sharded store, and compare what it has with what it should have."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyoxigraph import Quad

from jelly_plugins.patch import read_patches, write_patches
from jelly_plugins.spark.shards import Applied, ShardedStore, apply_patches, verify

from .model import Patch, text_of


def log_file(path: Path, patches: Iterable[Patch]) -> str:
    """Write a log, in the format of the file's name."""
    write_patches(read_patches(text_of(patches)), str(path))
    return str(path)


def apply(root: object, *sources: object, shards: int | None = None, **settings: Any) -> Applied:
    """Apply a log on this machine, to three shards by default."""
    if shards is None and not any(Path(str(root)).glob("_versions/*")):
        shards = 3
    return apply_patches(None, list(sources), root, shards=shards, **settings)  # type: ignore[arg-type]


def quads(root: object, version: int | None = None) -> list[Quad]:
    return list(ShardedStore(root, version=version))  # type: ignore[arg-type]


def assert_same(root: object, expected: set[Quad]) -> None:
    """The shards have exactly these quads, each of them once and in the right place."""
    store = ShardedStore(root)  # type: ignore[arg-type]
    found = list(store)
    assert len(found) == len(set(found)) == len(store)
    assert set(found) == expected
    assert all(quad in store for quad in found)
    assert verify(root) == []  # type: ignore[arg-type]
