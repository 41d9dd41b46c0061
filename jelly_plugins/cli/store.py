"""``jelly load`` and ``jelly dump``: into an Oxigraph store on disk, and out of it."""

from __future__ import annotations

import os
from typing import Annotated, Any, Final

import typer

from ..formats.names import Format
from ..formats.reading import pyoxigraph_module
from . import console, settings
from .console import WrongUsageError
from .settings import BlankNodesChoice, StoreFolder

#: A file that every store on disk has.
_STORE_FILE: Final = "CURRENT"


def load(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SRC", help="Jelly, rt and rpb files, compressed or not; - for stdin."
        ),
    ],
    store: StoreFolder,
    from_: settings.From = None,
    graph: Annotated[
        str | None, typer.Option("--graph", metavar="IRI", help="Graph that triples go into.")
    ] = None,
    blank_nodes: Annotated[
        BlankNodesChoice,
        typer.Option("--blank-nodes", help="New nodes for each file, or labels as they are."),
    ] = BlankNodesChoice.FRESH,
    atomic: Annotated[
        bool,
        typer.Option(
            "--atomic/--no-atomic",
            help="Each file whole or not at all, or batch by batch in constant memory.",
        ),
    ] = True,
    reify: Annotated[
        bool,
        typer.Option("--reify", help="Reify quoted triples that are no objects; else refuse them."),
    ] = False,
    as_json: settings.AsJson = False,
    concatenated: settings.Concatenated = False,
    strict: settings.Strict = False,
    limit: settings.LimitSettings = None,
) -> None:
    """Load Jelly, rt and rpb files into an Oxigraph store on disk.

    The store is made if it is not there.
    """
    refuse_other_folder(store)
    limits = settings.limits_from(limit)
    into = graph_name(graph)
    console.require_files(sources)
    opened_store = open_store(store)
    from ..jena.names import JenaFormat
    from ..jena.oxigraph import load as load_rows
    from ..oxigraph import load as load_

    with console.open_sources(sources, "load", printing=len(sources) > 1) as opened:
        for name, source in zip(sources, opened, strict=True):
            told = console.told_format(name, from_) or Format.JELLY
            shared: dict[str, Any] = {
                "graph": into,
                "blank_nodes": blank_nodes.value,
                "atomic": atomic,
                "quoted_triples": "reify" if reify else "refuse",
                "limits": limits,
            }
            if told.is_jena:
                statements = load_rows(opened_store, source, format=JenaFormat(told), **shared)
            elif told is Format.JELLY:
                statements = load_(
                    opened_store, source, concatenated=concatenated, strict=strict, **shared
                )
            else:
                raise WrongUsageError(f"{name}: load takes jelly, rt and rpb, not {told}")
            if as_json:
                console.print_json({"source": name, "statements": statements})
            else:
                print(f"{name}: {statements:,} statements")


def dump(
    store: StoreFolder,
    output: settings.Output = console.STANDARD,
    graph: Annotated[
        str | None, typer.Option("--graph", metavar="IRI", help="Write this graph only.")
    ] = None,
    to: Annotated[
        Format | None,
        typer.Option(
            "--to",
            parser=settings.parse_format,
            metavar="[jelly|rt|rpb]",
            help="Format to write; by default the output's ending tells, or it is jelly.",
        ),
    ] = None,
    force: settings.Force = False,
) -> None:
    """Write an Oxigraph store, or one graph of it, as Jelly, rt or rpb."""
    refuse_no_store(store)
    told = console.told_format(output, to)
    if told is None or not told.is_binary:
        console.refuse_ending(
            output, "dump writes jelly, rt and rpb, and jelly convert other formats of them"
        )
    dst = console.destination(output, force=force, binary=True)
    from_graph = graph_name(graph)
    opened_store = open_store(store)
    from ..jena.names import JenaFormat
    from ..jena.oxigraph import dump as dump_rows
    from ..oxigraph import dump as dump_

    with console.counting("dump") as progress:
        if told is not None and told.is_jena:
            dump_rows(
                opened_store, dst, format=JenaFormat(told), graph=from_graph, progress=progress
            )
        else:
            dump_(opened_store, dst, graph=from_graph, progress=progress)


def is_store(folder: str) -> bool:
    """Whether a folder has an Oxigraph store."""
    return os.path.exists(os.path.join(folder, _STORE_FILE))


def refuse_no_store(folder: str) -> None:
    """Refuse a folder that has no store."""
    if not is_store(folder):
        raise WrongUsageError(f"{folder} is no Oxigraph store")


def refuse_other_folder(folder: str) -> None:
    """Refuse a folder that has something else than a store, where one may be made."""
    if os.path.isdir(folder) and os.listdir(folder) and not is_store(folder):
        raise WrongUsageError(f"{folder} is no Oxigraph store, and not empty")


def open_store(folder: str) -> Any:
    """The store in a folder, made if there is none."""
    return pyoxigraph_module().Store(folder)


def graph_name(iri: str | None) -> Any:
    """The graph of an IRI; None for none."""
    if iri is None:
        return None
    try:
        return pyoxigraph_module().NamedNode(iri)
    except ValueError as error:
        raise WrongUsageError(f"--graph {iri}: {error}") from error
