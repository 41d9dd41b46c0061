"""Jelly-RDF for Python: a fast way to move RDF in and out of Python's stores.

>>> from jelly_plugins import Iri, Literal, Triple, read, write
>>> statements = [Triple(Iri("urn:s"), Iri("urn:p"), Literal("o", langtag="en"))]
>>> import io
>>> file = io.BytesIO()
>>> write(statements, file)
>>> list(read(file.getvalue())) == statements
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import lazy

if TYPE_CHECKING:
    from .codec import (
        DEFAULT_GRAPH,
        BlankNode,
        Frame,
        Iri,
        Limits,
        Literal,
        LogicalType,
        PatchOptions,
        PatchStatementType,
        PatchStreamType,
        PhysicalType,
        Quad,
        StreamOptions,
        Triple,
        native,
    )
    from .errors import (
        ChainError,
        ConflictError,
        JellyError,
        LimitError,
        LookupTableError,
        MissingExtraError,
        OptionsError,
        OrderError,
        ServiceError,
        SourceError,
        StatementError,
        TermError,
        TextError,
        TruncatedError,
        WireError,
    )
    from .io.streams import read, read_frames, write, write_frames

__version__ = "0.1.0"

__all__ = [
    "DEFAULT_GRAPH",
    "BlankNode",
    "ChainError",
    "ConflictError",
    "Frame",
    "Iri",
    "JellyError",
    "LimitError",
    "Limits",
    "Literal",
    "LogicalType",
    "LookupTableError",
    "MissingExtraError",
    "OptionsError",
    "OrderError",
    "PatchOptions",
    "PatchStatementType",
    "PatchStreamType",
    "PhysicalType",
    "Quad",
    "ServiceError",
    "SourceError",
    "StatementError",
    "StreamOptions",
    "TermError",
    "TextError",
    "Triple",
    "TruncatedError",
    "WireError",
    "__version__",
    "native",
    "read",
    "read_frames",
    "write",
    "write_frames",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.attributes(__name__, __all__, ("errors", "codec", "io.streams"))
