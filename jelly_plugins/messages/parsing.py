"""Logs that an existing parser reads, as logs in N-Quads, which the codec reads in bulk.

pyoxigraph parses the statements and writes them as N-Quads, without a Python object for any term.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from ..codec import DEFAULT_LIMITS, Limits
from ..errors import JellyError, TextError
from ..formats.contexts import Contexts

#: Statements that are written at once, at most.
BATCH: Final = 1 << 9
#: Bytes that they may come to, at most, in units of the longest of their terms.
_BATCH_BYTES: Final = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSettings:
    """The parameters of ``read_messages`` other than the syntax, under the same names."""

    base: str | None = None
    context: Any = None
    contexts: Contexts | None = None
    strict: bool = False
    limits: Limits = DEFAULT_LIMITS


class ParsedLog:
    """A log in N-Quads, made of one in another syntax.

    :ivar name: of the source.
    :ivar lines: for each message that comes next, its line in the source.
    """

    def __init__(self, name: str, chunks: Iterator[bytes], lines: deque[int]) -> None:
        self.name = name
        self.lines = lines
        self._chunks = chunks

    def chunks(self) -> Iterator[bytes]:
        """The log, once.

        :raises JellyError: the source is malformed; with its line.
        """
        return self._chunks


def batch_for(size: int) -> int:
    """How many statements may be held at once, of those whose terms are no longer than ``size``.

    A name of a few bytes may expand to an IRI that is nearly as long as its whole document.

    >>> batch_for(1000), batch_for(1_000_000), batch_for(1 << 30)
    (512, 4, 1)
    """
    return max(1, min(BATCH, _BATCH_BYTES // (size + 1)))


def document_error(error: JellyError | RecursionError, name: str, line: int) -> JellyError:
    """The error of a document as one of its log.

    :param name: of the source.
    :param line: where the document begins, which errors without a line get; 0 before the first.
    """
    if isinstance(error, RecursionError):
        error = TextError("values are nested too deeply", line=line)
    if isinstance(error, TextError):
        error.line = error.line or line or None
    return error.locate(source=name)
