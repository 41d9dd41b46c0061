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
    fill_known(PATCH_NAMESPACE_FIELDS, reference_patch_decoder.NAMESPACE_FIELDS)
    fill_known(PATCH_HEADER_FIELDS, reference_patch_decoder.HEADER_FIELDS)
    fill_known(PATCH_NAMESPACE_KINDS, patch_rules.NAMESPACE_GRAPH_FIELDS)
    fill_known(PATCH_HEADER_KINDS, patch_rules.HEADER_VALUE_FIELDS)
    return 0


cdef bint read_patch_row_body(Reader *reader, int row, const uint8_t *start,
                              const uint8_t *stop) noexcept nogil:
    """Do the same as `read_row_body`, for a row of a patch."""
    if row == PATCH_ADD or row == PATCH_DELETE:
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
        return read_namespace(reader, start, stop)
    if not is_empty_message(reader, start, stop):
        return False
    plan_event(reader, BARE_ROW)
    return True


cdef bint read_namespace_graph(Reader *reader, Field *graph) noexcept nogil:
    """Read the graph of a namespace, or repeat one if its field has number 0."""
    cdef Term *term
    # The next statement is a new one: it may repeat the graph of this namespace.
    reader.has_before = False
    if graph.number == 0:
        return True
    if reader.width == 3 or not reader.declared_graph[graph.number]:
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
    if found < 0 or reader.namespace_iri == NULL:
        return fail(reader, REJECTED)
    reader.status = AT_HEADER
    return True
