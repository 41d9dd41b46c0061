from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jelly_plugins import (
    DEFAULT_GRAPH,
    BlankNode,
    Iri,
    JellyError,
    LimitError,
    Limits,
    Literal,
    Quad,
    TermError,
    Triple,
)
from jelly_plugins.codec import DEFAULT_LIMITS, Encoder, StreamOptions, delimit
from jelly_plugins.codec.text.lines import LABEL
from jelly_plugins.codec.text.ntriples import (
    Dialect,
    LineParser,
    Notation,
    parse_nquads,
    parse_ntriples,
    read_label,
    statement_text,
    term_text,
    written_label,
)
from jelly_plugins.codec.text.transcoding import TextDecoder, TextEncoder
from jelly_plugins.errors import TextError
from jelly_plugins.io.streams import infer_options, read

from ..fuzz.comparison import native
from ..ntriples import write_lines
from ..shared_data import shared
from .conftest import Kernel

S, P, O = (Iri(f"urn:{name}") for name in "spo")  # noqa: E741
LINE = "<urn:s> <urn:p> <urn:o> .\n"


def test_agrees_with_the_texts_of_the_official_jelly_suite() -> None:
    files = sorted(shared("conformance/jelly-rdf").rglob("*.n[tq]"))
    assert len(files) > 200
    for path in files:
        parser = parse_nquads if path.suffix == ".nq" else parse_ntriples
        statements: list[Any] = list(parser(path.read_bytes(), generalized=True))
        again = parser(b"".join(write_lines(statements)), generalized=True)
        assert list(again) == statements, path


@pytest.mark.parametrize("name", ["so.nt.gz", "qudt-vocab.nt.gz"])
def test_real_data_is_written_as_it_was_read(name: str) -> None:
    data = gzip.decompress(shared(f"data/{name}").read_bytes())
    assert b"".join(write_lines(parse_ntriples(data))) == data


# Reading


def test_terms() -> None:
    text = '<urn:a\\u00e9> <urn:p> "t\\tn\\n\\U0001F600"^^<urn:d> _:g.1 . # done\n'
    assert list(parse_nquads(text)) == [
        Quad(Iri("urn:aé"), P, Literal("t\tn\n😀", datatype="urn:d"), BlankNode("g.1"))
    ]
    assert list(parse_nquads(LINE)) == [Quad(S, P, O, DEFAULT_GRAPH)]
    string = '<urn:s> <urn:p> "x"^^<http://www.w3.org/2001/XMLSchema#string> .'
    assert list(parse_ntriples(string)) == [Triple(S, P, Literal("x"))]


@pytest.mark.parametrize("quads", [False, True])
def test_chunks_of_any_size_and_any_line_ends(quads: bool) -> None:
    parser = parse_nquads if quads else parse_ntriples
    text = (LINE + "\n" + '# é\n<urn:s> <urn:p> "é😀" . # é\n' + LINE.rstrip()).encode()
    for end in (b"\n", b"\r", b"\r\n", b"\n\r\n"):
        data = text.replace(b"\n", end)
        whole = list(parser(data))
        assert len(whole) == 3
        for size in range(1, 20):
            chunks = [data[pos : pos + size] for pos in range(0, len(data), size)]
            assert list(parser(chunks)) == whole
        with pytest.raises(TextError) as caught:
            list(parser([bytes([byte]) for byte in data + end + b"x"]))
        assert caught.value.line == 1 + (data + end).replace(b"\r\n", b"\n").translate(
            bytes.maketrans(b"\r", b"\n")
        ).count(b"\n")


def test_statements_are_yielded_before_the_end_of_the_text() -> None:
    def chunks() -> Iterator[str]:
        yield LINE + LINE
        raise AssertionError("read on")

    assert next(parse_ntriples(chunks())) == Triple(S, P, O)


@pytest.mark.parametrize("opening", ["<< ", "<<( "])
def test_quoted_triples(opening: str) -> None:
    closing = opening[::-1].replace("<", ">").replace("(", ")")
    quoted = f"{opening}<urn:s> <urn:p> <urn:o>{closing}"
    both = f"{quoted} <urn:p> {quoted} .".replace(" ", "")
    assert list(parse_ntriples(both)) == [Triple(Triple(S, P, O), P, Triple(S, P, O))]
    with pytest.raises(TextError, match="has no quoted triples"):
        list(parse_ntriples(both, dialect=Dialect.RDF_1_1))
    with pytest.raises(TextError, match="line 1, column 1: TRIPLE as subject"):
        list(parse_ntriples(both, dialect=Dialect.RDF_1_2))
    with pytest.raises(TextError, match="TRIPLE as predicate"):
        list(parse_ntriples(f"<urn:s> {quoted} <urn:o> ."))


def test_generalized_statements() -> None:
    text = '"s"@en _:p <<( "s" <<( _:s "p" _:o )>> _:o )>> "g"^^<urn:d> .'
    [quad] = parse_nquads(text, generalized=True)
    assert quad == Quad(
        Literal("s", "en"),
        BlankNode("p"),
        Triple(Literal("s"), Triple(BlankNode("s"), Literal("p"), BlankNode("o")), BlankNode("o")),
        Literal("g", datatype="urn:d"),
    )
    assert statement_text(quad) == text
    with pytest.raises(TextError, match="LITERAL as subject"):
        list(parse_nquads(text))
    with pytest.raises(TextError, match="TRIPLE as graph"):
        list(parse_nquads(LINE.replace(".", "<< _:s <urn:p> _:o >> ."), dialect=Dialect.RDF_1_2))


def test_relative_iris() -> None:
    text = "<> <#p> <urn:o> ."
    with pytest.raises(TextError, match="relative"):
        list(parse_ntriples(text))
    assert list(parse_ntriples(text, relative_iris=True)) == [Triple(Iri(""), Iri("#p"), O)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("<urn:s> <urn:p> <urn:o>", "'.'"),
        ("<urn:s> <urn:p> .", "no object"),
        ("<urn:s> <urn:p> <urn:o> <urn:g> .", "'.'"),
        (LINE.strip() + LINE, "more than a comment"),
        ('<urn:s> <urn:p> "\\uD83D\\uDE00" .', "not a character"),
        ('<urn:s> <urn:p> "\\U00110000" .', "not a character"),
        ('<urn:s> <urn:p> "x"^^<\\ud800> .', "not a character"),
        ("<urn:s> <urn:p> << <urn:s> <urn:p> <urn:o> .", ">>"),
        ("<urn:s> <urn:p> <<( <urn:s> <urn:p> <urn:o> >> .", r"\)>>"),
        ("<urn:s> <urn:p> << <urn:s> <urn:p> >> .", "no object"),
        ('<urn:s> <urn:p> "x"@en--ltr .', "base direction"),
        ('<urn:s> <urn:p> "x"@en--xyz .', "'.'"),
        ("<urn:s> <urn:p> _:o. .", "more than a comment"),
    ],
)
def test_rejected(line: str, message: str) -> None:
    with pytest.raises(TextError, match=message) as caught:
        list(parse_ntriples(f"{LINE}\n{line}\n{LINE}"))
    assert caught.value.line == 3
    assert "line 3, column" in str(caught.value)


def test_bad_utf_8() -> None:
    with pytest.raises(TextError, match="line 2, column 18: not valid UTF-8"):
        list(parse_ntriples(LINE.encode() + b'<urn:s> <urn:p> "\xff" .\n'))
    with pytest.raises(TextError, match="line 1, column 18: not valid UTF-8"):
        list(parse_ntriples('<urn:s> <urn:p> "\ud800" .\n'))


def test_limits() -> None:
    deep = "<urn:o>"
    for _ in range(65):
        deep = f"<< <urn:s> <urn:p> {deep} >>"
    with pytest.raises(LimitError, match="line 2: the depth of quoted triples is 65"):
        list(parse_ntriples(f"{LINE}<urn:s> <urn:p> {deep} ."))
    with pytest.raises(LimitError, match="line 1"):
        list(parse_ntriples("<<" * 100_000))
    long = f'<urn:s> <urn:p> "{"x" * 200}" .'
    small = Limits(frame_bytes=200)
    for chunks in (long, f"{LINE}{long}\n{LINE}", list(long)):
        with pytest.raises(LimitError, match="the length of a line"):
            list(parse_ntriples(chunks, limits=small))
    assert len(list(parse_ntriples(LINE * 100, limits=small))) == 100


@pytest.mark.parametrize("part", ["<urn:s", "_:a.", '"\\n', '"x"@a-', "<<(", " x", "\\"])
def test_hostile_lines_take_linear_time(part: str) -> None:
    # Quadratic time would not end in reasonable time.
    with pytest.raises(JellyError):
        list(parse_ntriples(part * 200_000))


# Writing


def test_terms_that_n_triples_cannot_express() -> None:
    with pytest.raises(TermError, match="language tag"):
        term_text(Literal("x", langtag="a b"))
    for term in (Literal("\ud800"), Iri("urn:\ud800"), BlankNode("\ud800")):
        with pytest.raises(TermError, match="surrogate"):
            term_text(term)


def test_both_notations_of_quoted_triples() -> None:
    triple = Triple(S, P, Triple(S, P, O))
    assert statement_text(triple) == "<urn:s> <urn:p> <<( <urn:s> <urn:p> <urn:o> )>> ."
    assert (
        statement_text(triple, Notation.RDF_STAR)
        == "<urn:s> <urn:p> << <urn:s> <urn:p> <urn:o> >> ."
    )


characters = st.characters(exclude_categories=["Cs"])
atoms = st.one_of(
    st.builds(Iri, st.text(characters)),
    st.builds(BlankNode, st.text(characters)),
    st.builds(Literal, st.text(characters)),
    st.builds(
        Literal, st.text(characters), st.from_regex("[A-Za-z]+(-[A-Za-z0-9]+)?", fullmatch=True)
    ),
    st.builds(lambda lex, iri: Literal(lex, None, iri), st.text(), st.text(characters)).filter(
        lambda literal: literal.lex.isprintable()
    ),
)
terms = st.recursive(atoms, lambda parts: st.builds(Triple, parts, parts, parts), max_leaves=6)


@given(st.lists(st.builds(Triple, terms, terms, terms)), st.sampled_from(Notation))
def test_whatever_is_written_can_be_read(triples: list[Triple], notation: Notation) -> None:
    text = b"".join(write_lines(triples, notation))
    assert list(parse_ntriples(text, generalized=True, relative_iris=True)) == triples


#: Labels, and labels that look like stand-ins, nested several times.
labels = st.recursive(
    st.text(characters) | st.sampled_from(["", "b0", "a b", "a.", "é"]),
    lambda inner: st.one_of(
        inner.map(lambda label: f"label-{label.encode().hex()}"),
        inner.map(lambda label: f"label-{label.encode().hex()[:-1]}"),
        inner.map(lambda label: f"label-{label.encode().hex().upper()}"),
        inner.map(written_label),
        inner.map(read_label),
    ),
    max_leaves=4,
)


@given(labels)
def test_labels_and_written_labels_are_one_to_one(label: str) -> None:
    written = written_label(label)
    assert re.fullmatch(LABEL, written)
    assert read_label(written) == label
    if re.fullmatch(LABEL, label):
        assert written_label(read_label(label)) == label


@given(st.lists(labels, min_size=1))
def test_labels_in_the_text_of_a_stream(labels: list[str]) -> None:
    """Both kernels write and read labels like the functions."""
    triples = [Triple(BlankNode(label), Iri("urn:p"), BlankNode(label)) for label in labels]
    nodes = [f"_:{written_label(label)}" for label in labels]
    text = "".join(f"{node} <urn:p> {node} .\n" for node in nodes).encode()
    options = infer_options(triples[0])
    encoder = Encoder(options)
    decoder = TextDecoder()
    frames = [*encoder.add(triples), *encoder.finish()]
    assert b"".join(chunk for frame in frames for chunk in decoder.decode(frame)) == text
    encoder = TextEncoder(options)
    frames = [*encoder.feed(text), *encoder.finish()]
    assert list(read(b"".join(map(delimit, frames)))) == triples


@given(st.text(json.dumps(LINE) + '<>"_:@^\\.\n\r#éx'))
def test_any_text_ends_in_statements_or_an_error(text: str) -> None:
    for parser in (parse_ntriples, parse_nquads):
        with suppress(JellyError):
            assert list(parser(LINE + text))


#: Characters with an escape, others that are rare, and one of each size in UTF-8.
SPECIAL = '"\\\n\r\t\b\f\0\x1f\x7f\uffff\ufffe\ufffdé€𝄞a'


@pytest.mark.parametrize("special", SPECIAL, ids=ascii)
def test_escapes_at_any_position(kernel: Kernel, special: str) -> None:
    texts = [
        "b" * before + special * times + "c" * after
        for before in range(18)
        for after in (0, 1, 7, 8, 9)
        for times in (1, 2, 9)
    ]
    texts += [special * 5000, f"{special}{'d' * 20}" * 400]
    triples = [Triple(S, P, Literal(text)) for text in texts]
    encoder = Encoder(StreamOptions(), frame_rows=1 << 20)
    [frame] = encoder.add(triples) + encoder.finish()
    text = b"".join(kernel.TextDecoder().decode(frame))
    assert text == b"".join(write_lines(triples))
    writer = kernel.TextEncoder(StreamOptions(), frame_rows=1 << 20)
    assert writer.feed(text) + writer.finish() == [frame]
    # Characters that need no escape in text may have one.
    escaped = "".join(f"\\U{ord(special):08X}" for _ in range(3))
    raw = "" if special in '"\\\n\r' else special
    for line in (
        f'<urn:s> <urn:p> "{"x" * 9}{raw}{escaped}{raw}yy" .\n',
        '<urn:s> <urn:p> "x' + raw,
    ):
        expected = outcome_of(TextEncoder, line.encode())
        assert outcome_of(kernel.TextEncoder, line.encode()) == expected


def outcome_of(encoder_class: Any, text: bytes) -> Any:
    encoder = encoder_class(StreamOptions())
    try:
        return encoder.feed(text) + encoder.finish()
    except JellyError as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", ["langString", "dirLangString"])
@pytest.mark.parametrize("dialect", Dialect)
def test_datatypes_of_tagged_strings_need_a_tag(
    kernel: Kernel, name: str, dialect: Dialect
) -> None:
    iri = f"http://www.w3.org/1999/02/22-rdf-syntax-ns#{name}"
    line = f'<urn:s> <urn:p> "x"^^<{iri}> .\n'
    message = f"a literal of type {iri} has no language tag"
    with pytest.raises(TextError, match=message):
        list(parse_ntriples(line, dialect=dialect))
    statement = Triple(S, P, Literal("x", datatype=iri))
    with pytest.raises(TermError, match=message):
        statement_text(statement)
    with pytest.raises(TextError, match=message):
        kernel.TextEncoder(StreamOptions(), dialect=dialect).feed(line.encode())
    # As the first statement, and as a subsequent one.
    for statements in ([statement], [Triple(S, P, O), statement]):
        encoder = Encoder(StreamOptions())
        encoder.add(statements)
        with pytest.raises(TermError, match=message) as caught:
            list(kernel.TextDecoder().decode(encoder.flush()))
        assert caught.value.frame == 0
        assert caught.value.row is not None


# Text in several chunks


@pytest.mark.parametrize("before", [b"", LINE.encode()])
def test_the_start_of_a_line_has_a_limit(kernel: Kernel, before: bytes) -> None:
    encoder = kernel.TextEncoder(StreamOptions(), limits=Limits(frame_bytes=200))
    assert encoder.feed(before + b"<urn:") == []
    with pytest.raises(LimitError, match="the length of a line is 205"):
        encoder.feed(b"s" * 200)
    encoder = kernel.TextEncoder(StreamOptions(), limits=Limits(frame_bytes=200))
    with pytest.raises(LimitError, match="the length of a line is 201"):
        encoder.feed(before + b"s" * 201)


def test_parsers_with_different_options() -> None:
    # An encoder may get lines of more than one parser.
    encoder = native().Encoder(StreamOptions())
    line = b"<relative> <urn:p> <urn:o> .\n"

    def parser(relative_iris: bool) -> LineParser:
        return LineParser(Dialect.RDF_STAR, False, relative_iris, DEFAULT_LIMITS, quads=False)

    for _ in range(3):
        encoder.add_text(line, parser(True))
        encoder.add_text(b"<urn:s> <urn:p> <urn:o> .\n", parser(True))
    with pytest.raises(TextError):
        encoder.add_text(line, parser(False))


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_lines_after_a_rejected_chunk(kernel: Kernel, end: bytes) -> None:
    line = LINE.encode().replace(b"\n", end)
    encoder = kernel.TextEncoder(StreamOptions())
    encoder.feed(line * 2)
    with pytest.raises(TextError) as caught:
        encoder.feed(line + b"bad" + end + line * 3)
    assert caught.value.line == 4
    with pytest.raises(TextError) as caught:
        encoder.feed(line + b"bad" + end)
    assert caught.value.line == 9
