"""Pipes that a store opens by name, as if they were files: it then reads or writes them on its own,
without the interpreter's lock and without calling back into Python for each few kilobytes.
"""

from __future__ import annotations

import os
from typing import Final

#: Where a pipe that is open can be opened by name.
_DESCRIPTORS: Final = "/dev/fd"

#: Whether there are such names here.
POSSIBLE: Final = os.path.isdir(_DESCRIPTORS)

#: Bytes that a pipe holds, where the system lets us say so: threads change less often.
_CAPACITY: Final = 1 << 20


def large_pipe() -> tuple[int, int]:
    """Make a pipe: the descriptors to read from and to write to.

    :raises OSError: there are too many open files.
    """
    reading, writing = os.pipe()
    try:
        import fcntl

        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _CAPACITY)
    except (ImportError, AttributeError, OSError):
        # Not on this system, or more than a user may have here: it works with less.
        pass
    return reading, writing


def name_of(descriptor: int) -> str:
    """The path of what is open."""
    return f"{_DESCRIPTORS}/{descriptor}"
