# Fast construction of Python objects: strings, the generic terms of `terms.py`, statements.

cdef extern from *:
    """
    /* Whether a class is a tuple class without additional members. */
    static int is_bare_tuple(PyObject *type) {
        PyTypeObject *cls = (PyTypeObject *)type;
        return PyType_IsSubtype(cls, &PyTuple_Type)
            && cls->tp_basicsize == PyTuple_Type.tp_basicsize
            && cls->tp_itemsize == PyTuple_Type.tp_itemsize;
    }

    /* Make a tuple of a bare tuple class that the garbage collector does not track: its items must
       not refer back to it. The caller must set its items at once. */
    static inline PyObject *new_tuple(PyObject *type, Py_ssize_t size) {
        PyTupleObject *tuple = PyObject_GC_NewVar(PyTupleObject, (PyTypeObject *)type, size);
    #if PY_VERSION_HEX >= 0x030E0000
        if (tuple != NULL) {
            tuple->ob_hash = -1;
        }
    #endif
        return (PyObject *)tuple;
    }
    """
    bint is_bare_tuple(object type)
    object new_tuple(object type, Py_ssize_t size)


cdef extern from "Python.h":
    void Py_DECREF(PyObject *) noexcept nogil
    void Py_XDECREF(PyObject *) noexcept nogil
    void Py_INCREF(PyObject *) noexcept nogil
    bint PyUnicode_IS_ASCII(object)
    void *PyUnicode_DATA(object)
    str PyUnicode_New(Py_ssize_t size, Py_UCS4 longest)
    Py_ssize_t PyUnicode_GET_LENGTH(object)
    Py_UCS4 PyUnicode_MAX_CHAR_VALUE(object)
    void PyTuple_SET_ITEM_steal "PyTuple_SET_ITEM" (object, Py_ssize_t, PyObject *)
    PyObject *PyTuple_GET_ITEM_borrow "PyTuple_GET_ITEM" (object, Py_ssize_t)
    void PyObject_GC_Track(object)
    void PyObject_GC_UnTrack(object)


# Offsets of the generic terms' slots; -1 where a term's class has another layout, so that it must
# be called instead.
cdef Py_ssize_t IRI_VALUE = slot_offset(terms.Iri.__dict__["value"])
cdef Py_ssize_t BLANK_NODE_LABEL = slot_offset(terms.BlankNode.__dict__["label"])
cdef Py_ssize_t LITERAL_LEX = slot_offset(terms.Literal.__dict__["lex"])
cdef Py_ssize_t LITERAL_LANGTAG = slot_offset(terms.Literal.__dict__["langtag"])
cdef Py_ssize_t LITERAL_DATATYPE = slot_offset(terms.Literal.__dict__["datatype"])
cdef bint KNOWN_TERMS = min(
    IRI_VALUE, BLANK_NODE_LABEL, LITERAL_LEX, LITERAL_LANGTAG, LITERAL_DATATYPE
) > 0
cdef bint KNOWN_STATEMENTS = is_bare_tuple(terms.Triple) and is_bare_tuple(terms.Quad)


cdef inline tuple terms_in(statement):
    """See `terms.terms_of`. Only C macros, which no subclass can change, may read the result."""
    cdef object kind = type(statement)
    if kind is tuple or kind is Triple or kind is Quad:
        return <tuple> statement
    if PyTuple_Check(statement):
        return PyTuple_GetSlice(statement, 0, PyTuple_GET_SIZE(statement))
    return terms.terms_of(statement)


cdef inline str text_with(Slice slice, uint64_t characters):
    """Convert valid UTF-8 with a known number of characters to a string."""
    if characters != slice.size or slice.size == 0:
        return text_of(slice)
    text = PyUnicode_New(slice.size, 0x7F)
    memcpy(PyUnicode_DATA(text), slice.bytes, slice.size)
    return text


cdef inline str text_of(Slice slice):
    """Convert valid UTF-8 to a string."""
    return PyUnicode_DecodeUTF8(<const char *> slice.bytes, slice.size, NULL) if slice.size else ""


cdef inline Slice slice_of_bytes(bytes text):
    return Slice(<const uint8_t *> PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))


cdef inline object new_iri(str value):
    """Make the same object as `Iri(value)`."""
    iri = new_object(Iri)
    set_slot(iri, IRI_VALUE, value)
    # A term that holds only strings cannot be part of a cycle.
    PyObject_GC_UnTrack(iri)
    return iri


cdef inline object new_blank_node(str label):
    """Make the same object as `BlankNode(label)`."""
    node = new_object(BlankNode)
    set_slot(node, BLANK_NODE_LABEL, label)
    PyObject_GC_UnTrack(node)
    return node


cdef inline object new_literal(str lex, langtag, datatype):
    """Make the same object as `Literal(lex, langtag, datatype)`, for a datatype other than
    xsd:string.
    """
    literal = new_object(Literal)
    set_slot(literal, LITERAL_LEX, lex)
    set_slot(literal, LITERAL_LANGTAG, langtag)
    set_slot(literal, LITERAL_DATATYPE, datatype)
    PyObject_GC_UnTrack(literal)
    return literal


cdef inline object slot_value(object term, Py_ssize_t offset):
    """The value of a term's slot."""
    cdef PyObject *value = get_slot(<PyObject *> term, offset)
    if value == NULL:
        raise TermError("a term was made without its parts")
    return <object> value
