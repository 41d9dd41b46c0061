"""Documents of a folder, as bytes: what is no file of a bounded length is no document.

Whoever can write to a root could have left a pipe, which nobody ever ends, or a link to a device.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from ..documents import MAX_JSON
from ..errors import RootError

#: Without it a pipe that nobody writes to is waited for. Not all systems have it, nor such pipes.
_NO_WAITING: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_document(path: Path) -> bytes:
    """A document's bytes; of one that is longer than any may be, somewhat more.

    :raises FileNotFoundError: there is none.
    :raises RootError: it is no file, or cannot be read.
    """
    try:
        with open(os.open(path, os.O_RDONLY | _NO_WAITING), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise RootError("is no file", source=str(path))
            return file.read(MAX_JSON + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise RootError(f"cannot be read: {error.strerror}", source=str(path)) from error
    except UnicodeEncodeError as error:
        raise RootError(f"cannot be read: {error}", source=str(path)) from error
