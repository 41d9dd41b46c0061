"""Positions in a large number of logs: a commit has the recent ones, and names files with others.

Positions are never removed, so a repeated log is detected however long ago it was applied. To keep
commits short, positions are moved from a commit with too many of them to a file beside the commits,
an archive, which this and all later commits name. Archives are never modified; when there are many,
they are merged. Positions in the commit override those in its archives, and later archives override
earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final
from uuid import uuid4

from .documents import checksum_in, parse_json, seal
from .errors import RootError
from .replaying.position import Position
from .storage import Storage

#: The folder of archives, in the root.
FOLDER: Final = "_positions"

#: Maximum number of positions in a commit.
INLINE: Final = 1000
#: Number of archives to merge, excluding archives with the maximum number of positions.
TOGETHER: Final = 16
FULL: Final = 20_000

_TYPES: Final = (int, int, *(str,) * 5, bool, bool)


@dataclass(frozen=True, slots=True)
class Archive:
    """A file of positions.

    :ivar file: its name in :data:`FOLDER`.
    :ivar positions: number of positions.
    :ivar checksum: its checksum.
    """

    file: str
    positions: int
    checksum: str


def unpacked(
    storage: Storage, inline: Iterable[Position], archives: tuple[Archive, ...]
) -> tuple[Position, ...]:
    """Return all positions of a commit, one for each log.

    :raises RootError: an archive is missing or damaged.
    """
    found = dict(_archived(storage, archives))
    for each in inline:
        # The most recently changed positions come last.
        found.pop(each.log, None)
        found[each.log] = each
    return tuple(found.values())


def packed(
    storage: Storage,
    positions: Iterable[Position],
    archives: tuple[Archive, ...],
    changing: frozenset[str],
) -> tuple[tuple[Position, ...], tuple[Archive, ...], Mapping[str, bytes]]:
    """Divide positions between a commit and archives.

    :param archives: archives of the commit before.
    :param changing: logs whose positions change too often to be archived.
    :return: the positions in the commit; the archives that it names, in order; and the contents of
        new archives, by file name.
    """
    known = _archived(storage, archives)
    wanted = {each.log: each for each in positions}
    if known.keys() - wanted.keys():
        # A position was removed, which an archive cannot express.
        archives, known = (), {}
    inline = {log: each for log, each in wanted.items() if known.get(log) != each}
    if len(inline) <= INLINE + len(changing):
        return tuple(inline.values()), archives, {}
    small = [each for each in archives if each.positions < FULL]
    merged = dict(_archived(storage, tuple(small))) if len(small) >= TOGETHER else {}
    if merged:
        archives = tuple(each for each in archives if each not in small)
    merged.update(inline)
    # With current values, so that the order of the archives does not matter.
    content = [wanted[log] for log in merged if log not in changing]
    made, new = [], {}
    for start in range(0, len(content), FULL):
        part = content[start : start + FULL]
        data = seal({"positions": [to_fields(each) for each in part]})
        name = f"{uuid4().hex}.json"
        made.append(Archive(name, len(part), checksum_in(data)))
        new[name] = data
    kept = tuple(wanted[log] for log in merged if log in changing)
    return kept, (*archives, *made), new


def to_fields(position: Position) -> dict[str, Any]:
    """Return a position for JSON, without default values, because there may be a million."""
    found = asdict(position)
    for name in ("loose", "closed", "content"):
        if not found[name]:
            del found[name]
    return found


def position_of(found: dict[str, Any]) -> Position:
    """Restore a position from JSON.

    :raises KeyError, TypeError, ValueError: it is not a position.
    """
    position = Position(**found)
    numbers = (position.number, position.transactions)
    texts = (position.log, position.patch, position.graph, position.loose, position.content)
    values = (*numbers, *texts, position.complete, position.closed)
    if tuple(map(type, values)) != _TYPES or min(numbers) < 0:
        raise ValueError(f"{found!r} is not a position")
    return position


def check_archives(storage: Storage, archives: Iterable[Archive]) -> None:
    """Read archives again.

    :raises RootError: an archive is missing or damaged.
    """
    for archive in archives:
        _read(storage, archive)


@lru_cache(maxsize=2)
def _archived(storage: Storage, archives: tuple[Archive, ...]) -> Mapping[str, Position]:
    """Return the positions in archives; later archives override earlier ones."""
    found: dict[str, Position] = {}
    for archive in archives:
        found.update((each.log, each) for each in _remembered(storage, archive))
    return MappingProxyType(found)


@lru_cache(maxsize=256)
def _remembered(storage: Storage, archive: Archive) -> tuple[Position, ...]:
    """Return the positions in an archive, which never change."""
    return _read(storage, archive)


def _read(storage: Storage, archive: Archive) -> tuple[Position, ...]:
    name = f"{FOLDER}/{archive.file}"
    place = storage.place(name)
    try:
        content = parse_json(storage.read(name), place)
        if content.get("checksum") != archive.checksum:
            raise RootError("damaged: not the file that the commit names", source=place)
        return tuple(map(position_of, content["positions"]))
    except OSError as error:
        raise RootError(f"positions cannot be read: {error.strerror}", source=place) from error
    except RootError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RootError(f"damaged: {error!r}", source=place) from error
