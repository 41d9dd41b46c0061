# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True,
# initializedcheck=False
"""The compiled part of Jelly-SPARQL. `term_reader`, `column_writer` and `layouts` are its
reference.

Reading: this module defines no rules. For an unusual form or an error a function returns None, and
the reference reads the column or reports the error. The reference (`ResultsTermReader`) has all the
state; before a function returns None, it restores the counters.

Writing: `ColumnWriter` has its own lookups, of the same type as those of the other encoders. The
reference describes or rejects unusual terms.

Memory: only the frame's bytes are read by pointer, and the code compares the position with the end
before each read. The caller holds the bytes during a call, and no pointer into them is kept. Each
column holds the objects whose bytes are written.
"""

import os

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItem, PyDict_GetItemWithError, PyDict_SetItem
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_Check, PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_GetSlice
from cpython.unicode cimport PyUnicode_AsUTF8String, PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from ...errors import TermError
from ..common import term_reader as reference_terms
from ..common import terms
from ..common.terms import BlankNode, GenericFactory, Iri, Literal, Quad, Triple
from ..common.limits import ROW_OVERHEAD, over
from ..common.term_writer import NoRoomError
from ..text.columns import Column, ColumnFactory
from . import column_writer as reference_writer
from .layouts import too_many

include "../kernel/common/memory.pxi"
include "../kernel/common/wire.pxi"
include "../kernel/common/slots.pxi"
include "../kernel/common/objects.pxi"
include "../kernel/common/writer_table.pxi"

cdef Py_ssize_t CACHED_STRING = reference_terms.CACHED_STRING
cdef Py_ssize_t CACHE_ENTRIES = reference_terms.CACHE_ENTRIES
cdef Py_ssize_t CACHE_CHARACTERS = reference_terms.CACHE_CHARACTERS

cdef object XSD_STRING = terms.XSD_STRING

cdef enum:
    IRIS = 7
    BLANK_NODES = 8
    LITERALS = 9
    MIXED = 10


cdef struct Span:
    const uint8_t *start
    const uint8_t *stop


cdef struct Numbers:
    # Numbers of a packed field; owned.
    uint32_t *values
    Py_ssize_t count


cdef inline const uint8_t *read_uint32(const uint8_t *pos, const uint8_t *end,
                                       uint32_t *value) noexcept nogil:
    """Read a varint of at most 32 bits; return NULL if it is malformed."""
    cdef uint64_t found
    pos = read_varint(pos, end, &found)
    if pos == NULL or found >> 32:
        return NULL
    value[0] = <uint32_t> found
    return pos


cdef inline const uint8_t *read_span(const uint8_t *pos, const uint8_t *end,
                                     Span *span) noexcept nogil:
    """Read a length and find its payload; return the position after the payload, or NULL."""
    cdef uint32_t size
    pos = read_uint32(pos, end, &size)
    if pos == NULL or <uint64_t> size > <uint64_t> (end - pos):
        return NULL
    span.start = pos
    span.stop = pos + size
    return span.stop


cdef bint read_packed(Span span, Numbers *numbers) noexcept nogil:
    """Read all numbers of a packed field; False if one is malformed or memory is exhausted."""
    cdef const uint8_t *pos = span.start
    cdef Py_ssize_t size = span.stop - span.start
    numbers.values = <uint32_t *> PyMem_RawMalloc((size + 1) * sizeof(uint32_t))
    numbers.count = 0
    if numbers.values == NULL:
        return False
    while pos < span.stop:
        pos = read_uint32(pos, span.stop, &numbers.values[numbers.count])
        if pos == NULL:
            return False
        numbers.count += 1
    return True


include "../kernel/sparql/frames.pxi"
include "../kernel/sparql/columns.pxi"
include "../kernel/sparql/text_columns.pxi"
include "../kernel/sparql/writing.pxi"


cdef int PREFIX_SHIFT = reference_terms._PREFIX_SHIFT
