# Lines of N-Triples and N-Quads, as `line_reader.pxi` reads them, to rows. Nothing here needs the GIL.

# Rows

cdef inline bint repeats_previous(PreviousTerm *previous, EncodedTerm *encoded) noexcept nogil:
    """Whether a term equals the one of the previous statement."""
    return (previous.kind == encoded.kind and previous.typed == encoded.typed
            and same(previous.text.bytes, previous.text.size, encoded.text.bytes, encoded.text.size)
            and (not encoded.typed or same(previous.datatype.bytes, previous.datatype.size,
                                        encoded.datatype.bytes, encoded.datatype.size)))


cdef bint keep_previous(PreviousTerm *previous, EncodedTerm *encoded) noexcept nogil:
    previous.kind = encoded.kind
    previous.typed = encoded.typed
    previous.text.size = 0
    previous.datatype.size = 0
    return append(&previous.text, encoded.text.bytes, encoded.text.size) and (
        not encoded.typed or append(&previous.datatype, encoded.datatype.bytes, encoded.datatype.size))


cdef Written write_terms(Writer *writer, LineReader *lines, TermTags *tags) noexcept nogil:
    """Write the line's terms, except repeated ones, into the writer's body."""
    cdef Written written
    writer.row += 1
    writer.body.size = 0
    for position in range(4 if lines.quads else 3):
        if lines.repeated[position]:
            continue
        written = write_tagged(writer, lines, position, &lines.encoded[position], tags)
        if written != DONE:
            return written
    return DONE


cdef Written write_tagged(Writer *writer, LineReader *lines, int position, EncodedTerm *encoded,
                          TermTags *tags) noexcept nogil:
    """Write a term with its tag before it."""
    cdef uint8_t size = tags.sizes[position][encoded.kind]
    cdef Written written
    cdef size_t at
    if size == 0 or not append(&writer.body, tags.bytes[position][encoded.kind], size):
        return OUT_OF_MEMORY
    if encoded.kind == IRI:
        return write_iri(writer, encoded)
    if encoded.kind != TRIPLE:
        return write_wire(writer, encoded)
    at = writer.body.size
    for part in range(3):
        written = write_tagged(writer, lines, part, &lines.quoted[part], tags)
        if written != DONE:
            return written
    return DONE if insert_size(&writer.body, at) else OUT_OF_MEMORY


cdef Written write_line(Writer *writer, LineReader *lines, TermTags *tags, uint8_t row_tag,
                        uint64_t row_bytes) noexcept nogil:
    """Write the parsed line as a row; on failure, only entries are written."""
    cdef uint64_t prefix_id = writer.prefix_id
    cdef uint64_t name_id = writer.name_id
    cdef int width = 4 if lines.quads else 3
    cdef int left = 0
    cdef int position
    cdef EncodedTerm *encoded
    cdef Written written
    for position in range(width):
        if not lines.repeated[position]:
            lines.repeated[position] = repeats_previous(&lines.last[position], &lines.encoded[position])
        if not lines.repeated[position]:
            left += 1
            encoded = &lines.encoded[position]
            if encoded.kind == IRI and not encoded.cut:
                cut_iri(encoded, writer.split)
            for part in range(3 if encoded.kind == TRIPLE else 0):
                if lines.quoted[part].kind == IRI:
                    cut_iri(&lines.quoted[part], writer.split)
    if left == 0:
        writer.body.size = 0
        writer.repeats += 1
        return DONE if write_row(writer, row_tag) else OUT_OF_MEMORY
    written = write_terms(writer, lines, tags)
    if written == DONE and writer.body.size > row_bytes:
        written = ROW_TOO_LONG
    if written == DONE and not write_row(writer, row_tag):
        written = OUT_OF_MEMORY
    if written != DONE:
        writer.prefix_id = prefix_id
        writer.name_id = name_id
        return written
    for position in range(width):
        if lines.repeated[position]:
            continue
        if not keep_previous(&lines.last[position], &lines.encoded[position]):
            return OUT_OF_MEMORY
    return DONE
