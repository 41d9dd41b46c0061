# Lines of N-Triples and N-Quads, as `line_reader.pxi` reads them, to rows. Nothing here needs the GIL.

# IRIs that are known

cdef void learn_iri(KnownIri *known, EncodedTerm *encoded) noexcept nogil:
    """Know an IRI that was written."""
    if known.name_place.serial == encoded.name_place.serial and (
        known.prefix_place.serial == encoded.prefix_place.serial
    ) and known.size:
        # Nothing is new: it is known, or another one has taken its place meanwhile.
        return
    if not is_known(known, encoded.text):
        known.hash = <uint32_t> (quick_hash(encoded.text) >> 32)
        known.size = <uint32_t> encoded.text.size
        memcpy(known.text, encoded.text.bytes, encoded.text.size)
        known.characters = <uint32_t> encoded.characters
        known.prefix_size = <uint32_t> encoded.prefix_size
        known.prefix_characters = <uint32_t> encoded.prefix_characters
        known.datatype_place.serial = 0
    known.prefix_place = encoded.prefix_place
    known.name_place = encoded.name_place


cdef void learn_datatype(KnownIri *known, EncodedTerm *encoded, bint split) noexcept nogil:
    """Know the IRI of a datatype that was written."""
    cdef EncodedTerm iri
    if not is_known(known, encoded.datatype):
        memset(&iri, 0, sizeof(EncodedTerm))
        iri.text = encoded.datatype
        iri.characters = encoded.datatype_characters
        cut_iri(&iri, split)
        known.size = 0
        learn_iri(known, &iri)
    known.datatype_place = encoded.prefix_place


# Rows

cdef inline bint repeats_previous(PreviousTerm *previous, EncodedTerm *encoded) noexcept nogil:
    """Whether a term is the same as one of the statement before."""
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


cdef Written write_heard(Writer *writer, LineReader *lines, TermTags *tags) noexcept nogil:
    """Write the line's terms, but for those that are repeated, into the writer's body."""
    cdef EncodedTerm *encoded
    cdef Written written
    cdef uint8_t size
    writer.row += 1
    writer.body.size = 0
    for position in range(4 if lines.quads else 3):
        if lines.repeated[position]:
            continue
        encoded = &lines.encoded[position]
        size = tags.sizes[position][encoded.kind]
        if size == 0 or not append(&writer.body, tags.bytes[position][encoded.kind], size):
            return OUT_OF_MEMORY
        written = write_iri(writer, encoded) if encoded.kind == IRI else write_wire(writer, encoded)
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
    cdef EncodedTerm *encoded
    cdef Written written
    for position in range(width):
        if not lines.repeated[position]:
            lines.repeated[position] = repeats_previous(&lines.last[position], &lines.encoded[position])
        if not lines.repeated[position]:
            left += 1
            if lines.encoded[position].kind == IRI and not lines.encoded[position].cut:
                cut_iri(&lines.encoded[position], writer.prefixes.size > 0)
    if left == 0:
        if writer.repeats >= writer.room_repeats:
            return ALL_REPEATED
        writer.body.size = 0
        writer.repeats += 1
        return DONE if write_row(writer, row_tag) else OUT_OF_MEMORY
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
        encoded = &lines.encoded[position]
        if encoded.kind == IRI:
            if lines.places[position] != NULL:
                learn_iri(lines.places[position], encoded)
        elif encoded.typed and lines.places[4] != NULL:
            learn_datatype(lines.places[4], encoded, writer.prefixes.size > 0)
        if not keep_previous(&lines.last[position], encoded):
            return OUT_OF_MEMORY
    return DONE
