"""Columns in Arrow's layout: their contents, the ends of batches, and rejections."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from jelly_plugins.codec import (
    DEFAULT_GRAPH,
    BlankNode,
    Column,
    Columns,
    Encoder,
    Iri,
    Limits,
    Literal,
    PatchOptions,
    PhysicalType,
    Quad,
    StreamOptions,
    Triple,
)
from jelly_plugins.codec.patch.operations import END, add
from jelly_plugins.codec.text.ntriples import Notation, term_text
from jelly_plugins.errors import (
    JellyError,
    LimitError,
    OptionsError,
    OrderError,
    StatementError,
    TextError,
    WireError,
)
from jelly_plugins.oxigraph.rows import RowFactory

from ..fuzz.readers import rows_of
from ..fuzz.texts import column_of
from .conftest import Format, Kernel

S, P, O, G = (Iri(f"urn:{name}") for name in "spog")  # noqa: E741
QUADS = StreamOptions(physical_type=PhysicalType.QUADS, rdf_star=True)
ROWS: list[tuple[Any, ...]] = [
    (S, P, Literal('é\n"\\'), DEFAULT_GRAPH),
    (BlankNode("a b"), P, Literal("1", None, "urn:t"), G),
    (S, P, Triple(S, P, Triple(S, P, Literal("x", "en-GB"))), BlankNode("g")),
    (S, P, O, DEFAULT_GRAPH),
]


def frames_of(
    rows: Iterable[tuple[Any, ...]], options: StreamOptions = QUADS, **settings: Any
) -> list[bytes]:
    encoder = Encoder(options, **settings)
    return encoder.add(rows) + encoder.finish()


def batches_of(kernel: Kernel, frames: list[bytes], **settings: Any) -> list[Columns]:
    decoder = kernel.ColumnDecoder(**settings)
    batches = [columns for frame in frames for columns in decoder.decode(frame)]
    return [*batches, *decoder.finish()]


def frames_in(
    kernel: Kernel, format_: Format, rows: Iterable[tuple[Any, ...]], **settings: Any
) -> list[bytes]:
    """Return the frames of a stream of one of the formats."""
    if format_.name == "rdf":
        return kernel.encode(rows, QUADS, **settings)
    options = PatchOptions(rdf_star=True)
    return kernel.encode_patches([*(add(Quad(*row)) for row in rows), END], options, **settings)


def decoder_of(kernel: Kernel, format_: Format, **settings: Any) -> Any:
    name = "ColumnDecoder" if format_.name == "rdf" else "PatchColumnDecoder"
    return getattr(kernel, name)(**settings)


def statements_of(batch: Any) -> Columns:
    return batch if type(batch) is Columns else batch.statements  # type: ignore[no-any-return]


def taken(decoder: Any, frame: bytes) -> list[Columns]:
    """Decode a frame to the statements of its full batches."""
    return list(map(statements_of, decoder.decode(frame)))


def cells(row: tuple[Any, ...], notation: Notation = Notation.RDF_STAR) -> tuple[str | None, ...]:
    return tuple(term_text(term, notation) or None for term in row)


def columns_of(rows: list[tuple[str | bytes | None, ...]]) -> Columns:
    raw = [[cell.encode() if isinstance(cell, str) else cell for cell in row] for row in rows]
    subject, predicate, object_, *graph = (column_of(list(each)) for each in zip(*raw, strict=True))
    return Columns(
        rows=len(rows),
        subject=subject,
        predicate=predicate,
        object=object_,
        graph=graph[0] if graph else None,
    )


@pytest.mark.parametrize("notation", Notation)
@pytest.mark.parametrize("physical_type", [PhysicalType.QUADS, PhysicalType.GRAPHS])
def test_terms_are_written_as_text_has_them(
    kernel: Kernel, notation: Notation, physical_type: PhysicalType
) -> None:
    options = replace(QUADS, physical_type=physical_type)
    [columns] = batches_of(kernel, frames_of(ROWS, options), notation=notation)
    assert columns.rows == 4
    assert list(rows_of(columns)) == [cells(row, notation) for row in ROWS]
    assert columns.graph is not None
    assert columns.graph.validity == b"\x06"
    assert columns.subject.validity is None


def test_without_graphs_the_graph_column_is_absent(kernel: Kernel) -> None:
    triples = frames_of([row[:3] for row in ROWS], StreamOptions(rdf_star=True))
    quads = frames_of([(*row[:3], DEFAULT_GRAPH) for row in ROWS])
    [of_triples] = batches_of(kernel, triples)
    [of_quads] = batches_of(kernel, quads)
    assert of_triples == of_quads
    assert of_triples.graph is None


@pytest.mark.parametrize("first", [0, 1, 7, 8, 9, 16, 17])
def test_late_graphs(kernel: Kernel, first: int) -> None:
    rows = [(S, P, O, G if row >= first else DEFAULT_GRAPH) for row in range(20)]
    [columns] = batches_of(kernel, frames_of(rows))
    assert columns.graph is not None
    assert columns.graph.values() == [None] * first + ["<urn:g>"] * (20 - first)


def test_batches_collect_rows_across_frames(kernel: Kernel) -> None:
    rows = [(S, P, Literal(str(number)), DEFAULT_GRAPH) for number in range(10)]
    encoder = Encoder(QUADS)
    frames: list[bytes] = []
    for start, stop in ((0, 3), (3, 3), (3, 8), (8, 10)):
        frames += [*encoder.add(rows[start:stop]), encoder.flush()]
    batches = batches_of(kernel, frames, batch_rows=4, first_frame=7)
    assert [columns.rows for columns in batches] == [4, 4, 2]
    assert [columns.frames for columns in batches] == [((7, 3), (9, 1)), ((9, 4),), ((10, 2),)]
    found = [value for columns in batches for value in columns.object.values()]
    assert found == [f'"{number}"' for number in range(10)]


def test_batches_end_by_bytes(kernel: Kernel) -> None:
    rows = [(S, P, Literal("x" * 80), DEFAULT_GRAPH)] * 7
    batches = batches_of(kernel, frames_of(rows), batch_bytes=200)
    # A row has 96 bytes.
    assert [columns.rows for columns in batches] == [3, 3, 1]


def test_flush_returns_the_remaining_rows(kernel: Kernel) -> None:
    decoder = kernel.ColumnDecoder()
    assert decoder.flush() == []
    [frame] = frames_of(ROWS)
    assert list(decoder.decode(frame)) == []
    assert [columns.rows for columns in decoder.flush()] == [4]
    assert decoder.flush() == decoder.finish() == []
    assert decoder.next_frame == 1
    assert decoder.options == replace(QUADS, version=1)


def test_a_frame_of_repeats_comes_in_bounded_batches(kernel: Kernel, format_: Format) -> None:
    rows = [(S, P, Literal("long" * 10_000), DEFAULT_GRAPH)] * 3000
    frames = frames_in(kernel, format_, rows, frame_rows=1 << 20, frame_bytes=1 << 30)
    assert len(frames) == 1
    decoder = decoder_of(kernel, format_, batch_bytes=1 << 20)
    sizes = [len(columns.object.data) for columns in taken(decoder, frames[0])]
    assert sum(sizes) > 2900 * 40_000
    assert max(sizes) < (1 << 20) + 50_000


@pytest.mark.parametrize("quoted", [False, True])
def test_a_term_that_is_too_long_for_a_column(
    kernel: Kernel, format_: Format, quoted: bool
) -> None:
    term: Any = Iri("urn:" + "x" * 200) if quoted else Literal("\x00" * 11_000)
    for _ in range(9 if quoted else 0):
        term = Triple(term, P, term)
    good = (S, P, O, DEFAULT_GRAPH)
    limits = Limits(frame_bytes=1 << 16)
    [frame] = frames_in(kernel, format_, [good, (S, P, term, DEFAULT_GRAPH)])
    settings = [{}] if format_.name == "rdf" or quoted else [{}, {"validator": RowFactory()}]
    for more in settings:
        with pytest.raises(LimitError, match="the length of a term's text") as caught:
            taken(decoder_of(kernel, format_, limits=limits, **more), frame)
        assert caught.value.frame == 0
        assert caught.value.row is not None


def test_rows_before_an_error_are_kept(kernel: Kernel, format_: Format) -> None:
    rows = [(S, P, Literal(str(number)), DEFAULT_GRAPH) for number in range(150)]
    frames = frames_in(kernel, format_, rows, frame_rows=64)
    decoder = decoder_of(kernel, format_)
    assert [taken(decoder, frame) for frame in frames[:2]] == [[], []]
    with pytest.raises(JellyError) as caught:
        taken(decoder, frames[2][:-1])
    assert caught.value.frame == 2
    with pytest.raises(OrderError):
        taken(decoder, frames[2])
    [columns] = map(statements_of, decoder.flush())
    # Two frames of 64 rows: options, a prefix, two names, and statements.
    assert columns.rows == 124
    assert columns.object.values() == [f'"{number}"' for number in range(124)]
    assert columns.frames == (((0, 60), (1, 64)) if format_.name == "rdf" else ())
    assert decoder.flush() == []


def test_a_stream_without_options(kernel: Kernel) -> None:
    with pytest.raises(OptionsError):
        kernel.ColumnDecoder().finish()


@pytest.mark.parametrize(
    "settings", [{"batch_rows": 0}, {"batch_bytes": 0}, {"batch_bytes": (1 << 30) + 1}]
)
def test_bounds_of_batches(kernel: Kernel, settings: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="batch_rows and batch_bytes"):
        kernel.ColumnDecoder(**settings)


# Writing


def test_columns_round_trip(kernel: Kernel) -> None:
    # Columns replace a blank node's label that N-Triples cannot express.
    [columns] = batches_of(kernel, frames_of(ROWS[2:] * 3))
    encoder = kernel.ColumnEncoder(QUADS)
    [again] = batches_of(kernel, encoder.add(columns) + encoder.finish())
    assert again == columns


@pytest.mark.parametrize("memory", [bytes, bytearray])
def test_a_slice_of_columns(kernel: Kernel, memory: type[bytes | bytearray]) -> None:
    rows = [(S, P, Literal(str(row)), G if row % 3 else DEFAULT_GRAPH) for row in range(20)]
    [columns] = batches_of(kernel, frames_of(rows))

    def part(column: Column) -> Column:
        return replace(
            column,
            rows=5,
            offset=9,
            offsets=memory(column.offsets),
            data=memory(column.data),
            validity=column.validity and memory(column.validity),
        )

    assert columns.graph is not None
    assert part(columns.object).values() == columns.object.values()[9:14]
    encoder = kernel.ColumnEncoder(QUADS)
    made = encoder.add(
        Columns(
            rows=5,
            subject=part(columns.subject),
            predicate=part(columns.predicate),
            object=part(columns.object),
            graph=part(columns.graph),
        )
    )
    assert made + encoder.finish() == frames_of(rows[9:14])


def test_of_memory_that_may_change_only_the_slice_is_copied(kernel: Kernel) -> None:
    size = 1 << 20
    column = Column(
        rows=2,
        offset=1,
        offsets=bytearray(struct.pack("<4i", 0, size, size + 3, size + 6)),
        data=bytearray(b"x" * size + b"_:a_:b"),
    )
    predicate = columns_of([("_:s", "<urn:p>", "_:o")] * 2).predicate
    columns = Columns(rows=2, subject=column, predicate=predicate, object=column)
    encoder = kernel.ColumnEncoder(StreamOptions())
    tracemalloc.start()
    try:
        frames = encoder.add(columns)
        assert tracemalloc.get_traced_memory()[1] < size // 4
    finally:
        tracemalloc.stop()
    assert len(batches_of(kernel, frames + encoder.finish())[0].subject.values()) == 2


def test_null_is_the_default_graph(kernel: Kernel) -> None:
    encoder = kernel.ColumnEncoder(QUADS)
    made = encoder.add(columns_of([(*cells((S, P, O)), graph) for graph in (None, "<urn:g>")]))
    rows = [(S, P, O, DEFAULT_GRAPH), (S, P, O, G)]
    assert made + encoder.finish() == frames_of(rows)


@pytest.mark.parametrize("physical_type", PhysicalType)
@pytest.mark.parametrize("graphs", [(None, ""), ("", ""), ("", "<urn:g>")])
def test_an_empty_string_is_not_a_graph(
    kernel: Kernel, physical_type: PhysicalType, graphs: tuple[str | None, ...]
) -> None:
    encoder = kernel.ColumnEncoder(StreamOptions(physical_type=physical_type))
    columns = columns_of([(*cells((S, P, O)), graph) for graph in graphs])
    with pytest.raises(TextError, match="an empty string does not name a graph; use null") as found:
        encoder.add(columns)
    assert found.value.row == graphs.index("")


@pytest.mark.parametrize(
    ("row", "error", "message"),
    [
        (("<urn:s>", "<urn:p>", None), TextError, "row 3: the object is null"),
        ((None, "<urn:p>", "<urn:o>"), TextError, "row 3: the subject is null"),
        (("<urn:s>", "_:p", "<urn:o>"), TextError, "row 3, column 1: predicate: BLANK_NODE as"),
        (("<urn:s>", "<urn:p>", ""), TextError, "row 3, column 1: object: no object can be read"),
        (
            ("<urn:s> ", "<urn:p>", "_:o"),
            TextError,
            "row 3, column 8: subject: there is more",
        ),
        ((" <urn:s>", "<urn:p>", "_:o"), TextError, "row 3, column 1: subject: there is space"),
        (
            ("<urn:s>", "<urn:p>", "_:o."),
            TextError,
            "row 3, column 4: object: there is more than a term",
        ),
        (("<urn:s>", "<p>", "_:o"), TextError, "row 3, column 1: predicate: the IRI <p> is rel"),
        (("<urn:s>", "<urn:p>", b'"\xff"'), TextError, "row 3, column 2: object: not valid UTF-8"),
        (("<urn:s>", "<urn:p>", '"a\nb"'), TextError, "row 3, column 1: object: no object can"),
        (
            ("urn:s", "<urn:p>", '"o"'),
            TextError,
            "row 3, column 1: subject: no subject can be read here: 'urn:s'",
        ),
        (("<urn:s>", "<urn:p>", '"o"', "<urn:g>"), OrderError, "row 3: a graph in a stream of"),
        (("<urn:s>", "<urn:p>", "<<_:a <urn:b> _:c>>"), StatementError, "row 3: TRIPLE as object"),
    ],
)
def test_statements_that_cannot_be_written(
    kernel: Kernel, row: tuple[Any, ...], error: type[JellyError], message: str
) -> None:
    good = ("<urn:s>", "<urn:p>", '"o"', *(None for _ in row[3:]))
    encoder = kernel.ColumnEncoder(StreamOptions())
    assert encoder.add(columns_of([good])) == []
    with pytest.raises(error) as caught:
        encoder.add(columns_of([good, good, row, good]))
    assert str(caught.value).startswith(message)
    assert (caught.value.frame, caught.value.row) == (None, 3)
    assert encoder.add(columns_of([good])) == []
    [columns] = batches_of(kernel, encoder.finish())
    assert columns.rows == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offsets": b"\0" * 11}, "the offsets of the object column are fewer"),
        ({"offsets": struct.pack("<3i", 0, 4, 2)}, "the offsets of the object column are not in"),
        ({"offsets": struct.pack("<3i", -1, 0, 2)}, "the offsets of the object column are not in"),
        ({"offsets": struct.pack("<3i", 0, 3, 7)}, "the offsets of the object column are not in"),
        ({"offset": 1}, "the offsets of the object column are fewer"),
        ({"offset": 1 << 62}, "the offsets of the object column are fewer"),
        ({"offset": -1}, "the object column has 2 rows from row -1"),
        ({"rows": 1}, "the object column has 1 rows, not 2"),
        ({"validity": b""}, "the validity bits of the object column are fewer"),
    ],
)
def test_invalid_buffers(kernel: Kernel, change: dict[str, Any], message: str) -> None:
    good = columns_of([("_:s", "<urn:p>", "_:o")] * 2)
    encoder = kernel.ColumnEncoder(StreamOptions())
    with pytest.raises(WireError, match=message):
        encoder.add(replace(good, object=replace(good.object, **change)))
    encoder.add(good)
    [columns] = batches_of(kernel, encoder.finish())
    assert columns.rows == 2


def test_memory_that_may_change(kernel: Kernel) -> None:
    good = columns_of([("_:s", "<urn:p>", "_:o")] * 2)
    data = bytearray(good.object.data)
    encoder = kernel.ColumnEncoder(StreamOptions())
    encoder.add(replace(good, object=replace(good.object, data=data)))
    data.clear()  # Nothing holds a reference any more.
    [columns] = batches_of(kernel, encoder.finish())
    assert columns.object.values() == ["_:o"] * 2


def test_no_rows(kernel: Kernel) -> None:
    empty = Column(rows=0, offsets=b"", data=b"")
    encoder = kernel.ColumnEncoder(StreamOptions())
    columns = Columns(rows=0, subject=empty, predicate=empty, object=empty, graph=empty)
    assert encoder.add(columns) == []
    assert batches_of(kernel, [encoder.flush({"key": b"value"})]) == []
    assert encoder.finish() == []


def test_quoted_triples_that_share_long_terms(kernel: Kernel) -> None:
    # The text of the frame's statements has 16 MB.
    long = [Iri(f"urn:{number}" + "x" * 1000) for number in range(2)]
    quoted = [Triple(long[number], P, long[1 - number]) for number in range(2)]
    rows = [(S, P, quoted[number % 2]) for number in range(8000)]
    options = StreamOptions(rdf_star=True)
    [frame] = frames_of(rows, options, frame_rows=1 << 20, frame_bytes=1 << 30)
    for decoder in (kernel.ColumnDecoder(batch_bytes=1 << 16), kernel.TextDecoder()):
        tracemalloc.start()
        try:
            assert sum(1 for _ in decoder.decode(frame)) > 50
            assert tracemalloc.get_traced_memory()[1] < 8 << 20
        finally:
            tracemalloc.stop()
