# Lines of N-Triples and N-Quads, read term by term without the GIL.
#
# This file reads only lines of the usual form: IRIs, blank nodes and literals where RDF 1.1 allows
# them, triple terms of those as objects, without errors. The reference's parser reads any other
# line (nested or RDF-star triples, errors, terms that exceed a limit), or reports the error.

cdef enum Line:
    LINE_WRITTEN
    # An empty line or a comment.
    LINE_EMPTY
    LINE_UNUSUAL


cdef struct PreviousTerm:
    # A term of the previous statement; its kind is -1 if there is none.
    int kind
    Buffer text
    bint typed
    Buffer datatype


cdef struct LineReader:
    bint quads
    bint relative_iris
    # Whether the whole text is known to be valid UTF-8.
    bint checked
    # Whether triple terms are read, see `parse_triple_term`.
    bint triples
    uint64_t string_bytes
    # The terms of the line, and the bytes that they point to if these are not in the line.
    EncodedTerm encoded[4]
    # The terms of the triple that is the object, and an encoding that identifies them.
    EncodedTerm quoted[3]
    Buffer triple_key
    # Whether a term is known to equal the one of the previous statement.
    bint repeated[4]
    Buffer wire
    Buffer unescaped
    PreviousTerm last[4]


# Bytes allowed without an escape in an IRI and in a string; 2 for those beyond ASCII.
cdef uint8_t IRI_BYTES[256]
cdef uint8_t STRING_BYTES[256]
cdef uint8_t SHORT_ESCAPES[256]


cdef int load_line_rules() except -1:
    plain_iri = re.compile(lines.IRI)
    plain_string = re.compile(lines.STRING)
    for code in range(128):
        IRI_BYTES[code] = plain_iri.fullmatch(f"<{chr(code)}>") is not None
        STRING_BYTES[code] = plain_string.fullmatch(f'"{chr(code)}"') is not None
    for code in range(128, 256):
        IRI_BYTES[code] = STRING_BYTES[code] = 2
    for code in range(0x20, 0x7F):
        if STRING_BYTES[code] != (chr(code) not in '"\\'):
            raise ImportError("the kernel's plain characters are not those of codec.text.lines")
    for letter, character in lines.ESCAPED_CHARACTERS.items():
        SHORT_ESCAPES[<int> ord(letter)] = ord(character)
    return 0


cdef inline const uint8_t *skip_space(const uint8_t *pos, const uint8_t *end) noexcept nogil:
    while pos < end and (pos[0] == c" " or pos[0] == c"\t"):
        pos += 1
    return pos


cdef void begin_text(LineReader *lines, bint quads, bint relative_iris,
                     uint64_t string_bytes) noexcept nogil:
    """Prepare for lines or columns."""
    lines.quads = quads
    lines.relative_iris = relative_iris
    lines.string_bytes = string_bytes


cdef void end_text(LineReader *lines) noexcept nogil:
    """Clear pointers into lines or columns."""
    memset(lines.encoded, 0, sizeof(lines.encoded))
    memset(lines.quoted, 0, sizeof(lines.quoted))


# Terms. Each function reads a term at `pos` and returns the position after it, or NULL if the term
# is not of the usual form.

cdef const uint8_t *parse_iri(LineReader *lines, const uint8_t *pos, const uint8_t *end,
                             Slice *value, size_t *characters) noexcept nogil:
    """Read an IRI between its brackets."""
    cdef const uint8_t *start = pos + 1
    cdef uint8_t classes = 0
    cdef Py_ssize_t count
    if pos == end or pos[0] != c"<":
        return NULL
    pos = start
    while pos < end and IRI_BYTES[pos[0]]:
        classes |= IRI_BYTES[pos[0]]
        pos += 1
    if pos == end or pos[0] != c">" or not (lines.relative_iris or has_scheme(start, pos)):
        return NULL
    value[0] = Slice(start, pos - start)
    characters[0] = value.size
    if classes & 2:
        count = characters_in(start, pos)
        if count < 0:
            return NULL
        characters[0] = count
    return pos + 1 if value.size <= lines.string_bytes else NULL


cdef inline bint has_scheme(const uint8_t *pos, const uint8_t *end) noexcept nogil:
    if pos == end or not is_letter(pos[0]):
        return False
    while pos < end and (is_letter(pos[0]) or c"0" <= pos[0] <= c"9" or pos[0] == c"+"
                         or pos[0] == c"-" or pos[0] == c"."):
        pos += 1
    return pos < end and pos[0] == c":"


cdef const uint8_t *parse_label(LineReader *lines, const uint8_t *pos, const uint8_t *end,
                               Slice *value) noexcept nogil:
    """Read a blank node's label after its `_:`."""
    cdef const uint8_t *start = pos + 2
    cdef uint8_t classes = 0
    if end - pos < 3 or pos[1] != c":":
        return NULL
    pos = start
    while pos < end and (pos[0] >= 0x80 or LABEL_PART.ascii[pos[0]] or pos[0] == c"."):
        classes |= pos[0]
        pos += 1
    while pos > start and (pos - 1)[0] == c".":
        pos -= 1
    if classes >= 0x80 and characters_in(start, pos) < 0:
        return NULL
    value[0] = Slice(start, pos - start)
    if opens_as_stand_in(value[0]):
        # The reference decodes a stand-in.
        return NULL
    return pos if is_label(value[0]) and value.size <= lines.string_bytes else NULL


cdef const uint8_t *parse_string(LineReader *lines, const uint8_t *pos, const uint8_t *end,
                                Slice *value) noexcept nogil:
    """Read a string between its quotes."""
    cdef const uint8_t *start = pos + 1
    cdef Buffer *out = &lines.unescaped
    cdef uint64_t beyond = 0
    pos = skip_characters(start, end, &beyond)
    if pos < end and pos[0] == c'"':
        value[0] = Slice(start, pos - start)
    else:
        out.size = 0
        if not append(out, start, pos - start):
            return NULL
        pos = unescape(out, pos, end, &beyond)
        if pos == NULL:
            return NULL
        value[0] = contents(out)
    if beyond & BEYOND_ASCII and not lines.checked and characters_in(start, pos) < 0:
        return NULL
    return pos + 1 if value.size <= lines.string_bytes else NULL


cdef inline const uint8_t *skip_characters(const uint8_t *pos, const uint8_t *end,
                                           uint64_t *beyond) noexcept nogil:
    """Skip characters that need no escape; set bits of BEYOND_ASCII in `beyond` if some of them may
    not be ASCII.
    """
    cdef uint64_t word
    cdef int plain = WORD
    while end - pos >= WORD and plain:
        memcpy(&word, pos, WORD)
        beyond[0] |= word
        plain = plain_bytes(word)
        if plain < WORD and STRING_BYTES[pos[plain]]:
            # A control character, which is allowed.
            plain += 1
        pos += plain
    while pos < end and STRING_BYTES[pos[0]]:
        beyond[0] |= pos[0]
        pos += 1
    return pos


cdef const uint8_t *unescape(Buffer *out, const uint8_t *pos, const uint8_t *end,
                             uint64_t *beyond) noexcept nogil:
    """Append the rest of a string without its escapes; return the position of its closing quote, or
    NULL if the string is malformed or memory is exhausted.
    """
    cdef uint64_t word
    cdef size_t room = 0
    cdef int plain
    while pos < end:
        if out.capacity - out.size < BLOCK and not reserve(out, BLOCK):
            return NULL
        # As in `put_escaped`, the part of a word that is not valid is overwritten.
        room = out.capacity - out.size
        while room >= 2 * WORD and end - pos >= WORD:
            memcpy(&word, pos, WORD)
            memcpy(out.bytes + out.size, &word, WORD)
            beyond[0] |= word
            plain = plain_bytes(word)
            pos += plain
            out.size += plain
            room -= plain
            if plain < WORD:
                if pos[0] != c"\\" or end - pos < 2 or not SHORT_ESCAPES[pos[1]]:
                    break
                put_byte(out, SHORT_ESCAPES[pos[1]])
                room -= 1
                pos += 2
        if pos == end:
            return NULL
        if pos[0] == c'"':
            return pos
        if pos[0] == c"\\":
            pos = parse_escape(out, pos, end)
            if pos == NULL:
                return NULL
        elif STRING_BYTES[pos[0]]:
            beyond[0] |= pos[0]
            put_byte(out, pos[0])
            pos += 1
        else:
            return NULL
    return NULL


cdef const uint8_t *parse_escape(Buffer *out, const uint8_t *pos,
                                const uint8_t *end) noexcept nogil:
    """Read the escape that starts at `pos`, and append its character."""
    cdef int digits
    cdef uint32_t code = 0
    cdef int digit
    if end - pos < 2 or not reserve(out, 4):
        return NULL
    if SHORT_ESCAPES[pos[1]]:
        put_byte(out, SHORT_ESCAPES[pos[1]])
        return pos + 2
    digits = 4 if pos[1] == c"u" else 8 if pos[1] == c"U" else 0
    pos += 2
    if digits == 0 or end - pos < digits:
        return NULL
    for _ in range(digits):
        digit = hexadecimal(pos[0])
        if digit < 0 or code >> 28:
            return NULL
        code = code << 4 | <uint32_t> digit
        pos += 1
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return NULL
    if code < 0x80:
        put_byte(out, <uint8_t> code)
    elif code < 0x800:
        put_byte(out, <uint8_t> (0xC0 | code >> 6))
        put_byte(out, <uint8_t> (0x80 | code & 0x3F))
    elif code < 0x10000:
        put_byte(out, <uint8_t> (0xE0 | code >> 12))
        put_byte(out, <uint8_t> (0x80 | code >> 6 & 0x3F))
        put_byte(out, <uint8_t> (0x80 | code & 0x3F))
    else:
        put_byte(out, <uint8_t> (0xF0 | code >> 18))
        put_byte(out, <uint8_t> (0x80 | code >> 12 & 0x3F))
        put_byte(out, <uint8_t> (0x80 | code >> 6 & 0x3F))
        put_byte(out, <uint8_t> (0x80 | code & 0x3F))
    return pos


cdef inline int hexadecimal(uint8_t byte) noexcept nogil:
    if c"0" <= byte <= c"9":
        return byte - c"0"
    byte |= 0x20
    return byte - c"a" + 10 if c"a" <= byte <= c"f" else -1


cdef const uint8_t *parse_langtag(const uint8_t *pos, const uint8_t *end,
                                 Slice *value) noexcept nogil:
    """Read a language tag after its `@`."""
    cdef const uint8_t *start = pos
    while pos < end and (is_letter(pos[0]) or pos[0] == c"-" or c"0" <= pos[0] <= c"9"):
        pos += 1
    value[0] = Slice(start, pos - start)
    return pos if is_langtag(value[0]) else NULL


cdef const uint8_t *parse_literal(LineReader *lines, const uint8_t *pos, const uint8_t *end,
                                 EncodedTerm *encoded) noexcept nogil:
    """Read a literal and encode it."""
    cdef Buffer *wire = &lines.wire
    cdef Slice lex = Slice(NULL, 0)
    cdef Slice langtag = Slice(NULL, 0)
    encoded.kind = LITERAL
    encoded.typed = False
    encoded.datatype = Slice(NULL, 0)
    pos = parse_string(lines, pos, end, &lex)
    if pos == NULL:
        return NULL
    if pos < end and pos[0] == c"@":
        pos = parse_langtag(pos + 1, end, &langtag)
    elif end - pos >= 2 and pos[0] == c"^" and pos[1] == c"^":
        pos = parse_iri(lines, pos + 2, end, &encoded.datatype, &encoded.datatype_characters)
        if pos == NULL or needs_tag(encoded.datatype):
            return NULL
        encoded.typed = not same(encoded.datatype.bytes, encoded.datatype.size,
                              XSD_STRING_BYTES, XSD_STRING_SIZE)
    if pos == NULL or langtag.size > lines.string_bytes:
        return NULL
    wire.size = 0
    if not reserve(wire, lex.size + langtag.size + 22):
        return NULL
    if lex.size:
        put_byte(wire, LEX_TAG)
        put_varint(wire, lex.size)
        put(wire, lex.bytes, lex.size)
    if langtag.size:
        put_byte(wire, LANGTAG_TAG)
        put_varint(wire, langtag.size)
        put(wire, langtag.bytes, langtag.size)
    encoded.text = Slice(wire.bytes, wire.size)
    return pos


cdef const uint8_t *parse_term(LineReader *lines, const uint8_t *pos, const uint8_t *end,
                              int position, EncodedTerm *encoded) noexcept nogil:
    """Read a term that is allowed in a position of a statement."""
    lines.repeated[position] = False
    if pos < end and pos[0] == c"<" and is_same_iri(&lines.last[position], pos, end):
        # A term that repeats the previous one was checked before.
        lines.repeated[position] = True
        return pos + lines.last[position].text.size + 2
    if lines.triples and position == 2 and end - pos >= 3 and memcmp(pos, <const char *> b"<<(", 3) == 0:
        return parse_triple_term(lines, pos + 3, end, encoded)
    return parse_part(lines, pos, end, position, encoded)


cdef const uint8_t *parse_triple_term(LineReader *lines, const uint8_t *pos, const uint8_t *end,
                                      EncodedTerm *encoded) noexcept nogil:
    """Read an RDF 1.2 triple term after its `<<(`; it must not contain another one."""
    lines.triple_key.size = 0
    for position in range(3):
        pos = parse_part(lines, skip_space(pos, end), end, position, &lines.quoted[position])
        if pos == NULL or not append_key(&lines.triple_key, &lines.quoted[position]):
            return NULL
    pos = skip_space(pos, end)
    if end - pos < 3 or memcmp(pos, <const char *> b")>>", 3) != 0:
        return NULL
    encoded.kind = TRIPLE
    encoded.typed = False
    encoded.text = contents(&lines.triple_key)
    return pos + 3


cdef bint append_key(Buffer *out, EncodedTerm *encoded) noexcept nogil:
    """Append an encoding that identifies the term; False if memory is exhausted."""
    if not reserve(out, encoded.text.size + encoded.datatype.size + 22):
        return False
    put_byte(out, <uint8_t> encoded.kind)
    put_byte(out, encoded.typed)
    put_varint(out, encoded.text.size)
    put(out, encoded.text.bytes, encoded.text.size)
    put_varint(out, encoded.datatype.size if encoded.typed else 0)
    if encoded.typed:
        put(out, encoded.datatype.bytes, encoded.datatype.size)
    return True


cdef const uint8_t *parse_part(LineReader *lines, const uint8_t *pos, const uint8_t *end,
                               int position, EncodedTerm *encoded) noexcept nogil:
    """Read a term that is not a triple."""
    if pos == end:
        return NULL
    encoded.prefix_place.serial = 0
    encoded.name_place.serial = 0
    encoded.typed = False
    encoded.cut = False
    if pos[0] == c"<":
        encoded.kind = IRI
        return parse_iri(lines, pos, end, &encoded.text, &encoded.characters)
    if pos[0] == c"_" and position != 1:
        encoded.kind = BLANK_NODE
        return parse_label(lines, pos, end, &encoded.text)
    if pos[0] == c'"' and position == 2:
        return parse_literal(lines, pos, end, encoded)
    return NULL


cdef inline bint is_same_iri(PreviousTerm *previous, const uint8_t *pos,
                             const uint8_t *end) noexcept nogil:
    """Whether the text at `pos` is, byte by byte, the IRI of the previous statement."""
    cdef size_t size = previous.text.size
    return (previous.kind == IRI and <size_t> (end - pos) >= size + 2 and pos[size + 1] == c">"
            and same(pos + 1, size, previous.text.bytes, size))


# Lines

cdef const uint8_t *parse_line(LineReader *lines, const uint8_t *pos, const uint8_t *end,
                              Line *line, Buffer *out) noexcept nogil:
    """Read a line and all line ends after it; return the position after them.

    :param out: gets the texts of the terms, each with a space after it; NULL if nothing needs them.
        Of a line of another form it may get some.
    """
    cdef const uint8_t *start
    cdef int position
    line[0] = LINE_UNUSUAL
    pos = skip_space(pos, end)
    if pos == end or pos[0] == c"#" or pos[0] == c"\n" or pos[0] == c"\r":
        line[0] = LINE_EMPTY
        return parse_line_end(pos, end, line)
    for position in range(4 if lines.quads else 3):
        if position == 3:
            no_graph(lines)
            if pos < end and pos[0] == c".":
                break
        start = pos
        pos = parse_term(lines, pos, end, position, &lines.encoded[position])
        if pos == NULL:
            return NULL
        if out != NULL and not (append(out, start, pos - start)
                                and append(out, <const char *> b" ", 1)):
            return NULL
        pos = skip_space(pos, end)
    if pos == end or pos[0] != c".":
        return NULL
    line[0] = LINE_WRITTEN
    return parse_line_end(skip_space(pos + 1, end), end, line)


cdef inline void no_graph(LineReader *lines) noexcept nogil:
    """Set the graph to the default one."""
    lines.repeated[3] = False
    lines.encoded[3].kind = DEFAULT_GRAPH
    lines.encoded[3].typed = False
    lines.encoded[3].text.size = 0


cdef const uint8_t *parse_line_end(const uint8_t *pos, const uint8_t *end,
                                  Line *line) noexcept nogil:
    """Read an optional comment and all line ends after it."""
    cdef const uint8_t *start = pos
    if pos < end and pos[0] == c"#":
        while pos < end and pos[0] != c"\n" and pos[0] != c"\r":
            pos += 1
        if characters_in(start, pos) < 0:
            line[0] = LINE_UNUSUAL
            return NULL
    start = pos
    while pos < end and (pos[0] == c"\n" or pos[0] == c"\r"):
        pos += 1
    if pos == start and pos < end:
        line[0] = LINE_UNUSUAL
        return NULL
    return pos


cdef const uint8_t *line_after(const uint8_t *pos, const uint8_t *end) noexcept nogil:
    """Return the end of the line that starts at `pos`, after all its line ends."""
    while pos < end and pos[0] != c"\n" and pos[0] != c"\r":
        pos += 1
    while pos < end and (pos[0] == c"\n" or pos[0] == c"\r"):
        pos += 1
    return pos


cdef uint64_t line_ends_in(const uint8_t *pos, const uint8_t *end) noexcept nogil:
    """Count line ends: LF, CR, or CR and LF together."""
    return count_bytes(pos, end, c"\n", 0) + count_bytes(pos, end, c"\r", c"\n")


cdef uint64_t count_bytes(const uint8_t *pos, const uint8_t *end, uint8_t byte,
                          uint8_t but_before) noexcept nogil:
    """Count the occurrences of a byte in a text, except before another byte."""
    cdef uint64_t count = 0
    while pos < end:
        pos = <const uint8_t *> memchr(pos, byte, end - pos)
        if pos == NULL:
            break
        pos += 1
        if pos == end or pos[0] != but_before or but_before == 0:
            count += 1
    return count


cdef void forget_previous(LineReader *lines) noexcept nogil:
    for position in range(4):
        lines.last[position].kind = -1


cdef void close_line_reader(LineReader *lines) noexcept nogil:
    for position in range(4):
        release(&lines.last[position].text)
        release(&lines.last[position].datatype)
    release(&lines.wire)
    release(&lines.unescaped)
    release(&lines.triple_key)
