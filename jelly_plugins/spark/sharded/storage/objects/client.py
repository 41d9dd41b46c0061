"""What is asked of an object store, and what goes wrong with it as errors of the library.

No error of the client's own goes further, nor stands behind another one: what it says is cleared of
credentials first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import ObjectStore

from ...errors import StorageError
from ..interface import Found, UncertainError
from .connecting import said_by

#: Bytes from which on an object is put in parts, and of each of these; likewise of what is got.
PART: Final = 16 << 20
CHUNK: Final = 4 << 20
#: Parts of one object, and objects, that are on their way at once: what bounds the memory.
_AT_ONCE: Final = 2
_OBJECTS_AT_ONCE: Final = 8

_T = TypeVar("_T")
_R = TypeVar("_R")


class Client:
    """An object store, at a root.

    :param store: the store.
    :param root: its URL, for what is said.
    :param options: the settings, of which nothing is said.
    """

    def __init__(self, store: ObjectStore, root: str, options: Mapping[str, Any]) -> None:
        self._store: Final = store
        self._root: Final = root
        self._options: Final = options

    # Reading

    def get(self, name: str, most: int | None = None) -> bytes:
        """All of an object; of one that has more than ``most`` bytes, somewhat more than these.

        :raises FileNotFoundError: there is none.
        """

        def get() -> bytes:
            found = obstore.get(self._store, name)
            if most is not None and found.meta["size"] > most:
                return bytes(obstore.get_range(self._store, name, start=0, length=most + 1))
            return bytes(found.bytes())

        return self._ask("got", name, get)

    def get_range(self, name: str, start: int, size: int) -> bytes:
        """Some bytes of an object, fewer where it ends.

        :raises FileNotFoundError: there is none.
        """

        def get() -> bytes:
            return bytes(obstore.get_range(self._store, name, start=start, length=size))

        return self._ask("got", name, get) if size else b""

    def chunks(self, name: str, start: int, size: int) -> Iterator[bytes]:
        """Some bytes of an object, in pieces, fewer where it ends.

        :raises FileNotFoundError: there is none.
        """
        if size <= CHUNK:
            yield self.get_range(name, start, size)
            return

        def get() -> Iterator[bytes]:
            found = obstore.get(self._store, name, options={"range": (start, start + size)})
            return iter(found.stream(min_chunk_size=CHUNK))

        stream = self._ask("got", name, get)
        while chunk := self._ask("got", name, lambda: bytes(next(stream, b""))):
            yield chunk

    def head(self, name: str) -> Found | None:
        """What is known of an object; None if there is none."""
        try:
            return self._ask("found", name, lambda: _found(obstore.head(self._store, name)))
        except FileNotFoundError:
            return None

    def names(self, folder: str) -> list[str]:
        """Names of what is directly in a folder."""

        def names() -> list[str]:
            found = obstore.list_with_delimiter(self._store, folder or None)
            paths = [*found["common_prefixes"], *(each["path"] for each in found["objects"])]
            return sorted(path.rpartition("/")[2] for path in paths)

        return self._ask("listed", folder, names)

    def objects(self, folder: str) -> Sequence[Found]:
        """All objects in a folder and those in it."""

        def found() -> list[Found]:
            prefix = f"{folder}/" if folder else None
            return [
                _found(each)
                for batch in obstore.list(self._store, prefix, chunk_size=1000)
                for each in batch
            ]

        return self._ask("listed", folder, found)

    # Writing

    def create(self, name: str, data: bytes) -> None:
        """Put an object that is not there yet, see :meth:`.Storage.create`."""

        try:
            self._put(name, data, mode="create")
        except StorageError as error:
            raise UncertainError(error) from None

    def put(self, name: str, data: bytes | Path | Iterable[bytes]) -> None:
        """Put an object whose name is nobody else's, or is to have other bytes now."""
        self._put(name, data, chunk_size=PART, max_concurrency=_AT_ONCE)

    def _put(self, name: str, data: bytes | Path | Iterable[bytes], **how: Any) -> None:
        try:
            self._ask(_PUT, name, lambda: obstore.put(self._store, name, data, **how))
        except FileNotFoundError:
            message = "cannot be put: there is no such bucket"
            raise StorageError(message, source=f"{self._root}/{name}") from None

    def delete(self, names: Sequence[str]) -> None:
        """Remove objects, as far as they are there."""

        def delete() -> None:
            obstore.delete(self._store, names)

        try:
            if names:
                self._ask("removed", names[0], delete)
        except FileNotFoundError:
            # Where they are removed one by one, the others are not.
            if len(names) > 1:
                self.each(lambda name: self.delete([name]), names)

    def each(
        self,
        function: Callable[[_T], _R],
        values: Iterable[_T],
        at_once: int = _OBJECTS_AT_ONCE,
    ) -> list[_R]:
        """Call a function with each of some values, several at a time."""
        wanted = list(values)
        if len(wanted) < 2:
            return [function(each) for each in wanted]
        with ThreadPoolExecutor(min(at_once, len(wanted))) as pool:
            return list(pool.map(function, wanted))

    def _ask(self, what: str, name: str, function: Callable[[], _R]) -> _R:
        """Do something; whatever is wrong is said as the library does."""
        problem: Exception
        try:
            return function()
        except FileNotFoundError:
            problem = FileNotFoundError(f"{self._root}/{name}")
        except AlreadyExistsError as error:
            # 409 is said of what is no put, too.
            problem = self._problem(what, name, error)
            if what == _PUT:
                problem = FileExistsError(f"{self._root}/{name}")
        except (BaseError, OSError, ValueError, RuntimeError) as error:
            problem = self._problem(what, name, error)
        except BaseException as error:
            # What the client did not think of, such as an endpoint that is none, is no Exception.
            if type(error).__name__ != _PANIC:
                raise
            problem = self._problem(what, name, error)
        # Outside of the handler: what it has caught may say what nobody is to read.
        raise problem

    def _problem(self, what: str, name: str, error: BaseException) -> StorageError:
        said = said_by(error, self._options)
        return StorageError(f"cannot be {what}: {said}", source=f"{self._root}/{name}")


_PUT: Final = "put"
_PANIC: Final = "PanicException"


def _found(meta: Any) -> Found:
    return Found(meta["path"], meta["size"], meta["last_modified"].timestamp())
