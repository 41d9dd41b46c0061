"""Options that several commands have, and what groups of commands do without one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from enum import StrEnum
from typing import Annotated, Any, Final, TypeAlias

import typer

from ..codec import DEFAULT_LIMITS, Limits
from ..formats.names import FORMAT_NAMES, Format, did_you_mean, format_named
from ..messages.formats import Dialect, LogFormat, format_of, syntax_named
from ..sparql import formats as results
from ..sparql.formats import ResultsFormat
from .console import WrongUsageError

EXIT_USAGE: Final = 2


class Preset(StrEnum):
    BIG = "big"
    SMALL = "small"


class BlankNodesChoice(StrEnum):
    FRESH = "fresh"
    KEEP = "keep"


#: How help texts show the choice of a format; and with those of message logs alone.
FORMATS = f"[{'|'.join(Format)}]"
ANY_FORMATS = f"[{'|'.join(dict.fromkeys((*Format, *LogFormat, *ResultsFormat)))}]"
RESULTS_FORMATS = f"[{'|'.join(ResultsFormat)}]"


def parse_format(name: str) -> Format:
    """A format by its file ending or its title, for an option."""
    try:
        return format_named(name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def parse_any_format(name: str) -> str:
    """A format of statements, of message logs or of results, for an option; its short name."""
    try:
        return format_named(name)
    except ValueError:
        pass
    try:
        return syntax_named(name).format
    except ValueError:
        pass
    try:
        return results.format_named(name)
    except ValueError:
        hint = did_you_mean(name.lower(), [*FORMAT_NAMES, *LogFormat, *ResultsFormat])
        raise typer.BadParameter(
            f"{name!r} is none of the formats {ANY_FORMATS[1:-1]}{hint}"
        ) from None


def completion(names: Iterable[str]) -> Callable[[str], list[str]]:
    """What a shell offers for what was typed of some names.

    >>> completion(Format)("j")
    ['jelly', 'jelly-text', 'jsonld']
    """
    known = [str(each) for each in dict.fromkeys(names)]
    return lambda incomplete: [each for each in known if each.startswith(incomplete.lower())]


def log_format(name: str, given: str | None, option: str = "--from") -> LogFormat:
    """The syntax of a message log: the requested one, or by file name."""
    if given is not None and given not in set(LogFormat):
        raise WrongUsageError(f"{given} is not a syntax of message logs")
    told = format_of(name) if given is None else LogFormat(given)
    if told is None:
        raise WrongUsageError(f"the syntax of {name} is not known: {option} names it")
    return told


def plain_format(name: str | None) -> Format | None:
    """The format of a name, where no message log is meant."""
    try:
        return None if name is None else Format(name)
    except ValueError:
        if name in set(ResultsFormat):
            raise WrongUsageError(f"{name} is a format of query results") from None
        raise WrongUsageError(f"{name} is a syntax of message logs: --messages") from None


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_size(text: str) -> int:
    """A number of bytes, at least one, for an option.

    >>> parse_size("64M")
    67108864
    """
    unit = text[-1:].upper() if text[-1:].isalpha() else ""
    number = text[: len(text) - len(unit)]
    if not (number.isascii() and number.isdecimal() and unit in _UNITS and int(number)):
        raise typer.BadParameter(f"{text!r} is not a size such as 500K, 64M or 1G")
    return int(number) * _UNITS[unit]


def help_without_command(ctx: typer.Context) -> None:
    """The callback of a group: none of its commands is wrong usage, and shows which there are."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        raise typer.Exit(EXIT_USAGE)


SourceArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="SRC", help="Jelly file, compressed or not; - for stdin.")
]
Output: TypeAlias = Annotated[
    str,
    typer.Option("--output", "-o", metavar="DST", help="Where to write; - for stdout."),
]
Force: TypeAlias = Annotated[
    bool, typer.Option("--force", "-f", help="Replace the output if it exists.")
]
Strict: TypeAlias = Annotated[
    bool,
    typer.Option("--strict", help="Reject known deviations from the specification."),
]
Rdf12: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--rdf-12/--no-rdf-12",
        help="Write quoted triples to text as <<( )>> of RDF 1.2, or as << >> of RDF-star.",
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
From: TypeAlias = Annotated[
    Format | None,
    typer.Option(
        "--from",
        parser=parse_format,
        autocompletion=completion(Format),
        metavar=FORMATS,
        help="Format of the source; by default from its name.",
    ),
]
FromLog: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--from",
        parser=parse_any_format,
        autocompletion=completion((*Format, *LogFormat, *ResultsFormat)),
        metavar=ANY_FORMATS,
        help="Format of the source; by default from its name.",
    ),
]
FromDialect: TypeAlias = Annotated[
    Dialect | None,
    typer.Option("--from-dialect", help="Delimiters of the input message log."),
]
ContextFiles: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="IRI=FILE",
        help="Local file for a remote JSON-LD context of a message log. None is fetched.",
    ),
]
StoreFolder: TypeAlias = Annotated[
    str, typer.Option("--store", metavar="DIR", help="Folder of the Oxigraph store.")
]
Base: TypeAlias = Annotated[
    str | None, typer.Option("--base", metavar="IRI", help="Base IRI for relative IRIs.")
]
FrameRows: TypeAlias = Annotated[
    int | None, typer.Option("--frame-rows", min=1, help="Rows per frame.")
]
FrameBytes: TypeAlias = Annotated[
    int | None, typer.Option("--frame-bytes", min=1, help="Bytes per frame.")
]
TablePreset: TypeAlias = Annotated[
    Preset | None, typer.Option("--preset", help="Table sizes of the Jelly written.")
]
TableNames: TypeAlias = Annotated[
    int | None, typer.Option("--table-names", min=8, help="Entries of the name table.")
]
TablePrefixes: TypeAlias = Annotated[
    int | None, typer.Option("--table-prefixes", min=0, help="Entries of the prefix table.")
]
TableDatatypes: TypeAlias = Annotated[
    int | None, typer.Option("--table-datatypes", min=0, help="Entries of the datatype table.")
]
Concatenated: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--concatenated", help="Treat options at a frame's start as a new stream, as after cat."
    ),
]
LimitSettings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="NAME=NUMBER",
        help="Override an input limit. Names and defaults: "
        + ", ".join(f"{f.name}={getattr(DEFAULT_LIMITS, f.name)}" for f in fields(Limits))
        + ".",
    ),
]


def parse_results_format(name: str) -> ResultsFormat:
    """A format of query results by its file ending, title or media type, for an option."""
    try:
        return results.format_named(name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def limits_from(settings: list[str] | None, usual: Limits = DEFAULT_LIMITS) -> Limits:
    """The limits that ``--limit`` options set, the others as ``usual``.

    >>> limits_from(["nesting=3"]).nesting
    3
    """
    known = {field.name for field in fields(Limits)}
    asked: dict[str, int] = {}
    for setting in settings or ():
        name, _, value = setting.partition("=")
        if name not in known:
            hint = did_you_mean(name, known) or f": there are {', '.join(sorted(known))}"
            raise WrongUsageError(f"--limit {setting}: unknown limit {name!r}{hint}")
        if not value.isdecimal():
            told = f"{value!r} is not a number, and " if value else ""
            raise WrongUsageError(f"--limit {setting}: {told}NAME=NUMBER is needed")
        asked[name] = int(value)
    try:
        return replace(usual, **asked)
    except ValueError as error:
        raise WrongUsageError(f"--limit: {error}") from error


def contexts_from(files: list[str] | None) -> dict[str, Any] | None:
    """The JSON-LD contexts that ``--context`` options name; None if there is no such option."""
    if not files:
        return None
    contexts = {}
    for given in files:
        name, _, iri = given[::-1].partition("=")
        if not iri:
            raise WrongUsageError(f"--context {given}: IRI=FILE is needed")
        try:
            with open(name[::-1], "rb") as file:
                contexts[iri[::-1]] = json.load(file)
        except ValueError as error:
            raise WrongUsageError(f"--context {given}: {error}") from error
    return contexts
