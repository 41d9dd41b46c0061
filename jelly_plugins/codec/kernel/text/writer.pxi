# Terms in N-Triples syntax, in the form of `ntriples.term_text`. Nothing here needs the GIL.

cdef extern from *:
    """
    #include <stdint.h>
    #include <stddef.h>
    #include <string.h>

    /* Return 0 for ASCII text that needs no escape in a string, as most texts do. Without an early
       exit, compilers make the loop process many bytes at a time. */
    static inline int string_needs_care(const uint8_t *bytes, size_t size) {
        uint8_t found = 0;
        for (size_t at = 0; at < size; at++) {
            uint8_t byte = bytes[at];
            found |= (byte < 0x20) | (byte == 0x22) | (byte == 0x5C) | (byte >= 0x7F);
        }
        return found;
    }

    /* Whether a byte needs an escape in an IRI, which may contain characters beyond ASCII. */
    static inline uint8_t iri_byte_needs_care(uint8_t byte) {
        return (byte <= 0x20) | (byte == 0x22) | (byte == 0x3C) | (byte == 0x3E)
            | (byte == 0x5C) | (byte == 0x5E) | (byte == 0x60)
            | ((byte >= 0x7B) & (byte <= 0x7D));
    }

    /* Return 0 for text that needs no escape in an IRI. Many parts of IRIs have only a few bytes. */
    static inline int iri_needs_care(const uint8_t *bytes, size_t size) {
        uint8_t found = 0;
        size_t at = 0;
        for (; at + 8 <= size; at += 8)
            for (size_t next = at; next < at + 8; next++)
                found |= iri_byte_needs_care(bytes[next]);
        for (; at < size; at++)
            found |= iri_byte_needs_care(bytes[at]);
        return found;
    }

    /* Number of bytes at the start of a word that need no escape in a string: all 8, or those before
       the first control character, quote, backslash or DEL. */
    static inline int plain_bytes(uint64_t word) {
        const uint64_t ones = 0x0101010101010101ULL;
        uint64_t quote = word ^ ones * 0x22, backslash = word ^ ones * 0x5C,
                 delete = word ^ ones * 0x7F;
        /* Sets the highest bit of such a byte, and possibly of bytes above the first one. */
        uint64_t found = (((word - ones * 0x20) & ~word) | ((quote - ones) & ~quote)
            | ((backslash - ones) & ~backslash) | ((delete - ones) & ~delete)) & ones * 0x80;
        if (!found)
            return 8;
    #if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        return __builtin_ctzll(found) >> 3;
    #else
        uint8_t bytes[8];
        int at = 0;
        memcpy(bytes, &word, 8);
        while (!string_needs_care(bytes + at, 1) || bytes[at] >= 0x80)
            at++;
        return at;
    #endif
    }

    typedef struct {
        char bytes[8];
        uint8_t size;
    } Escape;

    /* Write a text with its escapes; return the position after it. A word of 8 bytes is copied at a
       time, of which the part that is not valid is overwritten: there must be space for 8 more bytes
       than the longest possible result. */
    static inline uint8_t *put_escaped(uint8_t *out, const uint8_t *pos, const uint8_t *end,
                                       const Escape *escapes, int string) {
        while (string && end - pos >= 8) {
            uint64_t word;
            int plain;
            memcpy(&word, pos, 8);
            memcpy(out, &word, 8);
            plain = plain_bytes(word);
            pos += plain;
            out += plain;
            if (plain < 8) {
                memcpy(out, escapes[*pos].bytes, 8);
                out += escapes[*pos++].size;
            }
        }
        for (; pos < end; pos++) {
            if (*pos < 0x80 && escapes[*pos].size) {
                memcpy(out, escapes[*pos].bytes, 8);
                out += escapes[*pos].size;
            } else {
                *out++ = *pos;
            }
        }
        return out;
    }
    """
    int string_needs_care(const uint8_t *bytes, size_t size) noexcept nogil
    int iri_needs_care(const uint8_t *bytes, size_t size) noexcept nogil
    int plain_bytes(uint64_t word) noexcept nogil
    uint8_t *put_escaped(uint8_t *out, const uint8_t *pos, const uint8_t *end,
                         const Escape *escapes, bint string) noexcept nogil

    # The escape of a character; its size is 0 if the character needs none.
    ctypedef struct Escape:
        char bytes[8]
        uint8_t size


cdef enum:
    # Bytes of a text for which space is reserved at a time.
    BLOCK = 1 << 12
    WORD = 8
    LONGEST_ESCAPE = 6


cdef struct Ranges:
    # A class of characters: a table for ASCII, ranges for the others.
    bint ascii[128]
    uint32_t low[32]
    uint32_t high[32]
    int count


cdef Escape IRI_ESCAPES[128]
cdef Escape STRING_ESCAPES[128]
cdef Ranges LABEL_START
cdef Ranges LABEL_PART
cdef bytes STAND_IN_BYTES
cdef const char *STAND_IN
cdef size_t STAND_IN_SIZE


cdef int load_writer_rules() except -1:
    global STAND_IN_BYTES, STAND_IN, STAND_IN_SIZE
    cdef uint8_t byte
    cdef int code
    fill_escapes(IRI_ESCAPES, ntriples.IRI_SPECIAL, ntriples.escape_code)
    fill_escapes(STRING_ESCAPES, ntriples.STRING_SPECIAL, ntriples.escape)
    for code in range(128):
        byte = <uint8_t> code
        if ((not string_needs_care(&byte, 1) and STRING_ESCAPES[code].size)
                or (not iri_needs_care(&byte, 1) and IRI_ESCAPES[code].size)
                or (string_needs_care(&byte, 1) and not STRING_ESCAPES[code].size)):
            raise ImportError("the kernel's texts without escapes are not those of codec.ntriples")
    fill_ranges(&LABEL_START, lines.LABEL_START)
    fill_ranges(&LABEL_PART, lines.LABEL_PART)
    STAND_IN_BYTES = ntriples.STAND_IN.encode()
    STAND_IN = STAND_IN_BYTES
    STAND_IN_SIZE = len(STAND_IN_BYTES)
    return 0


cdef int fill_escapes(Escape *escapes, special, escape) except -1:
    for code in range(128):
        found = special.match(chr(code))
        written = escape(found).encode() if found else b""
        if len(written) > LONGEST_ESCAPE:
            raise ImportError("an escape is longer than the kernel's buffers allow")
        escapes[<int> code].size = len(written)
        memcpy(escapes[<int> code].bytes, <const char *> written, len(written))
    return 0


cdef int fill_ranges(Ranges *ranges, pattern) except -1:
    """Read the ranges of characters between the brackets of a regular expression."""
    whole = re.compile(f"[{pattern}]")
    for code in range(128):
        ranges.ascii[<int> code] = whole.match(chr(code)) is not None
    pattern = re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), pattern)
    for found in re.finditer(r"\\?(.)(?:-(.))?", pattern, re.DOTALL):
        if ord(found[1]) >= 128:
            if ranges.count == 32:
                raise ValueError("the kernel has no space for so many ranges")
            ranges.low[ranges.count] = ord(found[1])
            ranges.high[ranges.count] = ord(found[2] or found[1])
            ranges.count += 1
    return 0


cdef bint is_in(Ranges *ranges, uint32_t code) noexcept nogil:
    if code < 128:
        return ranges.ascii[code]
    for at in range(ranges.count):
        if ranges.low[at] <= code <= ranges.high[at]:
            return True
    return False


cdef const uint8_t *read_character(const uint8_t *pos, uint32_t *code) noexcept nogil:
    """Decode the character at `pos` in valid UTF-8; return the position after it."""
    cdef uint8_t first = pos[0]
    if first < 0x80:
        code[0] = first
        return pos + 1
    if first < 0xE0:
        code[0] = <uint32_t> (first & 0x1F) << 6 | (pos[1] & 0x3F)
        return pos + 2
    if first < 0xF0:
        code[0] = (<uint32_t> (first & 0x0F) << 12 | <uint32_t> (pos[1] & 0x3F) << 6
                   | (pos[2] & 0x3F))
        return pos + 3
    code[0] = (<uint32_t> (first & 0x07) << 18 | <uint32_t> (pos[1] & 0x3F) << 12
               | <uint32_t> (pos[2] & 0x3F) << 6 | (pos[3] & 0x3F))
    return pos + 4


# Each of these functions appends to a buffer and returns False if memory is exhausted.

cdef bint append_escaped(Buffer *out, const uint8_t *pos, size_t size,
                         Escape *escapes) noexcept nogil:
    """Append a text, with ASCII characters escaped as `escapes` specifies."""
    cdef const uint8_t *end = pos + size
    cdef const uint8_t *stop
    while pos < end:
        stop = pos + BLOCK if end - pos > BLOCK else end
        if not reserve(out, (stop - pos) * LONGEST_ESCAPE + WORD):
            return False
        out.size = put_escaped(
            out.bytes + out.size, pos, stop, escapes, escapes == STRING_ESCAPES
        ) - out.bytes
        pos = stop
    return True


cdef inline bint append_iri_characters(Buffer *out, const uint8_t *bytes,
                                       size_t size) noexcept nogil:
    if not iri_needs_care(bytes, size):
        return append(out, bytes, size)
    return append_escaped(out, bytes, size, IRI_ESCAPES)


cdef bint append_iri(Buffer *out, const uint8_t *bytes, size_t size) noexcept nogil:
    return (append(out, <const char *> b"<", 1) and append_iri_characters(out, bytes, size)
            and append(out, <const char *> b">", 1))


cdef bint append_string(Buffer *out, const uint8_t *pos, size_t size) noexcept nogil:
    """Append a lexical form's characters. U+FFFE and U+FFFF are escaped too."""
    cdef const uint8_t *end = pos + size
    cdef const uint8_t *at = pos
    cdef bint last
    if not string_needs_care(pos, size):
        return append(out, pos, size)
    while size:
        at = <const uint8_t *> memchr(at, 0xEF, end - at)
        if at == NULL:
            break
        if at[1] == 0xBF and at[2] >= 0xBE:
            last = at[2] == 0xBF
            if not (append_escaped(out, pos, at - pos, STRING_ESCAPES)
                    and append(out, <const char *> (b"\\uFFFF" if last else b"\\uFFFE"), 6)):
                return False
            pos = at + 3
        at += 3
        size = end - at
    return append_escaped(out, pos, end - pos, STRING_ESCAPES)


cdef bint append_literal(Buffer *out, Slice lex, Slice langtag, Term *datatype) noexcept nogil:
    """Append a literal; the text of `datatype` is empty or begins with `^^`."""
    if not (append(out, <const char *> b'"', 1) and append_string(out, lex.bytes, lex.size)
            and append(out, <const char *> b'"', 1)):
        return False
    if langtag.size:
        return append(out, <const char *> b"@", 1) and append(out, langtag.bytes, langtag.size)
    return datatype == NULL or append(out, datatype.text.bytes, datatype.text.size)


cdef bint is_label(Slice label) noexcept nogil:
    """Whether a text in valid UTF-8 is a valid N-Triples label."""
    cdef const uint8_t *pos = label.bytes
    cdef const uint8_t *end = pos + label.size
    cdef uint32_t code = 0
    if pos == end:
        return False
    pos = read_character(pos, &code)
    if not is_in(&LABEL_START, code):
        return False
    while pos < end:
        pos = read_character(pos, &code)
        if code != c"." and not is_in(&LABEL_PART, code):
            return False
    return code != c"."


cdef inline bint is_letter(uint8_t byte) noexcept nogil:
    return c"a" <= (byte | 0x20) <= c"z"


cdef inline bint opens_as_stand_in(Slice label) noexcept nogil:
    return label.size >= STAND_IN_SIZE and same(label.bytes, STAND_IN_SIZE,
                                                <const uint8_t *> STAND_IN, STAND_IN_SIZE)


cdef inline int is_stand_in(Slice label) noexcept nogil:
    """Whether a label is a stand-in, see `ntriples.written_label`; -1 if memory is
    exhausted."""
    return stands_for_another(label) if opens_as_stand_in(label) else 0


cdef int stands_for_another(Slice label) noexcept nogil:
    """Do the same as :func:`is_stand_in` for a label with the prefix of stand-ins."""
    cdef size_t size = label.size - STAND_IN_SIZE
    cdef const uint8_t *digits = label.bytes + STAND_IN_SIZE
    cdef Slice meant
    cdef uint8_t *decoded
    cdef uint8_t half
    cdef size_t at
    cdef int found
    if size % 2:
        return 0
    for at in range(size):
        if not (c"0" <= digits[at] <= c"9" or c"a" <= digits[at] <= c"f"):
            return 0
    decoded = <uint8_t *> PyMem_RawCalloc(size // 2 + 1, 1)
    if decoded == NULL:
        return -1
    for at in range(size):
        half = digits[at] & 15
        if is_letter(digits[at]):
            # The low bits of "a" are 1, and its value is 10.
            half += 9
        decoded[at // 2] = decoded[at // 2] << 4 | half
    meant = Slice(decoded, size // 2)
    if characters_in(decoded, decoded + meant.size) < 0:
        found = 0
    else:
        # A label that can be written unchanged has no stand-in.
        found = is_stand_in(meant) if is_label(meant) else 1
    PyMem_RawFree(decoded)
    return found


cdef bint append_label(Buffer *out, Slice label) noexcept nogil:
    """Append a blank node with the label that `ntriples.written_label` gives it."""
    cdef const char *digits = b"0123456789abcdef"
    cdef int stand_in = is_stand_in(label)
    if stand_in < 0 or not append(out, <const char *> b"_:", 2):
        return False
    if not stand_in and is_label(label):
        return append(out, label.bytes, label.size)
    if not (append(out, STAND_IN, STAND_IN_SIZE) and reserve(out, label.size * 2)):
        return False
    for at in range(label.size):
        put_byte(out, digits[label.bytes[at] >> 4])
        put_byte(out, digits[label.bytes[at] & 15])
    return True


cdef bint is_langtag(Slice langtag) noexcept nogil:
    """Whether a text is a valid N-Triples language tag."""
    cdef bint first = True
    cdef bint inside = False
    cdef uint8_t byte
    for at in range(langtag.size):
        byte = langtag.bytes[at]
        if byte == c"-" and inside:
            first = inside = False
        elif is_letter(byte) or (not first and c"0" <= byte <= c"9"):
            inside = True
        else:
            return False
    return inside
