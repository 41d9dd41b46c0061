# The decoder of `patch/decoder.py`: planned rows become operations, with terms and statements of a
# factory. The reference processes options and the ends of frames and streams.

if not (is_bare_tuple(Operation) and is_bare_tuple(Header)):
    raise ImportError("operations and headers are not the tuples that the kernel makes")

cdef object ADD_KIND = OperationKind.ADD
cdef object DELETE_KIND = OperationKind.DELETE
# The state after a frame's end, by the state before it, in streams whose frames are not patches.
cdef dict FRAME_END_STATES = {
    int(state): int(following[patch_rules.PatchRow.END_OF_FRAME])
    for state, following in patch_rules.NEXT.items()
    if patch_rules.PatchRow.END_OF_FRAME in following
}
# Rows without content, and their operations.
cdef dict BARE_ROWS = {
    int(row): operation
    for row, (operation, _) in reference_patch_decoder.EMPTY_ROWS.items()
}


cdef class PatchDecoder(ObjectDecoder):
    """See :class:`jelly_plugins.codec.patch.decoder.PatchDecoder`; this is its compiled form."""

    # Frame and row of the start of the last transaction.
    cdef object begin
    # Whether the options are known, and patches end with punctuation or with the stream.
    cdef bint plain_ends

    def __cinit__(self, factory, *, limits=DEFAULT_LIMITS, strict=False):
        self.reference = reference_patch_decoder.PatchDecoder(
            factory, limits=limits, strict=strict
        )
        set_patch(&self.reader)
        self.begin = (0, 0)

    @property
    def inside_patch(self):
        """Whether the stream must not end here: inside a transaction, or, in a stream of type
        PUNCTUATED, after rows without subsequent punctuation.
        """
        return self._placed_reference().inside_patch

    @property
    def deviations(self):
        """Accepted deviations from the specification; see the reference."""
        return self.reference.deviations

    def finish(self):
        """Mark the end of the stream; see the reference."""
        ended = self._placed_reference().finish()
        self.reader.state = self.reference.state
        return ended

    cdef object _placed_reference(self):
        """Return the reference, set to this decoder's position."""
        self.reference.place(self.reader.state, self.frames, self.begin)
        return self.reference

    cdef object _new_frame(self, size):
        frame = PatchFrame(self.frames, [], 0, size)
        self.taken = frame.operations
        return frame

    cdef int _end_frame(self, frame) except -1:
        following = FRAME_END_STATES.get(self.reader.state) if self.plain_ends else None
        if following is None:
            self._placed_reference().end_frame(frame)
            following = self.reference.state
        self.reader.state = following
        return 0

    cdef int _take_options(self, bytes data) except -1:
        self.options = read_patch_options(&self.reader, self.reference, data, self.options)
        self.plain_ends = not self.reference.ends_with_frame
        return 0

    cdef int _take_namespace(self, frame) except -1:
        cdef Reader *reader = &self.reader
        cdef Term *term = reader.namespace_iri
        iri = None
        graph = None
        if term != NULL:
            iri = <object> term.object
            reader.namespace_iri = NULL
            drop(term, &reader.pool)
        if reader.width == 4:
            if reader.last[3] == NULL:
                self.reference.default_namespace_graph(self.frames, self.row)
            graph = self._graph(namespace_graph(reader))
        kind = OperationKind.ADD_NAMESPACE
        if reader.row_kind == PATCH_NAMESPACE_DELETE:
            kind = OperationKind.DELETE_NAMESPACE
        self.taken.append(
            Operation(kind, Namespace(text_of(reader.namespace_name), iri, graph))
        )
        return 0

    cdef int _take_header(self) except -1:
        cdef Reader *reader = &self.reader
        cdef Term *value = reader.namespace_iri
        reader.namespace_iri = NULL
        header = new_pair(Header, text_of(reader.namespace_name), <object> value.object)
        drop(value, &reader.pool)
        operation = new_pair(Operation, HEADER_KIND, header)
        # An object made by the caller may refer back to it.
        PyObject_GC_Track(header)
        PyObject_GC_Track(operation)
        self.taken.append(operation)
        return 0

    cdef int _take(self, Planned *planned, frame) except -1:
        if planned.event == BARE_ROW:
            if planned.kind == PATCH_START:
                self.begin = (self.frames, planned.row)
            self.taken.append(BARE_ROWS[planned.kind])
            return 0
        if planned.event == STATEMENT:
            self.before = self._make_statement(planned)
        self.taken.append(
            self._operation(ADD_KIND if planned.kind == PATCH_ADD else DELETE_KIND)
        )
        return 0

    cdef object _operation(self, kind):
        """Make an operation with the last statement."""
        operation = new_pair(Operation, kind, self.before)
        if self.make_statement is not None:
            # An object made by the caller may refer back to it.
            PyObject_GC_Track(operation)
        return operation


cdef inline object new_pair(type, first, second):
    """Make a tuple of two that the garbage collector does not track, see `new_tuple`."""
    pair = new_tuple(type, 2)
    Py_INCREF(<PyObject *> first)
    PyTuple_SET_ITEM_steal(pair, 0, <PyObject *> first)
    Py_INCREF(<PyObject *> second)
    PyTuple_SET_ITEM_steal(pair, 1, <PyObject *> second)
    return pair


cdef void set_patch(Reader *reader) noexcept nogil:
    """Set up a reader for patches."""
    reader.is_patch = reader.has_namespaces = True
    reader.row_fields = PATCH_ROW_FIELDS
    reader.next_states = &NEXT_PATCH_STATE[0][0]


cdef object read_patch_options(Reader *reader, reference, bytes data, known):
    """Read the options at the reader's position; `known` are the options read at the stream's
    start, or None.
    """
    cdef const uint8_t *start = <const uint8_t *> PyBytes_AS_STRING(data)
    reference.read_options_row(
        data, reader.stopped_at.start - start, reader.stopped_at.stop - start
    )
    if known is not None:
        return known
    set_patch_options(reader, reference.options)
    reader.state = reference.state
    return reference.options


cdef int set_patch_options(Reader *reader, options) except -1:
    """Set up a reader for a stream with these options."""
    quads = options.statement_type == PatchStatementType.QUADS
    reader.width = 4 if quads else 3
    reader.required = 0b1111 if quads else 0b111
    set_features(reader, options)
    fill_declared(
        reader.declared_graph, patch_rules.NAMESPACE_GRAPH_FIELDS, positions.GRAPH, options
    )
    fill_declared(reader.declared_value, patch_rules.HEADER_VALUE_FIELDS, positions.OBJECT, options)
    return 0
