# Protocol Buffers on the wire, with the strictness of `wire.py`. Nothing here needs the GIL.
#
# Every function gets its position and the end of the readable bytes, and reads no byte beyond.

cdef extern from *:
    """
    /* The highest bit of each byte of a word. */
    #define BEYOND_ASCII 0x8080808080808080ULL

    static inline int is_continuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

    /* Whether a byte may not follow the three before it (nearest first) in UTF-8. */
    static inline int is_wrong_utf8(uint8_t byte, uint8_t first, uint8_t second, uint8_t third) {
        int expected = (first >= 0xC0) | (second >= 0xE0) | (third >= 0xF0);
        return (is_continuation(byte) ^ expected)
            | (byte == 0xC0) | (byte == 0xC1) | (byte > 0xF4)
            /* Overlong, half of a surrogate pair, beyond Unicode. */
            | ((first == 0xE0) & (byte < 0xA0)) | ((first == 0xED) & (byte >= 0xA0))
            | ((first == 0xF0) & (byte < 0x90)) | ((first == 0xF4) & (byte >= 0x90));
    }

    /* Count the characters of at least three bytes of UTF-8; return -1 if it is not valid. Compilers
       turn the inner loop into instructions that check many bytes at a time: from about fifty bytes
       on, a byte takes 0.3 ns instead of 1. */
    static ptrdiff_t count_characters(const uint8_t *bytes, size_t size) {
        int wrong = (bytes[size - 1] >= 0xC0) | (bytes[size - 2] >= 0xE0) | (bytes[size - 3] >=
            0xF0) | is_wrong_utf8(bytes[0], 0, 0, 0)
            | is_wrong_utf8(bytes[1], bytes[0], 0, 0)
            | is_wrong_utf8(bytes[2], bytes[1], bytes[0], 0);
        ptrdiff_t count = 3 - is_continuation(bytes[1]) - is_continuation(bytes[2]);
        size_t at = 3;
        while (at < size && !wrong) {
            size_t stop = size - at > 128 ? at + 128 : size;
            uint8_t found = 0, continuations = 0;
            count += stop - at;
            for (; at < stop; at++) {
                found |= is_wrong_utf8(bytes[at], bytes[at - 1], bytes[at - 2], bytes[at - 3]);
                continuations += is_continuation(bytes[at]);
            }
            wrong |= found;
            count -= continuations;
        }
        return wrong ? -1 : count;
    }
    """
    uint64_t BEYOND_ASCII
    Py_ssize_t count_characters(const uint8_t *bytes, size_t size) noexcept nogil


cdef enum:
    VARINT = 0
    FIXED64 = 1
    BYTES = 2
    FIXED32 = 5
    # Highest field number of Jelly-RDF messages that the tables here can hold.
    FIELD_NUMBERS = 17
    # Size of a text, in bytes, from which a check of many bytes at a time is faster.
    LONG_TEXT = 64


cdef struct Field:
    uint64_t tag
    uint64_t number
    # The payload, or the value of a varint.
    const uint8_t *start
    const uint8_t *stop
    uint64_t value


cdef struct Fields:
    # Iterates over the known fields of a message.
    const uint8_t *pos
    const uint8_t *end
    # Wire type by field number, -1 where the message has no such field.
    const int8_t *known
    uint32_t seen
    Field field


cdef const uint8_t *read_varint(const uint8_t *pos, const uint8_t *end,
                                uint64_t *value) noexcept nogil:
    """Read a varint; return the position after it, or NULL if it is malformed."""
    cdef uint64_t result = 0
    cdef int shift = 0
    cdef uint8_t byte
    while pos < end:
        byte = pos[0]
        pos += 1
        if shift == 63 and byte > 1:
            # The varint has more than 64 bits or more than ten bytes.
            return NULL
        result |= (<uint64_t> (byte & 0x7F)) << shift
        if byte < 0x80:
            value[0] = result
            return pos
        shift += 7
    return NULL


cdef const uint8_t *read_field(const uint8_t *pos, const uint8_t *end,
                               Field *field) noexcept nogil:
    """Read a field's tag and find its payload; return the position after it, or NULL if the field
    is incomplete or has an illegal type.
    """
    cdef uint64_t size
    cdef int wire_type
    pos = read_varint(pos, end, &field.tag)
    if pos == NULL:
        return NULL
    wire_type = field.tag & 7
    field.number = field.tag >> 3
    field.value = 0
    if field.number == 0 or field.number >= <uint64_t> 1 << 29:
        return NULL
    if wire_type == VARINT:
        field.start = pos
        field.stop = read_varint(pos, end, &field.value)
        return field.stop
    if wire_type == BYTES:
        pos = read_varint(pos, end, &size)
        if pos == NULL:
            return NULL
    elif wire_type == FIXED64:
        size = 8
    elif wire_type == FIXED32:
        size = 4
    else:
        return NULL
    if size > <uint64_t> (end - pos):
        return NULL
    field.start = pos
    field.stop = pos + size
    return field.stop


cdef int next_field(Fields *walk) noexcept nogil:
    """Advance to the next known field: return 1 for a field, 0 at the end, and -1 if the message is
    malformed, a known field has the wrong type, or one is repeated.
    """
    cdef uint64_t number
    cdef int expected
    while walk.pos < walk.end:
        walk.pos = read_field(walk.pos, walk.end, &walk.field)
        if walk.pos == NULL:
            return -1
        number = walk.field.number
        if number >= FIELD_NUMBERS or walk.known[number] < 0:
            continue
        expected = walk.known[number]
        if expected != <int> (walk.field.tag & 7) or walk.seen & <uint32_t> 1 << number:
            return -1
        walk.seen |= <uint32_t> 1 << number
        return 1
    return 0


cdef inline void open_fields(Fields *walk, const uint8_t *pos, const uint8_t *end,
                             const int8_t *known) noexcept nogil:
    walk.pos = pos
    walk.end = end
    walk.known = known
    walk.seen = 0


cdef int fill_known(int8_t *known, wire_types) except -1:
    """Fill a message's table for `Fields` from one of the reference's."""
    memset(known, -1, FIELD_NUMBERS)
    for number, wire_type in wire_types.items():
        if not 0 < number < FIELD_NUMBERS:
            raise ValueError(f"the kernel has no slot for field {number}")
        known[<int> number] = wire_type
    return 0


cdef inline bint is_ascii(const uint8_t *bytes, size_t size) noexcept nogil:
    """Whether a text is ASCII only; most texts are short."""
    cdef uint64_t found = 0
    cdef uint64_t word
    cdef size_t at = 0
    if size < 8:
        for at in range(size):
            found |= bytes[at]
        return not found & 0x80
    while at + 8 < size:
        memcpy(&word, bytes + at, 8)
        found |= word
        at += 8
    # The last eight bytes, some of which were checked already.
    memcpy(&word, bytes + size - 8, 8)
    return not (found | word) & BEYOND_ASCII


cdef inline Py_ssize_t characters_in(const uint8_t *pos, const uint8_t *end) noexcept nogil:
    """Count the characters of UTF-8 text; -1 if it is not valid."""
    return end - pos if is_ascii(pos, end - pos) else characters_beyond_ascii(pos, end)


cdef Py_ssize_t characters_beyond_ascii(const uint8_t *pos, const uint8_t *end) noexcept nogil:
    """Do the same as `characters_in`, for any text."""
    if end - pos >= LONG_TEXT:
        return count_characters(pos, end - pos)
    cdef Py_ssize_t count = 0
    cdef uint64_t word
    cdef uint8_t first
    cdef uint8_t second
    while pos < end:
        if end - pos >= 8:
            memcpy(&word, pos, 8)
            if not word & BEYOND_ASCII:
                pos += 8
                count += 8
                continue
        first = pos[0]
        pos += 1
        count += 1
        if first < 0x80:
            continue
        if not 0xC2 <= first <= 0xF4 or not continues(pos, end):
            return -1
        second = pos[0]
        pos += 1
        if first < 0xE0:
            continue
        if not continues(pos, end):
            return -1
        pos += 1
        if first < 0xF0:
            # Overlong, or half of a surrogate pair.
            if (first == 0xE0 and second < 0xA0) or (first == 0xED and second >= 0xA0):
                return -1
            continue
        if not continues(pos, end):
            return -1
        pos += 1
        if (first == 0xF0 and second < 0x90) or (first == 0xF4 and second >= 0x90):
            return -1
    return count


cdef inline bint continues(const uint8_t *pos, const uint8_t *end) noexcept nogil:
    """Whether the byte at `pos` continues a character."""
    return pos < end and pos[0] & 0xC0 == 0x80


cdef inline size_t varint_size(uint64_t value) noexcept nogil:
    cdef size_t size = 1
    while value > 0x7F:
        value >>= 7
        size += 1
    return size


cdef inline void put_varint(Buffer *buffer, uint64_t value) noexcept nogil:
    """Append a varint to reserved space of at least ten bytes."""
    while value > 0x7F:
        put_byte(buffer, <uint8_t> (value & 0x7F | 0x80))
        value >>= 7
    put_byte(buffer, <uint8_t> value)
