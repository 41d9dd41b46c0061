"""``jelly query``: SPARQL queries of an Oxigraph store, a sharded one, or files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from click import UsageError

from ..io.sources import Format
from ..io.sources import format_named as statements_format_named
from ..io.sources import format_of as statements_format_of
from ..sparql.formats import ResultsFormat, format_named, format_of
from . import console
from .console import STANDARD
from .options import Folder, Parsed, RdfFormat, limits
from .store import is_store, open_to_read, pyoxigraph

_Form = TypeVar("_Form", bound=StrEnum)


def query(
    text: Annotated[str, Parsed("QUERY")],
    sources: list[str] = [],  # noqa: B006
    *,
    store: Folder | None = None,
    output: str = STANDARD,
    from_: RdfFormat | None = None,
    to: Annotated[str | None, Parsed("FORMAT")] = None,
    force: bool = False,
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
        _query_shards(text, store, output, to, force)
        return
    opened = open_to_read(store) if store is not None else _store_of(sources, from_, base)
    ox = pyoxigraph()
    try:
        found: Any = opened.query(text)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"the query is not well-formed: {error}") from error
    if isinstance(found, ox.QueryTriples):
        _write_statements(found, output, to, force)
        return
    form, dst = _solutions_output(output, to, force)
    if form is not None or not sys.stdout.isatty():
        from ..oxigraph import write_solutions

        write_solutions(found, dst, format=form or ResultsFormat.TSV)
    elif isinstance(found, ox.QueryBoolean):
        print("true" if found else "false")
    else:
        names = [variable.value for variable in found.variables]
        rows = (["" if term is None else str(term) for term in row] for row in found)
        console.print_table(names, rows)


def _query_shards(text: str, store: str, output: str, to: str | None, force: bool) -> None:
    if "://" not in store and not os.path.isdir(store):
        raise UsageError(f"folder {store} does not exist")
    form, dst = _solutions_output(output, to, force)
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
            form = from_ or statements_format_of(name) or Format.JELLY
            load(store, source, format=form, base=base, limits=limits())
    return store


def _solutions_output(output: str, to: str | None, force: bool) -> tuple[ResultsFormat | None, Any]:
    """The format of solutions, None if neither the option nor the output's name says it; and where
    to write them."""
    form = _format(output, to, format_named, format_of, "query results")
    binary = form is not None and form.is_binary
    return form, console.destination(output, force=force, binary=binary)


def _format(
    output: str,
    to: str | None,
    named: Callable[[str], _Form],
    of_name: Callable[[object], _Form | None],
    what: str,
) -> _Form | None:
    try:
        form = of_name(output) if to is None else named(to)
    except ValueError as error:
        raise UsageError(f"--to: {error}") from error
    if form is None and output != STANDARD:
        raise UsageError(f"the format of {output} is not one of {what}: --to names it")
    return form


def _write_statements(found: Any, output: str, to: str | None, force: bool) -> None:
    """Write the result of CONSTRUCT or DESCRIBE."""
    named = _format(output, to, statements_format_named, statements_format_of, "statements")
    form = named or Format.N_TRIPLES
    dst = console.destination(output, force=force, binary=form.is_binary)
    if form is Format.JELLY:
        from ..oxigraph import write_quads

        write_quads(found, dst)
        return
    from ..formats.convert import convert
    from ..io.chunks import ChunkFile

    lines: Any = ChunkFile(f"{triple} .\n".encode() for triple in found)
    convert(lines, dst, source_format=Format.N_TRIPLES, target_format=form)
