# From terms as they are to be written to rows: a writer's lookups, IRIs, repeats of ids. Nothing
# here needs the GIL.

cdef enum Written:
    DONE
    # `Writer.full` is the lookup that has no room for another entry of this row.
    NO_ROOM
    # `Writer.full` is the lookup whose entries are too long together, `Writer.found` their length.
    TOO_LONG
    # The datatype in `Writer.refused` has no lookup to stand in.
    NO_DATATYPES
    # The row is longer than a reader would take.
    ROW_TOO_LONG
    # Nothing was written: every term repeats, more often than `Writer.room_repeats`.
    ALL_REPEATED
    OUT_OF_MEMORY


cdef struct WriterEntry:
    # They have the room that `room_for` says.
    uint8_t *bytes
    size_t size
    size_t characters
    uint64_t hash
    # Changes whenever the entry is given another value; 0 before it has any.
    uint64_t serial
    # The row that used it last.
    uint64_t row
    # Ids of its neighbours in the order of use, and of the next one in its bucket; 0 for none.
    uint32_t older
    uint32_t newer
    uint32_t chained


cdef struct WriterTable:
    # The lookup of `lookups.WriterTable`: the least recently used entry gives way.
    WriterEntry *entries
    size_t length
    uint32_t *buckets
    size_t bucket_count
    uint64_t size
    uint64_t count
    uint64_t last
    uint64_t characters
    uint64_t serials
    uint32_t oldest
    uint32_t newest
    # Tag of the row that sets an entry.
    uint8_t row_tag


cdef struct TermTags:
    # Tag of the field for each position and kind; size 0 where the term may not stand.
    uint8_t bytes[4][5][2]
    uint8_t sizes[4][5]


cdef struct Writer:
    WriterTable names
    WriterTable prefixes
    WriterTable datatypes
    uint64_t lookup_characters
    # Whether IRIs are cut into prefix and name.
    bint split
    uint64_t row
    uint64_t prefix_id
    uint64_t name_id
    WriterTable *full
    uint64_t found
    Buffer refused
    # Rows that are complete, and the one that is written.
    Buffer rows
    uint64_t row_count
    # Of these rows, statements that repeat every term, and how many more the frame may have.
    uint64_t repeats
    uint64_t room_repeats
    Buffer body



# Lookups

cdef bint grow_writer_table(WriterTable *table) noexcept nogil:
    """Make room for more entries, and spread them over more buckets."""
    cdef size_t length = table.length * 2 if table.length else 64
    cdef WriterEntry *moved
    cdef uint32_t *buckets
    moved = <WriterEntry *> PyMem_RawRealloc(table.entries, length * sizeof(WriterEntry))
    if moved == NULL:
        return False
    memset(moved + table.length, 0, (length - table.length) * sizeof(WriterEntry))
    table.entries = moved
    buckets = <uint32_t *> PyMem_RawCalloc(length * 2, sizeof(uint32_t))
    if buckets == NULL:
        # The entries that were added are found again the next time.
        return False
    PyMem_RawFree(table.buckets)
    table.buckets = buckets
    table.bucket_count = length * 2
    table.length = length
    for entry_id in range(1, table.count + 1):
        chain(table, <uint32_t> entry_id)
    return True


cdef inline uint32_t *bucket_of(WriterTable *table, uint64_t hash) noexcept nogil:
    return &table.buckets[hash & (table.bucket_count - 1)]


cdef inline void chain(WriterTable *table, uint32_t entry_id) noexcept nogil:
    cdef uint32_t *bucket = bucket_of(table, table.entries[entry_id].hash)
    table.entries[entry_id].chained = bucket[0]
    bucket[0] = entry_id


cdef void unchain(WriterTable *table, uint32_t entry_id) noexcept nogil:
    cdef uint32_t *link = bucket_of(table, table.entries[entry_id].hash)
    while link[0] != entry_id:
        link = &table.entries[link[0]].chained
    link[0] = table.entries[entry_id].chained


cdef uint32_t find_value(WriterTable *table, Slice value, uint64_t hash) noexcept nogil:
    cdef uint32_t entry_id
    cdef WriterEntry *entry
    if table.bucket_count == 0:
        return 0
    entry_id = bucket_of(table, hash)[0]
    while entry_id:
        entry = &table.entries[entry_id]
        if entry.hash == hash and same(entry.bytes, entry.size, value.bytes, value.size):
            return entry_id
        entry_id = entry.chained
    return 0


cdef inline void take_out(WriterTable *table, uint32_t entry_id) noexcept nogil:
    """Take an entry out of the order of use."""
    cdef WriterEntry *entry = &table.entries[entry_id]
    if entry.older:
        table.entries[entry.older].newer = entry.newer
    else:
        table.oldest = entry.newer
    if entry.newer:
        table.entries[entry.newer].older = entry.older
    else:
        table.newest = entry.older


cdef inline void put_newest(WriterTable *table, uint32_t entry_id) noexcept nogil:
    cdef WriterEntry *entry = &table.entries[entry_id]
    entry.older = table.newest
    entry.newer = 0
    if table.newest:
        table.entries[table.newest].newer = entry_id
    else:
        table.oldest = entry_id
    table.newest = entry_id


cdef inline void use(WriterTable *table, uint32_t entry_id, uint64_t row) noexcept nogil:
    """Mark an entry as used by a row."""
    table.entries[entry_id].row = row
    if table.newest != entry_id:
        take_out(table, entry_id)
        put_newest(table, entry_id)


cdef Written look_up(Writer *writer, WriterTable *table, Slice value, size_t characters,
                     Place *place) noexcept nogil:
    """Find a value's entry, or make one and write its row; `place` says where it is."""
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


cdef inline size_t room_for(size_t size) noexcept nogil:
    """Bytes to ask for, so that most values fit where another one was."""
    return (size | 15) + 1


cdef Written enter(Writer *writer, WriterTable *table, Slice value, size_t characters,
                   uint64_t hash, uint32_t *entry_id) noexcept nogil:
    """Make an entry, in place of the least recently used one where the lookup is full, and write
    its row."""
    cdef WriterEntry *entry
    cdef uint8_t *bytes
    cdef uint64_t given
    writer.full = table
    writer.found = table.characters + characters
    if writer.found > writer.lookup_characters:
        return TOO_LONG
    if table.count < table.size:
        if table.count + 1 >= table.length and not grow_writer_table(table):
            return OUT_OF_MEMORY
        given = table.count + 1
    else:
        given = table.oldest
        # What this row has used stands at the new end, so if the oldest is of this row, all are.
        if given == 0 or table.entries[given].row == writer.row:
            return NO_ROOM
    entry = &table.entries[given]
    if given <= table.count and room_for(entry.size) == room_for(value.size):
        bytes = entry.bytes
    else:
        bytes = <uint8_t *> PyMem_RawMalloc(room_for(value.size))
    if bytes == NULL or not write_entry(writer, table, given, value):
        if bytes != entry.bytes:
            PyMem_RawFree(bytes)
        return OUT_OF_MEMORY
    if given > table.count:
        table.count = given
        # What a reader may still have there, of the time before a restart point.
        table.characters -= entry.characters
    else:
        take_out(table, <uint32_t> given)
        unchain(table, <uint32_t> given)
        table.characters -= entry.characters
        if bytes != entry.bytes:
            PyMem_RawFree(entry.bytes)
    if value.size:
        memcpy(bytes, value.bytes, value.size)
    entry.bytes = bytes
    entry.size = value.size
    entry.characters = characters
    entry.hash = hash
    table.characters += characters
    table.serials += 1
    entry.serial = table.serials
    entry.row = writer.row
    put_newest(table, <uint32_t> given)
    chain(table, <uint32_t> given)
    table.last = given
    entry_id[0] = <uint32_t> given
    return DONE


cdef void forget_entries(WriterTable *table) noexcept nogil:
    """Start with no entries again, for a reader that has none of them as well as for one that has
    them all: `characters` are counted on."""
    cdef WriterEntry *entry
    for entry_id in range(1, table.count + 1):
        entry = &table.entries[entry_id]
        PyMem_RawFree(entry.bytes)
        entry.bytes = NULL
        entry.size = 0
        # No place is where it was.
        entry.serial = 0
    if table.bucket_count:
        memset(table.buckets, 0, table.bucket_count * sizeof(uint32_t))
    table.count = 0
    table.oldest = table.newest = 0
    # The next entry's id is written in full.
    table.last = <uint64_t> -1


cdef bint write_entry(Writer *writer, WriterTable *table, uint64_t entry_id,
                      Slice value) noexcept nogil:
    """Write the row of an entry; False where there is no memory."""
    cdef uint64_t written = 0 if entry_id == table.last + 1 else entry_id
    cdef size_t size = 0
    if written:
        size += 1 + varint_size(written)
    if value.size:
        size += 1 + varint_size(value.size) + value.size
    if not open_row(writer, table.row_tag, size):
        return False
    if written:
        put_byte(&writer.rows, 1 << 3 | VARINT)
        put_varint(&writer.rows, written)
    if value.size:
        put_byte(&writer.rows, 2 << 3 | BYTES)
        put_varint(&writer.rows, value.size)
        put(&writer.rows, value.bytes, value.size)
    return True


# Rows

cdef bint open_row(Writer *writer, uint8_t tag, size_t size) noexcept nogil:
    """Write what stands before a row's body of `size` bytes, and make room for those; False where
    there is no memory."""
    if not reserve(&writer.rows, size + 24):
        return False
    put_byte(&writer.rows, ROW_TAG)
    put_varint(&writer.rows, 1 + varint_size(size) + size)
    put_byte(&writer.rows, tag)
    put_varint(&writer.rows, size)
    writer.row_count += 1
    return True


cdef bint write_row(Writer *writer, uint8_t tag) noexcept nogil:
    """Write a row of what stands in `body`; False where there is no memory."""
    if not open_row(writer, tag, writer.body.size):
        return False
    put(&writer.rows, writer.body.bytes, writer.body.size)
    return True


# Terms, into `body`, with their length before them

cdef void cut_iri(EncodedTerm *encoded, bint split) noexcept nogil:
    """Find an IRI's prefix, as the reference does."""
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
    cdef Place whole
    cdef size_t prefix_size = encoded.prefix_size
    cdef Written written = DONE
    cdef uint64_t prefix_id = 0
    cdef uint64_t name_id
    cdef size_t at
    if writer.prefixes.size == 0 or writer.split:
        if writer.prefixes.size:
            written = look_up(writer, &writer.prefixes, Slice(encoded.text.bytes, prefix_size),
                              encoded.prefix_characters, &encoded.prefix_place)
            prefix_id = encoded.prefix_place.id
        if written == DONE:
            written = look_up(
                writer, &writer.names,
                Slice(encoded.text.bytes + prefix_size, encoded.text.size - prefix_size),
                encoded.characters - encoded.prefix_characters, &encoded.name_place)
        name_id = encoded.name_place.id
    else:
        # Whole, under the empty prefix.
        whole.serial = 0
        written = look_up(writer, &writer.prefixes, Slice(encoded.text.bytes, 0), 0, &whole)
        prefix_id = whole.id
        if written == DONE:
            whole.serial = 0
            written = look_up(writer, &writer.names, encoded.text, encoded.characters, &whole)
        name_id = whole.id
    if written != DONE:
        return written
    if not reserve(body, 32):
        return OUT_OF_MEMORY
    # Two ids are never so long that the length takes more than a byte.
    at = body.size
    put_byte(body, 0)
    # A table of no prefixes has no id to write.
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
            writer.refused.size = 0
            if not append(&writer.refused, encoded.datatype.bytes, encoded.datatype.size):
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
    """Put the length of what was written from `at` on before it; False where there is no
    memory."""
    cdef size_t size = body.size - at
    cdef size_t room = varint_size(size)
    if not reserve(body, room):
        return False
    if size:
        memmove(body.bytes + at + room, body.bytes + at, size)
    body.size = at
    put_varint(body, size)
    body.size += size
    return True


# Making and unmaking a writer

cdef void open_writer(Writer *writer) noexcept nogil:
    """Give a writer that is all zeros, but for its tables' sizes, what it starts with."""
    writer.names.row_tag = ROW_NAME << 3 | BYTES
    writer.prefixes.row_tag = ROW_PREFIX << 3 | BYTES
    writer.datatypes.row_tag = ROW_DATATYPE << 3 | BYTES
    writer.split = writer.prefixes.size > 0
    # An entry that no row has used has row 0.
    writer.row = 1


cdef void close_writer_table(WriterTable *table) noexcept nogil:
    for entry_id in range(1, table.count + 1):
        PyMem_RawFree(table.entries[entry_id].bytes)
    PyMem_RawFree(table.entries)
    PyMem_RawFree(table.buckets)
    memset(table, 0, sizeof(WriterTable))


cdef void close_writer(Writer *writer) noexcept nogil:
    close_writer_table(&writer.names)
    close_writer_table(&writer.prefixes)
    close_writer_table(&writer.datatypes)
    release(&writer.rows)
    release(&writer.body)
    release(&writer.refused)
