"""Patches as columns: compare both kernels with the operations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from jelly_plugins.codec import (
    DEFAULT_GRAPH,
    BlankNode,
    Iri,
    Literal,
    Operation,
    OperationColumns,
    OperationKind,
    PatchOptions,
    PatchStatementType,
    PatchStreamType,
    Quad,
    Triple,
)
from jelly_plugins.codec.patch.decoder import PatchDecoder
from jelly_plugins.codec.patch.encoder import PatchEncoder
from jelly_plugins.codec.patch.operations import (
    ABORT,
    BEGIN,
    COMMIT,
    END,
    Header,
    Namespace,
    add,
    add_namespace,
    delete,
    delete_namespace,
    header,
)
from jelly_plugins.codec.text.ntriples import Notation
from jelly_plugins.errors import JellyError, OrderError, StatementError, TermError
from jelly_plugins.oxigraph.rows import RowFactory

from .. import programs
from ..fuzz.comparison import native
from ..fuzz.readers import operations_of
from ..ntriples import WholeTexts
from . import patch_wire as w
from .conftest import Kernel

XSD = "http://www.w3.org/2001/XMLSchema#"
P = Iri("urn:p")
NUMBERS = (
    *("0", "-0", "1", "01", "-1", "+1", "1.5", "-0.5", "1.50", "1.", ".5", "1e0", "1.0E0", "-"),
    *("12345678901234567", "123456789012345678", "-12345678901234567", "99999999999999999999"),
    *("123456", "1234567", "0.1234", "0.12345", "1.12345678901234", "123456789012345.6", "NaN"),
    *("INF", "", " 1", "1 ", "x", "--1", "1.5.5"),
)
TIMES = (
    *("2026-11-21", "2026-11-21Z", "2026-11-21+00:00", "0999-01-01", "2026-13-01", "2026-00-01"),
    *("2026-01-00", "2026-02-31", "2026-01-32", "12026-01-01", "-2026-01-01", "2026-1-1"),
    *(f"2026-11-21T{time}" for time in ("00:00:00", "23:59:59Z", "24:00:00Z", "12:60:00")),
    *(f"2026-11-21T12:30:15{end}" for end in (".5", ".50", ".123456789Z", ".1234567891", ".")),
    *("2026-11-21T12:30:15+01:00", "2026-11-21T12:30:15Z0", "2026-11-21T12:30"),
)
TEXTS = ("", "plain", 'a "quote"', "a\nb\t\\", "naïve ☃ 𝄞", "\x00\x7f\x85\u2028\ufffe\uffff")


def literals() -> Iterator[Literal]:
    for name in ("integer", "decimal", "double", "float", "int", "long", "byte", "string"):
        yield from (Literal(lex, None, XSD + name) for lex in NUMBERS)
    for name in ("date", "dateTime", "time", "gYear", "duration"):
        yield from (Literal(lex, None, XSD + name) for lex in (*TIMES, "P12M"))
    for lex in (*TEXTS, "true", "false", "1", "TRUE"):
        yield Literal(lex)
        for tag in ("en", "EN", "en-GB", "de-at", "zh-hant-tw"):
            yield Literal(lex, tag)
        for datatype in (f"{XSD}boolean", f"{XSD}anyURI", f"{XSD}token", XSD, "urn:type"):
            yield Literal(lex, None, datatype)


def rows(star: bool = False) -> list[Operation]:
    """A log with everything, in transactions of several kinds."""
    made = [header("id", Iri("urn:1")), header("note", Literal("01", None, f"{XSD}integer"))]
    nodes = itertools.cycle([Iri("http://example.org/s"), BlankNode("b"), BlankNode("a b")])
    graphs = itertools.cycle([DEFAULT_GRAPH, Iri("urn:g"), BlankNode("g")])
    for number, literal in enumerate(literals()):
        quad = Quad(next(nodes), P, literal, next(graphs) if number > 99 else DEFAULT_GRAPH)
        if star and number % 9 == 0:
            quad = quad._replace(object=Triple(next(nodes), P, literal))
        kind = delete if number % 5 == 3 else add
        if number % 50 == 0:
            made += [BEGIN, add_namespace("ex", Iri("urn:ex#"), Iri("urn:n"))]
        made += [kind(quad)] * (2 if number % 7 == 0 else 1)
        if number % 50 == 49:
            made += [ABORT if number % 3 == 0 else COMMIT]
        if number % 150 == 149:
            made += [END, delete_namespace("ex", None, DEFAULT_GRAPH)]
    return [*made, COMMIT, END]


def frames(operations: list[Operation], **settings: Any) -> list[bytes]:
    options = PatchOptions(rdf_star=True, **settings)
    encoder = PatchEncoder(options, frame_rows=64)
    return [*encoder.add(operations), *encoder.finish()]


def decoded(decoder: Any, data: list[bytes]) -> list[OperationColumns]:
    batches = [batch for frame in data for batch in decoder.decode(frame)]
    return [*batches, *decoder.finish()]


def operations_in(batches: list[OperationColumns]) -> list[Operation]:
    """Convert columns to operations, with terms as text."""
    return [row for batch in batches for row in operations_of(batch)]


def expected_of(data: list[bytes], factory: Any, *, whole: bool = True) -> list[Operation]:
    decoder = PatchDecoder(factory)
    found = [row for frame in data for row in decoder.decode(frame).operations]
    return [
        Operation(kind, (*value, "")[:4]) if type(value) is tuple else Operation(kind, value)
        for kind, value in [*found, *(decoder.finish() if whole else [])]
    ]


@pytest.mark.parametrize("notation", [Notation.RDF_STAR, Notation.RDF_1_2])
@pytest.mark.parametrize("batch_rows", [1, 7, 1 << 14])
def test_columns_contain_the_operations(
    kernel: Kernel, notation: Notation, batch_rows: int
) -> None:
    data = frames(rows(star=True))
    batches = decoded(kernel.PatchColumnDecoder(notation, batch_rows=batch_rows), data)
    assert operations_in(batches) == expected_of(data, WholeTexts(notation))
    if batch_rows == 7:
        assert max(batch.statements.rows for batch in batches) == 7


@pytest.mark.parametrize("batch_rows", [1, 2, 4, 5])
def test_a_batch_filled_by_the_end_of_a_patch(kernel: Kernel, batch_rows: int) -> None:
    data = frames([BEGIN, COMMIT, BEGIN, COMMIT, END], stream_type=PatchStreamType.FRAME)
    decoder = kernel.PatchColumnDecoder(Notation.RDF_1_2, batch_rows=batch_rows)
    assert len(data) == 1
    found = [[row for _, row in batch.others] for batch in decoder.decode(data[0])]
    left = [[row for _, row in batch.others] for batch in decoder.finish()]
    rows = [BEGIN, COMMIT, BEGIN, COMMIT, END]
    whole = [rows[at : at + batch_rows] for at in range(0, len(rows), batch_rows)]
    full = len(rows) // batch_rows
    assert (found, left) == (whole[:full], whole[full:])


def test_a_validator_makes_the_text(kernel: Kernel) -> None:
    good: list[Operation] = []
    for row in [*rows(star=True)[:-2], add(Quad(P, P, Literal("a", "en--ltr"), P)), COMMIT, END]:
        data = frames([BEGIN, row, COMMIT, END]) if type(row.value) is Quad else []
        try:
            if data:
                expected_of(data, RowFactory())
        except JellyError:
            # A literal that Oxigraph rejects.
            continue
        good.append(row)
    assert len(good) > 500
    data = frames(good)
    for batch_rows in (3, 1 << 14):
        decoder = kernel.PatchColumnDecoder(
            Notation.RDF_1_2, validator=RowFactory(), batch_rows=batch_rows
        )
        assert operations_in(decoded(decoder, data)) == expected_of(data, RowFactory())


@pytest.mark.parametrize("statement_type", list(PatchStatementType)[-2:])
@pytest.mark.parametrize("stream_type", [each for each in PatchStreamType if each])
def test_types_of_streams(
    kernel: Kernel, statement_type: PatchStatementType, stream_type: PatchStreamType
) -> None:
    triples = statement_type is PatchStatementType.TRIPLES
    terms = (Iri("urn:s"), P, Literal("o"))
    statement: Any = Triple(*terms) if triples else Quad(*terms, Iri("urn:g"))
    operations = [BEGIN, add(statement), delete(statement), COMMIT]
    data = frames([*operations, END], statement_type=statement_type, stream_type=stream_type)
    found = operations_in(decoded(kernel.PatchColumnDecoder(), data))
    assert found == expected_of(data, WholeTexts())
    assert found[-1] == END


REJECTED = {
    "an IRI": Quad(Iri("urn:a b"), P, Iri("urn:o"), DEFAULT_GRAPH),
    "a relative IRI": Quad(Iri("urn:s"), P, Iri("o"), DEFAULT_GRAPH),
    "a datatype": Quad(Iri("urn:s"), P, Literal("x", None, "a b"), DEFAULT_GRAPH),
    "a language tag": Quad(Iri("urn:s"), P, Literal("x", "abcdefghijk"), DEFAULT_GRAPH),
    "a quoted subject": Quad(Triple(P, P, P), P, P, DEFAULT_GRAPH),
    "a literal subject": Quad(Literal("s"), P, P, DEFAULT_GRAPH),
    "a blank predicate": Quad(P, BlankNode("p"), P, DEFAULT_GRAPH),
    "a literal as graph": Quad(P, P, P, Literal("g")),
}


@pytest.mark.parametrize("what", REJECTED)
def test_terms_that_the_validator_rejects(kernel: Kernel, what: str) -> None:
    good = [add(Quad(Iri(f"urn:s{n}"), P, Literal(str(n)), DEFAULT_GRAPH)) for n in range(100)]
    data = frames(
        [BEGIN, *good, add(REJECTED[what]), *good, COMMIT, END], generalized_statements=True
    )
    with pytest.raises(JellyError) as expected:
        expected_of(data, RowFactory())
    with pytest.raises(JellyError) as found:
        decoded(kernel.PatchColumnDecoder(Notation.RDF_1_2, validator=RowFactory()), data)
    assert str(found.value) == str(expected.value)
    assert (found.value.frame, found.value.row) == (expected.value.frame, expected.value.row)
    assert found.value.frame
    assert found.value.row is not None


def test_a_literal_as_graph_of_a_namespace(kernel: Kernel) -> None:
    rows = [BEGIN, add_namespace("ex", Iri("urn:ex#"), Literal("x" * 300)), COMMIT, END]
    decoder = kernel.PatchColumnDecoder()
    before = frames([header("id", Literal("x")), BEGIN, COMMIT, END], generalized_statements=True)
    assert not list(decoder.decode(before[0]))
    with pytest.raises(TermError, match="graph of a namespace") as rejected:
        list(decoder.decode(frames(rows, generalized_statements=True)[0]))
    # After the rows of options, start and entries.
    assert (rejected.value.frame, rejected.value.row) == (1, 4)
    assert decoder.next_frame == 1
    with pytest.raises(OrderError, match="after an error") as again:
        list(decoder.decode(before[0]))
    assert again.value.frame == 1
    [batch] = decoder.flush()
    assert next(row.kind for _, row in batch.others) == OperationKind.HEADER


def test_the_error_of_the_validator_is_raised(kernel: Kernel) -> None:
    """The validator accepts a base direction, which N-Triples cannot express: that is not the
    error.
    """
    row = w.delete(None, w.iri(name=1), w.literal("x", lang="en--ltr"))
    data = w.frame(w.options(w.FRAME), w.name("urn:p"), row)
    decoder = kernel.PatchColumnDecoder(validator=RowFactory())
    with pytest.raises(StatementError, match="the subject repeats"):
        list(decoder.decode(data))


def test_headers_and_namespaces_have_text(kernel: Kernel) -> None:
    value = Triple(BlankNode("b"), P, Literal("x", "en"))
    rows = [header("v", value), BEGIN, delete_namespace("ex", None, DEFAULT_GRAPH), COMMIT, END]
    found = operations_in(decoded(kernel.PatchColumnDecoder(), frames(rows)))
    assert found[0].value == Header("v", '<<( _:b <urn:p> "x"@en )>>')
    assert found[2].value == Namespace("ex", None, "")


TEXTS_OF_A_VALIDATOR = """
from jelly_plugins.codec import *
from jelly_plugins.codec.patch.operations import BEGIN, COMMIT, END, add
from jelly_plugins.oxigraph.rows import RowFactory

def statement(number):
    lex = Literal(f"0{number}", None, "http://www.w3.org/2001/XMLSchema#integer")
    return add(Quad(Iri("urn:s"), Iri("urn:p"), lex, DEFAULT_GRAPH))

encoder = PatchEncoder(PatchOptions(), frame_rows=10_000)
frames = encoder.add([BEGIN, *map(statement, range(3000)), COMMIT, END]) + encoder.finish()
decoder = PatchColumnDecoder(validator=RowFactory())
batches = [batch for frame in frames for batch in decoder.decode(frame)] + decoder.finish()
print(sum(batch.statements.rows for batch in batches))
"""


def test_texts_of_a_validator_are_freed_with_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's debug allocator ends the process otherwise."""
    native()
    monkeypatch.setenv("PYTHONMALLOC", "debug")
    done = programs.run(TEXTS_OF_A_VALIDATOR)
    assert (done.stdout, done.returncode) == ("3000\n", 0), done.stderr
