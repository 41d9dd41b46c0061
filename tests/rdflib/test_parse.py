"""Parsing into Graph, Dataset and ConjunctiveGraph, from every kind of source."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import rdflib
from rdflib import RDF, BNode, Dataset, Graph, URIRef
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.parser import InputSource
from rdflib.plugins.stores.memory import Memory

import jelly_plugins.rdflib
from jelly_plugins import (
    JellyError,
    LimitError,
    Limits,
    Literal,
    OptionsError,
    OrderError,
    SourceError,
    StreamOptions,
    TermError,
    TruncatedError,
)
from jelly_plugins.codec.common.wire import bytes_field, string_field, varint_field
from jelly_plugins.rdflib.plugin.parser import JellyParser

from .support import (
    DEFAULT_GRAPH,
    EX,
    GRAPHS,
    QUADS,
    BlankNode,
    Frame,
    G,
    Iri,
    O,
    P,
    Quad,
    S,
    Triple,
    conjunctive_graph,
    default_graph,
    jelly,
    jelly_frames,
    parse,
    quads_of,
    same_dataset,
    sample_dataset,
    sample_graph,
    to_bytes,
)

pytestmark = pytest.mark.filterwarnings("ignore:Dataset.default_context:DeprecationWarning")

TRIPLE = (URIRef(EX + "s"), URIRef(EX + "p"), URIRef(EX + "o"))
ONE = jelly([Triple(S, P, O)])


# Sources


@pytest.fixture
def big() -> tuple[Graph, bytes]:
    graph = sample_graph()
    return graph, to_bytes(graph, frame_rows=7)


class OneByte(io.RawIOBase):
    """Hands out one byte at a time, as a pipe or socket may."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._file.read(min(size, 1) if size else 0)


PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}


@pytest.mark.parametrize("suffix", PACKERS)
def test_files_by_path_object_and_url(
    suffix: str, tmp_path: Path, big: tuple[Graph, bytes]
) -> None:
    graph, data = big
    path = tmp_path / f"x.jelly{suffix}"
    path.write_bytes(PACKERS[suffix](data))
    with path.open("rb") as file, path.open("r", encoding="latin-1") as text_file:
        for source in (str(path), path, path.as_uri(), file, text_file):
            assert Graph().parse(source, format="jelly-plugins").isomorphic(graph)
    assert Graph().parse(location=str(path), format="jelly-plugins").isomorphic(graph)
    with path.open("rb") as file:
        assert Graph().parse(file=file, format="jelly-plugins").isomorphic(graph)


@pytest.mark.parametrize("suffix", PACKERS)
def test_the_format_is_told_by_the_suffix(
    suffix: str, tmp_path: Path, big: tuple[Graph, bytes]
) -> None:
    graph, data = big
    jelly_plugins.rdflib.register()
    path = tmp_path / f"x.jelly{suffix}"
    path.write_bytes(PACKERS[suffix](data))
    with path.open("rb") as file:
        assert Graph().parse(file=file).isomorphic(graph)
    for source in (str(path), path, path.as_uri()):
        assert Graph().parse(source).isomorphic(graph)
        dataset = Dataset()
        dataset.parse(source)
        assert len(default_graph(dataset)) == len(graph)


def test_zstandard(tmp_path: Path, big: tuple[Graph, bytes]) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "x.jelly.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(big[1]))
    assert Graph().parse(path).isomorphic(big[0])


def test_bytes_and_data(big: tuple[Graph, bytes]) -> None:
    graph, data = big
    assert Graph().parse(data, format="jelly-plugins").isomorphic(graph)
    assert Graph().parse(data=data, format="jelly-plugins").isomorphic(graph)
    assert Graph().parse(io.BytesIO(data), format="jelly-plugins").isomorphic(graph)
    assert Graph().parse(data=gzip.compress(data), format="jelly-plugins").isomorphic(graph)


def test_a_stream_that_gives_one_byte_at_a_time(big: tuple[Graph, bytes]) -> None:
    graph, data = big
    assert Graph().parse(OneByte(data), format="jelly-plugins").isomorphic(graph)
    assert Graph().parse(OneByte(gzip.compress(data)), format="jelly-plugins").isomorphic(graph)


def test_a_pipe(big: tuple[Graph, bytes]) -> None:
    graph, data = big
    reading, writing = os.pipe()

    def feed() -> None:
        with os.fdopen(writing, "wb", buffering=0) as file:
            for start in range(0, len(data), 100):
                file.write(data[start : start + 100])

    thread = threading.Thread(target=feed)
    thread.start()
    with os.fdopen(reading, "rb") as file:
        assert Graph().parse(file, format="jelly-plugins").isomorphic(graph)
    thread.join()


@pytest.fixture
def server() -> Iterator[tuple[str, dict[str, tuple[str, bytes]]]]:
    """A web server on this machine: its URL, and what it serves (media type and body by path)."""
    content: dict[str, tuple[str, bytes]] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            media_type, body = content[self.path]
            self.send_response(200)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}", content
        httpd.shutdown()
        thread.join()


def test_urls(server: tuple[str, dict[str, tuple[str, bytes]]], big: tuple[Graph, bytes]) -> None:
    jelly_plugins.rdflib.register()
    url, content = server
    graph, data = big
    content["/typed"] = ("application/x-jelly-rdf", data)
    content["/x.jelly"] = ("application/octet-stream", data)
    content["/packed"] = ("application/gzip", gzip.compress(data))
    assert Graph().parse(url + "/typed").isomorphic(graph)
    assert Graph().parse(url + "/x.jelly", format="jelly-plugins").isomorphic(graph)
    assert Graph().parse(url + "/packed", format="jelly-plugins").isomorphic(graph)
    content["/bad"] = ("application/x-jelly-rdf", data[:-1])
    target = Graph()
    with pytest.raises(TruncatedError, match=r"^http://127.0.0.1:\d+/bad: frame \d+"):
        target.parse(url + "/bad")
    assert len(target) == 0


def test_media_type_names_the_plugin() -> None:
    jelly_plugins.rdflib.register()
    assert len(Graph().parse(data=ONE, format="application/x-jelly-rdf")) == 1


def test_sources_that_are_no_bytes_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="this is text, not Jelly"):
        Graph().parse(data="<urn:s> <urn:p> <urn:o> .", format="jelly-plugins")
    with pytest.raises(SourceError, match="binary"):
        Graph().parse(io.StringIO("text"), format="jelly-plugins")
    with pytest.raises(SourceError, match="as text"):
        JellyParser().parse(InputSource(), Graph())
    path = tmp_path / "x.nt.gz"
    path.write_bytes(gzip.compress(b"<urn:s> <urn:p> <urn:o> ."))
    with pytest.raises(SourceError, match=r"x\.nt\.gz: .*this is text, not Jelly"):
        Graph().parse(path)


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    path.write_bytes(ONE[:-1])
    with pytest.raises(TruncatedError, match=r"x\.jelly: frame 0"):
        Graph().parse(path, format="jelly-plugins")


def test_a_file_of_the_callers_stays_open() -> None:
    file = io.BytesIO(ONE)
    Graph().parse(file, format="jelly-plugins")
    assert not file.closed


# Graphs and datasets


def test_a_graph_takes_triples() -> None:
    graph = Graph()
    parse(graph, ONE)
    assert set(graph) == {TRIPLE}
    parse(graph, ONE)
    assert len(graph) == 1


def test_quads_of_the_default_graph_go_into_a_graph() -> None:
    for options in (QUADS, GRAPHS):
        data = jelly([Quad(S, P, O, DEFAULT_GRAPH)], options=options)
        graph = parse(Graph(), data)
        assert set(graph) == {TRIPLE}
        assert list(graph.store.contexts()) == [graph]


@pytest.mark.parametrize("make", [Graph, lambda: Graph(identifier=EX + "g")])
@pytest.mark.parametrize("options", [QUADS, GRAPHS])
@pytest.mark.parametrize("atomic", [True, False])
def test_quads_do_not_vanish_in_a_graph(make: Any, options: StreamOptions, atomic: bool) -> None:
    data = jelly([Quad(S, P, O, DEFAULT_GRAPH), Quad(S, P, O, G)], options=options)
    graph = make()
    with pytest.raises(TermError, match=r"rdflib\.Dataset\(\)") as caught:
        parse(graph, data, atomic=atomic)
    assert caught.value.frame == 0
    assert caught.value.row is not None
    assert "read_statements" in str(caught.value)
    assert graph.store.__len__(None) == 0
    assert not list(graph.store.contexts())


def test_an_empty_named_graph_does_not_vanish_in_a_graph() -> None:
    data = jelly_frames([Frame(0, empty_graphs=[G])], options=GRAPHS)
    with pytest.raises(TermError, match=r"<BytesIO>: frame 0, row 3: .*rdflib\.Dataset\(\)"):
        parse(Graph(), data)


def test_quads_do_not_vanish_in_a_graph_of_a_dataset() -> None:
    dataset = Dataset()
    named = dataset.graph(EX + "mine")
    data = jelly([Quad(S, P, O, G)])
    with pytest.raises(TermError, match=r"rdflib\.Dataset\(\)"):
        parse(named, data)
    assert quads_of(dataset) == set()
    parse(named, ONE)
    assert quads_of(dataset) == {(*TRIPLE, URIRef(EX + "mine"))}


QUAD_STATEMENTS = [
    Quad(S, P, O, DEFAULT_GRAPH),
    Quad(S, P, O, G),
    Quad(S, P, Literal("x"), G),
    Quad(S, P, O, BlankNode("b")),
]


@pytest.mark.parametrize("options", [QUADS, GRAPHS])
@pytest.mark.parametrize("atomic", [True, False])
def test_quads_go_into_their_graphs(options: StreamOptions, atomic: bool) -> None:
    dataset = Dataset()
    data = jelly(QUAD_STATEMENTS, options=options)
    parse(dataset, data, blank_nodes="keep", atomic=atomic)
    g = URIRef(EX + "g")
    assert quads_of(dataset) == {
        (*TRIPLE, None),
        (*TRIPLE, g),
        (*TRIPLE[:2], rdflib.Literal("x"), g),
        (*TRIPLE, BNode("b")),
    }


@pytest.mark.parametrize("make", [Dataset, conjunctive_graph])
def test_triples_go_into_the_default_graph(make: Any) -> None:
    assert quads_of(parse(make(), ONE)) == {(*TRIPLE, None)}


@pytest.mark.parametrize("options", [QUADS, GRAPHS])
@pytest.mark.parametrize("store", ["default", "Oxigraph"])
def test_a_conjunctive_graph_takes_quads(options: StreamOptions, store: str) -> None:
    """rdflib calls the parser with its default graph, which is like any other Graph."""
    graph = conjunctive_graph(store=store)
    parse(graph, jelly(QUAD_STATEMENTS, options=options))
    dataset = parse(Dataset(), jelly(QUAD_STATEMENTS, options=options))
    assert len(quads_of(graph)) == len(quads_of(dataset)) == 4


@pytest.mark.parametrize("store", ["default", "Oxigraph"])
def test_a_conjunctive_graph_takes_named_graphs_of_text(store: str) -> None:
    graph = conjunctive_graph(store=store)
    text = '<urn:s> <urn:p> "d" . <urn:g> { <urn:s> <urn:p> "n" }'
    graph.parse(data=text, format="jelly-plugins-trig")
    assert {str(context.identifier) for context in graph.contexts()} >= {"urn:g"}
    assert len(graph) == 2
    # A Graph of its store is still one graph.
    with pytest.raises(TermError, match=r"rdflib\.Dataset"):
        Graph(graph.store, URIRef("urn:x")).parse(data=text, format="jelly-plugins-trig")


def test_a_parser_may_be_called_by_itself() -> None:
    for sink in (Dataset(), conjunctive_graph()):
        source = InputSource()
        source.setByteStream(io.BytesIO(jelly(QUAD_STATEMENTS)))
        JellyParser().parse(source, sink)
        assert len(quads_of(sink)) == 4


@pytest.mark.parametrize("options", [QUADS, GRAPHS])
def test_graphs_of_a_dataset_share_its_namespaces(options: StreamOptions) -> None:
    dataset = parse(Dataset(), jelly(QUAD_STATEMENTS, options=options))
    dataset.bind("mine", EX)
    for graph in dataset.graphs():
        assert ("mine", URIRef(EX)) in set(graph.namespaces())


def test_empty_graphs_exist_afterwards() -> None:
    frames = [Frame(0, statements=[Quad(S, P, O, DEFAULT_GRAPH)], empty_graphs=[G])]
    dataset = parse(Dataset(), jelly_frames(frames, options=GRAPHS))
    assert {graph.identifier for graph in dataset.graphs()} == {
        DATASET_DEFAULT_GRAPH_ID,
        URIRef(EX + "g"),
    }
    assert len(dataset.graph(EX + "g")) == 0


def test_a_graph_subclass_adds_by_itself() -> None:
    class Counting(Graph):
        added = 0

        def addN(self, quads: Any) -> Any:  # noqa: N802
            quads = list(quads)
            self.added += len(quads)
            return super().addN(quads)

    graph = parse(Counting(), jelly([Triple(S, P, O), Triple(S, P, O)]))
    assert graph.added == 2
    assert len(graph) == 1


# Blank nodes


TWO_NODES = jelly([Triple(BlankNode("b0"), P, BlankNode("b1"))])


def test_blank_nodes_of_two_files_do_not_merge() -> None:
    graph = Graph()
    parse(graph, TWO_NODES)
    parse(graph, TWO_NODES)
    assert len(graph) == 2
    assert len(set(graph.subjects()) | set(graph.objects())) == 4


def test_blank_nodes_are_kept_on_request() -> None:
    graph = Graph()
    parse(graph, TWO_NODES, blank_nodes="keep")
    parse(graph, TWO_NODES, blank_nodes="keep")
    assert list(graph) == [(BNode("b0"), TRIPLE[1], BNode("b1"))]


def test_a_label_is_one_node_in_the_whole_stream() -> None:
    quads = [Quad(BlankNode("b"), P, O, DEFAULT_GRAPH), Quad(S, P, O, BlankNode("b"))]
    dataset = parse(Dataset(), jelly(quads, frame_rows=1))
    (name,) = {quad[3] for quad in quads_of(dataset)} - {None}
    assert (name, *TRIPLE[1:], None) in quads_of(dataset)


def test_streams_of_a_concatenated_file_have_labels_of_their_own() -> None:
    assert len(parse(Graph(), TWO_NODES + TWO_NODES)) == 1
    assert len(parse(Graph(), TWO_NODES + TWO_NODES, concatenated=True)) == 2
    data = ONE + jelly(QUAD_STATEMENTS[1:2])
    with pytest.raises(OptionsError, match="differ"):
        parse(Dataset(), data)
    assert len(quads_of(parse(Dataset(), data, concatenated=True))) == 2


# Namespaces


def test_namespaces_are_bound() -> None:
    data = jelly([Triple(S, P, O)], namespaces={"mine": EX, "": EX + "empty/"})
    for make in (Graph, Dataset, conjunctive_graph):
        graph = parse(make(), data)
        bound = dict(graph.namespaces())
        assert bound["mine"] == URIRef(EX)
        assert bound[""] == URIRef(EX + "empty/")
        assert TRIPLE[0].n3(graph.namespace_manager) == "mine:s"


def test_namespaces_override_as_in_turtle() -> None:
    turtle = f"@prefix a: <{EX}> . @prefix a: <{EX}2/> . @prefix foaf: <{EX}foaf/> ."
    data = jelly([], namespaces={"a": EX, "foaf": EX + "foaf/"})
    for before in ({}, {"z": EX}, {"a": EX + "other/"}, {"foaf": EX}):
        expected, graph = Graph(), Graph()
        for target in (expected, graph):
            for name, iri in before.items():
                target.bind(name, iri)
        expected.parse(data=turtle.replace(f"@prefix a: <{EX}2/> .", ""), format="turtle")
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


def _targets() -> list[Any]:
    return [Graph(), Dataset(), conjunctive_graph()]


def test_truncated_input_leaves_the_target_as_it_was() -> None:
    data = to_bytes(sample_graph(), frame_rows=20, namespaces=True)
    for end in range(1, len(data), 13):
        for target in _targets():
            parse(target, ONE)
            bound = dict(target.namespaces())
            try:
                parse(target, data[:end])
            except JellyError:
                assert len(target) == 1
                assert dict(target.namespaces()) == bound
            else:
                # Nothing but a whole number of frames is legal.
                assert len(target) > 1


def test_an_error_in_the_last_frame_leaves_the_target_as_it_was() -> None:
    bad = [Triple(S, P, O)] * 300 + [Triple(S, P, Triple(S, P, O))]
    data = jelly(bad, options=StreamOptions(rdf_star=True), frame_rows=10)
    for target in _targets():
        with pytest.raises(TermError) as caught:
            parse(target, data)
        assert caught.value.frame == 30
        assert target.store.__len__(None) == 0


def test_without_atomic_frames_go_in_as_they_come() -> None:
    statements = [Triple(S, P, Literal(str(number))) for number in range(300)]
    data = jelly(statements, frame_rows=10)
    graph = Graph()
    with pytest.raises(TruncatedError):
        parse(graph, data[:-1], atomic=False)
    assert 200 < len(graph) < 300


@pytest.mark.parametrize("store", ["default", "Oxigraph"])
def test_no_bytes_are_an_empty_graph_unless_parsing_is_strict(store: str) -> None:
    graph = Graph(store=store)
    parse(graph, b"")
    assert len(graph) == 0
    with pytest.raises(OptionsError, match="empty"):
        parse(Graph(store=store), b"", strict=True)


def test_limits_are_the_callers() -> None:
    with pytest.raises(LimitError, match="name_table"):
        parse(Graph(), ONE, limits=Limits(name_table=8))
    with pytest.raises(LimitError, match="frame_bytes"):
        parse(Graph(), b"\xff\xff\xff\xff\x1f" + ONE)


def test_a_store_that_rejects_a_statement_is_a_term_error() -> None:
    class Picky(Graph):
        def addN(self, quads: Any) -> Any:  # noqa: N802, ARG002
            raise ValueError("not that one")

    with pytest.raises(TermError, match="the store rejected a statement: not that one"):
        parse(Picky(), ONE)


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
    with pytest.raises(TermError, match="may keep those added before"):
        parse(graph, data, atomic=atomic)
    assert dict(graph.namespaces()) == before
    assert {triple for triple, _ in graph.store.triples((None, None, None))} == {TRIPLE}


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        # A triple outside a graph, a nested start, an end without a start.
        ([(2, b"")], OrderError),
        ([(4, bytes_field(3, b"")), (4, bytes_field(3, b""))], OrderError),
        ([(5, b"")], OrderError),
    ],
)
def test_graphs_out_of_order_are_rejected(rows: list[tuple[int, bytes]], error: Any) -> None:
    options = varint_field(2, 3) + varint_field(9, 8) + varint_field(15, 1)
    frame = b"".join(
        bytes_field(1, bytes_field(number, body)) for number, body in [(1, options), *rows]
    )
    dataset = Dataset()
    with pytest.raises(error):
        parse(dataset, frame)
    assert not list(dataset.store.contexts())


def test_a_typed_literal_without_a_datatype_table_is_rejected() -> None:
    options = varint_field(2, 1) + varint_field(9, 8) + varint_field(15, 1)
    name = string_field(2, "urn:s")
    triple = (
        bytes_field(1, varint_field(2, 1))
        + bytes_field(5, varint_field(2, 1))
        + bytes_field(11, string_field(1, "1") + varint_field(3, 1))
    )
    frame = b"".join(
        bytes_field(1, bytes_field(number, body))
        for number, body in [(1, options), (9, name), (2, triple)]
    )
    with pytest.raises(JellyError, match="datatype table"):
        parse(Graph(), frame)


# Round trips


@pytest.mark.parametrize("options", [None, QUADS, GRAPHS])
@pytest.mark.parametrize("frame_rows", [1, 7, 10_000])
def test_datasets_round_trip(options: StreamOptions | None, frame_rows: int) -> None:
    dataset = sample_dataset(Dataset())
    data = to_bytes(dataset, options=options, frame_rows=frame_rows)
    kept = parse(Dataset(), data, blank_nodes="keep")
    assert quads_of(kept) == quads_of(dataset)
    assert same_dataset(parse(Dataset(), data), dataset)


def test_a_conjunctive_graph_reads_as_a_dataset() -> None:
    dataset = sample_dataset(conjunctive_graph())
    assert quads_of(parse(Dataset(), to_bytes(dataset), blank_nodes="keep")) == quads_of(dataset)


def test_relative_iris_stay_relative() -> None:
    graph = Graph().parse(data=jelly([Triple(Iri("s"), P, O)]), format="jelly-plugins")
    assert next(graph.subjects()) == URIRef("s")


def test_rdf_type_of_a_list_round_trips() -> None:
    graph = Graph().parse(data=f"@prefix x: <{EX}> . x:s x:p (1 2 3), [ a x:T ] .", format="ttl")
    back = parse(Graph(), to_bytes(graph))
    assert back.isomorphic(graph)
    assert (None, RDF.type, URIRef(EX + "T")) in back


@pytest.mark.parametrize("store", ["default", "Oxigraph"])
def test_blank_nodes_of_a_context_that_is_given(store: str) -> None:
    if store == "Oxigraph":
        pytest.importorskip("oxrdflib")
    data = jelly([Triple(BlankNode("a"), P, BlankNode("b"))])
    context = {"a": BNode("mine")}
    graph = parse(Graph(store=store), data, bnode_context=context)
    assert set(graph.subjects()) == {BNode("mine")}
    assert set(graph.objects()) == {context["b"]}
    assert len(parse(graph, data, bnode_context=context)) == 1
    assert len(parse(graph, data, bnode_context={})) == 2


@pytest.mark.parametrize("store", ["default", "Oxigraph"])
@pytest.mark.parametrize("wrong", [7, "a", ["a"], BNode("a"), frozenset(), MappingProxyType({})])
def test_a_context_of_blank_nodes_is_a_mapping(store: str, wrong: Any) -> None:
    if store == "Oxigraph":
        pytest.importorskip("oxrdflib")
    graph = Graph(store=store)
    with pytest.raises(TypeError, match="bnode_context must be a mutable mapping"):
        parse(graph, jelly([Triple(BlankNode("a"), P, O)]), bnode_context=wrong)
    assert len(graph) == 0


@pytest.mark.parametrize("format_", ["jelly-plugins", "nt"])
def test_a_graph_keeps_what_its_own_add_accepted(format_: str) -> None:
    """As with rdflib's own parsers."""

    class Own(Graph):
        def add(self, triple: Any) -> Any:
            if len(self) == 2:
                raise RuntimeError("no more")
            return super().add(triple)

    triples = [Triple(S, P, Literal(str(number))) for number in range(4)]
    lines = "".join(f'<{S.value}> <{P.value}> "{number}" .\n' for number in range(4))
    graph = Own()
    with pytest.raises(RuntimeError, match="no more"):
        graph.parse(data=lines if format_ == "nt" else jelly(triples), format=format_)
    assert len(graph) == 2


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
    with pytest.raises(JellyError, match="relative"):
        Graph().parse(io.BytesIO(TURTLE), format="jelly-plugins-turtle")
