"""Files that were fetched, kept on this machine's disk: for all processes that use them.

Rules of this file:
1. A file is called by its checksum and size, so that it does not matter what it was fetched for,
   and appears whole, by a rename. Two processes may fetch the same one; the later puts the same
   bytes in its place.
2. Who reads has folders of its own, with hard links. So a file may be evicted, or be replaced, at
   any time: it stays as long as a folder has it.
3. A process compares a file's checksum before it uses it for the first time, and again if the file
   has changed since. What is damaged is removed, and fetched again.
4. A folder belongs to the process that has its lock, which goes with the process however that ends;
   what is left is removed by whoever comes next.

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

#: Where the cache is, and how many bytes it may have; a storage's settings come first.
FOLDER_VARIABLE: Final = "JELLY_PLUGINS_CACHE"
BYTES_VARIABLE: Final = "JELLY_PLUGINS_CACHE_BYTES"
DEFAULT_BYTES: Final = 10 << 30

_FILES: Final = "files"
_FOLDERS: Final = "open"
_LOCK: Final = ".lock"

#: What part of all is evicted at once, so that not each file that comes has all looked at.
_SHARE: Final = 8
#: Seconds after which what was not fetched to its end is not being fetched any more.
_ABANDONED: Final = 24 * 3600


def default_folder() -> Path:
    """Where the cache is, unless somebody says so: in the user's folder for such, if he has one."""
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
    """A folder of this process's own in the cache, until it is closed or nobody has it any more.

    :ivar path: the folder.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path: Final = path
        self._close: Final = weakref.finalize(self, _release, path, descriptor, os.getpid())

    def close(self) -> None:
        """Remove it."""
        self._close()


class Cache:
    """A cache.

    :param folder: where it is; made if it is not there.
    :param most: bytes that it may have, about.
    """

    def __init__(self, folder: Path, most: int) -> None:
        self._files: Final = folder / _FILES
        self._folders: Final = folder / _FOLDERS
        self._most: Final = most
        self._lock: Final = Lock()
        self._come = most
        #: Size and time of change of files that were compared, by path and inode.
        self._compared: Final[dict[tuple[Path, int], tuple[int, int]]] = {}
        for each in (self._files, self._folders):
            each.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._clear()

    # Folders

    def folder(self) -> Folder:
        """A folder of one's own, on the same file system as the files."""
        # Somebody may have removed all of it.
        self._folders.mkdir(parents=True, exist_ok=True, mode=0o700)
        while True:
            path = self._folders / uuid4().hex
            descriptor = os.open(f"{path}{_LOCK}", os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # Another process may have taken it for one that was left, just before it was locked.
            with suppress(FileNotFoundError):
                if os.stat(f"{path}{_LOCK}").st_ino == os.fstat(descriptor).st_ino:
                    path.mkdir()
                    return Folder(path, descriptor)
            os.close(descriptor)

    def _clear(self) -> None:
        """Remove the folders of processes that are no more."""
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
        """Give a file another name, if it is here and is what it was.

        :return: whether it is.
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
        # When it was used last; when it was written stays as it is.
        with suppress(FileNotFoundError):
            os.utime(path, ns=(time.time_ns(), found.st_mtime_ns))
        return True

    def doubt(self) -> None:
        """Compare files again before they are used: one of them may have been damaged meanwhile."""
        self._compared.clear()

    def coming(self, checksum: str, size: int) -> Path:
        """A name for a file that is to be fetched, on its way; :meth:`come` ends that."""
        path = self._path(checksum, size)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return path.with_name(f"{path.name}.{uuid4().hex}")

    def come(self, checksum: str, size: int, temporary: Path) -> None:
        """Take a file in whose checksum was compared while it was written."""
        found = temporary.stat()
        path = self._path(checksum, size)
        os.replace(temporary, path)
        self._note(path, found)
        self._make_room(size)

    def take(self, checksum: str, size: int, path: Path) -> None:
        """Take in a file that was made here, whose checksum is known, by a hard link."""
        temporary = self.coming(checksum, size)
        os.link(path, temporary)
        self.come(checksum, size, temporary)

    def _path(self, checksum: str, size: int) -> Path:
        return self._files / checksum[:2] / f"{checksum}-{size}"

    def _note(self, path: Path, found: os.stat_result) -> None:
        self._compared[path, found.st_ino] = (found.st_size, found.st_mtime_ns)

    def _make_room(self, size: int) -> None:
        """Evict what was not used for longest, from time to time."""
        with self._lock:
            self._come += size
            if self._come < self._most // _SHARE:
                return
            self._come = 0
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
        """All files; what was abandoned on its way is removed."""
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
    """Remove a file, or what is in the place of one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _release(path: Path, descriptor: int, process: int) -> None:
    """Remove a folder, and then let go of its lock."""
    if os.getpid() != process:
        # A copy of the process that has it.
        return
    shutil.rmtree(path, ignore_errors=True)
    with suppress(FileNotFoundError):
        os.unlink(f"{path}{_LOCK}")
    os.close(descriptor)
