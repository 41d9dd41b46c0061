"""RDF Patch text: every form that is read, the one form that is written."""

from __future__ import annotations

import io

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, parse

from jelly_plugins import DEFAULT_GRAPH, BlankNode, Iri, Limits, Literal, Quad, Triple
from jelly_plugins.codec import Operation, OperationKind, PatchStatementType
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
from jelly_plugins.codec.text.ntriples import Notation
from jelly_plugins.errors import (
    JellyError,
    LimitError,
    OrderError,
    StatementError,
    TermError,
    TextError,
    TruncatedError,
)
from jelly_plugins.patch import read_patches, write_patches
from jelly_plugins.patch.rows import ReadSettings, WriteSettings
from jelly_plugins.patch.text_rows import PatchTextReader, PatchTextWriter

S, P, OB, G = Iri("urn:s"), Iri("urn:p"), Iri("urn:o"), Iri("urn:g")
XSD = "http://www.w3.org/2001/XMLSchema#"
QUADS = PatchStatementType.QUADS
TRIPLES = PatchStatementType.TRIPLES


def read(
    text: str | bytes,
    statement_type: PatchStatementType = QUADS,
    *,
    generalized: bool = False,
    limits: Limits | None = None,
) -> list[Operation]:
    settings = ReadSettings(
        statement_type=statement_type, generalized=generalized, limits=limits or Limits()
    )
    reader = PatchTextReader(settings)
    rows = [row for batch in reader.batches(text) for row in batch]
    return [*rows, *(row for batch in reader.ending() for row in batch)]


def write(rows: list[Operation], *, continues: bool = False) -> str:
    writer = PatchTextWriter(continues=continues)
    text = b"".join(writer.write(rows)).decode()
    writer.finish()
    return text


def quad(*terms: object) -> Quad:
    return Quad._make(terms if len(terms) == 4 else (*terms, DEFAULT_GRAPH))


# Rows


def test_text_in_chunks() -> None:
    text = "TX .\nA <urn:s> <urn:é> 'x' .\n".replace("'", '"').encode()
    reader = PatchTextReader(ReadSettings())
    rows = [row for batch in reader.batches(bytes((byte,)) for byte in text) for row in batch]
    assert rows == [BEGIN, add(quad(S, Iri("urn:é"), Literal("x")))]
    assert reader.inside_patch
    with pytest.raises(TruncatedError, match="line 3: the text ends inside a transaction"):
        list(reader.ending())


def test_triples_and_quads() -> None:
    text = 'A <urn:s> <urn:p> <urn:o> .\nPA "x" <urn:s> .\nPD "x" .'
    assert read(text, TRIPLES) == [
        add(Triple(S, P, OB)),
        add_namespace("x", S),
        delete_namespace("x"),
        END,
    ]
    for row in (
        "A <urn:s> <urn:p> <urn:o> <urn:g> .",
        'PA "x" <urn:s> <urn:g> .',
        'PD "x" <_:g> .',
    ):
        with pytest.raises(TextError, match="graph in a patch of triples"):
            read(row, TRIPLES)
        with pytest.raises(TextError, match="graph in a patch of triples"):
            # Not in the usual form, so that it is read term by term.
            read(row.replace("A <urn:s>", "A _:s"), TRIPLES)


# What other tools write


def test_apache_jena() -> None:
    # Numbers and booleans in short, the IRI of a namespace as a string.
    text = """H id <uuid:0c36e3f0-0000-0000-0000-000000000000> .
TB .
PA "ex" "urn:ex#" .
A <_:B0> <urn:p> 12 .
A <_:B0> <urn:p> -1.5 .
A <_:B0> <urn:p> 1e6 .
A <_:B0> <urn:p> true .
A <_:B0> <urn:p> <<( <_:B0> <urn:p> .5 )>> .
TC .
"""
    b = BlankNode("B0")
    values = [("12", "integer"), ("-1.5", "decimal"), ("1e6", "double"), ("true", "boolean")]
    quoted = Triple(b, P, Literal(".5", datatype=XSD + "decimal"))
    assert read(text) == [
        header("id", Iri("uuid:0c36e3f0-0000-0000-0000-000000000000")),
        BEGIN,
        add_namespace("ex", Iri("urn:ex#"), DEFAULT_GRAPH),
        *(add(quad(b, P, Literal(lex, datatype=XSD + kind))) for lex, kind in values),
        add(quad(b, P, quoted)),
        COMMIT,
        END,
    ]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")
def test_rdflib_reads_and_writes_the_same() -> None:
    dataset = rdflib.Dataset()
    dataset.add(
        (rdflib.URIRef("urn:s"), rdflib.URIRef("urn:p"), rdflib.Literal('é "x"', lang="en"))
    )
    dataset.add(
        (rdflib.BNode("b"), rdflib.URIRef("urn:p"), rdflib.Literal(1), rdflib.URIRef("urn:g"))
    )
    text = dataset.serialize(format="patch", operation="add", header_prev="uuid:0")
    rows = read(text)
    one = Literal("1", datatype=XSD + "integer")
    assert set(rows[3:-2]) == {
        add(quad(S, P, Literal('é "x"', langtag="en"))),
        add(quad(BlankNode("b"), P, one, G)),
    }
    written = write([BEGIN, *rows[3:-2], COMMIT, END])
    again = rdflib.Dataset()
    again.parse(data=written, format="patch")
    assert set(again.quads()) == set(dataset.quads())


def test_names_and_keys_with_and_without_quotes() -> None:
    rows = read("PA ex: <urn:x> . PA ex <urn:x> . PA 'ex' <urn:x> . PA \"ex\" <urn:x> .")
    assert rows[:-1] == [add_namespace("ex", Iri("urn:x"), DEFAULT_GRAPH)] * 4
    assert read('PD "ex:" .')[0] == delete_namespace("ex:", None, DEFAULT_GRAPH)
    rows = read('H a-b 1 . H "a b" 1 . H \'c\' 1 . H "" 1 . H "\\"" 1 . Z .')
    assert [row.value.key for row in rows[:-1]] == ["a-b", "a b", "c", "", '"']


def test_blank_nodes() -> None:
    text = "A <_:a> <urn:p> _:a.b <_:a\\u0020b> ."
    assert read(text)[0] == add(quad(BlankNode("a"), P, BlankNode("a.b"), BlankNode("a b")))
    assert read("H x _:a . Z .")[0] == header("x", BlankNode("a"))


# Where patches end


def test_headers_open_patches() -> None:
    one, two = header("id", Iri("urn:1")), header("id", Iri("urn:2"))
    prev = header("prev", Iri("urn:1"))
    text = "H id <urn:1> . TX . TC . H id <urn:2> . H prev <urn:1> . TX . TC ."
    assert read(text) == [one, BEGIN, COMMIT, END, two, prev, BEGIN, COMMIT, END]
    text = "H id <urn:1> . TX . TC . H prev <urn:1> . H id <urn:2> . Z ."
    assert read(text) == [one, BEGIN, COMMIT, END, prev, two, END]
    assert read("H id <urn:1> . H id <urn:2> . Z .") == [one, END, two, END]
    # Other headers may stand anywhere, and inside a transaction all may.
    text = "H id <urn:1> . TX . H id <urn:2> . TC . H x <urn:1> ."
    assert read(text) == [one, BEGIN, two, COMMIT, header("x", Iri("urn:1")), END]


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([], ""),
        ([END], "Z .\n"),
        ([END, END], "Z .\nZ .\n"),
        ([BEGIN, COMMIT, END], "TX .\nTC .\n"),
        ([BEGIN, COMMIT, END, END], "TX .\nTC .\nZ .\nZ .\n"),
        ([END, BEGIN, COMMIT, END], "Z .\nTX .\nTC .\n"),
        ([BEGIN, COMMIT, END, BEGIN, ABORT, END], "TX .\nTC .\nZ .\nTX .\nTA .\n"),
        ([header("id", S), END], "H id <urn:s> .\nZ .\n"),
    ],
)
def test_z_is_written_where_it_is_needed(rows: list[Operation], text: str) -> None:
    assert write(rows) == text
    assert read(text) == rows


def test_text_that_another_writer_began_is_continued() -> None:
    assert write([BEGIN, COMMIT, END], continues=True) == "Z .\nTX .\nTC .\n"
    assert write([], continues=True) == ""


def test_headers_inside_a_transaction_open_no_patch() -> None:
    rows = [add(quad(S, P, OB)), header("x", S), BEGIN, header("id", S), COMMIT, END]
    assert read(write(rows)) == rows


def test_a_patch_that_holds_several_is_written_as_those() -> None:
    for first, second in (
        ([BEGIN, COMMIT], [header("id", S)]),
        (
            [header("id", S), add(quad(S, P, OB))],
            [header("prev", S), header("id", P), BEGIN, ABORT],
        ),
    ):
        assert read(write([*first, *second, END])) == [*first, END, *second, END]
    with pytest.raises(OrderError, match="would open another patch"):
        write([header("id", S), header("id", P), END])


def test_long_terms_that_repeat_are_bounded_by_patch() -> None:
    rows = [add(quad(S, P, Literal("x" * 1000 * size))) for size in (1, 2, 2, 2)]
    limits = Limits(frame_expansion=5000)
    patch = [*rows, END]
    text = b"".join(PatchTextWriter(WriteSettings(limits=limits)).write([*patch, *patch[:-2], END]))
    assert text.count(b"\n") == 8
    with pytest.raises(LimitError, match="frame_expansion"):
        list(PatchTextWriter(WriteSettings(limits=limits)).write([*rows, rows[-1], END]))


def test_rows_are_written_in_order() -> None:
    for rows in ([COMMIT], [BEGIN, BEGIN], [BEGIN, END], [ABORT]):
        with pytest.raises(OrderError, match="side a transaction"):
            write(rows)
    with pytest.raises(OrderError, match="not ended"):
        write([BEGIN, COMMIT])


# What is written


def test_what_is_written_is_plain() -> None:
    rows = [
        header("id", S),
        header("a key", Literal("x", langtag="en")),
        add_namespace("", S, DEFAULT_GRAPH),
        add_namespace("x", S, G),
        delete_namespace("x", None, DEFAULT_GRAPH),
        delete_namespace("x", None, G),
        delete_namespace("x", None, BlankNode("g")),
        delete_namespace("x", S, G),
        delete_namespace("x", S, DEFAULT_GRAPH),
        BEGIN,
        add(quad(BlankNode("b"), P, Literal("1", datatype=XSD + "integer"), G)),
        delete(quad(S, P, Triple(S, P, BlankNode("a b")))),
        COMMIT,
        BEGIN,
        ABORT,
        END,
    ]
    text = write(rows)
    assert text.splitlines() == [
        "H id <urn:s> .",
        'H "a key" "x"@en .',
        'PA "" <urn:s> .',
        'PA "x" <urn:s> <urn:g> .',
        'PD "x" .',
        'PD "x" <urn:g> .',
        'PD "x" <_:g> .',
        'PD "x" <urn:s> <urn:g> .',
        'PD "x" <urn:s> <urn:x-arq:DefaultGraph> .',
        "TX .",
        f'A <_:b> <urn:p> "1"^^<{XSD}integer> <urn:g> .',
        "D <urn:s> <urn:p> <<( <urn:s> <urn:p> <_:a\\u0020b> )>> .",
        "TC .",
        "TX .",
        "TA .",
    ]
    for same in (
        text,
        f"# A comment.\n\n{text}",
        text.replace(" .\n", " .   # another\n"),
        text.replace("\n", "\r\n"),
        text.removesuffix("\n"),
        f"{text}Z .\n",
    ):
        assert read(same) == read(same.encode()) == rows


def test_what_text_cannot_say() -> None:
    for term in (Iri("_:x"), Literal("x", langtag="no tag"), Literal("\ud800"), "x"):
        with pytest.raises(TermError):
            write([header("x", term)])
    with pytest.raises(StatementError, match="without an IRI"):
        write([add_namespace("x", None)])
    deep = Triple(S, P, OB)
    for _ in range(64):
        deep = Triple(S, P, deep)
    with pytest.raises(LimitError, match="nesting"):
        write([add(quad(S, P, deep))])


# What is rejected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("X .", "line 1, column 1: no row"),
        ("\n AB .", "line 2, column 2: no row"),
        ("<urn:s> <urn:p> <urn:o> .", "no row"),
        ("A", "line 1, column 2: no subject"),
        ("A .", "no subject"),
        ("A <urn:s> <urn:p> .", "no object"),
        ("A <urn:s> <urn:p> <urn:o>", "does not end here with a '.'"),
        ("A <urn:s> <urn:p> <urn:o> <urn:g> <urn:h> .", "does not end here"),
        ('A "s" <urn:p> <urn:o> .', "LITERAL as subject"),
        ("A <urn:s> _:p <urn:o> .", "BLANK_NODE as predicate"),
        ("A <urn:s> <_:p> <urn:o> .", "line 1, column 11: BLANK_NODE as predicate"),
        ('A <urn:s> <urn:p> <urn:o> "g" .', "LITERAL as graph"),
        ("A <urn:s> <urn:p> <urn:o> << <urn:s> <urn:p> <urn:o> >> .", "TRIPLE as graph"),
        ("A <urn:s> <urn:p> << <urn:s> <urn:p> >> .", "no object"),
        ("A <urn:s> <urn:p> << <urn:s> <urn:p> <urn:o> .", "does not end here with >>"),
        ("A <urn:s> <urn:p> <<( <urn:s> <urn:p> <urn:o> >> .", r"does not end here with \)>>"),
        ('A <urn:s> <urn:p> "x"@en--ltr .', "base direction"),
        ('A <urn:s> <urn:p> "\\uD800" .', "is not a character"),
        ("A <urn:s> <urn:p\\uDFFF> <urn:o> .", "is not a character"),
        ("A <urn:s p> <urn:p> <urn:o> .", "no subject"),
        ("H .", "no object"),
        ("H", "a header has no key"),
        ("H id .", "no object"),
        ("H id <urn:1> <urn:2> .", "does not end here"),
        ('PA "x" .', "a namespace is an IRI"),
        ('PA "x" <_:x> .', "a namespace is an IRI"),
        ('PA "x" <urn:x>', "does not end here"),
        ('PD "x"', "does not end here"),
        ('PD "x" <_:g> <urn:g> .', "does not end here"),
        ("TX", "does not end here"),
        ("TX . TX .", "column 6: a row TX inside a transaction"),
        ("TC .", "a row TC outside a transaction"),
        ("TA .", "a row TA outside a transaction"),
        ("TX . Z .", "a row Z inside a transaction"),
        ("TX . TC . TC .", "a row TC outside"),
        (b"A <urn:\xff> .", "not valid UTF-8"),
    ],
)
def test_malformed(text: str | bytes, message: str) -> None:
    line_end = b"\n" if isinstance(text, bytes) else "\n"
    with pytest.raises(TextError, match=message):
        read(text + line_end)  # type: ignore[operator]


def test_generalized_statements() -> None:
    text = 'A "s" <_:p> "o" "g" .\nA _:s _:p <urn:o> .'
    assert read(text, generalized=True)[:-1] == [
        add(quad(Literal("s"), BlankNode("p"), Literal("o"), Literal("g"))),
        add(quad(BlankNode("s"), BlankNode("p"), OB)),
    ]


def test_limits() -> None:
    with pytest.raises(LimitError, match="nesting"):
        read("A <urn:s> <urn:p> " + "<< <urn:s> <urn:p> " * 70)
    with pytest.raises(LimitError, match="length of a line"):
        read("H x 'y' .".ljust(101), limits=Limits(frame_bytes=100))
    writer = PatchTextWriter(WriteSettings(limits=Limits(frame_bytes=100)))
    assert writer.row(header("x", Literal("y" * 90)))
    with pytest.raises(LimitError, match="length of a line"):
        writer.row(header("x", Literal("y" * 100)))


@given(st.text("HADPTXCZ<>_:\"'.# \n\\@^0x"))
def test_noise(text: str) -> None:
    try:
        rows = read(text)
    except JellyError:
        return
    assert all(isinstance(row.kind, OperationKind) for row in rows)


def test_quoted_triples_in_both_notations() -> None:
    rows = [add(quad(S, P, Triple(S, P, OB))), END]
    inner = "<urn:s> <urn:p> <urn:o>"
    for notation, text in (
        (Notation.RDF_1_2, f"A <urn:s> <urn:p> <<( {inner} )>> .\n"),
        (Notation.RDF_STAR, f"A <urn:s> <urn:p> << {inner} >> .\n"),
    ):
        assert (
            b"".join(PatchTextWriter(WriteSettings(notation=notation)).write(rows)).decode() == text
        )
        assert read(text) == rows
    assert write(rows) == f"A <urn:s> <urn:p> <<( {inner} )>> .\n"
    # Apache Jena 5 and Oxigraph read no other form.
    assert list(parse(f"<urn:s> <urn:p> <<( {inner} )>> .".encode(), RdfFormat.N_TRIPLES))


def _bare(kind: type) -> object:
    """A term that was made without its parts."""
    made: object = kind.__new__(kind)
    return made


@pytest.mark.parametrize(
    ("term", "message"),
    [
        (Iri(None), "is not a string: None"),  # type: ignore[arg-type]
        (Iri([]), r"is not a string: \[\]"),  # type: ignore[arg-type]
        (BlankNode(3), "is not a string: 3"),  # type: ignore[arg-type]
        (Literal(5), "is not a string: 5"),  # type: ignore[arg-type]
        (Literal("x", 0), "is not a string: 0"),  # type: ignore[arg-type]
        (Literal("x", 5), "is not a string: 5"),  # type: ignore[arg-type]
        (Literal("x", None, 5), "is not a string: 5"),  # type: ignore[arg-type]
        (_bare(Iri), "a term was made without its parts"),
        (_bare(BlankNode), "a term was made without its parts"),
        (_bare(Literal), "a term was made without its parts"),
        (Triple(S, P, Iri(None)), "is not a string: None"),  # type: ignore[arg-type]
        ("urn:x", "'urn:x' is not a term of jelly_plugins"),
    ],
)
def test_terms_that_someone_made_wrongly(term: object, message: str) -> None:
    rows = [add(Triple(S, P, term)), header("id", term), add_namespace("x", term)]  # type: ignore[arg-type]
    for row in rows:
        for _ in range(2):
            with pytest.raises(TermError, match=message):
                list(PatchTextWriter().write([row]))


def test_names_that_are_no_text() -> None:
    with pytest.raises(TermError, match="a header's key is not a string: 5"):
        list(PatchTextWriter().write([header(5, S)]))  # type: ignore[arg-type]
    with pytest.raises(TermError, match="a namespace's name is not a string: None"):
        list(PatchTextWriter().write([add_namespace(None, S)]))  # type: ignore[arg-type]


def test_tagged_datatypes_without_a_tag_are_read_and_written_as_they_are() -> None:
    datatype = b"<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>"
    text = b'TX .\nA <urn:s> <urn:p> "a"^^' + datatype + b" .\nTC .\n"
    out = io.BytesIO()
    write_patches(read_patches(text, format="rdfp"), out, format="rdfp")
    assert out.getvalue() == text
