# Growing byte buffers, and a keyed hash. Nothing here needs the GIL.

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


# SipHash-1-3. The hashed data is untrusted: with a predictable hash an attacker could choose terms
# that all collide. The key is drawn when the module is loaded.

cdef uint64_t HASH_KEY_0, HASH_KEY_1

cdef inline uint64_t rotated(uint64_t value, int bits) noexcept nogil:
    return (value << bits) | (value >> (64 - bits))


cdef inline void sip_round(uint64_t *v) noexcept nogil:
    v[0] += v[1]
    v[2] += v[3]
    v[1] = rotated(v[1], 13) ^ v[0]
    v[3] = rotated(v[3], 16) ^ v[2]
    v[0] = rotated(v[0], 32)
    v[2] += v[1]
    v[0] += v[3]
    v[1] = rotated(v[1], 17) ^ v[2]
    v[3] = rotated(v[3], 21) ^ v[0]
    v[2] = rotated(v[2], 32)


cdef uint64_t hash_of(const uint8_t *bytes, size_t size) noexcept nogil:
    cdef uint64_t v[4]
    cdef uint64_t word
    cdef size_t left = size
    v[0] = HASH_KEY_0 ^ 0x736F6D6570736575ULL
    v[1] = HASH_KEY_1 ^ 0x646F72616E646F6DULL
    v[2] = HASH_KEY_0 ^ 0x6C7967656E657261ULL
    v[3] = HASH_KEY_1 ^ 0x7465646279746573ULL
    while left >= 8:
        memcpy(&word, bytes, 8)
        v[3] ^= word
        sip_round(v)
        v[0] ^= word
        bytes += 8
        left -= 8
    word = 0
    if left:
        memcpy(&word, bytes, left)
    word |= (<uint64_t> size) << 56
    v[3] ^= word
    sip_round(v)
    v[0] ^= word
    v[2] ^= 0xFF
    sip_round(v)
    sip_round(v)
    sip_round(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


HASH_KEY_0 = int.from_bytes(os.urandom(8), "little")
HASH_KEY_1 = int.from_bytes(os.urandom(8), "little")


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
