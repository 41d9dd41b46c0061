"""Parsing into graphs and datasets, in memory and over Oxigraph, from every kind of source."""

from __future__ import annotations

import gzip
import io
import logging
import re
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import oxrdflib
import pytest
import rdflib
from rdflib import BNode, Dataset, Graph, URIRef
from rdflib.compare import isomorphic
from rdflib.parser import InputSource
from rdflib.plugins.stores.memory import Memory

import jelly_plugins.rdflib
from jelly_plugins import (
    DEFAULT_GRAPH,
    BlankNode,
    Iri,
    JellyError,
    LimitError,
    Literal,
    OptionsError,
    Quad,
    SourceError,
    StreamOptions,
    TermError,
    Triple,
    TruncatedError,
)
from jelly_plugins.rdflib import load
from jelly_plugins.rdflib.reading import JellyParser
from jelly_plugins.reserved import BOOKKEEPING_IRI

from ..codec.input_kinds import INPUT_KINDS
from ..conversions import converted
from ..io.test_http import answer_of, answering
from ..shared_data import shared
from .support import (
    EX,
    GRAPHS,
    QUADS,
    TRIPLE,
    G,
    O,
    P,
    S,
    conjunctive_graph,
    default_graph,
    jelly,
    parse,
    quads_of,
    sample_graph,
    to_bytes,
)

# rdflib's own parsers use what rdflib warns of.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ONE = jelly([Triple(S, P, O)])
KINDS = {"Graph": Graph, "Dataset": Dataset, "ConjunctiveGraph": conjunctive_graph}

kinds = pytest.mark.parametrize("kind", KINDS)
both_options = pytest.mark.parametrize("options", [QUADS, GRAPHS], ids=["quads", "graphs"])


def said(error: BaseException) -> str:
    """The message of an error with its notes."""
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


# Sources


@pytest.fixture(scope="module")
def big() -> tuple[Graph, bytes]:
    graph = sample_graph()
    return graph, to_bytes(graph, frame_rows=7)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_parameters_of_parse(
    pack: Callable[[bytes], bytes], tmp_path: Path, big: tuple[Graph, bytes]
) -> None:
    graph, data = big
    path = tmp_path / "x.jelly"
    path.write_bytes(pack(data))
    answer = answer_of(200, ("Content-Type", "application/octet-stream"), body=pack(data))
    with (
        path.open("rb") as file,
        path.open("r", encoding="latin-1") as text_file,
        answering(answer) as url,
    ):
        for given in (
            *({"source": source} for source in (path.as_uri(), text_file, url)),
            {"location": str(path)},
            {"file": file},
            {"data": pack(data)},
        ):
            assert Graph().parse(format="jelly-plugins", **given).isomorphic(graph)  # type: ignore[arg-type]
        assert not file.closed


@pytest.mark.parametrize("kind", ["path", "gzip", "bz2", "zstd"])
def test_a_suffix_or_a_media_type_names_the_format(
    kind: str, tmp_path: Path, big: tuple[Graph, bytes]
) -> None:
    graph, data = big
    jelly_plugins.rdflib.register()
    with INPUT_KINDS[kind](data, tmp_path) as path:
        with path.open("rb") as file:
            assert Graph().parse(file=file).isomorphic(graph)
        for source in (str(path), path, path.as_uri()):
            assert Graph().parse(source).isomorphic(graph)
            dataset = Dataset()
            dataset.parse(source)
            assert len(default_graph(dataset)) == len(graph)
    assert Graph().parse(data=data, format="application/x-jelly-rdf").isomorphic(graph)
    media_type = ("Content-Type", "application/x-jelly-rdf")
    with answering(answer_of(200, media_type, body=data)) as url:
        assert Graph().parse(url).isomorphic(graph)
    with answering(answer_of(200, media_type, body=data[:-1])) as url:
        target = Graph()
        with pytest.raises(TruncatedError, match=rf"^{re.escape(url)}: frame \d+"):
            target.parse(url)
        assert len(target) == 0


def test_sources_that_are_no_bytes_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="this is text, not Jelly"):
        Graph().parse(data="<urn:s> <urn:p> <urn:o> .", format="jelly-plugins")
    with pytest.raises(SourceError, match="binary"):
        Graph().parse(io.StringIO("text"), format="jelly-plugins")
    source = InputSource()
    with pytest.raises(SourceError, match="as text"):
        JellyParser().parse(source, Graph())
    path = tmp_path / "x.nt.gz"
    path.write_bytes(gzip.compress(b"<urn:s> <urn:p> <urn:o> ."))
    with pytest.raises(SourceError, match=r"x\.nt\.gz: .*this is text, not Jelly"):
        Graph().parse(path)


# Graphs and datasets


@pytest.mark.parametrize("identifier", [None, URIRef(EX + "g"), BNode()], ids=type)
def test_a_graph_takes_triples(identifier: Any, store: str, calls: SimpleNamespace) -> None:
    graph = Graph(store=store, identifier=identifier)
    for _ in range(2):
        parse(graph, jelly([Triple(S, P, O)], namespaces={"mine": EX}))
        assert set(graph) == {TRIPLE}
        assert len(graph) == 1
    assert dict(graph.namespaces())["mine"] == URIRef(EX)
    assert calls.load == (2 if store == "Oxigraph" else 0)


def test_a_graph_of_a_dataset_takes_triples_alone(store: str, calls: SimpleNamespace) -> None:
    dataset = Dataset(store=store)
    named = dataset.graph(EX + "mine")
    with pytest.raises(TermError) as caught:
        parse(named, jelly([Quad(S, P, O, G)]))
    assert "rdflib.Dataset" in said(caught.value)
    assert quads_of(dataset) == set()
    parse(named, ONE)
    assert quads_of(dataset) == {(*TRIPLE, URIRef(EX + "mine"))}
    assert calls.load == (2 if store == "Oxigraph" else 0)


QUAD_STATEMENTS = [
    Quad(S, P, O, DEFAULT_GRAPH),
    Quad(S, P, O, G),
    Quad(S, P, Literal("x", langtag="en"), G),
    Quad(S, P, O, BlankNode("b")),
]
STORED = {
    (*TRIPLE, None),
    (*TRIPLE, URIRef(EX + "g")),
    (*TRIPLE[:2], rdflib.Literal("x", lang="en"), URIRef(EX + "g")),
    (*TRIPLE, BNode("b")),
}


@both_options
def test_a_conjunctive_graph_takes_quads(options: StreamOptions, store: str) -> None:
    data = jelly(QUAD_STATEMENTS, options=options)
    graph = conjunctive_graph(store=store)
    load(graph, data, blank_nodes="keep")
    assert quads_of(graph) == STORED
    assert quads_of(parse(Dataset(), to_bytes(graph), blank_nodes="keep")) == STORED


def test_a_conjunctive_graph_parses_its_default_graph_alone(store: str) -> None:
    """rdflib calls the parser with its default graph, which is like any other Graph."""
    graph = conjunctive_graph(store=store)
    text = b'<urn:s> <urn:p> "d" . <urn:g> { <urn:s> <urn:p> "n" }'
    with pytest.raises(TermError) as caught:
        graph.parse(data=text, format="jelly-plugins-trig")
    assert "jelly_plugins.rdflib.load" in said(caught.value)
    assert len(graph) == 0
    load(graph, text, format="trig")
    assert {str(context.identifier) for context in graph.contexts()} >= {"urn:g"}
    assert len(graph) == 2


@both_options
def test_graphs_of_a_dataset_share_its_namespaces(options: StreamOptions) -> None:
    dataset = parse(Dataset(), jelly(QUAD_STATEMENTS, options=options))
    dataset.bind("mine", EX)
    for graph in dataset.graphs():
        assert ("mine", URIRef(EX)) in set(graph.namespaces())


def test_a_store_that_is_only_derived_from_oxrdflibs_goes_the_public_way(
    calls: SimpleNamespace,
) -> None:
    class Mine(oxrdflib.OxigraphStore):  # type: ignore[misc, name-defined]
        added = 0

        def addN(self, quads: Any) -> None:  # noqa: N802
            quads = list(quads)
            self.added += len(quads)
            super().addN(quads)

    graph = Graph(store=Mine())
    parse(graph, ONE)
    assert graph.store.added == 1  # type: ignore[attr-defined]
    assert calls.load == 0
    assert set(parse(Graph(), to_bytes(graph))) == {TRIPLE}


# Blank nodes


# Namespaces


@kinds
def test_namespaces_are_bound(kind: str, store: str) -> None:
    data = jelly([Triple(S, P, O)], namespaces={"mine": EX, "": EX + "empty/"})
    graph = parse(KINDS[kind](store=store), data)
    bound = dict(graph.namespaces())
    assert bound["mine"] == URIRef(EX)
    assert bound[""] == URIRef(EX + "empty/")
    assert TRIPLE[0].n3(graph.namespace_manager) == "mine:s"


def test_namespaces_override_as_in_turtle() -> None:
    turtle = f"@prefix a: <{EX}> . @prefix foaf: <{EX}foaf/> ."
    data = jelly([], namespaces={"a": EX, "foaf": EX + "foaf/"})
    for before in ({}, {"z": EX}, {"a": EX + "other/"}, {"foaf": EX}):
        expected, graph = Graph(), Graph()
        for target in (expected, graph):
            for name, iri in before.items():
                target.bind(name, iri)
        expected.parse(data=turtle, format="turtle")
        parse(graph, data)
        assert dict(graph.namespaces()) == dict(expected.namespaces())


def test_namespaces_that_cannot_be_bound_are_rejected() -> None:
    graph = Graph()
    before = dict(graph.namespaces())
    with pytest.raises(TermError, match="'a b'") as caught:
        parse(graph, jelly([Triple(S, P, O)], namespaces={"a b": EX}))
    assert caught.value.frame == 0
    with pytest.raises(LimitError, match="4096"):
        parse(graph, jelly([], namespaces={f"n{n}": f"{EX}{n}/" for n in range(4097)}))
    nested = [f"{EX}{'u' * n}" for n in range(1, 252)]
    for iris in (nested, nested[::-1]):
        namespaces = {f"n{n}": iri for n, iri in enumerate(iris)}
        with pytest.raises(LimitError, match="more than 200 namespaces nest") as deep:
            parse(graph, jelly([Triple(S, P, O)], namespaces=namespaces))
        assert deep.value.frame == 0
    assert len(graph) == 0
    assert before.items() <= dict(graph.namespaces()).items()


# Bad input


@kinds
def test_bad_input_leaves_the_target_as_it_was(kind: str, store: str) -> None:
    graph = parse(KINDS[kind](store=store), ONE)
    bound = dict(graph.namespaces())
    for data in (
        to_bytes(sample_graph(), namespaces={"mine": EX})[:-1],
        jelly([Triple(S, P, S)], namespaces={"a b": EX}),
    ):
        for generalized in (True, False):
            with pytest.raises(JellyError):
                parse(graph, data, generalized=generalized)
            assert set(graph.triples((None, None, None))) == {TRIPLE}
            assert dict(graph.namespaces()) == bound


@pytest.mark.parametrize("make", [Dataset, conjunctive_graph])
def test_the_reserved_graph_is_rejected(make: Any, store: str) -> None:
    dataset = make(store=store)
    with pytest.raises(TermError, match=r"a statement is in the graph .*bookkeeping"):
        load(dataset, jelly([Quad(S, P, O, G), Quad(S, P, O, Iri(BOOKKEEPING_IRI))]))
    with pytest.raises(TermError, match=r"what is to be loaded is in the graph .*bookkeeping"):
        load(Graph(dataset.store, URIRef(BOOKKEEPING_IRI)), ONE)
    assert list(dataset.quads()) == []


def test_without_atomic_frames_go_in_as_they_come() -> None:
    statements = [Triple(S, P, Literal(str(number))) for number in range(300)]
    data = jelly(statements, frame_rows=10)
    graph = Graph()
    with pytest.raises(TruncatedError):
        parse(graph, data[:-1], atomic=False)
    assert 200 < len(graph) < 300


def test_no_bytes_are_an_empty_graph_unless_parsing_is_strict(store: str) -> None:
    graph = Graph(store=store)
    parse(graph, b"")
    assert len(graph) == 0
    with pytest.raises(OptionsError, match="empty"):
        parse(Graph(store=store), b"", strict=True)


@pytest.mark.parametrize("atomic", [True, False])
@pytest.mark.parametrize("make", [Graph, Dataset])
def test_a_store_that_rejects_a_statement_gets_no_namespaces(make: Any, atomic: bool) -> None:
    class Picky(Memory):
        def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
            if triple[2] == rdflib.Literal("bad"):
                raise ValueError("not that one")
            super().add(triple, context, quoted)

    graph = make(store=Picky())
    before = dict(graph.namespaces())
    statements = [Triple(S, P, O), Triple(S, P, Literal("bad")), Triple(S, P, P)]
    if make is Dataset:
        statements = [Quad(*triple, G) for triple in statements]
    data = jelly(statements, namespaces={"mine": EX})
    message = "the store rejected a statement: not that one.*may keep those added before"
    with pytest.raises(TermError, match=message):
        parse(graph, data, atomic=atomic)
    assert dict(graph.namespaces()) == before
    assert {triple for triple, _ in graph.store.triples((None, None, None))} == {TRIPLE}


# Relative IRIs


TURTLE = b"<urn:s> <urn:p> <urn:o>, <x>, <#f> ."


def test_the_base_is_an_absolute_iri_of_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with rdflib's own parsers, except that characters which are not valid in IRIs are
    escaped."""
    monkeypatch.chdir(tmp_path)
    Path("x.ttl").write_bytes(TURTLE)
    Path("a b%.ttl").write_bytes(TURTLE)
    with gzip.open("x.ttl.gz", "wb") as packed:
        packed.write(TURTLE)
    with zipfile.ZipFile("x.zip", "w") as archive:
        archive.writestr("m.ttl", TURTLE)
    folder = tmp_path.as_uri()
    archive = zipfile.ZipFile("x.zip")
    sources: list[tuple[Callable[[], Any], str | None, str]] = [
        (partial(open, "x.ttl", "rb"), None, f"{folder}/x.ttl"),
        (partial(open, "x.ttl"), None, f"{folder}/x.ttl"),
        (partial(open, "a b%.ttl", "rb"), None, f"{folder}/a%20b%25.ttl"),
        (partial(gzip.open, "x.ttl.gz"), None, f"{folder}/x.ttl.gz"),
        (lambda: archive.open("m.ttl"), None, f"{folder}/m.ttl"),
        (lambda: io.BytesIO(TURTLE), "some name", f"{folder}/some%20name"),
        (lambda: io.BytesIO(TURTLE), "http://x/y", "http://x/y"),
    ]
    for opened, public_id, base in sources:
        with opened() as source:
            graph = Graph().parse(source, format="jelly-plugins-turtle", publicID=public_id)
        name = base.rpartition("/")[0]
        assert {str(each) for each in graph.objects()} == {"urn:o", f"{name}/x", f"{base}#f"}


def test_only_a_relative_iri_needs_a_base() -> None:
    absolute = b"<urn:s> <urn:p> <urn:o> ."
    with tempfile.TemporaryFile() as file:
        # Its name is a number.
        file.write(absolute)
        file.seek(0)
        assert len(Graph().parse(file, format="jelly-plugins-turtle")) == 1
    source = io.BytesIO(absolute)
    assert len(Graph().parse(source, format="jelly-plugins-turtle", publicID="http://[x")) == 1
    # Jelly has no base, and takes them as they are.
    assert set(parse(Graph(), jelly([Triple(Iri("s"), P, O)])).subjects()) == {URIRef("s")}
    with pytest.raises(JellyError, match="relative"):
        Graph().parse(io.BytesIO(TURTLE), format="jelly-plugins-turtle")


# Literals that rdflib cannot make a value of


@pytest.mark.parametrize(
    ("lex", "datatype"),
    [("abc", "integer"), ("abc", "double"), ("2020-13-45", "date"), ("abc", "dateTime")],
)
def test_rdflib_reports_them_once(
    lex: str, datatype: str, caplog: pytest.LogCaptureFixture
) -> None:
    """As of any of its parsers."""
    triple = Triple(S, P, Literal(lex, datatype=str(rdflib.XSD[datatype])))
    with caplog.at_level(logging.WARNING, logger="rdflib.term"):
        assert len(parse(Graph(), jelly([triple] * 3))) == 1
    [message] = caplog.records
    assert message.exc_info is not None
    assert message.exc_info[1] is not None
    assert message.exc_info[1].__context__ is None


# Any format: the same as by rdflib's own parsers


SAMPLE = b"""@prefix ex: <http://example.org/> .
ex:alice ex:knows ex:bob, [ ex:name "Carol"@en ] ; ex:age 042 ; ex:is true ; ex:note "a\\nb" .
"""
TRIG = b"""@prefix ex: <http://example.org/> .
ex:s ex:p 1.50 . ex:g { ex:s ex:p _:b . _:b ex:p "x" . } """


@pytest.mark.parametrize("name", ["nt", "turtle", "xml", "nquads", "trig"])
def test_plugins(name: str) -> None:
    has_graphs = name in ("nquads", "trig")
    given, make = (TRIG, Dataset) if has_graphs else (SAMPLE, Graph)
    form = "rdf/xml" if name == "xml" else name
    data = converted(given, "trig" if has_graphs else "turtle", form)
    for source in (data, data.decode(), io.BytesIO(data), io.StringIO(data.decode())):
        found: Any = make()
        is_data = isinstance(source, bytes | str)
        found.parse(**{"data" if is_data else "source": source}, format=f"jelly-plugins-{name}")
        if has_graphs:
            assert len(found) == 3
        else:
            assert isomorphic(found, Graph().parse(data=SAMPLE, format="turtle"))


def test_a_store_without_contexts() -> None:
    graph = Graph(store="SimpleMemory")
    load(graph, SAMPLE, format="turtle")
    assert isomorphic(graph, Graph().parse(data=SAMPLE, format="turtle"))


@pytest.mark.parametrize("name", ["so", "qudt-vocab"])
def test_real_data(name: str) -> None:
    path = shared(f"data/{name}.nt.gz")
    # A part, because rdflib takes long.
    with gzip.open(path) as file:
        data = b"".join(islice(file, 15_000))
    ours, theirs = Graph(), Graph()
    statements = load(ours, gzip.compress(data), format="nt")
    theirs.parse(data=data, format="nt11")
    assert statements >= len(ours) == len(theirs)

    def without_nodes(graph: Graph) -> set[Any]:
        return {each for each in graph if not any(isinstance(t, rdflib.BNode) for t in each)}

    assert without_nodes(ours) == without_nodes(theirs)
