"""Jelly-RDF for Python: a fast way to move RDF in and out of Python's stores.

>>> from jelly_plugins import Iri, Literal, Triple, read, write
>>> statements = [Triple(Iri("urn:s"), Iri("urn:p"), Literal("o", langtag="en"))]
>>> import io
>>> file = io.BytesIO()
>>> write(statements, file)
1
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
        GraphName,
        Iri,
        Limits,
        Literal,
        LogicalType,
        PatchOptions,
        PatchStatementType,
        PatchStreamType,
        PhysicalType,
        Quad,
        Statement,
        StreamOptions,
        Term,
        TermFactory,
        Triple,
        native,
    )
    from .codec.text.ntriples import Dialect, Notation
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
    from .formats.convert import convert
    from .formats.settings import (
        Conversion,
        ConversionOptions,
        ConversionSettings,
        Frames,
        LoadOptions,
        LoadSettings,
        OptionChanges,
    )
    from .io.sinks import Destination, Writable
    from .io.sources import Format, Readable, Source, WithMediaType
    from .io.streams import (
        FrameReader,
        StreamWriteOptions,
        WriteOptions,
        WriteSettings,
        encode,
        encode_frames,
        read,
        read_frames,
        read_quads,
        read_triples,
        write,
        write_frames,
    )

__version__ = "0.1.0"

__all__ = [
    "DEFAULT_GRAPH",
    "BlankNode",
    "ChainError",
    "ConflictError",
    "Conversion",
    "ConversionOptions",
    "ConversionSettings",
    "Destination",
    "Dialect",
    "Format",
    "Frame",
    "FrameReader",
    "Frames",
    "GraphName",
    "Iri",
    "JellyError",
    "LimitError",
    "Limits",
    "Literal",
    "LoadOptions",
    "LoadSettings",
    "LogicalType",
    "LookupTableError",
    "MissingExtraError",
    "Notation",
    "OptionChanges",
    "OptionsError",
    "OrderError",
    "PatchOptions",
    "PatchStatementType",
    "PatchStreamType",
    "PhysicalType",
    "Quad",
    "Readable",
    "ServiceError",
    "Source",
    "SourceError",
    "Statement",
    "StatementError",
    "StreamOptions",
    "StreamWriteOptions",
    "Term",
    "TermError",
    "TermFactory",
    "TextError",
    "Triple",
    "TruncatedError",
    "WireError",
    "WithMediaType",
    "Writable",
    "WriteOptions",
    "WriteSettings",
    "__version__",
    "convert",
    "encode",
    "encode_frames",
    "native",
    "read",
    "read_frames",
    "read_quads",
    "read_triples",
    "write",
    "write_frames",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.attributes(
        __name__,
        __all__,
        (
            "errors",
            "codec",
            "codec.text.ntriples",
            "io.streams",
            "io.sinks",
            "io.sources",
            "formats.settings",
            "formats.convert",
        ),
    )
