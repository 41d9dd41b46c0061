"""Whether a log is whole."""

from __future__ import annotations

import io

import pytest

from jelly_plugins import Iri
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
        ("prev <urn:1>", "prev <urn:7>", [(1, "prev is <urn:7>, but the patch before is <urn:1>")]),
        ("H prev <urn:1> .", "", [(1, "no prev")]),
        ("H prev <urn:0> .", "", []),
        (
            "H id <urn:2> .",
            "",
            [(1, "no id"), (2, "prev is <urn:2>, but the patch before has no id")],
        ),
        (
            "id <urn:3>",
            "id <urn:1>",
            [(2, "the id <urn:1> is that of patch 0 too")],
        ),
        ("H prev <urn:1> .", "H prev <urn:1> . H prev <urn:1> .", [(1, "2 headers prev")]),
        ("TX . TA .", "TX . H id <urn:9> . TA .", [(1, "2 headers id")]),
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
    assert check(b"TX . TC . H id <urn:1> .").problems == [(1, "no prev")]


def test_what_cannot_be_read() -> None:
    text, jelly = both(GOOD)
    assert check(text.replace(b"TX . TA .", b"TX . TX .")).problems == [
        (1, "<bytes>: line 7, column 6: a row TX inside a transaction")
    ]
    report = check(jelly[:-1])
    assert report.patches == 2
    assert report.last_id == Iri("urn:2")
    assert report.problems == [(2, "<bytes>: frame 2: the input ends inside a frame")]
    assert check(b"\x01").problems[0].patch == 0
    assert check("absent.jellyp").problems[0].message == "absent.jellyp: No such file or directory"
    assert check("absent.jellyp").format is None


def test_real_logs() -> None:
    for path in shared("data/patch").glob("*.rdfp"):
        report = check(path)
        assert report, report.problems
        assert report.patches == 1
