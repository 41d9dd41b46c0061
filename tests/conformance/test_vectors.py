"""Our own vectors are current and complete, and they pass."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("rdflib")

from conformance.__main__ import ADAPTERS, VECTORS
from conformance.manifest import Case, read_suite
from conformance.outcome import Status
from conformance.regenerate import SourceTextError, binaries, compile_source
from conformance.run import run_case

from .test_suite import adapter_or_skip

CASES = read_suite(VECTORS)
SUFFIXES = (".jelly", ".nt", ".nq", ".jellyp", ".rdfp", ".jellys", ".srj")


def test_binaries_are_current() -> None:
    made = binaries()
    there = [path for path in VECTORS.rglob("*") if path.suffix in (".jelly", ".jellyp", ".jellys")]
    assert {path: path.read_bytes() for path in there} == made


def test_every_file_belongs_to_a_case() -> None:
    named = {path.resolve() for case in CASES for path in (*case.actions, *case.results)}
    there = {path for path in VECTORS.rglob("*") if path.suffix in SUFFIXES}
    assert there == named


def test_each_kind_of_case_occurs() -> None:
    counts = Counter((case.task.name, case.positive) for case in CASES)
    assert all(counts[task, positive] >= 10 for task, positive in counts)
    assert len(counts) == 10
    assert len({case.iri for case in CASES}) == len(CASES) > 320


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_codec_passes(case: Case) -> None:
    outcome = run_case(case, adapter_or_skip("generic"))
    assert outcome.status is Status.PASSED, outcome.reason


@pytest.mark.parametrize("name", ADAPTERS[1:])
@pytest.mark.filterwarnings("ignore")
def test_backends_pass_or_give_a_reason(name: str) -> None:
    adapter = adapter_or_skip(name)
    counts: Counter[Status] = Counter()
    for case in CASES:
        outcome = run_case(case, adapter)
        counts[outcome.status] += 1
        assert outcome.status is not Status.FAILED, (case.name, outcome.reason)
        assert case.positive or outcome.status is Status.PASSED
    assert counts[Status.INAPPLICABLE] < 15


def test_sources_that_cannot_be_compiled() -> None:
    for text, reason in (
        ("", "no section"),
        ("0a", "before the first section"),
        ("--- hex\n0a 0", "hexadecimal"),
        ("--- frame\nrows { nothing {} }", "nothing"),
    ):
        with pytest.raises(SourceTextError, match=reason):
            compile_source(text)


def test_sections() -> None:
    row = "rows { name { value: 'x' } }\n"
    frame = "0a 05 4a 03 12 01 78"
    for kind, expected in (("frame", f"07 {frame}"), ("bare frame", frame)):
        assert compile_source(f"# comment\n--- {kind}\n{row}# end\n").hex(" ") == expected
    for kind, expected in (("frame in hex", f"07 {frame}"), ("hex", frame)):
        assert compile_source(f"--- {kind}\n{frame[:8]} # row\n{frame[9:]}").hex(" ") == expected
