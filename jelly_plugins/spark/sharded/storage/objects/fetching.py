"""Files of a store from an object store, through the cache, into a folder that has all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import xxhash

from .....errors import JellyError
from ...errors import RootError, StorageError
from .cache import Cache
from .client import Client
from .lists import Part

#: Files of one object are fetched together if this many times their bytes are all that lie there.
_DENSE: Final = 2

#: Files of one object, in order, by name.
_Run: TypeAlias = list[tuple[str, Part]]


def fetch(client: Client, cache: Cache, parts: Mapping[str, Part], folder: Path) -> None:
    """Fill a folder with the files of a store.

    :raises RootError: one is not there, or is not what the list says.
    """
    absent = {
        name: part
        for name, part in parts.items()
        if not cache.link(part.checksum, part.size, folder / name)
    }

    def bring(run: _Run) -> None:
        for name, part in _bring(client, cache, run):
            if not cache.link(part.checksum, part.size, folder / name):
                # It was evicted at once, as from a cache that has no room at all.
                for chunk in read(client, part):
                    with (folder / name).open("ab") as file:
                        file.write(chunk)

    client.each(bring, _runs(absent))


def read(client: Client, part: Part) -> Iterator[bytes]:
    """The bytes of a file.

    :raises RootError: in the place of its end: they are not what the list says.
    """
    digest = xxhash.xxh3_128()
    size = 0
    for chunk in _chunks(client, part.object, part.offset, part.size):
        digest.update(chunk)
        size += len(chunk)
        yield chunk
    _check(part, size, digest.hexdigest())


def _chunks(client: Client, name: str, start: int, size: int) -> Iterator[bytes]:
    """Some bytes of an object, fewer where it ends."""
    try:
        yield from client.chunks(name, start, size)
    except FileNotFoundError:
        raise RootError(f"{name}: is not there") from None
    except StorageError:
        # One that ends before they begin is refused by some.
        there = client.size(name)
        if there is None or there > start:
            raise
        raise RootError(f"{name}: ends before byte {start + size}") from None


def _check(part: Part, size: int, checksum: str) -> None:
    if size < part.size:
        raise RootError(f"{part.object}: ends before byte {part.offset + part.size}")
    if checksum != part.checksum:
        raise RootError(f"{part.object}: damaged: its checksum does not match")


def _runs(parts: Mapping[str, Part]) -> list[_Run]:
    """Files of one object, those together that are got by one request."""
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
    """Where the files of a run begin in their object, and where they end."""
    return run[0][1].offset, max(part.offset + part.size for _, part in run)


def _together(client: Client, run: _Run) -> Iterator[tuple[str, Part, bytes]]:
    """Files of one object, got with one request, and not compared yet."""
    start, end = _span(run)
    data = b"".join(_chunks(client, run[0][1].object, start, end - start))
    for name, part in run:
        yield name, part, data[part.offset - start :][: part.size]


def _bring(client: Client, cache: Cache, run: _Run) -> Iterator[tuple[str, Part]]:
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


def damages(client: Client, parts: Mapping[str, Part]) -> Iterator[str]:
    """What is wrong with the files of a store, a text for each that begins with its name."""
    found = (
        each
        for wrong in client.each(lambda run: _wrong(client, run), _runs(parts))
        for each in wrong
    )
    for name, error in sorted(found, key=lambda each: each[0]):
        where = "" if error.source is None else f"{error.source}: "
        yield f"{name}: {where}{error.message}"


def _wrong(client: Client, run: _Run) -> list[tuple[str, JellyError]]:
    """Files of one object that are not what the list says."""
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


def _store(cache: Cache, part: Part, chunks: Iterable[bytes]) -> None:
    temporary = cache.coming(part.checksum, part.size)
    try:
        with temporary.open("xb") as file:
            for chunk in chunks:
                file.write(chunk)
        cache.come(part.checksum, part.size, temporary)
    finally:
        temporary.unlink(missing_ok=True)
