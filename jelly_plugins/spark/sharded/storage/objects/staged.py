"""Staged operations in an object store: one object for each part of a log.

An object starts with the length of its index, in eight bytes, the 128-bit XXH3 of these and of the
index, and the index: the number of bytes of each shard, as JSON. The operations follow, shard by
shard. The task of a shard reads a range of bytes of each object, whatever the number of shards.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import SpooledTemporaryFile, gettempdir
from typing import Any, BinaryIO, Final, cast

import xxhash

from ...documents import MAX_JSON
from ...errors import RootError, StorageError
from ..interface import STAGING, Attempt, StagedExtent
from .cache import Folder
from .client import CHUNK, PART, Client

_LENGTH: Final = 8
_BEGIN: Final = _LENGTH + 16
#: Bytes to read for an index, which is longer only with very many shards.
_INDEX: Final = 1 << 16


class ObjectAttempt(Attempt):
    """Staged operations in an object store, collected in folders of the cache.

    :param storage: provides the client and the cache in each process.
    """

    def __init__(self, storage: Any, name: str) -> None:
        self.name = name
        self._storage: Final = storage
        self._folders: dict[str, Folder] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return ObjectAttempt, (self._storage, self.name)

    @property
    def _client(self) -> Client:
        return cast("Client", self._storage.client)

    def folder(self, part: str) -> Path:
        if part not in self._folders:
            self._folders[part] = self._storage.own_folder()
        return self._folders[part].path / part

    def finish(self, part: str) -> None:
        folder = self._folders.pop(part, None)
        if folder is None:
            return
        path = folder.path / part
        if path.exists():
            # One request, where a multipart upload needs three.
            small = sum(file.stat().st_size for file in path.iterdir()) < PART
            content = _content(path)
            self._client.put(self._object(part), b"".join(content) if small else content)
        folder.close()

    def extents(self, part: str) -> Mapping[int, StagedExtent]:
        name = self._object(part)
        try:
            data = self._client.get_range(name, 0, _INDEX)
            start = _BEGIN + int.from_bytes(data[:_LENGTH], "little")
            if _INDEX < start <= _BEGIN + MAX_JSON:
                data += self._client.get_range(name, len(data), start - len(data))
        except FileNotFoundError:
            raise RootError(
                "staged operations do not exist: an executor uses another object store than the "
                "driver, or another process has removed them",
                source=self._storage.place(name),
            ) from None
        index = data[_BEGIN:start]
        if data[:_BEGIN] != _beginning(index):
            raise RootError(
                "damaged: the checksum of its index does not match",
                source=self._storage.place(name),
            )
        found: dict[int, StagedExtent] = {}
        for shard, size in json.loads(index):
            found[shard] = StagedExtent(name, start, size)
            start += size
        return found

    def open(self, extent: StagedExtent) -> BinaryIO:
        file = SpooledTemporaryFile(max_size=PART)  # noqa: SIM115 (closed by who reads it)
        try:
            for chunk in self._client.chunks(extent.name, extent.offset, extent.size):
                file.write(chunk)
        except FileNotFoundError as error:
            raise RootError("staged operations no longer exist", source=str(error)) from None
        except OSError as error:
            message = f"temporary files cannot be written: {error.strerror}"
            raise StorageError(message, source=gettempdir()) from error
        file.seek(0)
        return cast("BinaryIO", file)

    def end(self) -> None:
        for folder in self._folders.values():
            folder.close()
        self._folders.clear()
        self._storage.discard([f"{STAGING}/{self.name}"])

    def _object(self, part: str) -> str:
        return f"{STAGING}/{self.name}/{part}"


def _beginning(index: bytes) -> bytes:
    """Return the start of an object, before its index."""
    length = len(index).to_bytes(_LENGTH, "little")
    return length + xxhash.xxh3_128_digest(length + index)


def _content(folder: Path) -> Iterator[bytes]:
    """Return the content of an object, in chunks."""
    paths = sorted(folder.iterdir())
    index = json.dumps([(int(path.name), path.stat().st_size) for path in paths]).encode()
    yield _beginning(index) + index
    for path in paths:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                yield chunk
