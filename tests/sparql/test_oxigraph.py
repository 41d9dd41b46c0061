"""Results of Oxigraph: from its queries, its parser and sharded stores."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyoxigraph")

from pyoxigraph import (
    BaseDirection,
    BlankNode,
    Literal,
    NamedNode,
    Quad,
    QueryBoolean,
    QueryResultsFormat,
    QuerySolutions,
    Store,
    parse_query_results,
)

from jelly_plugins import Iri, Limits
from jelly_plugins import Literal as GenericLiteral
from jelly_plugins.errors import LimitError, SourceError, TermError
from jelly_plugins.io.chunks import ChunkFile
from jelly_plugins.oxigraph import encode_solutions, read_solutions, write_solutions
from jelly_plugins.sparql import (
    ResultsFormat,
    ResultsOptions,
    encode_results,
    read_results,
    write_results,
)

from ..programs import run

P = NamedNode("http://e.org/p")
QUERY = "SELECT ?s ?o ?none { ?s ?p ?o }"


def store(count: int = 100) -> Store:
    made = Store()
    made.extend(
        Quad(NamedNode(f"http://e.org/{n}"), P, Literal(n) if n % 2 else BlankNode())
        for n in range(count)
    )
    made.add(Quad(P, P, Literal("x", language="en", direction=BaseDirection.RTL)))
    return made


def found(query: str = QUERY, count: int = 100) -> Any:
    return store(count).query(query)


@pytest.mark.parametrize("form", [form for form in ResultsFormat if form is not ResultsFormat.CSV])
def test_there_and_back(form: ResultsFormat) -> None:
    source = store()
    file = io.BytesIO()
    write_solutions(source.query(QUERY), file, format=form)  # type: ignore[arg-type]
    copy = read_solutions(file.getvalue(), format=form)
    assert isinstance(copy, QuerySolutions)
    assert [variable.value for variable in copy.variables] == ["s", "o", "none"]
    again: Any = source.query(QUERY)
    assert sorted(map(str, copy)) == sorted(map(str, again))


def test_parsed_results_and_results_in_csv() -> None:
    parsed: Any = parse_query_results(
        found().serialize(format=QueryResultsFormat.XML), QueryResultsFormat.XML
    )
    file = io.BytesIO()
    write_solutions(parsed, file, format="csv")
    assert sum(1 for _ in read_results(file.getvalue(), format="csv")) == 101


def test_frames_for_a_server() -> None:
    taken = 0
    for frame in encode_solutions(found("SELECT ?s ?o { ?s ?p ?o }", 5000), frame_cells=100):
        taken += sum(1 for _ in read_results(frame)) if not taken else 1
    assert taken > 50
    data = b"".join(encode_solutions(found("SELECT ?s { ?s ?p ?o }")))
    assert sum(1 for _ in read_results(data)) == 101
    options = ResultsOptions(stream_name="n")
    [frame] = encode_solutions(found("ASK {}"), options=options)
    file = io.BytesIO()
    write_solutions(found("ASK {}"), file, format="jellys", options=options)
    assert frame == file.getvalue()
    assert read_results(frame).options == options
    with pytest.raises(TermError, match="triples"):
        encode_solutions(found("CONSTRUCT WHERE { ?s ?p ?o }"))


def test_booleans() -> None:
    for query in ("ASK {}", "ASK { <urn:no> ?p ?o }"):
        file = io.BytesIO()
        write_solutions(found(query), file, format="jellys")
        copy = read_solutions(file.getvalue())
        assert isinstance(copy, QueryBoolean)
        assert bool(copy) is bool(found(query))
    with pytest.raises(TermError, match="triples"):
        write_solutions(found("CONSTRUCT WHERE { ?s ?p ?o }"), io.BytesIO(), format="jellys")
    for form in ("srt", "srp", "csv"):
        with pytest.raises(TermError, match="ASK"):
            write_solutions(found("ASK {}"), io.BytesIO(), format=form)


def test_terms_that_oxigraph_cannot_hold() -> None:
    rows = [(Iri(f"urn:{n}"),) for n in range(30_000)] + [(Iri("not absolute"),)]
    file = io.BytesIO()
    write_results(["s"], rows, file, format="jellys")
    solutions = read_solutions(file.getvalue())
    with pytest.raises(TermError, match="Oxigraph rejects the IRI") as caught:
        list(solutions)  # type: ignore[arg-type]
    assert caught.value.frame == 7


def test_solutions_are_read_as_they_are_iterated() -> None:
    taken = 0

    def frames() -> Any:
        nonlocal taken
        for frame in encode_results(["s"], ((Iri(f"urn:{n}"),) for n in range(100_000))):
            taken += 1
            yield frame

    solutions: Any = read_solutions(ChunkFile(frames()))
    assert str(next(solutions)["s"]) == "<urn:0>"
    assert taken < 5
    assert sum(1 for _ in solutions) == 99_999


def test_a_sharded_store(tmp_path: Path) -> None:
    pytest.importorskip("xxhash")
    from jelly_plugins.spark import ShardedStore

    from ..spark.shards.logs import apply

    rows = "".join(f'A <http://e.org/{n}> <http://e.org/p> "{n}" .\n' for n in range(100))
    apply(tmp_path / "shards", f"TX .\n{rows}TC .\n".encode())
    sharded = ShardedStore(tmp_path / "shards")
    sharded.write_solutions("SELECT ?o ?s { ?s ?p ?o }", tmp_path / "x.jellys")
    with read_results(tmp_path / "x.jellys") as results:
        assert results.variables == ["o", "s"]
        solutions = list(results)
    assert len(solutions) == len(set(solutions)) == 100
    expected = sharded.select("SELECT ?o ?s { ?s ?p ?o }")
    assert [str(row["s"]) for row in expected] == [f"<{s.value}>" for _, s in solutions]


def test_a_query_that_oxigraph_cannot_evaluate() -> None:
    # Nothing listens there.
    query = "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }"
    with pytest.raises(SourceError, match="Oxigraph cannot evaluate the query: "):
        write_solutions(found(query), io.BytesIO(), format="tsv")


@pytest.mark.parametrize("text", ["x" * 9_000_000, "\n" * 5_000_000])
def test_terms_longer_than_oxigraph_reads(text: str) -> None:
    file = io.BytesIO()
    write_results(["o"], [(Iri("urn:s"),), (GenericLiteral(text),)], file, format="jellys")
    with pytest.raises(LimitError, match="longer than Oxigraph reads") as caught:
        list(read_solutions(file.getvalue()))  # type: ignore[arg-type]
    assert caught.value.row == 2


@pytest.mark.parametrize("form", ["jellys", "srt"])
def test_long_terms_that_repeat(form: str) -> None:
    """Each solution has a copy of them in the text that pyoxigraph parses."""
    file = io.BytesIO()
    write_results(["o"], [(Iri("urn:" + "x" * 10_000),)] * 1000, file, format=form)
    limits = Limits(name_table=8192, frame_expansion=1_000_000)
    with pytest.raises(LimitError, match="frame_expansion") as caught:
        list(read_solutions(file.getvalue(), limits=limits))  # type: ignore[arg-type]
    assert caught.value.source == "<bytes>"
    assert (caught.value.frame is None) == (form == "srt")
    limits = Limits(name_table=8192, frame_expansion=20_000_000)
    assert len(list(read_solutions(file.getvalue(), limits=limits))) == 1000  # type: ignore[arg-type]


_ELSEWHERE = """
import threading
from tests.sparql.test_oxigraph import encode_solutions, found
frames = encode_solutions(found("SELECT ?s { ?s ?p ?o }", 20_000))
first, errors = next(frames), []
def take():
    try:
        list(frames)
    except ValueError as error:
        errors.append(str(error))
# A thread that ends before the next one begins may give it its number.
thread = threading.Thread(target=take)
thread.start()
thread.join()
assert "in the thread that made them" in errors[0], errors
print("done")
"""


def test_solutions_in_another_thread() -> None:
    done = run(_ELSEWHERE)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
