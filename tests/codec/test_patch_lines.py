"""Lines of N-Quads as operations: the output is the same as for the individual statements."""

from __future__ import annotations

import pytest

from jelly_plugins.codec import (
    DEFAULT_LIMITS,
    GenericFactory,
    Iri,
    Limits,
    Operation,
    OperationKind,
    PatchDecoder,
    PatchEncoder,
    PatchOptions,
    PatchStatementType,
    PatchStreamType,
)
from jelly_plugins.codec.patch.operations import BEGIN, COMMIT, END, add_namespace, header
from jelly_plugins.codec.text.ntriples import Dialect, LineParser
from jelly_plugins.errors import (
    JellyError,
    LimitError,
    OrderError,
    StatementError,
    TextError,
)

pytestmark = pytest.mark.usefixtures("patch_kernel")

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
@pytest.mark.parametrize("frame_rows", [1, 4, 256])
def test_the_same_bytes(stream_type: PatchStreamType, frame_rows: int) -> None:
    options = PatchOptions(rdf_star=True, stream_type=stream_type)
    encoders = [PatchEncoder(options, frame_rows=frame_rows) for _ in range(2)]
    opening = [header("id", Iri("urn:a/s")), BEGIN, add_namespace("x", Iri("urn:a/"), Iri("urn:g"))]
    made: list[list[bytes]] = []
    for by_line, encoder in zip((True, False), encoders, strict=True):
        frames = encoder.add(opening)
        for kind in (OperationKind.DELETE, OperationKind.ADD):
            if by_line:
                frames += encoder.add_lines(kind, LINES, parser())
            else:
                frames += encoder.add(one_by_one(LINES, kind))
            assert encoder.inside_patch
            frames += encoder.add([add_namespace("y", Iri("urn:b"), Iri("urn:h"))])
        made.append(frames + encoder.add([COMMIT, END]) + encoder.finish())
    assert made[0] == made[1]
    decoder = PatchDecoder(GenericFactory())
    rows = [row for frame in made[0] for row in decoder.decode(frame).operations]
    assert [row for row in rows if row.kind is OperationKind.ADD] == (
        one_by_one(LINES, OperationKind.ADD)
    )


def test_triples() -> None:
    options = PatchOptions(statement_type=PatchStatementType.TRIPLES)
    lines = b"<urn:s> <urn:p> <urn:o> .\n<urn:s> <urn:p> _:b .\n"
    made = []
    for by_line in (True, False):
        encoder = PatchEncoder(options)
        if by_line:
            encoder.add_lines(OperationKind.ADD, lines, parser(quads=False))
        else:
            encoder.add(one_by_one(lines, OperationKind.ADD, quads=False))
        made.append(encoder.add([END]) + encoder.finish())
    assert made[0] == made[1]
    with pytest.raises(StatementError, match="of 4 terms in a stream of statements of 3"):
        PatchEncoder(options).add_lines(OperationKind.ADD, lines, parser())


def test_no_lines() -> None:
    encoder = PatchEncoder(OPTIONS)
    encoder.add_lines(OperationKind.ADD, b"# Nothing\n", parser())
    assert not encoder.inside_patch


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        (b"<urn:s> <urn:p> .\n", TextError),
        (b"<urn:s> <urn:p> <urn:o> .\n\xff\n", TextError),
        (b"<urn:s> <urn:p> <<( <urn:s> <urn:p> <urn:o> )>> .\n", StatementError),
    ],
)
def test_lines_that_cannot_be_written(lines: bytes, error: type[JellyError]) -> None:
    encoder = PatchEncoder(PatchOptions())
    with pytest.raises(error):
        encoder.add_lines(OperationKind.ADD, lines, parser())


def test_lines_where_no_statement_is_allowed() -> None:
    flat = PatchEncoder(PatchOptions(stream_type=PatchStreamType.FLAT))
    flat.add([END])
    with pytest.raises(OrderError):
        flat.add_lines(OperationKind.ADD, LINES, parser())


def test_a_rejected_line_does_not_begin_a_patch() -> None:
    options = PatchOptions(
        statement_type=PatchStatementType.TRIPLES,
        stream_type=PatchStreamType.PUNCTUATED,
        max_datatype_table_size=0,
    )
    encoder = PatchEncoder(options)
    # The entries of its IRIs are written before the line is rejected for its datatype.
    with pytest.raises(JellyError):
        encoder.add_lines(OperationKind.ADD, b'<urn:s> <urn:p> "x"^^<urn:d> .\n', parser(False))
    assert not encoder.inside_patch
    assert len(encoder.finish()) == 1


def test_a_frame_that_is_too_long_is_rejected_at_its_line() -> None:
    limits = Limits(frame_bytes=300)
    read = LineParser(Dialect.RDF_1_2, False, False, limits, quads=False)
    options = PatchOptions(
        statement_type=PatchStatementType.TRIPLES, stream_type=PatchStreamType.FRAME
    )
    encoder = PatchEncoder(options, limits=limits)
    lines = b"".join(b'<urn:s> <urn:p> "%0200d" .\n' % number for number in range(2))
    with pytest.raises(LimitError, match="the length of a frame") as rejected:
        encoder.add_lines(OperationKind.ADD, lines, read)
    assert (rejected.value.frame, rejected.value.row) == (0, encoder.pending)
    assert read.count == 1
