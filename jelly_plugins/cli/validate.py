"""``jelly validate``: check a stream, and compare its statements with those of RDF files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from click import UsageError
from click.exceptions import Exit

from ..errors import JellyError
from ..io.sources import Format, format_of
from ..tools import ValidationSettings
from . import console
from .console import STANDARD
from .convert import are_results, open_results
from .options import File, RdfFormat, given_options

if TYPE_CHECKING:
    from ..tools.validation import Expected


def validate(
    source: str,
    *,
    against: list[File] = [],  # noqa: B006
    from_: RdfFormat | None = None,
    format_: RdfFormat | None = None,
    frames: bool = False,
    json: bool = False,
    settings: Annotated[
        ValidationSettings, "ordered", "base", "held_by", "terms", "concatenated", "strict"
    ],
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
    :param from_: Format of those files; by default from their names.
    :param format_: Format of SRC; by default from its name.
    :param frames: Print one line per frame; compare frame by frame.
    :param held_by: Compare both as a backend (rdflib, oxigraph) stores them: it may rewrite terms.
    """
    if are_results((source,)):
        if given_options().keys() - {"source", "json"}:
            raise UsageError("query results can only be validated with --json")
        _validate_results(source, json)
        return
    if settings.held_by is not None and (settings.ordered or frames or not against):
        raise UsageError("--held-by needs --against, without --ordered and --frames")
    form = format_ or format_of(source) or Format.JELLY
    if form not in (Format.JELLY, Format.JELLY_TEXT) and (frames or settings.concatenated):
        raise UsageError(f"--frames and --concatenated apply to Jelly, not to {form}")
    files = _expected(against, from_, frames)
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
            found = form or format_of(path)
            if found is None:
                raise UsageError(f"the format of {path} is not known: --from names it")
            expected.append((path, found))
    return expected


def _validate_results(source: str, as_json: bool) -> None:
    """Read query results to their end."""
    with (
        _errors_as_json(as_json),
        console.open_sources([source], "validate") as [opened],
        open_results(opened, source, None) as results,
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
            places = {name: getattr(error, name) for name in ("message", "source", "frame", "row")}
            found = {"type": type(error).__name__, **places}
            console.report({"valid": False, "error": found}, as_json)
        raise
