"""rdflib's parser and serializer plugins: ``graph.parse("x.rt", format="rdf-thrift")``."""

from __future__ import annotations

from functools import partial

from rdflib.graph import ConjunctiveGraph, Graph

from ..codec import DEFAULT_LIMITS, Limits, PhysicalType, StreamOptions, TextDecoder
from ..io.sinks import Destination, open_output
from ..io.streams import WriteSettings
from ..rdflib import oxigraph_store
from ..rdflib.reading import BytesParser
from ..rdflib.writing import (
    BytesSerializer,
    Namespaces,
    encode_graph,
    namespaces_of,
    parts_of,
)
from .names import JenaFormat
from .streams import RowWriter, declared, format_for


def dump(
    graph: Graph,
    dst: Destination,
    *,
    format: JenaFormat | None = None,  # noqa: A002
    namespaces: Namespaces = False,
    limits: Limits = DEFAULT_LIMITS,
) -> int:
    """Write a Graph, Dataset or ConjunctiveGraph as RDF Thrift or RDF Protobuf.

    :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. A path is
        replaced only once everything is written.
    :param format: how rows are encoded; by default detected from the name.
    :param namespaces: prefixes to declare first: those given, all that the graph has, or none. In
        RDF Thrift IRIs are abbreviated with them.
    :param limits: limits on the output.
    :return: the number of statements written. Empty graphs have no place in rows.
    """
    format = format or format_for(dst)  # noqa: A001
    prefixes = namespaces_of(graph, namespaces)
    if oxigraph_store.writable(graph):
        return oxigraph_store.dump(
            graph, dst, format=str(format), namespaces=prefixes, limits=limits
        )
    writer = RowWriter(format, limits=limits)
    lines = TextDecoder(limits=limits)
    kind = PhysicalType.QUADS if isinstance(graph, ConjunctiveGraph) else PhysicalType.TRIPLES
    with open_output(dst) as out:
        out.write(declared(writer, prefixes))
        settings = WriteSettings(limits=limits)
        for frame in encode_graph(parts_of(graph), StreamOptions.flat(kind), settings):
            out.write(writer.add_lines(b"".join(lines.decode(frame))))
    count: int = writer.statements
    return count


class ThriftParser(BytesParser):
    """Reads RDF Thrift into a Graph or Dataset."""

    _format = JenaFormat.THRIFT


class ProtobufParser(BytesParser):
    """Reads RDF Protobuf into a Graph or Dataset."""

    _format = JenaFormat.PROTOBUF


class _JenaSerializer(BytesSerializer):
    _settings = ("namespaces", "limits")


class ThriftSerializer(_JenaSerializer):
    """Writes RDF Thrift."""

    _dump = staticmethod(partial(dump, format=JenaFormat.THRIFT))


class ProtobufSerializer(_JenaSerializer):
    """Writes RDF Protobuf."""

    _dump = staticmethod(partial(dump, format=JenaFormat.PROTOBUF))
