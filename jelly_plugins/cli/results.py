"""Query results in the commands convert, inspect, validate and query."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, Final

from ..codec import Limits
from ..errors import JellyError
from ..formats.settings import ConversionSettings
from ..sparql.formats import ResultsFormat, format_of
from . import console
from .console import WrongUsageError

#: Types of columns, by their fields in a frame.
_TYPES: Final = {7: "iri", 8: "bnode", 9: "literal", 10: "mixed"}


def are_meant(sources: list[str], output: str, from_: str | None, to: str | None) -> bool:
    """Whether a command line is about query results: by a format that it names, or else by the
    name of a file."""
    requested = {from_, to} - {None}
    if requested:
        return not requested.isdisjoint(ResultsFormat)
    return any(map(format_of, (*sources, output)))


def _format(name: str, given: str | None) -> ResultsFormat | None:
    """The format that an option names, or a file's name."""
    if given is None:
        return None if name == console.STANDARD else format_of(name)
    try:
        return ResultsFormat(given)
    except ValueError:
        raise WrongUsageError(f"{given} is not a format of query results") from None


@contextmanager
def _opened(name: str, doing: str, given: str | None, limits: Limits) -> Iterator[Any]:
    from ..sparql import ResultsReader

    with (
        console.open_sources([name], doing) as [source],
        ResultsReader(source, format=_format(name, given), limits=limits) as results,
    ):
        yield results


def convert(
    sources: list[str],
    output: str,
    from_: str | None,
    to: str | None,
    force: bool,
    chosen: ConversionSettings,
) -> None:
    """Convert one file of results to another format."""
    from ..codec.sparql.encoder import DEFAULT_FRAME_CELLS
    from ..sparql import ResultsOptions, write_boolean, write_results

    if len(sources) != 1:
        raise WrongUsageError("only one file of query results can be converted at a time")
    target = _format(output, to)
    if target is None:
        if output != console.STANDARD:
            raise WrongUsageError(f"the format of {output} is not one of query results: --to")
        source_format = _format(sources[0], from_)
        binary = source_format is not None and source_format.is_binary
        target = ResultsFormat.JSON if binary else ResultsFormat.JELLY
    dst = console.destination(output, force=force, binary=target.is_binary)
    options = ResultsOptions(stream_name=chosen.changes.stream_name or "")
    with _opened(sources[0], "convert", from_, chosen.limits) as results:
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
            limits=chosen.limits,
        )


def inspect(source: str, *, frames: bool, as_json: bool, limits: Limits) -> None:
    """Report the variables, columns and size of results."""
    with _opened(source, "inspect", None, limits) as results:
        count = rows = size = 0
        unbound = [0] * len(results.variables)
        types: list[set[str]] = [set() for _ in results.variables]
        for frame in results.frames():
            count += 1
            rows += frame.rows
            size += frame.size
            for at, cells in enumerate(frame.columns):
                unbound[at] += cells.count(None)
            for at, number in enumerate(frame.types):
                types[at].add(_TYPES[number])
            if frames:
                columns = [_TYPES[number] for number in frame.types]
                if as_json:
                    console.print_json(
                        {
                            "frame": frame.index,
                            "size": frame.size,
                            "rows": frame.rows,
                            "columns": columns,
                            "metadata": frame.metadata,
                        }
                    )
                else:
                    print(
                        f"frame {frame.index}: {console.counted(frame.rows, 'row')}, "
                        f"{console.counted(frame.size, 'byte')}, {' '.join(columns)}"
                    )
        jelly = results.format is ResultsFormat.JELLY
        options = results.options
        report: dict[str, Any] = {
            "source": results.name,
            "format": str(results.format),
            "compression": results.compression,
            "boolean": results.boolean,
            "variables": [
                {
                    "name": name,
                    "unbound": unbound[at],
                    **({"columns": sorted(types[at])} if jelly else {}),
                }
                for at, name in enumerate(results.variables)
            ],
            "rows": rows,
        }
        if options is not None:
            report |= {
                "frames": count,
                "size": size,
                "stream_name": options.stream_name,
                "tables": [
                    options.max_name_table_size,
                    options.max_prefix_table_size,
                    options.max_datatype_table_size,
                ],
                "version": options.version,
            }
    if as_json:
        console.print_json(report)
        return
    names = report.pop("variables")
    if options is not None:
        report["frames"] = f"{count:,}"
        report["size"] = console.size_text(size)
        report["stream_name"] = options.stream_name or None
        report["tables"] = " ".join(map(str, report["tables"]))
    report["rows"] = f"{rows:,}" if results.boolean is None else None
    console.print_fields(report)
    for each in names:
        held = [*each.get("columns", ()), f"{each['unbound']:,} unbound"]
        print(f"?{each['name']}  {', '.join(held)}")


def validate(source: str, *, as_json: bool, limits: Limits) -> None:
    """Read results to their end."""
    try:
        with _opened(source, "validate", None, limits) as results:
            rows = sum(frame.rows for frame in results.frames())
    except JellyError as error:
        if as_json:
            console.print_json({"valid": False, "error": error_as_dict(error)})
        raise
    if as_json:
        console.print_json(
            {
                "valid": True,
                "source": results.name,
                "format": str(results.format),
                "compression": results.compression,
                "variables": results.variables,
                "boolean": results.boolean,
                "solutions": rows,
            }
        )
    elif results.boolean is not None:
        print(f"{results.name}: valid, the result of an ASK query")
    else:
        print(
            f"{results.name}: valid, {console.counted(rows, 'solution')} of "
            f"{console.counted(len(results.variables), 'variable')}"
        )


def error_as_dict(error: JellyError) -> dict[str, Any]:
    """An error for programs."""
    return {
        "type": type(error).__name__,
        "message": error.message,
        "source": error.source,
        "frame": error.frame,
        "row": error.row,
    }


#: Rows that decide how wide the columns of a table are, the most that one may be, and the least
#: where the terminal is narrow.
_SAMPLE: Final = 100
_WIDEST: Final = 60
_NARROWEST: Final = 10


def print_table(names: list[str], rows: Iterator[list[str]]) -> None:
    """Print solutions as a table that fits the terminal, row by row."""
    from rich.cells import cell_len

    rows = ([_printable(cell) for cell in row] for row in rows)
    sample = list(islice(rows, _SAMPLE))
    heads = [f"?{name}" for name in names]
    widths = [min(_WIDEST, max(map(cell_len, cells))) for cells in zip(heads, *sample, strict=True)]
    space = shutil.get_terminal_size().columns - 2 * (len(widths) - 1)
    while sum(widths) > space and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    count = shortened = 0
    for row in chain([heads, ["-" * width for width in widths]], sample, rows):
        shortened += any(cell_len(cell) > width for cell, width in zip(row, widths, strict=True))
        sys.stdout.write("  ".join(map(_fitted, row, widths)).rstrip() + "\n")
        count += 1
    print(console.counted(count - 2, "solution"))
    if shortened:
        print("… replaces text that does not fit; --to tsv writes all of it")


def _printable(text: str) -> str:
    """A text with control characters escaped."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else f"\\u{ord(each):04X}" for each in text)


def _fitted(text: str, width: int) -> str:
    """A text padded to a width, or shortened in its middle."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return set_cell_size(text, width)
    end = (width - 1) // 2
    return set_cell_size(text, width - 1 - end) + "…" + set_cell_size(text[::-1], end)[::-1]
