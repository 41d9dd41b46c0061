"""The graph that the package keeps for itself: rejected on the way in, invisible on the way out."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rdflib import ConjunctiveGraph, Dataset, Graph, URIRef

from jelly_plugins import Iri, Quad, TermError, read, read_frames
from jelly_plugins.io.streams import write_bytes
from jelly_plugins.oxigraph import BOOKKEEPING
from jelly_plugins.rdflib import load, record, replay, write_graphs

S, P, O = (URIRef(f"urn:{letter}") for letter in "spo")  # noqa: E741
RESERVED = URIRef(BOOKKEEPING.value)

pytestmark = pytest.mark.filterwarnings("ignore:.*(ConjunctiveGraph|default_context).*")

LOG = b"H id <urn:1> .\nA <urn:s> <urn:p> <urn:o> .\nA <urn:s> <urn:p> <urn:o> <urn:g> .\nZ .\n"
MAKERS = {
    "Dataset": Dataset,
    "Dataset, Oxigraph": lambda: Dataset(store="Oxigraph"),
    "ConjunctiveGraph": ConjunctiveGraph,
    "ConjunctiveGraph, Oxigraph": lambda: ConjunctiveGraph(store="Oxigraph"),
}


@pytest.fixture(params=MAKERS)
def dataset(request: pytest.FixtureRequest) -> Any:
    """A dataset of any kind."""
    return MAKERS[request.param]()


def test_parse(dataset: Any) -> None:
    triple = tuple(map(Iri, ("urn:s", "urn:p", "urn:o")))
    quads = [Quad(*triple, Iri("urn:g")), Quad(*triple, Iri(BOOKKEEPING.value))]
    source = write_bytes(quads, frame_rows=1)
    with pytest.raises(TermError, match=r"frame \d+: .*bookkeeping") as caught:
        load(dataset, source)
    assert caught.value.frame == max(frame.index for frame in read_frames(source))
    assert list(dataset.quads()) == []


def test_replay(dataset: Any) -> None:
    forged = LOG.replace(b"<urn:g>", BOOKKEEPING.value.join("<>").encode())
    with pytest.raises(TermError, match=r"<urn:1>: .*bookkeeping"):
        replay(dataset, forged)
    assert list(dataset.quads()) == []


@pytest.mark.parametrize("operation", ['PA "x" <urn:x>', 'PD "x" <urn:x>'])
def test_replay_of_a_namespace(dataset: Any, operation: str) -> None:
    forged = LOG.replace(b"Z .", f"{operation} <{BOOKKEEPING.value}> .\nZ .".encode())
    with pytest.raises(TermError, match=r"<urn:1>: .*bookkeeping"):
        replay(dataset, forged)
    assert list(dataset.quads()) == []


def test_replay_into_it(dataset: Any) -> None:
    with pytest.raises(TermError, match="bookkeeping"):
        replay(Graph(dataset.store, RESERVED), b"A <urn:s> <urn:p> <urn:o> .\n")
    assert list(dataset.quads()) == []


def test_record(tmp_path: Path) -> None:
    with record(Dataset(), tmp_path / "log.jellyp") as recorder:
        recorder.graph.add((S, P, O))
        recorder.commit()
        with pytest.raises(TermError, match="bookkeeping"):
            Graph(recorder.graph.store, RESERVED).add((S, P, O))
    copy = Dataset()
    assert replay(copy, tmp_path / "log.jellyp").operations == 1


@pytest.mark.parametrize("name", [name for name in MAKERS if "Oxigraph" in name])
def test_what_is_written(name: str) -> None:
    dataset = MAKERS[name]()
    replay(dataset, LOG)
    written = [dataset.serialize(format="jelly-plugins", encoding="utf-8")]
    file = io.BytesIO()
    write_graphs([dataset], file)
    written.append(file.getvalue())
    for data in written:
        assert BOOKKEEPING.value.encode() not in data
        assert {str(quad.graph) for quad in read(data) if len(quad) == 4} >= {"Iri(value='urn:g')"}
