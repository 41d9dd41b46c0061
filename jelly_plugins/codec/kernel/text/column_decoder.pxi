# The decoders to columns, of `text/columns.py` and `patch/columns.py`: planned statements become rows
# of four columns, without the GIL.

cdef struct Gathered:
    # The rows of the batch. Offsets are 32-bit numbers; the last one is the start of the next row.
    # The graph's column begins with the first row that has a graph.
    Buffer data[4]
    Buffer offsets[4]
    Buffer validity
    bint has_graphs
    # In patches: for each row, whether it is added; and the number of rows without a statement.
    Buffer adds
    uint64_t others
    uint64_t rows
    uint64_t bytes
    uint64_t batch_rows
    uint64_t batch_bytes
    # The next statement in the plan.
    size_t next
    # Sizes at the start of the current frame, restored if it is rejected.
    uint64_t kept_rows
    size_t kept_data[4]
    bint kept_graphs


cdef inline bint is_full(Gathered *gathered) noexcept nogil:
    return (gathered.rows >= gathered.batch_rows or gathered.bytes >= gathered.batch_bytes
            or gathered.others >= gathered.batch_rows)


cdef inline bint put_offset(Gathered *gathered, int column) noexcept nogil:
    """Write the start of the next row of a column; False if memory is exhausted."""
    # A batch never exceeds 32 bits: see `text.columns.check_batch`.
    cdef int32_t offset = <int32_t> gathered.data[column].size
    if not reserve(&gathered.offsets[column], 4):
        return False
    put(&gathered.offsets[column], &offset, 4)
    return True


cdef bint start_graphs(Gathered *gathered) noexcept nogil:
    """Set the graph of every previous row to null; False if memory is exhausted."""
    cdef size_t offsets = 4 * (gathered.rows + 1)
    cdef size_t bits = (gathered.rows + 7) // 8
    # One more byte, so that the memory is never empty.
    if not reserve(&gathered.offsets[3], offsets) or not reserve(&gathered.validity, bits + 1):
        return False
    memset(gathered.offsets[3].bytes, 0, offsets)
    memset(gathered.validity.bytes, 0, bits)
    gathered.offsets[3].size = offsets
    gathered.validity.size = bits
    gathered.data[3].size = 0
    gathered.has_graphs = True
    return True


cdef inline bint put_term(Reader *reader, Gathered *gathered, int column,
                          Term *term) noexcept nogil:
    """Add the next row of a column; False if memory is exhausted."""
    gathered.bytes += text_size(term)
    return append_text(reader, &gathered.data[column], term) and put_offset(gathered, column)


cdef bint put_graph(Reader *reader, Gathered *gathered, Term *graph) noexcept nogil:
    """Add the next row's graph; False if memory is exhausted."""
    cdef bint named = graph.kind != DEFAULT_GRAPH
    if not gathered.has_graphs:
        if not named:
            return True
        if not start_graphs(gathered):
            return False
    if gathered.rows & 7 == 0:
        if not reserve(&gathered.validity, 1):
            return False
        put_byte(&gathered.validity, 0)
    if named:
        gathered.validity.bytes[gathered.rows >> 3] |= <uint8_t> (1 << (gathered.rows & 7))
        return put_term(reader, gathered, 3, graph)
    return put_offset(gathered, 3)


cdef Status gather_planned(Reader *reader, Gathered *gathered) noexcept nogil:
    """Add the planned statements to the batch, until it is full; stop at other rows of patches."""
    cdef Planned *planned
    while gathered.next < reader.planned and not is_full(gathered):
        planned = &reader.plan[gathered.next]
        gathered.next += 1
        if planned.event == BARE_ROW:
            return AT_BARE_ROW
        if planned.event != STATEMENT and planned.event != REPEAT:
            continue
        for column in range(3):
            if not put_term(reader, gathered, column, planned.terms[column]):
                return NO_MEMORY
        if reader.width == 4 and not put_graph(reader, gathered, planned.terms[3]):
            return NO_MEMORY
        if reader.is_patch:
            if not reserve(&gathered.adds, 1):
                return NO_MEMORY
            put_byte(&gathered.adds, planned.kind == PATCH_ADD)
        gathered.rows += 1
    return READ


cdef bint begin_batch(Gathered *gathered) noexcept nogil:
    """Remove all rows; False if memory is exhausted."""
    for column in range(4):
        gathered.data[column].size = 0
        gathered.offsets[column].size = 0
        gathered.kept_data[column] = 0
        if column < 3 and not put_offset(gathered, column):
            return False
    gathered.validity.size = gathered.adds.size = 0
    gathered.has_graphs = gathered.kept_graphs = False
    gathered.rows = gathered.bytes = gathered.kept_rows = gathered.others = 0
    return True


cdef void keep_rows(Gathered *gathered) noexcept nogil:
    """Keep the current rows even if a subsequent one is rejected."""
    gathered.kept_rows = gathered.rows
    gathered.kept_graphs = gathered.has_graphs
    for column in range(4):
        gathered.kept_data[column] = gathered.data[column].size


cdef void give_up_rows(Gathered *gathered) noexcept nogil:
    """Remove the rows that `keep_rows` has not kept. Nothing may be added afterwards."""
    gathered.rows = gathered.kept_rows
    gathered.has_graphs = gathered.kept_graphs
    for column in range(4):
        gathered.data[column].size = gathered.kept_data[column]


cdef bytes bytes_of(Buffer *buffer, size_t size):
    return PyBytes_FromStringAndSize(<const char *> buffer.bytes, size)


cdef object column_of(Gathered *gathered, int column):
    """Make one of the columns of the batch."""
    cdef uint64_t rows = gathered.rows
    return reference_columns.Column(
        rows=rows,
        offsets=bytes_of(&gathered.offsets[column], 4 * (rows + 1)),
        data=bytes_of(&gathered.data[column], gathered.data[column].size),
        validity=bytes_of(&gathered.validity, (rows + 7) // 8) if column == 3 else None,
    )


cdef object take_batch(Gathered *gathered, tuple frames):
    """Return the rows as columns, and remove them."""
    columns = reference_columns.Columns(
        rows=gathered.rows,
        subject=column_of(gathered, 0),
        predicate=column_of(gathered, 1),
        object=column_of(gathered, 2),
        graph=column_of(gathered, 3) if gathered.has_graphs else None,
        frames=frames,
    )
    if not begin_batch(gathered):
        raise MemoryError
    return columns


cdef class GatheringDecoder(ChunkDecoder):
    """The common part of the decoders to columns: the rows of the batch."""

    cdef Gathered gathered
    # In patches: the rows without a statement, and the number of those that are kept if the frame
    # is rejected.
    cdef list others
    cdef Py_ssize_t kept_others

    cdef int _open_columns(self, notation, limits, first_frame, batch_rows, batch_bytes) except -1:
        reference_columns.check_batch(batch_rows, batch_bytes)
        self._open(notation, limits, first_frame)
        self.gathered.batch_rows = batch_rows
        self.gathered.batch_bytes = batch_bytes
        self.others = []
        if not begin_batch(&self.gathered):
            raise MemoryError
        return 0

    def __dealloc__(self):
        for column in range(4):
            release(&self.gathered.data[column])
            release(&self.gathered.offsets[column])
        release(&self.gathered.validity)
        release(&self.gathered.adds)

    def flush(self):
        """Return the rows collected so far as one batch, or none if there are no rows."""
        if self.busy:
            raise OrderError("another thread is using the decoder")
        return [self._batch()] if self.gathered.rows or self.others else []

    cdef object _batch(self):
        """Return the rows as columns, and remove them."""
        return None

    cdef Status _read_on(self) noexcept nogil:
        cdef Gathered *gathered = &self.gathered
        cdef Status status
        while True:
            status = gather_planned(&self.reader, gathered)
            if status == READ and is_full(gathered):
                return AT_PLAN_END
            if status == READ:
                gathered.next = 0
                status = plan_more(&self.reader)
            if status != READ:
                return status

    cdef int _begun(self) except -1:
        keep_rows(&self.gathered)
        self.kept_others = len(self.others)
        return 0

    cdef int _broken(self) except -1:
        give_up_rows(&self.gathered)
        del self.others[self.kept_others:]
        self.gathered.others = len(self.others)
        return 0


cdef class ColumnDecoder(GatheringDecoder):
    """See :class:`jelly_plugins.codec.text.columns.ColumnDecoder`; this is its compiled form."""

    # The frames of the rows in the batch, and the number of rows of each.
    cdef list frames

    def __cinit__(self, notation=ntriples.Notation.RDF_1_2, *, limits=DEFAULT_LIMITS,
                  first_frame=0, batch_rows=reference_columns.DEFAULT_BATCH_ROWS,
                  batch_bytes=reference_columns.DEFAULT_BATCH_BYTES):
        self._open_columns(notation, limits, first_frame, batch_rows, batch_bytes)
        self.frames = []

    def finish(self):
        """Mark the end of the stream.

        :return: the same as :meth:`flush`.
        :raises OptionsError: the stream had no options, because it had no rows at all.
        """
        self._finish()
        return self.flush()

    cdef object _factory(self):
        return reference_text.TextFactory(self.notation, limits=self.limits)

    cdef object _take(self, bint at_frame_end):
        cdef uint64_t rows = self.gathered.rows - self.gathered.kept_rows
        if rows:
            self.frames.append((self.next_frame, rows))
        return None if at_frame_end else self._batch()

    cdef object _batch(self):
        frames = tuple(self.frames)
        self.frames.clear()
        return take_batch(&self.gathered, frames)
