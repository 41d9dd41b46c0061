"""``jelly convert``: RDF, message logs and query results from format to format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from click import UsageError

from ..formats.settings import ConversionSettings, OptionChanges
from ..io.sources import ENDINGS, Format, format_named, format_of
from ..messages.formats import Dialect, LogFormat, syntax_named
from ..messages.formats import format_of as log_format_of
from ..sparql.formats import ResultsFormat
from ..sparql.formats import format_named as results_format_named
from ..sparql.formats import format_of as results_format_of
from . import console
from .console import STANDARD, Output
from .options import FormatType, limits, reject_options, reject_others

if TYPE_CHECKING:
    from ..sparql import ResultsReader

AnyFormat: TypeAlias = Annotated[
    str,
    FormatType(
        {
            Format: format_named,
            LogFormat: lambda name: syntax_named(name).format,
            ResultsFormat: results_format_named,
        }
    ),
]

#: What ``jelly validate`` reads.
ValidatedFormat: TypeAlias = Annotated[
    str, FormatType({Format: format_named, ResultsFormat: results_format_named})
]

#: Options that apply to message logs, and to query results, beside those of every conversion.
_OF_MESSAGES: Final = (
    *("preset", "physical_type", "logical_type", "stream_name", "rdf_star"),
    *("base", "notation", "contexts", "to_dialect"),
)
_OF_RESULTS: Final = ("stream_name", "frame_rows")
#: What applies where Jelly is written.
_OF_JELLY: Final = (
    *("preset", "physical_type", "logical_type", "flat", "stream_name"),
    *("frame_rows", "restart_every", "delimited"),
)
_OF_ALL: Final = ("sources", "output", "from_", "to", "force", "messages")


@dataclass(frozen=True, kw_only=True)
class Formats(Output):
    """Where is written, and the formats that the command line names.

    :ivar messages: convert between message logs, in any syntax.
    :ivar to_dialect: delimiters of the output message log.
    """

    from_: AnyFormat | None = None
    to: AnyFormat | None = None
    messages: bool = False
    to_dialect: Dialect | None = None

    def open_sources(self, sources: list[str]) -> AbstractContextManager[list[Any]]:
        printing = self.output == STANDARD
        return console.open_sources(sources, "convert", printing=printing)


def convert(
    sources: list[str],
    *,
    formats: Formats,
    changes: Annotated[
        OptionChanges,
        *("preset", "physical_type", "logical_type", "flat", "stream_name"),
        *("generalized_statements", "rdf_star"),
    ],
    conversion: Annotated[
        ConversionSettings,
        *("frame_rows", "base", "blank_nodes", "concatenated", "lossy", "strict", "take_frames"),
        *("restart_every", "namespaces", "delimited", "notation", "contexts"),
    ],
) -> None:
    """Convert between Jelly and other RDF formats.

    Also converts Jelly to other Jelly, and merges several files of any formats into one. Formats
    are detected from the file names (.gz, .bz2 and .zst compress). Memory use is constant.
    jelly-text is Jelly in the text form of Protocol Buffers. With --messages the files are RDF
    Message Logs: N-Triples, N-Quads, Turtle, TriG, NDJSON-LD, YAML-LD, RDF/XML or Jelly. Results of
    SPARQL queries become other results: jellys (Jelly-SPARQL), srt, srp, srj, srx, tsv, csv.

    $ jelly convert data.nt -o data.jelly.gz
    $ jelly convert data.jelly.gz --to turtle
    $ jelly convert data.nt -o data.ttl
    $ jelly convert data.nt data.ttl data.jelly.gz -o all.jelly --frame-rows 5
    $ jelly convert all.jelly --to jelly-text
    $ jelly convert data.ttl -o one.jelly --no-delimited --preset small

    :param sources: Files, compressed or not; - for stdin. Several become one.
    :param to: Format to write; by default from the output's name, or nq or jelly.
    :param rdf_star: Declare quoted triples, and read << s p o >> of N-Triples and N-Quads.
    :param namespaces: Keep the prefixes of the sources.
    :param delimited: Write a length before each frame of Jelly, or one frame without a length.
    """
    last = sources[-1]
    to_stdout = formats.output == STANDARD
    if to_stdout and len(sources) > 1 and format_of(last) and not os.path.exists(last):
        raise UsageError(f"{last} does not exist; to write it, use -o {last}")
    chosen = replace(conversion, changes=changes)
    if formats.messages:
        reject_others("message logs", *_OF_MESSAGES, *_OF_ALL)
        _convert_messages(_only(sources, "message log"), formats, chosen)
    elif formats.to_dialect is not None:
        raise UsageError("--to-dialect needs --messages")
    elif are_results((*sources, formats.output), formats.from_, formats.to):
        reject_others("query results", *_OF_RESULTS, *_OF_ALL)
        _convert_results(_only(sources, "file of query results"), formats, chosen)
    else:
        _convert(sources, formats, chosen)


def _only(sources: list[str], what: str) -> str:
    if len(sources) != 1:
        raise UsageError(f"only one {what} can be converted at a time")
    return sources[0]


def _convert(sources: list[str], given: Formats, chosen: ConversionSettings) -> None:
    from ..formats.convert import convert as convert_

    formats, target = _formats(sources, given)
    if chosen.take_frames and not {Format.JELLY, Format.JELLY_TEXT}.issuperset(formats):
        raise UsageError("--take-frames applies to Jelly only")
    if target not in (Format.JELLY, Format.JELLY_TEXT):
        reject_options(f"{target} as the output", *_OF_JELLY)
    if target not in (Format.N_TRIPLES, Format.N_QUADS):
        reject_options(f"{target} as the output", "notation")
    dst = given.open(binary=target.is_binary)
    with given.open_sources(sources) as opened:
        result = convert_(opened, dst, source_format=formats, target_format=target, settings=chosen)
    _note_omitted(result.left_out, target)


def _formats(sources: list[str], given: Formats) -> tuple[list[Format], Format]:
    """The formats of the sources and of the output: those that are given, or that their names have,
    or the only ones that make sense."""
    from_ = None if given.from_ is None else rdf_format(given.from_)
    target = format_of(given.output) if given.to is None else rdf_format(given.to)
    if target is None:
        known = f"known are {', '.join(ENDINGS)}; --to names a format"
        given.reject_ending(f"{known}; jelly patch writes logs of patches")
    found = [from_ or format_of(name) for name in sources]
    if target is Format.JELLY and None in found:
        console.known(None, sources[found.index(None)])
    formats = [each or Format.JELLY for each in found]
    if target is None and len(set(formats)) > 1:
        # A name that was mistyped has another ending, too.
        console.require_files(sources)
        raise UsageError(
            "sources of several formats: give the output with -o, or its format with --to"
        )
    one_jelly = len(formats) == 1 and formats[0].is_binary
    return formats, target or (Format.N_QUADS if one_jelly else Format.JELLY)


def rdf_format(name: str) -> Format:
    """The format of RDF that an option names."""
    if name in set(ResultsFormat):
        raise UsageError(f"{name} is a format of query results")
    if name not in set(Format):
        raise UsageError(f"{name} is a syntax of message logs: --messages")
    return Format(name)


def log_format(name: str, given: str | None, option: str = "--from") -> LogFormat:
    """The syntax of a message log: the requested one, or by file name."""
    if given is not None and given not in set(LogFormat):
        raise UsageError(f"{given} is not a syntax of message logs")
    return console.known(log_format_of(name) if given is None else LogFormat(given), name, option)


def _convert_messages(name: str, given: Formats, chosen: ConversionSettings) -> None:
    from ..messages import convert_messages
    from ..messages.text import log_options

    source = log_format(name, given.from_)
    target = log_format(given.output, given.to, "--to")
    options = chosen.changes.applied(log_options(graphs=source.has_graphs))
    if not options.grouped:
        raise UsageError("the --logical-type of a message log must be one of graphs or datasets")
    dst = given.open(binary=target is LogFormat.JELLY)
    with given.open_sources([name]) as [opened]:
        result = convert_messages(
            opened,
            dst,
            source_format=source,
            target_format=target,
            base=chosen.base,
            contexts=chosen.contexts,
            options=options,
            notation=chosen.notation,
            limits=chosen.limits,
            target_dialect=given.to_dialect,
        )
    _note_omitted(result.left_out, target)


def _note_omitted(left_out: Mapping[str, int], target: str) -> None:
    for what, number in left_out.items():
        console.note(f"{target} cannot express {what}: {number:,} omitted")


def are_results(names: tuple[str, ...], *formats: str | None) -> bool:
    """Whether a command line is about query results: by a format that it names, or else by the
    name of a file."""
    requested = set(formats) - {None}
    if requested:
        return not requested.isdisjoint(ResultsFormat)
    return any(map(results_format_of, names))


def open_results(source: Any, name: str, given: str | None) -> ResultsReader:
    """A reader of query results, whose format is given or follows from the name of the file."""
    from ..codec.sparql.options import RESULTS_LIMITS
    from ..sparql import ResultsReader

    return ResultsReader(source, format=_results_format(name, given), limits=limits(RESULTS_LIMITS))


def _results_format(name: str, given: str | None) -> ResultsFormat | None:
    if given is None:
        return None if name == STANDARD else results_format_of(name)
    if given not in set(ResultsFormat):
        raise UsageError(f"{given} is not a format of query results")
    return ResultsFormat(given)


def _convert_results(name: str, given: Formats, chosen: ConversionSettings) -> None:
    from ..codec.sparql.encoder import DEFAULT_FRAME_CELLS
    from ..codec.sparql.options import RESULTS_LIMITS
    from ..sparql import ResultsOptions, write_boolean, write_results

    target = _results_format(given.output, given.to)
    if target is None:
        if given.output != STANDARD:
            raise UsageError(f"the format of {given.output} is not one of query results: --to")
        source_format = _results_format(name, given.from_)
        binary = source_format is not None and source_format.is_binary
        target = ResultsFormat.JSON if binary else ResultsFormat.JELLY
    dst = given.open(binary=target.is_binary)
    options = ResultsOptions(stream_name=chosen.changes.stream_name or "")
    with given.open_sources([name]) as [opened], open_results(opened, name, given.from_) as results:
        if results.boolean is not None:
            write_boolean(results.boolean, dst, format=target, options=options)
            return
        width = max(1, len(results.variables))
        write_results(
            results.variables,
            results,
            dst,
            format=target,
            options=options,
            frame_cells=chosen.frame_rows * width if chosen.frame_rows else DEFAULT_FRAME_CELLS,
            limits=limits(RESULTS_LIMITS),
        )
