"""Turtle, TriG, RDF/XML and JSON-LD to chunks of N-Quads and back, by pyoxigraph.

pyoxigraph parses a source and writes the statements as N-Quads, without a Python object for any
term; and the other way round. It lower-cases language tags.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

from ..codec.common.limits import over, usual_expansion
from ..errors import JellyError, LimitError, TermError
from ..io.chunks import Chunk, ChunkFile, ChunkReader
from ..io.sinks import Writable
from ..io.sources import CHUNK, Format, Input, Source, without_mark
from .json_ld import prepared
from .lines import no_graphs, without_graphs
from .rdf_xml import RESERVED_NAMESPACES, RdfXmlText, XmlChecks, with_classes_later
from .reading import (
    NO_BASE,
    NO_BASE_SCHEME,
    Batch,
    check_base,
    gathered,
    parsed,
    parser_error,
    parser_of,
    pyoxigraph_module,
    rejection,
    with_bounded_turtle,
)
from .settings import Job

#: pyoxigraph's names of the formats.
_SYNTAXES: Final = {
    Format.TURTLE: "TURTLE",
    Format.TRIG: "TRIG",
    Format.RDF_XML: "RDF_XML",
    Format.JSON_LD: "JSON_LD",
}

#: Statements of text that are held at once: with prefixes and a base, a few bytes of text may name
#: an IRI that is nearly as long as the text before them. More are not faster (measured: 32 to 4096
#: take the same time).
_BATCH: Final = 32


class ParsedReader(ChunkReader):
    """Reads Turtle, TriG, RDF/XML or JSON-LD.

    :param job: its settings: ``base``, without which relative IRIs are rejected; of the limits,
        ``frame_bytes`` bounds the bytes of RDF/XML between two statements, and
        ``frame_expansion`` those that statements take beyond the source and 1 KiB for each.
    """

    validated = True
    source_bytes: int

    def __init__(self, src: Source, format: Format, job: Job) -> None:  # noqa: A002
        settings = job.settings
        self._input = Input(src)
        self.name = self._input.name
        self.namespaces = {}
        self.source_bytes = 0
        self.has_graphs = format.has_graphs
        self._format = format
        self._base = settings.base
        self._contexts = settings.contexts
        self._limits = settings.limits
        self._held = Batch()
        self._expansion = 0
        self._parser: Any = None
        #: The namespaces of RDF/XML, which pyoxigraph does not report.
        self._xml_namespaces: dict[str, str] | None = None

    def __iter__(self) -> Iterator[Chunk]:
        try:
            for text in gathered(self._texts(self._counted(without_mark(self._input.chunks())))):
                self._declare()
                self._check_expansion(len(text))
                yield Chunk(text, text.count(b"\n"))
        except JellyError as error:
            raise error.locate(source=self.name) from error.__cause__
        self._declare()

    def close(self) -> None:
        """Close the source, if it was opened here."""
        self._input.close()

    def _check_expansion(self, size: int) -> None:
        # Each statement has a copy of its subject.
        self._expansion += size
        most = usual_expansion(self.source_bytes, self._held.total)
        if self._expansion - most > self._limits.frame_expansion:
            what = "what the terms of statements take, each with a copy of them"
            raise over(self._limits, "frame_expansion", self._expansion - most, what)

    def _counted(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.source_bytes += len(chunk)
            yield chunk

    def _declare(self) -> None:
        declared = self._xml_namespaces
        if declared is None:
            declared = {} if self._parser is None else self._parser.prefixes
        self.namespaces.update(
            (prefix, iri)
            for prefix, iri in declared.items()
            if not (iri.startswith(NO_BASE_SCHEME) or _CUT_ESCAPE.search(iri))
        )

    def _texts(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The text as N-Quads, in the batches in which it is parsed."""
        form = self._format
        base = self._base
        if form is Format.RDF_XML:
            rewritten = RdfXmlText(base)
            self._xml_namespaces = rewritten.namespaces
            chunks = rewritten.chunks(self._bounded(chunks))
        elif form is Format.JSON_LD:
            chunks = prepared(chunks, self._contexts, base, self._limits)
            base = base or NO_BASE
        # The guard knows what the parser has read of what it was given: nothing is read ahead.
        source: Any = (
            ChunkFile(with_bounded_turtle(chunks, base))
            if form in (Format.TURTLE, Format.TRIG)
            else io.BufferedReader(ChunkFile(chunks), CHUNK)
        )
        self._parser = parser_of(source, _syntax(form), base)
        for lines in parsed(self._parser, batch=_BATCH, held=self._held):
            if base is NO_BASE:
                check_base(lines)
            yield lines

    def _bounded(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Chunks of a text whose parser holds a token of any length in memory."""
        waiting = given = 0
        for chunk in chunks:
            if self._held.total != given:
                given = self._held.total
                waiting = 0
            waiting += len(chunk)
            if waiting > self._limits.frame_bytes:
                what = "the number of bytes without a statement"
                raise over(self._limits, "frame_bytes", waiting, what)
            yield chunk


def _syntax(format: Format) -> Any:  # noqa: A002
    return getattr(pyoxigraph_module().RdfFormat, _SYNTAXES[format])


#: Bytes of a line of N-Quads whose literal pyoxigraph reads again from JSON-LD: twice as many as a
#: string there may have, with its escapes, are above the size of its buffer.
_JSON_LINE: Final = (8 << 20) - (1 << 16)
#: Names that are valid in every format with prefixes; pyoxigraph does not check them.
_PREFIX_NAME: Final = re.compile(r"(?!xml)[A-Za-z](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?|")
#: A part of an escape, at which RDF/XML may divide an IRI, and no other format.
_CUT_ESCAPE: Final = re.compile(r"%[0-9A-Fa-f]?\Z")


def write(
    source: ChunkReader,
    out: Writable,
    format: Format,  # noqa: A002
    job: Job,
) -> None:
    """Write statements as Turtle, TriG, RDF/XML or JSON-LD.

    Prefixes come first in these formats: those are written that the source has declared before the
    end of its first chunk, and that the format can express.
    """
    chunks = iter(source) if format.has_graphs else without_graphs(source, no_graphs(format))
    checks = None
    output = _Output(out, format)
    if format is Format.RDF_XML:
        chunks, checks = with_classes_later(chunks), XmlChecks()
    pyoxigraph = pyoxigraph_module()
    nquads = pyoxigraph.RdfFormat.N_QUADS
    text = b""

    def statements(chunk: Chunk) -> Iterable[Any]:
        nonlocal text
        if format is Format.JSON_LD and len(chunk.text) > _JSON_LINE:
            size = max(map(len, chunk.text.split(b"\n")))
            if size > _JSON_LINE:
                raise LimitError(f"readers of JSON-LD reject a statement of {size} bytes")
        text = chunk.text if checks is None else checks.checked(chunk.text)
        output.call(job.counter.add, chunk.statements)
        parser: Iterable[Any] = pyoxigraph.parse(text, nquads, lenient=source.validated)
        return parser

    try:
        first = next(chunks, Chunk(b"", 0))
        pyoxigraph.serialize(
            chain.from_iterable(map(statements, chain((first,), chunks))),
            output,
            _syntax(format),
            prefixes=_prefixes(source.namespaces) if job.settings.namespaces else {},
        )
    except (TermError, LimitError, MemoryError) as error:
        raise source.located(parser_error(error)) from error.__cause__
    except JellyError:
        raise
    except (ValueError, OSError, SyntaxError) as error:
        if output.has_failed or (isinstance(error, OSError) and error.errno is not None):
            raise
        if isinstance(error, SyntaxError):
            # The lines are valid; a term is one that Oxigraph rejects.
            raise source.located(TermError(rejection(error, text))) from None
        raise source.located(TermError(f"{format} cannot express this: {error}")) from error


def _prefixes(namespaces: Mapping[str, str]) -> dict[str, str]:
    return {
        prefix: iri
        for prefix, iri in namespaces.items()
        if _PREFIX_NAME.fullmatch(prefix)
        and iri not in RESERVED_NAMESPACES
        and not _CUT_ESCAPE.search(iri)
    }


class _Output:
    """What pyoxigraph writes to.

    :param form: in RDF/XML, carriage returns become references: pyoxigraph leaves them as they are,
        and an XML parser would take them for line feeds.
    :ivar has_failed: whether a function of the caller has raised an error, such as that of a full
        disk or a closed pipe.
    """

    has_failed = False

    def __init__(self, out: Writable, form: Format) -> None:
        self._out = out
        self._references = form is Format.RDF_XML

    def write(self, data: bytes, /) -> int:
        self.call(self._out.write, data.replace(b"\r", b"&#13;") if self._references else data)
        return len(data)

    def call(self, function: Callable[[Any], object], argument: Any) -> None:
        try:
            function(argument)
        except BaseException:
            self.has_failed = True
            raise

    def flush(self) -> None:
        """Required by pyoxigraph; the code that opened the output flushes it."""
