"""Jelly in and out of Oxigraph stores: :func:`load`, :func:`dump`, :func:`read_quads`; and logs of
patches: :func:`replay`, :func:`record`.

Uses pyoxigraph and the codec, not rdflib. A store changes the following, which no reader can
prevent:

- Literals of XML Schema datatypes get their canonical form: ``"01"^^xsd:integer`` becomes ``"1"``,
  ``1.50`` becomes ``1.5``, ``P12M`` becomes ``P1Y``, and the types derived from xsd:integer, such
  as xsd:int, become xsd:integer. What Oxigraph cannot compute with stays as it is.
- Language tags are lower-cased, already in pyoxigraph's terms.
- A statement is held once, however often the stream has it.

What it cannot hold raises an error with frame and row: generalized statements, IRIs that are not
absolute or not well-formed, language tags that are not well-formed. Quoted triples are held as
objects (triple terms of RDF 1.2); elsewhere they are rejected, or reified on request.

>>> import io
>>> from pyoxigraph import Literal, NamedNode, Quad, Store
>>> store = Store()
>>> store.add(Quad(NamedNode("urn:s"), NamedNode("urn:p"), Literal("o")))
>>> file = io.BytesIO()
>>> dump(store, file)
1
>>> copy = Store()
>>> load(copy, file.getvalue())
1
>>> print(copy)
<urn:s> <urn:p> "o" .
<BLANKLINE>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import lazy
from ..errors import MissingExtraError

try:
    import pyoxigraph as _pyoxigraph  # noqa: F401
except ImportError as error:
    raise MissingExtraError.of("Oxigraph needs pyoxigraph", "oxigraph") from error

if TYPE_CHECKING:
    from .dumping import DumpOptions, DumpSettings, dump, encode_quads, write_quads
    from .loading import load, read_quads
    from .patches.record import Changes, Recorder, record
    from .patches.replay import replay
    from .patches.store import (
        BOOKKEEPING,
        count_quads,
        namespaces,
        positions,
        set_position,
    )
    from .results import encode_solutions, read_solutions, write_solutions

__all__ = [
    "BOOKKEEPING",
    "Changes",
    "DumpOptions",
    "DumpSettings",
    "Recorder",
    "count_quads",
    "dump",
    "encode_quads",
    "encode_solutions",
    "load",
    "namespaces",
    "positions",
    "read_quads",
    "read_solutions",
    "record",
    "replay",
    "set_position",
    "write_quads",
    "write_solutions",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.attributes(
        __name__,
        __all__,
        {
            "dumping": ("DumpOptions", "DumpSettings", "dump", "encode_quads", "write_quads"),
            "loading": ("load", "read_quads"),
            "patches.store": (
                "BOOKKEEPING",
                "count_quads",
                "namespaces",
                "positions",
                "set_position",
            ),
            "patches.record": ("Changes", "Recorder", "record"),
            "patches.replay": ("replay",),
            "results": ("encode_solutions", "read_solutions", "write_solutions"),
        },
    )
