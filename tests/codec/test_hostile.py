"""Broken input, accidental or malicious: rejected with its position, in bounded memory."""

from __future__ import annotations

import gzip
import io
import random
import zipfile
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
    OptionsError,
    OrderError,
    Quad,
    SourceError,
    StatementError,
    StreamOptions,
    TermError,
    Triple,
    TruncatedError,
    WireError,
    read,
    read_frames,
)
from jelly_plugins.codec import GenericFactory, PatchEncoder, PatchOptions, PhysicalType, delimit
from jelly_plugins.codec.common.wire import bytes_field, varint
from jelly_plugins.codec.patch.operations import (
    BEGIN,
    COMMIT,
    END,
    add,
    add_namespace,
    delete,
    delete_namespace,
    header,
)
from jelly_plugins.io.streams import encode
from jelly_plugins.patch import PatchReader

from .. import programs
from . import wire_builder as w
from .conftest import FORMATS, Format, Kernel
from .input_kinds import Trickle

S, P, OB = Iri("urn:s"), Iri("urn:p"), Iri("urn:o")
SPO = Triple(S, P, OB)


def our_stream() -> list[bytes]:
    """A stream of this package's encoder with all kinds of rows and terms."""
    quoted = Triple(S, P, Triple(S, P, Literal("x", langtag="en")))
    quads = [
        Quad(Iri(f"http://example.org/{n % 7}#{n % 11}"), P, Literal(str(n), datatype="urn:d"), g)
        for n in range(30)
        for g in (DEFAULT_GRAPH, BlankNode("g"), Iri("urn:g"))
    ]
    options = StreamOptions(physical_type=PhysicalType.QUADS, rdf_star=True, stream_name="name")
    statements = [*quads, Quad(quoted, P, quoted, DEFAULT_GRAPH)]
    return list(encode(statements, options=options, frame_rows=20))


def outcome(data: bytes) -> list[Any] | JellyError:
    """Return the statements, or the error, which must be a JellyError."""
    try:
        return list(read(data))
    except JellyError as caught:
        error = caught
    assert error.source == "<bytes>"
    where = "" if error.frame is None else f"frame {error.frame}"
    if error.row is not None:
        where += f", row {error.row}"
    assert str(error) == ": ".join(filter(None, ["<bytes>", where, error.message]))
    return error


def test_truncation_at_any_byte() -> None:
    frames = our_stream()
    data = w.stream(*frames)
    whole = list(read(data))
    ends = {0: 0}
    for number in range(1, len(frames) + 1):
        ends[len(w.stream(*frames[:number]))] = number
    for end in range(len(data) + 1):
        result = outcome(data[:end])
        if end in ends:
            # Empty input is an empty stream.
            assert isinstance(result, list)
            assert result == whole[: len(result)]
        else:
            assert isinstance(result, JellyError)
            if end > 3:
                assert isinstance(result, TruncatedError)
                assert result.frame == sum(1 for other in ends if 0 < other <= end)


def test_a_log_truncated_at_any_byte() -> None:
    statement = Quad(S, P, Literal("1", datatype="urn:d"), Iri("urn:g"))
    rows = [
        *(header("id", Iri("uuid:1")), BEGIN, add_namespace("ex", Iri("urn:"), Iri("urn:g"))),
        *(add(statement), delete(Quad(S, P, Triple(S, P, OB), Iri("urn:g")))),
        *(delete_namespace("ex", None, Iri("urn:g")), COMMIT, END),
    ]
    encoder = PatchEncoder(PatchOptions(rdf_star=True), frame_rows=5)
    frames = [*encoder.add(rows), *encoder.finish()]
    data = w.stream(*frames)
    with PatchReader(data) as reader:
        assert list(reader) == rows
    for length in range(len(data)):
        got: list[Any] = []
        with pytest.raises(JellyError), PatchReader(data[:length]) as reader:
            got.extend(reader)
        # An incomplete patch has no END.
        assert END not in got
    with pytest.raises(TruncatedError, match="<bytes>: frame 1: the stream ends"):
        list(PatchReader(w.stream(*frames[:2])))


# Lengths and sizes


@pytest.mark.parametrize("length", [64 << 20 | 1, 8 << 30, 2**32 - 1, 2**63, 2**64 - 1])
def test_a_huge_frame_length_is_rejected(length: int) -> None:
    class Counting(io.BytesIO):
        taken = 0

        def read(self, size: int | None = -1, /) -> bytes:
            data = super().read(size)
            Counting.taken += len(data)
            return data

        read1 = read

    first = w.stream(w.frame(w.options()))
    file = Counting(first + varint(length) + b"x" * 1_000_000)
    with pytest.raises(LimitError, match=f"{length}, above the limit") as caught:
        list(read(file))
    assert caught.value.frame == 1
    assert Counting.taken <= 1 << 16


def test_a_length_that_never_ends() -> None:
    with pytest.raises(WireError, match="longer than 64 bits"):
        list(read(b"\xff" * 100))
    with pytest.raises(TruncatedError):
        list(read(b"\xff" * 9))


def test_a_bare_frame_has_a_limit() -> None:
    data = w.frame(w.options(), *[w.name("x" * 100)] * 8)
    assert read_frames(data, limits=Limits(frame_bytes=len(data)))
    with pytest.raises(LimitError, match="frame_bytes"):
        list(read(data, limits=Limits(frame_bytes=len(data) - 1)))


@pytest.mark.parametrize("length", [2**31, 2**32, 2**40, 2**63, 2**64 - 1])
@pytest.mark.parametrize("tag", ["0a", "7a", "3a"])
def test_a_huge_field_length_is_rejected(kernel: Kernel, length: int, tag: str) -> None:
    data = w.frame(w.options()) + bytes.fromhex(tag) + varint(length) + b"x" * 100
    with pytest.raises(WireError, match="ends after its"):
        kernel.decode(data)
    inside = bytes_field(1, b"\x4a" + varint(length) + b"x" * 100)
    with pytest.raises(WireError, match="ends after its"):
        kernel.decode(w.frame(w.options()) + inside)


def test_every_frame_size_has_a_limit(kernel: Kernel, format_: Format) -> None:
    one = w.iri(name=1)
    rows = [format_.triple(one, one, one), *[format_.triple()] * 5]
    data = w.frame(format_.options(), *format_.wire.SPO, *rows)
    most = {"frame_bytes": len(data), "frame_rows": 10, "frame_repeats": 5}
    most |= {"string_bytes": 5, "frame_expansion": 5}
    assert len(format_.statements(kernel, data, limits=Limits(**most))) == 6
    for name, value in most.items():
        with pytest.raises(LimitError, match=name) as caught:
            format_.statements(kernel, data, limits=Limits(**{name: value - 1}))
        assert caught.value.frame == 0


def strings(value: str | bytes) -> dict[str, bytes]:
    """Make a frame for every string field, with ``value`` in it."""
    one = w.iri(name=1)
    head = [w.options(version=2), w.SPO[0]]
    return {
        "stream name": w.frame(w.options(stream_name=value)),
        "name": w.frame(w.options(), w.name(value)),
        "prefix": w.frame(w.options(), w.prefix(value)),
        "datatype": w.frame(w.options(), w.datatype(value)),
        "lexical form": w.frame(*head, w.triple(one, one, w.literal(value))),
        "language tag": w.frame(*head, w.triple(one, one, w.literal(lang=value))),
        "label": w.frame(*head, w.triple(one, one, w.bnode(value))),
        "namespace": w.frame(*head, w.namespace(value, one)),
    }


def with_bytes(value: bytes) -> dict[str, bytes]:
    key = bytes_field(15, bytes_field(1, value))
    return {**strings(value), "metadata key": w.frame(w.options()) + key}


@pytest.mark.parametrize("field", strings("x"))
def test_every_string_has_a_limit(kernel: Kernel, field: str) -> None:
    limits = Limits(string_bytes=20)
    assert kernel.decode(strings("é" * 10)[field], limits=limits)
    with pytest.raises(LimitError, match="21, above the limit of 20"):
        kernel.decode(strings("é" * 10 + "x")[field], limits=limits)


def test_an_iri_has_a_limit(kernel: Kernel) -> None:
    one = w.iri(1, 1)
    parts = [w.options(), w.prefix("p" * 10), w.name("n" * 11), w.triple(one, one, one)]
    assert kernel.decode(w.frame(*parts), limits=Limits(string_bytes=21))
    with pytest.raises(LimitError, match="length of an IRI is 21"):
        kernel.decode(w.frame(*parts), limits=Limits(string_bytes=20))


def test_bad_utf_8_in_a_long_string(kernel: Kernel) -> None:
    """The kernel checks long text with other code: it must accept exactly the bytes that Python
    decodes.
    """
    edges = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1]
    edges += [0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF]
    draw = random.Random(1)
    accepted = 0
    for _ in range(3000):
        part = bytes(draw.choices(edges, k=draw.randint(1, 5)))
        text = bytearray("é寸🙂z".encode() * 20)
        if draw.random() < 0.5:
            # The character ends after this many bytes.
            part = draw.choice(["é", "\ud7ff", "\ue000", "\U00010000", "\U0010ffff"]).encode()
            at = 10 * draw.randint(0, 20) + draw.choice([0, 2, 5, 9])
            text[at:at] = part
        else:
            at = draw.choice([0, 1, 2, 3, len(text), draw.randint(0, len(text))])
            text[at : at + draw.choice([0, len(part)])] = part
        try:
            expected = text.decode()
        except UnicodeDecodeError:
            expected = None
        try:
            [frame] = kernel.decode(with_bytes(bytes(text))["lexical form"])
        except WireError:
            assert expected is None
        else:
            assert frame.statements[0][2].lex == expected
            accepted += 1
    assert 500 < accepted < 2500


@pytest.mark.parametrize(
    ("tail", "match"),
    [
        *((varint(20 << 3 | number) + bytes(20), "wire type") for number in (3, 4, 6, 7)),
        *((varint(number << 3) + b"\x00", "field number") for number in (0, 1 << 29, 1 << 40)),
    ],
)
def test_invalid_fields(kernel: Kernel, tail: bytes, match: str) -> None:
    for data in (tail, bytes_field(1, tail)):
        with pytest.raises(WireError, match=match):
            kernel.decode(w.frame(w.options()) + data)


def test_fields_of_statements_of_the_wrong_wire_type(kernel: Kernel) -> None:
    for number in range(1, 17):
        broken = w.row(3, varint(number << 3) + b"\x01")
        with pytest.raises(WireError, match="wrong wire type"):
            kernel.decode(w.frame(w.options(w.QUADS, generalized=True, star=True), broken))


# Depth


@pytest.mark.parametrize("depth", [65, 91, 1_000, 100_000])
def test_deep_nesting_is_rejected(kernel: Kernel, depth: int) -> None:
    # Built from the inside out: a tag and a length for each triple.
    lengths = [0]
    for _ in range(depth):
        lengths.append(lengths[-1] + 1 + len(varint(lengths[-1])))
    payload = b"".join(b"\x22" + varint(length) for length in reversed(lengths[:-1]))
    with pytest.raises(LimitError, match="depth of quoted triples is 65"):
        kernel.decode(w.frame(w.options(star=True), w.row(2, payload)))


# A few bytes that need much memory, measured in a separate process

MEASURE = """
from jelly_plugins import JellyError, Limits
from jelly_plugins.io.streams import read_frames
from tests.codec import test_hostile
import jelly_plugins.io.streams
from tests.codec.conftest import load_kernel
from tests.memory import peak

jelly_plugins.io.streams.Decoder = load_kernel({kernel!r}).Decoder
data = test_hostile.{attack}()
before = peak()
statements = 0
try:
    for frame in read_frames(data):
        statements += len(frame.statements)
    print("read", statements)
except JellyError as error:
    print(type(error).__name__, str(error).split("(")[-1].rstrip(")"))
print((peak() - before) // 1_000_000)
"""


def expansion() -> bytes:
    """Two entries of 8 MB, and their IRI 100,000 times."""
    half = "x" * (8 << 20)
    entries = [w.prefix(half), w.name(half[:-1]), w.name("n", id=2), w.prefix("p", id=2)]
    # Alternate references, so that no statement is a repeat.
    pair = w.triple(w.iri(1, 1), w.iri(2, 2), w.literal()) + w.triple(w.iri(2, 2))
    return w.frame(w.options(), *entries) + pair * 50_000


def many_expansions() -> bytes:
    """Different IRIs of 80 kB each, from entries of 10 and 20 MB in total."""
    entries = [w.prefix("p" * 20_000 + str(n)) for n in range(500)]
    entries += [w.name("n" * 20_000 + str(n)) for n in range(500)]
    parts = [
        w.triple(w.iri(n % 500 + 1, n // 500 % 500 + 1), w.iri(1, 1), w.literal())
        for n in range(20_000)
    ]
    return w.frame(w.options(names=4000, prefixes=1000), *entries, *parts)


def datatypes() -> bytes:
    """Different literals with the same enormous datatype."""
    entry = w.datatype("d" * (10 << 20))
    parts = [w.triple(o=w.literal(str(n), datatype=1)) for n in range(100_000)]
    return w.frame(w.options(), *w.SPO, entry, w.spo(), *parts)


def entries() -> bytes:
    """A lookup filled with long strings, compressed: 2 GB in a few megabytes."""
    head = w.stream(w.frame(w.options(names=4000)))
    entry = w.stream(w.frame(w.name("n" * (8 << 20))))
    return gzip.compress(head) + gzip.compress(entry, 1) * 256


def tables() -> bytes:
    """Tables of the largest size, with one entry at the end of each."""
    head = w.options(names=4096, prefixes=1024, datatypes=256)
    ends = [w.name("n", id=4096), w.prefix("p", id=1024), w.datatype("d", id=256)]
    return w.frame(head, *ends)


ATTACKS = {
    # The expected result, and the maximum number of megabytes.
    "expansion": ("LimitError Limits.frame_expansion", 350),
    "many_expansions": ("LimitError Limits.frame_expansion", 350),
    "datatypes": ("LimitError Limits.frame_expansion", 100),
    # The lookups of 128 MiB, and the reference's copy of them, which it needs to explain the
    # rejection.
    "entries": ("LimitError Limits.lookup_characters", 320),
    "tables": ("read 0", 10),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_end_in_bounded_memory(kernel: Kernel, attack: str) -> None:
    expected, megabytes = ATTACKS[attack]
    code = MEASURE.format(kernel=kernel.name, attack=attack)
    done = programs.run(code)
    assert done.stderr == ""
    result, used = done.stdout.splitlines()
    # The message names the command's option for the limit.
    assert result.partition(",")[0] == expected
    assert int(used) < megabytes


# Input that is not Jelly

TEXTS = [
    b"@prefix ex: <http://example.org/> .\nex:s ex:p ex:o .\n",
    b"PREFIX ex: <http://example.org/>\n",
    b"prefix ex: <http://example.org/>\n",
    b"BASE <http://example.org/>\n",
    b"<http://example.org/s> <http://example.org/p> <http://example.org/o> .\n" * 5,
    b"_:a <http://example.org/p> _:b .\n",
    b'{"@context": {}, "@graph": []}',
    b'[{"@id": "urn:s"}]',
    b"# comment\n",
    b"\n\n  # comment\n",
    b'<?xml version="1.0"?><rdf:RDF/>',
    b"\xef\xbb\xbf@prefix ex: <http://example.org/> .",
    b"GRAPH <urn:g> { }",
    b"<!DOCTYPE html><html><body>404</body></html>",
    b"hello\n",
    b"subject,predicate,object\n",
    b"PK, and yet no archive\n",
]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:10])
def test_text_is_detected(text: bytes) -> None:
    for source in (text, text * 1000, Trickle(text), gzip.compress(text)):
        with pytest.raises(SourceError, match="text, not Jelly"):
            list(read(source))  # type: ignore[arg-type]


@pytest.mark.parametrize("size", range(100))
def test_jelly_is_not_detected_as_text(size: int) -> None:
    """Lengths of rows and frames can be bytes that text may begin with."""
    broken = w.frame(w.options(version=9, stream_name="n" * size))
    for data in (broken, delimit(broken)):
        with pytest.raises(OptionsError, match="version 9"):
            list(read(data))


def test_other_files_are_rejected() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.jelly", random.Random(1).randbytes(1000))
    for data in (
        packed.getvalue(),
        b"\x89PNG\r\n\x1a\n" + bytes(50),
        b"\x7fELF" + bytes(90),
        b"PAR1",
    ):
        assert isinstance(outcome(data), JellyError)


# Positions of errors


def test_errors_have_positions(kernel: Kernel) -> None:
    frames = [
        w.frame(w.options(), *w.SPO),
        w.frame(metadata={"a": b""}),
        w.frame(w.spo(), w.triple(), w.triple(o=w.iri(name=7)), w.spo()),
    ]
    with pytest.raises(JellyError) as caught:
        kernel.decode(*frames)
    error = caught.value
    assert (error.source, error.frame, error.row) == (None, 2, 2)
    assert str(error) == f"frame 2, row 2: {error.message}"
    with pytest.raises(JellyError) as caught:
        list(read(w.stream(*frames)))
    error = caught.value
    assert (error.source, error.frame, error.row) == ("<bytes>", 2, 2)
    assert str(error) == f"<bytes>: frame 2, row 2: {error.message}"


@pytest.mark.parametrize(
    ("tail", "row"),
    [
        *((tail, None) for tail in (b"\x7a\x02\x0a\xff", b"\x78\x01", b"\xff")),
        *((b"\x0a" + rest, 4) for rest in (b"", b"\x05", b"\x05\x12\x03", b"\xff", b"\xff\x01")),
    ],
)
def test_only_errors_in_rows_have_a_row(kernel: Kernel, tail: bytes, row: int | None) -> None:
    with pytest.raises(WireError) as caught:
        kernel.decode(w.frame(w.options(), *w.SPO) + tail)
    assert (caught.value.frame, caught.value.row) == (0, row)


# Frames out of turn

#: Decoders by name, and those whose output is consumed chunk by chunk.
DECODERS: dict[str, dict[str, Any]] = {
    "Decoder": {"factory": GenericFactory()},
    "PatchDecoder": {"factory": GenericFactory()},
    "TextDecoder": {},
    "ColumnDecoder": {"batch_rows": 1},
    "PatchColumnDecoder": {"batch_rows": 1},
}
CHUNKED = list(DECODERS)[2:]


def frames_for(name: str) -> list[bytes]:
    """Two frames of the format that a decoder reads, with a statement each."""
    f = FORMATS[name.startswith("Patch")]
    one = w.iri(name=1)
    row = f.triple(one, one, one)
    return [w.frame(f.options(), *f.wire.SPO, row), w.frame(row)]


@pytest.mark.parametrize("name", DECODERS)
def test_nothing_is_decoded_after_an_error(kernel: Kernel, name: str) -> None:
    decoder = getattr(kernel, name)(**DECODERS[name])
    frames = frames_for(name)
    take = list if name in CHUNKED else lambda frame: frame
    take(decoder.decode(frames[0]))
    with pytest.raises(WireError):
        take(decoder.decode(frames[1] + b"\x0a\x00"))
    with pytest.raises(OrderError, match="after an error") as caught:
        take(decoder.decode(frames[1]))
    assert caught.value.frame == 1


@pytest.mark.parametrize("name", CHUNKED)
def test_a_frame_is_consumed_before_the_next_one(kernel: Kernel, name: str) -> None:
    decoder = getattr(kernel, name)(**DECODERS[name])
    frames = frames_for(name)
    next(iter(decoder.decode(frames[0])))
    with pytest.raises(OrderError, match="before the one before it is taken"):
        list(decoder.decode(frames[1]))


@pytest.mark.parametrize("name", ["Decoder", "PatchDecoder"])
def test_a_decoder_cannot_be_entered_twice(kernel: Kernel, name: str) -> None:
    frames = frames_for(name)

    class Reentrant(GenericFactory):
        def iri(self, value: str) -> Iri:  # type: ignore[override]
            decoder.decode(frames[1])
            return Iri(value)

    decoder = getattr(kernel, name)(Reentrant())
    with pytest.raises(OrderError, match="before the one before it is taken"):
        decoder.decode(frames[0])


# Factories that raise errors

CALLS = ["iri", "blank_node", "literal", "quoted_triple", "quad", "triple"]


class MyError(ValueError):
    """A ValueError of another library."""


def raised(kernel: Kernel, format_: Format, call: str, error: Exception) -> Any:
    """Return the error that a factory causes when it raises one in a call, at row 4."""

    def reject(*_: Any) -> Any:
        raise error

    factory = GenericFactory()
    setattr(factory, call, reject)
    one, two = w.iri(name=1), w.iri(name=2)
    if call == "triple":
        row = format_.triple(one, two, one)
    else:
        row = format_.quad(w.quoted(one, one, one), two, w.literal(), w.bnode())
    options = format_.options(quads=call != "triple", star=True)
    decoder = kernel.Decoder if format_.name == "rdf" else kernel.PatchDecoder
    with pytest.raises(Exception) as caught:  # noqa: PT011
        decoder(factory).decode(w.frame(options, *format_.wire.SPO, row))
    return caught.value


@pytest.mark.parametrize("call", CALLS)
def test_errors_of_a_factory(kernel: Kernel, format_: Format, call: str) -> None:
    cause = MyError("not for me")
    error = raised(kernel, format_, call, cause)
    assert (type(error), error.message, error.__cause__) == (TermError, "not for me", cause)
    assert (error.frame, error.row) == (0, 4)
    own = StatementError("mine")
    assert raised(kernel, format_, call, own) is own
    assert (own.frame, own.row) == (0, 4)
    # Errors that are not of terms pass unchanged.
    for other in (KeyError("x"), TypeError("x"), RuntimeError("x"), OSError("x")):
        assert raised(kernel, format_, call, other) is other
