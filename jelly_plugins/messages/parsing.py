"""Logs that an existing parser reads, as logs in N-Quads, which the codec reads in bulk.

pyoxigraph parses the statements and writes them as N-Quads, without a Python object for any term.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from ..codec import DEFAULT_LIMITS, Limits
from ..errors import JellyError, TextError
from ..formats.reading import PARSER_ERRORS, parser_error, pyoxigraph_module
from .contexts import Contexts

#: Statements that are written at once, at most.
_BATCH: Final = 1 << 9
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

    def __init__(self, name: str, pieces: Iterator[bytes], lines: deque[int]) -> None:
        self.name = name
        self.lines = lines
        self._pieces = pieces

    def pieces(self) -> Iterator[bytes]:
        """The log, once.

        :raises JellyError: the source is malformed; with its line.
        """
        return self._pieces


def batch_for(size: int) -> int:
    """How many statements may be held at once, of those whose terms are no longer than ``size``.

    A name of a few bytes may expand to an IRI that is nearly as long as its whole document.

    >>> batch_for(1000), batch_for(1_000_000), batch_for(1 << 30)
    (512, 4, 1)
    """
    return max(1, min(_BATCH, _BATCH_BYTES // (size + 1)))


def parsed(
    data: Any,
    format_: Any,
    base: str | None,
    *,
    batch: int = _BATCH,
    first_line: int = 1,
    ends_batch: Callable[[Any], bool] | None = None,
) -> Iterator[bytes]:
    """The statements of a document as lines of N-Quads, in chunks.

    :param data: bytes or a file.
    :param format_: pyoxigraph's name of its syntax.
    :param batch: number of statements that may be held at once.
    :param first_line: of the document, in the log.
    :param ends_batch: whether to yield the text so far after a statement.
    :raises JellyError: it is malformed; the text before the error is yielded first.
    """
    pyoxigraph = pyoxigraph_module()
    nquads = pyoxigraph.RdfFormat.N_QUADS
    failed: list[JellyError] = []
    statements = _until_error(
        lambda: pyoxigraph.parse(data, format=format_, base_iri=base), failed, first_line
    )
    while found := _batch(statements, batch, ends_batch):
        yield pyoxigraph.serialize(found, format=nquads)
        if ends_batch is None and len(found) < batch:
            break
    if failed:
        raise failed[0]


def _batch(
    statements: Iterator[Any], size: int, ends_batch: Callable[[Any], bool] | None
) -> list[Any]:
    if ends_batch is None:
        return list(islice(statements, size))
    batch = []
    for statement in islice(statements, size):
        batch.append(statement)
        if ends_batch(statement):
            break
    return batch


def _until_error(parse: Any, failed: list[JellyError], first_line: int) -> Iterator[Any]:
    """Statements up to an error, which is put into ``failed``."""
    try:
        yield from parse()
    except PARSER_ERRORS as error:
        failed.append(parser_error(error, first_line=first_line))


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


def gathered(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks joined as they arrive; an empty one means that the next may take a while.

    The text before an error is yielded before it.
    """
    waiting: list[bytes] = []
    size = 0
    try:
        for piece in pieces:
            if piece:
                waiting.append(piece)
                size += len(piece)
            if waiting and (not piece or size >= _GATHERED):
                yield b"".join(waiting)
                waiting.clear()
                size = 0
    except JellyError:
        if waiting:
            yield b"".join(waiting)
        raise
    if waiting:
        yield b"".join(waiting)


#: Bytes that are not gathered further.
_GATHERED: Final = 1 << 16
