# Lines of N-Triples and N-Quads, as `line_reader.pxi` reads them, to rows. Nothing here needs the GIL.

# IRIs that are known

cdef void learn_iri(KnownIri *known, Said *said) noexcept nogil:
    """Know an IRI that was written."""
    if known.name_place.serial == said.name_place.serial and (
        known.prefix_place.serial == said.prefix_place.serial
    ) and known.size:
        # Nothing is new: it is known, or another one has taken its place meanwhile.
        return
    if not is_known(known, said.text):
        known.hash = <uint32_t> (quick_hash(said.text) >> 32)
        known.size = <uint32_t> said.text.size
        memcpy(known.text, said.text.bytes, said.text.size)
        known.characters = <uint32_t> said.characters
        known.prefix_size = <uint32_t> said.prefix_size
        known.prefix_characters = <uint32_t> said.prefix_characters
        known.datatype_place.serial = 0
    known.prefix_place = said.prefix_place
    known.name_place = said.name_place


cdef void learn_datatype(KnownIri *known, Said *said, bint split) noexcept nogil:
    """Know the IRI of a datatype that was written."""
    cdef Said iri
    if not is_known(known, said.datatype):
        memset(&iri, 0, sizeof(Said))
        iri.text = said.datatype
        iri.characters = said.datatype_characters
        cut_iri(&iri, split)
        known.size = 0
        learn_iri(known, &iri)
    known.datatype_place = said.prefix_place


# Rows

cdef inline bint is_heard(Heard *heard, Said *said) noexcept nogil:
    """Whether a term is the same as one of the statement before."""
    return (heard.kind == said.kind and heard.typed == said.typed
            and same(heard.text.bytes, heard.text.size, said.text.bytes, said.text.size)
            and (not said.typed or same(heard.datatype.bytes, heard.datatype.size,
                                        said.datatype.bytes, said.datatype.size)))


cdef bint keep_heard(Heard *heard, Said *said) noexcept nogil:
    heard.kind = said.kind
    heard.typed = said.typed
    heard.text.size = 0
    heard.datatype.size = 0
    return append(&heard.text, said.text.bytes, said.text.size) and (
        not said.typed or append(&heard.datatype, said.datatype.bytes, said.datatype.size))


cdef Written write_heard(Writer *writer, LineReader *lines, TermTags *tags) noexcept nogil:
    """Write the line's terms, but for those that are repeated, into the writer's body."""
    cdef Said *said
    cdef Written written
    cdef uint8_t size
    writer.row += 1
    writer.body.size = 0
    for position in range(4 if lines.quads else 3):
        if lines.repeated[position]:
            continue
        said = &lines.said[position]
        size = tags.sizes[position][said.kind]
        if size == 0 or not append(&writer.body, tags.bytes[position][said.kind], size):
            return OUT_OF_MEMORY
        written = write_iri(writer, said) if said.kind == IRI else write_wire(writer, said)
        if written != DONE:
            return written
    return DONE


cdef Written write_line(Writer *writer, LineReader *lines, TermTags *tags, uint8_t row_tag,
                        uint64_t row_bytes) noexcept nogil:
    """Write the line that was read as a row; where that fails, only entries are written."""
    cdef uint64_t prefix_id = writer.prefix_id
    cdef uint64_t name_id = writer.name_id
    cdef int width = 4 if lines.quads else 3
    cdef int left = 0
    cdef int position
    cdef Said *said
    cdef Written written
    for position in range(width):
        if not lines.repeated[position]:
            lines.repeated[position] = is_heard(&lines.last[position], &lines.said[position])
        if not lines.repeated[position]:
            left += 1
            if lines.said[position].kind == IRI and not lines.said[position].cut:
                cut_iri(&lines.said[position], writer.prefixes.size > 0)
    if left == 0:
        return ALL_REPEATED
    written = write_heard(writer, lines, tags)
    if written == NO_ROOM and writer.full == &writer.prefixes:
        # As in TermWriter._row.
        writer.prefix_id = prefix_id
        writer.name_id = name_id
        writer.split = False
        written = write_heard(writer, lines, tags)
        writer.split = True
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
        said = &lines.said[position]
        if said.kind == IRI:
            if lines.places[position] != NULL:
                learn_iri(lines.places[position], said)
        elif said.typed and lines.places[4] != NULL:
            learn_datatype(lines.places[4], said, writer.prefixes.size > 0)
        if not keep_heard(&lines.last[position], said):
            return OUT_OF_MEMORY
    return DONE
