"""Memory of processes."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path


def peak() -> int:
    """Return the peak memory of this process in bytes."""
    try:
        # On Linux, getrusage includes the peak of the process that started this one.
        status = Path("/proc/self/status").read_text()
    except OSError:
        found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return found if sys.platform == "darwin" else found * 1024
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def resident() -> int:
    """Return the resident memory of this process in bytes, where the system reports it."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
