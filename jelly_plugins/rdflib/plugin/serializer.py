"""rdflib's serializer plugin: ``graph.serialize("x.jelly", format="jelly")``.

rdflib opens the destination itself, before it calls a plugin: a path that is given to
``Graph.serialize`` is not left as it was when the graph cannot be written. ``BACKEND.dump`` and
``write_graphs`` do that.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection
from typing import Any, ClassVar

from rdflib.serializer import Serializer

from ...io.sinks import compressed, compression_of
from ...io.sources import did_you_mean
from ...io.streams import StreamWriteOptions
from .dump import dump


class BytesSerializer(Serializer):
    """Writes a format that is bytes; keyword arguments of ``Graph.serialize``, which have to be
    among :attr:`_settings`, go to :attr:`_dump`."""

    _dump: ClassVar[Callable[..., object]]
    _settings: ClassVar[Collection[str]]

    def serialize(
        self,
        stream: Any,
        base: str | None = None,  # noqa: ARG002
        encoding: str | None = None,  # noqa: ARG002
        **settings: Any,
    ) -> None:
        """Write the graph.

        :param stream: what rdflib opened. A regular file is compressed according to its name:
            ``.gz``, ``.bz2``, ``.zst``.
        :param base: ignored: IRIs are written in full.
        :param encoding: ignored. But without a destination, ``Graph.serialize`` returns bytes only
            if an encoding is given, whatever it is. Otherwise it decodes them as text, and raises a
            UnicodeDecodeError.
        :raises TypeError: an unknown setting: rdflib passes on whatever it is given.
        """
        for name in settings:
            if name not in self._settings:
                raise TypeError(
                    f"serialize() of this format has no setting {name!r}"
                    f"{did_you_mean(name, self._settings)}"
                )
        compression = None
        # A caller that compresses the stream itself passes another kind of object.
        if isinstance(stream, io.BufferedWriter) and isinstance(stream.raw, io.FileIO):
            name = stream.raw.name
            compression = compression_of(name) if isinstance(name, str) else None
        with compressed(stream, compression) as out:
            type(self)._dump(self.store, out, **settings)


class JellySerializer(BytesSerializer):
    """Writes a Graph as a flat stream of triples, a Dataset or ConjunctiveGraph as one of quads.

    Keyword arguments of ``Graph.serialize`` are ``options``, ``namespaces``, ``frame_rows``,
    ``frame_bytes``, ``progress`` and ``limits`` of
    :func:`~jelly_plugins.rdflib.plugin.dump.dump`.

    >>> from rdflib import RDF, Graph, URIRef
    >>> graph = Graph().add((URIRef("urn:s"), RDF.type, URIRef("urn:t")))
    >>> jelly = graph.serialize(format="jelly-plugins", encoding="utf-8")
    >>> Graph().parse(data=jelly, format="jelly-plugins").isomorphic(graph)
    True
    """

    _dump = staticmethod(dump)
    _settings = ("namespaces", *StreamWriteOptions.__annotations__)
