"""Type checkers find no expression of unknown type in a program that uses every public module and
the keywords of functions with settings, which editors complete."""

from __future__ import annotations

import json
import os
import shutil
import site
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import jelly_plugins
from jelly_plugins import arrow, messages, patch

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


# With its wheel, which needs node, no network is needed.
@pytest.mark.skipif(find_spec("pyright") is None, reason="pyright is not installed")
@pytest.mark.skipif(shutil.which("node") is None, reason="pyright would have to fetch node")
def test_pyright_finds_no_error_in_a_users_program(tmp_path: Path) -> None:
    paths = [str(ROOT), *filter(os.path.isabs, sys.path), *site.getsitepackages()]
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": paths}))
    shutil.copy(str(user_program.__file__), tmp_path)
    command = [sys.executable, "-m", "pyright"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


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
