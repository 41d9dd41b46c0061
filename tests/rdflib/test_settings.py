"""Settings that are misspelt."""

from __future__ import annotations

from pathlib import Path

import pytest
from rdflib import Dataset, Graph


@pytest.mark.parametrize("format_", ["jelly-plugins", "rdf-thrift", "rdf-protobuf"])
def test_a_setting_that_there_is_not(format_: str, tmp_path: Path) -> None:
    for graph in (Graph(), Dataset()):
        with pytest.raises(TypeError, match=r"no setting 'nonsense'$"):
            graph.serialize(tmp_path / "x", format=format_, nonsense=1)


def test_the_one_that_was_meant_is_named(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"'frame_row'; did you mean frame_rows\?"):
        Graph().serialize(tmp_path / "x.jelly", format="jelly-plugins", frame_row=1)
    with pytest.raises(TypeError, match=r"did you mean value_forms\?"):
        Graph().serialize(tmp_path / "x.rt", format="rdf-thrift", value_form=True)
