"""Whole files: those of Apache Jena, real data, names, prefixes, and graphs and stores."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pytest
import rdflib
from pyoxigraph import NamedNode, Store
from rdflib import BNode, Dataset, Graph, URIRef
from rdflib.compare import isomorphic

from jelly_plugins import BlankNode, Iri, JellyError, Limits, SourceError, StatementError
from jelly_plugins import Literal as GenericLiteral
from jelly_plugins import Triple as GenericTriple
from jelly_plugins.codec.text.ntriples import parse_ntriples
from jelly_plugins.jena import JenaFormat, JenaReader, detect, read, write
from jelly_plugins.jena.rdflib_plugins import dump as dump_graph
from jelly_plugins.oxigraph import load

from ..conversions import converted, written
from ..ntriples import write_lines
from ..shared_data import shared
from .kernels import Kernel, rows
from .test_rows import GENERIC, XSD, XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER, literal, triple
from .test_rows import O as ROW_O
from .test_rows import P as ROW_P
from .test_rows import S as ROW_S

# rdflib warns of features that it uses itself, and of lexical forms.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")

FORMATS = list(JenaFormat)
TITLES = {JenaFormat.THRIFT: "rdf-thrift", JenaFormat.PROTOBUF: "rdf-protobuf"}


# Files written by Apache Jena 4.5.0


def data_of(name: str) -> bytes:
    path = shared(f"data/{name}")
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def relabelled(statements: list[Any]) -> list[Any]:
    """Number the blank nodes of statements in the order in which they occur."""
    labels: dict[str, str] = {}

    def of(term: Any) -> Any:
        if isinstance(term, BlankNode):
            return BlankNode(labels.setdefault(term.label, f"b{len(labels)}"))
        return term

    return [GenericTriple._make(map(of, statement)) for statement in statements]


@pytest.mark.parametrize("form", FORMATS)
def test_the_sequence_ontology(kernel: Kernel, form: JenaFormat) -> None:
    """The statements of its source, and the bytes of Apache Jena when they are written again."""
    data = data_of(f"jena/so.{form}.gz")
    if kernel.name == "python":
        # A part, because the file takes long; the order of rows is that of the lines.
        data = data[: len(data) // 16]
    reader = kernel.StatementReader(form)
    text, at, stop = b"", -1, 0
    while stop > at and stop < len(data):
        at = stop
        lines, stop = reader.read_text(data, at)
        text += lines
    found = list(parse_ntriples(text))
    assert relabelled(found) == relabelled(list(parse_ntriples(data_of("so.nt.gz")))[: len(found)])
    assert len(found) == 45_584 or kernel.name == "python"
    assert kernel.lines(text, form) == data[:stop]
    assert len(data) - stop < (1000 if kernel.name == "python" else 1)


def by_value(statements: list[Any]) -> list[Any]:
    """Normalise statements: one lexical form for each number, and one datatype for all integers."""

    def number(term: Any) -> Any:
        if isinstance(term, GenericLiteral) and term.datatype in (XSD_INTEGER, f"{XSD}int"):
            return int(term.lex)
        if isinstance(term, GenericLiteral) and term.datatype in (XSD_DECIMAL, XSD_DOUBLE):
            return float(term.lex)
        return term

    # Numbers that Apache Jena's value forms have lost.
    lost = [GenericLiteral(lex, None, XSD_INTEGER) for lex in ("9" * 20, "7766279631452241919")]
    return [
        GenericTriple(*statement[:2], number(statement[2]))
        for statement in relabelled(statements)
        if statement[2] not in lost
    ]


@pytest.mark.parametrize("name", ["g.rt", "g.rpb", "g.values.rt", "g.values.rpb"])
def test_the_small_graph(kernel: Kernel, name: str) -> None:
    data, form = data_of(f"jena/{name}"), JenaFormat(name.rpartition(".")[2])
    found = kernel.read(data, form)
    expected = kernel.read(data_of("jena/g.rt"), JenaFormat.THRIFT)
    assert len(found) == 13
    if "values" in name:
        assert by_value(found) == by_value(expected)
        return
    assert found == expected
    writer = kernel.RowWriter(form)
    opening = writer.add_prefix("ex", "http://example.org/") + writer.add_prefix("xsd", XSD)
    assert opening + writer.add_lines(b"".join(write_lines(found))) == data


# Names, prefixes and errors


@pytest.mark.parametrize(
    ("form", "names"),
    [
        (JenaFormat.THRIFT, ["rt", "trdf", "rdf-thrift", "application/rdf+thrift"]),
        (JenaFormat.PROTOBUF, ["rpb", "pbrdf", "rdf-protobuf", "application/rdf+protobuf"]),
    ],
)
def test_formats_by_name_and_content(form: JenaFormat, names: list[str], tmp_path: Path) -> None:
    data = written(write, [GENERIC], format=form)
    assert list(read(data)) == [GENERIC]
    for name in names:
        assert written(write, [GENERIC], format=name) == data
        assert list(read(data, format=name)) == [GENERIC]
    for ending in (*names[:2], f"{names[0]}.gz"):
        write([GENERIC], tmp_path / f"x.{ending}")
        assert list(read(tmp_path / f"x.{ending}")) == [GENERIC]
        (tmp_path / "plain").write_bytes((tmp_path / f"x.{ending}").read_bytes())
        assert list(read(tmp_path / "plain")) == [GENERIC]


def test_unknown_formats() -> None:
    for call in (
        lambda: write([], io.BytesIO(), format="nonsense"),
        lambda: list(read(b"", format="nonsense")),
        lambda: JenaReader(b"", format=1),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match="is not one of the formats rt, rpb"):
            call()
    for name in ("x.nt", io.BytesIO()):
        with pytest.raises(ValueError, match="is of neither"):
            write([GENERIC], name)
    with pytest.raises(SourceError, match="neither RDF Thrift nor RDF Protobuf"):
        list(read(b"<urn:s> <urn:p> <urn:o> ."))
    assert list(read(b"")) == []
    assert detect(b"\x0a\x1c") is None


@pytest.mark.parametrize("form", FORMATS)
def test_prefixes_are_converted(form: JenaFormat) -> None:
    turtle = b"@prefix e: <http://e/> . e:s e:p e:o ."
    data = converted(turtle, "ttl", form)
    with JenaReader(data) as batches:
        assert sum(len(batch.statements) for batch in batches) == 1
        assert batches.prefixes == {"e": "http://e/"}
    assert b"@prefix e: <http://e/>" in converted(data, form, "ttl")
    for other in ("jelly", *FORMATS):
        assert converted(converted(data, form, other), other, form) == data
    without = converted(turtle, "ttl", form, namespaces=False)
    assert b"prefix" not in converted(without, form, "ttl")


def test_prefixes_are_declared_before_the_statements_that_follow_them() -> None:
    line = "<http://e/a> <http://f/b> 1 . "
    text = b'VERSION "1.2" PREFIX e: <http://e/> ' + (line * 4000).encode()
    text += b"PREFIX f: <http://f/> " + (line * 4000).encode()
    found = converted(text, "ttl", "rt")
    with JenaReader(found) as batches:
        declared = [name for batch in batches for name, _ in batch.namespaces]
    assert declared == ["e", "f"]
    # Names are abbreviated from their declaration on.
    assert found.count(b"http://e/") == 1
    assert 1 < found.count(b"http://f/") <= 4001 + 4000


@pytest.mark.parametrize("form", FORMATS)
def test_errors_name_source_and_row(form: JenaFormat, tmp_path: Path) -> None:
    good = rows(form, triple(ROW_S, ROW_P, ROW_O))
    path = tmp_path / f"x.{form}"
    for data, error in (
        (good + rows(form, triple(literal("x"), ROW_P, ROW_O)), StatementError),
        (good + good[:-4], JellyError),
    ):
        path.write_bytes(data)
        for act in (lambda: list(read(path)), lambda: converted(path, form, "nq")):
            with pytest.raises(error) as caught:
                act()
            assert (caught.value.source, caught.value.row) == (str(path), 1)
    with pytest.raises(JellyError, match="string_bytes"):
        converted(good, form, "jelly", limits=Limits(string_bytes=3))


# Graphs of rdflib, and stores of Oxigraph. ``test_loading`` has what all formats have in common

S, P, O, G = (NamedNode(f"urn:{name}") for name in "spog")  # noqa: E741


@pytest.mark.parametrize("form", FORMATS)
def test_rdflib_plugins(form: JenaFormat, tmp_path: Path) -> None:
    graph = Graph().parse(
        data="@prefix e: <http://e/> . e:s e:p e:o, 'x'@en, '01'^^e:d, [] .", format="turtle"
    )
    for title in (TITLES[form], f"application/{TITLES[form].replace('-', '+')}"):
        for namespaces in ({}, {"e": URIRef("http://e/")}):
            data = graph.serialize(format=title, encoding="utf-8", namespaces=namespaces)
            copy = Graph().parse(data=data, format=title)
            assert isomorphic(copy, graph)
            assert copy.namespace_manager.store.namespace("e") == namespaces.get("e")
    path = tmp_path / f"x.{form}.gz"
    graph.serialize(path, format=TITLES[form])
    assert isomorphic(Graph().parse(path, format=TITLES[form]), graph)
    assert dump_graph(graph, tmp_path / f"x.{form}") == len(graph)
    assert isomorphic(Graph().parse(tmp_path / f"x.{form}"), graph)
    # rdflib decodes the bytes, which are text by chance.
    with pytest.raises(UnicodeDecodeError):
        graph.add((URIRef("urn:s"), URIRef("urn:p"), rdflib.Literal("\xe9" * 100))).serialize(
            format=TITLES[form]
        )


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("store", ["default", "Oxigraph"])
def test_rdflib_datasets(form: JenaFormat, store: str) -> None:
    dataset = Dataset(store=store)
    for graph in (dataset.default_graph, dataset.graph(URIRef("urn:g")), dataset.graph(BNode("g"))):
        graph.add((URIRef("urn:s"), URIRef("urn:p"), rdflib.Literal("x", lang="en")))
        graph.add((BNode("b"), URIRef("urn:p"), rdflib.Literal(7)))
    data = dataset.serialize(format=TITLES[form], encoding="utf-8")
    copy = Dataset(store=store).parse(data=data, format=TITLES[form])
    assert len(list(copy.quads())) == 6
    assert {type(graph.identifier) for graph in copy.graphs()} == {URIRef, BNode}
    assert len(copy.graph(URIRef("urn:g"))) == 2


@pytest.mark.parametrize("settings", [{}, {"blank_nodes": "keep"}, {"quoted_triples": "reify"}])
@pytest.mark.parametrize("form", FORMATS)
def test_terms_that_oxigraph_rejects_change_nothing(form: JenaFormat, settings: Any) -> None:
    good = rows(form, *[triple(ROW_S, ROW_P, ROW_O)] * 10)
    for bad in (
        ("iri", {"iri": "relative"}),
        ("iri", {"iri": "urn:a b"}),
        literal("x", langtag="waytoolong"),
        literal("x", datatype="d"),
    ):
        store = Store()
        with pytest.raises(JellyError) as caught:
            load(store, good + rows(form, triple(ROW_S, ROW_P, bad)), format=form, **settings)
        assert (len(store), caught.value.source) == (0, "<bytes>")


def test_base_iris_of_a_stream_are_reported() -> None:
    data = rows(JenaFormat.PROTOBUF, ("base", {"iri": "urn:b/"}))
    with JenaReader(data, format="rpb") as batches:
        assert not any(batch.statements for batch in batches)
        assert batches.base == "urn:b/"


def test_lexical_forms_are_kept() -> None:
    """Apache Jena's value forms, which lose them, are not written."""
    seven = Iri("urn:s"), Iri("urn:p"), GenericLiteral("007", None, XSD_INTEGER)
    for form in FORMATS:
        assert list(read(written(write, [seven], format=form))) == [GenericTriple(*seven)]
