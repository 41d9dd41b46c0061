"""Undo and redo in a log, one by one; ``test_log_model`` has random histories."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from rdflib import Graph, Literal, URIRef

from jelly_plugins import ChainError, OptionsError, SourceError
from jelly_plugins.codec import Iri, PatchOptions, PatchStreamType, describe
from jelly_plugins.errors import StatementError
from jelly_plugins.oxigraph import BOOKKEEPING
from jelly_plugins.oxigraph import positions as store_positions
from jelly_plugins.oxigraph import record as record_store
from jelly_plugins.oxigraph import replay as replay_store
from jelly_plugins.patch import (
    BEGIN,
    COMMIT,
    Patch,
    add,
    check,
    delete,
    delete_namespace,
    read_patches,
    redo,
    undo,
    write_patches,
)
from jelly_plugins.patch.recording import LogWriter
from jelly_plugins.rdflib import record, replay

from .. import programs

S, P = Iri("urn:s"), Iri("urn:p")
ONE, TWO, THREE = ((S, P, Iri(f"urn:{number}")) for number in (1, 2, 3))


@pytest.fixture(params=["jellyp", "rdfp"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / f"log.{request.param}"


def write(log: Path, *patches: list[Any], options: PatchOptions | None = None) -> None:
    """A log of patches with ids urn:1, urn:2 …"""
    made = []
    for number, operations in enumerate(patches, 1):
        headers = [("id", Iri(f"urn:{number}"))]
        if number > 1:
            headers.append(("prev", Iri(f"urn:{number - 1}")))
        made.append(Patch(operations, headers))
    write_patches(made, log, options=options)


def last(log: Path) -> list[Any]:
    *_, patch = read_patches(log)
    return [(kind.code, value[:3]) for kind, value in patch.operations if value is not None]


def test_what_is_appended_is_returned(log: Path) -> None:
    write(log, [BEGIN, add(ONE), COMMIT], [BEGIN, delete(ONE), add(TWO), COMMIT])
    appended = undo(log, count=2) + redo(log)
    found = list(read_patches(log))[2:]
    assert [patch.headers for patch in found] == [patch.headers for patch in appended]
    assert [len(patch.operations) for patch in found] == [4, 3, 3]


def test_to_a_patch(log: Path) -> None:
    write(log, [add(ONE)], [add(TWO)], [add(THREE)])
    assert undo(log, to="<urn:3>") == redo(log, to="urn:3") == []
    [undone] = undo(log, to="urn:2")
    # The state after a patch that undoes another is that before it.
    assert undo(log, to=undone.id.value) == undo(log, to="urn:2") == []
    before = log.read_bytes()
    for function, name, message in [
        (undo, "urn:3", "the state after patch <urn:3> is reached by redo, not by undo"),
        (redo, "urn:1", "is reached by undo, not by redo"),
        (undo, "urn:9", "the log has no patch <urn:9>"),
    ]:
        with pytest.raises(ChainError, match=message):
            function(log, to=name)
    assert log.read_bytes() == before
    with LogWriter(log, describe=describe) as writer:
        writer.append([delete(ONE)])
    before = log.read_bytes()
    with pytest.raises(ChainError, match="cannot undo to patch <urn:3>: it was undone, and other"):
        undo(log, to="urn:3")
    with pytest.raises(ChainError, match="has no patch to redo"):
        redo(log)
    assert log.read_bytes() == before


def test_a_namespace_whose_iri_is_not_known(log: Path) -> None:
    write(log, [delete_namespace("b")], [delete_namespace("b", Iri("urn:x"))])
    undo(log)
    before = log.read_bytes()
    with pytest.raises(StatementError, match="namespace b: is deleted without its IRI"):
        undo(log)
    assert log.read_bytes() == before


def test_patches_that_are_repeated_or_empty(log: Path) -> None:
    one = Patch([add(ONE)], [("id", Iri("urn:1"))])
    two = Patch([add(TWO)], [("id", Iri("urn:2")), ("prev", Iri("urn:1"))])
    write_patches([one, one, two, two, Patch([], [("id", S), ("prev", Iri("urn:2"))])], log)
    assert [len(patch.operations) for patch in undo(log, count=3)] == [2, 3, 3]
    assert last(log) == [("D", ONE)]
    with pytest.raises(ChainError, match="has no patch"):
        undo(log)


def test_rejected(log: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="No such file"):
        undo(log)
    assert not log.exists()
    write(log, [add(ONE)])
    for settings, message in [
        ({"count": 1, "to": "urn:1"}, "exclude each other"),
        ({"count": 0}, "at least 1"),
    ]:
        with pytest.raises(OptionsError, match=message):
            undo(log, **settings)
    with pytest.raises(TypeError, match="to must be the id"):
        undo(log, to=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be the path of a file"):
        undo(log.read_bytes())  # type: ignore[arg-type]
    with LogWriter(log, describe=describe), pytest.raises(SourceError, match="another process"):
        undo(log)
    write_patches([Patch([add(ONE)])], log)
    before = log.read_bytes()
    with pytest.raises(ChainError, match=f"^{re.escape(str(log))}: .*without an id"):
        undo(log)
    assert log.read_bytes() == before
    made_up = Patch([add(ONE)], [("id", S), ("undoes", Iri("urn:9"))])
    write_patches([made_up], log)
    with pytest.raises(ChainError, match="undoes is <urn:9>, but the next patch to undo is none"):
        undo(log)
    flat = tmp_path / "flat.jellyp"
    write(flat, [add(ONE)], options=PatchOptions(stream_type=PatchStreamType.FLAT))
    with pytest.raises(OptionsError, match="FLAT"):
        undo(flat)


def test_all_or_none(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(log, [add(ONE)], [add(TWO)], [add(THREE)])
    undo(log, count=2)
    before = log.read_bytes()
    append = LogWriter.append
    left = 1

    def failing(*args: Any) -> None:
        nonlocal left
        if not left:
            raise OSError(28, "No space left on device")
        left -= 1
        append(*args)

    with monkeypatch.context() as patched:
        patched.setattr(LogWriter, "append", failing)
        with pytest.raises(OSError, match="No space"):
            redo(log, count=2)
    assert log.read_bytes() == before
    assert len(redo(log, count=2)) == 2


def test_a_recorder_goes_on_after_an_undo(log: Path) -> None:
    graph, copy = Graph(), Graph()
    one, two = ((URIRef("urn:s"), URIRef("urn:p"), Literal(number)) for number in (1, 2))
    with record(graph, log) as recorder:
        recorder.graph.add(one)
    undo(log)
    with record(graph, log) as recorder:
        # It has applied what was appended.
        assert not len(graph)
        recorder.graph.add(two)
    replay(copy, log)
    assert set(copy) == set(graph) == {two}


RECORDING = """
import os, sys
from pyoxigraph import Literal, NamedNode, Quad, Store
from jelly_plugins.oxigraph import record
log, folder = sys.argv[1:]
recorder = record(store := Store(folder), log)
for number in range(60):
    recorder.add(Quad(NamedNode("urn:s"), NamedNode("urn:p"), Literal(number)))
store.flush()
os._exit(0)
"""


def test_after_a_recorder_that_was_not_closed(log: Path, tmp_path: Path) -> None:
    done = programs.run(RECORDING, log, tmp_path / "leader")
    assert done.returncode == 0, done.stderr
    # The store has all of it, and its position is that of an earlier patch.
    leader, follower = ox.Store(str(tmp_path / "leader")), ox.Store()
    undo(log, count=20)
    record_store(leader, log).close()
    replay_store(follower, log)
    states = [{each for each in store if each[3] != BOOKKEEPING} for store in (leader, follower)]
    assert states[0] == states[1]
    assert len(states[0]) == 40
    assert store_positions(leader) == store_positions(follower)


INCOMPLETE = """H id <urn:1> .
TX .
A <urn:s> <urn:p> "a" .
TC .
H id <urn:2> .
H prev <urn:1> .
TX .
A <urn:s> <urn:p> "b" .
"""


WHOLE = "H id <urn:1> .\nTX .\nA <urn:s> <urn:p> <urn:o> .\nTC .\n"


@pytest.mark.parametrize(
    ("kept", "tail"),
    [
        *(("", tail) for tail in ("", "H id <urn:1> .\n", "H id <urn:1> .\nTX .\nA <ur")),
        *((WHOLE, tail) for tail in ("H", "H id <ur", "H id <urn:2> .\n", "TX .\nA <urn:s>", "TX")),
    ],
)
def test_a_text_that_is_truncated(tmp_path: Path, kept: str, tail: str) -> None:
    log = tmp_path / "log.rdfp"
    log.write_text(kept + tail)
    message = "only one patch to undo" if kept else "the log has no patch"
    with pytest.raises(ChainError, match=f"^{re.escape(str(log))}: .*{message}"):
        undo(log, count=2)
    assert log.read_text() == kept + tail
    if kept:
        assert undo(log)[0].header("undoes") == Iri("urn:1")
        assert check(log).patches == 2


@pytest.mark.parametrize("tail", [b"\0", b"\x40", b"\x40\x0a"])
def test_frames_that_are_truncated(tmp_path: Path, tail: bytes) -> None:
    log = tmp_path / "log.jellyp"
    write(log, [BEGIN, add(ONE), COMMIT])
    log.write_bytes(whole := log.read_bytes() + tail)
    with pytest.raises(ChainError):
        undo(log, to="urn:missing")
    assert log.read_bytes() == whole


def test_a_log_whose_patches_do_not_follow_each_other(tmp_path: Path) -> None:
    log = tmp_path / "log.rdfp"
    log.write_text(text := INCOMPLETE.replace("prev <urn:1>", "prev <urn:9>") + "TC .\n")
    with pytest.raises(ChainError, match="patch <urn:2>: it follows patch <urn:9>"):
        undo(log)
    assert log.read_text() == text
