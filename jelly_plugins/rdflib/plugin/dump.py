"""An rdflib Graph, Dataset or ConjunctiveGraph to a Jelly-RDF stream.

Statements are written graph by graph, and from a store in memory subject by subject: its own order
is that of a hash table, another one in each process, and runs of one subject save a third of the
size. The compiled module keeps the order in which subjects came into the store (``memory``);
otherwise subjects are sorted. Other stores keep their own order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias
from typing import Literal as TypingLiteral

from rdflib.graph import ConjunctiveGraph, Dataset, Graph, QuotedGraph, ReadOnlyGraphAggregate
from rdflib.plugins.stores.memory import Memory
from rdflib.term import Literal, URIRef

from ...codec import (
    DEFAULT_FRAME_BYTES,
    DEFAULT_FRAME_ROWS,
    DEFAULT_GRAPH,
    DEFAULT_LIMITS,
    AnyFrame,
    Encoder,
    Frame,
    Limits,
    LogicalType,
    PhysicalType,
    StreamOptions,
)
from ...codec.rdf.options import GROUPED
from ...errors import OptionsError, TermError
from ...io.progress import Progress, Steps
from ...io.sinks import Destination
from ...io.streams import BATCH, encode_frames, write_delimited
from ...reserved import is_reserved
from .. import oxigraph_store
from ..memory import batches_by_subject
from ..terms import EncoderTerms, default_graph

#: Declarations to write: those given, all that the graph has bound, those of them that are used,
#: or none.
Namespaces: TypeAlias = bool | TypingLiteral["used"] | Mapping[str, str]


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

    def batches(
        self, physical_type: PhysicalType, terms: EncoderTerms
    ) -> Iterator[list[tuple[Any, ...]]]:
        """All triples, or quads where that is what the stream has, as ``terms`` make them."""
        extra = () if physical_type is PhysicalType.TRIPLES else (terms.term(self.name),)
        found = None
        if terms.generic is not None:
            found = batches_by_subject(self.graph, terms.generic, extra, BATCH)
        return terms.statements(self.triples(), extra) if found is None else found


def parts_of(graph: Graph) -> list[Part]:
    """The graphs of a Dataset or ConjunctiveGraph, default graph first; or the one Graph.

    :raises TermError: one of them is a formula of Notation3.
    """
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
        name = context.identifier
        # The bookkeeping graph of an Oxigraph store is not data.
        if name != default.identifier and not (kept and is_reserved(str(name))):
            named[name] = Part(name, graph.get_context(name))
    return [Part(DEFAULT_GRAPH, default), *(named[name] for name in sorted(named, key=str))]


def _check_formula(graph: object) -> None:
    if isinstance(graph, QuotedGraph):
        raise TermError("a formula of Notation3 is not an RDF graph")


def namespaces_of(graph: Graph, namespaces: Namespaces) -> list[tuple[str, URIRef]]:
    """The declarations to write.

    :raises ValueError: ``namespaces`` has an invalid value.
    """
    if not namespaces:
        return []
    if isinstance(namespaces, Mapping):
        return [(name, URIRef(iri)) for name, iri in namespaces.items()]
    if namespaces is not True and namespaces != "used":
        raise ValueError(
            f"namespaces must be True, False, 'used' or a mapping (got {namespaces!r})"
        )
    bound = [(name, URIRef(iri)) for name, iri in graph.namespaces()]
    if namespaces is True:
        return bound
    unused = dict(bound)
    for iri in _iris_of(graph):
        for name in [name for name, start in unused.items() if iri.startswith(start)]:
            del unused[name]
    return [(name, iri) for name, iri in bound if name not in unused]


def _iris_of(graph: Graph) -> Iterator[URIRef]:
    """The IRIs in a graph or dataset, those of datatypes and graphs too; repeats included."""
    for part in parts_of(graph):
        for term in chain([part.graph.identifier], chain.from_iterable(part.graph)):
            if isinstance(term, URIRef):
                yield term
            elif isinstance(term, Literal) and term.datatype is not None:
                yield term.datatype


def encode(
    parts: Iterable[Part],
    options: StreamOptions,
    namespaces: Collection[tuple[str, URIRef]] = (),
    *,
    frame_rows: int = DEFAULT_FRAME_ROWS,
    frame_bytes: int = DEFAULT_FRAME_BYTES,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[bytes]:
    """Encode graphs; yields the bytes of each frame without a delimiter.

    With a grouped logical type the frames are the elements: one for each subject in
    SUBJECT_GRAPHS, one for each named graph in NAMED_GRAPHS, one for all in any other.

    See :func:`dump` for the parameters, and for what is raised.
    """
    terms = EncoderTerms()
    physical_type = options.physical_type
    parts = fit(parts, options)
    if options.grouped:
        elements = _elements(parts, options, terms)
        # At least one: without a frame there would be no options.
        first = next(elements, Frame(0))
        first.namespaces = [(name, terms.term(iri)) for name, iri in namespaces]
        yield from encode_frames(
            chain([first], elements),
            options=options,
            describe=terms.describe,
            namespaces=bool(namespaces),
            progress=progress,
            limits=limits,
        )
        return
    encoder = Encoder(
        options,
        terms.describe,
        namespaces=bool(namespaces),
        frame_rows=frame_rows,
        frame_bytes=frame_bytes,
        limits=limits,
    )
    steps = Steps(progress)
    count = 0
    for name, iri in namespaces:
        encoder.add_namespace(name, str(iri))
    for part in parts:
        if physical_type is PhysicalType.GRAPHS:
            encoder.start_graph(terms.term(part.name))
        for batch in part.batches(physical_type, terms):
            yield from encoder.add(batch)
            count += len(batch)
            steps.reach(count)
    yield from encoder.finish()
    steps.end(count)


def fit(parts: Iterable[Part], options: StreamOptions) -> Iterator[Part]:
    """The parts that a stream with ``options`` has a place for.

    :raises OptionsError: a named graph is to be written as triples.
    """
    for part in parts:
        named = part.name is not DEFAULT_GRAPH
        if named and options.physical_type is PhysicalType.TRIPLES and not part.empty:
            raise OptionsError("a dataset with named graphs cannot be written as triples")
        # The default graph always exists, empty or not; naming it has no effect.
        if named or not part.empty:
            yield part


def _elements(
    parts: Iterable[Part], options: StreamOptions, terms: EncoderTerms
) -> Iterator[AnyFrame]:
    """The elements of a grouped stream."""
    physical_type = options.physical_type
    if options.logical_type == LogicalType.SUBJECT_GRAPHS:
        for part in parts:
            statements = chain.from_iterable(part.batches(physical_type, terms))
            for _, run in groupby(statements, itemgetter(0)):
                yield Frame(0, statements=list(run))
    elif options.logical_type == LogicalType.NAMED_GRAPHS:
        for part in parts:
            if part.name is DEFAULT_GRAPH:
                raise OptionsError("the default graph has no place in a stream of named graphs")
            yield frame_of([part], physical_type, terms)
    else:
        yield frame_of(parts, physical_type, terms)


def frame_of(parts: Iterable[Part], physical_type: PhysicalType, terms: EncoderTerms) -> AnyFrame:
    """One frame that holds all of ``parts``."""
    frame: AnyFrame = Frame(0)
    for part in parts:
        before = len(frame.statements)
        frame.statements += chain.from_iterable(part.batches(physical_type, terms))
        if physical_type is PhysicalType.GRAPHS and len(frame.statements) == before:
            frame.empty_graphs.append(terms.term(part.name))
    return frame


def dump(
    graph: Graph,
    dst: Destination,
    *,
    options: StreamOptions | None = None,
    namespaces: Namespaces = False,
    frame_rows: int = DEFAULT_FRAME_ROWS,
    frame_bytes: int = DEFAULT_FRAME_BYTES,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> int:
    """Write a graph as a delimited Jelly-RDF stream.

    :param graph: a Graph is written as triples, a Dataset or ConjunctiveGraph as quads.
    :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. A path is
        replaced only once everything is written.
    :param options: of the stream; by default flat triples for a Graph, otherwise flat quads, or
        graphs if a named graph is empty, which quads cannot express.
    :param namespaces: declarations to write first: a mapping of names to IRIs, True for all that
        the graph has bound, which are some thirty in any new graph, or ``"used"`` for those that an
        IRI in it begins with, which is looked for first.
    :param frame_rows: rows of a frame, at most.
    :param frame_bytes: bytes of a frame after which it ends.
    :param progress: called about every 10,000 statements and at the end, with the number of
        statements since the last call, as ``tqdm.update`` takes it.
    :param limits: limits on the output.
    :return: the number of statements written.
    :raises JellyError: the graph cannot be written with these options.
    :raises ValueError: ``namespaces`` has an invalid value.
    """
    parts = parts_of(graph)
    if options is None:
        kind = PhysicalType.TRIPLES
        if isinstance(graph, ConjunctiveGraph):
            empty = any(part.name is not DEFAULT_GRAPH and part.empty for part in parts)
            kind = PhysicalType.GRAPHS if empty else PhysicalType.QUADS
        options = StreamOptions.flat(kind)
    declared = namespaces_of(graph, namespaces)
    settings: dict[str, Any] = {
        "options": options,
        "frame_rows": frame_rows,
        "frame_bytes": frame_bytes,
        "progress": progress,
        "limits": limits,
    }
    if oxigraph_store.inner_store(graph) is not None and _suits_oxigraph(graph, options):
        prefixes = {name: str(iri) for name, iri in declared}
        return oxigraph_store.dump(graph, dst, namespaces=prefixes, **settings)
    write_delimited(encode(parts, namespaces=declared, **settings), dst)
    return sum(len(part.graph) for part in parts)


def _suits_oxigraph(graph: Graph, options: StreamOptions) -> bool:
    """Whether the backend ``oxigraph`` makes the same elements of a graph as this module does."""
    if options.grouped and options.logical_type not in GROUPED:
        return False
    if isinstance(graph, ConjunctiveGraph):
        return isinstance(graph, Dataset) and options.physical_type is not PhysicalType.TRIPLES
    return options.physical_type is PhysicalType.TRIPLES
