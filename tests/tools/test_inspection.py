"""Reports on streams agree with the decoder."""

from __future__ import annotations

from pathlib import Path

import pytest

from jelly_plugins import (
    Frame,
    Iri,
    LimitError,
    Limits,
    StreamOptions,
    Triple,
    read_frames,
    write_frames,
)
from jelly_plugins.tools.inspection import LISTED, FrameReport, inspect

from ..shared_data import shared

STATEMENT = Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))


def test_every_valid_file_of_the_suite() -> None:
    for path in sorted(shared("conformance/jelly-rdf/from_jelly").glob("*/pos_*/in.jelly")):
        reports: list[FrameReport] = []
        whole = inspect(path, on_frame=reports.append)
        frames = list(read_frames(path))
        assert [sum(report.rows.values()) for report in reports] == [each.rows for each in frames]
        assert [report.size for report in reports] == [each.size for each in frames]
        assert whole.statements == sum(len(each.statements) for each in frames)
        rows = whole.rows
        assert rows.get("TRIPLE", 0) + rows.get("QUAD", 0) == whole.statements
        assert rows.get("GRAPH_START", 0) == whole.graphs
        assert whole.frames == len(frames)


def test_an_empty_frame_may_come_first(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    write_frames([[STATEMENT]], path, options=StreamOptions(stream_name="a"))
    path.write_bytes(b"\x00" + path.read_bytes())
    report = inspect(path)
    assert (report.frames, report.empty_frames, report.statements) == (2, 1, 1)
    assert report.options.stream_name == "a"
    assert report.rows["TRIPLE"] == 1


def test_lists_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    number = LISTED + 20
    frames = [
        Frame(0, namespaces=[(f"n{n}", Iri(f"urn:{n}"))], metadata={f"k{n}": b""})
        for n in range(number)
    ]
    write_frames(frames, path, options=StreamOptions(), namespaces=True)
    report = inspect(path)
    assert len(report.namespaces) == len(report.metadata) == LISTED
    assert report.unlisted == 40
    assert report.rows["NAMESPACE"] == number


def test_limits_hold(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    write_frames([[STATEMENT]], path, options=StreamOptions())
    with pytest.raises(LimitError, match=r"x\.jelly: frame 0, row 2"):
        inspect(path, limits=Limits(frame_rows=2))
