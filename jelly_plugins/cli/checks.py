"""``jelly inspect``: the structure of a stream. ``jelly validate``: whether a stream is valid, and
its statements those of RDF files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

from click import UsageError
from click.exceptions import Exit

from ..errors import JellyError, TextError
from ..io.sources import Format, format_of
from ..sparql.formats import ResultsFormat
from ..tools import ValidationSettings
from . import console
from .console import STANDARD
from .convert import (
    AnyFormat,
    ValidatedFormat,
    are_results,
    log_format,
    open_results,
    rdf_format,
)
from .options import File, RdfFormat, limits, reject_options, reject_others

if TYPE_CHECKING:
    from ..tools.inspection import FrameReport
    from ..tools.validation import Expected

#: Types of columns of query results, by their fields in a frame.
_TYPES: Final = {7: "iri", 8: "bnode", 9: "literal", 10: "mixed"}
#: Parameters that apply to whatever is inspected.
_OF_ALL: Final = ("source", "json", "from_")


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
        reject_others("message logs", *_OF_ALL, "messages", "contexts", "base")
        _inspect_messages(source, log_format(source, from_), json, contexts)
        return
    if are_results((source,), from_):
        reject_others("query results", *_OF_ALL, "frames")
        _inspect_results(source, from_, json, frames)
        return
    form = (rdf_format(from_) if from_ else format_of(source)) or Format.JELLY
    if form is Format.JELLY:
        reject_others("Jelly", *_OF_ALL, "frames", "concatenated", "base")
        _inspect_jelly(source, json, frames, concatenated)
    else:
        reject_others("text", *_OF_ALL, "base")
        _inspect_text(source, form, json, base)


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
                "rows": counts["rows"],
                # In other formats a frame is a batch of the reader.
                **(counts if results.format is ResultsFormat.JELLY else {}),
                "options": results.options,
                "variables": {name: " ".join(sorted(each)) for name, each in columns.items()},
            },
            as_json,
        )


def validate(
    source: str,
    *,
    against: list[File] = [],  # noqa: B006
    against_format: RdfFormat | None = None,
    from_: ValidatedFormat | None = None,
    frames: bool = False,
    json: bool = False,
    settings: Annotated[ValidationSettings, "ordered", "base", "terms", "concatenated", "strict"],
) -> None:
    """Check an RDF file, and compare it with other RDF files.

    The source is read strictly to its end. Without --ordered, RDF graphs or datasets are compared;
    blank nodes are mapped either way. Exit code 0: valid and equal; 1: not. Query results
    (Jelly-SPARQL and other formats) are read to their end.

    $ jelly validate data.jelly.gz
    $ jelly validate data.jelly.gz --against data.nt
    $ jelly validate data.jelly.gz --terms

    :param against: RDF file that the stream must be equal to. With --frames, one file for each
        frame in order, or a folder of such files, taken by name.
    :param against_format: Format of those files; by default from their names.
    :param frames: Print one line per frame; compare frame by frame.
    """
    if are_results((source,), from_):
        reject_others("query results", "source", "json", "from_")
        _validate_results(source, from_, json)
        return
    form = (rdf_format(from_) if from_ else format_of(source)) or Format.JELLY
    if form not in (Format.JELLY, Format.JELLY_TEXT) and (frames or settings.concatenated):
        raise UsageError(f"--frames and --concatenated apply to Jelly, not to {form}")
    if not against:
        reject_options("a file without --against", "ordered", "against_format")
    files = _expected(against, against_format, frames)
    from ..tools.inspection import options_as_dict
    from ..tools.validation import FrameValidation, validate_frames
    from ..tools.validation import validate as validate_

    def show(frame: FrameValidation) -> None:
        comparison: Any = frame.comparison
        if comparison is not None and not json:
            comparison = comparison.reason or "the same"
        shown = {"statements": frame.statements, "comparison": comparison}
        console.line({"frame": frame.index, **shown}, json)

    shared: dict[str, Any] = {"settings": settings, "on_frame": show if frames else None}
    with (
        _errors_as_json(json),
        console.open_sources([source], "validate", printing=frames) as [opened],
    ):
        if frames and against:
            result = validate_frames(opened, files, **shared)
        else:
            expected = files[0] if files else None
            result = validate_(opened, form=form, against=expected, **shared)
    options = None if result.options is None else options_as_dict(result.options)
    console.report(result, json, valid=not result.deviations, options=options)
    differs = result.comparison is not None and not result.comparison
    if result.deviations or result.bad_terms or differs:
        raise Exit(1)


def _expected(names: list[str], form: Format | None, frames: bool) -> list[Expected]:
    """The files to compare with, and their formats."""
    if not frames and len(names) > 1:
        raise UsageError("several --against need --frames, one for each frame")
    expected: list[Expected] = []
    for name in names:
        if name == STANDARD:
            raise UsageError("--against: a file is needed, not stdin")
        paths = [name]
        if os.path.isdir(name):
            if not frames:
                raise UsageError(f"{name} is a folder: folders need --frames")
            files = [each for each in sorted(os.listdir(name)) if format_of(each)]
            paths = [os.path.join(name, each) for each in files if format_of(each) != Format.JELLY]
            if not paths:
                raise UsageError(f"{name} has no RDF files")
        for path in paths:
            found = console.known(form or format_of(path), path, "--against-format")
            expected.append((path, found))
    return expected


def _validate_results(source: str, given: str | None, as_json: bool) -> None:
    """Read query results to their end."""
    with (
        _errors_as_json(as_json),
        console.open_sources([source], "validate") as [opened],
        open_results(opened, source, given) as results,
    ):
        rows = sum(frame.rows for frame in results.frames())
    console.report(
        {
            "source": results.name,
            "format": results.format,
            "compression": results.compression,
            "variables": results.variables,
            "boolean": results.boolean,
            "solutions": rows,
            "valid": True,
        },
        as_json,
    )


@contextmanager
def _errors_as_json(as_json: bool) -> Iterator[None]:
    """Print an error for programs, too."""
    try:
        yield
    except JellyError as error:
        if as_json:
            places = ["message", "source", "frame", "row"]
            if isinstance(error, TextError):
                places += ["line", "column"]
            found = {"type": type(error).__name__} | {it: getattr(error, it) for it in places}
            console.report({"valid": False, "error": found}, as_json)
        raise
