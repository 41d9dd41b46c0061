"""Lines of N-Quads as operations: the output is the same as for the individual statements."""

from __future__ import annotations

import pytest

from jelly_plugins.codec import (
    DEFAULT_LIMITS,
    Iri,
    Limits,
    Operation,
    OperationKind,
    PatchOptions,
    PatchStatementType,
    PatchStreamType,
)
from jelly_plugins.codec.patch.operations import BEGIN, COMMIT, END, header
from jelly_plugins.codec.text.ntriples import Dialect, LineParser
from jelly_plugins.errors import JellyError, LimitError, OrderError, StatementError, TextError

from .conftest import Kernel

LINES = b"""<urn:a/s> <urn:p> <urn:o> .
<urn:a/s> <urn:p> <urn:o> .
# A comment
<urn:a/s> <urn:p> "x\\ny"@en <urn:g> .
_:b <urn:p> "1"^^<urn:type> <urn:g> .
_:b <urn:p> <<( <urn:s> <urn:p> "o" )>> _:g .
<urn:a/s> <urn:q> "x" .
"""
OPTIONS = PatchOptions(rdf_star=True)


def parser(quads: bool = True) -> LineParser:
    return LineParser(Dialect.RDF_1_2, False, False, DEFAULT_LIMITS, quads=quads)


def one_by_one(lines: bytes, kind: OperationKind, quads: bool = True) -> list[Operation]:
    return [Operation(kind, statement) for statement in parser(quads).statements(lines)]


@pytest.mark.parametrize("stream_type", PatchStreamType)
@pytest.mark.parametrize("frame_rows", [1, 2, 5, 256])
@pytest.mark.parametrize(
    ("deleted", "added"), [(LINES, LINES), (b"", LINES), (LINES, b""), (b"", b"")]
)
def test_whole_patches(
    kernel: Kernel, stream_type: PatchStreamType, frame_rows: int, deleted: bytes, added: bytes
) -> None:
    """The bytes are those of the same rows."""
    options = PatchOptions(rdf_star=True, stream_type=stream_type)
    whole, by_row = (kernel.PatchEncoder(options, frame_rows=frame_rows) for _ in range(2))
    for number in range(1 if stream_type is PatchStreamType.FLAT else 4):
        headers = [("id", Iri(f"urn:a/{number}")), ("prev", Iri(f"urn:a/{number - 1}"))][:number]
        rows = [
            *(header(*each) for each in headers),
            BEGIN,
            *one_by_one(deleted, OperationKind.DELETE),
            *one_by_one(added, OperationKind.ADD),
            COMMIT,
            END,
        ]
        read = parser()
        assert whole.add_patch(headers, deleted, added, read) == by_row.add(rows)
        assert read.count == len(rows) - len(headers) - 3
        assert not whole.inside_patch
        # Statements repeat terms of those before them, however either was written.
        more = [*one_by_one(LINES[:28], OperationKind.ADD), END]
        if stream_type is not PatchStreamType.FLAT and number == 2:
            assert whole.add(more) == by_row.add(more)
    assert whole.finish() == by_row.finish()


def test_whole_patches_where_none_is_allowed(kernel: Kernel) -> None:
    flat = kernel.PatchEncoder(PatchOptions(stream_type=PatchStreamType.FLAT))
    flat.add_patch([], b"", b"", parser())
    for headers in ([], [("id", Iri("urn:a"))]):
        with pytest.raises(OrderError, match="after the one patch"):
            flat.add_patch(headers, b"", b"", parser())
    inside = kernel.PatchEncoder(OPTIONS)
    inside.add([BEGIN])
    with pytest.raises(OrderError, match="inside a transaction"):
        inside.add_patch([], b"", b"", parser())


@pytest.mark.parametrize(
    ("headers", "lines", "rest"),
    [
        ([("id", Iri("urn:a")), ("x\ud800", Iri("urn:b"))], b"", [BEGIN, COMMIT, END]),
        ([("id", Iri("urn:a"))], LINES + b"<urn:s> <urn:p> .\n", [COMMIT, END]),
        ([("id", Iri("urn:a"))], b'<urn:s> <urn:p> "x"^^<urn:t> .\n', [COMMIT, END]),
    ],
)
def test_patches_that_cannot_be_written(
    kernel: Kernel, headers: list[tuple[str, Iri]], lines: bytes, rest: list[Operation]
) -> None:
    """What comes before the error is written, as by rows."""
    options = PatchOptions(rdf_star=True, max_datatype_table_size=int(lines.startswith(LINES)))
    whole, by_row = (kernel.PatchEncoder(options) for _ in range(2))
    errors = []
    with pytest.raises(JellyError) as error:
        whole.add_patch(headers, b"", lines, parser())
    errors.append(error.value)
    try:
        by_row.add([*(header(*each) for each in headers), BEGIN])
        by_row.add_lines(OperationKind.ADD, lines, parser())
    except JellyError as rejected:
        errors.append(rejected)
    assert str(errors[0]) == str(errors[1])
    assert (errors[0].frame, errors[0].row) == (errors[1].frame, errors[1].row)
    assert whole.inside_patch
    assert whole.add(rest) == by_row.add(rest)


TRIPLES = PatchOptions(statement_type=PatchStatementType.TRIPLES)
WIDTH = "of 4 terms in a stream of statements of 3"


@pytest.mark.parametrize(
    ("lines", "options", "error", "match"),
    [
        (b"<urn:s> <urn:p> .\n", PatchOptions(), TextError, "line 1, column 17: no object"),
        (LINES[:28] + b"\xff\n", PatchOptions(), TextError, "line 2, column 1: not valid UTF-8"),
        (LINES, PatchOptions(), StatementError, "rdf_star"),
        (LINES, TRIPLES, StatementError, WIDTH),
    ],
)
def test_lines_that_cannot_be_written(
    kernel: Kernel, lines: bytes, options: PatchOptions, error: type[JellyError], match: str
) -> None:
    with pytest.raises(error, match=match):
        kernel.PatchEncoder(options).add_lines(OperationKind.ADD, lines, parser())
    with pytest.raises(error, match=match):
        kernel.PatchEncoder(options).add_patch([], b"", lines, parser())


def test_lines_of_triples(kernel: Kernel) -> None:
    lines = b"<urn:s> <urn:p> <urn:o> .\n<urn:s> <urn:p> _:b .\n"
    by_line, one = kernel.PatchEncoder(TRIPLES), kernel.PatchEncoder(TRIPLES)
    by_line.add_lines(OperationKind.ADD, lines, parser(quads=False))
    one.add(one_by_one(lines, OperationKind.ADD, quads=False))
    assert by_line.add([END]) == one.add([END])


def test_lines_where_no_statement_is_allowed(kernel: Kernel) -> None:
    flat = kernel.PatchEncoder(PatchOptions(stream_type=PatchStreamType.FLAT))
    flat.add([END])
    for lines in (LINES, b"", b"malformed\n"):
        with pytest.raises(OrderError):
            flat.add_lines(OperationKind.ADD, lines, parser())


def test_a_rejected_line_does_not_begin_a_patch(kernel: Kernel) -> None:
    """A comment does not begin one either."""
    encoder = kernel.PatchEncoder(OPTIONS)
    encoder.add_lines(OperationKind.ADD, b"# Nothing\n", parser())
    assert not encoder.inside_patch
    options = PatchOptions(
        statement_type=PatchStatementType.TRIPLES,
        stream_type=PatchStreamType.PUNCTUATED,
        max_datatype_table_size=0,
    )
    encoder = kernel.PatchEncoder(options)
    # The entries of its IRIs are written before the line is rejected for its datatype.
    with pytest.raises(JellyError):
        encoder.add_lines(OperationKind.ADD, b'<urn:s> <urn:p> "x"^^<urn:d> .\n', parser(False))
    assert not encoder.inside_patch
    assert len(encoder.finish()) == 1


def test_a_frame_that_is_too_long_is_rejected_at_its_line(kernel: Kernel) -> None:
    limits = Limits(frame_bytes=300)
    read = LineParser(Dialect.RDF_1_2, False, False, limits, quads=False)
    options = PatchOptions(
        statement_type=PatchStatementType.TRIPLES, stream_type=PatchStreamType.FRAME
    )
    encoder = kernel.PatchEncoder(options, limits=limits)
    lines = b"".join(b'<urn:s> <urn:p> "%0200d" .\n' % number for number in range(2))
    with pytest.raises(LimitError, match="the length of a frame") as rejected:
        encoder.add_lines(OperationKind.ADD, lines, read)
    assert (rejected.value.frame, rejected.value.row) == (0, encoder.pending)
    assert read.count == 1
