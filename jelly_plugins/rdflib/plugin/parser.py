"""rdflib's parser plugin: ``graph.parse("x.jelly")``."""

from __future__ import annotations

from typing import Any

from rdflib.graph import Graph
from rdflib.parser import InputSource, Parser, URLInputSource

from ...backends import BlankNodes
from ...codec import DEFAULT_LIMITS, Limits
from ...errors import JellyError, SourceError
from .load import load


class JellyParser(Parser):
    """Reads Jelly-RDF into a Graph, Dataset or ConjunctiveGraph, from any source rdflib knows.

    >>> from jelly_plugins.io.streams import write_bytes
    >>> from jelly_plugins import Iri, Triple
    >>> jelly = write_bytes([Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))])
    >>> len(Graph().parse(data=jelly, format="jelly-plugins"))
    1
    """

    def parse(
        self,
        source: InputSource,
        sink: Graph,
        *,
        blank_nodes: BlankNodes = "fresh",
        generalized: bool = False,
        atomic: bool = True,
        concatenated: bool = False,
        strict: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        """Read a source; keyword arguments of ``Graph.parse`` come here.

        See :func:`~jelly_plugins.rdflib.plugin.load.load` for the parameters, and for what is
        raised.
        """
        stream: Any = source.getByteStream()
        if stream is None:
            raise SourceError("rdflib gives no bytes of this source, and Jelly is no text")
        try:
            load(
                sink,
                stream,
                blank_nodes=blank_nodes,
                generalized=generalized,
                atomic=atomic,
                concatenated=concatenated,
                strict=strict,
                limits=limits,
            )
        except JellyError as error:
            if isinstance(source, URLInputSource):
                error.source = source.url
            raise
