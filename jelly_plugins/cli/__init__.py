"""The ``jelly`` command. Each subcommand makes one call into the library; this package defines
options, output and exit codes.

Exit codes: 0 done, even if an interrupt came too late to stop it; 1 bad input or a failed check;
2 wrong usage; 129, 130, 141 and 143 ended from outside: the terminal is gone, the keyboard, a
closed pipe, SIGTERM. An error is one line on stderr.

Importing this package imports only what its first lines need: an interrupt while the rest is loaded
ends as quietly as one later.
"""

from __future__ import annotations

import io
import os
import sys

__all__ = ["discard_output", "main", "version_text"]

_LIBRARIES = ("click", "rich")


def main() -> None:
    """Run the command line in ``sys.argv``; never returns."""
    try:
        try:
            _main()
        finally:
            from .signals import ignore_signals

            ignore_signals()
    except KeyboardInterrupt as error:
        from .signals import exit_code

        sys.exit(exit_code(error))


def _main() -> None:
    from .signals import end_at_signals

    _open_closed_streams()
    end_at_signals()
    if sys.argv[1:] == ["--version"]:
        # Without the libraries that all else needs, and their time.
        try:
            print(version_text(), flush=True)
        except OSError as error:
            discard_output()
            sys.exit(f"jelly: <stdout>: {error.strerror}")
        return
    try:
        from .app import app
    except ModuleNotFoundError as error:
        if error.name not in _LIBRARIES:
            raise
        from ..errors import install_line

        print(f"jelly: the command needs a library: {install_line('cli')}", file=sys.stderr)
        sys.exit(1)
    app()


def version_text() -> str:
    """The version and the active kernel, one per line."""
    from .. import __version__
    from ..lazy import has_kernel

    return f"jelly {__version__}\nkernel: {'native' if has_kernel() else 'python'}"


def discard_output() -> None:
    """Discard buffered output that cannot be written, so that Python does not retry at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_closed_streams() -> None:
    """Replace standard streams that are closed by streams that fail when they are used: Python has
    none then, and the next file that is opened would get their number."""
    if sys.stdin is None:
        source = io.FileIO(os.open(os.devnull, os.O_WRONLY))
        source.name = "<stdin>"
        sys.stdin = io.TextIOWrapper(io.BufferedReader(source))
    if sys.stdout is None:
        out = io.FileIO(os.open(os.devnull, os.O_RDONLY), "w")
        out.name = "<stdout>"
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(out))
    if sys.stderr is None:
        sys.stderr = io.TextIOWrapper(io.BufferedWriter(io.FileIO(os.devnull, "w")))
