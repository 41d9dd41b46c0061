"""Bytes to statements and back: the codec of Jelly-RDF and Jelly-Patch. No I/O, no RDF library.

The kernel is chosen here and nowhere else. ``native`` says which one runs.
"""

from __future__ import annotations

import os
from typing import Final

from .columns import DEFAULT_BATCH_BYTES, DEFAULT_BATCH_ROWS, Column, Columns
from .decoder import Frame
from .framing import FrameSplitter, delimit, is_delimited
from .limits import DEFAULT_LIMITS, Limits
from .operations import Header, Namespace, Operation, OperationKind
from .options import LogicalType, PhysicalType, StreamOptions
from .patch_columns import OperationColumns
from .patch_decoder import PatchFrame
from .patch_options import PatchOptions, PatchStatementType, PatchStreamType
from .restarts import RestartPoint, find_restarts
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

try:
    if os.environ.get("JELLY_PURE_PYTHON", "0") not in ("", "0"):
        raise ImportError("JELLY_PURE_PYTHON asks for the Python codec")
    from ._native import (
        ColumnDecoder,
        ColumnEncoder,
        Decoder,
        Encoder,
        PatchColumnDecoder,
        PatchDecoder,
        PatchEncoder,
        TextDecoder,
        TextEncoder,
    )
except ImportError:
    from .columns import ColumnDecoder, ColumnEncoder
    from .decoder import Decoder
    from .encoder import Encoder
    from .patch_columns import PatchColumnDecoder
    from .patch_decoder import PatchDecoder
    from .patch_encoder import PatchEncoder
    from .text import TextDecoder, TextEncoder

#: Whether the compiled kernel runs.
native: Final = Decoder.__module__.endswith("._native")

__all__ = [
    "DEFAULT_BATCH_BYTES",
    "DEFAULT_BATCH_ROWS",
    "DEFAULT_FRAME_BYTES",
    "DEFAULT_FRAME_ROWS",
    "DEFAULT_GRAPH",
    "DEFAULT_LIMITS",
    "BlankNode",
    "Column",
    "ColumnDecoder",
    "ColumnEncoder",
    "Columns",
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
    "OperationColumns",
    "OperationKind",
    "PatchColumnDecoder",
    "PatchDecoder",
    "PatchEncoder",
    "PatchFrame",
    "PatchOptions",
    "PatchStatementType",
    "PatchStreamType",
    "PhysicalType",
    "Quad",
    "RestartPoint",
    "Statement",
    "StreamOptions",
    "Term",
    "TermFactory",
    "TextDecoder",
    "TextEncoder",
    "Triple",
    "delimit",
    "describe",
    "find_restarts",
    "is_delimited",
    "native",
]
