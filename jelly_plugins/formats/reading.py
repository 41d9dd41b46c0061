"""pyoxigraph's parsers of text, for formats that this package does not parse itself, and sources
that are made while they are read.
"""

from __future__ import annotations

import io
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final, cast

from ..codec import (
    Limits,
    delimit,
)
from ..codec.common.detection import kind_of
from ..codec.text.lines import shorten
from ..errors import JellyError, LimitError, SourceError, TextError
from ..io.names import Format
from ..io.sources import CHUNK, Input, Readable, Source, name_of, rewinder
from ..lazy import library
from .jelly_text import frames_of_text
from .rdf_xml import NEED_BASE
from .settings import Given

#: Bytes that the statements held at once may come to, if they are as long as those before.
_BATCH_BYTES: Final = 1 << 20


#: The position in pyoxigraph's messages, which our errors have separately.
_PLACE: Final = re.compile(
    r"^Parser error at [^:]*: |(?: (?:at|on|in) line \d+(?: column \d+)?)?(?: \(line \d+\))?$"
)
_RELATIVE: Final = re.compile(
    r"\A(?:error while parsing IRI '.*': )?No scheme found in an absolute IRI\Z", re.DOTALL
)
#: What pyoxigraph says of a remote context.
_NO_CONTEXT: Final = "No LoadDocumentCallback has been set to load remote contexts"

#: What pyoxigraph says of a term in RDF/XML, and of one in Turtle, where it has the position.
_TERM: Final = re.compile(r"error while parsing (IRI|language tag) '(.*?)': (.*)", re.DOTALL)
_REJECTED: Final = {
    "Invalid IRI": "an IRI",
    "Invalid character": "an IRI",
    "A subtag": "a language tag",
    "The given language subtag": "a language tag",
}

#: Base IRI of a JSON-LD document without one. pyoxigraph leaves out statements with relative IRIs,
#: as JSON-LD requires. Under this base they are included, and are rejected here.
NO_BASE: Final = "x-jelly-plugins-no-base://x/"
NO_BASE_SCHEME: Final = NO_BASE.partition("/")[0]

#: IRIs in N-Quads; strings are skipped.
_IRI: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|<([^>]*+)>')


def pyoxigraph_module() -> Any:
    """The pyoxigraph library.

    :raises MissingExtraError: it is not installed.
    """
    return library("pyoxigraph", "this format", "oxigraph")


def rdf_format(name: Format) -> Any:
    """pyoxigraph's name of a format that it reads and writes here."""
    formats = pyoxigraph_module().RdfFormat
    return {
        Format.TURTLE: formats.TURTLE,
        Format.TRIG: formats.TRIG,
        Format.RDF_XML: formats.RDF_XML,
        Format.JSON_LD: formats.JSON_LD,
    }[name]


def parser_of(data: Any, format_: Any, base: str | None) -> Any:
    """pyoxigraph's parser of a text.

    :param data: bytes or a file.
    :param format_: pyoxigraph's name of its syntax.
    :raises JellyError: the base is not an absolute IRI.
    """
    try:
        return pyoxigraph_module().parse(data, format=format_, base_iri=base)
    except PARSER_ERRORS as error:
        raise parser_error(error) from None


class Batch(deque[Any]):
    """The statements of a parser that are held at once, and the number of all that it has given.

    Its reader looks at the number when the parser asks for more text, so that no function has to be
    called for each statement.
    """

    def __init__(self) -> None:
        super().__init__()
        self._before = 0

    @property
    def total(self) -> int:
        """Number of statements so far."""
        return self._before + len(self)

    def clear(self) -> None:
        """Remove the statements that are held."""
        self._before += len(self)
        super().clear()


def parsed(
    parser: Iterable[Any],
    *,
    batch: int,
    first_line: int | None = None,
    ends_batch: Callable[[Any], bool] | None = None,
    held: Batch | None = None,
) -> Iterator[bytes]:
    """What pyoxigraph parses, as lines of N-Quads in chunks.

    :param batch: number of statements that may be held at once.
    :param first_line: of the text that is parsed, where that is a part of a source.
    :param ends_batch: called for each statement: whether to yield the text so far after it.
    :param held: holds the statements.
    :raises JellyError: the text is malformed; what comes before the error is yielded first.
    """
    pyoxigraph = pyoxigraph_module()
    nquads = pyoxigraph.RdfFormat.N_QUADS
    held = Batch() if held is None else held
    statements = iter(parser)
    # The first statement shows how long they are.
    size = 1
    failed: JellyError | None = None
    while failed is None:
        held.clear()
        try:
            if ends_batch is None:
                held.extend(islice(statements, size))
            else:
                for statement in islice(statements, size):
                    held.append(statement)
                    if ends_batch(statement):
                        break
        except PARSER_ERRORS as error:
            failed = parser_error(error, first_line=first_line)
        if not held:
            break
        lines = pyoxigraph.serialize(held, format=nquads)
        yield lines
        # Where statements are long, the next ones are fewer.
        size = max(1, min(batch, _BATCH_BYTES * len(held) // len(lines)))
    if failed is not None:
        raise failed


def gathered(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks joined as they arrive; an empty one means that the next may take a while.

    The text before an error is yielded before it.
    """
    waiting: list[bytes] = []
    size = 0
    try:
        for chunk in chunks:
            if chunk:
                waiting.append(chunk)
                size += len(chunk)
            if waiting and (not chunk or size >= CHUNK):
                yield b"".join(waiting)
                waiting.clear()
                size = 0
    except JellyError:
        if waiting:
            yield b"".join(waiting)
        raise
    if waiting:
        yield b"".join(waiting)


#: What pyoxigraph raises while it reads.
PARSER_ERRORS: Final = (SyntaxError, MemoryError, OSError, ValueError)


def parser_error(error: BaseException, *, first_line: int | None = None) -> JellyError:
    """What pyoxigraph raises while it reads, as an error of this package.

    :param first_line: of the text that it was given, where that is a part of a source.
    """
    if isinstance(error, JellyError):
        return error
    if isinstance(error, SyntaxError):
        if first_line is not None:
            return TextError(_message_of(error), line=first_line + (error.lineno or 1) - 1)
        return TextError(_message_of(error), line=error.lineno, column=error.offset)
    if isinstance(error, MemoryError):
        return LimitError(f"a term is too long: {error}")
    return SourceError(str(error))


def _message_of(error: SyntaxError) -> str:
    """pyoxigraph's message for malformed text, without the position."""
    message = _PLACE.sub("", error.msg or "") or "malformed"
    if message == _NO_CONTEXT:
        return "a remote context, which is never fetched: pass it with contexts="
    if _RELATIVE.search(message):
        return message + NEED_BASE
    if found := _TERM.match(message):
        return f"Oxigraph rejects the {found[1]} {shorten(found[2])!r}: {found[3]}"
    for start, term in _REJECTED.items():
        if message.startswith(start):
            return f"Oxigraph rejects {term}: {message}"
    return message


#: What pyoxigraph reports the start of: an IRI or a language tag.
_REPORTED: Final = re.compile(r"<([^>]*+)>|([A-Za-z0-9\-]++)")


def rejection(error: SyntaxError, text: bytes) -> str:
    """Why pyoxigraph rejects a chunk of N-Quads whose lines are valid, with the term."""
    message = parser_error(error).message
    line = text.split(b"\n")[(error.lineno or 1) - 1].decode()
    found = _REPORTED.match(line, (error.offset or 1) - 1)
    if found is None:
        return message
    term = repr(found[1] or found[2])
    return message.replace(" an IRI:", f" the IRI {term}:").replace(
        " a language tag:", f" the language tag {term}:"
    )


def iris_with(start: str, lines: bytes) -> list[str]:
    """The IRIs of N-Quads that begin with the given one.

    >>> iris_with("urn:", b'<urn:s> <http://e/p> "<urn:x>" .')
    ['urn:s']
    """
    opening = start.encode()
    if b"<" + opening not in lines:
        return []
    return [iri.decode() for iri in _IRI.findall(lines) if iri.startswith(opening)]


def check_base(lines: bytes) -> None:
    """Check N-Quads of a JSON-LD document that was parsed with :data:`NO_BASE`.

    :raises TextError: an IRI is relative.
    """
    for iri in iris_with(NO_BASE_SCHEME, lines):
        reference = iri.removeprefix(NO_BASE).removeprefix(NO_BASE_SCHEME)
        raise TextError(f"the IRI <{reference}> is relative{NEED_BASE}")


class ChunkFile(io.RawIOBase):
    """An iterator of bytes as a file; closing it closes the iterator.

    :param name: how errors name it.
    """

    def __init__(self, chunks: Iterator[bytes], name: str | None = None) -> None:
        super().__init__()
        self.name = name
        self._chunks = chunks
        #: The current chunk: a parser asks for 2 KB at a time.
        self._chunk = io.BytesIO()
        self._size = 0

    @property
    def is_read(self) -> bool:
        """Whether all that has come was read, so that reading on may take a while."""
        return self._chunk.tell() == self._size

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """At most ``size`` bytes, of one chunk; none at the end."""
        if size is None or size < 0:
            return self.readall()
        data = self._chunk.read(size)
        if not data and size:
            chunk = next(self._chunks, b"")
            self._chunk, self._size = io.BytesIO(chunk), len(chunk)
            data = self._chunk.read(size)
        return data

    def readinto(self, buffer: Any, /) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        close = getattr(self._chunks, "close", None)
        if close is not None and not self.closed:
            close()
        super().close()


def piped(chunks: Iterator[bytes], src: Source) -> Readable:
    """Chunks of bytes as a source with the name of another one."""
    return cast(Readable, ChunkFile(chunks, name_of(src)))


def reject_jelly(given: Given) -> None:
    """Reject a source that is Jelly and was given as text, before text is looked for in it: a
    parser's error would not say so. Only what can be read twice without another download is looked
    at.

    :raises SourceError: it is Jelly, or cannot be opened.
    """
    src, form = given
    is_url = isinstance(src, str | os.PathLike) and "://" in os.fspath(src)
    rewind = None if is_url else rewinder(src)
    if rewind is None or form.is_binary or form is Format.JELLY_TEXT:
        return
    with Input(src) as source:
        kind = kind_of(next(source.chunks(), b""))
        name = source.name
    rewind()
    if kind is not None:
        raise SourceError(f"this is {kind}, not {form}", source=name)


def jelly_of_text(src: Source, limits: Limits) -> Readable:
    """The text form of Jelly as Jelly that is made while the text is read."""

    def frames() -> Iterator[bytes]:
        with Input(src) as source:
            try:
                yield from frames_of_text(source.chunks(), limits)
            except JellyError as error:
                error.locate(source=source.name)
                raise

    return piped(map(delimit, frames()), src)
