"""Which files a path means: a file, a folder with all that is in it, or a pattern; local or not.

Files are in the order of their names, and numbers in those count as such: ``2`` stands before
``10``. Names that start with ``_`` or ``.`` are nobody's data: there stand marks, and files that
are being written. Knows nothing of Spark.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, BinaryIO, Final
from urllib.parse import unquote

import fsspec
from fsspec.implementations.local import LocalFileSystem
from fsspec.spec import AbstractFileSystem

from ...errors import JellyError, OptionsError, SourceError
from ..ordering import natural

_HIDDEN: Final = ("_", ".")
_MAGIC: Final = frozenset("*?[")
#: What stands in a folder's name for null.
_NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"

#: Under which of these a file system says when a file was written; seconds or a date.
_MODIFIED: Final = ("mtime", "LastModified", "last_modified", "updated", "created")


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that is there.

    :ivar path: for :func:`open_file`; a URL where the file system is not the local one.
    :ivar size: in bytes.
    :ivar modified: seconds since 1970, or 0 where the file system does not say.
    """

    path: str
    size: int
    modified: float = 0.0


class Files:
    """Files on any file system that fsspec knows.

    :param storage: settings for the file systems that are no local ones, as fsspec takes them.
    """

    def __init__(self, storage: Mapping[str, Any] | None = None) -> None:
        self._storage = dict(storage or {})

    def system(self, path: str) -> tuple[AbstractFileSystem, str]:
        """The file system of a path or URL, and what it calls the path.

        :raises SourceError: there is no such file system, or it cannot be reached.
        """
        storage = {} if _is_local(path) else self._storage
        try:
            # Listings are not to be remembered: other processes add files.
            system, name = fsspec.core.url_to_fs(
                _without_authority(path), use_listings_cache=False, **storage
            )
        except Exception as error:
            # Each protocol has a library of its own, with exceptions of its own.
            raise SourceError(str(error) or type(error).__name__, source=path) from error
        return system, name

    def list(
        self, paths: Iterable[str], pattern: str | None = None, *, columns: bool = True
    ) -> list[DataFile]:
        """All files of the given paths, each once: in the order of the paths, and for each path in
        that of their names.

        :param paths: files, folders (with all folders in them), or patterns of ``*``, ``?``,
            ``[...]`` and ``**``.
        :param pattern: what the last part of a file's name has to match, inside folders.
        :param columns: whether folders below the paths may be named as columns are, ``name=value``.
        :raises SourceError: a path or pattern has nothing.
        :raises OptionsError: a folder is named as a column is.
        """
        found: dict[str, DataFile] = {}
        for path in paths:
            for file in sorted(self._expand(path, pattern, columns), key=_place):
                found.setdefault(file.path, file)
        return list(found.values())

    def _expand(self, path: str, pattern: str | None, columns: bool) -> Iterator[DataFile]:
        system, name = self.system(path)
        try:
            roots = [name]
            if _MAGIC.intersection(name) and not system.exists(name):
                matches = sorted(str(each) for each in system.glob(name))
                roots = [each for each in matches if not _hidden(_below(each, name))]
            if not roots or not all(map(system.exists, roots)):
                raise SourceError("there is no such file or folder", source=path)
            for root in roots:
                if system.isfile(root):
                    yield self._file(system, system.info(root))
                    continue
                for each, info in system.find(root, detail=True).items():
                    inside = _below(str(each), root)
                    if not _hidden(inside) and fnmatchcase(
                        posixpath.basename(inside), pattern or "*"
                    ):
                        if not columns and (named := folder_columns(inside)):
                            raise OptionsError(
                                f"{path}: a folder is named like a column, {next(iter(named))!r}, "
                                "which would be lost: set partitionColumns to the columns' names, "
                                "or to none"
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
        """A file to be read, at any place of it.

        :raises SourceError: it cannot be opened.
        """
        system, name = self.system(path)
        try:
            file: BinaryIO = system.open(name, "rb")
        except Exception as error:
            raise SourceError(
                getattr(error, "strerror", None) or str(error), source=path
            ) from error
        with file:
            yield file


def folder_columns(path: str) -> dict[str, str | None]:
    """What folders say by their names, as Spark's other formats write them.

    >>> folder_columns("logs/date=2026-11-21/x=a%2Fb/part-0=1.jelly")
    {'date': '2026-11-21', 'x': 'a/b'}
    """
    found: dict[str, str | None] = {}
    for name in path.split("/")[:-1]:
        key, equals, value = name.partition("=")
        if key and equals:
            found[unquote(key)] = None if value == _NO_VALUE else unquote(value)
    return found


def _place(file: DataFile) -> tuple[Any, str]:
    return natural(file.path), file.path


def given_paths(options: Mapping[str, str]) -> list[str]:
    """The paths of a ``load()`` or ``save()``: Spark gives one as ``path``, several as JSON.

    :raises SourceError: there is none.
    """
    several = options.get("paths")
    paths = [str(path) for path in json.loads(several)] if several else []
    if one := options.get("path"):
        paths.append(one)
    if not paths:
        raise SourceError("no path is given: load(path), or option('path', …)")
    return paths


def _is_local(path: str) -> bool:
    return "://" not in path or path.startswith("file:")


def _without_authority(path: str) -> str:
    """Spark's users also write ``file:/folder``."""
    if path.startswith("file:/") and not path.startswith("file://"):
        return path.removeprefix("file:")
    return path


def _below(name: str, root: str) -> str:
    """What of a name stands below a folder, or below where a pattern begins."""
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
