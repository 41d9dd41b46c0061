"""Byte order marks, which text in UTF-8 may open with and does not need."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator


def without_mark(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Pieces of a text in UTF-8 without the byte order mark that it may open with.

    >>> b"".join(without_mark([b"\\xef\\xbb", b"\\xbf<urn:a>"]))
    b'<urn:a>'
    """
    iterator = iter(pieces)
    opening = b""
    for piece in iterator:
        opening += piece
        if len(opening) >= len(BOM_UTF8) or not BOM_UTF8.startswith(opening):
            break
    if opening := opening.removeprefix(BOM_UTF8):
        yield opening
    yield from iterator
