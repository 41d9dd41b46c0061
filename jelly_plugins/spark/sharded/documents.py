"""Documents of a root: JSON objects whose bytes reveal damage.

Does not depend on where they are stored (``storage``), nor on their contents.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import xxhash

from .errors import RootError

#: Maximum bytes of a document.
MAX_JSON: Final = 64 << 20
#: Maximum values in it, estimated by commas: each takes some hundred bytes of memory.
MAX_VALUES: Final = 4 << 20

#: The end of a sealed JSON object, and the maximum number of bytes that it takes.
_SEAL: Final = re.compile(rb',\n "checksum": "[0-9a-f]{32}"\n}\n\Z')
_SEAL_BYTES: Final = 64


def parse_json(data: bytes, source: str) -> dict[str, Any]:
    """Parse a file as a JSON object.

    :param source: name of the file in errors.
    :raises RootError: it is not a JSON object, or its checksum does not match.
    """
    excess = excess_of(data)
    if excess is not None:
        raise RootError(excess, source=source)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RootError(f"not JSON: {error}", source=source) from error
    if not isinstance(found, dict):
        raise RootError("not a JSON object", source=source)
    if "checksum" in found:
        sealed = _SEAL.search(data, max(0, len(data) - _SEAL_BYTES))
        if sealed is None or checksum_of(data[: sealed.start()]) != found["checksum"]:
            raise RootError("damaged: its checksum does not match", source=source)
    return found


def excess_of(data: bytes) -> str | None:
    """Return why a document is rejected, if it exceeds a limit."""
    if len(data) > MAX_JSON:
        return f"longer than {MAX_JSON} bytes"
    if data.count(b",") > MAX_VALUES:
        return f"of more than {MAX_VALUES} values"
    return None


def to_json(value: dict[str, Any]) -> bytes:
    """Format a JSON object as bytes."""
    return json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n"


def seal(value: dict[str, Any]) -> bytes:
    """Format a JSON object as bytes with a checksum, which reveals damage.

    The last field is ``checksum``, of all bytes before the preceding comma.
    """
    body = to_json(value).removesuffix(b"\n}\n")
    return body + f',\n "checksum": "{checksum_of(body)}"\n}}\n'.encode()


def checksum_in(sealed: bytes) -> str:
    """Return the checksum at the end of a sealed document."""
    return sealed[-36:-4].decode()


def checksum_of(data: bytes) -> str:
    """Return XXH3 in 128 bits, in hexadecimal; detects accidents, not forgery."""
    return xxhash.xxh3_128_hexdigest(data)
