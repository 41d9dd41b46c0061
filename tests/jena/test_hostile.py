"""Invalid input: both kernels raise the same error with its row; lengths are checked first."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from jelly_plugins import Limits, TruncatedError, WireError
from jelly_plugins.codec.common.wire import varint
from jelly_plugins.errors import JellyError, LimitError
from jelly_plugins.jena import JenaFormat
from jelly_plugins.jena.streams import batches

from .kernels import Kernel, rows
from .test_rows import O, P, S, literal, name_of, prefix, quad, triple

T, B = JenaFormat.THRIFT, JenaFormat.PROTOBUF
FORMATS = list(JenaFormat)


def rejected(kernel: Kernel, data: bytes, form: JenaFormat, **settings: Any) -> JellyError:
    """Return the error that reading raises, whatever the size of chunks."""
    found = []
    for size in (None, 1 if len(data) < 10_000 else 1000):
        with pytest.raises(JellyError) as caught:
            kernel.text(data, form, size=size, **settings)
        assert caught.value.row is not None
        found.append(caught.value)
    assert len({str(error) for error in found}) == 1
    return found[0]


@pytest.mark.parametrize("form", FORMATS)
def test_truncated_anywhere(kernel: Kernel, form: JenaFormat) -> None:
    values = [
        prefix("x", "urn:x:"),
        triple(S, name_of("x", "p"), literal("l" * 20, langtag="en")),
        quad(S, P, ("valDouble", 1.0), ("bnode", {"label": "b"})),
        triple(S, P, ("tripleTerm", {"S": S, "P": P, "O": ("valDecimal", DECIMAL)})),
    ]
    data = rows(form, *values)
    ends = [len(rows(form, *values[:count])) for count in range(5)]
    for cut in range(len(data) + 1):
        if cut in ends:
            statements = max(ends.index(cut) - 1, 0)
            assert len(kernel.read(data[:cut], form)) == statements
            continue
        error = rejected(kernel, data[:cut], form)
        assert isinstance(error, TruncatedError)
        assert error.row == sum(cut > end for end in ends) - 1


DECIMAL = {"value": 300, "scale": 1}


def thrift(*parts: str | bytes) -> bytes:
    return b"".join(part if isinstance(part, bytes) else bytes.fromhex(part) for part in parts)


GOOD = rows(T, triple(S, P, O))
IRI = thrift("1c1805", b"urn:s", "0000")

THRIFT_ERRORS = [
    # A union without a member, with two, and with an unknown one.
    (thrift("00"), "RDF_StreamRow has no member"),
    (thrift("2c1c1c1801", b"x", "001c1801", b"y", "0000"), "RDF_Term has more than one member"),
    (thrift("4c1801", b"x", "0000"), "RDF_StreamRow has no field 4"),
    (thrift("2c1c", "00"), "RDF_Term has no member"),
    (thrift("2c1cdc00"), "RDF_Term has no field 13"),
    (thrift("2c1c1c2801"), "RDF_IRI has no field 2"),
    (thrift("2c1c0cffff0f"), "RDF_Term has no field"),
    # Wrong types.
    (thrift("2801", b"x", "00"), "field 2 of RDF_StreamRow has the wrong type"),
    (thrift("1c1501"), "field 1 of RDF_PrefixDecl has the wrong type"),
    (thrift("2c1c1c1c00"), "field 1 of RDF_IRI has the wrong type"),
    (thrift("2c1ca800"), "field 10 of RDF_Term has the wrong type"),
    (thrift("2d"), "wrong type"),
    # Fields that occur twice or are missing.
    (
        thrift("1c1801", b"x", "081801"),
        "RDF_PrefixDecl has no field|has the wrong type|occurs twice",
    ),
    (thrift("1c1801", b"x", "0802", "01", b"y"), "field 1 of RDF_PrefixDecl occurs twice"),
    (thrift("1c1801", b"x", "0000"), "RDF_PrefixDecl has no uri"),
    (thrift("3c4c", IRI, "0c02"), "RDF_Quad has no S"),
    (thrift("2c1c", IRI, "1c", IRI, "1c3c2802", b"en", "0802"), "RDF_Literal has no lex"),
    (
        thrift("2c1c", IRI, "1c", IRI, "1c3c1801", b"x", "2803", b"urn", "0804"),
        "field 2 of RDF_Literal .*order",
    ),
    (thrift("2c1c", IRI, "0000"), "RDF_Triple has no P"),
    (thrift("3c1c", IRI, "1c", IRI, "0000"), "RDF_Quad has no O"),
    # Numbers that are too long, and text that is not valid UTF-8.
    (thrift("1c18", "ff" * 5, "00"), "too long for its type"),
    (thrift("1c18", "ffffffff1f"), "too long for its type"),
    (thrift("2c1c", IRI, "1c", IRI, "1ca6", "ff" * 11), "too long for its type"),
    (thrift("1c1801ff1801", b"y", "0000"), "prefix of RDF_PrefixDecl is not valid UTF-8"),
    (thrift("2c1c1c1802", "c328", "0000"), "iri of RDF_IRI is not valid UTF-8"),
    (thrift("2c1c", IRI, "1c", IRI, "1c3c1803", "eda080"), "lex of RDF_Literal is not valid UTF-8"),
]


@pytest.mark.parametrize(("data", "message"), THRIFT_ERRORS)
def test_invalid_thrift(kernel: Kernel, data: bytes, message: str) -> None:
    error = rejected(kernel, GOOD + data + b"\0" * 20, T)
    assert isinstance(error, WireError)
    assert error.row == 1
    with pytest.raises(WireError, match=message):
        raise error


def proto(*fields: bytes) -> bytes:
    row = b"".join(fields)
    return varint(len(row)) + row


def field(number: int, payload: bytes | int) -> bytes:
    if isinstance(payload, int):
        return varint(number << 3) + varint(payload)
    return varint(number << 3 | 2) + varint(len(payload)) + payload


PROTO_IRI = field(1, field(1, b"urn:s"))
PROTO_ERRORS = [
    (proto(), "RDF_StreamRow has no member"),
    (proto(field(1, b""), field(4, b"")), "RDF_StreamRow has more than one member"),
    (proto(field(5, b"")), "RDF_StreamRow has no field 5"),
    (proto(field(2, field(1, b""))), "RDF_Term has no member"),
    (proto(field(2, field(1, field(10, b"")))), "RDF_Term has no field 10"),
    (proto(field(2, field(1, field(1, b"") + field(2, b"")))), "RDF_Term has more than one"),
    (proto(field(2, 1)), "field 2 of RDF_StreamRow has the wrong type"),
    (proto(field(2, field(1, field(20, b"")))), "field 20 of RDF_Term has the wrong type"),
    (proto(field(1, field(1, 7))), "field 1 of RDF_PrefixDecl has the wrong type"),
    (proto(field(1, field(1, b"x") * 2)), "field 1 of RDF_PrefixDecl occurs twice"),
    (proto(field(2, field(1, PROTO_IRI))), "RDF_Triple has no P"),
    (proto(field(2, field(2, PROTO_IRI) + field(1, PROTO_IRI))), "RDF_Triple has no S"),
    (proto(field(1, field(2, b"x") + field(1, b"y"))), "field 1 of RDF_PrefixDecl .*out of order"),
    (proto(field(2, b"\xff")), "ends after its message"),
    (proto(field(2, b"\x0a\x7f")), "ends after its message"),
    (proto(b"\x13"), "field 2 of RDF_StreamRow has the wrong type"),
    (proto(b"\x02\x00"), "RDF_StreamRow has no field 0"),
    (proto(field(1, field(1, b"\xff"))), "prefix of RDF_PrefixDecl is not valid UTF-8"),
    (
        proto(
            field(
                2,
                field(1, PROTO_IRI) + field(2, PROTO_IRI) + field(3, field(22, field(2, 1 << 33))),
            )
        ),
        "too long for its type",
    ),
    (
        proto(
            field(
                2,
                field(1, PROTO_IRI)
                + field(2, PROTO_IRI)
                + field(3, field(3, field(1, b"x") + field(2, b"en") + field(9, 1))),
            )
        ),
        "RDF_Literal has more than one kind",
    ),
    (b"\xff" * 10 + b"\x01", "a number is too long for its type"),
]


@pytest.mark.parametrize(("data", "message"), PROTO_ERRORS)
def test_invalid_protobuf(kernel: Kernel, data: bytes, message: str) -> None:
    error = rejected(kernel, rows(B, triple(S, P, O)) + data + b"\0" * 20, B)
    assert isinstance(error, WireError)
    assert error.row == 1
    with pytest.raises(WireError, match=message):
        raise error


def test_errors_are_raised_before_the_row_is_complete(kernel: Kernel) -> None:
    data = thrift("2c1c1c1805", b"\xffrn:s", "0000")
    for size in (None, 1):
        with pytest.raises(WireError, match="UTF-8"):
            kernel.text(data, T, size=size)


@pytest.mark.parametrize("form", FORMATS)
def test_deep_nesting(kernel: Kernel, form: JenaFormat) -> None:
    def nested(depth: int) -> bytes:
        if form is T:
            parts = thrift("1c", IRI, "1c", IRI)
            start = b"\x2c" + (parts + thrift("1c9c")) * depth + parts + b"\x1c" + IRI
            return (start + b"\0" * (2 * depth + 2)) * 2
        parts = field(1, PROTO_IRI) + field(2, PROTO_IRI)
        term = PROTO_IRI
        for _ in range(depth):
            term = field(6, parts + field(3, term))
        return proto(field(2, parts + field(3, term))) * 2

    assert len(kernel.read(nested(64), form)) == 2
    error = rejected(kernel, nested(65), form)
    assert isinstance(error, LimitError)
    assert error.row == 0
    assert "Limits.nesting" in str(error)
    assert isinstance(rejected(kernel, nested(5000), form), LimitError)
    assert len(kernel.read(nested(3), form, limits=Limits(nesting=3))) == 2
    assert isinstance(rejected(kernel, nested(4), form, limits=Limits(nesting=3)), LimitError)


def test_huge_lengths_are_not_waited_for(kernel: Kernel) -> None:
    # The announced bytes never arrive.
    for size in (17 << 20, (1 << 32) - 1):
        error = rejected(kernel, GOOD + thrift("2c1c1c18", varint(size), b"x" * 50), T)
        assert "Limits.string_bytes" in str(error)
    for size in ((64 << 20) + 1, (1 << 63) - 1):
        error = rejected(kernel, rows(B, triple(S, P, O)) + varint(size) + b"x" * 50, B)
        assert "Limits.frame_bytes" in str(error)
        assert error.row == 1


@pytest.mark.parametrize("form", FORMATS)
def test_limits_of_rows(kernel: Kernel, form: JenaFormat) -> None:
    data = rows(form, triple(S, P, O), triple(S, P, literal("x" * 101)))
    assert len(kernel.read(data, form)) == 2
    error = rejected(kernel, data, form, limits=Limits(string_bytes=100))
    assert (error.row, "Limits.string_bytes" in str(error)) == (1, True)
    error = rejected(kernel, data, form, limits=Limits(frame_bytes=100))
    assert (error.row, "Limits.frame_bytes" in str(error)) == (1, True)
    error = rejected(kernel, data[:-5], form, limits=Limits(frame_bytes=100))
    assert "Limits.frame_bytes" in str(error)
    declared = rows(form, *(prefix(f"p{number}", "urn:") for number in range(5)))
    assert kernel.read(declared, form) == []
    error = rejected(kernel, declared, form, limits=Limits(prefix_table=4))
    assert (error.row, "Limits.prefix_table" in str(error)) == (4, True)
    # Binding a name again does not need more memory.
    assert (
        kernel.read(
            rows(form, *[prefix("p", "urn:")] * 5),
            form,
            limits=Limits(prefix_table=1, lookup_characters=5),
        )
        == []
    )
    error = rejected(kernel, declared, form, limits=Limits(lookup_characters=20))
    assert (error.row, "Limits.lookup_characters" in str(error)) == (3, True)


@pytest.mark.parametrize("form", FORMATS)
def test_expansion_is_limited(kernel: Kernel, form: JenaFormat) -> None:
    long = "urn:" + "x" * 996
    limits = Limits(frame_expansion=4_000_000)

    def names(count: int) -> list[Any]:
        return [name_of("x", f"{number:05}") for number in range(count)]

    abbreviated = [prefix("x", long), *[triple(S, P, name) for name in names(6000)]]
    error = rejected(kernel, rows(form, *abbreviated), form, limits=limits)
    assert (error.row, "Limits.frame_expansion" in str(error)) == (3981, True)
    # The limit applies to a number of rows, not to all rows of a file.
    spread = [prefix("x", long)]
    for name in names(3000):
        spread += [triple(S, P, name), triple(S, P, O)]
    assert len(kernel.read(rows(form, *spread), form, limits=limits)) == 6000
    assert kernel.text(rows(form, *spread), form, limits=limits).count(b"\n") == 6000
    datatyped = [
        prefix("x", long),
        *[triple(S, P, literal("", dtPrefix=name[1])) for name in names(5000)],
    ]
    error = rejected(kernel, rows(form, *datatyped), form, limits=limits)
    assert error.row == 3981
    same = rows(form, abbreviated[0], *[triple(S, P, name_of("x", ""))] * 6000)
    error = rejected(kernel, same, form, limits=limits)
    assert (error.row, "Limits.frame_expansion" in str(error)) == (4001, True)
    too_long = rows(form, abbreviated[0], triple(S, P, name_of("x", "y")))
    with pytest.raises(LimitError, match="length of an IRI"):
        kernel.read(too_long, form, limits=Limits(string_bytes=1000))
    huge = [
        triple(S, P, ("valDecimal", {"value": 1, "scale": scale}))
        for scale in ((1 << 31) - 1, -(1 << 31))
    ]
    for value in huge:
        error = rejected(kernel, rows(form, value), form)
        assert "Limits.string_bytes" in str(error)


def test_a_row_in_many_chunks_takes_linear_time(kernel: Kernel) -> None:
    # Reading such a row again with each chunk would take hours.
    term: Any = ("tripleTerm", {"S": S, "P": P, "O": O})
    for _ in range(11):
        term = "tripleTerm", {"S": term, "P": P, "O": term}
    data = rows(T, triple(term, P, O))
    assert len(data) > 100_000
    assert len(kernel.read(data, T, size=1000)) == 1


def test_memory_does_not_grow_with_files(kernel: Kernel) -> None:
    row = rows(T, triple(S, P, O))
    reader = kernel.StatementReader(T)
    count = 300 if kernel.name == "native" else 3
    tracemalloc.start()
    for _ in batches((row * 1000 for _ in range(count)), reader.read_text, reader.end):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20
    assert reader.statements == count * 1000
