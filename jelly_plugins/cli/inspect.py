"""``jelly inspect``: report the structure of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from click import UsageError

from ..io.sources import Format, format_of
from . import console
from .convert import AnyFormat, are_results, log_format, open_results, rdf_format
from .options import given_options, limits

if TYPE_CHECKING:
    from ..tools.inspection import FrameReport

#: Types of columns of query results, by their fields in a frame.
_TYPES: Final = {7: "iri", 8: "bnode", 9: "literal", 10: "mixed"}


def inspect(
    source: str,
    *,
    frames: bool = False,
    json: bool = False,
    concatenated: bool = False,
    messages: bool = False,
    from_: AnyFormat | None = None,
    contexts: dict[str, Any] | None = None,
    base: str | None = None,
) -> None:
    """Show options, frames, rows by kind and sizes of a Jelly stream.

    With --json the report is one line of JSON; with --frames a line for each frame comes first.
    With --messages the messages of a log are counted, in Jelly or any other syntax. Of Jelly-SPARQL
    it shows variables, columns and rows; of files in other formats, statements and prefixes.

    $ jelly inspect data.jelly.gz
    $ jelly inspect data.jelly.gz --frames --json

    :param frames: Print one line per frame, as it is read.
    :param concatenated: Treat options at a frame's start as a new stream, as after cat.
    :param messages: Count the messages of a message log.
    """
    if messages:
        _only("message logs", "contexts", "from_", "base")
        _inspect_messages(source, log_format(source, from_), json, contexts)
        return
    if are_results((source,), from_):
        _only("query results", "frames", "from_")
        _inspect_results(source, from_, json, frames)
        return
    form = (rdf_format(from_) if from_ else format_of(source)) or Format.JELLY
    if form is Format.JELLY:
        _only("Jelly", "frames", "from_", "concatenated", "base")
        _inspect_jelly(source, json, frames, concatenated)
    else:
        _only("text", "from_", "base")
        _inspect_text(source, form, json, base)


def _only(what: str, *allowed: str) -> None:
    """Reject options that do not go with what is inspected."""
    for name, flag in given_options().items():
        if name not in (*allowed, "source", "json", "messages"):
            raise UsageError(f"{flag} does not apply to {what}")


def _inspect_jelly(source: str, as_json: bool, frames: bool, concatenated: bool) -> None:
    from ..tools.inspection import inspect as inspect_
    from ..tools.inspection import options_as_dict

    def show(frame: FrameReport) -> None:
        counts = {"statements": frame.statements, "size": frame.size, "rows": frame.rows}
        declared = {"graphs": frame.graphs, "namespaces": frame.namespaces}
        shown = {**counts, **declared, "metadata": frame.metadata}
        console.line({"frame": frame.index, **shown}, as_json)

    with console.open_sources([source], "inspect", printing=frames) as [opened]:
        report = inspect_(
            opened,
            limits=limits(),
            concatenated=concatenated,
            on_frame=show if frames else None,
        )
    console.report(
        report,
        as_json,
        options=options_as_dict(report.options),
        bytes_per_statement=report.bytes_per_statement,
    )


def _inspect_text(source: str, form: Format, as_json: bool, base: str | None) -> None:
    from ..tools.inspection import inspect_text

    with console.open_sources([source], "inspect") as [opened]:
        console.report(inspect_text(opened, form, base=base, limits=limits()), as_json)


def _inspect_messages(source: str, form: str, as_json: bool, contexts: Any) -> None:
    from ..messages import inspect_messages

    with console.open_sources([source], "inspect") as [opened]:
        report = inspect_messages(opened, format=form, contexts=contexts, limits=limits())
    console.report(report, as_json, quads_per_message=report.quads_per_message)


def _inspect_results(source: str, from_: str | None, as_json: bool, frames: bool) -> None:
    counts = {"frames": 0, "rows": 0, "size": 0}
    with (
        console.open_sources([source], "inspect", printing=frames) as [opened],
        open_results(opened, source, from_) as results,
    ):
        columns: dict[str, set[str]] = {name: set() for name in results.variables}
        for frame in results.frames():
            types = [_TYPES[number] for number in frame.types]
            for name, each in zip(results.variables, types, strict=False):
                columns[name].add(each)
            counts["frames"] += 1
            counts["rows"] += frame.rows
            counts["size"] += frame.size
            if frames:
                shown = {"rows": frame.rows, "size": frame.size, "columns": types}
                console.line({"frame": frame.index, **shown, "metadata": frame.metadata}, as_json)
        console.report(
            {
                "source": results.name,
                "format": results.format,
                "compression": results.compression,
                "boolean": results.boolean,
                **counts,
                "options": results.options,
                "variables": {name: " ".join(sorted(each)) for name, each in columns.items()},
            },
            as_json,
        )
