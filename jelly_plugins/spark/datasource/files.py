"""The files of a path: a file, a folder with all of its files, or a pattern; local or remote.

Files are ordered by name, with numbers compared as numbers: ``2`` comes before ``10``. Names that
start with ``_`` or ``.`` are ignored: they are marker files, and files that are still being
written. Does not import Spark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

import fsspec
from fsspec.implementations.local import LocalFileSystem
from fsspec.spec import AbstractFileSystem

from ...errors import JellyError, OptionsError, SourceError

_NUMBER: Final = re.compile(r"[0-9]+")
_HIDDEN: Final = ("_", ".")
_MAGIC: Final = frozenset("*?[{")
#: Braces without others inside.
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
#: A path with a scheme, or a chain of them, such as ``simplecache::s3://bucket/folder``.
_URL: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*::)*[A-Za-z][A-Za-z0-9+.-]*://")
#: A folder that is named like a column.
_COLUMN: Final = re.compile(r"(?:^|/)([^/=]+=[^/]+)/")

#: Keys under which file systems return the time of modification, in seconds or as a date.
_MODIFIED: Final = ("mtime", "LastModified", "last_modified", "updated", "created")


@dataclass(frozen=True, slots=True)
class DataFile:
    path: str
    size: int
    #: Seconds since 1970, or 0 if the file system does not provide it.
    modified: float = 0.0


class Files:
    """Files on any file system that fsspec supports; ``storage`` has settings for it."""

    def __init__(self, storage: Mapping[str, Any] | None = None) -> None:
        self._storage = dict(storage or {})

    def system(self, path: str) -> tuple[AbstractFileSystem, str]:
        """Return the file system of a path or URL, and the path within it.

        As in Spark, a path without a scheme is local, with any characters, and ``%20`` in
        it and in ``file:`` is not an escape.
        """
        if not _URL.match(path) or path.startswith("file:"):
            local = path.removeprefix("file:").removeprefix("//")
            return LocalFileSystem(), Path(local).absolute().as_posix()
        try:
            # Other processes add files, so listings are not cached.
            system, name = fsspec.core.url_to_fs(path, use_listings_cache=False, **self._storage)
        except Exception as error:
            # Each protocol has its own library, with its own exceptions.
            raise SourceError(str(error) or type(error).__name__, source=path) from error
        return system, name

    def list(self, paths: Iterable[str]) -> list[DataFile]:
        """List the files of each path, in the order of their names.

        :param paths: files, folders (including all subfolders), or patterns with ``*``, ``?``,
            ``[...]``, ``{...}`` and ``**``.
        :raises OptionsError: a folder below a path is named like a column, ``name=value``.
        """
        found: list[DataFile] = []
        for path in paths:
            files = {file.path: file for file in self._expand(path)}
            found += sorted(files.values(), key=lambda file: (natural(file.path), file.path))
        return found

    def _expand(self, path: str) -> Iterator[DataFile]:
        system, name = self.system(path)
        try:
            roots = [name]
            if _MAGIC.intersection(name) and not system.exists(name):
                matches = {
                    str(each)
                    for pattern in _alternatives(name)
                    # A pattern of Hadoop may negate a range with either character.
                    for each in system.glob(pattern.replace("[^", "[!"))
                }
                roots = [each for each in matches if not _hidden(_below(each, name))]
            if not roots or not all(map(system.exists, roots)):
                raise SourceError("there is no such file or folder", source=path)
            for root in roots:
                if system.isfile(root):
                    yield self._file(system, system.info(root))
                    continue
                for each, info in _find(system, root):
                    inside = _below(each, root)
                    if _hidden(inside):
                        continue
                    if column := _COLUMN.search(inside):
                        raise OptionsError(
                            f"{path}: the folder {column[1]!r} looks like a column, which would be "
                            "lost: name such folders in the path, as in folder/date=*, and take "
                            "the value from the column source"
                        )
                    yield self._file(system, info)
        except JellyError:
            raise
        except Exception as error:
            raise SourceError(f"cannot be listed: {error}", source=path) from error

    def _file(self, system: AbstractFileSystem, info: Mapping[str, Any]) -> DataFile:
        name = str(info["name"])
        path = name if isinstance(system, LocalFileSystem) else system.unstrip_protocol(name)
        return DataFile(path, int(info["size"] or 0), _modified(info))

    @contextmanager
    def open(self, path: str) -> Iterator[BinaryIO]:
        """Open a file for reading; it is seekable."""
        system, name = self.system(path)
        try:
            file: BinaryIO = system.open(name, "rb")
        except Exception as error:
            raise SourceError(
                getattr(error, "strerror", None) or str(error), source=path
            ) from error
        with file:
            yield file


def _find(
    system: AbstractFileSystem, folder: str, above: tuple[Path, ...] = ()
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Find the files below a folder, including those below the folders that it links to, which
    fsspec takes for files.

    :param above: the folders that have the links by which this folder was found.
    """
    for name, info in system.find(folder, detail=True).items():
        linked = info.get("islink") and not _hidden(Path(name).name)
        if not linked or not system.isdir(name):
            yield str(name), info
            continue
        target = Path(name).resolve()
        holders = (*above, Path(name).parent.resolve())
        if any(holder.is_relative_to(target) for holder in holders):
            raise SourceError("the link is to a folder above it", source=str(name))
        yield from _find(system, str(name), holders)


def natural(path: str) -> tuple[str, ...]:
    """Return a sort key for a path: folder by folder, with numbers in names compared as numbers.
    :mod:`..shards.frames` has the same order in SQL.

    >>> sorted(["a/10.rdfp", "a/2.rdfp", "a/.rdfp", "a-b/1.rdfp"], key=natural)
    ['a/.rdfp', 'a/2.rdfp', 'a/10.rdfp', 'a-b/1.rdfp']
    """
    return tuple(_NUMBER.sub(lambda found: found[0].zfill(40), name) for name in path.split("/"))


def _alternatives(pattern: str) -> list[str]:
    """Expand a pattern with ``{a,b}`` to patterns without it."""
    found = _BRACES.search(pattern)
    if found is None:
        return [pattern]
    before, after = pattern[: found.start()], pattern[found.end() :]
    return [
        each for part in found[1].split(",") for each in _alternatives(f"{before}{part}{after}")
    ]


def _below(name: str, root: str) -> str:
    """Return the part of a name below a folder, or below the fixed part of a pattern."""
    fixed = root.rstrip("/").split("/")
    kept = next((at for at, part in enumerate(fixed) if _MAGIC.intersection(part)), len(fixed))
    return "/".join(name.split("/")[kept:])


def _hidden(name: str) -> bool:
    return any(part.startswith(_HIDDEN) for part in name.split("/"))


def _modified(info: Mapping[str, Any]) -> float:
    value = next((info[key] for key in _MODIFIED if info.get(key) is not None), 0.0)
    if isinstance(value, datetime):
        return value.timestamp()
    return float(value) if isinstance(value, int | float) else 0.0
