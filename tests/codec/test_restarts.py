"""Restart points: readers may begin there, and a reader from the start sees no difference."""

from __future__ import annotations

import io
import random
from itertools import pairwise
from typing import Any

import pytest

from jelly_plugins.codec import (
    DEFAULT_GRAPH,
    BlankNode,
    FrameSplitter,
    GenericFactory,
    Iri,
    Limits,
    Literal,
    PhysicalType,
    Quad,
    StreamOptions,
    TextDecoder,
    TextEncoder,
    Triple,
    delimit,
)
from jelly_plugins.codec.rdf.restarts import KEY, MARK
from jelly_plugins.errors import JellyError, LimitError, TermError, TruncatedError
from jelly_plugins.io.streams import (
    RestartPoint,
    find_restarts,
    opens_with_options,
    read,
    write_bytes,
)

from ..fuzz.readers import rows_of
from .conftest import Kernel
from .test_columns import batches_of, cells, columns_of


def quads(count: int = 600) -> list[Quad]:
    """Statements that refer to earlier ones in every possible way."""
    return [
        Quad(
            BlankNode(f"b{number // 4 % 9}") if number % 7 else Iri("http://example.org/s"),
            Iri(f"http://example.org/ns{number // 50}#p{number % 13}"),
            (
                Literal(f"{number}"),
                Literal(f"{number % 5}", None, f"http://example.org/type{number % 6}"),
                Iri(f"http://example.org/o/{number % 100}"),
                Literal("same", "en"),
            )[number // 3 % 4],
            (DEFAULT_GRAPH, Iri("urn:g"))[number // 70 % 2],
        )
        for number in range(count)
    ]


def statements_of(physical_type: PhysicalType) -> list[Any]:
    if physical_type is PhysicalType.TRIPLES:
        return [Triple(*quad[:3]) for quad in quads()]
    return quads()


SMALL = {"max_name_table_size": 16, "max_prefix_table_size": 4, "max_datatype_table_size": 4}
OPTIONS = [
    StreamOptions(physical_type=physical_type, **sizes)
    for physical_type in PhysicalType
    for sizes in ({}, SMALL, {**SMALL, "max_prefix_table_size": 0})
]


def marked(frames: list[bytes]) -> list[int]:
    return [number for number, frame in enumerate(frames) if frame.startswith(MARK)]


@pytest.mark.parametrize("options", OPTIONS)
def test_each_point_begins_the_rest_of_the_stream(kernel: Kernel, options: StreamOptions) -> None:
    statements = statements_of(options.physical_type)
    frames = kernel.encode(statements, options, frame_rows=20, restart_every=900)
    points = marked(frames)
    assert len(points) > 5
    assert kernel.statements(*frames) == statements
    whole = [frame.statements for frame in kernel.decode(*frames)]
    for point in points:
        decoder = kernel.Decoder(GenericFactory(), first_frame=point)
        found = [decoder.decode(frame) for frame in frames[point:]]
        assert [frame.statements for frame in found] == whole[point:]
        assert (found[0].index, found[0].restart, found[0].metadata) == (point, True, {})
    parts = [
        statement
        for start, stop in pairwise([0, *points, len(frames)])
        for statement in kernel.statements(*frames[start:stop])
    ]
    assert parts == statements


@pytest.mark.parametrize("options", OPTIONS)
def test_text_and_columns_begin_at_restart_points(kernel: Kernel, options: StreamOptions) -> None:
    statements = statements_of(options.physical_type)
    expected = kernel.encode(statements, options, frame_rows=20, restart_every=900)
    encoder = kernel.ColumnEncoder(options, frame_rows=20, restart_every=900)
    assert encoder.add(columns_of(list(map(cells, statements)))) + encoder.finish() == expected
    rows = [row for columns in batches_of(kernel, expected) for row in rows_of(columns)]
    lines = text_of(expected)
    text_encoder = TextEncoder(options, frame_rows=20, restart_every=900)
    assert text_encoder.feed(lines) + text_encoder.finish() == expected
    for point in marked(expected)[::3]:
        tail = expected[point:]
        found = [row for each in batches_of(kernel, tail) for row in rows_of(each)]
        assert found == rows[-len(found) :]
        assert lines.endswith(text_of(tail))


def text_of(frames: list[bytes]) -> bytes:
    decoder = TextDecoder()
    return b"".join(chunk for frame in frames for chunk in decoder.decode(frame))


def test_restart_on_request(kernel: Kernel) -> None:
    statements = [Triple(*quad[:3]) for quad in quads(30)]
    encoder = kernel.Encoder(StreamOptions())
    # The first frame is a restart point anyway.
    assert encoder.restart() == []
    frames = encoder.add(statements[:10]) + encoder.restart()
    assert len(frames) == 1
    assert encoder.restart() == []
    frames += encoder.add(statements[10:20])
    frames += [encoder.flush({"key": b"value"})]
    frames += encoder.add(statements[20:]) + encoder.restart() + encoder.finish()
    assert marked(frames) == [1]
    found = kernel.decode(*frames)
    assert [frame.restart for frame in found] == [False, True, False]
    assert found[1].metadata == {"key": b"value"}
    assert [statement for frame in found for statement in frame.statements] == statements


def test_an_open_graph_starts_again(kernel: Kernel) -> None:
    options = StreamOptions(physical_type=PhysicalType.GRAPHS)
    graph = Iri("urn:g")
    rows = [Quad(Iri("urn:s"), Iri("urn:p"), Literal(str(number)), graph) for number in range(9)]
    encoder = kernel.Encoder(options)
    frames = encoder.add(rows[:4]) + encoder.restart() + encoder.add(rows[4:]) + encoder.finish()
    first, second = kernel.decode(*frames)
    assert (first.graphs, second.graphs) == ([graph], [graph])
    assert first.statements + second.statements == rows
    assert kernel.statements(frames[1]) == rows[4:]


def test_lookups_of_a_reader_stay_within_its_limit(kernel: Kernel) -> None:
    limits = Limits(lookup_characters=400)
    options = StreamOptions(max_prefix_table_size=0)
    encoder = kernel.Encoder(options, limits=limits)
    decoder = kernel.Decoder(GenericFactory(), limits=limits)
    rng = random.Random(3)
    rejected = written = read = 0
    for _ in range(200):
        longest = rng.choice((5, 20, 120))
        for _ in range(rng.randrange(1, 5)):
            try:
                encoder.add([Triple(*(Iri("x" * rng.randrange(longest)) for _ in range(3)))])
                written += 1
            except LimitError:
                rejected += 1
        for frame in encoder.restart():
            read += len(decoder.decode(frame).statements)
    assert read == written
    assert 10 < rejected < written


def test_the_key_of_restart_points_is_reserved(kernel: Kernel) -> None:
    encoder = kernel.Encoder(StreamOptions())
    with pytest.raises(TermError, match="reserved for restart points"):
        encoder.flush({KEY: b""})


def test_a_restart_point_is_not_a_new_stream() -> None:
    data = write_bytes(quads(), frame_rows=20, restart_every=500)
    assert list(read(data + data, concatenated=True)) == quads() * 2
    frames = list(FrameSplitter().feed(data))
    assert [opens_with_options(frame) for frame in frames] == [True] + [False] * (len(frames) - 1)


def test_no_restart_point_at_the_end(kernel: Kernel) -> None:
    for settings in ({"restart_every": 1, "frame_rows": 1}, {"restart_every": 1}):
        encoder = kernel.Encoder(StreamOptions(), **settings)
        row = Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))
        frames = encoder.add([row]) + encoder.finish()
        assert (len(frames), marked(frames)) == (1, [])
    encoder = TextEncoder(StreamOptions(), frame_rows=1, restart_every=1)
    frames = encoder.feed(b"<urn:s> <urn:p> <urn:o> .\n# That\n\n# is\n# all.\n")
    assert encoder.finish() == []
    assert (len(frames), marked(frames)) == (1, [])


# Finding restart points


def test_points_are_found() -> None:
    data = write_bytes(quads(), frame_rows=20, restart_every=700)
    file = io.BytesIO(b"before" + data)
    file.seek(6)
    points = list(find_restarts(file))
    frames = list(FrameSplitter().feed(data))
    assert [point.frame for point in points] == [0, *marked(frames)]
    for offset, frame in points:
        assert data[offset:] == b"".join(map(delimit, frames[frame:]))


def test_a_stream_without_any() -> None:
    data = write_bytes(quads())
    assert list(find_restarts(io.BytesIO(data))) == [RestartPoint(0, 0)]
    bare = next(FrameSplitter().feed(data))
    assert list(find_restarts(io.BytesIO(bare))) == [RestartPoint(0, 0)]
    assert list(find_restarts(io.BytesIO(b""))) == []


@pytest.mark.parametrize(
    ("more", "error"),
    [
        (b"\xff" * 11, JellyError),
        (b"\x80", JellyError),
        (b"\x05\x0a", TruncatedError),
        (delimit(bytes(1 << 10))[:2] + b"\x7f" * 20, TruncatedError),
        (b"\xff\xff\xff\xff\x0f", LimitError),
    ],
)
def test_invalid_frames(more: bytes, error: type[JellyError]) -> None:
    data = write_bytes(quads(20), frame_rows=1 << 10) + more
    with pytest.raises(error) as caught:
        list(find_restarts(io.BytesIO(data)))
    assert caught.value.frame == 1


def test_a_truncated_mark_is_ignored() -> None:
    for size in range(len(MARK)):
        data = write_bytes(quads(20), frame_rows=1 << 10) + delimit(MARK[:size])
        assert list(find_restarts(io.BytesIO(data))) == [RestartPoint(0, 0)]


def test_pyjelly_reads_such_files() -> None:
    generic = pytest.importorskip("pyjelly.integrations.generic.parse")
    for statements in (quads(), [Triple(*quad[:3]) for quad in quads()]):
        plain = write_bytes(statements, frame_rows=20)
        restarting = write_bytes(statements, frame_rows=20, restart_every=500)
        assert len(restarting) > len(plain)
        found = list(generic.parse_jelly_flat(io.BytesIO(restarting)))
        assert found == list(generic.parse_jelly_flat(io.BytesIO(plain)))
        assert len(found) == len(statements)
