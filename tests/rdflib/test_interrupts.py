"""Ctrl-C at any moment: a graph is as before or as after, and so are its position and its log."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
import rdflib
from rdflib import BNode, ConjunctiveGraph, Dataset, Graph, Literal, URIRef

import jelly_plugins
from jelly_plugins.rdflib import record, replay
from jelly_plugins.rdflib.patches import interrupts
from jelly_plugins.rdflib.patches.interrupts import guarded, interruptible, uninterrupted

from ..interrupting import Interrupting
from .test_replay import FILLING, G, O, P, S, patch, state

pytestmark = pytest.mark.filterwarnings("ignore:.*(Conjunctive|default_context|Dataset.contexts).*")

_NAME = URIRef("urn:graph")
MAKERS: dict[str, Callable[[], Graph]] = {
    "Graph": lambda: Graph(identifier=_NAME),
    "Graph, SimpleMemory": lambda: Graph("SimpleMemory", _NAME),
    "Dataset": Dataset,
    "Graph, Oxigraph": lambda: Graph("Oxigraph", _NAME),
}

#: Where interrupts come: here, and in rdflib.
_FOLDERS = (str(Path(jelly_plugins.__file__).parent), str(Path(rdflib.__file__).parent))


def is_watched(file: str) -> bool:
    return file.startswith(_FOLDERS)


def interrupt(at: int, act: Callable[[], object]) -> bool:
    """Do something, and be interrupted; say whether that came so late that it never came."""
    with suppress(KeyboardInterrupt):
        with Interrupting(
            at, is_watched, partial(signal.raise_signal, signal.SIGINT)
        ) as interrupting:
            act()
        if not interrupting.done:
            return True
        # It was put off, and is yet to come; but for one that came while Python was cleaning up,
        # where it ignores all exceptions.
        time.sleep(0.5)
    return False


_CHANGING = [
    "D <urn:s> <urn:p> <urn:o> .",
    "A <urn:new> <urn:p> <urn:o> .",
    "PA 'x' <urn:other> .",
    'A <urn:s> <urn:q> "x" .',
]


def check_replay(name: str, step: int) -> None:
    def filled() -> Graph:
        graph = MAKERS[name]()
        replay(graph, patch(1, *FILLING))
        return graph

    rows = list(_CHANGING)
    if isinstance(MAKERS[name](), ConjunctiveGraph):
        rows.append("A <urn:s> <urn:p> <urn:o> <urn:g> .")
    log = patch(1, *FILLING) + patch(2, *rows)
    after = filled()
    replay(after, log)
    states = [state(filled()), state(after)]
    seen = set()
    at = 1
    while True:
        graph = filled()
        over = interrupt(at, lambda: replay(graph, log))  # noqa: B023
        assert state(graph) in states
        seen.add(states.index(state(graph)))
        # Whatever it is, it can go on from there.
        replay(graph, log)
        assert state(graph) == states[1]
        if over:
            break
        at += step
    assert seen == {0, 1}


_NAMES = ["Graph", "Dataset", "Graph, SimpleMemory"]


@pytest.mark.parametrize("name", _NAMES)
def test_a_replay(name: str) -> None:
    check_replay(name, 23)


@pytest.mark.slow
@pytest.mark.parametrize("name", _NAMES)
def test_a_replay_at_every_line(name: str) -> None:
    check_replay(name, 1)


def check_recording(name: str, folder: Path, step: int) -> None:
    def change(graph: Graph) -> None:
        graph.remove((S, P, None))
        graph.add((S, P, Literal("x")))
        graph.bind("y", URIRef("urn:y"))
        graph.add((BNode("b"), P, O))
        if isinstance(graph, ConjunctiveGraph):
            Graph(graph.store, G).add((S, P, O))
        graph.remove((S, P, None))

    def recorded(graph: Graph, path: Path) -> None:
        with record(graph, path):
            change(graph)

    def alone(graph: Graph, path: Path) -> None:
        recorder = record(graph, path)
        try:
            recorder.add((S, P, Literal("alone")))
        finally:
            recorder.close()

    for act in (recorded, alone):
        at = 1
        seen = set()
        while True:
            graph = MAKERS[name]()
            path = folder / f"{act.__name__}-{at}.jellyp"
            replay(graph, patch(1, *FILLING))
            before = state(graph)
            over = interrupt(at, lambda: act(graph, path))  # noqa: B023
            written = path.exists() and path.stat().st_size > 0
            seen.add(written)
            assert (state(graph) == before) is not written
            if written:
                # All of it is there, in the graph, the log and the position.
                copy = MAKERS[name]()
                replay(copy, patch(1, *FILLING))
                replay(copy, path)
                assert state(copy)[0] == state(graph)[0]
                assert state(copy)[2] == state(graph)[2]
                assert replay(graph, path).patches == 0
            path.unlink(missing_ok=True)
            if over:
                break
            # From a few moments to all of them.
            at += step or 1 + at // 4
        assert seen == {False, True}


@pytest.mark.parametrize("name", _NAMES)
def test_recording(name: str, tmp_path: Path) -> None:
    check_recording(name, tmp_path, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", _NAMES)
def test_recording_at_every_line(name: str, tmp_path: Path) -> None:
    check_recording(name, tmp_path, 1)


def test_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is put off comes as soon as it may, and handlers are the program's again."""
    # An interrupt before a block was entered may have left someone who still needs them.
    monkeypatch.setattr(interrupts, "_users", 0)
    before = signal.default_int_handler
    signal.signal(signal.SIGINT, before)
    steps = []

    @interruptible
    def inner() -> None:
        signal.raise_signal(signal.SIGINT)
        steps.append("not reached")

    @uninterrupted
    def outer(act: Callable[[], object]) -> None:
        act()
        steps.append("whole")

    def wait() -> None:
        outer(lambda: signal.raise_signal(signal.SIGINT))
        steps.append("late")
        time.sleep(5)

    with guarded():
        assert signal.getsignal(signal.SIGINT) is not before
        with pytest.raises(KeyboardInterrupt):
            wait()
        with pytest.raises(KeyboardInterrupt):
            outer(inner)
        with pytest.raises(KeyboardInterrupt), guarded():
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    assert steps == ["whole", "late"]


@pytest.mark.parametrize("name", ["Graph", "Graph, Oxigraph"])
def test_threads_that_share_a_recorder(name: str, tmp_path: Path) -> None:
    graph, copy = MAKERS[name](), MAKERS[name]()
    recorder = record(graph, tmp_path / "log.jellyp")

    def work(number: int) -> None:
        for turn in range(60):
            recorder.add((S, P, Literal(turn % 7)))
            recorder.remove((S, P, Literal((turn + number) % 7)))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorder.close()
    replay(copy, tmp_path / "log.jellyp", strict=True)
    assert set(copy) == set(graph)
    with record(graph, tmp_path / "log.jellyp"):
        threads = [
            threading.Thread(target=graph.add, args=((S, P, Literal(f"{n}")),)) for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    replay(copy, tmp_path / "log.jellyp", strict=True)
    assert set(copy) == set(graph)
