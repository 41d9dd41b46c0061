"""Whether a task sees the root that the driver sees: it looks for a file that the driver writes.

A root that lies on another file system for the executors is an empty folder there, or can be made
as one; so nothing would fail, and all that they write would be lost. No Spark.
"""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Final

from ..errors import RootError

_NAME: Final = "probe"

#: A network file system may take a moment until all see what one has written.
_PATIENCE: Final = 2.0
_PAUSE: Final = 0.1


def put_probe(attempt: Path) -> None:
    """Write the probe of an attempt.

    :param attempt: its folder in the root's staging area; made. Its name is no other attempt's.
    """
    attempt.mkdir(parents=True)
    (attempt / _NAME).write_text(attempt.name)


def check_probe(attempt: Path) -> None:
    """Look for the probe of an attempt.

    :raises RootError: it is not here.
    """
    until = time.monotonic() + _PATIENCE
    while not _is_here(attempt):
        if time.monotonic() > until:
            raise RootError(
                f"an executor on {socket.gethostname()} does not see what the driver has written "
                "there: the root has to be on a file system that the driver and every executor "
                "have under the same path",
                source=str(attempt.parent.parent),
            )
        time.sleep(_PAUSE)


def _is_here(attempt: Path) -> bool:
    try:
        return (attempt / _NAME).read_text() == attempt.name
    except OSError:
        return False
