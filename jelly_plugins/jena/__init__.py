"""Apache Jena's binary formats: RDF Thrift (``.rt``, ``.trdf``) and RDF Protobuf (``.rpb``,
``.pbrdf``), SPARQL results in both (``.srt``, ``.srp``), and binary RDF Patch (``.trp``).

>>> import io
>>> from jelly_plugins import Iri, Literal, Triple
>>> file = io.BytesIO()
>>> people = [Triple(Iri("http://example.org/a"), Iri("http://example.org/name"), Literal("A"))]
>>> write(people, file, format=JenaFormat.THRIFT, namespaces={"ex": "http://example.org/"})
1
>>> list(read(file.getvalue())) == people
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import lazy

if TYPE_CHECKING:
    from .names import JenaFormat, detect, format_named, format_of
    from .streams import JenaReader, native, read, write

__all__ = [
    "JenaFormat",
    "JenaReader",
    "detect",
    "format_named",
    "format_of",
    "native",
    "read",
    "write",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.attributes(__name__, __all__, ("names", "streams"))
