# The indices of rdflib's stores in memory, written; see `memory.py`, which has the same in Python.
#
# Most of the time goes to hashing and to dictionaries that are not in the processor's cache. A
# literal's hash is a call of Python code in rdflib, and a triple is hashed for four dictionaries:
# here it is worked out once, and handed to the dictionaries.

cdef extern from *:
    """
    #if PY_VERSION_HEX < 0x030D0000
    #define get_known _PyDict_GetItem_KnownHash
    #define set_known _PyDict_SetItem_KnownHash
    #else
    /* Later ones keep these to themselves: the dictionary hashes again. */
    static inline PyObject *get_known(PyObject *dict, PyObject *key, Py_hash_t hash) {
        return PyDict_GetItemWithError(dict, key);
    }
    static inline int set_known(PyObject *dict, PyObject *key, PyObject *value, Py_hash_t hash) {
        return PyDict_SetItem(dict, key, value);
    }
    #endif
    """
    PyObject *get_known(object, object, Py_hash_t) except? NULL
    int set_known(object, object, object, Py_hash_t) except -1


cdef enum:
    # Statements between two looks at whether the user wants to interrupt.
    UNINTERRUPTED = 1 << 16


cdef object LAST_LANGUAGE = None
cdef Py_hash_t LAST_LANGUAGE_HASH = 0


cdef Py_hash_t language_hash(language) except? -1:
    global LAST_LANGUAGE, LAST_LANGUAGE_HASH
    if language is not LAST_LANGUAGE:
        LAST_LANGUAGE_HASH = hash(language.lower())
        LAST_LANGUAGE = language
    return LAST_LANGUAGE_HASH


cdef inline Py_hash_t term_hash(PyObject *term) except? -1:
    """What ``hash(term)`` gives."""
    cdef Py_hash_t found
    cdef PyObject *part
    if is_a(term, URIRef) or is_a(term, BNode):
        return text_hash(term)
    if not is_a(term, RdflibLiteral):
        return hash(<object> term)
    found = text_hash(term)
    part = get_slot(term, LITERAL_LANGUAGE)
    if part == NULL or get_slot(term, LITERAL_DATATYPE) == NULL:
        return hash(<object> term)
    if part != <PyObject *> None:
        if not is_a(part, str):
            return hash(<object> term)
        if PyUnicode_GET_LENGTH(<object> part):
            found ^= language_hash(<object> part)
    part = get_slot(term, LITERAL_DATATYPE)
    if part != <PyObject *> None:
        if not is_a(part, URIRef):
            return hash(<object> term)
        found ^= text_hash(part)
    return -2 if found == -1 else found


cdef inline Py_hash_t hash_of_three(unsigned long long one, unsigned long long two,
                                    unsigned long long three) noexcept:
    """What a tuple's hash is, from those of its items: xxHash, as CPython has used it since 3.8."""
    cdef unsigned long long total = 2870177450012600261ULL
    total += one * 14029467366897019727ULL
    total = (total << 31) | (total >> 33)
    total *= 11400714785074694791ULL
    total += two * 14029467366897019727ULL
    total = (total << 31) | (total >> 33)
    total *= 11400714785074694791ULL
    total += three * 14029467366897019727ULL
    total = (total << 31) | (total >> 33)
    total *= 11400714785074694791ULL
    total += 3 ^ (2870177450012600261ULL ^ 3527539ULL)
    return 1546275796 if total == <unsigned long long> -1 else <Py_hash_t> total


def hashes(tuple triple):
    """The hashes of a triple's terms and its own, as they are worked out here."""
    if PyTuple_GET_SIZE(triple) != 3:
        raise TypeError("a triple has three terms")
    cdef Py_hash_t one = term_hash(tuple_item(triple, 0))
    cdef Py_hash_t two = term_hash(tuple_item(triple, 1))
    cdef Py_hash_t three = term_hash(tuple_item(triple, 2))
    return one, two, three, hash_of_three(one, two, three)


cdef inline dict inner(dict index, object key, Py_hash_t key_hash):
    """The dictionary at a key, which is made if there is none."""
    cdef PyObject *found = get_known(index, key, key_hash)
    cdef dict made
    if found != NULL:
        return <dict?> <object> found
    made = {}
    set_known(index, key, made, key_hash)
    return made


cdef object ONE = 1


cdef inline int put(dict innermost, PyObject *term, Py_hash_t its_hash) except -1:
    set_known(innermost, <object> term, ONE, its_hash)
    # It holds terms and numbers; each triple has three of these.
    PyObject_GC_UnTrack(innermost)
    return 0


@cython.final
cdef class Added:
    """What statements came to in one graph.

    :ivar new: triples that the store did not have, as keys.
    :ivar known: triples that it had, in order; one that comes twice is new the first time.
    """

    cdef readonly dict new
    cdef readonly list known

    def __init__(self):
        self.new = {}
        self.known = []


@cython.final
cdef class IndexWriter:
    """Writes triples into the three indices of a store, and says which were new; see
    ``memory.IndexWriter``, which this is the compiled form of."""

    cdef dict spo
    cdef dict pos
    cdef dict osp
    cdef readonly dict graphs

    def __init__(self, dict spo, dict pos, dict osp):
        self.spo = spo
        self.pos = pos
        self.osp = osp
        self.graphs = {}

    cdef Added _graph(self, name):
        known = self.graphs.get(name)
        if known is None:
            known = self.graphs[name] = Added()
        return known

    def add(self, list statements):
        """Write triples, or quads: those of one call have the same width."""
        cdef dict spo = self.spo
        cdef dict pos = self.pos
        cdef dict osp = self.osp
        cdef dict of_subject = None
        cdef dict objects = None
        cdef dict new
        cdef Added added = None
        cdef object statement
        cdef object triple
        cdef PyObject *s
        cdef PyObject *p
        cdef PyObject *o
        cdef PyObject *g
        # Compared with the next ones, which are other objects while `before` holds these.
        cdef object before = None
        cdef PyObject *last_s = NULL
        cdef PyObject *last_p = NULL
        cdef PyObject *last_g = NULL
        cdef Py_hash_t s_hash = 0
        cdef Py_hash_t p_hash = 0
        cdef Py_hash_t o_hash
        cdef Py_hash_t triple_hash
        cdef Py_ssize_t width
        cdef Py_ssize_t left = UNINTERRUPTED
        if not statements:
            return
        width = len(statements[0])
        if width != 3 and width != 4:
            raise TypeError("a statement has three terms or four")
        if width == 3:
            added = self._graph(None)
        for statement in statements:
            left -= 1
            if left == 0:
                PyErr_CheckSignals()
                left = UNINTERRUPTED
            if not PyTuple_CheckExact(<PyObject *> statement) or PyTuple_GET_SIZE(statement) != width:
                raise TypeError("statements of one width are needed")
            s = tuple_item(statement, 0)
            p = tuple_item(statement, 1)
            o = tuple_item(statement, 2)
            if width == 3:
                triple = statement
            else:
                g = tuple_item(statement, 3)
                if g != last_g:
                    added = self._graph(<object> g)
                    last_g = g
                triple = PyTuple_New(3)
                set_tuple_item(triple, 0, s)
                set_tuple_item(triple, 1, p)
                set_tuple_item(triple, 2, o)
                PyObject_GC_UnTrack(triple)
            if s != last_s:
                s_hash = term_hash(s)
                of_subject = inner(spo, <object> s, s_hash)
                last_s = s
                last_p = NULL
            if p != last_p:
                p_hash = term_hash(p)
                objects = inner(of_subject, <object> p, p_hash)
                last_p = p
            before = statement
            o_hash = term_hash(o)
            if get_known(objects, <object> o, o_hash) != NULL:
                added.known.append(triple)
                continue
            triple_hash = hash_of_three(s_hash, p_hash, o_hash)
            # First, so that it can be taken back whatever happens.
            set_known(added.new, triple, None, triple_hash)
            put(objects, o, o_hash)
            put(inner(inner(pos, <object> p, p_hash), <object> o, o_hash), s, s_hash)
            put(inner(inner(osp, <object> o, o_hash), <object> s, s_hash), p, p_hash)


def set_contexts(dict contexts, dict triples, dict usual):
    """Give each of the triples its own copy of ``usual``."""
    cdef PyObject *triple
    cdef PyObject *_value
    cdef Py_ssize_t at = 0
    while PyDict_Next(triples, &at, &triple, &_value):
        # Held: hashing and comparing may run Python code.
        held = <object> triple
        if not PyTuple_CheckExact(triple) or PyTuple_GET_SIZE(held) != 3:
            raise TypeError("a triple is a tuple of three terms")
        set_known(
            contexts, held, usual.copy(),
            hash_of_three(
                term_hash(tuple_item(held, 0)),
                term_hash(tuple_item(held, 1)),
                term_hash(tuple_item(held, 2)),
            ),
        )
