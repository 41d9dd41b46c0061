"""Logs in N-Triples and N-Quads: reading them as rows of Jelly, and writing rows as lines.

The codec's kernel reads and writes the statements, those of many messages at once; ours are the
delimiters and the announcement.

Reference: RDF Messages, section "N-Triples, N-Quads, Turtle and TriG".
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, NoReturn

from ..codec import Decoder, GenericFactory, Limits, StreamOptions, TextEncoder
from ..codec.common.limits import over
from ..codec.text.lines import SPACE, STRING
from ..errors import JellyError, StatementError, TermError, TextError
from ..formats.jelly import undeclared
from ..io.chunks import relative_iri
from ..io.sinks import Writable
from ..io.sources import Input, without_mark
from .boundaries import DELIMITER
from .delimiters import HEADER, UNANNOUNCED, EarlyDelimiters
from .formats import Dialect, LogFormat, Syntax, label_announces
from .kernel import count_lines, cut_rows, weave
from .model import Message
from .parsing import ParsedLog
from .rows import as_quads, batch_limits, log_options
from .turtle_tokens import EARLY_OPENING

_VERSION: Final = re.compile(rf"{SPACE}VERSION{SPACE}{STRING}{SPACE}(?:#.*)?", re.DOTALL)
_WORD: Final = re.compile(rb"[ \t]*+(MESSAGE|@message|VERSION|@version)(?![A-Za-z0-9_:.-])")
_LINE: Final = re.compile(rb"([^\r\n]*+)(?:\r\n?|\n)")
#: A line up to its comment, and whether that is a delimiter of the early draft.
_COMMENT: Final = re.compile(
    rb'((?:[^"<#]++|<[^>]*+>?+|"(?:[^"\\]++|\\.)*+"?+)*+)(?:#(' + EARLY_OPENING + rb")?.*+)?+",
    re.DOTALL,
)


@dataclass(slots=True)
class Chunk:
    """The contents of a chunk of a log.

    :ivar rows: its statements as rows; those of the first chunk follow the options.
    :ivar counts: number of statements of each message that ends in it, including those in
        the chunks before.
    :ivar firsts: line of the first statement of each message that has one and begins in the chunk,
        and of the delimiter of each that has none.
    """

    rows: bytes
    counts: list[int]
    firsts: list[int]


class LineLog:
    """Reads a log of lines, chunk by chunk.

    :param limits: ``frame_bytes`` bounds a line, ``frame_expansion`` the lines of a message; the
        other limits apply to their contents.
    :ivar opening: the rows of the options, which are not among those of any chunk.
    """

    def __init__(
        self,
        source: Input | ParsedLog,
        syntax: Syntax,
        limits: Limits,
    ) -> None:
        self.source = source
        self._lines = source.lines if isinstance(source, ParsedLog) else None
        self._early = syntax.dialect is Dialect.COMMENT_2025
        self._announced = syntax.announced
        self._limits = limits
        self.set_options(log_options(graphs=syntax.format is LogFormat.N_QUADS, rdf_star=True))
        #: Number of the next line, and statements so far of the message that has not ended.
        self._line = 1
        self._open = 0
        #: Bytes of text of the message that has not ended, except those with its start.
        self._open_bytes = 0
        #: Whether anything came before that a delimiter can end.
        self._begun = False

    def set_options(self, options: StreamOptions) -> None:
        """Use other options for the rows; call this before the first chunk.

        :param options: their physical type goes with the syntax.
        """
        self._rdf_star = options.rdf_star
        self._encoder = TextEncoder(options, limits=batch_limits(self._limits))
        self.opening = self._encoder.flush()

    def chunks(self) -> Iterator[Chunk]:
        """The contents of the log; messages that end before an error are yielded before it.

        :raises JellyError: with the line.
        """
        pending: list[bytes] = []
        size = 0
        for data in without_mark(self.source.chunks()):
            # A CR at the very end may be half of a line end.
            cut = max(data.rfind(b"\n"), data.rfind(b"\r", 0, -1)) + 1
            if cut:
                yield from self._chunk(bytearray().join((*pending, data[:cut])))
                pending.clear()
                size = 0
            pending.append(data[cut:])
            size += len(data) - cut
            if size > self._limits.frame_bytes:
                raise self._over("frame_bytes", size, "the length of a line")
        if size:
            yield from self._chunk(bytearray().join((*pending, b"\n")))
        if self._open:
            yield Chunk(b"", [self._open], [])

    def _chunk(self, text: bytearray) -> Iterator[Chunk]:
        """The contents of whole lines."""
        counts: list[int] = []
        firsts: list[int] = []
        before = (self._line, self._open, self._begun, self._announced)
        original = bytes(text)
        failed: JellyError | None = None
        try:
            self._count(text, counts, firsts)
        except TextError as error:
            failed = error
        # To the encoder of text, a CR at the very end may be half of a line end.
        if text.endswith(b"\r"):
            text[-1:] = b"\n"
        try:
            rows = self._encode(bytes(text))
        except JellyError as error:
            failed, rows = self._up_to(error, bytes(text))
            carried = before[1]
            if isinstance(failed, TextError) and failed.line is not None:
                # Messages end before the error, or after it.
                text = bytearray(original[: _start_of(original, failed.line - before[0])])
                self._line, self._open, self._begun, self._announced = before
                counts.clear()
                firsts.clear()
                self._count(text, counts, firsts)
            _keep_whole(counts, carried + cut_rows(rows, b"", 0, 0, [], 0, 0)[4])
        if self._lines is not None:
            firsts = [self._lines.popleft() for _ in counts]
        yield Chunk(rows, counts, firsts)
        if failed is not None:
            raise self._located(failed)
        self._open_bytes = self._open_bytes + len(text) if self._open and not counts else 0
        if self._open_bytes > self._limits.frame_expansion:
            raise self._over("frame_expansion", self._open_bytes, "the text of a message")

    def _over(self, limit: str, size: int, what: str) -> JellyError:
        error = over(self._limits, limit, size, what)
        return error.locate(source=self.source.name)

    def _encode(self, text: bytes) -> bytes:
        return b"".join((*self._encoder.feed(text), self._encoder.flush()))

    def _up_to(self, error: JellyError, text: bytes) -> tuple[JellyError, bytes]:
        """The first error of a text, and the rows before it."""
        try:
            text.decode()
        except UnicodeDecodeError as place:
            # The whole chunk is scanned before any of it is read.
            start = max(text.rfind(b"\n", 0, place.start), text.rfind(b"\r", 0, place.start)) + 1
            try:
                return error, self._encode(text[:start])
            except JellyError as first:
                if isinstance(first, TextError) and first.line is not None:
                    # The lines of the chunk were counted when it was rejected.
                    first.line -= text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")
                error = first
        return error, b"".join(self._encoder.finish())

    def _located(self, error: JellyError) -> JellyError:
        """An error with its line; the frames and rows of the internal stream are dropped."""
        if isinstance(error, StatementError) and not self._rdf_star:
            return undeclared(self.source.name)
        if not isinstance(error, TextError):
            return type(error)(error.message, source=self.source.name)
        if self._lines is not None:
            # It is known in which message it is.
            error.line = self._lines[0] if self._lines else None
            error.column = None
        return error.locate(source=self.source.name)

    def _count(self, text: bytearray, counts: list[int], firsts: list[int]) -> None:
        """Count the statements of each message, and overwrite what is not a statement.

        :raises TextError: a directive is wrong; then the text is cut off before it.
        """
        pos = 0
        while pos < len(text):
            if not self._early:
                pos, self._line, self._open = count_lines(
                    text, pos, self._line, self._open, self._announced, counts, firsts
                )
            if found := _LINE.match(text, pos):
                try:
                    self._validator(text, found, counts, firsts)
                except TextError:
                    del text[pos:]
                    raise
                self._line += 1
                pos = found.end()

    def _validator(
        self,
        text: bytearray,
        found: re.Match[bytes],
        counts: list[int],
        firsts: list[int],
    ) -> None:
        """Count a line of any kind, directives too."""
        line = bytes(found[1])
        if word := _WORD.match(line):
            self._direct(word[1], line)
            text[slice(*found.span(1))] = b" " * len(line)
            if word[1] == b"MESSAGE":
                self._end(counts, firsts)
            return
        delimits = False
        before = line
        if b"#" in line and (self._early or line.lstrip(b" \t").startswith(b"#")):
            comment = _COMMENT.match(line)
            if comment is not None and comment.end() == len(line):
                before = comment[1]
                delimits = self._early and comment[2] is not None
        if before.strip(b" \t"):
            if not self._open:
                firsts.append(self._line)
            self._open += 1
        if delimits and (self._begun or self._open):
            self._end(counts, firsts)
        self._begun |= delimits

    def _end(self, counts: list[int], firsts: list[int]) -> None:
        if not self._open:
            firsts.append(self._line)
        counts.append(self._open)
        self._open = 0

    def _direct(self, word: bytes, line: bytes) -> None:
        """Follow a directive.

        :raises TextError: it is invalid, or not allowed in this position.
        """
        if word.startswith(b"@"):
            self._fail(f"{word.decode()} is a directive of Turtle and TriG")
        if word == b"MESSAGE":
            if self._early:
                self._fail("the delimiters of this dialect are comments: # @message")
            if not self._announced:
                self._fail(UNANNOUNCED)
            if not _is_delimiter(line):
                self._fail("more than a comment follows the delimiter on its line")
            return
        version = _VERSION.fullmatch(line.decode("utf-8", "replace"))
        if version is None:
            self._fail("a version is a string and alone on its line")
        try:
            self._announced |= label_announces(version[1])
        except ValueError as error:
            self._fail(str(error))

    def _fail(self, message: str) -> NoReturn:
        raise TextError(message, line=self._line)


def _is_delimiter(line: bytes) -> bool:
    rest = line.strip(b" \t").removeprefix(b"MESSAGE").lstrip(b" \t")
    return not rest or rest.startswith(b"#")


def _start_of(text: bytes, line: int) -> int:
    """Where a line starts, which comes after so many others."""
    pos = 0
    for _ in range(line):
        found = _LINE.match(text, pos)
        pos = len(text) if found is None else found.end()
    return pos


def _keep_whole(counts: list[int], statements: int) -> None:
    """Keep the messages that are within so many statements."""
    for at, count in enumerate(counts):
        statements -= count
        if statements < 0:
            del counts[at:]
            return


def read_lines(log: LineLog, limits: Limits) -> Iterator[Message]:
    """The messages of a log of lines.

    :raises JellyError: with the line.
    """
    decoder = Decoder(GenericFactory(), limits=batch_limits(limits))
    decoder.decode(log.opening)
    name = log.source.name
    open_quads: list[Any] = []
    index = 0
    firsts: deque[int] = deque()
    for chunk in log.chunks():
        firsts += chunk.firsts
        quads = as_quads(decoder.decode(chunk.rows).statements) if chunk.rows else []
        at = 0
        for count in chunk.counts:
            _check_size(count, limits, name)
            stop = at + count - len(open_quads)
            found = open_quads + quads[at:stop] if open_quads else quads[at:stop]
            open_quads = []
            yield Message(found, index, name, firsts.popleft())
            at = stop
            index += 1
        open_quads += quads[at:]
        _check_size(len(open_quads), limits, name)


def _check_size(quads: int, limits: Limits, name: str) -> None:
    """Reject a message of too many statements.

    :raises LimitError: it has.
    """
    if quads > limits.frame_rows:
        what = "the number of statements of a message"
        raise over(limits, "frame_rows", quads, what).locate(source=name)


class LineWriter:
    """Writes lines of statements as a log.

    :param out: takes the text.
    """

    def __init__(self, out: Writable, dialect: Dialect) -> None:
        self._out = out
        self._messages = 0
        self._early = EarlyDelimiters() if dialect is Dialect.COMMENT_2025 else None
        if self._early is None:
            out.write(HEADER)

    def write(self, text: bytes, counts: list[int]) -> None:
        """Write lines as messages of so many each.

        :raises TermError: an IRI is relative, which readers reject; with its message.
        """
        if (found := relative_iri(text)) is not None:
            pos, iri = found
            line = text.count(b"\n", 0, pos)
            index = self._messages + bisect_right(list(accumulate(counts)), line)
            raise TermError(f"message {index}: the IRI <{iri}> is relative")
        self._messages += len(counts)
        woven = weave(text, counts)
        if self._early is not None:
            # No line of a statement is a delimiter.
            messages = woven.split(DELIMITER)[:-1]
            woven = b"".join(self._early.before(not each) + each for each in messages)
        self._out.write(woven)

    def finish(self) -> None:
        """End the log."""
        if self._early is not None:
            self._out.write(self._early.end())
