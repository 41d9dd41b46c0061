"""JSON-LD for pyoxigraph's parser: remote contexts in their place, numbers checked.

pyoxigraph fetches no context, and makes doubles of integers from 10^20 to below 10^21.

Reference: JSON-LD 1.1 Processing Algorithms and API, section "Data Round Tripping".
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, Final

from ..codec import Limits
from ..codec.common.limits import over
from ..errors import LimitError, TextError
from .contexts import ContextLoader, Contexts, dump
from .depth import JsonText, check_json, with_bounded_json

#: What a number has, anywhere in it, that is checked.
_CANDIDATE: Final = re.compile(rb"[0-9]{21}|[0-9][eE]")
_NUMBER: Final = re.compile(rb"-?[0-9]++(?:\.[0-9]++)?+(?:[eE][+\-]?[0-9]++)?+")
#: The start of a number at the end of a chunk.
_PARTIAL: Final = re.compile(rb"[+\-.0-9eE]++\Z")
_PARTIAL_BYTES: Final = 64
#: Longer numbers are not checked.
_NUMBER_BYTES: Final = 1 << 10
#: Strings, and the start of one at the end.
_STRINGS: Final = re.compile(rb'"[^"]*+(?:"|\Z)')
#: The key of a context, which may have escapes.
_MAY_BE_CONTEXT: Final = re.compile(rb'"@context"|\\u00[4-7]')
_KEY_BYTES: Final = 10
#: Bytes of the shortest value that may have an IRI; and of IRIs that are not long.
_SHORTEST: Final = 4
_LONG_IRI: Final = 1 << 10
#: Terms that may be copied: the parser copies all in force for each context.
_COPIES: Final = 2_000_000
#: The order of magnitude of the integers that are misread.
_MAGNITUDE: Final = 20


def prepared(
    chunks: Iterable[bytes], contexts: Contexts | None, base: str | None, limits: Limits
) -> Iterator[bytes]:
    """A document as pyoxigraph reads it right.

    A document with contexts is held in memory, and ``limits.frame_bytes`` bounds its length:
    pyoxigraph follows terms that refer to each other by recursion, and expands IRIs to any length.

    :param contexts: remote contexts by IRI, or a function that returns one.
    :param base: IRI that those of contexts are resolved against.
    :raises TextError: a context is missing or invalid, or a number would be misread.
    :raises LimitError: values are nested too deeply, or too many in one object, or the document is
        too long.
    """
    parts: list[bytes] = []
    size = 0
    has_contexts = contexts is not None
    before = b""
    for chunk in with_known_numbers(with_bounded_json(chunks, limits)):
        has_contexts = has_contexts or _MAY_BE_CONTEXT.search(before + chunk) is not None
        before = chunk[-_KEY_BYTES:]
        size += len(chunk)
        if size <= limits.frame_bytes:
            parts.append(chunk)
            continue
        if has_contexts:
            raise over(limits, "frame_bytes", size, "the length of a document with contexts")
        yield from parts
        parts.clear()
        yield chunk
    if not has_contexts:
        yield from parts
        return
    document = b"".join(parts)
    loader = ContextLoader(contexts, base)
    inlined = loader.inlined(load_json(document))
    check_contexts(loader.longest, loader.copies, len(document), limits)
    if contexts is not None:
        document = dump(inlined)
        check_json(document, limits)
    yield document


def check_contexts(longest: int, copies: int, size: int, limits: Limits) -> None:
    """Check what the contexts of a document make of it, see :class:`~.contexts.ContextLoader`.

    :param longest: maximum length of an IRI that a few characters abbreviate.
    :param copies: number of terms that are copied.
    :param size: of the document, in bytes.
    :raises LimitError: IRIs are too long, or terms are copied too often.
    """
    expanded = size // _SHORTEST * longest
    if longest > _LONG_IRI and expanded > limits.frame_expansion:
        what = "the length that IRIs of a document may come to"
        raise over(limits, "frame_expansion", expanded, what)
    if copies > _COPIES + size:
        raise LimitError(
            f"the terms in force at all contexts come to {copies:,}: more than {_COPIES:,}, "
            "and one for each byte of the document"
        )


def with_known_numbers(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks of JSON, each of which comes out once its numbers were checked.

    :raises TextError: pyoxigraph would misread one.

    >>> list(with_known_numbers([b'["100000000000000000000", 10', b"0000000000000000000]"]))
    Traceback (most recent call last):
    jelly_plugins.errors.TextError: the number 100000000000000000000 cannot be read as an integer: \
use {"@value": "…", "@type": "http://www.w3.org/2001/XMLSchema#integer"}
    """
    reader = JsonText()
    before = b""
    for chunk in chunks:
        text = before + reader.of(chunk)
        before = b""
        if not reader.in_string:
            partial = _PARTIAL.search(text, max(0, len(text) - _PARTIAL_BYTES))
            before = b"" if partial is None else partial[0]
        _check_numbers(text[: len(text) - len(before)])
        yield chunk
    _check_numbers(before)


def _check_numbers(text: bytes) -> None:
    """Check the numbers of a text without escapes."""
    if _CANDIDATE.search(text) is None:
        return
    for number in _NUMBER.findall(_STRINGS.sub(b'"', text)):
        if len(number) > _NUMBER_BYTES:
            continue
        value = Decimal(number.decode())
        if value.adjusted() == _MAGNITUDE and value == value.to_integral_value():
            raise TextError(
                f"the number {number.decode()} cannot be read as an integer: "
                'use {"@value": "…", "@type": "http://www.w3.org/2001/XMLSchema#integer"}'
            )


def check_numbers(document: bytes) -> None:
    """Check the numbers of a document, see :func:`with_known_numbers`."""
    if _CANDIDATE.search(document) is not None:
        deque(with_known_numbers((document,)), maxlen=0)


def load_json(data: bytes) -> Any:
    """A JSON value.

    :raises TextError: it is malformed.
    """
    try:
        return json.loads(data, parse_constant=_reject_constant, object_pairs_hook=_object)
    except RecursionError:
        raise TextError("values are nested too deeply") from None
    except ValueError as error:
        message = getattr(error, "msg", None) or str(error)
        line, column = getattr(error, "lineno", None), getattr(error, "colno", None)
        raise TextError(f"malformed JSON: {message}", line=line, column=column) from None


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("an object has a key twice")
    return made
