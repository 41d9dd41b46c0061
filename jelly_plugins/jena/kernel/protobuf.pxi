# Protocol Buffers: rows of the usual form, as writers have them: fields in order, with short tags.
# Nothing here needs the GIL.

cdef enum:
    # Tags of fields.
    BYTES_1 = 1 << 3 | BYTES
    BYTES_2 = 2 << 3 | BYTES
    BYTES_3 = 3 << 3 | BYTES
    BYTES_4 = 4 << 3 | BYTES
    SIMPLE = 9 << 3 | VARINT


cdef inline const uint8_t *proto_bytes(const uint8_t *pos, const uint8_t *end, int tag,
                                       Slice *found) noexcept nogil:
    """Read a field of bytes with a tag; return the position after it, NULL if it is none."""
    cdef uint64_t size
    if end - pos < 2 or pos[0] != tag:
        return NULL
    if pos[1] < 0x80:
        size = pos[1]
        pos += 2
    else:
        pos = read_varint(pos + 1, end, &size)
        if pos == NULL:
            return NULL
    if size > <uint64_t> (end - pos):
        return NULL
    found[0] = Slice(pos, size)
    return pos + size


cdef inline bint proto_only(Slice message, int tag, Slice *found) noexcept nogil:
    """Whether a message has one field of bytes, or, where that is empty, none."""
    cdef const uint8_t *end = message.bytes + message.size
    if message.size == 0:
        found[0] = Slice(message.bytes, 0)
        return True
    return proto_bytes(message.bytes, end, tag, found) == end


cdef inline bint proto_prefix_name(Slice message, Slice *prefix, Slice *local) noexcept nogil:
    cdef const uint8_t *pos = message.bytes
    cdef const uint8_t *end = pos + message.size
    prefix[0] = local[0] = Slice(pos, 0)
    if pos < end and pos[0] == BYTES_1:
        pos = proto_bytes(pos, end, BYTES_1, prefix)
        if pos == NULL:
            return False
    if pos < end:
        pos = proto_bytes(pos, end, BYTES_2, local)
    return pos == end


cdef inline bint proto_literal(Slice message, RowTerm *term) noexcept nogil:
    cdef const uint8_t *pos = message.bytes
    cdef const uint8_t *end = pos + message.size
    cdef Slice name
    term.text = Slice(pos, 0)
    term.langtag.size = 0
    term.datatype.size = 0
    term.has_prefix = False
    if pos < end and pos[0] == BYTES_1:
        pos = proto_bytes(pos, end, BYTES_1, &term.text)
        if pos == NULL:
            return False
    if pos == end:
        return True
    if pos[0] == SIMPLE:
        return end - pos == 2 and pos[1] < 0x80
    if pos[0] == BYTES_2:
        return proto_bytes(pos, end, BYTES_2, &term.langtag) == end and term.langtag.size > 0
    if pos[0] == BYTES_3:
        return proto_bytes(pos, end, BYTES_3, &term.datatype) == end and term.datatype.size > 0
    term.has_prefix = True
    return (proto_bytes(pos, end, BYTES_4, &name) == end
            and proto_prefix_name(name, &term.prefix, &term.datatype))


cdef inline bint proto_term(Slice message, RowTerm *term, size_t string_bytes) noexcept nogil:
    cdef const uint8_t *end = message.bytes + message.size
    cdef Slice inner
    term.wire = message
    if message.size == 0 or message.size > string_bytes:
        # A longer term may have a string that is too long.
        return False
    if message.bytes[0] == BYTES_1:
        term.kind = IRI
        return (proto_bytes(message.bytes, end, BYTES_1, &inner) == end
                and proto_only(inner, BYTES_1, &term.text))
    if message.bytes[0] == BYTES_2:
        term.kind = BLANK_NODE
        return (proto_bytes(message.bytes, end, BYTES_2, &inner) == end
                and proto_only(inner, BYTES_1, &term.text))
    if message.bytes[0] == BYTES_3:
        term.kind = LITERAL
        return (proto_bytes(message.bytes, end, BYTES_3, &inner) == end
                and proto_literal(inner, term))
    term.kind = PREFIX_NAME
    return (proto_bytes(message.bytes, end, BYTES_4, &inner) == end
            and proto_prefix_name(inner, &term.text, &term.local))


cdef bint proto_row(Bytes *at, Row *row, size_t row_bytes) noexcept nogil:
    """Read a row; False if it is none of the usual form, or not complete."""
    cdef const uint8_t *pos
    cdef const uint8_t *end
    cdef uint64_t size = 0
    cdef Slice statement
    cdef Slice term
    cdef int position
    pos = read_varint(at.pos, at.end, &size)
    if pos == NULL or size > row_bytes or size > <uint64_t> (at.end - pos):
        return False
    end = pos + size
    if size == 0 or (pos[0] != BYTES_2 and pos[0] != BYTES_3):
        return False
    row.width = 3 if pos[0] == BYTES_2 else 4
    if proto_bytes(pos, end, pos[0], &statement) != end:
        return False
    pos = statement.bytes
    for position in range(3):
        pos = proto_bytes(pos, end, position + 1 << 3 | BYTES, &term)
        if pos == NULL or not proto_term(term, &row.terms[position], at.string_bytes):
            return False
    if row.width == 4:
        # One without a graph is for the reference.
        pos = proto_bytes(pos, end, BYTES_4, &term)
        if pos == NULL or not proto_term(term, &row.terms[3], at.string_bytes):
            return False
    if pos != end:
        return False
    at.pos = end
    return True
