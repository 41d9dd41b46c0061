"""A folder in a bucket, as the root of a sharded store.

A store is its files, each of them an object, which a version lists with size and checksum. A file
that the previous store has is not put again. Stores are read and made in local folders; files that
were fetched stay in a cache, which may be deleted at any time.

The client's messages may contain URLs, settings and responses, and so credentials. Errors therefore
show only what is known to be safe: the type of the client's exception, the HTTP status, and the
object store's error code. The client's exceptions are neither passed on nor chained.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import uuid4

import xxhash

from ...errors import JellyError, MissingExtraError, OptionsError
from .root import MAX_BYTES, VERSIONS, File, RootError, Shard, numbers_of, version_file

try:
    import obstore
    from obstore.exceptions import AlreadyExistsError, BaseError, UnknownConfigurationKeyError
    from obstore.store import MemoryStore, from_url
except ImportError as error:
    raise MissingExtraError.of("buckets need a library", "objects") from error

if TYPE_CHECKING:
    from obstore.store import ObjectStore

#: Default maximum size of the cache, in bytes.
_CACHE_BYTES: Final = 10 << 30
#: Number of objects that are put or fetched at the same time, and size of the chunks.
_AT_ONCE: Final = 8
_CHUNK: Final = 4 << 20

#: A scheme, a bucket (or a container and an account), and folders.
_URL: Final = re.compile(
    r"[A-Za-z0-9]+://(?:[\w.$-]+|(?<=abfs://|bfss://)[\w.$-]+@[\w.-]+)(?:/[^?#]*)?"
)
#: Settings that obstore takes as those of the HTTP client.
_CLIENT: Final = frozenset(
    (
        *("allow_http", "allow_invalid_certificates", "connect_timeout", "default_content_type"),
        *("default_headers", "http1_only", "http2_keep_alive_interval", "http2_only"),
        *("http2_keep_alive_timeout", "http2_keep_alive_while_idle", "http2_max_frame_size"),
        *("pool_idle_timeout", "pool_max_idle_per_host", "proxy_url", "proxy_ca_certificate"),
        *("proxy_excludes", "randomize_addresses", "read_timeout", "root_certificate"),
        *("timeout", "user_agent"),
    )
)
#: Prefixes of settings and of environment variables, by the URL's scheme.
_VENDORS: Final = {"s3": ("aws",), "s3a": ("aws",), "gs": ("google", "gcs")}
#: Parts of the client's messages that contain no secrets.
_PUBLIC: Final = (
    re.compile(r"status code: (\d{3}(?: [A-Z][A-Za-z]+)*)"),
    re.compile(r"<Code>(\w{1,99})</Code>"),
)
_PHRASES: Final = {
    "builder error": "the request is invalid; an endpoint that is not https needs allow_http",
    "error sending request": "no connection to the endpoint",
}
#: Stores in this process's memory, for tests.
_memories: Final[dict[str, MemoryStore]] = {}

_T = TypeVar("_T")


class Bucket:
    """A folder in a bucket, with the methods of a :class:`.Folder`.

    :param options: settings and credentials; and those of the cache, ``cache_dir`` and
        ``cache_bytes``.
    """

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        scheme, _, place = url.partition("://")
        folders = place.rstrip("/").split("/")[1:]
        if not _URL.fullmatch(url) or not {"", ".", ".."}.isdisjoint(folders):
            raise RootError(
                "not the URL of a folder in a bucket, such as s3://bucket/folder: pass credentials "
                "and other settings as storage_options",
                source=f"{scheme}://…",
            )
        self.name = url.rstrip("/")
        self._options: Final = dict(options)
        settings = dict(options)
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        self._cache: Final = Path(settings.pop("cache_dir", home / "jelly-plugins"))
        self._cache_bytes: Final = _whole("cache_bytes", settings.pop("cache_bytes", _CACHE_BYTES))
        self._store: Final = _connect(self.name, settings)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self._options)

    def versions(self) -> list[int]:
        return numbers_of(name for name, _ in self._list(f"{VERSIONS}/"))

    def read(self, number: int) -> bytes:
        def get() -> bytes:
            found = obstore.get(self._store, version_file(number))
            if found.meta["size"] > MAX_BYTES:
                raise RootError(f"the file of version {number} is too large", source=self.name)
            return bytes(found.bytes())

        return self._ask("read", version_file(number), get)

    def create(self, number: int, data: bytes) -> None:
        name = version_file(number)
        try:
            self._put(name, data, mode="create")
            return
        except (FileExistsError, RootError) as error:
            failure = error
        # A request that failed may have been done, also by an earlier attempt of the client.
        try:
            if self.read(number) != data:
                raise FileExistsError(f"{self.name}/{name}")
        except FileNotFoundError:
            raise failure from None
        except RootError:
            raise RootError(
                f"it is unknown whether version {number} was created: {failure}", source=self.name
            ) from None

    @contextmanager
    def open(self, shard: Shard) -> Iterator[Path | None]:
        if shard.files is None:
            yield None
            return
        with self.making(0) as folder:
            folder.mkdir()
            _each(lambda item: self._fetch(item[1], folder / item[0]), shard.files.items())
            yield folder

    @contextmanager
    def making(self, number: int) -> Iterator[Path]:  # noqa: ARG002
        with tempfile.TemporaryDirectory(prefix="jelly-", ignore_cleanup_errors=True) as folder:
            yield Path(folder) / "store"

    def keep(self, folder: Path, number: int, base: Shard, opened: Path | None) -> Shard:
        store = f"shard={number}/{uuid4().hex}"

        def put(path: Path) -> tuple[str, File]:
            before = (base.files or {}).get(path.name)
            known = None if opened is None else opened / path.name
            # It is the same file, by a hard link.
            if before is not None and known is not None and known.samefile(path):
                return path.name, before
            file = File(f"{store}/{path.name}", *_checked(path))
            self._put(file.object, path)
            self._add(file, path)
            return path.name, file

        return Shard(store, files=dict(sorted(_each(put, folder.iterdir()))))

    def check(self, shards: Iterable[Shard], problem: str) -> None:
        """Do nothing: tasks have put the stores where every process finds them."""

    def stored(self) -> Mapping[str, float]:
        now = time.time()
        return {name: now - at for name, at in self._list("") if name.startswith("shard=")}

    def remove(self, names: Iterable[str]) -> None:
        wanted = list(names)
        if wanted and not self._delete(wanted):
            # The client has stopped at one that does not exist.
            _each(lambda name: self._delete([name]), wanted)

    # Objects

    def _fetch(self, file: File, path: Path) -> None:
        """Bring a file to a local path, from the cache or from the bucket."""
        known = self._known(file)
        with suppress(OSError):
            if known.stat().st_size == file.size:
                os.utime(known)
                _link(known, path)
                return

        def get() -> None:
            with path.open("wb") as out:
                for chunk in obstore.get(self._store, file.object).stream(min_chunk_size=_CHUNK):
                    out.write(chunk)

        try:
            self._ask("read", file.object, get)
        except FileNotFoundError:
            raise RootError(f"{file.object} is missing", source=self.name) from None
        if _checked(path) != file[1:]:
            raise RootError(f"the checksum of {file.object} does not match", source=self.name)
        self._add(file, path)

    def _known(self, file: File) -> Path:
        return self._cache / f"{file.checksum}-{file.size}"

    def _add(self, file: File, path: Path) -> None:
        """Add a file to the cache, if that is possible, and remove those not used for longest."""
        with suppress(OSError):
            self._cache.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = self._cache / f".{uuid4().hex}"
            _link(path, temporary)
            temporary.replace(self._known(file))
            found = []
            for entry in os.scandir(self._cache):
                with suppress(OSError):
                    found.append((entry.stat().st_mtime, entry.stat().st_size, entry.path))
            excess = sum(size for _, size, _ in found) - self._cache_bytes
            for _, size, old in sorted(found):
                if excess <= 0:
                    break
                Path(old).unlink(missing_ok=True)
                excess -= size

    def _put(self, name: str, data: bytes | Path, **how: Any) -> None:
        try:
            self._ask("put", name, lambda: obstore.put(self._store, name, data, **how))
        except FileNotFoundError:
            raise RootError("the bucket does not exist", source=self.name) from None

    def _delete(self, names: list[str]) -> bool:
        """Remove objects; return whether all of them existed."""
        with suppress(FileNotFoundError):
            self._ask("removed", names[0], lambda: obstore.delete(self._store, names))
            return True
        return False

    def _list(self, folder: str) -> list[tuple[str, float]]:
        """Return the names in a folder, and when they were written."""

        def found() -> list[tuple[str, float]]:
            return [
                (each["path"], each["last_modified"].timestamp())
                for batch in obstore.list(self._store, folder or None)
                for each in batch
            ]

        return self._ask("listed", folder, found)

    def _ask(self, what: str, name: str, function: Callable[[], _T]) -> _T:
        """Call a function, and convert the client's exceptions to errors without credentials."""
        problem: Exception
        try:
            return function()
        except JellyError:
            raise
        except FileNotFoundError:
            problem = FileNotFoundError(f"{self.name}/{name}")
        except AlreadyExistsError:
            problem = FileExistsError(f"{self.name}/{name}")
        except BaseException as error:
            if not _is_failure(error):
                raise
            message = f"cannot be {what}: {public_message(error)}"
            problem = RootError(message, source=f"{self.name}/{name}")
        # Raised outside of the handler: the caught exception may contain credentials.
        raise problem


def _connect(url: str, options: Mapping[str, Any]) -> ObjectStore:
    """Create the connection to an object store, at the folder of a URL, without using it.

    :param options: settings, with the names of object_store and deltalake: with the vendor's prefix
        or without it, in any case. Missing ones come from the environment.
    """
    if url.startswith("memory:"):
        return _memories.setdefault(url, MemoryStore())
    vendors = _VENDORS.get(url.partition(":")[0].lower(), ("azure",))
    prefix = re.compile(f"^(?:{'|'.join(vendors)})_")
    client: dict[str, Any] = {}
    retries: dict[str, Any] = {}
    config: dict[str, Any] = {}
    for given, value in options.items():
        # Names of the HTTP client's settings must be in this form, or the library panics.
        short = prefix.sub("", given.lower(), count=1)
        if short == "max_retries":
            retries[short] = _whole(given, value)
        elif short == "retry_timeout":
            retries[short] = timedelta(seconds=_whole(given, value))
        elif short in _CLIENT:
            client[short] = value
        else:
            config[given.lower()] = value
    settings: dict[str, Any] = {"client_options": client or None, "retry_config": retries or None}
    try:
        return from_url(url, **settings, **config)
    except BaseException as error:
        if not _is_failure(error):
            raise
        what = "are invalid"
        if isinstance(error, UnknownConfigurationKeyError) or "Invalid key" in str(error):
            what = "have an unknown name"
    # Raised outside of the handler: the caught exception may contain credentials.
    names = ", ".join(map(repr, options)) or "those of the environment"
    raise OptionsError(f"the storage's settings {what} ({names}), or the URL's scheme", source=url)


def _whole(name: str, value: Any) -> int:
    """Parse a setting that is a whole number, or text of one. Errors do not show its value."""
    text = str(value)
    if not (text.isascii() and text.isdecimal()):
        raise OptionsError(f"{name} must be a whole number")
    return int(text)


def _is_failure(error: BaseException) -> bool:
    """Return whether an exception is one of the client library, not of this process."""
    # Unexpected conditions in the client, such as an invalid endpoint, raise BaseException.
    known = (BaseError, OSError, ValueError, RuntimeError)
    return isinstance(error, known) or type(error).__name__ == "PanicException"


def public_message(error: BaseException) -> str:
    """Describe a client's error without credentials."""
    text = str(error)
    found = [each[1] for pattern in _PUBLIC if (each := pattern.search(text))]
    phrases = [meaning for phrase, meaning in _PHRASES.items() if phrase in text]
    return ", ".join([type(error).__name__, *(found or phrases)])


def _link(source: Path, target: Path) -> None:
    """Make a hard link; a copy, if they are on different file systems."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(source, target)


def _checked(path: Path) -> tuple[int, str]:
    """Return the size and the checksum of a file."""
    digest = xxhash.xxh3_128()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return path.stat().st_size, digest.hexdigest()


def _each(function: Callable[[Any], _T], values: Iterable[Any]) -> list[_T]:
    """Call a function with each value, several at a time."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(function, values))
