"""rdflib's parser plugin: ``graph.parse("x.jelly")``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from rdflib.graph import Graph
from rdflib.parser import InputSource, Parser, URLInputSource

from ...errors import JellyError, SourceError
from .load import load


class BytesParser(Parser):
    """Reads a format that is bytes; keyword arguments of ``Graph.parse`` go to :attr:`_load`."""

    _load: ClassVar[Callable[..., int]]

    def parse(self, source: InputSource, sink: Graph, **settings: Any) -> None:
        """Read a source.

        :raises SourceError: rdflib gives no bytes of it.
        """
        stream: Any = source.getByteStream()
        if stream is None:
            raise SourceError("rdflib passes this source as text; the format is binary")
        try:
            type(self)._load(sink, stream, **settings)
        except JellyError as error:
            if isinstance(source, URLInputSource):
                error.source = source.url
            raise


class JellyParser(BytesParser):
    """Reads Jelly-RDF into a Graph, Dataset or ConjunctiveGraph, from any source rdflib knows.

    Keyword arguments of ``Graph.parse`` are those of
    :func:`~jelly_plugins.rdflib.plugin.load.load`.

    >>> from jelly_plugins.io.streams import write_bytes
    >>> from jelly_plugins import Iri, Triple
    >>> jelly = write_bytes([Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))])
    >>> len(Graph().parse(data=jelly, format="jelly-plugins"))
    1
    """

    _load = staticmethod(load)
