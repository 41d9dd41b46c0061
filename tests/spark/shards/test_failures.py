"""Kills at any step, writers at once, and damaged or missing files: all of a batch, or nothing."""

from __future__ import annotations

import errno
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import JellyError
from jelly_plugins.spark.shards import (
    CommitConflictError,
    RootError,
    ShardedStore,
    apply_patches,
    applying,
    changes,
    restore,
    shard,
    store,
    vacuum,
    verify,
)
from jelly_plugins.spark.shards import root as root_module
from jelly_plugins.spark.shards.root import Folder
from tests.shared_data import ROOT

from .logs import apply, quads


@pytest.mark.parametrize("by", [25, pytest.param(1, marks=pytest.mark.slow)])
def test_kills_between_any_two_steps(tmp_path: Path, by: int) -> None:
    """Each leaves all of a batch or nothing, and the same call again does the rest."""
    program = ("-m", "tests.spark.shards.killing", str(tmp_path), "0", "110", str(by))
    done = subprocess.run([sys.executable, *program], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 2 * (80 // by)


def test_four_writers_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them come through, in some order, each batch once."""
    monkeypatch.setattr(applying, "RETRIES", 100)
    root = tmp_path / "root"
    logs = [b"TX . A <urn:s%d> <urn:p> <urn:%d> . TC ." % (n % 5, n) for n in range(24)]

    def write(writer: int) -> None:
        for number in range(6):
            for _ in range(2):
                log = logs[writer * 6 + number]
                apply(root, log, shards=3, application=f"a{writer}", batch=number)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    store = ShardedStore(root)
    assert (store.version, len(store)) == (24, 24)
    assert {str(quad.object) for quad in store} == {f"<urn:{n}>" for n in range(24)}
    assert [len(ShardedStore(root, number)) for number in range(1, 25)] == [*range(1, 25)]
    vacuum(root, keep=1, grace=timedelta())
    assert verify(root) == []


def test_a_writer_that_always_loses_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    apply(root, b"A <urn:s> <urn:p> <urn:1> .")
    written = []
    change = shard.change

    def overtaken(*arguments: Any) -> Any:
        if not written or written[-1] != "inside":
            written.append("inside")
            apply(root, b"A <urn:s> <urn:p> <urn:other%d> ." % len(written))
            written.append("done")
        return change(*arguments)

    monkeypatch.setattr("jelly_plugins.spark.shards.changes.change_shard", overtaken)
    with pytest.raises(CommitConflictError, match="another writer has committed version 12"):
        apply(root, b"A <urn:s> <urn:p> <urn:2> .")
    assert len(quads(root)) == 12
    assert "<urn:2>" not in {str(quad.object) for quad in quads(root)}
    # What the attempts have made is gone.
    assert {path.name for path in root.glob("shard=*/*")} == {
        each.partition("/")[2]
        for version in ShardedStore(root).versions()
        for each in version.stored()
    }


def test_a_vacuum_overtakes_an_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt whose new stores a vacuum removes starts again."""
    root = tmp_path / "root"
    apply(root, b"A <urn:s> <urn:p> <urn:1> .")
    check = Folder.check
    vacuumed = []

    def late(self: Folder, *arguments: Any) -> None:
        check(self, *arguments)
        if not vacuumed and "by a task" in arguments[1]:
            vacuumed.append(vacuum(root, keep=1, grace=timedelta()))

    monkeypatch.setattr(Folder, "check", late)
    assert apply(root, b"A <urn:s> <urn:p> <urn:2> .").version == 3
    assert vacuumed[0].stores
    assert verify(root) == []
    assert len(quads(root)) == 2


def _commits(root: Path, *numbers: int) -> None:
    for number in numbers:
        apply(root, b"TX . A <urn:s> <urn:p> <urn:%d> . TC ." % number)


@pytest.mark.parametrize("others", [1, 2, 5])
@pytest.mark.parametrize("existing", [0, 3])
def test_a_number_that_a_vacuum_has_freed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, existing: int, others: int
) -> None:
    """A writer that was overtaken by others and by a vacuum does not commit an old version."""
    root = tmp_path / "root"
    _commits(root, *range(existing))
    create = Folder.create
    late = []

    def slow(self: Folder, number: int, data: bytes) -> None:
        if not late:
            late.append(number)
            _commits(root, *range(10, 10 + others))
            vacuum(root, keep=1, grace=timedelta())
        create(self, number, data)

    monkeypatch.setattr(Folder, "create", slow)
    done = apply(root, b"TX . A <urn:s> <urn:p> <urn:late> . TC .")
    assert done.committed
    assert done.version == ShardedStore(root).version
    assert len(quads(root)) == existing + others + 1
    assert verify(root) == []


def test_a_version_that_others_continue_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    create = Folder.create

    def overtaken(self: Folder, number: int, data: bytes) -> None:
        create(self, number, data)
        if number == 1:
            _commits(root, 2)

    monkeypatch.setattr(Folder, "create", overtaken)
    assert apply(root, b"TX . A <urn:s> <urn:p> <urn:1> . TC .").version == 1
    assert (ShardedStore(root).version, len(quads(root))) == (2, 2)


@pytest.mark.parametrize("step", ["every", "find", "commit"])
def test_a_vacuum_and_a_restore_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Whenever one of them comes between two steps of the other, the newest version is whole."""
    root = tmp_path / "root"
    _commits(root, 1, 2, 3)
    step_of = getattr(store, step)
    calls = []

    def then(*arguments: Any) -> Any:
        found = step_of(*arguments)
        calls.append(step)
        if calls == [step]:
            with suppress(JellyError):
                if step == "every":
                    restore(root, 1)
                else:
                    vacuum(root, keep=1, grace=timedelta())
        return found

    monkeypatch.setattr(store, step, then)
    if step == "every":
        vacuum(root, keep=1, grace=timedelta())
        assert len(quads(root)) == 1
    else:
        with suppress(JellyError):
            restore(root, 1)
    assert verify(root) == []
    _commits(root, 4)


@pytest.mark.parametrize("name", ["99.json", "old/000000000007.json", "000000000009.json"])
def test_other_files_beside_versions(tmp_path: Path, name: str) -> None:
    """They are ignored; a link to nothing with the name of a version is an error, not a hang."""
    root = tmp_path / "root"
    _commits(root, 1)
    path = root / "_versions" / name
    path.parent.mkdir(exist_ok=True)
    if name.startswith("0"):
        path.symlink_to("nothing")
        with pytest.raises(RootError, match="version 9 cannot be read"):
            ShardedStore(root)
    else:
        path.write_text("{}")
        assert ShardedStore(root).version == 1


def test_two_writers_create_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one, which leaves the layout to the store, can repeat its call."""
    root = tmp_path / "root"
    begin = applying.begin

    def first(*arguments: Any) -> Any:
        found = begin(*arguments)
        monkeypatch.undo()
        apply(root, b"TX . A <urn:s> <urn:p> <urn:1> . TC .", shards=4)
        return found

    monkeypatch.setattr(applying, "begin", first)
    log = b"TX . A <urn:s> <urn:p> <urn:2> . TC ."
    with pytest.raises(CommitConflictError, match="has created the store"):
        apply_patches(None, log, root)
    assert apply_patches(None, log, root).committed
    assert len(quads(root)) == 2


def test_a_temporary_folder_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(changes.pa, "OSFile", full)
    with pytest.raises(JellyError, match="temporary file of the log"):
        _commits(tmp_path / "root", 1)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.ENOENT, errno.EACCES])
@pytest.mark.parametrize(
    ("owner", "name"), [(root_module, "_sync"), (root_module.os, "link"), (Path, "mkdir")]
)
def test_an_error_of_the_file_system_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, number: int
) -> None:
    root = tmp_path / "root"
    apply(root, b"A <urn:s> <urn:p> <urn:1> .")

    def failing(*_: Any, **__: Any) -> None:
        raise OSError(number, "it fails")

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, failing)
        with pytest.raises(RootError, match="it fails"):
            apply(root, b"A <urn:s> <urn:p> <urn:2> .")
    assert len(quads(root)) == 1
    assert apply(root, b"A <urn:s> <urn:p> <urn:2> .").committed


def test_damaged_and_missing_files_are_reported(tmp_path: Path) -> None:
    root = tmp_path / "root"
    apply(root, b"A <urn:s> <urn:p> <urn:1> . A <urn:t> <urn:p> <urn:2> .")
    version = root / "_versions" / "000000000001.json"
    whole = version.read_bytes()
    for damage in (
        b"",
        b"[]",
        whole[:-20],
        whole.replace(b'"format": 1', b'"format": 2'),
        whole.replace(b'"number": 1', b'"number": 2'),
        whole.replace(b"shard=", b"../shard="),
        whole.replace(b'"store": "', b'"store": "/'),
        whole.replace(b'"quads": ', b'"quads": "x", "many": '),
        whole.replace(b'"subject"', b'"object"'),
        whole.replace(b'"logs": []', b'"logs": [[1]]'),
        whole.replace(b'"quads": ', b'"quads": Infinity, "many": '),
        whole.replace(b'"number": 1', b'"number": 1.0'),
        whole.replace(b'"subject"', b"null"),
        whole.replace(b'"store": "', b'"store": {}, "x": "'),
        whole.replace(b'"time": "', b'"time": "0001-01-01", "x": "'),
        b"[" * 100_000,
    ):
        assert damage != whole
        version.write_bytes(damage)
        for work in (lambda: ShardedStore(root), lambda: apply(root, b"TX . TC .")):
            with pytest.raises(RootError, match="version 1 is damaged"):
                work()
    version.write_bytes(whole)
    [store, *_] = ShardedStore(root).content.stored()
    for path in (root / store).glob("*.sst"):
        path.write_bytes(b"")
    (root / store / "CURRENT").write_bytes(b"junk")
    assert len(verify(root)) == 1
    with pytest.raises(JellyError, match="cannot be read"):
        quads(root)
    (root / store).rename(tmp_path / "away")
    assert verify(root) == [f"shard {store[6]}: {store} is missing"]
    with pytest.raises(RootError, match="is missing"):
        quads(root)
