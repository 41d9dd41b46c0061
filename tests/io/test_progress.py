"""Progress of the functions that write what they are given."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import Frame, Iri, StreamOptions, Triple, convert, jena, write, write_frames
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


def _to(path: Path) -> dict[str, Callable[[Any], object]]:
    """Functions that write 20 statements or messages to a path."""
    triples = TRIPLES[:20]
    data = write_bytes(triples)
    calls: dict[str, Callable[[Any], object]] = {
        "write": lambda progress: write(triples, path, progress=progress),
        "jena": lambda progress: jena.write(triples, path, format="rt", progress=progress),
        "messages": lambda progress: write_messages(
            [triples] * 20, path, format="nt", progress=progress
        ),
        "converted messages": lambda progress: convert_messages(
            data, path, source_format="jelly", target_format="nt", progress=progress
        ),
        "arrow": lambda progress: pytest.importorskip("jelly_plugins.arrow").write(
            pytest.importorskip("jelly_plugins.arrow").read(data), path, progress=progress
        ),
    }
    for target in ("jelly", "jelly-text", "nt", "ttl"):
        calls[f"nt to {target}"] = lambda progress, target=target: convert(
            b"<urn:a> <urn:p> <urn:o> .\n",
            path,
            source_format="nt",
            target_format=target,
            progress=progress,
        )
        calls[f"jelly to {target}"] = lambda progress, target=target: convert(
            [data, data], path, source_format="jelly", target_format=target, progress=progress
        )

        def dump(progress: Any, target: str = target) -> object:
            pyoxigraph = pytest.importorskip("pyoxigraph")
            from jelly_plugins import oxigraph

            store = pyoxigraph.Store()
            oxigraph.load(store, data)
            return oxigraph.dump(store, path, format=target, progress=progress)

        calls[f"dump of {target}"] = dump
    return calls


@pytest.mark.parametrize("name", _to(Path()))
def test_an_exception_of_the_last_call_keeps_the_old_file(name: str, tmp_path: Path) -> None:
    def stop(number: int) -> None:
        raise InterruptedError(number)

    path = tmp_path / "x"
    path.write_bytes(b"old")
    with pytest.raises(InterruptedError):
        _to(path)[name](stop)
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1
