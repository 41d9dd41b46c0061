"""A folder in a bucket, as the storage of a sharded store.

A store is its files, each of them an object, which a version lists with size and checksum. A file
that the previous store has is not put again. Stores are read and made in local folders; files that
were fetched stay in a cache, which may be deleted at any time.

No exception of the client library is passed on or chained, see :mod:`.connecting`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import uuid4

import obstore
import xxhash

from ...errors import JellyError
from .connecting import connect, is_failure, public_message, root_url, whole
from .errors import RootError, StorageError
from .root import MAX_BYTES, VERSIONS, File, Shard, numbers_of, version_file

#: Settings of the cache: its folder, and its maximum size in bytes.
CACHE_FOLDER: Final = "cache_dir"
CACHE_BYTES: Final = "cache_bytes"
_DEFAULT_BYTES: Final = 10 << 30

#: Number of objects that are put or fetched at the same time, and size of the chunks.
_AT_ONCE: Final = 8
_CHUNK: Final = 4 << 20
#: How often to try to find out whether a version was created.
_ATTEMPTS: Final = 3

_T = TypeVar("_T")


class Bucket:
    """A folder in a bucket; see :class:`.Storage`.

    :param url: its URL.
    :param options: settings and credentials, and those of the cache.
    :raises RootError: the URL is not valid.
    :raises OptionsError: a setting is not valid.
    """

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        self.name = root_url(url)
        self._options: Final = dict(options)
        settings = dict(options)
        folder = settings.pop(CACHE_FOLDER, None)
        size = whole(CACHE_BYTES, settings.pop(CACHE_BYTES, _DEFAULT_BYTES))
        self._cache: Final = Cache(None if folder is None else Path(folder), size)
        self._store: Final = connect(self.name, settings)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self._options)

    # Versions

    def versions(self) -> list[int]:
        return numbers_of(name.rpartition("/")[2] for name, _ in self._list(f"{VERSIONS}/"))

    def read(self, number: int) -> bytes:
        def get() -> bytes:
            found = obstore.get(self._store, version_file(number))
            if found.meta["size"] > MAX_BYTES:
                raise StorageError("it is too large", source=f"{self.name}/{version_file(number)}")
            return bytes(found.bytes())

        return self._ask("be read", version_file(number), get)

    def create(self, number: int, data: bytes) -> None:
        name = version_file(number)
        failure = StorageError("cannot be created", source=f"{self.name}/{name}")
        for _ in range(_ATTEMPTS):
            try:
                self._put(name, data, mode="create")
                return
            except FileExistsError:
                pass
            except StorageError as error:
                failure = error
            # A request that failed may have been done, also by an earlier attempt of the client.
            try:
                found = self.read(number)
            except FileNotFoundError:
                continue
            except StorageError:
                raise StorageError(
                    f"it is unknown whether version {number} was created: {failure}",
                    source=self.name,
                ) from None
            if found == data:
                return
            raise FileExistsError(f"{self.name}/{name}")
        raise failure

    def age(self, number: int) -> float:
        def head() -> float:
            return obstore.head(self._store, version_file(number))["last_modified"].timestamp()

        return time.time() - self._ask("be found", version_file(number), head)

    # Stores

    @contextmanager
    def open(self, shard: Shard) -> Iterator[Path | None]:
        if shard.files is None:
            yield None
            return
        with _temporary() as folder:
            folder.mkdir()
            _each(
                lambda item: self._fetch(item[1], folder / item[0]),
                shard.files.items(),
            )
            yield folder

    @contextmanager
    def making(self, number: int) -> Iterator[Path]:  # noqa: ARG002
        with _temporary() as folder:
            yield folder

    def keep(self, folder: Path, number: int, base: Shard, opened: Path | None) -> Shard:
        store = f"shard={number}/{uuid4().hex}"

        def put(path: Path) -> tuple[str, File]:
            before = (base.files or {}).get(path.name)
            if before is not None and opened is not None:
                known = opened / path.name
                # It is the same file, by a hard link.
                if known.exists() and known.samefile(path):
                    return path.name, before
            file = File(f"{store}/{path.name}", path.stat().st_size, _checksum(path))
            self._put(file.object, path)
            self._cache.add(file, path)
            return path.name, file

        return Shard(store, files=dict(sorted(_each(put, folder.iterdir()))))

    def check(self, shards: Iterable[Shard]) -> None:
        """Do nothing: tasks have put the stores where every process finds them."""

    def stored(self) -> Mapping[str, float]:
        now = time.time()
        return {name: now - written for name, written in self._list("") if name[:6] == "shard="}

    def remove(self, versions: Iterable[int], names: Iterable[str]) -> None:
        for part in ([version_file(number) for number in versions], list(names)):
            if part and not self._delete(part):
                # The client has stopped at one that does not exist.
                _each(lambda name: self._delete([name]), part)

    # Objects

    def _fetch(self, file: File, path: Path) -> None:
        """Bring a file to a local path, from the cache or from the bucket."""
        if self._cache.get(file, path):
            return

        def get() -> None:
            digest = xxhash.xxh3_128()
            with path.open("wb") as out:
                for chunk in obstore.get(self._store, file.object).stream(min_chunk_size=_CHUNK):
                    digest.update(chunk)
                    out.write(chunk)
            if (path.stat().st_size, digest.hexdigest()) != (file.size, file.checksum):
                raise StorageError(
                    "its checksum does not match", source=f"{self.name}/{file.object}"
                )

        try:
            self._ask("be read", file.object, get)
        except FileNotFoundError:
            raise RootError(f"{file.object} is missing", source=self.name) from None
        self._cache.add(file, path)

    def _put(self, name: str, data: bytes | Path, **how: Any) -> None:
        try:
            self._ask("be put", name, lambda: obstore.put(self._store, name, data, **how))
        except FileNotFoundError:
            raise StorageError("the bucket does not exist", source=self.name) from None

    def _delete(self, names: list[str]) -> bool:
        """Remove objects; return whether all of them existed."""
        try:
            self._ask("be removed", names[0], lambda: obstore.delete(self._store, names))
        except FileNotFoundError:
            return False
        return True

    def _list(self, folder: str) -> list[tuple[str, float]]:
        """Return the names in a folder, and when they were written."""

        def found() -> list[tuple[str, float]]:
            return [
                (each["path"], each["last_modified"].timestamp())
                for batch in obstore.list(self._store, folder or None)
                for each in batch
            ]

        return self._ask("be listed", folder, found)

    def _ask(self, what: str, name: str, function: Callable[[], _T]) -> _T:
        """Call a function, and convert the client's exceptions to errors of this library."""
        problem: Exception
        try:
            return function()
        except JellyError:
            raise
        except FileNotFoundError:
            problem = FileNotFoundError(f"{self.name}/{name}")
        except obstore.exceptions.AlreadyExistsError:
            problem = FileExistsError(f"{self.name}/{name}")
        except BaseException as error:
            if not is_failure(error):
                raise
            message = f"cannot {what}: {public_message(error)}"
            problem = StorageError(message, source=f"{self.name}/{name}")
        # Raised outside of the handler: the caught exception may contain credentials.
        raise problem


class Cache:
    """Files by their checksums, in a folder that may be deleted at any time.

    :param folder: the folder; by default one of the user's.
    :param size: maximum number of bytes; those that were not used for the longest time go first.
    """

    def __init__(self, folder: Path | None, size: int) -> None:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        self._folder: Final = folder or Path(home) / "jelly-plugins"
        self._size: Final = size

    def _path(self, file: File) -> Path:
        return self._folder / f"{file.checksum}-{file.size}"

    def get(self, file: File, path: Path) -> bool:
        """Bring a file to a path; return whether the cache has it."""
        known = self._path(file)
        try:
            if known.stat().st_size != file.size:
                return False
            _link(known, path)
            os.utime(known)
        except OSError:
            return False
        return True

    def add(self, file: File, path: Path) -> None:
        """Add a file, if that is possible."""
        known = self._path(file)
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = known.with_name(f".{uuid4().hex}")
            _link(path, temporary)
            temporary.replace(known)
            self._shrink()

    def _shrink(self) -> None:
        found = []
        for entry in os.scandir(self._folder):
            with suppress(OSError):
                found.append((entry.stat().st_mtime, entry.stat().st_size, entry.path))
        excess = sum(size for _, size, _ in found) - self._size
        for _, size, path in sorted(found):
            if excess <= 0:
                return
            Path(path).unlink(missing_ok=True)
            excess -= size


@contextmanager
def _temporary() -> Iterator[Path]:
    """Return the path of a local folder, which is removed in the end."""
    with tempfile.TemporaryDirectory(prefix="jelly-", ignore_cleanup_errors=True) as folder:
        yield Path(folder) / "store"


def _link(source: Path, target: Path) -> None:
    """Make a hard link; a copy, if they are on different file systems."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(source, target)


def _checksum(path: Path) -> str:
    digest = xxhash.xxh3_128()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _each(function: Callable[[Any], _T], values: Iterable[Any]) -> list[_T]:
    """Call a function with each value, several at a time."""
    wanted = list(values)
    if len(wanted) < 2:
        return [function(each) for each in wanted]
    with ThreadPoolExecutor(min(_AT_ONCE, len(wanted))) as pool:
        return list(pool.map(function, wanted))
