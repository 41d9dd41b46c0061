"""``jelly load`` and ``jelly dump``: into an Oxigraph store on disk, and out of it."""

from __future__ import annotations

import os
from contextlib import suppress
from glob import escape, glob
from typing import Annotated, Any, Final, Literal

from click import UsageError

from ..errors import JellyError, SourceError
from ..formats.settings import LoadSettings
from ..io.sources import ENDINGS, Format, format_of, name_of
from ..lazy import library
from . import console
from .console import STANDARD
from .options import Iri, RdfFormat

#: A file that every store on disk has.
_STORE_FILE: Final = "CURRENT"
#: What the default graph is called.
_DEFAULT: Final = "default"
#: What bulk loads write beside a store's files, until it becomes one of them.
_LEFT_BY_LOADS: Final = "bulk-*.sst"


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
    filled = open_store(store)
    with console.open_sources(sources, "load", printing=len(sources) > 1) as opened:
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
    output: str = STANDARD,
    graph: Iri | None = None,
    to: RdfFormat | None = None,
    prefix: dict[str, str] = {},  # noqa: B006
    force: bool = False,
) -> None:
    """Write an Oxigraph store, or one graph of it, in any format.

    A format without graphs needs --graph if the store has named graphs.

    $ jelly dump --store data.store -o dump.jelly
    $ jelly dump --store data.store --graph default -o graph.jelly

    :param graph: Write this graph only; default is the default graph.
    :param to: Format to write; by default from the output's name, or jelly.
    """
    reject_no_store(store)
    requested = to or format_of(output)
    if requested is None:
        console.reject_ending(output, f"known are {', '.join(ENDINGS)}; --to names a format")
        requested = Format.JELLY
    dst = console.destination(output, force=force, binary=requested.is_binary)
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


def pyoxigraph() -> Any:
    """The library, which takes long to import.

    :raises MissingExtraError: it is not installed.
    """
    return library("pyoxigraph", "this command", "oxigraph")


def is_store(folder: str) -> bool:
    """Whether a folder has an Oxigraph store."""
    return os.path.exists(os.path.join(folder, _STORE_FILE))


def reject_no_store(folder: str) -> None:
    """Reject a folder without a store."""
    if not is_store(folder):
        raise UsageError(f"{folder} is not an Oxigraph store")


def reject_other_folder(folder: str) -> None:
    """Reject a folder with other contents than a store; an empty one is accepted."""
    if os.path.isdir(folder) and os.listdir(folder) and not is_store(folder):
        raise UsageError(f"{folder} is neither an Oxigraph store nor empty")


def open_store(folder: str) -> Any:
    """The store in a folder, opened for writing; created if missing.

    What a load that was killed has left beside the store's own files is removed.

    :raises SourceError: another process writes to the store, or it is damaged.
    """
    try:
        store = pyoxigraph().Store(folder)
    except RuntimeError as error:
        raise _damaged(folder, error) from error
    except OSError as error:
        if "LOCK" not in str(error):
            raise
        raise SourceError(
            "the store is locked: another process has it open, and one at a time can write to it",
            source=folder,
        ) from error
    # No other process writes to the store, so the one that began these files is gone.
    for name in glob(os.path.join(escape(folder), _LEFT_BY_LOADS)):
        with suppress(OSError):
            os.unlink(name)
    return store


def open_to_read(folder: str) -> Any:
    """The store in a folder as it is now, to be read only: it may be on a read-only disk, and other
    processes may write to it. What they write from now on is not seen.

    :raises SourceError: it is damaged.
    """
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
