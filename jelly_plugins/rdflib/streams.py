"""Streams of statements and of whole graphs in rdflib's terms, without one big graph.

In grouped streams each frame is a graph or a dataset; a flat stream is one sequence of statements
whose frames mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, TypedDict, Unpack

from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ConjunctiveGraph, Dataset, Graph
from rdflib.term import Node

from ..backends import BlankNodes
from ..codec import (
    DEFAULT_GRAPH,
    DEFAULT_LIMITS,
    Limits,
    LogicalType,
    PhysicalType,
    StreamOptions,
)
from ..errors import JellyError, StatementError, shown
from ..io.sinks import Counted, Destination
from ..io.sources import Source
from ..io.streams import (
    Progress,
    WriteOptions,
    WriteSettings,
    encode,
    with_options,
    write_delimited,
)
from .namespaces import DeclaredNamespaces
from .reading import GraphSink, open_frames
from .terms import EncoderTerms, Statement, reject_no_graph
from .writing import Element, Namespaces, Part, batches_of, namespaces_of, parts_of
from .writing import encode as encode_elements


class StreamSettings(TypedDict, total=False):
    """Settings of a reading, see :func:`read_statements`."""

    blank_nodes: BlankNodes
    generalized: bool
    concatenated: bool
    limits: Limits


def read_statements(src: Source, **settings: Unpack[StreamSettings]) -> Iterator[Statement]:
    """Read a Jelly-RDF stream as one sequence of statements: tuples of rdflib's terms.

    A quad's last term is the name of its graph, ``DATASET_DEFAULT_GRAPH_ID`` for the default
    graph: ``Dataset.addN`` takes such quads as they are.

    :param src: path, URL, open binary file or bytes; compressed or not.
    :param settings: ``blank_nodes``: ``"fresh"`` (default) makes new nodes for each reading,
        ``"keep"`` keeps labels as they are, and one label is one node in the whole stream;
        ``generalized``: accept generalized statements; ``concatenated``: whether options at the
        start of a frame start a new stream; ``limits``: the limits on untrusted input.
    :raises JellyError: while iterating, with source, frame and row.

    >>> from jelly_plugins.io.streams import write_bytes
    >>> from jelly_plugins import Iri, Triple
    >>> for triple in read_statements(write_bytes([Triple(Iri("urn:s"), Iri("urn:p"), Iri("o"))])):
    ...     print(triple[0])
    urn:s
    """
    return _statements(src, **settings)


def read_triples(
    src: Source, **settings: Unpack[StreamSettings]
) -> Iterator[tuple[Node, Node, Node]]:
    """Read a Jelly-RDF stream as triples of rdflib's terms: those of the stream, or its quads if
    all of them are in the default graph. See :func:`read_statements` for the parameters, and for
    what is raised."""
    return _statements(src, named_graphs=False, **settings)


def read_quads(
    src: Source, **settings: Unpack[StreamSettings]
) -> Iterator[tuple[Node, Node, Node, Node]]:
    """Read a Jelly-RDF stream as quads of rdflib's terms, whose last term is the name of the graph;
    triples are in the default graph. See :func:`read_statements` for the parameters, and for what
    is raised."""
    for statement in _statements(src, **settings):
        yield statement if len(statement) == 4 else (*statement, DATASET_DEFAULT_GRAPH_ID)


def _statements(src: Source, **settings: Any) -> Iterator[Any]:
    with open_frames(src, **settings) as frames:
        for frame in frames:
            yield from frame.statements


def write_statements(
    statements: Iterable[tuple[Any, ...]], dst: Destination, **settings: Unpack[WriteOptions]
) -> int:
    """Write statements in rdflib's terms as a flat, delimited Jelly-RDF stream.

    They are written one by one, in constant memory.

    :param statements: triples, or quads whose graph is a name, a Graph, or None for the default
        graph, as ``Dataset.quads`` gives them. In a stream of quads, a triple is in the default
        graph.
    :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. A path is
        replaced only once everything is written.
    :param settings: see :class:`~jelly_plugins.WriteSettings`.
    :return: number of statements written.
    :raises StatementError: the options have no place for a statement.
    :raises JellyError: Jelly cannot express a term.
    :raises SourceError: the path cannot be written.

    >>> import io
    >>> from rdflib import URIRef
    >>> write_statements([(URIRef("urn:s"), URIRef("urn:p"), URIRef("urn:o"))], io.BytesIO())
    1
    """
    if isinstance(statements, Graph):
        raise TypeError(
            f"statements are needed, not {shown(statements)}; graph.serialize writes it"
        )
    options, iterator = with_options(statements, settings.get("options"))
    settings["options"] = options
    triples = options.physical_type is PhysicalType.TRIPLES
    terms = EncoderTerms()
    batches = terms.statements((_fitted(each, triples) for each in iterator), ())
    frames = encode(chain.from_iterable(batches), **settings)
    written: int = write_delimited(frames, dst)
    return written


def _fitted(statement: tuple[Any, ...], triples: bool) -> tuple[Any, ...]:
    """A statement as a triple or a quad, as the stream has them."""
    graph = statement[3] if len(statement) > 3 else None
    name = graph.identifier if isinstance(graph, Graph) else graph
    named = name is not None and name != DATASET_DEFAULT_GRAPH_ID
    if not triples:
        return (*statement[:3], name if named else DEFAULT_GRAPH)
    if named:
        raise StatementError(f"a stream of triples has no place for the graph {name}")
    return statement[:3]


def read_graphs(src: Source, **settings: Unpack[StreamSettings]) -> Iterator[Graph]:
    """Read a Jelly-RDF stream frame by frame: a Graph for each where it has triples, otherwise a
    Dataset.

    Each graph has a store of its own, and the namespaces that the stream has declared so far. A
    blank node label is one node in the whole stream, so that graphs may share nodes. Frames of a
    flat stream are yielded in the same way, though their boundaries mean nothing.

    See :func:`read_statements` for the parameters, and for what is raised.

    >>> import io
    >>> from rdflib import URIRef
    >>> file = io.BytesIO()
    >>> graph = Graph().add((URIRef("urn:s"), URIRef("urn:p"), URIRef("urn:o")))
    >>> write_graphs([graph, Graph()], file)
    2
    >>> [len(graph) for graph in read_graphs(file.getvalue())]
    [1, 0]
    """
    namespaces = DeclaredNamespaces()
    with open_frames(src, **settings) as frames:
        for frame in frames:
            triples = frames.options.physical_type is PhysicalType.TRIPLES
            graph = Graph() if triples else Dataset()
            try:
                GraphSink(graph, namespaces).fill([frame])
            except JellyError as error:
                error.locate(source=frames.name)
                raise
            yield graph


def write_graphs(
    graphs: Iterable[Graph],
    dst: Destination,
    *,
    options: StreamOptions | None = None,
    namespaces: Namespaces = False,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> int:
    """Write a grouped Jelly-RDF stream: one frame for each graph or dataset.

    :param graphs: Graphs; or Datasets and ConjunctiveGraphs, among which a Graph counts as a
        dataset of a default graph only. In a stream of named graphs a Graph's identifier is its
        name.
    :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. A path is
        replaced only once everything is written.
    :param options: of the stream; by default physical and logical type GRAPHS and DATASETS if the
        first of ``graphs`` is a dataset, otherwise TRIPLES and GRAPHS.
    :param namespaces: declarations to write first: a mapping of names to IRIs, or True for those
        that each graph has bound and none before it had.
    :param progress: see :class:`~jelly_plugins.WriteSettings`; ``limits`` too.
    :return: the number of graphs.
    :raises JellyError: a graph cannot be written with these options.
    :raises TypeError: a single graph was given, or an object that is not a graph.

    No graphs at all make an empty file: a frame with the options would be a graph.

    >>> import io
    >>> write_graphs([Graph(), Graph()], io.BytesIO())
    2
    """
    if isinstance(graphs, Graph):
        raise TypeError(f"graphs are needed, not {shown(graphs)}; for one graph, give [graph]")
    settings = WriteSettings(progress=progress, limits=limits)
    counted = Counted(graphs)
    options, iterator = with_options(counted, options, _grouped_options)
    terms = EncoderTerms()
    first = next(iterator, None)
    if first is None:
        write_delimited((), dst)
        return 0
    elements = _elements(chain((first,), iterator), options, namespaces, terms)
    frames = encode_elements(
        elements, terms, options, settings, framed=True, namespaces=bool(namespaces)
    )
    write_delimited(frames, dst)
    return counted.count


def _grouped_options(graph: Graph | None) -> StreamOptions:
    if isinstance(graph, ConjunctiveGraph):
        return StreamOptions(physical_type=PhysicalType.GRAPHS, logical_type=LogicalType.DATASETS)
    return StreamOptions(physical_type=PhysicalType.TRIPLES, logical_type=LogicalType.GRAPHS)


def _elements(
    graphs: Iterable[Graph],
    options: StreamOptions,
    namespaces: Namespaces,
    terms: EncoderTerms,
) -> Iterator[Element]:
    declared: set[tuple[str, str]] = set()
    named = options.logical_type in (
        LogicalType.NAMED_GRAPHS,
        LogicalType.TIMESTAMPED_NAMED_GRAPHS,
    )
    for graph in graphs:
        reject_no_graph(graph)
        parts = parts_of(graph)
        if named and not isinstance(graph, ConjunctiveGraph):
            parts = [Part(graph.identifier, graph)]
        found = namespaces_of(graph, namespaces).items()
        new = dict(pair for pair in found if pair not in declared)
        declared |= found
        yield Element(batches_of(parts, options, terms), new)
