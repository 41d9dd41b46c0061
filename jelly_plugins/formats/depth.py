"""Checks of text before pyoxigraph parses it: of its depth, and of what the parser does not bound.

pyoxigraph's parser of Turtle makes nested triple terms of any depth, and frees
them by recursion: some thousand levels end the process. JSON-LD and RDF/XML take time that grows
with the square of the depth.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from ..codec.common.limits import DEFAULT_LIMITS, Limits, over
from ..errors import LimitError

#: Levels that text may have.
DEPTH: Final = 1 << 10
#: Contexts of JSON-LD that may be nested in one another: pyoxigraph copies all terms for each.
CONTEXTS: Final = 32

#: Brackets and triple terms of Turtle, after which text is looked at. pyoxigraph's parser takes 540
#: bytes or less for a bracket that is open.
_UNSEEN: Final = 100_000
_UNSEEN_TERMS: Final = DEPTH // 2
#: Represent three quotation marks; UTF-8 does not have these bytes.
_LONG_STRINGS: Final = (b"\xff", b"\xfe")
#: Represents the start of a triple term or a reified triple.
_TERM: Final = b"\xfd"
_TURTLE_IRRELEVANT: Final = bytes(set(range(256)) - set(b"\"'<>#\r\n[]()\xff\xfe\xfd"))
#: Prefixes that text with many of them may declare.
_PREFIXES: Final = 100_000
_PREFIX: Final = re.compile(rb"(?<![\w:\-])prefix(?:\s*+#|\s++[^\s:]*+:\s*+[<#])")
#: Bytes for each of many.
_PREFIX_BYTES: Final = 200
_TURTLE_ESCAPE: Final = re.compile(rb"\\[^\r\n]")
#: IRIs, strings, comments and ends of lines, without what is irrelevant. Three quotation marks can
#: also end a string and be an empty one.
_TURTLE_TOKENS: Final = re.compile(
    rb"<[^>]*+>|\"[^\"\xff]*+[\"\xff]|'[^'\xfe]*+['\xfe]|\xff[^\xff]*+\xff|\xfe[^\xfe]*+\xfe"
    rb"|#[^\r\n]*+[\r\n]|[\r\n]++"
)
_TURTLE_OPENINGS: Final = b"([" + _TERM
#: A character of what ends a term.
_HALF: Final = ord(">")
_TURTLE_OPENING: Final = re.compile(rb"[<\"'\xff\xfe#]")

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


def with_bounded_prefixes(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks of Turtle or TriG, each of which comes out once its prefixes were counted.

    :raises LimitError: they are too many: pyoxigraph keeps all.
    """
    prefixes = 0
    for chunk in chunks:
        lower = chunk.lower()
        if lower.count(b"prefix") * _PREFIX_BYTES > len(chunk):
            prefixes += len(_PREFIX.findall(lower))
            if prefixes > _PREFIXES:
                raise LimitError(f"the text declares more than {_PREFIXES} prefixes")
        yield chunk


class TurtleGuard:
    """Bounds how deep Turtle or TriG is nested (in brackets of any kind), and its prefixes.

    pyoxigraph's parser keeps up to 540 bytes for each open bracket. The guard tracks the depth only
    after many brackets or some triple terms, and before that only strings over several lines, which
    are faster to find.
    """

    def __init__(self) -> None:
        #: What begins the string, the IRI or the comment in which the text so far ends.
        self._within = b""
        #: Bytes at the end of the last chunk that may begin something longer.
        self._before = b""
        #: Brackets and triple terms of text whose depth was not looked at.
        self._unseen = self._unseen_terms = 0
        self._is_tracked = False
        #: Two times the depth since then: ">>" may come in two chunks. Not negative: what closes
        #: brackets that were not looked at does not allow more of them.
        self._halves = 0

    def chunks(self, text: Iterable[bytes]) -> Iterator[bytes]:
        """The text, in chunks that double within a long string, which the parser reads from its
        start again with each of them.

        :raises LimitError: it is nested more than :data:`DEPTH` deep, or has too many prefixes.
        """
        #: Bytes that were yielded since a chunk that did not end in a string.
        waiting = 0
        parts: list[bytes] = []
        size = 0
        for chunk in with_bounded_prefixes(text):
            self._look_at(chunk)
            parts.append(chunk)
            size += len(chunk)
            if self._within and size < waiting:
                continue
            waiting = waiting + size if self._within else 0
            yield parts[0] if len(parts) == 1 else b"".join(parts)
            parts.clear()
            size = 0
        if parts:
            yield b"".join(parts)

    def _look_at(self, chunk: bytes) -> None:
        data = self._before + chunk if self._before else chunk
        if not self._is_tracked:
            self._unseen += data.count(b"(") + data.count(b"[") + data.count(b"{")
            self._unseen_terms += data.count(b"<<")
            self._is_tracked = self._unseen > _UNSEEN or self._unseen_terms > _UNSEEN_TERMS
        last = data.rfind(b"\n")
        if last >= 0 and not (self._is_tracked or b'"""' in data or b"'''" in data):
            # Nothing but long strings goes on after the end of a line.
            data = data[last + 1 :]
            if self._within not in _LONG_STRINGS:
                self._within = b""
        data = _TURTLE_ESCAPE.sub(b" ", data)
        size = _unfinished(data)
        data, self._before = data[: len(data) - size], data[len(data) - size :]
        brackets, self._within = _turtle_brackets(data, self._within)
        if self._is_tracked:
            self._track(brackets)

    def _track(self, brackets: bytes) -> None:
        openings = len(brackets) - len(brackets.translate(None, _TURTLE_OPENINGS))
        if self._halves + 2 * openings <= 2 * DEPTH:
            self._halves += 4 * openings - 2 * len(brackets) + brackets.count(b">")
            self._halves = max(0, self._halves)
            return
        for bracket in brackets:
            if bracket in _TURTLE_OPENINGS:
                self._halves += 2
                if self._halves > 2 * DEPTH:
                    raise too_deep()
            else:
                self._halves = max(0, self._halves - (1 if bracket == _HALF else 2))


def _unfinished(text: bytes) -> int:
    """How many bytes at the end of a text may belong to those that follow: one or two of three
    quotation marks, one of two brackets, the start of an escape or of an annotation."""
    last = text[-1:]
    if last == b"\\":
        return 1
    if last in (b"{", b"|"):
        return not text.endswith(b"{|")
    if last not in (b'"', b"'", b"<"):
        return 0
    return (len(text) - len(text.rstrip(last))) % (2 if last == b"<" else 3)


def _turtle_brackets(text: bytes, within: bytes = b"") -> tuple[bytes, bytes]:
    """The brackets of Turtle outside of strings, IRIs and comments, and what begins the one in
    which it ends, if any.

    :param text: without escapes.
    :param within: what begins the one in which the text begins.

    >>> _turtle_brackets(b"<urn:(s> a ( [ <urn:[p> '(' ], '[")
    (b'([]', b"'")
    """
    text = text.replace(b'"""', _LONG_STRINGS[0]).replace(b"'''", _LONG_STRINGS[1])
    text = text.replace(b"{|", b"[").replace(b"|}", b"]").replace(b"<<", _TERM)
    text = text.translate(None, _TURTLE_IRRELEVANT)
    text = _TURTLE_TOKENS.sub(b"", within + text)
    opened = _TURTLE_OPENING.search(text)
    brackets = text if opened is None else text[: opened.start()]
    return brackets, b"" if opened is None else opened[0]


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
