"""Words: of one thing and of several, of the kernel that ran, and the start page's."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from jelly_plugins import Iri, Literal, Triple, codec, write
from jelly_plugins.cli import console
from tests.blocks import blocks, run_python
from tests.shared_data import ROOT

from .command import assert_failed, command, jelly, triples_file


def test_one_is_no_plural(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    write([Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))], path)
    done = jelly("load", path, "--store", tmp_path / "store")
    assert done.text == f"{path}: 1 statement\n"


@pytest.mark.parametrize("native", [True, False])
def test_the_demo_says_that_the_slow_codec_ran(
    native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codec, "native", native)
    done = jelly("demo")
    assert done.code == 0
    assert ("runs in Python" in done.text) == (not native)


@pytest.mark.parametrize("native", [True, False])
def test_a_large_conversion_notes_the_slow_codec_once(
    native: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codec, "native", native)
    console._note_python_kernel.cache_clear()
    small, large = tmp_path / "small.jelly", tmp_path / "large.jelly"
    write([Triple(Iri("urn:s"), Iri("urn:p"), Literal("x"))], small)
    write([Triple(Iri("urn:s"), Iri("urn:p"), Literal("x" * (5 << 20)))], large)
    assert jelly("convert", small, "-o", tmp_path / "small.nt").err == ""
    done = jelly("convert", large, "-o", tmp_path / "x.jelly")
    assert done.err == ("" if native else f"jelly: {console.PYTHON_KERNEL}\n")


def test_the_comment_on_the_start_page_is_what_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "start" / "index.md").read_text(encoding="utf-8")
    [block] = [text for _, text in blocks(page) if "print(error)  #" in text]
    run_python(block, {"__name__": "page"}, tmp_path)
    found = re.search(r"print\(error\)  # (.*)", block)
    assert found is not None
    assert found[1] == capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(
    "arguments",
    [
        ("inspect", "-"),
        ("convert", "-", "--to", "nt"),
        ("patch", "diff", "-", "x.nt", "--from", "nt"),
    ],
)
def test_stdin_that_is_closed(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "x.nt").write_text("<urn:s> <urn:p> <urn:o> .\n")
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *command(*arguments)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "jelly: <stdin>: cannot be read: [Errno 9] Bad file descriptor\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_stdout_that_is_closed_or_full_is_named(
    unbuffered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    path = triples_file(tmp_path)
    for arguments, ends in (
        (("convert", path, "--to", "nt"), (1, "jelly: <stdout>: Bad file descriptor\n")),
        (("inspect", path), (1, "jelly: <stdout>: Bad file descriptor\n")),
        (("--version",), (1, "jelly: <stdout>: Bad file descriptor\n")),
        (("convert", path, "-o", tmp_path / "x.nt"), (0, "")),
    ):
        closed = subprocess.run(
            ["sh", "-c", 'exec "$@" >&-', "sh", *command(*arguments)],
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert (closed.returncode, closed.stderr) == ends
    assert (tmp_path / "x.nt").read_bytes()
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    for arguments in (
        ("convert", path, "--to", "nt"),
        ("inspect", path),
        ("--help",),
        ("--version",),
    ):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                command(*arguments), stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert (done.returncode, done.stderr) == (
            1,
            "jelly: <stdout>: No space left on device\n",
        )


@pytest.mark.parametrize("ending", [".xz", ".lz4", ".br", ".zip", ".7z", ".XZ"])
def test_a_compression_that_there_is_not(ending: str, tmp_path: Path) -> None:
    path = triples_file(tmp_path)
    message = f"unknown compression {ending.lower()}"
    for name in (f"x.jelly{ending}", f"x.nt{ending}"):
        done = jelly("convert", path, "-o", tmp_path / name, "--to", "jelly")
        assert_failed(done, 2, message)
        assert_failed(jelly("convert", path, "-o", tmp_path / name), 2, message)
        assert not (tmp_path / name).exists()


def test_a_limit_that_there_is_not(tmp_path: Path) -> None:
    path = triples_file(tmp_path)
    assert_failed(
        jelly("--limit", "frame_row=3", "validate", path),
        2,
        "unknown limit 'frame_row'; did you mean frame_rows?",
    )
    for wrong in ("frame_rows=x", "frame_rows"):
        done = jelly("--limit", wrong, "validate", path)
        assert_failed(done, 2, f"{wrong} is not NAME=NUMBER")


def test_an_empty_name_is_named() -> None:
    assert_failed(jelly("inspect", ""), 1, "'': No such file")
    assert_failed(jelly("convert", "", "--to", "nt"), 1, "'': No such file")


def test_validate_against_stdin(tmp_path: Path) -> None:
    path = triples_file(tmp_path)
    done = jelly("validate", path, "--against", "-", "--from", "nt", stdin=b"")
    assert_failed(done, 2, "--against: a file is needed, not stdin")
