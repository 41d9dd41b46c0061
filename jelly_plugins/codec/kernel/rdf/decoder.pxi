# The decoder of `rdf/decoder.py`: planned rows become terms and statements of a factory.

cdef class ObjectDecoder:
    """Makes planned terms and statements in the same order as the reference; the base of each
    format's decoder.
    """

    cdef Reader reader
    cdef readonly object options
    cdef object factory
    # The reference's decoder of the format.
    cdef object reference
    cdef object limits
    cdef object frames
    # Whether an error ended the stream, and whether a call is active.
    cdef bint failed
    cdef bint busy
    # Constructors, and whether terms can be made without calling them because their classes are
    # known.
    cdef bint chosen
    cdef bint plain_iri
    cdef bint plain_blank_node
    cdef bint plain_literal
    cdef object make_iri
    cdef object make_blank_node
    cdef object make_literal
    cdef object make_quoted_triple
    # Checks the names of graphs; None if any name is valid.
    cdef object check_graph
    # The tuple class of statements, and the function that converts statements to other objects;
    # None if they are not converted.
    cdef object statement_class
    cdef object make_statement
    # The current row, for errors, and the statement that may be repeated.
    cdef object row
    cdef object before
    # The list of the frame's statements.
    cdef list taken

    def __cinit__(self, factory, *, limits=DEFAULT_LIMITS, first_frame=0, strict=False):
        if not open_reader(&self.reader):
            raise MemoryError
        self.factory = factory
        self.limits = limits
        self.frames = first_frame
        set_limits(&self.reader, limits)

    def __dealloc__(self):
        close_reader(&self.reader)

    @property
    def next_frame(self):
        """Number of the next frame."""
        return self.frames

    def decode(self, data):
        """Decode the next frame.

        :param data: the frame's bytes, without a delimiter.
        :raises JellyError: with frame and row, on any error.
        """
        if type(data) is not bytes:
            data = bytes(memoryview(data))
        if self.failed or self.busy:
            raise OrderError(reference_rows.NOT_ITS_TURN, frame=self.frames)
        data = held(data)
        frame = self._new_frame(len(data))
        self.busy = self.failed = True
        self.row = None
        try:
            if len(data) > self.limits.frame_bytes:
                raise over(self.limits, "frame_bytes", len(data), "the length of a frame")
            self._decode_rows(data, frame)
        except JellyError as error:
            error.locate(frame=frame.index, row=self.row)
            raise
        except ValueError as error:
            # The factory cannot hold a term.
            raise TermError(str(error)).locate(frame=frame.index, row=self.row) from error
        finally:
            self.busy = False
            self.before = None
            self.taken = None
            self._let_go()
            end_frame(&self.reader)
            let_go(data)
        self.failed = False
        self.frames += 1
        return frame

    cdef void _let_go(self):
        """Clear the plan."""
        self.reader.planned = 0
        self.reader.made_count = 0
        self.reader.made_bytes = 0
        sweep(&self.reader.pool)

    cdef object _new_frame(self, size):
        """Make an empty frame of the format."""
        raise TypeError("this decodes no format of its own")

    cdef int _take(self, Planned *planned, frame) except -1:
        """Process a planned row, after all its terms are made."""
        return 0

    cdef int _take_options(self, bytes data) except -1:
        """Read the options at the reader's position."""
        return 0

    cdef int _take_namespace(self, frame) except -1:
        """Take the namespace that the reader has read."""
        return 0

    cdef int _take_header(self) except -1:
        """Take the header that the reader has read."""
        return 0

    cdef int _end_frame(self, frame) except -1:
        """Process the end of a frame, whose errors have no row."""
        return 0

    cdef int _decode_rows(self, bytes data, frame) except -1:
        """Decode all rows of a frame."""
        cdef Reader *reader = &self.reader
        cdef Status status
        begin_frame(reader, data)
        while True:
            status = read_rows(reader)
            self._make_planned(frame)
            if status == AT_FRAME_END:
                frame.rows = reader.rows
                self.row = None
                return self._end_frame(frame)
            self.row = row_number(reader)
            if status == AT_OPTIONS:
                self._take_options(data)
            elif status == AT_FRAME_FIELD:
                read_frame_field(self.reference, reader, data, frame)
            elif status == AT_NAMESPACE:
                self._take_namespace(frame)
            elif status == AT_HEADER:
                self._take_header()
            elif status != AT_PLAN_END:
                raise rejection(reader, status, self.options, self.limits, GenericFactory(),
                                type(self.reference))

    cdef int _choose_constructors(self) except -1:
        """Choose the constructors of terms and statements, once there are any to make."""
        self.chosen = True
        self.make_iri = self.factory.iri
        self.make_blank_node = self.factory.blank_node
        self.make_literal = self.factory.literal
        self.make_quoted_triple = self.factory.quoted_triple
        if self.factory.check_graph is not GenericFactory.check_graph:
            self.check_graph = self.factory.check_graph
        self.plain_iri = KNOWN_TERMS and self.make_iri is Iri
        self.plain_blank_node = KNOWN_TERMS and self.make_blank_node is BlankNode
        self.plain_literal = KNOWN_TERMS and self.make_literal is Literal
        if self.reader.width == 3:
            made = self.factory.triple
            generic = made is GenericFactory.triple
            self.statement_class = Triple if generic else tuple
        else:
            made = self.factory.quad
            generic = made is GenericFactory.quad
            self.statement_class = Quad if generic else tuple
        if not (generic and KNOWN_STATEMENTS or made is tuple):
            self.make_statement = made
            self.statement_class = tuple
        return 0

    # From the plan to objects, in the same order as the reference

    cdef int _make_planned(self, frame) except -1:
        cdef Reader *reader = &self.reader
        cdef Planned *planned
        cdef size_t made = 0
        cdef size_t at
        if not self.chosen and (reader.planned or reader.made_count):
            self._choose_constructors()
        for at in range(reader.planned):
            planned = &reader.plan[at]
            while made < reader.made_count and reader.made[made].row <= planned.row:
                self._make_term(reader.made[made])
                made += 1
            self._take(planned, frame)
        while made < reader.made_count:
            self._make_term(reader.made[made])
            made += 1
        self._let_go()
        return 0

    cdef object _graph(self, Term *graph):
        if graph.object == NULL:
            self._make_default_graph()
        return <object> graph.object

    cdef int _make_default_graph(self) except -1:
        name = self.factory.default_graph
        Py_INCREF(<PyObject *> name)
        self.reader.default_graph.object = <PyObject *> name
        return 0

    cdef int _make_term(self, Term *term) except -1:
        try:
            made = self._call_factory(term)
        except BaseException:
            self.row = term.row
            raise
        Py_INCREF(<PyObject *> made)
        term.object = <PyObject *> made
        return 0

    cdef object _call_factory(self, Term *term):
        if term.kind == IRI:
            value = text_with(term.text, term.characters)
            return new_iri(value) if self.plain_iri else self.make_iri(value)
        if term.kind == LITERAL:
            lex = text_with(term.lex, term.characters)
            langtag = text_of(term.langtag) if term.langtag.size else None
            datatype = datatype_iri(term.parts[0]) if term.parts[0] != NULL else None
            if self.plain_literal:
                return new_literal(lex, langtag, datatype)
            return self.make_literal(lex, langtag, datatype)
        if term.kind == BLANK_NODE:
            label = text_of(term.wire)
            return new_blank_node(label) if self.plain_blank_node else self.make_blank_node(label)
        return self.make_quoted_triple(
            <object> term.parts[0].object,
            <object> term.parts[1].object,
            <object> term.parts[2].object,
        )

    cdef object _make_statement(self, Planned *planned):
        cdef int width = self.reader.width
        cdef PyObject *term
        cdef int position
        if width == 4 and planned.terms[3].object == NULL:
            self._make_default_graph()
        if self.statement_class is tuple:
            statement = PyTuple_New(width)
        else:
            statement = new_tuple(self.statement_class, width)
        for position in range(width):
            term = planned.terms[position].object
            Py_INCREF(term)
            PyTuple_SET_ITEM_steal(statement, position, term)
        if self.make_statement is None:
            return statement
        self.row = planned.row
        return self.make_statement(statement)


cdef class Decoder(ObjectDecoder):
    """See :class:`jelly_plugins.codec.rdf.decoder.Decoder`; this is its compiled form."""

    def __cinit__(self, factory, *, limits=DEFAULT_LIMITS, first_frame=0):
        self.reference = FRAME_FIELD_READER

    @property
    def inside_graph(self):
        """Whether a graph is open, in physical type GRAPHS."""
        return self.reader.state == INSIDE_GRAPH

    def finish(self):
        """Mark the end of the stream.

        :raises OptionsError: the stream had no options, because it had no rows at all.
        """
        if self.options is None:
            raise OptionsError("the stream has no options: it is empty")

    cdef object _new_frame(self, size):
        frame = Frame(self.frames, size=size)
        self.taken = frame.statements
        return frame

    cdef int _take_options(self, bytes data) except -1:
        self.options = read_options(&self.reader, data, self.options, self.limits)
        return 0

    cdef int _take_namespace(self, frame) except -1:
        cdef Reader *reader = &self.reader
        cdef Term *iri = reader.namespace_iri
        reader.namespace_iri = NULL
        frame.namespaces.append((text_of(reader.namespace_name), <object> iri.object))
        drop(iri, &reader.pool)
        return 0

    cdef int _take(self, Planned *planned, frame) except -1:
        if planned.event == STATEMENT:
            self.before = self._make_statement(planned)
            self.taken.append(self.before)
        elif planned.event == REPEAT:
            self.taken.append(self.before)
        elif planned.event == GRAPH_START:
            self._start_graph(planned, frame)
        else:
            frame.empty_graphs.append(self._graph(planned.terms[3]))
        return 0

    cdef int _start_graph(self, Planned *planned, frame) except -1:
        name = self._graph(planned.terms[3])
        if self.check_graph is not None:
            self.row = planned.row
            self.check_graph(name)
        frame.graphs.append(name)
        return 0


cdef object datatype_iri(Term *datatype):
    """Convert a datatype's IRI to a string."""
    if datatype.object == NULL:
        iri = text_of(datatype.text)
        Py_INCREF(<PyObject *> iri)
        datatype.object = <PyObject *> iri
    return <object> datatype.object


# Number of rows of each kind in a frame.

cdef bint count_kinds(const uint8_t *pos, const uint8_t *end, size_t *counts) noexcept nogil:
    """Count the rows of a frame by kind; return whether all of it could be read."""
    cdef Field row, content
    cdef const uint8_t *at
    while pos < end:
        pos = read_field(pos, end, &row)
        if pos == NULL:
            return False
        if row.tag != (1 << 3 | BYTES):
            continue
        at = row.start
        while at < row.stop:
            at = read_field(at, row.stop, &content)
            if at == NULL:
                return False
            if content.number < FIELD_NUMBERS and ROW_FIELDS[content.number] >= 0:
                counts[content.number] += 1
                break
        else:
            return False
    return True


def count_rows(bytes data not None):
    cdef size_t[FIELD_NUMBERS] counts
    cdef const uint8_t *start = <const uint8_t *> <const char *> data
    cdef const uint8_t *end = start + len(data)
    cdef bint whole
    memset(counts, 0, sizeof(counts))
    with nogil:
        whole = count_kinds(start, end, counts)
    if not whole:
        return reference_decoder.count_rows(data)
    return {kind: counts[kind] for kind in range(FIELD_NUMBERS) if counts[kind]}
