# Terms to write, as found in text or in objects.

cdef struct Place:
    # Where a value was found in a lookup; it still is there if the entry's serial is this one.
    uint32_t id
    uint64_t serial


cdef struct EncodedTerm:
    # A term to write, with the places where its parts were found last.
    int kind
    # An IRI's characters; of other terms the bytes on the wire, without a datatype.
    Slice text
    size_t characters
    # Of an IRI, its prefix, once it is cut; of a literal, its datatype's IRI, if it has one.
    bint cut
    size_t prefix_size
    size_t prefix_characters
    bint typed
    Slice datatype
    size_t datatype_characters
    Place prefix_place
    Place name_place
