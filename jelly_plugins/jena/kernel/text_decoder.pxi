# The decoder of `text.py`: rows of the usual form become lines, with no object made on the way.

cdef enum:
    # Terms that are known by their bytes, at most; a power of two.
    WRITTEN_TERMS = 512


cdef struct WrittenTerm:
    # A term of a line before in the same call: its bytes in its row, the position of its text in
    # the output, and the number of bytes that were made of fewer.
    Slice wire
    size_t start
    size_t size
    uint64_t expanded


cdef inline size_t place_of(Slice wire) noexcept nogil:
    """Where a term has its place among those that are known: of two in one, the later has it."""
    cdef uint64_t first = 0
    cdef uint64_t middle = 0
    cdef uint64_t last = 0
    if wire.size < sizeof(uint64_t):
        memcpy(&first, wire.bytes, wire.size)
    else:
        memcpy(&first, wire.bytes, sizeof(uint64_t))
        memcpy(&middle, wire.bytes + (wire.size - sizeof(uint64_t)) // 2, sizeof(uint64_t))
        memcpy(&last, wire.bytes + wire.size - sizeof(uint64_t), sizeof(uint64_t))
    first = (first ^ wire.size) * <uint64_t> 0x9E3779B97F4A7C15
    first = (first ^ middle ^ first >> 32) * <uint64_t> 0x9E3779B97F4A7C15
    first = (first ^ last ^ first >> 32) * <uint64_t> 0x9E3779B97F4A7C15
    return first >> 32 & WRITTEN_TERMS - 1


cdef class RowTextDecoder(RowReader):
    """See :class:`jelly_plugins.jena.text.RowTextDecoder`, which this is the compiled form of."""

    cdef Buffer out
    cdef WrittenTerm written[WRITTEN_TERMS]
    cdef bint validated
    cdef bint graphs
    cdef uint64_t count

    def __cinit__(self, format, *, graphs=True, notation=ntriples.Notation.RDF_1_2, validator=None,
                  generalized=False, limits=DEFAULT_LIMITS):
        self._open(reference_jena_text.RowTextDecoder(
            format, graphs=graphs, notation=notation, validator=validator, generalized=generalized,
            limits=limits,
        ))
        self.validated = validator is not None
        self.graphs = graphs

    def __dealloc__(self):
        release(&self.out)

    @property
    def statements(self):
        """Number of statements so far."""
        return self.count + self.reference.statements

    @property
    def declared(self):
        """Prefixes that were declared since they were last taken from here, as name and IRI."""
        return self.reference.declared

    cdef int _redeclared(self) except -1:
        self._forget()
        return 0

    cdef void _forget(self):
        memset(self.written, 0, sizeof(self.written))

    def decode_text(self, data, at=0):
        """Decode rows up to the end of the batch, or the last whole row; see the reference."""
        if type(data) is not bytes:
            data = bytes(memoryview(data))
        self._enter()
        data = held(data)
        self.out.size = 0
        try:
            stop = self._decode(data, at)
        finally:
            self._forget()
            self._leave()
            let_go(data)
        return (<const char *> self.out.bytes)[:self.out.size] if self.out.size else b"", stop

    cdef Py_ssize_t _decode(self, bytes data, Py_ssize_t at) except -1:
        cdef const uint8_t *start = <const uint8_t *> PyBytes_AS_STRING(data)
        cdef const uint8_t *end = start + PyBytes_GET_SIZE(data)
        cdef const uint8_t *pos = start + at
        cdef const uint8_t *stop = NULL
        cdef bint usual = True
        cdef bint more = True
        cdef bytes lines
        if not 0 <= at <= end - start:
            raise IndexError("the position is outside the data")
        while more and pos < end:
            with nogil:
                while pos < end:
                    usual = self._read(pos, end, &stop) and self._line()
                    if not usual:
                        break
                    self.count += 1
                    self._note(pos, stop)
                    pos = stop
                    if self.rows % BATCH_ROWS == 0:
                        more = False
                        break
            if usual:
                break
            frame = Frame(0)
            stop = start + self._hand_over(data, pos - start, frame)
            if stop == pos:
                break
            pos = stop
            lines = self.reference.lines(frame)
            if not append(&self.out, PyBytes_AS_STRING(lines), PyBytes_GET_SIZE(lines)):
                raise MemoryError
            more = self.rows % BATCH_ROWS != 0
        return pos - start

    cdef bint _line(self) noexcept nogil:
        """Write the line of the row that was read; False if it is for the reference, and then
        nothing is written."""
        cdef Buffer *out = &self.out
        cdef size_t start = out.size
        cdef uint64_t expanded = 0
        cdef int width = self.encoded.width
        cdef int position = 0
        if width == 4 and not self.graphs:
            return False
        while (position < width and self._term(&self.encoded.terms[position], &expanded)
               and reserve(out, 3)):
            put_byte(out, c" ")
            position += 1
        if position < width:
            out.size = start
            # The recorded positions of its terms are no longer valid.
            for position in range(width):
                self.written[place_of(self.encoded.terms[position].wire)].wire.size = 0
            return False
        put_byte(out, c".")
        put_byte(out, c"\n")
        self.expanded += expanded
        return True

    cdef bint _term(self, RowTerm *term, uint64_t *expanded) noexcept nogil:
        """Write a term, or what was written of it before; False if it is for the reference."""
        cdef Buffer *out = &self.out
        cdef WrittenTerm *known = &self.written[place_of(term.wire)]
        cdef size_t start = out.size
        cdef uint64_t counted = expanded[0]
        if known.wire.size and same(known.wire.bytes, known.wire.size, term.wire.bytes,
                                    term.wire.size):
            expanded[0] += known.expanded
            # First of all, because it may move what is copied.
            if not reserve(out, known.size):
                return False
            put(out, out.bytes + known.start, known.size)
            return self.expanded + expanded[0] <= self.frame_expansion
        if not self._text(term, expanded):
            return False
        known.wire = term.wire
        known.start = start
        known.size = out.size - start
        known.expanded = expanded[0] - counted
        return True

    cdef bint _text(self, RowTerm *term, uint64_t *expanded) noexcept nogil:
        cdef Buffer *out = &self.out
        cdef size_t start = out.size
        cdef Slice text = term.text
        if term.kind == LITERAL:
            return self._literal(term, expanded)
        if term.kind == PREFIX_NAME:
            if not self._expand(term.text, term.local, &text, expanded):
                return False
        if characters_in(text.bytes, text.bytes + text.size) < 0:
            return False
        if term.kind == BLANK_NODE:
            # Where terms are validated, one that is written with its own label.
            return append_label(out, text) and (
                not self.validated or out.size - start == text.size + 2
            )
        return append_iri(out, text.bytes, text.size) and (
            not self.validated or is_plain_iri(Slice(out.bytes + start, out.size - start))
        )

    cdef bint _literal(self, RowTerm *term, uint64_t *expanded) noexcept nogil:
        cdef Buffer *out = &self.out
        cdef Slice datatype = term.datatype
        cdef size_t start
        if (characters_in(term.text.bytes, term.text.bytes + term.text.size) < 0
                or not append(out, <const char *> b'"', 1)
                or not append_string(out, term.text.bytes, term.text.size)
                or not append(out, <const char *> b'"', 1)):
            return False
        if term.langtag.size:
            return (is_langtag(term.langtag)
                    and (not self.validated or is_plain_literal(term.langtag, NULL))
                    and append(out, <const char *> b"@", 1)
                    and append(out, term.langtag.bytes, term.langtag.size))
        if term.has_prefix:
            if not self._expand(term.prefix, term.datatype, &datatype, expanded):
                return False
        elif datatype.size == 0:
            return True
        if same(datatype.bytes, datatype.size, XSD_STRING_BYTES, XSD_STRING_SIZE):
            return True
        start = out.size
        return (not needs_tag(datatype)
                and characters_in(datatype.bytes, datatype.bytes + datatype.size) >= 0
                and append(out, <const char *> b"^^", 2)
                and append_iri(out, datatype.bytes, datatype.size)
                and (not self.validated
                     or is_plain_datatype(Slice(out.bytes + start, out.size - start))))
