"""Results in every format: reading, writing, detection and errors."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
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
    TermError,
    TextError,
)
from jelly_plugins.sparql import (
    ResultsFormat,
    ResultsOptions,
    encode_results,
    format_named,
    read_results,
    write_boolean,
    write_results,
)

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
WITH_BOOLEAN = [each for each in EXACT if each.jena is None]


def written(
    form: ResultsFormat, names: list[str] = NAMES, rows: Any = SOLUTIONS, **settings: Any
) -> bytes:
    file = io.BytesIO()
    write_results(names, rows, file, format=form, **settings)
    return file.getvalue()


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


@pytest.mark.parametrize("form", [each for each in EXACT if each is not ResultsFormat.TSV])
def test_detection_by_content(form: ResultsFormat) -> None:
    assert read_results(written(form)).format is form


@pytest.mark.parametrize("form", WITH_BOOLEAN)
def test_ask(form: ResultsFormat) -> None:
    for value in (True, False):
        file = io.BytesIO()
        write_boolean(value, file, format=form)
        with read_results(file.getvalue(), format=form) as results:
            assert (results.boolean, results.variables, list(results)) == (value, [], [])


def test_data_after_the_result_of_ask_is_read() -> None:
    file = io.BytesIO()
    write_boolean(True, file, format="jellys")
    metadata = bytes.fromhex("077a050a016b1200")
    assert read_results(file.getvalue() + metadata).boolean is True
    for rest, error in ((b"\x02\x18\x01", OrderError), (b"\x05\x18", TruncatedError)):
        with pytest.raises(error, match="frame 1"):
            read_results(file.getvalue() + rest)


def test_csv_has_no_kinds() -> None:
    data = b'\xef\xbb\xbfa,"b"\r\nhttp://e.org/a,"x, ""y""\r\n"\nurn:a,_:label-612062\r1,\n,http://e.org/a'
    for source in (data, io.BytesIO(data), _Slow(data)):
        with read_results(source, format="csv") as results:
            assert results.variables == ["a", "b"]
            assert list(results) == [
                (Iri("http://e.org/a"), Literal('x, "y"\r\n')),
                (Literal("urn:a"), BlankNode("a b")),
                (Literal("1"), None),
                (None, Iri("http://e.org/a")),
            ]
    found = list(read_results(written(ResultsFormat.CSV), format="csv"))
    assert found[0] == (Iri("http://e.org/a"), Literal('x"\n'))
    # The number of variables determines the contents of a line.
    assert list(read_results(b"a\n\n", format="csv")) == [(None,)]
    assert list(read_results(b"\r\n\r\n\r\n", format="csv")) == [(), ()]
    many = [(Iri(f"http://e.org/{n}"), Literal("x" * 200_000)) for n in range(20)]
    assert list(read_results(written(ResultsFormat.CSV, rows=many), format="csv")) == many


@pytest.mark.parametrize("text", ["http://e.org is down", "_:", "_: x", "https://e.org/<a>"])
def test_cells_of_csv_that_begin_like_other_terms(text: str) -> None:
    rows = [(Iri("http://e.org/a"), Literal(text)), (BlankNode("a"), Literal(text))]
    assert next(read_results(written(ResultsFormat.CSV, rows=rows), format="csv")) == rows[0]


def test_cells_of_csv_are_quoted_if_needed() -> None:
    rows = [(Iri("http://e.org/Paris,_Texas"), Literal('x"\r\n, y')), (BlankNode("b"), None)]
    data = written(ResultsFormat.CSV, rows=rows)
    assert data == b'a,b\r\n"http://e.org/Paris,_Texas","x""\r\n, y"\r\n_:b,\r\n'
    assert list(read_results(data, format="csv")) == rows
    assert [tuple(row) for row in csv.reader(io.StringIO(data.decode(), newline=""))] == [
        ("a", "b"),
        ("http://e.org/Paris,_Texas", 'x"\r\n, y'),
        ("_:b", ""),
    ]


@pytest.mark.parametrize("form", W3C)
@pytest.mark.parametrize("name", ["a-b", "·", "a b", "a.b", "\u203f"])
def test_invalid_names(form: ResultsFormat, name: str) -> None:
    with pytest.raises(TermError, match="not a name that a variable of SPARQL can have"):
        written(form, [name], [])


@pytest.mark.parametrize("form", W3C)
def test_valid_names(form: ResultsFormat) -> None:
    names = ["1", "é", "a·", "_x", "\U00010000", "a\u203f", "x\u0300"]
    rows = [tuple(Literal(name) for name in names)]
    with read_results(written(form, names, rows), format=form) as results:
        assert results.variables == names
        assert list(results) == rows


@pytest.mark.parametrize("form", [each for each in ResultsFormat if each.is_binary])
@pytest.mark.parametrize("size", range(90, 130))
def test_formats_are_detected_in_small_chunks(form: ResultsFormat, size: int) -> None:
    """The length of a frame may look like the first character of JSON."""
    rows = [(Literal("x" * size),)]
    data = written(form, ["v"], rows)
    for chosen in (form, None):
        with read_results(_Slow(data), format=chosen) as results:
            assert results.format is form
            assert list(results) == rows


class _Slow(io.RawIOBase):
    """Returns one byte at a time."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._chunks = (data[at : at + 1] for at in range(len(data)))

    def readable(self) -> bool:
        return True

    def read(self, _: int = -1) -> bytes:
        return next(self._chunks, b"")


@pytest.mark.parametrize(
    ("form", "data", "match"),
    [
        ("csv", b"", "empty"),
        ("csv", b"a,\n", "line 1: a variable has no name"),
        ("csv", b"a,b,a\n", "line 1: two variables have the same name"),
        ("csv", b"a,b\n1,2\n1\n", "line 3: the line has 1 cells for 2 variables"),
        ("csv", b'a,b\n"\n",2\n1,2,3\n', "line 4: the line has 3 cells for 2 variables"),
        ("csv", b"a,b\n1,2\n\n", "line 3: the line has 1 cells for 2 variables"),
        ("csv", b"\nx\n", "line 2: the line has 1 cells for 0 variables"),
        ("csv", b'a,b\n1,"x\n', "line 2, column 3: a quoted cell does not end"),
        ("csv", b'a\n"x"y\n', "line 2, column 1: a quoted cell"),
        ("csv", b'a\nx"y\nz\n', "line 2, column 1: .* a quote is in a cell"),
        ("csv", b'a,b\n"x\ny",z"\n', "line 3, column 4: .* a quote is in a cell"),
        ("csv", b"a\n1\n\xff\n", "line [123]: the text is not UTF-8"),
        ("tsv", b"", "empty"),
        ("tsv", b"?a\t\n", "line 1: '' is not a variable"),
        ("tsv", b"?a\t?a\n", "line 1: two variables have the same name"),
        ("tsv", b"?a\t?b\n1\n", "line 2"),
        ("tsv", b"?a\t?b\n1\t2\t3\n", "line 2"),
        ("tsv", b'?a\n"x\n', "line 2"),
        ("tsv", b'?a\n"x"y\n', "line 2"),
        ("tsv", b"?a\n\xff\n", "UTF-8"),
        ("tsv", b"?a\n<urn:a> .\n", "line 2: a cell has more than a term"),
        ("tsv", b"?a\na:b\n", "line 2: not a term"),
        ("tsv", b"?a\n<a>\n", "line 2: .* not an absolute IRI"),
        ("tsv", b'?a\n"\\ud800"\n', "line 2: .* is not a character"),
        ("tsv", b"?a\n<<( <urn:a> <urn:b> <urn:c>\n", "line 2: a quoted triple does not end"),
        ("tsv", b"true\n<urn:a>\n", "line 2: the result of ASK is followed"),
    ],
)
def test_tables_of_text_are_read_strictly(form: str, data: bytes, match: str) -> None:
    with pytest.raises(JellyError, match=match) as caught:
        list(read_results(data, format=form))
    assert caught.value.source == "<bytes>"


def test_a_line_of_csv_is_limited() -> None:
    limits = Limits(name_table=8192, frame_bytes=1000)
    for data in (b"a\n" + b"x" * 2000, b'a\n"' + b"x\n" * 1000):
        with pytest.raises(LimitError, match="frame_bytes"):
            list(read_results(data, format="csv", limits=limits))


S = Iri("urn:s")


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
def test_quoted_triples(form: ResultsFormat) -> None:
    rows = [(Triple(S, S, Triple(BlankNode("b"), S, Literal('x,y"z', "en--ltr"))),)]
    if form is ResultsFormat.CSV:
        with pytest.raises(TermError, match="CSV has no place for quoted triples"):
            written(form, ["a"], rows)
    else:
        assert list(read_results(written(form, ["a"], rows), format=form)) == rows
    deep: Any = S
    for _ in range(10_000):
        deep = Triple(S, S, deep)
    with pytest.raises(JellyError):
        written(form, ["a"], [(deep,)])


@pytest.mark.parametrize("form", EXACT)
def test_values_that_are_not_tables(form: ResultsFormat) -> None:
    for names, row, match in ((["a"], (S, S), "2 terms for 1"), (["a", "a"], (S, S), "name")):
        with pytest.raises(JellyError, match=match):
            written(form, names, [row])
    if form.jena is None:
        with pytest.raises(JellyError, match="no name"):
            written(form, [""], [])


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


@pytest.mark.parametrize("form", EXACT)
def test_a_header_longer_than_a_chunk(form: ResultsFormat) -> None:
    names = [f"v{number}" for number in range(40_000)]
    data = written(form, names, [])
    assert len(data) > 1 << 18
    with read_results(data, format=form) as results:
        assert results.variables == names
        assert list(results) == []


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

    class Slow(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, _: Any) -> int:
            raise AssertionError("more was read than was there")

        def read(self, _: int = -1) -> bytes:
            nonlocal first
            data, first = first, b""
            if not data:
                raise AssertionError("more was read than was needed")
            return data

    with read_results(Slow()) as results:
        assert next(results) == (Iri("urn:0"),)


def test_options_are_written() -> None:
    options = ResultsOptions(stream_name="n", max_name_table_size=128)
    with read_results(written(ResultsFormat.JELLY, options=options)) as results:
        assert results.options == options


def test_results_of_the_w3c_suite() -> None:
    """Convert them to Jelly-SPARQL, and back to JSON and XML.

    ``JELLY_PLUGINS_W3C`` is the folder of the W3C's tests. Results of SPARQL 1.2 may have quoted
    triples, which Jelly-SPARQL cannot express.
    """
    folder = os.environ.get("JELLY_PLUGINS_W3C")
    if not folder:
        pytest.skip("JELLY_PLUGINS_W3C is not set")
    pytest.importorskip("pyoxigraph")

    def read(src: Path | bytes) -> tuple[list[str], bool | None, list[Any]]:
        with read_results(src) as results:
            return results.variables, results.boolean, list(results)

    def converted(found: tuple[list[str], bool | None, list[Any]], form: ResultsFormat) -> bytes:
        names, boolean, rows = found
        if boolean is None:
            return written(form, names, rows)
        file = io.BytesIO()
        write_boolean(boolean, file, format=form)
        return file.getvalue()

    files = [
        path
        for path in Path(folder).rglob("*.sr[jx]")
        if "sparql12" not in path.relative_to(folder).parts
    ]
    assert len(files) > 100
    for path in files:
        source = read(path)
        again = read(converted(source, ResultsFormat.JELLY))
        assert again == source, path
        for form in (ResultsFormat.JSON, ResultsFormat.XML):
            assert read(converted(again, form)) == source, (path, form)


_XML = "<sparql xmlns='http://www.w3.org/2005/sparql-results#'>"


def _xml(inside: str, names: str = "a") -> bytes:
    head = "".join(f"<variable name='{name}'/>" for name in names)
    return f"{_XML}<head>{head}</head><results>{inside}</results></sparql>".encode()


def _bound(term: str) -> bytes:
    return _xml(f"<result><binding name='a'>{term}</binding></result>")


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
    for source in (data, _Slow(data)):
        assert list(read_results(source, format="srx")) == [(Literal(lex),)]


def test_characters_in_xml() -> None:
    rows = [(Literal("\t\r\n <&>\"' ]]> \x7f\x85\u2028\ud7ff\ue000\ufffd\U00010000"),)]
    data = written(ResultsFormat.XML, ["a"], rows)
    assert list(read_results(data, format="srx")) == rows
    assert ElementTree.fromstring(data).findtext(".//{*}literal") == rows[0][0].lex
    for character in "\0\x0b\x1f\ufffe\uffff":
        with pytest.raises(TermError, match="XML has no character"):
            written(ResultsFormat.XML, ["a"], [(Literal(character),)])


@pytest.mark.parametrize("boolean", [False, True])
def test_xml_that_is_cut_off_is_rejected(boolean: bool) -> None:
    file = io.BytesIO()
    if boolean:
        write_boolean(True, file, format="srx")
    else:
        rows = [(Literal(f"{n} \n&", "en"), Iri("urn:a") if n else None) for n in range(3)]
        write_results(["a", "b"], rows, file, format="srx")
    data = file.getvalue().rstrip()
    for end in range(len(data)):
        with pytest.raises(JellyError):
            list(read_results(data[:end], format="srx"))


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (_bound("<literal>x</literal><literal>y</literal>"), "two <literal> in <binding>"),
        (_bound(""), "no term"),
        (_bound("x"), "text is not expected in <binding>"),
        (_bound("<literal><b/></literal>"), "<b> is not expected in <literal>"),
        (_bound("<uri>x y</uri>"), "not an absolute IRI"),
        (_bound("<uri>x</uri>"), "not an absolute IRI"),
        (_bound("<bnode> </bnode>"), "no label"),
        (_bound("<literal xml:lang='a b'>x</literal>"), "language tag"),
        (_bound("<literal xml:lang='a' datatype='urn:b'>x</literal>"), "language and a datatype"),
        (_bound("<triple><subject><uri>urn:a</uri></subject></triple>"), "lacks a part"),
        (_bound("<triple><subject/></triple>"), "no term"),
        (_xml("<result><binding name='b'><uri>urn:a</uri></binding></result>"), "not in the head"),
        (_xml("<result><binding name='a'><uri>urn:a</uri></binding>" * 2), "not expected"),
        (
            _xml("<result>" + "<binding name='a'><uri>urn:a</uri></binding>" * 2 + "</result>"),
            "two <binding> for 'a'",
        ),
        (_xml("", "aa"), "same name"),
        (_xml("", ["a b"]), "not a name"),
        (_xml("<result/>").replace(b"sparql-results#", b"other#"), "not the element"),
        (f"{_XML}<head/></sparql>".encode(), "neither"),
        (f"{_XML}<head/><boolean>1</boolean></sparql>".encode(), "not a result of ASK"),
        (f"{_XML}<boolean>true</boolean><results/></sparql>".encode(), "after the results"),
        (b"<!DOCTYPE a [<!ENTITY b 'c'>]>" + _bound("<literal>&b;</literal>"), "document type"),
        (b"<?xml version='1.0' encoding='nonsense'?>" + _bound("<uri>urn:a</uri>"), "encoding"),
        (_bound("<literal>\xe9</literal>").replace(b"\xc3", b""), "not well-formed"),
    ],
)
def test_xml_that_is_not_valid(data: bytes, match: str) -> None:
    with pytest.raises(TextError, match=match) as caught:
        list(read_results(data, format="srx"))
    assert caught.value.line == 1


def test_encodings_of_xml() -> None:
    text = _bound("<literal>\xe9</literal>").decode()
    for encoding in ("ISO-8859-1", "UTF-16", "UTF-8"):
        data = f"<?xml version='1.0' encoding='{encoding}'?>{text}".encode(encoding)
        assert list(read_results(data, format="srx")) == [(Literal("\xe9"),)]


def test_xml_is_limited() -> None:
    limits = Limits(string_bytes=1000, nesting=3)
    nested = "<uri>urn:a</uri>"
    for _ in range(4):
        nested = "".join(
            f"<{part}>{term}</{part}>"
            for part, term in (
                ("subject", "<uri>urn:a</uri>"),
                ("predicate", "<uri>urn:a</uri>"),
                ("object", nested),
            )
        )
        nested = f"<triple>{nested}</triple>"
    for data, match in (
        (_bound(nested), "nesting"),
        (_bound("<literal>" + "x" * 2000 + "</literal>"), "string_bytes"),
        (_bound("<literal " + "x" * 2000), "string_bytes"),
        (_bound("<literal datatype='urn:" + "x" * 2000), "string_bytes"),
    ):
        with pytest.raises(LimitError, match=match):
            list(read_results(_Slow(data), format="srx", limits=limits))


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
    with read_results(_Slow(data.encode()), format="tsv") as results:
        assert results.variables == ["x", "y"]
        assert list(results) == [(term, None) for term in cells.values()]
    written_again = written(ResultsFormat.TSV, ["x"], [(term,) for term in cells.values()])
    assert b"\n1\n-.5\n1e0\ntrue\n" in written_again
    assert [row[0] for row in read_results(written_again, format="tsv")] == list(cells.values())


def _json(inside: str, names: str = '"a"') -> bytes:
    return f'{{"head":{{"vars":[{names}]}},"results":{{"bindings":[{inside}]}}}}'.encode()


def _value(term: str) -> bytes:
    return _json(f'{{"a":{term}}}')


_TRIPLE_OF_NUMBERS = '{"type":"triple","value":{"subject":1,"predicate":1,"object":1}}'
_URI = '{"type":"uri","value":"urn:s"}'


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
                b"]}}", b'],"distinct":false},"meta":{"big":1e999,"n":12345678901234567890123}}'
            ),
            [(S,)],
        ),
    ],
)
def test_forms_of_json(data: bytes, expected: list[Any]) -> None:
    for source in (data, _Slow(data)):
        with read_results(source, format="srj") as results:
            assert results.variables == ["a"]
            assert list(results) == expected


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (_value('{"type":"literal","value":"\\ud800"}'), "half of a character"),
        (_value('{"type":"literal","value":"\\udc00"}'), "half of a character"),
        (_value('{"type":"literal","value":"\\ud800\\ud800\\udc00"}'), "half of a character"),
        (b'{"head":{},"results":{"bindings":[]}}', 'no "vars"'),
        (b'{"results":{"bindings":[]}}', 'there is no "head"'),
        (b'{"head":{"vars":["a"]}}', "neither"),
        (b'{"head":{"vars":["a"]},"results":{}}', 'no "bindings"'),
        (b'{"head":{"vars":["a"]},"results":{"bindings":[]},"boolean":true}', "both"),
        (b'{"head":{"vars":["a"]},"head":{"vars":["b"]},"boolean":true}', "two members"),
        (_json("").replace(b"]}}", b'],"bindings":[]}}'), "two members"),
        (b"[]", "must be an object"),
        (b'{"head":[]}', "must be an object"),
        (b'{"head":{"vars":{}}}', "must be an array"),
        (b'{"head":{"vars":[1]}}', "not a string"),
        (b'{"head":{},"boolean":"true"}', "true or false"),
        (_json("[]"), "row 1: a solution is not an object"),
        (_json(f'{{"b":{_URI}}}'), "row 1: the variable 'b' is not in the head"),
        (_json(f'{{"a":{_URI},"a":{_URI}}}'), "two members"),
        (_value('"x"'), "not an object"),
        (_value('{"type":"uri"}'), 'no "value"'),
        (_value('{"value":"urn:s"}'), 'no "type"'),
        (_value('{"type":"uri","value":1}'), "not a string"),
        (_value('{"type":"uri","value":"urn:s","value":"urn:t"}'), "two members"),
        (_value('{"type":"other","value":"x"}'), "not a type of term"),
        (_value('{"type":"uri","value":"a b"}'), "not an absolute IRI"),
        (_value('{"type":"uri","value":{"subject":1}}'), "not a string"),
        (
            _value('{"type":"triple","value":{"subject":1,"predicate":1,"object":1}}'),
            "not an object",
        ),
        (_value('{"type":"uri","value":[]}'), "not a string"),
        (_value('{"type":"triple","value":"x"}'), "lacks a part"),
        (_value(f'{{"type":"triple","value":{{"subject":{_URI}}}}}'), "lacks a part"),
        (_value('{"type":"literal","value":"x","its:dir":"ltr"}'), "base direction"),
        (
            _value('{"type":"literal","value":"x","xml:lang":"en","datatype":"urn:d"}'),
            "language and a datatype",
        ),
        (_json("")[:-1], "not JSON"),
        (_json("") + b"{}", "not JSON"),
        (b'{"head":{"vars":["\xff"]}}', "not JSON"),
        (b'{"head":{"vars":["\xed\xa0\x80"]}}', "not JSON"),
    ],
)
def test_json_that_is_not_valid(data: bytes, match: str) -> None:
    for source in (data, _Slow(data)):
        with pytest.raises(TextError, match=match) as caught:
            list(read_results(source, format="srj"))
        assert caught.value.source is not None


def test_json_is_limited() -> None:
    limits = Limits(string_bytes=1000, nesting=3, variables=5)
    nested = _URI
    for _ in range(4):
        parts = f'"subject":{_URI},"predicate":{_URI},"object":{nested}'
        nested = f'{{"type":"triple","value":{{{parts}}}}}'
    early = b'{"results":{"bindings":[' + b",".join([b"{}"] * 600) + b']},"head":{"vars":[]}}'
    for data, match in (
        (_value(nested), "nesting"),
        (_value('{"type":"literal","value":"' + "x" * 2000), "string_bytes"),
        (_json("", ",".join(f'"v{n}"' for n in range(6))), "variables"),
        (early, "string_bytes"),
    ):
        with pytest.raises(LimitError, match=match):
            list(read_results(_Slow(data), format="srj", limits=limits))
    for opening, closing in ((b"[", b"]"), (b'{"x":', b"}")):
        deep = b'{"x":' + opening * 100_000 + b"1" + closing * 100_000 + b","
        with pytest.raises(LimitError, match="nested more than 1024 deep"):
            list(read_results(deep + _json("", '"v"')[1:], format="srj"))


LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"


@pytest.mark.parametrize("form", EXACT)
def test_terms_that_every_format_keeps(form: ResultsFormat) -> None:
    """Terms that parsers for JSON and TSV rejected or changed."""
    rows = [
        (term,)
        for term in (
            Iri("http://ex/100%"),
            Iri("http://ex/%zz"),
            Iri("http://[bad"),
            Iri("http://ex/#a#b"),
            Iri("http://ex/\ue000"),
            Literal("a", "EN-gb"),
            Literal("a", "i"),
            Literal("a", "ar--rtl"),
            Literal("a", None, LANG_STRING),
            BlankNode("nodeID://1"),
            BlankNode(""),
            BlankNode("label-61"),
        )
    ]
    assert list(read_results(written(form, ["x"], rows), format=form)) == rows


def test_shared_cases() -> None:
    folder = shared("cases/results")
    terms = {
        "01": Iri("urn:a"),
        "02": Iri("urn:a"),
        "03": BlankNode("nodeID://b10"),
        "04": Literal("a", None, LANG_STRING),
        "05": Iri("http://ex/100%"),
        "06": Literal("a"),
        "07": Iri("urn:a"),
    }
    for path in sorted(folder.iterdir()):
        with read_results(path) as results:
            assert (results.variables, list(results)) == (["x"], [(terms[path.name[:2]],)]), path


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


def test_a_number_with_too_many_digits() -> None:
    number = b"1" * 100_000
    text = b'{"head":{"vars":[]},"results":{"bindings":[]},"n":' + number + b"}"
    with pytest.raises(LimitError, match="a number has more digits than Python reads"):
        list(read_results(text, format="srj"))


def test_a_query_that_oxigraph_cannot_evaluate() -> None:
    ox = pytest.importorskip("pyoxigraph")
    oxigraph = pytest.importorskip("jelly_plugins.oxigraph")
    # Nothing listens there.
    query = "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }"
    with pytest.raises(SourceError, match="Oxigraph cannot evaluate the query: "):
        oxigraph.write_solutions(ox.Store().query(query), io.BytesIO(), format="tsv")


@pytest.mark.parametrize("form", ["srj", "srx"])
def test_empty_solutions_of_many_variables(form: str) -> None:
    names = [f"v{n}" for n in range(20_000)]
    if form == "srj":
        results = {"head": {"vars": names}, "results": {"bindings": [{}] * 5000}}
        text = json.dumps(results)
    else:
        head = "".join(f'<variable name="{name}"/>' for name in names)
        text = (
            f'<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head>{head}</head>'
            f"<results>{'<result/>' * 5000}</results></sparql>"
        )
    with (
        pytest.raises(LimitError, match=r"^<bytes>: row \d+: the solutions have more than"),
        read_results(text.encode(), format=form) as results,
    ):
        deque(results, maxlen=0)
