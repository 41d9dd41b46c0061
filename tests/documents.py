"""The code blocks of documents, and their links and anchors as code hosts render them."""

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

_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
#: Names that a page of the Python reference documents; their anchors exist only on the built site.
_DOCUMENTED = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


def blocks(document: str) -> list[tuple[str, str]]:
    """Return the blocks of a document, as language and text."""
    return _BLOCK.findall(document)


def without_blocks(document: str) -> str:
    """Remove the code from a document, so that comments in code are not read as headings."""
    return _BLOCK.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), document)


def run(language: str, text: str, names: dict[str, object]) -> str:
    """Run a block and return what it prints; Python blocks share their names."""
    if language == "python":
        with redirect_stdout(StringIO()) as output:
            exec(compile(text, "a block of code", "exec"), names)
        return output.getvalue()
    assert language == "sh", f"a block of an unknown language: {language!r}"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euc", text],
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


def links(document: str) -> list[str]:
    """Return the targets of links and images, except in code blocks."""
    return _LINK.findall(without_blocks(document))


def anchors(document: str) -> set[str]:
    """Return the anchors of headings."""
    found = set()
    for heading in _HEADING.findall(without_blocks(document)):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        found.add(re.sub(r"[^\w\s-]", "", text.lower()).strip().replace(" ", "-"))
    return found


def broken(page: Path) -> list[str]:
    """Return the relative links of a document whose file or anchor does not exist."""
    document = page.read_text(encoding="utf-8")
    found = []
    for link in links(document):
        if re.match(r"https?:|mailto:", link):
            continue
        target, _, anchor = link.partition("#")
        file = page.parent / target if target else page
        if not file.exists() or (anchor and not _has_anchor(file, anchor)):
            found.append(link)
    return found


def _has_anchor(file: Path, anchor: str) -> bool:
    text = file.read_text(encoding="utf-8")
    documented = _DOCUMENTED.findall(text)
    return anchor in anchors(text) or any(
        anchor == name or anchor.startswith(f"{name}.") for name in documented
    )
