"""A store that was made in a folder, to an object store: what of it the version before has not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ...documents import checksum_in
from ...errors import StorageError
from ..checksums import Identity, identity, survey
from .cache import Cache
from .client import Client
from .lists import PACK, Part, list_name, to_list

#: Bytes from which on a file is an object of its own.
LARGE: Final = 1 << 20
#: Large files that are put at once.
UPLOADS: Final = 4


def upload(
    client: Client,
    cache: Cache,
    store: str,
    folder: Path,
    base: Mapping[str, Part],
    base_folder: Path | None,
) -> str:
    """Put the files of a store that is complete and closed, and last of all their list.

    :param store: its name, which no other attempt has.
    :param base: the files of the store that it is a copy of.
    :param base_folder: where those are.
    :return: the list's checksum.
    :raises StorageError: something cannot be put.
    """
    known: dict[str, tuple[Identity, str]] = {}
    if base_folder is not None:
        known = {name: (identity(base_folder / name), base[name].checksum) for name in base}
    there = {(part.size, part.checksum): part for part in base.values()}
    parts: dict[str, Part] = {}
    large: list[str] = []
    pack: list[bytes] = []
    offset = 0
    for name, (size, checksum) in survey(folder, known).items():
        before = there.get((size, checksum))
        # Nothing is in any object; it is not to keep one.
        if before is not None and size:
            parts[name] = before
        elif size >= LARGE:
            parts[name] = Part(size, checksum, f"{store}/{name}", 0)
            large.append(name)
        else:
            parts[name] = Part(size, checksum, f"{store}/{PACK}", offset)
            pack.append((folder / name).read_bytes())
            offset += size

    def put(name: str) -> None:
        client.put(parts[name].object, folder / name)
        if client.size(parts[name].object) != parts[name].size:
            raise StorageError(f"{parts[name].object}: was put, but its size differs")

    client.each(put, large, UPLOADS)
    if pack:
        client.put(f"{store}/{PACK}", b"".join(pack))
    data = to_list(parts)
    client.put(list_name(store), data)
    for name, part in parts.items():
        if part.object.startswith(f"{store}/"):
            cache.take(part.checksum, part.size, folder / name)
    return checksum_in(data)
