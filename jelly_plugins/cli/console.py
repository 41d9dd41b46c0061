"""What the commands share: ``-`` for stdin and stdout, files that are not clobbered, progress,
reports for people and JSON for programs.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum, StrEnum
from functools import cache
from itertools import islice
from typing import Any, Final, TypeVar

from click import UsageError

from ..io.sinks import Destination
from ..io.sources import SUFFIXES, Source, ending_of, format_of

STANDARD: Final = "-"

Form = TypeVar("Form", bound=StrEnum)

#: Files smaller than this are read too quickly for a progress bar.
_WORTH_A_BAR: Final = 4 << 20

#: Endings that promise a compression which is not written.
_OTHER_COMPRESSIONS: Final = (".xz", ".lzma", ".lz4", ".lzo", ".br", ".sz", ".zip", ".7z", ".z")

#: What to print if the compiled kernel does not run.
PYTHON_KERNEL: Final = (
    "the compiled kernel is missing, and the codec runs in Python, ten times slower or more: unset "
    "JELLY_PURE_PYTHON, or install a C compiler and run pip install --force-reinstall --no-deps "
    "--no-binary :all: jelly-plugins"
)


@contextmanager
def open_sources(names: list[str], doing: str, *, printing: bool = False) -> Iterator[list[Source]]:
    """The sources to read; ``-`` is stdin. On a terminal a bar shows how far large files are read.

    :param doing: the text of the progress bar.
    :param printing: whether something is printed meanwhile. Where that is on the terminal too, it
        shows the progress, and no progress bar appears between the lines.
    """
    if names.count(STANDARD) > 1:
        raise UsageError("stdin can be given only once")
    sources: list[Source] = [sys.stdin.buffer if name == STANDARD else name for name in names]
    sizes = [_size(name) or 0 for name in names]
    if sum(sizes) >= _WORTH_A_BAR:
        _note_python_kernel()
    shared = printing and sys.stdout.isatty()
    if shared or not sys.stderr.isatty() or min(sizes) < _WORTH_A_BAR:
        yield sources
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn

    text = TextColumn("{task.description}")
    columns = (text, BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with _progress(*columns) as bar, ExitStack() as stack:
        yield [stack.enter_context(bar.open(name, "rb", description=doing)) for name in names]


@contextmanager
def counting(doing: str, what: str = "statement") -> Iterator[Callable[[int], object] | None]:
    """The callback for the number of statements since its last call, which shows all of them on a
    terminal; None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with _progress(*columns) as bar:
        task = bar.add_task(doing, total=None)
        total = 0

        def show(number: int) -> None:
            nonlocal total
            total += number
            bar.update(task, description=f"{doing} {counted(total, what)}")

        yield show


def _progress(*columns: Any) -> Any:
    from rich.console import Console
    from rich.progress import Progress

    # Standard output stays as it was printed: the progress bar does not touch it.
    return Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)


@cache
def _note_python_kernel() -> None:
    from ..codec import native

    if not native:
        note(PYTHON_KERNEL)


def _size(name: str) -> int | None:
    """The size of a regular file; None for anything else."""
    try:
        found = os.stat(name)
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where a command writes; ``-`` is stdout."""

    output: str = STANDARD
    force: bool = False

    def open(self, *, binary: bool) -> Destination:
        """The destination; ``binary`` output is not for a terminal."""
        name = self.output
        if name == STANDARD:
            if binary and sys.stdout.isatty():
                raise UsageError("Jelly is binary: name a file with -o, or pipe the output")
            return sys.stdout.buffer
        if not name:
            raise UsageError("the name of the output is empty: - is standard output")
        if os.path.isdir(name):
            raise UsageError(f"{name} is a folder")
        ending = os.path.splitext(name)[1].lower()
        if ending in _OTHER_COMPRESSIONS:
            supported = ", ".join(SUFFIXES)
            raise UsageError(f"{name}: unknown compression {ending} (supported: {supported})")
        if not self.force and _size(name) is not None:
            raise UsageError(f"{name} exists: --force replaces it")
        return name

    def reject_ending(self, written: str) -> None:
        """Reject a name whose ending is not of the format written.

        A name without an ending, and anything that is not a file, gets the default format.

        :param written: the format written, and how to choose another one.
        """
        from ..patch.formats import format_of as log_format_of

        name = self.output
        ending = ending_of(name)
        is_special = os.path.exists(name) and not os.path.isfile(name)
        if name == STANDARD or ending in ("", *_OTHER_COMPRESSIONS) or is_special:
            return
        requested = format_of(name) or log_format_of(name)
        if requested is not None:
            raise UsageError(f"{name} has the ending of {requested}: {written}")
        raise UsageError(f"{name}: {ending} is not a known file ending: {written}")


def known(form: Form | None, name: str, option: str = "--from") -> Form:
    """The format of a file, unless neither its name nor an option says it."""
    if form is None:
        raise UsageError(f"the format of {name} is not known: {option} names it")
    return form


def require_files(names: Iterable[str]) -> None:
    """Reject names of missing files, before any output is created."""
    for name in names:
        if name != STANDARD and "://" not in name:
            os.stat(name)


def report(value: Any, as_json: bool, **more: Any) -> None:
    """Print a dataclass or a mapping: one line of JSON for programs, or names and values for
    people.

    :param more: further values, or others for fields of the dataclass.
    """
    values = _plain(value) | _plain(more)
    if as_json:
        print(json.dumps(values, ensure_ascii=False))
    else:
        print("\n".join(_report_lines(values)))


def line(value: Mapping[str, Any], as_json: bool) -> None:
    """Print one of many reports as soon as it is known, on a line. For people, the first value is
    the title, such as the number of a frame."""
    values = _plain(value)
    if as_json:
        print(json.dumps(values, ensure_ascii=False))
        return
    (name, first), *others = values.items()
    rest = _in_line(dict(others))
    print(f"{name} {_in_line(first)}{': ' if rest else ''}{rest}")


def _plain(value: Any) -> Any:
    """A value as JSON has it. Enumerations are written by name; frame metadata as text where it is
    text, otherwise in hexadecimal."""
    if is_dataclass(value):
        value = {each.name: getattr(value, each.name) for each in fields(value)}
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.hex()
    return value.name if isinstance(value, Enum) and not isinstance(value, str) else value


def _report_lines(values: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """Names and values in two columns, and below them values with parts, each under its name."""
    shown = {name.replace("_", " "): each for name, each in values.items() if _is_shown(each)}
    shown |= {
        name.replace("_", " "): "none" for name, each in values.items() if each == [] and not indent
    }
    parts = {name: each for name, each in shown.items() if isinstance(each, dict | list)}
    width = max((len(name) for name in shown if name not in parts), default=0)
    for name, each in shown.items():
        if name not in parts:
            yield f"{indent}{name:<{width}}  {_in_line(each)}"
    for name, each in parts.items():
        yield f"{indent}{name}"
        if isinstance(each, dict):
            yield from _report_lines(each, f"{indent}  ")
        else:
            yield from (f"{indent}  {_in_line(item)}" for item in each)


def _is_shown(value: Any) -> bool:
    return value not in ("", {}, []) and value is not None and value is not False


def _in_line(value: Any) -> str:
    if isinstance(value, dict):
        named = ((name, each) for name, each in value.items() if _is_shown(each))
        return ", ".join(_named(name.replace("_", " "), each) for name, each in named)
    if isinstance(value, list):
        return ", ".join(map(_in_line, value))
    if value is True:
        return "yes"
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"
    return str(value)


def _named(name: str, value: Any) -> str:
    if value is True:
        return name
    return f"{name} ({_in_line(value)})" if isinstance(value, dict) else f"{name} {_in_line(value)}"


#: Rows of a table that are held to choose the widths of its columns.
_ROWS_OF_A_TABLE: Final = 1000


def print_table(names: list[str], rows: Iterator[list[str]]) -> None:
    """Print solutions as tables that fit the terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = Console(highlight=False)
    count = 0
    while True:
        table = Table(box=None, pad_edge=False)
        for name in names:
            table.add_column(Text(f"?{name}"), overflow="ellipsis", no_wrap=True)
        held = list(islice(rows, _ROWS_OF_A_TABLE))
        for row in held:
            table.add_row(*(Text(printable(cell)) for cell in row))
        if held or not count:
            terminal.print(table)
        count += len(held)
        if len(held) < _ROWS_OF_A_TABLE:
            break
    print(counted(count, "solution"))


def printable(text: str) -> str:
    """A text in which characters that a terminal may take for commands are escaped as in
    N-Triples."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escaped(ord(each)) for each in text)


def _escaped(code: int) -> str:
    return f"\\u{code:04X}" if code < 1 << 16 else f"\\U{code:08X}"


def note(message: str) -> None:
    """Print a message on stderr that is not an error."""
    print(f"jelly: {message}", file=sys.stderr)


def counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
