"""``jelly spark``: the commands, most of them without Spark."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from jelly_plugins.spark import ShardedStore
from tests import programs
from tests.cli.command import command, jelly

from .logs import apply, assert_same, log_file
from .model import Patch, quads_after, random_log, text_of

LOG = random_log(92, patches=4, subjects=40, size=90)


@pytest.mark.slow  # starts a Spark of its own
def test_a_log_is_applied_by_spark(tmp_path: Path) -> None:
    """An error in a task is one line, without the tracebacks that Spark would log."""
    root = tmp_path / "root"

    def run(patches: list[Patch]) -> subprocess.CompletedProcess[str]:
        log = log_file(tmp_path / "log.jellyp", patches)
        arguments = ("--root", root, "--shards", "1", "--shard-by", "graph", "--json")
        line = command("spark", "apply", log, *arguments, "--master", "local[1]")
        return subprocess.run(line, capture_output=True, text=True)

    found = json.loads(run(LOG[:2]).stdout)
    assert (found["version"], found["patches"], found["held_back"]) == (1, 2, False)
    assert_same(root, quads_after(LOG[:2]))
    content = ShardedStore(root).content
    assert (len(content.shards), content.shard_by) == (1, "graph")
    [table, *_] = root.glob("shard=0/*/*.sst")
    table.unlink()
    done = run(LOG[2:])
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "ERROR" not in done.stderr
    [said] = [line for line in done.stderr.splitlines() if line.startswith("jelly: ")]
    assert table.name in said


def test_a_log_is_applied_without_spark(tmp_path: Path) -> None:
    root = tmp_path / "root"
    logs = [log_file(tmp_path / f"{n}.jellyp", [LOG[n]]) for n in range(2)]
    done = jelly("spark", "apply", *logs, "--root", root, "--shards", "2")
    assert done.code == 0
    assert "version    1\n" in done.text
    assert "patches    2\n" in done.text
    assert_same(root, quads_after(LOG[:2]))
    found = json.loads(jelly("spark", "apply", *logs, "--root", root, "--json").text)
    assert (found["version"], found["committed"]) == (1, False)


def test_status_shows_versions_and_positions(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for patch in LOG:
        apply(root, text_of([patch]), shards=1)
    for number in range(11):
        apply(root, f"H id <urn:{number}> . TX . TC .".encode())
    apply(root, b"TX . A <urn:s> <urn:p> <urn:o> . TC .", application="a", batch=7)
    jelly("spark", "vacuum", root, "--keep", "2", "--grace-hours", "0")
    restored = jelly("spark", "restore", root, "--version", "15")
    # The vacuum has made version 17.
    assert restored.text.startswith("version 18: time ")
    assert restored.text.endswith(", restored 15\n")
    shown = jelly("spark", "status", root)
    assert shown.code == 0
    assert "shards         1\nshard by       subject\n" in shown.text
    assert shown.text.count("\n  first <urn:") == 10
    assert shown.text.index("first <urn:10>") < shown.text.index("first <urn:2>")
    assert "\nolder logs     2\n" in shown.text
    assert "batches\n  a\n    number  7\n" in shown.text
    found = json.loads(jelly("spark", "status", root, "--json").text)
    assert found["shards"] == 1
    assert [each["version"] for each in found["versions"]] == [18, 17, 16, 15]
    assert (found["logs"][0]["first"], found["logs"][0]["last"]) == (
        "<urn:92:0>",
        "<urn:92:3>",
    )
    assert found["batches"] == {"a": {"number": 7, "query": None}}


def test_verify_names_what_is_damaged(tmp_path: Path) -> None:
    root = tmp_path / "root"
    apply(root, text_of(LOG), shards=2)
    done = jelly("spark", "verify", root)
    assert done.code == 0
    found = json.loads(jelly("spark", "verify", root, "--json").text)
    assert found == {"root": str(root), "valid": True, "problems": []}
    next(root.glob("shard=1/*/CURRENT")).write_bytes(b"x")
    done = jelly("spark", "verify", root)
    assert done.code == 1
    assert "problems\n  shard 1: " in done.text
    done = jelly("spark", "verify", root, "--json", "--version", "1")
    assert (done.code, len(json.loads(done.text)["problems"])) == (1, 1)


def test_the_commands_do_without_spark(tmp_path: Path) -> None:
    log, root = tmp_path / "log.rdfp", str(tmp_path / "root")
    log.write_bytes(b"TX . A <urn:s> <urn:p> <urn:o> . TC .")
    lines = [["apply", str(log), "--root", root], ["status", root], ["vacuum", root]]
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "from jelly_plugins.cli.app import app\n"
        f"for line in {lines!r}: app(['spark', *line], standalone_mode=False)\n"
    )
    done = programs.run(code)
    assert done.returncode == 0, done.stderr
    assert "versions" in done.stdout


def test_vacuum_says_what_it_removes(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for patch in LOG[:3]:
        apply(root, text_of([patch]), shards=1)
    arguments = ("spark", "vacuum", root, "--keep", "1", "--grace-hours", "0")
    planned = json.loads(jelly(*arguments, "--dry-run", "--json").text)
    assert (planned["versions"], len(planned["stores"]), planned["dry_run"]) == ([1, 2], 2, True)
    assert jelly(*arguments).text.partition("stores\n")[2].count("\n") == 2
    assert json.loads(jelly(*arguments, "--json").text)["stores"] == []
    # By default nothing of today goes.
    assert "versions  none\n" in jelly("spark", "vacuum", root).text


def test_what_is_no_store_is_one_line_on_stderr(tmp_path: Path) -> None:
    for name in ("status", "vacuum", "verify"):
        done = jelly("spark", name, tmp_path)
        assert (done.code, done.err) == (1, f"jelly: {tmp_path}: there is no sharded store here\n")
    done = jelly("spark", "apply", "nothing.jellyp", "--root", tmp_path)
    assert (done.code, done.err.count("\n")) == (1, 1)
    apply(tmp_path / "root", b"A <urn:s> <urn:p> <urn:o> .", shards=2)
    done = jelly("spark", "apply", "x", "--root", tmp_path / "root", "--shards", "3")
    assert (done.code, "the store has shards=2, not 3" in done.err) == (1, True)
    assert jelly("spark").code == jelly("spark", "apply", "-", "-", "--root", "x").code == 2
    done = jelly("spark", "status", "s3://bucket/x", "--storage-option", "PASSWORD")
    assert (done.code, "PASSWORD" in done.err) == (2, False)
