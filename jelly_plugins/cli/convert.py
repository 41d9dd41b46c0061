"""``jelly convert``: between Jelly and other formats, and between Jelly streams."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Final, TypeAlias

from ..codec import LogicalType
from ..codec.sparql.options import RESULTS_LIMITS
from ..errors import JellyError
from ..formats.settings import ConversionSettings, Frames, OptionChanges
from ..io.names import ENDINGS, Format, format_of
from ..messages.formats import Dialect, LogFormat
from ..sparql.formats import ResultsFormat
from . import console, results, settings
from .console import WrongUsageError
from .options import Argument, FieldOption, Fields, Option

#: The options of :class:`.OptionChanges`.
_CHANGES: Final = Fields(
    "preset",
    "physical_type",
    "logical_type",
    "flat",
    "stream_name",
    generalized_statements=FieldOption(
        Annotated[
            bool | None,
            Option("--generalized", help="Accept and declare generalized statements."),
        ]
    ),
    rdf_star=FieldOption(
        Annotated[
            bool | None,
            Option(
                "--rdf-star",
                help="Declare quoted triples, and read << s p o >> of N-Triples and N-Quads.",
            ),
        ]
    ),
)
#: The options of :class:`.ConversionSettings`.
_CONVERSION: Final = Fields(
    "frame_rows",
    "base",
    "blank_nodes",
    "concatenated",
    "lossy",
    "strict",
    take_frames=FieldOption(
        Annotated[
            Frames | None,
            Option(
                "--take-frames",
                parser=settings.parse_frames,
                metavar="A..B",
                help="Frames of Jelly to convert, from 0: 5, 5..10 (not 10), 5..=10, 5.. or ..10.",
            ),
        ]
    ),
    restart_every=FieldOption(
        Annotated[
            int | None,
            Option(
                "--restart-every",
                parser=settings.parse_size,
                metavar="SIZE",
                help="Bytes between restart points, where readers can start; K, M, G allowed.",
            ),
        ]
    ),
    namespaces=FieldOption(
        Annotated[
            bool,
            Option(
                "--namespaces/--no-namespaces",
                help="Keep the prefixes of the sources, or leave them out.",
            ),
        ],
        default=True,
    ),
    delimited=FieldOption(
        Annotated[
            bool,
            Option(
                "--delimited/--not-delimited",
                help="Write a length before each frame of Jelly, or one frame without a length.",
            ),
        ],
        default=True,
    ),
    notation=FieldOption(settings.Rdf12, settings.notation, True),
    contexts=FieldOption(settings.ContextFiles, settings.contexts_from),
)
#: The fields that apply to message logs, and to query results.
_OF_MESSAGES: Final = frozenset(
    {
        *("preset", "physical_type", "logical_type", "stream_name", "rdf_star"),
        *("base", "strict", "notation", "contexts"),
    }
)
_OF_RESULTS: Final = frozenset({"stream_name", "frame_rows"})

#: Logical types in which frames are not the elements.
_WITHOUT_ELEMENTS: Final = (
    LogicalType.UNSPECIFIED,
    LogicalType.FLAT_TRIPLES,
    LogicalType.FLAT_QUADS,
)

Sources: TypeAlias = Annotated[
    list[str],
    Argument(
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


def convert(
    sources: Sources,
    output: settings.Output = console.STANDARD,
    from_: settings.FromLog = None,
    to: To = None,
    force: settings.Force = False,
    messages: Annotated[
        bool, Option("--messages", help="Convert between message logs, in any syntax.")
    ] = False,
    to_dialect: Annotated[
        Dialect | None, Option("--to-dialect", help="Delimiters of the output message log.")
    ] = None,
    *,
    changes: Annotated[OptionChanges, _CHANGES],
    conversion: Annotated[ConversionSettings, _CONVERSION],
) -> None:
    """Convert between Jelly and other RDF formats.

    Also converts Jelly to other Jelly, and merges several files of any formats into one. Formats
    are detected from the file names (.gz, .bz2 and .zst compress). Memory use is constant.
    jelly-text is Jelly in the text form of Protocol Buffers. With --messages the files are RDF
    Message Logs: N-Triples, N-Quads, Turtle, TriG, NDJSON-LD, YAML-LD, RDF/XML or Jelly. Results of
    SPARQL queries become other results: jellys (Jelly-SPARQL), srt, srp, srj, srx, tsv, csv.
    """
    if output == console.STANDARD and len(sources) > 1:
        _suggest_output(sources[-1])
    files = sources, output, from_, to, force
    chosen = replace(conversion, changes=changes)
    given = _CHANGES.given(changes) | _CONVERSION.given(conversion)
    if to_dialect is not None and not messages:
        raise WrongUsageError("--to-dialect needs --messages")
    if messages:
        _reject_others(given, _OF_MESSAGES, "--messages")
        if changes.logical_type in _WITHOUT_ELEMENTS:
            name = changes.logical_type.name.lower().replace("_", "-")
            raise WrongUsageError(f"--logical-type {name} cannot be combined with --messages")
        _convert_messages(*files, chosen, to_dialect)
    elif results.are_meant(sources, output, from_, to):
        _reject_others(given, _OF_RESULTS, "query results")
        limits = console.limits_from(RESULTS_LIMITS)
        results.convert(*files, replace(chosen, limits=limits))
    else:
        _convert(*files, chosen)


def _suggest_output(last: str) -> None:
    """Reject sources of which the last is meant as the output: it does not exist, and has the
    ending of a format."""
    if format_of(last) is not None and "://" not in last and not os.path.exists(last):
        raise WrongUsageError(f"{last} does not exist; to write it, use -o {last}")


def _reject_others(given: Mapping[str, str], allowed: frozenset[str], what: str) -> None:
    """Reject options that are given and do not go with what is converted."""
    for name, flag in given.items():
        if name not in allowed:
            raise WrongUsageError(f"{flag} cannot be combined with {what}")


def _convert(
    sources: list[str],
    output: str,
    from_: str | None,
    to: str | None,
    force: bool,
    chosen: ConversionSettings,
) -> None:
    from ..formats.convert import convert as convert_

    formats, target = _formats(sources, output, from_, to)
    if chosen.take_frames and not {Format.JELLY, Format.JELLY_TEXT}.issuperset(formats):
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
    target_dialect: Dialect | None,
) -> None:
    from ..messages import convert_messages
    from ..messages.text import log_options

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
            target_dialect=target_dialect,
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
