"""What the commands share: ``-`` for stdin and stdout, files that are not clobbered, progress,
numbers and tables for people, JSON for programs.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from ..io.names import did_you_mean, format_of
from ..io.sinks import SUFFIXES, Destination, ending_of
from ..io.sources import Source

if TYPE_CHECKING:
    from ..codec import Limits

STANDARD: Final = "-"

EXIT_USAGE: Final = 2

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

#: The ``--limit`` options of ``jelly``, for its command: see :func:`limits_from`.
group_limits: list[str] = []


class WrongUsageError(Exception):
    """The command line is invalid; the message says why."""


def limits_from(usual: Limits | None = None) -> Limits:
    """The limits that ``jelly --limit …`` sets, the others as ``usual`` or by default."""
    from ..codec import DEFAULT_LIMITS

    usual = usual or DEFAULT_LIMITS
    known = [field.name for field in fields(usual)]
    asked: dict[str, int] = {}
    for setting in group_limits:
        name, _, value = setting.partition("=")
        if name not in known:
            hint = did_you_mean(name, known) or f": there are {', '.join(sorted(known))}"
            raise WrongUsageError(f"--limit {setting}: unknown limit {name!r}{hint}")
        if not value.isdecimal():
            requested = f"{value!r} is not a number, and " if value else ""
            raise WrongUsageError(f"--limit {setting}: {requested}NAME=NUMBER is needed")
        asked[name] = int(value)
    try:
        return replace(usual, **asked)
    except ValueError as error:
        raise WrongUsageError(f"--limit: {error}") from error


@contextmanager
def open_sources(
    names: list[str], doing: str, *, then: str | None = None, printing: bool = False
) -> Iterator[list[Source]]:
    """The sources to read; ``-`` is stdin. On a terminal a bar shows how far large files are read.

    :param doing: the text of the progress bar.
    :param then: its text after a file was read, if that is not the end.
    :param printing: whether something is printed meanwhile. Where that is on the terminal too, it
        shows the progress, and no progress bar appears between the lines.
    """
    sources: list[Source] = [sys.stdin.buffer if name == STANDARD else name for name in names]
    sizes = [_size(name) or 0 for name in names]
    if sum(sizes) >= _WORTH_A_BAR:
        _note_python_kernel()
    shared = printing and sys.stdout.isatty()
    if shared or not sys.stderr.isatty() or min(sizes) < _WORTH_A_BAR:
        yield sources
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    with _progress(*columns, then=then) as bar, ExitStack() as stack:
        yield [stack.enter_context(bar.open(name, "rb", description=doing)) for name in names]


@contextmanager
def counting(
    doing: str, what: str = "statement", *, refreshes: float = 10
) -> Iterator[Callable[[int], object] | None]:
    """The callback for the number of statements since its last call, which shows all of them on a
    terminal; None without a terminal.

    :param what: what is counted, if not statements.
    :param refreshes: how often a second it is shown.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with _progress(*columns, refresh_per_second=refreshes) as bar:
        task = bar.add_task(doing, total=None)
        total = 0

        def show(number: int) -> None:
            nonlocal total
            total += number
            bar.update(task, description=f"{doing} {counted(total, what)}")

        yield show


@cache
def _note_python_kernel() -> None:
    from ..codec import native

    if not native:
        note(PYTHON_KERNEL)


def _progress(*columns: Any, then: str | None = None, **settings: Any) -> Any:
    from rich.console import Console
    from rich.progress import Progress

    class Bars(Progress):
        def advance(self, task_id: Any, advance: float = 1) -> None:
            super().advance(task_id, advance)
            if then is not None and self.tasks[task_id].finished:
                # At once: what comes then may keep the interpreter's lock.
                self.update(task_id, description=then, refresh=True)

    # Standard output stays as it was printed: the progress bar does not touch it.
    console = Console(stderr=True)
    return Bars(*columns, console=console, transient=True, redirect_stdout=False, **settings)


def _size(name: str) -> int | None:
    """The size of a regular file; None for anything else."""
    try:
        found = os.stat(name)
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def destination(name: str, *, force: bool, binary: bool) -> Destination:
    """Where to write; ``-`` is stdout.

    :param force: whether an existing file is replaced.
    :param binary: whether the output is not for a terminal.
    """
    if name == STANDARD:
        if binary and sys.stdout.isatty():
            raise WrongUsageError("Jelly is binary: name a file with -o, or pipe the output")
        return sys.stdout.buffer
    if not name:
        raise WrongUsageError("the name of the output is empty: - is standard output")
    if os.path.isdir(name):
        raise WrongUsageError(f"{name} is a folder")
    ending = os.path.splitext(name)[1].lower()
    if ending in _OTHER_COMPRESSIONS:
        raise WrongUsageError(
            f"{name}: unknown compression {ending} (supported: {', '.join(SUFFIXES)})"
        )
    if not force and _size(name) is not None:
        raise WrongUsageError(f"{name} exists: --force replaces it")
    return name


def require_files(names: list[str]) -> None:
    """Reject names of missing files, before any output is created.

    :raises OSError: one is not.
    """
    for name in names:
        if name != STANDARD and "://" not in name:
            os.stat(name)


def reject_ending(name: str, written: str) -> None:
    """Reject an output whose name has an ending that is not of the format written.

    A name without an ending, and anything that is not a file, gets the default format.

    :param written: the format written, and how to choose another one.
    """
    from ..patch.formats import format_of as log_format_of

    ending = ending_of(name)
    if name == STANDARD or ending in ("", *_OTHER_COMPRESSIONS) or _is_special(name):
        return
    requested = format_of(name) or log_format_of(name)
    if requested is not None:
        raise WrongUsageError(f"{name} has the ending of {requested}: {written}")
    raise WrongUsageError(f"{name}: {ending} is not a known file ending: {written}")


def _is_special(name: str) -> bool:
    """Whether there is a device or a pipe of this name."""
    return os.path.exists(name) and not os.path.isfile(name)


def print_json(value: Any) -> None:
    """Print one JSON value on a line of its own."""
    print(json.dumps(value, ensure_ascii=False, default=_as_json))


def _as_json(value: Any) -> Any:
    """Frame metadata: text where it is text, otherwise hexadecimal."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.hex()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def print_fields(fields: Mapping[str, object]) -> None:
    """Print names and values in two columns; a value of None is left out."""
    shown = {name: value for name, value in fields.items() if value is not None}
    width = max(map(len, shown), default=0)
    for name, value in shown.items():
        print(f"{name:<{width}}  {value}")


def print_report(as_json: bool, value: Any, fields: Mapping[str, object]) -> None:
    """Print JSON for programs, or names and values for people."""
    if as_json:
        print_json(value)
    else:
        print_fields(fields)


def note(message: str) -> None:
    """Print a message on stderr that is not an error."""
    print(f"jelly: {message}", file=sys.stderr)


def counted(number: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "statement"), counted(1000, "statement")
    ('1 statement', '1,000 statements')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def size_text(size: int) -> str:
    """A number of bytes for people.

    >>> size_text(140658)
    '137.4 KiB (140,658 bytes)'
    """
    for unit, bytes_ in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= bytes_:
            return f"{size / bytes_:.1f} {unit} ({size:,} bytes)"
    return f"{size} bytes"
