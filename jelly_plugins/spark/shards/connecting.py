"""Connect to the object store of a URL, with settings; and keep credentials out of messages."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from ...errors import MissingExtraError, OptionsError
from .errors import RootError

try:
    from obstore.exceptions import BaseError
    from obstore.store import MemoryStore, from_url
except ImportError as error:
    raise MissingExtraError.of("buckets need a library", "objects") from error

if TYPE_CHECKING:
    from obstore.store import ObjectStore

#: Scheme of stores in this process's memory, for tests.
_MEMORY: Final = "memory"

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
_RETRIES: Final = ("max_retries", "retry_timeout")
#: Prefixes of environment variables and of settings, by the URL's scheme; Azure has several.
_VENDORS: Final = {"s3": ("aws",), "s3a": ("aws",), "gs": ("google", "gcs")}
_ENDPOINTS: Final = ("endpoint", "endpoint_url", "endpoint_url_s3", "base_url")

#: Settings that are not secret.
_PUBLIC: Final = re.compile(
    r"(?i).*(region|endpoint|endpoint_url|bucket|bucket_name|container_name|account_name|"
    r"timeout|retries|allow_\w+|user_agent|request|signature|algorithm|cache_dir|cache_bytes)"
)
_SECRET_VARIABLE: Final = re.compile(r"(AWS|AZURE|GOOGLE)_\w*(KEY|SECRET|TOKEN|SAS|PASSWORD)\w*")

#: The query of a URL may give access.
_QUERY: Final = re.compile(r"\?[^\s\"'>]+")
#: A password may contain a slash, so everything up to the last @ counts as user and password.
_USER: Final = re.compile(r"//[^\s\"'<>]+@")
_PASSWORD: Final = re.compile(r"(?s)//[^/:@]*:(.*)@")
#: A bucket, with its account if the URL has one.
_BUCKET: Final = re.compile(r"[\w.\-:@$]+")
#: The error code in the response of an object store.
_CODE: Final = re.compile(r"<Code>(\w+)</Code>")
_LEAST_SECRET: Final = 4
_SAFE: Final = ("/", "", "!$&'()*+,")
_HIDDEN: Final = "(hidden)"
_PANIC: Final = "PanicException"

_memories: Final[dict[str, MemoryStore]] = {}


def without_secrets(url: str) -> str:
    """Return a URL for errors, without user, password, query and fragment.

    Any of these may contain characters that should have been escaped, so everything before the
    last @, and everything after the first ? and #, is left out.

    >>> without_secrets("s3://user:sec/ret@bucket/x?key=y"), without_secrets("s3://user:sec?ret@b")
    ('s3://bucket/x', 's3://(hidden)')
    """
    scheme, slashes, rest = url.partition("://")
    user, _, place = rest.rpartition("@")
    if "?" in user or "#" in user:
        place = _HIDDEN
    return scheme + slashes + place.partition("?")[0].partition("#")[0]


def root_url(url: str) -> str:
    """Normalise the URL of a root in an object store.

    :raises RootError: it has a part that is not allowed.
    """
    scheme, _, rest = url.partition("://")
    bucket, *folders = rest.rstrip("/").split("/")
    problem = None
    if _PASSWORD.search(url) or ("@" in bucket and scheme[:4] != "abfs"):
        problem = "the URL of a root must not have a user or a password: use storage_options"
    elif "?" in rest or "#" in rest:
        problem = "the URL of a root must not have a query or a fragment"
    elif not _BUCKET.fullmatch(bucket) or any(each in (".", "..", "") for each in folders):
        problem = "not the URL of a bucket, or of a folder in one"
    if problem is not None:
        raise RootError(problem, source=without_secrets(url))
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
        if short in _RETRIES:
            retries[short] = whole(given, value)
        elif short in _CLIENT:
            client[short] = value
        else:
            config[name] = value
    if "retry_timeout" in retries:
        retries["retry_timeout"] = timedelta(seconds=retries["retry_timeout"])
    variables = {f"{vendors[0]}_{name}".upper(): name for name in _CLIENT - client.keys()}
    environment = {
        name: os.environ[variable] for variable, name in variables.items() if variable in os.environ
    }
    _check_endpoint(url, vendors[0], config, {**environment, **client})
    if client:
        # With any client setting, the library ignores those of the environment.
        client = {**environment, **client}
    message = None
    try:
        found = from_url(
            url,
            client_options=client or None,  # type: ignore[arg-type]
            retry_config=retries or None,  # type: ignore[arg-type]
            **config,
        )
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != _PANIC:
            raise
        # The value may have been given for another setting, so all are secret.
        values = [str(value) for value in options.values()]
        values += [found for value in values for found in _PASSWORD.findall(value)]
        message = _without(_first_line(error), values)
    if message is not None:
        # Raised outside of the handler: the caught exception may contain credentials.
        raise OptionsError(f"the storage's settings cannot be used: {message}", source=url)
    return found


def _check_endpoint(
    url: str, vendor: str, config: Mapping[str, Any], client: Mapping[str, Any]
) -> None:
    """Reject an unencrypted endpoint that is not allowed: the client reports no reason for it."""
    values = {name.removeprefix(f"{vendor}_"): value for name, value in config.items()}
    endpoint = next((str(values[name]) for name in _ENDPOINTS if name in values), "")
    allowed = str(client.get("allow_http", "")).lower() in ("true", "1", "yes", "on")
    if endpoint.lower().startswith("http://") and not allowed:
        raise OptionsError("the endpoint is not https: set allow_http to true", source=url)


def whole(name: str, value: Any) -> int:
    """Parse a setting that is a whole number, or text of one. Errors do not show its value.

    :raises OptionsError: it is not a whole number.
    """
    text = str(value)
    if not (text.isascii() and text.isdecimal()):
        raise OptionsError(f"{name} must be a whole number")
    return int(text)


def public_message(error: BaseException, options: Mapping[str, Any]) -> str:
    """Return the first line of a client's error, without credentials."""
    values = {name: str(value) for name, value in options.items()}
    secrets = [value for name, value in values.items() if not _PUBLIC.fullmatch(name)]
    secrets += [found for value in values.values() for found in _PASSWORD.findall(value)]
    return _without(_first_line(error), secrets)


def is_failure(error: BaseException) -> bool:
    """Return whether an exception is one of the client library, not of this process."""
    # Unexpected conditions in the client, such as an invalid endpoint, raise BaseException.
    known = (BaseError, OSError, ValueError, RuntimeError)
    return isinstance(error, known) or type(error).__name__ == _PANIC


def _first_line(error: BaseException) -> str:
    """Return the first line of an error, and the object store's error code."""
    text = str(error).partition("\n\nDebug source")[0].strip()
    code = _CODE.search(text)
    line = text.partition("\n")[0].partition(": <?xml")[0].partition(": <Error>")[0]
    # The response to HEAD has no code, and nothing after the colon.
    return line.rstrip(": ") if code is None else f"{line} ({code[1]})"


def _without(line: str, secrets: Iterable[str]) -> str:
    known = set(secrets)
    known.update(value for name, value in os.environ.items() if _SECRET_VARIABLE.fullmatch(name))
    # As a client may write them: escaped as in a URL.
    forms = {form for each in known for form in (each, *(quote(each, safe) for safe in _SAFE))}
    for form in sorted(forms, key=len, reverse=True):
        if len(form) >= _LEAST_SECRET:
            line = line.replace(form, _HIDDEN)
    return _USER.sub("//", _QUERY.sub(f"?{_HIDDEN}", line))
