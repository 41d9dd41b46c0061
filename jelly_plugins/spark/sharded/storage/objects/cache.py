"""Fetched files on this machine's disk, shared by all processes that use them.

Rules of this file:
1. A file is named after its checksum and size, independent of its origin, and appears atomically,
   by a rename. Two processes may fetch the same file; the later one replaces it with the same
   bytes.
2. Readers have their own folders, with hard links. A file may therefore be evicted or replaced at
   any time: it exists as long as a folder has a link to it.
3. A process compares a file's checksum before its first use, and again if the file has changed
   since. A damaged file is removed, and fetched again.
4. A folder belongs to the process that has its lock, which is released when the process exits for
   any reason; the next process removes abandoned folders.

Needs ``fcntl``: a POSIX system.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final
from uuid import uuid4

from ..files import checksum_of_file

#: Environment variables for the folder and the size of the cache; settings take precedence.
FOLDER_VARIABLE: Final = "JELLY_PLUGINS_CACHE"
BYTES_VARIABLE: Final = "JELLY_PLUGINS_CACHE_BYTES"
DEFAULT_BYTES: Final = 10 << 30

_FILES: Final = "files"
_FOLDERS: Final = "open"
_LOCK: Final = ".lock"

#: The fraction of the cache that is evicted at once, so that files are not listed too often.
_SHARE: Final = 8
#: Seconds after which an incomplete file is considered abandoned.
_ABANDONED: Final = 24 * 3600


def default_folder() -> Path:
    """Return the default folder: the environment variable's, or one in the user's cache folder."""
    given = os.environ.get(FOLDER_VARIABLE)
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    home = Path(base) if base else Path(os.path.expanduser("~")) / ".cache"
    folder = home / "jelly-plugins"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.gettempdir()) / f"jelly-plugins-{os.getuid()}"
    return folder


class Folder:
    """This process's own folder in the cache, until it is closed or garbage-collected.

    :ivar path: the folder.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path: Final = path
        self._close: Final = weakref.finalize(self, _release, path, descriptor, os.getpid())

    def close(self) -> None:
        """Remove the folder."""
        self._close()


class Cache:
    """A cache.

    :param folder: its folder; created if it does not exist.
    :param most: its approximate maximum size in bytes.
    """

    def __init__(self, folder: Path, most: int) -> None:
        self._files: Final = folder / _FILES
        self._folders: Final = folder / _FOLDERS
        self._most: Final = most
        self._lock: Final = Lock()
        self._added = most
        #: Size and time of modification of compared files, by path and inode.
        self._compared: Final[dict[tuple[Path, int], tuple[int, int]]] = {}
        for each in (self._files, self._folders):
            each.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._clear()

    # Folders

    def folder(self) -> Folder:
        """Create a folder, on the same file system as the files."""
        # The folder may have been removed.
        self._folders.mkdir(parents=True, exist_ok=True, mode=0o700)
        while True:
            path = self._folders / uuid4().hex
            descriptor = os.open(f"{path}{_LOCK}", os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # Another process may have taken it for an abandoned one, just before it was locked.
            with suppress(FileNotFoundError):
                if os.stat(f"{path}{_LOCK}").st_ino == os.fstat(descriptor).st_ino:
                    path.mkdir()
                    return Folder(path, descriptor)
            os.close(descriptor)

    def _clear(self) -> None:
        """Remove the folders of processes that have exited."""
        for lock in self._folders.glob(f"*{_LOCK}"):
            try:
                descriptor = os.open(lock, os.O_RDWR)
            except OSError:
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                continue
            _release(lock.with_suffix(""), descriptor, os.getpid())

    # Files

    def link(self, checksum: str, size: int, target: Path) -> bool:
        """Link a file to another name, if the cache has it and it is unchanged.

        :return: whether that is so.
        """
        path = self._path(checksum, size)
        try:
            if not stat.S_ISREG(path.lstat().st_mode):
                _remove(path)
                return False
            os.link(path, target)
        except FileNotFoundError:
            return False
        found = target.stat()
        known = self._compared.get((path, found.st_ino))
        if known != (found.st_size, found.st_mtime_ns):
            if found.st_size != size or checksum_of_file(target) != checksum:
                target.unlink()
                path.unlink(missing_ok=True)
                return False
            self._note(path, found)
        # Set the time of last use, and keep the time of modification.
        with suppress(FileNotFoundError):
            os.utime(path, ns=(time.time_ns(), found.st_mtime_ns))
        return True

    def doubt(self) -> None:
        """Compare files again before their next use, as one may have been damaged."""
        self._compared.clear()

    def temporary(self, checksum: str, size: int) -> Path:
        """Return a temporary path for fetching a file, which :meth:`add` completes."""
        path = self._path(checksum, size)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return path.with_name(f"{path.name}.{uuid4().hex}")

    def add(self, checksum: str, size: int, temporary: Path) -> None:
        """Add a file whose checksum was compared while it was written."""
        found = temporary.stat()
        path = self._path(checksum, size)
        os.replace(temporary, path)
        self._note(path, found)
        self._evict(size)

    def add_link(self, checksum: str, size: int, path: Path) -> None:
        """Add a local file with a known checksum, by a hard link."""
        temporary = self.temporary(checksum, size)
        os.link(path, temporary)
        self.add(checksum, size, temporary)

    def _path(self, checksum: str, size: int) -> Path:
        return self._files / checksum[:2] / f"{checksum}-{size}"

    def _note(self, path: Path, found: os.stat_result) -> None:
        self._compared[path, found.st_ino] = (found.st_size, found.st_mtime_ns)

    def _evict(self, size: int) -> None:
        """Evict the least recently used files, after enough bytes were added."""
        with self._lock:
            self._added += size
            if self._added < self._most // _SHARE:
                return
            self._added = 0
        found = sorted(self._all(), key=lambda each: each[1].st_atime_ns)
        total = sum(each.st_size for _, each in found)
        left = self._most - self._most // _SHARE
        for path, each in found if total > self._most else ():
            if total <= left:
                break
            _remove(path)
            self._compared.pop((path, each.st_ino), None)
            total -= each.st_size

    def _all(self) -> Iterator[tuple[Path, os.stat_result]]:
        """Return all files, and remove abandoned temporary files."""
        now = time.time()
        for path in self._files.glob("*/*"):
            try:
                found = path.lstat()
            except FileNotFoundError:
                continue
            if path.suffix and now - found.st_mtime > _ABANDONED:
                path.unlink(missing_ok=True)
            elif not path.suffix:
                yield path, found


def _remove(path: Path) -> None:
    """Remove a file, or a folder with its name."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _release(path: Path, descriptor: int, process: int) -> None:
    """Remove a folder, and then release its lock."""
    if os.getpid() != process:
        # This process is a fork of the owner.
        return
    shutil.rmtree(path, ignore_errors=True)
    with suppress(FileNotFoundError):
        os.unlink(f"{path}{_LOCK}")
    os.close(descriptor)
