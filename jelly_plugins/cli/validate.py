"""``jelly validate``: check a stream, and compare its statements with those of RDF files."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Annotated, Any, Final, TypeAlias

from click.exceptions import Exit

from ..backends import Backend, backend_names, get_backend
from ..codec.sparql.options import RESULTS_LIMITS
from ..errors import JellyError
from ..io.names import Format, format_of
from ..tools.inspection import options_as_dict
from ..tools.validation import (
    Expected,
    FrameValidation,
    Validation,
    ValidationSettings,
    validate_frames,
)
from ..tools.validation import validate as validate_
from . import console, results, settings
from .console import WrongUsageError
from .options import FieldOption, Fields, Option

FromOfFiles: TypeAlias = Annotated[
    Format | None,
    settings.format_option("--from", "Format of those files; by default from their names.", Format),
]
SourceFormat: TypeAlias = Annotated[
    Format | None,
    settings.format_option("--format", "Format of SRC; by default from its name.", Format),
]


def _backend(name: str | None) -> Backend | None:
    if name is None:
        return None
    try:
        return get_backend(name)
    except KeyError:
        names = ", ".join(backend_names())
        raise WrongUsageError(f"{name} is not one of the backends {names}") from None


_VALIDATION: Final = Fields(
    *("ordered", "base", "terms", "concatenated", "strict"),
    held_by=FieldOption(
        Annotated[
            str | None,
            Option(
                "--held-by",
                metavar="BACKEND",
                help="Compare both as a backend (rdflib, oxigraph) stores them: it may rewrite "
                "terms.",
            ),
        ],
        _backend,
    ),
)


def validate(
    source: settings.SourceArgument,
    against: Annotated[
        list[str] | None,
        Option(
            "--against",
            metavar="FILE",
            help="RDF file that the stream must be equal to. With --frames, one file for each "
            "frame in order, or a folder of such files, taken by name.",
        ),
    ] = None,
    from_: FromOfFiles = None,
    format_: SourceFormat = None,
    frames: Annotated[
        bool, Option("--frames", help="Print one line per frame; compare frame by frame.")
    ] = False,
    as_json: settings.AsJson = False,
    *,
    validation: Annotated[ValidationSettings, _VALIDATION],
) -> None:
    """Check an RDF file, and compare it with other RDF files.

    The source is read strictly to its end. Without --ordered, RDF graphs or datasets are compared;
    blank nodes are mapped either way. Exit code 0: valid and equal; 1: not. Query results
    (Jelly-SPARQL and other formats) are read to their end.
    """
    if results.are_meant([source], console.STANDARD, None, None):
        if against or frames or _VALIDATION.given(validation):
            raise WrongUsageError("query results can only be validated with --json")
        results.validate(source, as_json=as_json, limits=console.limits_from(RESULTS_LIMITS))
        return
    if validation.held_by is not None and (validation.ordered or frames or not against):
        raise WrongUsageError("--held-by needs --against, without --ordered and --frames")
    form = format_ or format_of(source) or Format.JELLY
    if form not in (Format.JELLY, Format.JELLY_TEXT) and (frames or validation.concatenated):
        raise WrongUsageError(f"--frames and --concatenated apply to Jelly, not to {form}")
    files = _expected(against or [], from_, frames)
    shared: dict[str, Any] = {
        "settings": validation,
        "on_frame": (_print_frame_json if as_json else _print_frame) if frames else None,
    }
    try:
        with console.open_sources([source], "validate", printing=frames) as [opened]:
            if frames and against:
                result = validate_frames(opened, files, **shared)
            else:
                result = validate_(
                    opened,
                    form=form,
                    against=files[0] if files else None,
                    **shared,
                )
    except JellyError as error:
        if as_json:
            console.print_json({"valid": False, "error": results.error_as_dict(error)})
        raise
    if as_json:
        console.print_json(_as_dict(result))
    else:
        _print_result(result)
    differs = result.comparison is not None and not result.comparison
    if result.deviations or result.bad_terms or differs:
        raise Exit(1)


def _expected(names: list[str], form: Format | None, frames: bool) -> list[Expected]:
    if not frames and len(names) > 1:
        raise WrongUsageError("several --against need --frames, one for each frame")
    paths: list[str] = []
    for name in names:
        if os.path.isdir(name):
            if not frames:
                raise WrongUsageError(f"{name} is a folder: folders need --frames")
            paths += _rdf_files(name)
        else:
            paths.append(name)
    expected: list[Expected] = []
    for path in paths:
        if path == console.STANDARD:
            raise WrongUsageError("--against: a file is needed, not stdin")
        found = form or format_of(path)
        if found is None:
            raise WrongUsageError(f"the format of {path} is not known: --from names it")
        expected.append((path, found))
    return expected


def _rdf_files(folder: str) -> list[str]:
    """The files of RDF text in a folder, by name."""
    names = sorted(os.listdir(folder))
    found = [name for name in names if format_of(name) not in (None, Format.JELLY)]
    if not found:
        raise WrongUsageError(f"{folder} has no RDF files")
    return [os.path.join(folder, name) for name in found]


def _print_frame(frame: FrameValidation) -> None:
    said = "missing" if frame.statements is None else console.counted(frame.statements, "statement")
    if frame.comparison is not None:
        said += ", the same" if frame.comparison else f", different: {frame.comparison.reason}"
    print(f"frame {frame.index}: {said}")


def _print_frame_json(frame: FrameValidation) -> None:
    fields = asdict(frame)
    console.print_json({"frame": fields.pop("index"), **fields})


def _print_result(result: Validation) -> None:
    said = "read" if result.deviations else "valid"
    statements = f"{result.source}: {said}, {console.counted(result.statements, 'statement')}"
    if result.format in (Format.JELLY, Format.JELLY_TEXT):
        print(
            f"{statements} in {console.counted(result.frames, 'frame')}, "
            f"physical type {result.options.physical_type.name}"
        )
    else:
        print(f"{statements}, format {result.format}")
    for message in result.deviations:
        print(f"deviation from the specification: {message}")
    for problem in result.term_problems:
        print(problem)
    if more := result.bad_terms - len(result.term_problems):
        print(f"and {console.counted(more, 'more problem')}")
    comparison = result.comparison
    if comparison is None:
        return
    if comparison:
        print("the same as expected")
        return
    print(f"different: {comparison.reason}")
    for sign, lines in (("-", comparison.missing), ("+", comparison.unexpected)):
        for line in lines:
            print(f"{sign} {line}")


def _as_dict(result: Validation) -> dict[str, Any]:
    fields = {"valid": not result.deviations, **asdict(result)}
    if result.format in (Format.JELLY, Format.JELLY_TEXT):
        return fields | {"options": options_as_dict(result.options)}
    for name in ("compression", "delimited", "options", "frames", "different_frames", "deviations"):
        del fields[name]
    return fields
