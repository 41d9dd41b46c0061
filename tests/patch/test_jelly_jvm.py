"""Logs as Jelly-JVM writes them, held against what Apache Jena reads in them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode, Store
from pyoxigraph import Quad as OxigraphQuad

from jelly_plugins import BlankNode, Quad, Triple
from jelly_plugins.codec import Operation, OperationKind, PatchStatementType, delimit
from jelly_plugins.errors import StatementError, TruncatedError
from jelly_plugins.oxigraph import count_quads, record, replay
from jelly_plugins.patch import PatchFormat, PatchReader, Report, check, read_patches
from jelly_plugins.patch.logs import convert

from ..codec import patch_wire as w
from ..shared_data import shared

NO_GRAPH = "a namespace repeats the graph, but no row before has one"
UNMARKED = "the stream ends outside a transaction, before a mark"
SEVERAL = "a header begins another patch in a stream that is one patch"
HEADERS = ("3 headers id", "2 headers prev", "prev is the patch's own id")
#: What ``check`` says of each log.
ODD = {
    "log-quads-flat": [SEVERAL, NO_GRAPH],
    "log-quads-frame": [NO_GRAPH],
    "log-quads-punctuated": [NO_GRAPH],
    "log-triples-flat": [SEVERAL],
    "log-triples-frame": [],
    "log-triples-punctuated": [],
    "pa": [NO_GRAPH],
    "recorded": [UNMARKED],
    "unmarked-quads-flat": [SEVERAL, NO_GRAPH],
    "unmarked-quads-punctuated": [*HEADERS, NO_GRAPH, UNMARKED],
    "unmarked-triples-flat": [SEVERAL],
    "unmarked-triples-punctuated": [*HEADERS, UNMARKED],
}


def rows_of(src: Any, *, triples: bool = False) -> list[Operation]:
    """The rows of a log without the ends of patches, its blank nodes by number."""
    labels: dict[str, int] = {}

    def renamed(value: Any) -> Any:
        if isinstance(value, BlankNode):
            return labels.setdefault(value.label, len(labels))
        return tuple(map(renamed, value)) if isinstance(value, Quad | Triple) else value

    statement_type = PatchStatementType.TRIPLES if triples else PatchStatementType.QUADS
    with PatchReader(src, statement_type=statement_type) as rows:
        return [
            Operation(kind, renamed(value)) for kind, value in rows if kind is not OperationKind.END
        ]


def as_text(src: Any, **settings: Any) -> bytes:
    out = io.BytesIO()
    convert([src], out, target_format=PatchFormat.RDF_PATCH, **settings)
    return out.getvalue()


def said(report: Report) -> list[str]:
    return [*(problem.message for problem in report.problems), *report.deviations]


@pytest.mark.parametrize("name", ODD)
def test_a_log_of_jelly_jvm_says_what_jena_reads_in_it(name: str) -> None:
    log: Path = shared(f"data/patch-jvm/{name}.jellyp")
    as_read = log.with_suffix(".as-read-by-jena.rdfp")
    # What Jena itself cannot read is what it was made of.
    text = (as_read if as_read.exists() else log.with_suffix(".rdfp")).read_bytes()
    triples = "triples" in name
    expected = rows_of(text.replace(b" <default> .", b" ."), triples=triples)
    assert rows_of(log) == expected
    assert rows_of(as_text(log), triples=triples) == expected
    found = said(check(log))
    assert [any(part in each for each in found) for part in ODD[name]] == [True] * len(found)
    if set(ODD[name]) & {NO_GRAPH, UNMARKED}:
        assert not check(log, strict=True)
        with pytest.raises((StatementError, TruncatedError)):
            list(read_patches(log, strict=True))


# The same in small logs that are made here.

STATEMENT = w.add(*w.spo())


def jelly(*rows: bytes, stream: int = w.PUNCTUATED) -> bytes:
    return delimit(w.frame(w.options(stream), *w.SPO, *rows))


def header(key: str, value: str) -> bytes:
    return w.header(key, w.literal(value))


def test_a_log_that_may_have_been_torn_is_not_applied_as_if_it_were_whole() -> None:
    whole = jelly(header("id", "1"), w.start(), STATEMENT, w.commit())
    for truncated in (
        # In the middle of a frame.
        whole[:-1],
        # After a frame: in a transaction, and after what promises more.
        jelly(header("id", "1"), w.start(), STATEMENT),
        jelly(header("id", "1")),
    ):
        store = Store()
        with pytest.raises(TruncatedError):
            replay(store, truncated)
        assert count_quads(store) == 0


def test_recording_goes_on_behind_a_log_without_its_last_mark(tmp_path: Path) -> None:
    path = tmp_path / "log.jellyp"
    for rows in (
        (header("id", "1"), w.start(), STATEMENT, w.commit()),
        (header("id", "1"), STATEMENT),
    ):
        path.write_bytes(jelly(*rows))
        store = Store()
        other = NamedNode("urn:other")
        with record(store, path) as recorder:
            assert count_quads(store) == 1
            recorder.add(OxigraphQuad(other, other, other))
        with record(store, path) as recorder:
            recorder.add(OxigraphQuad(other, other, NamedNode("urn:o")))
        first, second, _ = (len(patch.operations) for patch in read_patches(path, strict=True))
        assert (first, second) == (len(rows) - 1, 3)
        copy = Store()
        assert replay(copy, path).patches == 3
        assert count_quads(copy) == 3
