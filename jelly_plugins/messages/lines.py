"""Logs in N-Triples and N-Quads: the delimiters are lines of their own.

Reference: RDF Messages, section "N-Triples, N-Quads, Turtle and TriG".
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from heapq import merge
from typing import Final, NoReturn

from ..codec import Limits, LineParser, usual_lines
from ..codec.text.lines import SPACE, STRING
from ..codec.text.ntriples import Dialect as TripleDialect
from ..errors import TextError
from ..formats.lines import checked
from ..io.sources import Input, without_mark
from .formats import EARLY_OPENING, UNANNOUNCED, Dialect, LogFormat, Syntax, label_announces
from .text import Event, ReadSettings

_VERSION: Final = re.compile(rf"{SPACE}VERSION{SPACE}{STRING}{SPACE}(?:#.*)?", re.DOTALL)
_DELIMITER: Final = re.compile(rb"[ \t]*+MESSAGE[ \t]*+(?:#.*+)?+")
_USUAL_DELIMITER: Final = b"\nMESSAGE\n"
#: A line that is a directive, or looks like one.
_DIRECTIVE: Final = re.compile(
    rb"^[ \t]*+(MESSAGE|@message|VERSION|@version)(?![A-Za-z0-9_:.-])[^\n]*+", re.MULTILINE
)
#: A line with a delimiter of the early draft: a comment, after a statement perhaps (group 1).
_EARLY: Final = re.compile(
    rb'^((?:[^"<#\n]++|<[^>\n]*+>?+|"(?:[^"\\\n]++|\\.)*+"?+)*+)#' + EARLY_OPENING + rb"[^\n]*+",
    re.MULTILINE,
)
#: Lines without a statement.
_BLANK: Final = re.compile(rb"(?:[ \t]*+(?:#[^\n]*+)?+\n)*+")


def line_events(source: Input, syntax: Syntax, settings: ReadSettings) -> Generator[Event]:
    """The messages of a log in N-Triples or N-Quads."""
    log = _LineLog(syntax, settings.limits)
    for text in log.parser.chunks(without_mark(source.chunks())):
        if text:
            yield from log.events(_with_feeds(text))
    if log.first:
        yield log.first


def _with_feeds(text: bytes) -> bytes:
    """Whole lines, each of which ends with a line feed."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return text if text.endswith(b"\n") else text + b"\n"


class _LineLog:
    """Finds the directives of a log.

    :ivar first: line of the first statement of the message that has not ended; 0 without one.
    :ivar parser: reads the statements.
    """

    def __init__(self, syntax: Syntax, limits: Limits) -> None:
        self.first = 0
        self._early = syntax.dialect is Dialect.COMMENT_2025
        self._announced = syntax.announced
        #: Number of the next line.
        self._line = 1
        #: Whether a delimiter came before.
        self._begun = False
        self.parser = LineParser(
            TripleDialect.RDF_STAR,
            False,
            False,
            limits,
            quads=syntax.format is LogFormat.N_QUADS,
            base_directions=True,
        )

    def events(self, text: bytes) -> Iterator[Event]:
        """The events of whole lines."""
        pos = 0
        if self._line == 1:
            # Most logs announce themselves there.
            pos = text.find(b"\n") + 1
            yield from self._marked(text[:pos])
        # Most delimiters have nothing else on their line, and most lines between are usual ones:
        # four times as fast as looking for directives at each line.
        while self._announced and not self._early:
            end = text.find(_USUAL_DELIMITER, max(0, pos - 1)) + 1
            if not end:
                break
            lines = text[pos:end]
            found, _, read = usual_lines(lines, 0, self.parser.quads)
            if read < len(lines):
                yield from self._marked(lines)
            elif found:
                yield self._counted(found, lines)
            else:
                self._line += lines.count(b"\n")
            yield self._end()
            self._line += 1
            pos = end + len(_USUAL_DELIMITER) - 1
        yield from self._marked(text[pos:])

    def _marked(self, text: bytes) -> Iterator[Event]:
        """The events of whole lines that may have directives."""
        pos = 0
        for found in self._marks(text):
            start = found.start()
            if start < pos:
                # A comment on the line of a directive.
                continue
            if found.re is _EARLY:
                yield from self._statements(text[pos:start] + found[1] + b"\n")
                self._line -= 1
                if self._begun or self.first:
                    yield self._end()
                self._begun = True
            else:
                yield from self._statements(text[pos:start])
                if self._delimits(found):
                    yield self._end()
            self._line += 1
            pos = found.end() + 1
        yield from self._statements(text[pos:])

    def _marks(self, text: bytes) -> Iterator[re.Match[bytes]]:
        directives = _DIRECTIVE.finditer(text)
        if not self._early or b"@message" not in text:
            return directives
        return merge(directives, _EARLY.finditer(text), key=lambda found: found.start())

    def _end(self) -> int:
        line, self.first = self.first or self._line, 0
        return line

    def _statements(self, lines: bytes) -> Iterator[bytes]:
        """The statements of whole lines without directives."""
        parser = self.parser
        text, _, end = usual_lines(lines, 0, parser.quads)
        if end < len(lines):
            parser.line_ends = self._line - 1 + lines.count(b"\n", 0, end)
            text += b"".join(chunk.text for chunk in checked(lines[end:], parser))
        if text:
            yield self._counted(text, lines)
        else:
            self._line += lines.count(b"\n")

    def _counted(self, text: bytes, lines: bytes) -> bytes:
        """The statements of lines, which are counted."""
        if not self.first:
            self.first = self._line
            if lines[:1] in b"# \t\n" and (blank := _BLANK.match(lines)):
                self.first += blank[0].count(b"\n")
        self._line += lines.count(b"\n")
        return text

    def _delimits(self, found: re.Match[bytes]) -> bool:
        """Process a directive, and return whether it is a delimiter."""
        word = found[1]
        if word.startswith(b"@"):
            self._fail(f"{word.decode()} is a directive of Turtle and TriG")
        if word == b"MESSAGE":
            if self._early:
                self._fail("the delimiters of this dialect are comments: # @message")
            if not self._announced:
                self._fail(UNANNOUNCED)
            if not _DELIMITER.fullmatch(found[0]):
                self._fail("more than a comment follows the delimiter on its line")
            return True
        version = _VERSION.fullmatch(found[0].decode("utf-8", "replace"))
        if version is None:
            self._fail("a version is a string and alone on its line")
        try:
            self._announced |= label_announces(version[1])
        except ValueError as error:
            self._fail(str(error))
        return False

    def _fail(self, message: str) -> NoReturn:
        raise TextError(message, line=self._line)
