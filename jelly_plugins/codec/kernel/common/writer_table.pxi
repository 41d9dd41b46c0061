# The lookup of `term_writer.WriterTable`. Nothing here needs the GIL.

cdef enum Written:
    DONE
    # `Writer.full` is the lookup that cannot hold another entry for this row.
    NO_ROOM
    # `Writer.full` is the lookup whose entries are too long in total, `Writer.found` is their
    # length.
    TOO_LONG
    # There is no datatype lookup for the datatype in `Writer.rejected`.
    NO_DATATYPES
    # The row is longer than a reader accepts.
    ROW_TOO_LONG
    OUT_OF_MEMORY


cdef struct WriterEntry:
    # The bytes have the capacity that `room_for` returns.
    uint8_t *bytes
    size_t size
    size_t characters
    uint64_t hash
    # Changes whenever the entry gets another value; 0 before it has a value.
    uint64_t serial
    # The last row that used it.
    uint64_t row
    # Ids of its neighbours in the order of use, and of the next entry in its bucket; 0 means none.
    uint32_t older
    uint32_t newer
    uint32_t chained


cdef struct WriterTable:
    # The lookup of `term_writer.WriterTable`: new entries replace the least recently used ones.
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
    # Tag of the row that sets an entry, if entries are rows.
    uint8_t row_tag


cdef bint grow_writer_table(WriterTable *table) noexcept nogil:
    """Reserve space for more entries, and distribute the entries over more buckets."""
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
        # The next call finds the entries that were added.
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
    """Remove an entry from the order of use."""
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


cdef inline size_t room_for(size_t size) noexcept nogil:
    """Return a capacity for a value, rounded so that most values fit where another one was."""
    return (size | 15) + 1


cdef Written choose_entry(WriterTable *table, size_t characters, uint64_t most, uint64_t row,
                          uint64_t *entry_id) noexcept nogil:
    """Find the id for a new value: an unused one, or that of the least recently used entry.

    :param most: maximum number of characters of all entries together.
    :param row: the row that needs the value; entries that it has used are kept.
    """
    if table.characters + characters > most:
        return TOO_LONG
    if table.count < table.size:
        entry_id[0] = table.count + 1
        return DONE
    entry_id[0] = table.oldest
    # Entries used by this row are the newest ones, so if the oldest belongs to it, all do.
    if table.oldest == 0 or table.entries[table.oldest].row == row:
        return NO_ROOM
    return DONE


cdef bint fill_entry(WriterTable *table, uint64_t entry_id, Slice value, size_t characters,
                     uint64_t hash, uint64_t row) noexcept nogil:
    """Set the entry that `choose_entry` has found; False, with nothing changed, if memory is
    exhausted.
    """
    cdef WriterEntry *entry
    cdef uint8_t *bytes
    if entry_id >= table.length and not grow_writer_table(table):
        return False
    entry = &table.entries[entry_id]
    if entry_id <= table.count and room_for(entry.size) == room_for(value.size):
        bytes = entry.bytes
    else:
        bytes = <uint8_t *> PyMem_RawMalloc(room_for(value.size))
        if bytes == NULL:
            return False
    # For a new entry these are the characters that a reader may still hold from before a restart
    # point.
    table.characters -= entry.characters
    if entry_id > table.count:
        table.count = entry_id
    else:
        take_out(table, <uint32_t> entry_id)
        unchain(table, <uint32_t> entry_id)
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
    entry.row = row
    put_newest(table, <uint32_t> entry_id)
    chain(table, <uint32_t> entry_id)
    table.last = entry_id
    return True


cdef inline uint64_t written_id(WriterTable *table, uint64_t entry_id) noexcept nogil:
    """Return the id of the next entry as written on the wire."""
    return 0 if entry_id == table.last + 1 else entry_id


cdef void close_writer_table(WriterTable *table) noexcept nogil:
    for entry_id in range(1, table.count + 1):
        PyMem_RawFree(table.entries[entry_id].bytes)
    PyMem_RawFree(table.entries)
    PyMem_RawFree(table.buckets)
    memset(table, 0, sizeof(WriterTable))
