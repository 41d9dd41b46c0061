"""``jelly inspect``: report the structure of a stream."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from ..codec.sparql.options import RESULTS_LIMITS
from ..io.names import Format
from . import console, results, settings
from .console import WrongUsageError
from .options import Option

if TYPE_CHECKING:
    from ..tools.inspection import FrameReport, StreamReport


def inspect(
    source: settings.SourceArgument,
    frames: Annotated[
        bool, Option("--frames", help="Print one line per frame, as it is read.")
    ] = False,
    as_json: settings.AsJson = False,
    concatenated: Annotated[
        bool,
        Option(
            "--concatenated",
            help="Treat options at a frame's start as a new stream, as after cat.",
        ),
    ] = False,
    messages: Annotated[
        bool, Option("--messages", help="Count the messages of a message log.")
    ] = False,
    from_: settings.FromLog = None,
    context: settings.ContextFiles = None,
    base: settings.Base = None,
) -> None:
    """Show options, frames, rows by kind and sizes of a Jelly stream.

    With --json the report is one line of JSON; with --frames a line for each frame comes first.
    With --messages the messages of a log are counted, in Jelly or any other syntax. Of Jelly-SPARQL
    it shows variables, columns and rows; of files in other formats, statements and prefixes.
    """
    if messages:
        if frames or concatenated:
            raise WrongUsageError("--frames and --concatenated cannot be combined with --messages")
        _inspect_log(
            source,
            as_json=as_json,
            format=settings.log_format(source, from_),
            contexts=settings.contexts_from(context),
            limits=console.limits_from(),
        )
        return
    if results.are_meant([source], console.STANDARD, from_, None):
        if concatenated:
            raise WrongUsageError("--concatenated cannot be combined with query results")
        results.inspect(
            source,
            frames=frames,
            as_json=as_json,
            limits=console.limits_from(RESULTS_LIMITS),
        )
        return
    if context:
        raise WrongUsageError("--context needs --messages")
    form = settings.source_format(source, from_)
    if form is not Format.JELLY:
        if frames or concatenated:
            raise WrongUsageError(f"--frames and --concatenated apply to Jelly, not to {form}")
        _inspect_text(source, form, as_json, base=base, limits=console.limits_from())
        return
    from ..tools.inspection import inspect as inspect_

    show_frame = _print_frame_json if as_json else _print_frame
    with console.open_sources([source], "inspect", printing=frames) as [opened]:
        report = inspect_(
            opened,
            limits=console.limits_from(),
            concatenated=concatenated,
            on_frame=show_frame if frames else None,
        )
    if as_json:
        console.print_json(_as_dict(report))
    else:
        _print_report(report)


def _inspect_text(source: str, form: Format, as_json: bool, **settings: Any) -> None:
    from ..tools.inspection import inspect_text

    with console.open_sources([source], "inspect") as [opened]:
        report = inspect_text(opened, form, **settings)
    size = report.file_size
    console.print_report(
        as_json,
        asdict(report),
        {
            "source": report.source,
            "format": report.format,
            "file": None if size is None else console.size_text(size),
            "statements": f"{report.statements:,}",
            "namespaces": " ".join(f"{k}: <{v}>" for k, v in report.namespaces.items()) or None,
        },
    )


def _inspect_log(source: str, *, as_json: bool, **arguments: Any) -> None:
    from ..messages import inspect_messages

    with console.open_sources([source], "inspect") as [opened]:
        report = inspect_messages(opened, **arguments)
    per_message = report.quads_per_message
    console.print_report(
        as_json,
        asdict(report) | {"quads_per_message": per_message},
        {
            "source": report.source,
            "syntax": report.format,
            "messages": f"{report.messages:,}, {report.empty:,} empty, "
            f"the largest of {report.largest:,} quads",
            "quads": f"{report.quads:,}",
            "per message": None if per_message is None else f"{per_message:.1f} quads",
        },
    )


def _print_frame(frame: FrameReport) -> None:
    rows = ", ".join(f"{number} {kind.lower()}" for kind, number in frame.rows.items())
    line = (
        f"frame {frame.index}: {console.counted(frame.statements, 'statement')}, "
        f"{console.counted(frame.size, 'byte')}; rows: {rows}"
    )
    if frame.metadata:
        line += f"; metadata: {', '.join(frame.metadata)}"
    print(line)


def _print_frame_json(frame: FrameReport) -> None:
    console.print_json({"frame": asdict(frame)})


def _as_dict(report: StreamReport) -> dict[str, Any]:
    from ..tools.inspection import options_as_dict

    return asdict(report) | {
        "options": options_as_dict(report.options),
        "bytes_per_statement": report.bytes_per_statement,
    }


def _print_report(report: StreamReport) -> None:
    from ..tools.inspection import options_as_dict

    per_statement = report.bytes_per_statement
    framing = "delimited" if report.delimited else "bare"
    console.print_fields(
        {
            "source": report.source,
            "file": None if report.file_size is None else console.size_text(report.file_size),
            "compression": report.compression or "none",
            "content": console.size_text(report.size),
            "streams": report.streams if report.streams > 1 else None,
            "frames": f"{report.frames:,}, {framing}, {report.empty_frames:,} empty, "
            f"the largest {console.size_text(report.largest_frame)}",
            "messages": f"{report.frames:,}" if report.options.grouped else None,
            "restart points": f"{report.restarts:,}" if report.restarts else None,
            "statements": f"{report.statements:,}",
            "per statement": None if per_statement is None else f"{per_statement:.1f} bytes",
            "graphs": f"{report.graphs:,}" if report.graphs else None,
        }
    )
    print("\noptions")
    console.print_fields({f"  {k}": v for k, v in options_as_dict(report.options).items()})
    print("\nrows")
    console.print_fields({f"  {kind.lower()}": f"{n:>12,}" for kind, n in report.rows.items()})
    if report.namespaces:
        print("\nnamespaces")
        console.print_fields({f"  {k}:": " ".join(v) for k, v in report.namespaces.items()})
    if report.metadata:
        print("\nmetadata (frames that have it)")
        console.print_fields({f"  {key}": f"{n:,}" for key, n in report.metadata.items()})
    if report.unlisted:
        print(f"\n{report.unlisted:,} more namespaces and metadata keys are not listed")
