"""Jobs of RDF Thrift and RDF Protobuf: to text, terms, rdflib and stores, and back.

The peers are the same data as N-Triples and as Jelly, and the libraries of the encodings, which
return messages only. ``tests.bench.jena_jvm`` measures Apache Jena itself.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import pyoxigraph
from rdflib import Graph

from jelly_plugins import codec
from jelly_plugins import oxigraph as stores
from jelly_plugins.codec import DEFAULT_LIMITS, FrameSplitter, delimit
from jelly_plugins.jena import JenaFormat, rows
from jelly_plugins.jena import codec as kernel
from jelly_plugins.jena.rdflib_plugins import dump
from jelly_plugins.jena.sources import batches
from jelly_plugins.rdflib import load

from .codec_jobs import count, encode, read_ntriples
from .data import Data
from .measure import Prepared, Runs
from .oxigraph_jobs import _bulk_load, _in_memory, _on_disk, _store

_CHUNK: Final = 1 << 16
_FORMATS: Final = {"rt": JenaFormat.THRIFT, "rpb": JenaFormat.PROTOBUF}


def rows_of(data: Data, name: JenaFormat) -> bytes:
    """The data as rows."""
    return kernel.RowWriter(name).add_lines(data.ntriples)


def _chunks(data: bytes) -> Iterator[bytes]:
    return (data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK))


def _to_text(reader_class: Any, data: bytes, name: JenaFormat) -> int:
    reader = reader_class(None, name)
    return sum(map(len, batches(_chunks(data), reader.read_text, reader.end)))


def _to_terms(reader_class: Any, data: bytes, name: JenaFormat) -> int:
    reader = reader_class(codec.GenericFactory(), name)
    return sum(map(count, batches(_chunks(data), reader.read_statements, reader.end)))


def _jelly_to_terms(data: Data) -> int:
    decoder = codec.Decoder(codec.GenericFactory())
    splitter = FrameSplitter(limits=DEFAULT_LIMITS)
    return sum(count(decoder.decode(frame).statements) for frame in splitter.feed(data.jelly))


def _thrift_messages(rows: bytes) -> int:
    """Read rows with the ``thrift`` package."""
    from ..jena import peers

    return len(peers.thrift_values(rows, peers.THRIFT_ROW))


def _protobuf_messages(rows: bytes) -> int:
    """Read rows with protobuf."""
    from jelly_plugins.codec.common.wire import read_varint

    from ..jena import peers

    message = peers.protobuf_class("RDF_StreamRow")
    at = number = 0
    while at < len(rows):
        size, at = read_varint(rows, at, len(rows))
        message.FromString(rows[at : at + size])
        at += size
        number += 1
    return number


_MESSAGES: Final = {"rt": _thrift_messages, "rpb": _protobuf_messages}


def _text_job(data: Data, name: str) -> Runs:
    given = rows_of(data, _FORMATS[name])
    return Runs(
        {
            "ours": lambda: _to_text(kernel.StatementReader, given, _FORMATS[name]),
            "pyoxigraph, N-Triples": lambda: read_ntriples(data),
            "ours, Python": lambda: _to_text(rows.StatementReader, given, _FORMATS[name]),
        }
    )


def thrift_to_ntriples(data: Data) -> Runs:
    """RDF Thrift → N-Triples, bytes"""
    return _text_job(data, "rt")


def protobuf_to_ntriples(data: Data) -> Runs:
    """RDF Protobuf → N-Triples, bytes"""
    return _text_job(data, "rpb")


def _terms_job(data: Data, name: str) -> Runs:
    given = rows_of(data, _FORMATS[name])
    return Runs(
        {
            "ours": lambda: _to_terms(kernel.StatementReader, given, _FORMATS[name]),
            "ours, Jelly": lambda: _jelly_to_terms(data),
            "bare messages": lambda: _MESSAGES[name](given),
            "ours, Python": lambda: _to_terms(rows.StatementReader, given, _FORMATS[name]),
        }
    )


def thrift_to_generic(data: Data) -> Runs:
    """RDF Thrift → generic terms, iterate"""
    return _terms_job(data, "rt")


def protobuf_to_generic(data: Data) -> Runs:
    """RDF Protobuf → generic terms, iterate"""
    return _terms_job(data, "rpb")


def _write_job(data: Data, name: str) -> Runs:
    statements = data.statements
    return Runs(
        {
            "ours": lambda: len(kernel.RowWriter(_FORMATS[name]).add(statements)),
            "ours, Jelly": lambda: encode(codec.Encoder, statements),
        }
    )


def generic_to_thrift(data: Data) -> Runs:
    """generic terms → RDF Thrift"""
    return _write_job(data, "rt")


def generic_to_protobuf(data: Data) -> Runs:
    """generic terms → RDF Protobuf"""
    return _write_job(data, "rpb")


def _lines_job(data: Data, name: str) -> Runs:
    def jelly() -> int:
        writer = codec.TextEncoder(codec.StreamOptions())
        frames = [*writer.feed(data.ntriples), *writer.finish()]
        return sum(len(delimit(frame)) for frame in frames)

    return Runs({"ours": lambda: len(rows_of(data, _FORMATS[name])), "ours, Jelly": jelly})


def ntriples_to_thrift(data: Data) -> Runs:
    """N-Triples → RDF Thrift, bytes"""
    return _lines_job(data, "rt")


def ntriples_to_protobuf(data: Data) -> Runs:
    """N-Triples → RDF Protobuf, bytes"""
    return _lines_job(data, "rpb")


def _loaded(make: Any, rows: bytes, name: JenaFormat) -> Prepared:
    def act(folder: Any) -> pyoxigraph.Store:
        store = _store(folder)
        stores.load(store, rows, format=name)
        return store

    return Prepared(make, act)


def _store_job(data: Data, make: Any) -> Runs:
    runs: dict[str, Any] = {
        f"ours, {name}": _loaded(make, rows_of(data, form), form) for name, form in _FORMATS.items()
    }
    runs["pyoxigraph, bulk_load"] = Prepared(make, _bulk_load(data))
    return Runs(runs)


def jena_to_memory(data: Data) -> Runs:
    """RDF Thrift and RDF Protobuf → pyoxigraph store in memory"""
    return _store_job(data, _in_memory)


def jena_to_disk(data: Data) -> Runs:
    """RDF Thrift and RDF Protobuf → pyoxigraph store on disk"""
    return _store_job(data, _on_disk)


def jena_from_memory(data: Data) -> Runs:
    """pyoxigraph store in memory → RDF Thrift and RDF Protobuf"""
    store = pyoxigraph.Store()
    store.bulk_load(data.ntriples, pyoxigraph.RdfFormat.N_TRIPLES)

    def write(name: JenaFormat) -> int:
        return stores.dump(store, io.BytesIO(), format=name)

    runs: dict[str, Callable[[], Any]] = {
        f"ours, {name}": partial(write, form) for name, form in _FORMATS.items()
    }
    runs["pyoxigraph, N-Quads"] = lambda: store.dump(format=pyoxigraph.RdfFormat.N_QUADS)
    return Runs(runs)


def jena_to_rdflib(data: Data) -> Runs:
    """RDF Thrift and RDF Protobuf → rdflib Graph"""

    def read(rows: bytes, name: JenaFormat) -> int:
        return load(Graph(), rows, format=name)

    runs: dict[str, Callable[[], Any]] = {
        f"ours, {name}": partial(read, rows_of(data, form), form) for name, form in _FORMATS.items()
    }
    runs["rdflib, N-Triples"] = lambda: Graph().parse(data=data.ntriples, format="nt")
    return Runs(runs)


def jena_from_rdflib(data: Data) -> Runs:
    """rdflib Graph → RDF Thrift and RDF Protobuf"""
    graph = Graph()
    load(graph, rows_of(data, JenaFormat.THRIFT), format=JenaFormat.THRIFT)

    def write(name: JenaFormat) -> int:
        return dump(graph, io.BytesIO(), format=name)

    runs: dict[str, Callable[[], Any]] = {
        f"ours, {name}": partial(write, form) for name, form in _FORMATS.items()
    }
    runs["rdflib, N-Triples"] = lambda: graph.serialize(format="nt", encoding="utf-8")
    return Runs(runs)


JOBS: Final = [
    thrift_to_ntriples,
    protobuf_to_ntriples,
    thrift_to_generic,
    protobuf_to_generic,
    generic_to_thrift,
    generic_to_protobuf,
    ntriples_to_thrift,
    ntriples_to_protobuf,
    jena_to_memory,
    jena_to_disk,
    jena_from_memory,
    jena_to_rdflib,
    jena_from_rdflib,
]
