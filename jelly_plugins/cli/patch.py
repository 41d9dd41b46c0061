"""``jelly patch``: logs of patches, from file to file and into Oxigraph stores on disk."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Literal

from click import UsageError
from click.exceptions import Exit

from ..codec.text.ntriples import Notation
from ..io.sources import Format
from ..io.sources import format_of as rdf_format_of
from ..patch.formats import PatchFormat, PatchOptionChanges, format_of
from ..patch.replay.transactions import ReplaySettings
from . import console
from .console import STANDARD, Output
from .options import Group, Iri, Parsed, Positive, RdfFormat, limits, reject_options
from .store import (
    graph_name,
    is_store,
    open_store,
    open_to_read,
    pyoxigraph,
    reject_no_store,
    reject_other_folder,
)

if TYPE_CHECKING:
    from ..io.sinks import Destination
    from ..patch import Patch


def _iri(text: str) -> Any:
    """An id that is an IRI, in angle brackets, as other commands print it, or without them."""
    from ..codec import Iri as IriTerm
    from ..tools.validation import iri_problems

    iri = text[1:-1] if text.startswith("<") and text.endswith(">") else text
    for problem in iri_problems(iri):
        raise ValueError(problem)
    return IriTerm(iri)


@dataclass(frozen=True, kw_only=True)
class Target(Output):
    """Where a log is written, and in what format."""

    to: PatchFormat | None = None

    def open_log(self, sources: Iterable[str] = ()) -> tuple[PatchFormat, Destination]:
        """The format, and the destination. On stdout it is text, unless all sources are text; in a
        file whose name does not indicate a format it is Jelly-Patch.

        :param sources: names of the logs that are converted.
        """
        form = self.to or format_of(self.output)
        if form is None:
            self.reject_ending(f"a log is {', '.join(PatchFormat)}, as --to says")
            read = set(map(format_of, sources))
            text = self.output == STANDARD and read != {PatchFormat.RDF_PATCH}
            form = PatchFormat.RDF_PATCH if text else PatchFormat.JELLY_PATCH
        return form, self.open(binary=form is not PatchFormat.RDF_PATCH)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How logs are read.

    :ivar from_: format of the log, by default detected from its content.
    """

    from_: PatchFormat | None = None
    generalized: bool = False

    @contextmanager
    def patches(
        self, logs: list[str], doing: str, *, printing: bool = False
    ) -> Iterator[Iterator[Patch]]:
        """The patches of some logs, one log after another."""
        from ..patch import read_patches

        read = partial(
            read_patches, format=self.from_, generalized=self.generalized, limits=limits()
        )
        with console.open_sources(logs, doing, printing=printing) as opened:
            yield chain.from_iterable(map(read, opened))


app = Group(
    "patch", "Logs of changes: convert, apply, undo, check. As Jelly-Patch and as RDF Patch text."
)


# Into stores


@app.register
def apply(
    log: str,
    *,
    store: str,
    graph: Iri | None = None,
    json: bool = False,
    replaying: Annotated[
        ReplaySettings,
        *("follow", "dry_run", "until", "check_unmatched", "check_blank_nodes", "check_prev"),
        *("name", "commit_every"),
    ],
) -> None:
    """Apply a log to an Oxigraph store on disk.

    Each transaction is applied once, as a whole or not at all. The store records its position in
    the log: running the same command again continues from there. The store is created if it is
    missing.

    $ jelly patch apply change.jellyp --store data.store

    :param graph: Graph to use instead of the default graph.
    """
    if replaying.follow and log == STANDARD:
        raise UsageError("--follow needs a file with a name")
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
        filled = pyoxigraph().Store()
    if replaying.follow:
        # The size of a file that grows is not known.
        with console.counting("apply", "operation") as show:
            done = replay(filled, log, **into, settings=replace(replaying, progress=show))
    else:
        with console.open_sources([log], "apply") as [source]:
            done = replay(filled, source, **into, settings=replaying)
    console.report(done, json, dry_run=replaying.dry_run)
    if done.advice and not json:
        console.note("--name gives a log whose patches have no ids a position")


@app.register
def status(*, store: str, json: bool = False) -> None:
    """Show the positions of an Oxigraph store on disk in its logs.

    $ jelly patch status --store data.store
    """
    reject_no_store(store)
    opened = open_to_read(store)
    from ..oxigraph import count_quads, namespaces, positions

    known = {"logs": positions(opened), "namespaces": namespaces(opened)}
    console.report({"store": store, "quads": count_quads(opened), **known}, json)


# From file to file


@app.register
def convert(
    logs: list[str],
    *,
    target: Target,
    from_: PatchFormat | None = None,
    notation: Notation = Notation.RDF_1_2,
    strict: bool = False,
    changes: PatchOptionChanges,
) -> None:
    """Convert Jelly-Patch to RDF Patch text and back.

    Also converts to other Jelly-Patch. Several logs become one, in their order. Memory use is
    constant.

    $ jelly patch convert change.jellyp -o change.rdfp

    :param from_: Format of the logs; by default detected from their content.
    :param notation: Of quoted triples in text.
    """
    from ..patch.logs import convert as convert_

    form, dst = target.open_log(logs)
    if form is not PatchFormat.JELLY_PATCH:
        reject_options(f"{form} as the output", "preset", "stream_type")
    if form is not PatchFormat.RDF_PATCH:
        reject_options(f"{form} as the output", "notation")
    printing = target.output == STANDARD
    with console.open_sources(logs, "convert", printing=printing) as opened:
        convert_(
            opened,
            dst,
            source_format=from_,
            target_format=form,
            changes=changes,
            notation=notation,
            strict=strict,
            limits=limits(),
        )


@dataclass(frozen=True, kw_only=True)
class Difference:
    """What is in the patch of a difference.

    :ivar id_: id of the patch, by default a new UUID.
    :ivar prev: id of the patch before it.
    :ivar blank_nodes: give the blank nodes of files canonical labels and keep those of stores
        (auto), keep all labels, make all canonical, or reject blank nodes.
    """

    id_: Annotated[Any, Parsed("ID", _iri)] = None
    prev: Annotated[Any, Parsed("ID", _iri)] = None
    blank_nodes: Literal["auto", "keep", "canonicalize", "reject"] = "auto"
    prefix: dict[str, str] = field(default_factory=dict)


@app.register
def diff(
    old: Annotated[str, Parsed("OLD")],
    new: Annotated[str, Parsed("NEW")],
    *,
    target: Target,
    from_: RdfFormat | None = None,
    base: str | None = None,
    difference: Difference,
) -> None:
    """Write the patch that makes OLD into NEW.

    The blank nodes of files get canonical labels: apply the patch to a store that load
    --blank-nodes canonicalize has filled. Memory holds OLD and what is new.

    $ jelly patch diff data.nt new.nt -o change.jellyp

    :param old: RDF file, compressed or not, or folder of an Oxigraph store; - for stdin.
    :param new: RDF file or store, as OLD.
    :param from_: Format of the files; by default from their names.
    """
    from ..codec import Quad, Triple
    from ..patch import diff as diff_
    from ..patch import write_patches
    from ..patch.difference import has_blank_nodes
    from ..patch.model import new_id

    if old == new == STANDARD:
        raise UsageError("only one side can be stdin")
    auto = difference.blank_nodes == "auto"
    form, dst = target.open_log()
    made = diff_(
        *(_statements(name, from_, base, canonicalize=auto) for name in (old, new)),
        id=difference.id_ or new_id(),
        prev=difference.prev,
        blank_nodes=difference.blank_nodes,
        namespaces=difference.prefix,
    )
    if (
        auto
        and not (is_store(old) and is_store(new))
        and any(isinstance(value, Triple | Quad) and has_blank_nodes(value) for _, value in made)
    ):
        console.note(
            "blank nodes of files have canonical labels: apply the patch to a store that jelly "
            "load --blank-nodes canonicalize has filled"
        )
    write_patches([made], dst, format=form)


def _statements(name: str, given: Format | None, base: str | None, *, canonicalize: bool) -> Any:
    """One side of a difference.

    :param canonicalize: give the blank nodes of a file canonical labels.
    """
    from ..formats.convert import read_statements
    from ..formats.settings import ConversionSettings
    from ..patch.difference import canonical

    if name != STANDARD and is_store(name):
        return open_to_read(name)
    form = console.known(given or rdf_format_of(name), name)
    settings = ConversionSettings(base=base, limits=limits())
    statements = read_statements(sys.stdin.buffer if name == STANDARD else name, form, settings)
    return canonical(statements) if canonicalize else statements


@app.register
def invert(log: str, *, target: Target, reading: Reading) -> None:
    """Write the log that undoes a log.

    The result is the inverse of each patch, the last one first; it follows the log. It restores the
    data if each addition added something and each deletion deleted something.

    $ jelly patch invert change.jellyp -o undo.jellyp
    """
    from ..patch import write_patches
    from ..patch.logs import invert_log

    form, dst = target.open_log()
    with reading.patches([log], "invert") as patches:
        write_patches(invert_log(patches), dst, format=form)


@app.register
def compact(logs: list[str], *, target: Target, reading: Reading, exact: bool = False) -> None:
    """Write one patch with the same effect as a log.

    Several logs count as one, in their order.

    $ jelly patch compact change.jellyp undo.jellyp -o both.jellyp

    :param exact: Omit what is added and deleted again. Correct only if each addition added
        something and each deletion deleted something.
    """
    from ..patch import compact as compact_
    from ..patch import write_patches

    form, dst = target.open_log()
    with reading.patches(logs, "compact") as patches:
        write_patches([compact_(patches, exact=exact)], dst, format=form)


# At the end of a log


@dataclass(frozen=True, kw_only=True)
class Patches:
    """Which patches are undone or redone.

    :ivar count: number of patches, 1 by default.
    :ivar to: go to the state after the patch with this id.
    """

    count: Positive | None = None
    to: Annotated[str | None, Parsed("ID")] = None

    def append(self, name: str, log: str, as_json: bool) -> None:
        """Append patches to a log.

        :param name: of the function that does so; their header ``undoes`` or ``redoes`` has the id
            of another patch.
        """
        if log == STANDARD:
            raise UsageError("a log to append to is a file")
        if self.count is not None and self.to is not None:
            raise UsageError("--count and --to exclude each other")
        console.require_files([log])
        from .. import patch

        appended = getattr(patch, name)(log, **vars(self), limits=limits())
        for each in appended:
            about = _shown(each.header(f"{name}es"))
            console.line({"patch": _shown(each.id), f"{name}es": about}, as_json)
        if not appended and not as_json:
            print("nothing to append")


@app.register
def undo(log: str, *, patches: Patches, json: bool = False) -> None:
    """Undo the newest patches of a log, by appending.

    The patches appended are the inverses. Followers of the log undo the patches too. A second undo
    goes further back. No recorder may have the log open.

    $ jelly patch undo change.jellyp

    :param log: File of Jelly-Patch or RDF Patch text, to which patches are appended.
    """
    patches.append("undo", log, json)


@app.register
def redo(log: str, *, patches: Patches, json: bool = False) -> None:
    """Redo patches that were undone, by appending them.

    The last undone come first. What was undone can be redone until another patch is appended.

    $ jelly patch redo change.jellyp

    :param log: File of Jelly-Patch or RDF Patch text, to which patches are appended.
    """
    patches.append("redo", log, json)


# To read


@app.register
def show(log: str, *, summary: bool = False, json: bool = False, reading: Reading) -> None:
    """Print a log as RDF Patch text.

    $ jelly patch show change.jellyp

    :param summary: Print a line for each patch only.
    :param json: Print one line of JSON per patch, with its counts.
    """
    from ..patch.rows import WriteSettings
    from ..patch.text_rows import PatchTextWriter

    with reading.patches([log], "show", printing=True) as patches:
        for number, patch in enumerate(patches, 1):
            if json or summary:
                rows = Counter(kind.code for kind, _ in patch.rows())
                # The rows may have brought headers.
                ids = {"id": _shown(patch.id), "prev": _shown(patch.prev)}
                console.line({"patch": number, **ids, "rows": rows}, json)
                continue
            print(f"# patch {number}")
            writer = PatchTextWriter(WriteSettings(generalized=True))
            for row in patch.rows():
                text = writer.row(row).decode().removesuffix("\n")
                print(console.printable(text))


def _shown(term: Any) -> str | None:
    from ..codec.text.ntriples import term_text

    return None if term is None else term_text(term)


@app.register
def check(log: str, *, reading: Reading, strict: bool = False, json: bool = False) -> None:
    """Check a log: its syntax, the order of its rows, its chain.

    In a chain, the header prev of each patch names the patch before it.
    Known deviations of other tools from the specification are reported.
    Exit code 0: no problems; 1: problems.

    $ jelly patch check change.jellyp
    """
    from ..patch import check as check_

    with console.open_sources([log], "check") as [opened]:
        report = check_(
            opened,
            format=reading.from_,
            generalized=reading.generalized,
            strict=strict,
            limits=limits(),
        )
    ids = {name: _shown(getattr(report, name)) for name in ("first_id", "first_prev", "last_id")}
    rows = {kind.code: number for kind, number in report.rows.items()}
    console.report(report, json, **ids, rows=rows, valid=bool(report))
    if not report:
        raise Exit(1)
