"""Logs that an existing parser reads, as logs in N-Quads, which the codec reads in bulk.

pyoxigraph parses the statements and writes them as N-Quads, without a Python object for any term.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final

from ..errors import JellyError, SourceError, TextError
from ..formats.reading import pyoxigraph_module

#: What pyoxigraph's messages say of the place, which errors have besides.
_PLACE: Final = re.compile(
    r"^Parser error at [^:]*: |(?: (?:at|on|in) line \d+(?: column \d+)?)?(?: \(line \d+\))?$"
)
#: Statements that are written at once.
_BATCH: Final = 1 << 11


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


def text_error(error: SyntaxError, *, first_line: int = 1) -> TextError:
    """The error for what a parser refuses.

    :param first_line: of the text that it was given, in the log.
    """
    message = _PLACE.sub("", error.msg or "") or "malformed"
    return TextError(message, line=first_line + (error.lineno or 1) - 1)


def parsed(
    data: Any,
    format_: Any,
    base: str | None,
    *,
    first_line: int = 1,
    ends_piece: Callable[[Any], bool] | None = None,
) -> Iterator[bytes]:
    """The statements of a document as lines of N-Quads, in pieces.

    :param data: bytes or a file.
    :param format_: pyoxigraph's name of its syntax.
    :param first_line: of the document, in the log.
    :param ends_piece: whether a piece is to end after a statement.
    :raises JellyError: it is malformed; what stands before that comes out first.
    """
    pyoxigraph = pyoxigraph_module()
    nquads = pyoxigraph.RdfFormat.N_QUADS
    failed: list[JellyError] = []
    statements = _until_error(
        lambda: pyoxigraph.parse(data, format=format_, base_iri=base), failed, first_line
    )
    while batch := _batch(statements, ends_piece):
        yield pyoxigraph.serialize(batch, format=nquads)
        if ends_piece is None and len(batch) < _BATCH:
            break
    if failed:
        raise failed[0]


def _batch(statements: Iterator[Any], ends_piece: Callable[[Any], bool] | None) -> list[Any]:
    if ends_piece is None:
        return list(islice(statements, _BATCH))
    batch = []
    for statement in islice(statements, _BATCH):
        batch.append(statement)
        if ends_piece(statement):
            break
    return batch


def _until_error(parse: Any, failed: list[JellyError], first_line: int) -> Iterator[Any]:
    """Statements up to what is wrong, which is put into ``failed``."""
    try:
        yield from parse()
    except SyntaxError as error:
        failed.append(text_error(error, first_line=first_line))
    except JellyError as error:
        failed.append(error)
    except (OSError, ValueError) as error:
        failed.append(SourceError(str(error)))


def located(error: JellyError, name: str) -> JellyError:
    """An error that names its source."""
    return error.locate(source=name)


def gathered(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Pieces joined as they come, an empty one saying that more may take a while.

    What came before an error comes out before it.
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
