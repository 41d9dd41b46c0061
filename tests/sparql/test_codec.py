"""Frames of Jelly-SPARQL: round trips, and comparison with a reader over protoc's classes."""

from __future__ import annotations

import gc
import re
import tracemalloc
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from jelly_plugins import BlankNode, Iri, Limits, Literal, Triple
from jelly_plugins.codec import DEFAULT_GRAPH, Column, GenericFactory, Kind, describe
from jelly_plugins.codec.sparql import decoder, encoder, kernel, reading, writing
from jelly_plugins.codec.sparql.decoder import ResultsColumnDecoder, ResultsDecoder
from jelly_plugins.codec.sparql.encoder import ResultsEncoder
from jelly_plugins.codec.sparql.options import IRIS, LITERALS, MIXED, RESULTS_LIMITS, ResultsOptions
from jelly_plugins.errors import JellyError, LimitError, OptionsError, StatementError, TermError
from jelly_plugins.proto import sparql_pb2

from ..fuzz.streams import damaged
from . import oracle
from .random_results import options, results

S = Iri("http://e.org/s")


def as_tuple(term: Any) -> Any:
    """Convert a generic term to one of the oracle."""
    if term is None:
        return None
    if isinstance(term, Iri):
        return ("iri", term.value)
    if isinstance(term, BlankNode):
        return ("bnode", term.label)
    return ("literal", term.lex, term.langtag, term.datatype)


def written(variables: list[str], rows: Any, **settings: Any) -> list[bytes]:
    writer = ResultsEncoder(variables, **settings)
    return writer.add(rows) + writer.finish()


def read(frames: list[bytes], **settings: Any) -> list[tuple[Any, ...]]:
    reader = ResultsDecoder(GenericFactory(), **settings)
    return [row for frame in frames for row in reader.decode(frame).solutions()]


@pytest.mark.parametrize(
    "seeds", [range(200), pytest.param(range(100_000), marks=pytest.mark.slow)]
)
def test_random_results(seeds: range) -> None:
    for seed in seeds:
        draw = Random(seed)
        variables, rows = results(draw)
        cells = draw.choice([1, 7, 4096])
        frames = written(variables, rows, options=options(draw), frame_cells=cells)
        assert read(frames) == rows
        other = oracle.Reader()
        found = [row for frame in frames for row in other.frame(frame)]
        assert found == [tuple(map(as_tuple, row)) for row in rows]
        assert other.variables == variables


def outcome(frames: list[bytes], reader: ResultsDecoder) -> Any:
    """Return the result of reading: columns of cells, and the error that ends it."""
    found: list[Any] = []
    try:
        for frame in frames:
            for column in reader.decode(frame).columns:
                found.append(column.values() if isinstance(column, Column) else column)
    except JellyError as error:
        found.append((type(error), str(error)))
    return found


SMALL = replace(
    RESULTS_LIMITS,
    frame_cells=500,
    string_bytes=60,
    frame_expansion=3000,
    lookup_characters=2000,
)


@pytest.mark.parametrize("streams", [150, pytest.param(10_000, marks=pytest.mark.slow)])
def test_damaged_streams_end_in_the_same_error(
    streams: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On both kernels, if there are two."""
    draw = Random(5)
    cases = []
    for _ in range(streams):
        variables, rows = results(draw)
        frames = written(variables, rows, frame_cells=50)
        for _ in range(8):
            cases.append([damaged(draw, f) if draw.random() < 0.6 else f for f in frames])
        cases.append(frames)
        with monkeypatch.context() as patch:
            write_in_python(patch)
            assert written(variables, rows, frame_cells=50) == frames

    def outcomes(case: list[bytes]) -> Any:
        return (
            outcome(case, ResultsDecoder(GenericFactory(), limits=SMALL)),
            outcome(case, ResultsColumnDecoder(limits=SMALL)),
        )

    compiled = [outcomes(case) for case in cases]
    read_in_python(monkeypatch)
    for case, found in zip(cases, compiled, strict=True):
        assert outcomes(case) == found


def read_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read with the interpreted modules."""
    monkeypatch.setattr(decoder, "ColumnReader", reading.ColumnReader)
    monkeypatch.setattr(decoder, "TextColumnReader", reading.TextColumnReader)


def write_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write with the interpreted modules."""
    monkeypatch.setattr(encoder, "ColumnWriter", writing.ColumnWriter)


def describe_foreign(term: Any) -> Any:
    """Describe a term like an adapter for another library."""
    return describe(term)


def test_both_kernels_write_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    if not kernel.native:
        pytest.skip("the compiled module is not built")
    draw = Random(6)
    cases: list[tuple[list[str], Any, dict[str, Any]]] = []
    for _ in range(100):
        settings = {"options": options(draw), "frame_cells": draw.choice([7, 100, 4096])}
        cases.append((*results(draw, 400), settings))
    small = {"options": ResultsOptions(max_name_table_size=128, max_prefix_table_size=2)}
    # Twice, so that entries of an earlier frame are found.
    many = [(Iri(f"http://{n % 5}/{n % 300}"), Iri(f"urn:é#{n % 70}")) for n in range(900)] * 2
    cases.append((["a", "b"], many, small))
    for cell in (
        Iri("urn:" + "x" * 2000),
        Literal("é" * 2000, "en"),
        BlankNode("é"),
        Iri("\ud800"),
        Literal("\ud800"),
        Literal("x", "\ud800"),
        Literal("x", None, "\ud800"),
        Literal("x", ""),
        Literal("x", None, ""),
        BlankNode("\ud800"),
        Iri(b"x"),  # type: ignore[arg-type]
        Literal(None),  # type: ignore[arg-type]
        Literal("x", 5),  # type: ignore[arg-type]
        BlankNode(1),  # type: ignore[arg-type]
        *(each.__new__(each) for each in (Iri, BlankNode, Literal)),
        *([], {}, object(), 1, b"x", "x", DEFAULT_GRAPH, float("nan")),
        Literal("x" * 1000),
        Iri("x" * 1000),
        BlankNode("x" * 1000),
    ):
        for others in ([], [(S,)], [(Literal("1"),)]):
            limits = {"limits": Limits(name_table=8192, string_bytes=900)}
            cases.append((["a"], [*others, (cell,), (cell,)], draw.choice([{}, limits])))

    def attempt(case: tuple[list[str], Any, dict[str, Any]]) -> Any:
        variables, rows, settings = case
        try:
            return written(variables, rows, **settings)
        except JellyError as error:
            return type(error), re.sub("0x[0-9a-f]+", "", str(error))

    theirs = [
        (variables, rows, settings | {"describe": describe_foreign})
        for variables, rows, settings in cases
    ]
    compiled = [attempt(case) for case in (*cases, *theirs)]
    assert sum(isinstance(found, list) for found in compiled) > 200
    assert sum(isinstance(found, tuple) for found in compiled) > 50
    write_in_python(monkeypatch)
    for case, found in zip((*cases, *theirs), compiled, strict=True):
        assert attempt(case) == found


@pytest.mark.parametrize("take_apart", [describe, describe_foreign])
def test_memory_does_not_grow_with_the_output(take_apart: Any) -> None:
    small = ResultsOptions(max_name_table_size=128)
    tracemalloc.start()
    try:
        writer = ResultsEncoder(["a", "b"], options=small, describe=take_apart, frame_cells=100)
        for n in range(2000):
            writer.add([(Iri(f"urn:{n}" + "x" * 5000), Literal(f"{n}" + "y" * 5000))])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


def test_a_term_that_changes_while_it_is_described() -> None:
    first = Iri("urn:first")

    class Other:
        pass

    def take_apart(term: Any) -> Any:
        if isinstance(term, Other):
            object.__setattr__(first, "value", "urn:" + "x" * 100_000)
            gc.collect()
            return (Kind.IRI, "urn:other")
        return describe(term)

    frames = written(["a"], [(first,), (Other(),), (S,)], describe=take_apart)
    assert read(frames) == [(Iri("urn:first"),), (Iri("urn:other"),), (S,)]


@pytest.mark.parametrize("native", [False, True])
def test_quoted_triples_that_are_deep(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # Hashing or comparing them would end the process.
    if not native:
        write_in_python(monkeypatch)
    cells: list[Any] = [S, S]
    for _ in range(200_000):
        cells = [Triple(S, S, cell) for cell in cells]
    with pytest.raises(TermError, match="quoted triples"):
        written(["a"], [(cell,) for cell in cells])


def test_runs() -> None:
    cells = ["a"] * 17 + ["b"] + [None] * 16 + ["c", None, "d", "d", None]
    run_values, layout = writing.squeeze(cells)
    assert run_values == ["a", "b", "c", "d"]
    # For both kinds of runs, the longest length without an extension is one less than the shortest
    # with one.
    assert list(layout) == [15, 0, 1 << 5 | 16 | 15, 0, 1 << 5 | 16, 0]
    terms = [cell and BlankNode(cell) for cell in cells]
    assert read(written(["x"], [(term,) for term in terms])) == [(term,) for term in terms]
    assert list(writing.squeeze(["a"] * 16)[1]) == [14]
    assert list(writing.squeeze([None] * 15 + ["a"])[1]) == [16 | 14]
    assert writing.squeeze([None, None]) == ([], b"")


def test_a_variable_moves_to_the_column_that_it_needs() -> None:
    steps = [None, Literal("1"), Literal("2"), S, Literal("3")]
    frames = written(["a", "b"], [(S, value) for value in steps], frame_cells=2)
    decoder = ResultsDecoder(GenericFactory())
    found = [decoder.decode(frame) for frame in frames]
    assert [frame.types for frame in found] == [
        (IRIS, IRIS),
        (IRIS, LITERALS),
        (IRIS, LITERALS),
        (IRIS, MIXED),
        (IRIS, MIXED),
    ]
    headers = [bool(sparql_pb2.SparqlResultsFrame.FromString(data).variables) for data in frames]
    assert headers == [True, True, False, True, False]
    assert [frame.columns[1][0] for frame in found] == steps


def test_literals_of_one_datatype_state_it_once() -> None:
    for terms, form in (
        ([Literal("1", None, "urn:d"), Literal("2", None, "urn:d")], "lex_values"),
        ([Literal(""), Literal("2")], "lex_values"),
        ([Literal("1", None, "urn:d"), Literal("2")], "values"),
        ([Literal("1", "en"), Literal("2", "en")], "values"),
    ):
        [data] = written(["a"], [(term,) for term in terms])
        [column] = sparql_pb2.SparqlResultsFrame.FromString(data).literal_columns
        assert len(getattr(column, form)) == 2
        assert [term for (term,) in read([data])] == terms


def test_a_frame_holds_no_more_entries_than_its_tables() -> None:
    small = ResultsOptions(max_name_table_size=128, max_prefix_table_size=1)
    rows = [(Iri(f"http://e.org/{n}"), Iri(f"http://e.org/{n + 1}")) for n in range(1000)]
    frames = written(["a", "b"], rows, options=small)
    assert len(frames) == 8
    assert read(frames) == rows
    # With so small a table, IRIs are written whole.
    two = [(Iri("urn:a#x"), Iri("urn:b#y"))]
    assert read(written(["a", "b"], two, options=small)) == two
    wide = [tuple(Iri(f"urn:{n}") for n in range(129))]
    with pytest.raises(TermError, match="max_name_table_size"):
        written([f"v{n}" for n in range(129)], wide, options=small)


def test_frames_end_by_bytes_too() -> None:
    rows = [(Literal(str(n) * 1000),) for n in range(100)]
    frames = written(["a"], rows, frame_bytes=10_000)
    assert len(frames) > 10
    assert read(frames) == rows
    with pytest.raises(LimitError, match="frame_bytes"):
        written(["a"], [(Literal("x" * 1000),)], limits=Limits(name_table=8192, frame_bytes=900))


def test_terms_that_cannot_be_written() -> None:
    for variables, row, error, match in (
        (["a"], (S, S), StatementError, "2 terms for 1"),
        (["a"], (Triple(S, S, S),), TermError, "quoted"),
        (["a"], ("x",), TermError, "not a term"),
        (["a"], ([],), TermError, "not a term"),
        (["a"], (Iri("\ud800"),), TermError, "surrogate"),
        (["a", "a"], (S, S), TermError, "same name"),
        ([""], (S,), TermError, "no name"),
    ):
        with pytest.raises(error, match=match):
            written(variables, [row])
    with pytest.raises(OptionsError, match="128"):
        ResultsEncoder(["a"], options=ResultsOptions(max_name_table_size=127))


def test_a_few_bytes_do_not_become_a_billion_cells() -> None:
    frame = sparql_pb2.SparqlResultsFrame(row_count=1 << 31)
    frame.options.version = 1
    frame.options.max_name_table_size = 128
    with pytest.raises(LimitError, match="frame_rows"):
        read([frame.SerializeToString()])
    frame.row_count = 1_000_000
    for number in range(1000):
        frame.variables.add(name=str(number), column_index=number)
        frame.iri_columns.add()
    with pytest.raises(LimitError, match="frame_cells"):
        read([frame.SerializeToString()])
