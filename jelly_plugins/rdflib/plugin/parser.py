"""rdflib's parser plugins: ``graph.parse("x.jelly")``, and text formats read by this package."""

from __future__ import annotations

import re
from functools import partial
from io import TextIOBase
from typing import Any, ClassVar, Final
from urllib.parse import quote

from rdflib.graph import Graph
from rdflib.parser import InputSource, Parser, URLInputSource

from ...errors import JellyError, SourceError
from ...io.chunks import ChunkFile
from ...io.sources import CHUNK, Format, FormatName
from .load import load

#: What an IRI cannot have and a file's name can.
_NOT_IN_IRIS: Final = re.compile(r'[\x00-\x20<>"{}|\\^`]|%(?![0-9A-Fa-f]{2})')


class BytesParser(Parser):
    """Reads a format that is bytes; keyword arguments of ``Graph.parse`` are those of
    :func:`~jelly_plugins.rdflib.plugin.load.load`."""

    _format: ClassVar[FormatName]

    def parse(self, source: InputSource, sink: Graph, **settings: Any) -> None:
        """Read a source.

        :raises SourceError: rdflib gives no bytes of it.
        """
        stream: Any = source.getByteStream()
        if stream is None:
            raise SourceError("rdflib passes this source as text; the format is binary")
        try:
            load(sink, stream, format=self._format, **settings)
        except JellyError as error:
            if isinstance(source, URLInputSource):
                error.source = source.url
            raise


class JellyParser(BytesParser):
    """Reads Jelly-RDF into a Graph or Dataset, from any source rdflib knows.

    >>> from jelly_plugins.io.streams import write_bytes
    >>> from jelly_plugins import Iri, Triple
    >>> jelly = write_bytes([Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))])
    >>> len(Graph().parse(data=jelly, format="jelly-plugins"))
    1
    """

    _format = Format.JELLY


class TextParser(BytesParser):
    """Reads RDF text with :func:`~jelly_plugins.rdflib.load`, which is several times as fast as
    rdflib's own parsers. The base IRI is theirs: ``publicID``, or the address or file name of the
    source, as an absolute IRI."""

    def parse(self, source: InputSource, sink: Graph, **settings: Any) -> None:
        """Read a source, of bytes or of text; see :class:`BytesParser`."""
        stream: Any = source.getByteStream()
        if isinstance(stream, TextIOBase):
            chunks = (part.encode() for part in iter(partial(stream.read, CHUNK), ""))
            source.setByteStream(ChunkFile(chunks))
        super().parse(source, sink, **{"base": _base_of(source, sink), **settings})


def _base_of(source: InputSource, sink: Graph) -> str | None:
    """The base IRI of a source; None if its name cannot be made absolute, so that only a relative
    IRI is an error."""
    name = source.getPublicId() or source.getSystemId()
    if not name or not isinstance(name, str):
        # Files without a name have a number.
        return None
    try:
        absolute = str(sink.absolutize(name, defrag=0))
    except ValueError:
        return None
    return _NOT_IN_IRIS.sub(lambda found: quote(found[0]), absolute)


class NTriplesParser(TextParser):
    """``format="jelly-plugins-nt"``"""

    _format = Format.N_TRIPLES


class NQuadsParser(TextParser):
    """``format="jelly-plugins-nquads"``"""

    _format = Format.N_QUADS


class TurtleParser(TextParser):
    """``format="jelly-plugins-turtle"``

    >>> turtle = "@base <http://example.org/> . <s> a <t> ."
    >>> graph = Graph().parse(data=turtle, format="jelly-plugins-turtle")
    >>> print(next(graph.subjects()))
    http://example.org/s
    """

    _format = Format.TURTLE


class TrigParser(TextParser):
    """``format="jelly-plugins-trig"``"""

    _format = Format.TRIG


class RdfXmlParser(TextParser):
    """``format="jelly-plugins-xml"``"""

    _format = Format.RDF_XML
