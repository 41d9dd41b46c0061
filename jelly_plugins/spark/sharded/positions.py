"""Positions in very many logs: a commit has those that changed lately, and names files of others.

A position is never forgotten: a log that is given again is known however long ago it was applied.
But a commit stays short. Once it has too many positions of its own, they go into a file beside the
commits, an archive, that it and all commits after it name; archives are never changed, and when
they are many, they are written together as one. What a commit says itself counts before what its
archives say, and a later archive before one that it names earlier.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final
from uuid import uuid4

from ...patch.replay.position import Position
from .documents import checksum_in, parse_json, seal
from .errors import RootError
from .storage import Storage

#: The archives, in the root.
FOLDER: Final = "_positions"

#: Positions that a commit has itself.
INLINE: Final = 1000
#: Archives that are written together as one, unless they have as many positions as one may have.
TOGETHER: Final = 16
FULL: Final = 20_000

_TYPES: Final = (int, int, *(str,) * 5, bool, bool)


@dataclass(frozen=True, slots=True)
class Archive:
    """A file of positions.

    :ivar file: its name in :data:`FOLDER`.
    :ivar positions: how many it has.
    :ivar checksum: with which it is sealed.
    """

    file: str
    positions: int
    checksum: str


def unpacked(
    storage: Storage, inline: Iterable[Position], archives: tuple[Archive, ...]
) -> tuple[Position, ...]:
    """All positions of a commit, one for each log.

    :raises RootError: an archive is not there, or damaged.
    """
    found = dict(_archived(storage, archives))
    for each in inline:
        # Those that have changed last stand last.
        found.pop(each.log, None)
        found[each.log] = each
    return tuple(found.values())


def packed(
    storage: Storage,
    positions: Iterable[Position],
    archives: tuple[Archive, ...],
    lively: frozenset[str],
) -> tuple[tuple[Position, ...], tuple[Archive, ...], Mapping[str, bytes]]:
    """Positions as a commit is to have them.

    :param archives: those that the commit before has named.
    :param lively: logs that are not worth an archive, because their positions change all the time.
    :return: those that the commit has itself; the archives that it names, in their order; and the
        content of those that are not there yet, by the names of their files.
    """
    known = _archived(storage, archives)
    wanted = {each.log: each for each in positions}
    if known.keys() - wanted.keys():
        # Something is to be no more: an archive cannot say that.
        archives, known = (), {}
    inline = {log: each for log, each in wanted.items() if known.get(log) != each}
    if len(inline) <= INLINE + len(lively):
        return tuple(inline.values()), archives, {}
    small = [each for each in archives if each.positions < FULL]
    merged = dict(_archived(storage, tuple(small))) if len(small) >= TOGETHER else {}
    if merged:
        archives = tuple(each for each in archives if each not in small)
    merged.update(inline)
    # As they are now: so it does not matter which archives the new ones come after.
    content = [wanted[log] for log in merged if log not in lively]
    made, new = [], {}
    for start in range(0, len(content), FULL):
        part = content[start : start + FULL]
        data = seal({"positions": [plain(each) for each in part]})
        name = f"{uuid4().hex}.json"
        made.append(Archive(name, len(part), checksum_in(data)))
        new[name] = data
    kept = tuple(wanted[log] for log in merged if log in lively)
    return kept, (*archives, *made), new


def plain(position: Position) -> dict[str, Any]:
    """A position for JSON. There may be a million: what most of them do not have is left out."""
    found = asdict(position)
    for name in ("loose", "closed", "content"):
        if not found[name]:
            del found[name]
    return found


def position_of(found: dict[str, Any]) -> Position:
    """A position from JSON.

    :raises KeyError, TypeError, ValueError: it is none.
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

    :raises RootError: one is not there, or damaged.
    """
    for archive in archives:
        _read(storage, archive)


@lru_cache(maxsize=2)
def _archived(storage: Storage, archives: tuple[Archive, ...]) -> Mapping[str, Position]:
    """What archives say, the later ones before the earlier ones."""
    found: dict[str, Position] = {}
    for archive in archives:
        found.update((each.log, each) for each in _remembered(storage, archive))
    return MappingProxyType(found)


@lru_cache(maxsize=256)
def _remembered(storage: Storage, archive: Archive) -> tuple[Position, ...]:
    """What an archive has, which never changes."""
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
