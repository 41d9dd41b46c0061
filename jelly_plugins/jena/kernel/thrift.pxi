# Thrift's compact protocol: rows of the usual form, as writers have them: fields in order, each
# with its step from the one before. Nothing here needs the GIL.

cdef enum:
    # Headers of fields: the step from the field before, and the type.
    STRING_1 = 0x18
    STRING_2 = 0x28
    STRING_3 = 0x38
    STRUCT_1 = 0x1C
    STRUCT_2 = 0x2C
    STRUCT_3 = 0x3C
    STRUCT_4 = 0x4C


cdef struct Bytes:
    # The position in the readable bytes.
    const uint8_t *pos
    const uint8_t *end
    size_t string_bytes


cdef inline int next_byte(Bytes *at) noexcept nogil:
    """The next byte; -1 if there is none."""
    if at.pos == at.end:
        return -1
    at.pos += 1
    return (at.pos - 1)[0]


cdef inline bint is_next(Bytes *at, int byte) noexcept nogil:
    """Whether the next byte is this one, and take it."""
    if at.pos == at.end or at.pos[0] != byte:
        return False
    at.pos += 1
    return True


cdef inline bint thrift_string(Bytes *at, Slice *text) noexcept nogil:
    cdef size_t size
    cdef int shift = 7
    cdef int byte = next_byte(at)
    if byte < 0:
        return False
    size = byte & 0x7F
    while byte & 0x80:
        byte = next_byte(at)
        if byte < 0:
            return False
        if shift > 21:
            # Longer than strings may be; the reference raises the error.
            return False
        size |= <size_t> (byte & 0x7F) << shift
        shift += 7
    if size > at.string_bytes or size > <size_t> (at.end - at.pos):
        return False
    text[0] = Slice(at.pos, size)
    at.pos += size
    return True


cdef inline bint thrift_prefix_name(Bytes *at, Slice *prefix, Slice *local) noexcept nogil:
    return (is_next(at, STRING_1) and thrift_string(at, prefix) and is_next(at, STRING_1)
            and thrift_string(at, local) and is_next(at, 0))


cdef inline bint thrift_term(Bytes *at, RowTerm *term) noexcept nogil:
    """Read a term after its field's header."""
    cdef const uint8_t *start = at.pos
    cdef int header = next_byte(at)
    if header == STRUCT_1 or header == STRUCT_2:
        term.kind = IRI if header == STRUCT_1 else BLANK_NODE
        if not (is_next(at, STRING_1) and thrift_string(at, &term.text) and is_next(at, 0)
                and is_next(at, 0)):
            return False
    elif header == STRUCT_3:
        term.kind = LITERAL
        if not (is_next(at, STRING_1) and thrift_string(at, &term.text)
                and thrift_literal(at, term) and is_next(at, 0)):
            return False
    elif header == STRUCT_4:
        term.kind = PREFIX_NAME
        if not (thrift_prefix_name(at, &term.text, &term.local) and is_next(at, 0)):
            return False
    else:
        return False
    term.wire = Slice(start, at.pos - start)
    return True


cdef inline bint thrift_literal(Bytes *at, RowTerm *term) noexcept nogil:
    """Read the rest of a literal after its lexical form."""
    cdef int header = next_byte(at)
    term.langtag.size = 0
    term.datatype.size = 0
    term.has_prefix = False
    if header == 0:
        return True
    if header == STRING_1:
        # An empty one is none, and stays the reference's.
        return thrift_string(at, &term.langtag) and term.langtag.size and is_next(at, 0)
    if header == STRING_2:
        return thrift_string(at, &term.datatype) and term.datatype.size and is_next(at, 0)
    if header == STRUCT_3:
        term.has_prefix = True
        return thrift_prefix_name(at, &term.prefix, &term.datatype) and is_next(at, 0)
    return False


cdef bint thrift_row(Bytes *at, Row *row) noexcept nogil:
    """Read a row; False if it is none of the usual form, or not complete."""
    cdef int header = next_byte(at)
    cdef int position
    if header != STRUCT_2 and header != STRUCT_3:
        return False
    for position in range(3):
        if not is_next(at, STRUCT_1) or not thrift_term(at, &row.terms[position]):
            return False
    row.width = 3
    if header == STRUCT_3:
        # One without a graph is for the reference.
        row.width = 4
        if not is_next(at, STRUCT_1) or not thrift_term(at, &row.terms[3]):
            return False
    return is_next(at, 0) and is_next(at, 0)
