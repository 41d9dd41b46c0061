# Lines of text to the same lines in the form of `ntriples.statement_text`.

def usual_lines(bytes data not None, Py_ssize_t start, bint quads):
    """Copy lines of the usual form with single spaces and without comments, up to the first line of
    another form; see the reference.
    """
    cdef LineReader reader
    cdef Buffer out
    cdef const uint8_t *first = <const uint8_t *> PyBytes_AS_STRING(data)
    cdef const uint8_t *end = first + PyBytes_GET_SIZE(data)
    cdef const uint8_t *pos
    cdef const uint8_t *stop
    cdef Py_ssize_t count = 0
    cdef Line line
    if not 0 <= start <= PyBytes_GET_SIZE(data):
        raise ValueError("start is not a position in the text")
    pos = first + start
    memset(&reader, 0, sizeof(LineReader))
    memset(&out, 0, sizeof(Buffer))
    begin_text(&reader, quads, False, <uint64_t> -1)
    forget_previous(&reader)
    try:
        with nogil:
            while pos < end:
                stop = copy_line(&reader, &out, pos, end, &line)
                if stop == NULL or line == LINE_UNUSUAL:
                    break
                pos = stop
                if line == LINE_WRITTEN:
                    count += 1
        text = PyBytes_FromStringAndSize(<char *> out.bytes, out.size) if out.size else b""
        return text, count, pos - first
    finally:
        release(&out)
        close_line_reader(&reader)


cdef const uint8_t *copy_line(LineReader *lines, Buffer *out, const uint8_t *pos,
                              const uint8_t *end, Line *line) noexcept nogil:
    """Copy a line; return the position after it and its line ends. Nothing is copied of a line of
    another form, for which it returns NULL, or of an empty one.
    """
    cdef size_t size = out.size
    cdef const uint8_t *stop
    cdef int position
    line[0] = LINE_UNUSUAL
    pos = skip_space(pos, end)
    if pos == end or pos[0] == c"#" or pos[0] == c"\n" or pos[0] == c"\r":
        line[0] = LINE_EMPTY
        return parse_line_end(pos, end, line)
    for position in range(4 if lines.quads else 3):
        if position == 3 and pos < end and pos[0] == c".":
            break
        stop = parse_term(lines, pos, end, position, &lines.encoded[position])
        if stop == NULL or not append(out, pos, stop - pos) or not append(out, <const char *> b" ", 1):
            out.size = size
            return NULL
        pos = skip_space(stop, end)
    if pos < end and pos[0] == c".":
        line[0] = LINE_WRITTEN
        stop = parse_line_end(skip_space(pos + 1, end), end, line)
        if stop != NULL and line[0] == LINE_WRITTEN and append(out, <const char *> b".\n", 2):
            return stop
    out.size = size
    line[0] = LINE_UNUSUAL
    return NULL
