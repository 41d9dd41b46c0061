"""Whether a log is whole."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from jelly_plugins import Iri, SourceError
from jelly_plugins.codec import OperationKind
from jelly_plugins.patch import PatchFormat, PatchReader, check, write_rows

from ..shared_data import shared

GOOD = """H id <urn:1> .
H prev <urn:0> .
TX . A <urn:s> <urn:p> <urn:o> . TC .
Z .
H id <urn:2> .
H prev <urn:1> .
TX . TA .
Z .
H id <urn:3> .
H prev <urn:2> .
Z .
"""


def both(text: str) -> list[bytes]:
    """A log in both formats."""
    file = io.BytesIO()
    write_rows(PatchReader(text.encode()), file)
    return [text.encode(), file.getvalue()]


def test_a_good_log() -> None:
    for log, form in zip(both(GOOD), (PatchFormat.RDF_PATCH, PatchFormat.JELLY_PATCH), strict=True):
        report = check(log)
        assert report
        assert report.problems == []
        assert (report.format, report.patches) == (form, 3)
        ids = (report.first_id, report.first_prev, report.last_id)
        assert ids == (Iri("urn:1"), Iri("urn:0"), Iri("urn:3"))
        assert report.rows == {
            OperationKind.HEADER: 6,
            OperationKind.BEGIN: 2,
            OperationKind.COMMIT: 1,
            OperationKind.ABORT: 1,
            OperationKind.ADD: 1,
        }


@pytest.mark.parametrize(
    ("old", "new", "problems"),
    [
        ("prev <urn:1>", "prev <urn:7>", [(2, "prev is <urn:7>, but the patch before is <urn:1>")]),
        ("H prev <urn:1> .", "", [(2, "no prev")]),
        ("H prev <urn:0> .", "", []),
        (
            "H id <urn:2> .\nH prev <urn:1> .\nTX .",
            "H prev <urn:1> .\nTX . A <urn:s> <urn:p> 1 .",
            [(2, "no id"), (3, "prev is <urn:2>, but the patch before has no id")],
        ),
        (
            "id <urn:3>",
            "id <urn:1>",
            [(3, "the id <urn:1> is that of patch 1 too")],
        ),
        ("H prev <urn:1> .", "H prev <urn:1> . H prev <urn:1> .", [(2, "2 headers prev")]),
        ("TX . TA .", "TX . H id <urn:9> . TA .", [(2, "2 headers id")]),
        ("prev <urn:0>", "prev <urn:1>", [(1, "prev is the patch's own id, <urn:1>")]),
    ],
)
def test_a_broken_chain(old: str, new: str, problems: list[tuple[int, str]]) -> None:
    for log in both(GOOD.replace(old, new)):
        report = check(log)
        assert report.problems == problems
        assert bool(report) is not bool(problems)
        assert report.patches == 3


def test_a_log_without_ids() -> None:
    assert check(b"TX . TC . Z . TX . TC .")
    # Those who begin with them later do not follow anything.
    assert check(b"A <urn:s> <urn:p> 1 . Z . H id <urn:1> . Z .").problems == [(2, "no prev")]


def test_what_cannot_be_read() -> None:
    text, jelly = both(GOOD)
    assert check(text.replace(b"TX . TA .", b"TX . TX .")).problems == [
        (2, "<bytes>: line 7, column 6: a row TX inside a transaction")
    ]
    report = check(jelly[:-1])
    assert report.patches == 2
    assert report.last_id == Iri("urn:2")
    assert report.problems == [(3, "<bytes>: frame 2: the input ends inside a frame")]
    assert check(b"\x01").problems[0].patch == 1


def test_what_is_not_there(tmp_path: Path) -> None:
    for path in ("absent.jellyp", tmp_path):
        with pytest.raises(SourceError, match=str(path)):
            check(path)


def test_what_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "log.rdfp.gz"
    whole = gzip.compress(GOOD.encode())
    for broken, message in (
        (whole[:10] + b"\xff" * 20, "the compressed data is corrupt"),
        (whole[:40], "the compressed data ends too early"),
    ):
        path.write_bytes(broken)
        [(number, found)] = check(path).problems
        assert number == 1
        assert message in found


def test_real_logs() -> None:
    for path in shared("data/patch").glob("*.rdfp"):
        report = check(path)
        assert report, report.problems
        assert report.patches == 1


def test_patches_without_id_that_change_nothing_do_not_count() -> None:
    first, *others = GOOD.split("Z .\n")
    for blank in ("", "H note 1 .\n", "TX . TC .\n"):
        for log in both("Z .\n".join((blank, first, blank, *others[:-1], blank, ""))):
            report = check(log)
            assert report.problems == []
            assert report.patches == 6
            assert report.last_id == Iri("urn:3")
