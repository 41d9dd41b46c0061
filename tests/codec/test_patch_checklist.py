"""Each rule of Jelly-Patch that Jelly-RDF does not have, for readers and for writers.

``test_vectors`` has what readers reject. Readers read streams made by hand; Protocol Buffers parses
the output of writers.
"""

from __future__ import annotations

from typing import Any

import pytest

from jelly_plugins.codec import (
    DEFAULT_GRAPH,
    BlankNode,
    GenericFactory,
    Iri,
    Limits,
    Literal,
    Operation,
    PatchOptions,
    PatchStatementType,
    PatchStreamType,
    Quad,
    Triple,
)
from jelly_plugins.codec.patch.operations import (
    ABORT,
    BEGIN,
    COMMIT,
    END,
    add,
    add_namespace,
    delete,
    delete_namespace,
    header,
)
from jelly_plugins.errors import (
    JellyError,
    LimitError,
    OptionsError,
    OrderError,
    StatementError,
    TermError,
    TruncatedError,
)
from jelly_plugins.proto import patch_pb2

from . import patch_wire as w
from .conftest import Kernel

S, P, OB, G, H = Iri("urn:s"), Iri("urn:p"), Iri("urn:o"), Iri("urn:g"), Iri("urn:h")
SPO = Triple(S, P, OB)
SPOG = Quad(S, P, OB, G)
FLAT = PatchOptions(stream_type=PatchStreamType.FLAT)
FRAME = PatchOptions(stream_type=PatchStreamType.FRAME)
PUNCTUATED = PatchOptions()
TRIPLES = PatchOptions(statement_type=PatchStatementType.TRIPLES)


def rows(*frames: bytes) -> list[Any]:
    """Return all rows of a stream of this writer, parsed by Protocol Buffers."""
    return [row for data in frames for row in patch_pb2.RdfPatchFrame.FromString(data).rows]


def kinds(*frames: bytes) -> list[str]:
    """Return the name of the field that each row sets."""
    return [row.WhichOneof("row") for row in rows(*frames)]


# Readers


@pytest.mark.parametrize(
    "unfinished",
    [
        [w.header("id", w.literal())],
        [w.name("urn:s")],
        [w.start()],
        [w.start(), w.commit(), w.header("id", w.literal())],
        [w.start(), w.commit(), w.prefix("urn:")],
    ],
)
def test_rows_after_the_last_punctuation_are_an_unfinished_patch(
    kernel: Kernel, unfinished: list[bytes]
) -> None:
    decoder = kernel.PatchDecoder(GenericFactory())
    decoder.decode(w.frame(w.options(w.PUNCTUATED), w.mark()))
    assert not decoder.inside_patch
    decoder.decode(w.frame(*unfinished))
    # A reader that follows a growing stream continues here; for all others the stream is
    # truncated.
    assert decoder.inside_patch
    with pytest.raises(TruncatedError, match="in a stream of type PUNCTUATED") as caught:
        decoder.finish()
    assert caught.value.frame == 1


@pytest.mark.parametrize(
    "rows",
    [
        [w.start(), w.commit()],
        [w.start(), w.abort()],
        [w.namespace_delete("x")],
        [w.start(), w.commit(), w.namespace_delete("x")],
    ],
)
def test_the_end_of_the_stream_may_replace_the_last_punctuation(
    kernel: Kernel, rows: list[bytes]
) -> None:
    # As Jelly-JVM writes it.
    frame = w.frame(w.options(w.PUNCTUATED), w.mark(), *rows)
    decoder = kernel.PatchDecoder(GenericFactory())
    decoder.decode(frame)
    assert decoder.inside_patch
    assert decoder.finish() == [END]
    [deviation] = decoder.deviations
    assert isinstance(deviation, TruncatedError)
    strict = kernel.PatchDecoder(GenericFactory(), strict=True)
    strict.decode(frame)
    with pytest.raises(TruncatedError) as caught:
        strict.finish()
    assert str(caught.value) == str(deviation)
    assert strict.deviations == []


def test_a_namespace_without_a_graph_to_repeat_is_the_default_graphs(kernel: Kernel) -> None:
    # As Jelly-JVM writes prefixes at the start.
    options = w.options(statement=w.QUADS)
    frame = w.frame(options, w.namespace_delete("x"), w.namespace_delete("y"))
    decoder = kernel.PatchDecoder(GenericFactory())
    assert decoder.decode(frame).operations[:2] == [
        delete_namespace("x", None, DEFAULT_GRAPH),
        delete_namespace("y", None, DEFAULT_GRAPH),
    ]
    [deviation] = decoder.deviations
    assert (deviation.frame, deviation.row) == (0, 1)
    with pytest.raises(StatementError, match="repeats the graph, but no row") as caught:
        kernel.PatchDecoder(GenericFactory(), strict=True).decode(frame)
    assert str(caught.value) == str(deviation)


# Writers


def test_writers_write_version_1(kernel: Kernel) -> None:
    assert rows(*kernel.encode_patches([]))[0].options.version == 1
    with pytest.raises(OptionsError, match="version 2"):
        kernel.PatchEncoder(PatchOptions(version=2))


def test_writers_keep_within_the_limits(kernel: Kernel) -> None:
    limits = Limits(frame_repeats=2, frame_bytes=200)
    operations = [add(SPOG)] * 10 + [add(Quad(S, P, Literal("x" * 100), G))] * 3 + [END]
    frames = kernel.encode_patches(operations, limits=limits)
    assert kernel.operations(*frames, limits=limits) == operations
    with pytest.raises(LimitError, match="frame_repeats"):
        kernel.encode_patches([*[add(SPOG)] * 4, END], FRAME, limits=limits)


@pytest.mark.parametrize(
    ("operation", "options", "error", "match"),
    [
        (header("x", SPO), PUNCTUATED, StatementError, "rdf_star=True"),
        (add_namespace("x", S, Literal("g")), PUNCTUATED, StatementError, "generalized_.*=True"),
        (add(SPOG), TRIPLES, StatementError, "statement of 4 terms"),
        (add(SPO), PUNCTUATED, StatementError, "statement of 3 terms"),
        (add_namespace("x", S, G), TRIPLES, StatementError, "has a graph"),
        (delete_namespace("x"), PUNCTUATED, StatementError, "has no graph"),
        (add_namespace("x", None), TRIPLES, StatementError, "without an IRI"),
        (add_namespace("x", BlankNode("b")), TRIPLES, TermError, "a namespace is an IRI"),
        (add_namespace("x", Literal("x"), H), PUNCTUATED, TermError, "a namespace is an IRI"),
        (add_namespace("x", S, SPO), PUNCTUATED, StatementError, "cannot name a graph"),
        (add_namespace(None, S, H), PUNCTUATED, TermError, "a namespace's name"),  # type: ignore[arg-type]
        (header("x", DEFAULT_GRAPH), PUNCTUATED, StatementError, "default graph"),
        (header(1, S), PUNCTUATED, TermError, "a header's key"),  # type: ignore[arg-type]
        (add(Quad(H, P, SPO, G)), PUNCTUATED, StatementError, "rdf_star=True"),
    ],
)
def test_rejected_operations_change_nothing(
    kernel: Kernel,
    operation: Operation,
    options: PatchOptions,
    error: type[JellyError],
    match: str,
) -> None:
    encoder = kernel.PatchEncoder(options)
    good = add(SPO if options is TRIPLES else SPOG)
    encoder.add([good])
    with pytest.raises(error, match=match):
        encoder.add([operation])
    frames = encoder.add([good, END])
    assert kernel.operations(*frames) == [good, good, END]


def test_writers_end_patches_as_the_stream_type_requires(kernel: Kernel) -> None:
    operations = [BEGIN, COMMIT, END, END, header("id", S), END]
    frames = kernel.encode_patches(operations, FRAME)
    assert [kinds(frame) for frame in frames] == [
        ["options", "transaction_start", "transaction_commit"],
        [],
        ["prefix", "name", "header"],
    ]
    assert kernel.operations(*frames) == operations
    frames = kernel.encode_patches(operations)
    # The frame ends with the patch, which is valid for both readings of the specification.
    assert [kinds(frame)[-1] for frame in frames] == ["punctuation"] * 3
    assert all(kinds(frame).count("punctuation") == 1 for frame in frames)
    assert kernel.operations(*frames) == operations
    frames = kernel.encode_patches([BEGIN, COMMIT, END], FLAT)
    assert [kinds(frame) for frame in frames] == [
        ["options", "transaction_start", "transaction_commit"]
    ]


def test_a_flat_stream_is_written_with_one_patch(kernel: Kernel) -> None:
    for more in (END, BEGIN, header("id", S)):
        with pytest.raises(OrderError, match="after the one patch"):
            kernel.encode_patches([END, more], FLAT)


@pytest.mark.parametrize("options", [FLAT, FRAME])
def test_a_stream_whose_options_are_a_patch_is_not_written_without_one(
    kernel: Kernel, options: PatchOptions
) -> None:
    with pytest.raises(OrderError, match="without a patch"):
        kernel.encode_patches([], options)
    assert kernel.operations(*kernel.encode_patches([END], options)) == [END]


@pytest.mark.parametrize("options", [FLAT, FRAME, PUNCTUATED])
def test_writers_keep_the_order_and_leave_no_patch_open(
    kernel: Kernel, options: PatchOptions
) -> None:
    for wrong in ([COMMIT], [ABORT], [BEGIN, BEGIN], [BEGIN, COMMIT, COMMIT], [BEGIN, END]):
        encoder = kernel.PatchEncoder(options)
        with pytest.raises(OrderError):
            encoder.add(wrong)
        # Rejected operations have no effect.
        encoder.add([ABORT, END] if encoder.inside_patch and wrong[-1] in (BEGIN, END) else [END])
        encoder.finish()
    encoder = kernel.PatchEncoder(options)
    encoder.add([header("id", S)])
    assert encoder.inside_patch
    with pytest.raises(OrderError, match="not ended"):
        encoder.finish()
    encoder.add([END])
    assert not encoder.inside_patch


def test_large_patches_take_several_frames_unless_each_frame_is_one(kernel: Kernel) -> None:
    operations = [*(add(Quad(Iri(f"urn:{i}"), P, OB, G)) for i in range(100)), END]
    for options, most in ((PUNCTUATED, 100), (FLAT, 100), (FRAME, 1)):
        frames = kernel.encode_patches(operations, options, frame_rows=10)
        assert (len(frames) > 10) == (most > 1)
        assert len(frames) <= most


def test_writers_omit_repeated_terms(kernel: Kernel) -> None:
    operations = [
        add(SPOG),
        delete(SPOG),
        add_namespace("x", S, G),
        add(SPOG),
        delete_namespace("x", None, H),
        delete(Quad(S, P, OB, H)),
    ]
    frames = kernel.encode_patches([*operations, END])
    assert kernel.operations(*frames) == [*operations, END]
    found = [(kind, getattr(row, kind)) for row in rows(*frames) if (kind := row.WhichOneof("row"))]
    statements = [row.ByteSize() > 0 for kind, row in found if kind.startswith("statement")]
    assert statements == [True, False, False, False]
    graphs = [row.WhichOneof("graph") for kind, row in found if kind.startswith("namespace")]
    assert graphs == [None, "g_iri"]


@pytest.mark.parametrize("continues", [False, True])
def test_concatenated_streams_with_the_same_options_are_one_stream(
    kernel: Kernel, continues: bool
) -> None:
    one = Quad(P, P, Literal("x", datatype="urn:d"), H)
    other = Quad(S, P, Literal("1", datatype="urn:e"), G)
    first = [header("id", S), add(SPOG), add(one), END]
    second = [header("id", P), add(SPOG), delete(other), END]
    for sizes in ({}, {"max_prefix_table_size": 0}, {"max_prefix_table_size": 1}):
        options = PatchOptions(**sizes)
        frames = kernel.encode_patches(first, options)
        for _ in range(3):
            frames += kernel.encode_patches(second, options, continues=continues)
        assert kinds(*frames).count("options") == (1 if continues else 4)
        assert kernel.operations(*frames) == first + second * 3
    assert kernel.encode_patches([], FRAME, continues=True) == []
