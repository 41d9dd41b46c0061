"""Load generalized streams with all kinds of graphs into every target.

The names of graphs are IRIs, blank nodes, literals or the default graph's name, reserved or not;
graphs are empty or not, in one frame or several. A target rejects a stream that it cannot hold with
a JellyError, and then holds nothing of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import pyoxigraph as ox
import pytest
import rdflib

from jelly_plugins import DEFAULT_GRAPH, BlankNode, Iri, JellyError, Literal, StreamOptions, Triple
from jelly_plugins.codec import Encoder, PhysicalType, Quad, delimit
from jelly_plugins.grpc import FrameSink, StoreSink
from jelly_plugins.oxigraph import load, read_quads
from jelly_plugins.rdflib import read_statements
from jelly_plugins.rdflib.reading import load as load_graph
from jelly_plugins.reserved import BOOKKEEPING_IRI

from ..conversions import converted

#: Number of streams for each target.
CASES: Final = 60


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


def _into(
    make: Callable[[], Any], contents: Callable[[Any], Any], put: Callable[[Any, Stream], object]
) -> Callable[[Stream], object]:
    """A target that is unchanged after a rejection."""

    def target(given: Stream) -> None:
        made = make()
        before = contents(made)
        try:
            put(made, given)
        except JellyError:
            assert contents(made) == before, "something of a rejected stream was added"
            raise

    return target


def _into_store(put: Callable[[ox.Store, Stream], object]) -> Callable[[Stream], object]:
    def make() -> ox.Store:
        store = ox.Store()
        store.add(ox.Quad(ox.NamedNode("urn:0"), ox.NamedNode("urn:0"), ox.NamedNode("urn:0")))
        return store

    return _into(make, lambda store: {*map(str, store), *map(str, store.named_graphs())}, put)


def _into_graph(make: Callable[[], Any], **settings: Any) -> Callable[[Stream], object]:
    def contents(graph: Any) -> set[Any]:
        names = {context.identifier for context in graph.store.contexts()}
        return {*(triple for triple, _ in graph.store.triples((None, None, None))), *names}

    return _into(make, contents, lambda graph, given: load_graph(graph, given.data, **settings))


#: Each raises the error of a rejection.
TARGETS: Final[dict[str, Callable[[Stream], object]]] = {
    "load": _into_store(lambda store, given: load(store, given.data)),
    "load, reify": _into_store(
        lambda store, given: load(store, given.data, quoted_triples="reify", blank_nodes="keep")
    ),
    "read_quads": lambda given: list(read_quads(given.data, quoted_triples="reify")),
    "sink": _into_store(
        lambda store, given: StoreSink(store).publish(Published(given.frames))  # type: ignore[arg-type]
    ),
    "frame sink": _into_store(
        # Frames before an error are kept: only streams of one frame are loaded entirely or not at
        # all.
        lambda store, given: FrameSink(store).publish(Published(given.frames[:1]))  # type: ignore[arg-type]
    ),
    "rdflib": _into_graph(rdflib.Dataset, blank_nodes="keep"),
    "rdflib, generalized": _into_graph(rdflib.Dataset, blank_nodes="keep", generalized=True),
    # Without an identifier its name would differ each time.
    "rdflib graph": _into_graph(lambda: rdflib.Graph(identifier="urn:graph")),
    "rdflib, Oxigraph": _into_graph(lambda: rdflib.Dataset(store="Oxigraph")),
    "read_statements": lambda given: list(read_statements(given.data)),
    "nq": lambda given: converted(given.data, "jelly", "nq"),
    "trig": lambda given: converted(given.data, "jelly", "trig"),
}


@pytest.mark.parametrize("target", TARGETS)
def test_streams_of_graphs_are_read_whole_or_not_at_all(target: str) -> None:
    rejected = 0
    for case in range(CASES):
        try:
            TARGETS[target](stream(random.Random(case)))
        except JellyError:
            rejected += 1
        except Exception as error:
            raise AssertionError(f"case {case}: {error!r}") from error
    assert 0 < rejected < CASES
