"""``load`` and ``dump`` of every format, for every kind of graph and store: what is there
afterwards, what is counted, and that a load is all or nothing."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest
import rdflib
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
    LogicalType,
    PhysicalType,
    Quad,
    StreamOptions,
    TermError,
    TextError,
    Triple,
    read,
    read_frames,
)
from jelly_plugins.backends import get_backend
from jelly_plugins.codec import Encoder, delimit
from jelly_plugins.io.sources import Format
from jelly_plugins.reserved import BOOKKEEPING_IRI
from jelly_plugins.tools.compare import compare_datasets

from .conversions import converted
from .oxigraph.support import ODD_LABELS

# rdflib's own code uses what rdflib warns of.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

TRIPLES = b"""@prefix ex: <http://example.org/> .
ex:s ex:p 1.5 , "a\\nb"@en , _:b . _:b ex:p "x" , true , "<urn:x>" . """
QUADS = TRIPLES + b"ex:g { ex:s ex:p _:b . _:b ex:p _:c } _:g { ex:s a ex:t }"
#: Formats that Oxigraph reads itself, where nothing is counted.
DIRECT = (Format.N_TRIPLES, Format.N_QUADS, Format.TURTLE, Format.TRIG)


class Target:
    """A kind of graph or store, empty."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.backend: Any = get_backend("oxigraph" if "store" in kind else "rdflib")
        self.numbers = iter(range(100))
        self.folder = folder

    def new(self, *, graphs: bool = True) -> Any:
        if self.kind == "store":
            return pyoxigraph.Store()
        if self.kind == "store on disk":
            return pyoxigraph.Store(self.folder / f"store{next(self.numbers)}")
        make = rdflib.Dataset if graphs else rdflib.Graph
        return make(store="Oxigraph" if "Oxigraph" in self.kind else "default")

    def contents(self, target: Any) -> list[Any]:
        out = io.BytesIO()
        graphs = not isinstance(target, rdflib.Graph) or isinstance(target, rdflib.Dataset)
        types = PhysicalType.QUADS if graphs else PhysicalType.TRIPLES
        self.backend.dump(target, out, options=StreamOptions.flat(types))
        return list(read(out.getvalue()))

    def load(self, target: Any, source: Any, **settings: Any) -> int | None:
        count: int | None = self.backend.load(target, source, **settings)
        return count


@pytest.fixture(params=["rdflib", "rdflib, Oxigraph", "store", "store on disk"])
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    if "Oxigraph" in request.param:
        pytest.importorskip("oxrdflib")
    return Target(request.param, tmp_path)


@pytest.mark.parametrize("form", Format)
def test_every_format(form: Format, kind: Target) -> None:
    graphs = form.has_graphs
    data = converted(QUADS if graphs else TRIPLES, "trig", form)
    number = 9 if graphs else 6
    expected = list(read(converted(QUADS if graphs else TRIPLES, "trig", "jelly")))
    target = kind.new(graphs=graphs)
    uncounted = "store" in kind.kind and form in DIRECT
    assert kind.load(target, data, format=form) == (None if uncounted else number)
    assert compare_datasets(kind.contents(target), expected)
    # Labels are the source's own, unless they are kept.
    for blank_nodes, more in (("fresh", 4 if not graphs else 7), ("keep", 0)):
        twice, counted = kind.new(graphs=graphs), []
        for _ in range(2):
            kind.load(twice, data, format=form, blank_nodes=blank_nodes, progress=counted.append)
        assert sum(counted) == 2 * number
        assert len(kind.contents(twice)) == number + more
    if "store" in kind.kind:
        back, again = io.BytesIO(), kind.new(graphs=graphs)
        kind.backend.dump(target, back, format=form)
        kind.load(again, back.getvalue(), format=form, atomic=False)
        assert compare_datasets(kind.contents(again), expected)


@pytest.mark.parametrize("form", [form for form in Format if form is not Format.JELLY_TEXT])
def test_an_error_leaves_all_as_it_was(form: Format, kind: Target) -> None:
    target = kind.new(graphs=form.has_graphs)
    kind.load(target, b"<urn:s> <urn:p> <urn:o> .", format="nt")
    before = kind.contents(target)
    data = converted(TRIPLES, "trig", form)
    with pytest.raises(JellyError) as caught:
        kind.load(target, data[: len(data) - 8], format=form)
    assert caught.value.source == "<bytes>"
    assert (caught.value.frame is None) is (form is not Format.JELLY)
    assert kind.contents(target) == before


@pytest.mark.parametrize("form", [form for form in Format if form.has_graphs])
def test_quads_into_one_graph(form: Format, kind: Target) -> None:
    """Those of the default graph alone."""
    data = converted(b"<urn:s> <urn:p> <urn:o> .", "nt", form)
    target = kind.new(graphs=False)
    into: dict[str, Any] = {}
    if "store" in kind.kind:
        into["graph"] = pyoxigraph.NamedNode("urn:g")
    for _ in range(2):
        assert kind.load(target, data, format=form, **into) in (None, 1)
    assert len(target) == 1
    with pytest.raises(JellyError, match=r"Dataset|named graph"):
        kind.load(target, converted(QUADS, "trig", form), format=form, **into)
    assert len(target) == 1


def test_the_name_gives_the_format_and_the_prefixes_are_reported(
    kind: Target, tmp_path: Path
) -> None:
    path = tmp_path / "x.trig.gz"
    path.write_bytes(gzip.compress(QUADS))
    found: dict[str, str] = {}
    target = kind.new()
    if "store" in kind.kind:
        assert kind.load(target, path, on_namespace=found.__setitem__) == 9
    else:
        assert kind.load(target, path) == 9
        found = {name: str(iri) for name, iri in target.namespaces()}
    assert found["ex"] == "http://example.org/"
    with path.open("rb") as file:
        kind.load(target, file)
    with pytest.raises(JellyError, match="text, not Jelly"):
        kind.load(target, QUADS)
    with pytest.raises(ValueError, match="did you mean turtle"):
        kind.load(target, b"", format="turtel")
    with pytest.raises(ValueError, match=r"'fresh'.*'keep'"):
        kind.load(target, path, blank_nodes="other")


def test_relative_iris_need_a_base(kind: Target, tmp_path: Path) -> None:
    path = tmp_path / "x.ttl"
    path.write_text("<urn:s> <urn:p> <urn:o> .\n<urn:s> <rel> 1 .")
    target = kind.new(graphs=False)
    with pytest.raises(TextError, match="need a base") as caught:
        kind.load(target, path)
    assert (caught.value.source, caught.value.line, len(target)) == (str(path), 2, 0)
    kind.load(target, path, base="http://example.org/")
    assert "http://example.org/rel" in str(kind.contents(target))


def test_progress(kind: Target) -> None:
    data = b"".join(b"<urn:s> <urn:p> <urn:%d> .\n" % number for number in range(25_000))
    target = kind.new(graphs=False)
    loaded: list[int] = []
    kind.load(target, data, format="nt", progress=loaded.append)
    by_subject = StreamOptions(logical_type=LogicalType.SUBJECT_GRAPHS)
    for options in (None, *([] if "store" in kind.kind else [by_subject])):
        dumped: list[int] = []
        kind.backend.dump(target, io.BytesIO(), options=options, progress=dumped.append)
        assert sum(loaded) == sum(dumped) == 25_000
        assert {len(loaded), len(dumped)} <= {2, 3, 4}


# Jelly: graphs, labels, features and errors

S, P, O, G = (Iri(f"http://example.org/{name}") for name in "spog")  # noqa: E741
FEATURES = {"rdf_star": True, "generalized_statements": True}
RESERVED = Iri(BOOKKEEPING_IRI)


def quads(*statements: Any, by: str = "quads", **features: bool) -> bytes:
    """A stream of quads, or of graphs, where a statement may be the name of an empty one. The last
    one has a frame of its own, number 1."""
    physical_type = PhysicalType.QUADS if by == "quads" else PhysicalType.GRAPHS
    encoder = Encoder(StreamOptions.flat(physical_type, **features))
    frames = []
    for number, statement in enumerate(statements):
        if number == len(statements) - 1:
            frames.append(encoder.flush())
        if isinstance(statement, Quad):
            encoder.add([statement])
        else:
            encoder.start_graph(statement)
    return b"".join(map(delimit, [*frames, *encoder.finish()]))


by_either = pytest.mark.parametrize("by", ["quads", "graphs"])


@by_either
@pytest.mark.parametrize("atomic", [True, False])
def test_quads_go_into_their_graphs(kind: Target, by: str, atomic: bool) -> None:
    statements = {
        Quad(S, P, O, DEFAULT_GRAPH),
        Quad(S, P, Literal("x", langtag="en"), G),
        Quad(BlankNode("b"), P, O, BlankNode("b")),
        Quad(S, P, O, BlankNode("b")),
    }
    target = kind.new()
    data = quads(*statements, by=by, **FEATURES)
    assert kind.load(target, data, blank_nodes="keep", atomic=atomic) == 4
    assert set(kind.contents(target)) == statements
    # Another label is another node, unlike one in another stream of a source.
    assert kind.load(target, data, atomic=atomic) == 4
    both = {"concatenated": True, "atomic": atomic}
    assert kind.load(target, data + quads(Quad(BlankNode("b"), P, O, G)), **both) == 5
    found = [quad for quad in kind.contents(target) if isinstance(quad.graph, BlankNode)]
    assert len(found) == 6
    assert len({quad.graph for quad in found}) == 3
    assert sum(quad.subject == quad.graph for quad in found) == 3
    assert len(kind.contents(target)) == 2 + 6 + 1


@pytest.mark.parametrize("atomic", [True, False])
def test_empty_graphs_are_added(kind: Target, atomic: bool) -> None:
    target = kind.new()
    names = [DEFAULT_GRAPH, Iri("urn:1"), BlankNode("g"), DEFAULT_GRAPH]
    data = quads(*names, Quad(S, P, O, G), Quad(S, P, O, DEFAULT_GRAPH), by="graphs")
    assert kind.load(target, data, atomic=atomic, blank_nodes="keep") == 2
    out = io.BytesIO()
    options = StreamOptions.flat(PhysicalType.GRAPHS)
    kind.backend.dump(target, out, options=options)
    found = [name for frame in read_frames(out.getvalue()) for name in frame.graphs]
    assert sorted(found, key=repr) == sorted({*names, G}, key=repr)


@pytest.mark.parametrize("blank_nodes", ["fresh", "keep"])
@by_either
def test_quads_are_rejected_in_a_graph(kind: Target, by: str, blank_nodes: str) -> None:
    """In each stream of several."""
    into = {"graph": pyoxigraph.NamedNode("urn:g")} if "store" in kind.kind else {}
    how: dict[str, Any] = {**into, "blank_nodes": blank_nodes, "concatenated": True}
    first = quads(*(Quad(S, P, Literal(str(n)), DEFAULT_GRAPH) for n in range(9)))
    data = quads(Quad(S, P, O, DEFAULT_GRAPH), Quad(S, P, O, G), by=by)
    sources = [(data, 1), (first + data, 3)]
    if kind.kind == "rdflib":
        sources.append((quads(DEFAULT_GRAPH, G, by="graphs"), 1))
    for source, frame in sources:
        for atomic in (True, False):
            target = kind.new(graphs=False)
            with pytest.raises(TermError, match=r"named graph|rdflib\.Dataset") as caught:
                kind.load(target, source, atomic=atomic, **how)
            assert (caught.value.source, caught.value.frame) == ("<bytes>", frame)
            assert not atomic or len(target) == 0


STREAM = [Quad(S, P, Literal(str(number)), G) for number in range(20)]
#: Statements that stores cannot hold, with their position and the error's message.
BAD: list[tuple[str, Any, str]] = [
    *(
        (by, Quad(S, P, O, name), message)
        for by in ("quads", "graphs")
        for name, message in ((Literal("x"), "literal"), (RESERVED, "bookkeeping"))
    ),
    ("graphs", Literal("x"), "literal"),
    ("graphs", RESERVED, "bookkeeping"),
    ("quads", Quad(Triple(S, P, O), P, O, G), "quoted triple"),
    ("quads", Quad(Literal("x"), P, O, G), "literal"),
    ("quads", Quad(S, BlankNode("x"), O, G), "blank node"),
    ("quads", Quad(S, P, Literal("x", langtag="e n"), G), "'e n'"),
]


@pytest.mark.parametrize(("by", "bad", "message"), BAD)
def test_what_no_store_holds(kind: Target, by: str, bad: Any, message: str) -> None:
    target = kind.new()
    kind.load(target, quads(Quad(S, P, O, G)))
    before = kind.contents(target)
    data = quads(*STREAM, bad, by=by, **FEATURES)
    ways = [{"blank_nodes": "fresh"}, {"blank_nodes": "keep"}]
    if "store" in kind.kind and bad in (Literal("x"), RESERVED):
        ways.append({"quoted_triples": "reify"})
    for how in ways:
        with pytest.raises(TermError, match=message) as caught:
            kind.load(target, data, **how)
        assert (caught.value.source, caught.value.frame) == ("<bytes>", 1)
        assert message == "bookkeeping" or "quoted_triples" in how or caught.value.row is not None
        assert kind.contents(target) == before
    # Streams may declare features that they do not use.
    assert kind.load(target, quads(*STREAM, **FEATURES)) == 20


def test_limits(kind: Target) -> None:
    data = quads(*STREAM)
    for limits in ({"frame_bytes": 100}, {"string_bytes": 5}, {"frame_rows": 10}):
        target = kind.new()
        with pytest.raises(LimitError, match=next(iter(limits))):
            kind.load(target, data, limits=Limits(**limits))
        assert len(target) == 0
    kind.load(target, data)
    with pytest.raises(LimitError, match="string_bytes"):
        kind.backend.dump(target, io.BytesIO(), limits=Limits(string_bytes=3))


@given(st.lists(st.text(max_size=3) | st.sampled_from(ODD_LABELS), min_size=1, max_size=8))
def test_labels_come_back(labels: list[str]) -> None:
    """Also those that Oxigraph cannot hold."""
    nodes = {BlankNode(label) for label in labels}
    statements = {Quad(node, P, node, node if node.label else DEFAULT_GRAPH) for node in nodes}
    for name in ("rdflib", "rdflib, Oxigraph", "store"):
        target = Target(name, Path())
        first = target.new()
        target.load(first, quads(*statements), blank_nodes="keep")
        assert set(target.contents(first)) == statements
        out = io.BytesIO()
        target.backend.dump(first, out)
        copy = target.new()
        target.load(copy, out.getvalue(), blank_nodes="keep")
        assert set(copy) == set(first)
