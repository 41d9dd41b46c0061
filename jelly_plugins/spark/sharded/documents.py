"""Documents of a root, which are JSON objects: as bytes that can tell whether they are damaged.

Says nothing about where they lie (``storage``), nor what is in them.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import xxhash

from .errors import RootError

#: Bytes of a document that are believed to be one.
MAX_JSON: Final = 64 << 20
#: Values in it that are believed, as the commas tell: each takes some hundred bytes of memory.
MAX_VALUES: Final = 4 << 20

#: The end of a sealed JSON object, and bytes that it does not reach beyond.
_SEAL: Final = re.compile(rb',\n "checksum": "[0-9a-f]{32}"\n}\n\Z')
_SEAL_BYTES: Final = 64


def parse_json(data: bytes, source: str) -> dict[str, Any]:
    """A JSON object from the bytes of a file.

    :param source: what errors call the file.
    :raises RootError: it is none, or another one than it was sealed as.
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
    """Why a document is not read, if it has more than one is believed to have."""
    if len(data) > MAX_JSON:
        return f"longer than {MAX_JSON} bytes"
    if data.count(b",") > MAX_VALUES:
        return f"of more than {MAX_VALUES} values"
    return None


def to_json(value: dict[str, Any]) -> bytes:
    """A JSON object as the bytes of a file."""
    return json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n"


def seal(value: dict[str, Any]) -> bytes:
    """A JSON object as the bytes of a file that can tell whether they are damaged.

    The last field is ``checksum``, of all bytes before the comma that it follows.
    """
    body = to_json(value).removesuffix(b"\n}\n")
    return body + f',\n "checksum": "{checksum_of(body)}"\n}}\n'.encode()


def checksum_in(sealed: bytes) -> str:
    """The checksum at the end of what was sealed."""
    return sealed[-36:-4].decode()


def checksum_of(data: bytes) -> str:
    """XXH3 in 128 bits, in hexadecimal: against accidents, not against forgery."""
    return xxhash.xxh3_128_hexdigest(data)
