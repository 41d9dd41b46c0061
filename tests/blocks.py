"""Extract and run the code blocks of documents."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: A block of code, and after it the output that the document shows.
_SHOWN = re.compile(
    r"^```(?:python|sh)\n((?:(?!```).)*)```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


def blocks(document: str) -> list[tuple[str, str]]:
    """Return the blocks of a document, as language and text."""
    return [block for _, block in placed_blocks(document)]


def placed_blocks(document: str) -> list[tuple[int, tuple[str, str]]]:
    """Return the blocks of a document with their positions."""
    return [(match.start(), (match[1], match[2])) for match in _BLOCK.finditer(document)]


def without_blocks(document: str) -> str:
    """Remove the code from a document, so that comments in code are not read as headings."""
    return _BLOCK.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), document)


def run(language: str, text: str, names: dict[str, object], folder: Path) -> str:
    """Run a block and return what it prints; Python blocks share their names."""
    if language == "python":
        return run_python(text, names, folder)
    assert language == "sh", f"a block of an unknown language: {language!r}"
    return run_shell(text, folder)


def run_python(text: str, names: dict[str, object], folder: Path) -> str:
    before = os.getcwd()
    os.chdir(folder)
    try:
        with redirect_stdout(StringIO()) as output:
            exec(compile(text, "a block of code", "exec"), names)
    finally:
        os.chdir(before)
    return output.getvalue()


def run_shell(text: str, folder: Path) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euc", text],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def shown_output(document: str) -> dict[str, str]:
    """Return the output that a document shows after a block of code, by the block."""
    return dict(_SHOWN.findall(document))


def matches(shown: str, output: str) -> bool:
    """Whether a block printed what the document shows, in which ``…`` stands for any text."""
    pattern = ".*?".join(map(re.escape, shown.rstrip().split("…")))
    lines = "\n".join(line.rstrip() for line in output.rstrip().splitlines())
    return re.fullmatch(pattern, lines, re.DOTALL) is not None
