"""Jobs of recording: changes to stores and graphs with a log, and the same changes without one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

import rdflib
from pyoxigraph import Quad, RdfFormat, Store, parse, serialize

from jelly_plugins import oxigraph
from jelly_plugins import rdflib as jelly_rdflib
from jelly_plugins.codec import PatchOptions
from jelly_plugins.codec.patch.operations import header
from jelly_plugins.patch.model import new_id
from jelly_plugins.patch.writer import PatchSerializer

from .data import Data
from .measure import Prepared, Run, Runs

#: Maximum number of statements of the data that are added, and that number for one transaction.
_STATEMENTS: Final = 60_000
_TRANSACTION: Final = 10_000
#: The same for transactions of a single statement.
_SINGLE: Final = 2_000


@cache
def _quads(data: Data) -> list[Quad]:
    """Return the data's quads without duplicates."""
    parsed = parse(data.ntriples, RdfFormat.N_TRIPLES)
    return list(dict.fromkeys(islice(parsed, _STATEMENTS)))


def _text(data: Data) -> bytes:
    return serialize(_quads(data), format=RdfFormat.N_TRIPLES) or b""


def _parts(quads: list[Quad]) -> list[list[Quad]]:
    return [quads[at : at + _TRANSACTION] for at in range(0, len(quads), _TRANSACTION)]


@contextmanager
def _folder() -> Iterator[Path]:
    # A store may still be removing files.
    made = tempfile.TemporaryDirectory(prefix="jelly-bench-", ignore_cleanup_errors=True)
    with made as folder:
        yield Path(folder)


def _store(folder: Path, disk: bool) -> Store:
    return Store(folder / "store") if disk else Store()


def _bare(disk: bool, full: list[Quad], act: Callable[[Any], object]) -> Run:
    """Make a run that changes a store.

    :param full: the initial contents of the store.
    """

    @contextmanager
    def make() -> Iterator[Store]:
        with _folder() as folder:
            store = _store(folder, disk)
            store.extend(full)
            yield store
            del store

    return Prepared(make, act)


def _recorded(disk: bool, full: list[Quad], act: Callable[[Any], object], exact: bool) -> Run:
    """Make a run with the same changes, recorded."""

    @contextmanager
    def make() -> Iterator[oxigraph.Recorder]:
        with _folder() as folder:
            store = _store(folder, disk)
            store.extend(full)
            with oxigraph.record(store, folder / "log.jellyp", exact=exact) as recorder:
                yield recorder

    return Prepared(make, act)


def _compared(
    disk: bool,
    count: int,
    recorded: Callable[[Any], object],
    bare: Callable[[Any], object],
    full: list[Quad] | None = None,
) -> Runs:
    before = full or []
    return Runs(
        {
            "ours, what changes": _recorded(disk, before, recorded, True),
            "ours, what is asked for (exact=False)": _recorded(disk, before, recorded, False),
            "pyoxigraph, not recorded": _bare(disk, before, bare),
        },
        count=count,
        things="changes",
    )


def _adding(data: Data, disk: bool) -> Runs:
    quads = _quads(data)
    parts = _parts(quads)

    def add(store: Any) -> None:
        for part in parts:
            store.extend(part)

    return _compared(disk, len(quads), add, add)


def record_add_memory(data: Data) -> Runs:
    """Record additions to a store in memory, transactions of 10,000"""
    return _adding(data, disk=False)


def record_add_disk(data: Data) -> Runs:
    """Record additions to a store on disk, transactions of 10,000"""
    return _adding(data, disk=True)


def record_remove_disk(data: Data) -> Runs:
    """Record deletions from a store on disk, transactions of 10,000"""
    quads = _quads(data)
    parts = _parts(quads)

    def remove(recorder: oxigraph.Recorder) -> None:
        for part in parts:
            with recorder.transaction() as transaction:
                transaction.remove_all(part)

    def bare(store: Store) -> None:
        for quad in quads:
            store.remove(quad)

    return _compared(True, len(quads), remove, bare, quads)


def record_update_disk(data: Data) -> Runs:
    """Record SPARQL's INSERT DATA into a store on disk, 10,000 statements each"""
    quads = _quads(data)
    updates = ["INSERT DATA {" + " .\n".join(map(str, part)) + "}" for part in _parts(quads)]

    def insert(store: Any) -> None:
        for update in updates:
            store.update(update)

    return _compared(True, len(quads), insert, insert)


def _small(data: Data, disk: bool, size: int) -> Runs:
    """Compare transactions of a few additions, also with their floor: the bare change, and what a
    log of Jelly-Patch needs of any recorder, which is an id, the text of the quads, their bytes
    and a write.
    """
    quads = _quads(data)[: _SINGLE if size == 1 else 10 * _SINGLE]
    parts = [quads[at : at + size] for at in range(0, len(quads), size)]

    def add(store: Any) -> None:
        if size == 1:
            for quad in quads:
                store.add(quad)
        else:
            for part in parts:
                store.extend(part)

    def floor(store: Store) -> None:
        serializer = PatchSerializer(options=PatchOptions(rdf_star=True))
        prev = new_id()
        with tempfile.TemporaryFile(prefix="jelly-bench-", buffering=0) as log:
            for part in parts:
                text = serialize(part, format=RdfFormat.N_QUADS) or b""
                made = new_id()
                headers = [header("id", made), header("prev", prev)]
                log.write(serializer.add_transaction(headers, b"", text))
                store.extend(part)
                prev = made

    compared = _compared(disk, len(quads), add, add)
    return replace(compared, runs={**compared.runs, "floor": _bare(disk, [], floor)})


def record_single_memory(data: Data) -> Runs:
    """Record additions to a store in memory, a transaction each"""
    return _small(data, disk=False, size=1)


def record_single_disk(data: Data) -> Runs:
    """Record additions to a store on disk, a transaction each"""
    return _small(data, disk=True, size=1)


def record_hundred_memory(data: Data) -> Runs:
    """Record additions to a store in memory, transactions of 100"""
    return _small(data, disk=False, size=100)


def record_hundred_disk(data: Data) -> Runs:
    """Record additions to a store on disk, transactions of 100"""
    return _small(data, disk=True, size=100)


@contextmanager
def _graph() -> Iterator[rdflib.Graph]:
    yield rdflib.Graph()


def record_add_rdflib(data: Data) -> Runs:
    """Record additions to an rdflib Graph, one transaction"""
    triples = list(rdflib.Graph().parse(data=_text(data), format="nt"))

    def add(graph: rdflib.Graph) -> None:
        for triple in triples:
            graph.add(triple)

    def record(graph: rdflib.Graph) -> None:
        with _folder() as folder, jelly_rdflib.record(graph, folder / "log.jellyp") as recorder:
            add(recorder.graph)

    return Runs(
        {"ours": Prepared(_graph, record), "rdflib, not recorded": Prepared(_graph, add)},
        count=len(triples),
        things="changes",
    )


JOBS: Final = (
    record_add_memory,
    record_add_disk,
    record_remove_disk,
    record_update_disk,
    record_single_memory,
    record_single_disk,
    record_hundred_memory,
    record_hundred_disk,
    record_add_rdflib,
)
