"""``jelly query``: SPARQL queries of an Oxigraph store, a sharded one, or files."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any, TypeAlias

from ..codec import Limits
from ..io.names import Format
from ..io.names import format_named as statements_format_named
from ..io.names import format_of as statements_format_of
from ..sparql.formats import ResultsFormat, format_named, format_of
from . import console, results, settings
from .console import WrongUsageError
from .options import Argument, Option
from .store import is_store, open_to_read, pyoxigraph

#: Names are looked up once it is known whether the query gives solutions or statements.
To: TypeAlias = Annotated[
    str | None,
    Option(
        "--to",
        metavar="FORMAT",
        help="Format to write; by default from the output's name, or tsv, and nt for statements.",
    ),
]


def query(
    text: Annotated[str, Argument(metavar="QUERY", help="A query in SPARQL.")],
    sources: Annotated[
        list[str] | None,
        Argument(
            metavar="SRC",
            help="Files to query, in any format, compressed or not; - for stdin.",
        ),
    ] = None,
    store: Annotated[
        str | None,
        Option("--store", metavar="DIR", help="Folder of an Oxigraph or sharded store."),
    ] = None,
    output: settings.Output = console.STANDARD,
    from_: settings.From = None,
    to: To = None,
    force: settings.Force = False,
    base: settings.Base = None,
) -> None:
    """Query files or a store, and write the results.

    The default graph of several files is their union; they are held in memory. On a terminal
    solutions are shown as a table. CONSTRUCT and DESCRIBE queries write statements. A sharded store
    answers SELECT queries that each shard can answer alone.
    """
    if (store is None) == (not sources):
        raise WrongUsageError("files are needed, or --store, and not both")
    if store is not None and ("://" in store or not is_store(store)):
        _query_shards(text, store, output, to, force)
        return
    if store is not None:
        opened = open_to_read(store)
    else:
        opened = _store_of(sources or [], from_, base, console.limits_from())
    ox = pyoxigraph()
    try:
        found: Any = opened.query(text)
    except (SyntaxError, ValueError) as error:
        raise WrongUsageError(f"the query is not well-formed: {error}") from error
    if isinstance(found, ox.QueryTriples):
        _write_statements(found, output, to, force)
        return
    form = _results_format(output, to)
    dst = console.destination(output, force=force, binary=form is not None and form.is_binary)
    if form is not None or not sys.stdout.isatty():
        from ..oxigraph import write_solutions

        write_solutions(found, dst, format=form or ResultsFormat.TSV)
    elif isinstance(found, ox.QueryBoolean):
        print("true" if found else "false")
    else:
        names = [variable.value for variable in found.variables]
        rows = (["" if term is None else str(term) for term in row] for row in found)
        results.print_table(names, rows)


def _query_shards(text: str, store: str, output: str, to: str | None, force: bool) -> None:
    if "://" not in store and not os.path.isdir(store):
        raise WrongUsageError(f"folder {store} does not exist")
    form = _results_format(output, to)
    dst = console.destination(output, force=force, binary=form is not None and form.is_binary)
    from ..spark.shards import ShardedStore
    from ..spark.shards.queries import scope_of

    sharded = ShardedStore(store)
    if form is None and sys.stdout.isatty():
        rows = ([term or "" for term in row.values()] for row in sharded.select(text))
        results.print_table(scope_of(text, sharded.content.shard_by).variables, rows)
    else:
        sharded.write_solutions(text, dst, format=form or ResultsFormat.TSV)


def _store_of(names: list[str], from_: Format | None, base: str | None, limits: Limits) -> Any:
    """A store in memory with the statements of files."""
    from ..oxigraph import load

    store = pyoxigraph().Store()
    console.require_files(names)
    with console.open_sources(names, "load") as opened:
        for name, source in zip(names, opened, strict=True):
            form = from_ or statements_format_of(name) or Format.JELLY
            load(store, source, format=form, base=base, limits=limits)
    return store


def _results_format(output: str, to: str | None) -> ResultsFormat | None:
    """The format of solutions; None if neither the option nor the output's name says it."""
    try:
        form = format_of(output) if to is None else format_named(to)
    except ValueError as error:
        raise WrongUsageError(f"--to: {error}") from error
    if form is None and output != console.STANDARD:
        raise WrongUsageError(f"the format of {output} is not one of query results: --to names it")
    return form


def _write_statements(found: Any, output: str, to: str | None, force: bool) -> None:
    """Write the result of CONSTRUCT or DESCRIBE."""
    try:
        form = statements_format_of(output) if to is None else statements_format_named(to)
    except ValueError as error:
        raise WrongUsageError(f"--to: {error}") from error
    if form is None and output != console.STANDARD:
        raise WrongUsageError(f"the format of {output} is not one of statements: --to names it")
    form = form or Format.N_TRIPLES
    dst = console.destination(output, force=force, binary=form.is_binary)
    if form is Format.JELLY:
        from ..oxigraph import write_quads

        write_quads(found, dst)
        return
    from ..formats.convert import convert
    from ..formats.reading import ChunkFile

    lines: Any = ChunkFile(f"{triple} .\n".encode() for triple in found)
    convert(lines, dst, source_format=Format.N_TRIPLES, target_format=form)
