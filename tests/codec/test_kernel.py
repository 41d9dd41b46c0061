"""Errors that only the compiled kernel can have: memory, references, threads, re-entrance."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from pyoxigraph import NamedNode

from jelly_plugins.codec import (
    DEFAULT_GRAPH,
    BlankNode,
    Encoder,
    GenericFactory,
    Iri,
    Kind,
    Limits,
    Literal,
    PatchOptions,
    PhysicalType,
    Quad,
    StreamOptions,
    Triple,
)
from jelly_plugins.codec.common.terms import WithGeneric
from jelly_plugins.codec.patch.encoder import PatchEncoder
from jelly_plugins.codec.patch.operations import (
    BEGIN,
    COMMIT,
    END,
    add,
    add_namespace,
    delete,
    header,
)
from jelly_plugins.codec.rdf.decoder import count_rows
from jelly_plugins.codec.rdf.rules import Row
from jelly_plugins.codec.text.transcoding import TextDecoder, TextEncoder
from jelly_plugins.errors import JellyError, OrderError, WireError
from jelly_plugins.oxigraph.terms import describe

from .. import programs
from ..fuzz.comparison import native, native_of
from .test_columns import batches_of
from .wire_builder import bytes_field, varint_field

OPTIONS = StreamOptions(physical_type=PhysicalType.QUADS, rdf_star=True)


def stream(count: int = 200, salt: str = "") -> list[bytes]:
    statements = [
        Quad(
            Iri(f"http://example.org/{salt}{number // 3}"),
            Iri(f"http://example.org/ns#p{number % 5}"),
            (
                Literal(f"{salt} {number}", "en"),
                Literal(f"{number}", None, f"urn:type{number % 3}"),
                BlankNode(f"b{number % 50}"),
                Triple(Iri("urn:s"), Iri("urn:p"), Literal(salt)),
            )[number % 4],
            Iri(f"urn:g{number // 40}"),
        )
        for number in range(count)
    ]
    encoder = Encoder(OPTIONS)
    return encoder.add(statements) + encoder.finish()


def patch() -> bytes:
    """A frame of Jelly-Patch with two statements."""
    statement = Quad(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"), Iri("urn:g"))
    return PatchEncoder(PatchOptions()).add(
        [BEGIN, add(statement), delete(statement), COMMIT, END]
    )[0]


def test_the_kernel_holds_no_references_to_terms() -> None:
    kernel = native()
    frames = stream()
    decoder = kernel.Decoder(GenericFactory())
    statements = [statement for frame in frames for statement in decoder.decode(frame).statements]
    iri = Iri("urn:held")
    held = sys.getrefcount(iri)
    encoder = kernel.Encoder(StreamOptions())
    encoder.add([Triple(iri, iri, iri)] * 3)
    encoder.finish()
    del decoder, encoder
    gc.collect()
    assert sys.getrefcount(iri) == held
    # The references of the list and of the call, which differ between versions of Python.
    others = [object() for _ in range(2)]
    expected = {sys.getrefcount(other) for other in others}
    assert {sys.getrefcount(statement) for statement in statements} == expected


def test_threads_with_streams_of_their_own() -> None:
    kernel = native()
    salts = ["a", "b", "c", "d"]
    expected = {
        salt: [made(kernel, stream(2000, salt)) for made in (quads, text, batches_of)]
        for salt in salts
    }
    found: dict[str, Any] = {}

    def work(salt: str) -> None:
        for _ in range(5):
            frames = stream(2000, salt)
            found[salt] = [made(kernel, frames) for made in (quads, text, batches_of)]

    threads = [threading.Thread(target=work, args=(salt,)) for salt in salts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


def quads(kernel: Any, frames: list[bytes]) -> list[Any]:
    decoder = kernel.Decoder(GenericFactory())
    return [statement for frame in frames for statement in decoder.decode(frame).statements]


def text(kernel: Any, frames: list[bytes]) -> bytes:
    decoder = kernel.TextDecoder()
    return b"".join(chunk for frame in frames for chunk in decoder.decode(frame))


def test_operations_in_reference_cycles_are_collected() -> None:
    collected: list[int] = []

    class Statement:
        operation: Any = None

        def __del__(self) -> None:
            collected.append(1)

    class Factory(GenericFactory):
        def quad(self, _: Any) -> Statement:  # type: ignore[override]
            return Statement()

    for row in native().PatchDecoder(Factory()).decode(patch()).operations:
        if isinstance(row.value, Statement):
            row.value.operation = row
    del row
    gc.collect()
    # The second operation repeats the statement of the first.
    assert collected == [1]


@pytest.mark.parametrize("value", ["urn:a", "urn:\ud800", 7, "x" * 200])
def test_generic_terms_among_those_of_a_backend(value: Any) -> None:
    """The reference describes each of them; the kernel reads generic IRIs itself."""
    node, iri = NamedNode("urn:a"), Iri("urn:a")
    rows = [
        header("id", iri),
        add(Quad(node, Iri("urn:p"), iri, DEFAULT_GRAPH)),
        add(Quad(iri, Iri("urn:p"), node, DEFAULT_GRAPH)),
        add_namespace("x", iri, node),
        add(Quad(iri, Iri(value), node, iri)),
        header("id", Iri(value)),
    ]
    made = []
    for encoder_class in (PatchEncoder, native().PatchEncoder):
        limits = Limits(string_bytes=100)
        encoder = encoder_class(PatchOptions(), WithGeneric(describe), limits=limits)
        found: list[Any] = []
        for row in rows:
            try:
                encoder.add([row])
            except JellyError as error:
                found.append((type(error), str(error)))
        made.append([*found, encoder.add([END])])
    assert made[0] == made[1]
    assert len(made[0]) == (1 if value == "urn:a" else 3)


def test_text_of_repeats_is_yielded_in_bounded_chunks() -> None:
    kernel = native()
    encoder = Encoder(StreamOptions(), frame_rows=1 << 20, frame_bytes=1 << 30)
    encoder.add([Triple(Iri("urn:s"), Iri("urn:p"), Literal("long" * 10_000))] * 3000)
    sizes = [len(chunk) for chunk in kernel.TextDecoder().decode(encoder.flush())]
    assert sum(sizes) > 3000 * 40_000
    assert max(sizes) < 1 << 20


@pytest.mark.parametrize("size", [1, 50, 60, 200, 250, 1000])
def test_text_with_many_escapes(size: int) -> None:
    # AddressSanitizer detects the overflow; see tests/fuzz/README.md.
    iri = Iri("urn:" + " " * size + "/" + "n" * size)
    encoder = Encoder(StreamOptions())
    frames = encoder.add([Triple(iri, iri, iri)]) + encoder.finish()
    text = b"".join(chunk for frame in frames for chunk in native().TextDecoder().decode(frame))
    assert text == (b"<urn:" + rb"\u0020" * size + b"/" + b"n" * size + b"> ") * 3 + b".\n"


def test_terms_repeat_across_chunks_of_text() -> None:
    # Terms that repeat at the end of a chunk, with quoted triples and the default graph.
    kernel = native()
    quoted = Triple(Iri("urn:s"), Iri("urn:p"), BlankNode("b"))
    statements = [
        Quad(
            quoted if number % 11 == 7 else Iri(f"http://example.org/{number // 50}"),
            Iri(f"http://example.org/p{number // 7 % 3}"),
            quoted if number % 13 == 2 else Literal("o" * (number % 1500)),
            DEFAULT_GRAPH if number % 900 < 400 else Iri(f"urn:graph{number // 450}"),
        )
        for number in range(2000)
    ]
    encoder = Encoder(OPTIONS, frame_rows=1 << 20, frame_bytes=1 << 30)
    encoder.add(statements)
    frame = encoder.flush()
    chunks = list(kernel.TextDecoder().decode(frame))
    assert len(chunks) > 3
    assert b"".join(chunks) == b"".join(TextDecoder().decode(frame))


@pytest.mark.parametrize("chosen", ["", "0", "1"])
def test_the_environment_chooses_the_reference(
    chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Importing the sources without a kernel warns, unless the user chose the reference."""
    native()
    monkeypatch.setenv("JELLY_PURE_PYTHON", chosen)
    program = "import jelly_plugins; print(jelly_plugins.native)"
    assert programs.run(program).stdout == f"{chosen != '1'}\n"
    blocked = "import sys; sys.modules['jelly_plugins.codec._native'] = None\n"
    without = programs.run(blocked + program)
    assert without.stdout == "False\n"
    for part in ("imported from its sources", "pip install -e ."):
        assert (part in without.stderr) == (chosen != "1")


def test_a_statement_that_is_rejected_does_not_count() -> None:
    for encoder_class in (TextEncoder, native().TextEncoder):
        encoder = encoder_class(StreamOptions(max_datatype_table_size=0))
        with pytest.raises(JellyError):
            encoder.feed(b'<urn:s> <urn:p> <urn:o> .\n<urn:s> <urn:p> "x"^^<urn:d> .\n')
        assert encoder.statements == 1


# Threads that share an encoder or decoder


class Meeting:
    """A callback that the kernel calls in the middle of its work, and that waits there."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def __call__(self) -> None:
        self.begun.set()
        assert self.go_on.wait(60)


def rejected_meanwhile(meeting: Meeting, work: Callable[[], Any], other: Callable[[], Any]) -> None:
    """Check that ``other`` is rejected here while a thread waits within ``work``, and that ``work``
    then succeeds.
    """
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    try:
        assert meeting.begun.wait(60)
        with pytest.raises(OrderError):
            other()
    finally:
        meeting.go_on.set()
        thread.join()
    assert len(results) == 1


def test_a_decoder_active_in_another_thread_rejects_calls() -> None:
    frames = stream()
    meeting = Meeting()

    class Waiting(GenericFactory):
        def iri(self, value: str) -> Iri:  # type: ignore[override]
            meeting()
            return Iri(value)

    decoder = native().Decoder(Waiting())
    rejected_meanwhile(
        meeting, lambda: decoder.decode(frames[0]), lambda: decoder.decode(frames[1])
    )


@pytest.mark.parametrize(
    "other",
    [
        lambda encoder, statement: encoder.add([statement]),
        lambda encoder, _: encoder.add_namespace("x", "urn:x"),
    ],
    ids=["statements", "namespaces"],
)
def test_an_encoder_active_in_another_thread_rejects_calls(
    other: Callable[[Any, Any], Any],
) -> None:
    kernel = native()
    statement = Triple(Iri("urn:s"), Iri("urn:p"), Literal("o"))
    meeting = Meeting()

    def waiting() -> Iterable[Triple]:
        yield statement
        meeting()
        yield statement

    encoder = kernel.Encoder(StreamOptions(), namespaces=True)
    rejected_meanwhile(meeting, lambda: encoder.add(waiting()), lambda: other(encoder, statement))
    frames = encoder.add([statement]) + encoder.finish()
    assert quads(kernel, frames) == [statement] * 3


def test_an_encoder_cannot_be_entered_while_it_describes_a_term() -> None:
    kernel = native()
    triple = ("s", "p", "o")

    def describe_term(term: Any) -> Any:
        if again and term == "o":
            encoder.add([triple])
        return (Kind.IRI, f"urn:{term}")

    again = [True]
    encoder = kernel.Encoder(StreamOptions(), describe_term)
    with pytest.raises(OrderError):
        encoder.add([triple])
    again.clear()
    frames = encoder.add([triple]) + encoder.finish()
    assert len(quads(kernel, frames)) == 1


# Rows counted by kind, including rows with unknown fields

EVERY_KIND = b"".join(bytes_field(1, bytes_field(row, b"")) * row for row in Row)
OTHER_FIELDS = [
    varint_field(77, 1) + bytes_field(Row.GRAPH_END, b""),
    bytes_field(Row.GRAPH_END, b"") + varint_field(77, 1),
    bytes_field(7, b"x") + bytes_field(Row.GRAPH_END, b""),
    bytes_field(1 << 20, b"x" * 300) + bytes_field(Row.GRAPH_END, b""),
]


@pytest.mark.parametrize(
    ("frame", "counted"),
    [
        (b"", {}),
        (EVERY_KIND, {int(row): int(row) for row in Row}),
        (b"".join(bytes_field(1, row) for row in OTHER_FIELDS), {int(Row.GRAPH_END): 4}),
        (bytes_field(15, b"metadata") + bytes_field(1, bytes_field(9, b"")), {9: 1}),
    ],
)
def test_rows_are_counted_by_kind(frame: bytes, counted: dict[int, int]) -> None:
    assert count_rows(frame) == native_of(count_rows)(frame) == counted


@pytest.mark.parametrize("data", [b"\x0a\x00", b"\x0a\x02\x12\x00\x0a\x00", EVERY_KIND[:-1]])
def test_malformed_frames_cannot_be_counted(data: bytes) -> None:
    for count in (count_rows, native_of(count_rows)):
        with pytest.raises(WireError):
            count(data)
