# Whether text has only one possible reading, see `lines.plain_lines`.

cdef enum:
    # Size of the cache of IRIs and literal suffixes that are known to be well-formed in a text.
    SOUND_PARTS = 32


def plain_lines(bytes text not None):
    """Count the plain lines, and those of them that name a graph; return the counts, and the number
    and start of each line that may have a literal in another form than a store's. None if not all
    lines are plain.
    """
    cdef LineReader reader
    cdef Slice sound[SOUND_PARTS]
    cdef const uint8_t *start = <const uint8_t *> PyBytes_AS_STRING(text)
    cdef const uint8_t *pos = start
    cdef const uint8_t *line
    cdef const uint8_t *end = pos + PyBytes_GET_SIZE(text)
    cdef Py_ssize_t count = 0
    cdef Py_ssize_t named = 0
    cdef dict odd = {}
    memset(sound, 0, sizeof(sound))
    memset(&reader, 0, sizeof(LineReader))
    begin_text(&reader, False, True, <uint64_t> -1)
    forget_previous(&reader)
    try:
        while pos < end:
            line = pos
            pos = parse_plain(&reader, sound, pos, end, &named)
            if pos == NULL:
                return None
            if not is_kept_term(&reader.encoded[2]):
                odd[count] = line - start
            count += 1
    finally:
        close_line_reader(&reader)
    return count, named, odd


cdef bint is_kept_term(EncodedTerm *encoded) noexcept nogil:
    """Whether a term is certainly kept unchanged; terms other than literals always are."""
    cdef Slice lex = Slice(NULL, 0)
    if encoded.kind != LITERAL or not encoded.typed:
        return True
    if encoded.text.size:
        # The lexical form comes after its tag and its length, which has one byte if the form is
        # known.
        lex = Slice(encoded.text.bytes + 2, encoded.text.size - 2)
    return is_kept_form(lex, encoded.datatype)


cdef const uint8_t *parse_plain(LineReader *lines, Slice *sound, const uint8_t *pos,
                                const uint8_t *end, Py_ssize_t *named) noexcept nogil:
    """Read a line of the usual form with single spaces and no comment; return the position after
    it, or NULL if it has another form.

    :param sound: IRIs and literal suffixes of the text that were found well-formed.
    :param named: the number of lines that name a graph.
    """
    cdef int position
    for position in range(3):
        pos = parse_sound(lines, sound, pos, end, position)
        if pos == NULL:
            return NULL
    if pos != end and pos[0] != c".":
        pos = parse_sound(lines, sound, pos, end, 3)
        if pos == NULL:
            return NULL
        named[0] += 1
    return pos + 2 if end - pos >= 2 and pos[0] == c"." and pos[1] == c"\n" else NULL


cdef inline const uint8_t *parse_sound(LineReader *lines, Slice *sound, const uint8_t *pos,
                                       const uint8_t *end, int position) noexcept nogil:
    """Read a term that is certainly well-formed and the space after it; return the position after
    the space, or NULL for any other term.

    :param sound: IRIs and literal suffixes of the text that were found well-formed.
    """
    cdef Slice part = Slice(pos, 0)
    cdef const uint8_t *stop = NULL
    if pos != end and pos[0] == c"<":
        stop = <const uint8_t *> memchr(pos, c">", end - pos)
        if stop != NULL and end - stop > 1 and stop[1] == c" ":
            part.size = stop + 1 - pos
            if is_known_part(place_of(sound, part), part):
                lines.encoded[position].kind = IRI
                return stop + 2
    pos = parse_term(lines, pos, end, position, &lines.encoded[position])
    if pos == NULL or pos == end or pos[0] != c" ":
        return NULL
    part.size = pos - part.bytes
    if part.bytes[0] == c'"':
        part.bytes = pos
        while (part.bytes - 1)[0] != c'"':
            part.bytes -= 1
        part.size = pos - part.bytes
    if part.size == 0 or part.bytes[0] == c"_":
        return pos + 1
    if not is_known_part(place_of(sound, part), part):
        if not is_sound(part):
            return NULL
        place_of(sound, part)[0] = part
    return pos + 1


cdef inline Slice *place_of(Slice *sound, Slice part) noexcept nogil:
    """Return the slot of an IRI or suffix in the cache, chosen by its length and one of its last
    characters.
    """
    return &sound[(part.size + part.bytes[part.size - 2]) % SOUND_PARTS]


cdef inline bint is_known_part(Slice *known, Slice part) noexcept nogil:
    return same(part.bytes, part.size, known.bytes, known.size)


cdef bint is_sound(Slice part) noexcept nogil:
    """Whether an IRI, or the text after a literal's closing quote, is certainly well-formed.
    Neither contains escapes.
    """
    if part.bytes[0] == c"<":
        return is_plain_iri(part)
    if part.bytes[0] == c"@":
        return is_plain_langtag(Slice(part.bytes + 1, part.size - 1))
    return is_plain_datatype(part)
