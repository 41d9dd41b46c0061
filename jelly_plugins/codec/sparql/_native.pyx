# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The compiled half of Jelly-SPARQL: columns of the usual form. `term_reader` and `layouts` are its
reference.

There are no rules here that could differ: whatever is not of the usual form, or wrong, makes
`read_column` return None, and the reference reads the column or says what is wrong with it. All
state is the reference's (`ResultsTermReader`), and what was counted is put back first.

Memory: only the frame's bytes are read by pointer, each read after a comparison with the end; the
caller holds them for the length of a call, and nothing that is kept points into them.
"""

import os

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItem, PyDict_SetItem
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE, PyList_New, PyList_SET_ITEM
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_Check, PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_GetSlice
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from ...errors import TermError
from ..common import term_reader as reference_terms
from ..common import terms
from ..common.terms import BlankNode, GenericFactory, Iri, Literal, Quad, Triple
from ..common.limits import ROW_OVERHEAD
from ..text.columns import Column, ColumnFactory
from .layouts import put_run

include "../kernel/common/memory.pxi"
include "../kernel/common/slots.pxi"
include "../kernel/common/objects.pxi"

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
    """Read a varint of 32 bits; NULL if there is none in its shortest forms."""
    cdef uint64_t result = 0
    cdef int shift = 0
    cdef uint8_t byte
    while pos < end and shift < 35:
        byte = pos[0]
        pos += 1
        result |= (<uint64_t> (byte & 0x7F)) << shift
        if byte < 0x80:
            if result >> 32:
                return NULL
            value[0] = <uint32_t> result
            return pos
        shift += 7
    return NULL


cdef inline const uint8_t *read_span(const uint8_t *pos, const uint8_t *end,
                                     Span *span) noexcept nogil:
    """Read a length and find what it is of; return the position after that, or NULL."""
    cdef uint32_t size
    pos = read_uint32(pos, end, &size)
    if pos == NULL or <uint64_t> size > <uint64_t> (end - pos):
        return NULL
    span.start = pos
    span.stop = pos + size
    return span.stop


cdef bint read_packed(Span span, Numbers *numbers) noexcept nogil:
    """Read all numbers of a packed field; False if one is malformed, or without memory."""
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


cdef object IRI_KIND = terms.Kind.IRI
cdef object LITERAL_KIND = terms.Kind.LITERAL
cdef int PREFIX_SHIFT = reference_terms._PREFIX_SHIFT


# Writing


cdef inline bint are_equal(object cell, object last) except -1:
    """Whether two cells are one term."""
    if cell is last:
        return True
    if cell is None or last is None:
        return False
    if KNOWN_TERMS and type(cell) is Iri and type(last) is Iri:
        return slot_value(cell, IRI_VALUE) == slot_value(last, IRI_VALUE)
    return cell == last


def described(writer, list cells):
    """See `_ColumnWriter.described`."""
    cdef dict known = writer._described
    cdef dict iris = writer.known_iris
    cdef list found = []
    cdef PyObject *kept
    cdef Py_ssize_t size, cut
    cdef const uint8_t *bytes_
    cdef bint split = writer._prefixes.size > 0
    cdef bint usual = writer._describe_term is terms.describe
    cdef Py_ssize_t longest = max(
        0, min(writer._limits.string_bytes, writer._limits.frame_bytes - ROW_OVERHEAD, 1 << 62)
    )
    for term in cells:
        if usual and KNOWN_TERMS and type(term) is Iri:
            value = slot_value(term, IRI_VALUE)
            kept = PyDict_GetItem(iris, value) if type(value) is str else NULL
            if kept != NULL:
                found.append(<object> kept)
                continue
            if type(value) is str and PyUnicode_IS_ASCII(value) and len(value) <= longest:
                # As `_encoded` and `_cut` have it.
                size = cut = PyUnicode_GET_LENGTH(value)
                bytes_ = <const uint8_t *> PyUnicode_DATA(value)
                if not split:
                    cut = 0
                while cut and bytes_[cut - 1] != c"#" and bytes_[cut - 1] != c"/":
                    cut -= 1
                each = (IRI_KIND, size, value[:cut], value[cut:])
            else:
                each = writer.describe_term(term)
            if len(iris) >= CACHE_ENTRIES:
                iris.clear()
            iris[value] = each
        elif usual and KNOWN_TERMS and type(term) is Literal:
            lex = slot_value(term, LITERAL_LEX)
            langtag = slot_value(term, LITERAL_LANGTAG)
            datatype = slot_value(term, LITERAL_DATATYPE)
            try:
                # The strings of one kind of term are never those of another.
                kept = PyDict_GetItem(iris, (lex, langtag, datatype))
            except TypeError:
                # Not of strings: the reference says so.
                writer.describe_term(term)
                raise
            if kept != NULL:
                found.append(<object> kept)
                continue
            if (
                langtag is None
                and (datatype is None or datatype in iris)
                and type(lex) is str and PyUnicode_IS_ASCII(lex) and len(lex) <= longest
            ):
                size = PyUnicode_GET_LENGTH(lex)
                raw = PyBytes_FromStringAndSize(<const char *> PyUnicode_DATA(lex), size)
                each = (LITERAL_KIND, size, raw, datatype)
            else:
                each = writer.describe_term(term)
            if len(iris) >= CACHE_ENTRIES:
                iris.clear()
            iris[lex, langtag, datatype] = each
            if langtag is None and datatype is not None and datatype not in iris:
                # It was looked at; as an IRI it is described so too.
                iris[datatype] = writer.describe_term(Iri(datatype))
        else:
            try:
                kept = PyDict_GetItem(known, term)
            except TypeError:
                kept = NULL
            each = writer.describe_term(term) if kept == NULL else <object> kept
        found.append(each)
    return found


def joined(int number, list values):
    """A field for the third part of each of some descriptions, which is bytes."""
    cdef Py_ssize_t total = 0
    cdef Py_ssize_t size, rest
    cdef char *into
    cdef bytes raw
    for value in values:
        total += PyBytes_GET_SIZE(<bytes> value[2]) + 11
    made = PyBytes_FromStringAndSize(NULL, total)
    into = PyBytes_AS_STRING(made)
    for value in values:
        raw = <bytes> value[2]
        size = rest = PyBytes_GET_SIZE(raw)
        into[0] = <char> (number << 3 | 2)
        into += 1
        while rest > 0x7F:
            into[0] = <char> (rest & 0x7F | 0x80)
            rest >>= 7
            into += 1
        into[0] = <char> rest
        into += 1
        memcpy(into, PyBytes_AS_STRING(raw), size)
        into += size
    return made[: into - <char *> PyBytes_AS_STRING(made)]


def pack(list numbers):
    """Numbers as the payload of a packed field."""
    cdef Py_ssize_t count = PyList_GET_SIZE(numbers)
    cdef uint8_t *into = <uint8_t *> PyMem_RawMalloc(count * 10 + 1)
    cdef Py_ssize_t size = 0
    cdef uint64_t value
    if into == NULL:
        raise MemoryError
    try:
        for number in numbers:
            value = number
            while value > 0x7F:
                into[size] = <uint8_t> (value & 0x7F | 0x80)
                value >>= 7
                size += 1
            into[size] = <uint8_t> value
            size += 1
        return PyBytes_FromStringAndSize(<const char *> into, size)
    finally:
        PyMem_RawFree(into)


def squeeze(cells):
    """See `layouts.squeeze`."""
    cdef list values = []
    cdef list layouts = []
    cdef Py_ssize_t skip = 0
    cdef Py_ssize_t run = 0
    cdef object last = None
    for cell in cells:
        if are_equal(cell, last):
            run += 1
            continue
        if run:
            if last is None:
                put_run(layouts, skip, 16, run - 1)
                skip = 0
            elif run == 1:
                skip += 1
            else:
                put_run(layouts, skip, 0, run - 2)
                skip = 0
        if cell is not None:
            values.append(cell)
        last = cell
        run = 1
    if last is not None and run >= 2:
        put_run(layouts, skip, 0, run - 2)
    return values, layouts
