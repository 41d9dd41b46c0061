"""rdflib's serializer plugin: ``graph.serialize("x.jelly", format="jelly")``.

rdflib opens the destination itself, before it calls a plugin: a path that is given to
``Graph.serialize`` is not left as it was when the graph cannot be written. ``BACKEND.dump`` and
``write_graphs`` do that.
"""

from __future__ import annotations

import io
from typing import Any

from rdflib.serializer import Serializer

from ...codec import DEFAULT_FRAME_BYTES, DEFAULT_FRAME_ROWS, DEFAULT_LIMITS, Limits, StreamOptions
from ...errors import SourceError
from ...io.sinks import compressed, compression_of
from ..callers import text_is_expected
from .dump import Namespaces, dump
from .settings import refuse_unknown


class JellySerializer(Serializer):
    """Writes a Graph as a flat stream of triples, a Dataset or ConjunctiveGraph as one of quads.

    >>> from rdflib import RDF, Graph, URIRef
    >>> graph = Graph().add((URIRef("urn:s"), RDF.type, URIRef("urn:t")))
    >>> jelly = graph.serialize(format="jelly-plugins", encoding="utf-8")
    >>> Graph().parse(data=jelly, format="jelly-plugins").isomorphic(graph)
    True
    """

    def serialize(
        self,
        stream: Any,
        base: str | None = None,  # noqa: ARG002
        encoding: str | None = None,  # noqa: ARG002
        *,
        options: StreamOptions | None = None,
        namespaces: Namespaces = False,
        frame_rows: int = DEFAULT_FRAME_ROWS,
        frame_bytes: int = DEFAULT_FRAME_BYTES,
        limits: Limits = DEFAULT_LIMITS,
        **others: Any,
    ) -> None:
        """Write the graph; keyword arguments of ``Graph.serialize`` come here.

        :param stream: what rdflib opened. A plain file is compressed as its name says: ``.gz``,
            ``.bz2``, ``.zst``.
        :param base: of no use: Jelly has whole IRIs.
        :param encoding: of no use to Jelly, which is no text. But rdflib makes a string of what it
            is to return unless there is some encoding: any will do.
        :raises SourceError: rdflib would make a string of it.
        :raises TypeError: a setting that there is not.

        See :func:`~jelly_plugins.rdflib.plugin.dump.encode` for the other parameters and errors.
        """
        refuse_unknown(others, self.serialize)
        if text_is_expected():
            raise SourceError(
                "Jelly is binary: give serialize() a destination, or any encoding= to get bytes"
            )
        with compressed(stream, compression_asked(stream)) as out:
            dump(
                self.store,
                out,
                options=options,
                namespaces=namespaces,
                frame_rows=frame_rows,
                frame_bytes=frame_bytes,
                limits=limits,
            )


def compression_asked(stream: object) -> str | None:
    """The compression that the name of a plain file asks for; whoever compresses the stream himself
    gives something else than a plain file."""
    if isinstance(stream, io.BufferedWriter) and isinstance(stream.raw, io.FileIO):
        name = stream.raw.name
        return compression_of(name) if isinstance(name, str) else None
    return None
