"""Bytes to statements and back: the codec of Jelly-RDF and Jelly-Patch. No I/O, no RDF library.

Only this module chooses the kernel. ``native`` is true for the compiled one.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Final

from ..lazy import pure_python
from .common.limits import DEFAULT_LIMITS, Limits
from .common.options import LogicalType, PhysicalType, StreamOptions
from .common.row_writer import DEFAULT_FRAME_BYTES, DEFAULT_FRAME_ROWS
from .common.terms import (
    DEFAULT_GRAPH,
    BlankNode,
    DefaultGraph,
    Describe,
    GenericFactory,
    GraphName,
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
from .common.wire import FrameSplitter, delimit, is_delimited
from .patch.columns import OperationColumns
from .patch.decoder import PatchFrame
from .patch.operations import AnyOperation, Header, Namespace, Operation, OperationKind
from .patch.options import PatchOptions, PatchStatementType, PatchStreamType
from .rdf.decoder import AnyFrame, Frame
from .text.columns import DEFAULT_BATCH_BYTES, DEFAULT_BATCH_ROWS, Column, Columns
from .text.ntriples import LineParser

_PURE_PYTHON: Final = pure_python()
_FOLDER: Final = Path(__file__).parent

try:
    if _PURE_PYTHON:
        raise ModuleNotFoundError
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
        count_rows,
        plain_lines,
        usual_lines,
    )
except ModuleNotFoundError:  # Any other ImportError: kernel and sources differ.
    # Only source trees contain this file: Python run inside a checkout imports them instead of the
    # installed package. An installed package without the kernel was built without a compiler.
    if not _PURE_PYTHON and (_FOLDER / "_native.pyx").exists():
        warnings.warn(
            f"jelly_plugins is imported from its sources in {_FOLDER.parent.parent}, whose "
            "kernel is not compiled, and much slower: run Python in another folder to "
            "use the installed package, or compile the kernel there with pip install -e .",
            RuntimeWarning,
            stacklevel=2,
        )
    from .patch.columns import PatchColumnDecoder
    from .patch.decoder import PatchDecoder
    from .patch.encoder import PatchEncoder
    from .rdf.decoder import Decoder, count_rows
    from .rdf.encoder import Encoder
    from .text.columns import ColumnDecoder, ColumnEncoder
    from .text.lines import plain_lines, usual_lines
    from .text.transcoding import TextDecoder, TextEncoder

#: Whether the compiled kernel runs.
native: Final = Decoder.__module__.endswith("._native")

__all__ = [
    "DEFAULT_BATCH_BYTES",
    "DEFAULT_BATCH_ROWS",
    "DEFAULT_FRAME_BYTES",
    "DEFAULT_FRAME_ROWS",
    "DEFAULT_GRAPH",
    "DEFAULT_LIMITS",
    "AnyFrame",
    "AnyOperation",
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
    "GraphName",
    "Header",
    "Iri",
    "Kind",
    "Limits",
    "LineParser",
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
    "Statement",
    "StreamOptions",
    "Term",
    "TermFactory",
    "TextDecoder",
    "TextEncoder",
    "Triple",
    "count_rows",
    "delimit",
    "describe",
    "is_delimited",
    "native",
    "plain_lines",
    "usual_lines",
]
