"""Sources of any format into an Oxigraph store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from pyoxigraph import Store

from ...codec import DEFAULT_LIMITS, Limits
from ...formats.contexts import Contexts
from ...formats.convert import as_jelly, as_of, as_rows
from ...formats.settings import ConversionSettings, Given
from ...io.names import Format, format_named, format_of
from ...io.progress import Progress
from ...io.sources import Source, name_of
from ...jena.names import JenaFormat
from ..terms import GraphName
from .lexical_forms import LexicalForm
from .loader import StatementReader, add_statements, open_reader
from .settings import LoadedBlankNodes, LoadSettings, QuotedTriples


def load(
    store: Store,
    src: Source,
    *,
    format: Format | str | None = None,  # noqa: A002
    base: str | None = None,
    contexts: Contexts | None = None,
    graph: GraphName | None = None,
    blank_nodes: LoadedBlankNodes = "fresh",
    atomic: bool = True,
    quoted_triples: QuotedTriples = "reject",
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
    concatenated: bool = False,
    strict: bool = False,
    on_namespace: Callable[[str, str], object] | None = None,
    bookkeeping: bool = False,
    lexical_form: LexicalForm | None = None,
) -> int:
    """Read a source of any format into a store, in memory or on disk.

    N-Triples, N-Quads, RDF Thrift, RDF Protobuf and Jelly are read by this package; Turtle, TriG,
    RDF/XML and JSON-LD are parsed by pyoxigraph.

    Empty graphs of a Jelly stream of physical type GRAPHS exist in the store afterwards. They
    are added after all statements; if the process is killed in between, the store has all
    statements and lacks some empty graphs. (Streams of quads have no empty graphs.)

    A process that is killed during an atomic load of millions of statements may leave files
    ``bulk-*.sst`` in the store's folder, which Oxigraph does not remove. They are not part of
    the store and can be deleted while it is closed.

    An interrupt (Ctrl-C) while the store finishes is raised afterwards. If the
    store then has all statements, the exception has an attribute ``loaded``, the number that would
    have been returned, and a note that says so. One that comes in the last microseconds, as the
    load returns, has neither.

    :param src: path, URL, open binary file or bytes; compressed or not.
    :param format: a :class:`~jelly_plugins.Format` or its name, such as ``"turtle"`` or ``"nt"``;
        by default from the name of the source, and Jelly where the name says nothing.
    :param base: IRI that relative IRIs of Turtle, TriG, RDF/XML and JSON-LD are resolved against;
        without it they are rejected.
    :param contexts: remote contexts of JSON-LD by IRI, or a function that returns one; none is
        fetched. A document that is read with them is held in memory.
    :param graph: the graph that a stream of triples goes into, by default the default graph. A
        stream of quads is rejected with one. Streams of graphs and datasets go into the same
        graphs, whatever frame a statement is from.
    :param blank_nodes: ``"fresh"`` makes new nodes for each load, so that no label equals one that
        the store has from elsewhere. ``"keep"`` keeps labels, so that loading a source again adds
        nothing; a label that Oxigraph rejects is mapped, see :func:`.terms.kept`. The scope
        of a label is the whole source. ``"canonicalize"`` gives labels that depend on the
        statements alone, so that patches of :func:`jelly_plugins.patch.diff` fit; all statements
        with blank nodes are held in memory, and equal nodes of two sources become one.
    :param atomic: load all statements or none, even after an error in the last byte or if the
        process is killed. This takes memory: on disk up to 1.5 GB, in memory up to half of the
        store's own. With False, the load proceeds in constant memory in atomic batches of 50,000
        quads, and the batches before an error stay.
    :param quoted_triples: ``"reject"`` raises an error for those that are not objects, ``"reify"``
        reifies them: a blank node replaces the quoted triple, and ``_:node rdf:reifies <<( s p o
        )>>`` is added in the same graph. A triple that is quoted again has the same node.
    :param progress: called about every 10,000 statements and at the end, with the number of
        statements since the last call, as ``tqdm.update`` takes it.
    :param limits: the limits on untrusted input.
    :param concatenated: of Jelly: whether options at the start of a frame start a new stream.
    :param strict: of Jelly: whether to reject a source of no bytes, which is otherwise an empty
        stream.
    :param on_namespace: called with the name and the IRI of each namespace that is declared; the
        store cannot hold them.
    :param bookkeeping: whether to load the graph :data:`.BOOKKEEPING` too, which a dump can have:
        the store then has the positions of the dumped one. Otherwise the graph is rejected.
    :param lexical_form: rewrites literals that have a datatype other than ``xsd:string``: called
        with the lexical form and the IRI of the datatype, it returns the form to store.
    :return: number of statements in the source, repeats included. The store may grow by less,
        because it holds a statement once, and by more, because of ``"reify"``.
    :raises ValueError: there is no format of that name.
    :raises JellyError: with source, and frame and row, or line and column: the source is invalid,
        or has data that the store cannot hold.
    :raises ChainError: a process that recorded changes to the store has ended without closing its
        log, see :func:`jelly_plugins.oxigraph.record`.
    :raises OSError: the store cannot be written.
    :raises RuntimeError: the store is open for reading only.
    """
    form = format_named(format) if format is not None else format_of(src) or Format.JELLY
    settings = LoadSettings(
        graph=graph,
        blank_nodes=blank_nodes,
        atomic=atomic,
        quoted_triples=quoted_triples,
        progress=progress,
        limits=limits,
        concatenated=concatenated,
        strict=strict,
        on_namespace=on_namespace,
        bookkeeping=bookkeeping,
        lexical_form=lexical_form,
    )
    located: AbstractContextManager[None] = nullcontext()
    if not (form is Format.JELLY or form.is_jena):
        given = Given(src, form)
        conversion = ConversionSettings(
            base=base,
            contexts=contexts,
            namespaces=on_namespace is not None,
            limits=limits,
        )
        if form is Format.JELLY_TEXT:
            src, form = as_jelly(given, conversion), Format.JELLY
        else:
            # Rows can express base directions, which Jelly cannot.
            src, form = as_rows(given, conversion), Format.RDF_PROTOBUF
        located = as_of(name_of(src))
    # Imported here because it imports this package.
    from ...jena.oxigraph import open_reader as open_rows

    def opened() -> StatementReader:
        if form is Format.JELLY:
            return open_reader(src, settings)
        return open_rows(src, JenaFormat(form), settings)

    with located:
        return add_statements(store, settings, opened)
