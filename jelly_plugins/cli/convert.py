"""``jelly convert``: RDF, message logs and query results from format to format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Final

from click import UsageError

from ..errors import JellyError
from ..formats.settings import ConversionSettings, OptionChanges
from ..io.names import ENDINGS, Format, format_of
from ..messages.formats import Dialect, LogFormat
from ..messages.formats import format_of as log_format_of
from ..sparql.formats import ResultsFormat
from ..sparql.formats import format_of as results_format_of
from . import console
from .console import STANDARD
from .options import AnyFormat, given_options, limits

if TYPE_CHECKING:
    from ..sparql import ResultsReader

#: Options that apply to message logs, and to query results, beside those of every conversion.
_OF_MESSAGES: Final = (
    *("preset", "physical_type", "logical_type", "stream_name", "rdf_star"),
    *("base", "strict", "notation", "contexts", "to_dialect"),
)
_OF_RESULTS: Final = ("stream_name", "frame_rows")
_OF_ALL: Final = ("sources", "output", "from_", "to", "force", "messages")


@dataclass(frozen=True, slots=True)
class _Files:
    """What is read and written, as the command line names it."""

    sources: list[str]
    output: str
    from_: str | None
    to: str | None
    force: bool

    def open(self) -> AbstractContextManager[list[Any]]:
        printing = self.output == STANDARD
        return console.open_sources(self.sources, "convert", printing=printing)

    def destination(self, *, binary: bool) -> Any:
        return console.destination(self.output, force=self.force, binary=binary)

    def only_source(self, what: str) -> str:
        if len(self.sources) != 1:
            raise UsageError(f"only one {what} can be converted at a time")
        return self.sources[0]


def convert(
    sources: list[str],
    *,
    output: str = STANDARD,
    from_: AnyFormat | None = None,
    to: AnyFormat | None = None,
    force: bool = False,
    messages: bool = False,
    to_dialect: Dialect | None = None,
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
    :param messages: Convert between message logs, in any syntax.
    :param to_dialect: Delimiters of the output message log.
    :param rdf_star: Declare quoted triples, and read << s p o >> of N-Triples and N-Quads.
    :param namespaces: Keep the prefixes of the sources.
    :param delimited: Write a length before each frame of Jelly, or one frame without a length.
    """
    files = _Files(sources, output, from_, to, force)
    last = sources[-1]
    if output == STANDARD and len(sources) > 1 and format_of(last) and not os.path.exists(last):
        raise UsageError(f"{last} does not exist; to write it, use -o {last}")
    chosen = replace(conversion, changes=changes)
    if messages:
        _reject_others(_OF_MESSAGES, "--messages")
        _convert_messages(files, chosen, to_dialect)
    elif to_dialect is not None:
        raise UsageError("--to-dialect needs --messages")
    elif are_results((*sources, output), from_, to):
        _reject_others(_OF_RESULTS, "query results")
        _convert_results(files, chosen)
    else:
        _convert(files, chosen)


def _reject_others(allowed: tuple[str, ...], what: str) -> None:
    """Reject options that are given and do not go with what is converted."""
    for name, flag in given_options().items():
        if name not in (*allowed, *_OF_ALL):
            raise UsageError(f"{flag} cannot be combined with {what}")


def _convert(files: _Files, chosen: ConversionSettings) -> None:
    from ..formats.convert import convert as convert_

    formats, target = _formats(files)
    if chosen.take_frames and not {Format.JELLY, Format.JELLY_TEXT}.issuperset(formats):
        raise UsageError("--take-frames applies to Jelly only")
    dst = files.destination(binary=target.is_binary)
    try:
        with files.open() as opened:
            result = convert_(
                opened, dst, source_format=formats, target_format=target, settings=chosen
            )
    except JellyError as error:
        if files.from_ is None and error.message.endswith("not Jelly"):
            error.message += ": --from names its format"
        raise
    _note_omitted(result.left_out, target)


def _formats(files: _Files) -> tuple[list[Format], Format]:
    """The formats of the sources and of the output: those that are given, or that their names have,
    or the only ones that make sense."""
    from_ = None if files.from_ is None else rdf_format(files.from_)
    target = format_of(files.output) if files.to is None else rdf_format(files.to)
    if target is None:
        known = f"known are {', '.join(ENDINGS)}; --to names a format"
        console.reject_ending(files.output, f"{known}; jelly patch writes logs of patches")
    found = [from_ or format_of(name) for name in files.sources]
    if target is Format.JELLY and None in found:
        name = files.sources[found.index(None)]
        raise UsageError(f"the format of {name} is not known: --from names it")
    formats = [each or Format.JELLY for each in found]
    if target is None and len(set(formats)) > 1:
        # A name that was mistyped has another ending, too.
        console.require_files(files.sources)
        raise UsageError(
            "sources of several formats: give the output with -o, or its format with --to"
        )
    one_jelly = len(formats) == 1 and formats[0].is_binary
    return formats, target or (Format.N_QUADS if one_jelly else Format.JELLY)


def rdf_format(name: str) -> Format:
    """The format of RDF that an option names.

    :raises UsageError: it is a format of something else.
    """
    if name in set(ResultsFormat):
        raise UsageError(f"{name} is a format of query results")
    if name not in set(Format):
        raise UsageError(f"{name} is a syntax of message logs: --messages")
    return Format(name)


def log_format(name: str, given: str | None, option: str = "--from") -> LogFormat:
    """The syntax of a message log: the requested one, or by file name."""
    if given is not None and given not in set(LogFormat):
        raise UsageError(f"{given} is not a syntax of message logs")
    requested = log_format_of(name) if given is None else LogFormat(given)
    if requested is None:
        raise UsageError(f"the syntax of {name} is not known: {option} names it")
    return requested


def _convert_messages(
    files: _Files, chosen: ConversionSettings, target_dialect: Dialect | None
) -> None:
    from ..messages import convert_messages
    from ..messages.text import log_options

    source = log_format(files.only_source("message log"), files.from_)
    target = log_format(files.output, files.to, "--to")
    options = chosen.changes.applied(log_options(graphs=source.has_graphs))
    if not options.grouped:
        raise UsageError("the --logical-type of a message log must be one of graphs or datasets")
    dst = files.destination(binary=target is LogFormat.JELLY)
    with files.open() as [opened]:
        result = convert_messages(
            opened,
            dst,
            source_format=source,
            target_format=target,
            base=chosen.base,
            contexts=chosen.contexts,
            options=options,
            notation=chosen.notation,
            strict=chosen.strict,
            limits=chosen.limits,
            target_dialect=target_dialect,
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


def _convert_results(files: _Files, chosen: ConversionSettings) -> None:
    from ..codec.sparql.encoder import DEFAULT_FRAME_CELLS
    from ..codec.sparql.options import RESULTS_LIMITS
    from ..sparql import ResultsOptions, write_boolean, write_results

    name = files.only_source("file of query results")
    target = _results_format(files.output, files.to)
    if target is None:
        if files.output != STANDARD:
            raise UsageError(f"the format of {files.output} is not one of query results: --to")
        source_format = _results_format(name, files.from_)
        binary = source_format is not None and source_format.is_binary
        target = ResultsFormat.JSON if binary else ResultsFormat.JELLY
    dst = files.destination(binary=target.is_binary)
    options = ResultsOptions(stream_name=chosen.changes.stream_name or "")
    with files.open() as [opened], open_results(opened, name, files.from_) as results:
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
