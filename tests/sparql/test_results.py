"""Results in every format: reading, writing, detection and errors."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest

from jelly_plugins import (
    BlankNode,
    Iri,
    Limits,
    Literal,
    SourceError,
    Triple,
    TruncatedError,
    write,
)
from jelly_plugins.errors import (
    JellyError,
    LimitError,
    LookupTableError,
    OptionsError,
    OrderError,
    StatementError,
    TermError,
    TextError,
    WireError,
)
from jelly_plugins.io.chunks import ChunkFile
from jelly_plugins.sparql import (
    ResultsFormat,
    encode_results,
    format_named,
    read_results,
    write_boolean,
    write_results,
)

from ..codec.input_kinds import Trickle
from ..fuzz.streams import damaged
from ..jena.kernels import result_rows
from ..shared_data import shared

INT = "http://www.w3.org/2001/XMLSchema#integer"
NAMES = ["a", "b"]
SOLUTIONS: list[tuple[Any, ...]] = [
    (Iri("http://e.org/a"), Literal('x"\n', "en")),
    (None, Literal("1", None, INT)),
    (BlankNode("b"), Literal("")),
    (Iri("http://e.org/é"), None),
]
EXACT = [each for each in ResultsFormat if each is not ResultsFormat.CSV]
W3C = [ResultsFormat.JSON, ResultsFormat.XML, ResultsFormat.CSV, ResultsFormat.TSV]
QUOTING = [each for each in EXACT if each is not ResultsFormat.JELLY]
WITH_BOOLEAN = [each for each in EXACT if each.jena is None]


S = Iri("urn:s")
LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"


def written(
    form: ResultsFormat, names: list[str] = NAMES, rows: Any = SOLUTIONS, **settings: Any
) -> bytes:
    file = io.BytesIO()
    write_results(names, rows, file, format=form, **settings)
    return file.getvalue()


def written_boolean(value: bool, form: Any) -> bytes:
    file = io.BytesIO()
    write_boolean(value, file, format=form)
    return file.getvalue()


def read(data: bytes, form: Any, **settings: Any) -> list[tuple[Any, ...]]:
    """Read solutions at once and in small chunks, which must agree."""
    found = []
    for source in (data, Trickle(data)):
        with read_results(source, format=form, **settings) as results:
            found.append(list(results))
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize("form", EXACT)
def test_there_and_back(form: ResultsFormat, tmp_path: Path) -> None:
    path = tmp_path / f"x.{form}.gz"
    write_results(NAMES, SOLUTIONS, path)
    assert gzip.decompress(path.read_bytes()) == written(form)
    with read_results(path) as results:
        assert (results.variables, results.boolean, results.format) == (NAMES, None, form)
        assert list(results) == SOLUTIONS
    many = [(Iri(f"urn:{number % 999}"), None) for number in range(10_000)]
    with read_results(io.BytesIO(written(form, rows=many)), format=form.media_type) as results:
        assert list(results) == many
    if form is not ResultsFormat.TSV:
        assert read_results(written(form)).format is form


@pytest.mark.parametrize("form", WITH_BOOLEAN)
def test_ask(form: ResultsFormat) -> None:
    for value in (True, False):
        with read_results(written_boolean(value, form), format=form) as results:
            assert (results.boolean, results.variables, list(results)) == (value, [], [])


def test_data_after_the_result_of_ask_is_read() -> None:
    data = written_boolean(True, "jellys")
    metadata = bytes.fromhex("077a050a016b1200")
    assert read_results(data + metadata).boolean is True
    for rest, error in ((b"\x02\x18\x01", OrderError), (b"\x05\x18", TruncatedError)):
        with pytest.raises(error, match="frame 1"):
            read_results(data + rest)


# Terms


def random_term(draw: Random, depth: int) -> Any:
    """Make a term that every format with quoted triples keeps.

    :param depth: of quoted triples, at most.
    """
    text = "".join(
        draw.choices("aé\U0001f600\"'\\\n\r\t<>&] ,\x7f\x85\u2028\ue000.@_:1", k=draw.randrange(6))
    )
    kind = draw.randrange(6 if depth else 5)
    if kind == 0:
        return Iri(draw.choice(("http://e.org/", "urn:", "http://[é/#a#")) + draw.choice("aé%"))
    if kind == 1:
        return BlankNode(draw.choice((text, "label-", "label-61", "x.y", "nodeID://1")))
    if kind == 2:
        return Literal(text, draw.choice((None, "en", "EN-gb", "i", "ar--rtl")))
    if kind == 3:
        return Literal(text, None, "urn:d" if depth < 2 else LANG_STRING)
    if kind == 4:
        name = draw.choice(("integer", "decimal", "double", "boolean"))
        lex = draw.choice(("1", "+01", "1.", ".5", "1e5", "1.e5", "true", "TRUE", ""))
        return Literal(lex, None, INT.replace("integer", name))
    subject: Any = None
    while not isinstance(subject, Iri | BlankNode):
        subject = random_term(draw, 0)
    return Triple(subject, S, random_term(draw, 1 if depth > 1 and draw.random() < 0.5 else 0))


@pytest.mark.parametrize("form", EXACT)
def test_random_results(form: ResultsFormat) -> None:
    for seed in range(200):
        draw = Random(seed)
        names = ["a", "é", "_1", "x\u0300"][: draw.randrange(5)]
        depth = 2 if form in QUOTING else 0
        rows = [
            tuple(random_term(draw, depth) if draw.random() < 0.8 else None for _ in names)
            for _ in range(draw.randrange(5))
        ]
        assert read(written(form, names, rows), form) == rows


def test_csv_has_no_kinds() -> None:
    data = (
        b'\xef\xbb\xbfa,"b"\r\nhttp://e.org/a,"x, ""y""\r\n"\nurn:a,_:label-612062\r1,\n,https://e'
    )
    assert read(data, "csv") == [
        (Iri("http://e.org/a"), Literal('x, "y"\r\n')),
        (Literal("urn:a"), BlankNode("a b")),
        (Literal("1"), None),
        (None, Iri("https://e")),
    ]
    # The number of variables determines the contents of a line.
    assert read(b"a\n\n", "csv") == [(None,)]
    assert read(b"\r\n\r\n\r\n", "csv") == [(), ()]
    many = [(Iri(f"http://e.org/{n}"), Literal("x" * 200_000)) for n in range(20)]
    assert list(read_results(written(ResultsFormat.CSV, rows=many), format="csv")) == many


def test_cells_of_csv() -> None:
    """Cells are quoted if needed; literals that begin like other terms remain literals."""
    rows = [
        (Iri("http://e.org/Paris,_Texas"), Literal('x"\r\n, y')),
        (BlankNode("b"), None),
        *((None, Literal(text)) for text in ("http://e.org is down", "_:", "_: x", "https://<a>")),
    ]
    data = written(ResultsFormat.CSV, rows=rows)
    assert data.startswith(b'a,b\r\n"http://e.org/Paris,_Texas","x""\r\n, y"\r\n_:b,\r\n')
    assert read(data, "csv") == rows
    theirs = list(csv.reader(io.StringIO(data.decode(), newline="")))
    assert theirs[1:3] == [["http://e.org/Paris,_Texas", 'x"\r\n, y'], ["_:b", ""]]
    # Python's reader, among others, skips empty lines.
    single = written(ResultsFormat.CSV, ["a"], [(None,), (Literal(""),)])
    assert list(csv.reader(io.StringIO(single.decode()))) == [["a"], [""], [""]]


def test_forms_of_terms_in_tsv() -> None:
    cells = {
        "1": Literal("1", None, INT),
        "-.5": Literal("-.5", None, INT.replace("integer", "decimal")),
        "1e0": Literal("1e0", None, INT.replace("integer", "double")),
        "true": Literal("true", None, INT.replace("integer", "boolean")),
        "'it\\t\\u00e9'": Literal("it\té"),
        '"a"@en-GB': Literal("a", "en-GB"),
        '"a"@ar--rtl': Literal("a", "ar--rtl"),
        "_:nodeID": BlankNode("nodeID"),
        "<urn:\\u00e9>": Iri("urn:é"),
        f'"1"^^<{INT}>': Literal("1", None, INT),
        "<< <urn:s> <urn:s> <<(<urn:s> <urn:s> 1)>> >>": Triple(
            S, S, Triple(S, S, Literal("1", None, INT))
        ),
        "": None,
    }
    data = "\ufeff?x\t$y\r\n" + "".join(f"{cell}\t\r\n" for cell in cells)
    with read_results(Trickle(data.encode()), format="tsv") as results:
        assert results.variables == ["x", "y"]
        assert list(results) == [(term, None) for term in cells.values()]
    written_again = written(ResultsFormat.TSV, ["x"], [(term,) for term in cells.values()])
    assert b"\n1\n-.5\n1e0\ntrue\n" in written_again
    assert [row[0] for row in read_results(written_again, format="tsv")] == list(cells.values())


@pytest.mark.parametrize("form", W3C)
def test_names_of_variables(form: ResultsFormat) -> None:
    names = ["1", "é", "a·", "_x", "\U00010000", "a\u203f", "x\u0300"]
    rows = [tuple(Literal(name) for name in names)]
    with read_results(written(form, names, rows), format=form) as results:
        assert (results.variables, list(results)) == (names, rows)
    for wrong in (["a-b"], ["·"], ["a b"], ["a.b"], ["\u203f"], [""], ["a", "a"]):
        with pytest.raises(TermError):
            written(form, wrong, [])


@pytest.mark.parametrize("form", W3C)
@pytest.mark.parametrize(
    "cell",
    [
        Iri("urn:a b"),
        Iri("relative"),
        Iri("urn:\ud800"),
        Literal("\ud800"),
        Literal("x", "not a tag"),
        Literal("x", None, "not an IRI"),
        Triple(Literal("x"), S, S),
        Triple(Triple(S, S, S), S, S),
        Triple(S, BlankNode("p"), S),
        Triple(S, S, Triple(S, S, Iri("urn:a b"))),
        "x",
        [],
    ],
)
def test_terms_that_the_text_formats_cannot_express(form: ResultsFormat, cell: Any) -> None:
    file = io.BytesIO()
    with pytest.raises(TermError, match="row 2") as caught:
        write_results(["a"], [(S,), (cell,)], file, format=form)
    assert caught.value.row == 2
    assert b"urn:s" not in file.getvalue()


@pytest.mark.parametrize("form", W3C)
def test_quoted_triples_that_are_too_deep(form: ResultsFormat) -> None:
    deep: Any = S
    for depth in range(200_000):
        deep = Triple(S, S, deep)
        if depth in (0, 65, 100, 199_999) and form is ResultsFormat.CSV:
            with pytest.raises(JellyError if depth else TermError, match="row 1"):
                written(form, ["a"], [(deep,)])
        elif depth == 63 and form is not ResultsFormat.CSV:
            assert read(written(form, ["a"], [(deep,)]), form)
        elif depth in (64, 100, 199_999):
            with pytest.raises(LimitError, match="row 1"):
                written(form, ["a"], [(deep,)])


@pytest.mark.parametrize("form", ResultsFormat)
def test_values_that_are_not_tables(form: ResultsFormat) -> None:
    for names in (["a"], ["a", "b", "c"], []):
        with pytest.raises(StatementError):
            written(form, names, [(S, S)])
    for row in (None, 5, {"a": S}, "x", [object()], [[]]):
        with pytest.raises(TermError):
            written(form, ["a"], [row])
    with pytest.raises(TermError):
        written(form, [1], [])  # type: ignore[list-item]


# Invalid documents


_XML = "<sparql xmlns='http://www.w3.org/2005/sparql-results#'>"


def _xml(inside: str, names: Sequence[str] = "a") -> bytes:
    head = "".join(f"<variable name='{name}'/>" for name in names)
    return f"{_XML}<head>{head}</head><results>{inside}</results></sparql>".encode()


def _bound(term: str) -> bytes:
    return _xml(f"<result><binding name='a'>{term}</binding></result>")


def _json(inside: str, names: str = '"a"') -> bytes:
    return f'{{"head":{{"vars":[{names}]}},"results":{{"bindings":[{inside}]}}}}'.encode()


def _value(term: str) -> bytes:
    return _json(f'{{"a":{term}}}')


_URI = '{"type":"uri","value":"urn:s"}'
_XML_URI = "<uri>urn:a</uri>"
_XML_BINDING = f"<binding name='a'>{_XML_URI}</binding>"

#: Documents by the format, and the line, or the row, in which each has an error.
_INVALID: dict[tuple[str, int | None], list[bytes]] = {
    ("csv", None): [b""],
    ("csv", 1): [b"a,\n", b"a,b,a\n", b"a b\n", b"\xff\n"],
    ("csv", 2): [b"\nx\n", b'a,b\n1,"x\n', b'a\n"x"y\n', b'a\nx"y\nz\n', b'a,b\n1,2,"3\n'],
    ("csv", 3): [b"a,b\n1,2\n1\n", b"a,b\n1,2\n\n", b'a,b\n"x\ny",z"\n'],
    ("csv", 4): [b'a,b\n"\n",2\n1,2,3\n', b'a,b\n"\n",2\n1,2,"3"\n'],
    ("tsv", None): [b""],
    ("tsv", 1): [b"?a\t\n", b"?a\t?a\n", b"a\n", b"\xff\n"],
    ("tsv", 2): [
        *(b"?a\t?b\n1\n", b"?a\t?b\n1\t2\t3\n", b'?a\n"x\n', b'?a\n"x"y\n', b"?a\na:b\n"),
        *(b"?a\n<urn:a> .\n", b"?a\n<a>\n", b'?a\n"\\ud800"\n', b"true\n<urn:a>\n", b"?a\n<< \n"),
        *(b"?a\n<<( <urn:a> <urn:b> <urn:c>\n", b"?a\n" + b"<<" * 60 + b"\n", b"?a\n <urn:a>\n"),
    ],
    ("srx", 1): [
        _bound("<literal>x</literal><literal>y</literal>"),
        _bound(""),
        _bound("x"),
        _bound("<literal><b/></literal>"),
        _bound("<uri>x y</uri>"),
        _bound("<uri>x</uri>"),
        _bound("<bnode> </bnode>"),
        _bound("<literal xml:lang='a b'>x</literal>"),
        _bound("<literal xml:lang='abcdefghi'>x</literal>"),
        _bound("<literal xml:lang='a' datatype='urn:b'>x</literal>"),
        _bound("<triple><subject><uri>urn:a</uri></subject></triple>"),
        _bound(f"<triple>{f'<subject>{_XML_URI}</subject>' * 3}</triple>"),
        _bound("<triple><subject/></triple>"),
        _xml(f"<result>{_XML_BINDING.replace('name', 'id')}</result>"),
        _xml(f"<result>{_XML_BINDING}</result>", "b"),
        _xml(f"<result>{_XML_BINDING}" * 2),
        _xml(f"<result>{_XML_BINDING * 2}</result>"),
        _xml("", "aa"),
        _xml("", ["a b"]),
        _xml("<result/>").replace(b"sparql-results#", b"other#"),
        f"{_XML}<head/></sparql>".encode(),
        f"{_XML}<head/><boolean>1</boolean></sparql>".encode(),
        f"{_XML}<boolean>true</boolean><results/></sparql>".encode(),
        b"<!DOCTYPE a [<!ENTITY b 'c'>]>" + _bound("<literal>&b;</literal>"),
        b"<?xml version='1.0' encoding='nonsense'?>" + _bound(_XML_URI),
        _bound("<literal>\xe9</literal>").replace(b"\xc3", b""),
        b"<?xml ",
    ],
    ("srj", None): [
        _value('{"type":"literal","value":"\\u00g0"}'),
        b'{"head":{},"results":{"bindings":[]}}',
        b'{"results":{"bindings":[]}}',
        b'{"head":{"vars":["a"]}}',
        b'{"head":{"vars":["a"]},"results":{}}',
        b'{"head":{"vars":["a"]},"results":{"bindings":[]},"boolean":true}',
        b'{"head":{"vars":["a"]},"head":{"vars":["b"]},"boolean":true}',
        b'{"head":{"vars":["a"],"vars":["a"]},"boolean":true}',
        b'{"boolean":true,"boolean":true}',
        _json("").replace(b"]}}", b'],"bindings":[]}}'),
        b"[]",
        b'{"head":[]}',
        b'{"head":{"vars":{}}}',
        b'{"head":{"vars":[1]}}',
        b'{"head":{"vars":["a b"]},"results":{"bindings":[]}}',
        b'{"head":{},"boolean":"true"}',
        b'{"head":{"vars":["a"]},"results":{"bindings":{}}}',
        _json(f'{{"a":{_URI},"a":{_URI}}}'),
        _value('{"type":"uri","value":"urn:s","value":"urn:t"}'),
        _json("")[:-1],
        _json("") + b"{}",
        b'{"head":{"vars":["\xff"]}}',
        b'{"head":{"vars":["\xed\xa0\x80"]}}',
        b'{"head":{"vars":["a"]},"results":{"bindings":[\\',
    ],
    ("srj", 1): [
        _value('{"type":"literal","value":"\\ud800\\ud800\\udc00"}'),
        _value('{"type":"literal","value":"\\udc00"}'),
        _value('{"type":"literal","value":"\\ud800"}'),
        _json("[]"),
        _json(f'{{"b":{_URI}}}'),
        *(_value(term) for term in ('"x"', "null", "{}", "[]")),
        _value('{"type":"uri"}'),
        _value('{"value":"urn:s"}'),
        _value('{"type":"uri","value":1}'),
        _value('{"type":"uri","value":[]}'),
        _value('{"type":"uri","value":{"subject":1}}'),
        _value('{"type":"other","value":"x"}'),
        _value('{"type":"uri","value":"a b"}'),
        _value('{"type":"bnode","value":""}'),
        _value('{"type":"triple","value":{"subject":1,"predicate":1,"object":1}}'),
        _value('{"type":"triple","value":"x"}'),
        _value(f'{{"type":"triple","value":{{"subject":{_URI}}}}}'),
        _value('{"type":"literal","value":"x","its:dir":"ltr"}'),
        _value('{"type":"literal","value":"x","xml:lang":"en","its:dir":"up"}'),
        _value('{"type":"literal","value":"x","xml:lang":"en","datatype":"urn:d"}'),
        _value('{"type":"literal","value":"x","datatype":"d"}'),
    ],
}


@pytest.mark.parametrize(
    ("form", "place", "data"),
    [(*place, data) for place, documents in _INVALID.items() for data in documents],
)
def test_invalid_documents(form: str, place: int | None, data: bytes) -> None:
    for source in (data, Trickle(data)) if data else (data,):
        with pytest.raises(JellyError) as caught:
            list(read_results(source, format=form))
        error = caught.value
        assert isinstance(error, TextError if data else SourceError)
        assert error.source is not None
        if data:
            assert (error.row if form == "srj" else error.line) == place


@pytest.mark.parametrize("form", ResultsFormat)
def test_damaged_documents_end_in_one_error(form: ResultsFormat) -> None:
    for seed in range(100):
        draw = Random(seed)
        depth = 2 if form in QUOTING else 0
        data = written(form, NAMES, [(random_term(draw, depth), None) for _ in range(3)])
        for _ in range(10):
            with suppress(JellyError), read_results(damaged(draw, data), format=form) as results:
                deque(results, maxlen=0)


def test_errors_name_the_actual_format() -> None:
    jelly = io.BytesIO()
    write([(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))], jelly)
    for data, form, error, match in (
        (jelly.getvalue(), "jellys", SourceError, "this is Jelly-RDF, not Jelly-SPARQL"),
        (b"{}", "jellys", SourceError, "this is srj"),
        (b"nothing at all", None, SourceError, "not known"),
        (b"", None, SourceError, "empty"),
        (b"", "jellys", OptionsError, "no options"),
        (written(ResultsFormat.JELLY)[:-1], None, TruncatedError, "inside a frame"),
        (b'{"head": {"vars": ["a"]}, "results": {"bindings": [', "srj", TextError, None),
        (b"<?xml ", None, TextError, None),
    ):
        with pytest.raises(error, match=match) as caught:
            list(read_results(data, format=form))
        assert caught.value.source == "<bytes>"
    with pytest.raises(ValueError, match="not one of the formats"):
        format_named("nonsense")
    with pytest.raises(ValueError, match="give format"):
        write_results(["a"], [], io.BytesIO())
    for form in ("srt", "srp", "csv"):
        with pytest.raises(TermError, match="no place"):
            write_boolean(True, io.BytesIO(), format=form)


def test_an_error_names_frame_and_column() -> None:
    data = written(ResultsFormat.JELLY, rows=[(Iri("urn:x"), Iri("urn:y"))])
    # The second name's id, 65 instead of 2.
    changed = data.replace(bytes.fromhex("0a0102"), bytes.fromhex("0a0141"))
    assert changed != data
    with pytest.raises(LookupTableError) as caught:
        list(read_results(changed))
    assert str(caught.value).startswith("<bytes>: frame 0: column 1 (?b): name entry 65")
    small = Limits(string_bytes=10, name_table=8192)
    with pytest.raises(LimitError, match=r"frame 0: column 1 \(\?b\)|frame 0: .*string_bytes"):
        list(read_results(written(ResultsFormat.JELLY), limits=small))


def test_solutions_stream() -> None:
    """The writer yields frames while solutions are computed, and the reader yields solutions while
    frames arrive.
    """
    taken = 0

    def solutions() -> Iterator[tuple[Any, ...]]:
        nonlocal taken
        for number in range(100_000):
            taken += 1
            yield (Iri(f"urn:{number}"),)

    frames = encode_results(["s"], solutions())
    first = next(frames)
    assert taken == 4096

    def arriving() -> Iterator[bytes]:
        yield first
        raise AssertionError("more was read than was needed")

    with read_results(ChunkFile(arriving())) as results:
        assert next(results) == (Iri("urn:0"),)


@pytest.mark.parametrize(
    ("text", "lex"),
    [
        (" sp ", " sp "),
        ("  ", "  "),
        ("", ""),
        ("x<!-- c -->y<?p q?> z", "xy z"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("&#13;&lt;&amp;]]&gt;", "\r<&]]>"),
        ("<![CDATA[<x> ]]>\n", "<x> \n"),
    ],
)
def test_text_of_xml_is_exact(text: str, lex: str) -> None:
    data = _bound(f"<literal>{text}</literal>")
    assert ElementTree.fromstring(data).findtext(".//{*}literal") == lex
    assert read(data, "srx") == [(Literal(lex),)]


def test_characters_in_xml() -> None:
    rows = [(Literal("\t\r\n <&>\"' ]]> \x7f\x85\u2028\ud7ff\ue000\ufffd\U00010000"),)]
    data = written(ResultsFormat.XML, ["a"], rows)
    assert list(read_results(data, format="srx")) == rows
    assert ElementTree.fromstring(data).findtext(".//{*}literal") == rows[0][0].lex
    for character in "\0\x0b\x1f\ufffe\uffff":
        with pytest.raises(TermError, match="XML has no character"):
            written(ResultsFormat.XML, ["a"], [(Literal(character),)])


@pytest.mark.parametrize("form", ["srx", "srj", "srt", "srp", "jellys"])
def test_results_that_are_cut_off(form: str) -> None:
    rows = [(Literal(f"{n} \n&", "en"), Iri("urn:a") if n else None) for n in range(3)]
    documents = [written(ResultsFormat(form), rows=rows).rstrip()]
    if form in WITH_BOOLEAN:
        documents.append(written_boolean(True, form).rstrip())
    for data in documents:
        for end in range(len(data)):
            # Jena's rows have no end.
            if form not in ("srt", "srp") or data[:end] not in _whole_rows(rows, form):
                with pytest.raises(JellyError):
                    list(read_results(data[:end], format=form))


def _whole_rows(rows: list[Any], form: str) -> list[bytes]:
    return [written(ResultsFormat(form), rows=rows[:count]) for count in range(len(rows))]


def test_encodings_of_xml() -> None:
    text = _bound("<literal>\xe9</literal>").decode()
    for encoding in ("ISO-8859-1", "UTF-16", "UTF-8"):
        data = f"<?xml version='1.0' encoding='{encoding}'?>{text}".encode(encoding)
        assert list(read_results(data, format="srx")) == [(Literal("\xe9"),)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (_json(f'{{"a":{_URI}}},{{}}'), [(S,), (None,)]),
        (_value('{"value":"urn:s","other":[{"x":[1.5,null]}],"type":"uri"}'), [(S,)]),
        (
            _value('{"type":"typed-literal","value":"1","datatype":"urn:d"}'),
            [(Literal("1", None, "urn:d"),)],
        ),
        (_value('{"type":"literal","value":"a","xml:lang":"EN"}'), [(Literal("a", "EN"),)]),
        (_value('{"type":"literal","value":"a","xml:lang":""}'), [(Literal("a"),)]),
        (_value('{"type":"bnode","value":"nodeID://b10"}'), [(BlankNode("nodeID://b10"),)]),
        (
            _value('{"type":"literal","value":"\\ud83d\\ude00\\\\ud800\\n"}'),
            [(Literal("\U0001f600\\ud800\n"),)],
        ),
        (b"\xef\xbb\xbf" + _json("") + b" \n", []),
        (
            b'{"results":{"distinct":true,"bindings":[{"a":%s}],"x":{}},"meta":{"n":[5]},'
            b'"head":{"link":[],"vars":["a"]}}' % _URI.encode(),
            [(S,)],
        ),
        (
            _json(f'{{"a":{_URI}}}').replace(
                b"]}}", b'],"distinct":false},"meta":{"big":1e999,"n":' + b"1" * 9999 + b"}}"
            ),
            [(S,)],
        ),
    ],
)
def test_forms_of_json(data: bytes, expected: list[Any]) -> None:
    assert read(data, "srj") == expected


def _nested(form: str, depth: int) -> bytes:
    """A quoted triple in quoted triples."""
    nested = _XML_URI if form == "srx" else _URI if form == "srj" else "<urn:a>"
    first = nested
    for _ in range(depth):
        parts = zip(("subject", "predicate", "object"), (first, first, nested), strict=True)
        if form == "srx":
            nested = (
                f"<triple>{''.join(f'<{part}>{term}</{part}>' for part, term in parts)}</triple>"
            )
        elif form == "srj":
            inside = ",".join(f'"{part}":{term}' for part, term in parts)
            nested = f'{{"type":"triple","value":{{{inside}}}}}'
        else:
            nested = f"<< {first} {first} {nested} >>"
    if form == "tsv":
        return f"?a\n{nested}\n".encode()
    return _bound(nested) if form == "srx" else _value(nested)


@pytest.mark.parametrize(
    ("form", "data", "limit"),
    [
        *((form, _nested(form, 4), "nesting") for form in ("srx", "srj", "tsv")),
        *((form, _nested(form, 200), "nest|string_bytes") for form in ("srx", "srj", "tsv")),
        ("tsv", b"?a\n" + b"<<" * 10_000, "nesting"),
        ("srx", _bound("<literal>" + "x" * 2000 + "</literal>"), "string_bytes"),
        ("srx", _bound("<literal " + "x" * 2000), "string_bytes"),
        ("srx", _bound("<literal datatype='urn:" + "x" * 2000), "string_bytes"),
        ("srj", _value('{"type":"literal","value":"' + "x" * 2000), "string_bytes"),
        (
            "srj",
            b'{"results":{"bindings":[' + b"{}," * 600 + b'{}]},"head":{"vars":[]}}',
            "string_bytes",
        ),
        ("csv", b"a\n" + b"x" * 2000, "frame_bytes"),
        ("csv", b'a\n"' + b"x\n" * 1000, "frame_bytes"),
        ("tsv", b"?a\n" + b"x" * 2000, "frame_bytes"),
        ("srj", _json("", ",".join(f'"v{n}"' for n in range(6))), "variables"),
        ("srx", _xml("", "abcdef"), "variables"),
        ("csv", b"a,b,c,d,e,f\n", "variables"),
        ("tsv", b"?a\t?b\t?c\t?d\t?e\t?f\n", "variables"),
    ],
)
def test_limits(form: str, data: bytes, limit: str) -> None:
    limits = Limits(string_bytes=1000, nesting=3, variables=5)
    if limit == "frame_bytes":
        limits = replace(limits, frame_bytes=1000)
    with pytest.raises(LimitError, match=limit):
        list(read_results(Trickle(data), format=form, limits=limits))


@pytest.mark.parametrize("form", W3C)
def test_a_solution_that_is_too_long_is_not_written(form: ResultsFormat) -> None:
    rows = [(Literal("x"),), (Literal("x" * 1000),), (Literal("\u20ac" * 700),)]
    assert len(read(written(form, ["a"], rows, limits=Limits(string_bytes=3000)), form)) == 3
    for most, row in ((2000, 3), (900, 2)):
        with pytest.raises(LimitError, match=f"^row {row}: the length of a solution"):
            written(form, ["a"], rows, limits=Limits(string_bytes=most))


def test_depth_of_json() -> None:
    """Outside of terms."""
    for opening, closing in ((b"[", b"]"), (b'{"x":', b"}")):
        deep = b'{"x":' + opening * 100_000 + b"1" + closing * 100_000 + b","
        for data in (deep + _json("", '"v"')[1:], _json(f'{{"a":{deep.decode()[:-1]}}}}}')):
            with pytest.raises(LimitError, match="nested more than"):
                list(read_results(data, format="srj"))


@pytest.mark.parametrize("form", EXACT)
def test_too_many_variables(form: ResultsFormat) -> None:
    names = [f"v{number}" for number in range(70_000)]
    limits = Limits(name_table=16384, prefix_table=4096, variables=70_000)
    data = written(form, names, [], limits=limits)
    with pytest.raises(
        LimitError, match=r"number of variables is \d+, above the limit of 65536 .Limits.variables"
    ):
        read_results(data, format=form)
    with read_results(data, format=form, limits=limits) as results:
        assert results.variables == names
    if form is not ResultsFormat.JELLY:
        with pytest.raises(LimitError, match="frame_cells"):
            read_results(data, format=form, limits=replace(limits, frame_cells=1000))


def test_frames_of_wide_results_are_small() -> None:
    names = [f"v{number}" for number in range(1000)]
    for form in ("srx", "srj"):
        data = written(ResultsFormat(form), names, [(None,) * 1000] * 200)
        with read_results(data, format=form) as results:
            frames = list(results.frames())
        assert [frame.rows for frame in frames] == [65] * 3 + [5]
        assert all(len(frame.columns) == 1000 for frame in frames)


@pytest.mark.parametrize("size", [501, 1001])
def test_a_string_of_json_that_is_too_long(size: int) -> None:
    """Also where all of it is read at once."""
    text = "é" * (size // 2) if size == 1001 else "x" * size
    limits = Limits(string_bytes=500 if size == 501 else 1000)
    data = _value(f'{{"type":"literal","value":"{text}"}}')
    with pytest.raises(LimitError, match="string_bytes"):
        list(read_results(data, format="srj", limits=limits))
    assert read(data, "srj", limits=Limits(string_bytes=2 * size)) == [(Literal(text),)]


@pytest.mark.parametrize("form", ["srj", "srx"])
def test_empty_solutions_of_many_variables(form: str) -> None:
    names = [f"v{n}" for n in range(20_000)]
    if form == "srj":
        data = json.dumps({"head": {"vars": names}, "results": {"bindings": [{}] * 5000}}).encode()
    else:
        data = _xml("<result/>" * 5000, names)
    with (
        pytest.raises(LimitError, match=r"^<bytes>: row \d+: the solutions have more than"),
        read_results(data, format=form) as results,
    ):
        deque(results, maxlen=0)


# Apache Jena's formats

JENA = [each for each in ResultsFormat if each.jena is not None]


@pytest.mark.parametrize("form", JENA)
def test_results_of_jena(form: ResultsFormat) -> None:
    """The solutions of the same query in JSON, and the bytes of Apache Jena when written again."""
    data = shared(f"data/jena/g.{form}").read_bytes()

    def labelled(label: str, rows: list[Any]) -> list[Any]:
        return [
            tuple(BlankNode("b") if each == BlankNode(label) else each for each in row)
            for row in rows
        ]

    with read_results(data) as found, read_results(shared("data/jena/g.srj")) as expected:
        assert found.variables == expected.variables == ["s", "p", "o", "g"]
        rows = list(found)
        assert labelled("98c1c69328b745e272db3e67d35c066d", rows) == labelled("b0", list(expected))
    assert written(form, found.variables, rows) == data


@pytest.mark.parametrize(("form", "data"), [("srt", "190c000000"), ("srp", "000000")])
def test_solutions_without_variables(form: str, data: str) -> None:
    """Apache Jena 5.6 writes them without a list; an empty list is the same."""
    assert written(ResultsFormat(form), [], [(), ()]).hex() == data
    for given in (data, *(["190c00190c0000"] if form == "srt" else [])):
        with read_results(bytes.fromhex(given), format=form) as results:
            assert (results.variables, list(results)) == ([], [(), ()])


@pytest.mark.parametrize("form", JENA)
def test_invalid_rows_of_jena(form: ResultsFormat) -> None:
    encoding = form.jena
    assert encoding is not None
    iri = ("iri", {"iri": "urn:s"})
    for data, error, row in (
        (result_rows(encoding, ["a"], [iri], [iri, iri]), StatementError, 2),
        (result_rows(encoding, ["a"]) + b"\0", StatementError, 1),
        (result_rows(encoding, ["a", "a"]), StatementError, 0),
        (result_rows(encoding, ["a"], [("any", {})]), TermError, 1),
        (
            result_rows(encoding, ["a"], [("prefixName", {"prefix": "x", "localName": ""})]),
            LookupTableError,
            1,
        ),
        (result_rows(encoding, ["a"], [iri])[:-1], TruncatedError, 1),
        (b"", TruncatedError, None),
        # A row of statements.
        (bytes.fromhex("1c180178180475726e3a0000"), WireError, 0),
    ):
        with pytest.raises(error) as caught:
            list(read_results(data, format=form))
        assert caught.value.row == row
    with pytest.raises(LimitError, match="string_bytes"):
        read_results(result_rows(encoding, ["a" * 50]), limits=Limits(string_bytes=10))
    with pytest.raises(LimitError):
        written(form, ["a"], [(Literal("x" * 100),)], limits=Limits(frame_bytes=50))
    with pytest.raises(TermError, match="surrogate"):
        written(form, ["\ud800"], [])
    with pytest.raises(TermError, match="same name"):
        written(form, ["a", "a"], [])
