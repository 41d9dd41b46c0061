"""Making rdflib know the formats: file endings, and who serves ``format="jelly"``.

Entry points name the plugins, so that they need no import. File endings do need one: rdflib looks
them up in a dictionary, before any plugin, and offers no way to fill it but from running code.
"""

from __future__ import annotations

from typing import Final

import rdflib.plugin
import rdflib.util
from rdflib.parser import Parser
from rdflib.serializer import Serializer

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
