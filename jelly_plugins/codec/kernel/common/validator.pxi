# Text for a backend that is strict about terms, but need not check them all again: what is plainly
# well-formed goes out unseen, and of anything else a validator, the backend's own factory, makes a
# term or refuses to. What may be called plain is less than what the specifications allow.
#
# Reference: RFC 3987 (IRIs), BCP 47 (language tags), RDF 1.2 Concepts, section "Triples".

# Bytes that may stand anywhere behind an IRI's scheme; 2 for those that take a closer look.
cdef uint8_t PLAIN_IRI_BYTES[256]
cdef bytes RDF_NAMESPACE_BYTES = f"<{ntriples._RDF}".encode()
cdef const uint8_t *RDF_NAMESPACE = <const uint8_t *> <const char *> RDF_NAMESPACE_BYTES
cdef size_t RDF_NAMESPACE_SIZE = len(RDF_NAMESPACE_BYTES)
cdef object WHOLE_LITERAL = re.compile(lines.LITERAL)


cdef int load_validation_rules() except -1:
    memset(PLAIN_IRI_BYTES, 0, sizeof(PLAIN_IRI_BYTES))
    for code in b"-._~!$&'()*+,;=:@/?":
        PLAIN_IRI_BYTES[<int> code] = 1
    for code in range(128):
        if chr(code).isalnum():
            PLAIN_IRI_BYTES[<int> code] = 1
    for code in b"#%":
        PLAIN_IRI_BYTES[<int> code] = 2
    for code in range(128, 256):
        PLAIN_IRI_BYTES[<int> code] = 2
    return 0


cdef bint is_plain_iri(Slice text) noexcept nogil:
    """Whether an IRI as N-Triples has it, in brackets, is absolute and well-formed for sure."""
    cdef const uint8_t *pos = text.bytes + 1
    cdef const uint8_t *end = text.bytes + text.size - 1
    cdef uint32_t code = 0
    cdef bint in_fragment = False
    if not has_scheme(pos, end):
        return False
    pos = <const uint8_t *> memchr(pos, c":", end - pos) + 1
    if end - pos >= 2 and pos[0] == c"/" and pos[1] == c"/":
        pos = plain_authority_end(pos + 2, end)
        if pos == NULL:
            return False
    while pos < end:
        if PLAIN_IRI_BYTES[pos[0]] == 1:
            pos += 1
        elif pos[0] >= 0x80:
            pos = read_character(pos, &code)
            # The larger part of what is called ucschar.
            if not (0xA0 <= code <= 0xD7FF or 0xF900 <= code <= 0xFDCF or 0xFDF0 <= code <= 0xFFEF):
                return False
        elif pos[0] == c"#" and not in_fragment:
            in_fragment = True
            pos += 1
        elif (pos[0] == c"%" and end - pos >= 3 and hexadecimal(pos[1]) >= 0
              and hexadecimal(pos[2]) >= 0):
            pos += 3
        else:
            return False
    return True


cdef const uint8_t *plain_authority_end(const uint8_t *pos, const uint8_t *end) noexcept nogil:
    """Where an authority ends that is a host's name and perhaps a port; NULL if it is not."""
    cdef const uint8_t *start = pos
    while pos < end and (is_letter(pos[0]) or c"0" <= pos[0] <= c"9" or pos[0] == c"-"
                         or pos[0] == c"."):
        pos += 1
    if pos == start:
        return NULL
    if pos < end and pos[0] == c":":
        pos += 1
        while pos < end and c"0" <= pos[0] <= c"9":
            pos += 1
    if pos < end and pos[0] != c"/" and pos[0] != c"?" and pos[0] != c"#":
        return NULL
    return pos


cdef bint is_plain_datatype(Slice text) noexcept nogil:
    """Whether a datatype, as its literals have it, is an IRI as above, and none of RDF's own, some
    of which need a language tag."""
    cdef Slice iri = Slice(text.bytes + 2, text.size - 2)
    if iri.size >= RDF_NAMESPACE_SIZE and same(iri.bytes, RDF_NAMESPACE_SIZE, RDF_NAMESPACE,
                                               RDF_NAMESPACE_SIZE):
        return False
    return is_plain_iri(iri)


cdef bint is_plain_literal(Slice langtag, Term *datatype) noexcept nogil:
    """Whether a literal's datatype is plain, and its language tag a language, perhaps with a region
    of two letters or a script."""
    cdef const uint8_t *tag = langtag.bytes
    cdef size_t size = langtag.size
    cdef size_t language = 0
    if datatype != NULL and datatype.needs_validation:
        return False
    if size == 0:
        return True
    while language < size and is_letter(tag[language]):
        language += 1
    if language != 2 and language != 3:
        return False
    if language == size:
        return True
    if tag[language] != c"-" or (size - language != 3 and size - language != 5):
        return False
    for at in range(language + 1, size):
        if not is_letter(tag[at]):
            return False
    return True


cdef bint is_plain_triple(Term **terms) noexcept nogil:
    """Whether a quoted triple has its kinds of terms where RDF 1.2 has them, and none that a validator
    has to see."""
    return ((terms[0].kind == IRI or terms[0].kind == BLANK_NODE) and terms[1].kind == IRI
            and not (terms[0].needs_validation or terms[1].needs_validation
                     or terms[2].needs_validation))


cdef bint is_rdf_1_2(Reader *reader) noexcept nogil:
    """Whether the statement that was read has its kinds of terms where RDF 1.2 has them. What is
    inside a quoted triple was looked at before."""
    cdef Term *graph = reader.graph if reader.graph != NULL else reader.last[3]
    if graph != NULL and graph.kind != IRI and graph.kind != BLANK_NODE:
        if graph.kind != DEFAULT_GRAPH:
            return False
    return ((reader.last[0].kind == IRI or reader.last[0].kind == BLANK_NODE)
            and reader.last[1].kind == IRI)


# With the GIL

cdef int validate_made(Reader *reader, validator) except -1:
    """Have the validator make the terms that are not plain, in the order of the stream.

    :raises TermError: it refuses one; with its row.
    """
    cdef dict triples = {}
    for at in range(reader.made_count):
        made_by(validator, reader.made[at], triples)
    reader.made_count = 0
    return 0


cdef object made_by(validator, Term *term, dict triples):
    """What the validator makes of a term that was read.

    :param triples: what it has made of quoted triples since the plan was last empty.
    :raises TermError: it refuses; with the term's row.
    """
    try:
        return validated_term(term, validator, triples)
    except JellyError as error:
        raise error.locate(row=term.row)
    except ValueError as error:
        raise TermError(str(error), row=term.row) from error


cdef object refused_statement(Reader *reader, validator):
    """The validator's error for a statement that RDF 1.2 does not have."""
    cdef dict triples = {}
    cdef int position
    try:
        terms = [validated_term(reader.last[position], validator, triples) for position in range(3)]
        if reader.width == 3:
            validator.triple(tuple(terms))
        else:
            graph = reader.graph if reader.graph != NULL else reader.last[3]
            validator.quad((*terms, validated_term(graph, validator, triples)))
    except JellyError as error:
        return error
    except ValueError as error:
        return TermError(str(error))
    return TermError("a statement has a kind of term where RDF 1.2 has none of it")


cdef object validated_term(Term *term, validator, dict triples):
    """What the validator makes of a term; of a quoted triple once, however many it is quoted in.

    :raises TermError: or ValueError: it refuses.
    """
    if term.kind == IRI:
        return validator.iri(iri_in(term.text))
    if term.kind == BLANK_NODE:
        return validator.blank_node(text_of(term.wire))
    if term.kind == LITERAL:
        return validator.literal(*literal_in(term))
    if term.kind == TRIPLE:
        made = triples.get(<size_t> term)
        if made is None:
            made = triples[<size_t> term] = validator.quoted_triple(
                validated_term(term.parts[0], validator, triples),
                validated_term(term.parts[1], validator, triples),
                validated_term(term.parts[2], validator, triples),
            )
        return made
    return validator.default_graph


cdef tuple literal_in(Term *term):
    """A literal's lexical form, language tag and datatype."""
    if term.wire.size == 0:
        # Written straight from a frame: its text is all there is of it.
        lex, langtag, datatype = WHOLE_LITERAL.fullmatch(text_of(term.text)).groups()
        return unescaped(lex), langtag, None if datatype is None else unescaped(datatype)
    datatype = None
    if term.parts[0] != NULL:
        datatype = iri_in(Slice(term.parts[0].text.bytes + 2, term.parts[0].text.size - 2))
    return text_of(term.lex), text_of(term.langtag) if term.langtag.size else None, datatype


cdef object iri_in(Slice text):
    """The IRI that N-Triples has in brackets."""
    return unescaped(text_of(Slice(text.bytes + 1, text.size - 2)))


cdef object unescaped(text):
    return lines._ESCAPED.sub(lines._escaped_character, text)
