"""Destinations of bytes: paths and open files; compressed according to the name; complete or not at
all.

A path gets its new content only when all of it is written: until then it is in a temporary file
beside it, which an error removes.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, Final, Generic, Protocol, TypeAlias, TypeVar

from ..errors import SourceError, shown
from .sources import (
    SUFFIXES,
    UNSUPPORTED_SUFFIXES,
    Format,
    format_of,
    name_of,
    zstandard_module,
)


class Writable(Protocol):
    """A destination of bytes."""

    def write(self, data: bytes, /) -> Any: ...


ItemT = TypeVar("ItemT")

#: What every writing function takes: a path or an open binary file.
Destination: TypeAlias = str | os.PathLike[str] | Writable


def compression_of(name: str) -> str | None:
    """The compression that a file's name indicates."""
    return SUFFIXES.get(os.path.splitext(name)[1].lower())


def compression_for(name: str) -> str | None:
    """The compression of a file that is written.

    :raises SourceError: the name indicates one that is not supported.
    """
    ending = os.path.splitext(name)[1].lower()
    if ending in UNSUPPORTED_SUFFIXES:
        raise SourceError(f"{ending[1:]} is not supported: use {', '.join(SUFFIXES)}", source=name)
    return compression_of(name)


def check_jelly_name(dst: Destination) -> None:
    """Check a destination that gets Jelly: readers choose the format by a path's ending."""
    if not isinstance(dst, str | os.PathLike):
        return
    named = format_of(dst)
    if named not in (None, Format.JELLY):
        raise SourceError(
            f"Jelly is written, and the name is of the format {named}: name the file .jelly, or "
            f"write {named} with jelly_plugins.convert, Store.dump or Graph.serialize",
            source=os.fspath(dst),
        )


class Counted(Generic[ItemT]):
    """Counts the items of an iterable while a writer takes them.

    :ivar count: number of items so far.
    """

    def __init__(self, items: Iterable[ItemT]) -> None:
        self._items = items
        self.count = 0

    def __iter__(self) -> Iterator[ItemT]:
        for item in self._items:
            self.count += 1
            yield item


#: Names of open files; they may refer to a regular file, which must not be replaced.
_DESCRIPTORS: Final = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")


@contextmanager
def open_output(dst: Destination) -> Iterator[Writable]:
    """Open a destination; a path is replaced as a whole when the block ends without an error.

    A path that is not a regular file (a device, a named pipe) is written to directly.
    A file that the caller opened stays open.
    """
    if isinstance(dst, str | os.PathLike):
        name = os.fspath(dst)
        if not name:
            raise SourceError("the name of the output is empty")
        compression = compression_for(name)
        with _open_path(name) as file, compressed(file, compression) as out:
            yield out
        return
    if not hasattr(dst, "write"):
        raise TypeError(f"a path or an open binary file is needed, not {shown(dst)}")
    name = name_of(dst)
    if getattr(dst, "closed", False):
        raise SourceError("the file is closed", source=name)
    if isinstance(dst, io.TextIOBase):
        raise SourceError("the file is not open in binary mode", source=name)
    with _named(name):
        yield _Whole(dst)


class _Whole:
    """Writes all to an open file, which may take less than it is given: raw files do, and objects
    that pass a raw file's answer on.
    """

    def __init__(self, file: Writable) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, data: bytes, /) -> None:
        rest: Any = data
        while rest:
            written = self._file.write(rest)
            if written is None and isinstance(self._file, io.RawIOBase):
                raise BlockingIOError(errno.EAGAIN, "the file is in non-blocking mode")
            if type(written) is not int:
                # Such as None: not all files say how much they took.
                return
            if written <= 0:
                raise OSError(errno.EIO, "the file takes no more bytes")
            rest = memoryview(rest)[written:]


@contextmanager
def _open_path(name: str) -> Iterator[BinaryIO]:
    temporary = None
    try:
        path = os.path.realpath(name)
        if not is_replaceable(name):
            file: BinaryIO = open(name, "wb")  # noqa: SIM115 (closed below, with the other)
        else:
            handle, temporary = tempfile.mkstemp(
                prefix=f".{os.path.basename(path)[:32]}.", dir=os.path.dirname(path)
            )
            file = os.fdopen(handle, "wb")
    except (OSError, ValueError) as error:
        raise SourceError(getattr(error, "strerror", None) or str(error), source=name) from None
    if temporary is None:
        with _named(name), file:
            yield file
        return
    try:
        with _named(name), file:
            yield file
        try:
            os.chmod(temporary, _mode(path))
            os.replace(temporary, path)
        except OSError as error:
            raise SourceError(error.strerror or str(error), source=name) from error
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


#: Error numbers of a full disk and of a disk failure.
NO_ROOM: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Add the name of the file to errors of writing, which the system's own errors lack."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in NO_ROOM:
            error.filename = name
        raise


def is_replaceable(dst: Destination) -> bool:
    """Whether a destination is the path of a regular file, or of no file yet."""
    if not isinstance(dst, str | os.PathLike) or os.fspath(dst).startswith(_DESCRIPTORS):
        return False
    try:
        return stat.S_ISREG(os.stat(dst).st_mode)
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        # Opening it raises the error.
        return False


def _mode(path: str) -> int:
    """The permissions of the file that is replaced, or those of any new file."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


@contextmanager
def compressed(file: BinaryIO, compression: str | None) -> Iterator[Writable]:
    """Write to ``file`` through a compression, or through none; ``file`` stays open."""
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
        # With a checksum, as gzip and bz2 have one: broken bits do not pass for data.
        compressor = zstandard_module().ZstdCompressor(write_checksum=True)
        with compressor.stream_writer(file, closefd=False) as out:
            yield out
