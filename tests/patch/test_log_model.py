"""Random logs against a model of sets: converted, inverted, compacted, compared, undone, redone."""

from __future__ import annotations

import io
import os
import random
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import DEFAULT_GRAPH, BlankNode, Iri, Literal, Quad, Triple
from jelly_plugins.codec import Operation, OperationKind, PatchOptions
from jelly_plugins.errors import ChainError
from jelly_plugins.patch import (
    ABORT,
    BEGIN,
    COMMIT,
    Namespace,
    Patch,
    PatchFormat,
    add,
    add_namespace,
    check,
    compact,
    delete,
    delete_namespace,
    diff,
    invert,
    read_patches,
    redo,
    undo,
    write_patches,
)
from jelly_plugins.patch.logs import convert, invert_log

#: Random logs of the slow form.
LOGS = int(os.environ.get("JELLY_PLUGINS_HISTORIES", "2000"))

S, P = Iri("urn:s"), Iri("urn:p")
SUBJECTS = [S, Iri("urn:é#a b"), BlankNode("b"), BlankNode("a b")]
OBJECTS = [
    *SUBJECTS,
    Literal('"\\\n\té\0\x7f\ufffe'),
    Literal("x", "en"),
    Literal("01", None, "http://www.w3.org/2001/XMLSchema#integer"),
    Triple(S, P, Triple(BlankNode("b"), P, Literal("x"))),
]
GRAPHS = [DEFAULT_GRAPH, Iri("urn:g"), BlankNode("g")]

#: Statements, and the IRI of each name in its graph.
State = frozenset[Any]


def after(patches: Iterable[Patch], state: State = frozenset()) -> State:
    """The state after patches are applied."""
    statements = {each for each in state if isinstance(each, Quad)}
    bound: dict[Any, Any] = dict(each for each in state if not isinstance(each, Quad))
    for patch in patches:
        pending: list[Operation] = []
        for row in [*patch, COMMIT]:
            if row.kind is OperationKind.ABORT:
                pending = []
            elif row.kind not in (OperationKind.BEGIN, OperationKind.COMMIT):
                pending.append(row)
                continue
            for each, subject in pending:
                if each is OperationKind.ADD:
                    statements.add(subject)
                elif each is OperationKind.DELETE:
                    statements.discard(subject)
                elif each is OperationKind.ADD_NAMESPACE:
                    bound[subject.name, subject.graph] = subject.iri
                else:
                    bound.pop((subject.name, subject.graph), None)
            pending = []
    return frozenset(statements) | frozenset(bound.items())


class Logs:
    """Random patches, each of which follows the one before.

    :param idle: kinds of operations that may change nothing.
    """

    def __init__(self, rng: random.Random, idle: Container[OperationKind]) -> None:
        self._rng = rng
        self._idle = idle
        self._count = 0

    def quad(self) -> Quad:
        pick = self._rng.choice
        return Quad(pick(SUBJECTS), P, pick(OBJECTS), pick(GRAPHS))

    def _operation(self, state: State) -> Operation:
        rng = self._rng
        while True:
            quad, name, graph = self.quad(), rng.choice(["", "a é"]), rng.choice(GRAPHS)
            made = rng.choice(
                [
                    *[add(quad), delete(quad)] * 3,
                    add_namespace(name, Iri(f"urn:{rng.randrange(3)}"), graph),
                    delete_namespace(name, None, graph),
                ]
            )
            if made.kind in self._idle or after([Patch([made])], state) != state:
                return made

    def patch(self, state: State, prev: Any = None) -> Patch:
        rng = self._rng
        rows: list[Operation] = []
        for _ in range(rng.randint(0, 3)):
            aborted, opened = rng.random() < 0.2, rng.random() < 0.8
            part: list[Operation] = []
            for _ in range(rng.randint(0, 5)):
                part.append(self._operation(after([Patch(rows), Patch(part)], state)))
            rows += [BEGIN, *part, ABORT if aborted else COMMIT] if opened else part
        self._count += 1
        key = rng.choice(["note", "a key", "", '"é'])
        headers = [("id", Iri(f"urn:patch:{self._count}")), (key, rng.choice(OBJECTS))]
        return Patch(rows, headers if prev is None else [("prev", prev), *headers])

    def log(self, state: State) -> list[Patch]:
        patches: list[Patch] = []
        for _ in range(self._rng.randint(1, 4)):
            patches.append(self.patch(after(patches, state), patches[-1].id if patches else None))
        return patches


def written(patches: Sequence[Patch], form: PatchFormat, **settings: Any) -> bytes:
    file = io.BytesIO()
    write_patches(patches, file, format=form, **settings)
    return file.getvalue()


def statements(state: State) -> list[Quad]:
    return [each for each in state if isinstance(each, Quad)]


def run_log(seed: int) -> None:
    rng = random.Random(seed)
    exact = rng.random() < 0.5
    logs = Logs(rng, () if exact else OperationKind)
    start: State = frozenset(logs.quad() for _ in range(rng.randint(0, 9)))
    log = logs.log(start)
    end = after(log, start)
    # Formats.
    data = written(
        log, PatchFormat.JELLY_PATCH, options=PatchOptions.small(rdf_star=True), frame_rows=4
    )
    for _ in range(3):
        file = io.BytesIO()
        convert([data], file, target_format=rng.choice(list(PatchFormat)))
        data = file.getvalue()
        assert list(read_patches(data)) == log
    assert check(data), check(data).problems
    # Several as one.
    assert after([compact(log)], start) == end
    # What was there, and what is there.
    old, new = statements(start), statements(end)
    made = diff(old, new)
    assert after([made], frozenset(old)) == frozenset(new)
    assert after([invert(made)], frozenset(new)) == frozenset(old)
    if exact:
        assert after(invert_log(log), end) == start
        small = compact(log, exact=True)
        assert after([small], start) == end
        # What a namespace was bound to before its first operation is not in one patch.
        if not any(isinstance(value, Namespace) for _, value in small):
            assert after([invert(small)], end) == start
        assert after(invert_log(invert_log(log)), start) == end


def run_history(seed: int, path: Path) -> None:
    """A log that is changed, undone and redone in turn."""
    rng = random.Random(seed)
    # What is added again is in the log already; what is deleted and not there may not be.
    logs = Logs(rng, (OperationKind.ADD, OperationKind.ADD_NAMESPACE))
    form = PatchFormat.RDF_PATCH if path.suffix == ".rdfp" else PatchFormat.JELLY_PATCH
    states: list[State] = [frozenset()]
    ids: list[Any] = []
    depth = 0
    for _ in range(12):
        log = list(read_patches(path)) if path.exists() else []
        function: Any = rng.choice([None, undo, redo])
        most = {undo: depth, redo: len(ids) - depth}.get(function, 0)
        if function is None or not path.exists():
            last = log[-1].id if log else None
            log.append(logs.patch(states[depth], last))
            path.write_bytes(written(log, form))
            states[depth + 1 :] = [after(log)]
            ids[depth:] = [log[-1].id]
            depth += 1
        elif not most:
            with pytest.raises(ChainError, match="has no patch to"):
                function(path)
        else:
            count = rng.randint(1, most)
            depth += count if function is redo else -count
            way = {"to": ids[depth - 1]} if depth and rng.random() < 0.5 else {"count": count}
            assert len(function(path, **way)) == count
        assert after(read_patches(path)) == states[depth]
        assert check(path)


def test_random_logs() -> None:
    for seed in range(150):
        run_log(seed)


@pytest.mark.parametrize("ending", ["rdfp", "jellyp"])
def test_random_histories(ending: str, tmp_path: Path) -> None:
    for seed in range(15):
        run_history(seed, tmp_path / f"{seed}.{ending}")


@pytest.mark.slow
def test_many(tmp_path: Path) -> None:
    for seed in range(1000, 1000 + LOGS):
        run_log(seed)
        if seed % 10 == 0:
            run_history(seed, tmp_path / f"{seed}.{'rdfp' if seed % 20 else 'jellyp'}")
