"""Jelly, RDF Thrift and RDF Protobuf to RDF text.

N-Triples and N-Quads can express all that Jelly can. Turtle, TriG, RDF/XML and JSON-LD are written
by pyoxigraph; statements that they cannot express are rejected. No text has frames: their
boundaries are left out, and their metadata is counted in the result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from typing import Any, Final

from ..backends import get_backend
from ..codec import AnyFrame, PhysicalType
from ..codec.text.ntriples import StandIns
from ..codec.text.transcoding import TextFactory
from ..errors import JellyError, TermError
from ..io.names import Format
from ..io.sinks import Destination, Writable, open_output
from ..io.streams import AnyFrameReader, FrameBytes, FrameReader, TextChunks
from ..jena.names import JenaFormat
from ..jena.streams import JenaText
from ..jena.text import LineFactory
from .reading import pyoxigraph_module, rdf_format, read_sources
from .settings import Job
from .xml import NAME, NO_CHARACTER, NO_PROPERTIES, RESERVED_NAMESPACES


def jelly_to_lines(job: Job, dst: Destination, target: Format) -> None:
    """Write a Jelly stream as N-Triples or N-Quads.

    :raises TermError: a quad is in a named graph, for N-Triples; with frame and row.
    """
    settings, counter = job.settings, job.counter
    source = FrameBytes(job.given[0].source, limits=settings.limits, strict=settings.strict)
    options = source.peek_options()
    reading: dict[str, Any] = {"limits": settings.limits, "concatenated": settings.concatenated}
    if options is not None and (
        target.has_graphs
        or (options.physical_type is PhysicalType.TRIPLES and not settings.concatenated)
    ):
        chunks = TextChunks(
            source, notation=settings.notation, on_frame=counter.count_left_out, **reading
        )
        with chunks, open_output(dst) as out:
            for chunk in chunks:
                out.write(chunk)
                counter.reach(chunks.statements)
        return
    # Each statement is checked for a named graph.
    lines: Any = LineFactory(TextFactory(settings.notation), graphs=target.has_graphs)
    frames: AnyFrameReader = FrameReader(source, factory=lines, **reading)
    with frames, open_output(dst) as out:
        for frame in counter.counted(frames):
            out.write("".join(frame.statements).encode())


def jena_to_lines(job: Job, dst: Destination, target: Format) -> None:
    """Write RDF Thrift or RDF Protobuf as N-Triples or N-Quads.

    :raises TermError: a quad is in a named graph, for N-Triples; with the row.
    """
    settings = job.settings
    source, form = job.given[0]
    lines = JenaText(
        source,
        format=JenaFormat(form),
        graphs=target.has_graphs,
        notation=settings.notation,
        generalized=settings.generalized,
        limits=settings.limits,
    )
    with lines, open_output(dst) as out:
        for chunk in lines:
            out.write(chunk)
            job.counter.reach(lines.statements)


def statements_to_text(job: Job, dst: Destination, target: Format) -> None:
    """Write Jelly, RDF Thrift or RDF Protobuf as Turtle, TriG, RDF/XML or JSON-LD.

    Namespaces become prefixes if they occur in the first frame with a statement or before it, and
    if the format can express them.

    :raises TermError: the format cannot express a term, or has no graphs; with its position.
    """
    with (
        closing(read_sources(job.given, job.settings, factory=_CheckedFactory(target))) as frames,
        open_output(dst) as out,
    ):
        _serialize(job.counter.counted(frame for _, frame in frames), out, target)


#: Labels of blank nodes in RDF/XML.
_XML_LABELS: Final = StandIns(re.compile(NAME).fullmatch)


class _CheckedFactory:
    """Makes the terms that pyoxigraph writes a format from; rejects terms that it would write, but
    the format cannot say."""

    def __init__(self, format: Format) -> None:  # noqa: A002
        made = get_backend("oxigraph").factory(blank_nodes="keep")
        self._made = made
        directions = pyoxigraph_module().BaseDirection
        self._directions = {"ltr": directions.LTR, "rtl": directions.RTL}
        self._format = format
        self._is_xml = format is Format.RDF_XML
        self.default_graph = made.default_graph
        self.iri = made.iri
        self.blank_node = self._xml_blank_node if self._is_xml else made.blank_node
        self.quoted_triple = made.quoted_triple

    def _xml_blank_node(self, label: str) -> Any:
        """pyoxigraph writes any label as ``rdf:nodeID``, which has to be an XML name."""
        return self._made.blank_node(_XML_LABELS.write(label))

    def literal(self, lex: str, langtag: str | None, datatype: str | None) -> Any:
        if self._is_xml and (found := NO_CHARACTER.search(lex)):
            raise TermError(f"XML cannot express the character U+{ord(found[0]):04X}")
        language, mark, name = (langtag or "").partition("--")
        direction = self._directions.get(name) if mark else None
        if direction is None:
            return self._made.literal(lex, langtag, datatype)
        # This validates the language.
        self._made.literal(lex, language, None)
        return pyoxigraph_module().Literal(lex, language=language, direction=direction)

    def triple(self, terms: tuple[Any, Any, Any]) -> Any:
        if self._is_xml:
            predicate = terms[1].value
            name = _XML_PREDICATE.search(predicate)
            if name is None:
                raise TermError(
                    f"RDF/XML cannot express the predicate <{predicate}>: it has no XML name at "
                    "its end"
                )
            if predicate in NO_PROPERTIES or predicate[: name.start()] in RESERVED_NAMESPACES:
                raise TermError(f"RDF/XML cannot express the predicate <{predicate}>")
        return self._made.triple(terms)

    def quad(self, terms: tuple[Any, Any, Any, Any]) -> Any:
        if terms[3] == self.default_graph:
            return self.triple(terms[:3])
        if not self._format.has_graphs:
            raise TermError(
                f"a quad in a named graph: {self._format} has no graphs, nq, trig and jsonld do"
            )
        return self._made.quad(terms)

    def check_graph(self, name: Any) -> None:
        """Any name is valid: these formats have no empty graphs."""


#: IRIs that end in an XML name without a colon, as properties have to in RDF/XML.
_XML_PREDICATE: Final = re.compile(rf"{NAME}\Z")

#: Names that are valid in every format with prefixes; pyoxigraph does not check them.
_PREFIX_NAME: Final = re.compile(r"(?!xml)[A-Za-z](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?|")


def _serialize(frames: Iterator[AnyFrame], out: Writable, format: Format) -> None:  # noqa: A002
    first = next(frames, None)
    opening = [] if first is None else [first]
    prefixes = {
        name: iri.value
        for frame in opening
        for name, iri in frame.namespaces
        if _PREFIX_NAME.fullmatch(name)
    }
    statements = (statement for frame in chain(opening, frames) for statement in frame.statements)
    try:
        pyoxigraph_module().serialize(
            statements, _Output(out, format), rdf_format(format), prefixes=prefixes
        )
    except JellyError:
        raise
    except (ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # From writing: a full disk, a closed pipe.
        raise TermError(f"{format} cannot express this: {error}") from error


class _Output:
    """What pyoxigraph writes to.

    :param form: in RDF/XML, carriage returns become references: pyoxigraph leaves them as they are,
        and an XML parser would take them for line feeds.
    """

    def __init__(self, out: Writable, form: Format) -> None:
        self._out = out
        self._references = form is Format.RDF_XML

    def write(self, data: bytes, /) -> int:
        self._out.write(data.replace(b"\r", b"&#13;") if self._references else data)
        return len(data)

    def flush(self) -> None:
        """Required by pyoxigraph; the code that opened the output flushes it."""
