# Whether text can be read in one way only, see `text/plain.py`.

def are_plain(bytes lines):
    """Whether text is nothing but plain lines, each of which says one triple."""
    cdef LineReader reader
    cdef const uint8_t *pos = <const uint8_t *> PyBytes_AS_STRING(lines)
    cdef const uint8_t *end = pos + PyBytes_GET_SIZE(lines)
    memset(&reader, 0, sizeof(LineReader))
    reader.relative_iris = True
    reader.string_bytes = <uint64_t> -1
    forget_heard(&reader)
    with nogil:
        while pos != NULL and pos < end:
            pos = parse_plain(&reader, pos, end)
        close_line_reader(&reader)
    return pos != NULL


cdef const uint8_t *parse_plain(LineReader *lines, const uint8_t *pos,
                                const uint8_t *end) noexcept nogil:
    """Read a line of the usual form with single spaces and no comment; return the position after
    it, NULL if it is another one."""
    cdef int position
    for position in range(3):
        pos = parse_term(lines, pos, end, position, &lines.encoded[position])
        if pos == NULL or pos == end or pos[0] != c" ":
            return NULL
        pos += 1
    return pos + 2 if end - pos >= 2 and pos[0] == c"." and pos[1] == c"\n" else NULL
