"""A root in an object store, as a storage."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from .....errors import JellyError, OptionsError
from ...documents import MAX_JSON
from ...errors import RootError, StorageError
from ..interface import Attempt, Contents, MakingStore, OpenStore, Storage, Sweep
from .cache import BYTES_VARIABLE, DEFAULT_BYTES, Cache, Folder, default_folder
from .client import Client, Found
from .connecting import connect, root_url, whole
from .fetching import damages, fetch
from .lists import Part, list_name, parse_list
from .staged import ObjectAttempt
from .uploading import upload

if TYPE_CHECKING:
    from obstore.store import ObjectStore

#: Settings that are not the object store's: where the cache is, and how many bytes it may have.
CACHE_FOLDER: Final = "cache_dir"
CACHE_BYTES: Final = "cache_bytes"

Connect: TypeAlias = Callable[[str, Mapping[str, Any]], "ObjectStore"]

_caches: Final[dict[tuple[Path, int], Cache]] = {}


class ObjectStorage(Storage):
    """A root in an object store.

    :param url: of the root.
    :param options: settings and credentials; what they lack, the environment says.
    :param connection: makes the client; of what module it is a function is known to all processes.
    :raises RootError: the URL is none of a root.
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
        """What asks the object store."""
        own = (CACHE_FOLDER, CACHE_BYTES)
        options = {name: each for name, each in self._options.items() if name not in own}
        return Client(self._connect(self.name, options), self.name, options)

    @cached_property
    def cache(self) -> Cache:
        """What keeps files on this machine.

        :raises StorageError: there is no room for it.
        :raises OptionsError: its size is none.
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
                message = f"the cache {folder} cannot be used: {error}"
                raise StorageError(message, source=self.name) from error
        return _caches[folder, size]

    @property
    def root(self) -> str:
        return self.name

    def everywhere(self) -> ObjectStorage:
        return self

    # Documents

    def prepare(self) -> None:
        """A bucket has to be there, and there are no folders."""

    def names(self, folder: str) -> list[str]:
        return self.client.names(folder)

    def read(self, name: str) -> bytes:
        return self.client.get(name, MAX_JSON)

    def exists(self, name: str) -> bool:
        return self.client.size(name) is not None

    def create(self, name: str, data: bytes) -> None:
        self.client.create(name, data)

    def replace(self, name: str, data: bytes) -> None:
        self.client.put(name, data)

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            inside = [found.name for found in self.client.objects(name)]
            self.client.delete(inside or [name])

    # Stores of shards

    def missing(self, stores: Iterable[str], version: int) -> str | None:
        made = [store for store in stores if f"/v{version}-" in store]
        sizes = self.client.each(self.client.size, map(list_name, made))
        gone = (store for store, size in zip(made, sizes, strict=True) if size is None)
        return next(gone, None)

    def files(self, store: str, checksum: str | None) -> Mapping[str, tuple[int, str]]:
        parts = self.parts(store, checksum)
        return {name: (part.size, part.checksum) for name, part in parts.items()}

    def open(self, store: str, checksum: str | None) -> OpenStore:
        return _ObjectStore(self.cache, self._folder_of(store, self.parts(store, checksum)))

    def make(self, store: str, base: tuple[str, str | None] | None) -> MakingStore:
        return _MakingObjectStore(self, store, base)

    def damages(self, store: str, checksum: str) -> Iterator[str]:
        place = self.place(list_name(store))
        try:
            parts = parse_list(self._list(store), store, checksum, place)
        except JellyError as error:
            yield f"{list_name(store).rpartition('/')[2]}: {error.message}"
            return
        yield from damages(self.client, parts)

    def discard(self, stores: Iterable[str]) -> None:
        # It is left for a vacuum otherwise.
        with suppress(JellyError):
            found = self.client.each(self.client.objects, stores)
            self.client.delete([each.name for objects in found for each in objects])

    def parts(self, store: str, checksum: str | None) -> Mapping[str, Part]:
        """The files of a store, from the list that a commit names by its checksum.

        :raises RootError: it is not there, or damaged.
        """
        if checksum is None:
            raise RootError(f"{store} has no list of its files", source=self.name)
        data = self._list(store)
        return parse_list(data, store, checksum, self.place(list_name(store)))

    def _list(self, store: str) -> bytes:
        try:
            return self.client.get(list_name(store), MAX_JSON)
        except FileNotFoundError:
            raise RootError("is not there", source=self.place(list_name(store))) from None

    def own_folder(self) -> Folder:
        """A folder in the cache.

        :raises StorageError: it cannot be made.
        """
        try:
            return self.cache.folder()
        except OSError as error:
            raise StorageError(f"the cache cannot be used: {error}", source=self.name) from error

    def _folder_of(self, store: str, parts: Mapping[str, Part]) -> Folder:
        """A folder with the files of a store."""
        folder = self.own_folder()
        try:
            fetch(self.client, self.cache, parts, folder.path)
        except OSError as error:
            folder.close()
            raise StorageError(f"{store} cannot be kept here: {error}", source=self.name) from error
        except JellyError as error:
            folder.close()
            if error.source is None:
                error.message = f"{store} cannot be opened: {error.message}"
            error.locate(source=self.name)
            raise
        return folder

    # Operations on their way

    def attempt(self, name: str) -> Attempt:
        return ObjectAttempt(self, name)

    def checkpoint(self, application: str) -> None:  # noqa: ARG002
        return None

    # Cleaning

    def contents(self) -> Contents:
        return _ObjectContents(self)


class _ObjectStore(OpenStore):
    """A store whose files were fetched."""

    def __init__(self, cache: Cache, folder: Folder) -> None:
        self._cache: Final = cache
        self._folder: Final = folder
        self.folder = folder.path

    def doubt(self) -> None:
        self._cache.doubt()

    def close(self) -> None:
        self._folder.close()


class _MakingObjectStore(MakingStore):
    """A store that is made in the cache, and then put."""

    def __init__(self, storage: ObjectStorage, store: str, base: Any) -> None:
        self._storage: Final = storage
        self._store: Final = store
        self._parts: Mapping[str, Part] = {}
        self._base: Folder | None = None
        self.base = None
        if base is not None:
            self._parts = storage.parts(*base)
            self._base = storage._folder_of(base[0], self._parts)
            self.base = self._base.path
        self._folder: Final = storage.own_folder()
        self.folder = self._folder.path / "store"

    def doubt(self) -> None:
        self._storage.cache.doubt()

    def finish(self) -> str:
        storage = self._storage
        return upload(
            storage.client, storage.cache, self._store, self.folder, self._parts, self.base
        )

    def close(self) -> None:
        self._folder.close()
        if self._base is not None:
            self._base.close()


class _ObjectContents(Contents):
    """What an object store has in a root; each folder is listed once."""

    def __init__(self, storage: ObjectStorage) -> None:
        self._storage: Final = storage
        self._listed: Final[dict[str, dict[str, list[Found]]]] = {}

    def names(self, folder: str) -> list[str]:
        if folder not in self._listed:
            found: dict[str, list[Found]] = {}
            for each in self._storage.client.objects(folder):
                name = each.name.removeprefix(f"{folder}/").partition("/")[0]
                found.setdefault(name, []).append(each)
            self._listed[folder] = found
        return sorted(self._listed[folder])

    def changed(self, name: str) -> float:
        times = (each.changed.timestamp() for each in self._objects(name))
        return max(times, default=float("inf"))

    def size(self, name: str) -> int:
        return sum(each.size for each in self._objects(name))

    def is_finished(self, store: str) -> bool:
        return any(each.name == list_name(store) for each in self._objects(store))

    def sweep(self, stores: Iterable[str], needed: Mapping[str, str | None]) -> Sweep:
        unused = list(stores)
        kept: set[str] = set()
        if unused:
            lists = self._storage.client.each(
                lambda each: self._storage.parts(*each), needed.items()
            )
            kept = {part.object for parts in lists for part in parts.values()}
        objects = {
            store: [each for each in self._objects(store) if each.name not in kept]
            for store in unused
        }
        return _ObjectSweep(self._storage.client, objects)

    def _objects(self, name: str) -> list[Found]:
        folder, _, last = name.rpartition("/")
        self.names(folder)
        return self._listed[folder].get(last, [])


class _ObjectSweep(Sweep):
    """Objects of stores that no list names which is needed."""

    def __init__(self, client: Client, objects: Mapping[str, list[Found]]) -> None:
        self._client: Final = client
        self._objects: Final = objects
        self.sizes = {
            store: sum(each.size for each in found) for store, found in objects.items() if found
        }

    def run(self) -> None:
        self._client.delete([each.name for found in self._objects.values() for each in found])


def _cache_bytes(given: Any) -> int:
    if given is None:
        return whole(BYTES_VARIABLE, os.environ.get(BYTES_VARIABLE, DEFAULT_BYTES))
    return whole(CACHE_BYTES, given)
