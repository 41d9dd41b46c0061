"""rdflib's serializer plugin: ``graph.serialize("x.jelly", format="jelly")``.

rdflib opens the destination itself, before it calls a plugin: a path that is given to
``Graph.serialize`` is not left as it was when the graph cannot be written. ``BACKEND.dump`` and
``write_graphs`` do that.
"""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable, Collection, Iterable
from typing import Any, ClassVar

from rdflib.graph import Graph
from rdflib.serializer import Serializer

from ...errors import SourceError
from ...io.names import did_you_mean
from ...io.sinks import compressed, compression_of
from .dump import dump


class BytesSerializer(Serializer):
    """Writes a format that is bytes; keyword arguments of ``Graph.serialize``, which have to be
    among :attr:`_settings`, go to :attr:`_dump`."""

    _dump: ClassVar[Callable[..., object]]
    _settings: ClassVar[tuple[str, ...]]

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
        :param encoding: ignored; but rdflib decodes the output to a string unless an encoding is
            given: any value will do.
        :raises SourceError: rdflib would make a string of it.
        :raises TypeError: an unknown setting.
        """
        reject_unknown(settings, self._settings)
        if _text_is_expected():
            raise SourceError(
                "the format is binary: give serialize() a destination, or any encoding= to get "
                "bytes"
            )
        with compressed(stream, compression_asked(stream)) as out:
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
    _settings = ("options", "namespaces", "frame_rows", "frame_bytes", "limits", "progress")


def reject_unknown(given: Iterable[str], known: Collection[str]) -> None:
    """Reject settings that a serializer does not have: rdflib passes on whatever it is given,
    misspelt or not.

    :param given: names of what it was given.
    :param known: names of its own.
    :raises TypeError: one of them is not its own.
    """
    for name in given:
        if name not in known:
            raise TypeError(
                f"serialize() of this format has no setting {name!r}{did_you_mean(name, known)}"
            )


def compression_asked(stream: object) -> str | None:
    """The compression that the name of a regular file indicates; a caller that compresses the
    stream itself passes another kind of object."""
    if isinstance(stream, io.BufferedWriter) and isinstance(stream.raw, io.FileIO):
        name = stream.raw.name
        return compression_of(name) if isinstance(name, str) else None
    return None


def _text_is_expected() -> bool:
    """Whether ``Graph.serialize`` was called without a destination and without an encoding, and so
    will decode the output.

    Only the call stack shows it: with ``encoding="utf-8"`` rdflib calls a serializer in the same
    way. Where this finds nothing, rdflib fails to decode the bytes.
    """
    code = getattr(Graph.serialize, "__code__", None)
    frame = inspect.currentframe()
    # Calls between rdflib's and ours: a subclass of a plugin may add one or two.
    for _ in range(5):
        frame = frame and frame.f_back
        if frame is not None and frame.f_code is code:
            values = frame.f_locals
            return values["destination"] is None and values["encoding"] is None
    return False
