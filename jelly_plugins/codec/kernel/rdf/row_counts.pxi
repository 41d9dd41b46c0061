# How many rows of each kind a frame has, see `rdf/row_counts.py`.

cdef bint[FIELD_NUMBERS] IS_ROW
for _row in rules.Row:
    IS_ROW[<int> int(_row)] = True


cdef bint count_kinds(const uint8_t *pos, const uint8_t *end, size_t *counts) noexcept nogil:
    """Count the rows of a frame by kind; whether all of it could be read."""
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
            if content.number < FIELD_NUMBERS and IS_ROW[content.number]:
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
        return reference_counts.count_rows(data)
    return {kind: counts[kind] for kind in range(FIELD_NUMBERS) if counts[kind]}
