"""The command as a whole: version, help, exit codes, errors in one line, pipes, closed streams,
signals, and the demo."""

from __future__ import annotations

import os
import re
import signal
import sys
from importlib.resources import files
from itertools import islice
from pathlib import Path

import pytest

from jelly_plugins import __version__, read
from jelly_plugins.io.streams import write_bytes

from ..shared_data import shared
from .command import Done, assert_failed, end, jelly, jelly_process, started, triples_file


def test_version_names_the_kernel() -> None:
    done = jelly("--version")
    assert done.code == 0
    first, second = done.text.splitlines()
    assert first == f"jelly {__version__}"
    assert second in ("kernel: python", "kernel: native")


def test_the_list_of_commands_has_their_help() -> None:
    """It is not read from the commands, whose modules take long to import."""
    listed = re.findall(r"^  (\w+) +(.*)", jelly("--help").text.partition("Commands:\n")[2], re.M)
    assert len(listed) > 2
    for name, text in listed:
        help_ = " ".join(jelly(name, "--help").text.split())
        assert f" {text.rstrip('.')}" in help_, name


@pytest.mark.parametrize("group", [[], ["patch"], ["spark"]])
def test_groups_list_their_commands_in_a_line_each(group: list[str]) -> None:
    done = jelly(*group)
    assert (done.code, done.err) == (2, "")
    assert done.out == jelly(*group, "--help").out
    listed = done.text.partition("Commands:\n")[2].splitlines()
    assert len(listed) > 2
    for line in listed:
        assert re.match(r"  \w+ +\w.*[^.]\.$", line), line


def test_bad_input_is_one_line_and_code_1(tmp_path: Path) -> None:
    path = triples_file(tmp_path)
    path.write_bytes(path.read_bytes()[:-1])
    assert_failed(jelly("inspect", path), 1, str(path), "frame 0", "ends inside a frame")
    assert_failed(jelly("inspect", tmp_path / "absent"), 1, "absent", "No such file")
    assert_failed(jelly("convert", tmp_path), 1, str(tmp_path))
    assert_failed(jelly("inspect", ""), 1, "'': No such file")


def test_stdin_and_stdout_are_bytes(tmp_path: Path) -> None:
    data = triples_file(tmp_path).read_bytes()
    text = jelly_process("convert", "-", stdin=data)
    assert (text.code, "é😀" in text.text) == (0, True)
    assert jelly_process("convert", "-", "--from", "nt", stdin=text.out).out == data


def test_characters_that_the_encoding_of_stdout_has_not(tmp_path: Path) -> None:
    log = tmp_path / "日本.rdfp"
    log.write_text('TX .\nA <urn:s> <urn:p> "日本" .\nTC .\n', encoding="utf-8")
    for name, shown in (("show", rb'"\u65e5\u672c"'), ("check", b"patches")):
        done = jelly_process("patch", name, log, PYTHONIOENCODING="cp1252")
        assert (done.code, done.err) == (0, "")
        assert shown in done.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("convert",),
        ("convert", "--to", "ttl"),
        ("--limit", "frame_rows=300", "inspect", "--frames"),
    ],
)
def test_a_closed_pipe_ends_quietly(arguments: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "x.nt"
    path.write_text("".join(f"<urn:s> <urn:p> <urn:o{n}> .\n" for n in range(30_000)))
    jelly("convert", path, "-o", tmp_path / "x.jelly")
    with started(*arguments, tmp_path / "x.jelly") as process:
        assert process.stdout is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait() in (141, 0)


@pytest.mark.parametrize(
    ("importing", "code", "words"),
    [
        ("raise ModuleNotFoundError(name='click')", 1, "pip install 'jelly-plugins[cli]'"),
        ("raise KeyboardInterrupt", 130, ""),
    ],
    ids=["missing", "interrupted"],
)
def test_a_library_that_is_not_loaded(
    importing: str, code: int, words: str, tmp_path: Path
) -> None:
    (tmp_path / "click.py").write_text(importing)
    done = jelly_process("demo", PYTHONPATH=os.pathsep.join([str(tmp_path), *sys.path]))
    assert (done.code, done.out) == (code, b"")
    assert words in done.err
    assert done.err.count("\n") == bool(words)


@pytest.mark.parametrize("redirected", ["<&-", ">&-"])
def test_a_standard_stream_that_is_closed(redirected: str) -> None:
    done = jelly_process("--version", redirected=redirected)
    assert_failed(done, 1, "standard input, output and error must be open")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
@pytest.mark.parametrize(
    ("arguments", "unbuffered"),
    [
        ("convert x.jelly --to nt", ""),
        ("convert x.jelly --to nt", "1"),
        ("inspect x.jelly", ""),
        ("--version", "1"),
    ],
)
def test_output_that_is_full_is_named(
    arguments: str, unbuffered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = triples_file(tmp_path)
    done = jelly_process(*arguments.split(), redirected=">/dev/full", PYTHONUNBUFFERED=unbuffered)
    assert done == Done(1, b"", "jelly: <stdout>: No space left on device\n")
    failed = jelly("convert", path, "-o", "/dev/full", "--to", "nt")
    assert_failed(failed, 1, "jelly: /dev/full: No space left")


# The command at signals, also while it starts or ends: quiet, and nothing is left

#: More than a pipe holds: written once the command reads.
MUCH = b"<urn:s> <urn:p> <urn:o> .\n" * 100_000
#: The signals that this system has, and the exit code of a process that one has ended.
SIGNALS = {
    getattr(signal, name): code
    for name, code in (("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129))
    if hasattr(signal, name)
}


@pytest.mark.parametrize(("number", "code"), SIGNALS.items())
def test_no_temporary_file_is_left(number: int, code: int, tmp_path: Path) -> None:
    # The process that has started the tests may ignore it.
    handled = f"import signal; signal.signal({number:d}, signal.default_int_handler)"
    arguments = ("convert", "-", "--from", "nt", "-o", tmp_path / "x.jelly")
    with started(*arguments, first=handled) as process:
        assert process.stdin is not None
        try:
            process.stdin.write(MUCH)
            process.stdin.flush()
        except BrokenPipeError:
            pytest.fail(f"ended before it was asked to: {process.communicate()}")
        assert [path.name[:2] for path in tmp_path.iterdir()] == [".x"]
        assert end(process, number) == Done(code, b"", "")
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_the_parent_ignores_stays_ignored() -> None:
    first = (
        "import os, signal\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "from jelly_plugins import lazy\n"
        "lazy.has_kernel = lambda: os.kill(os.getpid(), signal.SIGHUP)"
    )
    assert jelly_process("--version", first=first).code == 0


# ``jelly demo``


def test_the_demo_needs_no_home_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = jelly_process("demo", HOME=str(tmp_path / "absent"), TMPDIR=str(tmp_path))
    assert (done.code, done.err) == (0, "")
    assert list(tmp_path.iterdir()) == []
    counts = re.findall(r"^\S.*? ([\d,]+) [a-z].* ms", done.text, re.MULTILINE)
    assert counts == ["3,553", "5,000", "9", "3,553", "3,553"]
    assert re.search(r"temp +54\.2 +54\.3047 +54\.4 +degreeFahrenheit", done.text)
    assert "The copy is equal to the store." in done.text


def test_the_file_is_what_its_readme_says() -> None:
    source = shared("data/assist-iot-weather_100kt.jelly.gz")
    shipped = files("jelly_plugins") / "data" / "demo.jelly"
    assert shipped.read_bytes() == write_bytes(islice(read(source), 5000))
