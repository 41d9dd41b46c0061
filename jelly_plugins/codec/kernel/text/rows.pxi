# Terms and statements for factories that are `PlainRows`, see `text/rows.py`: those of which it is
# sure what the factory would make.

cdef enum:
    # Bytes of the terms that are made here; no more than those of a long one.
    ROW_TERM_BYTES = 1 << 10

if ROW_TERM_BYTES > LONG_TERM:
    raise ImportError("the kernel takes long terms for short ones")


cdef object row_term(Term *term):
    """The text of a term that is sure; None of others."""
    cdef uint8_t room[ROW_TERM_BYTES]
    cdef Buffer out
    cdef uint64_t characters
    if term.kind != IRI and term.kind != LITERAL:
        return None
    out.bytes = &room[0]
    out.size = 0
    out.capacity = ROW_TERM_BYTES
    if term.kind == IRI:
        if term.text.size + 2 > ROW_TERM_BYTES or not is_plain(term.text):
            return None
        characters = term.characters + 2
        put_byte(&out, c"<")
        put(&out, term.text.bytes, term.text.size)
        put_byte(&out, c">")
    else:
        characters = put_row_literal(&out, term)
        if characters == 0:
            return None
    return text_with(Slice(out.bytes, out.size), characters)


cdef uint64_t put_row_literal(Buffer *out, Term *term) noexcept nogil:
    """Write a literal into a buffer that is not to grow; return its characters, 0 if it is not
    sure."""
    cdef Term *datatype = term.parts[0]
    cdef Slice tag = term.langtag
    cdef uint64_t characters = term.characters + 2
    # None of them is longer than a frame, so that the sum is what it seems.
    if (term.lex.size + tag.size + (0 if datatype == NULL else datatype.text.size) + 6
            > ROW_TERM_BYTES or not stands_for_itself(term.lex)):
        return 0
    if tag.size and (not is_plain_langtag(tag) or has_capitals(tag)):
        return 0
    if datatype != NULL and not (is_untagged(datatype.text)
                                 and is_kept_form(term.lex, datatype.text)):
        return 0
    put_byte(out, c'"')
    put(out, term.lex.bytes, term.lex.size)
    put_byte(out, c'"')
    if tag.size:
        put_byte(out, c"@")
        put(out, tag.bytes, tag.size)
        characters += tag.size + 1
    if datatype != NULL:
        put(out, <const uint8_t *> <const char *> b"^^<", 3)
        put(out, datatype.text.bytes, datatype.text.size)
        put_byte(out, c">")
        characters += datatype.characters + 4
    return characters


cdef bint stands_for_itself(Slice lex) noexcept nogil:
    """Whether nothing of a lexical form is escaped, by whomever it is written: that is more than
    what N-Triples has to escape."""
    cdef size_t at
    if not string_needs_care(lex.bytes, lex.size):
        return True
    for at in range(lex.size):
        if lex.bytes[at] < 0x80:
            if string_needs_care(lex.bytes + at, 1):
                return False
        elif lex.bytes[at] == 0xEF and lex.bytes[at + 1] == 0xBF and lex.bytes[at + 2] >= 0xBE:
            # U+FFFE and U+FFFF. It is valid UTF-8, so that the two bytes are there.
            return False
    return True


cdef inline bint is_row(Planned *planned, int width, bint named_graphs) noexcept nogil:
    """Whether terms stand where RDF has their kinds, in a graph that the factory has."""
    cdef Term **terms = planned.terms
    if (terms[0].kind != IRI and terms[0].kind != BLANK_NODE) or terms[1].kind != IRI:
        return False
    return (width == 3 or terms[3].kind == DEFAULT_GRAPH
            or named_graphs and (terms[3].kind == IRI or terms[3].kind == BLANK_NODE))
