"""A check that an XML document has a root element.

pyoxigraph accepts a document without one, so that a file which is truncated in its prolog would
pass for one without statements. Only comments and processing instructions are parsed here; the rest
is left to pyoxigraph.

Reference: XML 1.0, section "Documents".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from ..errors import TextError

#: The start of a comment, of a processing instruction, or of an element.
_MARKUP: Final = re.compile(rb"<(?:(!--)|(\?)|[^!?/ \t\r\n])")
_COMMENT, _INSTRUCTION = 1, 2
_ENDS: Final = {_COMMENT: b"-->", _INSTRUCTION: b"?>"}
#: Bytes of a chunk that may be the start of what the next one ends.
_REST: Final = len(b"<!--") - 1


def with_root(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks of an XML document, each as it is.

    :raises TextError: after the last one: the document has no root element.

    >>> list(with_root([b"<?xml version='1.0'?>", b"<!-- <a/> -->"]))
    Traceback (most recent call last):
    jelly_plugins.errors.TextError: the document has no root element
    """
    found = False
    rest = end = b""
    for piece in pieces:
        yield piece
        if not found:
            found, rest, end = _look(rest + piece, end)
    if not found:
        raise TextError("the document has no root element")


def _look(data: bytes, end: bytes) -> tuple[bool, bytes, bytes]:
    """Search for the start of an element.

    :param end: what ends the comment or instruction that ``data`` begins in; empty if it begins in
        neither.
    :return: whether there is one; what to put before the next chunk; ``end`` for it.
    """
    pos = 0
    while True:
        if end:
            found = data.find(end, pos)
            if found < 0:
                return False, data[max(pos, len(data) - _REST) :], end
            pos = found + len(end)
        markup = _MARKUP.search(data, pos)
        if markup is None:
            return False, data[max(pos, len(data) - _REST) :], b""
        if markup.lastindex is None:
            return True, b"", b""
        pos, end = markup.end(), _ENDS[markup.lastindex]
