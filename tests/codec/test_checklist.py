"""Each rule of Jelly-RDF, for readers and for writers.

In this order: streams and frames, rows and types, options, lookups, statements,
terms, delimited and bare streams. Readers read streams made by hand; Protocol Buffers parses the
output of writers.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from jelly_plugins import (
    DEFAULT_GRAPH,
    BlankNode,
    Frame,
    Iri,
    JellyError,
    LimitError,
    Limits,
    Literal,
    LogicalType,
    LookupTableError,
    OptionsError,
    OrderError,
    PhysicalType,
    Quad,
    StatementError,
    StreamOptions,
    TermError,
    Triple,
    WireError,
    read_frames,
)
from jelly_plugins.codec import FrameSplitter, delimit, is_delimited
from jelly_plugins.codec.common.wire import bytes_field
from jelly_plugins.io.streams import encode, encode_frames, write_bytes
from jelly_plugins.oxigraph.rows import RowFactory
from jelly_plugins.oxigraph.terms import OxigraphFactory
from jelly_plugins.proto import rdf_pb2
from jelly_plugins.rdflib.terms import RdflibFactory

from . import wire_builder as w
from .conftest import Kernel

S, P, OB, G = Iri("urn:s"), Iri("urn:p"), Iri("urn:o"), Iri("urn:g")
X = Literal("x")
SPO = Triple(S, P, OB)
XSD = "http://www.w3.org/2001/XMLSchema#"


def rows(*frames: bytes) -> list[Any]:
    """Return all rows of a stream of this writer, parsed by Protocol Buffers."""
    return [row for data in frames for row in rdf_pb2.RdfStreamFrame.FromString(data).rows]


def kinds(*frames: bytes) -> list[str]:
    """Return the name of the field that each row sets."""
    return [row.WhichOneof("row") for row in rows(*frames)]


def rejected(
    kernel: Kernel, error: type[JellyError], *parts: bytes, match: str, row: int | None = None
) -> None:
    """Check that the reader rejects a frame at its last row, or at ``row``."""
    with pytest.raises(error, match=match) as caught:
        kernel.decode(w.frame(*parts))
    assert (caught.value.frame, caught.value.row) == (0, len(parts) - 1 if row is None else row)


# Streams and frames


def test_writers_delimit_frames() -> None:
    data = write_bytes([SPO] * 3, frame_rows=1)
    splitter = FrameSplitter()
    frames = [*splitter.feed(data), *splitter.finish()]
    assert splitter.delimited
    assert len(frames) == 3
    assert b"".join(map(delimit, frames)) == data


def test_writers_repeat_over_frames(kernel: Kernel) -> None:
    encoder = kernel.Encoder(StreamOptions())
    encoder.add([SPO])
    first = encoder.flush()
    encoder.add([SPO, Triple(S, P, X)])
    second = encoder.flush()
    assert [row.triple for row in rows(second)] == [
        rdf_pb2.RdfTriple(),
        rdf_pb2.RdfTriple(o_literal={"lex": "x"}),
    ]
    assert kernel.statements(first, second) == [SPO, SPO, Triple(S, P, X)]


def test_our_frames_stay_under_a_megabyte(kernel: Kernel) -> None:
    statements = [Triple(S, P, Literal(f"{number} " * 50_000)) for number in range(20)]
    frames = kernel.encode(statements)
    assert len(frames) > 1
    assert max(map(len, frames)) < 1_000_000
    assert kernel.statements(*frames) == statements


def test_metadata_is_read_and_written(kernel: Kernel) -> None:
    encoder = kernel.Encoder(StreamOptions())
    encoder.add([SPO])
    metadata = {"c": b"\x00\xff", "": b"no key", "no value": b"", "ключ": b"x" * 300}
    data = encoder.flush(metadata)
    assert dict(rdf_pb2.RdfStreamFrame.FromString(data).metadata) == metadata
    (frame,) = kernel.decode(data)
    assert frame.metadata == metadata


def test_metadata_has_a_limit(kernel: Kernel) -> None:
    entries = {str(number): b"" for number in range(65_537)}
    with pytest.raises(LimitError, match="more than 65536 entries"):
        kernel.Encoder(StreamOptions()).flush(entries)
    with pytest.raises(LimitError, match="more than 65536 entries"):
        kernel.decode(w.frame(w.options(), metadata=entries))
    del entries["0"]
    assert kernel.decode(w.frame(w.options(), metadata=entries))[0].metadata == entries


# Rows and types


def test_an_empty_row_is_rejected(kernel: Kernel) -> None:
    rejected(kernel, WireError, w.options(), bytes_field(1, b""), match="empty")


def test_a_row_of_an_unknown_kind_is_rejected(kernel: Kernel) -> None:
    rejected(kernel, WireError, w.options(), w.row(7, b""), match="an unknown kind")


def test_a_row_with_two_fields_is_rejected(kernel: Kernel) -> None:
    both = bytes_field(2, b"") + bytes_field(9, b"")
    rejected(kernel, WireError, w.options(), bytes_field(1, both), match="two fields")


def test_a_row_with_a_field_twice_is_rejected(kernel: Kernel) -> None:
    twice = bytes_field(9, b"") * 2
    rejected(kernel, WireError, w.options(), bytes_field(1, twice), match="twice")


def test_a_row_may_have_an_unknown_field_besides(kernel: Kernel) -> None:
    body = bytes_field(9, w.text(2, "urn:s")) + bytes_field(20, b"new")
    term = w.iri(name=1)
    data = w.frame(w.options(), bytes_field(1, body), w.triple(term, term, term))
    assert kernel.statements(data) == [Triple(S, S, S)]


def test_writers_set_one_field_in_each_row(kernel: Kernel) -> None:
    frames = kernel.encode([SPO, Triple(S, P, Literal("1", datatype=XSD + "byte"))])
    assert kinds(*frames) == [
        "options",
        *("prefix", "name", "name", "name", "triple"),
        *("datatype", "triple"),
    ]


OTHER_ROWS = {
    w.TRIPLES: {"QUAD": w.quad(), "GRAPH_START": w.graph_start(), "GRAPH_END": w.graph_end()},
    w.QUADS: {"TRIPLE": w.triple(), "GRAPH_START": w.graph_start(), "GRAPH_END": w.graph_end()},
    w.GRAPHS: {"QUAD": w.quad()},
}


@pytest.mark.parametrize(
    ("physical", "row"), [(physical, row) for physical, bad in OTHER_ROWS.items() for row in bad]
)
def test_rows_of_another_physical_type_are_rejected(
    kernel: Kernel, physical: PhysicalType, row: str
) -> None:
    bad = OTHER_ROWS[physical][row]
    rejected(kernel, OrderError, w.options(physical), bad, match=f"{row}.*{physical.name}")


def test_a_quad_inside_a_graph_is_rejected(kernel: Kernel) -> None:
    start = w.graph_start(w.default_graph())
    rejected(kernel, OrderError, w.options(w.GRAPHS), start, w.quad(), match="QUAD inside a graph")


@pytest.mark.parametrize("physical", [0, 4, 200])
def test_an_invalid_physical_type_is_rejected(kernel: Kernel, physical: int) -> None:
    rejected(kernel, OptionsError, w.options(physical), match=f"physical type {physical}")


def test_a_malformed_namespace_is_rejected_before_its_iri_is_made(kernel: Kernel) -> None:
    parts = (w.options(version=2), w.name("no IRI"), w.row(6, bytes_field(2, b"") + b"\xff"))
    with pytest.raises(WireError, match="ends after its message"):
        kernel.decode(w.frame(*parts), factory=OxigraphFactory(blank_nodes="keep"))


def test_writers_put_namespaces_before_the_statements() -> None:
    spaces = {"": "urn:", "ex": "http://example.org/#"}
    (data,) = encode([SPO], namespaces=spaces)
    assert rows(data)[0].options.version == 2
    assert [row.namespace.name for row in rows(data) if row.HasField("namespace")] == ["", "ex"]
    (frame,) = read_frames(data)
    assert frame.namespaces == [(name, Iri(iri)) for name, iri in spaces.items()]


def test_writers_write_the_rows_of_their_physical_type(kernel: Kernel) -> None:
    quads = [Quad(S, P, OB, G), Quad(S, P, X, DEFAULT_GRAPH)]
    expected = {
        PhysicalType.QUADS: ["quad", "quad"],
        PhysicalType.GRAPHS: ["graph_start", "triple", "graph_end"] * 2,
    }
    for physical, statement_rows in expected.items():
        frames = kernel.encode(quads, StreamOptions(physical_type=physical))
        assert [kind for kind in kinds(*frames) if kind in statement_rows] == statement_rows
        assert kernel.statements(*frames) == quads


CONSISTENT = {
    w.TRIPLES: [1, 11, 3, 13, 23, 113],
    w.QUADS: [2, 12, 4, 14, 114, 24],
    w.GRAPHS: [2, 12, 4, 14, 114, 24],
}
ALL = [0, 1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 14, 23, 24, 100, 113, 114]


@pytest.mark.parametrize("logical", ALL)
@pytest.mark.parametrize("physical", list(CONSISTENT))
def test_logical_types_are_consistent_with_physical_types(
    kernel: Kernel, physical: PhysicalType, logical: int
) -> None:
    data = w.frame(w.options(physical, logical=logical))
    options = StreamOptions(physical_type=physical, logical_type=logical)
    if logical == 0 or logical in CONSISTENT[physical]:
        decoder = kernel.Decoder(None)
        assert decoder.decode(data).rows == 1
        assert decoder.options.logical_type == logical
        kernel.Encoder(options)
    else:
        with pytest.raises(OptionsError, match="does not match"):
            kernel.decode(data)
        with pytest.raises(OptionsError, match="does not match"):
            kernel.Encoder(options)


@pytest.mark.parametrize("logical", [-7, 2**32 + 3])
def test_a_logical_type_is_a_number_of_32_bits(kernel: Kernel, logical: int) -> None:
    with pytest.raises(OptionsError, match="logical type"):
        kernel.Encoder(StreamOptions(logical_type=logical))


@pytest.mark.parametrize("logical", [0, *LogicalType])
def test_only_grouped_types_have_an_element_in_each_frame(logical: int) -> None:
    options = StreamOptions(logical_type=logical)
    assert options.grouped == (logical % 10 in (3, 4))
    if options.physical_type and logical % 10 == 3:
        frames = list(encode_frames([[SPO], [], [SPO, SPO]], options=options))
        assert [len(frame.statements) for frame in decode(*frames)] == [1, 0, 2]


def decode(*frames: bytes) -> list[Frame]:
    return list(read_frames(b"".join(map(delimit, frames))))


# Options


@pytest.mark.parametrize(
    "first", [*w.SPO, w.spo(), w.prefix("p"), w.datatype("d"), w.namespace("")]
)
def test_options_come_first(kernel: Kernel, first: bytes) -> None:
    rejected(kernel, OptionsError, first, match="does not start with its options")


@pytest.mark.parametrize("frames", [[], [b""], [b"", b""], [w.frame(metadata={"a": b"b"})]])
def test_a_stream_without_options_is_rejected(kernel: Kernel, frames: list[bytes]) -> None:
    with pytest.raises(OptionsError, match="no options"):
        kernel.decode(*frames)


FULL: dict[str, Any] = {
    "logical": 2,
    "names": 9,
    "prefixes": 9,
    "datatypes": 9,
    "version": 2,
    "generalized": True,
    "star": True,
    "stream_name": "n",
}


DIFFERENT = {
    "physical": w.QUADS,
    "logical": 4,
    "names": 10,
    "prefixes": 8,
    "datatypes": 0,
    "version": 1,
    "generalized": False,
    "star": False,
    "stream_name": "m",
}


@pytest.mark.parametrize("field", DIFFERENT)
def test_different_options_are_rejected(kernel: Kernel, field: str) -> None:
    first = {"physical": w.GRAPHS} | FULL
    changed = first | {field: DIFFERENT[field]}
    rejected(kernel, OptionsError, w.options(**first), w.options(**changed), match="differ")


@pytest.mark.parametrize("physical", list(PhysicalType))
def test_writers_write_the_options_once_at_the_start(
    kernel: Kernel, physical: PhysicalType
) -> None:
    width = 3 if physical is PhysicalType.TRIPLES else 4
    statements = [(S, P, OB, G)[:width], (S, P, X, G)[:width]]
    options = StreamOptions(physical_type=physical)
    for frames in (
        kernel.encode(statements, options, frame_rows=1),
        kernel.encode([], options),
        list(encode_frames([], options=options)),
    ):
        assert [kind == "options" for kind in kinds(*frames)].index(True) == 0
        assert kinds(*frames).count("options") == 1


def test_all_options_are_written_and_read(kernel: Kernel) -> None:
    options = StreamOptions(
        physical_type=PhysicalType.GRAPHS,
        logical_type=LogicalType.TIMESTAMPED_NAMED_GRAPHS,
        stream_name="é" * 100,
        generalized_statements=True,
        rdf_star=True,
        max_name_table_size=4096,
        max_prefix_table_size=4096,
        max_datatype_table_size=256,
        version=2,
    )
    (data,) = kernel.encode([], options)
    message = rows(data)[0].options
    for field, value in (
        ("physical_type", 3),
        ("logical_type", 114),
        ("stream_name", options.stream_name),
        ("generalized_statements", True),
        ("rdf_star", True),
        ("max_name_table_size", 4096),
        ("max_prefix_table_size", 4096),
        ("max_datatype_table_size", 256),
        ("version", 2),
    ):
        assert getattr(message, field) == value
    decoder = kernel.Decoder(None)
    decoder.decode(data)
    assert decoder.options == options


UNDECLARED = [
    # A position, a kind of term that RDF 1.1 does not allow there, and the option that allows it.
    ("p", w.bnode(), "generalized_statements"),
    ("s", w.literal(), "generalized_statements"),
    ("p", w.literal(), "generalized_statements"),
    ("g", w.literal(), "generalized_statements"),
    ("s", w.quoted(*[w.iri(name=1)] * 3), "rdf_star"),
    ("o", w.quoted(*[w.iri(name=1)] * 3), "rdf_star"),
    ("p", w.quoted(*[w.iri(name=1)] * 3), "rdf_star"),
]


@pytest.mark.parametrize(("position", "term", "option"), UNDECLARED)
def test_undeclared_features_are_rejected(
    kernel: Kernel, position: str, term: w.WireTerm, option: str
) -> None:
    one = w.iri(name=1)
    terms = {"s": one, "p": one, "o": one, "g": one} | {position: term}
    parts = [w.quad(**terms)]
    rejected(kernel, StatementError, w.options(w.QUADS), w.SPO[0], *parts, match=option)
    both = w.options(w.QUADS, generalized=True, star=True)
    assert len(kernel.statements(w.frame(both, w.SPO[0], *parts))) == 1


def test_a_quoted_predicate_needs_both_options(kernel: Kernel) -> None:
    one = w.iri(name=1)
    row = w.triple(one, w.quoted(one, one, one), one)
    rejected(kernel, StatementError, w.options(star=True), w.SPO[0], row, match="generalized")
    rejected(kernel, StatementError, w.options(generalized=True), w.SPO[0], row, match="rdf_star")


def test_undeclared_features_are_rejected_in_quoted_triples(kernel: Kernel) -> None:
    one = w.iri(name=1)
    row = w.triple(w.quoted(one, w.bnode(), one), one, one)
    rejected(kernel, StatementError, w.options(star=True), w.SPO[0], row, match="generalized")


def test_a_literal_as_graph_start_needs_generalized(kernel: Kernel) -> None:
    start = w.graph_start(w.literal("g"))
    rejected(kernel, StatementError, w.options(w.GRAPHS), start, match="generalized_statements")
    declared = w.options(w.GRAPHS, generalized=True)
    data = w.frame(declared, *w.SPO, start, w.spo())
    assert kernel.statements(data) == [Quad(S, P, OB, Literal("g"))]


GENERALIZED = [
    (Triple(X, P, OB), "generalized_statements"),
    (Triple(S, BlankNode("b"), OB), "generalized_statements"),
    (Triple(S, X, OB), "generalized_statements"),
    (Triple(SPO, P, OB), "rdf_star"),
    (Triple(S, P, SPO), "rdf_star"),
    (Triple(S, SPO, OB), "rdf_star"),
]


@pytest.mark.parametrize(("statement", "option"), GENERALIZED)
def test_writers_reject_undeclared_features(kernel: Kernel, statement: Triple, option: str) -> None:
    with pytest.raises(StatementError, match=option):
        kernel.encode([statement])
    frames = kernel.encode([statement], StreamOptions(generalized_statements=True, rdf_star=True))
    assert kernel.statements(*frames) == [statement]


@pytest.mark.parametrize("physical", [PhysicalType.QUADS, PhysicalType.GRAPHS])
def test_writers_reject_a_literal_as_graph(kernel: Kernel, physical: PhysicalType) -> None:
    statement = Quad(S, P, OB, X)
    with pytest.raises(StatementError, match="generalized_statements"):
        kernel.encode([statement], StreamOptions(physical_type=physical))
    options = StreamOptions(physical_type=physical, generalized_statements=True)
    assert kernel.statements(*kernel.encode([statement], options)) == [statement]


def test_writers_declare_only_the_requested_features() -> None:
    (data,) = encode([SPO])
    assert not rows(data)[0].options.generalized_statements
    assert not rows(data)[0].options.rdf_star


@pytest.mark.parametrize("names", [0, 1, 7])
def test_a_name_table_has_at_least_8_entries(kernel: Kernel, names: int) -> None:
    rejected(kernel, OptionsError, w.options(names=names), match="name table")
    with pytest.raises(OptionsError, match="name table"):
        kernel.Encoder(StreamOptions(max_name_table_size=names))
    assert kernel.decode(w.frame(w.options(names=8)))


def test_a_prefix_table_of_0_is_not_used(kernel: Kernel) -> None:
    head = w.options(prefixes=0)
    assert kernel.statements(w.frame(head, *w.SPO, w.spo())) == [SPO]
    rejected(kernel, LookupTableError, head, w.prefix("urn:"), match="table of 0")
    one = w.iri(1, 1)
    rejected(kernel, LookupTableError, head, w.SPO[0], w.triple(one, one, one), match="prefix")


def test_a_datatype_table_of_0_is_not_used(kernel: Kernel) -> None:
    head = w.options(datatypes=0)
    plain = w.frame(head, *w.SPO, w.spo(), w.triple(o=w.literal("x", lang="en")))
    assert len(kernel.statements(plain)) == 2
    rejected(kernel, LookupTableError, head, w.datatype("urn:d"), match="table of 0")
    typed = w.triple(w.bnode(), w.iri(), w.literal("1", datatype=1))
    rejected(kernel, LookupTableError, head, w.SPO[0], typed, match="size 0")


def test_writers_without_tables(kernel: Kernel) -> None:
    options = StreamOptions(max_prefix_table_size=0, max_datatype_table_size=0)
    statements = [SPO, Triple(S, P, Literal("x", langtag="en")), Triple(S, P, X)]
    frames = kernel.encode(statements, options)
    assert not {"prefix", "datatype"} & set(kinds(*frames))
    assert kernel.statements(*frames) == statements
    with pytest.raises(TermError, match="max_datatype_table_size is 0"):
        kernel.encode([Triple(S, P, Literal("1", datatype=XSD + "int"))], options)


TABLES = {"names": 4096, "prefixes": 4096, "datatypes": 256}


@pytest.mark.parametrize("table", TABLES)
def test_tables_above_the_limit_are_rejected(kernel: Kernel, table: str) -> None:
    most = TABLES[table]
    assert kernel.decode(w.frame(w.options(**{table: most})))
    for size in (most + 1, 2**32 - 1):
        rejected(kernel, LimitError, w.options(**{table: size}), match=f"{size}.*{most}")
    field = {"names": "name", "prefixes": "prefix", "datatypes": "datatype"}[table] + "_table"
    raised = Limits(**{field: 2**32 - 1})
    assert kernel.decode(w.frame(w.options(**{table: 2**32 - 1})), limits=raised)


def test_a_table_size_is_a_number_of_32_bits(kernel: Kernel) -> None:
    rejected(kernel, WireError, w.options(names=2**32), match="32 bits")


@pytest.mark.parametrize("table", ["name", "prefix", "datatype"])
def test_writers_respect_the_same_limits(kernel: Kernel, table: str) -> None:
    with pytest.raises(JellyError, match=table):
        kernel.Encoder(StreamOptions(**{f"max_{table}_table_size": 10_000}))
    with pytest.raises(OptionsError, match=table):
        kernel.Encoder(StreamOptions(**{f"max_{table}_table_size": -1}))


def test_presets() -> None:
    def sizes(options: StreamOptions) -> tuple[int, int, int]:
        return (
            options.max_name_table_size,
            options.max_prefix_table_size,
            options.max_datatype_table_size,
        )

    assert sizes(StreamOptions()) == sizes(StreamOptions.big()) == (4000, 150, 32)
    assert sizes(StreamOptions.small()) == (128, 16, 16)
    small = StreamOptions.small(rdf_star=True, max_name_table_size=9)
    assert (small.rdf_star, sizes(small)) == (True, (9, 16, 16))


@pytest.mark.parametrize("version", [0, 3, 4, 9999, 10_000, 2**32 - 1])
def test_version_0_and_later_ones_are_rejected(kernel: Kernel, version: int) -> None:
    rejected(kernel, OptionsError, w.options(version=version), match=f"version {version}")


@pytest.mark.parametrize("physical", [w.TRIPLES, w.QUADS, w.GRAPHS])
def test_namespaces_are_of_version_2(kernel: Kernel, physical: int) -> None:
    space = w.namespace("ex", w.iri(name=1))
    accepted = w.frame(w.options(physical, version=2), w.name("urn:s"), space)
    assert kernel.decode(accepted)[0].namespaces == [("ex", S)]
    rejected(
        kernel,
        OptionsError,
        *(w.options(physical, version=1), w.name("urn:s"), space),
        match="namespace declarations need protocol version 2, the stream has 1",
    )


def test_writers_use_the_lowest_suitable_version(kernel: Kernel) -> None:
    assert kernel.Encoder(StreamOptions()).options.version == 1
    assert kernel.Encoder(StreamOptions(), namespaces=True).options.version == 2
    assert kernel.Encoder(StreamOptions(version=2)).options.version == 2
    encoder = kernel.Encoder(StreamOptions())
    encoder.add([SPO])
    assert rows(encoder.flush({"metadata": b"is no reason"}))[0].options.version == 1


def test_writers_reject_versions_that_do_not_fit(kernel: Kernel) -> None:
    with pytest.raises(OptionsError, match="version 2"):
        kernel.Encoder(StreamOptions(version=1), namespaces=True)
    with pytest.raises(OptionsError, match="version 2"):
        kernel.Encoder(StreamOptions()).add_namespace("ex", "urn:ex")
    with pytest.raises(OptionsError, match="version 3"):
        kernel.Encoder(StreamOptions(version=3))


# Lookups


@pytest.mark.parametrize(
    "entry", [w.name, w.prefix, w.datatype], ids=["name", "prefix", "datatype"]
)
@pytest.mark.parametrize("number", [9, 1000, 2**32 - 1])
def test_ids_above_the_size_are_rejected(kernel: Kernel, entry: Any, number: int) -> None:
    rejected(kernel, LookupTableError, w.options(), entry("x", id=number), match="outside")
    last = entry("x", id=8)
    rejected(kernel, LookupTableError, w.options(), last, entry("y"), match="entry 9 is outside")


def test_an_entry_id_is_a_number_of_32_bits(kernel: Kernel) -> None:
    rejected(kernel, WireError, w.options(), w.name("x", id=2**32), match="32 bits")


@pytest.mark.parametrize(
    "term",
    [
        w.iri(name=3),
        w.iri(name=9),
        w.iri(name=2**32),
        w.iri(name=2**64 - 1),
        w.iri(1, 1),
        w.iri(9, 1),
        w.iri(2**64 - 1, 1),
        w.literal(datatype=1),
        w.literal(datatype=9),
        w.literal(datatype=2**64 - 1),
    ],
)
def test_references_to_nothing_are_rejected(kernel: Kernel, term: w.WireTerm) -> None:
    row = w.triple(w.bnode(), w.iri(name=1), term)
    entries = [w.name("a"), w.name("b"), w.prefix("p", id=2), w.datatype("d", id=2)]
    rejected(kernel, LookupTableError, w.options(), *entries, row, match="never set")


def test_writers_omit_ids_that_follow(kernel: Kernel) -> None:
    names = [Iri(f"urn:{letter}") for letter in "abcdefghij"]
    statements = [Triple(name, names[0], X) for name in names]
    options = StreamOptions(max_name_table_size=8, max_prefix_table_size=0)
    entries = [
        (row.name.id, row.name.value)
        for row in rows(*kernel.encode(statements, options))
        if row.HasField("name")
    ]
    # Each statement uses urn:a at most once, as predicate; its entry is replaced first.
    assert entries[:8] == [(0, f"urn:{letter}") for letter in "abcdefgh"]
    assert entries[8:] == [(1, "urn:i"), (0, "urn:j")]
    assert kernel.statements(*kernel.encode(statements, options)) == statements


# Statements


@pytest.mark.parametrize("missing", ["s", "p", "o", "g"])
def test_the_first_statement_repeats_nothing(kernel: Kernel, missing: str) -> None:
    one = w.iri(name=1)
    terms = dict.fromkeys("spog", one)
    del terms[missing]
    position = {"s": "subject", "p": "predicate", "o": "object", "g": "graph"}[missing]
    rejected(kernel, StatementError, w.options(w.QUADS), w.SPO[0], w.quad(**terms), match=position)
    if missing != "g":
        del terms["g"]
        triple = w.triple(**terms)
        rejected(kernel, StatementError, w.options(), w.SPO[0], triple, match=position)


@pytest.mark.parametrize("missing", ["s", "p", "o"])
def test_nothing_repeats_in_a_quoted_triple(kernel: Kernel, missing: str) -> None:
    one = w.iri(name=1)
    terms = dict.fromkeys("spo", one)
    del terms[missing]
    row = w.triple(o=w.quoted(**terms))
    full = w.triple(one, one, one)
    position = {"s": "subject", "p": "predicate", "o": "object"}[missing]
    head = w.options(star=True)
    rejected(kernel, StatementError, head, w.SPO[0], full, row, match=f"no {position}")


def test_a_position_that_is_set_twice_is_rejected(kernel: Kernel) -> None:
    subject = w.bnode()
    twice = w.row(2, bytes_field(2, subject.payload) + bytes_field(1, b""))
    rejected(kernel, WireError, w.options(), *w.SPO, twice, match="subject is set twice")


def test_a_triple_with_a_graph_is_rejected(kernel: Kernel) -> None:
    one = w.iri(name=1)
    row = w.triple(one, one, one, g=w.bnode())
    rejected(kernel, StatementError, w.options(), *w.SPO, row, match="graph")


def test_writers_omit_repeated_terms(kernel: Kernel) -> None:
    options = StreamOptions(physical_type=PhysicalType.QUADS)
    statements = [Quad(S, P, OB, G), Quad(S, P, X, G), Quad(S, P, X, DEFAULT_GRAPH)]
    frames = kernel.encode([*statements, statements[-1]], options)
    quads = [row.quad for row in rows(*frames) if row.HasField("quad")]
    oneofs = ("subject", "predicate", "object", "graph")
    given = [[name for name in oneofs if quad.WhichOneof(name)] for quad in quads]
    assert given == [list(oneofs), ["object"], ["graph"], []]


def test_writers_never_repeat_in_a_quoted_triple(kernel: Kernel) -> None:
    statements = [Triple(SPO, P, SPO), Triple(S, P, SPO), Triple(S, P, Triple(S, P, SPO))]
    frames = kernel.encode(statements, StreamOptions(rdf_star=True))

    def check(quoted: Any) -> None:
        assert all(quoted.WhichOneof(name) for name in ("subject", "predicate", "object"))
        if quoted.HasField("o_triple_term"):
            check(quoted.o_triple_term)

    triples = [row.triple for row in rows(*frames) if row.HasField("triple")]
    assert [bool(triple.WhichOneof("object")) for triple in triples] == [True, False, True]
    for triple in (triples[0], triples[2]):
        check(triple.o_triple_term)
    assert kernel.statements(*frames) == statements


GRAPHS = w.options(w.GRAPHS)
START = w.graph_start(w.default_graph())


def test_a_triple_outside_a_graph_is_rejected(kernel: Kernel) -> None:
    rejected(kernel, OrderError, GRAPHS, *w.SPO, w.spo(), match="TRIPLE outside a graph")
    after = [START, w.spo(), w.graph_end(), w.spo()]
    rejected(kernel, OrderError, GRAPHS, *w.SPO, *after, match="TRIPLE outside a graph")


def test_a_nested_start_is_rejected(kernel: Kernel) -> None:
    rejected(kernel, OrderError, GRAPHS, START, START, match="GRAPH_START inside a graph")


def test_an_end_without_a_start_is_rejected(kernel: Kernel) -> None:
    rejected(kernel, OrderError, GRAPHS, w.graph_end(), match="GRAPH_END outside a graph")


def test_a_start_without_a_name_is_rejected(kernel: Kernel) -> None:
    rejected(kernel, StatementError, GRAPHS, w.graph_start(), match="no name")
    again = [START, w.graph_end(), w.graph_start()]
    rejected(kernel, StatementError, GRAPHS, *again, match="cannot repeat")


def test_a_start_with_two_names_is_rejected(kernel: Kernel) -> None:
    both = w.row(4, bytes_field(2, b"b") + bytes_field(3, b""))
    rejected(kernel, WireError, GRAPHS, both, match="two names")


def test_graphs_may_be_empty_and_recur_and_span_frames(kernel: Kernel) -> None:
    name = w.graph_start(w.bnode("g"))
    first = w.frame(GRAPHS, *w.SPO, START, w.graph_end(), name, w.spo())
    second = w.frame(w.triple(), w.graph_end(), START, w.triple(), w.graph_end(), name)
    third = w.frame(w.graph_end())
    frames = kernel.decode(first, second, third)
    g = BlankNode("g")
    assert [frame.statements for frame in frames] == [
        [Quad(S, P, OB, g)],
        [Quad(S, P, OB, g), Quad(S, P, OB, DEFAULT_GRAPH)],
        [],
    ]
    assert [frame.graphs for frame in frames] == [[DEFAULT_GRAPH, g], [DEFAULT_GRAPH, g], []]
    assert [frame.empty_graphs for frame in frames] == [[DEFAULT_GRAPH], [], [g]]


def test_factories_check_the_names_of_graphs(kernel: Kernel) -> None:
    """Factories check the name at the start of a graph, which may stay empty."""
    options = w.options(w.GRAPHS, generalized=True)
    start = w.graph_start(w.literal("x"))
    frames = w.frame(options, *w.SPO, START, w.spo(), w.graph_end()), w.frame(start, w.graph_end())
    for factory in (
        OxigraphFactory(blank_nodes="keep"),
        RdflibFactory(generalized=True),
        RowFactory(),
    ):
        with pytest.raises(TermError, match="literal") as caught:
            kernel.decode(*frames, factory=factory)
        assert (caught.value.frame, caught.value.row) == (1, 0)
    assert kernel.decode(*frames)[1].empty_graphs == [Literal("x")]


@pytest.mark.parametrize("end", [w.graph_end(), w.triple()])
def test_validators_check_the_names_of_graphs(kernel: Kernel, end: bytes) -> None:
    module = "_native" if kernel.name == "native" else "text.transcoding"
    decoder = import_module(f"jelly_plugins.codec.{module}").TextDecoder(
        validator=OxigraphFactory(blank_nodes="keep")
    )
    start = w.graph_start(w.literal("x"))
    frame = w.frame(
        *(w.options(w.GRAPHS, generalized=True), *w.SPO, START, w.spo(), w.graph_end(), start, end)
    )
    with pytest.raises(TermError, match="cannot hold a literal as graph name") as caught:
        list(decoder.decode(frame))
    assert caught.value.row == len(w.SPO) + 4


def test_writers_start_and_end_graphs(kernel: Kernel) -> None:
    options = StreamOptions(physical_type=PhysicalType.GRAPHS)
    encoder = kernel.Encoder(options)
    encoder.start_graph(BlankNode("empty"))
    quads = [Quad(S, P, OB, G), Quad(S, P, X, G), Quad(S, P, X, DEFAULT_GRAPH), Quad(S, P, OB, G)]
    encoder.add(quads[:1])
    first = encoder.flush()
    encoder.add(quads[1:])
    frames = [first, *encoder.finish()]
    structure = [kind for kind in kinds(*frames) if kind in ("graph_start", "triple", "graph_end")]
    start, triple, end = "graph_start", "triple", "graph_end"
    assert structure == [
        start,
        end,
        start,
        triple,
        triple,
        end,
        start,
        triple,
        end,
        start,
        triple,
        end,
    ]
    assert kernel.statements(*frames) == quads
    assert [frame.empty_graphs for frame in kernel.decode(*frames)] == [[BlankNode("empty")], []]


def test_writers_always_name_graphs(kernel: Kernel) -> None:
    options = StreamOptions(physical_type=PhysicalType.GRAPHS)
    encoder = kernel.Encoder(options)
    for _ in range(2):
        encoder.start_graph(G)
    starts = [row.graph_start for row in rows(*encoder.finish()) if row.HasField("graph_start")]
    assert [start.WhichOneof("graph") for start in starts] == ["g_iri", "g_iri"]


# Terms


@pytest.mark.parametrize(
    "payload",
    [
        b"\x08\x01\x10\x02",
        b"\x10\x02\x08\x01",
        b"\x08\x81\x00\x10\x82\x00",
        b"\x08\x01\x10\x82\x00",
        b"\x08\x01\x10\x02\x1a\x00",
        b"\x1a\x01\x00\x08\x01\x10\x02",
    ],
)
def test_ids_may_be_written_in_any_legal_way(kernel: Kernel, payload: bytes) -> None:
    term = w.WireTerm(w.iri().kind, payload)
    entries = (w.prefix("urn:"), w.name("p"), w.name("s"))
    data = w.frame(w.options(), *entries, w.triple(term, term, w.literal()))
    assert kernel.statements(data) == [Triple(S, S, X)]


def test_writers_omit_ids_implied_by_zero(kernel: Kernel) -> None:
    a, b, c = (Iri(f"http://x/{letter}") for letter in "abc")
    d = Iri("http://y/d")
    frames = kernel.encode([Triple(a, b, c), Triple(d, b, a)])
    triples = [row.triple for row in rows(*frames) if row.HasField("triple")]
    ids = [
        (term.prefix_id, term.name_id)
        for triple in triples
        for term in (triple.s_iri, triple.p_iri, triple.o_iri)
    ]
    assert ids == [(1, 0), (0, 0), (0, 0), (2, 0), (0, 0), (1, 1)]
    # The second predicate repeats: the field is not set, and the ids do not advance.
    assert not triples[1].HasField("p_iri")


def test_writers_cut_iris_after_the_last_hash_or_slash(kernel: Kernel) -> None:
    iris = ["http://x/a#b", "http://x/a#b/c", "urn:x", "http://x/", "#", ""]
    statements = [Triple(Iri(value), P, X) for value in iris]
    frames = kernel.encode(statements)
    prefixes = [row.prefix.value for row in rows(*frames) if row.HasField("prefix")]
    assert prefixes == ["http://x/a#", "", "http://x/a#b/", "http://x/", "#"]
    assert kernel.statements(*frames) == statements


def test_writers_set_empty_terms(kernel: Kernel) -> None:
    options = StreamOptions(physical_type=PhysicalType.QUADS)
    statements = [Quad(S, P, OB, G), Quad(BlankNode(""), P, Literal(""), DEFAULT_GRAPH)]
    frames = kernel.encode(statements, options)
    quads = [row.quad for row in rows(*frames) if row.HasField("quad")]
    assert [quads[1].WhichOneof(name) for name in ("subject", "object", "graph")] == [
        *("s_bnode", "o_literal", "g_default_graph")
    ]
    assert quads[0].HasField("p_iri")
    assert kernel.statements(*frames) == statements


@pytest.mark.parametrize(
    ("term", "error", "match"),
    [
        (w.literal("x", datatype=0), LookupTableError, "datatype 0"),
        (w.literal("x", lang=""), StatementError, "language tag is empty"),
        (w.literal("x", lang="en", datatype=1), WireError, "both"),
    ],
)
def test_invalid_literals(
    kernel: Kernel, term: w.WireTerm, error: type[JellyError], match: str
) -> None:
    row = w.triple(w.bnode(), w.iri(), term)
    rejected(kernel, error, w.options(), w.datatype("urn:d"), w.SPO[0], row, match=match)


def test_writers_write_each_kind_of_literal(kernel: Kernel) -> None:
    literals = [
        X,
        Literal("x", datatype=XSD + "string"),
        Literal("x", langtag="EN"),
        Literal("x", datatype=XSD + "token"),
    ]
    statements = [Triple(BlankNode(str(n)), P, literal) for n, literal in enumerate(literals)]
    frames = kernel.encode(statements)
    objects = [row.triple.o_literal for row in rows(*frames) if row.HasField("triple")]
    assert [term.WhichOneof("literalKind") for term in objects] == [
        None,
        None,
        "langtag",
        "datatype",
    ]
    assert kernel.statements(*frames) == statements


LABELS = ["b", "", " ", "_:b", "ünïcode\n", "0", "x" * 200, "\x00"]


def test_blank_node_labels_are_any_string_and_kept(kernel: Kernel) -> None:
    data = w.frame(
        w.options(), w.name("urn:p"), *(w.triple(w.bnode(x), w.iri(name=1), X_) for x in LABELS)
    )
    assert [triple.subject.label for triple in kernel.statements(data)] == LABELS
    statements = [Triple(BlankNode(label), P, BlankNode(label)) for label in LABELS]
    assert kernel.statements(*kernel.encode(statements)) == statements


X_ = w.literal()


def test_the_scope_of_labels_is_the_stream(kernel: Kernel) -> None:
    class Fresh:
        """Makes a new object for each requested label."""

        def __init__(self) -> None:
            self.asked: list[str] = []

        def __getattr__(self, name: str) -> Any:
            return lambda *parts: parts

        def blank_node(self, label: str) -> Any:
            self.asked.append(label)
            return object()

    factory = Fresh()
    head = w.frame(w.options(), w.name("urn:p"), w.triple(w.bnode("a"), w.iri(), w.bnode("a")))
    frames = kernel.decode(head, w.frame(w.triple(o=w.bnode("a"))), factory=factory)
    nodes = [node for frame in frames for (triple,) in frame.statements for node in triple[::2]]
    assert len(set(nodes)) == 1
    assert factory.asked == ["a"]


def nested(depth: int) -> Triple:
    """A quoted triple of a depth; 1 is a triple that contains no other."""
    triple = SPO
    for _ in range(depth - 1):
        triple = Triple(triple, P, OB)
    return triple


def nested_on_the_wire(depth: int) -> w.WireTerm:
    one = w.iri(name=1)
    term = w.quoted(one, one, one)
    for _ in range(depth - 1):
        term = w.quoted(term, one, one)
    return term


@pytest.mark.parametrize("limits", [Limits(), Limits(nesting=1), Limits(nesting=90)])
def test_readers_and_writers_have_the_same_limit_of_nesting(kernel: Kernel, limits: Limits) -> None:
    options = StreamOptions(rdf_star=True)
    one = w.iri(name=1)
    statement = Triple(nested(limits.nesting), P, OB)
    frames = kernel.encode([statement], options, limits=limits)
    assert kernel.statements(*frames, limits=limits) == [statement]
    deepest = w.triple(nested_on_the_wire(limits.nesting), one, one)
    assert kernel.decode(w.frame(w.options(star=True), w.SPO[0], deepest), limits=limits)

    deeper = w.triple(nested_on_the_wire(limits.nesting + 1), one, one)
    with pytest.raises(LimitError, match="depth of quoted triples"):
        kernel.decode(w.frame(w.options(star=True), w.SPO[0], deeper), limits=limits)
    with pytest.raises(LimitError, match="depth of quoted triples"):
        kernel.encode([Triple(nested(limits.nesting + 1), P, OB)], options, limits=limits)


def test_other_libraries_read_our_deepest_nesting(kernel: Kernel) -> None:
    statement = Triple(nested(90), P, nested(90))
    frames = kernel.encode([statement], StreamOptions(rdf_star=True), limits=Limits(nesting=90))
    assert kinds(*frames)[-1] == "triple"
    with pytest.raises(ValueError, match="nesting"):
        Limits(nesting=91)


# Delimited or not

HEADS = [
    ("00", False),
    ("", False),
    ("0a", False),
    ("0a0a", False),
    ("0b0a", False),
    ("0b0a09", True),
    ("000000", True),
    ("7a0a00", True),
    ("ff0a0a", True),
    ("0a0b0a", False),
    ("0a000a", False),
    ("0a0a08", True),
    ("0a0a00", True),
    ("0a0a0a", False),
]


@pytest.mark.parametrize(("head", "delimited"), HEADS)
def test_delimited_or_not_by_three_bytes(head: str, delimited: bool) -> None:
    assert is_delimited(bytes.fromhex(head)) is delimited


def frames_of_every_size() -> list[bytes]:
    """First frames with options of 8 bytes and more, including options of 10 bytes and frames whose
    first row has 10 bytes.
    """
    return [
        w.frame(w.options(stream_name="n" * size, **small)) for size in range(20) for small in SMALL
    ]


SMALL: list[dict[str, Any]] = [{}, {"prefixes": 0}, {"prefixes": 0, "datatypes": 0}]


@pytest.mark.parametrize("data", frames_of_every_size(), ids=len)
@pytest.mark.parametrize("chunk", [1, 2, 3, 1000])
def test_delimited_or_not_in_chunks_of_any_size(data: bytes, chunk: int) -> None:
    frames = [data, w.frame(*w.SPO, w.spo()), b""]
    for delimited, whole, expected in ((True, w.stream(*frames), frames), (False, data, [data])):
        splitter = FrameSplitter()
        found = [
            frame
            for start in range(0, len(whole), chunk)
            for frame in splitter.feed(whole[start : start + chunk])
        ]
        found += splitter.finish()
        assert (found, splitter.delimited) == (expected, delimited)


def test_delimited_frames_of_10_bytes_and_rows_of_10_bytes_are_among_them() -> None:
    sizes = {len(data) for data in frames_of_every_size()}
    assert {10, 12} <= sizes
