"""docs/jena.md stays true: its blocks of code run, one after the other."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ..shared_data import ROOT

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGE = (ROOT / "docs" / "jena.md").read_text()


def test_blocks(tmp_path: Path) -> None:
    blocks = _BLOCK.findall(PAGE)
    python = "".join(text for language, text in blocks if language == "python")
    for command in ([sys.executable, "-c", python], ["sh", "-e", "-c", shell(blocks)]):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def shell(blocks: list[tuple[str, str]]) -> str:
    run = f"{sys.executable} -c 'from jelly_plugins.cli import main; main()'"
    text = "".join(text for language, text in blocks if language == "sh")
    return re.sub(r"^jelly ", f"{run} ", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", ["rt", "trdf", "rpb", "pbrdf", "srt", "srp", "trp"])
def test_the_page_names_every_ending(name: str) -> None:
    assert f"`.{name}`" in PAGE
