"""Reading logs in Turtle and TriG.

pyoxigraph parses the statements, in one go, so that prefixes and the base persist; the ends of
messages are marked by ``turtle_splitter``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from uuid import uuid4

from ..errors import JellyError, TextError
from ..formats.reading import ChunkFile, parsed, parser_of, pyoxigraph_module
from ..io.sources import Input, without_mark
from .boundaries import DELIMITER
from .formats import LogFormat, Syntax
from .parsing import BATCH, ParsedLog, ReadSettings
from .turtle_splitter import TurtleSplitter

#: Bytes of a namespace or a base that statements are written one by one with.
_LONG_NAMESPACE: Final = 1 << 10


def turtle_log(source: Input, syntax: Syntax, settings: ReadSettings) -> ParsedLog:
    """A log in Turtle or TriG as one in N-Quads."""
    name = f"<{uuid4().urn}>"
    marker = f"{name} {name} {name} .\n".encode()
    # The marker has no line end of its own, so that lines keep their numbers.
    base = settings.base
    splitter = TurtleSplitter(syntax, b" " + marker.replace(b"\n", b" "), base, settings.limits)
    return ParsedLog(source.name, _chunks(source, syntax, base, splitter, marker), splitter.ended)


def _chunks(
    source: Input, syntax: Syntax, base: str | None, splitter: TurtleSplitter, marker: bytes
) -> Iterator[bytes]:
    pyoxigraph = pyoxigraph_module()
    formats = pyoxigraph.RdfFormat
    format_ = formats.TRIG if syntax.format is LogFormat.TRIG else formats.TURTLE
    node = pyoxigraph.NamedNode(marker[1 : marker.index(b">")].decode())
    text = ChunkFile(splitter.split(without_mark(source.chunks())))
    chunks = 0

    def ends_batch(quad: Any) -> bool:
        nonlocal chunks
        # Long statements are not held, whether long as written or with names expanded.
        if splitter.chunks != chunks:
            chunks = splitter.chunks
            return True
        # Nor do messages wait for a chunk of the source that may take a while.
        return (text.is_read and quad.predicate == node) or splitter.namespace > _LONG_NAMESPACE

    try:
        parser = parser_of(text, format_, base)
        for chunk in parsed(parser, batch=BATCH, first_line=1, ends_batch=ends_batch):
            yield chunk.replace(marker, DELIMITER)
    except JellyError as error:
        found = error
        failed = splitter.failed
        # The parser has met the end of what the splitter let through.
        if isinstance(error, TextError) and failed is not None and _line(failed) <= _line(error):
            found = failed
        raise found.locate(source=source.name) from None
    if splitter.failed is not None:
        raise splitter.failed.locate(source=source.name)
    if splitter.ends_open:
        yield DELIMITER


def _line(error: JellyError) -> int:
    return getattr(error, "line", None) or 0
