"""An rdflib Graph, Dataset or ConjunctiveGraph to a Jelly-RDF stream: :func:`dump`, and rdflib's
serializer plugin.

Statements are written graph by graph, and from a store in memory subject by subject: its own order
is that of a hash table, another one in each process, and runs of one subject save a third of the
size. The compiled module keeps the order in which subjects came into the store (``memory``);
otherwise subjects are sorted. Other stores keep their own order.

rdflib opens the destination itself, before it calls a plugin: a path that is given to
``Graph.serialize`` is not left as it was when the graph cannot be written. ``BACKEND.dump`` and
``write_graphs`` do that.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple, TypeAlias, Unpack
from typing import Literal as TypingLiteral

from rdflib.graph import ConjunctiveGraph, Graph, QuotedGraph, ReadOnlyGraphAggregate
from rdflib.plugins.stores.memory import Memory
from rdflib.serializer import Serializer
from rdflib.term import Literal, URIRef

from ..codec import DEFAULT_GRAPH, Encoder, LogicalType, PhysicalType, StreamOptions
from ..codec.common.options import GROUPED
from ..errors import OptionsError, TermError
from ..io.sinks import Destination, compressed, compression_for
from ..io.sources import did_you_mean
from ..io.streams import BATCH, Steps, StreamWriteOptions, WriteSettings, write_delimited
from ..reserved import is_reserved
from . import oxigraph_store
from .memory import batches_by_subject
from .terms import EncoderTerms, default_graph, name_of

#: Declarations to write: those given, all that the graph has bound, those of them that are used,
#: or none.
Namespaces: TypeAlias = bool | TypingLiteral["used"] | Mapping[str, str]

#: Statements in generic terms, as the encoder takes them.
Batches: TypeAlias = Iterable[list[tuple[Any, ...]]]


class Part(NamedTuple):
    """One graph of the output, under its written name."""

    name: Any
    graph: Graph

    @property
    def empty(self) -> bool:
        if type(self.graph.store) is Memory:
            # It knows; and it would copy all triples before it gave the first.
            return len(self.graph) == 0
        return next(iter(self.graph.triples((None, None, None))), None) is None

    def triples(self) -> Iterator[tuple[Any, Any, Any]]:
        """All triples; those of a store that has no order, by subject."""
        triples = self.graph.triples((None, None, None))
        if type(self.graph.store) is not Memory:
            yield from triples
            return
        runs: dict[Any, list[tuple[Any, Any, Any]]] = {}
        for triple in triples:
            runs.setdefault(triple[0], []).append(triple)
        for subject in sorted(runs, key=str):
            yield from sorted(runs.pop(subject), key=lambda triple: tuple(map(str, triple)))

    def batches(self, physical_type: PhysicalType, terms: EncoderTerms) -> Batches:
        """All triples, or quads where that is what the stream has, as ``terms`` make them."""
        extra = () if physical_type is PhysicalType.TRIPLES else (terms.term(self.name),)
        found = None
        if terms.generic is not None:
            found = batches_by_subject(self.graph, terms.generic, extra, BATCH)
        return terms.statements(self.triples(), extra) if found is None else found


class Element(NamedTuple):
    """What one frame of a grouped stream holds, or all frames of a flat one.

    :ivar parts: statements by the name of their graph.
    :ivar namespaces: declarations to write first, IRI by name.
    """

    parts: Iterable[tuple[Any, Batches]]
    namespaces: Mapping[str, str] = {}


def parts_of(graph: Graph) -> list[Part]:
    """The graphs of a Dataset or ConjunctiveGraph, default graph first; or the one Graph. Formulas
    of Notation3 are rejected."""
    if isinstance(graph, ReadOnlyGraphAggregate):
        return [Part(member.identifier, member) for member in graph.graphs]
    if not isinstance(graph, ConjunctiveGraph):
        _check_formula(graph)
        return [Part(DEFAULT_GRAPH, graph)]
    default = default_graph(graph)
    named = {}
    kept = oxigraph_store.inner_store(graph) is not None
    for context in graph.store.contexts():
        _check_formula(context)
        name = name_of(context)
        # The bookkeeping graph of an Oxigraph store is not data.
        if name != default.identifier and not (kept and is_reserved(str(name))):
            named[name] = Part(name, graph.get_context(name))
    return [Part(DEFAULT_GRAPH, default), *(named[name] for name in sorted(named, key=str))]


def _check_formula(graph: object) -> None:
    if isinstance(graph, QuotedGraph):
        raise TermError("a formula of Notation3 is not an RDF graph")


def namespaces_of(graph: Graph, namespaces: Namespaces) -> dict[str, str]:
    if not namespaces:
        return {}
    if isinstance(namespaces, Mapping):
        return {name: str(iri) for name, iri in namespaces.items()}
    if namespaces is not True and namespaces != "used":
        raise ValueError(
            f"namespaces must be True, False, 'used' or a mapping (got {namespaces!r})"
        )
    bound = {name: str(iri) for name, iri in graph.namespaces()}
    if namespaces is True:
        return bound
    unused = dict(bound)
    for iri in _iris_of(graph):
        for name in [name for name, start in unused.items() if iri.startswith(start)]:
            del unused[name]
    return {name: iri for name, iri in bound.items() if name not in unused}


def _iris_of(graph: Graph) -> Iterator[URIRef]:
    """The IRIs in a graph or dataset, those of datatypes and graphs too; repeats included."""
    for part in parts_of(graph):
        for term in chain([part.graph.identifier], chain.from_iterable(part.graph)):
            if isinstance(term, URIRef):
                yield term
            elif isinstance(term, Literal) and term.datatype is not None:
                yield term.datatype


def encode(
    elements: Iterable[Element],
    terms: EncoderTerms,
    options: StreamOptions,
    settings: WriteSettings,
    *,
    framed: bool,
    namespaces: bool,
) -> Generator[bytes, None, int]:
    """Encode elements; yields the bytes of each frame without a delimiter.

    :param elements: made with ``terms``.
    :param framed: whether each element is a frame; otherwise frames end by their size.
    :param namespaces: whether elements have namespaces.
    :return: the number of statements, as the generator's value.
    """
    limits = settings.limits
    encoder = Encoder(
        options,
        namespaces=namespaces,
        # A frame ends inside an element only if it would be larger than a reader accepts.
        frame_rows=limits.frame_rows + 1 if framed else settings.frame_rows,
        frame_bytes=limits.frame_bytes + 1 if framed else settings.frame_bytes,
        restart_every=settings.restart_every,
        limits=limits,
    )
    steps = Steps(settings.progress)
    count = 0
    for parts, declared in elements:
        for name, iri in declared.items():
            encoder.add_namespace(name, iri)
        for graph, batches in parts:
            if options.physical_type is PhysicalType.GRAPHS:
                encoder.start_graph(terms.term(graph))
            for batch in batches:
                yield from encoder.add(batch)
                count += len(batch)
                steps.reach(count)
        if framed:
            encoder.end_graph()
            yield encoder.flush()
    # A stream without frames still has its options.
    yield from encoder.finish()
    steps.end(count)
    return count


def encode_graph(
    parts: Iterable[Part],
    options: StreamOptions,
    settings: WriteSettings,
) -> Generator[bytes, None, int]:
    """Encode one graph or dataset; see :func:`encode` and, for the frames, :func:`dump`."""
    namespaces = settings.namespaces or {}
    terms = EncoderTerms()
    elements = _elements(batches_of(parts, options, terms), options)
    # At least one, for the declarations.
    first = next(elements, Element(()))._replace(namespaces=namespaces)
    elements = chain([first], elements)
    return encode(
        elements, terms, options, settings, framed=options.grouped, namespaces=bool(namespaces)
    )


def batches_of(
    parts: Iterable[Part], options: StreamOptions, terms: EncoderTerms
) -> Iterator[tuple[Any, Batches]]:
    """The parts of an :class:`Element` that a stream with ``options`` has a place for."""
    for part in parts:
        named = part.name is not DEFAULT_GRAPH
        if named and options.physical_type is PhysicalType.TRIPLES and not part.empty:
            raise OptionsError("a dataset with named graphs cannot be written as triples")
        # The default graph always exists, empty or not; naming it has no effect.
        if named or not part.empty:
            yield part.name, part.batches(options.physical_type, terms)


def _elements(graphs: Iterator[tuple[Any, Batches]], options: StreamOptions) -> Iterator[Element]:
    """The elements of a stream, see :func:`dump`."""
    if options.logical_type == LogicalType.SUBJECT_GRAPHS:
        for name, found in graphs:
            for _, run in groupby(chain.from_iterable(found), itemgetter(0)):
                yield Element([(name, [list(run)])])
    elif options.logical_type == LogicalType.NAMED_GRAPHS:
        for name, found in graphs:
            if name is DEFAULT_GRAPH:
                raise OptionsError("the default graph has no place in a stream of named graphs")
            yield Element([(name, found)])
    else:
        yield Element(graphs)


def dump(
    graph: Graph,
    dst: Destination,
    *,
    namespaces: Namespaces = False,
    **settings: Unpack[StreamWriteOptions],
) -> int:
    """Write a graph as a delimited Jelly-RDF stream.

    With a grouped logical type the frames are the elements: one for each subject in
    SUBJECT_GRAPHS, one for each named graph in NAMED_GRAPHS, one for all in any other.

    :param graph: a Graph is written as triples, a Dataset or ConjunctiveGraph as quads.
    :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. A path is
        replaced only once everything is written.
    :param namespaces: declarations to write first: a mapping of names to IRIs, True for all that
        the graph has bound, which are some thirty in any new graph, or ``"used"`` for those that an
        IRI in it begins with, which is looked for first.
    :param settings: see :class:`~jelly_plugins.WriteSettings`. The options are by
        default those of flat triples for a Graph, otherwise of flat quads, or of graphs if a named
        graph is empty, which quads cannot express.
    :return: the number of statements written.
    :raises JellyError: the graph cannot be written with these options.
    :raises ValueError: ``namespaces`` has an invalid value.
    """
    wanted = WriteSettings(namespaces=namespaces_of(graph, namespaces), **settings)
    parts = parts_of(graph)
    options = wanted.options
    if options is None:
        kind = PhysicalType.TRIPLES
        if isinstance(graph, ConjunctiveGraph):
            empty = any(part.name is not DEFAULT_GRAPH and part.empty for part in parts)
            kind = PhysicalType.GRAPHS if empty else PhysicalType.QUADS
        options = StreamOptions.flat(kind)
    # Otherwise the backend makes other elements of a graph.
    triples = options.physical_type is PhysicalType.TRIPLES
    same = triples is not isinstance(graph, ConjunctiveGraph) and (
        not options.grouped or options.logical_type in GROUPED
    )
    if same and oxigraph_store.writable(graph):
        return oxigraph_store.dump(
            graph, dst, **{**settings, "options": options, "namespaces": wanted.namespaces}
        )
    written: int = write_delimited(encode_graph(parts, options, wanted), dst)
    return written


class BytesSerializer(Serializer):
    """Writes a format that is bytes; keyword arguments of ``Graph.serialize``, which have to be
    among :attr:`_settings`, go to :attr:`_dump`."""

    _dump: ClassVar[Callable[..., object]]
    _settings: ClassVar[Collection[str]]

    def serialize(
        self,
        stream: Any,
        base: str | None = None,  # noqa: ARG002
        encoding: str | None = None,  # noqa: ARG002
        **settings: Any,
    ) -> None:
        """Write the graph.

        :param stream: what rdflib opened. A regular file is compressed according to its name:
            ``.gz``, ``.bz2``, ``.zst``.
        :param base: ignored: IRIs are written in full.
        :param encoding: ignored. But without a destination, ``Graph.serialize`` returns bytes only
            if an encoding is given, whatever it is. Otherwise it decodes them as text, and raises a
            UnicodeDecodeError.
        :raises TypeError: an unknown setting: rdflib passes on whatever it is given.
        """
        for name in settings:
            if name not in self._settings:
                raise TypeError(
                    f"serialize() of this format has no setting {name!r}"
                    f"{did_you_mean(name, self._settings)}"
                )
        compression = None
        # A caller that compresses the stream itself passes another kind of object.
        if isinstance(stream, io.BufferedWriter) and isinstance(stream.raw, io.FileIO):
            name = stream.raw.name
            compression = compression_for(name) if isinstance(name, str) else None
        with compressed(stream, compression) as out:
            type(self)._dump(self.store, out, **settings)


class JellySerializer(BytesSerializer):
    """Writes a Graph as a flat stream of triples, a Dataset or ConjunctiveGraph as one of quads."""

    _dump = staticmethod(dump)
    _settings = ("namespaces", *StreamWriteOptions.__annotations__)
