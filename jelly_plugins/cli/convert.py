"""``jelly convert``: between Jelly and other formats, and between Jelly streams."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..codec import PhysicalType
from ..codec.text.ntriples import Notation
from ..formats.names import Format
from ..messages.formats import Dialect
from . import console, settings
from .console import WrongUsageError
from .settings import BlankNodesChoice

if TYPE_CHECKING:
    from ..formats.convert import OptionChanges


class Physical(StrEnum):
    TRIPLES = "triples"
    QUADS = "quads"
    GRAPHS = "graphs"


def convert(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SRC",
            help="File, compressed or not; - for stdin. Several Jelly files become one.",
        ),
    ],
    output: settings.Output = "-",
    from_: settings.FromLog = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            parser=settings.parse_any_format,
            metavar=settings.ANY_FORMATS,
            help="Format to write; by default the output's ending tells, or it is nq or jelly.",
        ),
    ] = None,
    force: settings.Force = False,
    preset: settings.TablePreset = None,
    table_names: settings.TableNames = None,
    table_prefixes: settings.TablePrefixes = None,
    table_datatypes: settings.TableDatatypes = None,
    frame_rows: Annotated[
        int | None, typer.Option("--frame-rows", min=1, help="Rows after which a frame ends.")
    ] = None,
    frame_bytes: Annotated[
        int | None, typer.Option("--frame-bytes", min=1, help="Bytes after which a frame ends.")
    ] = None,
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
    flat: Annotated[
        bool, typer.Option("--flat", help="One flat stream, also from one graph per frame.")
    ] = False,
    stream_name: Annotated[
        str | None, typer.Option("--stream-name", help="Name of the stream written.")
    ] = None,
    namespaces: Annotated[
        bool, typer.Option("--namespaces", help="Keep prefixes of Turtle and the like.")
    ] = False,
    generalized: Annotated[
        bool | None,
        typer.Option(
            "--generalized", show_default=False, help="Take and declare generalized statements."
        ),
    ] = None,
    rdf_star: Annotated[
        bool | None,
        typer.Option("--rdf-star", show_default=False, help="Declare quoted triples."),
    ] = None,
    rdf_12: settings.Rdf12 = True,
    base: Annotated[
        str | None, typer.Option("--base", metavar="IRI", help="What relative IRIs belong to.")
    ] = None,
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
    """Convert Jelly, rt and rpb to other RDF formats and back.

    Or Jelly to other Jelly, and several files to one. Formats are told by the files' endings (.gz,
    .bz2 and .zst after them compress). Memory stays flat. With --messages the files are RDF Message
    Logs: N-Triples, N-Quads, Turtle, TriG, NDJSON-LD, YAML-LD, RDF/XML or Jelly.
    """
    from ..formats.convert import OptionChanges
    from ..formats.convert import convert as convert_

    changes = OptionChanges(
        preset=preset,
        physical_type=None if physical is None else PhysicalType[physical.name],
        flat=flat,
        stream_name=stream_name,
        generalized_statements=generalized or None,
        rdf_star=rdf_star or None,
        max_name_table_size=table_names,
        max_prefix_table_size=table_prefixes,
        max_datatype_table_size=table_datatypes,
    )
    notation = Notation.RDF_1_2 if rdf_12 else Notation.RDF_STAR
    if messages:
        refused = {
            "--frame-rows": frame_rows,
            "--frame-bytes": frame_bytes,
            "--restart-every": restart_every,
            "--namespaces": namespaces,
            "--flat": flat,
            "--generalized": generalized,
            "--concatenated": concatenated,
            "--lossy": lossy,
            "--value-forms": value_forms,
        }
        for name, given in refused.items():
            if given:
                raise WrongUsageError(f"{name} does not go with --messages")
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
    source_format, target_format = _formats(
        sources, output, settings.plain_format(from_), settings.plain_format(to)
    )
    dst = console.destination(output, force=force, binary=target_format.is_binary)
    with console.open_sources(sources, "convert", printing=output == console.STANDARD) as opened:
        result = convert_(
            opened,
            dst,
            source_format=source_format,
            target_format=target_format,
            changes=changes,
            frame_rows=frame_rows,
            frame_bytes=frame_bytes,
            restart_every=restart_every,
            namespaces=namespaces,
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
    from ..messages.formats import LogFormat
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


def _formats(
    sources: list[str], output: str, from_: Format | None, to: Format | None
) -> tuple[Format, Format]:
    """The formats of both sides, as told, or the only ones that make sense."""
    target = console.told_format(output, to)
    if target is None:
        console.refuse_ending(output, "logs of patches are written by jelly patch")
    told = {console.told_format(name, from_) for name in sources}
    if len(told) > 1:
        raise WrongUsageError(
            "sources of several formats: --from names one for all, -o names the output"
        )
    source = told.pop()
    if source is None:
        if target is Format.JELLY:
            raise WrongUsageError(f"the format of {sources[0]} is not known: --from names it")
        source = Format.JELLY
    if target is None:
        one_jelly = source.is_binary and len(sources) == 1
        target = Format.N_QUADS if one_jelly else Format.JELLY
    if not (source.is_binary or target.is_binary):
        raise WrongUsageError(
            f"{source} to {target}: one side of a conversion must be Jelly, rt or rpb"
        )
    if len(sources) > 1 and not source is target is Format.JELLY:
        raise WrongUsageError("several sources must be Jelly files, and become one Jelly file")
    return source, target
