# The text decoder of `text/transcoding.py`: planned statements become lines, without the GIL.

cdef struct LineWriter:
    Buffer out
    # Number of statements written in all frames, and bytes of long terms in this frame, with those
    # that were carried to it.
    uint64_t statements
    uint64_t long_bytes
    # The next statement in the plan.
    size_t next
    # An empty graph that the decoder has not processed yet; NULL otherwise.
    Term *empty_graph


cdef bint append_text(Reader *reader, Buffer *out, Term *term) noexcept nogil:
    """Append a term; False if memory is exhausted. Recurses at most to the limit of nesting."""
    if term.kind != TRIPLE:
        return append(out, term.text.bytes, term.text.size)
    if not append(out, reader.opening.bytes, reader.opening.size):
        return False
    for position in range(3):
        if position and not append(out, <const char *> b" ", 1):
            return False
        if not append_text(reader, out, term.parts[position]):
            return False
    return append(out, reader.closing.bytes, reader.closing.size)


cdef bint write_planned(Reader *reader, LineWriter *lines, size_t chunk) noexcept nogil:
    """Write the planned statements, until the chunk is full; False if memory is exhausted.

    Writing also stops at an empty graph in the plan, which is stored in `empty_graph`, and at a
    statement whose long terms exceed the limit of the frame.
    """
    cdef Planned *planned
    cdef int width
    while lines.out.size < chunk and lines.next < reader.planned:
        planned = &reader.plan[lines.next]
        lines.next += 1
        if planned.event == EMPTY_GRAPH:
            lines.empty_graph = planned.terms[3]
            return True
        if planned.event != STATEMENT and planned.event != REPEAT:
            continue
        # A line omits the default graph.
        width = 4 if reader.width == 4 and planned.terms[3].kind != DEFAULT_GRAPH else 3
        lines.statements += 1
        for at in range(width):
            lines.long_bytes += long_text(planned.terms[at])
        if lines.long_bytes > reader.frame_expansion:
            return True
        for at in range(width):
            if not (append_text(reader, &lines.out, planned.terms[at])
                    and append(&lines.out, <const char *> b" ", 1)):
                return False
        if not append(&lines.out, <const char *> b".\n", 2):
            return False
    return True


cdef Status read_lines(Reader *reader, LineWriter *lines, size_t chunk) noexcept nogil:
    """Read rows and write lines, until a chunk is full (AT_PLAN_END) or at another stop."""
    cdef Status status
    while lines.long_bytes <= reader.frame_expansion:
        if not write_planned(reader, lines, chunk):
            return NO_MEMORY
        if lines.long_bytes > reader.frame_expansion:
            break
        if lines.empty_graph != NULL:
            return AT_EMPTY_GRAPH
        if lines.next < reader.planned:
            return AT_PLAN_END
        lines.next = 0
        status = plan_more(reader)
        if status != READ:
            return status
    # Raise errors of subsequent rows first, like the reference, which reads all rows before it
    # writes any.
    lines.next = 0
    status = READ
    while status == READ:
        status = plan_more(reader)
    return TOO_MUCH_TEXT if status == AT_FRAME_END else status


cdef class ChunkDecoder:
    """The common part of the decoders that make no terms: the current frame, errors, and the output
    of a frame chunk by chunk.
    """

    cdef Reader reader
    cdef readonly object options
    cdef readonly object next_frame
    cdef readonly object last_frame
    # The validator of terms, see kernel/common/validator.pxi; None if terms are not validated.
    cdef object validator
    # The reference's decoder of the format.
    cdef object reference
    cdef object limits
    # Notation of quoted triples, and the objects that own the bytes of writers' slices.
    cdef object notation
    cdef tuple marks
    # The current frame; None between frames. It remains set after an error.
    cdef readonly object frame
    # The frame's bytes, while pointers to them exist.
    cdef bytes data
    # Whether a thread is using it.
    cdef bint busy

    def __dealloc__(self):
        close_reader(&self.reader)

    cdef int _open(self, notation, limits, first_frame) except -1:
        if not open_reader(&self.reader):
            raise MemoryError
        set_limits(&self.reader, limits)
        self.notation = notation
        self.marks = tuple(mark.encode() for mark in notation.value)
        self.reader.text = True
        self.reader.opening = slice_of_bytes(self.marks[0])
        self.reader.closing = slice_of_bytes(self.marks[1])
        self.reader.triple_overhead = len(self.marks[0]) + len(self.marks[1]) + 2
        self.reader.term_bytes = bounded(reference_text.longest_term(limits))
        self.limits = limits
        self.next_frame = first_frame
        self.reference = FRAME_FIELD_READER
        return 0

    def decode(self, data):
        """Decode the next frame; see the reference."""
        if type(data) is not bytes:
            data = bytes(memoryview(data))
        return _Chunks.__new__(_Chunks, self, data)

    # Methods that each kind of decoder defines

    cdef Status _read_on(self) noexcept nogil:
        """Read until a chunk is full (AT_PLAN_END) or another stop."""
        return AT_FRAME_END

    cdef object _take(self, bint at_frame_end):
        """Return the current chunk; None if there is none."""
        return None

    cdef int _begun(self) except -1:
        """Begin a frame."""
        return 0

    cdef int _stopped(self, Status status) except -1:
        """Process a stop that only decoders of this kind have.

        :raises JellyError: reading ends at this stop.
        """
        raise rejection(&self.reader, status, self.options, self.limits, self._factory(),
                        type(self.reference))

    cdef object _factory(self):
        """Return the factory for the reference, which raises the error."""
        return None

    cdef int _take_options(self) except -1:
        """Read the options at the reader's position."""
        self.options = read_options(&self.reader, self.data, self.options, self.limits)
        return 0

    cdef int _take_namespace(self) except -1:
        """Take the namespace that the reader has read."""
        cdef Term *iri = self.reader.namespace_iri
        self.frame.namespaces.append((text_of(self.reader.namespace_name), text_of(iri.text)))
        self.reader.namespace_iri = NULL
        drop(iri, &self.reader.pool)
        return 0

    cdef int _validate(self) except -1:
        """Validate the new terms that are not plain."""
        return validate_made(&self.reader, self.validator)

    cdef int _broken(self) except -1:
        """Process the end of a frame by an error."""
        return 0

    # Methods of all kinds of decoders

    cdef int _finish(self) except -1:
        if self.options is None:
            raise OptionsError("the stream has no options: it is empty")
        return 0

    cdef int _enter(self, bint begins) except -1:
        """Begin or continue a frame; each call is followed by `_next_chunk`."""
        if self.busy:
            raise OrderError("another thread is using the decoder")
        if begins and self.frame is not None:
            raise OrderError(reference_rows.NOT_ITS_TURN, frame=self.next_frame)
        self.busy = True
        return 0

    cdef object _next_chunk(self, bytes data):
        """Return the next chunk; None at the end of the frame.

        :param data: a frame that begins with this chunk; None to continue the current one.
        """
        chunk = None
        try:
            if data is not None:
                self._begin(data)
            chunk = self._chunk()
        except BaseException as error:
            self._broken()
            found = error
            if isinstance(error, ValueError) and not isinstance(error, JellyError):
                # The validator cannot hold a term.
                found = TermError(str(error))
                found.__cause__ = error
            if isinstance(found, JellyError):
                found.locate(frame=self.next_frame, row=row_number(&self.reader))
            raise found
        finally:
            if chunk is None:
                self._let_go()
            self.busy = False
        return chunk

    cdef int _begin(self, bytes data) except -1:
        self.frame = Frame(self.next_frame, size=len(data))
        self._begun()
        self.data = held(data)
        begin_frame(&self.reader, self.data)
        if len(data) > self.limits.frame_bytes:
            raise over(self.limits, "frame_bytes", len(data), "the length of a frame")
        return 0

    cdef int _let_go(self) except -1:
        """Release the frame's bytes."""
        end_frame(&self.reader)
        if self.data is not None:
            let_go(self.data)
            self.data = None
        return 0

    cdef object _chunk(self):
        cdef Reader *reader = &self.reader
        cdef Status status
        while True:
            with nogil:
                status = self._read_on()
            if status == AT_OPTIONS:
                self._take_options()
            elif status == AT_FRAME_FIELD:
                read_frame_field(self.reference, reader, self.data, self.frame)
            elif status == AT_NAMESPACE:
                self._take_namespace()
            elif status == NEEDS_VALIDATION:
                self._validate()
            elif status == NOT_RDF_1_2:
                reject_statement(reader, self.validator)
            elif status == NOT_A_GRAPH:
                self.validator.check_graph(validated_term(reader.graph, self.validator, {}))
                raise TermError("a graph is named by a kind of term that names none in RDF 1.2")
            elif status != AT_PLAN_END and status != AT_FRAME_END:
                self._stopped(status)
            else:
                chunk = self._take(status == AT_FRAME_END)
                if chunk is None:
                    self.frame.rows = reader.rows
                    self.last_frame = self.frame
                    self.frame = None
                    self.next_frame += 1
                # After the frame's last chunk, the next call returns None.
                return chunk


cdef class _Chunks:
    """The output of one frame, chunk by chunk."""

    cdef ChunkDecoder decoder
    # The frame, until it is begun.
    cdef bytes data
    cdef bint ended

    def __cinit__(self, ChunkDecoder decoder not None, bytes data not None):
        self.decoder = decoder
        self.data = data

    def __iter__(self):
        return self

    def __next__(self):
        chunk = None
        if not self.ended:
            data = self.data
            # Set `data` to None only if this call does not raise.
            self.decoder._enter(data is not None)
            self.data = None
            self.ended = True
            chunk = self.decoder._next_chunk(data)
            self.ended = chunk is None
        if chunk is None:
            raise StopIteration
        return chunk


cdef class TextDecoder(ChunkDecoder):
    """See :class:`jelly_plugins.codec.text.transcoding.TextDecoder`; this is its compiled form."""

    cdef LineWriter lines

    def __cinit__(self, notation=ntriples.Notation.RDF_1_2, *, limits=DEFAULT_LIMITS,
                  first_frame=0, validator=None):
        self._open(notation, limits, first_frame)
        self.validator = validator
        self.reader.validated = validator is not None

    def __dealloc__(self):
        release(&self.lines.out)

    def finish(self):
        """Mark the end of the stream.

        :raises OptionsError: the stream had no options, because it had no rows at all.
        """
        self._finish()

    @property
    def statements(self):
        """Number of statements decoded in all frames."""
        return self.lines.statements

    cdef int _begun(self) except -1:
        self.lines.long_bytes = carried(&self.reader, self.lines.long_bytes)
        return 0

    cdef int _stopped(self, Status status) except -1:
        if status == AT_EMPTY_GRAPH:
            self.frame.empty_graphs.append(text_of(self.lines.empty_graph.text))
            self.lines.empty_graph = NULL
            return 0
        if status == TOO_MUCH_TEXT:
            # The row is not known any more.
            self.reader.in_row = False
            raise reference_text.too_much(self.limits, self.lines.long_bytes)
        return ChunkDecoder._stopped(self, status)

    cdef object _factory(self):
        return reference_text.TextFactory(self.notation, self.validator, self.limits)

    cdef Status _read_on(self) noexcept nogil:
        return read_lines(&self.reader, &self.lines, TEXT_CHUNK)

    cdef object _take(self, bint at_frame_end):
        cdef bytes chunk
        if at_frame_end and self.lines.out.size == 0:
            return None
        chunk = (<const char *> self.lines.out.bytes)[:self.lines.out.size]
        self.lines.out.size = 0
        return chunk
