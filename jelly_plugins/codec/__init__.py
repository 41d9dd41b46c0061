"""Bytes to statements and back: the codec of Jelly-RDF. No I/O, no RDF library.

The kernel is chosen here and nowhere else. ``native`` says which one runs.
"""

from __future__ import annotations

from typing import Final

from .decoder import Decoder, Frame
from .encoder import DEFAULT_FRAME_BYTES, DEFAULT_FRAME_ROWS, Encoder
from .framing import FrameSplitter, delimit, is_delimited
from .limits import DEFAULT_LIMITS, Limits
from .options import LogicalType, PhysicalType, StreamOptions
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
    "Iri",
    "Kind",
    "Limits",
    "Literal",
    "LogicalType",
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
