# What the compiled form of `reading` takes from C, and its variables that only C sees.
cdef extern from "Python.h":
    void _untrack "PyObject_GC_UnTrack"(object)
    void _memcpy "memcpy"(void *, const void *, size_t)
    int _memcmp "memcmp"(const void *, const void *, size_t)
    int _resize "PyByteArray_Resize"(object, Py_ssize_t) except -1

cdef int IRIS, BLANK_NODES, LITERALS, MIXED, NAMES, PREFIXES, DATATYPES
cdef int _PLACE_SIZE, _IN_IRI, _IN_STRING, _IN_LABEL, _IN_TAG
cdef long long _CACHED_CHARACTERS, _CACHED_TERMS, _NO_LIMIT
cdef unsigned long long _MAX_UINT32
cdef bytes _UNCHANGED
cdef object _NEW, _SET_IRI, _SET_LABEL, _SET_LEX, _SET_TAG, _SET_DATATYPE
