"""A program that uses every public module, for ``test_typing.py``: mypy finds no expression of
unknown type in it. It can also be run.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pyoxigraph
import rdflib
from rdflib.term import Node

import jelly_plugins.rdflib
from jelly_plugins import (
    Frame,
    FrameReader,
    Iri,
    JellyError,
    Limits,
    Literal,
    Source,
    Statement,
    StreamOptions,
    Term,
    Triple,
    arrow,
    convert,
    grpc,
    jena,
    messages,
    oxigraph,
    patch,
    read,
    read_frames,
    read_quads,
    read_triples,
    write,
    write_frames,
)
from jelly_plugins.patch.replay.replay import Replayed


def subjects(src: Source) -> set[Term]:
    return {statement.subject for statement in read(src)}


def objects(src: Source) -> list[Term]:
    graphs = {g for _, _, _, g in read_quads(src)}
    return [o for _, _, o in read_triples(src) if o not in graphs]


def nodes_of(src: Source) -> list[Node]:
    found = [o for _, _, o in jelly_plugins.rdflib.read_triples(src)]
    return found + [g for _, _, _, g in jelly_plugins.rdflib.read_quads(src)]


def frames_of(reader: FrameReader) -> list[Frame]:
    return list(reader)


def terms_in(change: patch.Patch) -> list[Term | str | None]:
    collected: list[Term | str | None] = [change.id, change.header("prev")]
    for operation in change.rows():
        collected.append(operation.kind.code)
        if isinstance(operation.value, patch.Namespace):
            collected.append(operation.value.iri)
        elif isinstance(operation.value, patch.Header):
            collected.append(operation.value.value)
        elif operation.value is not None:
            collected.append(operation.value.subject)
    return collected


def exchanged(store: pyoxigraph.Store, src: Path) -> list[Statement]:
    topics = {"all": grpc.StoreTopic(store)}
    service = grpc.Topics(topics, sink=grpc.StoreSink(store))
    with grpc.serve(service, bounds=grpc.Bounds(streams=2), token="secret") as server:
        grpc.publish(src, server.address, topic="x", token="secret", timeout=60)
        with grpc.subscribe("all", server.address, token="secret") as stream:
            frames = list(stream)
    return [statement for frame in frames for statement in frame.statements]


async def received(address: str) -> int:
    async with grpc.aio.subscribe("all", address, timeout=60) as stream:
        return len([frame.index async for frame in stream])


def main(folder: Path) -> int:
    triples: list[Statement] = [
        Triple(Iri(f"urn:s{n}"), Iri("urn:p"), Literal(str(n))) for n in range(9)
    ]
    path = folder / "x.jelly.gz"
    options = StreamOptions(stream_name="x")
    write(triples, path, options=options, frame_rows=9, restart_every=None, limits=Limits())
    with gzip.open(path) as file, read_frames(path) as reader:
        found = subjects(file)
        frames = frames_of(reader)
        terms = (objects(path), nodes_of(path))
        rows = [(frame.index, len(frame.statements), frame.namespaces) for frame in frames]
        name = reader.options.stream_name
        write_frames(frames, folder / "again.jelly", options=reader.options)
    graph = rdflib.Graph()
    for graph_read in jelly_plugins.rdflib.read_graphs(path):
        graph += graph_read
    nodes = [row[0] for row in jelly_plugins.rdflib.read_statements(path)]
    store = pyoxigraph.Store()
    loaded = oxigraph.load(store, path, base="urn:x", atomic=True, limits=Limits()) or 0
    jelly_plugins.rdflib.load(graph, path, base="urn:x", atomic=True, generalized=False)
    quads = [quad.subject for quad in oxigraph.read_quads(path)]
    dumped = oxigraph.dump(store, folder / "dump.jelly")
    patch.write_patches([patch.diff(path, path)], folder / "x.jellyp")
    report = patch.check(folder / "x.jellyp")
    collected = [terms_in(each) for each in patch.read_patches(folder / "x.jellyp")]
    replayed: Replayed = oxigraph.replay(
        pyoxigraph.Store(), folder / "x.jellyp", check_prev=True, commit_every=10, until=None
    )
    jelly_plugins.rdflib.replay(rdflib.Dataset(), folder / "x.jellyp", dry_run=True)
    with oxigraph.record(store, folder / "log.jellyp", name="urn:log", limits=Limits()):
        pass
    exchange = exchanged(store, path)
    table = arrow.read(path).read_all()
    texts = [text for row in table.to_pylist() for text in row.values() if text is not None]
    sizes = [len(message) for message in messages.read_messages(path, format="jelly", base=None)]
    messages.convert_messages(path, folder / "x.nt", target_format="nt")
    jena.write(triples, folder / "x.rt")
    thrift = [len(statement) for statement in jena.read(folder / "x.rt")]
    result = convert(path, folder / "x.ttl", base="urn:x", frame_rows=9, blank_nodes="keep")
    place: tuple[object, ...] = ()
    try:
        subjects(b"nonsense")
    except JellyError as error:
        place = (error.source, error.frame, error.row, error.message)
    counts = (len(found), len(nodes), loaded, len(quads), dumped, replayed.operations, len(graph))
    numbers = (
        len(terms),
        len(rows),
        len(name),
        report.patches,
        len(texts),
        len(sizes),
        len(thrift),
        len(collected),
        len(place),
        len(exchange),
    )
    return sum(counts) + sum(numbers) + result.statements
