"""A source of any format into an rdflib Graph, Dataset or ConjunctiveGraph: :func:`load`, and
rdflib's parser plugins.

RDF text becomes Jelly while it is read.

Statements go into the indices of rdflib's own stores in memory (``memory``), and through its public
interface into any other; a graph over an Oxigraph store is left to the backend of that name
(``oxigraph_store``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from io import TextIOBase
from itertools import groupby
from operator import itemgetter
from typing import Any, ClassVar, Final, Unpack
from urllib.parse import quote

from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ConjunctiveGraph, Graph
from rdflib.parser import InputSource, Parser, URLInputSource

from ..backends import BlankNodes
from ..codec import DEFAULT_LIMITS, AnyFrame, Decoder, Limits
from ..errors import JellyError, SourceError, TermError
from ..formats.convert import open_reader
from ..formats.jelly import encoded, options_for
from ..formats.settings import (
    DEFAULT_LOAD,
    Given,
    Job,
    LoadOptions,
    LoadSettings,
    OptionChanges,
)
from ..io.chunks import ChunkFile, ChunkReader
from ..io.sources import CHUNK, Format, FormatName, Source
from ..io.streams import AnyFrameReader, FrameReader, Progress, Steps
from ..reserved import reject_graph
from . import oxigraph_store
from .memory import add_statements, overridden, writable
from .namespaces import DeclaredNamespaces
from .patches.journal import check_recorded
from .terms import RdflibFactory, default_graph, reject_unwritable

#: What an IRI cannot have and a file's name can.
_NOT_IN_IRIS: Final = re.compile(r'[\x00-\x20<>"{}|\\^`]|%(?![0-9A-Fa-f]{2})')


class GraphSink:
    """Where statements go: the one graph that was meant, or all graphs of its store: of a Dataset
    or ConjunctiveGraph, or of the default graph of a Dataset, which rdflib gives to parsers."""

    def __init__(self, graph: Graph, namespaces: DeclaredNamespaces | None = None) -> None:
        self._namespaces = DeclaredNamespaces() if namespaces is None else namespaces
        #: The graph that takes triples, and quads in the default graph.
        self.default = default_graph(graph) if isinstance(graph, ConjunctiveGraph) else graph
        #: Whether quads may be in other graphs.
        self.named_graphs = self.default is not graph or (
            graph.identifier == DATASET_DEFAULT_GRAPH_ID
        )
        self._graphs: dict[Any, Graph] = {DATASET_DEFAULT_GRAPH_ID: self.default}

    def fill(
        self, frames: Iterable[AnyFrame], *, atomic: bool = True, progress: Progress | None = None
    ) -> int:
        """Add the statements of frames that were made for this sink, and their graphs, empty ones
        included; all after the last frame was read, or frame by frame. Then bind namespaces.

        rdflib's stores in memory take all statements or none; any other store keeps what it took
        before it rejected one.

        :return: the number of statements.
        """
        count = 0
        steps = Steps(progress)
        statements: list[Any] = []
        empty: list[Any] = []
        for frame in frames:
            try:
                self._check(frame)
            except JellyError as error:
                error.locate(frame=frame.index)
                raise
            count += len(frame.statements)
            statements += frame.statements
            empty += frame.empty_graphs
            if not atomic:
                self._add(statements, empty)
            steps.reach(count)
        steps.end(count)
        # Namespaces come last: rdflib cannot unbind them if the store rejects a statement.
        self._add(statements, empty)
        self._namespaces.bind(self.default)
        return count

    def _check(self, frame: AnyFrame) -> None:
        """Reject a reserved graph, and gather the namespaces of a frame."""
        names = set(frame.graphs)
        if frame.statements and len(frame.statements[0]) == 4:
            names.update(map(itemgetter(3), frame.statements))
        for name in names:
            reject_graph(str(name))
        for name, iri in frame.namespaces:
            self._namespaces.add(name, str(iri))

    def _add(self, statements: list[Any], empty: list[Any]) -> None:
        if writable(self.default):
            add_statements(self.default.store, self._graph, statements)
        else:
            self._add_by_interface(statements)
            statements.clear()
        for name in empty:
            self._graph(name)
        empty.clear()

    def _add_by_interface(self, statements: list[Any]) -> None:
        quads = ((s, p, o, self._graph(*graph)) for s, p, o, *graph in statements)
        try:
            if not overridden(self.default):
                self.default.store.addN(quads)
                return
            for graph, run in groupby(quads, key=itemgetter(3)):
                # rdflib's parsers call ``add``.
                if overridden(graph) == {"add"}:
                    for quad in run:
                        graph.add(quad[:3])
                else:
                    graph.addN(run)
        except JellyError:
            raise
        except (TypeError, ValueError) as error:
            raise TermError(
                f"the store rejected a statement: {error} (it may keep those added before)"
            ) from error

    def _graph(self, name: Any = None) -> Graph:
        """The graph of a quad, by its fourth term, or of triples."""
        if name is None:
            return self.default
        graph = self._graphs.get(name)
        if graph is None:
            default = self.default
            graph = Graph(default.store, name, namespace_manager=default.namespace_manager)
            if default.store.graph_aware:
                default.store.add_graph(graph)
            self._graphs[name] = graph
        return graph


def load(
    graph: Graph,
    src: Source,
    *,
    blank_nodes: BlankNodes = "fresh",
    generalized: bool = False,
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
    :param settings: see :class:`~jelly_plugins.LoadSettings`.
    :param options: its fields, as keyword arguments: ``format``, ``base``, ``contexts``,
        ``atomic``, ``concatenated``, ``strict``, ``progress``, ``limits``.
    :return: the number of statements read, repeats included.
    :raises ChainError: the graph is being recorded, and is not that of the recorder.
    :raises JellyError: with source, and frame and row, or line and column of text.
    :raises OptionsError: ``graph`` is a ReadOnlyGraphAggregate.
    :raises TypeError: ``graph`` is not a graph.
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
    reject_unwritable(graph)
    check_recorded(graph.store)
    settings = replace(settings, **options)
    form = settings.format_for(src)
    sink = GraphSink(graph)
    reject_graph(str(sink.default.identifier), what="what is to be loaded")
    terms: dict[str, Any] = {
        "blank_nodes": blank_nodes,
        "generalized": generalized,
        "named_graphs": sink.named_graphs,
    }
    if oxigraph_store.fillable(sink.default, whole=sink.named_graphs):
        return oxigraph_store.load(
            sink.default, src, whole=sink.named_graphs, blank_nodes=blank_nodes, settings=settings
        )
    reader: AnyFrameReader | ChunkReader
    frames: Iterable[AnyFrame]
    if form is Format.JELLY:
        reader = frames = open_frames(
            src,
            concatenated=settings.concatenated,
            strict=settings.strict,
            limits=settings.limits,
            **terms,
        )
    else:
        factory = RdflibFactory(**terms)
        conversion = settings.conversion(OptionChanges(generalized_statements=generalized))
        job = Job(settings=conversion, star=True)
        reader = open_reader(Given(src, form), job)
        frames = _frames_of_text(reader, job, factory)
    with reader:
        try:
            return sink.fill(frames, atomic=settings.atomic, progress=settings.progress)
        except JellyError as error:
            raise error.locate(source=reader.name) from error.__cause__


def _frames_of_text(source: ChunkReader, job: Job, factory: RdflibFactory) -> Iterator[AnyFrame]:
    """A source in another format than Jelly as frames in rdflib's terms: its text becomes Jelly in
    memory, since the decoder makes the terms."""
    decoder = Decoder(factory, limits=job.settings.limits)
    for data in encoded(source, options_for(source, job), job):
        try:
            yield decoder.decode(data)
        except JellyError as error:
            # Frames and rows exist only here.
            error.frame = error.row = None
            raise


def open_frames(
    src: Source,
    *,
    concatenated: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    strict: bool = False,
    **terms: Any,
) -> AnyFrameReader:
    """Open Jelly for reading in rdflib's terms; ``terms`` are parameters of the factory."""
    # Each stream of a concatenated file has its own scope of labels.
    make = partial(RdflibFactory, **terms)
    return FrameReader(
        src,
        factory=make(),
        next_factory=make,
        limits=limits,
        concatenated=concatenated,
        strict=strict,
    )


class BytesParser(Parser):
    """Reads a format that is bytes; keyword arguments of ``Graph.parse`` are those of
    :func:`load`."""

    _format: ClassVar[FormatName]

    def parse(self, source: InputSource, sink: Graph, **settings: Any) -> None:
        stream: Any = source.getByteStream()
        if stream is None:
            raise SourceError("rdflib passes this source as text; the format is binary")
        try:
            load(sink, stream, format=self._format, **settings)
        except JellyError as error:
            if isinstance(source, URLInputSource):
                error.source = source.url
            raise


class JellyParser(BytesParser):
    """``format="jelly"``, ``format="jelly-plugins"``"""

    _format = Format.JELLY


class TextParser(BytesParser):
    """Reads RDF text with :func:`load`, which is several times as fast as
    rdflib's own parsers. The base IRI is theirs: ``publicID``, or the address or file name of the
    source, as an absolute IRI."""

    def parse(self, source: InputSource, sink: Graph, **settings: Any) -> None:
        stream: Any = source.getByteStream()
        if isinstance(stream, TextIOBase):
            chunks = (part.encode() for part in iter(partial(stream.read, CHUNK), ""))
            source.setByteStream(ChunkFile(chunks))
        super().parse(source, sink, **{"base": _base_of(source, sink), **settings})


def _base_of(source: InputSource, sink: Graph) -> str | None:
    """The base IRI; None if the name cannot be made absolute, so that only a relative IRI is an
    error."""
    name = source.getPublicId() or source.getSystemId()
    if not name or not isinstance(name, str):
        # Files without a name have a number.
        return None
    try:
        absolute = str(sink.absolutize(name, defrag=0))
    except ValueError:
        return None
    return _NOT_IN_IRIS.sub(lambda found: quote(found[0]), absolute)


class NTriplesParser(TextParser):
    """``format="jelly-plugins-nt"``"""

    _format = Format.N_TRIPLES


class NQuadsParser(TextParser):
    """``format="jelly-plugins-nquads"``"""

    _format = Format.N_QUADS


class TurtleParser(TextParser):
    """``format="jelly-plugins-turtle"``"""

    _format = Format.TURTLE


class TrigParser(TextParser):
    """``format="jelly-plugins-trig"``"""

    _format = Format.TRIG


class RdfXmlParser(TextParser):
    """``format="jelly-plugins-xml"``"""

    _format = Format.RDF_XML
