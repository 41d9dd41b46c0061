"""The ``jelly`` command. Each subcommand makes one call into the library; this package defines
options, output and exit codes.

Exit codes: 0 done, even if an interrupt came too late to stop it; 1 bad input or a failed check;
2 wrong usage; 129, 130, 141 and 143 ended by a signal or a closed pipe: SIGHUP, SIGINT, SIGPIPE,
SIGTERM. An error is one line on stderr.

Importing this package imports little: an interrupt while the rest is loaded ends as quietly as one
later.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, Final

__all__ = ["discard_output", "exit_code", "finished", "main"]

_LIBRARIES: Final = ("click", "rich")

#: Signals of supervisors and of a closed terminal. Not all systems have both.
_SIGNALS: Final = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class TerminatedError(KeyboardInterrupt):
    """A signal ended the process. Cleanup for KeyboardInterrupt applies to it too."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def main() -> None:
    """Run the command line in ``sys.argv``; never returns."""
    try:
        _main()
    except KeyboardInterrupt as error:
        sys.exit(exit_code(error))


def _main() -> None:
    if None in (sys.stdin, sys.stdout, sys.stderr):
        sys.exit("jelly: standard input, output and error must be open")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Not all encodings have all characters of names and terms.
        sys.stdout.reconfigure(errors="backslashreplace")
    for number in _SIGNALS:
        # One that the parent process ignores (``nohup``) stays ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminate)
    try:
        from .app import app
    except ModuleNotFoundError as error:
        if error.name not in _LIBRARIES:
            raise
        from ..errors import install_line

        print(f"jelly: the command needs a library: {install_line('cli')}", file=sys.stderr)
        sys.exit(1)
    app()


def _terminate(number: int, _frame: object) -> None:
    # Terminal and shell may each send one; the first is enough.
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise TerminatedError(number)


def exit_code(error: KeyboardInterrupt) -> int:
    """The exit code of a process that an interrupt has ended: 128 and the signal's number."""
    return 128 + (error.number if isinstance(error, TerminatedError) else signal.SIGINT)


def finished(work: Callable[[], Any], stop: Callable[[], object] = lambda: None) -> Any:
    """Do something in a thread, so that a signal does not interrupt it.

    :param stop: called at a signal, to make the work end early, in order; the signal ends the
        command after that.
    """
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        try:
            # A signal may come before ``submit`` has returned.
            return pool.submit(work).result()
        except KeyboardInterrupt:
            stop()
            raise


def discard_output() -> None:
    """Discard buffered output that cannot be written, so that Python does not retry at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
