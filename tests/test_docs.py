"""The pages of the documentation that have examples stay true: each of their code blocks runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .shared_data import ROOT
from .test_readme import run_python, run_shell

PAGES = ("grpc.md", "messages.md", "spark-options.md")

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_blocks_of_a_page_run(page: str, tmp_path: Path) -> None:
    names: dict[str, object] = {"__name__": "page"}
    blocks = _BLOCK.findall((ROOT / "docs" / page).read_text())
    assert blocks
    for language, text in blocks:
        if language == "python":
            run_python(text, names, tmp_path)
        else:
            assert language == "sh", f"a block of an unknown language: {language!r}"
            run_shell(text, tmp_path)
