# Work left to the reference: rows of options, and the reasons for a rejected row.

# More than any row can expand to.
cdef object OUT_OF_REACH = 1 << 80


cdef uint64_t bounded(limit) except? 0:
    """Convert a limit to a C integer; a value that exceeds any input means no limit."""
    return min(limit, 0xFFFFFFFFFFFF)


cdef int set_limits(Reader *reader, limits) except -1:
    reader.string_bytes = bounded(limits.string_bytes)
    reader.lookup_characters = bounded(limits.lookup_characters)
    reader.nesting = bounded(limits.nesting)
    reader.frame_rows = bounded(limits.frame_rows)
    reader.frame_repeats = bounded(limits.frame_repeats)
    reader.frame_expansion = bounded(limits.frame_expansion)
    return 0


cdef object read_options(Reader *reader, bytes data, known, limits):
    """Read the options at the reader's position; `known` are the options read at the stream's
    start, or None.

    :raises JellyError: they are rejected.
    """
    cdef Field *field = &reader.stopped_at
    cdef const uint8_t *start = <const uint8_t *> <const char *> data
    options = reference_options.read_options(
        StreamOptions, data, field.start - start, field.stop - start, limits
    )
    if known is not None:
        if options != known:
            raise reason(reader, known, limits, GenericFactory())
        return known
    options.check(limits)
    reader.state = rules.FIRST_STATE[options.physical_type]
    reader.width = 3 if options.physical_type == PhysicalType.TRIPLES else 4
    reader.required = 0b1111 if options.physical_type == PhysicalType.QUADS else 0b111
    set_features(reader, options)
    reader.has_namespaces = options.has_namespaces
    fill_declared(reader.declared_graph, positions.GRAPH_START_FIELDS, positions.GRAPH, options)
    return options


cdef int set_features(Reader *reader, options) except -1:
    """Set the fields for options that all formats share."""
    reader.names.size = options.max_name_table_size
    reader.prefixes.size = options.max_prefix_table_size
    reader.datatypes.size = options.max_datatype_table_size
    for number, (position, kind) in positions.STATEMENT_FIELDS.items():
        fill_declared(&reader.declared[0], {number: kind}, position, options)
    return 0


cdef int fill_declared(bint *declared, fields, position, options) except -1:
    """Set which fields a stream may use, each for a kind of term in one position."""
    for number, kind in fields.items():
        declared[<int> number] = positions.undeclared(
            position, kind, options.generalized_statements, options.rdf_star
        ) is None
    return 0


# Reads the fields of frames that are not rows; keeps no state.
cdef object FRAME_FIELD_READER = reference_decoder.Decoder(GenericFactory())


cdef int read_frame_field(reference, Reader *reader, bytes data, frame) except -1:
    """Read the field at the reader's position, which is not a row."""
    cdef Field *field = &reader.stopped_at
    cdef const uint8_t *start = <const uint8_t *> PyBytes_AS_STRING(data)
    reference.read_frame_field(field.tag, data, field.start - start, field.stop - start, frame)
    return 0


cdef object rejection(Reader *reader, Status status, options, limits, factory,
                      reference=reference_decoder.Decoder):
    """Return the error for a stop at which reading ends.

    :param reference: the class of the format's reference, which knows the error of a row.
    """
    if status == NO_MEMORY:
        return MemoryError()
    if status == TOO_MANY_ROWS:
        return over(limits, "frame_rows", reader.rows, "the number of rows in a frame")
    if status == TOO_MANY_REPEATS:
        return over(
            limits, "frame_repeats", reader.repeats, "repeats in a frame: their number"
        )
    if status == TOO_MUCH_EXPANSION:
        return over(
            limits, "frame_expansion", reader.expansion, "what IRIs of a frame expand to"
        )
    return reason(reader, options, limits, factory, reference)


cdef object row_number(Reader *reader):
    """Number of the row at the reader's position; None outside rows."""
    return reader.row_number if reader.in_row else None


cdef object reason(Reader *reader, options, limits, factory,
                   reference=reference_decoder.Decoder):
    """Make the reference read the row again, from the state before it, and return the error."""
    cdef const uint8_t *stop = reader.pos if reader.pos > reader.row else reader.end
    return reference(factory, limits=replace(limits, frame_expansion=OUT_OF_REACH)).error_of_row(
        (<const char *> reader.row)[:stop - reader.row],
        options,
        Checkpoint(
            state=reader.state,
            tables=(
                entries_of(&reader.names),
                entries_of(&reader.prefixes),
                entries_of(&reader.datatypes),
            ),
            prefix_id=reader.row_prefix_id,
            name_id=reader.row_name_id,
            given=reader.row_given,
        ),
    )


cdef tuple entries_of(Table *table):
    return table.last, {
        entry_id: text_of(Slice(bytes_at(&table.entries[entry_id]), table.entries[entry_id].size))
        for entry_id in range(table.length)
        if table.entries[entry_id].serial
    }
