# Terms of a stream, and their caches. Nothing here needs the GIL, except `sweep` if terms have
# objects.
#
# Ownership: `references` counts its cache, the name that it was last made of, each position of the
# previous statement, the current graph, and each quoted triple that holds it. `drop` defers the
# release of a term without an owner, because statements that are planned but not yet made may point
# to it; once they are made, `sweep` frees the deferred terms.
#
# Millions of terms are created and freed, so that their memory comes from a pool. It reuses freed
# memory first, which is most likely still in the processor's cache.

cdef enum:
    # The values of `terms.Kind`; checked when the module is loaded.
    IRI = 0
    BLANK_NODE = 1
    LITERAL = 2
    TRIPLE = 3
    DEFAULT_GRAPH = 4
    # A datatype's IRI, kept like a term because literals outlive its lookup entry.
    DATATYPE = 5


cdef enum:
    # Terms of up to CLASSES * CLASS_BYTES bytes are allocated from a pool, in slabs.
    CLASS_BYTES = 32
    CLASSES = 32
    SLAB_BYTES = 1 << 16
    # Capacity of a cache in terms; a power of two. Finding a term in a cache that exceeds the
    # processor's would cost more than making it again.
    CACHE_SLOTS = 1 << 11


cdef struct Term:
    int kind
    int32_t references
    # Whether a validator has to check it.
    uint8_t needs_validation
    # Its size class in the pool; 0 if it is too large for a class.
    uint32_t size_class
    # The factory's object, owned; NULL before it is made, and always if text is written.
    PyObject *object
    # Its key in a cache: for an IRI the serial numbers of its lookup entries, otherwise its bytes
    # on the wire, and for a literal the id of its datatype as the second number. A quoted triple is
    # not cached: its first number is the bytes of the long terms in its text.
    uint64_t prefix_serial
    uint64_t name_serial
    # An IRI's characters, or any term in N-Triples syntax: after the structure, or in `object` once
    # a validator has written it.
    Slice text
    # The row of the frame that made it.
    uint64_t row
    # Characters of an IRI, a datatype or a literal's lexical form; for a quoted triple, bytes of
    # its text.
    uint64_t characters
    Term *next_dead
    # IRIs and datatypes lack the subsequent fields: see `has_wire`. Its bytes on the wire, after
    # the structure; empty if only a text is made of them.
    Slice wire
    # A literal's parts, inside `wire`; a language tag of size 0 means none.
    Slice lex
    Slice langtag
    # A quoted triple's terms; for a literal, the first one is its datatype.
    Term *parts[3]


cdef inline bint has_wire(int kind) noexcept nogil:
    """Whether terms of a kind have all fields; IRIs, the most common terms, do not."""
    return kind != IRI and kind != DATATYPE


cdef inline size_t fields_of(int kind) noexcept nogil:
    """Size of a term's fields in bytes."""
    return sizeof(Term) if has_wire(kind) else sizeof(Term) - 3 * sizeof(Slice) - 3 * sizeof(Term *)


cdef struct Slab:
    Slab *next


cdef struct Pool:
    Slab *slabs
    # The unused part of the newest slab.
    uint8_t *fresh
    size_t left
    # Freed terms by size class.
    Term *free[CLASSES + 1]
    # Terms without an owner, not freed yet.
    Term *dead


cdef struct Slot:
    # The hash avoids reading a term that does not match.
    uint64_t hash
    Term *term


cdef struct Cache:
    # Terms by hash, each in one of two slots. NULL while the cache is empty.
    Slot *slots


cdef Term *take_term(Pool *pool, size_t fields, size_t more) noexcept nogil:
    """Allocate a term's fields, all zeros, and `more` bytes after them; NULL if memory is
    exhausted.
    """
    cdef size_t size = fields + more
    cdef uint32_t size_class = <uint32_t> ((size + CLASS_BYTES - 1) // CLASS_BYTES)
    cdef Term *term
    cdef Slab *slab
    if size > CLASSES * CLASS_BYTES or IS_POISONED:
        # A separate allocation if poisoned, so that sanitizers detect reads beyond its end.
        term = <Term *> PyMem_RawMalloc(size)
        size_class = 0
    elif pool.free[size_class] != NULL:
        term = pool.free[size_class]
        pool.free[size_class] = term.next_dead
    else:
        size = size_class * CLASS_BYTES
        if pool.left < size:
            slab = <Slab *> PyMem_RawMalloc(SLAB_BYTES)
            if slab == NULL:
                return NULL
            slab.next = pool.slabs
            pool.slabs = slab
            pool.fresh = <uint8_t *> slab + CLASS_BYTES
            pool.left = SLAB_BYTES - CLASS_BYTES
        term = <Term *> pool.fresh
        pool.fresh += size
        pool.left -= size
    if term != NULL:
        memset(term, 0, fields)
        term.size_class = size_class
    return term


cdef inline void give_back(Pool *pool, Term *term) noexcept nogil:
    if term.size_class:
        term.next_dead = pool.free[term.size_class]
        pool.free[term.size_class] = term
    else:
        if IS_POISONED:
            memset(term, POISON, fields_of(term.kind))
        PyMem_RawFree(term)


cdef void close_pool(Pool *pool) noexcept nogil:
    """Free the memory of all terms in slabs; all larger ones must have been freed before."""
    cdef Slab *slab
    while pool.slabs != NULL:
        slab = pool.slabs
        pool.slabs = slab.next
        PyMem_RawFree(slab)
    memset(pool, 0, sizeof(Pool))


cdef Term *new_term(Pool *pool, int kind, Slice wire, Slice text) noexcept nogil:
    """Make a term with one reference and copies of its bytes; NULL if memory is exhausted."""
    cdef size_t fields = fields_of(kind)
    cdef Term *term = take_term(pool, fields, wire.size + text.size)
    cdef uint8_t *after
    if term == NULL:
        return NULL
    term.kind = kind
    term.references = 1
    after = <uint8_t *> term + fields
    if wire.size:
        memcpy(after, wire.bytes, wire.size)
        term.wire = Slice(after, wire.size)
        after += wire.size
    if text.size:
        memcpy(after, text.bytes, text.size)
    term.text = Slice(after, text.size)
    return term


cdef inline Term *shared(Term *term) noexcept nogil:
    term.references += 1
    return term


cdef inline void drop(Term *term, Pool *pool) noexcept nogil:
    """Release a reference."""
    if term != NULL:
        term.references -= 1
        if term.references == 0:
            term.next_dead = pool.dead
            pool.dead = term


cdef void sweep(Pool *pool) noexcept nogil:
    """Free the unowned terms. Needs the GIL, unless none of them has an object."""
    cdef Term *term
    while pool.dead != NULL:
        term = pool.dead
        pool.dead = term.next_dead
        if term.kind == TRIPLE or term.kind == LITERAL:
            for part in range(3):
                drop(term.parts[part], pool)
        if term.object != NULL:
            Py_DECREF(term.object)
        give_back(pool, term)


cdef inline uint64_t mixed(uint64_t prefix_serial, uint64_t name_serial) noexcept nogil:
    """Hash an IRI's serials, which are counters that an attacker cannot choose."""
    return (prefix_serial * 0x9E3779B97F4A7C15ULL ^ name_serial) * 0xD6E8FEB86659FD93ULL >> 40


cdef Term *find_iri(Cache *cache, uint64_t prefix_serial, uint64_t name_serial) noexcept nogil:
    cdef uint64_t hash = mixed(prefix_serial, name_serial)
    cdef size_t at = hash & (CACHE_SLOTS - 1)
    cdef Term *term
    if cache.slots == NULL:
        return NULL
    for place in range(2):
        term = cache.slots[at ^ place].term
        if (cache.slots[at ^ place].hash == hash and term != NULL
                and term.name_serial == name_serial and term.prefix_serial == prefix_serial):
            return term
    return NULL


cdef Term *find_wire(Cache *cache, uint64_t hash, Slice wire) noexcept nogil:
    """Find the term whose bytes on the wire are `wire`; NULL if it is not cached."""
    cdef size_t at = hash & (CACHE_SLOTS - 1)
    cdef Term *term
    if cache.slots == NULL:
        return NULL
    for place in range(2):
        term = cache.slots[at ^ place].term
        if (cache.slots[at ^ place].hash == hash and term != NULL
                and same(term.wire.bytes, term.wire.size, wire.bytes, wire.size)):
            return term
    return NULL


cdef bint remember(Cache *cache, uint64_t hash, Term *term, Pool *pool) noexcept nogil:
    """Add a term that is not in the cache yet, replacing the older of two if both slots are in use;
    False if memory is exhausted.
    """
    cdef size_t at = hash & (CACHE_SLOTS - 1)
    if cache.slots == NULL:
        cache.slots = <Slot *> PyMem_RawCalloc(CACHE_SLOTS, sizeof(Slot))
        if cache.slots == NULL:
            return False
    drop(cache.slots[at ^ 1].term, pool)
    cache.slots[at ^ 1] = cache.slots[at]
    cache.slots[at].hash = hash
    cache.slots[at].term = shared(term)
    return True


cdef void clear(Cache *cache, Pool *pool) noexcept nogil:
    for at in range(CACHE_SLOTS if cache.slots != NULL else 0):
        drop(cache.slots[at].term, pool)
    PyMem_RawFree(cache.slots)
    cache.slots = NULL


# Terms to write, read from text or from objects.

cdef struct Place:
    # The position of a value in a lookup, valid while the entry's serial is this one.
    uint32_t id
    uint64_t serial


cdef struct EncodedTerm:
    # A term to write, with the last positions of its parts.
    int kind
    # An IRI's characters; for other terms the bytes on the wire, without a datatype.
    Slice text
    size_t characters
    # The prefix of an IRI, once it is split, or the IRI of a literal's datatype, if it has one.
    bint cut
    size_t prefix_size
    size_t prefix_characters
    bint typed
    Slice datatype
    size_t datatype_characters
    Place prefix_place
    Place name_place


cdef inline bint are_same(EncodedTerm *one, EncodedTerm *other) noexcept nogil:
    """Whether two terms that are not quoted triples are the same."""
    return (
        one.kind == other.kind and one.typed == other.typed
        and same(one.text.bytes, one.text.size, other.text.bytes, other.text.size)
        and (not one.typed or same(one.datatype.bytes, one.datatype.size,
                                   other.datatype.bytes, other.datatype.size))
    )
