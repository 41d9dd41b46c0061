"""mypy finds no expression of unknown type in a program that uses every public module."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_type_hints

import pytest

import jelly_plugins
from jelly_plugins import arrow, messages, patch, read_frames

from . import user_program
from .shared_data import ROOT


def test_a_users_program_has_no_unknown_types(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    # Fast, because it uses the cache of an earlier check.
    output, errors, code = api.run(
        [
            f"--config-file={ROOT / 'pyproject.toml'}",
            f"--cache-dir={ROOT / '.mypy_cache'}",
            str(Path(user_program.__file__)),
        ]
    )
    assert code == 0, output + errors
    assert user_program.main(tmp_path) > 0


@pytest.mark.parametrize(
    ("module", "name"),
    [
        *((jelly_plugins, name) for name in ("Conversion", "Load", "Write")),
        *((messages, name) for name in ("Read", "Write", "Convert")),
        *((patch, name) for name in ("Replay", "Record")),
    ],
)
def test_keywords_are_the_fields_of_the_settings(module: Any, name: str) -> None:
    options, settings = getattr(module, f"{name}Options"), getattr(module, f"{name}Settings")
    assert get_type_hints(options) == get_type_hints(settings)


def test_declared_members_of_arrow_exist(tmp_path: Path) -> None:
    user_program.main(tmp_path)
    for protocol, found in (
        (arrow.BatchReader, arrow.read(tmp_path / "x.jelly.gz")),
        (arrow.Rows, arrow.read(tmp_path / "x.jelly.gz").read_all()),
        (arrow.Rows, arrow.read(tmp_path / "x.jelly.gz").read_next_batch()),
    ):
        names = {name for name in vars(protocol) if name[:1] != "_" or name[:8] == "__arrow_"}
        assert names
        assert names <= set(dir(found))


def test_a_file_that_can_only_be_read(tmp_path: Path) -> None:
    user_program.main(tmp_path)

    class Pipe:
        def __init__(self) -> None:
            self.read = (tmp_path / "dump.jelly").open("rb").read

    with read_frames(Pipe()) as frames:
        assert sum(len(frame.statements) for frame in frames) == 9
