"""Apply logs on this machine, without Spark: also random ones, in parts; which patches are new; and
the terms that a shard stores."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from jelly_plugins import ChainError, JellyError, LimitError, TermError, TruncatedError
from jelly_plugins.codec.common.positions import OBJECT, POSITIONS
from jelly_plugins.codec.text.ntriples import term_text
from jelly_plugins.patch import read_patches, write_patches
from jelly_plugins.spark.shards import (
    RootError,
    ShardedStore,
    apply_patches,
    batch_sink,
    changes,
    shard,
    shard_of,
)
from jelly_plugins.spark.shards.changes import PatchRows, resolve
from jelly_plugins.spark.shards.root import Log
from jelly_plugins.spark.shards.shard import canonical_terms

from ...codec.test_patch_columns import literals
from .logs import apply, assert_same, quads
from .model import cuts, quads_after, random_log, text_of


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
    change = "TX . A <urn:s> <urn:p> <urn:{}> . TC . "
    patches = (f"H id <urn:{n}> . {change.format(n)}{change.format(-n)} Z . " for n in range(3))
    log = tmp_path / "log.jellyp"
    write_patches(read_patches("".join(patches).encode()), log)
    data = log.read_bytes()
    assert len(data) > 150
    for stop in range(5, len(data), 47):
        root = tmp_path / str(stop)
        try:
            apply(root, data[:stop])
        except TruncatedError:
            assert not root.exists()
        apply(root, data)
        assert len(quads(root)) == 5


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", JellyError),
        (b"\x05", JellyError),
        (b"\0", JellyError),
        (b"H id <urn:1> .", JellyError),
        (b"<urn:s> <urn:p> <urn:o> .", JellyError),
        (b"A <urn:s> <urn:p> .", JellyError),
        (b"A <urn:s> <urn:p> <urn:a> . A <urn:s> <urn:p> <urn:%> .", TermError),
        (b"A <urn:s> <urn:p> <urn:o> <urn:jelly-plugins:bookkeeping> .", JellyError),
        (b"PA a: <urn:a> <urn:jelly-plugins:bookkeeping> .", JellyError),
    ],
)
def test_logs_that_are_rejected(tmp_path: Path, data: bytes, error: type[JellyError]) -> None:
    with pytest.raises(error):
        apply(tmp_path / "root", data)
    assert not (tmp_path / "root" / "_versions").exists()


def test_a_statement_that_is_too_long_for_the_parser(tmp_path: Path) -> None:
    log = b'A <urn:s> <urn:p> "' + rb"\u0001" * (3 << 20) + b'" .'
    with pytest.raises(LimitError, match="more than 16 MiB as a line"):
        apply(tmp_path / "root", log)
    assert not (tmp_path / "root" / "_versions").exists()


def test_only_the_last_file_may_end_inside_a_transaction(tmp_path: Path) -> None:
    with pytest.raises(TruncatedError, match="ends inside a transaction"):
        apply(tmp_path / "root", b"TX . A <urn:s> <urn:p> <urn:o> .", b"TX . TC .")


def test_a_patch_that_does_not_follow_changes_nothing(tmp_path: Path) -> None:
    root = tmp_path / "root"
    apply(root, b"H id <urn:1> . A <urn:s> <urn:p> <urn:1> .")
    for log in (
        b"H id <urn:3> . H prev <urn:2> . A <urn:s> <urn:p> <urn:3> .",
        b"H prev <urn:2> . A <urn:s> <urn:p> <urn:3> .",
    ):
        with pytest.raises(ChainError, match=r"prev: <urn:2>.* at patch <urn:1>"):
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
    apply(root, b"PD a: .")
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


@pytest.mark.parametrize("settings", [{"shards": 0}, {"shard_by": "x"}, {"application": 1}])
def test_settings_of_a_sink_are_checked_at_once(tmp_path: Path, settings: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        batch_sink(tmp_path, **{"application": "a", **settings})


def test_no_files_are_no_log(tmp_path: Path) -> None:
    for spark in (None, object()):
        done = apply_patches(spark, [], tmp_path / "root")  # type: ignore[arg-type]
        assert not done.committed


def test_a_store_keeps_its_layout(tmp_path: Path) -> None:
    root = tmp_path / "root"
    log = b"A <urn:s> <urn:p> <urn:o> ."
    apply(root, log, shards=np.int64(5), application="a", batch=np.int32(1))
    store = ShardedStore(root)
    assert len(store.content.shards) == 5
    assert sum(shard is not None for shard in map(store.shard, range(5))) == 1
    for number in (-1, 5):
        with pytest.raises(IndexError, match=f"number must be from 0 to 4 .got {number}"):
            store.shard(number)
    for settings in ({"shards": 4}, {"shard_by": "graph"}):
        with pytest.raises(RootError, match="the store has shard"):
            apply_patches(None, log, root, **settings)  # type: ignore[arg-type]


# Random logs, given in parts and again: the shards have what one store has

SEEDS = [*range(10), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, 300))]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    if seed % 2:
        # Many parts of what is otherwise applied at once.
        monkeypatch.setattr(shard, "TOGETHER", 2000)
        monkeypatch.setattr(shard, "_SMALL", 3)
        monkeypatch.setattr(changes, "_BATCH", 500)
    pick = random.Random(seed)
    if pick.random() < 0.7:
        _with_ids(tmp_path / "root", seed, pick)
    else:
        _in_batches(tmp_path / "root", seed, pick)


def _with_ids(root: Path, seed: int, pick: random.Random) -> None:
    """A growing log: the whole of it each time, or from some patch on; and again."""
    patches = random_log(seed, ids=True)
    layout = {"shards": pick.choice([1, 3, 8]), "shard_by": pick.choice(["subject", "graph"])}
    done = 0
    for stop in cuts(pick, patches):
        for _ in range(pick.choice([1, 1, 2])):
            begin = min(pick.choice([0, done, max(0, done - 1)]), stop - 1)
            given = list(map(text_of, [patches[begin : begin + 1], patches[begin + 1 : stop]]))
            if pick.random() < 0.3 and stop < len(patches):
                # With the beginning of the next patch, which does not count.
                given[-1] += text_of([patches[stop][:2]]) + b"TX . A <urn:s> <urn:p> <urn:cut> ."
            apply(root, *filter(None, given), **layout)
            done = stop
            assert_same(root, quads_after(patches[:stop]))
    assert not apply(root, text_of(patches)).committed
    versions = ShardedStore(root).versions()
    assert [each.number for each in versions] == list(range(len(versions), 0, -1))


def _in_batches(root: Path, seed: int, pick: random.Random) -> None:
    """Patches without ids, in numbered batches, some of them twice or late."""
    patches = random_log(seed, ids=False)
    begin = 0
    for number, stop in enumerate(cuts(pick, patches)):
        batch = text_of(patches[begin:stop])
        first = apply(root, batch, application="a", batch=number)
        begin = stop
        for late in (batch, b"A <urn:s> <urn:p> <urn:late> .") if first.committed else (batch,):
            assert not apply(root, late, application="a", batch=number).committed
        if first.version:
            assert_same(root, quads_after(patches[:stop]))


# Which patches of a log are new, by their ids


def log(*patches: str | tuple[str | None, str | None]) -> list[PatchRows]:
    """Patches of three rows; a text has the id, and follows the one before."""
    made: list[PatchRows] = []
    for place, each in enumerate(patches):
        id_, prev = each if isinstance(each, tuple) else (each, made[-1].id if made else None)
        made.append(PatchRows(place, id_, prev, 3))
    return made


KNOWN = (Log("1", "3", 3), Log("x", "x", 3))


@pytest.mark.parametrize(
    ("given", "start", "last"),
    [
        # The log from its beginning, and with more patches.
        (log("1", "2", "3"), 3, None),
        (log("1", "2", "3", "4", "5"), 3, Log("1", "5", 3)),
        # The rest of it, with the last applied patch and without.
        (log("3", "4"), 1, Log("1", "4", 3)),
        (log(("4", "3"), "5"), 0, Log("1", "5", 3)),
        (log(("2", "1"), "3", "4"), 2, Log("1", "4", 3)),
        # The last applied patch twice, and a new one.
        (log("1", "2", "3", ("3", "2"), "4"), 4, Log("1", "4", 3)),
        (log("3", "4", ("4", "3"), "5"), 1, Log("1", "5", 3)),
        # Another log.
        (log("a", "b"), 0, Log("a", "b", 3)),
        (log("x"), 1, None),
        # Patches without ids are not recognised; those before the position are.
        (log((None, None), (None, None)), 0, None),
        (log("1", (None, None), ("2", None), ("3", "2"), (None, None)), 4, None),
        # The last patch has grown.
        ([*log("1", "2"), PatchRows(2, "3", "2", 8)], 2, Log("1", "3", 8)),
        ([], 0, None),
    ],
)
def test_what_is_new(given: list[PatchRows], start: int, last: Log | None) -> None:
    logs, found = resolve(given, KNOWN)
    assert found == start
    if last is None:
        assert logs == KNOWN
    else:
        assert logs[-1] == last
        assert {*logs} - {last} == {each for each in KNOWN if each.first != last.first}


@pytest.mark.parametrize(
    ("given", "known", "message"),
    [
        (log("1", "2"), KNOWN, r"begins with patch 1 \(prev: None\), .* is at patch 3$"),
        (log(("9", "8"), "10"), KNOWN, r"patch 9 \(prev: 8\), and the store is at patch 3 or x"),
        (log(("9", "8")), (), r"\(prev: 8\), and the store is at patch None"),
        (log(("4", "3"), ("6", "5")), KNOWN, "follows patch 5, but the patch before it is 4"),
        (log("a", "b", ("a", None)), KNOWN, "an earlier patch of the log has the same id"),
        (log("a", ("b", None), ("c", None), ("b", None)), KNOWN, "an earlier patch of the log"),
    ],
)
def test_logs_that_do_not_follow(
    given: list[PatchRows], known: tuple[Log, ...], message: str
) -> None:
    with pytest.raises(ChainError, match=message):
        resolve(given, known)
    if given[0].prev:
        assert resolve(given, known, check_prev=False)[1] == 0


def test_there_is_a_limit_of_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "MAX_LOGS", 2)
    with pytest.raises(LimitError, match="positions of 2 logs at most"):
        resolve(log("a"), KNOWN)
    assert resolve(log("a"), KNOWN, forget=True)[0] == (KNOWN[1], Log("a", "a", 3))


# Terms in the form of the store, and the quads of columns


def test_objects_get_the_form_of_the_store() -> None:
    forms = {}
    for literal in literals():
        text = term_text(literal)
        try:
            forms[text] = canonical_terms(pa.array([text]), OBJECT)[0].as_py()
        except JellyError:
            continue
    assert len(forms) > 400
    texts = random.Random(1).sample(list(forms), len(forms))
    assert canonical_terms(pa.array(texts), OBJECT).to_pylist() == [forms[text] for text in texts]
    for position in range(4):
        assert canonical_terms(pa.array(["<urn:\\u0041>"]), position)[0].as_py() == "<urn:A>"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("predicate", None),
        ("graph", ""),
        ("subject", "<urn:A> <urn:p> <urn:o> .\n<urn:B>"),
        ("subject", '"literal"'),
        ("predicate", "_:b"),
        ("object", '"a"@en--ltr'),
        ("graph", "<urn:g> .\n<urn:s> <urn:p> <urn:o>"),
        ("graph", "<urn:jelly-plugins:bookkeeping>"),
    ],
)
def test_terms_that_are_rejected(name: str, text: str | None) -> None:
    with pytest.raises(JellyError) as caught:
        canonical_terms(pa.array(["<urn:x>", text], pa.string()), POSITIONS.index(name))
    assert caught.value.row == 1


def test_a_new_store_needs_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(b"")
    with pytest.raises(RootError, match=r"neither a sharded store nor empty: it has notes\.txt"):
        apply(tmp_path, b"TX . A <urn:s> <urn:p> <urn:o> . TC .")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    (tmp_path / "notes.txt").unlink()
    (tmp_path / "shard=1").mkdir()
    apply(tmp_path, b"TX . A <urn:s> <urn:p> <urn:o> . TC .")
    (tmp_path / "notes.txt").write_bytes(b"")
    apply(tmp_path, b"TX . A <urn:s> <urn:p> <urn:2> . TC .")
    assert len(ShardedStore(tmp_path)) == 2
