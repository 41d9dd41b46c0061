"""Jobs of the codec: Jelly, generic terms, N-Triples, Arrow columns; and the size of streams."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

import pyarrow
import pyoxigraph
from pyjelly.integrations.generic import generic_sink
from pyjelly.integrations.generic.parse import parse_jelly_flat as pyjelly_read
from pyjelly.integrations.generic.serialize import flat_stream_to_file as pyjelly_write
from pyoxigraph import RdfFormat

from jelly_plugins import ConversionSettings, OptionChanges, arrow, codec
from jelly_plugins.codec import DEFAULT_LIMITS, FrameSplitter, delimit
from jelly_plugins.codec.common.terms import BlankNode, Iri, Literal
from jelly_plugins.codec.rdf import decoder, encoder
from jelly_plugins.codec.text import transcoding as text

from ..conversions import converted
from .data import OPTIONS, Data
from .measure import Run, Runs, job

_CHUNK: Final = 1 << 18
_BATCH: Final = 1 << 13
#: Rows of a frame in pyjelly.
_FRAME_ROWS: Final = 250


def count(items: Iterable[Any]) -> int:
    """Iterate to the end and count the items."""
    return sum(1 for _ in items)


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


def _encode(encoder_class: Any, statements: list[Any], **settings: Any) -> int:
    """Write statements as a delimited stream; return its size."""
    out = io.BytesIO()
    writer = encoder_class(OPTIONS, **settings)
    left = iter(statements)
    while batch := list(islice(left, _BATCH)):
        out.writelines(map(delimit, writer.add(batch)))
    out.writelines(map(delimit, writer.finish()))
    return out.tell()


def _encode_text(encoder_class: Any, data: Data) -> int:
    out = io.BytesIO()
    writer = encoder_class(OPTIONS)
    for start in range(0, len(data.ntriples), _CHUNK):
        out.writelines(map(delimit, writer.feed(data.ntriples[start : start + _CHUNK])))
    out.writelines(map(delimit, writer.finish()))
    return out.tell()


def read_ntriples(data: Data) -> int:
    """Read the same data with pyoxigraph's parser."""
    return count(pyoxigraph.parse(data.ntriples, RdfFormat.N_TRIPLES))


def _pyjelly_terms(data: Data) -> list[Any]:
    """Convert the statements for pyjelly's generic writer."""
    made: dict[Any, Any] = {}

    def term(ours: Any) -> Any:
        if ours not in made:
            if isinstance(ours, Iri):
                theirs: Any = generic_sink.IRI(ours.value)
            elif isinstance(ours, BlankNode):
                theirs = generic_sink.BlankNode(ours.label)
            elif isinstance(ours, Literal):
                theirs = generic_sink.Literal(ours.lex, ours.langtag, ours.datatype)
            else:
                theirs = generic_sink.Triple(*map(term, ours))
            made[ours] = theirs
        return made[ours]

    return [generic_sink.Triple(*map(term, statement)) for statement in data.statements]


def _pyjelly_encode(statements: list[Any]) -> int:
    """Write statements with pyjelly; return the size of the stream."""
    out = io.BytesIO()
    pyjelly_write((statement for statement in statements), out)
    return out.tell()


@job("codec", "jelly-to-generic", "Jelly → generic terms, iterate")
def jelly_to_generic(data: Data) -> dict[str, Run]:
    return {
        "ours": lambda: _decode(codec.Decoder, data),
        "ours, Python codec": lambda: _decode(decoder.Decoder, data),
        "pyjelly": lambda: count(pyjelly_read(io.BytesIO(data.jelly))),
    }


@job("codec", "jelly-to-ntriples", "Jelly → N-Triples bytes")
def jelly_to_ntriples(data: Data) -> dict[str, Run]:
    return {
        "ours": lambda: _decode_text(codec.TextDecoder, data),
        "ours, Python codec": lambda: _decode_text(text.TextDecoder, data),
        "pyoxigraph, N-Triples": lambda: read_ntriples(data),
    }


@job("codec", "ntriples-to-jelly", "N-Triples bytes → Jelly")
def ntriples_to_jelly(data: Data) -> dict[str, Run]:
    theirs = _pyjelly_terms(data)
    return {
        "ours": lambda: _encode_text(codec.TextEncoder, data),
        "ours, Python codec": lambda: _encode_text(text.TextEncoder, data),
        "pyoxigraph, N-Triples": lambda: read_ntriples(data),
        "pyjelly, generic terms": lambda: _pyjelly_encode(theirs),
    }


@job("codec", "turtle-to-jelly", "Turtle bytes → Jelly")
def turtle_to_jelly(data: Data) -> dict[str, Run]:
    turtle = data.turtle
    # Otherwise a late quoted triple would cause a second conversion from the start.
    settings = ConversionSettings(changes=OptionChanges(rdf_star=False))
    return {
        "ours": lambda: converted(turtle, "turtle", "jelly", settings=settings),
        "pyoxigraph, Turtle": lambda: count(pyoxigraph.parse(turtle, RdfFormat.TURTLE)),
    }


@job("codec", "generic-to-jelly", "Generic terms → Jelly")
def generic_to_jelly(data: Data) -> dict[str, Run]:
    ours, theirs = data.statements, _pyjelly_terms(data)
    return {
        "ours": lambda: _encode(codec.Encoder, ours),
        "ours, Python codec": lambda: _encode(encoder.Encoder, ours),
        "pyjelly": lambda: _pyjelly_encode(theirs),
    }


def _pyoxigraph_table(data: Data) -> pyarrow.Table:
    """Make a table in the shortest way without this package: parse N-Triples, and convert each
    term to text.
    """
    columns: tuple[list[str], ...] = ([], [], [])
    for triple in pyoxigraph.parse(data.ntriples, RdfFormat.N_TRIPLES):
        columns[0].append(str(triple.subject))
        columns[1].append(str(triple.predicate))
        columns[2].append(str(triple.object))
    return pyarrow.table(dict(zip(("subject", "predicate", "object"), columns, strict=True)))


@job("columns", "jelly-to-columns", "Jelly → Arrow columns")
def jelly_to_columns(data: Data) -> dict[str, Run]:
    return {
        "ours": lambda: arrow.read(data.jelly).read_all(),
        "pyoxigraph, N-Triples": lambda: _pyoxigraph_table(data),
    }


@job("columns", "columns-to-jelly", "Arrow columns → Jelly")
def columns_to_jelly(data: Data) -> dict[str, Run]:
    table, theirs = arrow.read(data.jelly).read_all(), _pyjelly_terms(data)
    return {
        "ours": lambda: arrow.write(table, io.BytesIO(), options=OPTIONS),
        "pyjelly, generic terms": lambda: _pyjelly_encode(theirs),
    }


@job("size", "file-size", "Size of the stream")
def file_size(data: Data) -> Runs:
    theirs = _pyjelly_terms(data)
    return Runs(
        {
            "ours": lambda: _encode(codec.Encoder, data.statements, frame_rows=_FRAME_ROWS),
            "pyjelly": lambda: _pyjelly_encode(theirs),
            "N-Triples": lambda: len(data.ntriples),
        },
        unit="bytes",
        rounds=1,
    )
