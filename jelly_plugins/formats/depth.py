"""Checks of text before pyoxigraph parses it: of its depth, and of what the parser does not bound.

JSON-LD and RDF/XML take time that grows with the square of the depth; for Turtle, see
``turtle_scan``. Only this module chooses the form of the scan, compiled or not.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from ..codec import native
from ..codec.common.limits import DEFAULT_LIMITS, Limits, over
from ..errors import LimitError

if TYPE_CHECKING:
    from .turtle_scan import TurtleScan
else:
    try:
        if not native:
            raise ModuleNotFoundError("the Python codec runs")
        from ._turtle_scan import TurtleScan
    except ModuleNotFoundError:
        from .turtle_scan import TurtleScan

#: Levels that text may have.
DEPTH: Final = 1 << 10
#: Contexts of JSON-LD that may be nested in one another: pyoxigraph copies all terms for each.
CONTEXTS: Final = 32

_ESCAPE: Final = re.compile(rb"\\.", re.DOTALL)
_BACKSLASHES: Final = re.compile(rb"\\*+\Z")
#: Strings of which nothing is left but brackets.
_STRINGS: Final = re.compile(rb'"[^"]*+"')
_IRRELEVANT: Final = bytes(set(range(256)) - set(b'[]{}"\1'))
_KEY: Final = b'"@context"'
_JSON_CHUNK: Final = 1 << 16
#: Stands for the key of a context; no JSON has this character.
_CONTEXT: Final = b"\1"


def too_deep() -> LimitError:
    """The error of text that is nested too deep."""
    return LimitError(f"the text is nested more than {DEPTH} deep")


def with_bounded_turtle(
    chunks: Iterable[bytes], base: str | None, scan: TurtleScan | None = None
) -> Iterator[bytes]:
    """Chunks of Turtle or TriG, each of which comes out once it was scanned; before an error, the
    text up to it.

    Within a long string they double, since the parser reads it from its start with each of them.

    :param base: the base IRI.
    :param scan: scans the text, and was made for the same base.
    :raises LimitError: the text is nested more than :data:`DEPTH` deep, has too many prefixes, or
        one of them or the base is too long.
    """
    scan = scan or turtle_scan(base)
    #: Bytes that were yielded since a chunk that did not end in a string.
    waiting = 0
    parts: list[bytes] = []
    size = 0
    for chunk in chunks:
        try:
            within = scan.scan(chunk)
        except LimitError:
            # The statements before it.
            parts.append(chunk[: max(0, scan.at)])
            if any(parts):
                yield b"".join(parts)
            raise
        parts.append(chunk)
        size += len(chunk)
        if within and size < waiting:
            continue
        waiting = waiting + size if within else 0
        yield parts[0] if len(parts) == 1 else b"".join(parts)
        parts.clear()
        size = 0
    if parts:
        yield b"".join(parts)


def turtle_scan(base: str | None) -> TurtleScan:
    """A scan of Turtle or TriG with a base IRI.

    :raises LimitError: the base is too long.
    """
    return TurtleScan(DEPTH, len((base or "").encode(errors="replace")))


def check_json(document: bytes, limits: Limits = DEFAULT_LIMITS) -> None:
    """Check a document of JSON, see :func:`with_bounded_json`."""
    if (
        document.count(b"{") + document.count(b"[") > DEPTH
        or document.count(_KEY) > CONTEXTS
        or document.count(b",") > limits.frame_rows
    ):
        chunks = (document[at : at + _JSON_CHUNK] for at in range(0, len(document), _JSON_CHUNK))
        deque(with_bounded_json(chunks, limits), maxlen=0)


def with_bounded_json(chunks: Iterable[bytes], limits: Limits = DEFAULT_LIMITS) -> Iterator[bytes]:
    """Chunks of JSON, each of which comes out once it was looked at.

    :param limits: ``frame_rows`` bounds the values of each object at the top of the document or of
        an array there: pyoxigraph holds all of them. Commas in the same chunks count as values.
    :raises LimitError: objects and arrays are nested more than :data:`DEPTH` deep, contexts of
        JSON-LD more than :data:`CONTEXTS` deep, or an object has too many values.

    >>> list(with_bounded_json([b"[" * 1000, b"[" * 1000]))
    Traceback (most recent call last):
    jelly_plugins.errors.LimitError: the text is nested more than 1024 deep
    """
    reader = JsonText()
    #: The start of a string that may be the key of a context.
    key = b""
    #: Whether each open object or array has a context.
    opened: list[bool] = []
    contexts = 0
    values = 0
    for chunk in chunks:
        text = key + reader.of(chunk)[bool(key) :]
        commas = text.count(b",")
        start = text.rfind(b'"') if reader.in_string else len(text)
        key = text[start:] if len(text) - start < len(_KEY) else b""
        brackets = _brackets(text[:start] if key else text)
        depth = within = 0
        # Each pass takes away what is innermost.
        while True:
            with_context = brackets.replace(_CONTEXT * 2, _CONTEXT).replace(b"{\1}", b"{}")
            outer = with_context.replace(b"{}", b"").replace(b"[]", b"")
            if outer == brackets:
                break
            within += with_context != brackets
            depth += outer != with_context
            brackets = outer
            if depth > DEPTH:
                raise too_deep()
        openings = brackets.count(b"{") + brackets.count(b"[")
        if len(opened) + depth + openings > DEPTH:
            raise too_deep()
        most = contexts
        lowest = len(opened)
        for byte in brackets:
            if byte in b"{[":
                opened.append(False)
            elif byte in b"}]":
                contexts -= opened.pop() if opened else False
                lowest = min(lowest, len(opened))
            elif opened and not opened[-1]:
                opened[-1] = True
                contexts += 1
                most = max(most, contexts)
        if most + within > CONTEXTS:
            raise LimitError(f"contexts of JSON-LD are nested more than {CONTEXTS} deep")
        values = commas if lowest <= 1 else values + commas
        if values > limits.frame_rows:
            raise over(limits, "frame_rows", values, "the number of values of one object")
        yield chunk


class JsonText:
    """JSON that comes in chunks, without escapes: strings end at the next quotation mark."""

    def __init__(self) -> None:
        #: The start of an escape.
        self._before = b""
        self.in_string = False

    def of(self, chunk: bytes) -> bytes:
        """The text of a chunk, after a quotation mark if it begins in a string."""
        data = self._before + chunk if self._before else chunk
        self._before = b""
        if b"\\" in data:
            last = _BACKSLASHES.search(data)
            if last is not None and len(last[0]) & 1:
                data, self._before = data[:-1], b"\\"
            data = _ESCAPE.sub(b"", data)
        text = b'"' + data if self.in_string else data
        self.in_string = bool(text.count(b'"') & 1)
        return text


def _brackets(text: bytes) -> bytes:
    """The brackets of a text outside of its strings, and keys of contexts."""
    brackets = text.replace(_KEY, _CONTEXT).translate(None, _IRRELEVANT)
    # Most strings have no brackets; two that have become one.
    brackets = _STRINGS.sub(b"", brackets.replace(b'""', b""))
    return brackets.partition(b'"')[0]
