"""Importing the sources without a kernel warns, unless the user chose the Python kernel."""

from __future__ import annotations

import pytest

from tests.programs import run

BLOCKED = "import sys; sys.modules['jelly_plugins.codec._native'] = None\n"


@pytest.mark.parametrize(("setting", "warned"), [("0", True), ("1", False)])
def test_sources_without_a_kernel(
    setting: str, warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JELLY_PURE_PYTHON", setting)
    done = run(f"{BLOCKED}from jelly_plugins import native; print(native)")
    assert done.stdout == "False\n"
    assert ("imported from its sources" in done.stderr) == warned
    assert ("pip install -e ." in done.stderr) == warned
