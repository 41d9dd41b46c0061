"""What is meant for stdout goes there, letter by letter, while a terminal shows a bar on stderr."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jelly_plugins import Iri, Literal, Triple, write
from jelly_plugins.patch import BEGIN, COMMIT, Patch, add, write_patches

from .command import jelly
from .test_console import on_a_terminal

#: Longer than a terminal is wide.
LONG = "x" * 9000
TRIPLES = [Triple(Iri("urn:s"), Iri("urn:p"), Literal(f"{n} {LONG}")) for n in range(600)]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Jelly file that is worth a bar."""
    path = tmp_path_factory.mktemp("large") / "x.jelly"
    write(TRIPLES, path)
    assert path.stat().st_size > 5 << 20
    return path


def test_lines_for_each_frame(large: Path) -> None:
    code, out, shown = on_a_terminal("inspect", "--frames", "--json", large)
    assert code == 0
    assert out == jelly("inspect", "--frames", "--json", large).out
    assert out.count(b"\n") > 3
    assert b"MB" in shown
    assert b"statements" not in shown


def test_the_result_of_a_load(large: Path, tmp_path: Path) -> None:
    code, out, shown = on_a_terminal("load", large, "--store", tmp_path / "store", "--json")
    assert code == 0
    assert b"load" in shown
    assert json.loads(out) == {"source": str(large), "statements": len(TRIPLES)}


def test_a_log_that_is_shown(tmp_path: Path) -> None:
    log = tmp_path / "x.jellyp"
    write_patches([Patch([BEGIN, *map(add, TRIPLES), COMMIT])], log)
    code, out, shown = on_a_terminal("patch", "show", log)
    assert code == 0
    assert out == jelly("patch", "show", log).out
    assert LONG.encode() not in shown
