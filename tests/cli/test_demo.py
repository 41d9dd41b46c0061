"""``jelly demo``."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files
from itertools import islice
from pathlib import Path

import pytest

from jelly_plugins import read
from jelly_plugins.io.streams import write_bytes
from jelly_plugins.tools.demo import Step, demonstrate

from ..shared_data import shared
from .command import jelly, jelly_process


def test_the_demo_shows_what_it_did() -> None:
    done = jelly("demo")
    assert done.code == 0
    assert done.err == ""
    for word in (
        "rdflib",
        "Oxigraph",
        "temp",
        "degreeFahrenheit",
        "CC BY 4.0",
        "is equal to the store",
    ):
        assert word in done.text
    assert len(done.text.splitlines()) < 25


def test_the_demo_needs_no_home_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "absent"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert jelly_process("demo").code == 0
    assert list(tmp_path.iterdir()) == []


def test_steps_are_told_as_they_end() -> None:
    steps: list[Step] = []
    result = demonstrate(steps.append)
    assert tuple(steps) == result.steps
    assert result.same
    graph, load, query, dump, again = steps
    assert graph.count == dump.count == again.count == 3553
    assert load.count == 5000
    assert query.count == len(query.table) - 1 == 9
    assert ("temp", "54.2", "54.3047", "54.4", "degreeFahrenheit") in query.table


def test_the_imports_and_the_warm_up_are_not_timed() -> None:
    """A new process reads about as fast as one that has read before. Other programs can only make a
    run slower, so that one of several is enough.
    """
    program = (
        "from jelly_plugins.tools.demo import demonstrate\n"
        "first, again = (demonstrate().steps[0].seconds for _ in range(2))\n"
        "raise SystemExit(first > 5 * again)"
    )
    codes = (subprocess.call([sys.executable, "-c", program]) for _ in range(4))
    assert 0 in codes


def test_the_file_is_what_its_readme_says() -> None:
    source = shared("data/assist-iot-weather_100kt.jelly.gz")
    shipped = files("jelly_plugins") / "data" / "demo.jelly"
    assert shipped.read_bytes() == write_bytes(islice(read(source), 5000))
