"""docs/jena.md names what is read; ``tests/test_docs.py`` runs its blocks of code."""

from __future__ import annotations

import pytest

from ..shared_data import ROOT

PAGE = (ROOT / "docs" / "jena.md").read_text()


@pytest.mark.parametrize("name", ["rt", "trdf", "rpb", "pbrdf", "srt", "srp", "trp"])
def test_the_page_names_every_ending(name: str) -> None:
    assert f"`.{name}`" in PAGE
