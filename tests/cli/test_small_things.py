"""Words: of one thing and of several, of the kernel that ran, and the README's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jelly_plugins import Iri, Triple, codec, write
from tests.blocks import run_python
from tests.test_readme import SECTIONS

from .command import jelly


def test_one_is_no_plural(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    write([Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))], path)
    for arguments in (
        ("validate", path, "--frames"),
        ("inspect", path, "--frames"),
        ("load", path, "--store", tmp_path / "store"),
    ):
        done = jelly(*arguments)
        assert done.code == 0
        assert "1 statement" in done.text
        assert "1 statements" not in done.text


@pytest.mark.parametrize("native", [True, False])
def test_the_demo_says_that_the_slow_codec_ran(
    native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codec, "native", native)
    done = jelly("demo")
    assert done.code == 0
    assert ("ran in Python" in done.text) == (not native)


def test_the_comment_in_the_readme_is_what_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [(_, block)] = [
        each for each in SECTIONS["Without an RDF library"] if "print(error)" in each[1]
    ]
    run_python(block, {"__name__": "readme"}, tmp_path)
    found = re.search(r"print\(error\)  # (.*)", block)
    assert found is not None
    assert found[1] == capsys.readouterr().out.splitlines()[-1]
