"""Jobs of pyoxigraph: its quads, its stores in memory and on disk."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

from pyoxigraph import RdfFormat, Store

from jelly_plugins import oxigraph

from .codec_jobs import count, read_ntriples
from .data import Data
from .measure import Prepared, Runs

Labels = Literal["fresh", "keep"]


@contextmanager
def _in_memory() -> Iterator[None]:
    yield None


@contextmanager
def _on_disk() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="jelly-bench-") as folder:
        yield Path(folder)


def _store(folder: Path | None) -> Store:
    return Store() if folder is None else Store(folder)


def _load(data: Data, labels: Labels) -> Callable[[Path | None], Store]:
    def act(folder: Path | None) -> Store:
        store = _store(folder)
        oxigraph.load(store, data.jelly, blank_nodes=labels)
        return store

    return act


def _bulk_load(data: Data) -> Callable[[Path | None], Store]:
    def act(folder: Path | None) -> Store:
        store = _store(folder)
        store.bulk_load(data.ntriples, data.text_format)
        return store

    return act


def _loading(data: Data, make: Any, labels: Labels) -> Runs:
    return Runs(
        {
            "ours": Prepared(make, _load(data, labels)),
            "pyoxigraph, bulk_load": Prepared(make, _bulk_load(data)),
        }
    )


def jelly_to_pyoxigraph(data: Data) -> Runs:
    """Jelly → pyoxigraph quads, iterate"""
    return Runs(
        {
            "ours": lambda: count(oxigraph.read_quads(data.jelly)),
            "pyoxigraph, N-Triples": lambda: read_ntriples(data),
        }
    )


def jelly_to_memory(data: Data) -> Runs:
    """Jelly → pyoxigraph store in memory, labels fresh"""
    return _loading(data, _in_memory, "fresh")


def jelly_to_memory_kept(data: Data) -> Runs:
    """Jelly → pyoxigraph store in memory, labels kept"""
    return _loading(data, _in_memory, "keep")


def jelly_to_disk(data: Data) -> Runs:
    """Jelly → pyoxigraph store on disk, labels fresh"""
    return _loading(data, _on_disk, "fresh")


def jelly_to_disk_kept(data: Data) -> Runs:
    """Jelly → pyoxigraph store on disk, labels kept"""
    return _loading(data, _on_disk, "keep")


def _turtle(data: Data, make: Any) -> Runs:
    text_format = RdfFormat.TRIG if data.has_graphs else RdfFormat.TURTLE

    def ours(folder: Path | None) -> Store:
        store = _store(folder)
        oxigraph.load(store, data.turtle, format=text_format)
        return store

    def theirs(folder: Path | None) -> Store:
        store = _store(folder)
        store.bulk_load(data.turtle, text_format)
        return store

    return Runs({"ours": Prepared(make, ours), "pyoxigraph, bulk_load": Prepared(make, theirs)})


def turtle_to_memory(data: Data) -> Runs:
    """Turtle → pyoxigraph store in memory"""
    return _turtle(data, _in_memory)


def turtle_to_disk(data: Data) -> Runs:
    """Turtle → pyoxigraph store on disk"""
    return _turtle(data, _on_disk)


def _dumping(data: Data, store: Store, close: Callable[[], object] = lambda: None) -> Runs:
    store.bulk_load(data.ntriples, data.text_format)

    def ours() -> int:
        out = io.BytesIO()
        oxigraph.dump(store, out)
        return out.tell()

    def theirs() -> int:
        out = io.BytesIO()
        store.dump(out, RdfFormat.N_QUADS)
        return out.tell()

    return Runs({"ours": ours, "pyoxigraph, N-Quads": theirs}, count=len(store), close=close)


def memory_to_jelly(data: Data) -> Runs:
    """pyoxigraph store in memory → Jelly"""
    return _dumping(data, Store())


def disk_to_jelly(data: Data) -> Runs:
    """pyoxigraph store on disk → Jelly"""
    folder = tempfile.TemporaryDirectory(prefix="jelly-bench-")
    return _dumping(data, Store(folder.name), folder.cleanup)


JOBS: Final = (
    jelly_to_pyoxigraph,
    jelly_to_memory,
    jelly_to_memory_kept,
    jelly_to_disk,
    jelly_to_disk_kept,
    turtle_to_memory,
    turtle_to_disk,
    memory_to_jelly,
    disk_to_jelly,
)
