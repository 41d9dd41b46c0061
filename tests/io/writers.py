"""Functions that write statements or messages to a destination, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyoxigraph
import rdflib

import jelly_plugins.rdflib
from jelly_plugins import (
    Frame,
    Iri,
    StreamOptions,
    Triple,
    arrow,
    convert,
    jena,
    oxigraph,
    write,
    write_frames,
)
from jelly_plugins.io.streams import write_bytes
from jelly_plugins.messages import convert_messages, write_messages

from ..conversions import converted

#: Called with triples, of which it writes that many statements or messages; with the destination,
#: and with a callback for the progress.
Writer = Callable[[list[Triple], Any, Any], object]


def triples(number: int) -> list[Triple]:
    return [Triple(Iri(f"urn:{n}"), Iri("urn:p"), Iri("urn:o")) for n in range(number)]


def _frames(given: list[Triple], dst: Any, progress: Any) -> object:
    half = len(given) // 2
    frames = [given[:half], Frame(1, statements=given[half:])]
    return write_frames(frames, dst, options=StreamOptions(), progress=progress)


def _arrow(given: list[Triple], dst: Any, progress: Any) -> object:
    return arrow.write(arrow.read(write_bytes(given)), dst, progress=progress)


def _quads(given: list[Triple], dst: Any, progress: Any) -> object:
    node = pyoxigraph.NamedNode("urn:s")
    quads = len(given) * [pyoxigraph.Triple(node, node, node)]
    return oxigraph.write_quads(quads, dst, progress=progress)


def _statements(given: list[Triple], dst: Any, progress: Any) -> object:
    node = rdflib.URIRef("urn:s")
    statements = len(given) * [(node, node, node)]
    return jelly_plugins.rdflib.write_statements(statements, dst, progress=progress)


def _graphs(given: list[Triple], dst: Any, progress: Any) -> object:
    half = len(given) // 2
    graphs = [rdflib.Graph(), rdflib.Graph()]
    for graph, part in zip(graphs, (given[:half], given[half:]), strict=True):
        jelly_plugins.rdflib.load(graph, write_bytes(part))
    return jelly_plugins.rdflib.write_graphs(graphs, dst, progress=progress)


def _messages(form: str) -> Writer:
    return lambda given, dst, progress: write_messages(
        [[each] for each in given], dst, format=form, progress=progress
    )


def _converted_messages(source: str, target: str) -> Writer:
    def call(given: list[Triple], dst: Any, progress: Any) -> object:
        log = b'VERSION "1.2-messages"\n' + len(given) * b"<urn:s> <urn:p> <urn:o> .\nMESSAGE\n"
        if source == "jelly":
            log = write_bytes(given, frame_rows=1)
        forms = {"source_format": source, "target_format": target}
        return convert_messages(log, dst, progress=progress, **forms)

    return call


def _converted(source: str, target: str) -> Writer:
    def call(given: list[Triple], dst: Any, progress: Any) -> object:
        half = len(given) // 2
        files: list[Any] = [write_bytes(given[:half]), write_bytes(given[half:])]
        if source == "nt":
            files = [b"<urn:a> <urn:p> <urn:o> .\n" * len(given)]
        elif source != "jelly":
            files = [converted(each, "jelly", source) for each in files]
        return convert(files, dst, source_format=source, target_format=target, progress=progress)

    return call


def _written_again(given: list[Triple], dst: Any, progress: Any) -> object:
    """The last statement changes the options, after most were written."""
    quoted = b"<urn:s> <urn:p> <<( <urn:a> <urn:b> <urn:c> )>> .\n"
    data = b"<urn:a> <urn:p> <urn:o> .\n" * (len(given) - 1) + quoted
    settings = {"source_format": "nt", "target_format": "jelly", "delimited": False}
    return convert(data, dst, progress=progress, **settings)


def _dump(target: str) -> Writer:
    def call(given: list[Triple], dst: Any, progress: Any) -> object:
        store = pyoxigraph.Store()
        oxigraph.load(store, write_bytes(given))
        return oxigraph.dump(store, dst, format=target, progress=progress)

    return call


#: Those that only write Jelly-RDF.
JELLY_WRITERS: Final[dict[str, Writer]] = {
    "write": lambda given, dst, progress: write(given, dst, progress=progress),
    "write_frames": _frames,
    "arrow.write": _arrow,
    "oxigraph.write_quads": _quads,
    "rdflib.write_statements": _statements,
    "rdflib.write_graphs": _graphs,
}
_TARGETS: Final = ("jelly", "jelly-text", "nt", "ttl")
WRITERS: Final[dict[str, Writer]] = {
    **JELLY_WRITERS,
    "jena.write": lambda given, dst, progress: jena.write(
        given, dst, format="rt", progress=progress
    ),
    **{f"messages in {form}": _messages(form) for form in ("jelly", "nt")},
    **{
        f"messages, {source} to {target}": _converted_messages(source, target)
        for source, target in (
            ("nt", "jelly"),
            ("nt", "nq"),
            *(("jelly", each) for each in ("nq", "nt", "ttl")),
        )
    },
    **{
        f"{source} to {target}": _converted(source, target)
        for source, targets in (
            ("jelly", (*_TARGETS, "rt")),
            ("nt", _TARGETS),
            *((source, ("nt",)) for source in ("ttl", "rt", "jelly-text")),
        )
        for target in targets
    },
    "written again": _written_again,
    **{f"dump in {target}": _dump(target) for target in _TARGETS},
}
