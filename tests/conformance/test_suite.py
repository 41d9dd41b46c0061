"""The official suite, and the runner itself."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import native
from jelly_plugins.errors import MissingExtraError

from ..shared_data import ROOT, shared

rdflib = pytest.importorskip("rdflib")

from conformance.__main__ import ADAPTERS, main  # noqa: E402
from conformance.adapters import Adapter, get_adapter  # noqa: E402
from conformance.manifest import Case, ManifestError, read_suite  # noqa: E402
from conformance.outcome import Outcome, Status  # noqa: E402
from conformance.run import run_case  # noqa: E402

EARL = rdflib.Namespace("http://www.w3.org/ns/earl#")
SUITE = "conformance/jelly-rdf"


def adapter_or_skip(name: str) -> Adapter:
    try:
        return get_adapter(name)
    except MissingExtraError as error:
        pytest.skip(str(error))


def run_suite(adapter: Adapter) -> list[tuple[Case, Outcome]]:
    return [(case, run_case(case, adapter)) for case in read_suite(shared(SUITE))]


@pytest.mark.parametrize("name", ADAPTERS)
def test_official_suite(name: str) -> None:
    results = run_suite(adapter_or_skip(name))
    assert [
        (case.name, outcome) for case, outcome in results if outcome.status is Status.FAILED
    ] == []
    counts = Counter(outcome.status for _, outcome in results)
    assert counts.total() == 161
    if name == "generic":
        assert counts[Status.PASSED] == 161
    inapplicable = [
        (case, out.reason) for case, out in results if out.status is Status.INAPPLICABLE
    ]
    for case, reason in inapplicable:
        # A case may be inapplicable only if it declares more than RDF 1.1, or if the backend stores
        # a term in another form. Everything else that a backend rejects is beyond RDF 1.1.
        features = {"requirementGeneralizedRdf", "requirementRdfStar"} & case.requires
        assert features or " holds " in reason or "generalized" in reason, (case.name, reason)
        assert case.positive
    assert len(inapplicable) < 90


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.ttl"
    assert main(["--suite", str(shared(SUITE)), "--earl", str(report)]) == 0
    assert capsys.readouterr().out.splitlines() == ["161 passed, 0 failed, 0 inapplicable"]
    graph = rdflib.Graph().parse(report)
    assertions = list(graph.subjects(rdflib.RDF.type, EARL.Assertion))
    assert len(assertions) == 161
    for assertion in assertions:
        assert graph.value(graph.value(assertion, EARL.result), EARL.outcome) == EARL.passed
        assert str(graph.value(assertion, EARL.test)).startswith("https://w3id.org/jelly/")


def write_manifest(folder: Path, kind: str, more: str = "") -> None:
    (folder / "manifest.ttl").write_text(
        "PREFIX jellyt: <https://w3id.org/jelly/dev/tests/vocab#>\n"
        "PREFIX mf: <http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#>\n"
        "PREFIX ours: <https://jelly-plugins.example/tests/vocab#>\n"
        "BASE <https://example.org/tests/>\n"
        "<manifest> a mf:Manifest ; mf:entries ( <one> ) .\n"
        f'<one> a {kind} ; mf:name "one" ; mf:action <in.jelly> {more} .\n'
    )


GOOD = bytes.fromhex("0a 0a08 0a06 1001 4808 7801")
#: Options of a stream of quads of type PUNCTUATED, and punctuation.
PATCH = bytes.fromhex("10 0a0a 0a08 0802 1003 4808 7801 0a02 7a00")
#: Files of results, and the types and data of a case, by the kind of stream.
RDF = ("jellyt:TestRdfFromJelly", GOOD)
LOG = ("ours:TestPatchFromJelly", PATCH)
RESULTS = {
    "out.nt": "<urn:s> <urn:p> <urn:o> .\n",
    "bad.nt": "<urn:s>\n",
    "no.nt": "",
    "out.rdfp": "H a 1 .",
    "bad.rdfp": "H",
    "two.rdfp": "Z . Z .",
    "no.rdfp": "",
}
TWICE = "; ours:rejectedAt ( 0 1 )"


@pytest.mark.parametrize(
    ("of", "positive", "more", "reason"),
    [
        (("jellyt:TestRdfFromJelly", b"\x01"), True, "", "rejected: "),
        (RDF, True, "", "1 frames, not 0"),
        (RDF, False, "", "read, although it must be rejected"),
        ((RDF[0], GOOD + GOOD[:4]), False, TWICE, "rejected at frame 1"),
        (RDF, True, "; mf:result <out.nt>", "has 0 statements, not 1"),
        (RDF, True, "; mf:result <bad.nt>", "the suite's own file"),
        (RDF, True, "; mf:result <no.nt> ; ours:delimited false", "delimited is"),
        (
            RDF,
            True,
            '; mf:result <no.nt> ; ours:namespaces ( ( 0 "a" <urn:a> ) )',
            "namespaces are [], not [(0, 'a', 'urn:a')]",
        ),
        (RDF, True, '; mf:result <no.nt> ; ours:graphs ( 0 "" )', "graphs are"),
        (("ours:TestPatchFromJelly", b"\x01"), True, "", "rejected: "),
        (LOG, True, "", "1 patches, not 0"),
        (LOG, False, "", "read, although it must be rejected"),
        ((LOG[0], PATCH + PATCH[:4]), False, TWICE, "rejected at frame 1"),
        (LOG, True, "; mf:result <out.rdfp>", "patch 0 has 0 rows, not 1"),
        (LOG, True, "; mf:result <bad.rdfp>", "the suite's own file"),
        (LOG, True, "; mf:result <two.rdfp>", "more than one patch"),
        (LOG, True, "; mf:result <no.rdfp> ; ours:delimited false", "delimited is"),
    ],
)
def test_runner_can_fail(
    of: tuple[str, bytes],
    positive: bool,
    more: str,
    reason: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    type_, data = of
    write_manifest(tmp_path, f"jellyt:Test{'Positive' if positive else 'Negative'}, {type_}", more)
    (tmp_path / "in.jelly").write_bytes(data)
    for name, text in RESULTS.items():
        (tmp_path / name).write_text(text)
    assert main(["--suite", str(tmp_path)]) == 1
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("failed: ")
    assert reason in first
    assert last == "0 passed, 1 failed, 0 inapplicable"


def test_rows_are_compared_whole() -> None:
    from conformance.outcome import FailedError
    from conformance.patches import _check_patches, _split
    from jelly_plugins.patch import PatchReader

    def patches(text: str) -> Any:
        return _split(PatchReader(text.encode()))

    same = "H id <_:x> . PA 'a' <urn:a> <urn:g> . A <_:x> <urn:p> 1 <_:y> . TX . TA ."
    _check_patches(patches(same), patches(same.replace("_:x", "_:z")))
    for old, new in (
        ("H id", "H prev"),
        ("<_:x> .", "<urn:x> ."),
        ("'a'", "'b'"),
        ("<urn:a>", "<urn:b>"),
        ("<urn:g>", ""),
        ("A <", "D <"),
        ("<_:y>", ""),
        ("<_:y>", "<_:x>"),
        ("TA", "TC"),
    ):
        with pytest.raises(FailedError):
            _check_patches(patches(same), patches(same.replace(old, new)))


def test_exception_of_another_kind_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_manifest(tmp_path, "jellyt:TestNegative, jellyt:TestRdfFromJelly")
    (tmp_path / "in.jelly").write_bytes(GOOD)

    def crash(*_: object) -> None:
        raise KeyError("x")

    adapter = get_adapter("generic")
    monkeypatch.setattr("conformance.run.GenericAdapter.read", crash)
    [case] = read_suite(tmp_path)
    assert run_case(case, adapter) == Outcome(Status.FAILED, "crashed with KeyError: 'x'")


def test_suites_that_cannot_be_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--suite", str(tmp_path)]) == 2
    assert "no manifest.ttl" in capsys.readouterr().err
    write_manifest(tmp_path, "jellyt:TestPositive, jellyt:TestOfAnotherKind")
    (tmp_path / "in.jelly").write_bytes(GOOD)
    with pytest.raises(ManifestError, match="no kind of test"):
        read_suite(tmp_path)
    write_manifest(tmp_path, "jellyt:TestPositive, jellyt:TestRdfFromJelly", "; mf:result <gone>")
    with pytest.raises(ManifestError, match="gone is not there"):
        read_suite(tmp_path)
    (tmp_path / "manifest.ttl").write_text("not Turtle")
    assert main(["--suite", str(tmp_path)]) == 2


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    # A separate process, because the kernel is chosen when the package is imported.
    return subprocess.run(
        [sys.executable, "-m", "conformance", *arguments], capture_output=True, text=True, cwd=ROOT
    )


def test_python_kernel_can_always_run(tmp_path: Path) -> None:
    write_manifest(tmp_path, "jellyt:TestNegative, jellyt:TestRdfFromJelly")
    (tmp_path / "in.jelly").write_bytes(GOOD[:-1])
    done = run_command("--kernel", "python", "--suite", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "1 passed, 0 failed, 0 inapplicable\n"


@pytest.mark.skipif(native, reason="the compiled kernel is there")
def test_a_missing_compiled_kernel_is_an_error() -> None:
    done = run_command("--kernel", "native")
    assert done.returncode == 2
    assert done.stderr == "error: the Python kernel runs, not native\n"
