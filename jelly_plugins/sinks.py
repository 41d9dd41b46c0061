"""Where bytes go: paths, open files; compressed as the name says; complete or not at all.

A path gets its new content only when all of it is written: until then it stands in a temporary file
beside it, which an error removes.
"""

from __future__ import annotations

import bz2
import gzip
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, Final, Protocol, TypeAlias

from .errors import SourceError
from .sources import zstandard_module


class Writable(Protocol):
    """What bytes are written to."""

    def write(self, data: bytes, /) -> Any: ...


#: What every writing function takes: a path or an open binary file.
Destination: TypeAlias = str | os.PathLike[str] | Writable

#: Compression by the name's ending.
SUFFIXES: Final = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


def compression_of(name: str) -> str | None:
    """The compression that a file's name asks for.

    >>> compression_of("x.jelly.gz"), compression_of("x.jelly")
    ('gzip', None)
    """
    return SUFFIXES.get(os.path.splitext(name)[1])


@contextmanager
def open_output(dst: Destination) -> Iterator[Writable]:
    """Open a destination; a path is replaced as a whole when the block ends without an error.

    A path to something that is no regular file (a device, a named pipe) is written to directly.

    :raises SourceError: the path cannot be written.
    """
    if not isinstance(dst, str | os.PathLike):
        yield dst
        return
    path = os.path.realpath(os.fspath(dst))
    try:
        if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
            with open(path, "wb") as file:
                yield file
            return
        handle, temporary = tempfile.mkstemp(
            prefix=f".{os.path.basename(path)}.", dir=os.path.dirname(path)
        )
    except OSError as error:
        raise SourceError(error.strerror or str(error), source=os.fspath(dst)) from error
    try:
        with os.fdopen(handle, "wb") as file, _compressed(file, compression_of(path)) as out:
            yield out
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _mode(path: str) -> int:
    """The permissions of the file that is replaced, or those of any new file."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


@contextmanager
def _compressed(file: BinaryIO, compression: str | None) -> Iterator[Writable]:
    if compression is None:
        yield file
    elif compression == "gzip":
        # No name and no time: the same data gives the same bytes.
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as out:
            yield out
    elif compression == "bz2":
        with bz2.BZ2File(file, "wb") as out:
            yield out
    else:
        with zstandard_module().ZstdCompressor().stream_writer(file, closefd=False) as out:
            yield out
