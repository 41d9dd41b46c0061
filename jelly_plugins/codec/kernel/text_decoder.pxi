# The text decoder of `text.py`: what the reader plans becomes lines, without the GIL.

cdef struct Level:
    # A statement or a quoted triple that is being written, and the next of its terms.
    Term **terms
    int count
    int at


cdef struct LineWriter:
    Buffer out
    Slice opening
    Slice closing
    # The statement that is next in the plan.
    size_t next
    # Statements that were written, in all frames.
    uint64_t statements
    # Bytes of long terms that were written, in this frame.
    uint64_t long_bytes
    # A graph that turned out to be empty, until it is taken; NULL otherwise.
    Term *empty_graph
    # Where writing stands in the statement before: a level for each triple that is quoted in
    # another. There are never more than the limit of nesting allows.
    Level *levels
    int depth


cdef bint write_planned(Reader *reader, LineWriter *lines, size_t piece) noexcept nogil:
    """Write what is planned, or as much of it as makes a piece; False where there is no memory.

    All of it is written when `lines.next` has reached the end of the plan and `depth` is 0. An
    empty graph in the plan is set down, and ends the writing too.
    """
    cdef Planned *planned
    while lines.out.size < piece:
        if lines.depth:
            if not write_step(lines):
                return False
            continue
        if lines.next == reader.planned:
            return True
        planned = &reader.plan[lines.next]
        lines.next += 1
        if planned.event == STATEMENT or planned.event == REPEAT:
            lines.levels[0].terms = planned.terms
            lines.levels[0].count = statement_width(reader, planned)
            lines.levels[0].at = 0
            lines.statements += 1
            if not write_plain_line(lines):
                lines.depth = 1
        elif planned.event == EMPTY_GRAPH:
            lines.empty_graph = planned.terms[3]
            return True
    return True


cdef inline int statement_width(Reader *reader, Planned *planned) noexcept nogil:
    """Terms of a line: the default graph is not said."""
    return 4 if reader.width == 4 and planned.terms[3].kind != DEFAULT_GRAPH else 3


cdef bint write_plain_line(LineWriter *lines) noexcept nogil:
    """Write the statement of level 0 at once; False if it quotes triples, or lacks memory."""
    cdef Level *level = &lines.levels[0]
    cdef Buffer *out = &lines.out
    cdef size_t size = 2
    cdef uint64_t long_bytes = 0
    for at in range(level.count):
        if level.terms[at].kind == TRIPLE:
            return False
        size += level.terms[at].text.size + 1
        if level.terms[at].text.size > LONG_TERM:
            long_bytes += level.terms[at].text.size
    if not reserve(out, size):
        return False
    lines.long_bytes += long_bytes
    for at in range(level.count):
        put(out, level.terms[at].text.bytes, level.terms[at].text.size)
        put_byte(out, c" ")
    put_byte(out, c".")
    put_byte(out, c"\n")
    return True


cdef bint write_step(LineWriter *lines) noexcept nogil:
    """Write a term or what stands around it; False where there is no memory."""
    cdef Level *level = &lines.levels[lines.depth - 1]
    cdef Term *term
    if level.at == level.count:
        lines.depth -= 1
        if lines.depth:
            return append(&lines.out, lines.closing.bytes, lines.closing.size)
        return append(&lines.out, <const char *> b" .\n", 3)
    if level.at and not append(&lines.out, <const char *> b" ", 1):
        return False
    term = level.terms[level.at]
    level.at += 1
    if term.kind != TRIPLE:
        if term.text.size > LONG_TERM:
            lines.long_bytes += term.text.size
        return append(&lines.out, term.text.bytes, term.text.size)
    level = &lines.levels[lines.depth]
    level.terms = term.parts
    level.count = 3
    level.at = 0
    lines.depth += 1
    return append(&lines.out, lines.opening.bytes, lines.opening.size)


cdef Status read_lines(Reader *reader, LineWriter *lines, size_t piece) noexcept nogil:
    """Read on, and write, until there is a piece (AT_PLAN_END) or something else stops it."""
    cdef Status status
    while True:
        if not write_planned(reader, lines, piece):
            return NO_MEMORY
        if lines.long_bytes > reader.frame_expansion:
            return TOO_MUCH_TEXT
        if lines.empty_graph != NULL:
            return AT_EMPTY_GRAPH
        if lines.next < reader.planned or lines.depth:
            return AT_PLAN_END
        reader.planned = 0
        reader.made_bytes = 0
        lines.next = 0
        sweep(&reader.dead)
        if reader.stopped != READ:
            status = reader.stopped
            reader.stopped = READ
            return status
        status = read_rows(reader)
        if status != AT_PLAN_END:
            # What was planned before the stop is written first.
            reader.stopped = status
        if reader.made_count:
            return AT_DOUBTS


cdef class TextDecoder:
    """See :class:`jelly_plugins.codec.text.TextDecoder`, which this is the compiled form of."""

    cdef Reader reader
    cdef LineWriter lines
    cdef readonly object options
    cdef readonly object next_frame
    cdef readonly object last_frame
    cdef object judge
    cdef object limits
    cdef object factory
    cdef object notation
    cdef object reference
    # The frame that is being decoded; None between frames. After an error it stays.
    cdef object frame
    # Whether a thread is at work on it.
    cdef bint busy

    def __cinit__(self, notation=ntriples.Notation.RDF_STAR, *, limits=DEFAULT_LIMITS,
                  first_frame=0, judge=None):
        if not open_reader(&self.reader):
            raise MemoryError
        self.lines.levels = <Level *> PyMem_RawCalloc(limits.nesting + 2, sizeof(Level))
        if self.lines.levels == NULL:
            raise MemoryError
        self.reader.text = True
        self.reader.cache_entries = TEXT_CACHE_ENTRIES
        set_limits(&self.reader, limits)
        self.limits = limits
        self.next_frame = first_frame
        self.judge = judge
        self.reader.judged = judge is not None
        self.factory = reference_text.text_factory(notation, judge)
        self.reference = reference_decoder.Decoder(self.factory, limits=limits)
        self.notation = tuple(mark.encode() for mark in notation.value)
        self.lines.opening = slice_of_bytes(self.notation[0])
        self.lines.closing = slice_of_bytes(self.notation[1])

    def __dealloc__(self):
        close_reader(&self.reader)
        release(&self.lines.out)
        PyMem_RawFree(self.lines.levels)

    @property
    def statements(self):
        """Number of statements so far, in all frames."""
        return self.lines.statements

    @property
    def inside_graph(self):
        """Whether a graph was started and not ended, in physical type GRAPHS."""
        return self.reader.state == INSIDE_GRAPH

    def finish(self):
        """Say that no frame follows.

        :raises OptionsError: the stream had no options, because it had no rows at all.
        """
        if self.options is None:
            raise OptionsError("the stream has no options: it is empty")

    def decode(self, data):
        """Decode the next frame; see the reference."""
        if type(data) is not bytes:
            data = bytes(memoryview(data))
        return _Pieces.__new__(_Pieces, self, data)

    cdef int _begin(self, bytes data) except -1:
        if self.frame is not None:
            raise OrderError(
                "no frame can be decoded after an error, nor before the one before it is taken",
                frame=self.next_frame,
            )
        self.frame = Frame(self.next_frame, size=len(data))
        begin_frame(&self.reader, data)
        self.lines.long_bytes = 0
        if len(data) > self.limits.frame_bytes:
            error = over(self.limits, "frame_bytes", len(data), "the length of a frame")
            raise error.locate(frame=self.next_frame)
        return 0

    cdef bytes _next_piece(self, bytes data):
        """The next piece of text, None at the end of the frame."""
        if self.busy:
            raise OrderError("the decoder is at work in another thread")
        self.busy = True
        try:
            return self._piece(data)
        except JellyError as error:
            error.locate(frame=self.next_frame, row=row_number(&self.reader))
            raise
        finally:
            self.busy = False

    cdef bytes _piece(self, bytes data):
        cdef Reader *reader = &self.reader
        cdef LineWriter *lines = &self.lines
        cdef Status status
        cdef bytes piece
        while True:
            with nogil:
                status = read_lines(reader, lines, TEXT_PIECE)
            if status == AT_OPTIONS:
                self.options = read_options(reader, data, self.options, self.limits)
            elif status == AT_FRAME_FIELD:
                read_frame_field(self.reference, reader, data, self.frame)
            elif status == AT_NAMESPACE:
                self.frame.namespaces.append(
                    (text_of(reader.namespace_name), text_of(reader.namespace_iri.text))
                )
                drop(reader.namespace_iri, &reader.dead)
                reader.namespace_iri = NULL
            elif status == AT_EMPTY_GRAPH:
                self.frame.empty_graphs.append(text_of(lines.empty_graph.text))
                lines.empty_graph = NULL
            elif status == AT_DOUBTS:
                show_doubts(reader, self.judge)
            elif status == TOO_MUCH_TEXT:
                # Which row it was is long past.
                reader.in_row = False
                raise reference_text.too_much(self.limits, lines.long_bytes)
            elif status == NOT_RDF_1_2:
                raise judged_statement(reader, self.judge)
            elif status != AT_PLAN_END and status != AT_FRAME_END:
                raise refusal(reader, status, self.options, self.limits, self.factory)
            else:
                if status == AT_FRAME_END and lines.out.size == 0:
                    self.frame.rows = reader.rows
                    self.last_frame = self.frame
                    self.frame = None
                    self.next_frame += 1
                    return None
                piece = (<const char *> lines.out.bytes)[:lines.out.size]
                lines.out.size = 0
                # At the end of the frame the next call finds nothing more.
                return piece


cdef class _Pieces:
    """The text of one frame, piece by piece."""

    cdef TextDecoder decoder
    cdef bytes data
    cdef bint begun
    cdef bint ended

    def __cinit__(self, TextDecoder decoder, bytes data):
        self.decoder = decoder
        self.data = data

    def __iter__(self):
        return self

    def __next__(self):
        cdef bytes piece = None
        if not self.ended:
            try:
                if not self.begun:
                    self.begun = True
                    self.decoder._begin(self.data)
                piece = self.decoder._next_piece(self.data)
            except BaseException:
                self.ended = True
                raise
        if piece is None:
            self.ended = True
            raise StopIteration
        return piece


cdef Slice slice_of_bytes(bytes text):
    return Slice(<const uint8_t *> PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
