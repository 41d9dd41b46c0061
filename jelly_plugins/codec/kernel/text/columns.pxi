# The column encoder of `text/columns.py`: cells in N-Triples syntax become rows, without the GIL.
#
# As with lines of text, this file reads only cells of the usual form. The reference reads a row
# with any other cell, or reports the error.

cdef struct Given:
    # A borrowed column. `offsets` and `bits` are those of its first row, counting `bits` from the
    # first one of `validity`; `data` begins with the byte `first_byte`. The pointers of an absent
    # column are NULL.
    const uint8_t *offsets
    const uint8_t *data
    const uint8_t *validity
    uint64_t first_byte
    uint64_t first_bit


@cython.final
cdef class HeldBuffer:
    """Keeps an object's bytes, which it has through the buffer protocol, unchanged and in place."""

    cdef Py_buffer view
    cdef bytes copied

    def __cinit__(self, owner):
        PyObject_GetBuffer(owner, &self.view, PyBUF_SIMPLE)

    cdef const uint8_t *take(self, uint64_t start, uint64_t stop) except? NULL:
        """Return the address of the bytes from `start` to `stop`, which must be in the buffer."""
        if self.view.readonly and not IS_POISONED:
            return <const uint8_t *> self.view.buf + start
        # Another thread could change the bytes after they were checked. Copy only the bytes in use:
        # slices of one array share its buffers.
        self.copied = copy_of(<const uint8_t *> self.view.buf + start, stop - start)
        return <const uint8_t *> PyBytes_AS_STRING(self.copied)

    def __dealloc__(self):
        if self.copied is not None:
            let_go(self.copied)
        PyBuffer_Release(&self.view)


cdef inline int32_t offset_at(const uint8_t *offsets, uint64_t row) noexcept nogil:
    cdef int32_t offset
    memcpy(&offset, offsets + 4 * row, 4)
    return offset


cdef bint are_in_order(const uint8_t *offsets, uint64_t rows, uint64_t size) noexcept nogil:
    """Whether offsets never decrease and stay within `size` bytes of data."""
    cdef int32_t before = 0
    cdef int32_t offset
    for row in range(rows + 1):
        offset = offset_at(offsets, row)
        if offset < before:
            return False
        before = offset
    return <uint64_t> before <= size


cdef inline Slice cell_of(Given *given, uint64_t row) noexcept nogil:
    """Return a cell; its bytes are NULL only if the cell is null."""
    cdef int32_t start
    cdef uint64_t bit = given.first_bit + row
    if given.offsets == NULL or (
        given.validity != NULL and not given.validity[bit >> 3] >> (bit & 7) & 1
    ):
        return Slice(NULL, 0)
    start = offset_at(given.offsets, row)
    return Slice(
        given.data + (start - given.first_byte), offset_at(given.offsets, row + 1) - start
    )


cdef bint parse_row(LineReader *lines, Given *given, uint64_t row,
                   uint64_t longest) noexcept nogil:
    """Read the terms of a row; False if one of them is not of the usual form, or longer than
    `longest`.
    """
    cdef Slice cell
    for position in range(3):
        cell = cell_of(&given[position], row)
        if cell.bytes == NULL or cell.size > longest or not parse_cell(lines, cell, position):
            return False
    cell = cell_of(&given[3], row)
    if cell.bytes != NULL:
        return lines.quads and 0 < cell.size <= longest and parse_cell(lines, cell, 3)
    if not lines.quads:
        return True
    no_graph(lines)
    return True


cdef inline bint parse_cell(LineReader *lines, Slice cell, int position) noexcept nogil:
    cdef const uint8_t *end = cell.bytes + cell.size
    return parse_term(lines, cell.bytes, end, position, &lines.encoded[position]) == end


@cython.final
cdef class ColumnSource:
    """The columns that are being written, and the objects that hold their buffers.

    :ivar fits: whether they have the layout that the reference requires; if not, it raises the
        error.
    """

    cdef Given given[4]
    cdef readonly uint64_t rows
    cdef readonly bint fits
    cdef list held

    def __cinit__(self, columns):
        self.held = []
        rows = columns.rows
        self.fits = 0 <= rows < 1 << 40
        if not self.fits:
            return
        self.rows = rows
        for position, name in enumerate(positions.POSITIONS):
            column = getattr(columns, name)
            if column is not None and self.fits:
                offset = column.offset
                self.fits = column.rows == self.rows and 0 <= offset < 1 << 40
                if self.fits and self.rows:
                    self.fits = self._take(&self.given[<int> position], column, offset)

    cdef bint _take(self, Given *given, column, uint64_t offset) except -1:
        cdef HeldBuffer offsets = self._hold(column.offsets)
        cdef HeldBuffer data = self._hold(column.data)
        cdef HeldBuffer validity
        if <uint64_t> offsets.view.len < 4 * (offset + self.rows + 1):
            return False
        given.offsets = offsets.take(4 * offset, 4 * (offset + self.rows + 1))
        if not are_in_order(given.offsets, self.rows, data.view.len):
            return False
        given.first_byte = offset_at(given.offsets, 0)
        given.data = data.take(given.first_byte, offset_at(given.offsets, self.rows))
        # NULL means that the cell is null, but an empty buffer may not have an address.
        if given.data == NULL:
            given.data = given.offsets
        if column.validity is not None:
            validity = self._hold(column.validity)
            if <uint64_t> validity.view.len * 8 < offset + self.rows:
                return False
            given.validity = validity.take(offset >> 3, (offset + self.rows + 7) >> 3)
            given.first_bit = offset & 7
        return True

    cdef HeldBuffer _hold(self, owner):
        cdef HeldBuffer held = HeldBuffer.__new__(HeldBuffer, owner)
        self.held.append(held)
        return held
