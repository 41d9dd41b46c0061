# From terms to rows: a writer's lookups, IRIs and omitted ids. Nothing here needs the GIL.

cdef struct TermTags:
    # Tag of each position and kind of term; size 0 where the kind is not allowed.
    uint8_t bytes[4][5][2]
    uint8_t sizes[4][5]


cdef struct Writer:
    WriterTable names
    WriterTable prefixes
    WriterTable datatypes
    uint64_t lookup_characters
    # Whether IRIs are split into prefix and name.
    bint split
    uint64_t row
    uint64_t prefix_id
    uint64_t name_id
    WriterTable *full
    uint64_t found
    Buffer rejected
    # Complete rows, and the current one.
    Buffer rows
    uint64_t row_count
    # Statements among these rows that repeat every term.
    uint64_t repeats
    Buffer body


# Lookups

cdef Written look_up(Writer *writer, WriterTable *table, Slice value, size_t characters,
                     Place *place) noexcept nogil:
    """Find a value's entry, or make one and write its row; `place` caches its position."""
    cdef uint64_t hash
    cdef Written written
    if place.serial and table.entries[place.id].serial == place.serial:
        use(table, place.id, writer.row)
        return DONE
    hash = hash_of(value.bytes, value.size)
    place.id = find_value(table, value, hash)
    if place.id:
        use(table, place.id, writer.row)
    else:
        written = enter(writer, table, value, characters, hash, &place.id)
        if written != DONE:
            place.serial = 0
            return written
    place.serial = table.entries[place.id].serial
    return DONE


cdef Written enter(Writer *writer, WriterTable *table, Slice value, size_t characters,
                   uint64_t hash, uint32_t *entry_id) noexcept nogil:
    """Make an entry, replacing the least recently used one if the lookup is full, and write its
    row.
    """
    cdef uint64_t given
    cdef uint64_t written
    cdef Written found = choose_entry(table, characters, writer.lookup_characters, writer.row,
                                      &given)
    if found != DONE:
        writer.full = table
        writer.found = table.characters + characters
        return found
    written = written_id(table, given)
    # Reserve the row's space before setting the entry, so that both steps succeed or fail together.
    if not reserve(&writer.rows, value.size + 48) or not fill_entry(
        table, given, value, characters, hash, writer.row
    ):
        return OUT_OF_MEMORY
    write_entry(writer, table, written, value)
    entry_id[0] = <uint32_t> given
    return DONE


cdef void forget_entries(WriterTable *table) noexcept nogil:
    """Forget all entries, for readers that start here and for readers that still have them;
    `characters` is not reset.
    """
    cdef WriterEntry *entry
    for entry_id in range(1, table.count + 1):
        entry = &table.entries[entry_id]
        PyMem_RawFree(entry.bytes)
        entry.bytes = NULL
        entry.size = 0
        # Invalidate all cached positions.
        entry.serial = 0
    if table.bucket_count:
        memset(table.buckets, 0, table.bucket_count * sizeof(uint32_t))
    table.count = 0
    table.oldest = table.newest = 0
    # The next entry's id is written in full.
    table.last = <uint64_t> -1


cdef void write_entry(Writer *writer, WriterTable *table, uint64_t written,
                      Slice value) noexcept nogil:
    """Write the row of an entry to reserved space."""
    cdef size_t size = 0
    if written:
        size += 1 + varint_size(written)
    if value.size:
        size += 1 + varint_size(value.size) + value.size
    open_row(writer, table.row_tag, size)
    if written:
        put_byte(&writer.rows, 1 << 3 | VARINT)
        put_varint(&writer.rows, written)
    if value.size:
        put_byte(&writer.rows, ENTRY_TEXT_TAG)
        put_varint(&writer.rows, value.size)
        put(&writer.rows, value.bytes, value.size)


# Rows

cdef bint open_row(Writer *writer, uint8_t tag, size_t size) noexcept nogil:
    """Write the header of a row with a body of `size` bytes, and reserve space for the body; False
    if memory is exhausted.
    """
    if not reserve(&writer.rows, size + 24):
        return False
    put_byte(&writer.rows, ROW_TAG)
    put_varint(&writer.rows, 1 + varint_size(size) + size)
    put_byte(&writer.rows, tag)
    put_varint(&writer.rows, size)
    writer.row_count += 1
    return True


cdef bint write_row(Writer *writer, uint8_t tag) noexcept nogil:
    """Write a row with the bytes of `body`; False if memory is exhausted."""
    if not open_row(writer, tag, writer.body.size):
        return False
    put(&writer.rows, writer.body.bytes, writer.body.size)
    return True


# Terms, written to `body` with their length before them

cdef void cut_iri(EncodedTerm *encoded, bint split) noexcept nogil:
    """Find an IRI's prefix, in the same way as the reference."""
    cdef const uint8_t *bytes = encoded.text.bytes
    cdef size_t cut = 0
    if split:
        cut = encoded.text.size
        while cut and bytes[cut - 1] != c"#" and bytes[cut - 1] != c"/":
            cut -= 1
    encoded.cut = True
    encoded.prefix_size = cut
    if encoded.characters == encoded.text.size:
        encoded.prefix_characters = cut
    else:
        encoded.prefix_characters = characters_in(bytes, bytes + cut)


cdef Written write_iri(Writer *writer, EncodedTerm *encoded) noexcept nogil:
    cdef Buffer *body = &writer.body
    cdef size_t prefix_size = encoded.prefix_size
    cdef Written written = DONE
    cdef uint64_t prefix_id = 0
    cdef uint64_t name_id
    cdef size_t at
    if writer.prefixes.size:
        written = look_up(writer, &writer.prefixes, Slice(encoded.text.bytes, prefix_size),
                          encoded.prefix_characters, &encoded.prefix_place)
        prefix_id = encoded.prefix_place.id
    if written == DONE:
        written = look_up(
            writer, &writer.names,
            Slice(encoded.text.bytes + prefix_size, encoded.text.size - prefix_size),
            encoded.characters - encoded.prefix_characters, &encoded.name_place)
    if written != DONE:
        return written
    name_id = encoded.name_place.id
    if not reserve(body, 32):
        return OUT_OF_MEMORY
    # Two ids are always short enough for a length of one byte.
    at = body.size
    put_byte(body, 0)
    # A prefix table of size 0 has no ids.
    if prefix_id and prefix_id != writer.prefix_id:
        put_byte(body, PREFIX_TAG)
        put_varint(body, prefix_id)
    if name_id != writer.name_id + 1:
        put_byte(body, NAME_TAG)
        put_varint(body, name_id)
    body.bytes[at] = <uint8_t> (body.size - at - 1)
    writer.prefix_id = prefix_id
    writer.name_id = name_id
    return DONE


cdef Written write_wire(Writer *writer, EncodedTerm *encoded) noexcept nogil:
    """Write a literal, a blank node or the default graph."""
    cdef Buffer *body = &writer.body
    cdef size_t size = encoded.text.size
    cdef Written written
    if encoded.typed:
        if writer.datatypes.size == 0:
            writer.rejected.size = 0
            if not append(&writer.rejected, encoded.datatype.bytes, encoded.datatype.size):
                return OUT_OF_MEMORY
            return NO_DATATYPES
        written = look_up(writer, &writer.datatypes, encoded.datatype, encoded.datatype_characters,
                          &encoded.prefix_place)
        if written != DONE:
            return written
        size += 1 + varint_size(encoded.prefix_place.id)
    if not reserve(body, size + 10):
        return OUT_OF_MEMORY
    put_varint(body, size)
    put(body, encoded.text.bytes, encoded.text.size)
    if encoded.typed:
        put_byte(body, 3 << 3 | VARINT)
        put_varint(body, encoded.prefix_place.id)
    return DONE


cdef bint insert_size(Buffer *body, size_t at) noexcept nogil:
    """Insert the length of the bytes from `at` on before them; False if memory is exhausted."""
    cdef size_t size = body.size - at
    cdef size_t width = varint_size(size)
    if not reserve(body, width):
        return False
    if size:
        memmove(body.bytes + at + width, body.bytes + at, size)
    body.size = at
    put_varint(body, size)
    body.size += size
    return True


# Opening and closing a writer

cdef void open_writer(Writer *writer) noexcept nogil:
    """Initialise a writer of zeros whose table sizes are set."""
    writer.names.row_tag = ROW_NAME << 3 | BYTES
    writer.prefixes.row_tag = ROW_PREFIX << 3 | BYTES
    writer.datatypes.row_tag = ROW_DATATYPE << 3 | BYTES
    writer.split = writer.prefixes.size >= LEAST_PREFIXES
    # Row 0 marks entries that no row has used.
    writer.row = 1


cdef void close_writer(Writer *writer) noexcept nogil:
    close_writer_table(&writer.names)
    close_writer_table(&writer.prefixes)
    close_writer_table(&writer.datatypes)
    release(&writer.rows)
    release(&writer.body)
    release(&writer.rejected)
