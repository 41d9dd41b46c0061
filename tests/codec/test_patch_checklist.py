"""Each rule of Jelly-Patch, for readers and for writers.

In this order: rules shared with Jelly-RDF, options and statements, patches, repeats
and namespaces, headers, transactions. Readers read streams made by hand; Protocol Buffers parses
the output of writers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from jelly_plugins.codec import (
    DEFAULT_GRAPH,
    DEFAULT_LIMITS,
    BlankNode,
    GenericFactory,
    Iri,
    Limits,
    Literal,
    Operation,
    OperationKind,
    PatchDecoder,
    PatchEncoder,
    PatchOptions,
    PatchStatementType,
    PatchStreamType,
    Quad,
    Triple,
)
from jelly_plugins.codec.common.wire import bytes_field, varint_field
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
    LookupTableError,
    OptionsError,
    OrderError,
    StatementError,
    TermError,
    TruncatedError,
    WireError,
)
from jelly_plugins.proto import patch_pb2, rdf_pb2

from . import patch_wire as w

pytestmark = pytest.mark.usefixtures("patch_kernel")

S, P, OB, G, H = Iri("urn:s"), Iri("urn:p"), Iri("urn:o"), Iri("urn:g"), Iri("urn:h")
SPO = Triple(S, P, OB)
SPOG = Quad(S, P, OB, G)
FLAT = PatchOptions(stream_type=PatchStreamType.FLAT)
FRAME = PatchOptions(stream_type=PatchStreamType.FRAME)
PUNCTUATED = PatchOptions()
TRIPLES = PatchOptions(statement_type=PatchStatementType.TRIPLES)


def read(*frames: bytes, limits: Limits = DEFAULT_LIMITS) -> list[Operation]:
    """Return all operations of a whole stream."""
    decoder = PatchDecoder(GenericFactory(), limits=limits)
    operations = [each for data in frames for each in decoder.decode(data).operations]
    return operations + decoder.finish()


def write(
    operations: Iterable[Operation], options: PatchOptions = PUNCTUATED, **settings: Any
) -> list[bytes]:
    """Return the frames of a whole stream."""
    encoder = PatchEncoder(options, **settings)
    return [*encoder.add(operations), *encoder.finish()]


def rows(*frames: bytes) -> list[Any]:
    """Return all rows of a stream of this writer, parsed by Protocol Buffers."""
    return [row for data in frames for row in patch_pb2.RdfPatchFrame.FromString(data).rows]


def kinds(*frames: bytes) -> list[str]:
    """Return the name of the field that each row sets."""
    return [row.WhichOneof("row") for row in rows(*frames)]


def rejected(error: type[JellyError], *parts: bytes, match: str, row: int | None = None) -> None:
    """Check that the reader rejects a frame at its last row, or at ``row``."""
    with pytest.raises(error, match=match) as caught:
        read(w.frame(*parts))
    assert (caught.value.frame, caught.value.row) == (0, len(parts) - 1 if row is None else row)


# Rows, options, lookups and limits: as in Jelly-RDF


def test_rows_without_content_are_empty() -> None:
    full = bytes_field(1, bytes_field(6, varint_field(1, 1)))
    # Unknown fields are skipped, as everywhere.
    assert read(w.frame(w.options(), full, w.commit())) == [BEGIN, COMMIT, END]
    broken = bytes_field(1, bytes_field(6, b"\x08"))
    rejected(WireError, w.options(), broken, match="ends after")


def test_options_come_first() -> None:
    rejected(OptionsError, w.start(), match="does not start with its options")
    for frames in ((), (w.frame(), w.frame())):
        with pytest.raises(OptionsError, match="empty"):
            read(*frames)
    # The options must be in the first row, but not in the first frame.
    assert read(w.frame(), w.frame(w.options(w.FLAT))) == [END]
    assert read(w.frame(), w.frame(w.options(w.FRAME))) == [END]


def test_options_may_be_repeated_and_not_changed() -> None:
    stream = [w.frame(w.options(w.FLAT), w.start(), w.options(w.FLAT)), w.frame(w.commit())]
    assert read(*stream) == [BEGIN, COMMIT, END]
    rejected(OptionsError, w.options(), w.options(names=9), match="differ")


def test_features_are_declared() -> None:
    generalized = (w.iri(name=1), w.bnode(), w.literal())
    head = (*w.SPO, w.add(*generalized))
    rejected(StatementError, w.options(), *head, match="generalized_statements")
    assert len(read(w.frame(w.options(generalized=True), *head))) == 2
    quoted = w.quoted(*w.spo())
    rejected(StatementError, w.options(), *w.SPO, w.header("x", quoted), match="rdf_star")
    assert read(w.frame(w.options(star=True), *w.SPO, w.header("x", quoted))) == [
        header("x", SPO),
        END,
    ]
    literal_graph = w.namespace_add("x", w.iri(), w.literal())
    rejected(
        StatementError,
        w.options(statement=w.QUADS),
        *w.SPO,
        literal_graph,
        match="generalized_statements",
    )


def test_a_writer_needs_the_features_declared() -> None:
    for operation in (add(Quad(SPO, P, OB, G)), header("x", SPO)):
        with pytest.raises(StatementError, match="rdf_star=True"):
            write([operation])
        assert len(write([operation, END], PatchOptions(rdf_star=True))) == 1
    with pytest.raises(StatementError, match="generalized_statements=True"):
        write([add_namespace("x", S, Literal("g"))])


def test_tables_have_legal_sizes() -> None:
    rejected(OptionsError, w.options(names=7), match="too small")
    for sizes in ({"names": 4097}, {"prefixes": 4097}, {"datatypes": 257}):
        rejected(LimitError, w.options(**sizes), match="above the limit")
    rejected(
        LookupTableError,
        w.options(datatypes=0),
        *w.SPO,
        w.add(*w.spo()[:2], w.literal(datatype=1)),
        match="size 0",
    )


@pytest.mark.parametrize("version", [0, 2, 10000])
def test_unknown_versions_are_rejected(version: int) -> None:
    rejected(OptionsError, w.options(version=version), match=f"version {version}")


def test_a_writer_writes_version_1() -> None:
    assert rows(*write([]))[0].options.version == 1
    with pytest.raises(OptionsError, match="version 2"):
        PatchEncoder(PatchOptions(version=2))


def test_limits_hold() -> None:
    head = (w.options(), *w.SPO, w.add(*w.spo()))
    repeats = w.frame(*head, *[w.delete()] * 5)
    assert len(read(repeats)) == 7
    for limits in (
        Limits(frame_repeats=4),
        Limits(frame_rows=9),
        Limits(frame_bytes=len(repeats) - 1),
        Limits(string_bytes=4),
        Limits(frame_expansion=14),
    ):
        with pytest.raises(LimitError):
            read(repeats, limits=limits)


def test_a_writer_keeps_within_the_limits() -> None:
    limits = Limits(frame_repeats=2, frame_bytes=200)
    operations = [add(SPOG)] * 10 + [add(Quad(S, P, Literal("x" * 100), G))] * 3 + [END]
    frames = write(operations, limits=limits)
    assert read(*frames, limits=limits) == operations
    with pytest.raises(LimitError, match="frame_repeats"):
        write([*[add(SPOG)] * 4, END], FRAME, limits=limits)


# Statement type and stream type


def test_statements_are_quads_on_the_wire() -> None:
    for options, statement in ((TRIPLES, SPO), (PUNCTUATED, SPOG)):
        row = rows(*write([delete(statement), END], options))[-2]
        assert isinstance(row.statement_delete, rdf_pb2.RdfQuad)
        assert row.statement_delete.HasField("g_iri") is (options is PUNCTUATED)


def test_triples_have_no_graph() -> None:
    rejected(
        StatementError, w.options(), *w.SPO, w.add(*w.spo(w.default_graph())), match="has a graph"
    )
    rejected(
        StatementError,
        w.options(),
        *w.SPO,
        w.namespace_add("x", w.iri(), w.default_graph()),
        match="graph in a stream of triples",
    )
    with pytest.raises(StatementError, match="statement of 4 terms"):
        write([add(SPOG)], TRIPLES)
    with pytest.raises(StatementError, match="has a graph"):
        write([add_namespace("x", S, G)], TRIPLES)


def test_quads_have_one() -> None:
    rejected(
        StatementError,
        w.options(statement=w.QUADS),
        *w.SPO,
        w.add(*w.spo()),
        match="graph repeats",
    )
    frame = w.frame(
        w.options(statement=w.QUADS), *w.SPO, w.add(*w.spo(w.bnode("g"))), w.delete(w.bnode("s"))
    )
    assert read(frame) == [
        add(Quad(S, P, OB, BlankNode("g"))),
        delete(Quad(BlankNode("s"), P, OB, BlankNode("g"))),
        END,
    ]
    with pytest.raises(StatementError, match="statement of 3 terms"):
        write([add(SPO)])
    with pytest.raises(StatementError, match="has no graph"):
        write([delete_namespace("x")])


# Patches


@pytest.mark.parametrize("stream", [w.FRAME, w.FLAT])
def test_punctuation_is_rejected_elsewhere(stream: int) -> None:
    rejected(OrderError, w.options(stream), w.mark(), match="PUNCTUATION .* of type")


def test_rows_after_the_last_punctuation_are_an_unfinished_patch() -> None:
    for unfinished in (
        [w.header("id", w.literal())],
        [w.name("urn:s")],
        [w.start()],
        [w.start(), w.commit(), w.header("id", w.literal())],
        [w.start(), w.commit(), w.prefix("urn:")],
    ):
        decoder = PatchDecoder(GenericFactory())
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
def test_the_end_of_the_stream_may_replace_the_last_punctuation(rows: list[bytes]) -> None:
    # As Jelly-JVM writes it.
    frame = w.frame(w.options(w.PUNCTUATED), w.mark(), *rows)
    decoder = PatchDecoder(GenericFactory())
    decoder.decode(frame)
    assert decoder.inside_patch
    assert decoder.finish() == [END]
    [deviation] = decoder.deviations
    assert isinstance(deviation, TruncatedError)
    strict = PatchDecoder(GenericFactory(), strict=True)
    strict.decode(frame)
    with pytest.raises(TruncatedError) as caught:
        strict.finish()
    assert str(caught.value) == str(deviation)
    assert strict.deviations == []


def test_a_writer_ends_patches_as_the_stream_type_requires() -> None:
    operations = [BEGIN, COMMIT, END, END, header("id", S), END]
    frames = write(operations, FRAME)
    assert [kinds(frame) for frame in frames] == [
        ["options", "transaction_start", "transaction_commit"],
        [],
        ["prefix", "name", "header"],
    ]
    assert read(*frames) == operations
    frames = write(operations)
    # The frame ends with the patch, which is valid for both readings of the specification.
    assert [kinds(frame)[-1] for frame in frames] == ["punctuation"] * 3
    assert all(kinds(frame).count("punctuation") == 1 for frame in frames)
    assert read(*frames) == operations
    frames = write([BEGIN, COMMIT, END], FLAT)
    assert [kinds(frame) for frame in frames] == [
        ["options", "transaction_start", "transaction_commit"]
    ]


def test_a_flat_stream_is_written_with_one_patch() -> None:
    for more in (END, BEGIN, header("id", S)):
        with pytest.raises(OrderError, match="after the one patch"):
            write([END, more], FLAT)


@pytest.mark.parametrize("options", [FLAT, FRAME])
def test_a_stream_whose_options_are_a_patch_is_not_written_without_one(
    options: PatchOptions,
) -> None:
    with pytest.raises(OrderError, match="without a patch"):
        write([], options)
    assert read(*write([END], options)) == [END]


@pytest.mark.parametrize("options", [FLAT, FRAME, PUNCTUATED])
def test_a_writer_does_not_leave_a_patch_open(options: PatchOptions) -> None:
    encoder = PatchEncoder(options)
    encoder.add([header("id", S)])
    assert encoder.inside_patch
    with pytest.raises(OrderError, match="not ended"):
        encoder.finish()
    encoder.add([END])
    assert not encoder.inside_patch


def test_large_patches_take_several_frames_unless_each_frame_is_one() -> None:
    operations = [add(Quad(Iri(f"urn:{i}"), P, OB, G)) for i in range(100)]
    assert len(write([*operations, END], frame_rows=10)) > 10
    assert len(write([*operations, END], FLAT, frame_rows=10)) > 10
    assert len(write([*operations, END], FRAME, frame_rows=10)) == 1


# Repeats and namespaces


def test_a_namespace_without_a_graph_to_repeat_is_the_default_graphs() -> None:
    # As Jelly-JVM writes prefixes at the start.
    frame = w.frame(w.options(statement=w.QUADS), w.namespace_delete("x"), w.namespace_delete("y"))
    decoder = PatchDecoder(GenericFactory())
    assert decoder.decode(frame).operations[:2] == [
        delete_namespace("x", None, DEFAULT_GRAPH),
        delete_namespace("y", None, DEFAULT_GRAPH),
    ]
    [deviation] = decoder.deviations
    assert (deviation.frame, deviation.row) == (0, 1)
    with pytest.raises(StatementError, match="repeats the graph, but no row") as caught:
        PatchDecoder(GenericFactory(), strict=True).decode(frame)
    assert str(caught.value) == str(deviation)


def test_an_added_namespace_has_an_iri() -> None:
    rejected(StatementError, w.options(), w.namespace_add("x"), match="without an IRI")
    assert read(w.frame(w.options(), w.namespace_delete("x"))) == [delete_namespace("x"), END]
    with pytest.raises(StatementError, match="without an IRI"):
        write([add_namespace("x", None)], TRIPLES)
    with pytest.raises(TermError, match="a namespace is an IRI"):
        write([add_namespace("x", BlankNode("b"))], TRIPLES)


def test_a_namespace_has_one_graph() -> None:
    twice = bytes_field(1, bytes_field(5, bytes_field(4, b"g") + bytes_field(5, b"")))
    rejected(WireError, w.options(statement=w.QUADS), twice, match="set twice")


def test_a_writer_omits_repeated_terms() -> None:
    operations = [
        add(SPOG),
        delete(SPOG),
        add_namespace("x", S, G),
        add(SPOG),
        delete_namespace("x", None, H),
        delete(Quad(S, P, OB, H)),
    ]
    frames = write([*operations, END])
    assert read(*frames) == [*operations, END]
    statements = [
        row.statement_add if row.HasField("statement_add") else row.statement_delete
        for row in rows(*frames)
        if row.WhichOneof("row").startswith("statement")
    ]
    assert [statement.ByteSize() > 0 for statement in statements] == [True, False, False, False]
    namespaces = [
        row.namespace_add if row.HasField("namespace_add") else row.namespace_delete
        for row in rows(*frames)
        if row.WhichOneof("row").startswith("namespace")
    ]
    assert [namespace.WhichOneof("graph") for namespace in namespaces] == [None, "g_iri"]


# Headers


def test_a_header_has_one_value() -> None:
    rejected(StatementError, w.options(), w.header("id"), match="has no value")
    rejected(
        WireError, w.options(), w.header("id", w.literal(), w.bnode()), match="value is set twice"
    )


def test_a_writer_writes_every_value() -> None:
    value = Literal("v", datatype="urn:d")
    operations = [header("id", value), header("id", value), header("", S), header("", S), END]
    frames = write(operations)
    assert read(*frames) == operations
    assert all(row.header.WhichOneof("value") for row in rows(*frames) if row.HasField("header"))


# Transactions


def test_a_transaction_stays_within_its_patch() -> None:
    rejected(
        OrderError, w.options(w.FRAME), w.start(), w.name("x"), match="patch, ends inside", row=1
    )
    rejected(OrderError, w.options(w.PUNCTUATED), w.start(), w.mark(), match="PUNCTUATION inside")
    for stream in (w.FLAT, w.PUNCTUATED):
        with pytest.raises(TruncatedError, match="ends inside a transaction"):
            read(w.frame(w.options(stream), w.start()), w.frame())


@pytest.mark.parametrize("options", [FLAT, FRAME, PUNCTUATED])
def test_a_writer_keeps_the_order(options: PatchOptions) -> None:
    for wrong in ([COMMIT], [ABORT], [BEGIN, BEGIN], [BEGIN, COMMIT, COMMIT], [BEGIN, END]):
        encoder = PatchEncoder(options)
        with pytest.raises(OrderError):
            encoder.add(wrong)
        # Rejected operations have no effect.
        encoder.add([ABORT, END] if encoder.inside_patch and wrong[-1] in (BEGIN, END) else [END])
        encoder.finish()


# Continuing a stream


@pytest.mark.parametrize("continues", [False, True])
def test_concatenated_streams_with_the_same_options_are_one_stream(continues: bool) -> None:
    one = Quad(P, P, Literal("x", datatype="urn:d"), H)
    other = Quad(S, P, Literal("1", datatype="urn:e"), G)
    first = [header("id", S), add(SPOG), add(one), END]
    second = [header("id", P), add(SPOG), delete(other), END]
    for sizes in ({}, {"max_prefix_table_size": 0}, {"max_prefix_table_size": 1}):
        options = PatchOptions(**sizes)
        frames = write(first, options)
        for _ in range(3):
            frames += write(second, options, continues=continues)
        assert kinds(*frames).count("options") == (1 if continues else 4)
        assert read(*frames) == first + second * 3
    assert write([], FRAME, continues=True) == []


def test_rejected_operations_change_nothing() -> None:
    encoder = PatchEncoder(PUNCTUATED)
    encoder.add([add(SPOG)])
    for operation in (
        add(Quad(H, P, SPO, G)),
        add_namespace("x", S, SPO),
        add_namespace("x", Literal("x"), H),
        header("x", DEFAULT_GRAPH),
        header("x", SPO),
        header(1, S),
        add_namespace(None, S, H),
    ):
        with pytest.raises(JellyError):
            encoder.add([operation])
    frames = encoder.add([add(SPOG), END])
    assert read(*frames) == [add(SPOG), add(SPOG), END]


def test_operations_are_what_their_numbers_say() -> None:
    fields = patch_pb2.RdfPatchRow.DESCRIPTOR.fields_by_number
    names = {kind: fields[kind].name for kind in OperationKind}
    assert names[OperationKind.ADD_NAMESPACE] == "namespace_add"
    assert names[OperationKind.ABORT] == "transaction_abort"
    assert names[OperationKind.END] == "punctuation"
