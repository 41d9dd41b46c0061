# Construction and reading of objects without their constructors and properties.

cdef extern from *:
    """
    /* The same as str.__new__(type, text). */
    static inline PyObject *new_text(PyObject *type, PyObject *arguments) {
        return PyUnicode_Type.tp_new((PyTypeObject *)type, arguments, NULL);
    }

    static inline int is_a(PyObject *object, PyObject *type) {
        return Py_IS_TYPE(object, (PyTypeObject *)type);
    }

    /* Whether objects of this one's class may be part of a cycle. */
    static inline int may_hold(PyObject *object) {
        return PyType_IS_GC(Py_TYPE(object));
    }

    static inline PyObject *tuple_item(PyObject *tuple, Py_ssize_t index) {
        return PyTuple_GET_ITEM(tuple, index);
    }

    static inline void set_tuple_item(PyObject *tuple, Py_ssize_t index, PyObject *value) {
        Py_INCREF(value);
        PyTuple_SET_ITEM(tuple, index, value);
    }
    """
    object new_text(object type, tuple arguments)
    bint is_a(PyObject *object, object type)
    bint may_hold(PyObject *object)
    PyObject *tuple_item(object, Py_ssize_t)
    void set_tuple_item(object, Py_ssize_t, PyObject *)


cdef extern from "Python.h":
    void Py_XDECREF(PyObject *)
    void Py_INCREF(PyObject *)
    bint PyUnicode_IS_ASCII(object)
    int PyUnicode_KIND(object)
    void *PyUnicode_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)
    Py_UCS4 PyUnicode_READ(int, void *, Py_ssize_t)
    object PyUnicode_FromObject(object)
    bint PyObject_GC_IsTracked(object)
    void PyObject_GC_UnTrack(object)


cdef Py_ssize_t LITERAL_LANGUAGE = slot_offset(RdflibLiteral.__dict__["_language"])
cdef Py_ssize_t LITERAL_DATATYPE = slot_offset(RdflibLiteral.__dict__["_datatype"])
cdef Py_ssize_t LITERAL_VALUE = slot_offset(RdflibLiteral.__dict__["_value"])
cdef Py_ssize_t LITERAL_ILL_TYPED = slot_offset(RdflibLiteral.__dict__["_ill_typed"])
if min(LITERAL_LANGUAGE, LITERAL_DATATYPE, LITERAL_VALUE, LITERAL_ILL_TYPED) <= 0:
    raise ImportError("the slots of rdflib's literals are not those that this module knows")

cdef Py_ssize_t GENERIC_IRI = slot_offset(Iri.__dict__["value"])
cdef Py_ssize_t GENERIC_LABEL = slot_offset(BlankNode.__dict__["label"])
cdef Py_ssize_t GENERIC_LEX = slot_offset(Literal.__dict__["lex"])
cdef Py_ssize_t GENERIC_LANGTAG = slot_offset(Literal.__dict__["langtag"])
cdef Py_ssize_t GENERIC_DATATYPE = slot_offset(Literal.__dict__["datatype"])
if min(GENERIC_IRI, GENERIC_LABEL, GENERIC_LEX, GENERIC_LANGTAG, GENERIC_DATATYPE) <= 0:
    raise ImportError("the slots of generic terms are not those that this module knows")
