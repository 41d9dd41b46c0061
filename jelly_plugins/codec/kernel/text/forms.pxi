# Literals that a store certainly keeps unchanged: the forms of `FORMS` in `codec/text/forms.py`,
# with which tests compare this file. Nothing here needs the GIL.

cdef bytes XSD_BYTES = forms.XSD.encode()
cdef const uint8_t *XSD = <const uint8_t *> <const char *> XSD_BYTES
cdef size_t XSD_SIZE = len(XSD_BYTES)


cdef bint is_plain_form(Term *literal) noexcept nogil:
    """Whether a literal with a well-formed language tag and datatype certainly stays unchanged."""
    cdef Term *datatype = literal.parts[0]
    if literal.langtag.size:
        return not has_capitals(literal.langtag)
    if datatype == NULL:
        return True
    return is_kept_form(literal.lex, Slice(datatype.text.bytes + 3, datatype.text.size - 4))


cdef bint has_capitals(Slice text) noexcept nogil:
    """Whether a text contains capital ASCII letters."""
    cdef size_t at
    for at in range(text.size):
        if c"A" <= text.bytes[at] <= c"Z":
            return True
    return False


cdef bint is_kept_form(Slice lex, Slice datatype) noexcept nogil:
    """Whether a literal with a datatype certainly stays unchanged.

    :param datatype: the datatype's IRI.
    """
    cdef const uint8_t *pos = lex.bytes
    cdef const uint8_t *end = lex.bytes + lex.size
    cdef Slice name
    if datatype.size < XSD_SIZE or not same(datatype.bytes, XSD_SIZE, XSD, XSD_SIZE):
        return True
    name = Slice(datatype.bytes + XSD_SIZE, datatype.size - XSD_SIZE)
    if is_text(name, b"integer"):
        return is_plain_number(pos, end, 17 + (pos < end and pos[0] == c"-"), False)
    if is_text(name, b"decimal"):
        return is_plain_number(pos, end, 17, True)
    if is_text(name, b"double"):
        return is_plain_number(pos, end, 15, True)
    if is_text(name, b"float"):
        return is_plain_number(pos, end, 6, True)
    if is_text(name, b"boolean"):
        return is_text(Slice(pos, end - pos), b"true") or is_text(Slice(pos, end - pos), b"false")
    if is_text(name, b"dateTime"):
        return is_plain_time(pos, end)
    if is_text(name, b"date"):
        return is_plain_day(pos, end) and (end - pos == 10 or (end - pos == 11 and pos[10] == c"Z"))
    return is_text(name, b"anyURI") or is_text(name, b"language") or is_text(name, b"token")


cdef inline bint is_text(Slice text, const char *word) noexcept nogil:
    cdef size_t size = 0
    while word[size]:
        size += 1
    return same(text.bytes, text.size, <const uint8_t *> word, size)


cdef inline bint is_digit(uint8_t byte) noexcept nogil:
    return c"0" <= byte <= c"9"


cdef bint is_plain_number(const uint8_t *pos, const uint8_t *end, Py_ssize_t longest,
                          bint fraction) noexcept nogil:
    """Whether a text is a number of digits without superfluous zeros, at most `longest` characters
    long.
    """
    cdef bint negative
    if pos >= end or end - pos > longest:
        return False
    negative = pos[0] == c"-"
    pos += negative
    if pos == end or not is_digit(pos[0]):
        return False
    if pos[0] == c"0":
        pos += 1
        if pos == end:
            return not negative
    else:
        while pos < end and is_digit(pos[0]):
            pos += 1
    if pos == end:
        return True
    if not fraction or pos[0] != c"." or end - pos < 2 or (end - 1)[0] == c"0":
        return False
    pos += 1
    while pos < end and is_digit(pos[0]):
        pos += 1
    return pos == end


cdef bint is_plain_day(const uint8_t *pos, const uint8_t *end) noexcept nogil:
    """Whether a text begins with a date in the years 1000 to 9999."""
    if end - pos < 10 or pos[0] == c"0" or pos[4] != c"-" or pos[7] != c"-":
        return False
    for at in range(10):
        if at != 4 and at != 7 and not is_digit(pos[at]):
            return False
    return (1 <= (pos[5] - 48) * 10 + pos[6] - 48 <= 12
            and 1 <= (pos[8] - 48) * 10 + pos[9] - 48 <= 31)


cdef bint is_plain_time(const uint8_t *pos, const uint8_t *end) noexcept nogil:
    """Whether a text is such a date with a time. A fraction has at most nine digits and does not
    end with a zero; the only time zone is Z.
    """
    cdef const uint8_t *start
    if end - pos < 19 or not is_plain_day(pos, end):
        return False
    if pos[10] != c"T" or pos[13] != c":" or pos[16] != c":":
        return False
    for at in range(11, 19):
        if at != 13 and at != 16 and not is_digit(pos[at]):
            return False
    if not ((pos[11] - 48) * 10 + pos[12] - 48 <= 23 and pos[14] <= c"5" and pos[17] <= c"5"):
        return False
    pos += 19
    if pos < end and pos[0] == c".":
        pos += 1
        start = pos
        while pos < end and is_digit(pos[0]):
            pos += 1
        if pos == start or pos - start > 9 or (pos - 1)[0] == c"0":
            return False
    return pos == end or (end - pos == 1 and pos[0] == c"Z")
