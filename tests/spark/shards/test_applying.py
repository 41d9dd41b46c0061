"""Apply logs on this machine, without Spark."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jelly_plugins import (
    DEFAULT_GRAPH,
    ChainError,
    Iri,
    JellyError,
    Literal,
    Quad,
    TermError,
    TruncatedError,
)
from jelly_plugins.patch import BEGIN, COMMIT, Patch, add, delete_namespace, write_patches
from jelly_plugins.spark.shards import (
    Applied,
    CheckpointError,
    RootError,
    ShardedStore,
    apply_patches,
    applying,
    batch_sink,
    changes,
    shard,
    shard_of,
)
from jelly_plugins.spark.shards.root import Batch, Log

from .logs import Writer, apply, assert_same, log_file, patch, quad, quads, replayed

INTEGER = "^^<http://www.w3.org/2001/XMLSchema#integer>"


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
        assert (done.version, done.committed, done.patches) == (number + 1, True, 2)
        assert (done.aborted, done.unnamed) == (2, 0)
        assert_same(root, replayed(*logs))
    assert ShardedStore(root).content.namespaces == {"": {"ex": "urn:7"}}


def test_small_batches_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard, "TOGETHER", 2000)
    monkeypatch.setattr(shard, "_SMALL", 3)
    monkeypatch.setattr(changes, "_BATCH", 500)
    writer = Writer(seed=2, subjects=5)
    log = log_file(tmp_path / "log.jellyp", [writer.patch(90), writer.patch(90)])
    apply(tmp_path / "root", log)
    assert_same(tmp_path / "root", replayed(log))


def test_the_last_operation_on_a_quad_counts_whatever_form_it_has(tmp_path: Path) -> None:
    log = (
        f'TX . A <urn:s> <urn:p> "1"{INTEGER} . D <urn:s> <urn:p> "01"{INTEGER} . '
        'A <urn:a> <urn:p> "x"@EN . TC . '
        'TX . D <urn:a> <urn:p> "x"@en . A <urn:a> <urn:p> "x"@en . TC .'
    )
    done = apply(tmp_path / "root", log.encode())
    assert (done.added, done.deleted) == (1, 0)
    assert [str(each.object) for each in quads(tmp_path / "root")] == ['"x"@en']


def test_a_transaction_that_does_not_end_counts_once_it_does(tmp_path: Path) -> None:
    root = tmp_path / "root"
    begin = b"H id <urn:1> . TX . A <urn:s> <urn:p> <urn:1> . TC . TX . A <urn:s> <urn:p> <urn:2> ."
    done = apply(root, begin)
    assert (done.held_back, done.added) == (True, 1)
    assert not apply(root, begin).committed
    done = apply(root, begin + b" TC . A <urn:s> <urn:p> <urn:3> .")
    assert (done.held_back, done.added, done.patches) == (False, 2, 1)
    # A patch that has grown again is applied as a whole.
    grown = begin + b" TC . A <urn:s> <urn:p> <urn:3> . A <urn:s> <urn:p> <urn:4> ."
    assert apply(root, grown).added == 1
    assert not apply(root, grown).committed


def test_header_keys_have_other_forms(tmp_path: Path) -> None:
    root = tmp_path / "root"
    apply(root, b"H ID <urn:1> . A <urn:s> <urn:p> <urn:1> .")
    log = b"H Id <urn:2> . H previous <urn:1> . A <urn:s> <urn:p> <urn:2> ."
    assert apply(root, log).committed
    assert ShardedStore(root).content.logs == (Log("<urn:1>", "<urn:2>", 1),)
    with pytest.raises(ChainError):
        apply(root, b"H id <urn:4> . H PREV <urn:3> . A <urn:s> <urn:p> <urn:3> .")


def test_an_unfinished_patch_is_not_known(tmp_path: Path) -> None:
    """Another one may come instead of it."""
    root = tmp_path / "root"
    first = b"H id <urn:1> . TX . A <urn:s> <urn:p> <urn:1> . TC . Z . H prev <urn:1> . "
    apply(root, first + b"H id <urn:2> . TX . A <urn:s> <urn:p> <urn:2> .")
    assert ShardedStore(root).content.logs[-1].last == "<urn:1>"
    apply(root, first + b"H id <urn:3> . TX . A <urn:s> <urn:p> <urn:3> . TC .")
    assert {str(each.object) for each in quads(root)} == {"<urn:1>", "<urn:3>"}


def test_a_truncated_file_counts_up_to_its_last_transaction(tmp_path: Path) -> None:
    """If it ends inside one; otherwise it is rejected. Then the rest of it counts."""
    out = io.BytesIO()
    patches = [
        patch(n, [BEGIN, add(quad(f"s{n}")), COMMIT, BEGIN, add(quad(f"t{n}")), COMMIT])
        for n in range(3)
    ]
    write_patches(patches, out)
    data = out.getvalue()
    assert len(data) > 200
    for stop in range(5, len(data), 41):
        root = tmp_path / str(stop)
        try:
            apply(root, data[:stop])
        except TruncatedError:
            assert not root.exists()
        apply(root, data)
        assert len(quads(root)) == 6


@pytest.mark.parametrize(
    "data",
    [b"", b"\x05", b"H id <urn:1> .", b"<urn:s> <urn:p> <urn:o> .", b"A <urn:s> <urn:p> .", b"\0"],
)
def test_what_is_no_log_is_an_error(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(JellyError):
        apply(tmp_path / "root", data)
    assert not (tmp_path / "root").exists()


def test_several_files_are_one_log(tmp_path: Path) -> None:
    writer = Writer(seed=3)
    logs = [log_file(tmp_path / f"{n}.jellyp", [writer.patch()]) for n in range(3)]
    assert apply(tmp_path / "root", *logs).patches == 3
    assert_same(tmp_path / "root", replayed(*logs))
    with pytest.raises(TruncatedError, match="ends inside a transaction"):
        apply(tmp_path / "root", b"TX . A <urn:s> <urn:p> <urn:o> .", b"TX . TC .")


def test_a_patch_that_does_not_follow_changes_nothing(tmp_path: Path) -> None:
    root = tmp_path / "root"
    apply(root, b"H id <urn:1> . A <urn:s> <urn:p> <urn:1> .")
    for log in (
        b"H id <urn:3> . H prev <urn:2> . A <urn:s> <urn:p> <urn:3> .",
        b"H prev <urn:2> . A <urn:s> <urn:p> <urn:3> .",
    ):
        with pytest.raises(ChainError, match="the log follows patch <urn:2>"):
            apply(root, log)
    assert ShardedStore(root).version == 1
    assert apply(root, log, check_prev=False).committed


def test_patches_without_ids_are_applied_again_and_reported(tmp_path: Path) -> None:
    root = tmp_path / "root"
    done = apply(root, b"A <urn:s> <urn:p> <urn:1> .")
    assert (done.unnamed, done.committed) == (1, True)
    apply(root, b"D <urn:s> <urn:p> <urn:1> .")
    assert apply(root, b"A <urn:s> <urn:p> <urn:1> .").added == 1
    # Without an effect, there is no version.
    assert not apply(root, b"A <urn:s> <urn:p> <urn:1> .").committed


def test_an_unchanged_shard_keeps_its_store(tmp_path: Path) -> None:
    root = tmp_path / "root"
    apply(root, b"".join(b"A <urn:s%d> <urn:p> <urn:o> ." % n for n in range(9)))
    before = ShardedStore(root).content.shards
    done = apply(root, b"A <urn:s1> <urn:p> <urn:x> . A <urn:s2> <urn:p> <urn:o> .")
    after = ShardedStore(root).content.shards
    changed = shard_of("<urn:s1>", 3)
    assert done.shards == 1
    assert [n for n in range(3) if before[n] != after[n]] == [changed]


def test_namespaces(tmp_path: Path) -> None:
    root = tmp_path / "root"
    apply(root, b"TX . PA a: <urn:a> . PA b: <urn:b> . TC . TX . PA c: <urn:c> . TA .")
    apply(root, log_file(tmp_path / "log.rdfp", [Patch([delete_namespace("a")])]))
    assert ShardedStore(root).content.namespaces == {"": {"b": "urn:b"}}
    assert len(ShardedStore(root)) == 0


def test_a_batch_is_applied_once(tmp_path: Path) -> None:
    root = tmp_path / "root"
    log = b"TX . A <urn:s> <urn:p> <urn:1> . TC ."
    assert apply(root, log, application="a", batch=3).committed
    apply(root, b"D <urn:s> <urn:p> <urn:1> .")
    assert not apply(root, log, application="a", batch=3).committed
    assert not apply(root, log, application="a", batch=2).committed
    assert apply(root, log, application="b", batch=0).committed
    # A batch with patches is recorded, though it has no effect now.
    assert apply(root, log, application="a", batch=4).committed
    assert not apply(root, b"TX . TC .", application="a", batch=4).committed
    with pytest.raises(TruncatedError, match="ends inside a transaction"):
        apply(root, log + b" TX . A <urn:s> <urn:p> <urn:2> .", application="a", batch=5)
    assert ShardedStore(root).content.batches["a"].number == 4


def test_a_lost_checkpoint_is_reported(tmp_path: Path) -> None:
    root = tmp_path / "root"
    apply(root, b"A <urn:s> <urn:p> <urn:1> .", application="a", batch=3)
    version = replace(ShardedStore(root).content, batches={"a": Batch(3, "one")})
    with pytest.raises(CheckpointError, match="another streaming query"):
        applying._is_done(version, "a", 0, "two")


def test_a_literal_whose_line_is_too_long_for_a_parser(tmp_path: Path) -> None:
    """Oxigraph's parser of N-Quads takes lines of 16 MiB."""
    value = "line\n" * (3 << 20)
    log = tmp_path / "log.jellyp"
    write_patches(
        [Patch([add(Quad(Iri("urn:s"), Iri("urn:p"), Literal(value), DEFAULT_GRAPH))])], str(log)
    )
    for count in (1, 0):
        assert apply(tmp_path / "root", str(log)).added == count
    [found] = quads(tmp_path / "root")
    assert found.object.value == value  # type: ignore[union-attr]
    log = tmp_path / "delete.rdfp"
    log.write_bytes(b'D <urn:s> <urn:p> "' + b"line\\n" * (3 << 20) + b'" .')
    assert apply(tmp_path / "root", str(log)).deleted == 1


@pytest.mark.parametrize(
    "row",
    [
        b"A <urn:s> <urn:p> <urn:o> <urn:jelly-plugins:bookkeeping> .",
        b"PA a: <urn:a> <urn:jelly-plugins:bookkeeping> .",
    ],
)
def test_the_reserved_graph_is_rejected(tmp_path: Path, row: bytes) -> None:
    with pytest.raises(JellyError):
        apply(tmp_path / "root", b"TX . " + row + b" TC .")


def test_a_term_that_oxigraph_rejects(tmp_path: Path) -> None:
    with pytest.raises(TermError):
        apply(tmp_path / "root", b"A <urn:s> <urn:p> <urn:a> . A <urn:s> <urn:p> <urn:%> .")
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shards": 0}, "shards must be from 1"),
        ({"shards": 1 << 17}, "shards must be from 1"),
        ({"shards": True}, "shards must be a whole number"),
        ({"shard_by": "object"}, "shard_by must be"),
        ({"batch": 1}, "given together"),
        ({"application": "a"}, "given together"),
        ({"application": "a", "batch": -1}, "batch must be from 0"),
        ({"application": 1, "batch": 1}, "application must be a str"),
        ({"storage_options": {"region": "x"}}, "storage_options are for buckets"),
    ],
)
def test_settings_are_checked_before_anything_is_written(
    tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        apply_patches(None, b"TX . TC .", tmp_path / "root", **settings)
    assert list(tmp_path.iterdir()) == []


def test_a_store_keeps_its_layout(tmp_path: Path) -> None:
    root = tmp_path / "root"
    log = b"A <urn:s> <urn:p> <urn:o> ."
    apply(root, log, shards=np.int64(5), application="a", batch=np.int32(1))
    assert len(ShardedStore(root).content.shards) == 5
    for settings in ({"shards": 4}, {"shard_by": "graph"}):
        with pytest.raises(RootError, match="the store has shard"):
            apply_patches(None, log, root, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("settings", [{"shards": 0}, {"shard_by": "x"}, {"batch": 1}])
def test_settings_of_a_sink_are_checked_at_once(tmp_path: Path, settings: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        batch_sink(tmp_path, application="a", **settings)


def test_a_result_is_shown() -> None:
    assert "version" in repr(Applied(version=1))
