"""``jelly query``: SPARQL queries of an Oxigraph store, or a sharded one."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any, TypeAlias

import typer

from ..formats.reading import pyoxigraph_module
from ..sparql.formats import ResultsFormat, format_of
from . import console, results, settings
from .console import WrongUsageError
from .store import is_store, open_to_read

To: TypeAlias = Annotated[
    ResultsFormat | None,
    settings.format_option(
        "--to", "Format to write; by default that of the output's ending, or tsv.", ResultsFormat
    ),
]


def query(
    text: Annotated[str, typer.Argument(metavar="QUERY", help="A SELECT or ASK query.")],
    store: Annotated[
        str,
        typer.Option("--store", metavar="DIR", help="Folder of an Oxigraph or sharded store."),
    ],
    output: settings.Output = console.STANDARD,
    to: To = None,
    force: settings.Force = False,
) -> None:
    """Query a store and write the results.

    On a terminal they are shown as a table. A sharded store answers SELECT queries that each shard
    can answer alone.
    """
    form = to or (None if output == console.STANDARD else format_of(output))
    if form is None and output != console.STANDARD:
        raise WrongUsageError(f"the format of {output} is not one of query results: --to names it")
    dst = console.destination(output, force=force, binary=form is not None and form.is_binary)
    table = form is None and sys.stdout.isatty()
    form = form or ResultsFormat.TSV
    if "://" in store or not is_store(store):
        if "://" not in store and not os.path.isdir(store):
            raise WrongUsageError(f"folder {store} does not exist")
        from ..spark.shards import ShardedStore
        from ..spark.shards.queries import Scope

        sharded = ShardedStore(store)
        if table:
            rows = ([term or "" for term in row.values()] for row in sharded.select(text))
            results.print_table(list(Scope.all(text).variables), rows)
        else:
            sharded.write_solutions(text, dst, format=form)
        return
    ox = pyoxigraph_module()
    opened = open_to_read(store)
    try:
        found: Any = opened.query(text)
    except (SyntaxError, ValueError) as error:
        raise WrongUsageError(f"the query is not well-formed: {error}") from error
    if isinstance(found, ox.QueryTriples):
        raise WrongUsageError("this command writes results of SELECT and ASK queries only")
    if not table:
        from ..oxigraph import write_solutions

        write_solutions(found, dst, format=form)
    elif isinstance(found, ox.QueryBoolean):
        print("true" if found else "false")
    else:
        names = [variable.value for variable in found.variables]
        rows = (["" if term is None else str(term) for term in row] for row in found)
        results.print_table(names, rows)
