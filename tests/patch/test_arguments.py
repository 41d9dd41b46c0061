"""What is given in place of patches."""

from __future__ import annotations

from pathlib import Path

import pytest

from jelly_plugins import Iri, Triple
from jelly_plugins.patch import compact, diff, invert, write_patches


def test_one_patch_is_not_several(tmp_path: Path) -> None:
    patch = diff([], [Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))])
    with pytest.raises(TypeError, match=r"for one patch, give \[patch\]"):
        write_patches(patch, tmp_path / "x.jellyp")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"for one patch, give \[patch\]"):
        compact(patch)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_path_is_no_patch(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"patches are needed, not 'x\.jellyp'; read_patches"):
        write_patches("x.jellyp", tmp_path / "y.jellyp")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"patches are needed, not 'x\.jellyp'; read_patches"):
        compact("x.jellyp")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"a Patch is needed, not 'x\.jellyp'"):
        invert("x.jellyp")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
