"""How deep text is nested, found out before pyoxigraph parses it.

pyoxigraph's parser of Turtle makes nested triple terms of any depth, and frees
them by recursion: some thousand levels end the process. JSON-LD takes time and memory that grow
with the square of the depth.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ..errors import LimitError

#: Levels that text may have.
DEPTH: Final = 1 << 10
#: Contexts of JSON-LD that may be nested in one another: pyoxigraph copies all terms for each.
CONTEXTS: Final = 32

#: Bytes of Turtle that the parser gets at a time, where there are many triple terms. Fewer than
#: `DEPTH` statements with one fit into two times as many.
TURTLE_CHUNK: Final = 1 << 12

_OPENING: Final = b"<<("
_ESCAPE: Final = re.compile(rb"\\.", re.DOTALL)
_BACKSLASHES: Final = re.compile(rb"\\*+\Z")
#: Strings of which nothing is left but brackets.
_STRINGS: Final = re.compile(rb'"[^"]*+"')
_IRRELEVANT: Final = bytes(set(range(256)) - set(b'[]{}"\1'))
_KEY: Final = b'"@context"'
#: Stands for the key of a context; no JSON has this character.
_CONTEXT: Final = b"\1"


def too_deep() -> LimitError:
    """The error of text that is nested too deep."""
    return LimitError(f"the text is nested more than {DEPTH} deep")


class Held(deque[Any]):
    """The statements of a parser that are held, and the number of all that it has given.

    Its reader looks at the number when the parser asks for more text, so that no function has to be
    called for each statement.
    """

    def __init__(self) -> None:
        super().__init__()
        self._before = 0

    @property
    def total(self) -> int:
        """Number of statements so far."""
        return self._before + len(self)

    def clear(self) -> None:
        """Remove the statements that are held."""
        self._before += len(self)
        super().clear()


class TurtleGuard:
    """Bounds how many triple terms can be open in a statement of Turtle or TriG.

    :param held: the statements that the parser has given.
    :ivar open: triple terms that were begun in text from which no statement has come yet.
    """

    def __init__(self, held: Held) -> None:
        self.open = 0
        self._held = held
        self._given = 0
        self._last = 0
        #: Bytes since the last statement.
        self._waiting = 0

    def _note_given(self) -> None:
        """If there was a statement, what is open began in the last chunk."""
        if self._held.total != self._given:
            self._given = self._held.total
            self.open = self._last
            self._waiting = 0

    def chunks(self, text: Iterable[bytes]) -> Iterator[bytes]:
        """The text in chunks.

        :raises LimitError: a statement may have more than :data:`DEPTH` triple terms in one
            another. It has so many, at least.
        """
        before = b""
        for part in self._joined(text):
            size = len(part) if part.count(_OPENING) <= DEPTH // 2 else TURTLE_CHUNK
            for start in range(0, len(part), size or 1):
                chunk = part[start : start + size]
                self._note_given()
                self._last = (before + chunk).count(_OPENING)
                before = chunk[1 - len(_OPENING) :]
                self.open += self._last
                if self.open > DEPTH:
                    raise too_deep()
                self._waiting += len(chunk)
                yield chunk

    def _joined(self, text: Iterable[bytes]) -> Iterator[bytes]:
        """The text in chunks that double within a long literal, which the parser reads from its
        start again with each of them."""
        rest = iter(text)
        for part in rest:
            parts = [part]
            size = len(part)
            self._note_given()
            while size < self._waiting and (more := next(rest, b"")):
                parts.append(more)
                size += len(more)
            yield part if len(parts) == 1 else b"".join(parts)


def check_json(document: bytes) -> None:
    """Check the depth of a document of JSON, see :func:`with_bounded_json`."""
    if document.count(b"{") + document.count(b"[") > DEPTH or document.count(_KEY) > CONTEXTS:
        deque(with_bounded_json((document,)), maxlen=0)


def with_bounded_json(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks of JSON, each of which comes out once it was looked at.

    :raises LimitError: objects and arrays are nested more than :data:`DEPTH` deep, or contexts of
        JSON-LD more than :data:`CONTEXTS` deep.

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
    for chunk in chunks:
        text = key + reader.of(chunk)[bool(key) :]
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
        for byte in brackets:
            if byte in b"{[":
                opened.append(False)
            elif byte in b"}]":
                contexts -= opened.pop() if opened else False
            elif opened and not opened[-1]:
                opened[-1] = True
                contexts += 1
                most = max(most, contexts)
        if most + within > CONTEXTS:
            raise LimitError(f"contexts of JSON-LD are nested more than {CONTEXTS} deep")
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
