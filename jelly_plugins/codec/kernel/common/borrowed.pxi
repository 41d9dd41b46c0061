# Bytes that belong to the caller, for the time of a call. In a build for finding errors (made with
# JELLY_POISON=1, see tests/fuzz/README.md) the code gets a copy, which is overwritten and freed
# when the call is done: a remaining pointer to it is detected at once.

cdef extern from *:
    """
    #ifdef JELLY_POISON
    #define JELLY_IS_POISONED 1
    #else
    #define JELLY_IS_POISONED 0
    #endif
    """
    const bint IS_POISONED "JELLY_IS_POISONED"


cdef enum:
    # A marker for memory that must not be read any more; no text contains it.
    POISON = 0xDD


cdef inline bytes held(bytes data):
    """The bytes of a call to work on; pass them to `let_go` in the end."""
    if data is None:
        raise TypeError("bytes are needed, not None")
    if not IS_POISONED:
        return data
    return copy_of(PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


cdef bytes copy_of(const void *source, Py_ssize_t size):
    """Bytes that are not shared, unlike Python's cached bytes of one byte."""
    copied = PyBytes_FromStringAndSize(NULL, size)
    memcpy(PyBytes_AS_STRING(copied), source, size)
    return copied


cdef inline void let_go(bytes data):
    """Nothing points to what was held."""
    if IS_POISONED:
        memset(PyBytes_AS_STRING(data), POISON, PyBytes_GET_SIZE(data))
