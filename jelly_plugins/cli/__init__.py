"""The ``jelly`` command. Each command is one call into the library; here are only its options,
what is printed, and what the exit code is.

Exit codes: 0 done, 1 bad input or a failed check, 2 wrong usage, 130 and 141 interrupted (the
keyboard, a closed pipe). An error is one line on stderr.
"""

from __future__ import annotations

import sys

__all__ = ["main"]

_LIBRARIES = ("typer", "rich")


def main() -> None:
    """Run the command line in ``sys.argv``; never returns."""
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
