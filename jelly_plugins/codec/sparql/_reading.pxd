# What the compiled form of `reading` takes from C, and its variables that only C sees.
cdef extern from "Python.h":
    void _untrack "PyObject_GC_UnTrack"(object)
    void _memcpy "memcpy"(void *, const void *, size_t)
    int _resize "PyByteArray_Resize"(object, Py_ssize_t) except -1

cdef bytes _PLAIN
cdef int _IN_IRI, _IN_STRING, _IN_LABEL, _IN_TAG, _IN_ASCII_STRING
