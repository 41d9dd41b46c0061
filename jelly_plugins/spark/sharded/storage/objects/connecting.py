"""Connect to the object store of a URL, with settings; and keep credentials out of messages."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from obstore.exceptions import BaseError
from obstore.store import MemoryStore, from_url

from .....errors import OptionsError
from ...errors import RootError, without_secrets

if TYPE_CHECKING:
    from obstore.store import ObjectStore

#: Scheme of stores in this process's memory, for tests.
_MEMORY: Final = "memory"

#: Settings of the HTTP client; all others except the retries are the object store's.
_CLIENT: Final = frozenset(
    (
        *("allow_http", "allow_invalid_certificates", "connect_timeout", "default_headers"),
        *("pool_idle_timeout", "pool_max_idle_per_host", "proxy_url", "proxy_ca_certificate"),
        *("proxy_excludes", "root_certificate", "read_timeout", "timeout", "user_agent"),
    )
)
#: Prefixes of environment variables, by the URL's scheme; Azure has several schemes.
_VENDORS: Final = {"s3": "AWS", "s3a": "AWS", "gs": "GOOGLE"}
_RETRIES: Final = "max_retries"
_RETRY_SECONDS: Final = "retry_timeout"

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

_memories: Final[dict[str, MemoryStore]] = {}


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
    elif not _BUCKET.fullmatch(bucket) or any(each in (".", "..", "") for each in folders[:-1]):
        problem = "not the URL of a bucket, or of a folder in one"
    if problem is not None:
        raise RootError(problem, source=without_secrets(url))
    return url.rstrip("/")


def connect(url: str, options: Mapping[str, Any]) -> ObjectStore:
    """Create the connection to an object store, at the folder of a URL, without using it.

    :param options: settings, see docs/sharded-store.md; missing ones come from the environment.
    :raises OptionsError: a setting is unknown, or invalid.
    """
    if url.startswith(f"{_MEMORY}:"):
        return _memories.setdefault(url, MemoryStore())
    client: dict[str, Any] = {}
    retries: dict[str, Any] = {}
    config: dict[str, Any] = {}
    for name, value in options.items():
        if name in (_RETRIES, _RETRY_SECONDS):
            try:
                number = whole(name, value)
            except OptionsError as error:
                raise error.locate(source=url) from None
            retries[name] = number if name == _RETRIES else timedelta(seconds=number)
        else:
            (client if name in _CLIENT else config)[name] = value
    if client:
        # With any client setting, the library ignores those of the environment.
        vendor = _VENDORS.get(url.partition(":")[0], "AZURE")
        for name in _CLIENT - client.keys():
            if (value := os.environ.get(f"{vendor}_{name.upper()}")) is not None:
                client[name] = value
    found: ObjectStore | None = None
    message = ""
    try:
        found = from_url(
            url,
            client_options=client or None,  # type: ignore[arg-type]
            retry_config=retries or None,  # type: ignore[arg-type]
            **config,
        )
    except (BaseError, ValueError, TypeError, OSError) as error:
        # The value may have been given for another setting, so all are secret.
        values = [str(value) for value in options.values()]
        values += [found for value in values for found in _PASSWORD.findall(value)]
        message = _without(_first_line(error), values)
    if found is None:
        # Raised outside of the handler: the caught exception may contain credentials.
        raise OptionsError(f"the storage's settings cannot be used: {message}", source=url)
    return found


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
