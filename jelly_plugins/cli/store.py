"""``jelly load``, ``jelly dump`` and ``jelly query``: Oxigraph stores on disk; queries also of
files and of sharded stores."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from click import UsageError

from ..errors import JellyError, SourceError
from ..formats.settings import LoadSettings
from ..io.sources import ENDINGS, Format, format_named, format_of, name_of
from ..lazy import library
from ..sparql.formats import ResultsFormat
from ..sparql.formats import format_named as results_format_named
from ..sparql.formats import format_of as results_format_of
from . import console
from .console import STANDARD, Form, Output
from .options import Folder, Iri, Parsed, RdfFormat, limits, reject_options

#: A file that every store on disk has.
_STORE_FILE: Final = "CURRENT"
#: What the default graph is called.
_DEFAULT: Final = "default"


def load(
    sources: list[str],
    *,
    store: str,
    from_: RdfFormat | None = None,
    graph: Iri | None = None,
    blank_nodes: Literal["fresh", "keep", "canonicalize"] = "fresh",
    reify: bool = False,
    json: bool = False,
    settings: Annotated[LoadSettings, "base", "atomic", "concatenated", "strict", "contexts"],
) -> None:
    """Load files of any format into an Oxigraph store on disk.

    The store is created if it is missing. Each file is loaded completely or not at all, also if the
    command is interrupted.

    $ jelly load data.jelly.gz data.nt --store data.store

    :param graph: Target graph; default is the default graph.
    :param blank_nodes: Relabel the nodes of each file, keep labels, or use canonical labels, as
        jelly patch diff does.
    :param reify: Reify quoted triples outside the object position.
    """
    reject_other_folder(store)
    from ..oxigraph import load as load_

    into = graph_name(graph)
    console.require_files(sources)
    with console.open_sources(sources, "load", printing=len(sources) > 1) as opened:
        filled = open_store(store)
        for name, source in zip(sources, opened, strict=True):
            statements = load_(
                filled,
                source,
                format=from_ or format_of(name) or Format.JELLY,
                graph=into,
                blank_nodes=blank_nodes,
                quoted_triples="reify" if reify else "reject",
                settings=settings,
            )
            if json:
                console.line({"source": name, "statements": statements}, json)
            else:
                shown = "<stdin>" if name == STANDARD else name
                # Oxigraph does not count the statements of text that it reads itself.
                done = "loaded" if statements is None else console.counted(statements, "statement")
                print(f"{shown}: {done}")


def dump(
    *,
    store: str,
    target: Output,
    graph: Iri | None = None,
    to: RdfFormat | None = None,
    prefix: dict[str, str] = {},  # noqa: B006
) -> None:
    """Write an Oxigraph store, or one graph of it, in any format.

    A format without graphs needs --graph if the store has named graphs.

    $ jelly dump --store data.store -o dump.jelly
    $ jelly dump --store data.store --graph default -o graph.jelly

    :param graph: Write this graph only; default is the default graph.
    :param to: Format to write; by default from the output's name, or jelly.
    """
    reject_no_store(store)
    requested = to or format_of(target.output)
    if requested is None:
        target.reject_ending(f"known are {', '.join(ENDINGS)}; --to names a format")
        requested = Format.JELLY
    if requested in (Format.N_TRIPLES, Format.N_QUADS):
        reject_options(f"{requested} as the output", "prefix")
    dst = target.open(binary=requested.is_binary)
    from_graph = graph_name(graph)
    opened = open_to_read(store)
    if graph not in (None, _DEFAULT) and not opened.contains_named_graph(from_graph):
        raise UsageError(f"--graph {graph}: {store} has no such graph")
    from ..oxigraph import dump as dump_

    try:
        with console.counting("dump") as progress:
            dump_(
                opened,
                dst,
                format=requested,
                graph=from_graph,
                namespaces=prefix,
                progress=progress,
            )
    except JellyError as error:
        if error.source == name_of(opened):
            error.source = store
        raise


def query(
    text: Annotated[str, Parsed("QUERY")],
    sources: list[str] = [],  # noqa: B006
    *,
    store: Folder | None = None,
    target: Output,
    from_: RdfFormat | None = None,
    to: Annotated[str | None, Parsed("FORMAT")] = None,
    base: str | None = None,
) -> None:
    """Query files or a store, and write the results.

    The default graph of several files is their union; they are held in memory. On a terminal
    solutions are shown as a table. CONSTRUCT and DESCRIBE queries write statements. A sharded store
    answers SELECT queries that each shard can answer alone.

    $ jelly query 'SELECT * { ?s ?p ?o }' --store data.store -o results.jellys
    $ jelly query 'SELECT * { ?s ?p ?o } LIMIT 3' --store data.store --to tsv

    :param text: A query in SPARQL.
    :param sources: Files to query, in any format, compressed or not; - for stdin.
    :param store: Folder of an Oxigraph or sharded store.
    :param to: Format to write; by default from the output's name, or tsv, and nt for statements.
    """
    if (store is None) == (not sources):
        raise UsageError("files are needed, or --store, and not both")
    if store is not None and ("://" in store or not is_store(store)):
        _query_shards(text, store, target, to)
        return
    opened = open_to_read(store) if store is not None else _store_of(sources, from_, base)
    ox = pyoxigraph()
    try:
        found: Any = opened.query(text)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"the query is not well-formed: {error}") from error
    if isinstance(found, ox.QueryTriples):
        _write_statements(found, target, to)
        return
    form, dst = _solutions_output(target, to)
    if form is not None or not sys.stdout.isatty():
        from ..oxigraph import write_solutions

        write_solutions(found, dst, format=form or ResultsFormat.TSV)
    elif isinstance(found, ox.QueryBoolean):
        print("true" if found else "false")
    else:
        names = [variable.value for variable in found.variables]
        rows = (["" if term is None else str(term) for term in row] for row in found)
        console.print_table(names, rows)


def _query_shards(text: str, store: str, target: Output, to: str | None) -> None:
    if "://" not in store and not os.path.isdir(store):
        raise UsageError(f"folder {store} does not exist")
    form, dst = _solutions_output(target, to)
    from ..spark.shards import ShardedStore
    from ..spark.shards.queries import scope_of

    sharded = ShardedStore(store)
    if form is None and sys.stdout.isatty():
        rows = ([term or "" for term in row.values()] for row in sharded.select(text))
        console.print_table(scope_of(text, sharded.content.shard_by).variables, rows)
    else:
        sharded.write_solutions(text, dst, format=form or ResultsFormat.TSV)


def _store_of(names: list[str], from_: Format | None, base: str | None) -> Any:
    """A store in memory with the statements of files."""
    from ..oxigraph import load

    store = pyoxigraph().Store()
    console.require_files(names)
    with console.open_sources(names, "load") as opened:
        for name, source in zip(names, opened, strict=True):
            form = from_ or format_of(name) or Format.JELLY
            load(store, source, format=form, base=base, limits=limits())
    return store


def _solutions_output(target: Output, to: str | None) -> tuple[ResultsFormat | None, Any]:
    """The format of solutions, None if neither the option nor the output's name says it; and where
    to write them."""
    form = _format(target, to, results_format_named, results_format_of, "query results")
    return form, target.open(binary=form is not None and form.is_binary)


def _format(
    target: Output,
    to: str | None,
    named: Callable[[str], Form],
    of_name: Callable[[object], Form | None],
    what: str,
) -> Form | None:
    try:
        form = of_name(target.output) if to is None else named(to)
    except ValueError as error:
        raise UsageError(f"--to: {error}") from error
    if form is None and target.output != STANDARD:
        raise UsageError(f"the format of {target.output} is not one of {what}: --to names it")
    return form


def _write_statements(found: Any, target: Output, to: str | None) -> None:
    """Write the result of CONSTRUCT or DESCRIBE."""
    named = _format(target, to, format_named, format_of, "statements")
    form = named or Format.N_TRIPLES
    dst = target.open(binary=form.is_binary)
    if form is Format.JELLY:
        from ..oxigraph import write_quads

        write_quads(found, dst)
        return
    from ..formats.convert import convert
    from ..io.chunks import ChunkFile

    lines: Any = ChunkFile(f"{triple} .\n".encode() for triple in found)
    convert(lines, dst, source_format=Format.N_TRIPLES, target_format=form)


# Stores on disk, for other commands too


def pyoxigraph() -> Any:
    """The library, which takes long to import."""
    return library("pyoxigraph", "this command", "oxigraph")


def is_store(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, _STORE_FILE))


def reject_no_store(folder: str) -> None:
    if not is_store(folder):
        raise UsageError(f"{folder} is not an Oxigraph store")


def reject_other_folder(folder: str) -> None:
    """Reject a folder with other contents than a store; an empty one is accepted."""
    if os.path.isdir(folder) and os.listdir(folder) and not is_store(folder):
        raise UsageError(f"{folder} is neither an Oxigraph store nor empty")


def open_store(folder: str) -> Any:
    """The store in a folder, opened for writing; created if missing."""
    try:
        return pyoxigraph().Store(folder)
    except RuntimeError as error:
        raise _damaged(folder, error) from error
    except OSError as error:
        if "LOCK" not in str(error):
            raise
        raise SourceError(
            "the store is locked: another process has it open, and one at a time can write to it",
            source=folder,
        ) from error


def open_to_read(folder: str) -> Any:
    """The store in a folder as it is now, to be read only: it may be on a read-only disk, and other
    processes may write to it. What they write from now on is not seen."""
    try:
        return pyoxigraph().Store.read_only(folder)
    except RuntimeError as error:
        raise _damaged(folder, error) from error


def _damaged(folder: str, error: RuntimeError) -> SourceError:
    return SourceError(f"the store cannot be opened: {error}", source=folder)


def graph_name(iri: str | None) -> Any:
    """The graph of an IRI, or the default graph; None for none."""
    if iri is None:
        return None
    if iri == _DEFAULT:
        return pyoxigraph().DefaultGraph()
    try:
        return pyoxigraph().NamedNode(iri)
    except ValueError as error:
        raise UsageError(f"--graph {iri}: {error}") from error
