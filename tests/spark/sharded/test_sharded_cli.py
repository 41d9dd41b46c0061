"""``jelly spark``: the commands, most of them without Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jelly_plugins.spark import ShardedStore
from tests.cli.command import command, jelly

from .logs import Writer, apply, assert_same, log_file, replayed


@pytest.mark.slow  # starts a Spark of its own
def test_a_log_is_applied_from_the_command_line(tmp_path: Path) -> None:
    writer = Writer()
    log = log_file(tmp_path / "log.jellyp", [writer.patch(), writer.patch()])
    root = tmp_path / "root"
    done = subprocess.run(
        command(
            *("spark", "apply", log, "--root", root, "--shards", "3"),
            *("--shard-by", "graph", "--master", "local[1]", "--json"),
        ),
        capture_output=True,
        check=True,
        env={**os.environ},
    )
    found = json.loads(done.stdout)
    assert (found["version"], found["replayed"]["patches"], found["held_back"]) == (1, 2, 0)
    assert_same(root, replayed(log))
    layout = ShardedStore(root).layout
    assert (layout.shards, layout.shard_by) == (3, "graph")


@pytest.mark.slow  # starts a Spark of its own
def test_what_fails_in_a_task_is_one_line_of_the_command(tmp_path: Path) -> None:
    """Spark would log what failed with its own traceback and Java's."""
    writer = Writer()
    root = tmp_path / "root"
    apply(root, log_file(tmp_path / "0.jellyp", [writer.patch()]), shards=1)
    [table, *_] = root.glob("shard=0/*/*.sst")
    table.unlink()
    log = log_file(tmp_path / "1.jellyp", [writer.patch()])
    done = subprocess.run(
        command("spark", "apply", log, "--root", root, "--master", "local[1]"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "ERROR" not in done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("jelly: ")]
    assert len(said) == 1
    assert table.name in said[0]


def test_status_shows_versions_and_positions(tmp_path: Path) -> None:
    writer = Writer()
    root = tmp_path / "root"
    for number in range(12):
        apply(root, log_file(tmp_path / f"{number}.rdfp", [writer.patch(3)]), shards=1)
    jelly("spark", "vacuum", root, "--keep", "2", "--grace-hours", "0")
    shown = jelly("spark", "status", root)
    assert shown.code == 0
    assert "shards   1 by subject" in shown.text
    assert "log <urn:patch:0>\n  position  patch 12 <urn:patch:11>" in shown.text
    assert "operations, vacuumed" not in shown.text.splitlines()[-12]
    assert ", vacuumed" in shown.text
    assert "and 3 older ones" in shown.text
    found = json.loads(jelly("spark", "status", root, "--json").text)
    assert found["layout"]["shards"] == 1
    # The newest is the vacuum's own.
    assert [each["version"] for each in found["versions"]] == list(range(13, 0, -1))
    assert [each["open"] for each in found["versions"]] == [True] * 3 + [False] * 10
    assert found["head"]["positions"][0]["patch"] == "<urn:patch:11>"


def test_status_counts_positions_and_shows_the_latest(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for number in range(12):
        apply(root, f"H id <urn:{number}> . TX . TC . Z .".encode(), shards=1)
    shown = jelly("spark", "status", root).text
    assert "logs     12\n" in shown
    assert shown.count("\nlog <urn:") == 10
    assert shown.index("log <urn:11>") < shown.index("log <urn:2>")
    assert "\nand 2 older logs: --positions\n" in shown
    everything = jelly("spark", "status", root, "--positions").text
    assert everything.count("\nlog <urn:") == 12
    assert "older logs" not in everything
    found = json.loads(jelly("spark", "status", root, "--json").text)
    assert (found["positions"], len(found["head"]["positions"])) == (12, 10)
    assert found["head"]["positions"][0]["log"] == "<urn:11>"
    found = json.loads(jelly("spark", "status", root, "--json", "--positions").text)
    assert len(found["head"]["positions"]) == 12


def test_verify_names_what_is_damaged(tmp_path: Path) -> None:
    root = tmp_path / "root"
    apply(root, log_file(tmp_path / "log.rdfp", [Writer().patch()]), shards=2)
    done = jelly("spark", "verify", root)
    assert (done.code, done.text) == (0, "version 1: 2 shards checked, no problems\n")
    found = json.loads(jelly("spark", "verify", root, "--json").text)
    assert found == {"root": str(root), "version": 1, "problems": []}
    table = next(root.glob("shard=1/*/*.sst"))
    data = bytearray(table.read_bytes())
    data[7] ^= 1
    table.write_bytes(data)
    done = jelly("spark", "verify", root)
    assert (done.code, done.text.count("\n")) == (1, 1)
    assert done.text.startswith(f"{root}: version 1, shard 1: ")
    assert table.name in done.text
    done = jelly("spark", "verify", root, "--json")
    assert (done.code, len(json.loads(done.text)["problems"])) == (1, 1)
    # An older version is not damaged by that.
    assert jelly("spark", "verify", root, "--version", "0").code == 0


def test_status_and_vacuum_do_without_spark(tmp_path: Path) -> None:
    apply(tmp_path / "root", b"TX . TC . Z .", shards=2)
    code = (
        "import sys; sys.modules['pyspark'] = None; from jelly_plugins.cli import main;"
        f"sys.argv = ['jelly', 'spark', NAME, {str(tmp_path / 'root')!r}]; main()"
    )
    for name in ("status", "vacuum", "verify"):
        script = code.replace("NAME", repr(name))
        subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_vacuum_says_what_it_removes(tmp_path: Path) -> None:
    root = tmp_path / "root"
    writer = Writer()
    for number in range(3):
        apply(root, log_file(tmp_path / f"{number}.rdfp", [writer.patch()]), shards=1)
    arguments = ("spark", "vacuum", root, "--keep", "1", "--grace-hours", "0")
    planned = json.loads(jelly(*arguments, "--dry-run", "--json").text)
    assert (planned["versions"], len(planned["stores"]), planned["dry_run"]) == ([2, 1], 2, True)
    assert "stores    2" in jelly(*arguments).text
    assert json.loads(jelly(*arguments, "--json").text)["stores"] == []
    # By default nothing of today goes.
    assert "versions  0" in jelly("spark", "vacuum", root).text


def test_what_is_no_store_is_one_line_on_stderr(tmp_path: Path) -> None:
    for name in ("status", "vacuum", "verify"):
        done = jelly("spark", name, tmp_path)
        assert (done.code, done.err) == (1, f"jelly: {tmp_path}: there is no sharded store here\n")
    (tmp_path / "x").touch()
    done = jelly("spark", "apply", "nothing.jellyp", "--root", tmp_path)
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "there is no sharded store here, but another file, 'x'" in done.err
    apply(tmp_path / "root", b"TX . TC . Z .", shards=2)
    done = jelly("spark", "apply", "x", "--root", tmp_path / "root", "--shards", "3")
    assert (done.code, "the store has 2 shards (got shards=3)" in done.err) == (1, True)
    assert jelly("spark").code == jelly("spark", "apply", "-", "-", "--root", "x").code == 2
