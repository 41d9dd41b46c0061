"""``jelly convert``: between Jelly and other formats, and between Jelly streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ..codec import LogicalType, PhysicalType
from ..codec.sparql.options import RESULTS_LIMITS
from ..codec.text.ntriples import Notation
from ..errors import JellyError
from ..formats.conversion import Frames
from ..formats.names import ENDINGS, Format
from ..messages.formats import Dialect, LogFormat
from ..sparql.formats import ResultsFormat
from . import console, results, settings
from .console import WrongUsageError
from .settings import BlankNodesChoice

if TYPE_CHECKING:
    from ..codec import StreamOptions
    from ..formats.settings import OptionChanges


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


def _options_of(name: str) -> StreamOptions:
    """The options of a Jelly file."""
    from ..io.streams import FrameReader

    with console.open_sources([name], "read") as [source], FrameReader(source) as frames:
        return frames.options


def convert(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SRC",
            help="File, compressed or not; - for stdin. Several become one.",
        ),
    ],
    output: settings.Output = "-",
    from_: settings.FromLog = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            parser=settings.parse_any_format,
            autocompletion=settings.completion((*Format, *LogFormat, *ResultsFormat)),
            metavar=settings.ANY_FORMATS,
            help="Format to write; by default the output's ending tells, or it is nq or jelly.",
        ),
    ] = None,
    force: settings.Force = False,
    preset: settings.TablePreset = None,
    table_names: settings.TableNames = None,
    table_prefixes: settings.TablePrefixes = None,
    table_datatypes: settings.TableDatatypes = None,
    frame_rows: settings.FrameRows = None,
    frame_bytes: settings.FrameBytes = None,
    restart_every: Annotated[
        int | None,
        typer.Option(
            "--restart-every",
            parser=settings.parse_size,
            metavar="SIZE",
            help="Let readers begin at a frame after each so many bytes; K, M, G may follow.",
        ),
    ] = None,
    physical: Annotated[
        Physical | None, typer.Option("--physical", help="Physical type of the Jelly written.")
    ] = None,
    logical_type: Annotated[
        Logical | None,
        typer.Option(
            "--logical-type",
            help="Logical type of the Jelly written. If it is not flat, frames of Jelly stay the "
            "elements; any other input is one element.",
        ),
    ] = None,
    flat: Annotated[
        bool, typer.Option("--flat", help="One flat stream, also from one graph per frame.")
    ] = False,
    stream_name: Annotated[
        str | None, typer.Option("--stream-name", help="Name of the stream written.")
    ] = None,
    delimited: Annotated[
        bool,
        typer.Option(
            "--delimited/--not-delimited",
            help="Whether the Jelly written has lengths before frames, or is one frame alone.",
        ),
    ] = True,
    options_from: Annotated[
        str | None,
        typer.Option(
            "--options-from",
            metavar="FILE",
            help="Write Jelly with the stream options that a Jelly file has.",
        ),
    ] = None,
    take_frames: Annotated[
        Frames | None,
        typer.Option(
            "--take-frames",
            parser=parse_frames,
            metavar="FROM..TO",
            help="Read these frames of Jelly only, both counted in, from 0: 2..5, 2.., ..5 or 2.",
        ),
    ] = None,
    namespaces: Annotated[
        bool, typer.Option("--namespaces", help="Keep prefixes of Turtle and the like.")
    ] = False,
    used_namespaces: Annotated[
        bool, typer.Option("--used-namespaces", help="Keep those that some IRI begins with.")
    ] = False,
    generalized: Annotated[
        bool | None,
        typer.Option(
            "--generalized", show_default=False, help="Take and declare generalized statements."
        ),
    ] = None,
    rdf_star: Annotated[
        bool | None,
        typer.Option(
            "--rdf-star",
            show_default=False,
            help="Declare quoted triples, and read << s p o >> of N-Triples and N-Quads.",
        ),
    ] = None,
    rdf_12: settings.Rdf12 = True,
    base: settings.Base = None,
    blank_nodes: Annotated[
        BlankNodesChoice,
        typer.Option("--blank-nodes", help="Of several files: kept apart, or as labelled."),
    ] = BlankNodesChoice.FRESH,
    concatenated: settings.Concatenated = False,
    lossy: Annotated[
        bool,
        typer.Option("--lossy", help="Drop metadata of regrouped frames, and empty graphs."),
    ] = False,
    value_forms: Annotated[
        bool,
        typer.Option(
            "--value-forms",
            help="In rt and rpb, numbers by value; one that would be read otherwise is an error.",
        ),
    ] = False,
    strict: settings.Strict = False,
    messages: Annotated[
        bool,
        typer.Option(
            "--messages", help="Both sides are message logs in any syntax; keep boundaries."
        ),
    ] = False,
    from_dialect: settings.FromDialect = None,
    to_dialect: Annotated[
        Dialect | None,
        typer.Option("--to-dialect", help="Delimiters of the message log written."),
    ] = None,
    context: settings.ContextFiles = None,
    limit: settings.LimitSettings = None,
) -> None:
    """Convert between Jelly and other RDF formats, and between those.

    Or Jelly to other Jelly, and several files, of whatever formats, to one. Formats are told by the
    files' endings (.gz, .bz2 and .zst after them compress). Memory stays flat. jelly-text is Jelly
    in the text form of Protocol Buffers. With --messages the files are RDF Message
    Logs: N-Triples, N-Quads, Turtle, TriG, NDJSON-LD, YAML-LD, RDF/XML or Jelly. Results of SPARQL
    queries become other results: jellys (Jelly-SPARQL), srt, srp, srj, srx, tsv, csv.
    """
    from ..formats.conversion import convert as convert_
    from ..formats.settings import OptionChanges

    if flat and logical_type is not None:
        raise WrongUsageError("--flat does not go with --logical-type")
    changes = OptionChanges(
        like=None if options_from is None else _options_of(options_from),
        preset=preset,
        physical_type=None if physical is None else PhysicalType[physical.name],
        logical_type=None if logical_type is None else LogicalType[logical_type.name],
        flat=flat,
        stream_name=stream_name,
        generalized_statements=generalized or None,
        rdf_star=rdf_star or None,
        max_name_table_size=table_names,
        max_prefix_table_size=table_prefixes,
        max_datatype_table_size=table_datatypes,
    )
    if not messages and results.are_meant(sources, output, from_, to):
        rejected = {
            "--frame-bytes": frame_bytes,
            "--restart-every": restart_every,
            "--not-delimited": not delimited,
            "--options-from": options_from,
            "--preset": preset,
            "--physical": physical,
            "--logical-type": logical_type,
            "--take-frames": take_frames,
            "--namespaces": namespaces,
            "--used-namespaces": used_namespaces,
            "--flat": flat,
            "--generalized": generalized,
            "--rdf-star": rdf_star,
            "--base": base,
            "--concatenated": concatenated,
            "--lossy": lossy,
        }
        _reject(rejected, "query results")
        results.convert(
            sources,
            output,
            from_,
            to,
            force=force,
            frame_rows=frame_rows,
            value_forms=value_forms,
            tables={
                "stream_name": stream_name,
                "max_name_table_size": table_names,
                "max_prefix_table_size": table_prefixes,
                "max_datatype_table_size": table_datatypes,
            },
            limits=settings.limits_from(limit, RESULTS_LIMITS),
        )
        return
    notation = Notation.RDF_1_2 if rdf_12 else Notation.RDF_STAR
    if messages:
        rejected = {
            "--frame-rows": frame_rows,
            "--frame-bytes": frame_bytes,
            "--restart-every": restart_every,
            "--not-delimited": not delimited,
            "--take-frames": take_frames,
            "--namespaces": namespaces,
            "--used-namespaces": used_namespaces,
            "--flat": flat,
            f"--logical-type {logical_type}": logical_type in _WITHOUT_ELEMENTS,
            "--generalized": generalized,
            "--concatenated": concatenated,
            "--lossy": lossy,
            "--value-forms": value_forms,
        }
        _reject(rejected, "--messages")
        _convert_messages(
            sources,
            output,
            from_,
            to,
            force=force,
            changes=changes,
            notation=notation,
            source_dialect=from_dialect,
            target_dialect=to_dialect,
            base=base,
            contexts=settings.contexts_from(context),
            strict=strict,
            limits=settings.limits_from(limit),
        )
        return
    if from_dialect or to_dialect or context:
        raise WrongUsageError("--from-dialect, --to-dialect and --context go with --messages")
    source_formats, target_format = _formats(
        sources, output, settings.plain_format(from_), settings.plain_format(to)
    )
    if take_frames is not None and set(source_formats) - {Format.JELLY, Format.JELLY_TEXT}:
        raise WrongUsageError("--take-frames is for Jelly, which has frames")
    dst = console.destination(output, force=force, binary=target_format.is_binary)
    printing = output == console.STANDARD
    with _hinting(from_), console.open_sources(sources, "convert", printing=printing) as opened:
        result = convert_(
            opened,
            dst,
            source_format=source_formats,
            target_format=target_format,
            changes=changes,
            take_frames=take_frames,
            frame_rows=frame_rows,
            frame_bytes=frame_bytes,
            restart_every=restart_every,
            delimited=delimited,
            namespaces="used" if used_namespaces else namespaces,
            base=base,
            blank_nodes=blank_nodes.value,
            concatenated=concatenated,
            lossy=lossy,
            notation=notation,
            strict=strict,
            value_forms=value_forms,
            limits=settings.limits_from(limit),
        )
    for what, number in result.left_out.items():
        console.note(f"{target_format} has no place for {what}: {number:,} left out")


def _reject(options: Mapping[str, object], what: str) -> None:
    """Reject the options that are given, by name, and do not go with what is converted."""
    for name, given in options.items():
        if given:
            raise WrongUsageError(f"{name} does not go with {what}")


def _convert_messages(
    sources: list[str],
    output: str,
    from_: str | None,
    to: str | None,
    *,
    force: bool,
    changes: OptionChanges,
    **arguments: Any,
) -> None:
    from ..messages import convert_messages
    from ..messages.rows import log_options

    if len(sources) != 1:
        raise WrongUsageError("one message log is converted at a time")
    source = settings.log_format(sources[0], from_)
    target = settings.log_format(output, to, "--to")
    dst = console.destination(output, force=force, binary=target is LogFormat.JELLY)
    with console.open_sources(sources, "convert", printing=output == console.STANDARD) as [opened]:
        result = convert_messages(
            opened,
            dst,
            source_format=source,
            target_format=target,
            options=changes.applied(log_options(graphs=source.has_graphs)),
            **arguments,
        )
    for what, number in result.left_out.items():
        console.note(f"{target} has no place for {what}: {number:,} left out")


@contextmanager
def _hinting(from_: object) -> Iterator[None]:
    """Say how a format is named where none was, and it is not what it was taken for."""
    try:
        yield
    except JellyError as error:
        if from_ is None and error.message.endswith("not Jelly"):
            error.message += ": --from names its format"
        raise


def _formats(
    sources: list[str], output: str, from_: Format | None, to: Format | None
) -> tuple[list[Format], Format]:
    """The formats of the sources and of the output, as told, or the only ones that make sense."""
    target = console.told_format(output, to)
    if target is None:
        known = f"known are {', '.join(ENDINGS)}; --to names a format"
        console.refuse_ending(output, f"{known}; jelly patch writes logs of patches")
    told: list[Format] = []
    for name in sources:
        found = console.told_format(name, from_)
        if found is None:
            if target is Format.JELLY:
                raise WrongUsageError(f"the format of {name} is not known: --from names it")
            found = Format.JELLY
        told.append(found)
    if target is None:
        one_jelly = len(told) == 1 and told[0].is_binary
        if len(set(told)) > 1:
            # A name that was mistyped has another ending, too.
            console.require_files(sources)
            raise WrongUsageError(
                "sources of several formats: -o names the output, or --to what becomes of them"
            )
        target = Format.N_QUADS if one_jelly else Format.JELLY
    return told, target
