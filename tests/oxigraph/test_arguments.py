"""What is given in place of a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from jelly_plugins.oxigraph import dump, load


def test_a_path_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"Store is needed, not 'data\.store'; Store\(path\) opens"):
        load("data.store", tmp_path / "x.jelly")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Store is needed"):
        dump(str(tmp_path), tmp_path / "x.jelly")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
