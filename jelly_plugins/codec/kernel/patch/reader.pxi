# From the bytes of a patch's frame to terms and planned rows, with the reader of
# `common/reader.pxi`. Nothing here needs the GIL.
#
# Reading also stops at namespaces and headers, which are rare compared with statements. It does not
# stop at the end of a patch: punctuation is planned, and the decoder interprets the end of a frame.

cdef enum:
    # More than the number of states that are reachable from the options row.
    PATCH_STATES = 16
    # Rows of patch.proto; checked when the module is loaded. The options row is also ROW_OPTIONS.
    PATCH_OPTIONS = 1
    PATCH_ADD = 2
    PATCH_DELETE = 3
    PATCH_NAMESPACE_ADD = 4
    PATCH_NAMESPACE_DELETE = 5
    PATCH_START = 6
    PATCH_COMMIT = 7
    PATCH_ABORT = 8
    PATCH_NAME = 11
    PATCH_PREFIX = 12
    PATCH_DATATYPE = 13
    PATCH_HEADER = 14
    PATCH_PUNCTUATION = 15
    GRAPH_BIT = 0b1000


# Tables of the reference, as C arrays.

cdef int8_t NEXT_PATCH_STATE[PATCH_STATES][FIELD_NUMBERS]
cdef int8_t PATCH_ROW_FIELDS[FIELD_NUMBERS]
cdef int8_t PATCH_NAMESPACE_FIELDS[FIELD_NUMBERS]
cdef int8_t PATCH_NAMESPACE_KINDS[FIELD_NUMBERS]
cdef int8_t PATCH_HEADER_FIELDS[FIELD_NUMBERS]
cdef int8_t PATCH_HEADER_KINDS[FIELD_NUMBERS]


cdef int load_patch_rules() except -1:
    memset(NEXT_PATCH_STATE, -1, sizeof(NEXT_PATCH_STATE))
    for before, rows in patch_rules.NEXT.items():
        for row, after in rows.items():
            if row < patch_rules.PatchRow.END_OF_FRAME:
                NEXT_PATCH_STATE[<int> before][<int> row] = after
    fill_known(PATCH_ROW_FIELDS, {int(row): BYTES for row in reference_patch_decoder.ROWS})
    fill_known(PATCH_NAMESPACE_FIELDS, reference_patch_terms.NAMESPACE_FIELDS)
    fill_known(PATCH_HEADER_FIELDS, reference_patch_terms.HEADER_FIELDS)
    fill_known(PATCH_NAMESPACE_KINDS, patch_rules.NAMESPACE_GRAPH_FIELDS)
    fill_known(PATCH_HEADER_KINDS, patch_rules.HEADER_VALUE_FIELDS)
    return 0


cdef Status read_patch_rows(Reader *reader) noexcept nogil:
    """Read rows until a stop."""
    cdef Status status
    while reader.pos < reader.end:
        if reader.planned == PLAN or reader.made_bytes > PLAN_BYTES:
            return AT_PLAN_END
        status = read_patch_row(reader)
        if status != READ:
            return status
    return AT_FRAME_END


cdef Status read_patch_row(Reader *reader) noexcept nogil:
    """Read the field of the frame at `pos`, usually a row."""
    cdef Field field
    cdef int row = 0
    cdef Status status = open_row_at(reader, &field, &row)
    if status != READ:
        return status
    if not read_patch_row_body(reader, row, field.start, field.stop):
        return reader.status
    reader.state = state_after(reader, row)
    reader.row_kind = row
    if row == PATCH_NAMESPACE_ADD or row == PATCH_NAMESPACE_DELETE:
        return AT_NAMESPACE
    return AT_HEADER if row == PATCH_HEADER else READ


cdef bint read_patch_row_body(Reader *reader, int row, const uint8_t *start,
                              const uint8_t *stop) noexcept nogil:
    """Process a row other than options; False if it is rejected."""
    if row == PATCH_ADD or row == PATCH_DELETE:
        reader.plan[reader.planned].kind = row
        return read_statement(reader, start, stop)
    if row == PATCH_NAME:
        return set_entry(reader, &reader.names, start, stop) != NULL
    if row == PATCH_PREFIX:
        return set_entry(reader, &reader.prefixes, start, stop) != NULL
    if row == PATCH_DATATYPE:
        return set_datatype(reader, start, stop)
    if row == PATCH_HEADER:
        return read_header(reader, start, stop)
    if row == PATCH_NAMESPACE_ADD or row == PATCH_NAMESPACE_DELETE:
        return read_patch_namespace(reader, start, stop, row == PATCH_NAMESPACE_ADD)
    if not is_empty_message(reader, start, stop):
        return False
    reader.plan[reader.planned].event = BARE_ROW
    reader.plan[reader.planned].kind = row
    reader.plan[reader.planned].row = reader.row_number
    reader.planned += 1
    return True


cdef bint read_patch_namespace(Reader *reader, const uint8_t *pos, const uint8_t *end,
                               bint needs_iri) noexcept nogil:
    """Read an RdfPatchNamespace into `namespace_name` and `namespace_iri`, which is NULL if the row
    has none. The next statement may repeat the namespace's graph.
    """
    cdef Fields walk
    cdef Slice iri = Slice(NULL, 0)
    cdef Field graph
    cdef Term *term
    cdef int found
    # The next statement is a new one: it repeats the graph of this namespace.
    reader.has_before = False
    reader.namespace_name = Slice(NULL, 0)
    graph.number = 0
    open_fields(&walk, pos, end, PATCH_NAMESPACE_FIELDS)
    found = next_field(&walk)
    while found > 0:
        if walk.field.number == 1:
            reader.namespace_name = Slice(walk.field.start, walk.field.stop - walk.field.start)
            if text_length(reader, reader.namespace_name) < 0:
                return False
        elif walk.field.number == 2:
            iri = Slice(walk.field.start, walk.field.stop - walk.field.start)
        elif graph.number:
            return fail(reader, REJECTED)
        else:
            graph = walk.field
        found = next_field(&walk)
    if found < 0:
        return fail(reader, REJECTED)
    # The IRI is read before the graph, whatever their order on the wire.
    if iri.bytes != NULL:
        reader.namespace_iri = read_iri(reader, iri.bytes, iri.bytes + iri.size)
        if reader.namespace_iri == NULL:
            return False
    elif needs_iri:
        return fail(reader, REJECTED)
    if reader.width == 3:
        return graph.number == 0 or fail(reader, REJECTED)
    if graph.number:
        if not reader.declared_graph[graph.number]:
            return fail(reader, REJECTED)
        term = read_term(reader, PATCH_NAMESPACE_KINDS[graph.number], graph.start, graph.stop, 0)
        if term == NULL:
            return False
        drop(reader.last[3], &reader.pool)
        reader.last[3] = term
        reader.given |= GRAPH_BIT
    return True


cdef Term *namespace_graph(Reader *reader) noexcept nogil:
    """The graph of the last namespace in a stream of quads."""
    return reader.default_graph if reader.last[3] == NULL else reader.last[3]


cdef bint read_header(Reader *reader, const uint8_t *pos, const uint8_t *end) noexcept nogil:
    """Read an RdfPatchHeader's key and value into `namespace_name` and `namespace_iri`."""
    cdef Fields walk
    cdef int found
    reader.namespace_name = Slice(NULL, 0)
    open_fields(&walk, pos, end, PATCH_HEADER_FIELDS)
    found = next_field(&walk)
    while found > 0:
        if walk.field.number == 1:
            reader.namespace_name = Slice(walk.field.start, walk.field.stop - walk.field.start)
            if text_length(reader, reader.namespace_name) < 0:
                return False
        elif reader.namespace_iri != NULL or not reader.declared_value[walk.field.number]:
            return fail(reader, REJECTED)
        else:
            reader.namespace_iri = read_term(
                reader, PATCH_HEADER_KINDS[walk.field.number], walk.field.start, walk.field.stop, 0
            )
            if reader.namespace_iri == NULL:
                return False
        found = next_field(&walk)
    return (found == 0 and reader.namespace_iri != NULL) or fail(reader, REJECTED)
