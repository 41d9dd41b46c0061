"""Runs the command, in this process or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from jelly_plugins import BlankNode, Iri, Literal, Quad, Triple, write
from jelly_plugins.cli.app import app

_MAIN = "from jelly_plugins.cli import main; main()"

XSD = "http://www.w3.org/2001/XMLSchema#"
EX = "http://example.org/"

#: What every format with and without graphs can say.
TRIPLES = [
    Triple(Iri(EX + "s"), Iri(EX + "p"), Iri(EX + "o")),
    Triple(Iri(EX + "s"), Iri(EX + "p"), Literal('tab\t "quoted" \\ <&> é😀')),
    Triple(Iri(EX + "s"), Iri(EX + "q"), Literal("Hallo\r\nWelt ", "de")),
    Triple(Iri(EX + "s"), Iri(EX + "q"), Literal("7", None, XSD + "integer")),
    Triple(BlankNode("b1"), Iri(EX + "knows"), BlankNode("b2")),
    Triple(Iri(EX + "s"), Iri(EX + "knows"), BlankNode("b1")),
    Triple(BlankNode("b2"), Iri(EX + "q"), Literal("")),
]
QUADS = [
    *(Quad(*triple, Iri(EX + "g")) for triple in TRIPLES),
    Quad(Iri(EX + "s"), Iri(EX + "p"), BlankNode("b1"), Iri(EX + "h")),
]


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()


def jelly(*arguments: str | Path, stdin: bytes = b"") -> Done:
    """Run ``jelly`` in this process."""
    result = CliRunner().invoke(app, list(map(str, arguments)), input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout_bytes, result.stderr)


def command(*arguments: str | Path, first: str = "") -> list[str]:
    """The command line of ``jelly`` in a process of its own.

    :param first: a program that runs before it.
    """
    return [sys.executable, "-c", f"{first}\n{_MAIN}", *map(str, arguments)]


def jelly_process(
    *arguments: str | Path,
    stdin: bytes = b"",
    first: str = "",
    redirected: str = "",
    **environment: str,
) -> Done:
    """Run ``jelly`` in a process of its own.

    :param first: a program that runs before it.
    :param redirected: what a shell redirects.
    """
    line = command(*arguments, first=first)
    if redirected:
        line = ["sh", "-c", f'exec "$@" {redirected}', "sh", *line]
    done = subprocess.run(
        line, input=stdin, capture_output=True, env={**os.environ, **environment}, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr.decode())


@contextmanager
def started(*arguments: str | Path, first: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """Start ``jelly`` in a process of its own, with pipes; end it after the block."""
    process = subprocess.Popen(
        command(*arguments, first=first),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def end(process: subprocess.Popen[bytes], number: int | None = None) -> Done:
    """Wait for the end of a process.

    :param number: of a signal that it gets.
    """
    if number is not None:
        process.send_signal(number)
    out, err = process.communicate()
    return Done(process.returncode, out, err.decode())


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait without a bound: the time limit of a test is there for what never comes."""
    while not condition():
        time.sleep(0.01)


def triples_file(folder: Path, name: str = "x.jelly") -> Path:
    """A Jelly file of :data:`TRIPLES`."""
    write(TRIPLES, folder / name)
    return folder / name


def quads_file(folder: Path, name: str = "x.jelly") -> Path:
    """A Jelly file of :data:`QUADS`."""
    write(QUADS, folder / name)
    return folder / name


def assert_failed(done: Done, code: int, *words: str) -> None:
    """It ended with ``code``, said nothing on stdout and one line on stderr, with ``words``."""
    assert done.code == code, done
    assert done.out == b""
    assert done.err.startswith("jelly: ")
    assert done.err.count("\n") == 1
    assert done.err.endswith("\n")
    for word in words:
        assert word in done.err
