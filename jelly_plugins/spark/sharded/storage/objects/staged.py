"""Operations on their way through an object store: one object for each part of a log.

An object begins with the length of its index, in eight bytes, the XXH3 of 128 bits of these and of
the index, and that: for each shard the number of its bytes, as JSON. Behind it are the operations,
shard after shard. So who reads those of a shard gets some bytes of each object, however many shards
there are.
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
from ..interface import STAGING, Attempt, Piece
from .cache import Folder
from .client import CHUNK, PART, Client

_LENGTH: Final = 8
_BEGIN: Final = _LENGTH + 16
#: Bytes that are got for an index, which is longer only if there are very many shards.
_INDEX: Final = 1 << 16


class ObjectAttempt(Attempt):
    """Staged operations in an object store. They are gathered in folders of the cache's.

    :param storage: gives, in each process, what asks the object store, and the cache.
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
            # One request, where pieces would be three.
            small = sum(file.stat().st_size for file in path.iterdir()) < PART
            content = _content(path)
            self._client.put(self._object(part), b"".join(content) if small else content)
        folder.close()

    def pieces(self, part: str) -> Mapping[int, Piece]:
        name = self._object(part)
        try:
            data = self._client.get_range(name, 0, _INDEX)
            start = _BEGIN + int.from_bytes(data[:_LENGTH], "little")
            if _INDEX < start <= _BEGIN + MAX_JSON:
                data += self._client.get_range(name, len(data), start - len(data))
        except FileNotFoundError:
            raise RootError(
                "staged operations are not there: an executor does not see the object store that "
                "the driver sees, or another process has removed them",
                source=self._storage.place(name),
            ) from None
        index = data[_BEGIN:start]
        if data[:_BEGIN] != _beginning(index):
            raise RootError(
                "damaged: the checksum of its index does not match",
                source=self._storage.place(name),
            )
        found: dict[int, Piece] = {}
        for shard, size in json.loads(index):
            found[shard] = Piece(name, start, size)
            start += size
        return found

    def open(self, piece: Piece) -> BinaryIO:
        file = SpooledTemporaryFile(max_size=PART)  # noqa: SIM115 (closed by who reads it)
        try:
            for chunk in self._client.chunks(piece.name, piece.offset, piece.size):
                file.write(chunk)
        except FileNotFoundError as error:
            raise RootError("staged operations are gone", source=str(error)) from None
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
    """What stands before an index."""
    length = len(index).to_bytes(_LENGTH, "little")
    return length + xxhash.xxh3_128_digest(length + index)


def _content(folder: Path) -> Iterator[bytes]:
    """An object, in pieces."""
    paths = sorted(folder.iterdir())
    index = json.dumps([(int(path.name), path.stat().st_size) for path in paths]).encode()
    yield _beginning(index) + index
    for path in paths:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                yield chunk
