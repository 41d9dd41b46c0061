# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True,
# initializedcheck=False, allow_none_for_extension_args=False
"""The compiled form of ``boundaries``, which is its reference: same results, called for each chunk
of a log instead of for each message.

For maintainers: compare a position with the end before moving it; reserve memory before
writing.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE
from cpython.list cimport PyList_GET_SIZE
from cpython.object cimport PyTypeObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_Check, PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_SET_ITEM
from libc.stdint cimport uint8_t
from libc.string cimport memchr, memcpy, memset

from ..codec.rdf.rules import Row
from ..codec.common.terms import DEFAULT_GRAPH, Quad
from ..codec.common.wire import BYTES

cdef enum:
    ROW_TAG = 0x0A
    # Four bytes of a varint.
    SHORT_BITS = 28

cdef uint8_t OPTIONS_TAG = Row.OPTIONS << 3 | BYTES
cdef uint8_t TRIPLE_TAG = Row.TRIPLE << 3 | BYTES
cdef uint8_t QUAD_TAG = Row.QUAD << 3 | BYTES


cdef const uint8_t *line_end(const uint8_t *pos, const uint8_t *end) noexcept nogil:
    """The line feed or carriage return that ends a line, `end` if none does."""
    cdef const uint8_t *feed = <const uint8_t *> memchr(pos, c"\n", end - pos)
    cdef const uint8_t *carriage
    if feed == NULL:
        feed = end
    carriage = <const uint8_t *> memchr(pos, c"\r", feed - pos)
    return feed if carriage == NULL else carriage


cdef bint is_delimiter(const uint8_t *pos, const uint8_t *end) noexcept nogil:
    """Whether a line without its indentation and end is a delimiter."""
    cdef const uint8_t *word = <const uint8_t *> b"MESSAGE"
    cdef int at
    if end - pos < 7:
        return False
    for at in range(7):
        if pos[at] != word[at]:
            return False
    pos += 7
    while pos < end and (pos[0] == c" " or pos[0] == c"\t"):
        pos += 1
    return pos == end or pos[0] == c"#"


def count_lines(bytearray text not None, Py_ssize_t pos, long long line, long long open_,
                bint announced, list counts not None, list firsts not None):
    """See ``boundaries.count_lines``."""
    cdef uint8_t *start = <uint8_t *> PyByteArray_AS_STRING(text)
    cdef const uint8_t *end = start + PyByteArray_GET_SIZE(text)
    cdef const uint8_t *at = start + pos
    cdef const uint8_t *opening
    cdef const uint8_t *stop
    while at < end:
        opening = at
        while opening < end and (opening[0] == c" " or opening[0] == c"\t"):
            opening += 1
        stop = line_end(opening, end)
        if stop == end:
            break
        if opening == stop or opening[0] == c"#":
            pass
        elif announced and opening[0] == c"M" and is_delimiter(opening, stop):
            memset(start + (opening - start), c" ", stop - opening)
            if open_ == 0:
                firsts.append(line)
            counts.append(open_)
            open_ = 0
        elif opening[0] == c"M" or opening[0] == c"V" or opening[0] == c"@":
            break
        else:
            if open_ == 0:
                firsts.append(line)
            open_ += 1
        line += 1
        at = stop + 1
        if stop[0] == c"\r" and at < end and at[0] == c"\n":
            at += 1
    return at - start, line, open_


cdef inline const uint8_t *read_varint(const uint8_t *pos, const uint8_t *end, size_t *value,
                                       int bits) noexcept nogil:
    """Read a varint of at most so many bits, seven to a byte; NULL for any other."""
    cdef int shift = 0
    cdef uint8_t byte
    value[0] = 0
    while pos < end and shift < bits:
        byte = pos[0]
        value[0] |= <size_t> (byte & 0x7F) << shift
        pos += 1
        if byte < 0x80:
            return pos
        shift += 7
    return NULL


cdef inline bint is_statement(uint8_t tag) noexcept nogil:
    return tag == TRIPLE_TAG or tag == QUAD_TAG


cdef const uint8_t *next_row(const uint8_t *pos, const uint8_t *end,
                             uint8_t *tag) noexcept nogil:
    """Skip a row of our own; NULL if there is none."""
    cdef size_t size
    if pos >= end:
        return NULL
    pos = read_varint(pos + 1, end, &size, 63)
    if pos == NULL or size == 0 or size > <size_t> (end - pos):
        return NULL
    tag[0] = pos[0]
    return pos + size


cdef size_t put_varint(uint8_t *out, size_t value) noexcept nogil:
    cdef size_t size = 0
    while value > 0x7F:
        out[size] = value & 0x7F | 0x80
        value >>= 7
        size += 1
    out[size] = <uint8_t> value
    return size + 1


def cut_rows(bytes rows not None, bytes opening not None, long long statements,
             long long opening_rows, list counts not None, size_t max_bytes, long long max_rows):
    """See ``boundaries.cut_rows``."""
    cdef const uint8_t *first = <const uint8_t *> PyBytes_AS_STRING(rows)
    cdef const uint8_t *end = first + PyBytes_GET_SIZE(rows)
    cdef const uint8_t *start = first
    cdef const uint8_t *pos = first
    cdef Py_ssize_t opening_size = PyBytes_GET_SIZE(opening)
    # A copy: making a number of an item may run Python code, which may change the list.
    cdef tuple numbers = tuple(counts)
    cdef Py_ssize_t ended = 0
    cdef long long number = opening_rows
    cdef long long wanted
    cdef uint8_t tag = 0
    cdef size_t size
    # The length of a frame takes ten bytes at most.
    cdef bytes out = PyBytes_FromStringAndSize(
        NULL, opening_size + PyBytes_GET_SIZE(rows) + 10 * len(numbers)
    )
    cdef uint8_t *written = <uint8_t *> PyBytes_AS_STRING(out)
    for count in numbers:
        wanted = count
        while statements < wanted:
            pos = next_row(pos, end, &tag)
            if pos == NULL:
                raise ValueError("the rows have fewer statements than were counted")
            number += 1
            statements += is_statement(tag)
        size = opening_size + (pos - start)
        if size > max_bytes or number > max_rows:
            out = out[:written - <uint8_t *> PyBytes_AS_STRING(out)]
            return out, ended, start - first, number, statements
        written += put_varint(written, size)
        memcpy(written, PyBytes_AS_STRING(opening), opening_size)
        written += opening_size
        memcpy(written, start, pos - start)
        written += pos - start
        opening_size = 0
        start = pos
        ended += 1
        number = statements = 0
    while pos < end:
        pos = next_row(pos, end, &tag)
        if pos == NULL:
            raise ValueError("not rows of a message")
        number += 1
        statements += is_statement(tag)
    out = out[:written - <uint8_t *> PyBytes_AS_STRING(out)]
    return out, ended, start - first, number, statements


cdef bint count_rows(const uint8_t *pos, const uint8_t *end, long long *rows,
                     long long *statements) noexcept nogil:
    """Count a frame's rows; False if there are other rows than those of the usual form."""
    cdef size_t size
    cdef const uint8_t *stop
    cdef uint8_t tag
    rows[0] = statements[0] = 0
    while pos < end:
        if pos[0] != ROW_TAG:
            return False
        pos = read_varint(pos + 1, end, &size, SHORT_BITS)
        if pos == NULL or size < 2 or size > <size_t> (end - pos):
            return False
        stop = pos + size
        tag = pos[0]
        if tag >= 0x80 or tag & 7 != 2 or tag == OPTIONS_TAG:
            return False
        pos = read_varint(pos + 1, stop, &size, SHORT_BITS)
        if pos == NULL or size != <size_t> (stop - pos):
            return False
        rows[0] += 1
        statements[0] += is_statement(tag)
        pos = stop
    return True


def join_frames(bytes data not None, Py_ssize_t pos, list counts not None, list rows not None,
                size_t max_bytes, long long max_rows):
    """See ``boundaries.join_frames``."""
    cdef const uint8_t *first = <const uint8_t *> PyBytes_AS_STRING(data)
    cdef const uint8_t *end = first + PyBytes_GET_SIZE(data)
    cdef const uint8_t *at = first + pos
    cdef const uint8_t *start
    cdef long long total = 0
    cdef long long frame_rows
    cdef long long statements
    cdef size_t joined_size = 0
    cdef size_t size
    cdef bytes joined = PyBytes_FromStringAndSize(NULL, min(<size_t> (end - at), max_bytes))
    cdef uint8_t *written = <uint8_t *> PyBytes_AS_STRING(joined)
    while True:
        start = read_varint(at, end, &size, SHORT_BITS)
        if start == NULL or size > <size_t> (end - start) or joined_size + size > max_bytes:
            break
        if not count_rows(start, start + size, &frame_rows, &statements):
            break
        if total + frame_rows > max_rows:
            break
        total += frame_rows
        rows.append(frame_rows)
        counts.append(statements)
        memcpy(written + joined_size, start, size)
        joined_size += size
        at = start + size
    return joined[:joined_size], at - first


def weave(bytes text not None, list counts not None):
    """See ``boundaries.weave``."""
    cdef const uint8_t *start = <const uint8_t *> PyBytes_AS_STRING(text)
    cdef const uint8_t *end = start + PyBytes_GET_SIZE(text)
    cdef const uint8_t *pos = start
    # A copy, as in `cut_rows`.
    cdef tuple numbers = tuple(counts)
    cdef bytes out = PyBytes_FromStringAndSize(NULL, PyBytes_GET_SIZE(text) + 8 * len(numbers))
    cdef uint8_t *written = <uint8_t *> PyBytes_AS_STRING(out)
    cdef long long left
    for count in numbers:
        left = count
        while left > 0:
            pos = <const uint8_t *> memchr(pos, c"\n", end - pos)
            if pos == NULL:
                raise ValueError("the text has fewer lines than were counted")
            pos += 1
            left -= 1
        memcpy(written, start, pos - start)
        written += pos - start
        memcpy(written, <const char *> b"MESSAGE\n", 8)
        written += 8
        start = pos
    return out[:written - <uint8_t *> PyBytes_AS_STRING(out)]



cdef extern from *:
    """
    static PyObject *allocated(PyTypeObject *type, Py_ssize_t size) {
        return type->tp_alloc(type, size);
    }
    """
    object allocated(PyTypeObject *type, Py_ssize_t size)


def in_default_graph(list triples not None):
    """See ``boundaries.in_default_graph``."""
    cdef Py_ssize_t position
    cdef list quads = []
    for triple in triples:
        if not PyTuple_Check(triple) or PyTuple_GET_SIZE(triple) != 3:
            raise TypeError("a triple must be a tuple of three terms")
        # What the named tuple's constructor does, but for making a tuple first.
        quad = allocated(<PyTypeObject *> Quad, 4)
        for position in range(3):
            term = <object> PyTuple_GET_ITEM(triple, position)
            Py_INCREF(term)
            PyTuple_SET_ITEM(quad, position, term)
        Py_INCREF(DEFAULT_GRAPH)
        PyTuple_SET_ITEM(quad, 3, DEFAULT_GRAPH)
        quads.append(quad)
    return quads
