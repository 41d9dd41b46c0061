"""Access to an object store, with errors of this library.

No exception of the client library is passed on or chained: its message is first cleared of
credentials.
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
from .connecting import public_message

#: Size in bytes of the parts of a multipart upload, and of the chunks of a download.
PART: Final = 16 << 20
CHUNK: Final = 4 << 20
#: Maximum number of parallel parts of an object, and of objects, which limits the memory.
_AT_ONCE: Final = 2
_OBJECTS_AT_ONCE: Final = 8

_T = TypeVar("_T")
_R = TypeVar("_R")


class Client:
    """An object store, at a root.

    :param store: the store.
    :param root: its URL, for messages.
    :param options: the settings, which messages must not contain.
    """

    def __init__(self, store: ObjectStore, root: str, options: Mapping[str, Any]) -> None:
        self._store: Final = store
        self._root: Final = root
        self._options: Final = options

    # Reading

    def get(self, name: str, most: int | None = None) -> bytes:
        """Read an object; of one with more than ``most`` bytes, slightly more than these.

        :raises FileNotFoundError: it does not exist.
        """

        def get() -> bytes:
            found = obstore.get(self._store, name)
            if most is not None and found.meta["size"] > most:
                return bytes(obstore.get_range(self._store, name, start=0, length=most + 1))
            return bytes(found.bytes())

        return self._ask("got", name, get)

    def get_range(self, name: str, start: int, size: int) -> bytes:
        """Read a range of bytes of an object, fewer at its end.

        :raises FileNotFoundError: it does not exist.
        """

        def get() -> bytes:
            return bytes(obstore.get_range(self._store, name, start=start, length=size))

        return self._ask("got", name, get) if size else b""

    def chunks(self, name: str, start: int, size: int) -> Iterator[bytes]:
        """Read a range of bytes of an object, in chunks, fewer at its end.

        :raises FileNotFoundError: it does not exist.
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
        """Return an object's metadata; None if it does not exist."""
        try:
            return self._ask("found", name, lambda: _found(obstore.head(self._store, name)))
        except FileNotFoundError:
            return None

    def names(self, folder: str) -> list[str]:
        """Return the names directly in a folder."""

        def names() -> list[str]:
            found = obstore.list_with_delimiter(self._store, folder or None)
            paths = [*found["common_prefixes"], *(each["path"] for each in found["objects"])]
            return sorted(path.rpartition("/")[2] for path in paths)

        return self._ask("listed", folder, names)

    def objects(self, folder: str) -> Sequence[Found]:
        """Return all objects in a folder and its subfolders."""

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
        """Put an object that does not exist yet, see :meth:`.Storage.create`."""

        try:
            self._put(name, data, mode="create")
        except StorageError as error:
            raise UncertainError(error) from None

    def put(self, name: str, data: bytes | Path | Iterable[bytes]) -> None:
        """Put an object with a unique name, or replace one."""
        self._put(name, data, chunk_size=PART, max_concurrency=_AT_ONCE)

    def _put(self, name: str, data: bytes | Path | Iterable[bytes], **how: Any) -> None:
        try:
            self._ask(_PUT, name, lambda: obstore.put(self._store, name, data, **how))
        except FileNotFoundError:
            message = "cannot be put: the bucket does not exist"
            raise StorageError(message, source=f"{self._root}/{name}") from None

    def delete(self, names: Sequence[str]) -> None:
        """Remove objects that exist."""

        def delete() -> None:
            obstore.delete(self._store, names)

        try:
            if names:
                self._ask("removed", names[0], delete)
        except FileNotFoundError:
            # If the client removes objects one by one, it has stopped at the missing one.
            if len(names) > 1:
                self.each(lambda name: self.delete([name]), names)

    def each(
        self,
        function: Callable[[_T], _R],
        values: Iterable[_T],
        at_once: int = _OBJECTS_AT_ONCE,
    ) -> list[_R]:
        """Call a function with each value, several at a time."""
        wanted = list(values)
        if len(wanted) < 2:
            return [function(each) for each in wanted]
        with ThreadPoolExecutor(min(at_once, len(wanted))) as pool:
            return list(pool.map(function, wanted))

    def _ask(self, what: str, name: str, function: Callable[[], _R]) -> _R:
        """Call a function, and convert exceptions to errors of this library."""
        problem: Exception
        try:
            return function()
        except FileNotFoundError:
            problem = FileNotFoundError(f"{self._root}/{name}")
        except AlreadyExistsError as error:
            # Object stores return 409 for other requests than puts, too.
            problem = self._problem(what, name, error)
            if what == _PUT:
                problem = FileExistsError(f"{self._root}/{name}")
        except (BaseError, OSError, ValueError, RuntimeError) as error:
            problem = self._problem(what, name, error)
        except BaseException as error:
            # Unexpected conditions in the client, such as an invalid endpoint, raise BaseException.
            if type(error).__name__ != _PANIC:
                raise
            problem = self._problem(what, name, error)
        # Raised outside of the handler: the caught exception may contain credentials.
        raise problem

    def _problem(self, what: str, name: str, error: BaseException) -> StorageError:
        message = public_message(error, self._options)
        return StorageError(f"cannot be {what}: {message}", source=f"{self._root}/{name}")


_PUT: Final = "put"
_PANIC: Final = "PanicException"


def _found(meta: Any) -> Found:
    return Found(meta["path"], meta["size"], meta["last_modified"].timestamp())
