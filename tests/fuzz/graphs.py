"""Load generalized streams with all kinds of graphs into every target.

The names of graphs are IRIs, blank nodes, literals or the default graph's name, reserved or not;
graphs are empty or not, in one frame or several. A target rejects a stream that it cannot hold with
a JellyError, and then holds nothing of it.
"""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import pyoxigraph as ox
import rdflib

from jelly_plugins import DEFAULT_GRAPH, BlankNode, Iri, JellyError, Literal, StreamOptions, Triple
from jelly_plugins import arrow as jelly_arrow
from jelly_plugins.codec import Encoder, PhysicalType, Quad, delimit
from jelly_plugins.formats.convert import convert
from jelly_plugins.grpc import FrameSink, StoreSink
from jelly_plugins.io.sources import Format
from jelly_plugins.oxigraph import load, read_quads
from jelly_plugins.rdflib import read_statements
from jelly_plugins.rdflib.reading import load as load_graph
from jelly_plugins.reserved import BOOKKEEPING_IRI


class Stream(NamedTuple):
    """A stream, and its frames without delimiters."""

    data: bytes
    frames: list[bytes]


def stream(rng: random.Random) -> Stream:
    """Make a stream of graphs or quads."""
    physical = rng.choice((PhysicalType.GRAPHS, PhysicalType.GRAPHS, PhysicalType.QUADS))
    options = StreamOptions(physical_type=physical, generalized_statements=True, rdf_star=True)
    encoder = Encoder(options, frame_rows=rng.choice((1, 3, 10, 1000)))
    # Usually valid names, so that an error occurs late, after much was read.
    odd = rng.choice((0.0, 0.1, 0.5))
    frames: list[bytes] = []
    for _ in range(rng.randrange(1, 6)):
        name = _name(rng, odd)
        if physical is PhysicalType.GRAPHS:
            encoder.start_graph(name)
        size = rng.choice((0, 0, 1, 3, 30))
        frames += encoder.add([Quad(*_triple(rng, odd), name) for _ in range(size)])
    frames += encoder.finish()
    return Stream(b"".join(map(delimit, frames)), frames)


def _name(rng: random.Random, odd: float) -> Any:
    if rng.random() < odd:
        names = Literal("x"), Literal("x", "en"), Literal("1", None, "urn:d"), Iri(BOOKKEEPING_IRI)
        return rng.choice((*names, Iri("no iri"), Iri("relative"), Literal("x" * 3000)))
    return rng.choice((Iri("urn:g"), Iri("urn:h"), BlankNode("g"), BlankNode("a b"), DEFAULT_GRAPH))


def _triple(rng: random.Random, odd: float) -> Triple:
    subject: Any = Iri(f"urn:{rng.randrange(50)}")
    predicate: Any = Iri("urn:p")
    object_: Any = rng.choice((Literal("o"), BlankNode("b"), Iri("urn:o"), Literal("o", "en")))
    if rng.random() < odd / 20:
        return rng.choice(
            (
                Triple(Literal("s"), predicate, object_),
                Triple(subject, BlankNode("p"), object_),
                Triple(Triple(subject, predicate, object_), predicate, object_),
                Triple(subject, predicate, Triple(subject, predicate, object_)),
            )
        )
    return Triple(subject, predicate, object_)


class Published:
    """A published stream, as a sink receives it from a client."""

    def __init__(self, frames: list[bytes]) -> None:
        self._frames = frames

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._frames)

    def check(self) -> None:
        """The client is still connected."""


#: Everything that a target holds of a stream.
Found = set[Any]


def _in_store(store: ox.Store) -> Found:
    return {*map(str, store), *map(str, store.named_graphs())}


def _into_store(put: Callable[[ox.Store, Stream], object]) -> Callable[[Stream], Found]:
    def target(given: Stream) -> Found:
        store = ox.Store()
        store.add(ox.Quad(ox.NamedNode("urn:0"), ox.NamedNode("urn:0"), ox.NamedNode("urn:0")))
        before = _in_store(store)
        try:
            put(store, given)
        except JellyError:
            assert _in_store(store) == before, "something of a rejected stream was added"
            raise
        return _in_store(store)

    return target


def _into_dataset(make: Callable[[], Any], **settings: Any) -> Callable[[Stream], Found]:
    def found(graph: Any) -> Found:
        names = {context.identifier for context in graph.store.contexts()}
        return {*(triple for triple, _ in graph.store.triples((None, None, None))), *names}

    def target(given: Stream) -> Found:
        graph = make()
        before = found(graph)
        try:
            load_graph(graph, io.BytesIO(given.data), **settings)
        except JellyError:
            assert found(graph) == before, "something of a rejected stream was added"
            raise
        return found(graph)

    return target


def _converted(target_format: Format) -> Callable[[Stream], Found]:
    def target(given: Stream) -> Found:
        out = io.BytesIO()
        convert([given.data], out, source_format=Format.JELLY, target_format=target_format)
        return {out.getvalue()}

    return target


#: Returns what a target holds of a stream, or raises the error of the rejection.
TARGETS: Final[dict[str, Callable[[Stream], Found]]] = {
    "load": _into_store(lambda store, given: load(store, given.data)),
    "load, keep": _into_store(lambda store, given: load(store, given.data, blank_nodes="keep")),
    "load, reify": _into_store(
        lambda store, given: load(store, given.data, quoted_triples="reify", blank_nodes="keep")
    ),
    "read_quads": lambda given: set(map(str, read_quads(given.data))),
    "read_quads, reify": lambda given: set(
        map(str, read_quads(given.data, quoted_triples="reify"))
    ),
    "sink": _into_store(
        lambda store, given: StoreSink(store).publish(Published(given.frames))  # type: ignore[arg-type]
    ),
    "frame sink": _into_store(
        # Frames before an error are kept: only streams of one frame are loaded entirely or not at
        # all.
        lambda store, given: FrameSink(store).publish(Published(given.frames[:1]))  # type: ignore[arg-type]
    ),
    "rdflib": _into_dataset(rdflib.Dataset, blank_nodes="keep"),
    "rdflib, generalized": _into_dataset(rdflib.Dataset, blank_nodes="keep", generalized=True),
    "rdflib graph": _into_dataset(
        # Without an identifier its name would differ each time.
        lambda: rdflib.Graph(identifier="urn:graph"),
        blank_nodes="keep",
    ),
    "rdflib, Oxigraph": _into_dataset(lambda: rdflib.Dataset(store="Oxigraph")),
    "read_statements": lambda given: set(
        read_statements(io.BytesIO(given.data), blank_nodes="keep")
    ),
    "arrow": lambda given: {repr(jelly_arrow.read(given.data).read_all().to_pylist())},
    "nq": _converted(Format.N_QUADS),
    "trig": _converted(Format.TRIG),
}


def run(cases: range) -> dict[str, int]:
    """Run the cases with these numbers with every target.

    :return: number of rejected streams by target.
    """
    rejected = dict.fromkeys(TARGETS, 0)
    for case in cases:
        given = stream(random.Random(case))
        for target in TARGETS:
            try:
                TARGETS[target](given)
            except JellyError:
                rejected[target] += 1
            except Exception as error:
                raise AssertionError(f"case {case} ({target}): {error!r}") from error
    return rejected
