# The decoder of `patch/columns.py`: planned statements become columns, and all other rows become
# objects. The reference processes options and the ends of frames and streams.
#
# If a literal may have another text in the validator's store, the validator gives this text, once,
# before any row with the literal is added. It is kept as the term's object.

cdef class PatchColumnDecoder(GatheringDecoder):
    """See :class:`jelly_plugins.codec.patch.columns.PatchColumnDecoder`; this is its compiled form.
    """

    cdef object factory
    # Frame and row of the start of the last transaction.
    cdef object begin
    # Whether the frame has ended, and its last rows may not be in a batch yet.
    cdef bint ended

    def __cinit__(self, notation=ntriples.Notation.RDF_1_2, *, validator=None,
                  limits=DEFAULT_LIMITS, batch_rows=reference_columns.DEFAULT_BATCH_ROWS,
                  batch_bytes=reference_columns.DEFAULT_BATCH_BYTES, strict=False):
        self._open_columns(notation, limits, 0, batch_rows, batch_bytes)
        self.factory = reference_patch_columns.text_factory(notation, validator, limits)
        self.reference = reference_patch_decoder.PatchDecoder(
            self.factory, limits=limits, strict=strict
        )
        self.validator = validator
        self.reader.validated = self.reader.validator_writes = validator is not None
        set_patch(&self.reader)
        self.begin = (0, 0)

    @property
    def inside_patch(self):
        """Whether the stream must not end here; see the reference."""
        return self._placed_reference().inside_patch

    @property
    def deviations(self):
        """Accepted deviations from the specification; see the reference."""
        return self.reference.deviations

    def finish(self):
        """Mark the end of the stream; see the reference."""
        for operation in self._placed_reference().finish():
            self._note(operation)
        self.reader.state = self.reference.state
        return self.flush()

    cdef object _placed_reference(self):
        """Return the reference, set to this decoder's position."""
        self.reference.place(self.reader.state, self.next_frame, self.begin)
        return self.reference

    cdef int _note(self, operation) except -1:
        """Add a row that is not an operation on a statement."""
        self.others.append((self.gathered.rows, operation))
        self.gathered.others += 1
        return 0

    # Methods of a decoder of chunks.

    cdef int _begun(self) except -1:
        self.frame = PatchFrame(self.next_frame, size=self.frame.size)
        self.ended = False
        return GatheringDecoder._begun(self)

    cdef object _factory(self):
        return self.factory

    cdef int _take_options(self) except -1:
        self.options = read_patch_options(
            &self.reader, self.reference, self.data, self.options
        )
        return 0

    cdef int _stopped(self, Status status) except -1:
        cdef Planned *planned
        if status == AT_HEADER:
            return self._take_header()
        if status != AT_BARE_ROW:
            return ChunkDecoder._stopped(self, status)
        planned = &self.reader.plan[self.gathered.next - 1]
        if planned.kind == PATCH_START:
            self.begin = (self.next_frame, planned.row)
        return self._note(BARE_ROWS[planned.kind])

    cdef object _take(self, bint at_frame_end):
        if at_frame_end and not self.ended:
            # An error at a frame's end has no row.
            self.reader.in_row = False
            self._placed_reference().end_frame(self.frame)
            self.reader.state = self.reference.state
            for operation in self.frame.operations:
                self._note(operation)
            self.frame.operations.clear()
            self.ended = True
        return self._batch() if is_full(&self.gathered) else None

    cdef object _batch(self):
        adds = bytes_of(&self.gathered.adds, self.gathered.rows)
        others = tuple(self.others)
        self.others.clear()
        self.kept_others = 0
        return reference_patch_columns.OperationColumns(
            statements=take_batch(&self.gathered, ()), adds=adds, others=others
        )

    # Terms

    cdef int _validate(self) except -1:
        """Make the terms that are not plain, or may have another text, with the validator.

        :raises JellyError: the validator rejects a term; with its row.
        """
        cdef Reader *reader = &self.reader
        cdef dict triples = {}
        for at in range(reader.made_count):
            self._settle(reader.made[at], triples)
        reader.made_count = 0
        return 0

    cdef int _settle(self, Term *term, dict triples) except -1:
        if term.kind == TRIPLE:
            term.characters = self.reader.triple_overhead
            for position in range(3):
                term.characters += text_size(term.parts[position])
            self._check(term, term.characters)
        text = made_by(self.validator, term, triples).encode()
        self._check(term, len(text))
        if term.kind == LITERAL:
            term.text = slice_of_bytes(text)
            Py_INCREF(<PyObject *> text)
            term.object = <PyObject *> text
        return 0

    cdef int _check(self, Term *term, uint64_t size) except -1:
        """Reject a text of the validator that is too long."""
        if size > self.reader.term_bytes:
            try:
                self.factory.check_size(size)
            except JellyError as error:
                raise error.locate(row=term.row)
        return 0

    cdef int _take_namespace(self) except -1:
        cdef Reader *reader = &self.reader
        cdef Term *graph = namespace_graph(reader)
        cdef Term *term = reader.namespace_iri
        name = text_of(reader.namespace_name)
        iri = None
        kind = OperationKind.ADD_NAMESPACE
        if reader.row_kind == PATCH_NAMESPACE_DELETE:
            kind = OperationKind.DELETE_NAMESPACE
        if term != NULL:
            iri = text_of(term.text)
            reader.namespace_iri = NULL
            drop(term, &reader.pool)
        if reader.width == 3:
            self._note(Operation(kind, Namespace(name, iri, None)))
            return 0
        if reader.last[3] == NULL:
            self.reference.default_namespace_graph(self.next_frame, row_number(reader))
        # A subsequent statement may repeat this graph without another validation, so reject a
        # graph that no statement can have.
        if graph.kind != IRI and graph.kind != BLANK_NODE and graph.kind != DEFAULT_GRAPH:
            raise TermError("the graph of a namespace is neither an IRI nor a blank node")
        self._note(Operation(kind, Namespace(name, iri, text_of(graph.text))))
        return 0

    cdef int _take_header(self) except -1:
        cdef Reader *reader = &self.reader
        cdef Term *term = reader.namespace_iri
        cdef Buffer out
        if term.kind == TRIPLE:
            memset(&out, 0, sizeof(out))
            if not append_text(reader, &out, term):
                raise MemoryError
            text = text_of(Slice(out.bytes, out.size))
            release(&out)
        else:
            text = text_of(term.text)
        if self.validator is not None:
            text = validated_term(term, self.validator, {})
        reader.namespace_iri = NULL
        drop(term, &reader.pool)
        self._note(
            Operation(OperationKind.HEADER, Header(text_of(reader.namespace_name), text))
        )
        return 0
