"""The ``jelly`` command. Each command is one call into the library; here are only its options,
what is printed, and what the exit code is.

Exit codes: 0 done, 1 bad input or a failed check, 2 wrong usage; 129, 130, 141 and 143 ended from
outside: the terminal is gone, the keyboard, a closed pipe, SIGTERM. An error is one line on stderr.

Importing this package imports nothing but what its first lines need: an interrupt while the rest is
loaded ends as quietly as one later.
"""

from __future__ import annotations

import sys

__all__ = ["main"]

_LIBRARIES = ("typer", "rich")


def main() -> None:
    """Run the command line in ``sys.argv``; never returns."""
    try:
        _main()
    except KeyboardInterrupt as error:
        from .signals import exit_code

        sys.exit(exit_code(error))


def _main() -> None:
    from .signals import end_at_signals

    end_at_signals()
    if sys.argv[1:] == ["--version"]:
        # Without the libraries that all else needs, and their time.
        from .version import version_text

        print(version_text())
        return
    try:
        from .app import app
    except ModuleNotFoundError as error:
        if error.name not in _LIBRARIES:
            raise
        print(
            "jelly: the command needs a library: pip install 'jelly-plugins[cli]'", file=sys.stderr
        )
        sys.exit(1)
    app()
