"""Query results in ``jelly convert``, ``inspect``, ``validate`` and ``query``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import Store
from rich.cells import cell_len

from jelly_plugins import Iri, Literal
from jelly_plugins.cli.console import print_table
from jelly_plugins.oxigraph import load
from jelly_plugins.sparql import ResultsFormat, read_results, write_boolean, write_results

from .command import assert_failed, jelly, quads_file

ROWS = [(Iri("http://e.org/a"), Literal("x", "en")), (None, Literal("1")), (Iri("urn:b"), None)]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    write_results(["a", "b"], ROWS, tmp_path / "x.srj")
    return tmp_path / "x.srj"


@pytest.mark.parametrize("form", [each for each in ResultsFormat if each is not ResultsFormat.CSV])
def test_convert(form: ResultsFormat, source: Path, tmp_path: Path) -> None:
    target = tmp_path / f"y.{form}"
    assert jelly("convert", source, "-o", target).code == 0
    assert list(read_results(target)) == ROWS
    done = jelly("convert", "-", "--from", form, "--to", "srj", stdin=target.read_bytes())
    assert (done.code, done.out) == (0, source.read_bytes())


def test_convert_by_default(source: Path, tmp_path: Path) -> None:
    jellys = jelly("convert", source).out
    assert list(read_results(jellys)) == ROWS
    (tmp_path / "y.jellys").write_bytes(jellys)
    assert jelly("convert", tmp_path / "y.jellys").out == source.read_bytes()
    write_boolean(True, tmp_path / "ask.jellys")
    assert json.loads(jelly("convert", tmp_path / "ask.jellys").out)["boolean"] is True
    done = jelly("convert", source, "-o", tmp_path / "z.jellys", "--frame-rows", "1")
    assert done.code == 0
    report = json.loads(jelly("inspect", tmp_path / "z.jellys", "--json").out)
    assert (report["frames"], report["rows"]) == (3, 3)


def test_inspect_and_validate(source: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.jellys"
    write_results(["a", "b"], ROWS, path, frame_cells=4)
    done = jelly("inspect", path, "--frames")
    assert "frame 0: rows 2, " in done.text
    assert "variables\n  a  iri\n  b  literal\n" in done.text
    assert "frames" not in json.loads(jelly("inspect", source, "--json").out)
    assert "\nsolutions  3\nvalid      yes\n" in jelly("validate", path).text
    piped = jelly("validate", "-", "--from", "jellys", stdin=path.read_bytes())
    assert "\nsolutions  3\nvalid      yes\n" in piped.text
    assert json.loads(jelly("validate", source, "--json").out)["solutions"] == 3
    path.write_bytes(path.read_bytes()[:-1])
    assert_failed(jelly("validate", path), 1, "frame 1", "ends inside a frame")
    (tmp_path / "x.jelly").write_bytes(path.read_bytes())
    assert_failed(jelly("validate", tmp_path / "x.jelly"), 1, "this is Jelly-SPARQL")


def test_query(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    assert jelly("load", quads_file(tmp_path), "--store", folder).code == 0
    query = "SELECT ?s ?o { GRAPH ?g { ?s ?p ?o } }"
    target = tmp_path / "x.jellys"
    done = jelly("query", query, "--store", folder, "-o", target)
    assert (done.code, done.err) == (0, "")
    solutions = list(read_results(target))
    assert len(solutions) == len(list(Store.read_only(str(folder)).query(query)))  # type: ignore[arg-type]
    assert jelly("query", query, "--store", folder).text.startswith("?s\t?o\n")
    assert json.loads(jelly("query", "ASK {}", "--store", folder, "--to", "srj").out)["boolean"]
    assert_failed(jelly("query", "nonsense", "--store", folder), 2, "not well-formed")
    assert_failed(jelly("query", query, "--store", folder, "-o", tmp_path / "x.nt"), 2, "--to")
    assert_failed(jelly("query", query, "--store", tmp_path / "none"), 2, "does not exist")


#: Formats of statements, and how each is read again.
STATEMENT_FORMATS = ["jelly", "nt", "nq", "ttl", "trig", "rdf", "jsonld", "rt", "rpb"]


@pytest.mark.parametrize("ending", STATEMENT_FORMATS)
def test_statements_of_a_query_of_files(tmp_path: Path, ending: str) -> None:
    (tmp_path / "a.ttl").write_text('@prefix : <http://x/> . <s> :p "o"@en, [ :q 1 ] .')
    (tmp_path / "b.nq").write_text("<urn:s> <http://x/p> <urn:o> <urn:g> .\n")
    files = [tmp_path / "a.ttl", tmp_path / "b.nq"]
    target = tmp_path / f"x.{ending}"
    query = "CONSTRUCT { ?s ?p ?o } WHERE { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
    done = jelly("query", query, *files, "--base", "http://x/", "-o", target)
    assert (done.code, done.err) == (0, "")
    store = Store()
    load(store, target)
    assert len(store) == 4
    assert {quad.predicate.value for quad in store} == {"http://x/p", "http://x/q"}
    describe = "DESCRIBE <http://x/s>"
    shown = jelly("query", describe, files[0], "--base", "http://x/", "--to", ending)
    assert shown.code == 0
    assert b"http://x/" in shown.out


def test_files_or_a_store(tmp_path: Path) -> None:
    triple = tmp_path / "a.nt"
    triple.write_text("<urn:s> <urn:p> <<( <urn:a> <urn:b> <urn:c> )>> .\n")
    found = jelly("query", "CONSTRUCT WHERE { ?s ?p ?o }", triple)
    assert found.out == triple.read_bytes()
    assert jelly("query", "ASK { ?s ?p ?o }", triple).text.strip() == "true"
    assert jelly("query", "SELECT ?s { ?s ?p ?o }", triple).text == "?s\n<urn:s>\n"
    assert_failed(jelly("query", "ASK {}", tmp_path / "none.nt"), 1, "none.nt")


def test_a_table_fits_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "32")
    rows = [["<http://example.org/person/17>", "日本"], ["e\u0301\x9b31m", "x" * 40], ["", "[b]y"]]
    print_table(["s", "name"], iter(rows))
    heading, *lines, count = capsys.readouterr().out.splitlines()
    assert heading.split() == ["?s", "?name"]
    assert [line.split() for line in lines] == [
        ["<http://examp…", "日本"],
        ["e\u0301\\u009B31m", "xxxxxxxxxxxxxxx…"],
        ["[b]y"],
    ]
    assert all(cell_len(line) <= 32 for line in lines)
    assert count == "3 solutions"


def test_a_table_has_a_heading_without_rows_and_does_not_hold_them_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def rows(number: int) -> Iterator[list[str]]:
        for at in range(number):
            # The first thousand lines choose the widths.
            assert at <= 1000 or capsys.readouterr().out.count("\n") > 1000
            yield [f"<urn:{at}>", ""]
            if at == 1001:
                raise ClosedError

    print_table(["s", "o"], rows(0))
    assert capsys.readouterr().out.split() == ["?s", "?o", "0", "solutions"]
    with pytest.raises(ClosedError):
        print_table(["s", "o"], rows(2000))


class ClosedError(Exception):
    """The reader of the output has closed it."""
