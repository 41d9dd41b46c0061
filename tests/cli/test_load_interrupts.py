"""``jelly load`` that is interrupted when the store has all of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import jelly_plugins.oxigraph
from jelly_plugins.cli.app import app


@pytest.mark.parametrize(("at", "files", "code"), [(1, 1, 0), (1, 2, 130), (2, 2, 0)])
def test_a_load_that_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int, files: int, code: int
) -> None:
    names = [str(tmp_path / f"{number}.jelly") for number in range(files)]
    load, calls = jelly_plugins.oxigraph.load, []

    def interrupted(*arguments: Any, **settings: Any) -> int:
        calls.append(arguments)
        if len(calls) < at:
            return load(*arguments, **settings)
        error: Any = KeyboardInterrupt()
        error.loaded = load(*arguments, **settings)
        raise error

    monkeypatch.setattr(jelly_plugins.oxigraph, "load", interrupted)
    for name in names:
        jelly_plugins.write([], name)
    done = CliRunner().invoke(app, ["load", *names, "--store", str(tmp_path / "store")])
    assert done.exit_code == code
    assert f"{names[at - 1]}: 0 statements" in done.output
    assert f"{names[at - 1]}: interrupted once it was loaded" in done.output
    assert len(calls) == at
