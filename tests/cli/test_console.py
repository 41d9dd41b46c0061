"""What commands show on a terminal, and that stdout stays as it is meant, letter by letter."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import Iri, Literal, Triple, write
from jelly_plugins.cli import console
from jelly_plugins.patch import BEGIN, COMMIT, Patch, add, read_patches, write_patches

from .command import command, jelly, jelly_process, triples_file

pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")

#: Longer than a terminal is wide.
LONG = "x" * 9000
TRIPLES = [Triple(Iri("urn:s"), Iri("urn:p"), Literal(f"{n} {LONG}")) for n in range(600)]


def on_a_terminal(*arguments: str | Path, stream: str = "stderr") -> tuple[int, bytes, bytes]:
    """Run ``jelly`` with a terminal as one of its streams: its exit code, what it wrote to the
    other one, and what was shown.
    """
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    environment.pop("NO_COLOR", None)
    given: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: theirs}
    with subprocess.Popen(command(*arguments), env=environment, **given) as process:
        os.close(theirs)
        shown: list[bytes] = []
        # A terminal buffers little: unread output would block the command.
        reading = threading.Thread(target=lambda: shown.extend(_all_of(ours)))
        reading.start()
        other, error = process.communicate()
        reading.join()
    os.close(ours)
    return process.returncode, other or error or b"", b"".join(shown)


def _all_of(terminal: int) -> Iterator[bytes]:
    # Linux reports the end as an error.
    with suppress(OSError):
        yield from iter(lambda: os.read(terminal, 1 << 16), b"")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Jelly file that is worth a bar."""
    path = tmp_path_factory.mktemp("large") / "x.jelly"
    write(TRIPLES, path)
    assert path.stat().st_size > 5 << 20
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    write_patches([Patch([BEGIN, *map(add, TRIPLES), COMMIT])], tmp_path / "x.jellyp")
    return tmp_path / "x.jellyp"


@pytest.mark.parametrize(
    "line", ["convert", "inspect --frames --json", "load --json --store store", "patch show"]
)
def test_a_bar_shows_how_far_a_large_file_is_read(
    line: str, large: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(log.parent)
    first, *others = line.split()
    source = log if first == "patch" else large
    code, out, shown = on_a_terminal(*line.split(), source)
    assert code == 0
    assert out == jelly(*line.split(), source).out
    assert (others[0] if first == "patch" else first).encode() in shown
    assert b"MB" in shown
    assert b"statements" not in shown
    assert LONG.encode() not in shown


def test_a_small_file_has_no_bar(tmp_path: Path) -> None:
    assert on_a_terminal("convert", triples_file(tmp_path))[2] == b""
    code, _, shown = on_a_terminal("convert", tmp_path / "absent.nt")
    assert code == 1
    assert shown.startswith(b"jelly: ")


def test_a_dump_counts(tmp_path: Path) -> None:
    jelly("load", triples_file(tmp_path), "--store", tmp_path / "store")
    code, _, shown = on_a_terminal("dump", "--store", tmp_path / "store")
    assert code == 0
    assert b"dump 7 statements" in shown


def test_a_log_passes_no_commands_to_the_terminal(tmp_path: Path) -> None:
    log = tmp_path / "log.rdfp"
    log.write_text('A <urn:s> <urn:p> "\x9b31m[bold]\u202e\U000e0001" .\n', encoding="utf-8")
    escaped = rb'"\u009B31m[bold]\u202E\U000E0001"'
    assert escaped in jelly("patch", "show", log).out
    assert list(read_patches(jelly("patch", "show", log).out)) == list(read_patches(log))
    code, _, shown = on_a_terminal("patch", "show", log, stream="stdout")
    assert code == 0
    assert escaped[1:-1] in shown


@pytest.mark.parametrize("source", ["x.nt", "--store root"])
def test_solutions_are_a_table(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.nt").write_text('<urn:s> <urn:p> "o" .\n')
    if source != "x.nt":
        pytest.importorskip("jelly_plugins.spark.shards")
        jelly("patch", "diff", "-", "x.nt", "--from", "nt", "-o", "x.jellyp")
        assert jelly("spark", "apply", "x.jellyp", "--root", "root", "--shards", "2").code == 0
    arguments = ("query", "SELECT ?s ?p ?o { ?s ?p ?o }", *source.split())
    assert jelly(*arguments).text == '?s\t?p\t?o\n<urn:s>\t<urn:p>\t"o"\n'
    _, _, shown = on_a_terminal(*arguments, stream="stdout")
    text = re.sub(r"\x1b\[\d*m", "", shown.decode())
    lines = [line.split() for line in text.splitlines()]
    assert lines == [["?s", "?p", "?o"], ["<urn:s>", "<urn:p>", '"o"'], ["1", "solution"]]


def test_large_files_and_the_demo_note_the_slow_codec(large: Path, tmp_path: Path) -> None:
    pure = {"JELLY_PURE_PYTHON": "1"}
    for environment in ({}, pure):
        is_slow = "kernel: python" in jelly_process("--version", **environment).text
        done = jelly_process("convert", large, "-o", tmp_path / "y.jelly", "-f", **environment)
        assert done.err == (f"jelly: {console.PYTHON_KERNEL}\n" if is_slow else "")
        assert ("runs in Python" in jelly_process("demo", **environment).text) == is_slow
    small = triples_file(tmp_path)
    assert jelly_process("convert", small, "-o", tmp_path / "x.nt", **pure).err == ""
