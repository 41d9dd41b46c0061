# Growing byte buffers, and a hash. Nothing here needs the GIL.

cdef struct Slice:
    # Borrowed bytes.
    const uint8_t *bytes
    size_t size


cdef struct Buffer:
    # Owned bytes that grow; a structure of zeros is an empty buffer.
    uint8_t *bytes
    size_t size
    size_t capacity


cdef bint reserve(Buffer *buffer, size_t more) noexcept nogil:
    """Reserve space for `more` bytes; False if memory is exhausted."""
    cdef size_t capacity
    cdef uint8_t *moved
    if buffer.capacity - buffer.size >= more:
        return True
    capacity = buffer.capacity * 2
    if capacity < buffer.size + more:
        capacity = buffer.size + more
    if capacity < 256:
        capacity = 256
    moved = <uint8_t *> PyMem_RawRealloc(buffer.bytes, capacity)
    if moved == NULL:
        return False
    buffer.bytes = moved
    buffer.capacity = capacity
    return True


cdef inline void put(Buffer *buffer, const void *source, size_t size) noexcept nogil:
    """Append bytes to reserved space."""
    if size:
        memcpy(buffer.bytes + buffer.size, source, size)
        buffer.size += size


cdef inline void put_byte(Buffer *buffer, uint8_t byte) noexcept nogil:
    """Append a byte to reserved space."""
    buffer.bytes[buffer.size] = byte
    buffer.size += 1


cdef inline bint append(Buffer *buffer, const void *source, size_t size) noexcept nogil:
    """Append bytes; False if memory is exhausted."""
    if not reserve(buffer, size):
        return False
    put(buffer, source, size)
    return True


cdef inline Slice contents(Buffer *buffer) noexcept nogil:
    """The contents of a buffer, valid until the next change."""
    return Slice(buffer.bytes, buffer.size)


cdef void release(Buffer *buffer) noexcept nogil:
    PyMem_RawFree(buffer.bytes)
    memset(buffer, 0, sizeof(Buffer))


cdef inline bint same(const uint8_t *left, size_t left_size, const uint8_t *right,
                      size_t right_size) noexcept nogil:
    return left_size == right_size and (
        left_size == 0 or memcmp(left, right, left_size) == 0
    )


# Python's own hash of bytes. The hashed data is untrusted: with a predictable hash an attacker could
# choose terms that all collide. Python draws its key when it starts.

cdef extern from "Python.h":
    ctypedef struct PyHash_FuncDef:
        Py_hash_t (*hash)(const void *, Py_ssize_t) noexcept nogil

    PyHash_FuncDef *PyHash_GetFuncDef()


cdef PyHash_FuncDef *HASH = PyHash_GetFuncDef()


cdef inline uint64_t hash_of(const uint8_t *bytes, size_t size) noexcept nogil:
    return <uint64_t> HASH.hash(bytes, size)


# Bytes that belong to the caller and are used during a call. In a build for finding memory errors
# (made with JELLY_POISON=1, see tests/fuzz/README.md) the code gets a copy, which is overwritten
# and freed at the end of the call, so that a remaining pointer to it is detected.

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
    # Marks memory that must not be read any more; no text contains this byte.
    POISON = 0xDD


cdef inline bytes held(bytes data):
    """Return the bytes of a call to work on; pass them to `let_go` at the end."""
    if data is None:
        raise TypeError("bytes are needed, not None")
    if not IS_POISONED:
        return data
    return copy_of(PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


cdef bytes copy_of(const void *source, Py_ssize_t size):
    """Copy bytes to an object that is not shared, unlike Python's cached bytes of one byte."""
    copied = PyBytes_FromStringAndSize(NULL, size)
    memcpy(PyBytes_AS_STRING(copied), source, size)
    return copied


cdef inline void let_go(bytes data):
    """Release the bytes of `held`; no pointer to them may remain."""
    if IS_POISONED:
        memset(PyBytes_AS_STRING(data), POISON, PyBytes_GET_SIZE(data))
