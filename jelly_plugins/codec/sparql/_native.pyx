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
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from ...errors import TermError
from ..common import term_reader as reference_terms
from ..common import terms
from ..common.terms import BlankNode, GenericFactory, Iri, Literal, Quad, Triple
from ..common.limits import ROW_OVERHEAD
from ..text.columns import ColumnFactory
from .layouts import put_run

include "../kernel/common/memory.pxi"
include "../kernel/common/slots.pxi"
include "../kernel/common/objects.pxi"

cdef Py_ssize_t CACHED_STRING = reference_terms.CACHED_STRING
cdef Py_ssize_t CACHE_ENTRIES = reference_terms.CACHE_ENTRIES
cdef Py_ssize_t CACHE_CHARACTERS = reference_terms.CACHE_CHARACTERS

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


def read_column(reader, int number, bytes data, Py_ssize_t start, Py_ssize_t stop,
                Py_ssize_t rows):
    """The cells of a column, or None where the reference has to read it.

    :param reader: a ``ResultsTermReader``.
    """
    cdef const uint8_t *base = <const uint8_t *> PyBytes_AS_STRING(data)
    cdef const uint8_t *pos = base + start
    cdef const uint8_t *end = base + stop
    cdef Span span
    cdef Span layout = Span(NULL, NULL)
    cdef Span names = Span(NULL, NULL)
    cdef Span prefixes = Span(NULL, NULL)
    cdef uint32_t datatype = 0
    cdef bint has_datatype = False
    cdef bint lexes = False
    cdef uint8_t tag
    cdef list values = []
    before = reader.expansion
    literals = None
    while pos < end:
        tag = pos[0]
        pos += 1
        if tag == 0x20 and number == LITERALS and not has_datatype:
            has_datatype = True
            pos = read_uint32(pos, end, &datatype)
            if pos == NULL:
                return None
            continue
        pos = read_span(pos, end, &span)
        if pos == NULL:
            return None
        if tag == 0x12:
            if layout.start != NULL:
                return None
            layout = span
        elif number == IRIS:
            if tag == 0x0A and names.start == NULL:
                names = span
            elif tag == 0x1A and prefixes.start == NULL:
                prefixes = span
            else:
                return None
        elif tag == 0x1A and number == LITERALS:
            lexes = True
        elif tag != 0x0A:
            return None
    try:
        if number == IRIS:
            values = _iris(reader, names, prefixes)
        elif number == LITERALS and lexes:
            values = _same_literals(reader, base + start, end, datatype)
        elif has_datatype:
            return None
        else:
            values = _others(reader, number, data, base, base + start, end)
    except (ValueError, TypeError):
        values = None
    cells = None if values is None else _expanded(values, layout, rows)
    if cells is None:
        reader.expansion = before
    return cells


cdef bint is_plain(str text, bint iri):
    """Whether a text of ASCII has nothing to escape, as an IRI or in a string."""
    cdef const uint8_t *bytes_
    cdef uint8_t byte
    cdef Py_ssize_t at
    if not PyUnicode_IS_ASCII(text):
        return False
    bytes_ = <const uint8_t *> PyUnicode_DATA(text)
    for at in range(PyUnicode_GET_LENGTH(text)):
        byte = bytes_[at]
        if byte < 0x20 or byte == c'"' or byte == c"\\" or byte >= 0x7F:
            return False
        if iri and (
            byte == 0x20 or byte == c"<" or byte == c">" or byte == c"^" or byte == c"`"
            or byte >= c"{"
        ):
            return False
    return True


cdef object enclosed(uint8_t opening, str text, bytes closing):
    """A plain text between others, as bytes."""
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(text)
    cdef Py_ssize_t rest = PyBytes_GET_SIZE(closing)
    cdef object made = PyBytes_FromStringAndSize(NULL, 1 + size + rest)
    cdef char *into = PyBytes_AS_STRING(made)
    into[0] = <char> opening
    memcpy(into + 1, PyUnicode_DATA(text), size)
    memcpy(into + 1 + size, PyBytes_AS_STRING(closing), rest)
    return made


cdef class _IriMaker:
    """Makes IRIs of two ids as `TermReader._found_iri` does; None where that has to."""

    cdef object reader
    cdef list name_keys
    cdef list prefix_keys
    cdef list last_iris
    cdef list name_values
    cdef list prefix_values
    cdef dict made
    cdef object make
    cdef bint generic
    cdef bint columns
    cdef Py_ssize_t longest
    cdef Py_ssize_t most
    cdef Py_ssize_t expansion
    cdef uint32_t held
    cdef object prefix_key

    def __cinit__(self, reader):
        self.reader = reader
        self.name_keys = reader._name_keys
        self.prefix_keys = reader._prefix_keys
        self.last_iris = reader._last_iris
        self.name_values = reader.names.values
        self.prefix_values = reader.prefixes.values
        self.made = reader._iris
        self.make = reader._factory.iri
        self.generic = KNOWN_TERMS and type(reader._factory) is GenericFactory
        self.columns = type(reader._factory) is ColumnFactory
        self.longest = min(reader._limits.string_bytes, 1 << 62)
        self.most = min(reader._limits.frame_expansion, 1 << 62)
        self.expansion = reader.expansion
        self.held = <uint32_t> -1
        self.prefix_key = -1

    cdef object get(self, uint32_t prefix_id, uint32_t name_id):
        cdef object name_key, found, key, term
        cdef PyObject *kept
        cdef str value
        cdef Py_ssize_t size
        if (
            name_id >= PyList_GET_SIZE(self.name_keys)
            or prefix_id >= PyList_GET_SIZE(self.prefix_keys)
        ):
            return None
        if prefix_id != self.held:
            self.held = prefix_id
            self.prefix_key = <object> PyList_GET_ITEM(self.prefix_keys, prefix_id)
        name_key = <object> PyList_GET_ITEM(self.name_keys, name_id)
        if name_key <= 0 or self.prefix_key < 0:
            return None
        found = <object> PyList_GET_ITEM(self.last_iris, name_id)
        key = self.prefix_key + name_key
        if <object> PyTuple_GET_ITEM(found, 0) == key:
            return <object> PyTuple_GET_ITEM(found, 1)
        value = <str> PyList_GET_ITEM(self.name_values, name_id)
        if prefix_id:
            value = (<str> PyList_GET_ITEM(self.prefix_values, prefix_id)) + value
        size = PyUnicode_GET_LENGTH(value)
        self.expansion += size
        if size > self.longest or self.expansion > self.most:
            return None
        kept = PyDict_GetItem(self.made, key)
        if kept != NULL:
            term = <object> kept
        else:
            if self.generic:
                term = new_iri(value)
            elif self.columns and size < CACHED_STRING and is_plain(value, True):
                term = enclosed(c"<", value, b">")
            else:
                term = self.make(value)
        if size <= CACHED_STRING:
            if kept == NULL:
                self.reader._iri_characters += size
                if (
                    len(self.made) >= CACHE_ENTRIES
                    or self.reader._iri_characters > CACHE_CHARACTERS
                ):
                    self.made.clear()
                    self.reader._iri_characters = size
                PyDict_SetItem(self.made, key, term)
            self.last_iris[name_id] = (key, term)
        return term


cdef list _iris(reader, Span names, Span prefixes):
    cdef Numbers name_ids = Numbers(NULL, 0)
    cdef Numbers prefix_ids = Numbers(NULL, 0)
    cdef list terms = []
    cdef uint32_t prefix_id = 0
    cdef uint32_t name_id = 0
    cdef Py_ssize_t at
    cdef bint each
    cdef object term
    cdef _IriMaker maker = _IriMaker(reader)
    try:
        if not read_packed(names, &name_ids) or not read_packed(prefixes, &prefix_ids):
            return None
        each = prefix_ids.count == name_ids.count
        if not each:
            if prefix_ids.count > 1:
                return None
            if prefix_ids.count:
                prefix_id = prefix_ids.values[0]
        for at in range(name_ids.count):
            if each and prefix_ids.values[at]:
                prefix_id = prefix_ids.values[at]
            if name_ids.values[at]:
                name_id = name_ids.values[at]
            elif name_id == <uint32_t> -1:
                return None
            else:
                name_id += 1
            term = maker.get(prefix_id, name_id)
            if term is None:
                return None
            terms.append(term)
        reader.expansion = maker.expansion
        return terms
    finally:
        PyMem_RawFree(name_ids.values)
        PyMem_RawFree(prefix_ids.values)


cdef list _same_literals(reader, const uint8_t *pos, const uint8_t *end, uint32_t datatype_id):
    cdef dict made = {}
    cdef list terms = []
    cdef Span span
    cdef uint32_t skipped
    cdef uint8_t tag
    cdef PyObject *known
    cdef Py_ssize_t longest = min(reader._limits.string_bytes, 1 << 62)
    cdef object make = reader._build_literal
    cdef bint generic = KNOWN_TERMS and type(reader._factory) is GenericFactory
    cdef bint columns = type(reader._factory) is ColumnFactory
    cdef bytes closing = b""
    datatype = reader.datatypes.get(datatype_id) if datatype_id else None
    # What the reference counts for each value.
    cdef Py_ssize_t size = 0
    cdef Py_ssize_t again = 0
    while pos < end:
        tag = pos[0]
        if tag == 0x20:
            pos = read_uint32(pos + 1, end, &skipped)
            if pos == NULL:
                return None
            continue
        pos = read_span(pos + 1, end, &span)
        if pos == NULL:
            return None
        if tag == 0x12:
            continue
        if tag != 0x1A or span.stop - span.start > longest:
            return None
        lex = PyUnicode_DecodeUTF8(<const char *> span.start, span.stop - span.start, NULL)
        known = PyDict_GetItem(made, lex)
        if known == NULL:
            if generic and size:
                # The first was made by the reference, which has looked at the datatype.
                term = new_literal(lex, None, datatype)
                again += size
            elif columns and size and size + len(lex) < CACHED_STRING and is_plain(lex, False):
                term = enclosed(c'"', lex, closing)
                again += size
            else:
                term, size = make(lex, None, datatype)
                if columns and size:
                    closing = term[(<bytes> term).rfind(b'"'):]
            PyDict_SetItem(made, lex, term)
        else:
            term = <object> known
            again += size
        terms.append(term)
    if again:
        reader._expand(again)
    return terms


cdef list _others(reader, int number, bytes data, const uint8_t *base, const uint8_t *pos,
                  const uint8_t *end):
    """Values one by one: blank nodes, literals, or terms of a mixed column."""
    cdef list terms = []
    cdef Span span
    cdef Span inner
    cdef uint8_t tag
    cdef uint8_t kind = 0x12 if number == BLANK_NODES else 0x1A
    cdef PyObject *known
    cdef dict literals = reader._literals
    cdef dict nodes = reader._blank_nodes
    cdef bint generic = KNOWN_TERMS and type(reader._factory) is GenericFactory
    cdef Py_ssize_t longest = min(reader._limits.string_bytes, CACHED_STRING)
    cdef uint32_t ids[2]
    cdef uint32_t prefix_id = 0
    cdef uint32_t name_id = 0
    cdef const uint8_t *at
    cdef _IriMaker maker = None
    cdef object term, raw
    literal = reader.literal
    blank_node = reader.blank_node
    while pos < end:
        tag = pos[0]
        pos = read_span(pos + 1, end, &span)
        if pos == NULL:
            return None
        if tag == 0x12:
            continue
        if number == MIXED:
            if span.start == span.stop:
                return None
            kind = span.start[0]
            if read_span(span.start + 1, span.stop, &inner) != span.stop:
                return None
            span = inner
        if kind == 0x0A:
            ids[0] = ids[1] = 0
            at = span.start
            if at < span.stop and at[0] == 0x08:
                at = read_uint32(at + 1, span.stop, &ids[0])
            if at != NULL and at < span.stop and at[0] == 0x10:
                at = read_uint32(at + 1, span.stop, &ids[1])
            if at != span.stop or (ids[1] == 0 and name_id == <uint32_t> -1):
                return None
            prefix_id = ids[0] if ids[0] else prefix_id
            name_id = ids[1] if ids[1] else name_id + 1
            if maker is None:
                maker = _IriMaker(reader)
            maker.expansion = reader.expansion
            term = maker.get(prefix_id, name_id)
            if term is None:
                return None
            reader.expansion = maker.expansion
            terms.append(term)
            continue
        if kind != 0x12 and kind != 0x1A:
            return None
        raw = span.start[: span.stop - span.start]
        known = PyDict_GetItem(nodes if kind == 0x12 else literals, raw)
        if kind == 0x12:
            if known != NULL:
                term = <object> known
            elif generic and span.stop - span.start <= longest:
                term = new_blank_node(raw.decode())
                if len(nodes) >= CACHE_ENTRIES:
                    nodes.clear()
                nodes[raw] = term
            else:
                term = blank_node(data, span.start - base, span.stop - base)
        elif known != NULL and not (<object> known)[1]:
            term = (<object> known)[0]
        else:
            term = None
            if generic and known == NULL and span.stop - span.start <= longest:
                term = _plain_literal(span)
                if term is not None:
                    if len(literals) >= CACHE_ENTRIES:
                        literals.clear()
                    literals[raw] = (term, 0)
            if term is None:
                term = literal(data, span.start - base, span.stop - base)
        terms.append(term)
    return terms


cdef object _plain_literal(Span span):
    """A literal without a datatype, with a language tag or none; None for any other."""
    cdef const uint8_t *pos = span.start
    cdef Span part
    cdef object lex = ""
    cdef object langtag = None
    if pos < span.stop and pos[0] == 0x0A:
        pos = read_span(pos + 1, span.stop, &part)
        if pos == NULL:
            return None
        lex = PyUnicode_DecodeUTF8(<const char *> part.start, part.stop - part.start, NULL)
    if pos < span.stop and pos[0] == 0x12:
        pos = read_span(pos + 1, span.stop, &part)
        if pos == NULL or part.start == part.stop:
            return None
        langtag = PyUnicode_DecodeUTF8(<const char *> part.start, part.stop - part.start, NULL)
    return new_literal(lex, langtag, None) if pos == span.stop else None


cdef list _expanded(list values, Span layout, Py_ssize_t rows):
    """What `layouts.expand` gives; None where it raises."""
    cdef Numbers tokens = Numbers(NULL, 0)
    cdef Py_ssize_t size = PyList_GET_SIZE(values)
    cdef Py_ssize_t at = 0
    cdef Py_ssize_t row = 0
    cdef Py_ssize_t length, skip, place
    cdef Py_ssize_t run = 0
    cdef uint32_t token
    cdef list cells
    cdef PyObject *value
    if layout.start == layout.stop and size == rows:
        return values
    try:
        if not read_packed(layout, &tokens):
            return None
        cells = [None] * rows
        while run < tokens.count:
            token = tokens.values[run]
            run += 1
            length = token & 15
            if length == 15:
                if run == tokens.count:
                    return None
                length += tokens.values[run]
                run += 1
            skip = token >> 5
            if skip > size - at or skip > rows - row:
                return None
            for place in range(skip):
                cells[row] = <object> PyList_GET_ITEM(values, at)
                row += 1
                at += 1
            if token & 16:
                length += 1
                if length > rows - row:
                    return None
                row += length
            else:
                length += 2
                if at == size or length > rows - row:
                    return None
                for place in range(length):
                    cells[row] = <object> PyList_GET_ITEM(values, at)
                    row += 1
                at += 1
        if size - at > rows - row:
            return None
        while at < size:
            cells[row] = <object> PyList_GET_ITEM(values, at)
            row += 1
            at += 1
        return cells
    finally:
        PyMem_RawFree(tokens.values)


def enter_packed(reader, bint prefixes, bytes data, Py_ssize_t start, Py_ssize_t stop):
    """Read packed entries of names or prefixes; False, with nothing done, where the reference has
    to."""
    cdef const uint8_t *base = <const uint8_t *> PyBytes_AS_STRING(data)
    cdef const uint8_t *pos = base + start
    cdef const uint8_t *end = base + stop
    cdef Span span
    cdef uint32_t entry_id = 0
    cdef Py_ssize_t count = 0
    cdef uint64_t bytes_ = 0
    cdef Py_ssize_t longest = min(reader._limits.string_bytes, 1 << 62)
    table = reader.prefixes if prefixes else reader.names
    cdef list values = table.values
    cdef list keys = reader._prefix_keys if prefixes else reader._name_keys
    cdef list last_iris = reader._last_iris
    cdef list found = []
    cdef Py_ssize_t at
    if pos < end and pos[0] == 0x08:
        pos = read_uint32(pos + 1, end, &entry_id)
        if pos == NULL:
            return False
    try:
        while pos < end:
            if pos[0] != 0x12:
                return False
            pos = read_span(pos + 1, end, &span)
            if pos == NULL or span.stop - span.start > longest:
                return False
            bytes_ += span.stop - span.start
            found.append(
                PyUnicode_DecodeUTF8(<const char *> span.start, span.stop - span.start, NULL)
            )
    except UnicodeDecodeError:
        return False
    count = PyList_GET_SIZE(found)
    if count == 0:
        return True
    cdef uint64_t first = entry_id if entry_id else table._last + 1
    if (
        first > <uint64_t> PyList_GET_SIZE(values)
        or first + count - 1 > <uint64_t> table.size
        or table.characters + bytes_ > reader._limits.lookup_characters
        or PyList_GET_SIZE(keys) > PyList_GET_SIZE(values)
    ):
        return False
    while PyList_GET_SIZE(keys) < PyList_GET_SIZE(values):
        keys.append(-1)
    cdef Py_ssize_t characters = table.characters
    serial = reader._serial
    shift = PREFIX_SHIFT if prefixes else 0
    for at in range(count):
        value = <str> PyList_GET_ITEM(found, at)
        serial += 1
        characters += PyUnicode_GET_LENGTH(value)
        if first + at == <uint64_t> PyList_GET_SIZE(values):
            values.append(value)
            keys.append(serial << shift)
        else:
            before = values[first + at]
            if before is not None:
                characters -= PyUnicode_GET_LENGTH(before)
            values[first + at] = value
            keys[first + at] = serial << shift
    if not prefixes:
        while PyList_GET_SIZE(last_iris) < PyList_GET_SIZE(values):
            last_iris.append((0, None))
    table.characters = characters
    table._last = first + count - 1
    reader._serial = serial
    return True


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
