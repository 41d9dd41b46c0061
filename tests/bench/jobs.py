"""The jobs, and who does them: us, the Python codec, and each peer that can.

A job is a function from data to runs by name, ours first. What a run needs is made before it.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Final

import pyoxigraph
import rdflib
from pyjelly.integrations.generic import generic_sink
from pyjelly.integrations.generic.parse import parse_jelly_flat as pyjelly_read
from pyjelly.integrations.generic.serialize import flat_stream_to_file as pyjelly_write
from pyjelly.integrations.rdflib.parse import parse_jelly_flat as pyjelly_read_rdflib

from jelly_plugins import codec, oxigraph
from jelly_plugins import rdflib as jelly_rdflib
from jelly_plugins.codec import decoder, encoder, text
from jelly_plugins.codec.terms import BlankNode, Iri, Literal

from .data import OPTIONS, Data
from .measure import Run

_PIECE: Final = 1 << 18
_BATCH: Final = 1 << 13

Job = Callable[[Data], dict[str, Run]]


def count(items: Iterable[Any]) -> int:
    """Iterate to the end, one by one."""
    number = 0
    for _ in items:
        number += 1
    return number


def _decode(decoder_class: Any, data: Data) -> int:
    reader = decoder_class(codec.GenericFactory())
    number = 0
    for frame in data.frames:
        number += count(reader.decode(frame).statements)
    return number


def _decode_text(decoder_class: Any, data: Data) -> int:
    reader = decoder_class()
    return sum(len(piece) for frame in data.frames for piece in reader.decode(frame))


def _encode(encoder_class: Any, data: Data) -> int:
    writer = encoder_class(OPTIONS)
    statements = iter(data.statements)
    size = 0
    while batch := list(islice(statements, _BATCH)):
        size += sum(map(len, writer.add(batch)))
    return size + sum(map(len, writer.finish()))


def _encode_text(encoder_class: Any, data: Data) -> int:
    writer = encoder_class(OPTIONS)
    size = 0
    for start in range(0, len(data.ntriples), _PIECE):
        size += sum(map(len, writer.feed(data.ntriples[start : start + _PIECE])))
    return size + sum(map(len, writer.finish()))


def _read_ntriples(data: Data) -> int:
    return count(pyoxigraph.parse(data.ntriples, pyoxigraph.RdfFormat.N_TRIPLES))


def _pyjelly_terms(data: Data) -> list[Any]:
    """The statements as pyjelly's generic writer takes them."""
    made: dict[Any, Any] = {}

    def term(ours: Any) -> Any:
        theirs = made.get(ours)
        if theirs is None:
            if isinstance(ours, Iri):
                theirs = generic_sink.IRI(ours.value)
            elif isinstance(ours, BlankNode):
                theirs = generic_sink.BlankNode(ours.label)
            elif isinstance(ours, Literal):
                theirs = generic_sink.Literal(ours.lex, ours.langtag, ours.datatype)
            made[ours] = theirs
        return theirs

    return [generic_sink.Triple(*map(term, statement)) for statement in data.statements]


def _pyjelly_encode(statements: list[Any]) -> int:
    out = io.BytesIO()
    pyjelly_write((statement for statement in statements), out)
    return out.tell()


def jelly_to_generic(data: Data) -> dict[str, Run]:
    """Jelly → generic terms, iterate"""
    return {
        "ours": lambda: _decode(codec.Decoder, data),
        "ours, Python codec": lambda: _decode(decoder.Decoder, data),
        "pyjelly": lambda: count(pyjelly_read(io.BytesIO(data.jelly))),
    }


def jelly_to_ntriples(data: Data) -> dict[str, Run]:
    """Jelly → N-Triples bytes"""
    return {
        "ours": lambda: _decode_text(codec.TextDecoder, data),
        "ours, Python codec": lambda: _decode_text(text.TextDecoder, data),
        "pyoxigraph, iterating the N-Triples": lambda: _read_ntriples(data),
    }


def ntriples_to_jelly(data: Data) -> dict[str, Run]:
    """N-Triples bytes → Jelly"""
    theirs = _pyjelly_terms(data)
    return {
        "ours": lambda: _encode_text(codec.TextEncoder, data),
        "ours, Python codec": lambda: _encode_text(text.TextEncoder, data),
        "pyoxigraph, iterating the N-Triples": lambda: _read_ntriples(data),
        "pyjelly, writing generic terms": lambda: _pyjelly_encode(theirs),
    }


def generic_to_jelly(data: Data) -> dict[str, Run]:
    """Generic terms → Jelly"""
    theirs = _pyjelly_terms(data)
    return {
        "ours": lambda: _encode(codec.Encoder, data),
        "ours, Python codec": lambda: _encode(encoder.Encoder, data),
        "pyjelly": lambda: _pyjelly_encode(theirs),
    }


def jelly_to_rdflib(data: Data) -> dict[str, Run]:
    """Jelly → rdflib terms, iterate"""
    return {
        "ours": lambda: count(jelly_rdflib.read_statements(data.jelly)),
        "pyjelly": lambda: count(pyjelly_read_rdflib(io.BytesIO(data.jelly))),
    }


def jelly_to_graph(data: Data) -> dict[str, Run]:
    """Jelly → rdflib Graph"""
    return {
        "ours": lambda: rdflib.Graph().parse(data=data.jelly, format="jelly-plugins"),
        "pyjelly": lambda: rdflib.Graph().parse(data=data.jelly, format="jelly"),
        "rdflib, N-Triples": lambda: rdflib.Graph().parse(data=data.ntriples, format="nt"),
    }


def jelly_to_pyoxigraph(data: Data) -> dict[str, Run]:
    """Jelly → pyoxigraph quads, iterate"""
    return {
        "ours": lambda: count(oxigraph.read_quads(data.jelly)),
        "pyoxigraph, N-Triples": lambda: _read_ntriples(data),
    }


JOBS: Final[dict[str, Job]] = {
    job.__name__.replace("_", "-"): job
    for job in (
        jelly_to_generic,
        jelly_to_ntriples,
        ntriples_to_jelly,
        generic_to_jelly,
        jelly_to_rdflib,
        jelly_to_graph,
        jelly_to_pyoxigraph,
    )
}
