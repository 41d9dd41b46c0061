# C functions that the compiled form of `reading` uses.
cdef extern from "Python.h":
    void _untrack "PyObject_GC_UnTrack"(object)
    void _memcpy "memcpy"(void *, const void *, size_t)
