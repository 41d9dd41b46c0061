"""A root in an object store, as a :class:`~..interface.Storage`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from .....errors import JellyError, OptionsError
from ...documents import MAX_JSON
from ...errors import StorageError
from ..files import File
from ..interface import Attempt, Found, MakingStore, OpenStore, Storage
from .cache import BYTES_VARIABLE, DEFAULT_BYTES, Cache, Folder, default_folder
from .client import Client
from .connecting import connect, root_url, whole
from .staged import ObjectAttempt
from .transfer import fetch, upload, wrong

if TYPE_CHECKING:
    from obstore.store import ObjectStore

#: Settings of the cache: its folder and its maximum size in bytes.
CACHE_FOLDER: Final = "cache_dir"
CACHE_BYTES: Final = "cache_bytes"

Connect: TypeAlias = Callable[[str, Mapping[str, Any]], "ObjectStore"]

#: The object that is put to read the object store's clock.
_CLOCK: Final = "_clock"

_caches: Final[dict[tuple[Path, int], Cache]] = {}


class ObjectStorage(Storage):
    """A root in an object store.

    :param url: URL of the root.
    :param options: settings and credentials; missing ones come from the environment.
    :param connection: creates the client; a module-level function, so that other processes have it.
    :raises RootError: it is not the URL of a root.
    """

    format: ClassVar[int] = 2

    def __init__(
        self, url: str, options: Mapping[str, Any] | None = None, connection: Connect = connect
    ) -> None:
        self.name = root_url(url)
        self._options: Final = dict(options or {})
        self._connect: Final = connection

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self._options, self._connect)

    @cached_property
    def client(self) -> Client:
        """The client of the object store."""
        own = (CACHE_FOLDER, CACHE_BYTES)
        options = {name: each for name, each in self._options.items() if name not in own}
        return Client(self._connect(self.name, options), self.name, options)

    @cached_property
    def cache(self) -> Cache:
        """The cache on this machine.

        :raises StorageError: the cache cannot be created.
        :raises OptionsError: its size is not a number.
        """
        given = self._options.get(CACHE_FOLDER)
        folder = default_folder() if given is None else Path(given)
        try:
            size = _cache_bytes(self._options.get(CACHE_BYTES))
        except OptionsError as error:
            raise error.locate(source=self.name) from None
        if (folder, size) not in _caches:
            try:
                _caches[folder, size] = Cache(folder, size)
            except OSError as error:
                raise _unusable(folder, error) from error
        return _caches[folder, size]

    @property
    def root(self) -> str:
        return self.name

    def everywhere(self) -> ObjectStorage:
        return self

    # Documents

    def prepare(self) -> None:
        """Do nothing: the bucket must exist, and there are no folders."""

    def names(self, folder: str) -> list[str]:
        return self.client.names(folder)

    def read(self, name: str) -> bytes:
        return self.client.get(name, MAX_JSON)

    def exists(self, name: str) -> bool:
        return self.client.head(name) is not None

    def create(self, name: str, data: bytes) -> None:
        self.client.create(name, data)

    def replace(self, name: str, data: bytes) -> None:
        self.client.put(name, data)

    def remove(self, names: Iterable[str]) -> None:
        self.client.delete(list(names))

    def objects(self, folder: str) -> Iterable[Found]:
        return self.client.objects(folder)

    def clock(self) -> float:
        self.client.put(_CLOCK, b"")
        found = self.client.head(_CLOCK)
        if found is None:
            raise StorageError("was put, but does not exist", source=self.place(_CLOCK))
        return found.changed

    # Stores of shards

    def missing(self, names: Iterable[str]) -> str | None:
        wanted = list(names)
        found = self.client.each(self.exists, wanted)
        return next((name for name, there in zip(wanted, found, strict=True) if not there), None)

    def open(self, store: str, checksum: str) -> OpenStore:
        folder = self.folder_of(store, self.files(store, checksum))
        return OpenStore(folder.path, folder.close, self.cache.doubt)

    def make(self, store: str, base: tuple[str, str] | None) -> MakingStore:
        return _MakingObjectStore(self, store, base)

    def wrong(self, store: str, files: Mapping[str, File], seen: set[object]) -> Iterator[str]:  # noqa: ARG002
        unseen = {name: file for name, file in files.items() if file not in seen}
        found = list(wrong(self.client, unseen))
        if not found:
            seen.update(unseen.values())
        yield from found

    def needed(self, stores: Iterable[tuple[str, str]]) -> set[str]:
        lists = self.client.each(lambda each: self.files(*each), stores)
        return {file.object for files in lists for file in files.values()}

    def discard(self, stores: Iterable[str]) -> None:
        # After an error, a vacuum removes the stores.
        with suppress(JellyError):
            found = self.client.each(self.client.objects, stores)
            self.client.delete([each.name for objects in found for each in objects])

    def own_folder(self) -> Folder:
        """Create a folder in the cache.

        :raises StorageError: it cannot be created.
        """
        try:
            return self.cache.folder()
        except OSError as error:
            raise _unusable(error.filename or default_folder(), error) from error

    def folder_of(self, store: str, files: Mapping[str, File]) -> Folder:
        """Create a folder with the files of a store."""
        folder = self.own_folder()
        try:
            fetch(self.client, self.cache, files, folder.path)
        except OSError as error:
            folder.close()
            raise _unusable(folder.path, error) from error
        except JellyError as error:
            folder.close()
            if error.source is None:
                error.message = f"{store} cannot be opened: {error.message}"
            error.locate(source=self.name)
            raise
        return folder

    # Staged operations

    def attempt(self, name: str) -> Attempt:
        return ObjectAttempt(self, name)

    def checkpoint(self, application: str) -> None:  # noqa: ARG002
        return None


class _MakingObjectStore(MakingStore):
    """A store that is created in the cache, and then uploaded."""

    def __init__(self, storage: ObjectStorage, store: str, base: tuple[str, str] | None) -> None:
        self._storage: Final = storage
        self._store: Final = store
        self._files: Mapping[str, File] = {}
        self._base: Folder | None = None
        self.base = None
        if base is not None:
            self._files = storage.files(*base)
            self._base = storage.folder_of(base[0], self._files)
            self.base = self._base.path
        self._folder: Final = storage.own_folder()
        self.folder = self._folder.path / "store"
        self.disk = str(self.folder)

    def finish(self) -> str:
        storage = self._storage
        try:
            return upload(
                storage.client, storage.cache, self._store, self.folder, self._files, self.base
            )
        except OSError as error:
            raise _unusable(self.folder, error) from error

    def close(self, *, failed: bool) -> None:
        if failed:
            self._storage.cache.doubt()
        self._folder.close()
        if self._base is not None:
            self._base.close()


def _unusable(place: object, error: OSError) -> StorageError:
    """Return the error for an unusable disk, such as a full one; the bucket is not the cause."""
    message = f"the cache cannot be used: {error.strerror or error}"
    return StorageError(message, source=str(error.filename or place))


def _cache_bytes(given: Any) -> int:
    if given is None:
        return whole(BYTES_VARIABLE, os.environ.get(BYTES_VARIABLE, DEFAULT_BYTES))
    return whole(CACHE_BYTES, given)
