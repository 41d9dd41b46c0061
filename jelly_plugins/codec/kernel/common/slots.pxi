# Construction and reading of objects with slots, without their constructors and properties. All
# compiled modules of the package use it.

cdef extern from *:
    """
    #include "structmember.h"

    /* Return the offset of a slot in objects of a class with __slots__; -1 if it is not a slot. */
    static Py_ssize_t slot_offset(PyObject *descriptor) {
        PyMemberDef *member;
        if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) {
            return -1;
        }
        member = ((PyMemberDescrObject *)descriptor)->d_member;
        return member->type == T_OBJECT_EX ? (Py_ssize_t)member->offset : -1;
    }

    /* Make an object of a class with slots, all of them empty. */
    static inline PyObject *new_object(PyObject *type) {
        return PyType_GenericAlloc((PyTypeObject *)type, 0);
    }

    /* Set an empty slot. */
    static inline void set_slot(PyObject *object, Py_ssize_t offset, PyObject *value) {
        Py_INCREF(value);
        *(PyObject **)((char *)object + offset) = value;
    }

    static inline PyObject *get_slot(PyObject *object, Py_ssize_t offset) {
        return *(PyObject **)((char *)object + offset);
    }
    """
    Py_ssize_t slot_offset(object descriptor)
    object new_object(object type)
    void set_slot(object instance, Py_ssize_t offset, object value)
    PyObject *get_slot(PyObject *instance, Py_ssize_t offset)
