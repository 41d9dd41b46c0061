"""The position of a recorded store is not written after each small transaction. It is found when
it is read, and after the process has ended at any time.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyoxigraph as ox
import pytest

from jelly_plugins import errors, oxigraph
from jelly_plugins.errors import ChainError, ConflictError
from jelly_plugins.oxigraph.patches import deferred
from jelly_plugins.oxigraph.patches import record as record_module
from jelly_plugins.oxigraph.patches.bookkeeping import recordings
from jelly_plugins.oxigraph.patches.deferred import MOST_DEFERRED
from jelly_plugins.patch import Patch, read_patches

from ..interrupting import Interrupting

P = ox.NamedNode("urn:p")
OTHER = b"H id <urn:other:1> .\nTX .\nA <urn:x> <urn:p> <urn:y> .\nTC .\nZ .\n"


def quad(number: int) -> ox.Quad:
    return ox.Quad(ox.NamedNode(f"urn:{number}"), P, ox.Literal(str(number)))


def data(store: ox.Store) -> set[ox.Quad]:
    return {each for each in store if each.graph_name != oxigraph.BOOKKEEPING}


def copy_of(store: ox.Store) -> ox.Store:
    """What a process finds that is started after this one was killed."""
    copy = ox.Store()
    copy.extend(store)
    return copy


def killed(path: Path, count: int) -> tuple[ox.Store, Path]:
    """A store and its log, after additions by a process that was killed."""
    store = ox.Store()
    with oxigraph.record(store, path) as recorder:
        for number in range(count):
            recorder.add(quad(number))
        left = path.with_name("left.jellyp")
        shutil.copy(path, left)
        return copy_of(store), left


def test_the_position_is_exact_for_whoever_asks(tmp_path: Path) -> None:
    store = ox.Store()
    with oxigraph.record(store, tmp_path / "log.jellyp") as recorder:
        for number in range(3):
            recorder.add(quad(number))
            assert recorder.position is not None
            assert recorder.position.number == number + 1
        assert recordings(store)
        assert oxigraph.positions(store) == [recorder.position]
        assert not recordings(store)
        recorder.remove(quad(0))
        assert recordings(store)
    assert not recordings(store)
    assert oxigraph.positions(store) == [recorder.position]
    assert oxigraph.replay(store, tmp_path / "log.jellyp").patches == 0


@pytest.mark.parametrize("count", [1, 2, *(MOST_DEFERRED + more for more in (-1, 0, 1, 105))])
@pytest.mark.parametrize("how", ["record", "replay"])
def test_after_a_kill_the_log_leads_on(tmp_path: Path, count: int, how: str) -> None:
    store, path = killed(tmp_path / "log.jellyp", count)
    [behind] = recordings(store).values()
    assert count - MOST_DEFERRED < behind.number <= count
    if how == "record":
        with oxigraph.record(store, path) as recorder:
            assert recorder.position is not None
            assert recorder.position.number == count
    else:
        oxigraph.replay(store, path)
    [position] = oxigraph.positions(store)
    assert position.number == count
    assert not recordings(store)
    assert data(store) == {quad(number) for number in range(count)}


def test_any_course_of_changes_and_kills(tmp_path: Path) -> None:
    """Whenever the process is killed, store and log say the same once the log was opened again."""
    chance = random.Random(13)
    store, path = ox.Store(), tmp_path / "0.jellyp"
    model: set[ox.Quad] = set()
    for life in range(12):
        with oxigraph.record(store, path, exact=chance.random() < 0.5) as recorder:
            for _ in range(chance.choice((1, 30, 130))):
                size = chance.choice((1, 1, 1, 2, 70))
                with recorder.transaction() as transaction:
                    for _ in range(size):
                        each = quad(chance.randrange(40))
                        if chance.random() < 0.5:
                            transaction.add(each)
                            model.add(each)
                        else:
                            transaction.remove(each)
                            model.discard(each)
            assert data(store) == model
            following = tmp_path / f"{life + 1}.jellyp"
            shutil.copy(path, following)
            left = copy_of(store)
        store, path = left, following
    with oxigraph.record(store, path):
        assert data(store) == model
    replica = ox.Store()
    oxigraph.replay(replica, path)
    assert data(replica) == model


def test_after_a_kill_nothing_else_comes_between(tmp_path: Path) -> None:
    store, path = killed(tmp_path / "log.jellyp", 5)
    before = set(store)
    with pytest.raises(ChainError, match="record or replay that log first"):
        oxigraph.replay(store, OTHER)
    with pytest.raises(ChainError, match="record or replay that log first"):
        oxigraph.record(store, tmp_path / "another.jellyp")
    with pytest.raises(ChainError, match="record or replay that log first"):
        oxigraph.replay(store, path, graph=ox.NamedNode("urn:graph"))
    third = list(read_patches(path))[2].id
    with pytest.raises(ChainError, match="record or replay that log first"):
        oxigraph.replay(store, path, until=third.value)
    assert set(store) == before
    oxigraph.replay(store, path, dry_run=True)
    assert set(store) == before
    oxigraph.replay(store, path)
    oxigraph.replay(store, OTHER)
    oxigraph.replay(store, path, graph=ox.NamedNode("urn:graph"))
    assert len(oxigraph.positions(store)) == 3


def test_what_the_store_has_already_is_no_conflict(tmp_path: Path) -> None:
    store, path = killed(tmp_path / "log.jellyp", 5)
    assert oxigraph.replay(store, path, check_unmatched=True).patches == 4
    assert not recordings(store)
    with pytest.raises(ConflictError):
        oxigraph.replay(store, OTHER + OTHER.replace(b":1>", b":2>"), check_unmatched=True)


def test_a_log_that_breaks_off_leaves_the_store_to_be_caught_up(tmp_path: Path) -> None:
    store, path = killed(tmp_path / "log.jellyp", 9)
    patches = list(read_patches(path))
    with pytest.raises(ZeroDivisionError):
        oxigraph.replay(store, (1 / 0 if number == 4 else patches[number] for number in range(9)))  # type: ignore[misc]
    assert recordings(store)
    oxigraph.replay(store, path)
    assert not recordings(store)
    assert data(store) == {quad(number) for number in range(9)}


def test_a_position_may_be_set_by_hand(tmp_path: Path) -> None:
    store, _ = killed(tmp_path / "log.jellyp", 5)
    [position] = oxigraph.positions(store)
    oxigraph.set_position(store, position)
    assert not recordings(store)
    oxigraph.replay(store, OTHER)


def test_a_log_that_is_replayed_meanwhile(tmp_path: Path) -> None:
    """Each change of another log finds the store where it says that it is."""
    store = ox.Store()
    with oxigraph.record(store, tmp_path / "log.jellyp") as recorder:
        for number in range(4):
            recorder.add(quad(number))
            more = b"".join(
                OTHER.replace(b":1>", b":%d>" % each).replace(b"urn:y", b"urn:y%d" % each)
                for each in range(number + 1)
            )
            oxigraph.replay(store, more)
            assert not recordings(store)
        recorder.remove(quad(1))
        left = copy_of(store)
    oxigraph.replay(left, tmp_path / "log.jellyp")
    assert data(left) == data(store)


def test_two_logs_of_one_store(tmp_path: Path) -> None:
    store = ox.Store()
    with (
        oxigraph.record(store, tmp_path / "a.jellyp") as first,
        oxigraph.record(store, tmp_path / "b.jellyp") as second,
    ):
        for number in range(6):
            (first, second)[number % 2].add(quad(number))
            assert len(recordings(store)) == 1
    assert not recordings(store)
    assert [each.number for each in oxigraph.positions(store)] == [3, 3]


def test_with_sync_the_position_never_lags(tmp_path: Path) -> None:
    store = ox.Store()
    with oxigraph.record(store, tmp_path / "log.jellyp", sync=True) as recorder:
        recorder.add(quad(1))
        recorder.add(quad(2))
        assert not recordings(store)
        assert oxigraph.positions(copy_of(store)) == [recorder.position]


def test_a_recorder_that_nobody_closed(tmp_path: Path) -> None:
    store = ox.Store()
    recorder = oxigraph.record(store, tmp_path / "log.jellyp")
    recorder.add(quad(1))
    recorder.add(quad(2))
    del recorder
    with oxigraph.record(store, tmp_path / "log.jellyp") as again:
        assert again.position is not None
        assert again.position.number == 2
    assert not recordings(store)


def test_a_log_that_the_store_has_is_no_way_past_another(tmp_path: Path) -> None:
    store = ox.Store()
    with oxigraph.record(store, tmp_path / "b.jellyp") as recorder:
        recorder.add(quad(7))
    with oxigraph.record(store, tmp_path / "a.jellyp") as recorder:
        recorder.add(quad(1))
        recorder.add(quad(2))
        left = copy_of(store)
        shutil.copy(tmp_path / "a.jellyp", tmp_path / "left.jellyp")
    with pytest.raises(ChainError, match="record or replay that log first"):
        oxigraph.record(left, tmp_path / "b.jellyp")
    with oxigraph.record(left, tmp_path / "left.jellyp"):
        pass
    with oxigraph.record(left, tmp_path / "b.jellyp") as recorder:
        recorder.remove(quad(2))
    assert data(left) == {quad(1), quad(7)}


def test_an_interrupt_while_the_position_is_written(tmp_path: Path) -> None:
    """At each line of it: the position is never further than the store is said to be."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    files = {record_module.__file__, deferred.__file__}
    for line in range(1, 60):
        store = ox.Store()
        path = tmp_path / f"{line}.jellyp"
        with oxigraph.record(store, path) as recorder:
            recorder.add(quad(1))
            recorder.add(quad(2))
            with (
                suppress(KeyboardInterrupt),
                Interrupting(line, files.__contains__, interrupt) as interrupting,
            ):
                oxigraph.positions(store)
            recorder.add(quad(3))
            left = copy_of(store)
            shutil.copy(path, tmp_path / "left.jellyp")
        if not recordings(left):
            assert [each.number for each in oxigraph.positions(left)] == [3]
        oxigraph.replay(left, tmp_path / "left.jellyp")
        assert data(left) == data(store)
        if not interrupting.done:
            break
    assert line > 10


@pytest.mark.parametrize("label", ["a:b", "label-613a62", "a..b", "x"])
def test_labels_that_are_written_otherwise(tmp_path: Path, label: str) -> None:
    each = ox.Quad(ox.BlankNode(label), P, ox.NamedNode("urn:o"))
    store, path = ox.Store(), tmp_path / "log.jellyp"
    with oxigraph.record(store, path) as recorder:
        recorder.add(quad(1))
        recorder.add(each)
        left = copy_of(store)
        shutil.copy(path, tmp_path / "left.jellyp")
    oxigraph.replay(left, tmp_path / "left.jellyp")
    assert data(left) == data(store) == {quad(1), each}


def test_a_log_of_text_goes_on_after_a_kill(tmp_path: Path) -> None:
    store, path = killed(tmp_path / "log.rdfp", 3)
    text = path.with_suffix(".rdfp")
    path.rename(text)
    with oxigraph.record(store, text) as recorder:
        recorder.add(quad(8))
    assert data(store) == {quad(0), quad(1), quad(2), quad(8)}


def test_a_recorder_that_nobody_closed_protects_its_store(tmp_path: Path) -> None:
    store = ox.Store()
    other = oxigraph.record(store, tmp_path / "b.jellyp")
    recorder = oxigraph.record(store, tmp_path / "a.jellyp")
    recorder.add(quad(1))
    recorder.add(quad(2))
    del recorder
    with pytest.raises(ChainError, match="record or replay that log first"):
        other.remove(quad(2))
    with oxigraph.record(store, tmp_path / "a.jellyp"):
        pass
    other.remove(quad(2))
    other.close()
    assert data(store) == {quad(1)}


def test_a_replay_at_work_when_a_recorder_is_dropped(tmp_path: Path) -> None:
    store = ox.Store()
    first, second = read_patches(OTHER + OTHER.replace(b":1>", b":2>").replace(b"urn:y", b"urn:z"))

    def patches() -> Iterator[Patch]:
        yield first
        recorder = oxigraph.record(store, tmp_path / "a.jellyp")
        recorder.add(quad(1))
        recorder.add(quad(2))
        del recorder
        yield second

    with pytest.raises(ChainError, match="record or replay that log first"):
        oxigraph.replay(store, patches())


def test_a_load_finds_the_store_where_it_says_that_it_is(tmp_path: Path) -> None:
    store, path = killed(tmp_path / "log.jellyp", 3)
    jelly = tmp_path / "data.jelly"
    oxigraph.dump(store, jelly)
    with pytest.raises(ChainError, match="record or replay that log first"):
        oxigraph.load(store, jelly)
    oxigraph.replay(store, path)
    oxigraph.load(store, jelly)
    with oxigraph.record(store, path) as recorder:
        recorder.add(quad(5))
        recorder.remove(quad(1))
        oxigraph.load(store, jelly)
        left = copy_of(store)
    assert not recordings(left)
    oxigraph.replay(left, path)
    assert quad(1) in left


@pytest.mark.parametrize("suffix", ["jellyp", "rdfp"])
def test_the_log_of_a_killed_recorder_that_ends_in_a_truncated_patch(
    tmp_path: Path, suffix: str
) -> None:
    """Its complete patches are applied, and the position is exact: other changes are allowed."""
    log, folder = tmp_path / f"log.{suffix}", tmp_path / "store"
    killed = f"""
        import os
        from pyoxigraph import Literal, NamedNode, Quad, Store
        from jelly_plugins.oxigraph import record
        import jelly_plugins.patch.recording as recording

        s, p = NamedNode("urn:s"), NamedNode("urn:p")
        recorder = record(Store({str(folder)!r}), {str(log)!r})
        for i in range(3):
            recorder.add(Quad(s, p, Literal(str(i))))

        def write(self, data):
            self._file.write(data[:-9])
            os._exit(9)

        recording.LogWriter._write = write
        recorder.add(Quad(s, p, Literal("truncated")))
    """
    assert subprocess.run([sys.executable, "-c", textwrap.dedent(killed)]).returncode == 9
    store = ox.Store(str(folder))
    with pytest.raises(ChainError, match="record or replay that log first"):
        oxigraph.replay(store, b"H id <urn:other> . TX . TC .")
    with pytest.raises(errors.TruncatedError, match=f"log.{suffix}: "):
        oxigraph.replay(store, log)
    assert oxigraph.count_quads(store) == 3
    oxigraph.replay(store, b"H id <urn:other> . TX . TC .")
    with oxigraph.record(store, log) as recorder:
        recorder.add(quad(7))
    assert oxigraph.count_quads(store) == 4
