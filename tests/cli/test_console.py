"""What commands show on a terminal, and numbers for people."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from .command import command, jelly

pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")


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


def test_a_bar_shows_how_far_a_large_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.nt"
    literal = "x" * 5000
    path.write_text("".join(f'<urn:s> <urn:p> "{n} {literal}" .\n' for n in range(1000)))
    code, out, shown = on_a_terminal("convert", path)
    assert code == 0
    assert out == jelly("convert", path).out
    assert b"convert" in shown
    assert b"MB" in shown


def test_a_small_file_has_no_bar(tmp_path: Path) -> None:
    path = tmp_path / "x.nt"
    path.write_text("<urn:s> <urn:p> <urn:o> .\n")
    assert on_a_terminal("convert", path)[2] == b""
    code, _, shown = on_a_terminal("convert", tmp_path / "absent.nt")
    assert code == 1
    assert shown.startswith(b"jelly: ")


def test_a_dump_counts(tmp_path: Path) -> None:
    jelly("load", _triples(tmp_path), "--store", tmp_path / "store")
    code, _, shown = on_a_terminal("dump", "--store", tmp_path / "store")
    assert code == 0
    assert b"dump 1 statement" in shown
    assert b"dump 1 statements" not in shown


def _triples(folder: Path) -> Path:
    path = folder / "x.nt"
    path.write_text("<urn:s> <urn:p> <urn:o> .\n")
    jelly("convert", path, "-o", folder / "x.jelly")
    return folder / "x.jelly"
