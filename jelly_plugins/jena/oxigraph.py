"""RDF Thrift and RDF Protobuf in and out of Oxigraph stores: :func:`load`, :func:`dump`,
:func:`read_quads`.

Rows become text for Oxigraph's own parser, and its text becomes rows, with no term made in Python
(see ``oxigraph.loading.nquads_reader``); what that cannot do goes through terms. Language-tagged
strings keep their base direction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pyoxigraph import BlankNode, Quad, Store

from ..codec import DEFAULT_LIMITS, Limits
from ..errors import JellyError, OptionsError
from ..io.progress import Progress, Steps
from ..io.sinks import Destination, open_output
from ..io.sources import Source
from ..oxigraph.dumping.text_dump import dump_text
from ..oxigraph.loading.lexical_forms import LexicalForm
from ..oxigraph.loading.loader import StatementReader, add_statements, statements_of
from ..oxigraph.loading.nquads_reader import NQuadsReader
from ..oxigraph.loading.quad_reader import QuadReader
from ..oxigraph.loading.reify import ReifyingFactory
from ..oxigraph.loading.settings import LoadedBlankNodes, LoadSettings, QuotedTriples
from ..oxigraph.terms import (
    DEFAULT_GRAPH,
    DirectedFactory,
    GraphName,
    QuadFactory,
)
from .codec import LineEncoder
from .names import JenaFormat
from .streams import JenaReader, JenaText, format_for
from .writer import declared


class _Literals(DirectedFactory, QuadFactory):
    """Makes literals with base directions too."""


class _ReifyingLiterals(_Literals, ReifyingFactory):
    """The same, where quoted triples are reified."""


class _JenaQuadReader(QuadReader):
    """A source as quads made one by one; see :class:`.quad_reader.QuadReader`."""

    def __init__(self, src: Source, format: JenaFormat | None, settings: LoadSettings) -> None:  # noqa: A002
        self.frame = None
        self.statements = 0
        self.empty_graphs = set()
        self._settings = settings
        kind = _ReifyingLiterals if settings.quoted_triples == "reify" else _Literals
        graph, limits = settings.graph, settings.limits
        into = DEFAULT_GRAPH if graph is None else graph
        self._factory = kind(graph=into, blank_nodes=settings.labels, limits=limits)
        factory: Any = self._factory if graph is None else _OneGraph(self._factory)
        self._batches = JenaReader(src, format=format, factory=factory, limits=limits)
        self.name = self._batches.name

    def __iter__(self) -> Iterator[list[Quad]]:
        with self._batches as batches:
            for batch in batches:
                for name, iri in batch.namespaces:
                    self._settings.declare(name, iri.value)
                self.statements += len(batch.statements)
                quads = batch.statements + self._factory.added
                self._factory.added.clear()
                self._factory.begin_frame()
                yield quads


class _OneGraph:
    """Makes what a factory does, but no quads in graphs of their own."""

    def __init__(self, factory: QuadFactory) -> None:
        self.default_graph = factory.default_graph
        self.iri = factory.iri
        self.blank_node = factory.blank_node
        self.literal = factory.literal
        self.quoted_triple = factory.quoted_triple
        self.triple = factory.triple

    def quad(self, terms: tuple[Any, ...]) -> Any:
        if terms[3] != DEFAULT_GRAPH:
            raise _names_graphs()
        return self.triple((terms[0], terms[1], terms[2]))


def _names_graphs() -> JellyError:
    return OptionsError("a quad names its graph itself: leave graph out")


def load(
    store: Store,
    src: Source,
    *,
    format: JenaFormat | None = None,  # noqa: A002
    graph: GraphName | None = None,
    blank_nodes: LoadedBlankNodes = "fresh",
    atomic: bool = True,
    quoted_triples: QuotedTriples = "reject",
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
    on_namespace: Callable[[str, str], object] | None = None,
    bookkeeping: bool = False,
    lexical_form: LexicalForm | None = None,
) -> int:
    """Read RDF Thrift or RDF Protobuf into a store, in memory or on disk.

    :param format: how rows are encoded; by default detected from the name or the content.
    :param graph: the graph that triples go into, by default the default graph. Quads in a named
        graph are rejected with one.

    The other parameters, and what is raised: see :func:`jelly_plugins.oxigraph.load`.

    >>> import io
    >>> from pyoxigraph import Literal, NamedNode
    >>> store, copy, file = Store(), Store(), io.BytesIO()
    >>> store.add(Quad(NamedNode("urn:s"), NamedNode("urn:p"), Literal("o")))
    >>> dump(store, file, format=JenaFormat.THRIFT)
    1
    >>> load(copy, file.getvalue())
    1
    >>> set(copy) == set(store)
    True
    """
    settings = LoadSettings(
        graph=graph,
        blank_nodes=blank_nodes,
        atomic=atomic,
        quoted_triples=quoted_triples,
        progress=progress,
        limits=limits,
        on_namespace=on_namespace,
        bookkeeping=bookkeeping,
        lexical_form=lexical_form,
    )
    return add_statements(store, settings, lambda: open_reader(src, format, settings))


def open_reader(
    src: Source,
    format: JenaFormat | None,  # noqa: A002
    settings: LoadSettings,
) -> StatementReader:
    """Choose the reader of a source, as for Jelly."""
    graph = settings.graph
    if settings.quoted_triples == "reify" or (
        isinstance(graph, BlankNode) and not (settings.atomic and settings.blank_nodes == "fresh")
    ):
        return _JenaQuadReader(src, format, settings)
    # The validator's nodes only serve to reject labels; the labels are the text's.
    validator: Any = _Literals(graph=DEFAULT_GRAPH, blank_nodes="keep")
    lines = JenaText(
        src,
        format=format,
        graphs=graph is None,
        validator=validator,
        on_namespace=settings.on_namespace,
        limits=settings.limits,
    )
    return NQuadsReader(lines, settings, has_graphs=graph is None)


def read_quads(
    src: Source,
    *,
    format: JenaFormat | None = None,  # noqa: A002
    graph: GraphName | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[Quad]:
    """Read RDF Thrift or RDF Protobuf as pyoxigraph quads, one after the other, with their labels;
    see :func:`load` for the parameters.

    :raises JellyError: while iterating, with source and row.
    """
    settings = LoadSettings(
        graph=graph, blank_nodes="keep", atomic=False, limits=limits, bookkeeping=True
    )
    yield from statements_of(open_reader(src, format, settings))


def dump(
    store: Store,
    dst: Destination,
    *,
    format: JenaFormat | None = None,  # noqa: A002
    graph: GraphName | None = None,
    namespaces: Mapping[str, str] | None = None,
    bookkeeping: bool = False,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> int:
    """Write a store, or one graph of it, as RDF Thrift or RDF Protobuf.

    Blank nodes have the labels that the store has for them. Empty graphs have no place in rows.

    :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. A path is
        replaced only once everything is written.
    :param format: how rows are encoded; by default detected from the name.
    :param graph: write this graph only, as triples.
    :param namespaces: prefixes to declare first, IRI by name; in RDF Thrift IRIs are abbreviated
        with them.
    :param bookkeeping: write the graph :data:`~jelly_plugins.oxigraph.BOOKKEEPING` too.
    :param progress: called about every 10,000 statements and at the end, with the number of
        statements since the last call, as ``tqdm.update`` takes it.
    :param limits: limits on the output.
    :return: number of statements written.
    :raises ValueError: no format is given, and the name does not indicate one.
    :raises JellyError: a term cannot be written.
    """
    format = format or format_for(dst)  # noqa: A001
    lines = LineEncoder(format, quads=graph is None, limits=limits)
    encoder = lines.rows
    steps = Steps(progress)
    with open_output(dst) as out:

        def write(text: bytes) -> None:
            out.write(b"".join(lines.encode(text)))
            steps.reach(encoder.statements)

        out.write(declared(encoder, namespaces, None))
        dump_text(store, graph, write, bookkeeping=bookkeeping)
    steps.end(encoder.statements)
    return encoder.statements


__all__ = ["dump", "load", "read_quads"]
