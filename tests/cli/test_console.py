"""What commands show on a terminal, and that stdout stays as it is meant, letter by letter."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from jelly_plugins import Iri, Literal, Triple, codec, write
from jelly_plugins.cli import console
from jelly_plugins.patch import BEGIN, COMMIT, Patch, add, write_patches

from .command import command, jelly, triples_file

pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")

#: Longer than a terminal is wide.
LONG = "x" * 9000
TRIPLES = [Triple(Iri("urn:s"), Iri("urn:p"), Literal(f"{n} {LONG}")) for n in range(600)]


def on_a_terminal(*arguments: str | Path) -> tuple[int, bytes, bytes]:
    """Run ``jelly`` with a terminal as stderr: its exit code, stdout, and what was shown."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command(*arguments),
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    ) as process:
        os.close(theirs)
        assert process.stdout is not None
        shown: list[bytes] = []
        # A terminal buffers little: unread output would block the command.
        reading = threading.Thread(target=lambda: shown.extend(_all_of(ours)))
        reading.start()
        out = process.stdout.read()
        code = process.wait(timeout=60)
        reading.join()
    os.close(ours)
    return code, out, b"".join(shown)


def _all_of(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(terminal, 1 << 16)
        except OSError:
            return
        if not chunk:
            return
        yield chunk


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Jelly file that is worth a bar."""
    path = tmp_path_factory.mktemp("large") / "x.jelly"
    write(TRIPLES, path)
    assert path.stat().st_size > 5 << 20
    return path


@pytest.mark.parametrize(
    "arguments", [("convert",), ("inspect", "--frames", "--json")], ids=["convert", "inspect"]
)
def test_a_bar_shows_how_far_a_large_file_is_read(arguments: tuple[str, ...], large: Path) -> None:
    code, out, shown = on_a_terminal(*arguments, large)
    assert code == 0
    assert out == jelly(*arguments, large).out
    assert arguments[0].encode() in shown
    assert b"MB" in shown
    assert b"statements" not in shown


def test_the_result_of_a_load(large: Path, tmp_path: Path) -> None:
    code, out, shown = on_a_terminal("load", large, "--store", tmp_path / "store", "--json")
    assert (code, b"load" in shown) == (0, True)
    assert json.loads(out) == {"source": str(large), "statements": len(TRIPLES)}


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


def test_a_log_that_is_shown(tmp_path: Path) -> None:
    log = tmp_path / "x.jellyp"
    write_patches([Patch([BEGIN, *map(add, TRIPLES), COMMIT])], log)
    code, out, shown = on_a_terminal("patch", "show", log)
    assert code == 0
    assert out == jelly("patch", "show", log).out
    assert LONG.encode() not in shown


@pytest.mark.parametrize("native", [True, False])
def test_large_files_and_the_demo_note_the_slow_codec(
    native: bool, large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codec, "native", native)
    console._note_python_kernel.cache_clear()
    assert jelly("convert", triples_file(tmp_path), "-o", tmp_path / "small.nt").err == ""
    done = jelly("convert", large, "-o", tmp_path / "y.jelly")
    assert done.err == ("" if native else f"jelly: {console.PYTHON_KERNEL}\n")
    assert ("runs in Python" in jelly("demo").text) == (not native)
