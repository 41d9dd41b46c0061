# Statements to the indices of rdflib's stores in memory; each term is hashed once.
#
# `Literal.__hash__` is a Python function, and `Memory.add` calls it for each of the three indices
# and for the sets of contexts. Here it is computed in C, and dictionaries get it with the key.

cdef extern from *:
    """
    /* CPython has no public function that takes a known hash. In versions that were not tested, the
       public functions hash again. */
    #if PY_VERSION_HEX < 0x030E0000
    #if PY_VERSION_HEX >= 0x030D0000
    PyAPI_FUNC(int) _PyDict_SetItem_KnownHash(PyObject *, PyObject *, PyObject *, Py_hash_t);
    PyAPI_FUNC(PyObject *) _PyDict_GetItem_KnownHash(PyObject *, PyObject *, Py_hash_t);
    #endif
    #define set_item _PyDict_SetItem_KnownHash
    #define get_item _PyDict_GetItem_KnownHash
    #else
    #define set_item(dict, key, value, hash) ((void)(hash), PyDict_SetItem(dict, key, value))
    #define get_item(dict, key, hash) ((void)(hash), PyDict_GetItemWithError(dict, key))
    #endif

    static inline Py_hash_t text_hash(PyObject *text) {
        return PyUnicode_Type.tp_hash(text);
    }

    /* CPython's hash of a tuple of three items, from theirs (64 bits). */
    static inline Py_hash_t hash_of_three(Py_hash_t a, Py_hash_t b, Py_hash_t c) {
        const uint64_t multiplier = 11400714785074694791ULL, step = 14029467366897019727ULL,
                       start = 2870177450012600261ULL;
        uint64_t hash = start, items[3] = {(uint64_t)a, (uint64_t)b, (uint64_t)c};
        for (int at = 0; at < 3; at++) {
            hash += items[at] * step;
            hash = (hash << 31) | (hash >> 33);
            hash *= multiplier;
        }
        hash += 3 ^ (start ^ 3527539ULL);
        return hash == (uint64_t)-1 ? 1546275796 : (Py_hash_t)hash;
    }
    """
    # A hash may be negative; only -1 is an error.
    int set_item(object, object, object, Py_hash_t) except -1
    PyObject *get_item(object, object, Py_hash_t) except? NULL
    Py_hash_t text_hash(object) except -1
    Py_hash_t hash_of_three(Py_hash_t, Py_hash_t, Py_hash_t)


if hash_of_three(hash("a"), hash("b"), hash("c")) != hash(("a", "b", "c")):
    raise ImportError("this Python's hash of tuples is not the one that this module computes")


@cython.final
cdef class Added:
    """The triples that were added to one graph.

    :ivar new: triples that the store did not have, as keys in order.
    :ivar known: triples that it had, in order; a repeated triple is new the first time.
    """

    cdef readonly dict new
    cdef readonly list known

    def __cinit__(self):
        self.new = {}
        self.known = []


@cython.final
cdef class IndexWriter:
    """Writes triples to the three indices of a store, and notes which were new.

    :ivar graphs: an `Added` for each graph, in order of first use: by a quad's fourth term, None
        for triples.
    """

    cdef readonly dict graphs
    cdef dict spo, pos, osp, langtags

    def __init__(self, dict spo not None, dict pos not None, dict osp not None):
        self.graphs = {}
        self.langtags = {}
        self.spo = spo
        self.pos = pos
        self.osp = osp

    def begin(self, list statements not None):
        """Find the graphs of statements, and check these; return the graphs' names."""
        cdef object last_g = None
        for statement in statements:
            if type(statement) is not tuple or not 3 <= PyTuple_GET_SIZE(statement) <= 4:
                raise TypeError("a statement is a tuple of three terms or four")
            g = graph_of(statement)
            if g is not last_g or not self.graphs:
                last_g = g
                if g not in self.graphs:
                    self.graphs[g] = Added()
        return list(self.graphs)

    def add(self, list statements not None):
        """Write the statements that `begin` has checked."""
        cdef object last_s = None, last_p = None, last_o = None, last_g = None
        cdef Py_hash_t hash_s = 0, hash_p = 0, hash_o = 0
        cdef dict of_subject = None, objects = None, by_object = None, by_subject, predicates
        cdef PyObject *found
        cdef Added added = None
        for statement in statements:
            g = graph_of(<tuple?> statement)
            triple = statement if PyTuple_GET_SIZE(statement) == 3 else (<tuple> statement)[:3]
            s = <object> tuple_item(statement, 0)
            p = <object> tuple_item(statement, 1)
            o = <object> tuple_item(statement, 2)
            if g is not last_g or added is None:
                last_g = g
                added = self.graphs[g]
            if s is not last_s:
                last_s = s
                last_p = None
                hash_s = self.hash_of(s)
                of_subject = inner(self.spo, s, hash_s)
            if p is not last_p:
                last_p = p
                hash_p = self.hash_of(p)
                objects = inner(of_subject, p, hash_p)
                by_object = inner(self.pos, p, hash_p)
            if o is not last_o:
                last_o = o
                hash_o = self.hash_of(o)
            if get_item(objects, o, hash_o) != NULL:
                added.known.append(triple)
                continue
            set_item(added.new, triple, None, hash_of_three(hash_s, hash_p, hash_o))
            put(objects, o, 1, hash_o)
            put(inner(by_object, o, hash_o), s, 1, hash_s)
            by_subject = inner(self.osp, o, hash_o)
            found = get_item(by_subject, s, hash_s)
            predicates = {} if found == NULL else <dict> <object> found
            put(predicates, p, 1, hash_p)
            if found == NULL:
                put(by_subject, s, predicates, hash_s)

    cdef Py_hash_t hash_of(self, object term) except -1:
        """Compute ``hash(term)``, without a Python call for a literal."""
        cdef Py_hash_t found
        cdef PyObject *part
        if not is_a(<PyObject *> term, RdflibLiteral):
            return hash(term)
        found = text_hash(term)
        part = get_slot(<PyObject *> term, LITERAL_LANGUAGE)
        if part != NULL and part != <PyObject *> None:
            langtag = <object> part
            lower = self.langtags.get(langtag)
            if lower is None:
                lower = langtag.lower()
                if len(self.langtags) < REMEMBERED:
                    self.langtags[langtag] = lower
            if lower:
                found ^= hash(lower)
        part = get_slot(<PyObject *> term, LITERAL_DATATYPE)
        if part != NULL and part != <PyObject *> None:
            found ^= hash(<object> part)
        return -2 if found == -1 else found


cdef inline object graph_of(tuple statement):
    """A quad's graph, None for a triple."""
    return <object> tuple_item(statement, 3) if PyTuple_GET_SIZE(statement) == 4 else None


cdef inline int put(dict inner, object term, object value, Py_hash_t term_hash) except -1:
    """Set a term's value in a dictionary that stays untracked if nothing tracked is put in: there
    are three of them for each triple, and each collection would visit them.

    If rdflib puts in what may be part of a cycle, such as a formula, CPython tracks the dictionary.
    """
    cdef bint tracked = (PyObject_GC_IsTracked(inner) or PyObject_GC_IsTracked(term)
                         or PyObject_GC_IsTracked(value))
    set_item(inner, term, value, term_hash)
    if not tracked:
        PyObject_GC_UnTrack(inner)
    return 0


cdef inline dict inner(dict outer, object key, Py_hash_t key_hash):
    """Return the dictionary of a key, which is created if missing."""
    cdef PyObject *found = get_item(outer, key, key_hash)
    if found != NULL:
        return <dict> <object> found
    cdef dict made = {}
    set_item(outer, key, made, key_hash)
    return made
