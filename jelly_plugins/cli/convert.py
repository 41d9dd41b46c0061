"""``jelly convert``: between Jelly and other formats, and between Jelly streams."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, TypeAlias

import typer

from ..codec import DEFAULT_LIMITS, LogicalType, PhysicalType, StreamOptions
from ..codec.sparql.options import RESULTS_LIMITS
from ..codec.text.ntriples import Notation
from ..errors import JellyError
from ..formats.convert import convert as convert_
from ..formats.settings import ConversionSettings, Frames, OptionChanges
from ..io.names import ENDINGS, Format, format_of
from ..io.streams import FrameReader
from ..messages import convert_messages
from ..messages.formats import Dialect, LogFormat
from ..messages.text import log_options
from ..sparql.formats import ResultsFormat
from . import console, results, settings
from .console import WrongUsageError
from .settings import BlankNodesChoice


class Physical(StrEnum):
    TRIPLES = "triples"
    QUADS = "quads"
    GRAPHS = "graphs"


class Logical(StrEnum):
    UNSPECIFIED = "unspecified"
    FLAT_TRIPLES = "flat-triples"
    FLAT_QUADS = "flat-quads"
    GRAPHS = "graphs"
    DATASETS = "datasets"
    SUBJECT_GRAPHS = "subject-graphs"
    NAMED_GRAPHS = "named-graphs"
    TIMESTAMPED_NAMED_GRAPHS = "timestamped-named-graphs"


#: Logical types in which frames are not the elements.
_WITHOUT_ELEMENTS: Final = (Logical.UNSPECIFIED, Logical.FLAT_TRIPLES, Logical.FLAT_QUADS)


def parse_frames(text: str) -> Frames:
    """A range of frames, for an option.

    >>> parse_frames("2..5"), parse_frames("..5").first, parse_frames("2..").last
    (Frames(first=2, last=5), 0, None)
    """
    first, dots, last = text.partition("..")
    if all(not each or (each.isascii() and each.isdecimal()) for each in (first, last)) and (
        first or last
    ):
        found = Frames(int(first or 0), int(last) if last else None if dots else int(first))
        if found.last is None or found.first <= found.last:
            return found
    raise typer.BadParameter(f"{text!r} is not a range of frames such as 2..5, 2.., ..5 or 2")


Sources: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="SRC",
        help="File, compressed or not; - for stdin. Several become one.",
    ),
]
To: TypeAlias = Annotated[
    str | None,
    settings.format_option(
        "--to",
        "Format to write; by default from the output's name, or nq or jelly.",
        Format,
        LogFormat,
        ResultsFormat,
    ),
]
RestartEvery: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--restart-every",
        parser=settings.parse_size,
        metavar="SIZE",
        help="Bytes between restart points, where readers can start; K, M, G allowed.",
    ),
]
PhysicalOption: TypeAlias = Annotated[
    Physical | None, typer.Option("--physical-type", help="Physical type of the Jelly written.")
]
LogicalOption: TypeAlias = Annotated[
    Logical | None,
    typer.Option(
        "--logical-type",
        help="Logical type of the Jelly written. If it is not flat, each frame of Jelly stays one "
        "element; any other input is one element.",
    ),
]
Flat: TypeAlias = Annotated[
    bool, typer.Option("--flat", help="Write one flat stream, also from one graph per frame.")
]
StreamName: TypeAlias = Annotated[
    str | None, typer.Option("--stream-name", help="Name of the stream written.")
]
Delimited: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--delimited/--not-delimited",
        help="Write a length before each frame of Jelly, or one frame without a length.",
    ),
]
OptionsFrom: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--options-from",
        metavar="FILE",
        help="Write Jelly with the stream options of this Jelly file.",
    ),
]
TakeFrames: TypeAlias = Annotated[
    Frames | None,
    typer.Option(
        "--take-frames",
        parser=parse_frames,
        metavar="FROM..TO",
        help="Read only these frames of Jelly, from 0, inclusive: 2..5, 2.., ..5 or 2.",
    ),
]
KeptNamespaces: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--namespaces/--no-namespaces",
        show_default=False,
        help="Keep the prefixes of the sources, as by default, or leave them out.",
    ),
]
UsedNamespaces: TypeAlias = Annotated[
    bool, typer.Option("--used-namespaces", help="Keep only the prefixes that are used.")
]
Generalized: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--generalized", show_default=False, help="Accept and declare generalized statements."
    ),
]
RdfStar: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--rdf-star",
        show_default=False,
        help="Declare quoted triples, and read << s p o >> of N-Triples and N-Quads.",
    ),
]
MergedBlankNodes: TypeAlias = Annotated[
    BlankNodesChoice,
    typer.Option(
        "--blank-nodes",
        help="With several files: relabel the blank nodes of each, or keep labels. Labels of "
        "a single file are kept.",
    ),
]
Lossy: TypeAlias = Annotated[
    bool, typer.Option("--lossy", help="Discard metadata of regrouped frames, and empty graphs.")
]
Messages: TypeAlias = Annotated[
    bool,
    typer.Option("--messages", help="Convert between message logs, in any syntax."),
]
ToDialect: TypeAlias = Annotated[
    Dialect | None,
    typer.Option("--to-dialect", help="Delimiters of the output message log."),
]


def convert(
    sources: Sources,
    output: settings.Output = "-",
    from_: settings.FromLog = None,
    to: To = None,
    force: settings.Force = False,
    preset: settings.TablePreset = None,
    table_names: settings.TableNames = None,
    table_prefixes: settings.TablePrefixes = None,
    table_datatypes: settings.TableDatatypes = None,
    frame_rows: settings.FrameRows = None,
    frame_bytes: settings.FrameBytes = None,
    restart_every: RestartEvery = None,
    physical_type: PhysicalOption = None,
    logical_type: LogicalOption = None,
    flat: Flat = False,
    stream_name: StreamName = None,
    delimited: Delimited = True,
    options_from: OptionsFrom = None,
    take_frames: TakeFrames = None,
    namespaces: KeptNamespaces = None,
    used_namespaces: UsedNamespaces = False,
    generalized: Generalized = None,
    rdf_star: RdfStar = None,
    rdf_12: settings.Rdf12 = True,
    base: settings.Base = None,
    blank_nodes: MergedBlankNodes = BlankNodesChoice.FRESH,
    concatenated: settings.Concatenated = False,
    lossy: Lossy = False,
    strict: settings.Strict = False,
    messages: Messages = False,
    from_dialect: settings.FromDialect = None,
    to_dialect: ToDialect = None,
    context: settings.ContextFiles = None,
    limit: settings.LimitSettings = None,
) -> None:
    """Convert between Jelly and other RDF formats.

    Also converts Jelly to other Jelly, and merges several files of any formats into one. Formats
    are detected from the file names (.gz, .bz2 and .zst compress). Memory use is constant.
    jelly-text is Jelly
    in the text form of Protocol Buffers. With --messages the files are RDF Message
    Logs: N-Triples, N-Quads, Turtle, TriG, NDJSON-LD, YAML-LD, RDF/XML or Jelly. Results of SPARQL
    queries become other results: jellys (Jelly-SPARQL), srt, srp, srj, srx, tsv, csv.
    """
    if flat and logical_type is not None:
        raise WrongUsageError("--flat cannot be combined with --logical-type")
    if output == console.STANDARD and len(sources) > 1:
        _suggest_output(sources[-1])
    files = sources, output, from_, to, force
    for_results = not messages and results.are_meant(sources, output, from_, to)
    only_statements = {
        "--frame-bytes": frame_bytes,
        "--restart-every": restart_every,
        "--not-delimited": not delimited,
        "--take-frames": take_frames,
        "--namespaces": namespaces is not None,
        "--used-namespaces": used_namespaces,
        "--flat": flat,
        "--generalized": generalized,
        "--concatenated": concatenated,
        "--lossy": lossy,
    }
    if messages:
        _reject({"--frame-rows": frame_rows, **only_statements}, "--messages")
        if logical_type in _WITHOUT_ELEMENTS:
            raise WrongUsageError(
                f"--logical-type {logical_type} cannot be combined with --messages"
            )
    elif for_results:
        _reject(
            {
                "--options-from": options_from,
                "--preset": preset,
                "--physical-type": physical_type,
                "--logical-type": logical_type,
                "--rdf-star": rdf_star,
                "--base": base,
                "--context": context,
                **only_statements,
            },
            "query results",
        )
    if not messages and (from_dialect or to_dialect):
        raise WrongUsageError("--from-dialect and --to-dialect need --messages")
    chosen = ConversionSettings(
        changes=OptionChanges(
            like=None if options_from is None else _options_of(options_from),
            preset=preset,
            physical_type=None if physical_type is None else PhysicalType[physical_type.name],
            logical_type=None if logical_type is None else LogicalType[logical_type.name],
            flat=flat,
            stream_name=stream_name,
            generalized_statements=generalized or None,
            rdf_star=rdf_star or None,
            max_name_table_size=table_names,
            max_prefix_table_size=table_prefixes,
            max_datatype_table_size=table_datatypes,
        ),
        namespaces="used" if used_namespaces else namespaces is not False,
        blank_nodes=blank_nodes.value,
        notation=Notation.RDF_1_2 if rdf_12 else Notation.RDF_STAR,
        limits=settings.limits_from(limit, RESULTS_LIMITS if for_results else DEFAULT_LIMITS),
        take_frames=take_frames,
        frame_rows=frame_rows,
        frame_bytes=frame_bytes,
        restart_every=restart_every,
        base=base,
        contexts=settings.contexts_from(context),
        concatenated=concatenated,
        lossy=lossy,
        strict=strict,
        delimited=delimited,
    )
    if messages:
        _convert_messages(
            *files,
            chosen,
            source_dialect=from_dialect,
            target_dialect=to_dialect,
        )
    elif for_results:
        results.convert(*files, chosen)
    else:
        _convert(*files, chosen)


def _suggest_output(last: str) -> None:
    """Reject sources of which the last is meant as the output: it does not exist, and has the
    ending of a format."""
    if format_of(last) is not None and "://" not in last and not os.path.exists(last):
        raise WrongUsageError(f"{last} does not exist; to write it, use -o {last}")


def _reject(given: Mapping[str, Any], what: str) -> None:
    """Reject options that are given and do not go with what is converted."""
    for option, value in given.items():
        if value:
            raise WrongUsageError(f"{option} cannot be combined with {what}")


def _options_of(name: str) -> StreamOptions:
    """The options of a Jelly file."""
    with console.open_sources([name], "read") as [source], FrameReader(source) as frames:
        return frames.options


def _convert(
    sources: list[str],
    output: str,
    from_: str | None,
    to: str | None,
    force: bool,
    chosen: ConversionSettings,
) -> None:
    formats, target = _formats(sources, output, from_, to)
    if chosen.take_frames is not None and set(formats) - {Format.JELLY, Format.JELLY_TEXT}:
        raise WrongUsageError("--take-frames applies to Jelly only")
    dst = console.destination(output, force=force, binary=target.is_binary)
    printing = output == console.STANDARD
    try:
        with console.open_sources(sources, "convert", printing=printing) as opened:
            result = convert_(
                opened, dst, source_format=formats, target_format=target, settings=chosen
            )
    except JellyError as error:
        if from_ is None and error.message.endswith("not Jelly"):
            error.message += ": --from names its format"
        raise
    _note_omitted(result.left_out, target)


def _convert_messages(
    sources: list[str],
    output: str,
    from_: str | None,
    to: str | None,
    force: bool,
    chosen: ConversionSettings,
    **dialects: Any,
) -> None:
    if len(sources) != 1:
        raise WrongUsageError("only one message log can be converted at a time")
    source = settings.log_format(sources[0], from_)
    target = settings.log_format(output, to, "--to")
    dst = console.destination(output, force=force, binary=target is LogFormat.JELLY)
    printing = output == console.STANDARD
    with console.open_sources(sources, "convert", printing=printing) as [opened]:
        result = convert_messages(
            opened,
            dst,
            source_format=source,
            target_format=target,
            base=chosen.base,
            contexts=chosen.contexts,
            options=chosen.changes.applied(log_options(graphs=source.has_graphs)),
            notation=chosen.notation,
            strict=chosen.strict,
            limits=chosen.limits,
            **dialects,
        )
    _note_omitted(result.left_out, target)


def _note_omitted(left_out: Mapping[str, int], target: str) -> None:
    for what, number in left_out.items():
        console.note(f"{target} cannot express {what}: {number:,} omitted")


def _formats(
    sources: list[str], output: str, from_name: str | None, to_name: str | None
) -> tuple[list[Format], Format]:
    """The formats of the sources and of the output: those that are given, or that their names have,
    or the only ones that make sense."""
    for name in (from_name, to_name):
        if name in set(ResultsFormat):
            raise WrongUsageError(f"{name} is a format of query results")
        if name is not None and name not in set(Format):
            raise WrongUsageError(f"{name} is a syntax of message logs: --messages")
    from_ = from_name and Format(from_name)
    target = Format(to_name) if to_name else format_of(output)
    if target is None:
        known = f"known are {', '.join(ENDINGS)}; --to names a format"
        console.reject_ending(output, f"{known}; jelly patch writes logs of patches")
    requested: list[Format] = []
    for name in sources:
        found = from_ or format_of(name)
        if found is None:
            if target is Format.JELLY:
                raise WrongUsageError(f"the format of {name} is not known: --from names it")
            found = Format.JELLY
        requested.append(found)
    if target is None:
        one_jelly = len(requested) == 1 and requested[0].is_binary
        if len(set(requested)) > 1:
            # A name that was mistyped has another ending, too.
            console.require_files(sources)
            raise WrongUsageError(
                "sources of several formats: give the output with -o, or its format with --to"
            )
        target = Format.N_QUADS if one_jelly else Format.JELLY
    return requested, target
