"""``jelly patch``: logs of patches, from file to file and into Oxigraph stores on disk."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, astuple, replace
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from click.exceptions import Exit

from ..codec import Iri, Quad, Triple
from ..io.names import Format
from ..io.names import format_of as rdf_format_of
from ..patch.formats import PatchFormat, format_of
from ..patch.logs.conversion import PatchOptionChanges
from ..patch.replay.settings import ReplaySettings
from . import console, settings
from .console import STANDARD, WrongUsageError
from .options import Argument, FieldOption, Fields, Group, Option
from .settings import StoreFolder
from .store import (
    graph_name,
    is_store,
    open_store,
    open_to_read,
    reject_no_store,
    reject_other_folder,
)

if TYPE_CHECKING:
    from ..io.sinks import Destination
    from ..io.sources import Source
    from ..patch import Patch
    from ..patch.replay.positions import Position


class StreamType(StrEnum):
    FLAT = "flat"
    FRAME = "frame"
    PUNCTUATED = "punctuated"


class DiffBlankNodes(StrEnum):
    AUTO = "auto"
    KEEP = "keep"
    CANONICALIZE = "canonicalize"
    REJECT = "reject"


LogArgument: TypeAlias = Annotated[
    str,
    Argument(metavar="LOG", help="Jelly-Patch or RDF Patch text, compressed or not; - for stdin."),
]
LogArguments: TypeAlias = Annotated[
    list[str],
    Argument(
        metavar="LOG",
        help="Jelly-Patch or RDF Patch text, compressed or not; - for stdin. In their order.",
    ),
]
LogFrom: TypeAlias = Annotated[
    PatchFormat | None,
    Option("--from", help="Format of the log; by default detected from its content."),
]
LogTo: TypeAlias = Annotated[
    PatchFormat | None,
    Option("--to", help="Format to write; by default from the output's name."),
]
_GENERALIZED: Final = Option("--generalized", help="Accept generalized statements in text.")
Generalized: TypeAlias = Annotated[bool, _GENERALIZED]

app = Group(
    "patch", "Logs of changes: convert, apply, undo, check. As Jelly-Patch and as RDF Patch text."
)


# Into stores


#: The options of :class:`.ReplaySettings`.
_REPLAY: Final = Fields(
    *("follow", "dry_run", "until", "check_unmatched", "check_blank_nodes", "check_prev"),
    *("name", "commit_every"),
)


@app.register
def apply(
    log: LogArgument,
    store: StoreFolder,
    graph: Annotated[
        str | None,
        Option("--graph", metavar="IRI", help="Graph to use instead of the default graph."),
    ] = None,
    as_json: settings.AsJson = False,
    *,
    replaying: Annotated[ReplaySettings, _REPLAY],
) -> None:
    """Apply a log to an Oxigraph store on disk.

    Each transaction is applied once, as a whole or not at all. The store records its position in
    the log: running the same command again continues from there. The store is created if it is
    missing.
    """
    if replaying.follow and log == STANDARD:
        raise WrongUsageError("--follow needs a file with a name")
    reject_other_folder(store)
    into = {} if graph is None else {"graph": graph_name(graph)}
    console.require_files([log])
    from ..oxigraph import replay

    if not replaying.dry_run:
        filled = open_store(store)
    elif is_store(store):
        filled = open_to_read(store)
    else:
        # A missing store is not created.
        from ..formats.reading import pyoxigraph_module

        filled = pyoxigraph_module().Store()
    if replaying.follow:
        # The size of a file that grows is not known. Followers see each transaction within a tenth
        # of a second.
        with console.counting("apply", "operation", refreshes=25) as show:
            done = replay(filled, log, **into, settings=replace(replaying, progress=show))
    else:
        with console.open_sources([log], "apply") as [source]:
            done = replay(filled, source, **into, settings=replaying)
    console.print_report(
        as_json,
        asdict(done) | {"dry_run": replaying.dry_run},
        {
            "dry run": "nothing was changed" if replaying.dry_run else None,
            "patches": f"{done.patches:,}",
            "transactions": f"{done.transactions:,}",
            "operations": f"{done.operations:,}",
            "deletions without match": f"{done.unmatched:,}" if done.unmatched else None,
            "position": None if done.position is None else _position_text(done.position),
        },
    )
    if done.advice and not as_json:
        console.note(f"{done.advice} (--name)")


def _transactions(number: int) -> str:
    return console.counted(number, "transaction")


def _position_text(position: Position) -> str:
    rest = "" if position.complete else f", {_transactions(position.transactions)} of it"
    return f"patch {position.patch}{rest}"


@app.register
def status(store: StoreFolder, as_json: settings.AsJson = False) -> None:
    """Show the positions of an Oxigraph store on disk in its logs."""
    reject_no_store(store)
    opened_store = open_to_read(store)
    from ..oxigraph import count_quads, namespaces, positions

    reached = positions(opened_store)
    quads = count_quads(opened_store)
    known = namespaces(opened_store)
    if as_json:
        logs = [asdict(position) for position in reached]
        console.print_json({"store": store, "quads": quads, "logs": logs, "namespaces": known})
        return
    console.print_fields({"store": store, "quads": f"{quads:,}", "logs": len(reached)})
    for position in reached:
        into = f" into graph {position.graph}" if position.graph else ""
        print(f"\nlog {position.log}{into}")
        console.print_fields({"  position": _position_text(position)})
    if known:
        print("\nnamespaces")
        console.print_fields({f"  {prefix}:": iri for prefix, iri in known.items()})


# From file to file


#: The options of :class:`.PatchOptionChanges`.
_CHANGES: Final = Fields(
    "preset",
    stream_type=FieldOption(
        Annotated[
            StreamType | None,
            Option("--type", help="Stream type of the Jelly-Patch written."),
        ]
    ),
    statement_type=FieldOption(
        Annotated[
            bool | None,
            Option(
                "--triples/--quads",
                show_default=False,
                help="Statement type of RDF Patch text, which does not declare it.",
            ),
        ],
        lambda triples: None if triples is None else "triples" if triples else "quads",
    ),
    generalized_statements=FieldOption(Annotated[bool | None, _GENERALIZED]),
    rdf_star=FieldOption(
        Annotated[bool | None, Option("--rdf-star", help="Declare quoted triples.")]
    ),
)


@app.register
def convert(
    sources: LogArguments,
    output: settings.Output = STANDARD,
    from_: LogFrom = None,
    to: LogTo = None,
    force: settings.Force = False,
    rdf_12: settings.Rdf12 = True,
    strict: settings.Strict = False,
    *,
    changes: Annotated[PatchOptionChanges, _CHANGES],
) -> None:
    """Convert Jelly-Patch to RDF Patch text and back.

    Also converts to other Jelly-Patch. Several logs become one: ids are kept, or created and
    chained where missing. Memory use is constant.
    """
    from ..patch.logs.conversion import convert as convert_

    target, dst = log_output(output, to, force, sources)
    with console.open_sources(sources, "convert", printing=output == STANDARD) as opened:
        convert_(
            opened,
            dst,
            source_format=from_,
            target_format=target,
            changes=changes,
            notation=settings.notation(rdf_12),
            strict=strict,
            limits=console.limits_from(),
        )


@app.register
def diff(
    old: Annotated[
        str,
        Argument(
            metavar="OLD", help="RDF file, compressed or not, or folder of an Oxigraph store."
        ),
    ],
    new: Annotated[str, Argument(metavar="NEW", help="RDF file or store, as OLD.")],
    output: settings.Output = STANDARD,
    from_: settings.From = None,
    to: LogTo = None,
    force: settings.Force = False,
    patch_id: Annotated[
        str | None,
        Option("--id", metavar="ID", help="Id of the patch; by default a new UUID."),
    ] = None,
    prev: Annotated[
        str | None, Option("--prev", metavar="ID", help="Id of the patch before it.")
    ] = None,
    blank_nodes: Annotated[
        DiffBlankNodes,
        Option(
            "--blank-nodes",
            help="Give the blank nodes of files canonical labels and keep those of stores (auto), "
            "keep all labels, make all canonical, or reject blank nodes.",
        ),
    ] = DiffBlankNodes.AUTO,
    base: settings.Base = None,
    prefix: settings.Prefixes = None,
) -> None:
    """Write the patch that makes OLD into NEW.

    The blank nodes of files get canonical labels: apply the patch to a store that load
    --blank-nodes canonicalize has filled. Memory holds OLD and what is new.
    """
    from ..patch import diff as diff_
    from ..patch import write_patches
    from ..patch.difference import has_blank_nodes
    from ..patch.model import new_id

    if old == new == STANDARD:
        raise WrongUsageError("only one side can be stdin")
    limits = console.limits_from()
    target, dst = log_output(output, to, force)
    made = diff_(
        *(_statements(name, from_, base, limits, blank_nodes) for name in (old, new)),
        id=new_id() if patch_id is None else _iri(patch_id),
        prev=None if prev is None else _iri(prev),
        blank_nodes=blank_nodes.value,
        namespaces=settings.prefixes_from(prefix),
    )
    if blank_nodes is DiffBlankNodes.AUTO and any(
        isinstance(value, Triple | Quad) and has_blank_nodes(value) for _, value in made
    ):
        console.note(
            "blank nodes of files have canonical labels: apply the patch to a store that jelly "
            "load --blank-nodes canonicalize has filled"
        )
    write_patches([made], dst, format=target)


def _statements(
    name: str,
    given: Format | None,
    base: str | None,
    limits: Any,
    blank_nodes: DiffBlankNodes,
) -> Any:
    """One side of a difference."""
    from ..formats.settings import ConversionSettings
    from ..formats.table import read_statements
    from ..patch.difference import canonical

    if name != STANDARD and is_store(name):
        return open_to_read(name)
    form = given or rdf_format_of(name)
    if form is None:
        raise WrongUsageError(f"the format of {name} is not known: --from names it")
    source: Source = sys.stdin.buffer if name == STANDARD else name
    statements = read_statements(source, form, ConversionSettings(base=base, limits=limits))
    # To diff, this is not a file any more.
    return canonical(statements) if blank_nodes is DiffBlankNodes.AUTO else statements


def _iri(text: str) -> Iri:
    """An id that is an IRI, in angle brackets, as other commands print it, or without them."""
    return Iri(text[1:-1] if text.startswith("<") and text.endswith(">") else text)


@app.register
def invert(
    log: LogArgument,
    output: settings.Output = STANDARD,
    from_: LogFrom = None,
    to: LogTo = None,
    force: settings.Force = False,
    generalized: Generalized = False,
) -> None:
    """Write the log that undoes a log.

    The result is the inverse of each patch, the last one first; it follows the log. It restores the
    data if each addition added something and each deletion deleted something.
    """
    from ..patch import write_patches
    from ..patch.logs.editing import invert_log

    target, dst = log_output(output, to, force)
    with _reading([log], "invert", from_, generalized) as patches:
        write_patches(invert_log(patches), dst, format=target)


@app.register
def compact(
    logs: LogArguments,
    output: settings.Output = STANDARD,
    from_: LogFrom = None,
    to: LogTo = None,
    force: settings.Force = False,
    exact: Annotated[
        bool,
        Option(
            "--exact",
            help="Omit what is added and deleted again. Correct only if each addition added "
            "something and each deletion deleted something.",
        ),
    ] = False,
    generalized: Generalized = False,
) -> None:
    """Write one patch with the same effect as a log.

    Several logs count as one, in their order.
    """
    from ..patch import compact as compact_
    from ..patch import write_patches

    target, dst = log_output(output, to, force)
    with _reading(logs, "compact", from_, generalized) as patches:
        write_patches([compact_(patches, exact=exact)], dst, format=target)


# At the end of a log


LogFile: TypeAlias = Annotated[
    str,
    Argument(
        metavar="LOG", help="File of Jelly-Patch or RDF Patch text, to which patches are appended."
    ),
]
Count: TypeAlias = Annotated[
    int | None,
    Option("--count", min=1, help="Number of patches; 1 by default, without --to."),
]
ToPatch: TypeAlias = Annotated[
    str | None,
    Option("--to", metavar="ID", help="Go to the state after the patch with this id."),
]


@app.register
def undo(
    log: LogFile,
    count: Count = None,
    to: ToPatch = None,
    as_json: settings.AsJson = False,
) -> None:
    """Undo the newest patches of a log, by appending.

    The patches appended are the inverses. Followers of the log undo the patches too. A second undo
    goes further back. No recorder may have the log open.
    """
    from ..patch import undo as undo_

    _append(undo_, "undoes", log, count, to, as_json)


@app.register
def redo(
    log: LogFile,
    count: Count = None,
    to: ToPatch = None,
    as_json: settings.AsJson = False,
) -> None:
    """Redo patches that were undone, by appending them.

    The last undone come first. What was undone can be redone until another patch is appended.
    """
    from ..patch import redo as redo_

    _append(redo_, "redoes", log, count, to, as_json)


def _append(
    function: Callable[..., list[Patch]],
    header: str,
    log: str,
    count: int | None,
    to: str | None,
    as_json: bool,
) -> None:
    """Append patches to a log.

    :param function: appends them.
    :param header: their header that has the id of another patch.
    """
    if log == STANDARD:
        raise WrongUsageError("a log to append to is a file")
    if count is not None and to is not None:
        raise WrongUsageError("--count and --to exclude each other")
    console.require_files([log])
    from ..codec.text.ntriples import term_text

    appended = function(log, count=count, to=to, limits=console.limits_from())
    named = [(patch.id, patch.header(header)) for patch in appended]
    patches = [
        {"id": term_text(made), header: term_text(other)} for made, other in named if made and other
    ]
    if as_json:
        console.print_json({"patches": patches})
        return
    for each in patches:
        print(f"patch {each['id']} {header} {each[header]}")
    if not patches:
        print("nothing to append")


# To read


@app.register
def show(
    log: LogArgument,
    summary: Annotated[bool, Option("--summary", help="Print a line for each patch only.")] = False,
    as_json: Annotated[
        bool, Option("--json", help="Print one line of JSON per patch, with its counts.")
    ] = False,
    from_: LogFrom = None,
    generalized: Generalized = False,
) -> None:
    """Print a log as RDF Patch text, coloured on a terminal."""
    from ..patch.logs.listing import lines, summaries

    with _reading([log], "show", from_, generalized, printing=True) as patches:
        if as_json:
            for each in summaries(patches):
                console.print_json(asdict(each))
        elif summary:
            for number, id_, prev, rows in map(astuple, summaries(patches)):
                counts = ", ".join(f"{count:,} {code}" for code, count in rows.items())
                named = "" if id_ is None else f" {id_}"
                follows = "" if prev is None else f" after {prev}"
                print(f"patch {number}{named}{follows}: {counts or 'no rows'}")
        elif not sys.stdout.isatty():
            for line in lines(patches):
                print(line.text)
        else:
            from rich.console import Console
            from rich.text import Text

            terminal = Console()
            for kind, text in lines(patches):
                style = "bold" if kind is None else _STYLES.get(kind.code, "dim")
                terminal.print(Text(text, style), soft_wrap=True)


#: How lines look on a terminal, by the code of their row in RDF Patch.
_STYLES: Final = {
    "A": "green",
    "D": "red",
    "PA": "cyan",
    "PD": "cyan",
    "H": "yellow",
    "TA": "bold magenta",
}


@app.register
def check(
    log: LogArgument,
    from_: LogFrom = None,
    generalized: Generalized = False,
    strict: settings.Strict = False,
    as_json: settings.AsJson = False,
) -> None:
    """Check a log: its syntax, the order of its rows, its chain.

    In a chain, the header prev of each patch names the patch before it.
    Known deviations of other tools from the specification are reported.
    Exit code 0: no problems; 1: problems.
    """
    from ..patch import check as check_

    with console.open_sources([log], "check") as [opened]:
        report = check_(
            opened,
            format=from_,
            generalized=generalized,
            strict=strict,
            limits=console.limits_from(),
        )
    from ..codec.text.ntriples import term_text

    ids = {
        name: None if term is None else term_text(term)
        for name in ("first_id", "first_prev", "last_id")
        for term in [getattr(report, name)]
    }
    rows = {kind.code: number for kind, number in report.rows.items()}
    found = {
        "valid": bool(report),
        "format": report.format,
        "patches": report.patches,
        "rows": rows,
        **ids,
        "problems": [problem._asdict() for problem in report.problems],
        "deviations": report.deviations,
    }
    console.print_report(
        as_json,
        found,
        {
            "format": report.format,
            "patches": f"{report.patches:,}",
            "rows": ", ".join(f"{number:,} {code}" for code, number in rows.items()) or None,
            "first id": ids["first_id"],
            "follows": ids["first_prev"],
            "last id": ids["last_id"],
        },
    )
    if not as_json:
        for number, message in report.problems:
            print(f"patch {number}: {message}")
        for message in report.deviations:
            print(f"deviation from the specification: {message}")
    if not report:
        raise Exit(1)


# What commands share


def log_output(
    output: str, to: PatchFormat | None, force: bool, sources: Iterable[str] = ()
) -> tuple[PatchFormat, Destination]:
    """The format of a log to write, and where to write it. On stdout it is text, unless all sources
    are text; in a file whose name does not indicate a format it is Jelly-Patch.

    :param sources: names of the logs that are converted.
    """
    target = to or format_of(output)
    if target is None:
        console.reject_ending(output, f"a log is {', '.join(PatchFormat)}, as --to says")
        read = set(map(format_of, sources))
        text = output == STANDARD and read != {PatchFormat.RDF_PATCH}
        target = PatchFormat.RDF_PATCH if text else PatchFormat.JELLY_PATCH
    binary = target is not PatchFormat.RDF_PATCH
    return target, console.destination(output, force=force, binary=binary)


@contextmanager
def _reading(
    logs: list[str],
    doing: str,
    from_: PatchFormat | None,
    generalized: bool,
    *,
    printing: bool = False,
) -> Iterator[Iterator[Patch]]:
    """The patches of some logs, one log after another."""
    from ..patch import read_patches

    limits = console.limits_from()
    with console.open_sources(logs, doing, printing=printing) as opened:
        yield chain.from_iterable(
            read_patches(source, format=from_, generalized=generalized, limits=limits)
            for source in opened
        )
