# Terms as a stream says them, and the caches that find one again. Nothing here needs the GIL, but
# for `sweep` where terms have objects.
#
# Who owns a term: `references` counts its cache, each position of the statement before, the graph
# that was started, and each quoted triple that holds it. A term that nobody owns any more is put
# aside (`drop`), because statements that are planned but not yet made may point to it; once they
# are made, `sweep` frees all that were put aside.

cdef enum:
    # As `terms.Kind` has them; checked when the module is loaded.
    IRI = 0
    BLANK_NODE = 1
    LITERAL = 2
    TRIPLE = 3
    DEFAULT_GRAPH = 4
    # A datatype's IRI is kept like a term, because literals outlive its lookup entry.
    DATATYPE = 5


cdef struct Term:
    int kind
    int32_t references
    # Whether a judge has to see it.
    bint doubtful
    # Row of the frame in which it was made.
    uint64_t row
    # What the factory made of it, owned; NULL before, and always where text is written.
    PyObject *object
    uint64_t hash
    # What it is found by: for an IRI the serial numbers of its lookup entries, otherwise its bytes
    # on the wire. These lie behind the structure, or, for a term that no cache keeps, in the frame.
    uint64_t prefix_serial
    uint64_t name_serial
    Slice wire
    # An IRI's characters, or any term as N-Triples has it; behind the structure too.
    Slice text
    # Of an IRI or a datatype.
    uint64_t characters
    # A literal's parts, inside `wire`; a language tag of size 0 is none.
    Slice lex
    Slice langtag
    # A quoted triple's terms; for a literal, its datatype in the first.
    Term *parts[3]
    Term *next_dead


cdef struct Cache:
    # Terms by hash: open addressing, at most half full.
    Term **slots
    size_t capacity
    size_t count


cdef Term *new_term(int kind, Slice wire, bint keep_wire, Slice text) noexcept nogil:
    """A term with one reference; NULL where there is no memory."""
    cdef size_t kept = wire.size if keep_wire else 0
    cdef Term *term = <Term *> PyMem_RawMalloc(sizeof(Term) + kept + text.size)
    cdef uint8_t *behind
    if term == NULL:
        return NULL
    memset(term, 0, sizeof(Term))
    term.kind = kind
    term.references = 1
    behind = <uint8_t *> (term + 1)
    term.wire = wire
    if kept:
        memcpy(behind, wire.bytes, kept)
    if keep_wire:
        term.wire.bytes = behind
    if text.size:
        memcpy(behind + kept, text.bytes, text.size)
    term.text = Slice(behind + kept, text.size)
    return term


cdef inline Term *shared(Term *term) noexcept nogil:
    term.references += 1
    return term


cdef inline void drop(Term *term, Term **dead) noexcept nogil:
    """Give up a reference."""
    if term != NULL:
        term.references -= 1
        if term.references == 0:
            term.next_dead = dead[0]
            dead[0] = term


cdef void sweep(Term **dead) noexcept nogil:
    """Free the terms that nobody owns. With the GIL, unless none of them has an object."""
    cdef Term *term
    while dead[0] != NULL:
        term = dead[0]
        dead[0] = term.next_dead
        for part in range(3):
            drop(term.parts[part], dead)
        if term.object != NULL:
            Py_DECREF(term.object)
        PyMem_RawFree(term)


cdef inline Term *find_iri(Cache *cache, uint64_t hash, uint64_t prefix_serial,
                           uint64_t name_serial) noexcept nogil:
    cdef size_t at
    cdef Term *term
    if cache.capacity == 0:
        return NULL
    at = hash & (cache.capacity - 1)
    while cache.slots[at] != NULL:
        term = cache.slots[at]
        if term.name_serial == name_serial and term.prefix_serial == prefix_serial:
            return term
        at = (at + 1) & (cache.capacity - 1)
    return NULL


cdef Term *find_wire(Cache *cache, uint64_t hash, Slice wire) noexcept nogil:
    """The term that stands on the wire as `wire`, NULL if there is none."""
    cdef size_t at
    cdef Term *term
    if cache.capacity == 0:
        return NULL
    at = hash & (cache.capacity - 1)
    while cache.slots[at] != NULL:
        term = cache.slots[at]
        if term.hash == hash and same(term.wire.bytes, term.wire.size, wire.bytes, wire.size):
            return term
        at = (at + 1) & (cache.capacity - 1)
    return NULL


cdef void place(Cache *cache, Term *term) noexcept nogil:
    cdef size_t at = term.hash & (cache.capacity - 1)
    while cache.slots[at] != NULL:
        at = (at + 1) & (cache.capacity - 1)
    cache.slots[at] = term
    cache.count += 1


cdef bint grow(Cache *cache) noexcept nogil:
    cdef Cache larger
    larger.count = 0
    larger.capacity = cache.capacity * 2 if cache.capacity else 256
    larger.slots = <Term **> PyMem_RawCalloc(larger.capacity, sizeof(Term *))
    if larger.slots == NULL:
        return False
    for at in range(cache.capacity):
        if cache.slots[at] != NULL:
            place(&larger, cache.slots[at])
    PyMem_RawFree(cache.slots)
    cache[0] = larger
    return True


cdef void clear(Cache *cache, Term **dead) noexcept nogil:
    for at in range(cache.capacity):
        drop(cache.slots[at], dead)
    PyMem_RawFree(cache.slots)
    memset(cache, 0, sizeof(Cache))


cdef bint remember(Cache *cache, size_t entries, Term *term, Term **dead) noexcept nogil:
    """Keep a term, which is not in the cache yet; a cache of so many entries starts afresh. False
    where there is no memory."""
    if cache.count >= entries:
        clear(cache, dead)
    if cache.count * 2 >= cache.capacity and not grow(cache):
        return False
    place(cache, shared(term))
    return True
