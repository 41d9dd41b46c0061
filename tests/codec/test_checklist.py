"""Each rule of Jelly-RDF and of rows in general, for readers and for writers.

First what readers reject, as tables, beside ``test_vectors``; then the other rules, in this order:
streams and frames, rows and types, options, lookups, statements, terms, delimited and bare streams.
Readers read streams made by hand; Protocol Buffers parses the output of writers.
``test_patch_checklist`` has the rules that only Jelly-Patch has.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest

from jelly_plugins import (
    DEFAULT_GRAPH,
    BlankNode,
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
from jelly_plugins.io.streams import encode, encode_frames
from jelly_plugins.oxigraph.rows import RowFactory
from jelly_plugins.oxigraph.terms import OxigraphFactory
from jelly_plugins.proto import rdf_pb2
from jelly_plugins.rdflib.terms import RdflibFactory

from . import wire_builder as w
from .conftest import FORMATS, Format, Kernel

S, P, OB, G = Iri("urn:s"), Iri("urn:p"), Iri("urn:o"), Iri("urn:g")
X = Literal("x")
SPO = Triple(S, P, OB)
XSD = "http://www.w3.org/2001/XMLSchema#"

#: An IRI on the wire, after the entry of its name.
ONE = w.iri(name=1)
START = w.graph_start(w.default_graph())


def rows(*frames: bytes) -> list[Any]:
    """Return all rows of a stream of this writer, parsed by Protocol Buffers."""
    return [row for data in frames for row in rdf_pb2.RdfStreamFrame.FromString(data).rows]


def kinds(*frames: bytes) -> list[str]:
    """Return the name of the field that each row sets."""
    return [row.WhichOneof("row") for row in rows(*frames)]


def head(f: Format, **options: Any) -> list[bytes]:
    """The options of a stream, and entries for the names 1 to 3."""
    return [f.options(**options), *f.wire.SPO]


# Rejected at the last row


def rejected_by_both(f: Format) -> Iterator[Any]:
    """What readers of both formats reject, at the last of some rows."""

    def case(name: str, error: type[JellyError], match: str, *rows: bytes) -> Any:
        return pytest.param(f, error, match, rows, id=f"{f.name}: {name}")

    options, wire, triple = f.options(), f.wire, f.triple
    one_prefix = [w.iri(1, 1)] * 3
    both = triple(ONE, ONE, w.literal("x", lang="en", datatype=1))
    twice = w.row(2, bytes_field(2, b"b") + bytes_field(1, b""))
    yield case("a field twice", WireError, "twice", options, bytes_field(1, b"\x12\x00" * 2))
    yield case("a name table of 0", OptionsError, "name table", f.options(names=0))
    yield case("version 2**32 - 1", OptionsError, "4294967295", f.options(version=2**32 - 1))
    yield case("a size above 32 bits", WireError, "32 bits", f.options(names=2**32))
    quoted = triple(w.quoted(ONE, w.bnode(), ONE), ONE, ONE)
    name = "an undeclared term in a quoted triple"
    yield case(name, StatementError, "generalized_st", *head(f, star=True), quoted)
    table = f.options(prefixes=0)
    name = "a prefix without a table"
    yield case(name, LookupTableError, "table of 0", table, wire.prefix("urn:"))
    yield case(name, LookupTableError, "prefix", table, wire.name("a"), triple(*one_prefix))
    table = f.options(datatypes=0)
    name = "a datatype without a table"
    yield case(name, LookupTableError, "table of 0", table, wire.datatype("urn:d"))
    yield case("an id above 32 bits", WireError, "32 bits", options, wire.name("x", id=2**32))
    valid = head(f)
    quad = triple(ONE, ONE, ONE, w.default_graph())
    yield case("a position set twice", WireError, "subject is set twice", *valid, twice)
    yield case("a graph", StatementError, "has a graph", *valid, triple(ONE, ONE, ONE, w.bnode()))
    yield case("the default graph", StatementError, "has a graph", *valid, quad)
    term = w.literal("x", datatype=0)
    yield case("datatype 0", LookupTableError, "datatype 0", *valid, triple(ONE, ONE, term))
    term = w.literal("x", lang="")
    yield case("an empty tag", StatementError, "tag is empty", *valid, triple(ONE, ONE, term))
    yield case("a tag and a datatype", WireError, "both", *valid, wire.datatype("urn:d"), both)


def rejected_by_rdf() -> Iterator[Any]:
    """What readers of Jelly-RDF reject, at the last of some rows."""

    def case(name: str, error: type[JellyError], match: str, *rows: bytes) -> Any:
        return pytest.param(FORMATS[0], error, match, rows, id=name)

    triples, quads, graphs = map(w.options, PhysicalType)
    start, end, again = START, w.graph_end(), w.graph_start()
    yield case("an unknown row", WireError, "an unknown kind", triples, w.row(7, b""))
    yield case("a namespace before the options", OptionsError, "not start with", w.namespace(""))
    yield case("a quad among triples", OrderError, "QUAD.*TRIPLES", triples, w.quad())
    yield case("an end among quads", OrderError, "GRAPH_END.*QUADS", quads, end)
    yield case("a quad among graphs", OrderError, "QUAD.*GRAPHS", graphs, w.quad())
    yield case("a quad inside a graph", OrderError, "QUAD inside", graphs, start, w.quad())
    yield case("a start without a name", StatementError, "no name", graphs, again)
    yield case("a name repeats", StatementError, "cannot repeat", graphs, start, end, again)


@pytest.mark.parametrize(
    ("f", "error", "match", "parts"), [*chain(*map(rejected_by_both, FORMATS)), *rejected_by_rdf()]
)
def test_readers_reject(
    kernel: Kernel, f: Format, error: type[JellyError], match: str, parts: tuple[bytes, ...]
) -> None:
    check_rejected(kernel, f, error, *parts, match=match)


def check_rejected(
    kernel: Kernel, f: Format, error: type[JellyError], *parts: bytes, match: str
) -> None:
    """Check that the reader rejects a frame at its last row."""
    with pytest.raises(error, match=match) as caught:
        f.statements(kernel, w.frame(*parts))
    assert (caught.value.frame, caught.value.row) == (0, len(parts) - 1)


TABLES = {"names": ("name_table", 4096), "prefixes": ("prefix_table", 4096)}
TABLES["datatypes"] = ("datatype_table", 256)


@pytest.mark.parametrize("table", TABLES)
def test_tables_above_the_limit_are_rejected(kernel: Kernel, format_: Format, table: str) -> None:
    limit, most = TABLES[table]

    def options(size: int) -> bytes:
        return format_.options(**{table: size})

    assert format_.statements(kernel, w.frame(options(most))) == []
    for size in (most + 1, 2**32 - 1):
        parts = [options(size)]
        check_rejected(kernel, format_, LimitError, *parts, match=f"{size}.*{most}")
    raised = Limits(**{limit: 2**32 - 1})
    assert format_.statements(kernel, w.frame(options(2**32 - 1)), limits=raised) == []


@pytest.mark.parametrize(
    "term",
    [
        *(w.iri(name=number) for number in (3, 9, 2**32, 2**64 - 1)),
        *(w.iri(number, 1) for number in (1, 9, 2**64 - 1)),
        *(w.literal(datatype=number) for number in (1, 9, 2**64 - 1)),
    ],
)
def test_references_to_nothing_are_rejected(
    kernel: Kernel, format_: Format, term: w.WireTerm
) -> None:
    wire = format_.wire
    entries = [wire.name("a"), wire.name("b"), wire.prefix("p", id=2), wire.datatype("d", id=2)]
    parts = [format_.options(), *entries, format_.triple(w.bnode(), ONE, term)]
    check_rejected(kernel, format_, LookupTableError, *parts, match="never set")


POSITIONS = {"s": "subject", "p": "predicate", "o": "object", "g": "graph"}


@pytest.mark.parametrize("missing", POSITIONS)
@pytest.mark.parametrize("width", [3, 4])
def test_the_first_statement_repeats_nothing(
    kernel: Kernel, format_: Format, missing: str, width: int
) -> None:
    terms = {letter: ONE for letter in "spog"[:width] if letter != missing}
    if len(terms) == width:
        pytest.skip("triples have no graph")
    row = (format_.quad if width == 4 else format_.triple)(**terms)
    parts = [*head(format_, quads=width == 4), row]
    check_rejected(kernel, format_, StatementError, *parts, match=POSITIONS[missing])


@pytest.mark.parametrize("missing", ["s", "p", "o"])
def test_nothing_repeats_in_a_quoted_triple(kernel: Kernel, format_: Format, missing: str) -> None:
    quoted = w.quoted(**{letter: ONE for letter in "spo" if letter != missing})
    parts = [*head(format_, star=True), format_.triple(ONE, ONE, ONE), format_.triple(o=quoted)]
    match = f"no {POSITIONS[missing]}"
    check_rejected(kernel, format_, StatementError, *parts, match=match)


# Streams and frames


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
        assert [len(frame.statements) for frame in read_frames(b"".join(map(delimit, frames)))] == [
            1,
            0,
            2,
        ]


# Options


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


GENERALIZED = [
    (Triple(X, P, OB), "generalized_statements"),
    (Triple(S, BlankNode("b"), OB), "generalized_statements"),
    (Triple(S, X, OB), "generalized_statements"),
    (Quad(S, P, OB, X), "generalized_statements"),
    (Triple(SPO, P, OB), "rdf_star"),
    (Triple(S, P, SPO), "rdf_star"),
    (Triple(S, SPO, OB), "rdf_star"),
]


@pytest.mark.parametrize(("statement", "option"), GENERALIZED)
def test_writers_reject_undeclared_features(
    kernel: Kernel, format_: Format, statement: Triple | Quad, option: str
) -> None:
    quads = len(statement) == 4
    with pytest.raises(StatementError, match=f"{option}=True"):
        format_.add(format_.encoder(kernel, quads=quads), [statement])
    declared = {"generalized_statements": True, "rdf_star": True}
    encoder = format_.encoder(kernel, quads=quads, **declared)
    frames = [*format_.add(encoder, [statement]), *format_.finish(encoder)]
    assert format_.statements(kernel, *frames) == [statement]


def test_a_literal_as_graph_needs_generalized_statements(kernel: Kernel) -> None:
    statement = Quad(S, P, OB, X)
    with pytest.raises(StatementError, match="generalized_statements"):
        kernel.encode([statement], StreamOptions(physical_type=PhysicalType.GRAPHS))
    options = StreamOptions(physical_type=PhysicalType.GRAPHS, generalized_statements=True)
    assert kernel.statements(*kernel.encode([statement], options)) == [statement]


def test_streams_without_tables(kernel: Kernel, format_: Format) -> None:
    rows = [format_.triple(ONE, ONE, w.iri()), format_.triple(o=w.literal("x", lang="en"))]
    frame = w.frame(*head(format_, prefixes=0, datatypes=0), *rows)
    expected = [Triple(S, S, P), Triple(S, S, Literal("x", "en"))]
    assert format_.statements(kernel, frame) == expected


def test_writers_without_tables(kernel: Kernel) -> None:
    options = StreamOptions(max_prefix_table_size=0, max_datatype_table_size=0)
    statements = [SPO, Triple(S, P, Literal("x", langtag="en")), Triple(S, P, X)]
    frames = kernel.encode(statements, options)
    assert not {"prefix", "datatype"} & set(kinds(*frames))
    assert kernel.statements(*frames) == statements
    with pytest.raises(TermError, match="max_datatype_table_size is 0"):
        kernel.encode([Triple(S, P, Literal("1", datatype=XSD + "int"))], options)


@pytest.mark.parametrize("table", ["name", "prefix", "datatype"])
def test_writers_respect_the_same_limits(kernel: Kernel, format_: Format, table: str) -> None:
    size = f"max_{table}_table_size"
    with pytest.raises(LimitError, match=table):
        format_.encoder(kernel, **{size: 10_000})
    wrong = (-1, 0, 1, 7) if table == "name" else (-1,)
    for value in wrong:
        with pytest.raises(OptionsError, match=table):
            format_.encoder(kernel, **{size: value})


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


def test_writers_omit_repeated_terms(kernel: Kernel) -> None:
    options = StreamOptions(physical_type=PhysicalType.QUADS)
    statements = [Quad(S, P, OB, G), Quad(S, P, X, G), Quad(S, P, X, DEFAULT_GRAPH)]
    frames = kernel.encode([*statements, statements[-1]], options)
    quads = [row.quad for row in rows(*frames) if row.HasField("quad")]
    oneofs = ("subject", "predicate", "object", "graph")
    given = [[name for name in oneofs if quad.WhichOneof(name)] for quad in quads]
    assert given == [list(oneofs), ["object"], ["graph"], []]


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
    decoder = kernel.TextDecoder(validator=OxigraphFactory(blank_nodes="keep"))
    start = w.graph_start(w.literal("x"))
    frame = w.frame(
        *(w.options(w.GRAPHS, generalized=True), *w.SPO, START, w.spo(), w.graph_end(), start, end)
    )
    with pytest.raises(TermError, match="cannot hold a literal as graph name") as caught:
        list(decoder.decode(frame))
    assert caught.value.row == len(w.SPO) + 4


def test_writers_start_and_end_graphs(kernel: Kernel) -> None:
    encoder = kernel.Encoder(StreamOptions(physical_type=PhysicalType.GRAPHS))
    encoder.start_graph(BlankNode("empty"))
    quads = [Quad(S, P, OB, G), Quad(S, P, X, G), Quad(S, P, X, DEFAULT_GRAPH), Quad(S, P, OB, G)]
    encoder.add(quads[:1])
    first = encoder.flush()
    encoder.add(quads[1:])
    frames = [first, *encoder.finish()]
    graph = ["graph_start", "triple", "graph_end"]
    structure = [kind for kind in kinds(*frames) if kind in graph]
    assert structure == [*graph[::2], *graph[:2], *graph[1:], *graph, *graph]
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


LABELS = ["b", "", " ", "_:b", "ünïcode\n", "0", "x" * 200, "\x00"]


def test_blank_node_labels_are_any_string_and_kept(kernel: Kernel) -> None:
    data = w.frame(
        w.options(), w.name("urn:p"), *(w.triple(w.bnode(x), ONE, w.literal()) for x in LABELS)
    )
    assert [triple.subject.label for triple in kernel.statements(data)] == LABELS
    statements = [Triple(BlankNode(label), P, BlankNode(label)) for label in LABELS]
    assert kernel.statements(*kernel.encode(statements)) == statements


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
    term = w.quoted(ONE, ONE, ONE)
    for _ in range(depth - 1):
        term = w.quoted(term, ONE, ONE)
    return term


@pytest.mark.parametrize("limits", [Limits(), Limits(nesting=1), Limits(nesting=90)])
def test_readers_and_writers_have_the_same_limit_of_nesting(
    kernel: Kernel, format_: Format, limits: Limits
) -> None:
    def frame(depth: int) -> bytes:
        row = format_.triple(nested_on_the_wire(depth), ONE, ONE)
        return w.frame(*head(format_, star=True), row)

    encoder = format_.encoder(kernel, rdf_star=True, limits=limits)
    statement = Triple(nested(limits.nesting), P, OB)
    frames = [*format_.add(encoder, [statement]), *format_.finish(encoder)]
    assert format_.statements(kernel, *frames, limits=limits) == [statement]
    assert len(format_.statements(kernel, frame(limits.nesting), limits=limits)) == 1
    with pytest.raises(LimitError, match="depth of quoted triples"):
        format_.statements(kernel, frame(limits.nesting + 1), limits=limits)
    encoder = format_.encoder(kernel, rdf_star=True, limits=limits)
    with pytest.raises(LimitError, match="depth of quoted triples"):
        format_.add(encoder, [Triple(nested(limits.nesting + 1), P, OB)])


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
