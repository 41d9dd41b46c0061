"""A source of any format into an rdflib Graph, Dataset or ConjunctiveGraph.

RDF text becomes Jelly while it is read.

Statements go into the indices of rdflib's own stores in memory (``memory``), and through its public
interface into any other; a graph over an Oxigraph store is left to the backend of that name
(``oxigraph_store``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Unpack

from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ConjunctiveGraph, Graph
from rdflib.term import BNode

from ...backends import BlankNodes
from ...codec import DEFAULT_LIMITS, AnyFrame, Decoder, Limits
from ...errors import JellyError, TermError
from ...formats.jelly import encoded, options_for
from ...formats.settings import (
    DEFAULT_LOAD,
    ConversionSettings,
    Given,
    Job,
    LoadOptions,
    LoadSettings,
    OptionChanges,
)
from ...formats.table import open_reader
from ...io.names import Format
from ...io.progress import Progress, Steps
from ...io.sources import Closing, Source
from ...io.streams import AnyFrameReader, FrameReader
from ...reserved import is_reserved, reject_graph
from .. import oxigraph_store
from ..memory import add_statements, overridden, writable
from ..namespaces import DeclaredNamespaces
from ..patches.stores import check_recorded
from ..terms import RdflibFactory, default_graph, reject_no_graph


class GraphSink:
    """Where statements go: the one graph that was meant, or all graphs of its store.

    :param graph: a Graph; a Dataset or ConjunctiveGraph; or the default graph of a Dataset, as
        rdflib gives it to parsers.
    """

    def __init__(self, graph: Graph, namespaces: DeclaredNamespaces | None = None) -> None:
        self.namespaces = DeclaredNamespaces() if namespaces is None else namespaces
        #: The graph that takes triples, and quads in the default graph.
        self.default = default_graph(graph) if isinstance(graph, ConjunctiveGraph) else graph
        #: Whether quads may be in other graphs.
        self.named_graphs = self.default is not graph or (
            graph.identifier == DATASET_DEFAULT_GRAPH_ID
        )
        #: The frame that was rejected.
        self.rejected: int | None = None
        #: By name; None is that of triples.
        self._graphs: dict[Any, Graph] = {
            None: self.default,
            DATASET_DEFAULT_GRAPH_ID: self.default,
        }

    def check(self, frame: AnyFrame) -> None:
        """Reject a reserved graph, and gather the namespaces of a frame.

        :raises JellyError: a graph is reserved, or a namespace cannot be held.
        """
        try:
            for name in frame.graphs:
                reject_graph(str(name))
            for name, iri in frame.namespaces:
                self.namespaces.add(name, str(iri))
        except JellyError:
            self.rejected = frame.index
            raise

    def add(self, frames: Sequence[AnyFrame]) -> None:
        """Add the statements of frames that were made for this sink, and their graphs, empty
        ones included. rdflib's stores in memory take all of them or none; any other store keeps
        what it took before it rejected a statement.

        :raises TermError: the store rejects a statement, or a graph is reserved.
        """
        filled = [frame.statements for frame in frames if frame.statements]
        try:
            if writable(self.default):
                add_statements(self.default.store, self._graph, filled)
            else:
                self._add_by_interface(filled)
        except TermError:
            self.rejected = _frame_of_reserved(frames)
            raise
        for frame in frames:
            for name in frame.empty_graphs:
                self._graph(name)

    def fill(
        self, frames: Iterable[AnyFrame], *, atomic: bool, progress: Progress | None = None
    ) -> int:
        """Add the statements of frames, all after the last one was read or frame by frame, and bind
        namespaces.

        :return: the number of statements.
        """
        count = 0
        steps = Steps(progress)
        held: list[AnyFrame] = []
        for frame in frames:
            self.check(frame)
            count += len(frame.statements)
            if not atomic:
                self.add([frame])
            elif frame.statements or frame.empty_graphs:
                held.append(frame)
            steps.reach(count)
        steps.end(count)
        # Namespaces come last: rdflib cannot unbind them if the store rejects a statement.
        self.add(held)
        self.namespaces.bind(self.default)
        return count

    def _add_by_interface(self, batches: Sequence[list[Any]]) -> None:
        default = self.default
        graph = self._graph
        # Before the first statement is added.
        for name in {quad[3] for batch in batches if len(batch[0]) == 4 for quad in batch}:
            reject_graph(str(name))
        try:
            # All frames of a stream have statements of one width; those of several streams may not.
            for width, run in groupby(batches, key=lambda statements: len(statements[0])):
                statements = chain.from_iterable(run)
                if width == 3:
                    _add_triples(default, statements)
                elif overridden(default):
                    for name, quads in groupby(statements, key=itemgetter(3)):
                        _add_triples(graph(name), (quad[:3] for quad in quads))
                else:
                    default.store.addN((s, p, o, graph(g)) for s, p, o, g in statements)
        except JellyError:
            raise
        except (TypeError, ValueError) as error:
            raise TermError(
                f"the store rejected a statement: {error} (it may keep those added before)"
            ) from error

    def _graph(self, name: Any) -> Graph:
        graph = self._graphs.get(name)
        if graph is None:
            reject_graph(str(name))
            default = self.default
            graph = Graph(default.store, name, namespace_manager=default.namespace_manager)
            if default.store.graph_aware:
                default.store.add_graph(graph)
            self._graphs[name] = graph
        return graph


def _frame_of_reserved(frames: Iterable[AnyFrame]) -> int | None:
    """The first frame with a quad in the reserved graph. Only errors are worth the search."""
    for frame in frames:
        if any(len(quad) == 4 and is_reserved(str(quad[3])) for quad in frame.statements):
            return frame.index
    return None


def _add_triples(graph: Graph, triples: Iterable[tuple[Any, ...]]) -> None:
    """Add triples with the graph's ``add``, which rdflib's parsers call, if it overrides only that;
    otherwise with its ``addN``."""
    if overridden(graph) == {"add"}:
        for triple in triples:
            graph.add(triple)
    else:
        graph.addN((s, p, o, graph) for s, p, o in triples)


def load(
    graph: Graph,
    src: Source,
    *,
    blank_nodes: BlankNodes = "fresh",
    generalized: bool = False,
    bnode_context: MutableMapping[str, BNode] | None = None,
    settings: LoadSettings = DEFAULT_LOAD,
    **options: Unpack[LoadOptions],
) -> int:
    """Read a source of any format into a graph, and bind the namespaces that it declares.

    N-Triples, N-Quads and Jelly are read by this package, Turtle, TriG, RDF/XML and JSON-LD by
    pyoxigraph (extra ``oxigraph``), which lower-cases language tags, and declares all namespaces in
    scope in XML literals. Terms are otherwise those that rdflib's own parsers make.

    An atomic load leaves the graph unchanged unless the whole source can be read. The statements
    are held until then: about 100 bytes each, in addition to their terms. Otherwise each frame is
    added as it is read, and the frames before an error stay. If the store itself raises, rdflib's
    stores in memory and Oxigraph stores are unchanged; any other store keeps the statements that
    were added. A graph whose class overrides ``add`` or ``addN`` keeps what these methods added
    before one of them raised, as with rdflib's own parsers. Namespaces are bound last.

    :param graph: a Graph, which takes triples and quads of the default graph; or a Dataset or
        ConjunctiveGraph, which also take named graphs, empty ones included.
    :param src: path, URL, open binary file or bytes; compressed or not.
    :param blank_nodes: ``"fresh"`` makes new nodes for each reading, so that two files never share
        one; ``"keep"`` keeps labels.
    :param generalized: accept generalized statements, which rdflib can hold but not write.
    :param bnode_context: blank nodes by label, as rdflib's N-Triples parser takes it: labels in it
        refer to those nodes, and new ones are added. Readings that share it share their nodes.
    :param settings: see :class:`~jelly_plugins.LoadSettings`.
    :param options: its fields, as keyword arguments: ``format``, ``base``, ``contexts``,
        ``atomic``, ``concatenated``, ``strict``, ``progress``, ``limits``.
    :return: the number of statements read, repeats included.
    :raises ChainError: the graph is being recorded, and is not that of the recorder.
    :raises JellyError: with source, and frame and row, or line and column of text.
    :raises TypeError: ``graph`` is not a graph, or ``bnode_context`` not a mutable mapping.
    :raises ValueError: there is no format of that name.

    >>> from jelly_plugins.io.streams import write_bytes
    >>> from jelly_plugins import Iri, Triple
    >>> from rdflib import URIRef
    >>> graph = Graph()
    >>> load(graph, write_bytes([Triple(Iri("urn:a"), Iri("urn:p"), Iri("urn:o"))]))
    1
    >>> load(graph, b"@prefix x: <urn:> . x:s x:p 1, 01 .", format="turtle")
    2
    >>> print(*graph.objects(URIRef("urn:s")))
    1
    """
    reject_no_graph(graph)
    check_recorded(graph.store)
    if bnode_context is not None and not isinstance(bnode_context, MutableMapping):
        raise TypeError(
            "bnode_context must be a mutable mapping from labels to blank nodes "
            f"(got {bnode_context!r})"
        )
    settings = replace(settings, **options)
    form = settings.format_for(src)
    sink = GraphSink(graph)
    whole = sink.named_graphs
    if (
        oxigraph_store.readable_into(sink.default)
        # Not a ConjunctiveGraph: for Oxigraph its default graph is a named one.
        and (not whole or sink.default.identifier == DATASET_DEFAULT_GRAPH_ID)
        and bnode_context is None
    ):
        return oxigraph_store.load(
            sink.default,
            src,
            whole=whole,
            blank_nodes=blank_nodes,
            settings=settings,
        )
    terms: dict[str, Any] = {
        "blank_nodes": blank_nodes,
        "generalized": generalized,
        "named_graphs": whole,
        "bnode_context": bnode_context,
    }
    reader: AnyFrameReader | _TextFrames
    if form is Format.JELLY:
        reader = open_frames(
            src,
            concatenated=settings.concatenated,
            strict=settings.strict,
            limits=settings.limits,
            **terms,
        )
    else:
        conversion = settings.conversion(OptionChanges(generalized_statements=generalized))
        reader = _TextFrames(Given(src, form), conversion, _factory(**terms))
    with reader as frames:
        try:
            return sink.fill(frames, atomic=settings.atomic, progress=settings.progress)
        except JellyError as error:
            if isinstance(frames, FrameReader):
                error.locate(frame=sink.rejected)
            raise error.locate(source=frames.name) from error.__cause__


class _TextFrames(Closing):
    """Reads a source in another format than Jelly as frames in rdflib's terms: its text becomes
    Jelly in memory, since the decoder makes the terms.

    :raises JellyError: while iterating, with the source.
    """

    def __init__(self, given: Given, settings: ConversionSettings, factory: RdflibFactory) -> None:
        self._job = Job(settings=settings, star=True)
        self._reader = open_reader(given, self._job)
        self._decoder = Decoder(factory, limits=settings.limits)
        self.name = self._reader.name

    def __iter__(self) -> Iterator[AnyFrame]:
        options = options_for(self._reader, self._job)
        for data in encoded(self._reader, options, self._job):
            try:
                yield self._decoder.decode(data)
            except JellyError as error:
                # Frames and rows exist only here.
                raise type(error)(error.message, source=self.name) from None

    def close(self) -> None:
        """Close the source, if it was opened here."""
        self._reader.close()


def _factory(
    *, bnode_context: MutableMapping[str, BNode] | None = None, **settings: Any
) -> RdflibFactory:
    """The factory of a source's terms, see :func:`load` and :class:`RdflibFactory`."""
    factory = RdflibFactory(**settings)
    if bnode_context is not None:
        new = factory.blank_node
        factory.blank_node = lambda label: (
            bnode_context[label]
            if label in bnode_context
            else bnode_context.setdefault(label, new(label))
        )
    return factory


def open_frames(
    src: Source,
    *,
    concatenated: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    strict: bool = False,
    **terms: Any,
) -> AnyFrameReader:
    """Open Jelly for reading in rdflib's terms.

    :param terms: parameters of :class:`RdflibFactory`, and ``bnode_context`` of :func:`load`.
    """
    # Each stream of a concatenated file has its own scope of labels.
    make = partial(_factory, **terms)
    return FrameReader(
        src,
        factory=make(),
        next_factory=make,
        limits=limits,
        concatenated=concatenated,
        strict=strict,
    )
