"""Progress of the functions that write what they are given."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from jelly_plugins import Frame, Iri, StreamOptions, Triple, jena, write, write_frames
from jelly_plugins.io.streams import write_bytes
from jelly_plugins.messages import convert_messages, write_messages

NUMBER = 25_000
TRIPLES = [Triple(Iri(f"urn:{n}"), Iri("urn:p"), Iri("urn:o")) for n in range(NUMBER)]


def _frames(progress: Any) -> object:
    frames = [TRIPLES[:12_000], Frame(1, statements=TRIPLES[12_000:])]
    return write_frames(frames, io.BytesIO(), options=StreamOptions(), progress=progress)


def _arrow(progress: Any) -> object:
    arrow = pytest.importorskip("jelly_plugins.arrow")
    return arrow.write(arrow.read(write_bytes(TRIPLES)), io.BytesIO(), progress=progress)


def _quads(progress: Any) -> object:
    pyoxigraph = pytest.importorskip("pyoxigraph")
    from jelly_plugins.oxigraph import write_quads

    node = pyoxigraph.NamedNode("urn:s")
    quads = NUMBER * [pyoxigraph.Triple(node, node, node)]
    return write_quads(quads, io.BytesIO(), progress=progress)


def _statements(progress: Any) -> object:
    rdflib = pytest.importorskip("rdflib")
    from jelly_plugins.rdflib import write_statements

    node = rdflib.URIRef("urn:s")
    return write_statements(NUMBER * [(node, node, node)], io.BytesIO(), progress=progress)


def _graphs(progress: Any) -> object:
    rdflib = pytest.importorskip("rdflib")
    from jelly_plugins.rdflib import write_graphs

    graphs = []
    for start in (0, 12_000):
        graph = rdflib.Graph()
        node = rdflib.URIRef("urn:s")
        for n in range(start, NUMBER if start else 12_000):
            graph.add((node, node, rdflib.Literal(str(n))))
        graphs.append(graph)
    return write_graphs(graphs, io.BytesIO(), progress=progress)


def _messages(target: str) -> Callable[[Any], object]:
    def call(progress: Any) -> object:
        log = b'VERSION "1.2-messages"\n' + NUMBER * b"<urn:s> <urn:p> <urn:o> .\nMESSAGE\n"
        return convert_messages(
            log, io.BytesIO(), source_format="nt", target_format=target, progress=progress
        )

    return call


@pytest.mark.parametrize(
    "call",
    [
        lambda progress: write(TRIPLES, io.BytesIO(), progress=progress),
        lambda progress: jena.write(
            TRIPLES, io.BytesIO(), format=jena.JenaFormat.THRIFT, progress=progress
        ),
        lambda progress: write_messages(
            [[each] for each in TRIPLES], io.BytesIO(), format="jelly", progress=progress
        ),
        _frames,
        _arrow,
        _quads,
        _statements,
        _graphs,
        _messages("jelly"),
        _messages("nq"),
    ],
)
def test_progress_counts_all(call: Callable[[Any], object]) -> None:
    reported: list[int] = []
    call(reported.append)
    assert 2 <= len(reported) <= 3
    assert sum(reported) == NUMBER


def test_progress_of_messages_from_jelly() -> None:
    out = io.BytesIO()
    write_messages(([each] for each in TRIPLES), out, format="jelly")
    for target in ("nq", "nt", "ttl"):
        reported: list[int] = []
        convert_messages(
            out.getvalue(),
            io.BytesIO(),
            source_format="jelly",
            target_format=target,
            progress=reported.append,
        )
        assert (len(reported), sum(reported)) == (3, NUMBER)
