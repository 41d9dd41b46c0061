# Prefixes by name. What they hold was validated and bounded by the reference, from whose dictionary
# it comes. Only `declare` needs the GIL.

cdef struct Prefix:
    Buffer name
    Buffer iri
    uint64_t hash


cdef struct Prefixes:
    Prefix *entries
    size_t count
    size_t capacity
    # Numbers of entries, counted from 1, by hash; their number is a power of two.
    uint32_t *slots
    size_t slot_count
    # The one that was found last.
    size_t last


cdef Prefix *find_prefix(Prefixes *prefixes, Slice name) noexcept nogil:
    """The prefix of a name; NULL if there is none."""
    cdef uint64_t hash
    cdef size_t at
    cdef Prefix *entry
    if prefixes.count == 0:
        return NULL
    entry = &prefixes.entries[prefixes.last]
    if same(entry.name.bytes, entry.name.size, name.bytes, name.size):
        return entry
    hash = hash_of(name.bytes, name.size)
    at = hash & (prefixes.slot_count - 1)
    while prefixes.slots[at]:
        entry = &prefixes.entries[prefixes.slots[at] - 1]
        if entry.hash == hash and same(entry.name.bytes, entry.name.size, name.bytes, name.size):
            prefixes.last = prefixes.slots[at] - 1
            return entry
        at = at + 1 & (prefixes.slot_count - 1)
    return NULL


cdef bint grow_prefixes(Prefixes *prefixes) noexcept nogil:
    """Make space for another one; False if memory is exhausted."""
    cdef size_t capacity = prefixes.capacity * 2 if prefixes.capacity else 16
    cdef Prefix *entries
    cdef uint32_t *slots
    if prefixes.count < prefixes.capacity:
        return True
    entries = <Prefix *> PyMem_RawRealloc(prefixes.entries, capacity * sizeof(Prefix))
    if entries == NULL:
        return False
    prefixes.entries = entries
    slots = <uint32_t *> PyMem_RawCalloc(capacity * 2, sizeof(uint32_t))
    if slots == NULL:
        return False
    PyMem_RawFree(prefixes.slots)
    prefixes.slots = slots
    prefixes.slot_count = capacity * 2
    prefixes.capacity = capacity
    for number in range(prefixes.count):
        place_prefix(prefixes, number)
    return True


cdef void place_prefix(Prefixes *prefixes, size_t number) noexcept nogil:
    cdef size_t at = prefixes.entries[number].hash & (prefixes.slot_count - 1)
    while prefixes.slots[at]:
        at = at + 1 & (prefixes.slot_count - 1)
    prefixes.slots[at] = <uint32_t> number + 1


cdef bint declare_prefix(Prefixes *prefixes, bytes name, bytes iri) except -1:
    """Bind a name; return whether it was bound before."""
    cdef Slice key = Slice(<const uint8_t *> PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name))
    cdef Prefix *entry = find_prefix(prefixes, key)
    cdef bint known = entry != NULL
    if not known:
        if not grow_prefixes(prefixes):
            raise MemoryError
        entry = &prefixes.entries[prefixes.count]
        memset(entry, 0, sizeof(Prefix))
        if not append(&entry.name, key.bytes, key.size):
            raise MemoryError
        entry.hash = hash_of(key.bytes, key.size)
        place_prefix(prefixes, prefixes.count)
        prefixes.count += 1
    entry.iri.size = 0
    if not append(&entry.iri, PyBytes_AS_STRING(iri), PyBytes_GET_SIZE(iri)):
        raise MemoryError
    return known


cdef void close_prefixes(Prefixes *prefixes) noexcept nogil:
    for number in range(prefixes.count):
        release(&prefixes.entries[number].name)
        release(&prefixes.entries[number].iri)
    PyMem_RawFree(prefixes.entries)
    PyMem_RawFree(prefixes.slots)
    memset(prefixes, 0, sizeof(Prefixes))
