"""Where messages end in Turtle and TriG: a splitter that knows tokens and blocks, not statements.

Delimiters and versions are removed, and a marker, which is a statement, is inserted where a message
ends. A Turtle parser that reads the output keeps prefixes and the base from message to message, as
required, and returns the marker as a triple.

Malformed text is passed on; the parser reports the error.

Reference: RDF Messages, section "N-Triples, N-Quads, Turtle and TriG".
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, NoReturn

from ..codec import Limits
from ..codec.common.limits import over
from ..errors import JellyError, TextError
from .delimiters import UNANNOUNCED
from .formats import Dialect, Syntax, label_announces
from .turtle_tokens import (
    ABSOLUTE,
    AHEAD,
    BASE,
    CLOSED_BY,
    DOT,
    DOTS,
    EARLY_DELIMITER,
    EARLY_GAP,
    EARLY_RUN,
    GAP,
    MISPLACED,
    OPENING_BRACKET,
    PREFIX,
    RUN,
    UNFINISHED,
    UNFINISHED_DECLARATION,
    VERSION,
    WORD,
)

#: What directives open with.
_OPENINGS: Final = frozenset(b"mMvVpPbB@")
#: Directives that declare an IRI, by keyword.
_DECLARATIONS: Final = {b"prefix": PREFIX, b"@prefix": PREFIX, b"base": BASE, b"@base": BASE}
#: Bytes of a directive, at most.
_DIRECTIVE_BYTES: Final = 1 << 16
_LONG_DIRECTIVE: Final = f"the IRI that is declared does not end in {_DIRECTIVE_BYTES} bytes"
#: Brackets in brackets, at most.
_DEPTH: Final = 1 << 10

_NOT_LINE_END: Final = re.compile(rb"[^\r\n]")


class _NotWhole(Exception):  # noqa: N818
    """A token may continue after the available text."""


class TurtleSplitter:
    """Takes the delimiters out of one log in Turtle or TriG.

    :param marker: a statement, in full, that is put where a message ends.
    :param base: IRI that relative ones are resolved against.
    :param limits: ``frame_bytes`` bounds a statement, ``nesting`` quoted triples.
    :ivar ended: for each message that has ended and was not taken yet, the line of its first
        statement, or of its delimiter if it has none.
    :ivar failed: the error of the log, if its text ended early.
    :ivar chunks: number of chunks of text yielded so far.
    :ivar namespace: bytes that the longest namespace or base has, at most.
    :ivar ends_open: whether the last message ended with the log.
    """

    def __init__(self, syntax: Syntax, marker: bytes, base: str | None, limits: Limits) -> None:
        self.ended: deque[int] = deque()
        self.failed: JellyError | None = None
        self.ends_open = False
        self.chunks = 0
        self.namespace = self._base = len(base or "")
        self._marker = marker
        self._limits = limits
        self._announced = syntax.announced
        self._early = syntax.dialect is Dialect.COMMENT_2025
        self._run = (EARLY_RUN if self._early else RUN).match
        self._gap = (EARLY_GAP if self._early else GAP).match
        #: The text that was read and not processed yet, the position in it, and whether it has the
        #: end of the text.
        self._data = b""
        self._pos = 0
        self._last = False
        #: The output, and the part of the data that it comes from.
        self._out: list[bytes] = []
        self._copied = 0
        #: Number of a line, and where it was counted.
        self._line = 1
        self._counted = 0
        #: Brackets that are open.
        self._stack: list[bytes] = []
        #: Whether the position is in a statement or a directive that ends with a dot.
        self._inside = False
        #: Line of the message's first statement; 0 where it has none.
        self._first = 0
        #: Whether a delimiter came before.
        self._begun = False

    def split(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The text without delimiters and versions, with markers."""
        gathered: list[bytes] = []
        size = wanted = 0
        for chunk in chunks:
            gathered.append(chunk)
            size += len(chunk)
            if size < wanted:
                continue
            if out := self._scan(b"".join(gathered)):
                self.chunks += 1
                yield out
            if self.failed is not None:
                return
            gathered = [self._data]
            size = len(self._data)
            if size > self._limits.frame_bytes:
                what = "the length of a statement"
                self.failed = over(self._limits, "frame_bytes", size, what)
                return
            # No more text is scanned again than is new.
            wanted = 2 * size
        self._last = True
        # A comment ends with its line.
        yield (self._scan(b"".join((*gathered, b"\n"))) + self._data).removesuffix(b"\n")
        if self._first and self.failed is None:
            self.ends_open = True
            self.ended.append(self._first)

    def _scan(self, data: bytes) -> bytes:
        """Process the tokens that are certainly complete; keep the others.

        :return: the processed text, with markers.
        """
        self._data = data
        self._pos = self._copied = self._counted = 0
        try:
            while self._pos < len(data):
                if self._inside:
                    self._read_statement()
                else:
                    self._read_opening()
        except _NotWhole:
            pass
        except JellyError as error:
            self.failed = error
        self._line = self._line_number()
        self._out.append(data[self._copied : self._pos])
        self._data = b"" if self.failed else data[self._pos :]
        out = b"".join(self._out)
        self._out.clear()
        return out

    def _read_opening(self) -> None:
        """Process the text between statements, including directives, up to a statement."""
        data = self._data
        found = self._gap(data, self._pos)
        pos = self._pos = found.end() if found else self._pos
        if pos == len(data):
            return
        if data[pos] == 0x23:
            delimiter = EARLY_DELIMITER.match(data, pos)
            if delimiter is None:
                raise _NotWhole
            self._end_by_comment(delimiter.end())
            return
        if data[pos] in _OPENINGS:
            word = WORD.match(data, pos)
            if word is not None or data[pos] == 0x40:
                if word is None or self._goes_on(word.end()):
                    self._not_whole()
                elif self._direct(_keyword(word[0]), word.end()):
                    return
        self._inside = True
        self._first = self._first or self._line_number()

    def _direct(self, word: bytes, end: int) -> bool:
        """Follow a directive; whether it is one."""
        pos = self._pos
        data = self._data
        if word in (b"message", b"@message"):
            if word.startswith(b"@"):
                end = self._dot(end)
            self._end_by_directive(end)
        elif word in (b"version", b"@version"):
            version = VERSION.match(data, pos)
            if version is None:
                self._not_whole()
                self._fail("a version is a string")
            end = version.end()
            if end == len(data):
                self._not_whole()
            if word.startswith(b"@"):
                end = self._dot(end)
            try:
                label = (version[1] or version[2] or b"").decode("utf-8", "replace")
                self._announced |= label_announces(label)
            except ValueError as error:
                self._fail(str(error))
            self._replace(end, _NOT_LINE_END.sub(b" ", data[pos:end]))
        elif word in _DECLARATIONS:
            found = _DECLARATIONS[word].match(data, pos)
            if found is not None:
                self._declare(found[1], is_base=word.endswith(b"base"))
                end = found.end()
            else:
                self._not_whole()
                if UNFINISHED_DECLARATION.match(data, pos):
                    self._fail(_LONG_DIRECTIVE)
                if not word.startswith(b"@"):
                    return False
            self._inside = word.startswith(b"@")
            self._pos = end
        else:
            return False
        return True

    def _declare(self, iri: bytes, *, is_base: bool) -> None:
        """Note a namespace or a base."""
        size = len(iri) if ABSOLUTE.match(iri) else len(iri) + self._base
        if size > _DIRECTIVE_BYTES:
            self._fail(_LONG_DIRECTIVE)
        self.namespace = max(self.namespace, size)
        if is_base:
            self._base = size

    def _dot(self, pos: int) -> int:
        """Where the dot after a directive ends."""
        dot = DOT.match(self._data, pos)
        if dot is None:
            self._not_whole()
            self._fail("the directive does not end here with a '.'")
        return dot.end()

    def _goes_on(self, pos: int) -> bool:
        """Whether a name that reaches up to ``pos`` may continue after the available text. Dots are
        of a name if more of it follows."""
        return not self._last and DOTS.match(self._data, pos) is not None

    def _not_whole(self) -> None:
        """Wait for the rest of a directive, if there may be one."""
        if not self._last and len(self._data) - self._pos < _DIRECTIVE_BYTES:
            raise _NotWhole

    def _end_by_directive(self, end: int) -> None:
        if self._early:
            self._fail("the delimiters of this dialect are comments: # @message")
        if not self._announced:
            self._fail(UNANNOUNCED)
        self._end_message()
        self._replace(end, self._marker)

    def _end_by_comment(self, end: int) -> None:
        # One with no text before it does not end anything.
        if self._first or self._begun:
            self._end_message()
            self._replace(self._pos, self._marker)
        self._begun = True
        self._pos = end

    def _end_message(self) -> None:
        self.ended.append(self._first or self._line_number())
        self._first = 0

    def _replace(self, end: int, text: bytes) -> None:
        """Output a text instead of the one up to ``end``."""
        self._out += (self._data[self._copied : self._pos], text)
        self._pos = self._copied = end

    def _read_statement(self) -> None:
        """Process a part of a statement."""
        data = self._data
        found = self._run(data, self._pos)
        pos = found.end() if found else self._pos
        if pos == len(data):
            if not self._last:
                raise _NotWhole
            self._pos = pos
            return
        if not self._last and len(data) - pos < AHEAD:
            raise _NotWhole
        misplaced = MISPLACED.match(data, pos)
        if self._goes_on(pos if misplaced is None else misplaced.end()):
            raise _NotWhole
        self._pos = pos
        byte = data[pos : pos + 1]
        if byte == b".":
            self._pos += 1
            self._inside = bool(self._stack)
        elif self._stack and data.startswith(CLOSED_BY[self._stack[-1]], pos):
            self._pos += len(CLOSED_BY[self._stack[-1]])
            # Where a block ends, no dot follows.
            self._inside = self._stack.pop() != b"{" or bool(self._stack)
        elif (bracket := OPENING_BRACKET.match(data, pos)) is not None:
            self._stack.append(bracket[0])
            self._check_depth()
            self._pos = bracket.end()
        elif misplaced or (self._early and EARLY_DELIMITER.match(data, pos)):
            self._fail(f"a delimiter inside {self._place()}")
        elif not self._last and UNFINISHED.match(data, pos):
            raise _NotWhole
        else:
            # Nothing that has a place in Turtle.
            self._pos += 1

    def _check_depth(self) -> None:
        quoted = sum(bracket.startswith(b"<<") for bracket in self._stack)
        if quoted > self._limits.nesting:
            raise over(self._limits, "nesting", quoted, "the depth of quoted triples")
        if len(self._stack) > _DEPTH:
            self._fail(f"brackets are nested more than {_DEPTH} deep")

    def _place(self) -> str:
        return "a graph block" if b"{" in self._stack else "a statement"

    def _line_number(self) -> int:
        """The current line number."""
        self._line += self._data.count(b"\n", self._counted, self._pos)
        self._counted = self._pos
        return self._line

    def _fail(self, message: str) -> NoReturn:
        raise TextError(message, line=self._line_number())


def _keyword(word: bytes) -> bytes:
    """A word as it is looked up: those of SPARQL have no case, those with @ have."""
    return word if word.startswith(b"@") else word.lower()
