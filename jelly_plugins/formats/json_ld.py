"""JSON-LD for pyoxigraph's parser: remote contexts in their place, numbers checked.

pyoxigraph fetches no context, and makes doubles of integers from 10^20 to below 10^21.

Reference: JSON-LD 1.1 Processing Algorithms and API, section "Data Round Tripping".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ..codec import Limits
from ..codec.common.limits import over
from ..errors import LimitError, TextError
from .contexts import ContextLoader, Contexts, dump
from .depth import check_json, with_bounded_json

#: The key of a context, which may have escapes.
_MAY_BE_CONTEXT: Final = re.compile(rb'"@context"|\\u00[4-7]')
_KEY_BYTES: Final = 10
#: Bytes of the shortest value that may have an IRI; and of IRIs that are not long.
_SHORTEST: Final = 4
_LONG_IRI: Final = 1 << 10
#: Terms that may be copied: the parser copies all in force for each context.
_COPIES: Final = 2_000_000


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
    for chunk in with_bounded_json(chunks, limits):
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
