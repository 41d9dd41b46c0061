"""Jelly for rdflib: parser and serializer plugins, a fast :func:`load` for every format, streams of
statements and graphs, and logs of patches (:func:`replay`, :func:`record`).

The plugins need no import: ``graph.parse("x.jelly", format="jelly")`` works wherever this package
is installed. Importing this module also enables detection by file extension, so that
``graph.parse("x.jelly.gz")`` needs no ``format``. Where pyjelly is installed too, ``"jelly"``
may be its plugin: :func:`register` makes it ours. ``"jelly-plugins"`` is always ours, and so are
files detected by name.

How rdflib represents a stream:

- Lexical forms are normalised as by its other parsers, unless ``rdflib.NORMALIZE_LITERALS`` is
  False: ``"01"^^xsd:integer`` becomes ``"1"``. A literal of xsd:string comes as one without a
  datatype, which is the same literal in RDF 1.1. Language tags that differ in case are equal.
- A stream of quads needs a Dataset; a Graph takes it only if all is in the default graph.
- Quoted triples and generalized statements are rejected where they occur; a declaration in the
  stream options alone is not an error. ``generalized=True`` accepts the latter.
- A graph that is named ``urn:x-rdflib:default`` is the default graph.

The output reads back unchanged, except for datatypes xsd:string. Blank nodes get new labels in
each reading, unless ``blank_nodes="keep"`` is given.

>>> from rdflib import RDF, Dataset, URIRef
>>> from jelly_plugins.rdflib import read_statements
>>> dataset = Dataset().add((URIRef("urn:s"), RDF.type, URIRef("urn:t"), URIRef("urn:g")))
>>> jelly = dataset.serialize(format="jelly-plugins", encoding="utf-8")
>>> for subject, _, _, graph in read_statements(jelly):
...     print(subject, graph)
urn:s urn:g
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .. import lazy
from ..errors import MissingExtraError

try:
    import rdflib.plugin
    import rdflib.util
    from rdflib.parser import Parser
    from rdflib.serializer import Serializer
except ImportError as error:
    raise MissingExtraError.of("rdflib is not installed", "rdflib") from error

if TYPE_CHECKING:
    from .patches.record import GraphRecorder, record
    from .patches.replay import positions, replay, set_position
    from .reading import load
    from .streams import (
        StreamSettings,
        read_graphs,
        read_quads,
        read_statements,
        read_triples,
        write_graphs,
        write_statements,
    )

__all__ = [
    "GraphRecorder",
    "StreamSettings",
    "load",
    "positions",
    "read_graphs",
    "read_quads",
    "read_statements",
    "read_triples",
    "record",
    "register",
    "replay",
    "set_position",
    "write_graphs",
    "write_statements",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.attributes(
        __name__, __all__, ("reading", "streams", "patches.record", "patches.replay")
    )

#: The plugin name that only this package uses.
OWN_NAME: Final = "jelly-plugins"

#: All names that the plugins have; the first two are also claimed by other packages.
NAMES: Final = ("jelly", "application/x-jelly-rdf", OWN_NAME)


def register() -> None:
    """Serve ``format="jelly"`` and ``application/x-jelly-rdf`` in this process, whatever other
    packages are installed and in whatever order they are imported.

    Without it, of several packages with the same plugin name rdflib takes the one it finds last;
    ``format="jelly-plugins"`` is always this one.
    """
    for name in NAMES:
        rdflib.plugin.register(name, Parser, "jelly_plugins.rdflib.reading", "JellyParser")
        rdflib.plugin.register(name, Serializer, "jelly_plugins.rdflib.writing", "JellySerializer")


def register_suffixes() -> None:
    """Make ``Graph.parse`` detect Jelly by file name: ``.jelly``, also compressed; and RDF
    Thrift and RDF Protobuf.

    rdflib sees the last suffix only, so that ``.gz``, ``.bz2`` and ``.zst`` mean Jelly from now on;
    it reads no other format compressed. Suffixes registered for other formats stay; one
    that means Jelly, by a name that other packages claim too, means Jelly as these plugins read it.
    """
    endings = rdflib.util.SUFFIX_FORMAT_MAP
    if endings.get("jelly") in NAMES:
        del endings["jelly"]
    for name in ("jelly", "gz", "bz2", "zst"):
        endings.setdefault(name, OWN_NAME)
    for name in ("rt", "trdf"):
        endings.setdefault(name, "rdf-thrift")
    for name in ("rpb", "pbrdf"):
        endings.setdefault(name, "rdf-protobuf")


# rdflib looks file endings up before any plugin, and offers no other way to add one.
register_suffixes()
