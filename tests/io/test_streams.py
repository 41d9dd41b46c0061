"""Whole streams: files to statements and back, flat, grouped and by frame."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

import jelly_plugins.io.streams
import jelly_plugins.rdflib
from jelly_plugins import (
    DEFAULT_GRAPH,
    BlankNode,
    Frame,
    Iri,
    JellyError,
    Literal,
    LogicalType,
    OptionsError,
    PhysicalType,
    Quad,
    SourceError,
    StatementError,
    StreamOptions,
    Triple,
    TruncatedError,
    read,
    read_frames,
    read_quads,
    read_triples,
    write,
    write_frames,
)
from jelly_plugins.codec import GenericFactory
from jelly_plugins.io.streams import FrameReader, encode, infer_options, write_bytes

from ..codec import wire_builder as w
from ..codec.conftest import Kernel, kernel
from ..codec.input_kinds import INPUT_KINDS

__all__ = ["kernel"]

S, P, G = Iri("urn:s"), Iri("urn:p"), Iri("urn:g")
TRIPLES = [Triple(S, P, Literal(str(number))) for number in range(1000)]
QUADS = [Quad(*triple, DEFAULT_GRAPH if n % 3 else G) for n, triple in enumerate(TRIPLES)]
DATA = write_bytes(TRIPLES)
BARE = w.frame(w.options(), *w.SPO, w.spo(), w.triple(o=w.literal()))


@pytest.fixture
def on(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Run the streams on each kernel."""
    monkeypatch.setattr(jelly_plugins.io.streams, "Decoder", kernel.Decoder)
    monkeypatch.setattr(jelly_plugins.io.streams, "Encoder", kernel.Encoder)
    return kernel


# Reading


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize("kind", INPUT_KINDS)
@pytest.mark.parametrize("data", [DATA, BARE, write_bytes([])], ids=["delimited", "bare", "empty"])
def test_every_kind_of_input(kind: str, data: bytes, tmp_path: Path) -> None:
    expected = {DATA: TRIPLES, BARE: list(read(BARE))}.get(data, [])
    with INPUT_KINDS[kind](data, tmp_path) as src:
        assert list(read(src)) == expected
    with INPUT_KINDS[kind](data, tmp_path) as src, read_frames(src) as frames:
        assert [statement for frame in frames for statement in frame.statements] == expected
        assert frames.delimited is (data != BARE)


def test_frames_have_all_their_contents() -> None:
    metadata = {"a": b"1"}
    source = [
        Frame(0, statements=TRIPLES[:2], namespaces=[("ex", S)], metadata=metadata),
        Frame(1),
        Frame(2, statements=TRIPLES[:1]),
    ]
    file = io.BytesIO()
    write_frames(source, file, options=StreamOptions(), namespaces=True)
    frames = list(read_frames(file.getvalue()))
    assert [frame.index for frame in frames] == [0, 1, 2]
    assert [frame.statements for frame in frames] == [TRIPLES[:2], [], TRIPLES[:1]]
    assert [frame.namespaces for frame in frames] == [[("ex", S)], [], []]
    assert [frame.metadata for frame in frames] == [metadata, {}, {}]
    assert sum(frame.size + 1 for frame in frames) == len(file.getvalue())
    assert frames[1].rows == frames[1].size == 0


def test_the_options_do_not_cost_a_frame() -> None:
    empty_first = w.stream(b"", b"", w.frame(w.options(stream_name="n"), *w.SPO, w.spo()), b"")
    for data, count in ((empty_first, 4), (write_bytes(TRIPLES, frame_rows=100), None), (BARE, 1)):
        with read_frames(data) as frames:
            options = frames.options
            assert frames.options is options
            indexes = [frame.index for frame in frames]
        assert indexes == list(range(count or len(indexes)))
        assert len(indexes) == len(list(read_frames(data)))
        with read_frames(data) as frames:
            assert [(each.index, frames.options) for each in frames] == [
                (index, options) for index in indexes
            ]


@pytest.mark.parametrize("data", [b"\0", bytes(3), bytes(100), w.stream(w.spo())])
def test_options_of_a_stream_without_them(data: bytes) -> None:
    with read_frames(data) as frames:
        for _ in range(3):
            with pytest.raises(JellyError) as caught:
                _ = frames.options
            assert caught.value.source == "<bytes>"


def test_options_that_cannot_be_found() -> None:
    """A few bytes of gzip can contain millions of empty frames."""
    closed = read_frames(DATA)
    closed.close()
    for frames in (closed, read_frames(gzip.compress(bytes(100_000)))):
        with pytest.raises(OptionsError):
            _ = frames.options
        frames.close()


def test_an_empty_input_is_an_empty_stream_unless_reading_is_strict() -> None:
    # Apache Jena writes an empty graph as an empty file.
    for data in (b"", gzip.compress(b"")):
        assert list(read(data)) == []
        with read_frames(data) as frames:
            assert frames.options.physical_type is PhysicalType.TRIPLES
            assert [str(error) for error in frames.deviations] == [
                "<bytes>: the stream has no options: it is empty"
            ]
        with pytest.raises(OptionsError, match="empty"):
            list(read(data, strict=True))
    # A frame of no bytes is not an empty input.
    with pytest.raises(OptionsError, match="empty"):
        list(read(bytes(3)))


def test_reading_is_lazy() -> None:
    reading, writing = os.pipe()
    with open(reading, "rb") as file, open(writing, "wb", buffering=0) as pipe:
        frames = encode(TRIPLES, frame_rows=10)
        first = next(frames)
        pipe.write(w.stream(first))
        statements = read(file)
        assert next(statements) == TRIPLES[0]
        pipe.write(w.stream(next(frames)))
        assert [next(statements) for _ in range(10)] == TRIPLES[1:11]


def test_sources_are_closed(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    path.write_bytes(DATA)
    reader = read_frames(path)
    with reader as frames:
        next(iter(frames))
    assert list(frames) == []
    broken = tmp_path / "broken.jelly"
    broken.write_bytes(DATA[:-1])
    with pytest.raises(TruncatedError) as caught:
        list(read(broken))
    assert caught.value.source == str(broken)
    statements = read(path)
    next(statements)
    statements.close()  # type: ignore[attr-defined]


def test_the_last_frame_read() -> None:
    data = write_bytes(TRIPLES, frame_rows=100)
    with read_frames(data) as frames:
        assert b"".join(w.stream(frames.data) for _ in frames) == data


def test_errors_are_raised_after_the_previous_frames() -> None:
    frames = iter(read_frames(write_bytes(TRIPLES, frame_rows=100)[:-1]))
    assert [next(frames).index for _ in range(10)] == list(range(10))
    with pytest.raises(TruncatedError) as caught:
        next(frames)
    assert caught.value.frame == 10


def test_a_truncated_compressed_stream_names_the_frame() -> None:
    packed = gzip.compress(write_bytes(TRIPLES, frame_rows=100))
    with pytest.raises(TruncatedError) as caught:
        list(read(packed[:-20]))
    assert caught.value.source == "<bytes>"
    assert caught.value.frame is not None


@pytest.mark.usefixtures("on")
def test_terms_are_the_factorys() -> None:
    class Texts(GenericFactory):
        default_graph = "default"  # type: ignore[assignment]

        def __getattribute__(self, name: str) -> Any:
            if name in ("iri", "blank_node"):
                return str.upper
            return super().__getattribute__(name)

    (frame,) = read_frames(write_bytes([Quad(S, P, S, DEFAULT_GRAPH)]), factory=Texts())
    assert frame.statements == [("URN:S", "URN:P", "URN:S", "default")]


# Concatenated streams


@pytest.mark.usefixtures("on")
def test_cat_of_two_files() -> None:
    other = write_bytes(QUADS[:10], options=StreamOptions.small(physical_type=w.QUADS))
    data = DATA + other + DATA
    with pytest.raises(OptionsError, match="differ") as caught:
        list(read(data))
    assert caught.value.frame == len(list(read_frames(DATA)))
    for reader in (read_triples, read_quads):
        with pytest.raises(OptionsError, match="differ"):
            list(reader(data))
    assert list(read(data, concatenated=True)) == [*TRIPLES, *QUADS[:10], *TRIPLES]
    indexes = [frame.index for frame in read_frames(data, concatenated=True)]
    assert indexes == list(range(len(indexes)))


def test_empty_frames_before_the_options_are_not_a_stream() -> None:
    one = write_bytes(TRIPLES[:5])
    frames = list(read_frames(bytes(2) + one + bytes(1) + one, concatenated=True))
    assert [len(frame.statements) for frame in frames] == [0, 0, 5, 0, 5]


def test_a_long_first_row_is_not_a_new_stream() -> None:
    """The length of a row may look like the tag of options."""
    for size in range(1200, 1500):
        head = w.frame(w.options(), *w.SPO, w.spo())
        data = w.stream(head, w.frame(w.triple(o=w.literal("x" * size))))
        assert len(list(read(data, concatenated=True))) == 2


def test_options_after_metadata_are_a_new_stream() -> None:
    one = write_bytes(TRIPLES[:1])
    metadata = b"\x7a\x03\x0a\x01k"
    second = w.frame(w.options(star=True), *w.SPO, w.spo())
    data = one + w.stream(metadata + second)
    assert len(list(read(data, concatenated=True))) == 2


def test_each_stream_may_have_its_own_factory() -> None:
    asked = []

    def another() -> GenericFactory:
        asked.append(1)
        return GenericFactory()

    reader = FrameReader(DATA * 3, concatenated=True, next_factory=another)
    assert len(list(reader)) == 3 * len(list(read_frames(DATA)))
    assert len(asked) == 2


def test_errors_in_a_later_stream_are_numbered_in_the_whole() -> None:
    one = write_bytes(TRIPLES[:1])
    with pytest.raises(OptionsError, match="version 9") as caught:
        list(read(one + w.stream(w.frame(w.options(version=9))), concatenated=True))
    assert (caught.value.frame, caught.value.row) == (1, 0)


# Writing


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize("statements", [TRIPLES, QUADS, []], ids=["triples", "quads", "none"])
def test_the_type_is_that_of_the_first_statement(statements: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    write(iter(statements), path)
    with read_frames(path) as frames:
        quads = statements is QUADS
        assert frames.options.physical_type == (w.QUADS if quads else w.TRIPLES)
        assert frames.options.logical_type == (
            LogicalType.FLAT_QUADS if quads else LogicalType.FLAT_TRIPLES
        )
    assert list(read(path)) == statements
    assert infer_options(None) == infer_options(TRIPLES[0]) != infer_options(QUADS[0])


@pytest.mark.parametrize("logical", [LogicalType.UNSPECIFIED, LogicalType.DATASETS])
def test_graphs_end_with_their_frames(logical: LogicalType) -> None:
    options = StreamOptions(physical_type=PhysicalType.GRAPHS, logical_type=logical)
    frames = [Frame(0, statements=QUADS[:2], empty_graphs=[BlankNode("e")]), Frame(1, QUADS[2:4])]
    file = io.BytesIO()
    write_frames(frames, file, options=options)
    with read_frames(file.getvalue()) as reader:
        read_back = []
        for frame in reader:
            assert not reader.inside_graph
            read_back.append(frame)
    assert [frame.statements for frame in read_back] == [frame.statements for frame in frames]
    assert [frame.empty_graphs for frame in read_back] == [[BlankNode("e")], []]


def test_writing_is_lazy() -> None:
    taken = []

    def source() -> Iterator[Triple]:
        for triple in TRIPLES * 10:
            taken.append(triple)
            yield triple

    frames = encode(source())
    next(frames)
    assert len(taken) < 3000


def test_a_destination_that_cannot_be_written(tmp_path: Path) -> None:
    taken = []
    with pytest.raises(SourceError):
        write((taken.append(t) or t for t in TRIPLES), tmp_path / "absent" / "x.jelly")  # type: ignore[func-returns-value]
    assert taken == []


# Streams read as triples or as quads, whatever their type

OBJECT = Iri("urn:o")
TWO = write_bytes([Triple(S, P, OBJECT), Triple(S, P, G)])
MIXED = write_bytes([Quad(S, P, OBJECT, DEFAULT_GRAPH), Quad(S, P, OBJECT, G)])
ONE = write_bytes([Quad(S, P, OBJECT, DEFAULT_GRAPH)])


def test_triples_and_quads_of_generic_terms() -> None:
    assert [(s, o) for s, _, o in read_triples(TWO)] == [(S, OBJECT), (S, G)]
    assert list(read_triples(ONE)) == [Triple(S, P, OBJECT)]
    assert [g for _, _, _, g in read_quads(MIXED)] == [DEFAULT_GRAPH, G]
    assert list(read_quads(TWO))[1] == Quad(S, P, G, DEFAULT_GRAPH)
    found = read_triples(MIXED)
    assert next(found) == Triple(S, P, OBJECT)
    with pytest.raises(StatementError, match="named graph: read_quads") as caught:
        next(found)
    assert (caught.value.source, caught.value.frame) == ("<bytes>", 0)


def test_triples_and_quads_of_rdflib() -> None:
    assert [str(o) for _, _, o in jelly_plugins.rdflib.read_triples(TWO)] == ["urn:o", "urn:g"]
    assert [len(each) for each in jelly_plugins.rdflib.read_triples(ONE)] == [3]
    names = [g for _, _, _, g in jelly_plugins.rdflib.read_quads(MIXED)]
    assert names[0] == DATASET_DEFAULT_GRAPH_ID
    assert str(names[1]) == "urn:g"
    assert [len(each) for each in jelly_plugins.rdflib.read_quads(TWO)] == [4, 4]
    with pytest.raises(JellyError, match="Dataset"):
        list(jelly_plugins.rdflib.read_triples(MIXED))
