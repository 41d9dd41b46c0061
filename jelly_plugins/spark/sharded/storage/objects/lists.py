"""The list of a store's files: in which objects they are. It is what a commit names by checksum.

A file is some bytes of an object. Those of more than a megabyte are objects of their own; what else
a version has of its own is one object, its pack. What it shares with the version before is in that
one's objects, or in those of even earlier ones: the list says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from ...documents import parse_json, seal
from ...errors import RootError
from ..checksums import LIST

#: The object that has all small files which are new in a version.
PACK: Final = "_pack"

_FILE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")
_CHECKSUM: Final = re.compile(r"[0-9a-f]{32}")
_OBJECT: Final = re.compile(r"(shard=[0-9]+)/v[0-9]+-[A-Za-z0-9]+/[A-Za-z0-9_][A-Za-z0-9_.\-]*")


class Part(NamedTuple):
    """A file of a store: where its bytes are.

    :ivar size: how many.
    :ivar checksum: of them.
    :ivar object: the object that has them, relative to the root.
    :ivar offset: where they begin in it.
    """

    size: int
    checksum: str
    object: str
    offset: int


def list_name(store: str) -> str:
    """The object that has the list of a store."""
    return f"{store}/{LIST}"


def to_list(parts: Mapping[str, Part]) -> bytes:
    """A list, as the bytes of an object."""
    return seal({"files": {name: list(parts[name]) for name in sorted(parts)}})


def parse_list(data: bytes, store: str, checksum: str, place: str) -> dict[str, Part]:
    """The files of a list, by name.

    :param store: whose list it is.
    :param checksum: of the list, as the commit has it.
    :param place: what errors call it.
    :raises RootError: it is none, or not the one that the commit names.
    """
    found = parse_json(data, place)
    if found.get("checksum") != checksum:
        raise RootError("is not the list that the commit names", source=place)
    try:
        return {_file(name): _part(each, store) for name, each in found["files"].items()}
    except (KeyError, TypeError, ValueError, AttributeError):
        raise RootError("damaged: not a list of files", source=place) from None


def _file(name: str) -> str:
    # Nothing outside of a folder is written because a list says so.
    if _FILE.fullmatch(name) is None:
        raise ValueError(name)
    return name


def _part(found: list[object], store: str) -> Part:
    part = Part(*found)  # type: ignore[arg-type]
    place = _OBJECT.fullmatch(part.object)
    if place is None or place[1] != store.partition("/")[0]:
        raise ValueError(part.object)
    if not all(type(each) is int and each >= 0 for each in (part.size, part.offset)):
        raise ValueError(part)
    if _CHECKSUM.fullmatch(part.checksum) is None:
        raise ValueError(part.checksum)
    return part
