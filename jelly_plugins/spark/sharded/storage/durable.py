"""Files of a disk that last: through a loss of power, and whole or not at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final
from uuid import uuid4

_BLOCK: Final = 1 << 20


def replace_file(path: Path, data: bytes) -> None:
    """Put other bytes in the place of a file's, at once."""
    temporary = write_beside(path, data)
    os.replace(temporary, path)
    sync_folder(path.parent)


def write_file(path: Path, data: bytes) -> None:
    """Write a file that nobody else has a name for, so that it lasts."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_beside(path: Path, data: bytes) -> Path:
    """Write a file, so that it lasts, under a name for a moment."""
    temporary = path.with_name(f"{path.name}.{uuid4().hex}.tmp")
    write_file(temporary, data)
    return temporary


def copy_file(source: Path, target: Path) -> None:
    """Copy a file, so that it lasts, under a name that nothing has."""
    with source.open("rb") as read, target.open("xb") as file:
        shutil.copyfileobj(read, file, _BLOCK)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last through a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
