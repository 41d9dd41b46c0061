"""``jelly demo``."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import islice
from pathlib import Path

import pytest

from jelly_plugins import read
from jelly_plugins.io.streams import write_bytes

from ..shared_data import shared
from .command import jelly_process


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
