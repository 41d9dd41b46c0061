"""N-Triples and N-Quads to chunks of N-Quads and back: lines are checked, and otherwise stay."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..codec import DEFAULT_GRAPH, Limits, LineParser, native, usual_lines
from ..codec.common.limits import NESTING_CEILING
from ..codec.text.ntriples import Dialect, Notation, statement_text
from ..errors import JellyError, TermError
from ..io.chunks import Chunk, ChunkReader, reject_relative
from ..io.sinks import Writable
from ..io.sources import Format, Input, Source, without_mark
from .settings import Job


class LinesReader(ChunkReader):
    """Reads N-Triples or N-Quads.

    :param job: its settings: the dialect and the limits; whether generalized statements are
        accepted.
    """

    has_namespaces = False

    def __init__(self, src: Source, format: Format, job: Job) -> None:  # noqa: A002
        self._input = Input(src)
        self.name = self._input.name
        self.namespaces = {}
        self.has_graphs = format.has_graphs
        self._parser = LineParser(
            job.settings.dialect,
            job.settings.generalized,
            False,
            job.settings.limits,
            quads=format.has_graphs,
            base_directions=True,
        )

    def __iter__(self) -> Iterator[Chunk]:
        parser = self._parser
        try:
            for data in parser.chunks(without_mark(self._input.chunks())):
                yield from checked(data, parser)
        except JellyError as error:
            raise error.locate(source=self.name) from error.__cause__

    def lines(self) -> Iterator[bytes]:
        """The bytes of the source as they are."""
        try:
            yield from without_mark(self._input.chunks())
        except JellyError as error:
            raise error.locate(source=self.name) from error.__cause__

    def located(self, error: JellyError) -> JellyError:
        """The error with the source; lines are those of the source."""
        return error.locate(source=self.name)

    def close(self) -> None:
        """Close the source, if it was opened here."""
        self._input.close()


def checked(data: bytes, parser: LineParser) -> Iterator[Chunk]:
    """The statements of whole lines."""
    for usual, (text, statements), other in _runs(data, parser.quads):
        parser.line_ends += _line_ends(usual)
        if statements:
            yield Chunk(text, statements)
        lines = [f"{statement_text(each, directions=True)}\n" for each in parser.statements(other)]
        if lines:
            yield Chunk("".join(lines).encode(), len(lines))


def _runs(data: bytes, quads: bool) -> Iterator[tuple[bytes, Chunk, bytes]]:
    """Whole lines in runs: those of the usual form, the same as a chunk, and one of another form.

    Without the compiled kernel all lines are of another form.
    """
    pos = 0
    while pos < len(data):
        start = pos
        text, statements, pos = usual_lines(data, start, quads)
        end = len(data)
        if native and (found := _LINE.match(data, pos)):
            end = found.end()
        yield data[start:pos], Chunk(text, statements), data[pos:end]
        pos = end


_LINE: Final = re.compile(rb"[^\r\n]*+[\r\n]*+")


def _line_ends(data: bytes) -> int:
    """Count line ends: LF, CR, or CR and LF together."""
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


#: The lines of a chunk are within the limits of its source.
_ANY_LINE: Final = Limits(frame_bytes=1 << 40, nesting=NESTING_CEILING)


def without_graphs(source: ChunkReader, reason: str) -> Iterator[Chunk]:
    """The chunks of a source for a target without graphs."""
    if not source.has_graphs:
        yield from source
        return
    parser = LineParser(Dialect.RDF_STAR, True, True, _ANY_LINE, quads=True, base_directions=True)
    for chunk in source:
        for _, _, other in _runs(chunk.text, False):
            if any(statement[-1] is not DEFAULT_GRAPH for statement in parser.statements(other)):
                raise source.located(TermError(f"a quad in a named graph: {reason}"))
        yield chunk


def no_graphs(format: Format) -> str:  # noqa: A002
    """Why a format has no place for a quad in a named graph."""
    return f"{format} has no graphs, nq, trig and jsonld do"


#: Triple terms, and strings, which are skipped: they may contain the same characters.
_TRIPLE_TERM: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|<<\(|\)>>', re.DOTALL)
_STAR: Final = {b"<<(": b"<<", b")>>": b">>"}


def write(
    source: ChunkReader,
    out: Writable,
    format: Format,  # noqa: A002
    job: Job,
) -> None:
    """Write statements as N-Triples or N-Quads."""
    chunks = iter(source) if format.has_graphs else without_graphs(source, no_graphs(format))
    star = job.settings.notation is Notation.RDF_STAR
    for text, statements in chunks:
        if source.has_relative_iris:
            reject_relative(text)
        if star and b"<<(" in text:
            text = _TRIPLE_TERM.sub(lambda found: _STAR.get(found[0], found[0]), text)
        out.write(text)
        job.counter.add(statements)
