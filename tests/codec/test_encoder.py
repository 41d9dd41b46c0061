"""Writers beyond the rules of the format: frames, full lookups, rejections."""

from __future__ import annotations

import gc
from collections.abc import Iterator
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
    OptionsError,
    OrderError,
    PhysicalType,
    Quad,
    StatementError,
    StreamOptions,
    TermError,
    Triple,
)
from jelly_plugins.codec import Kind, PatchEncoder, PatchOptions, describe
from jelly_plugins.codec.patch.operations import END, add, add_namespace
from jelly_plugins.proto import rdf_pb2

from .. import programs
from .conftest import Kernel
from .test_columns import columns_of

S, P, OB, G = Iri("urn:s"), Iri("urn:p"), Iri("urn:o"), Iri("urn:g")
SPO = Triple(S, P, OB)
QUADS = StreamOptions(physical_type=PhysicalType.QUADS)
GRAPHS = StreamOptions(physical_type=PhysicalType.GRAPHS)
STAR = StreamOptions(rdf_star=True)


def numbered(count: int) -> list[Triple]:
    return [Triple(S, P, Literal(str(number))) for number in range(count)]


def row_kinds(data: bytes) -> list[str]:
    return [row.WhichOneof("row") for row in rdf_pb2.RdfStreamFrame.FromString(data).rows]


# Frames


@pytest.mark.parametrize("frame_rows", [1, 2, 7, 256, 10_000])
def test_frames_end_after_rows(kernel: Kernel, frame_rows: int) -> None:
    statements = numbered(600)
    frames = kernel.encode(statements, frame_rows=frame_rows)
    assert kernel.statements(*frames) == statements
    sizes = [len(row_kinds(data)) for data in frames]
    # Options, a prefix and three names precede the first statement.
    assert all(size == frame_rows for size in sizes[1:-1])
    assert frame_rows <= sizes[0] <= frame_rows + 6 or len(frames) == 1


@pytest.mark.parametrize("frame_bytes", [1, 100, 5000])
def test_frames_end_after_bytes(kernel: Kernel, frame_bytes: int) -> None:
    statements = [Triple(S, P, Literal("x" * 90 + str(number))) for number in range(200)]
    frames = kernel.encode(statements, frame_bytes=frame_bytes)
    assert kernel.statements(*frames) == statements
    assert all(frame_bytes <= len(data) < frame_bytes + 200 for data in frames[:-1])


def test_frames_end_on_flush(kernel: Kernel) -> None:
    encoder = kernel.Encoder(StreamOptions())
    frames = [encoder.flush(), encoder.flush()]
    encoder.add([SPO])
    frames.append(encoder.flush())
    assert encoder.pending == 0
    assert encoder.finish() == []
    assert [len(frame.statements) for frame in kernel.decode(*frames)] == [0, 0, 1]


@pytest.mark.parametrize(
    "options",
    [
        StreamOptions(logical_type=LogicalType.GRAPHS),
        StreamOptions(logical_type=LogicalType.SUBJECT_GRAPHS),
        StreamOptions(physical_type=PhysicalType.QUADS, logical_type=LogicalType.DATASETS),
        StreamOptions(physical_type=PhysicalType.GRAPHS, logical_type=LogicalType.NAMED_GRAPHS),
    ],
    ids=lambda options: options.logical_type.name,
)
def test_frames_of_grouped_types_end_only_on_flush(kernel: Kernel, options: StreamOptions) -> None:
    statements: list[Any] = numbered(2000)
    if options.physical_type is not PhysicalType.TRIPLES:
        statements = [Quad(*triple, G) for triple in statements]
    encoder = kernel.Encoder(options, frame_rows=1, frame_bytes=1)
    assert encoder.add(statements) == []
    first = encoder.flush()
    assert encoder.add(statements[:1]) == []
    frames = [first, *encoder.finish()]
    assert [frame.statements for frame in kernel.decode(*frames)] == [statements, statements[:1]]


def test_graphs_do_not_span_frames_that_are_elements(kernel: Kernel) -> None:
    options = StreamOptions(physical_type=PhysicalType.GRAPHS, logical_type=LogicalType.DATASETS)
    encoder = kernel.Encoder(options)
    encoder.add([Quad(S, P, OB, G)])
    first = encoder.flush()
    encoder.add([Quad(S, P, OB, G)])
    second = encoder.flush()
    assert row_kinds(first)[-1] == "graph_end"
    assert row_kinds(second) == ["graph_start", "triple", "graph_end"]


@pytest.mark.parametrize(("frame_rows", "frame_bytes"), [(0, 1), (1, 0), (-1, 5)])
def test_frames_have_a_size(kernel: Kernel, frame_rows: int, frame_bytes: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        kernel.Encoder(StreamOptions(), frame_rows=frame_rows, frame_bytes=frame_bytes)


def test_an_element_larger_than_a_reader_accepts_is_rejected(kernel: Kernel) -> None:
    options = StreamOptions(logical_type=LogicalType.GRAPHS)
    for limits in (Limits(frame_rows=20), Limits(frame_bytes=300), Limits(frame_repeats=20)):
        encoder = kernel.Encoder(options, limits=limits)
        statements = [SPO] * 50 if limits.frame_repeats == 20 else numbered(50)
        with pytest.raises(LimitError, match="frame") as caught:  # noqa: PT012
            encoder.add(statements)
            encoder.flush()
        assert caught.value.frame == 0


def test_repeats_are_spread_over_frames(kernel: Kernel) -> None:
    for physical, statement in ((PhysicalType.TRIPLES, SPO), (PhysicalType.GRAPHS, (*SPO, G))):
        for most in (1, 10):
            limits = Limits(frame_repeats=most)
            encoder = kernel.Encoder(
                StreamOptions(physical_type=physical), frame_rows=1000, limits=limits
            )
            frames = [*encoder.add([statement] * 95), *encoder.finish()]
            assert kernel.statements(*frames, limits=limits) == [statement] * 95


# Full lookups


def iris(count: int, prefixes: int = 1) -> list[Iri]:
    return [Iri(f"http://{number % prefixes}/{number}") for number in range(count)]


def quoted(count: int) -> Triple:
    """A triple that quotes others and needs ``count`` names in one row."""
    terms = [Iri(f"urn:{number}") for number in range(count)]
    triple = Triple(terms[0], terms[1], terms[2])
    for number in range(3, count, 2):
        triple = Triple(triple, terms[number], terms[min(number + 1, count - 1)])
    return triple


@pytest.mark.parametrize("prefixes", [0, 1, 150])
def test_a_row_that_needs_more_names_than_the_table_holds(kernel: Kernel, prefixes: int) -> None:
    options = StreamOptions(rdf_star=True, max_name_table_size=8, max_prefix_table_size=prefixes)
    before = numbered(3)
    after = [Triple(S, P, OB), quoted(8), Triple(OB, P, S), *iris_in_pairs()]
    encoder = kernel.Encoder(options)
    encoder.add(before)
    for _ in range(3):
        with pytest.raises(TermError, match=r"more name entries than the table has \(8\)"):
            encoder.add([quoted(9)])
    frames = [*encoder.add(after), *encoder.finish()]
    assert kernel.statements(*frames) == before + after


def iris_in_pairs() -> list[Triple]:
    terms = iris(20, prefixes=3)
    return [Triple(subject, P, object_) for subject in terms for object_ in terms]


def test_the_least_recently_used_entry_is_replaced(kernel: Kernel) -> None:
    options = StreamOptions(max_name_table_size=8, max_prefix_table_size=0)
    terms = [Iri(f"urn:{number}") for number in range(9)]
    filled = [Triple(term, terms[0], Literal("")) for term in terms[1:8]]
    # urn:1 is used again, so that urn:2 is the least recently used entry when urn:8 is added.
    used = [Triple(terms[0], terms[1], Literal(""))]
    encoder = kernel.Encoder(options)
    encoder.add(filled + used)
    first = encoder.flush()
    encoder.add([Triple(terms[8], terms[1], Literal(""))])
    second = encoder.flush()
    (entry,) = (
        row.name for row in rdf_pb2.RdfStreamFrame.FromString(second).rows if row.HasField("name")
    )
    assert (entry.id, entry.value) == (3, "urn:8")
    assert kernel.statements(first, second)[-1].subject == terms[8]


# Namespaces and metadata


@pytest.mark.parametrize("iri", ["http://a/#", "http://é/#", "urn:😀"])
def test_namespaces_beside_terms_of_a_backend(kernel: Kernel, iri: str) -> None:
    def describe_text(term: Any) -> tuple[Any, ...]:
        assert type(term) is str
        return (Kind.IRI, term)

    encoder = kernel.Encoder(StreamOptions(), describe_text, namespaces=True)
    encoder.add_namespace("ex", iri)
    encoder.add([(f"{iri}s", f"{iri}p", "urn:o")])
    (frame,) = kernel.decode(*encoder.finish())
    assert frame.namespaces == [("ex", Iri(iri))]
    assert frame.statements == [Triple(Iri(f"{iri}s"), Iri(f"{iri}p"), OB)]


BAD_STRINGS = ["\ud800", "a\udfffb", None, 5, b"bytes"]


@pytest.mark.parametrize("bad", BAD_STRINGS, ids=ascii)
def test_namespaces_that_cannot_be_written(kernel: Kernel, bad: Any) -> None:
    encoder = kernel.Encoder(StreamOptions(), namespaces=True)
    for name, iri in ((bad, "urn:x"), ("x", bad)):
        with pytest.raises(TermError):
            encoder.add_namespace(name, iri)
    encoder.add_namespace("ex", "urn:ex")
    encoder.add([SPO])
    (frame,) = kernel.decode(*encoder.finish())
    assert (frame.namespaces, frame.statements) == ([("ex", Iri("urn:ex"))], [SPO])


@pytest.mark.parametrize("bad", BAD_STRINGS, ids=ascii)
def test_metadata_that_cannot_be_written(kernel: Kernel, bad: Any) -> None:
    encoder = kernel.Encoder(StreamOptions())
    encoder.add([SPO])
    with pytest.raises(TermError, match="metadata key"):
        encoder.flush({bad: b"x"})
    (frame,) = kernel.decode(encoder.flush({"ok": b"x"}))
    assert (frame.metadata, frame.statements) == ({"ok": b"x"}, [SPO])


def test_a_stream_name_that_cannot_be_written(kernel: Kernel) -> None:
    with pytest.raises(TermError, match="stream name"):
        kernel.Encoder(StreamOptions(stream_name="\ud800"))
    with pytest.raises(LimitError, match="stream name"):
        kernel.Encoder(StreamOptions(stream_name="x" * 20), limits=Limits(string_bytes=10))


# Statements that are rejected

BAD_TRIPLES: dict[str, tuple[Any, type[JellyError]]] = {
    "no term": (Triple(S, P, None), TermError),  # type: ignore[arg-type]
    "no subject": (Triple(None, P, OB), TermError),  # type: ignore[arg-type]
    "string": (Triple(S, P, "o"), TermError),  # type: ignore[arg-type]
    "unhashable": (Triple(S, P, ["o"]), TermError),  # type: ignore[arg-type]
    "plain tuple": ((S, P, (S, P, OB)), TermError),
    "quad as term": ((S, P, Quad(S, P, OB, G)), TermError),
    "too narrow": ((S, P), OrderError),
    "too wide": (Quad(S, P, OB, G), OrderError),
    "empty": ((), OrderError),
    "undeclared": (Triple(Iri("urn:new"), BlankNode("b"), OB), StatementError),
    "default graph": ((Iri("urn:new2"), P, DEFAULT_GRAPH), StatementError),
    "surrogate in an IRI": (Triple(Iri("urn:new3"), P, Iri("\ud800")), TermError),
    "surrogate in a name": (Triple(Iri("urn:new4"), P, Iri("urn:x/\udc00")), TermError),
    "surrogate in a literal": (Triple(S, P, Literal("a\ud800")), TermError),
    "surrogate in a tag": (Triple(S, P, Literal("a", langtag="\ud800")), TermError),
    "surrogate in a datatype": (Triple(S, P, Literal("a", datatype="\ud800")), TermError),
    "surrogate in a label": (Triple(S, P, BlankNode("\ud800")), TermError),
    "empty tag": (Triple(S, P, Literal("a", langtag="")), TermError),
    "IRI of bytes": (Triple(S, P, Iri(b"urn:x")), TermError),  # type: ignore[arg-type]
    "IRI of nothing": (Triple(Iri(None), P, OB), TermError),  # type: ignore[arg-type]
    "literal of a number": (Triple(S, P, Literal(5)), TermError),  # type: ignore[arg-type]
}


class ForeignTerm(str):
    """Like the terms of other libraries: a string that is a term."""


BAD_TRIPLES["term of another library"] = ((S, P, ForeignTerm("urn:o")), TermError)


@pytest.mark.parametrize("name", BAD_TRIPLES)
@pytest.mark.parametrize("physical", list(PhysicalType))
def test_rejected_statements_leave_the_encoder_as_it_was(
    kernel: Kernel, name: str, physical: PhysicalType
) -> None:
    bad, error = BAD_TRIPLES[name]
    options = StreamOptions(physical_type=physical)
    before: list[Any] = numbered(2)
    after: list[Any] = [*numbered(3), SPO, Triple(Iri("urn:new5"), P, OB)]
    if physical is not PhysicalType.TRIPLES:
        bad = (*bad, Iri("urn:another"))
        before = [Quad(*triple, G) for triple in before]
        after = [Quad(*triple, G) for triple in after]
    encoder = kernel.Encoder(options)
    encoder.add(before)
    for _ in range(2):
        with pytest.raises(error) as caught:
            encoder.add([bad])
        assert caught.value.frame == 0
        assert caught.value.row is not None
        assert "frame 0, row " in str(caught.value)
    encoder.add(after)
    (frame,) = kernel.decode(*encoder.finish())
    assert frame.statements == before + after
    assert frame.graphs == ([G] if physical is PhysicalType.GRAPHS else [])


@pytest.mark.parametrize(
    "graph", [None, "g", ["g"], SPO, Iri("\ud800"), Literal("x"), ForeignTerm("g")], ids=ascii
)
@pytest.mark.parametrize("options", [QUADS, GRAPHS], ids=["quads", "graphs"])
def test_rejected_graphs_leave_the_encoder_as_it_was(
    kernel: Kernel, graph: Any, options: StreamOptions
) -> None:
    encoder = kernel.Encoder(options)
    good = Quad(S, P, OB, G)
    encoder.add([good])
    with pytest.raises(JellyError):
        encoder.add([(OB, P, S, graph)])
    if options is GRAPHS:
        with pytest.raises(JellyError):
            encoder.start_graph(graph)
    encoder.add([good])
    (frame,) = kernel.decode(*encoder.finish())
    assert frame.statements == [good] * 2


def test_graphs_start_only_in_streams_of_graphs(kernel: Kernel) -> None:
    encoder = kernel.Encoder(QUADS)
    with pytest.raises(OrderError, match="QUADS"):
        encoder.start_graph(G)
    encoder.end_graph()
    assert encoder.finish()


@pytest.mark.parametrize("options", [StreamOptions(), GRAPHS], ids=["triples", "graphs"])
def test_frames_that_ended_before_a_rejection_are_not_lost(
    kernel: Kernel, options: StreamOptions
) -> None:
    def statement(number: int) -> Any:
        triple = Triple(S, P, Literal(str(number)))
        return triple if options.physical_type is PhysicalType.TRIPLES else (*triple, G)

    bad = statement(0)[:2]
    good = [statement(number) for number in range(100)]
    for rest in (good[90:], []):
        encoder = kernel.Encoder(options, frame_rows=10)
        with pytest.raises(OrderError) as caught:
            encoder.add([*good[:90], bad])
        assert caught.value.frame > 5
        with pytest.raises(OrderError, match="pending"):
            encoder.flush()
        frames = [*encoder.add(rest), *encoder.finish()]
        assert kernel.statements(*frames) == good[:90] + rest


def test_errors_of_the_source_lose_no_frames(kernel: Kernel) -> None:
    def source() -> Iterator[Triple]:
        yield from numbered(30)
        raise RuntimeError("no more")

    encoder = kernel.Encoder(StreamOptions(), frame_rows=8)
    with pytest.raises(RuntimeError, match="no more"):
        encoder.add(source())
    assert kernel.statements(*encoder.finish()) == numbered(30)


def test_errors_of_the_callers_describe_pass_and_change_nothing(kernel: Kernel) -> None:
    def failing(term: Any) -> tuple[Any, ...]:
        if term == Iri("urn:bad"):
            raise KeyError("mine")
        return describe(term)

    encoder = kernel.Encoder(GRAPHS, failing)
    good = Quad(S, P, OB, G)
    encoder.add([good])
    with pytest.raises(KeyError, match="mine"):
        encoder.add([Quad(Iri("urn:x"), Iri("urn:y"), Iri("urn:bad"), Iri("urn:z"))])
    encoder.add([good, Quad(OB, P, S, G)])
    assert kernel.statements(*encoder.finish()) == [good, good, Quad(OB, P, S, G)]


def test_terms_of_any_library_are_described_once(kernel: Kernel) -> None:
    asked: list[Any] = []

    def foreign(term: Any) -> tuple[Any, ...]:
        asked.append(term)
        if isinstance(term, frozenset):
            return (Kind.TRIPLE, *sorted(term))
        return (
            (int(Kind.IRI), term) if term.startswith("urn:") else (Kind.LITERAL, term, None, None)
        )

    inner = frozenset({"urn:a", "urn:b", "urn:c"})
    encoder = kernel.Encoder(STAR, foreign)
    encoder.add([("urn:a", "urn:b", "x"), ("urn:b", "urn:a", inner), ("urn:a", "urn:b", inner)])
    a, b, c = Iri("urn:a"), Iri("urn:b"), Iri("urn:c")
    assert kernel.statements(*encoder.finish()) == [
        Triple(a, b, Literal("x")),
        Triple(b, a, Triple(a, b, c)),
        Triple(a, b, Triple(a, b, c)),
    ]
    assert len(asked) == len(set(asked)) == 5


def test_a_literal_of_both_kinds_is_rejected(kernel: Kernel) -> None:
    generalized = StreamOptions(generalized_statements=True)
    encoder = kernel.Encoder(generalized, lambda _: (Kind.LITERAL, "x", "en", "urn:d"))
    with pytest.raises(TermError, match="not both"):
        encoder.add([("s", "p", "o")])


# Enormous data


def test_strings_above_the_limit_are_rejected(kernel: Kernel) -> None:
    limits = Limits(string_bytes=100)
    encoder = kernel.Encoder(StreamOptions(), limits=limits)
    long = "é" * 51
    for term in (
        *(Iri(long), BlankNode(long), Literal(long)),
        *(Literal("x", langtag=long), Literal("x", datatype=long)),
    ):
        with pytest.raises(LimitError, match="102, above the limit of 100"):
            encoder.add([Triple(S, P, term)])
    fits = [Triple(S, P, term) for term in (Iri("é" * 50), BlankNode("é" * 50), Literal("é" * 50))]
    encoder.add(fits)
    assert kernel.statements(*encoder.finish(), limits=limits) == fits


def test_a_row_larger_than_a_frame_is_rejected(kernel: Kernel) -> None:
    limits = Limits(frame_bytes=1000)
    big = [Literal(letter * 400) for letter in "abc"]
    encoder = kernel.Encoder(STAR, limits=limits)
    encoder.add([SPO])
    with pytest.raises(LimitError, match="row"):
        encoder.add(
            [
                Triple(
                    Triple(S, P, Triple(S, P, big[0])),
                    P,
                    Triple(S, P, Triple(S, P, Literal("x" * 800))),
                )
            ]
        )
    with pytest.raises(LimitError, match="row"):
        encoder.add([Triple(S, P, Literal("x" * 990))])
    fits = [Triple(S, P, term) for term in big]
    frames = [*encoder.add(fits), *encoder.finish()]
    assert max(map(len, frames)) <= 1000
    assert kernel.statements(*frames, limits=limits) == [SPO, *fits]


def test_lookups_stay_within_the_limits_of_a_reader(kernel: Kernel) -> None:
    limits = Limits(lookup_characters=1000)
    statements = [Triple(Iri(f"{n:0200}"), P, OB) for n in range(6)]
    encoder = kernel.Encoder(StreamOptions(), limits=limits)
    with pytest.raises(LimitError, match="lookup_characters"):
        encoder.add(statements)
    encoder.add([SPO])
    assert kernel.statements(*encoder.finish(), limits=limits) == [*statements[:4], SPO]


DEEP = """
from jelly_plugins import Iri, JellyError, StreamOptions, Triple
from tests.codec.conftest import load_kernel

kernel = load_kernel({kernel!r})
encoder = kernel.Encoder(StreamOptions(rdf_star=True, generalized_statements=True))
p = Iri("urn:p")
for position in range(3):
    term = p
    for _ in range({depth}):
        terms = [p, p, p]
        terms[position] = term
        term = Triple(*terms)
    try:
        encoder.add([(p, p, term)])
    except JellyError as error:
        print(type(error).__name__)
# A triple of 64 levels that quotes the same one twice on each, and would be exabytes on the wire.
term = p
for _ in range(64):
    term = Triple(term, p, term)
try:
    encoder.add([(p, p, term)])
except JellyError as error:
    print(type(error).__name__)
encoder.add([(p, p, p)])
print(len(kernel.statements(*encoder.finish())))
"""


@pytest.mark.parametrize("depth", [1_000, 200_000])
def test_quoted_triples_of_any_depth_do_not_crash(kernel: Kernel, depth: int) -> None:
    code = DEEP.format(kernel=kernel.name, depth=depth)
    done = programs.run(code)
    assert (done.stdout.split(), done.returncode) == (["LimitError"] * 4 + ["1"], 0)


@pytest.mark.parametrize("options", [StreamOptions, PatchOptions])
@pytest.mark.parametrize(
    "name",
    [
        "max_name_table_size",
        "max_prefix_table_size",
        "max_datatype_table_size",
        "version",
        "rdf_star",
        "generalized_statements",
    ],
)
@pytest.mark.parametrize("value", ["1", 1.5, float("nan"), None, [], -1, 1 << 65])
def test_options_that_are_not_numbers(kernel: Kernel, options: Any, name: str, value: Any) -> None:
    encoder = kernel.Encoder if options is StreamOptions else PatchEncoder
    with pytest.raises((OptionsError, LimitError)):
        encoder(options(**{name: value}))


@pytest.mark.parametrize("value", ["1", 1.5, None, [], -1, 1 << 65])
def test_invalid_types(kernel: Kernel, value: Any) -> None:
    for name in ("physical_type", "logical_type"):
        with pytest.raises(OptionsError):
            kernel.Encoder(StreamOptions(**{name: value}))
    for name in ("statement_type", "stream_type"):
        with pytest.raises(OptionsError):
            PatchOptions(**{name: value})


@pytest.mark.parametrize("kind", [Iri, BlankNode, Literal])
def test_terms_without_parts(kernel: Kernel, kind: type) -> None:
    bare: Any = kind.__new__(kind)
    for statement in (Triple(S, P, bare), Triple(S, P, Triple(S, P, bare))):
        encoder = kernel.Encoder(STAR)
        encoder.add([SPO])
        with pytest.raises(TermError, match="a term was made without its parts"):
            encoder.add([statement])
    with pytest.raises(TermError, match="a term was made without its parts"):
        kernel.Encoder(GRAPHS).add([Quad(S, P, OB, bare)])


@pytest.mark.parametrize(
    ("name", "options", "method", "taken", "rejected"),
    [
        ("Encoder", StreamOptions(), "add", [SPO], [(S, P)]),
        ("Encoder", GRAPHS, "add", [Quad(S, P, OB, G)], [(S, P)]),
        ("TextEncoder", StreamOptions(), "feed", b"_:s <urn:p> <urn:o> .\n", b"_:s <urn:p>\n"),
        (
            *("ColumnEncoder", StreamOptions(), "add"),
            *(columns_of([("_:s", "<urn:p>", last)]) for last in ("<urn:o>", "urn:o")),
        ),
        (
            *("PatchEncoder", PatchOptions(), "add"),
            *([add_namespace("ex", S, G), add(Quad(S, P, OB, G)), END], [add((S, P))]),
        ),
    ],
    ids=["statements", "graphs", "text", "columns", "patch"],
)
def test_encoders_are_freed_without_a_garbage_collection(
    kernel: Kernel, name: str, options: Any, method: str, taken: Any, rejected: Any
) -> None:
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        finished, interrupted = (getattr(kernel, name)(options) for _ in range(2))
        for encoder in (finished, interrupted):
            getattr(encoder, method)(taken)
        finished.finish()
        with pytest.raises(JellyError):
            getattr(interrupted, method)(rejected)
        del finished, interrupted, encoder
        gc.collect()
        kept = {type(each) for each in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    assert not {each for each in kept if each.__module__.startswith("jelly_plugins.")}
