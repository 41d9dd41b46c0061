# The encoders of `writer.py` and `text.py`: statements of generic terms, and lines of the usual
# form, become rows.

cdef struct RowText:
    # A term to write; its Slices belong to the term's objects, or to the line.
    int kind
    Slice text
    Slice langtag
    Slice datatype
    # Bytes of what is inside, in Protocol Buffers.
    size_t inner


cdef class TermTexts:
    """Finds out the text of generic terms, and writes rows of the usual form.

    :ivar kept: bytes that texts are in, besides those of objects.
    """

    cdef Buffer out
    cdef RowText terms[4]
    cdef list kept
    cdef bint thrift
    cdef size_t string_bytes
    cdef size_t row_bytes
    # Whether a thread is using it.
    cdef bint busy

    def __cinit__(self, format, limits):
        self.thrift = format is JenaFormat.THRIFT
        self.string_bytes = limits.string_bytes
        self.row_bytes = limits.frame_bytes
        self.kept = []

    def __dealloc__(self):
        release(&self.out)

    cdef int _enter(self) except -1:
        if self.busy:
            raise OrderError("another thread is using the encoder")
        self.busy = True
        self.out.size = 0
        return 0

    cdef void _leave(self):
        """Let go of what was to be written."""
        memset(self.terms, 0, sizeof(self.terms))
        self.kept.clear()
        self.busy = False

    cdef bytes _take(self):
        """What was written."""
        rows = (<const char *> self.out.bytes)[:self.out.size] if self.out.size else b""
        self.out.size = 0
        return rows

    def add(self, encoder, statements):
        """Write statements of generic terms.

        :param encoder: the reference, which writes those that are not of the usual form.
        """
        cdef uint64_t count = 0
        cdef bint usual
        cdef bytes rows
        abbreviates = encoder.terms.abbreviates
        self._enter()
        try:
            for statement in statements:
                usual = isinstance(statement, tuple) and self._statement(statement, abbreviates)
                if usual:
                    count += 1
                    continue
                encoder.row += count
                encoder.statements += count
                count = 0
                rows = encoder.statement(statement)
                if not append(&self.out, PyBytes_AS_STRING(rows), PyBytes_GET_SIZE(rows)):
                    raise MemoryError
        finally:
            encoder.row += count
            encoder.statements += count
            self._leave()
        return self._take()

    cdef bint _statement(self, statement, bint abbreviates) except -1:
        """Write a statement; False if it is not of the usual form."""
        cdef Py_ssize_t width = PyTuple_GET_SIZE(statement)
        cdef int position
        cdef PyObject *term
        cdef bint usual
        if width == 4 and <object> PyTuple_GET_ITEM_borrow(statement, 3) is GENERIC_DEFAULT_GRAPH:
            width = 3
        elif width != 3 and width != 4:
            return False
        for position in range(width):
            term = PyTuple_GET_ITEM_borrow(statement, position)
            usual = self._term(<object> term, &self.terms[position], abbreviates)
            if not usual:
                return False
        if not are_usual(self.terms, width):
            return False
        if not self._write(width):
            return False
        if self.kept:
            self.kept.clear()
        return True

    cdef bint _term(self, term, RowText *text, bint abbreviates) except -1:
        text.langtag.size = text.datatype.size = 0
        if type(term) is Iri:
            text.kind = IRI
            return not abbreviates and self._string(slot_value(term, IRI_VALUE), &text.text)
        if type(term) is Literal:
            text.kind = LITERAL
            langtag = slot_value(term, LITERAL_LANGTAG)
            datatype = slot_value(term, LITERAL_DATATYPE)
            if not self._string(slot_value(term, LITERAL_LEX), &text.text):
                return False
            if langtag is not None:
                return (self._string(langtag, &text.langtag) and text.langtag.size > 0
                        and not has_direction(text.langtag))
            return datatype is None or (not abbreviates
                                        and self._string(datatype, &text.datatype)
                                        and text.datatype.size > 0)
        text.kind = BLANK_NODE
        return type(term) is BlankNode and self._string(
            slot_value(term, BLANK_NODE_LABEL), &text.text)

    cdef bint _string(self, value, Slice *text) except -1:
        """The UTF-8 of a string; False if the reference has to look at it."""
        cdef bytes raw
        if type(value) is not str or <size_t> PyUnicode_GET_LENGTH(value) * 4 > self.string_bytes:
            return False
        if PyUnicode_IS_ASCII(value):
            text[0] = Slice(<const uint8_t *> PyUnicode_DATA(value), PyUnicode_GET_LENGTH(value))
            return True
        try:
            raw = PyUnicode_AsUTF8String(value)
        except UnicodeEncodeError:
            return False
        self.kept.append(raw)
        text[0] = slice_of_bytes(raw)
        return True

    cdef bint _write(self, int width) noexcept nogil:
        """Write a row; False if it is too long, or memory is exhausted."""
        cdef size_t start = self.out.size
        cdef bint done
        if self.thrift:
            done = write_thrift_row(&self.out, self.terms, width)
            done = done and self.out.size - start <= self.row_bytes
        else:
            done = write_proto_row(&self.out, self.terms, width, self.row_bytes)
        if not done:
            self.out.size = start
        return done


cdef class LineTexts(TermTexts):
    """Writes lines of the usual form."""

    cdef LineReader lines

    def __dealloc__(self):
        close_line_reader(&self.lines)

    def add_lines(self, encoder, data, parser):
        """Write whole lines.

        :param encoder: the reference, which writes the statements that are not of the usual form.
        :param parser: a ``LineParser``; reads the lines that are not.
        """
        cdef bytes lines = data
        self._enter()
        lines = held(lines)
        try:
            self._add_lines(encoder, lines, parser)
        finally:
            end_text(&self.lines)
            self._leave()
            let_go(lines)
        return self._take()

    cdef int _add_lines(self, encoder, bytes data, parser) except -1:
        cdef const uint8_t *pos = <const uint8_t *> PyBytes_AS_STRING(data)
        cdef const uint8_t *end = pos + PyBytes_GET_SIZE(data)
        cdef const uint8_t *counted = pos
        cdef const uint8_t *start = pos
        cdef uint64_t count = 0
        cdef Line line = LINE_EMPTY
        cdef bytes rows
        self.lines.quads = parser.quads
        self.lines.relative_iris = parser.relative_iris
        self.lines.string_bytes = self.string_bytes
        forget_previous(&self.lines)
        if (characters_in(pos, end) < 0
                or <uint64_t> (end - pos) > <uint64_t> parser.limits.frame_bytes):
            # The reference reports errors of the whole term before it reads any part of it.
            rows = encoder.add(parser.statements(data))
            return self._take_rows(rows)
        while pos < end:
            with nogil:
                while pos < end:
                    start = pos
                    pos = parse_line(&self.lines, pos, end, &line)
                    if line == LINE_WRITTEN:
                        if not self._line():
                            line = LINE_UNUSUAL
                        else:
                            count += 1
                    if line == LINE_UNUSUAL:
                        pos = line_after(start, end)
                        break
            encoder.row += count
            encoder.statements += count
            parser.count += count
            count = 0
            if line == LINE_UNUSUAL:
                parser.line_ends += line_ends_in(counted, start)
                counted = pos
                rows = encoder.add(parser.statements((<const char *> start)[:pos - start]))
                self._take_rows(rows)
        parser.line_ends += line_ends_in(counted, end)
        return 0

    cdef int _take_rows(self, bytes rows) except -1:
        if not append(&self.out, PyBytes_AS_STRING(rows), PyBytes_GET_SIZE(rows)):
            raise MemoryError
        return 0

    cdef bint _line(self) noexcept nogil:
        """Write the line that was read; False if that is for the reference."""
        cdef int width = 3
        cdef int position
        cdef EncodedTerm *encoded
        cdef RowText *text
        if self.lines.quads and self.lines.encoded[3].kind != DEFAULT_GRAPH:
            width = 4
        for position in range(width):
            encoded = &self.lines.encoded[position]
            text = &self.terms[position]
            text.kind = encoded.kind
            text.langtag.size = text.datatype.size = 0
            if encoded.kind != LITERAL:
                text.text = encoded.text
                continue
            said_literal(encoded.text, text)
            if encoded.typed:
                text.datatype = encoded.datatype
                if text.datatype.size == 0:
                    return False
        return are_usual(self.terms, width) and self._write(width)


cdef void said_literal(Slice wire, RowText *text) noexcept nogil:
    """The parts of a literal that `parse_literal` has put together."""
    cdef const uint8_t *pos = wire.bytes
    cdef const uint8_t *end = pos + wire.size
    cdef const uint8_t *after
    text.text = Slice(pos, 0)
    if pos < end:
        after = proto_bytes(pos, end, BYTES_1, &text.text)
        if after != NULL:
            pos = after
    if pos < end:
        proto_bytes(pos, end, BYTES_2, &text.langtag)


cdef inline bint are_usual(RowText *terms, int width) noexcept nogil:
    """Whether RDF 1.1 has such kinds of terms where they are."""
    return (is_node(terms[0].kind) and terms[1].kind == IRI
            and (width == 3 or is_node(terms[3].kind)))


# Thrift

cdef inline void put_thrift_string(Buffer *out, uint8_t header, Slice text) noexcept nogil:
    put_byte(out, header)
    put_varint(out, text.size)
    put(out, text.bytes, text.size)


cdef inline size_t room_for_term(RowText *term) noexcept nogil:
    """Bytes that a term takes in either encoding, at most."""
    return term.text.size + term.langtag.size + term.datatype.size + 64


cdef bint write_thrift_row(Buffer *out, RowText *terms, int width) noexcept nogil:
    cdef RowText *term
    cdef int position
    for position in range(width):
        term = &terms[position]
        if not reserve(out, room_for_term(term)):
            return False
        if position == 0:
            put_byte(out, STRUCT_2 if width == 3 else STRUCT_3)
        put_byte(out, STRUCT_1)
        put_byte(out, STRUCT_1 if term.kind == IRI else STRUCT_2 if term.kind == BLANK_NODE
                 else STRUCT_3)
        put_thrift_string(out, STRING_1, term.text)
        if term.langtag.size:
            put_thrift_string(out, STRING_1, term.langtag)
        elif term.datatype.size:
            put_thrift_string(out, STRING_2, term.datatype)
        put_byte(out, 0)
        put_byte(out, 0)
    put_byte(out, 0)
    put_byte(out, 0)
    return True


# Protocol Buffers

cdef inline size_t field_size(size_t size) noexcept nogil:
    """Bytes of a field of so many, with a short tag."""
    return 1 + varint_size(size) + size


cdef inline void put_proto(Buffer *out, uint8_t tag, size_t size) noexcept nogil:
    put_byte(out, tag)
    put_varint(out, size)


cdef inline void put_proto_string(Buffer *out, uint8_t tag, Slice text) noexcept nogil:
    put_proto(out, tag, text.size)
    put(out, text.bytes, text.size)


cdef bint write_proto_row(Buffer *out, RowText *terms, int width, size_t row_bytes) noexcept nogil:
    cdef RowText *term
    cdef size_t size = 0
    cdef size_t row
    cdef int position
    for position in range(width):
        term = &terms[position]
        term.inner = field_size(term.text.size) if term.text.size else 0
        if term.kind == LITERAL:
            if term.langtag.size:
                term.inner += field_size(term.langtag.size)
            elif term.datatype.size:
                term.inner += field_size(term.datatype.size)
            else:
                term.inner += 2
        size += field_size(field_size(term.inner))
    row = field_size(size)
    if row + varint_size(row) > row_bytes or not reserve(out, row + 10):
        return False
    put_varint(out, row)
    put_proto(out, BYTES_2 if width == 3 else BYTES_3, size)
    for position in range(width):
        term = &terms[position]
        put_proto(out, <uint8_t> (position + 1 << 3 | BYTES), field_size(term.inner))
        put_proto(out, BYTES_1 if term.kind == IRI else BYTES_2 if term.kind == BLANK_NODE
                  else BYTES_3, term.inner)
        if term.text.size:
            put_proto_string(out, BYTES_1, term.text)
        if term.kind != LITERAL:
            continue
        if term.langtag.size:
            put_proto_string(out, BYTES_2, term.langtag)
        elif term.datatype.size:
            put_proto_string(out, BYTES_3, term.datatype)
        else:
            put_byte(out, SIMPLE)
            put_byte(out, 1)
    return True


class RowEncoder(reference_jena_writer.RowEncoder):
    __doc__ = reference_jena_writer.RowEncoder.__doc__

    def __init__(self, *settings, **named):
        super().__init__(*settings, **named)
        self._texts = TermTexts(self.format, self.limits)
        # The reference writes terms of any other form.
        self._usual = self.describe is terms.describe and KNOWN_TERMS

    def add(self, statements):
        """Write triples or quads."""
        if not self._usual:
            return super().add(statements)
        return self._texts.add(self, statements)


class LineEncoder(reference_jena_text.LineEncoder):
    __doc__ = reference_jena_text.LineEncoder.__doc__

    _encoder_type = RowEncoder

    def __init__(self, *settings, **named):
        super().__init__(*settings, **named)
        self._lines = LineTexts(self.rows.format, self.rows.limits)

    def _add(self, data):
        if self.rows.terms.abbreviates:
            return super()._add(data)
        return self._lines.add_lines(self.rows, data, self._parser)
