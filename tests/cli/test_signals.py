"""The command at signals, also while it starts or ends: quiet, and nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .command import command

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
