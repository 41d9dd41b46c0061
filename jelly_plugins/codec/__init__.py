"""Bytes to statements and back: the codec of Jelly-RDF. No I/O, no RDF library.

The kernel is chosen here and nowhere else. ``native`` says which one runs.
"""

from __future__ import annotations

from typing import Final

from .decoder import Decoder, Frame
from .encoder import Encoder
from .framing import FrameSplitter, delimit, is_delimited
from .limits import DEFAULT_LIMITS, Limits
from .operations import Header, Namespace, Operation, OperationKind
from .options import LogicalType, PhysicalType, StreamOptions
from .patch_decoder import PatchDecoder, PatchFrame
from .patch_encoder import PatchEncoder
from .patch_options import PatchOptions, PatchStatementType, PatchStreamType
from .row_writer import DEFAULT_FRAME_BYTES, DEFAULT_FRAME_ROWS
from .terms import (
    DEFAULT_GRAPH,
    BlankNode,
    DefaultGraph,
    Describe,
    GenericFactory,
    Iri,
    Kind,
    Literal,
    Quad,
    Statement,
    Term,
    TermFactory,
    Triple,
    describe,
)

#: Whether the compiled kernel runs.
native: Final = False

__all__ = [
    "DEFAULT_FRAME_BYTES",
    "DEFAULT_FRAME_ROWS",
    "DEFAULT_GRAPH",
    "DEFAULT_LIMITS",
    "BlankNode",
    "Decoder",
    "DefaultGraph",
    "Describe",
    "Encoder",
    "Frame",
    "FrameSplitter",
    "GenericFactory",
    "Header",
    "Iri",
    "Kind",
    "Limits",
    "Literal",
    "LogicalType",
    "Namespace",
    "Operation",
    "OperationKind",
    "PatchDecoder",
    "PatchEncoder",
    "PatchFrame",
    "PatchOptions",
    "PatchStatementType",
    "PatchStreamType",
    "PhysicalType",
    "Quad",
    "Statement",
    "StreamOptions",
    "Term",
    "TermFactory",
    "Triple",
    "delimit",
    "describe",
    "is_delimited",
    "native",
]
