"""Checks of text before pyoxigraph parses it: of its depth, and of what the parser does not bound.

JSON-LD and RDF/XML take time that grows with the square of the depth; for Turtle, see
``scans``. Only this module chooses the form of the scans, compiled or not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from ..codec import native
from ..codec.common.limits import DEFAULT_LIMITS, Limits
from ..errors import LimitError

if TYPE_CHECKING:
    from .scans import JsonScan, TurtleScan
else:
    try:
        if not native:
            raise ModuleNotFoundError("the Python codec runs")
        from ._scans import JsonScan, TurtleScan
    except ModuleNotFoundError:
        from .scans import JsonScan, TurtleScan

#: Levels that text may have.
DEPTH: Final = 1 << 10
#: Contexts of JSON-LD that may be nested in one another: pyoxigraph copies all terms for each.
CONTEXTS: Final = 32


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
    deque(with_bounded_json((document,), limits), maxlen=0)


def with_bounded_json(chunks: Iterable[bytes], limits: Limits = DEFAULT_LIMITS) -> Iterator[bytes]:
    """Chunks of JSON, each of which comes out once it was scanned.

    :param limits: ``frame_rows`` bounds the values of each object at the top of the document or of
        an array there: pyoxigraph holds all of them.
    :raises LimitError: objects and arrays are nested more than :data:`DEPTH` deep, contexts of
        JSON-LD more than :data:`CONTEXTS` deep, or an object has too many values.
    :raises TextError: pyoxigraph would misread a number.

    >>> list(with_bounded_json([b"[" * 1000, b"[" * 1000]))
    Traceback (most recent call last):
    jelly_plugins.errors.LimitError: the text is nested more than 1024 deep
    """
    scan = JsonScan(DEPTH, CONTEXTS, limits)
    for chunk in chunks:
        scan.scan(chunk)
        yield chunk
    scan.scan(b" " * 10)
