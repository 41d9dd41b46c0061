"""Applying logs to sharded stores, without Spark."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyoxigraph import Store

from jelly_plugins import ChainError, JellyError, SourceError, TermError, TruncatedError, WireError
from jelly_plugins.patch import (
    ABORT,
    BEGIN,
    COMMIT,
    Operation,
    Patch,
    add,
    delete,
    delete_namespace,
    write_patches,
)
from jelly_plugins.spark import batch_sink
from jelly_plugins.spark.sharded import shard, staged_files
from jelly_plugins.spark.sharded.batch import BatchSettings, Staged, apply_batch, stage_sources
from jelly_plugins.spark.sharded.commits import open_log
from jelly_plugins.spark.sharded.copying import copy_store
from jelly_plugins.spark.sharded.errors import CheckpointError, RootError
from jelly_plugins.spark.sharded.layout import Root
from jelly_plugins.spark.sharded.storage import Attempt, storage_at
from jelly_plugins.spark.sharded.store import ShardedStore

from .here import run_here
from .logs import Writer, apply, assert_same, log_file, patch, quad, quads, replayed
from .places import FolderOfObjects

pytestmark = pytest.mark.usefixtures("kind")


@pytest.mark.parametrize("shard_by", ["subject", "graph"])
@pytest.mark.parametrize("suffix", ["jellyp", "rdfp", "jellyp.gz"])
def test_the_shards_have_what_a_single_store_has(
    tmp_path: Path, shard_by: str, suffix: str
) -> None:
    writer = Writer(seed=1)
    root = tmp_path / "root"
    logs = []
    for number in range(4):
        log = log_file(tmp_path / f"{number}.{suffix}", [writer.patch(), writer.patch()])
        logs.append(log)
        done = apply(root, log, shard_by=shard_by)
        assert (done.version, done.committed) == (number + 1, True)
        assert (done.replayed.patches, done.replayed.aborted) == (2, 2)
        assert_same(root, replayed(*logs))
    assert open_log(storage_at(root)).head().namespaces == {"": {"ex": "urn:7"}}


def test_small_chunks_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the sizes at which buffers are written and chunks are applied."""
    monkeypatch.setattr(shard, "CHUNK", 200)
    monkeypatch.setattr(shard, "SMALL", 3)
    monkeypatch.setattr(staged_files, "BUFFER", 300)
    monkeypatch.setattr(staged_files, "_BLOCK_TEXT", 100)
    writer = Writer(seed=2, subjects=5)
    log = log_file(tmp_path / "log.jellyp", [writer.patch(90), writer.patch(90)])
    apply(tmp_path / "root", log)
    assert_same(tmp_path / "root", replayed(log))


def test_the_last_operation_on_a_quad_counts_whatever_form_it_has(tmp_path: Path) -> None:
    forms = [
        f'<urn:s> <urn:p> "{form}"^^<http://www.w3.org/2001/XMLSchema#integer>'
        for form in ("1", "01")
    ]
    log = (
        f'TX . A {forms[0]} . D {forms[1]} . A <urn:a> <urn:p> "x"@EN . TC . '
        f'TX . D <urn:a> <urn:p> "x"@en . A <urn:a> <urn:p> "x"@en . TC .'
    ).encode()
    apply(tmp_path / "root", log)
    assert [str(each.object) for each in quads(tmp_path / "root")] == ['"x"@en']


def test_a_patch_again_right_after_itself_that_says_something_else(tmp_path: Path) -> None:
    start = b"H id <urn:1> . TX . A <urn:s> <urn:p> <urn:1> . A <urn:s> <urn:p> <urn:2> . TC . Z . "
    apply(tmp_path / "same", start + start)
    for other in (
        start.replace(b"urn:2", b"urn:3"),
        start.replace(b"A <urn:s> <urn:p> <urn:2>", b"D <urn:s> <urn:p> <urn:2>"),
        start.replace(b"urn:2", b"urn:4").replace(b"urn:1> . A", b"urn:2> . A"),
    ):
        with pytest.raises(ChainError, match=r"patch <urn:1>: .* different content"):
            apply(tmp_path / "root", start + other)
    assert len(quads(tmp_path / "same")) == 2


def test_the_last_patch_in_a_later_batch_that_says_something_else(tmp_path: Path) -> None:
    root = tmp_path / "root"
    start = b"H id <urn:1> . TX . A <urn:s> <urn:p> <urn:1> . PA 'x' <urn:x> . TC . Z . "
    more = b"H id <urn:2> . H prev <urn:1> . TX . A <urn:s> <urn:p> <urn:2> . TC . Z . "
    assert apply(root, start).committed
    assert not apply(root, start).committed
    for other in (
        start.replace(b"p> <urn:1>", b"p> <urn:3>"),
        start.replace(b"A <", b"D <"),
        start.replace(b"<urn:x>", b"<urn:y>"),
        start.replace(b"PA 'x' <urn:x> .", b""),
        start.replace(b"TX . A <urn:s> <urn:p> <urn:1> . PA 'x' <urn:x> . TC .", b""),
    ):
        for log in (other, other + more):
            with pytest.raises(ChainError, match=r"patch <urn:1>: it ha"):
                apply(root, log)
    assert apply(root, start + more).replayed.patches == 1
    assert len(quads(root)) == 2


def test_a_patch_again_is_known_wherever_batches_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jelly_plugins.spark.sharded.batch.STAGED_TOGETHER", 150)
    rows = [b"A <urn:s> <urn:p> <urn:%d> . " % number for number in range(7)]
    patches = [b"H id <urn:%d> . TX . %s TC . Z . " % (n, b"".join(rows[:n])) for n in range(1, 8)]
    done = apply(tmp_path / "root", b"".join(each + each for each in patches))
    assert (done.replayed.patches, done.replayed.skipped) == (7, 7)


def test_loose_operations_at_the_end_of_a_log_that_grows_are_rejected(tmp_path: Path) -> None:
    root = tmp_path / "root"
    log = b"H id <urn:1> .\nA <urn:s> <urn:p> <urn:1> .\nA <urn:s> <urn:p> <urn:2> .\n"
    assert apply(root, log).replayed.operations == 2
    assert not apply(root, log).committed
    with pytest.raises(ChainError, match=r"had 2 operations .* now it has 3"):
        apply(root, log + b"A <urn:s> <urn:p> <urn:3> .\n")
    assert len(quads(root)) == 2
    # Another transaction continues the log.
    assert apply(root, log + b"TX . A <urn:s> <urn:p> <urn:3> . TC .").replayed.operations == 1


def test_the_same_log_again_does_nothing_and_a_longer_one_continues(tmp_path: Path) -> None:
    writer = Writer()
    patches = [writer.patch() for _ in range(3)]
    short = log_file(tmp_path / "short.jellyp", patches[:2])
    long = log_file(tmp_path / "long.jellyp", patches)
    root = tmp_path / "root"
    apply(root, short)
    again = apply(root, short)
    assert (again.version, again.committed, again.replayed.operations) == (1, False, 0)
    done = apply(root, long)
    assert (done.version, done.replayed.patches) == (2, 1)
    assert_same(root, replayed(long))
    # Only what follows, or the head again.
    assert not apply(root, log_file(tmp_path / "end.jellyp", patches[2:])).committed


@pytest.mark.parametrize("ids", [True, False])
def test_an_older_part_of_a_log_again_does_nothing(tmp_path: Path, ids: bool) -> None:
    writer = Writer(seed=8)
    root = tmp_path / "root"
    logs = []
    for number in range(4):
        made = [writer.patch(), writer.patch()]
        if not ids:
            made = [Patch(each.operations) for each in made]
        logs.append(log_file(tmp_path / f"{number}.jellyp", made))
        apply(root, *logs) if not ids else apply(root, logs[number])
    expected = replayed(*logs)
    for number in range(3):
        given = [logs[number]] if ids else logs[: number + 1]
        done = apply(root, *given)
        assert (done.committed, done.version, done.replayed.transactions) == (False, 4, 0)
        assert done.replayed.position == ShardedStore(root).commit.positions[0]
    # Also as the batch of a stream that begins again: it is applied, and changes nothing.
    if ids:
        done = apply(root, logs[1], application="again", batch=0)
        assert (done.committed, done.replayed.transactions) == (True, 0)
    assert_same(root, expected)
    # What was never applied up to its end may be another log.
    if ids:
        with pytest.raises(ChainError):
            apply(root, log_file(tmp_path / "x.jellyp", [patch(3, []), patch(99, [], prev=False)]))
    assert_same(root, expected)


def test_patches_without_ids_count_once_as_well(tmp_path: Path) -> None:
    root = tmp_path / "root"
    first = b"A <urn:s> <urn:p> <urn:a> . Z . "
    apply(root, first)
    assert not apply(root, first).committed
    done = apply(root, first + b"TX . D <urn:s> <urn:p> <urn:a> . TC . Z .")
    assert (done.replayed.skipped, done.replayed.transactions) == (1, 1)
    assert quads(root) == []


def test_several_logs_are_one(tmp_path: Path) -> None:
    writer = Writer()
    logs = [log_file(tmp_path / f"{n}.rdfp", [writer.patch()]) for n in range(3)]
    done = apply(tmp_path / "root", *logs)
    assert (done.version, done.replayed.patches) == (1, 3)
    assert_same(tmp_path / "root", replayed(*logs))


def test_a_truncated_log_is_held_back_and_continued(tmp_path: Path) -> None:
    root = tmp_path / "root"
    whole = (
        b"H id <urn:1> . TX . A <urn:a> <urn:p> <urn:o> . TC .\nTX . A <urn:b> <urn:p> <urn:o> .\n"
    )
    done = apply(root, whole)
    assert (done.held_back, done.replayed.transactions, done.committed) == (1, 1, True)
    assert [str(each.subject) for each in quads(root)] == ["<urn:a>"]
    again = apply(root, whole)
    assert (again.held_back, again.committed) == (1, False)
    assert apply(root, whole + b"TC .").replayed.transactions == 1
    assert {str(each.subject) for each in quads(root)} == {"<urn:a>", "<urn:b>"}


@pytest.mark.parametrize("empty", [b"", b"H id <urn:2> . Z .\n"])
def test_operations_held_back_after_patches_that_were_applied_are_counted(
    tmp_path: Path, empty: bytes
) -> None:
    whole = b"H id <urn:1> . TX . A <urn:a> <urn:p> <urn:o> . TC . Z .\n"
    apply(tmp_path / "root", whole)
    done = apply(tmp_path / "root", whole + empty + b"TX . A <urn:b> <urn:p> <urn:o> .")
    assert (done.held_back, done.replayed.transactions) == (1, 0)


def test_a_truncated_log_before_another_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="another log follows"):
        apply(tmp_path / "root", b"TX . A <urn:s> <urn:p> <urn:o> .", b"TX . TC .")
    assert quads(tmp_path / "root") == []


def test_a_log_that_is_truncated_after_headers_is_rejected(tmp_path: Path) -> None:
    root = tmp_path / "root"
    apply(root, b"H id <urn:0> . A <urn:s> <urn:p> <urn:o> . Z .")
    truncated = b"H id <urn:1> .\nH prev <urn:0> .\n"
    more = b"H id <urn:2> . H prev <urn:1> . A <urn:t> <urn:p> <urn:o> . Z ."
    before = ShardedStore(root).commit.positions
    for _ in range(2):
        with pytest.raises(TruncatedError, match=r"patch <urn:1>: .* after the headers"):
            apply(root, truncated)
    with pytest.raises(SourceError, match=r"after the headers .* another log follows"):
        apply(root, truncated, more)
    with pytest.raises(ChainError):
        apply(root, more)
    assert ShardedStore(root).commit.positions == before
    assert apply(root, truncated + b"Z .", more).replayed.patches == 2


def test_a_truncated_file_is_held_back_at_any_byte(tmp_path: Path) -> None:
    writer = Writer(subjects=3)
    patches = [writer.patch(6) for _ in range(3)]
    file = io.BytesIO()
    write_patches(patches, file)
    data = file.getvalue()
    states = [replayed([])] + [replayed(patches[: n + 1]) for n in range(3)]
    for end in range(1, len(data), 293):
        root = tmp_path / str(end)
        try:
            apply(root, data[:end])
        except JellyError:
            # Too short to detect the format.
            assert end < 100
            continue
        apply(root, data)
        assert_same(root, states[-1])


@pytest.mark.parametrize(
    "data",
    [
        *(
            b"garbage",
            b"hello world\n",
            b"PK\x03\x04aaaaaa",
            b"\x7fELF" + bytes(60),
            b"\xff\xfe\x80",
        ),
        *(b"\x1f\x8b\x08", b"BZh9", b"\x28\xb5\x2f\xfd", b'{"a":', b"<urn:s> <urn:p>"),
    ],
)
def test_what_is_no_log_is_an_error(tmp_path: Path, data: bytes) -> None:
    """It was nothing to be applied, as the beginning of a log would be that goes on."""
    for name in ("log", "log.jellyp"):
        (tmp_path / name).write_bytes(data)
        for before in ((), (b"TX . A <urn:s> <urn:p> <urn:o> . TC . Z .",)):
            with pytest.raises(JellyError, match=r"log: |jellyp: "):
                apply(tmp_path / "root", *before, str(tmp_path / name))
    assert ShardedStore(tmp_path / "root").version == 0


def test_a_patch_that_does_not_follow_is_rejected_and_nothing_applied(tmp_path: Path) -> None:
    root = tmp_path / "root"
    apply(root, log_file(tmp_path / "0.jellyp", [patch(0, [add(quad("s"))])]))
    gap = log_file(
        tmp_path / "gap.jellyp", [patch(1, [add(quad("t"))]), patch(5, [add(quad("u"))])]
    )
    with pytest.raises(ChainError, match=r"<urn:patch:4>.*<urn:patch:1>"):
        apply(root, gap)
    other = log_file(tmp_path / "other.jellyp", [patch(7, [add(quad("u"))])])
    with pytest.raises(ChainError) as caught:
        apply(root, other)
    assert (caught.value.expected, caught.value.found) == ("<urn:patch:0>", "<urn:patch:6>")
    # The current store, of those that a program may have.
    assert caught.value.source == str(root)
    assert ShardedStore(root).version == 1
    assert len(quads(root)) == 1


def test_a_bad_log_leaves_nothing(tmp_path: Path) -> None:
    root = tmp_path / "root"
    quoted = (
        b"TX . A <urn:s> <urn:p> <urn:o> . A <<<urn:a> <urn:p> <urn:o>>> <urn:p> <urn:o> . TC ."
    )
    with pytest.raises(TermError, match="quoted triple as subject"):
        apply(root, quoted)
    with pytest.raises(TermError, match="positions of logs"):
        apply(root, b"A <urn:s> <urn:p> <urn:o> <urn:jelly-plugins:bookkeeping> . Z .")
    assert [each for each in root.rglob("*") if each.is_file()] == [root / "_root.json"]


def test_an_unchanged_shard_keeps_its_store(tmp_path: Path) -> None:
    root = tmp_path / "root"
    apply(root, log_file(tmp_path / "0.jellyp", [Writer().patch(300)]), shards=8)
    before = ShardedStore(root).commit.shards
    done = apply(root, b"H id <urn:x> . A <urn:s> <urn:p> <urn:new> . Z .", shards=8)
    after = ShardedStore(root).commit.shards
    assert before is not None
    assert after is not None
    assert done.shards == 1
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 1


def test_aborted_and_empty_patches_move_the_position_only(tmp_path: Path) -> None:
    root = tmp_path / "root"
    aborted = patch(0, [BEGIN, add(quad("s")), ABORT])
    done = apply(root, log_file(tmp_path / "0.jellyp", [aborted, patch(1, [])]))
    assert (done.version, done.shards, done.replayed.aborted) == (1, 0, 1)
    assert done.replayed.position is not None
    assert done.replayed.position.patch == "<urn:patch:1>"
    assert quads(root) == []


def test_namespaces_are_kept_in_the_commit(tmp_path: Path) -> None:
    root = tmp_path / "root"
    apply(root, b"TX . PA ex: <urn:1> . PA a: <urn:2> . TC . Z .", shards=1)
    assert ShardedStore(root).commit.namespaces == {"": {"ex": "urn:1", "a": "urn:2"}}
    file = io.BytesIO()
    write_patches([Patch([delete_namespace("ex", graph=None)])], file)
    apply(root, file.getvalue(), shards=1)
    assert ShardedStore(root).commit.namespaces == {"": {"a": "urn:2"}}


# Batches of applications


def test_a_batch_is_applied_once(tmp_path: Path) -> None:
    root = tmp_path / "root"
    writer = Writer()
    logs = [log_file(tmp_path / f"{n}.jellyp", [writer.patch()]) for n in range(2)]
    assert apply(root, logs[0], application="a", batch=7).committed
    assert not apply(root, logs[0], application="a", batch=7).committed
    # Spark may have lost sight of older batches, too.
    assert not apply(root, logs[1], application="a", batch=6).committed
    assert apply(root, logs[1], application="a", batch=8).committed
    assert ShardedStore(root).commit.applications["a"].number == 8
    assert_same(root, replayed(*logs))


@pytest.mark.parametrize("application", ["a", "b", None])
def test_the_earlier_logs_of_an_application_are_known(
    tmp_path: Path, application: str | None
) -> None:
    """Patches with ids that do not say what they follow: each is the beginning of a log."""
    root = tmp_path / "root"
    kinds = enumerate("ADA")
    logs = [f"H id <urn:{n}> . TX . {k} <urn:x> <urn:p> <urn:o> . TC . Z ." for n, k in kinds]
    for batch, log in enumerate(logs):
        assert apply(root, log.encode(), application="a", batch=batch).replayed.patches == 1
    for number, log in enumerate(logs, 3):
        batch = None if application is None else number
        done = apply(root, log.encode(), application=application, batch=batch)
        assert (done.replayed.patches, done.replayed.skipped) == (0, 1)
    assert len(quads(root)) == 1


def test_a_log_that_begins_with_an_id_is_known_though_it_ends_without(tmp_path: Path) -> None:
    root = tmp_path / "root"
    log = b"H id <urn:1> . A <urn:x> <urn:p> <urn:o> . Z . A <urn:y> <urn:p> <urn:o> . Z ."
    apply(root, log, application="a", batch=0)
    apply(root, b"D <urn:x> <urn:p> <urn:o> . Z .", application="a", batch=1)
    assert apply(root, log, application="b", batch=0).replayed.skipped == 2
    assert [str(each.subject) for each in quads(root)] == ["<urn:y>"]


def test_batches_of_patches_without_ids_leave_no_trail(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for batch in range(5):
        log = f"TX . A <urn:s{batch}> <urn:p> <urn:o> . TC . Z .".encode()
        assert apply(root, log, application="a", batch=batch).committed
        assert ShardedStore(root).commit.positions == ()
    for batch in range(5, 9):
        log = f"H id <urn:{batch}> . TX . A <urn:s{batch}> <urn:p> <urn:o> . TC . Z .".encode()
        assert apply(root, log, application="a", batch=batch).committed
        assert len(ShardedStore(root).commit.positions) == batch - 4
    assert len(quads(root)) == 9


def test_a_batch_without_ids_is_not_taken_for_what_said_the_same(tmp_path: Path) -> None:
    root = tmp_path / "root"
    added, deleted = (b"TX . %s <urn:x> <urn:p> <urn:o> . TC . Z ." % kind for kind in (b"A", b"D"))
    apply(root, added)
    before = ShardedStore(root).commit.positions
    for batch, log in enumerate([deleted, added, deleted]):
        done = apply(root, log, application="a", batch=batch)
        assert (done.replayed.patches, len(quads(root))) == (1, batch % 2)
    # Without an application, it is the log that was applied.
    assert ShardedStore(root).commit.positions == before
    assert not apply(root, added).committed


def test_a_batch_that_ends_inside_a_transaction_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(TruncatedError, match="batch 0 of a ends inside"):
        apply(tmp_path / "root", b"TX . A <urn:s> <urn:p> <urn:o> .", application="a", batch=0)
    with pytest.raises(ValueError, match="must be given together"):
        apply(tmp_path / "root", b"", application="a")


# What tasks return is looked at


def test_results_that_are_missing_or_short_are_not_committed(tmp_path: Path) -> None:
    log = log_file(tmp_path / "0.jellyp", [Writer().patch(60)])
    root = tmp_path / "root"
    with pytest.raises(RootError, match="results"):
        apply(root, log, run=lambda works: list(run_here(works))[1:])
    with pytest.raises(RootError, match="every executor"):
        apply(
            root,
            log,
            run=lambda works: [
                replace(each, operations=each.operations - 1) for each in run_here(works)
            ],
        )
    assert ShardedStore(root).version == 0


def test_staged_files_that_are_gone_are_not_nothing(tmp_path: Path) -> None:
    """As where executors write to a file system of their own: it was said to be complete."""
    log = log_file(tmp_path / "0.jellyp", [Writer().patch(60)])
    staging_ = stage_sources([log])

    def stage(attempt: Attempt, layout: Root) -> Staged:
        found = staging_(attempt, layout)

        def rows() -> Iterator[Operation]:
            yield from found.rows
            attempt.end()

        return found._replace(rows=rows())

    with pytest.raises(RootError, match=r"have applied 0 of 60 operations|do not exist"):
        apply_batch(stage, run_here, storage_at(tmp_path / "root"), BatchSettings())
    assert ShardedStore(tmp_path / "root").version == 0


def test_a_lost_checkpoint_is_reported(tmp_path: Path) -> None:
    """A query with another checkpoint numbers other batches alike."""
    root = tmp_path / "root"
    writer = Writer()
    logs = [log_file(tmp_path / f"{n}.jellyp", [writer.patch()]) for n in range(3)]
    apply(root, logs[0], application="a", batch=0, query="one")
    for batch in (0, 1):
        with pytest.raises(CheckpointError, match="are of another streaming query"):
            apply(root, logs[1], application="a", batch=batch, query="two")
    assert not apply(root, logs[0], application="a", batch=0, query="one").committed
    assert apply(root, logs[1], application="a", batch=1, query="one").committed
    assert apply(root, *logs, application="b", batch=0, query="two").replayed.patches == 1
    assert_same(root, replayed(*logs))


def test_two_programs_with_the_name_of_one_application_are_reported(tmp_path: Path) -> None:
    root = tmp_path / "root"
    logs = [b"H id <urn:%d> . TX . A <urn:x> <urn:p> <urn:%d> . TC . Z ." % (n, n) for n in (1, 2)]
    for batch in range(2):
        apply(root, logs[0] if not batch else logs[0] + logs[1], application="a", batch=batch)
    other = logs[0].replace(b"urn:1", b"urn:other")
    for batch in range(2):
        with pytest.raises(CheckpointError, match=r"'a' was applied, .* of log <urn:other>,"):
            apply(root, other, application="a", batch=batch)
        assert not apply(root, logs[0], application="a", batch=batch).committed
    assert apply(root, other, application="b", batch=0).replayed.patches == 1
    # Without ids, this cannot be detected.
    assert not apply(root, b"A <urn:x> <urn:p> <urn:3> . Z .", application="a", batch=0).committed


def test_a_staged_file_that_is_not_whole_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "0" / "00000"
    writer = staged_files.StageWriter(tmp_path / "0", 1)
    lines = pa.array(["<urn:s> <urn:p> <urn:o> .\n"])
    writer.write(lines, np.array([0]), np.array([5]), np.array([1]))
    writer.flush()
    taken = staged_files.Ranges([(5, 5)])
    data = path.read_bytes()

    def read(data: bytes, taken: staged_files.Ranges) -> list[int]:
        found = staged_files.read_staged(io.BytesIO(data), taken, "x")
        return [block.statements for block in found]

    assert read(data, taken) == [1]
    assert read(data, staged_files.Ranges([(6, 9)])) == []
    for end in (5, len(data) - 1):
        with pytest.raises(TruncatedError, match=r"^x: "):
            read(data[:end], taken)
    for place in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[place] ^= 1 << bit
            with pytest.raises(WireError, match=r"^x: a staged block is damaged: "):
                read(bytes(changed), taken)


def test_deletes_of_what_is_not_there_and_adds_of_what_is_are_not_counted(tmp_path: Path) -> None:
    root = tmp_path / "root"
    apply(
        root, log_file(tmp_path / "0.jellyp", [patch(0, [add(quad(f"s{n}")) for n in range(99)])])
    )
    twice = [add(quad("s1")), delete(quad("nobody")), add(quad("new")), add(quad("new"))]
    apply(root, log_file(tmp_path / "1.jellyp", [patch(1, [BEGIN, *twice, COMMIT])]))
    store = ShardedStore(root)
    assert len(store) == store.count() == len(list(store)) == 100


def test_a_store_that_cannot_be_linked_is_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    apply(root, b"A <urn:s> <urn:p> <urn:o> . Z .", shards=1)

    class Linkless:
        """A store on a file system without hard links."""

        @staticmethod
        def read_only(_: str) -> Linkless:
            return Linkless()

        def backup(self, target: str) -> None:
            raise OSError("IO error: Operation not permitted: While link file to " + target)

    monkeypatch.setattr(shard, "Store", Linkless)
    with pytest.raises(RootError, match=r"cannot be copied: .*not.*with hard links"):
        apply(root, b"A <urn:s> <urn:p> <urn:o2> . Z .", shards=1)
    assert ShardedStore(root).version == 1


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"application": "a", "batch": True}, r"batch must be a whole number .got True."),
        ({"application": "a", "batch": 1.5}, r"batch must be a whole number .got 1.5."),
        ({"application": "a", "batch": "1"}, r"batch must be a whole number .got '1'."),
        ({"application": "a", "batch": -1}, r"batch must not be negative .got -1."),
        ({"application": "a", "batch": 1 << 63}, "batch must be from 0 to"),
        ({"application": 5, "batch": 1}, r"application must be a str .got 5."),
        ({"application": "\ud800", "batch": 1}, "half of a surrogate pair"),
        ({"name": 5}, r"name must be a str .got 5."),
        ({"name": "\ud800"}, "half of a surrogate pair"),
        ({"shards": True}, r"shards must be a whole number .got True."),
        ({"shards": 2.0}, r"shards must be a whole number .got 2.0."),
        ({"shards": 0}, r"shards must be from 1 to 65536 .got 0."),
        ({"retries": None}, r"retries must be a whole number .got None."),
    ],
)
def test_settings_are_checked_before_anything_is_written(
    tmp_path: Path, settings: dict[str, object], said: str
) -> None:
    root = tmp_path / "root"
    settings = {("log" if name == "name" else name): each for name, each in settings.items()}
    with pytest.raises((TypeError, ValueError), match=said):
        apply(root, b"TX . A <urn:s> <urn:p> <urn:o> . TC . Z .", **settings)  # type: ignore[arg-type]
    assert not root.exists()


def test_settings_can_be_numbers_of_numpy(tmp_path: Path) -> None:
    root = tmp_path / "root"
    log = b"TX . A <urn:s> <urn:p> <urn:o> . TC . Z ."
    apply(root, log, shards=np.int64(2), application="a", batch=np.int32(7))  # type: ignore[arg-type]
    head = open_log(storage_at(root)).head()
    assert (len(head.shards or ()), head.applications["a"].number) == (2, 7)
    assert_same(root, replayed(log))


def test_a_copy_to_a_full_disk_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "root"
    apply(root, b"A <urn:s> <urn:p> <urn:o> . Z .", shards=1)

    class Full:
        """A store on a full disk."""

        @staticmethod
        def read_only(_: str) -> Full:
            return Full()

        def backup(self, _: str) -> None:
            raise OSError("IO error: No space left on device: While appending to file: x")

    monkeypatch.setattr(shard, "Store", Full)
    said = r"version 2, shard 0: shard=0/.* cannot be copied: .*No space left"
    with pytest.raises(RootError, match=said) as caught:
        apply(root, b"A <urn:s> <urn:p> <urn:o2> . Z .", shards=1)
    assert "link" not in caught.value.message
    # In a bucket's case it is not that which is full.
    bucket = FolderOfObjects(tmp_path / "bucket", {"cache_dir": str(tmp_path / "cache")})
    copy_store(root, bucket)
    with pytest.raises(RootError, match=r"version 2, shard 0: .*No space left") as caught:
        apply(bucket, b"A <urn:s> <urn:p> <urn:o2> . Z .", shards=1)  # type: ignore[arg-type]
    assert str(caught.value.source).startswith(str(tmp_path / "cache" / "open"))


def test_a_copy_that_cannot_be_opened_is_an_error_of_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    apply(root, b"A <urn:s> <urn:p> <urn:o> . Z .", shards=1)

    class Losing:
        """A store whose copies are damaged."""

        def __new__(cls, path: str) -> Any:
            return Store(path)

        @staticmethod
        def read_only(path: str) -> Any:
            return SimpleNamespace(backup=lambda target: copy(Store.read_only(path), target))

    def copy(store: Store, target: str) -> None:
        store.backup(target)
        for path in Path(target).glob("MANIFEST*"):
            path.write_bytes(b"x" * 100)

    monkeypatch.setattr(shard, "Store", Losing)
    with pytest.raises(RootError, match="cannot be read, or its copy cannot be written"):
        apply(root, b"A <urn:s> <urn:p> <urn:o2> . Z .", shards=1)
    assert ShardedStore(root).version == 1


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"application": None}, r"application must be a str .got None."),
        ({"application": 7}, r"application must be a str .got 7."),
        ({"shards": 0}, "shards must be from 1"),
        ({"shards": "4"}, r"shards must be a whole number .got '4'."),
        ({"shard_by": "object"}, "shard_by must be one of"),
        ({"retries": -1}, r"retries must not be negative .got -1."),
        ({"create": "no"}, r"create must be a bool .got 'no'."),
        ({"on_applied": []}, r"on_applied must be callable .got \[\]."),
        ({"root": "hdfs://bucket/root"}, "not a local path"),
    ],
)
def test_settings_of_a_sink_are_checked_at_once(
    tmp_path: Path, setting: dict[str, Any], said: str
) -> None:
    settings = {"root": tmp_path / "root", "application": "a"} | setting
    with pytest.raises((TypeError, ValueError, RootError), match=said):
        batch_sink(settings.pop("root"), **settings)
    assert not (tmp_path / "root").exists()


def _again(number: int, ids: bool) -> bytes:
    headers = f"H id <urn:{number}> .\n" if ids else ""
    if ids and number:
        headers += f"H prev <urn:{number - 1}> .\n"
    return f"{headers}TX .\nA <urn:s{number}> <urn:p> <urn:o> .\nTC .\nZ .\n".encode()


@pytest.mark.parametrize(
    ("ids", "before", "given", "alone", "as_batch"),
    [
        (True, ["01"], "01", 0, 0),
        (False, ["01"], "01", 0, 2),
        (True, ["01"], "012", 1, 1),
        (False, ["01"], "012", 1, 3),
        (True, ["01"], "2", 1, 1),
        (True, ["0", "1"], "0", 0, 0),
        (True, ["01"], "0", ChainError, ChainError),
        (True, [], "0101", ChainError, ChainError),
        (False, [], "0101", 4, 4),
        (True, [], "00", 1, 1),
    ],
)
def test_what_is_given_again(
    tmp_path: Path, ids: bool, before: list[str], given: str, alone: Any, as_batch: Any
) -> None:
    """The table of docs/sharded-store.md."""
    for numbered, expected in ((False, alone), (True, as_batch)):
        root = tmp_path / str(numbered)
        for batch, numbers in enumerate([*before, given]):
            log = b"".join(_again(int(number), ids) for number in numbers)
            settings: dict[str, Any] = {"application": "a", "batch": batch} if numbered else {}
            if batch == len(before) and not isinstance(expected, int):
                with pytest.raises(expected):
                    apply(root, log, **settings)
            else:
                done = apply(root, log, **settings)
        if isinstance(expected, int):
            assert done.replayed.transactions == expected
    assert apply(tmp_path / "named", _again(0, True), log="n").committed
    assert not apply(tmp_path / "named", _again(0, True), log="n").committed
    assert not apply(tmp_path / "named", _again(0, True)).committed
    assert apply(tmp_path / "named", _again(0, True), log="m").replayed.transactions == 1


def test_an_error_names_a_bounded_number_of_logs(tmp_path: Path) -> None:
    root = tmp_path / "root"
    logs = b"".join(f"H id <urn:{n}> . TX . TC . Z .\n".encode() for n in range(50))
    for line in logs.splitlines():
        apply(root, line, shards=1)
    with pytest.raises(ChainError) as caught:
        apply(root, b"H id <urn:x> . H prev <urn:y> . TX . TC . Z .", shards=1)
    assert "follows patch <urn:y>, but the store is at patch <urn:" in str(caught.value)
    assert str(caught.value).endswith(" or one of 47 others")
    assert str(caught.value).count("<urn:") == 4


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk to try")
def test_a_disk_that_is_full_while_operations_are_staged_is_named(tmp_path: Path) -> None:
    """It is not the root's: in a bucket's case, it is the cache's."""
    writer = staged_files.StageWriter(tmp_path, 1)
    writer.path(0).symlink_to("/dev/full")
    writer.write(pa.array(["<urn:s> <urn:p> <urn:o> .\n"]), *map(np.array, ([0], [5], [1])))
    with pytest.raises(RootError, match="cannot be staged: No space left") as caught:
        writer.flush()
    assert caught.value.source == str(tmp_path)
