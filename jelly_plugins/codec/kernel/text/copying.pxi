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
    cdef size_t size
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
                size = out.size
                stop = parse_line(&reader, pos, end, &line, &out)
                if stop == NULL or line == LINE_UNUSUAL or (
                    line == LINE_WRITTEN and not append(&out, <const char *> b".\n", 2)
                ):
                    # Keep nothing of this line.
                    out.size = size
                    break
                pos = stop
                count += line == LINE_WRITTEN
        text = PyBytes_FromStringAndSize(<char *> out.bytes, out.size) if out.size else b""
        return text, count, pos - first
    finally:
        release(&out)
        close_line_reader(&reader)
