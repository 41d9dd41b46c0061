"""Connect to the object store of a URL, and describe its errors without credentials.

The client's messages may contain URLs, settings and responses, and so credentials. Errors therefore
show only what is known to have none: the type of the client's exception, the HTTP status, and the
object store's error code.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from ...errors import MissingExtraError, OptionsError
from .errors import RootError

try:
    from obstore.exceptions import BaseError, UnknownConfigurationKeyError
    from obstore.store import MemoryStore, from_url
except ImportError as error:
    raise MissingExtraError.of("buckets need a library", "objects") from error

if TYPE_CHECKING:
    from obstore.store import ObjectStore

#: Scheme of stores in this process's memory, for tests.
_MEMORY: Final = "memory"
_memories: Final[dict[str, MemoryStore]] = {}

#: Settings of the HTTP client; all others except the retries are the object store's.
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
#: Prefixes of settings and of environment variables, by the URL's scheme; Azure has several.
_VENDORS: Final = {"s3": ("aws",), "s3a": ("aws",), "gs": ("google", "gcs")}

#: A scheme, a bucket (or a container and an account), and folders.
_URL: Final = re.compile(
    r"[A-Za-z0-9]+://(?:[\w.$-]+|(?<=abfs://|bfss://)[\w.$-]+@[\w.-]+)(?:/[^?#]*)?"
)
#: Parts of the client's messages that contain no secrets.
_STATUS: Final = re.compile(r"status code: (\d{3}(?: [A-Z][A-Za-z]+)*)")
_CODE: Final = re.compile(r"<Code>(\w{1,99})</Code>")
_PHRASES: Final = {
    "builder error": "the request is invalid; an endpoint that is not https needs allow_http",
    "error sending request": "no connection to the endpoint",
}
_PANIC: Final = "PanicException"


def root_url(url: str) -> str:
    """Normalise the URL of a root in an object store.

    :raises RootError: it is not valid; the error does not show it.
    """
    scheme, _, place = url.partition("://")
    folders = place.rstrip("/").split("/")[1:]
    if not _URL.fullmatch(url) or any(each in ("", ".", "..") for each in folders):
        raise RootError(
            "not the URL of a folder in a bucket, such as s3://bucket/folder: pass credentials and "
            "other settings as storage_options",
            source=f"{scheme}://…",
        )
    return url.rstrip("/")


def connect(url: str, options: Mapping[str, Any]) -> ObjectStore:
    """Create the connection to an object store, at the folder of a URL, without using it.

    :param options: settings, with the names of object_store and deltalake: with the vendor's prefix
        or without it, in any case. Missing ones come from the environment.
    :raises OptionsError: a setting is unknown or invalid.
    """
    if url.startswith(f"{_MEMORY}:"):
        return _memories.setdefault(url, MemoryStore())
    vendors = _VENDORS.get(url.partition(":")[0].lower(), ("azure",))
    client: dict[str, Any] = {}
    retries: dict[str, Any] = {}
    config: dict[str, Any] = {}
    for given, value in options.items():
        # Names of the HTTP client's settings must be in this form, or the library panics.
        name = given.lower()
        vendor = next((each for each in vendors if name.startswith(f"{each}_")), None)
        short = name if vendor is None else name[len(vendor) + 1 :]
        if short == "max_retries":
            retries[short] = whole(given, value)
        elif short == "retry_timeout":
            retries[short] = timedelta(seconds=whole(given, value))
        elif short in _CLIENT:
            client[short] = value
        else:
            config[name] = value
    if client:
        # With any client setting, the library ignores those of the environment.
        variables = {name: f"{vendors[0]}_{name}".upper() for name in _CLIENT}
        known = {name: os.environ[each] for name, each in variables.items() if each in os.environ}
        client = {**known, **client}
    try:
        return from_url(
            url,
            client_options=client or None,  # type: ignore[arg-type]
            retry_config=retries or None,  # type: ignore[arg-type]
            **config,
        )
    except BaseException as error:
        if not is_failure(error):
            raise
        what = "are invalid"
        if isinstance(error, UnknownConfigurationKeyError) or "Invalid key" in str(error):
            what = "have an unknown name"
    # Raised outside of the handler: the caught exception may contain credentials.
    names = ", ".join(map(repr, options)) or "those of the environment"
    raise OptionsError(f"the storage's settings {what} ({names}), or the URL's scheme", source=url)


def whole(name: str, value: Any) -> int:
    """Parse a setting that is a whole number, or text of one. Errors do not show its value.

    :raises OptionsError: it is not a whole number.
    """
    text = str(value)
    if not (text.isascii() and text.isdecimal()):
        raise OptionsError(f"{name} must be a whole number")
    return int(text)


def is_failure(error: BaseException) -> bool:
    """Return whether an exception is one of the client library, not of this process."""
    # Unexpected conditions in the client, such as an invalid endpoint, raise BaseException.
    known = (BaseError, OSError, ValueError, RuntimeError)
    return isinstance(error, known) or type(error).__name__ == _PANIC


def public_message(error: BaseException) -> str:
    """Describe a client's error without credentials."""
    text = str(error)
    status, code = _STATUS.search(text), _CODE.search(text)
    phrases = [meaning for phrase, meaning in _PHRASES.items() if phrase in text]
    found = [each[1] for each in (status, code) if each] or phrases
    return ", ".join([type(error).__name__, *found])
