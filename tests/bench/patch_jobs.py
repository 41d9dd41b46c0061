"""Jobs of Jelly-Patch: decoding, size, replay into pyoxigraph's stores, and recording.

The log of a replay adds the data's statements, except those with blank nodes, which SPARQL cannot
delete by label, and later deletes each of them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

import rdflib
from pyoxigraph import Quad, RdfFormat, Store, parse

from jelly_plugins import codec, oxigraph
from jelly_plugins.codec import BlankNode, FrameSplitter, Iri, Operation, OperationKind
from jelly_plugins.codec.patch import decoder as patch_decoder
from jelly_plugins.codec.patch import encoder as patch_encoder
from jelly_plugins.codec.patch.operations import BEGIN, COMMIT, END, add, delete, header
from jelly_plugins.codec.text.ntriples import statement_text
from jelly_plugins.patch import PatchFormat, write_rows
from jelly_plugins.patch.writer import infer_options

from ..conversions import written
from .data import Data
from .measure import Prepared, Run, Runs, job
from .store_jobs import folder, store_in
from .term_jobs import count

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
        self._parts = [operations[at : at + size] for at in range(0, len(operations), size)]
        for number, part in enumerate(self._parts):
            self.rows.append(header("id", Iri(f"urn:patch:{number}")))
            if number:
                self.rows.append(header("prev", Iri(f"urn:patch:{number - 1}")))
            self.rows += [BEGIN, *part, COMMIT, END]

    def written(self, form: PatchFormat = PatchFormat.JELLY_PATCH) -> bytes:
        return written(write_rows, self.rows, format=form)

    def updates(self) -> list[str]:
        """Return each transaction as a SPARQL update."""
        return list(map(_update, self._parts))


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
    return Log(_changes(data)[: _SMALL if size < 1000 else None], size)


def _decode(decoder_class: Any, frames: list[bytes]) -> int:
    decoder = decoder_class(codec.GenericFactory())
    number = sum(count(decoder.decode(frame).operations) for frame in frames)
    decoder.finish()
    return number


@job("patch", "patch-decode", "Jelly-Patch → operations")
def patch_decode(data: Data) -> Runs:
    log = _log(data, 10_000)
    splitter = FrameSplitter()
    frames = [*splitter.feed(log.written()), *splitter.finish()]
    # The peer's parser does not accept the rows that end patches.
    text = log.written(PatchFormat.RDF_PATCH).replace(b"\nZ .", b"")
    runs: dict[str, Run] = {
        "ours": lambda: _decode(codec.PatchDecoder, frames),
        "ours, Python codec": lambda: _decode(patch_decoder.PatchDecoder, frames),
        "rdflib, RDF Patch text into a Dataset": lambda: rdflib.Dataset().parse(
            data=text, format="patch"
        ),
    }
    return Runs(runs, count=log.count, things="operations")


def _encode(encoder_class: Any, rows: list[Operation]) -> int:
    encoder = encoder_class(infer_options(rows[:1000]))
    return sum(map(len, encoder.add(rows) + encoder.finish()))


@job("patch", "patch-encode", "Operations → Jelly-Patch")
def patch_encode(data: Data) -> Runs:
    log = _log(data, 10_000)
    runs: dict[str, Run] = {
        "ours": lambda: _encode(codec.PatchEncoder, log.rows),
        "ours, Python codec": lambda: _encode(patch_encoder.PatchEncoder, log.rows),
    }
    return Runs(runs, count=log.count, things="operations")


@job("patch", "patch-size", "Size of a log")
def patch_size(data: Data) -> Runs:
    log = _log(data, 10_000)
    runs: dict[str, Run] = {
        "ours": lambda: len(log.written()),
        "RDF Patch text": lambda: len(log.written(PatchFormat.RDF_PATCH)),
    }
    return Runs(runs, count=log.count, things="operations", unit="bytes", rounds=1)


def _replaying(place: str, size: int, data: Data) -> Runs:
    log = _log(data, size)
    jelly, updates = log.written(), log.updates()

    def bare(store: Store) -> None:
        for update in updates:
            store.update(update)

    runs: dict[str, Run] = {
        "ours": Prepared(lambda: store_in(place), lambda store: oxigraph.replay(store, jelly)),
        "pyoxigraph, bare update of the same": Prepared(lambda: store_in(place), bare),
    }
    return Runs(runs, count=log.count, things="operations")


for _size in (10_000, 100, 10, 1):
    for _place, _where in (("memory", "in memory"), ("disk", "on disk")):
        _title = f"Replay into a store {_where}, transactions of {_size:,}"
        job("patch", f"patch-replay-{_size}-{_place}", _title, _place, _size)(_replaying)


# Recording: changes with a log, and the same changes without one


@cache
def _quads(data: Data) -> list[Quad]:
    """Return the data's quads without duplicates."""
    parsed = parse(data.ntriples, RdfFormat.N_TRIPLES)
    return list(dict.fromkeys(islice(parsed, _STATEMENTS)))


def _recording(
    place: str,
    number: int,
    recorded: Callable[[Any], object],
    bare: Callable[[Store], object],
    full: list[Quad],
) -> Runs:
    """Compare a recorder with the bare store.

    :param full: the initial contents of the store.
    """

    @contextmanager
    def store() -> Iterator[Store]:
        with store_in(place) as made:
            made.extend(full)
            yield made

    @contextmanager
    def recorder() -> Iterator[oxigraph.Recorder]:
        with (
            store() as made,
            folder() as name,
            oxigraph.record(made, Path(name) / "log.jellyp") as opened,
        ):
            yield opened

    runs: dict[str, Run] = {
        "ours": Prepared(recorder, recorded),
        "pyoxigraph, not recorded": Prepared(store, bare),
    }
    return Runs(runs, count=number, things="changes")


def _adding(place: str, size: int, data: Data) -> Runs:
    quads = _quads(data)[: 200 * size if size < 1000 else None]
    parts = [quads[at : at + size] for at in range(0, len(quads), size)]

    def add_all(store: Any) -> None:
        for part in parts:
            store.extend(part)

    return _recording(place, len(quads), add_all, add_all, [])


for _size in (10_000, 100, 1):
    for _place, _where in (("memory", "in memory"), ("disk", "on disk")):
        _title = f"Record additions to a store {_where}, transactions of {_size:,}"
        job("patch", f"record-add-{_size}-{_place}", _title, _place, _size)(_adding)


@job("patch", "record-remove-disk", "Record deletions from a store on disk, one transaction")
def record_remove(data: Data) -> Runs:
    quads = _quads(data)

    def remove(recorder: oxigraph.Recorder) -> None:
        with recorder.transaction() as transaction:
            transaction.remove_all(quads)

    def bare(store: Store) -> None:
        for quad in quads:
            store.remove(quad)

    return _recording("disk", len(quads), remove, bare, quads)
