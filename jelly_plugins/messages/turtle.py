r"""Logs in Turtle and TriG.

pyoxigraph parses the statements of the whole log in one go, so that prefixes and the base persist.
:class:`_Splitter` knows the tokens of Turtle, not its statements. It replaces each delimiter by a
marker: a statement, which the parser returns where the message ends, and rejects inside another
statement.

Reference: RDF Messages, section "N-Triples, N-Quads, Turtle and TriG"; RDF 1.2 Turtle and RDF 1.2
TriG, section "Grammar".
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from typing import Any, Final, NoReturn
from uuid import uuid4

from ..codec import Limits
from ..codec.common.limits import over
from ..errors import JellyError, TextError
from ..formats.reading import parsed, parser_of, pyoxigraph_module, with_bounded_turtle
from ..io.chunks import ChunkFile
from ..io.sources import Input, without_mark
from .formats import EARLY_OPENING, UNANNOUNCED, Dialect, LogFormat, Syntax, label_announces
from .text import Event, ReadSettings

#: Statements that are held at once, see ``formats.parsed``.
_BATCH: Final = 32

_COMMENT: Final = rb"#[^\r\n]*+"
_DELIMITER: Final = rb"#" + EARLY_OPENING + rb"[^\r\n]*+"
_IRI_OPEN: Final = rb"<[^\x00-\x20<>\"{}|^`]*+"
_LONG_OPEN: Final = rb'"""(?:[^"\\]++|\\.|"(?!""))*+'
_LONG_OPEN_1: Final = rb"'''(?:[^'\\]++|\\.|'(?!''))*+"
_SHORT_OPEN: Final = rb'(?!""")"(?:[^"\\\r\n]++|\\[^\r\n])*+'
_SHORT_OPEN_1: Final = rb"(?!''')'(?:[^'\\\r\n]++|\\[^\r\n])*+"
_TAG: Final = rb"@[A-Za-z]++(?:-[A-Za-z0-9]++)*+(?:--[A-Za-z]++)?+"
_STRING: Final = rb"(?:%b\"\"\"|%b'''|%b\"|%b')" % (
    _LONG_OPEN,
    _LONG_OPEN_1,
    _SHORT_OPEN,
    _SHORT_OPEN_1,
)
_NUMBER: Final = (
    rb"[+-]?+(?:[0-9]++(?:\.[0-9]++)?+|\.[0-9]++|[0-9]++\.(?=[eE]))(?:[eE][+-]?+[0-9]++)?+"
)
#: The characters of names, except dots; an escape counts as one character.
_IN_NAME: Final = rb"(?:[^\x00-\x20\"'<>#;,\[\](){}.|^@\\`~]++|\\.)++"
#: A name, a blank node, a keyword; a dot at its end is not part of it.
_NAME: Final = rb"%b(?:\.++%b)*+" % (_IN_NAME, _IN_NAME)
#: Keywords and directives that this module processes.
_WORD: Final = (
    rb"(?:(?i:message|version)(?!\.*+%b)|@(?:message|version)(?![A-Za-z0-9-]))" % _IN_NAME
)


def _patterns(comment: bytes) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Tokens that need no attention, and what may come before the first of a message. A token that
    may continue after the text is not among them."""
    # Frequent tokens come first.
    tokens = (
        rb"(?![0-9+-]|%b)%b(?!\.*+\Z)" % (_WORD, _NAME),
        _IRI_OPEN + rb">",
        rb"[;,.~](?!\Z)|\^\^",
        rb"%b(?:%b)?+(?!@?+-?+\Z)" % (_STRING, _TAG),
        rb"%b(?!\.*+\Z)" % _NUMBER,
        rb"(?!%b)%b(?!\Z)" % (_WORD, _TAG),
        comment + rb"(?!\Z)",
    )
    run = rb"(?:[ \t\r\n]++|%b)*+" % rb"|".join(tokens)
    gap = rb"(?:[ \t\r\n]++|%b)*+" % comment
    return re.compile(run, re.DOTALL), re.compile(gap)


_PATTERNS: Final = {
    Dialect.CURRENT: _patterns(_COMMENT),
    Dialect.COMMENT_2025: _patterns(rb"(?!%b)%b" % (_DELIMITER, _COMMENT)),
}
_BETWEEN: Final = rb"(?:[ \t\r\n]++|%b(?=[\r\n]))*+" % _COMMENT
#: A keyword or directive, or a delimiter of the early draft.
_DIRECTIVE: Final = re.compile(rb"(%b)|%b" % (_WORD, _DELIMITER))
_DOT: Final = re.compile(_BETWEEN + rb"\.")
_LABEL: Final = re.compile(_BETWEEN + rb"(?:\"([^\"\\\r\n]*+)\"(?!\")|'([^'\\\r\n]*+)'(?!'))")
#: Only dots up to the end, or nothing.
_DOTS: Final = re.compile(rb"\.*+\Z")
#: A token that ends with the text, and may continue after it.
_UNFINISHED: Final = re.compile(
    rb"(?:"
    + rb"|".join(
        (
            _COMMENT,
            _IRI_OPEN,
            rb"<<|[;,.()\[\]~^|{>]",
            _LONG_OPEN + rb'(?:""?+|\\)?+',
            _LONG_OPEN_1 + rb"(?:''?+|\\)?+",
            _SHORT_OPEN + rb"\\?+",
            _SHORT_OPEN_1 + rb"\\?+",
            rb"(?:%b)?+(?:@[A-Za-z0-9-]*+)?+" % _STRING,
            rb"(?:(?![0-9+-])%b|%b)?+(?:\.*+|\\|[+-]|[eE][+-]?+)" % (_NAME, _NUMBER),
        )
    )
    + rb")\Z",
    re.DOTALL,
)
#: What may come between a directive and what it needs, up to the end of the text.
_OPEN: Final = re.compile(
    _BETWEEN + rb"(?:#[^\r\n]*+|\"[^\"\\\r\n]{0,80}+\"?+|'[^'\\\r\n]{0,80}+'?+)?+\Z"
)
#: A bracket that opens or closes a graph block (group 1 or 2), or another one.
_BRACKET: Final = re.compile(rb"(\{)(?!\|)|(\})|<<\(?+|\{\||\)>>|>>|\|\}|[\[(\])]")
_NOT_LINE_END: Final = re.compile(rb"[^\r\n]++")


def turtle_events(source: Input, syntax: Syntax, settings: ReadSettings) -> Generator[Event]:
    """The messages of a log in Turtle or TriG."""
    pyoxigraph = pyoxigraph_module()
    formats = pyoxigraph.RdfFormat
    format_ = formats.TRIG if syntax.format is LogFormat.TRIG else formats.TURTLE
    node = pyoxigraph.NamedNode(uuid4().urn)
    marker = f"{node} {node} {node} .".encode()
    splitter = _Splitter(syntax, b" " + marker + b" ", settings.limits)
    checked = with_bounded_turtle(without_mark(source.chunks()), settings.base)
    text = ChunkFile(splitter.split(checked))
    ignored = syntax.dialect is Dialect.COMMENT_2025
    is_open = False
    chunks = 0

    def ends_batch(quad: Any) -> bool:
        nonlocal chunks
        # Long statements are not held.
        if splitter.chunks != chunks:
            chunks = splitter.chunks
            return True
        # Messages do not wait for a chunk of the source that may take a while.
        return text.is_read and bool(quad.predicate == node)

    try:
        parser = parser_of(text, format_, settings.base)
        for lines in parsed(parser, batch=_BATCH, first_line=1, ends_batch=ends_batch):
            for number, part in enumerate(lines.split(marker + b"\n")):
                if number:
                    line, _ = splitter.ended.popleft()
                    # In the early draft, the first comment ends the statements before it, if there
                    # are any.
                    if is_open or not ignored:
                        yield line
                    ignored = is_open = False
                if part:
                    is_open = True
                    yield part
    except TextError as error:
        if error is splitter.failed or not splitter.ended or splitter.ended[0][1] != error.line:
            raise
        # The parser has met a marker.
        message = f"a delimiter inside a statement: {error.message}"
        raise TextError(message, line=error.line) from None
    if is_open:
        yield splitter.first


class _Splitter:
    """Replaces the delimiters of a log.

    :param marker: the text that replaces them.
    :param limits: ``frame_bytes`` bounds a token.
    :ivar ended: for each message that has ended and was not taken yet, the line of its first
        statement or declaration, or of its delimiter if it has none; and that of its delimiter.
    :ivar first: the line of the first statement or declaration of the last message; 0 without one.
    :ivar chunks: number of chunks of text so far.
    :ivar failed: the error of the log, if its text ended early.
    """

    def __init__(self, syntax: Syntax, marker: bytes, limits: Limits) -> None:
        self.ended: deque[tuple[int, int]] = deque()
        self.first = self.chunks = 0
        self.failed: JellyError | None = None
        self._marker = marker
        self._limits = limits
        self._announced = syntax.announced
        self._early = syntax.dialect is Dialect.COMMENT_2025
        self._run, self._gap = (each.match for each in _PATTERNS[syntax.dialect])
        #: Number of open graph blocks.
        self._blocks = 0
        #: The text that was read and not processed yet, and the position in it.
        self._data = b""
        self._pos = 0
        self._last = False
        #: Number of a line, and where it was counted.
        self._line = 1
        self._counted = 0

    def split(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The text with markers; before an error, the text before it.

        A step waits for as much new text as the one before left, so that no more text is scanned
        again than is new.
        """
        gathered: list[bytes] = []
        size = wanted = 0
        for chunk in chunks:
            gathered.append(chunk)
            size += len(chunk)
            if size < wanted:
                continue
            self.chunks += 1
            # An empty chunk would be the end of the text for the parser.
            if out := self._scan(b"".join(gathered)):
                yield out
            self._check()
            gathered = [self._data]
            size = len(self._data)
            wanted = 2 * size
        self._last = True
        # A comment and a name end with the text.
        text = b"".join(gathered) + b"\n"
        yield (self._scan(text) + self._data).removesuffix(b"\n")
        self._check()

    def _check(self) -> None:
        size = len(self._data)
        if self.failed is None and size > self._limits.frame_bytes:
            self.failed = over(self._limits, "frame_bytes", size, "the length of a token")
        if self.failed is not None:
            raise self.failed

    def _scan(self, data: bytes) -> bytes:
        """Process the tokens that are certainly complete, and keep the others; return the text of
        these tokens, with markers."""
        self._data = data
        self._pos = self._counted = copied = 0
        out: list[bytes] = []
        try:
            while self._pos < len(data):
                if not self.first:
                    self._find_first()
                self._pos = _end(self._run(data, self._pos))
                found = _DIRECTIVE.match(data, self._pos)
                if found is None or not (found[1] or self._early):
                    if not self._skip():
                        break
                    continue
                end, delimits = self._directive(found)
                if end is None:
                    break
                if delimits:
                    # Lines keep their numbers.
                    feeds = _NOT_LINE_END.sub(b"", data[self._pos : end])
                    out += (data[copied : self._pos], self._marker, feeds)
                    copied = end
                self._pos = end
        except JellyError as error:
            self.failed = error
        self._line = self._line_number()
        out.append(data[copied : self._pos])
        self._data = b"" if self.failed else data[self._pos :]
        return b"".join(out)

    def _find_first(self) -> None:
        end = _end(self._gap(self._data, self._pos))
        if end < len(self._data) and not _DIRECTIVE.match(self._data, end):
            self.first = self._line_number() + self._data.count(b"\n", self._pos, end)

    def _skip(self) -> bool:
        """Skip text between runs; return False if more text is needed first."""
        if _UNFINISHED.match(self._data, self._pos):
            return False
        if (bracket := _BRACKET.match(self._data, self._pos)) is not None:
            self._blocks += bool(bracket[1])
            self._blocks -= bool(bracket[2] and self._blocks)
            self._pos = bracket.end()
            return True
        self._pos += 1
        return True

    def _directive(self, found: re.Match[bytes]) -> tuple[int | None, bool]:
        """Follow a directive; return where it ends (None if more text is needed first), and whether
        it is a delimiter."""
        data = self._data
        end = found.end()
        if found[1] is None:
            if end == len(data):
                return None, True
            self._end_message(announced=True)
            return end, True
        word = found[1].lower()
        if _DOTS.match(data, end) and not self._last:
            return None, False
        if word.endswith(b"version"):
            label = _LABEL.match(data, end)
            if label is None:
                if self._may_go_on(end):
                    return None, False
                self._fail("a version is a string")
            try:
                text = (label[1] or label[2] or b"").decode("utf-8", "replace")
                self._announced |= label_announces(text)
            except ValueError as error:
                self._fail(str(error))
            return label.end(), False
        if word.startswith(b"@"):
            dot = _DOT.match(data, end)
            if dot is None:
                if self._may_go_on(end):
                    return None, True
                self._fail("the directive does not end here with a '.'")
            end = dot.end()
        if self._early:
            self._fail("the delimiters of this dialect are comments: # @message")
        self._end_message(announced=self._announced)
        return end, True

    def _may_go_on(self, pos: int) -> bool:
        """Whether the rest of a directive may follow the text."""
        return not self._last and _OPEN.match(self._data, pos) is not None

    def _end_message(self, *, announced: bool) -> None:
        if self._blocks:
            self._fail("a delimiter inside a graph block")
        if not announced:
            self._fail(UNANNOUNCED)
        line = self._line_number()
        self.ended.append((self.first or line, line))
        self.first = 0

    def _line_number(self) -> int:
        self._line += self._data.count(b"\n", self._counted, self._pos)
        self._counted = self._pos
        return self._line

    def _fail(self, message: str) -> NoReturn:
        raise TextError(message, line=self._line_number())


def _end(found: re.Match[bytes] | None) -> int:
    """The end of the match of a pattern that always matches."""
    assert found is not None
    return found.end()
