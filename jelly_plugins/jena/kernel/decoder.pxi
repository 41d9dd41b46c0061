# The decoder of `reader.py`: rows of the usual form become terms and statements of a factory.

cdef uint64_t BATCH_ROWS = reference_reader.BATCH_ROWS


cdef inline bint is_node(int kind) noexcept nogil:
    return kind == IRI or kind == PREFIX_NAME or kind == BLANK_NODE


cdef inline bint has_direction(Slice langtag) noexcept nogil:
    """Whether there may be a base direction in a language tag."""
    cdef size_t at
    for at in range(1, langtag.size):
        if langtag.bytes[at] == c"-" and langtag.bytes[at - 1] == c"-":
            return True
    return False


# Prefix of IRIs that denote the default graph.
cdef bytes JENA_GRAPHS = reference_reader.DEFAULT_GRAPH_IRIS[1].encode()
cdef const uint8_t *JENA_GRAPH_BYTES = <const uint8_t *> <const char *> JENA_GRAPHS
cdef size_t JENA_GRAPH_SIZE = len(JENA_GRAPHS)
if any(not iri.startswith(JENA_GRAPHS.decode()) for iri in reference_reader.DEFAULT_GRAPH_IRIS):
    raise ImportError("the kernel's names of the default graph are not those of jena.reader")


cdef inline bint may_be_default(Slice iri) noexcept nogil:
    return iri.size >= JENA_GRAPH_SIZE and same(iri.bytes, JENA_GRAPH_SIZE, JENA_GRAPH_BYTES,
                                                JENA_GRAPH_SIZE)


cdef bint is_usual(Row *row) noexcept nogil:
    """Whether RDF 1.1 allows such kinds of terms in their positions, and literals have only the
    parts that are read here."""
    cdef RowTerm *object_ = &row.terms[2]
    return (
        is_node(row.terms[0].kind)
        and (row.terms[1].kind == IRI or row.terms[1].kind == PREFIX_NAME)
        and (row.width == 3 or (is_node(row.terms[3].kind)
                                and not may_be_default(row.terms[3].text)))
        and (object_.kind != LITERAL or not has_direction(object_.langtag))
    )


cdef class RowReader:
    """What reads rows of the usual form, and hands all others to the reference."""

    cdef object reference
    cdef object limits
    cdef bint thrift
    cdef size_t string_bytes
    cdef size_t row_bytes
    cdef uint64_t frame_expansion
    cdef Prefixes prefix_table
    # Number of the row that is next, and bytes that rows of the batch have made of fewer.
    cdef uint64_t rows
    cdef uint64_t expanded
    # The row of the statement that was read here last; of size 0 once the reference knows of it, or
    # has read another. It is in a caller's bytes until the call ends, which keeps a copy.
    cdef Slice last_row
    cdef bytes kept_row
    # Prefixed names are expanded here.
    cdef Buffer joined
    cdef Row encoded
    cdef bint busy

    def __dealloc__(self):
        close_prefixes(&self.prefix_table)
        release(&self.joined)

    cdef int _open(self, reference) except -1:
        self.reference = reference
        self.limits = reference.limits
        self.thrift = reference.format is JenaFormat.THRIFT
        self.string_bytes = self.limits.string_bytes
        self.row_bytes = self.limits.frame_bytes
        self.frame_expansion = self.limits.frame_expansion
        return 0

    @property
    def format(self):
        """How rows are encoded."""
        return self.reference.format

    @property
    def row(self):
        """Number of the row that is next."""
        return self.rows

    @property
    def base(self):
        """The base IRI that was declared last."""
        return self.reference.base

    @property
    def prefixes(self):
        """The prefixes that were declared so far, IRI by name."""
        return self.reference.prefixes

    def finish(self, rest=b""):
        """Mark the end of the input.

        :raises TruncatedError: something is left, a part of a row.
        """
        self.reference.row = self.rows
        self.reference.finish(rest)

    cdef int _enter(self) except -1:
        if self.busy:
            raise OrderError("another thread is using the decoder")
        self.busy = True
        return 0

    cdef void _leave(self):
        """Let go of the caller's bytes."""
        memset(&self.encoded, 0, sizeof(Row))
        if self.last_row.size:
            self.kept_row = self.last_row.bytes[:self.last_row.size]
            self.last_row.size = 0
        self.busy = False

    cdef inline bint _read(self, const uint8_t *pos, const uint8_t *end,
                           const uint8_t **stop) noexcept nogil:
        """Read a row; False if it is for the reference."""
        cdef Bytes at
        at.pos = pos
        at.end = end
        at.string_bytes = self.string_bytes
        if self.rows % BATCH_ROWS == 0:
            self.expanded = 0
        if self.thrift:
            if not thrift_row(&at, &self.encoded) or <size_t> (at.pos - pos) > self.row_bytes:
                return False
        elif not proto_row(&at, &self.encoded, self.row_bytes):
            return False
        stop[0] = at.pos
        return is_usual(&self.encoded)

    cdef inline void _note(self, const uint8_t *start, const uint8_t *stop) noexcept nogil:
        """A row's statement was taken."""
        self.last_row = Slice(start, stop - start)
        self.rows += 1

    cdef bint _expand(self, Slice name, Slice local, Slice *whole,
                      uint64_t *expanded) noexcept nogil:
        """Put the IRI of a prefix name together, and count it; False if that is for the
        reference."""
        cdef Prefix *prefix = find_prefix(&self.prefix_table, name)
        if prefix == NULL:
            return False
        self.joined.size = 0
        if (prefix.iri.size + local.size > self.string_bytes
                or not append(&self.joined, prefix.iri.bytes, prefix.iri.size)
                or not append(&self.joined, local.bytes, local.size)):
            return False
        whole[0] = contents(&self.joined)
        expanded[0] += whole.size
        return self.expanded + expanded[0] <= self.frame_expansion

    cdef Py_ssize_t _hand_over(self, bytes data, Py_ssize_t at, frame) except -1:
        """Have the reference read a row; return where it ends, or `at`."""
        reference = self.reference
        known = len(frame.namespaces)
        reference.row = self.rows
        reference.expansion = self.expanded
        if self.last_row.size:
            reference.before = self.last_row.bytes[:self.last_row.size]
            self.last_row.size = 0
        elif self.kept_row is not None:
            reference.before = self.kept_row
        self.kept_row = None
        stop = reference.decode_row(data, at, frame)
        self.rows = reference.row
        self.expanded = reference.expansion
        for name, _ in frame.namespaces[known:]:
            if declare_prefix(&self.prefix_table, name.encode(),
                              reference.prefixes[name].encode()):
                self._redeclared()
        return stop

    cdef int _redeclared(self) except -1:
        """A prefix has another IRI than before."""
        return 0


cdef struct Before:
    # A term of the statement before in the same call: its bytes, and the object and the number of
    # bytes that were made of it.
    Slice wire
    PyObject *object
    uint64_t expanded


cdef class RowDecoder(RowReader):
    """See :class:`jelly_plugins.jena.reader.RowDecoder`, which this is the compiled form of."""

    cdef Pool pool
    cdef Cache cache
    cdef Before before[4]
    cdef bint quads
    # Constructors, and those of them that need no call, because what they make is known.
    cdef bint plain_iri
    cdef bint plain_blank_node
    cdef bint plain_literal
    cdef object make_iri
    cdef object make_blank_node
    cdef object make_literal
    cdef object default_graph
    # By width: the class of tuple that statements are made as, and what makes something else of
    # them, None where nothing is to be made.
    cdef object triple_class
    cdef object quad_class
    cdef object make_triple
    cdef object make_quad

    def __cinit__(self, factory, format, *, quads=False, generalized=False, directions=True,
                  limits=DEFAULT_LIMITS):
        self._open(reference_reader.RowDecoder(
            factory, format, quads=quads, generalized=generalized, directions=directions,
            limits=limits,
        ))
        self.quads = quads
        self.default_graph = factory.default_graph
        self.make_iri = factory.iri
        self.make_blank_node = factory.blank_node
        self.make_literal = factory.literal
        self.plain_iri = KNOWN_TERMS and self.make_iri is Iri
        self.plain_blank_node = KNOWN_TERMS and self.make_blank_node is BlankNode
        self.plain_literal = KNOWN_TERMS and self.make_literal is Literal
        self.triple_class = self.quad_class = tuple
        self.make_triple = factory.triple
        self.make_quad = factory.quad
        if KNOWN_STATEMENTS and self.make_triple is GenericFactory.triple:
            self.triple_class, self.make_triple = Triple, None
        if KNOWN_STATEMENTS and self.make_quad is GenericFactory.quad:
            self.quad_class, self.make_quad = Quad, None

    def __dealloc__(self):
        clear(&self.cache, &self.pool)
        sweep(&self.pool)
        close_pool(&self.pool)

    cdef int _redeclared(self) except -1:
        clear(&self.cache, &self.pool)
        sweep(&self.pool)
        self._forget()
        return 0

    cdef void _forget(self):
        """Forget the statement before, whose bytes are a caller's."""
        for position in range(4):
            Py_XDECREF(self.before[position].object)
            self.before[position].object = NULL
            self.before[position].wire.size = 0

    def decode(self, data, at=0):
        """Decode rows up to the end of the batch, or the last whole row; see the reference."""
        if type(data) is not bytes:
            data = bytes(memoryview(data))
        self._enter()
        frame = Frame(self.rows // BATCH_ROWS)
        data = held(data)
        try:
            stop = self._decode(data, at, frame)
        finally:
            self._forget()
            self._leave()
            let_go(data)
        frame.size = stop - at
        return frame, stop

    cdef Py_ssize_t _decode(self, bytes data, Py_ssize_t at, frame) except -1:
        cdef const uint8_t *start = <const uint8_t *> PyBytes_AS_STRING(data)
        cdef const uint8_t *end = start + PyBytes_GET_SIZE(data)
        cdef const uint8_t *pos = start + at
        cdef const uint8_t *stop = NULL
        cdef uint64_t first = self.rows
        cdef list statements = frame.statements
        if not 0 <= at <= end - start:
            raise IndexError("the position is outside the data")
        while pos < end:
            if self._read(pos, end, &stop):
                statement = self._statement()
                if statement is not None:
                    statements.append(statement)
                    self._note(pos, stop)
                    pos = stop
                    if self.rows % BATCH_ROWS == 0:
                        break
                    continue
            stop = start + self._hand_over(data, pos - start, frame)
            if stop == pos:
                break
            pos = stop
            if self.rows % BATCH_ROWS == 0:
                break
        frame.rows = self.rows - first
        sweep(&self.pool)
        return pos - start

    cdef object _statement(self):
        """The statement of the row that was read; None if the row is for the reference."""
        cdef uint64_t expanded = 0
        cdef int width = self.encoded.width
        cdef int position
        cdef PyObject *made[4]
        cdef bint usual
        for position in range(width):
            usual = self._term(&self.encoded.terms[position], &self.before[position], &expanded)
            if not usual:
                return None
        for position in range(width):
            made[position] = self.before[position].object
        if width == 3 and self.quads:
            made[3] = <PyObject *> self.default_graph
            width = 4
        cls = self.triple_class if width == 3 else self.quad_class
        statement = PyTuple_New(width) if cls is tuple else new_tuple(cls, width)
        for position in range(width):
            Py_INCREF(made[position])
            PyTuple_SET_ITEM_steal(statement, position, made[position])
        make = self.make_triple if width == 3 else self.make_quad
        if make is not None:
            try:
                statement = make(statement)
            except ValueError as error:
                raise self._rejected(error) from error.__cause__
        self.expanded += expanded
        return statement

    cdef object _rejected(self, error):
        """The error for a term that the factory rejected, with its row."""
        if not isinstance(error, JellyError):
            rejected = TermError(str(error))
            rejected.__cause__ = error
            error = rejected
        return error.locate(row=self.rows)

    cdef bint _term(self, RowTerm *term, Before *before, uint64_t *expanded) except -1:
        """Let `before` be this term; False if it is for the reference."""
        cdef Term *cached = NULL
        cdef uint64_t hash = 0
        cdef uint64_t counted = expanded[0]
        cdef bint kept = term.wire.size <= CACHED_STRING
        cdef Slice nothing = Slice(NULL, 0)
        if before.object != NULL and same(before.wire.bytes, before.wire.size,
                                          term.wire.bytes, term.wire.size):
            expanded[0] += before.expanded
            return self.expanded + expanded[0] <= self.frame_expansion
        if kept:
            hash = hash_of(term.wire.bytes, term.wire.size)
            cached = find_wire(&self.cache, hash, term.wire)
        if cached != NULL:
            if self.expanded + expanded[0] + cached.characters > self.frame_expansion:
                return False
            expanded[0] += cached.characters
            made = <object> cached.object
        else:
            try:
                made = self._make(term, expanded)
            except ValueError as error:
                raise self._rejected(error) from error.__cause__
            if made is None:
                return False
            if kept:
                cached = new_term(&self.pool, BLANK_NODE, term.wire, nothing)
                if cached != NULL:
                    cached.characters = expanded[0] - counted
                    Py_INCREF(<PyObject *> made)
                    cached.object = <PyObject *> made
                    remember(&self.cache, hash, cached, &self.pool)
                    drop(cached, &self.pool)
        Py_XDECREF(before.object)
        Py_INCREF(<PyObject *> made)
        before.object = <PyObject *> made
        before.wire = term.wire
        before.expanded = expanded[0] - counted
        return True

    cdef object _make(self, RowTerm *term, uint64_t *expanded):
        """A term; None if it is for the reference."""
        cdef Slice text = term.text
        if term.kind == LITERAL:
            return self._make_literal(term, expanded)
        if term.kind == PREFIX_NAME:
            if (characters_in(term.local.bytes, term.local.bytes + term.local.size) < 0
                    or not self._expand(term.text, term.local, &text, expanded)):
                return None
        value = string_of(text)
        if value is None:
            return None
        if term.kind == BLANK_NODE:
            return new_blank_node(value) if self.plain_blank_node else self.make_blank_node(value)
        return new_iri(value) if self.plain_iri else self.make_iri(value)

    cdef object _make_literal(self, RowTerm *term, uint64_t *expanded):
        lex = string_of(term.text)
        if lex is None:
            return None
        langtag = None
        datatype = None
        if term.langtag.size:
            langtag = self._known(term.langtag)
            if langtag is None:
                return None
        elif term.has_prefix or term.datatype.size:
            if term.has_prefix:
                if (characters_in(term.datatype.bytes,
                                  term.datatype.bytes + term.datatype.size) < 0
                        or not self._expand(term.prefix, term.datatype, &term.datatype,
                                            expanded)):
                    return None
            datatype = self._known(term.datatype)
            if datatype is None:
                return None
            if same(term.datatype.bytes, term.datatype.size, XSD_STRING_BYTES, XSD_STRING_SIZE):
                datatype = None
        if self.plain_literal:
            return new_literal(lex, langtag, datatype)
        return self.make_literal(lex, langtag, datatype)

    cdef object _known(self, Slice text):
        """A string that other literals may have too; None if it is not UTF-8."""
        cdef Slice nothing = Slice(NULL, 0)
        # Another hash than a term of the same bytes has.
        cdef uint64_t hash = ~hash_of(text.bytes, text.size)
        cdef Term *cached = NULL
        if text.size <= CACHED_STRING:
            cached = find_wire(&self.cache, hash, text)
            if cached != NULL:
                return <object> cached.object
        made = string_of(text)
        if made is not None and text.size <= CACHED_STRING:
            cached = new_term(&self.pool, BLANK_NODE, text, nothing)
            if cached != NULL:
                Py_INCREF(<PyObject *> made)
                cached.object = <PyObject *> made
                remember(&self.cache, hash, cached, &self.pool)
                drop(cached, &self.pool)
        return made


cdef object string_of(Slice text):
    """A string; None if the text is not UTF-8."""
    cdef Py_ssize_t characters = characters_in(text.bytes, text.bytes + text.size)
    return None if characters < 0 else text_with(text, characters)
