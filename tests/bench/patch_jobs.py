"""Jobs of Jelly-Patch: decoding, size, replay into pyoxigraph's stores.

Their log adds the data's statements, except those with blank nodes, which SPARQL cannot delete by
label, and later deletes each of them again.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

import rdflib
from pyoxigraph import Store

from jelly_plugins import codec, oxigraph
from jelly_plugins.codec import BlankNode, FrameSplitter, Iri, Literal, Operation, OperationKind
from jelly_plugins.codec.patch import decoder as patch_decoder
from jelly_plugins.codec.patch import encoder as patch_encoder
from jelly_plugins.codec.patch.operations import BEGIN, COMMIT, END, add, delete, header
from jelly_plugins.codec.text.ntriples import statement_text
from jelly_plugins.patch import PatchFormat, write_rows
from jelly_plugins.patch.writer import infer_options

from . import memory_jobs
from .data import Data
from .measure import Prepared, Runs

#: Maximum number of the data's statements in a log.
_STATEMENTS: Final = 60_000
#: Number of statements after which one is deleted again.
_KEPT: Final = 5_000
#: Maximum number of operations in a log of small transactions.
_SMALL: Final = 20_000


def _changes(data: Data) -> list[Operation]:
    found = (
        statement
        for statement in data.statements
        if not any(isinstance(term, BlankNode) for term in statement)
    )
    statements = list(dict.fromkeys(islice(found, _STATEMENTS)))
    operations = []
    for at, statement in enumerate(statements):
        operations.append(add(statement))
        if at >= _KEPT:
            operations.append(delete(statements[at - _KEPT]))
    return operations


class Log:
    """A log of patches of one transaction each.

    :param size: number of operations of a transaction.
    """

    def __init__(self, operations: list[Operation], size: int) -> None:
        self.count = len(operations)
        self.rows: list[Operation] = []
        self._transactions = [
            operations[start : start + size] for start in range(0, len(operations), size)
        ]
        before = None
        for number, part in enumerate(self._transactions):
            patch = Iri(f"urn:patch:{number}")
            self.rows.append(header("id", patch))
            if before is not None:
                self.rows.append(header("prev", before))
            self.rows += [BEGIN, *part, COMMIT, END]
            before = patch

    def written(self, format: PatchFormat) -> bytes:  # noqa: A002
        out = io.BytesIO()
        write_rows(self.rows, out, format=format)
        return out.getvalue()

    @property
    def jelly(self) -> bytes:
        return self.written(PatchFormat.JELLY_PATCH)

    @property
    def text(self) -> bytes:
        return self.written(PatchFormat.RDF_PATCH)

    def updates(self) -> list[str]:
        """Return each transaction as a SPARQL update."""
        return [_update(part) for part in self._transactions]


def _update(operations: list[Operation]) -> str:
    net = {statement: kind is OperationKind.ADD for kind, statement in operations}
    parts = []
    for word, wanted in (("DELETE", False), ("INSERT", True)):
        lines = [statement_text(statement) for statement, there in net.items() if there is wanted]
        if lines:
            parts.append(f"{word} DATA {{\n" + "\n".join(lines) + "}")
    return ";\n".join(parts)


@cache
def _log(data: Data, size: int) -> Log:
    return Log(_changes(data), size)


def _decode(decoder_class: Any, frames: list[bytes]) -> int:
    decoder = decoder_class(codec.GenericFactory())
    number = 0
    for frame in frames:
        for _ in decoder.decode(frame).operations:
            number += 1
    decoder.finish()
    return number


def patch_decode(data: Data) -> Runs:
    """Jelly-Patch → operations"""
    log = _log(data, 10_000)
    splitter = FrameSplitter()
    frames = [*splitter.feed(log.jelly), *splitter.finish()]
    # The peer's parser does not accept the rows that end patches.
    text = log.text.replace(b"\nZ .", b"")

    def parse_text() -> rdflib.Dataset:
        dataset = rdflib.Dataset()
        dataset.parse(data=text, format="patch")
        return dataset

    return Runs(
        {
            "ours": lambda: _decode(codec.PatchDecoder, frames),
            "ours, Python codec": lambda: _decode(patch_decoder.PatchDecoder, frames),
            "rdflib, RDF Patch text into a Dataset": parse_text,
        },
        count=log.count,
        things="operations",
    )


def _encode(encoder_class: Any, rows: list[Operation]) -> int:
    encoder = encoder_class(infer_options(rows[:1000]))
    return sum(map(len, encoder.add(rows) + encoder.finish()))


def patch_encode(data: Data) -> Runs:
    """Operations → Jelly-Patch"""
    log = _log(data, 10_000)
    return Runs(
        {
            "ours": lambda: _encode(codec.PatchEncoder, log.rows),
            "ours, Python codec": lambda: _encode(patch_encoder.PatchEncoder, log.rows),
        },
        count=log.count,
        things="operations",
    )


def patch_size(data: Data) -> Runs:
    """Size of a log"""
    log = _log(data, 10_000)
    return Runs(
        {"ours": lambda: len(log.jelly), "RDF Patch text": lambda: len(log.text)},
        count=log.count,
        things="operations",
        unit="bytes",
        rounds=1,
    )


@contextmanager
def _in_memory() -> Iterator[Store]:
    yield Store()


@contextmanager
def _on_disk() -> Iterator[Store]:
    with tempfile.TemporaryDirectory(prefix="jelly-bench-") as folder:
        yield Store(folder)


def _replaying(data: Data, size: int, make: Any) -> Runs:
    log = Log(_changes(data)[:_SMALL], size) if size < 1000 else _log(data, size)
    jelly = log.jelly
    updates = log.updates()

    def bare(store: Store) -> None:
        for update in updates:
            store.update(update)

    return Runs(
        {
            "ours": Prepared(make, lambda store: oxigraph.replay(store, jelly)),
            "pyoxigraph, bare update of the same": Prepared(make, bare),
        },
        count=log.count,
        things="operations",
    )


def patch_replay_memory(data: Data) -> Runs:
    """Replay into a store in memory, transactions of 10,000 operations"""
    return _replaying(data, 10_000, _in_memory)


def patch_replay_disk(data: Data) -> Runs:
    """Replay into a store on disk, transactions of 10,000 operations"""
    return _replaying(data, 10_000, _on_disk)


def patch_replay_medium_memory(data: Data) -> Runs:
    """Replay into a store in memory, transactions of 100 operations"""
    return _replaying(data, 100, _in_memory)


def patch_replay_medium(data: Data) -> Runs:
    """Replay into a store on disk, transactions of 100 operations"""
    return _replaying(data, 100, _on_disk)


def patch_replay_small_memory(data: Data) -> Runs:
    """Replay into a store in memory, transactions of 10 operations"""
    return _replaying(data, 10, _in_memory)


def patch_replay_small(data: Data) -> Runs:
    """Replay into a store on disk, transactions of 10 operations"""
    return _replaying(data, 10, _on_disk)


def patch_replay_single_memory(data: Data) -> Runs:
    """Replay into a store in memory, a transaction for each operation"""
    return _replaying(data, 1, _in_memory)


def patch_replay_single(data: Data) -> Runs:
    """Replay into a store on disk, a transaction for each operation"""
    return _replaying(data, 1, _on_disk)


# One large transaction, in a process of its own


@cache
def _large(count: int) -> tempfile.TemporaryDirectory[str]:
    """Make a folder with a log of one transaction, which is removed when this process ends."""
    folder = tempfile.TemporaryDirectory(prefix="jelly-bench-")
    rows = [header("id", Iri("urn:patch:0")), BEGIN]
    for at in range(count):
        subject = Iri(f"http://example.org/thing/{at // 5}")
        predicate = Iri(f"http://example.org/property{at % 5}")
        rows.append(add(codec.Triple(subject, predicate, Literal(f"value number {at}"))))
    write_rows([*rows, COMMIT, END], Path(folder.name) / "large.jellyp")
    return folder


_REPLAY: Final = """
import sys, tempfile, time
from pyoxigraph import Store
from jelly_plugins.oxigraph import replay
from tests.bench.streaming import peak

with tempfile.TemporaryDirectory(prefix="jelly-bench-") as folder:
    store = Store(folder) if sys.argv[2] == "disk" else Store()
    before, start = peak(), time.perf_counter()
    replay(store, sys.argv[1])
    print(time.perf_counter() - start, (peak() - before) / 1e6)
    del store
"""


def _large_replay(where: str, figure: int) -> Callable[[], float]:
    def run() -> float:
        path = Path(_large(memory_jobs.COUNTS[0]).name) / "large.jellyp"
        done = subprocess.run(
            [sys.executable, "-c", _REPLAY, str(path), where],
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
        return float(done.stdout.split()[figure])

    return run


def patch_large_memory() -> Runs:
    """Peak memory: replay of one transaction of a million operations"""
    return Runs(
        {"in memory": _large_replay("memory", 1), "on disk": _large_replay("disk", 1)},
        count=memory_jobs.COUNTS[0],
        things="operations",
        unit="MB",
        rounds=1,
    )


JOBS: Final = (
    patch_decode,
    patch_encode,
    patch_size,
    patch_replay_memory,
    patch_replay_disk,
    patch_replay_medium_memory,
    patch_replay_medium,
    patch_replay_small_memory,
    patch_replay_small,
    patch_replay_single_memory,
    patch_replay_single,
    patch_large_memory,
)
