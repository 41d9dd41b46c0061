# Whether text can be read in one way only, see `text/plain.py`.

def plain_lines(bytes text):
    """The number of plain lines, and the numbers and beginnings of those that may have literals in
    another form than a store's; None if not all are plain."""
    cdef LineReader reader
    cdef const uint8_t *start = <const uint8_t *> PyBytes_AS_STRING(text)
    cdef const uint8_t *pos = start
    cdef const uint8_t *line
    cdef const uint8_t *end = pos + PyBytes_GET_SIZE(text)
    cdef Py_ssize_t count = 0
    cdef dict odd = {}
    open_plain(&reader)
    try:
        while pos < end:
            line = pos
            pos = parse_plain(&reader, pos, end)
            if pos == NULL:
                return None
            if not is_kept_term(&reader.encoded[2]):
                odd[count] = line - start
            count += 1
    finally:
        close_line_reader(&reader)
    return count, odd


def usual_line(str text, int width):
    """The line of a statement of IRIs and perhaps a literal that stays as it is; None of others."""
    cdef LineReader reader
    cdef bytes line = PyUnicode_AsUTF8String(text) + b" .\n"
    cdef const uint8_t *pos = <const uint8_t *> PyBytes_AS_STRING(line)
    cdef bint usual
    open_plain(&reader)
    usual = is_usual_line(&reader, pos, pos + PyBytes_GET_SIZE(line), min(width, 4))
    close_line_reader(&reader)
    return line if usual else None


cdef void open_plain(LineReader *reader) noexcept nogil:
    memset(reader, 0, sizeof(LineReader))
    reader.relative_iris = True
    reader.string_bytes = <uint64_t> -1
    forget_heard(reader)


cdef bint is_usual_line(LineReader *lines, const uint8_t *pos, const uint8_t *end,
                        int width) noexcept nogil:
    cdef int position
    for position in range(width):
        pos = parse_sound(lines, pos, end, position)
        if pos == NULL or lines.encoded[position].kind == BLANK_NODE:
            return False
    return (end - pos == 2 and pos[0] == c"." and pos[1] == c"\n"
            and is_kept_term(&lines.encoded[2]))


cdef bint is_kept_term(EncodedTerm *encoded) noexcept nogil:
    """Whether a term is no literal, or one that stays as it is."""
    cdef Slice lex = Slice(NULL, 0)
    if encoded.kind != LITERAL or not encoded.typed:
        return True
    if encoded.text.size:
        # Behind a tag and a length, which has one byte where the form is one that is known.
        lex = Slice(encoded.text.bytes + 2, encoded.text.size - 2)
    return is_kept_form(lex, encoded.datatype)


cdef const uint8_t *parse_plain(LineReader *lines, const uint8_t *pos,
                                const uint8_t *end) noexcept nogil:
    """Read a line of the usual form with single spaces and no comment; return the position after
    it, NULL if it is another one."""
    cdef int position
    for position in range(3):
        pos = parse_sound(lines, pos, end, position)
        if pos == NULL:
            return NULL
    return pos + 2 if end - pos >= 2 and pos[0] == c"." and pos[1] == c"\n" else NULL


cdef inline const uint8_t *parse_sound(LineReader *lines, const uint8_t *pos, const uint8_t *end,
                                       int position) noexcept nogil:
    """Read a term that is well-formed for sure, and the space behind it; return the position after
    that, NULL if it is another one."""
    cdef const uint8_t *start = pos
    pos = parse_term(lines, pos, end, position, &lines.encoded[position])
    if pos == NULL or pos == end or pos[0] != c" " or not is_sound(start, pos):
        return NULL
    return pos + 1


cdef bint is_sound(const uint8_t *start, const uint8_t *end) noexcept nogil:
    """Whether the IRIs and the language tag of a term without escapes in these are well-formed for
    sure."""
    cdef const uint8_t *quote = end - 1
    if start[0] == c"<":
        return is_plain_iri(Slice(start, end - start))
    if start[0] != c'"':
        return True
    while quote[0] != c'"':
        quote -= 1
    if quote + 1 == end:
        return True
    if quote[1] == c"@":
        return is_plain_langtag(Slice(quote + 2, end - quote - 2))
    return is_plain_datatype(Slice(quote + 1, end - quote - 1))
