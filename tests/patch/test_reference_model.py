"""Replay into every kind of target against a model that shares nothing with it: random logs with
patches that are empty, nameless, repeated or wrong, cut anywhere, resumed, interrupted."""

from __future__ import annotations

import os
import random
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import ChainError, ConflictError, JellyError
from jelly_plugins.patch.replay.transactions import ReplaySettings

from ..interrupting import Interrupting
from .reference_model import IdleError, Model, Patch, RejectedError, Row, Transaction, text_of
from .targets import MAKERS, Target

XSD = "http://www.w3.org/2001/XMLSchema#"
#: Random logs of the long form, of all kinds of targets together.
LOGS = int(os.environ.get("JELLY_PLUGINS_LOGS", "10000"))

#: What both kinds of stores make of terms, and what Oxigraph alone does.
FORMS = {
    f'"01"^^<{XSD}integer>': f'"1"^^<{XSD}integer>',
    f'"1"^^<{XSD}boolean>': f'"true"^^<{XSD}boolean>',
    f'"x"^^<{XSD}string>': '"x"',
}
OXIGRAPH_FORMS = FORMS | {
    '"x"@EN-gb': '"x"@en-gb',
    f'"1.50"^^<{XSD}decimal>': f'"1.5"^^<{XSD}decimal>',
    f'"1"^^<{XSD}int>': f'"1"^^<{XSD}integer>',
}
#: Literals that all stores keep as they are.
EXACT = [
    f'"1"^^<{XSD}integer>',
    f'"1.5"^^<{XSD}decimal>',
    '"x"',
    '"x"@en',
    '"a\\"b\\\\c"',
    '"1"^^<urn:d>',
]
NODES = ["<urn:s>", "<urn:t>", "_:b", "_:é", "_:0", "_:a.b", "_:x-y"]
OBJECTS = [
    *NODES,
    *OXIGRAPH_FORMS,
    *EXACT,
]
#: Quoted triples, as Oxigraph alone has them.
QUOTED = {
    f"<<( _:b <urn:p> {inner} )>>": f"<<( _:b <urn:p> {kept} )>>"
    for inner, kept in {
        **OXIGRAPH_FORMS,
        '<<( <urn:s> <urn:p> "x"@EN-gb )>>': '<<( <urn:s> <urn:p> "x"@en-gb )>>',
    }.items()
}
GRAPHS = ["<urn:g>", "_:g"]
NAMES = ['"n1"', '"n2"']
NAMESPACES = ["<urn:ns:1>", "<urn:ns:2>", "<urn:ns:3>"]


class ModelTarget(Target):
    """A target that is compared with a model.

    :param group: how many transactions are applied together at most.
    :param name: the name of its log.
    :param checks: which operations must have an effect.
    """

    def __init__(
        self, store: Any, group: int | None = None, name: str | None = None, checks: str = "none"
    ) -> None:
        super().__init__(store)
        self.name = name
        self._settings = ReplaySettings(
            commit_every=group,
            name=name,
            check_blank_nodes=checks != "none",
            check_unmatched=checks == "all",
        )
        is_oxigraph = not self.is_graph or type(store.store).__name__ == "OxigraphStore"
        self.forms = OXIGRAPH_FORMS if is_oxigraph else FORMS
        if not self.is_graph:
            self.forms = self.forms | QUOTED

    def replay(self, log: bytes) -> Any:  # type: ignore[override]
        return self.backend.replay(self.store, log, self._settings)

    def read(self) -> set[Row]:
        known = (("PA", f'"{name}"', f"<{iri}>") for name, iri in self.namespaces().items())
        return self.rows() | {row for row in known if row[1] in NAMES}


class Logs:
    """Makes random logs.

    :param quads: whether statements may be in named graphs.
    :ivar nodes: the subjects.
    :ivar objects: the objects.
    """

    def __init__(self, rng: random.Random, quads: bool) -> None:
        self.nodes, self.objects = NODES, OBJECTS
        self._rng = rng
        self._quads = quads
        self._made = 0

    def log(self) -> list[Patch]:
        """A log, with something wrong in one of six."""
        found: list[Patch] = []
        for _ in range(self._rng.randrange(1, 9)):
            found.append(self._patch([each for each in found if not each.is_blank]))
        if self._rng.random() < 1 / 6:
            self._spoil(found)
        return found

    def following(self, log: list[Patch]) -> Patch:
        """A patch that follows a log."""
        return self._patch([each for each in log if not each.is_blank], kind=0.9)

    def _patch(self, before: list[Patch], kind: float | None = None) -> Patch:
        rng = self._rng
        kind = rng.random() if kind is None else kind
        last = before[-1] if before else None
        if kind < 0.2:
            return Patch(self._blank_transactions())
        if kind < 0.3:
            return Patch((*self._transactions(), self._transaction()))
        if kind < 0.4 and last is not None and last.id is not None:
            return last
        self._made += 1
        return Patch(
            self._transactions(),
            f"<urn:p:{self._made}>",
            last.id if last is not None and rng.random() < 0.8 else None,
        )

    def _blank_transactions(self) -> tuple[Transaction, ...]:
        aborted = self._transaction()._replace(committed=False)
        return self._rng.choice(((), (Transaction(()),), (aborted,), (Transaction(()), aborted)))

    def _transactions(self) -> tuple[Transaction, ...]:
        rng = self._rng
        made = [self._transaction() for _ in range(rng.randrange(4))]
        return tuple(
            each._replace(loose=True)
            if rng.random() < 0.2
            else each._replace(committed=rng.random() < 0.85)
            for each in made
        )

    def _transaction(self) -> Transaction:
        rng = self._rng
        return Transaction(tuple(self._row() for _ in range(rng.randrange(1, 7))))

    def _row(self) -> Row:
        rng = self._rng
        if rng.random() < 0.1:
            name = rng.choice(NAMES)
            return ("PD", name) if rng.random() < 0.3 else ("PA", name, rng.choice(NAMESPACES))
        graph = [rng.choice(GRAPHS)] if self._quads and rng.random() < 0.3 else []
        terms = (rng.choice(self.nodes), "<urn:p>", rng.choice(self.objects))
        return (rng.choice("AAD"), *terms, *graph)

    def _spoil(self, log: list[Patch]) -> None:
        """Make something wrong."""
        rng = self._rng
        named = [each for each in log if each.id is not None]
        if not named:
            return
        other = (Transaction((("A", "<urn:s>", "<urn:other>", "<urn:o>"),)),)
        at = rng.randrange(1, len(log) + 1)
        log.insert(
            at,
            rng.choice(
                (
                    Patch(other, rng.choice(named).id),
                    Patch(other, rng.choice(named).id, "<urn:none>"),
                    Patch(other, "<urn:new>", "<urn:none>"),
                    rng.choice(named),
                )
            ),
        )


def holds(target: ModelTarget, model: Model, log: list[Patch], *, marked: bool = True) -> None:
    """Replay a log into both, twice, and compare."""
    keeps = model.keeps_position(log)
    for again in (False, True):
        rejected: RejectedError | None = None
        try:
            for _ in model.replay(log):
                assert not (again and keeps)
        except RejectedError as error:
            rejected = error
        if isinstance(rejected, IdleError):
            with pytest.raises(ConflictError, match=r"patch <urn:p:1>: the statement .* there"):
                target.replay(text_of(log, marked=marked))
        elif rejected:
            with pytest.raises(ChainError):
                target.replay(text_of(log, marked=marked))
        else:
            done = target.replay(text_of(log, marked=marked))
            assert not (again and keeps and done.transactions)
            assert (done.advice == "") is keeps
            assert done.unmatched == model.unmatched
        assert target.read() == model.state


@pytest.mark.parametrize("kind", [kind for kind in MAKERS if "disk" not in kind])
def test_operations_without_an_effect(kind: str, tmp_path: Path) -> None:
    """They are counted, or rejected with their transaction."""
    for seed in range(100):
        rng = random.Random(f"{kind}/{seed}")
        group, checks = rng.choice((1, 2, 100)), rng.choice(("none", "blank nodes", "all"))
        target = ModelTarget(MAKERS[kind](tmp_path), group, "log", checks)
        logs = Logs(rng, target.has_quads)
        # Few statements, which transactions add and delete again.
        logs.nodes = rng.sample(NODES, 2)
        objects = [*OBJECTS, *([] if target.is_graph else list(QUOTED) * 3)]
        logs.objects = rng.sample(objects, 2)
        model = Model(target.forms, name=True, checks=checks)
        transactions = tuple(logs._transaction() for _ in range(4))
        holds(target, model, [Patch(transactions, "<urn:p:1>")])


def interrupt() -> None:
    raise KeyboardInterrupt


def is_ours(file: str) -> bool:
    return "jelly_plugins" in file and "tests" not in file


def interrupted(target: ModelTarget, model: Model, log: list[Patch], rng: random.Random) -> None:
    """Replay a log with interrupts; after each of them the store is between two transactions."""
    states = {model.state}
    with suppress(RejectedError):
        states.update(model.replay(log))
    for _ in range(3):
        try:
            with Interrupting(int(10 ** rng.uniform(1.5, 3.5)), is_ours, interrupt):
                target.replay(text_of(log))
        except KeyboardInterrupt:
            # Without a position, the log begins anew on what an interrupt has left.
            assert frozenset(target.read()) in states or not model.keeps_position(log)
        except JellyError:
            break
    with suppress(JellyError):
        target.replay(text_of(log))
    assert target.read() == model.state


def run(kind: str, seed: int, folder: Path) -> None:
    """One random log into one target, in all ways."""
    rng = random.Random(f"{kind}/{seed}")
    folder.mkdir()
    group, name = rng.choice((None, 1, 2, 10, 1000)), rng.choice((None, None, "log"))
    target = ModelTarget(MAKERS[kind](folder), group, name)
    model = Model(target.forms, name=name is not None)
    logs = Logs(rng, target.has_quads)
    log = logs.log()
    for size in sorted(rng.sample(range(len(log) + 1), 2)):
        holds(target, model, log[:size])
    # Over an Oxigraph store, an interrupt may come between the store's namespaces and rdflib's.
    if kind != "Graph, Oxigraph" and rng.random() < 0.5:
        interrupted(target, model, log, rng)
    if log[-1].transactions:
        # The last operations come later, as others of the same patch.
        *patches, last = log
        *transactions, rows = (*last.transactions, logs._transaction()._replace(loose=True))
        log[-1] = last._replace(transactions=(*transactions, rows))
        for size in sorted(rng.sample(range(len(rows.rows) + 1), 2)):
            cut = rows._replace(rows=rows.rows[:size])
            holds(
                target,
                model,
                [*patches, last._replace(transactions=(*transactions, cut))],
                marked=False,
            )
    holds(target, model, log)
    following = logs.following(log)
    if following.prev is not None:
        # In a file of its own.
        holds(target, model, [following])
    holds(target, model, [*log, following])


@pytest.mark.parametrize("kind", MAKERS)
def test_random_logs(kind: str, tmp_path: Path) -> None:
    for seed in range(30 if "disk" in kind else 60):
        run(kind, seed, tmp_path / str(seed))


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
def test_many_random_logs(kind: str, tmp_path: Path) -> None:
    for seed in range(1000, 1000 + LOGS // len(MAKERS)):
        run(kind, seed, tmp_path / str(seed))
        shutil.rmtree(tmp_path / str(seed), ignore_errors=True)
