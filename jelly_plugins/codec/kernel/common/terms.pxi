# Terms of a stream, and the caches that find them again. Nothing here needs the GIL, but for
# `sweep` where terms have objects.
#
# Who owns a term: `references` counts its cache, the name that it was last made of, each position
# of the statement before, the graph that was started, and each quoted triple that holds it. A term
# that has no owner any more is put aside (`drop`), because statements that are planned but not yet
# made may point to it; once they are made, `sweep` frees all that were put aside.
#
# Terms are created and freed by the million, so their memory comes from a pool: freed memory is
# used next, most likely still in the processor's cache.

cdef enum:
    # As `terms.Kind` has them; checked when the module is loaded.
    IRI = 0
    BLANK_NODE = 1
    LITERAL = 2
    TRIPLE = 3
    DEFAULT_GRAPH = 4
    # A datatype's IRI is kept like a term, because literals outlive its lookup entry.
    DATATYPE = 5


cdef enum:
    # Terms of up to CLASSES * CLASS_BYTES bytes are a pool's, in slabs.
    CLASS_BYTES = 32
    CLASSES = 32
    SLAB_BYTES = 1 << 16
    # Capacity of a cache in terms; a power of two. More terms than stay close to the processor
    # cost more to find than to make again.
    CACHE_SLOTS = 1 << 11


cdef struct Term:
    int kind
    int32_t references
    # Whether a validator has to see it.
    uint8_t needs_validation
    # Whether its bytes on the wire are still the frame's: see `borrow`.
    uint8_t borrows
    # Its size in a pool's classes; 0 for one that is too large for those.
    uint32_t size_class
    # What the factory made of it, owned; NULL before, and always where text is written.
    PyObject *object
    # What it is found by: for an IRI the serial numbers of its lookup entries, otherwise its bytes
    # on the wire, and for a literal the id of its datatype as the second number. A quoted triple is
    # not found again: it has the bytes of the long terms in its text as the first one.
    uint64_t prefix_serial
    uint64_t name_serial
    # An IRI's characters, or any term as N-Triples has it: after the structure, or, once a
    # validator has written it, in `object`.
    Slice text
    # Row of the frame in which it was made.
    uint64_t row
    # Of an IRI, a datatype or a literal's lexical form; of a quoted triple, bytes of its text.
    uint64_t characters
    Term *next_dead
    # What follows there is not in an IRI or a datatype: see `has_wire`.
    # Its bytes on the wire, after the structure; empty where they are not needed any more. Only
    # until the object is made, in the same call, may they be in the frame.
    Slice wire
    # A literal's parts, inside `wire`; a language tag of size 0 is none.
    Slice lex
    Slice langtag
    # A quoted triple's terms; for a literal, its datatype in the first.
    Term *parts[3]


cdef inline bint has_wire(int kind) noexcept nogil:
    """Whether a term of a kind has all the fields: IRIs, which are many, do without."""
    return kind != IRI and kind != DATATYPE


cdef inline size_t fields_of(int kind) noexcept nogil:
    """Bytes of a term's fields."""
    return sizeof(Term) if has_wire(kind) else sizeof(Term) - 3 * sizeof(Slice) - 3 * sizeof(Term *)


cdef struct Slab:
    Slab *next


cdef struct Pool:
    Slab *slabs
    # What is left of the newest slab.
    uint8_t *fresh
    size_t left
    # Freed terms by class.
    Term *free[CLASSES + 1]
    # Terms that were put aside.
    Term *dead


cdef struct Slot:
    # With the hash beside it, a term that is another is not even looked at.
    uint64_t hash
    Term *term


cdef struct Cache:
    # Terms by hash, each in one of two places. NULL before there are any.
    Slot *slots


cdef Term *take_term(Pool *pool, size_t fields, size_t more) noexcept nogil:
    """Memory for a term's fields, which are all zeros, and for the bytes after them; NULL if memory
    is exhausted."""
    cdef size_t size = fields + more
    cdef uint32_t size_class = <uint32_t> ((size + CLASS_BYTES - 1) // CLASS_BYTES)
    cdef Term *term
    cdef Slab *slab
    if size > CLASSES * CLASS_BYTES or IS_POISONED:
        # By itself where it is poisoned, so that sanitizers see where it ends.
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
    """Free the memory of all terms that are not too large; those must have been given back."""
    cdef Slab *slab
    while pool.slabs != NULL:
        slab = pool.slabs
        pool.slabs = slab.next
        PyMem_RawFree(slab)
    memset(pool, 0, sizeof(Pool))


cdef Term *new_term(Pool *pool, int kind, Slice wire, Slice text) noexcept nogil:
    """A term with one reference, and copies of its bytes; NULL if memory is exhausted."""
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


cdef inline void borrow(Term *term, Slice wire) noexcept nogil:
    """Let the bytes of a term that becomes an object at once stay in the frame until then."""
    term.wire = wire
    term.borrows = True


cdef inline void give_up_borrowed(Term *term) noexcept nogil:
    """Forget bytes that are the frame's, once there is an object."""
    if term.borrows:
        term.wire = term.lex = term.langtag = Slice(NULL, 0)
        term.borrows = False


cdef inline Term *shared(Term *term) noexcept nogil:
    term.references += 1
    return term


cdef inline void drop(Term *term, Pool *pool) noexcept nogil:
    """Give up a reference."""
    if term != NULL:
        term.references -= 1
        if term.references == 0:
            term.next_dead = pool.dead
            pool.dead = term


cdef void sweep(Pool *pool) noexcept nogil:
    """Free the unowned terms. With the GIL, unless none of them has an object."""
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
    """A hash of an IRI's serials, which count up and cannot be chosen by an attacker."""
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
    """The term whose bytes on the wire are `wire`, NULL if there is none."""
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
    """Keep a term, which is not in the cache yet, replacing the older of two if there is no
    free place; False if memory is exhausted."""
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


# Terms to write, as found in text or in objects.

cdef struct Place:
    # Where a value was found in a lookup; it still is there if the entry's serial is this one.
    uint32_t id
    uint64_t serial


cdef struct EncodedTerm:
    # A term to write, with the places where its parts were found last.
    int kind
    # An IRI's characters; of other terms the bytes on the wire, without a datatype.
    Slice text
    size_t characters
    # Of an IRI, its prefix, once it is cut; of a literal, its datatype's IRI, if it has one.
    bint cut
    size_t prefix_size
    size_t prefix_characters
    bint typed
    Slice datatype
    size_t datatype_characters
    Place prefix_place
    Place name_place
