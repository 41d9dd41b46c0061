# Columns of query results as Arrow's buffers: text is copied from the frame and the lookups
# straight into place. `ResultsColumnDecoder` is the reference.

cdef enum:
    # Kinds of text in which a byte may occur without an escape.
    IN_IRI = 1
    IN_STRING = 2
    IN_LABEL = 4
    IN_LANGTAG = 8

cdef uint8_t PLAIN[256]


cdef int load_plain_bytes() except -1:
    memset(PLAIN, 0, sizeof(PLAIN))
    for code in range(0x20, 0x7F):
        character = chr(code)
        if character not in '"\\':
            PLAIN[<int> code] |= IN_STRING
            if character not in " <>^`{|}":
                PLAIN[<int> code] |= IN_IRI
        if character.isalnum() or character == "_":
            PLAIN[<int> code] |= IN_LABEL
        if character.isalpha():
            PLAIN[<int> code] |= IN_LANGTAG
    return 0


load_plain_bytes()


cdef struct Text:
    # A term in N-Triples syntax: its opening, two parts, its closing. A part points into the frame,
    # a lookup entry, or an object that `Texts` holds.
    Slice parts[4]


cdef struct Slots:
    # The run values of a column, at most one for each row; owned.
    Text *texts
    Py_ssize_t count
    Py_ssize_t most


cdef Slice NOTHING = Slice(NULL, 0)
cdef Slice OPEN_IRI = Slice(<const uint8_t *> b"<", 1)
cdef Slice CLOSE_IRI = Slice(<const uint8_t *> b">", 1)
cdef Slice OPEN_NODE = Slice(<const uint8_t *> b"_:", 2)
cdef Slice QUOTE = Slice(<const uint8_t *> b'"', 1)
cdef Slice BEFORE_TAG = Slice(<const uint8_t *> b'"@', 2)


cdef inline bint is_made_of(Slice text, uint8_t kind) noexcept nogil:
    """Whether each byte may occur in text of a kind without an escape."""
    cdef uint8_t common = kind
    cdef size_t at
    for at in range(text.size):
        common &= PLAIN[text.bytes[at]]
    return common != 0


cdef bint is_text(Slice text):
    """Whether a string needs no escape.

    :raises UnicodeDecodeError: the string is not valid UTF-8.
    """
    cdef bint ascii = True
    cdef size_t at
    for at in range(text.size):
        if text.bytes[at] >= 0x80 and text.bytes[at] != 0xEF:
            ascii = False
        elif not PLAIN[text.bytes[at]] & IN_STRING:
            # The text may contain U+FFFE or U+FFFF, which are escaped.
            return False
    if not ascii:
        PyUnicode_DecodeUTF8(<const char *> text.bytes, text.size, NULL)
    return True


cdef inline Slice entry_text(list values, uint32_t entry_id):
    """Return a lookup entry that is ASCII; a Slice without bytes if there is none."""
    cdef PyObject *value
    if entry_id == 0 or entry_id >= PyList_GET_SIZE(values):
        return NOTHING
    value = PyList_GET_ITEM(values, entry_id)
    if <object> value is None or not PyUnicode_IS_ASCII(<object> value):
        return NOTHING
    return Slice(<const uint8_t *> PyUnicode_DATA(<object> value),
                 PyUnicode_GET_LENGTH(<object> value))


cdef class Texts:
    """The run values of one column, in order.

    The reference makes all other terms; this class holds them.
    """

    cdef object reader
    cdef list names
    cdef list prefixes
    cdef dict closings
    cdef list held
    cdef Slots slots
    cdef size_t longest
    cdef uint32_t prefix_id
    cdef Slice prefix
    cdef uint32_t datatype_id
    cdef Slice closing

    def __cinit__(self, reader, Py_ssize_t most):
        self.reader = reader
        self.names = reader.names.values
        self.prefixes = reader.prefixes.values
        self.closings = {}
        self.held = []
        self.longest = min(reader._limits.string_bytes, 1 << 30)
        self.prefix_id = 0
        self.prefix = Slice(OPEN_IRI.bytes, 0)
        self.datatype_id = 0
        self.closing = QUOTE
        self.slots.count = 0
        self.slots.most = most
        self.slots.texts = <Text *> PyMem_RawMalloc((most + 1) * sizeof(Text))
        if self.slots.texts == NULL:
            raise MemoryError

    def __dealloc__(self):
        PyMem_RawFree(self.slots.texts)

    cdef inline int put(self, Slice opening, Slice first, Slice second, Slice closing) except -1:
        """Add a term of four parts.

        :raises ValueError: there are more values than rows.
        """
        cdef Text *text
        if self.slots.count == self.slots.most:
            raise ValueError
        text = &self.slots.texts[self.slots.count]
        text.parts[0] = opening
        text.parts[1] = first
        text.parts[2] = second
        text.parts[3] = closing
        self.slots.count += 1
        return 0

    cdef int put_made(self, bytes made) except -1:
        """Add a term that the reference made."""
        self.held.append(made)
        return self.put(slice_of_bytes(made), NOTHING, NOTHING, NOTHING)

    cdef inline int iri(self, uint32_t prefix_id, uint32_t name_id) except -1:
        cdef Slice name = entry_text(self.names, name_id)
        if prefix_id != self.prefix_id:
            self.prefix_id = prefix_id
            self.prefix = entry_text(self.prefixes, prefix_id)
            if not is_made_of(self.prefix, IN_IRI):
                self.prefix = NOTHING
        if (name.bytes == NULL or self.prefix.bytes == NULL or not is_made_of(name, IN_IRI)
                or name.size + self.prefix.size + 2 > self.longest):
            return self.put_made(self.reader._found_iri(prefix_id, name_id))
        return self.put(OPEN_IRI, self.prefix, name, CLOSE_IRI)

    cdef inline int blank_node(self, bytes data, Slice label) except -1:
        cdef Py_ssize_t start
        if label.size and label.size < self.longest and is_made_of(label, IN_LABEL):
            return self.put(OPEN_NODE, label, NOTHING, NOTHING)
        start = label.bytes - <const uint8_t *> PyBytes_AS_STRING(data)
        return self.put_made(self.reader.blank_node(data, start, start + label.size))

    cdef int choose_datatype(self, uint32_t datatype_id) except -1:
        """Set the text after the lexical form of literals of a datatype; id 0 is xsd:string."""
        if datatype_id == self.datatype_id:
            return 0
        closing = self.closings.get(datatype_id)
        if closing is None:
            datatype = self.reader.datatypes.get(datatype_id) if datatype_id else None
            closing = self.reader._build_literal("", None, datatype)[0][1:]
            self.closings[datatype_id] = closing
        self.datatype_id = datatype_id
        self.closing = slice_of_bytes(closing)
        return 0

    cdef inline int lexical_form(self, Slice lex) except -1:
        """Add a literal of the current datatype."""
        if lex.size + self.closing.size < self.longest and is_text(lex):
            return self.put(QUOTE, lex, NOTHING, self.closing)
        text = self.reader._factory.literal(
            self.reader.string(lex.bytes[: lex.size], 0, lex.size, "a lexical form"), None, None
        )
        self.held.append(text)
        return self.put(Slice(slice_of_bytes(text).bytes, len(text) - 1), NOTHING, NOTHING,
                        self.closing)

    cdef int literal(self, bytes data, Slice literal) except -1:
        """Add an RdfLiteral."""
        cdef const uint8_t *end = literal.bytes + literal.size
        cdef const uint8_t *pos = literal.bytes
        cdef Slice lex = Slice(literal.bytes, 0)
        cdef Slice langtag = NOTHING
        cdef uint32_t datatype_id = 0
        cdef Py_ssize_t start
        cdef Span span
        if pos < end and pos[0] == 0x0A:
            pos = read_span(pos + 1, end, &span)
            lex = slice_of(span)
        if pos != NULL and pos < end and pos[0] == 0x12:
            pos = read_span(pos + 1, end, &span)
            langtag = slice_of(span)
        elif pos != NULL and pos < end and pos[0] == 0x18:
            pos = read_uint32(pos + 1, end, &datatype_id)
            if datatype_id == 0:
                pos = NULL
        if pos == end:
            if langtag.bytes == NULL:
                self.choose_datatype(datatype_id)
                return self.lexical_form(lex)
            if (langtag.size and is_made_of(langtag, IN_LANGTAG)
                    and lex.size + langtag.size < self.longest and is_text(lex)):
                return self.put(QUOTE, lex, BEFORE_TAG, langtag)
        start = literal.bytes - <const uint8_t *> PyBytes_AS_STRING(data)
        return self.put_made(self.reader.literal(data, start, start + literal.size))


cdef inline Slice slice_of(Span span) noexcept nogil:
    return Slice(span.start, span.stop - span.start)


cdef inline size_t size_of(Text *text) noexcept nogil:
    return (text.parts[0].size + text.parts[1].size + text.parts[2].size + text.parts[3].size)


cdef inline uint8_t *copied(Text *text, uint8_t *into) noexcept nogil:
    """Copy a term; return the position after it."""
    cdef int part
    for part in range(4):
        if text.parts[part].size:
            memcpy(into, text.parts[part].bytes, text.parts[part].size)
            into += text.parts[part].size
    return into


def text_column(reader, int number, bytes data not None, Py_ssize_t start, Py_ssize_t stop,
                Py_ssize_t rows, size_t most_bytes):
    """Read a column as text; return None, with nothing changed, if the reference has to read it.

    :param reader: a ``ResultsTermReader`` of a ``ColumnFactory``.
    :param most_bytes: maximum size of the text of all cells.
    """
    cdef const uint8_t *base = <const uint8_t *> PyBytes_AS_STRING(data)
    cdef Parts parts
    cdef Texts texts
    cdef Numbers tokens = Numbers(NULL, 0)
    before = reader.expansion
    if not find_parts(number, base + start, base + stop, &parts):
        return None
    check_values(&parts, rows)
    try:
        texts = Texts(reader, min(rows, stop - start))
        read_texts(texts, number, data, base + start, base + stop, &parts)
        if not read_packed(parts.layout, &tokens):
            return None
        return filled(&texts.slots, &tokens, rows, most_bytes)
    except (ValueError, TypeError):
        return None
    finally:
        reader.expansion = before
        PyMem_RawFree(tokens.values)


cdef int read_texts(Texts texts, int number, bytes data, const uint8_t *pos, const uint8_t *end,
                    Parts *parts) except -1:
    """Read the run values of a column.

    :raises ValueError: a value is invalid or not of the usual form.
    """
    cdef Span span
    cdef Span inner
    cdef Ids ids = Ids(0, 0)
    cdef uint32_t skipped
    cdef uint8_t tag
    cdef uint8_t kind = 0x12 if number == BLANK_NODES else 0x1A
    if number == IRIS:
        return read_iri_texts(texts, parts)
    if parts.lexes:
        texts.choose_datatype(parts.datatype)
    while pos < end:
        tag = pos[0]
        if tag == 0x20:
            pos = read_uint32(pos + 1, end, &skipped)
            continue
        pos = read_span(pos + 1, end, &span)
        if tag == 0x12:
            continue
        if parts.lexes:
            if tag != 0x1A:
                raise ValueError
            texts.lexical_form(slice_of(span))
            continue
        if number == MIXED:
            if span.start == span.stop:
                raise ValueError
            kind = span.start[0]
            if read_span(span.start + 1, span.stop, &inner) != span.stop:
                raise ValueError
            span = inner
        if kind == 0x0A:
            if not read_iri_ids(span, &ids):
                raise ValueError
            texts.iri(ids.prefix, ids.name)
        elif kind == 0x12:
            texts.blank_node(data, slice_of(span))
        elif kind == 0x1A:
            texts.literal(data, slice_of(span))
        else:
            raise ValueError
    return 0


cdef int read_iri_texts(Texts texts, Parts *parts) except -1:
    cdef IriIds ids
    try:
        if not open_ids(parts, &ids):
            raise ValueError
        while next_ids(&ids):
            texts.iri(ids.last.prefix, ids.last.name)
        if ids.at < ids.names.count:
            raise ValueError
    finally:
        close_ids(&ids)
    return 0


cdef object filled(Slots *slots, Numbers *tokens, Py_ssize_t rows, size_t most_bytes):
    """Build the column of run values and a layout; None if they do not match or the column is too
    large.
    """
    cdef Run run
    cdef Layout layout
    cdef size_t size = 0
    cdef size_t each
    cdef bint unbound = False
    cdef Py_ssize_t at = 0
    cdef Py_ssize_t row = 0
    cdef Py_ssize_t place
    cdef int32_t *offsets
    cdef uint8_t *bits
    cdef uint8_t *into
    cdef uint8_t *first
    cdef bytes offsets_made, made
    cdef object validity = None
    most_bytes = min(most_bytes, <size_t> 0x7FFFFFFF)
    open_layout(&layout, tokens, slots.count, rows)
    while next_run(&layout, &run):
        if run.unbound:
            unbound = True
            continue
        if run.repeats:
            each = size_of(&slots.texts[at])
            if each and <size_t> run.length > most_bytes // each:
                return None
            size += each * run.length
            at += 1
        else:
            for place in range(run.length):
                size += size_of(&slots.texts[at])
                at += 1
                if size > most_bytes:
                    return None
        if size > most_bytes:
            return None
    if layout.broken:
        return None
    offsets_made = PyBytes_FromStringAndSize(NULL, (rows + 1) * sizeof(int32_t))
    made = PyBytes_FromStringAndSize(NULL, size)
    offsets = <int32_t *> PyBytes_AS_STRING(offsets_made)
    into = first = <uint8_t *> PyBytes_AS_STRING(made)
    if unbound:
        validity = PyBytes_FromStringAndSize(NULL, (rows + 7) // 8)
        bits = <uint8_t *> PyBytes_AS_STRING(validity)
        memset(bits, 0, (rows + 7) // 8)
    at = 0
    open_layout(&layout, tokens, slots.count, rows)
    while next_run(&layout, &run):
        if unbound and not run.unbound:
            for place in range(row, row + run.length):
                bits[place >> 3] |= 1 << (place & 7)
        if run.unbound:
            for place in range(run.length):
                offsets[row] = <int32_t> (into - first)
                row += 1
        elif run.repeats:
            each = size_of(&slots.texts[at])
            copied(&slots.texts[at], into)
            at += 1
            fill(into, each, run.length)
            for place in range(run.length):
                offsets[row] = <int32_t> (into - first)
                into += each
                row += 1
        else:
            for place in range(run.length):
                offsets[row] = <int32_t> (into - first)
                into = copied(&slots.texts[at], into)
                at += 1
                row += 1
    offsets[rows] = <int32_t> (into - first)
    return Column(rows=rows, offsets=offsets_made, data=made, validity=validity)


cdef inline void fill(uint8_t *text, size_t size, size_t times) noexcept nogil:
    """Fill memory with copies of its first `size` bytes, doubling the copied size each time."""
    cdef size_t whole = size * times
    cdef size_t done = size
    cdef size_t more
    while done < whole:
        more = min(done, whole - done)
        memcpy(text + done, text, more)
        done += more
