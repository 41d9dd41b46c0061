"""Copy files of a store between an object store, the cache, and a folder with all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import xxhash

from .....errors import JellyError
from ...documents import checksum_in
from ...errors import RootError, StorageError
from ..files import PACK, File, list_name, survey, to_list
from .cache import Cache
from .client import Client

#: Files of one object are fetched together if their range has at most this multiple of their bytes.
_DENSE: Final = 2

#: Files of one object, in order, by name.
_Run: TypeAlias = list[tuple[str, File]]

#: Size in bytes from which a file is its own object.
LARGE: Final = 1 << 20
#: Number of large files to upload in parallel.
UPLOADS: Final = 4


def fetch(client: Client, cache: Cache, parts: Mapping[str, File], folder: Path) -> None:
    """Fill a folder with the files of a store.

    :raises RootError: a file is missing, or differs from the list.
    """
    absent = {
        name: part
        for name, part in parts.items()
        if not cache.link(part.checksum, part.size, folder / name)
    }

    def bring(run: _Run) -> None:
        for name, part in _bring(client, cache, run):
            if not cache.link(part.checksum, part.size, folder / name):
                # It was evicted immediately, because the cache is too small.
                for chunk in read(client, part):
                    with (folder / name).open("ab") as file:
                        file.write(chunk)

    client.each(bring, _runs(absent))


def read(client: Client, part: File) -> Iterator[bytes]:
    """Read the bytes of a file.

    :raises RootError: at the end, if the bytes differ from the list.
    """
    digest = xxhash.xxh3_128()
    size = 0
    for chunk in _chunks(client, part.object, part.offset, part.size):
        digest.update(chunk)
        size += len(chunk)
        yield chunk
    _check(part, size, digest.hexdigest())


def _chunks(client: Client, name: str, start: int, size: int) -> Iterator[bytes]:
    """Read a range of bytes of an object, fewer at its end."""
    try:
        yield from client.chunks(name, start, size)
    except FileNotFoundError:
        raise RootError(f"{name}: does not exist") from None
    except StorageError:
        # Some object stores reject a range that starts after the end.
        there = client.head(name)
        if there is None or there.size > start:
            raise
        raise RootError(f"{name}: ends before byte {start + size}") from None


def _check(part: File, size: int, checksum: str) -> None:
    if size < part.size:
        raise RootError(f"{part.object}: ends before byte {part.offset + part.size}")
    if checksum != part.checksum:
        raise RootError(f"{part.object}: damaged: its checksum does not match")


def _runs(parts: Mapping[str, File]) -> list[_Run]:
    """Group the files of each object that are fetched with one request."""
    objects: dict[str, _Run] = {}
    for name, part in parts.items():
        objects.setdefault(part.object, []).append((name, part))
    runs = []
    for files in objects.values():
        files.sort(key=lambda each: each[1].offset)
        start, end = _span(files)
        dense = sum(part.size for _, part in files) * _DENSE >= end - start
        runs += [files] if dense else [[each] for each in files]
    return runs


def _span(run: _Run) -> tuple[int, int]:
    """Return the start and the end of a run in its object."""
    return run[0][1].offset, max(part.offset + part.size for _, part in run)


def _together(client: Client, run: _Run) -> Iterator[tuple[str, File, bytes]]:
    """Fetch files of one object with one request, without comparing them."""
    start, end = _span(run)
    data = b"".join(_chunks(client, run[0][1].object, start, end - start))
    for name, part in run:
        yield name, part, data[part.offset - start :][: part.size]


def _bring(client: Client, cache: Cache, run: _Run) -> Iterator[tuple[str, File]]:
    """Fetch files of one object into the cache, with one request."""
    if len(run) == 1:
        [(name, part)] = run
        _store(cache, part, read(client, part))
        yield name, part
        return
    for name, part, content in _together(client, run):
        _check(part, len(content), xxhash.xxh3_128_hexdigest(content))
        _store(cache, part, [content])
        yield name, part


def wrong(client: Client, parts: Mapping[str, File]) -> Iterator[str]:
    """Return a message for each damaged file, which begins with its name."""
    found = (
        each
        for wrong in client.each(lambda run: _wrong_of(client, run), _runs(parts))
        for each in wrong
    )
    for name, error in sorted(found, key=lambda each: each[0]):
        where = "" if error.source is None else f"{error.source}: "
        yield f"{name}: {where}{error.message}"


def _wrong_of(client: Client, run: _Run) -> list[tuple[str, JellyError]]:
    """Return the files of one object that differ from the list."""
    wrong: list[tuple[str, JellyError]] = []
    try:
        if len(run) == 1:
            for _ in read(client, run[0][1]):
                pass
            return []
        for name, part, content in _together(client, run):
            try:
                _check(part, len(content), xxhash.xxh3_128_hexdigest(content))
            except RootError as error:
                wrong.append((name, error))
    except JellyError as error:
        return [(name, error) for name, _ in run]
    return wrong


def _store(cache: Cache, part: File, chunks: Iterable[bytes]) -> None:
    temporary = cache.temporary(part.checksum, part.size)
    try:
        with temporary.open("xb") as file:
            for chunk in chunks:
                file.write(chunk)
        cache.add(part.checksum, part.size, temporary)
    finally:
        temporary.unlink(missing_ok=True)


def upload(
    client: Client,
    cache: Cache,
    store: str,
    folder: Path,
    base: Mapping[str, File],
    base_folder: Path | None,
) -> str:
    """Upload the files of a complete and closed store, and finally their list.

    :param store: its name, which must be unique.
    :param folder: folder of the store.
    :param base: the files of the store that it is a copy of.
    :param base_folder: folder of those files.
    :return: the list's checksum.
    :raises StorageError: a file cannot be uploaded.
    """
    there = {(part.size, part.checksum): part for part in base.values()}
    parts: dict[str, File] = {}
    large: list[str] = []
    pack: list[bytes] = []
    offset = 0
    for name, (size, checksum) in survey(folder, base_folder, base).items():
        before = there.get((size, checksum))
        # An empty file has no bytes in any object, and must not keep an object alive.
        if before is not None and size:
            parts[name] = before
        elif size >= LARGE:
            parts[name] = File(size, checksum, f"{store}/{name}", 0)
            large.append(name)
        else:
            parts[name] = File(size, checksum, f"{store}/{PACK}", offset)
            pack.append((folder / name).read_bytes())
            offset += size

    def put(name: str) -> None:
        client.put(parts[name].object, folder / name)
        found = client.head(parts[name].object)
        if found is None or found.size != parts[name].size:
            raise StorageError(f"{parts[name].object}: was put, but its size differs")

    client.each(put, large, UPLOADS)
    if pack:
        client.put(f"{store}/{PACK}", b"".join(pack))
    data = to_list(parts)
    client.put(list_name(store), data)
    for name, part in parts.items():
        if part.object.startswith(f"{store}/"):
            cache.add_link(part.checksum, part.size, folder / name)
    return checksum_in(data)
