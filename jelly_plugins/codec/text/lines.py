"""RDF in lines of text: the terminals of the grammars, and a reader of lines in chunks.

The common part of N-Triples, N-Quads and RDF Patch text. No I/O.

Reference: RDF 1.1 N-Triples, section "Grammar".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import AnyStr, Final, Generic, NoReturn, TypeAlias

from ...errors import TextError
from ..common.limits import Limits, over


class Pattern(Generic[AnyStr]):
    """A regular expression for text or bytes that is compiled on first use: compiling the character
    ranges of blank node labels takes milliseconds.
    """

    def __init__(self, pattern: AnyStr) -> None:
        self._pattern: AnyStr = pattern

    @cached_property
    def compiled(self) -> re.Pattern[AnyStr]:
        """The compiled expression, which is cached."""
        return re.compile(self._pattern)


#: Input of the parsers: text as bytes in UTF-8 or as str, at once or in chunks of any size.
Text: TypeAlias = bytes | str | Iterable[bytes | str]

# Terminals of the grammars. With possessive repeats (*+) a failing match takes linear time.

ESCAPE: Final = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
#: Characters not allowed in an IRI, for use inside brackets of a regular expression.
NOT_IN_IRI: Final = r'\x00-\x20<>"{}|^`\\'
IRI: Final = rf"<((?:[^{NOT_IN_IRI}]++|{ESCAPE})*+)>"
#: Characters that a name may begin with, here and in XML.
NAME_START: Final = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
LABEL_START: Final = NAME_START + "0-9"
LABEL_PART: Final = LABEL_START + r"\-\u00b7\u0300-\u036f\u203f\u2040"
LABEL: Final = rf"[{LABEL_START}][{LABEL_PART}]*+(?:\.++[{LABEL_PART}]++)*+"
BLANK_NODE: Final = rf"_:({LABEL})"
STRING: Final = rf'"((?:[^"\\\n\r]++|\\[tbnrf"\'\\]|{ESCAPE})*+)"'
LANGTAG: Final = "[A-Za-z]++(?:-[A-Za-z0-9]++)*+"
SPACE: Final = r"[ \t]*+"
LITERAL: Final = rf"{STRING}(?:{SPACE}(?:@({LANGTAG})|\^\^{SPACE}{IRI}))?+"
END_OF_LINE: Final = r"(?:#[^\n\r]*+)?(?:[\n\r]++|\Z)"

_LINE_END: Final = re.compile(r"\r\n?|\n")

_ESCAPED: Final = re.compile(rf"\\([tbnrf\"'\\])|{ESCAPE}")
ESCAPED_CHARACTERS: Final = {
    "t": "\t",
    "b": "\b",
    "n": "\n",
    "r": "\r",
    "f": "\f",
    '"': '"',
    "'": "'",
    "\\": "\\",
}

#: Approximate size in bytes of the chunks in which text is processed.
CHUNK: Final = 1 << 16


class LineReader:
    """Reads a text in chunks of whole lines, and keeps its position."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        #: Number of line ends before the current chunk.
        self.line_ends = 0
        #: Size of an incomplete last line, in a text that grows.
        self.pending = 0

    def chunks(self, text: Text, *, growing: bool = False) -> Iterator[bytes]:
        """Split the text into chunks after line ends.

        :param growing: whether a last line without a line end is incomplete and omitted.
        """
        pending: list[bytes] = []
        size = 0
        for data in _as_bytes(text):
            # A CR at the end of the data may be half of a line end.
            cut = max(data.rfind(b"\n"), data.rfind(b"\r", 0, -1)) + 1
            if cut:
                yield b"".join([*pending, data[:cut]])
                pending.clear()
                size = 0
            if cut < len(data):
                pending.append(data[cut:])
                size += len(data) - cut
                self.check_length(size)
        if growing:
            self.pending = size
        else:
            yield b"".join(pending)

    def count_lines(self, before: int, data: bytes) -> None:
        """Count all lines of a rejected chunk, for the position of the next one."""
        carriages = data.count(b"\r") - data.count(b"\r\n")
        self.line_ends = before + data.count(b"\n") + carriages

    def decode(self, data: bytes) -> str:
        """Decode a chunk."""
        try:
            text = str(data, "utf-8")
        except UnicodeDecodeError as error:
            before = str(data[: error.start], "utf-8")
            self.fail(f"not valid UTF-8 ({error.reason})", before, len(before))
        if len(data) > self.limits.frame_bytes:
            for line in data.splitlines():
                self.check_length(len(line))
        return text

    def check_length(self, size: int) -> None:
        """Reject a line, or the start of one, that is too long."""
        if size > self.limits.frame_bytes:
            raise over(self.limits, "frame_bytes", size, "the length of a line")

    def unescape(self, raw: str, text: str, pos: int) -> str:
        """Unescape ``raw``, which is at ``pos`` in ``text``."""
        if "\\" not in raw:
            return raw
        try:
            return unescaped(raw)
        except ValueError as error:
            self.fail(str(error), text, pos)

    def fail(self, message: str, text: str, pos: int) -> NoReturn:
        """Reject the text because of an error at ``pos``."""
        before = text[:pos]
        column = pos - max(before.rfind("\n"), before.rfind("\r"))
        raise TextError(message, line=self.line(before), column=column)

    def line(self, before: str) -> int:
        """Number of the line that follows ``before`` in the chunk."""
        return self.line_ends + count_line_ends(before) + 1


def _as_bytes(text: Text) -> Iterator[bytes]:
    """Yield the text as UTF-8, in chunks of limited size."""
    for part in (text,) if isinstance(text, bytes | str) else text:
        # Decoding will reject the text that cannot be encoded, with its line.
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        for start in range(0, len(data), CHUNK):
            yield data[start : start + CHUNK]


def count_line_ends(text: str) -> int:
    """Count line ends: LF, CR, or CR and LF together."""
    return len(_LINE_END.findall(text)) if "\r" in text else text.count("\n")


def _escaped_character(found: re.Match[str]) -> str:
    short = found[1]
    if short is not None:
        return ESCAPED_CHARACTERS[short]
    code = int(found[0][2:], 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ValueError(f"{found[0]} is not a character")
    return chr(code)


def unescaped(text: str) -> str:
    """Unescape a string or an IRI."""
    return _ESCAPED.sub(_escaped_character, text)


def shorten(text: str, length: int = 60) -> str:
    """Shorten and quote a text for an error."""
    return text if len(text) <= length else f"{text[:length]}…"


# Runs of lines, which only the compiled kernel recognises.


def plain_lines(text: bytes) -> tuple[int, int, dict[int, int]] | None:  # noqa: ARG001
    """Check whether text has only one possible reading: lines of three terms, or four, that are
    certainly well-formed, separated by single spaces. A store writes text without checking its
    terms, so that its output may have other readings.

    :return: the number of lines, the number of those with four terms, and the numbers, from 0, and
        starts of lines that may have a literal in another form than a store's, see ``forms``. None
        if the text is not plain, and always without the compiled kernel.
    """
    return None


def usual_lines(data: bytes, start: int, quads: bool) -> tuple[bytes, int, int]:  # noqa: ARG001
    """Copy lines of the usual form, in the form in which ``ntriples.statement_text`` writes
    statements; strings keep their escapes. Without the compiled kernel no line is copied, so that
    ``ntriples.LineParser`` reads all of them.

    :param data: whole lines of N-Triples, or of N-Quads if ``quads`` is set.
    :return: the lines without comments, the number of statements in them, and the position of the
        first line of another form: one that may be malformed, or has an escape in an IRI,
        a triple term or a base direction.
    """
    return b"", 0, start
