"""Jobs of the codec alone: Jelly, generic terms, N-Triples.

A job is a function from data to :class:`Runs`, ours first. It prepares the input of the runs.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

import pyoxigraph
from pyjelly.integrations.generic import generic_sink
from pyjelly.integrations.generic.parse import parse_jelly_flat as pyjelly_read
from pyjelly.integrations.generic.serialize import flat_stream_to_file as pyjelly_write
from pyoxigraph import RdfFormat

from jelly_plugins import ConversionSettings, OptionChanges, codec, convert
from jelly_plugins.codec import DEFAULT_LIMITS, FrameSplitter, PhysicalType, StreamOptions, delimit
from jelly_plugins.codec.common.terms import BlankNode, Iri, Literal
from jelly_plugins.codec.rdf import decoder, encoder
from jelly_plugins.codec.text import transcoding as text

from .data import OPTIONS, Data
from .measure import Runs

_CHUNK: Final = 1 << 18
_BATCH: Final = 1 << 13


def count(items: Iterable[Any]) -> int:
    """Iterate to the end and count the items."""
    number = 0
    for _ in items:
        number += 1
    return number


def split(jelly: bytes) -> Iterator[bytes]:
    """Yield the frames of a stream, which is read in chunks."""
    splitter = FrameSplitter(limits=DEFAULT_LIMITS)
    for start in range(0, len(jelly), _CHUNK):
        yield from splitter.feed(jelly[start : start + _CHUNK])
    yield from splitter.finish()


def _decode(decoder_class: Any, data: Data) -> int:
    reader = decoder_class(codec.GenericFactory())
    return sum(count(reader.decode(frame).statements) for frame in split(data.jelly))


def _decode_text(decoder_class: Any, data: Data) -> int:
    reader = decoder_class()
    return sum(len(chunk) for frame in split(data.jelly) for chunk in reader.decode(frame))


def encode(
    encoder_class: Any, statements: list[Any], options: StreamOptions = OPTIONS, **settings: Any
) -> int:
    """Write statements as a delimited stream; return its size."""
    out = io.BytesIO()
    writer = encoder_class(options, **settings)
    left = iter(statements)
    while batch := list(islice(left, _BATCH)):
        out.writelines(map(delimit, writer.add(batch)))
    out.writelines(map(delimit, writer.finish()))
    return out.tell()


def _encode_text(encoder_class: Any, data: Data) -> int:
    out = io.BytesIO()
    writer = encoder_class(data.options)
    for start in range(0, len(data.ntriples), _CHUNK):
        out.writelines(map(delimit, writer.feed(data.ntriples[start : start + _CHUNK])))
    out.writelines(map(delimit, writer.finish()))
    return out.tell()


def read_ntriples(data: Data) -> int:
    """Read the same data with pyoxigraph's parser."""
    return count(pyoxigraph.parse(data.ntriples, data.text_format))


def pyjelly_terms(data: Data) -> list[Any]:
    """Convert the statements for pyjelly's generic writer."""
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
            elif isinstance(ours, codec.Triple):
                theirs = generic_sink.Triple(*map(term, ours))
            else:
                theirs = generic_sink.DefaultGraph
            made[ours] = theirs
        return theirs

    triples = data.options.physical_type is PhysicalType.TRIPLES
    statement_class = generic_sink.Triple if triples else generic_sink.Quad
    return [statement_class(*map(term, statement)) for statement in data.statements]


def pyjelly_encode(statements: list[Any]) -> int:
    """Write statements with pyjelly; return the size of the stream."""
    out = io.BytesIO()
    pyjelly_write((statement for statement in statements), out)
    return out.tell()


def jelly_to_generic(data: Data) -> Runs:
    """Jelly → generic terms, iterate"""
    return Runs(
        {
            "ours": lambda: _decode(codec.Decoder, data),
            "ours, Python codec": lambda: _decode(decoder.Decoder, data),
            "pyjelly": lambda: count(pyjelly_read(io.BytesIO(data.jelly))),
        }
    )


def jelly_to_ntriples(data: Data) -> Runs:
    """Jelly → N-Triples bytes"""
    return Runs(
        {
            "ours": lambda: _decode_text(codec.TextDecoder, data),
            "ours, Python codec": lambda: _decode_text(text.TextDecoder, data),
            "pyoxigraph, N-Triples": lambda: read_ntriples(data),
        }
    )


def ntriples_to_jelly(data: Data) -> Runs:
    """N-Triples bytes → Jelly"""
    theirs = pyjelly_terms(data)
    return Runs(
        {
            "ours": lambda: _encode_text(codec.TextEncoder, data),
            "ours, Python codec": lambda: _encode_text(text.TextEncoder, data),
            "pyoxigraph, N-Triples": lambda: read_ntriples(data),
            "pyjelly, generic terms": lambda: pyjelly_encode(theirs),
        }
    )


def turtle_to_jelly(data: Data) -> Runs:
    """Turtle bytes → Jelly"""
    turtle = data.turtle
    name, theirs = ("trig", RdfFormat.TRIG) if data.has_graphs else ("turtle", RdfFormat.TURTLE)

    # Otherwise a late quoted triple would cause a second conversion from the start.
    settings = ConversionSettings(changes=OptionChanges(rdf_star=data.options.rdf_star))

    def ours() -> int:
        out = io.BytesIO()
        convert(turtle, out, source_format=name, target_format="jelly", settings=settings)
        return out.tell()

    return Runs(
        {
            "ours": ours,
            "pyoxigraph, Turtle": lambda: count(pyoxigraph.parse(turtle, theirs)),
        }
    )


def generic_to_jelly(data: Data) -> Runs:
    """Generic terms → Jelly"""
    ours = data.statements
    theirs = pyjelly_terms(data)
    return Runs(
        {
            "ours": lambda: encode(codec.Encoder, ours, data.options),
            "ours, Python codec": lambda: encode(encoder.Encoder, ours, data.options),
            "pyjelly": lambda: pyjelly_encode(theirs),
        }
    )


JOBS: Final = (
    jelly_to_generic,
    jelly_to_ntriples,
    ntriples_to_jelly,
    turtle_to_jelly,
    generic_to_jelly,
)
