# Terms that are certainly well-formed, so that a strict validator need not check them. These plain
# terms are a subset of those that the specifications allow. Nothing here needs the GIL.
#
# Reference: RFC 3987 (IRIs), BCP 47 (language tags), RDF 1.2 Concepts, section "Triples".

# Bytes allowed anywhere after an IRI's scheme; 2 for those that need a further check.
cdef uint8_t PLAIN_IRI_BYTES[256]
# Datatypes that need a language tag.
cdef bytes LANG_STRING, DIR_LANG_STRING
LANG_STRING, DIR_LANG_STRING = [iri.encode() for iri in ntriples.TAGGED_DATATYPES]
cdef Slice LANG_STRING_TEXT = Slice(<const uint8_t *> <const char *> LANG_STRING, len(LANG_STRING))
cdef Slice DIR_LANG_STRING_TEXT = Slice(<const uint8_t *> <const char *> DIR_LANG_STRING,
                                        len(DIR_LANG_STRING))


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


cdef bint is_plain(Slice iri) noexcept nogil:
    """Whether an IRI is certainly absolute and well-formed."""
    cdef const uint8_t *pos = iri.bytes
    cdef const uint8_t *end = iri.bytes + iri.size
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
            # The larger part of ucschar.
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


cdef inline bint is_plain_iri(Slice text) noexcept nogil:
    """Whether an IRI in N-Triples syntax, in brackets, is plain."""
    return is_plain(Slice(text.bytes + 1, text.size - 2))


cdef const uint8_t *plain_authority_end(const uint8_t *pos, const uint8_t *end) noexcept nogil:
    """Return the end of an authority that is a host name, possibly empty, with an optional port;
    NULL for any other.
    """
    while pos < end and (is_letter(pos[0]) or c"0" <= pos[0] <= c"9" or pos[0] == c"-"
                         or pos[0] == c"." or pos[0] == c"_" or pos[0] == c"~"):
        pos += 1
    if pos < end and pos[0] == c":":
        pos += 1
        while pos < end and c"0" <= pos[0] <= c"9":
            pos += 1
    if pos < end and pos[0] != c"/" and pos[0] != c"?" and pos[0] != c"#":
        return NULL
    return pos


cdef bint is_plain_datatype(Slice text) noexcept nogil:
    """Whether a datatype, as its literals have it, is a plain IRI and requires no language tag."""
    cdef Slice iri = Slice(text.bytes + 3, text.size - 4)
    return is_plain(iri) and not needs_tag(iri)


cdef inline bint needs_tag(Slice datatype) noexcept nogil:
    """Whether a literal of this datatype must have a language tag."""
    return (same(datatype.bytes, datatype.size, LANG_STRING_TEXT.bytes, LANG_STRING_TEXT.size)
            or same(datatype.bytes, datatype.size, DIR_LANG_STRING_TEXT.bytes,
                    DIR_LANG_STRING_TEXT.size))


cdef inline bint is_written(Slice langtag, Term *datatype) noexcept nogil:
    """Whether N-Triples can express a literal's language tag or datatype.

    :param datatype: its text is empty or begins with `^^`.
    """
    if langtag.size:
        return is_langtag(langtag)
    return (datatype == NULL or datatype.text.size < 4
            or not needs_tag(Slice(datatype.text.bytes + 3, datatype.text.size - 4)))


cdef bint is_plain_literal(Slice langtag, Term *datatype) noexcept nogil:
    """Whether a literal's datatype and language tag are plain."""
    if datatype != NULL and datatype.needs_validation:
        return False
    return langtag.size == 0 or is_plain_langtag(langtag)


cdef bint is_plain_langtag(Slice langtag) noexcept nogil:
    """Whether a language tag is a language, optionally with a region of two letters or a script."""
    cdef const uint8_t *tag = langtag.bytes
    cdef size_t size = langtag.size
    cdef size_t language = 0
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
    """Whether a quoted triple has only kinds of terms that RDF 1.2 allows there, and no term that a
    validator has to check.
    """
    return ((terms[0].kind == IRI or terms[0].kind == BLANK_NODE) and terms[1].kind == IRI
            and not (terms[0].needs_validation or terms[1].needs_validation or terms[2].needs_validation))
