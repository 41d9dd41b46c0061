# rdflib's terms to generic terms, which the codec describes without calls.

cdef enum:
    # Capacity of the cache of terms by identity.
    KNOWN = 1 << 12


cdef struct Pair:
    # A term and its generic form, both owned, so that no other object gets the term's address.
    PyObject *term
    PyObject *generic


cdef object new_iri(PyObject *term):
    """Make an Iri of a string or an instance of a subclass."""
    text = PyUnicode_FromObject(<object> term)
    iri = new_object(Iri)
    set_slot(iri, GENERIC_IRI, text)
    PyObject_GC_UnTrack(iri)
    return iri


cdef object new_label(PyObject *term):
    text = PyUnicode_FromObject(<object> term)
    node = new_object(BlankNode)
    set_slot(node, GENERIC_LABEL, text)
    PyObject_GC_UnTrack(node)
    return node


@cython.final
cdef class Generic:
    """Converts rdflib's terms to generic terms; see ``terms.describe_node``.

    :param other: describes (``codec.Describe``) or rejects a term that is not exactly a URIRef,
        a BNode or a Literal.
    :param make: makes a generic term of a description.
    """

    cdef object other
    cdef object make
    cdef dict datatypes
    cdef Pair[KNOWN] known

    def __init__(self, other, make):
        self.other = other
        self.make = make
        self.datatypes = {}

    def __dealloc__(self):
        for at in range(KNOWN):
            Py_XDECREF(self.known[at].term)
            Py_XDECREF(self.known[at].generic)

    def term(self, term):
        """Convert a term."""
        return self._term(<PyObject *> term)

    def statements(self, statements, tuple extra not None=()):
        """Convert statements to a list of tuples.

        :param extra: generic terms that are appended to each.
        """
        cdef list found = []
        cdef Py_ssize_t more = PyTuple_GET_SIZE(extra)
        cdef Py_ssize_t width
        cdef Py_ssize_t at
        for statement in statements:
            if type(statement) is not tuple:
                statement = terms_of(statement)
            width = PyTuple_GET_SIZE(statement)
            made = PyTuple_New(width + more)
            # Python code that describes a term must not find a tuple that is not full.
            PyObject_GC_UnTrack(made)
            for at in range(width):
                term = self._term(tuple_item(statement, at))
                set_tuple_item(made, at, <PyObject *> term)
            for at in range(more):
                set_tuple_item(made, width + at, tuple_item(extra, at))
            found.append(made)
        return found

    def subject(self, dict spo not None, subject, tuple extra not None, list found not None,
                dict contexts=None, usual=None,
                context=None):
        """Append the triples of a subject in an index to a list, as generic statements.

        :param extra: generic terms that are appended to each triple's.
        :param contexts: a store's contexts by triple, and ``usual`` those of any other; only
            triples in ``context`` are taken. None takes all.
        """
        cdef PyObject *p
        cdef PyObject *o
        cdef PyObject *objects
        cdef PyObject *value
        cdef Py_ssize_t at_p = 0
        cdef Py_ssize_t at_o
        cdef Py_ssize_t more = PyTuple_GET_SIZE(extra)
        cdef Py_ssize_t at
        cdef bint in_usual = contexts is not None and context in usual
        of_subject = spo.get(subject)
        if of_subject is None:
            return
        # Copies: Python code describes unusual terms, and may change the index.
        of_subject = (<dict?> of_subject).copy()
        s_term = self._term(<PyObject *> subject)
        while PyDict_Next(of_subject, &at_p, &p, &objects):
            p_term = self._term(p)
            if len(<dict?> <object> objects) == 0:
                continue
            copied = (<dict> <object> objects).copy()
            at_o = 0
            while PyDict_Next(copied, &at_o, &o, &value):
                if contexts is not None:
                    own = contexts.get((subject, <object> p, <object> o))
                    if not (in_usual if own is None else context in own):
                        continue
                o_term = self._term(o)
                made = PyTuple_New(3 + more)
                set_tuple_item(made, 0, <PyObject *> s_term)
                set_tuple_item(made, 1, <PyObject *> p_term)
                set_tuple_item(made, 2, <PyObject *> o_term)
                for at in range(more):
                    set_tuple_item(made, 3 + at, tuple_item(extra, at))
                PyObject_GC_UnTrack(made)
                found.append(made)

    cdef object _term(self, PyObject *term):
        cdef size_t at = (<size_t> term >> 4) * 0x9E3779B97F4A7C15ULL >> 52
        cdef Pair *pair = &self.known[at]
        cdef PyObject *old_term
        cdef PyObject *old_generic
        if pair.term == term:
            return <object> pair.generic
        made = self._new_term(term)
        old_term = pair.term
        old_generic = pair.generic
        Py_INCREF(term)
        Py_INCREF(<PyObject *> made)
        pair.term = term
        pair.generic = <PyObject *> made
        Py_XDECREF(old_term)
        Py_XDECREF(old_generic)
        return made

    cdef object _new_term(self, PyObject *term):
        cdef PyObject *language
        cdef PyObject *datatype
        if is_a(term, URIRef):
            return new_iri(term)
        if is_a(term, BNode):
            return new_label(term)
        if is_a(term, RdflibLiteral):
            language = get_slot(term, LITERAL_LANGUAGE)
            datatype = get_slot(term, LITERAL_DATATYPE)
            if (language != NULL and datatype != NULL
                    and (language == <PyObject *> None
                         or is_a(language, str) and datatype == <PyObject *> None)):
                literal = new_object(Literal)
                set_slot(literal, GENERIC_LEX, PyUnicode_FromObject(<object> term))
                set_slot(literal, GENERIC_LANGTAG, <object> language)
                set_slot(literal, GENERIC_DATATYPE, self._datatype(<object> datatype))
                PyObject_GC_UnTrack(literal)
                return literal
        return self.make(self.other(<object> term))

    cdef object _datatype(self, datatype):
        """Return a datatype's IRI as a string; None for xsd:string and for no datatype."""
        if datatype is None:
            return None
        # Compare the text alone, because the equality of URIRef is a Python function.
        text = PyUnicode_FromObject(datatype)
        known = self.datatypes.get(text, self)
        if known is self:
            known = None if text == XSD_STRING else text
            if len(self.datatypes) >= REMEMBERED:
                self.datatypes.clear()
            self.datatypes[text] = known
        return known
