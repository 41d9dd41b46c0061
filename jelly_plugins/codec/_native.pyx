# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True,
# initializedcheck=False, allow_none_for_extension_args=False
"""The compiled kernel: the same codec as the Python modules beside it, which are its reference.

Interface, limits, errors and output are the same; tests/fuzz compares the two. The kernel defines
no rules: it fills its tables from the reference's when it is loaded (``load_…``), and leaves rare
cases to the reference (options, metadata, the reasons for a rejection).

Memory, for maintainers:

1. Input is never trusted. The code compares the position with the end of the readable bytes before
   each read. It compares lengths with the number of remaining bytes and never adds a length to a
   position first.
2. Code marked ``nogil`` holds no Python objects and allocates only with PyMem_Raw…. A failed
   allocation is a status, not an exception.
3. A ``Slice`` owns nothing. A ``Buffer`` owns its bytes; a ``Term`` is counted
   (kernel/common/terms.pxi). A Term owns a Python object only in ``Term.object``, which ``sweep``
   releases.
4. All data that is kept is owned. The caller owns the bytes of a frame or a chunk of text. The call
   holds them while it reads; where the output of a frame is yielded chunk by chunk, the decoder
   holds them. Pointers into these bytes are cleared afterwards (``end_frame``, ``end_text``). A
   Term's Slices point to the bytes after its own structure or into its ``object``. Slices of
   anything else that outlives a call point to data that the same object owns, or to a constant of
   the module, never into a caller's bytes. A build with JELLY_POISON=1 works on copies that are
   overwritten and freed at the end (kernel/common/memory.pxi).
5. Only one thread at a time may use a decoder or encoder; a second one gets an error. Decoders and
   encoders share no mutable state.
"""

import re
import weakref
from dataclasses import replace

cimport cython

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from cpython.object cimport PyObject
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.tuple cimport PyTuple_Check, PyTuple_GET_SIZE, PyTuple_GetSlice, PyTuple_New
from cpython.unicode cimport PyUnicode_AsUTF8String, PyUnicode_DecodeUTF8
from cpython.pythread cimport PyThread_get_thread_ident
from libc.stdint cimport int8_t, int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, memmove, memset

from ..errors import JellyError, OptionsError, OrderError, TermError, WireError
from .text import columns as reference_columns
from .common import options as reference_options
from .rdf import decoder as reference_decoder
from .rdf import encoder as reference_encoder
from .text import forms, lines, ntriples
from .patch import rules as patch_rules
from .rdf import rules
from .common import positions, terms
from .patch import columns as reference_patch_columns
from .patch import decoder as reference_patch_decoder
from .patch import encoder as reference_patch_encoder
from .common import row_reader as reference_rows
from .common import term_reader as reference_terms
from .common import term_writer as reference_writer
from .text import transcoding as reference_text
from .rdf.decoder import Frame
from .common.limits import DEFAULT_LIMITS, ROW_OVERHEAD, over
from .common.term_reader import Checkpoint
from .patch.operations import Header, Namespace, Operation, OperationKind
from .common.options import PhysicalType, StreamOptions
from .patch.decoder import PatchFrame
from .patch.options import PatchStatementType
from .patch.encoder import check_width
from .common.terms import XSD_STRING, BlankNode, GenericFactory, Iri, Kind, Literal, Quad, Triple
from .common.wire import string_field

cdef size_t CACHE_ENTRIES = reference_terms.CACHE_ENTRIES
cdef size_t CACHED_STRING = reference_terms.CACHED_STRING
cdef uint64_t LEAST_TRIPLE = reference_writer.LEAST_TRIPLE
cdef uint64_t LEAST_PREFIXES = reference_writer.LEAST_PREFIXES
cdef size_t LONG_TERM = reference_text.LONG_TERM
cdef size_t TEXT_CHUNK = reference_text.CHUNK
cdef bytes XSD_STRING_OBJECT = XSD_STRING.encode()
cdef const uint8_t *XSD_STRING_BYTES = <const uint8_t *> <const char *> XSD_STRING_OBJECT
cdef size_t XSD_STRING_SIZE = len(XSD_STRING_OBJECT)
cdef int INSIDE_GRAPH = rules.State.INSIDE_GRAPH

include "kernel/common/memory.pxi"
include "kernel/common/wire.pxi"
include "kernel/common/slots.pxi"
include "kernel/common/objects.pxi"
include "kernel/common/terms.pxi"
include "kernel/text/writer.pxi"
include "kernel/common/plain_terms.pxi"
include "kernel/common/validator.pxi"
include "kernel/common/reader.pxi"
include "kernel/common/validation.pxi"
include "kernel/rdf/decoder.pxi"
include "kernel/patch/reader.pxi"
include "kernel/patch/decoder.pxi"
include "kernel/text/decoder.pxi"
include "kernel/common/writer_table.pxi"
include "kernel/common/writer.pxi"
include "kernel/text/line_reader.pxi"
include "kernel/text/forms.pxi"
include "kernel/text/plain.pxi"
include "kernel/text/copying.pxi"
include "kernel/text/encoder.pxi"
include "kernel/text/columns.pxi"
include "kernel/text/column_decoder.pxi"
include "kernel/patch/columns.pxi"
include "kernel/rdf/encoder.pxi"
include "kernel/patch/encoder.pxi"

# Whether this build is for finding memory errors.
poisoned = IS_POISONED

load_reader_rules()
load_patch_rules()
load_writer_rules()
load_line_rules()
load_validation_rules()
if (IRI, BLANK_NODE, LITERAL, TRIPLE, DEFAULT_GRAPH) != tuple(Kind):
    raise ImportError("the kernel's kinds of terms are not those of codec.common.terms")
if (
    ROW_OPTIONS, ROW_TRIPLE, ROW_QUAD, ROW_GRAPH_START, ROW_GRAPH_END, ROW_NAMESPACE,
    ROW_NAME, ROW_PREFIX, ROW_DATATYPE,
) != tuple(rules.Row):
    raise ImportError("the kernel's rows are not those of codec.rdf.rules")
if (
    PATCH_OPTIONS, PATCH_ADD, PATCH_DELETE, PATCH_NAMESPACE_ADD, PATCH_NAMESPACE_DELETE,
    PATCH_START, PATCH_COMMIT, PATCH_ABORT, PATCH_NAME, PATCH_PREFIX, PATCH_DATATYPE,
    PATCH_HEADER, PATCH_PUNCTUATION,
) != reference_patch_decoder.ROWS:
    raise ImportError("the kernel's rows are not those of codec.patch.rules")
