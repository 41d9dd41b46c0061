"""Options that several commands share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, Final, TypeAlias

import click

from ..codec.text.ntriples import Notation
from ..formats.settings import Frames
from ..io.names import FORMAT_NAMES, Format, did_you_mean, format_named
from ..io.names import format_of as rdf_format_of
from ..messages.formats import LogFormat, format_of, syntax_named
from ..sparql import formats as results
from ..sparql.formats import ResultsFormat
from .console import WrongUsageError
from .options import Argument, Option

#: What finds a format by a name, for each kind of format.
_NAMED: Final[dict[type[StrEnum], Callable[[str], str]]] = {
    Format: format_named,
    LogFormat: lambda name: syntax_named(name).format,
    ResultsFormat: results.format_named,
}


def format_option(flag: str, text: str, *kinds: type[StrEnum]) -> Any:
    """An option whose value is the name of a format.

    :param text: of the help.
    :param kinds: the formats that it may be of; of a name that several have, the first counts.
    """
    known = list(dict.fromkeys(str(each) for kind in kinds for each in kind))

    def parse(name: str) -> str:
        for kind in kinds:
            try:
                return _NAMED[kind](name)
            except ValueError as error:
                message = str(error)
        if len(kinds) > 1:
            hint = did_you_mean(name.lower(), [*FORMAT_NAMES, *known])
            message = f"{name!r} is not one of the formats {'|'.join(known)}{hint}"
        raise click.BadParameter(message)

    return Option(
        flag,
        parser=parse,
        choices=tuple(known),
        metavar=f"[{'|'.join(known)}]",
        help=text,
    )


def source_format(name: str, given: str | None) -> Format:
    """The format of a source: the requested one, or by file name, or Jelly."""
    if given is None:
        return rdf_format_of(name) or Format.JELLY
    if given not in set(Format):
        raise WrongUsageError(f"{given} is not a format of RDF")
    return Format(given)


def log_format(name: str, given: str | None, option: str = "--from") -> LogFormat:
    """The syntax of a message log: the requested one, or by file name."""
    if given is not None and given not in set(LogFormat):
        raise WrongUsageError(f"{given} is not a syntax of message logs")
    requested = format_of(name) if given is None else LogFormat(given)
    if requested is None:
        raise WrongUsageError(f"the syntax of {name} is not known: {option} names it")
    return requested


_FRAMES: Final = re.compile(r"(?P<only>\d+)|(?P<first>\d*)\.\.(?P<last>=\d+|\d*)", re.ASCII)


def parse_frames(text: str) -> Frames:
    """A range of frames, as jelly-cli has them.

    >>> parse_frames("5..10"), parse_frames("..=3"), parse_frames("7")
    (Frames(first=5, last=9), Frames(first=0, last=3), Frames(first=7, last=7))
    """
    found = _FRAMES.fullmatch(text)
    if found is None:
        raise click.BadParameter(f"{text!r} is not a range such as 5, 5..10, 5..=10, 5.. or ..10")
    if found["only"]:
        return Frames(int(found["only"]), int(found["only"]))
    last = found["last"]
    first = int(found["first"] or 0)
    end = int(last[1:]) if last.startswith("=") else int(last) - 1 if last else None
    if end is not None and end < first:
        raise click.BadParameter(f"{text!r} has no frames")
    return Frames(first, end)


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_size(text: str | int) -> int:
    """A number of bytes, at least one, for an option.

    :param text: a number of an option's default is kept.

    >>> parse_size("64M")
    67108864
    """
    if isinstance(text, int):
        return text
    unit = text[-1:].upper() if text[-1:].isalpha() else ""
    number = text[: len(text) - len(unit)]
    if not (number.isascii() and number.isdecimal() and unit in _UNITS and int(number)):
        raise click.BadParameter(f"{text!r} is not a size such as 500K, 64M or 1G")
    return int(number) * _UNITS[unit]


SourceArgument: TypeAlias = Annotated[
    str, Argument(metavar="SRC", help="Jelly file, compressed or not; - for stdin.")
]
Output: TypeAlias = Annotated[
    str,
    Option("--output", "-o", metavar="DST", help="Where to write; - for stdout."),
]
Force: TypeAlias = Annotated[bool, Option("--force", "-f", help="Replace the output if it exists.")]
Strict: TypeAlias = Annotated[
    bool,
    Option("--strict", help="Reject known deviations from the specification."),
]
Rdf12: TypeAlias = Annotated[
    bool,
    Option(
        "--rdf-12/--no-rdf-12",
        help="Write quoted triples to text as <<( )>> of RDF 1.2, or as << >> of RDF-star.",
    ),
]
AsJson: TypeAlias = Annotated[bool, Option("--json", help="Print JSON.")]
From: TypeAlias = Annotated[
    Format | None,
    format_option("--from", "Format of the source; by default from its name.", Format),
]
FromLog: TypeAlias = Annotated[
    str | None,
    format_option(
        "--from",
        "Format of the source; by default from its name.",
        Format,
        LogFormat,
        ResultsFormat,
    ),
]
ContextFiles: TypeAlias = Annotated[
    list[str] | None,
    Option(
        "--context",
        metavar="URL=FILE",
        help="Local file for a remote context of JSON-LD. None is fetched.",
    ),
]
StoreFolder: TypeAlias = Annotated[
    str, Option("--store", metavar="DIR", help="Folder of the Oxigraph store.")
]
Base: TypeAlias = Annotated[
    str | None, Option("--base", metavar="IRI", help="Base IRI for relative IRIs.")
]
Prefixes: TypeAlias = Annotated[
    list[str] | None,
    Option("--prefix", metavar="NAME=IRI", help="Prefix to declare in the output."),
]


def notation(rdf_12: bool) -> Notation:
    """How quoted triples are written."""
    return Notation.RDF_1_2 if rdf_12 else Notation.RDF_STAR


def prefixes_from(given: list[str] | None) -> dict[str, str]:
    """The prefixes that ``--prefix`` options declare, IRI by name.

    >>> prefixes_from(["ex=http://example.org/"])
    {'ex': 'http://example.org/'}
    """
    prefixes = {}
    for each in given or ():
        name, equals, iri = each.partition("=")
        if not equals or ":" not in iri:
            raise WrongUsageError(f"--prefix {each}: NAME=IRI is needed")
        prefixes[name.removesuffix(":")] = iri
    return prefixes


def contexts_from(files: list[str] | None) -> dict[str, Any] | None:
    """The JSON-LD contexts that ``--context`` options name; None if there is no such option."""
    if not files:
        return None
    contexts = {}
    for given in files:
        name, _, iri = given[::-1].partition("=")
        if not iri:
            raise WrongUsageError(f"--context {given}: URL=FILE is needed")
        try:
            with open(name[::-1], "rb") as file:
                contexts[iri[::-1]] = json.load(file)
        except ValueError as error:
            raise WrongUsageError(f"--context {given}: {error}") from error
    return contexts
