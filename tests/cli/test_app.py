"""The command as a whole: version, help, exit codes, errors in one line, pipes, closed streams,
signals, and the demo."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from importlib.resources import files
from itertools import islice
from pathlib import Path

import pytest
from click import Context

from jelly_plugins import __version__, read
from jelly_plugins.cli.app import _COMMANDS as LISTED
from jelly_plugins.cli.app import app
from jelly_plugins.io.streams import write_bytes

from .. import programs
from ..shared_data import shared
from .command import assert_failed, command, jelly, jelly_process, triples_file

#: Bytes that a pipe takes before anybody reads, and more.
PIPE_HOLDS = 1 << 20


def test_version_names_the_kernel() -> None:
    done = jelly("--version")
    assert done.code == 0
    first, second = done.text.splitlines()
    assert first == f"jelly {__version__}"
    assert second in ("kernel: python", "kernel: native")


def test_the_list_of_commands_has_their_help() -> None:
    """It is not read from the commands, whose modules take long to import."""
    for name in LISTED:
        each = app.get_command(Context(app), name)
        assert each is not None
        assert " ".join(str(each.help).split()).startswith(LISTED[name][1]), name


@pytest.mark.parametrize(
    ("arguments", "unused"),
    [
        (["--help"], ["jelly_plugins.codec.rdf"]),
        (["--version"], ["jelly_plugins.codec.rdf", "click"]),
        (["convert", "--help"], ["jelly_plugins.formats.convert", "jelly_plugins.messages.text"]),
        (["validate", "--help"], ["jelly_plugins.formats.table", "jelly_plugins.tools.compare"]),
        (["patch", "--help"], ["jelly_plugins.patch.reader", "jelly_plugins.patch.writer"]),
        (["serve", "--help"], ["grpc", "pyoxigraph"]),
    ],
)
def test_the_help_and_the_version_import_little(arguments: list[str], unused: list[str]) -> None:
    program = f"import sys; sys.argv[1:] = {arguments}; from jelly_plugins.cli import main\n"
    program += f"try: main()\nfinally: print(sys.modules.keys() & {unused})"
    done = programs.run(program)
    assert done.stdout.splitlines()[-1] == "set()", done


@pytest.mark.parametrize("group", [[], ["patch"], ["spark"]])
def test_groups_list_their_commands_in_a_line_each(group: list[str]) -> None:
    done = jelly(*group)
    assert (done.code, done.err) == (2, "")
    assert done.out == jelly(*group, "--help").out
    listed = done.text.partition("Commands:\n")[2].splitlines()
    assert len(listed) > 2
    for line in listed:
        assert re.match(r"  \w+ +\w.*[^.]\.$", line), line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("nonsense", "nonsense"),
        ("convert", "SRC"),
        ("convert --nonsense x", "--nonsense"),
        ("--nonsense", "--nonsense"),
        ("--limit frame_bytes inspect x.jelly", "frame_bytes is not NAME=NUMBER"),
        ("--limit frame_rows=x inspect x.jelly", "frame_rows=x is not NAME=NUMBER"),
        ("--limit frame_row=3 inspect x.jelly", "'frame_row'; did you mean frame_rows?"),
        ("--limit nesting=1000 inspect x.jelly", "nesting"),
        ("convert x.jelly -o x.json", ".json is not a known file ending: known"),
        ("dump --store store -o x.csv", ".csv is not a known file ending: known"),
        ("patch diff a.nt b.nt -o x.xyz", "a log is jellyp, rdfp, trp, as --to"),
        ("subscribe t --from h:1 -o x.xyz", "subscribe writes jelly"),
        ("dump --store store -o x.jellyp", "x.jellyp has the ending of jellyp"),
        ("convert x.jelly -o x.rdfp.gz", "x.rdfp.gz has the ending of rdfp"),
        ("patch diff a.nt b.nt -o x.jelly", "x.jelly has the ending of jelly"),
        ("patch convert x.jellyp -o x.nt", "a log is jellyp, rdfp, trp, as --to"),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(
    arguments: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "store" in arguments:
        assert jelly("load", triples_file(tmp_path), "--store", "store").code == 0
    before = sorted(os.listdir())
    assert_failed(jelly(*arguments.split()), 2, words)
    assert sorted(os.listdir()) == before


def test_an_output_without_a_name(tmp_path: Path) -> None:
    done = jelly("convert", triples_file(tmp_path), "-o", "", "--to", "nt", "--force")
    assert_failed(done, 2, "the output is empty")


def test_bad_input_is_one_line_and_code_1(tmp_path: Path) -> None:
    path = triples_file(tmp_path)
    path.write_bytes(path.read_bytes()[:-1])
    assert_failed(jelly("inspect", path), 1, str(path), "frame 0", "ends inside a frame")
    assert_failed(jelly("inspect", tmp_path / "absent"), 1, "absent", "No such file")
    assert_failed(jelly("convert", tmp_path), 1, str(tmp_path))
    assert_failed(jelly("inspect", ""), 1, "'': No such file")


def test_exit_codes_of_the_process(tmp_path: Path) -> None:
    path = triples_file(tmp_path)
    assert jelly_process("inspect", path).code == 0
    assert_failed(jelly_process("inspect", tmp_path / "absent"), 1)
    assert_failed(jelly_process("inspect"), 2)


def test_stdin_and_stdout_are_bytes(tmp_path: Path) -> None:
    data = triples_file(tmp_path).read_bytes()
    text = jelly_process("convert", "-", stdin=data)
    assert (text.code, "é😀" in text.text) == (0, True)
    assert jelly_process("convert", "-", "--from", "nt", stdin=text.out).out == data


def test_characters_that_the_encoding_of_stdout_has_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    log = tmp_path / "日本.rdfp"
    log.write_text('TX .\nA <urn:s> <urn:p> "日本" .\nTC .\n', encoding="utf-8")
    for arguments in (("patch", "show"), ("patch", "check")):
        done = jelly_process(*arguments, log)
        assert (done.code, done.err) == (0, "")
    assert rb'"\u65e5\u672c"' in jelly_process("patch", "show", log).out


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
    process = subprocess.Popen(
        command(*arguments, tmp_path / "x.jelly"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(1)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) in (141, 0)


def test_an_interrupt_is_code_130() -> None:
    process = subprocess.Popen(
        command("inspect", "-"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    # A frame whose end is long in coming. More of it than a pipe holds can only be written once
    # the command reads, however long it takes to start.
    process.stdin.write(b"\x80\x80\x80\x02" + bytes(PIPE_HOLDS))
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_without_click_the_install_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise ModuleNotFoundError(name='click')")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        command("demo"),
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "pip install 'jelly-plugins[cli]'" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    ["inspect -", "convert - --to nt", "patch diff - x.nt --from nt"],
)
def test_stdin_that_is_closed(arguments: str, tmp_path: Path) -> None:
    (tmp_path / "x.nt").write_text("<urn:s> <urn:p> <urn:o> .\n")
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *command(*arguments.split())],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "jelly: <stdin>: cannot be read: [Errno 9] Bad file descriptor\n"


@pytest.mark.parametrize(
    ("arguments", "unbuffered"),
    [
        ("convert x.jelly --to nt", ""),
        ("convert x.jelly --to nt", "1"),
        ("inspect x.jelly", ""),
        ("--version", "1"),
    ],
)
def test_stdout_that_is_closed_or_full_is_named(
    arguments: str, unbuffered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    monkeypatch.chdir(tmp_path)
    triples_file(tmp_path)
    for redirected, words in (
        (">&-", "Bad file descriptor"),
        (">/dev/full", "No space left on device"),
    ):
        if not os.path.exists("/dev/full"):
            continue
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {redirected}', "sh", *command(*arguments.split())],
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (1, f"jelly: <stdout>: {words}\n")


def test_a_file_is_written_without_stdout_and_a_full_disk_is_named(tmp_path: Path) -> None:
    path, target = triples_file(tmp_path), tmp_path / "x.nt"
    program = ["sh", "-c", 'exec "$@" >&-', "sh", *command("convert", path, "-o", target)]
    assert subprocess.run(program, check=False).returncode == 0
    assert target.read_bytes()
    if os.path.exists("/dev/full"):
        failed = jelly("convert", path, "-o", "/dev/full", "--to", "nt")
        assert_failed(failed, 1, "jelly: /dev/full: No space left")


# The command at signals, also while it starts or ends: quiet, and nothing is left

#: More than a pipe holds: written once the command reads.
MUCH = b"<urn:s> <urn:p> <urn:o> .\n" * 100_000


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_no_temporary_file_is_left(name: str, code: int, tmp_path: Path) -> None:
    if not hasattr(signal, name):
        pytest.skip(f"there is no {name} here")
    to = tmp_path / "x.jelly"
    python, option, main, *arguments = command("convert", "-", "--from", "nt", "-o", to)
    # Whoever has started the tests may have it ignored. Set in the new process: a preexec_fn runs
    # in a copy of this one, where threads that are not there may hold a lock.
    heard = f"import signal; signal.signal(signal.{name}, signal.SIG_DFL)"
    process = subprocess.Popen(
        [python, option, f"{heard}; {main}", *arguments],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    try:
        process.stdin.write(MUCH)
        process.stdin.flush()
    except BrokenPipeError:
        pytest.fail(f"ended before it was asked to: {process.communicate()}")
    assert [path.name[:2] for path in tmp_path.iterdir()] == [".x"]
    process.send_signal(getattr(signal, name))
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (code, b"")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_while_libraries_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt")
    done = subprocess.run(
        command("inspect", "-"),
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_what_has_ignored_a_signal_goes_on(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "from jelly_plugins import cli\n"
        "cli.version_text = lambda: os.kill(os.getpid(), signal.SIGHUP) or 'there'\n"
        "sys.argv[1:] = ['--version']\n"
        "cli.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, cwd=tmp_path, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"there\n"), done.stderr


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize(("source", "code"), [(b"<urn:s> <urn:p> <urn:o> .\n", 0), (b"x", 1)])
def test_a_signal_while_python_ends(name: str, source: bytes, code: int, tmp_path: Path) -> None:
    if not hasattr(signal, name):
        pytest.skip(f"there is no {name} here")
    to = tmp_path / "x.jelly"
    python, option, main, *arguments = command("convert", "-", "--from", "nt", "-o", to)
    ending = f"import atexit, os, signal; atexit.register(os.kill, os.getpid(), signal.{name})"
    done = subprocess.run(
        [python, option, f"{ending}; {main}", *arguments],
        input=source,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (code, False), done.stderr
    assert to.exists() == (code == 0)


# ``jelly demo``


def test_the_demo_needs_no_home_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "absent"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    done = jelly_process("demo")
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
