# What the compiled form of `rows` takes from C.
cimport cython

ctypedef const unsigned char *Bytes
ctypedef unsigned long long Number
ctypedef Py_ssize_t Size

cdef Size _BATCH_BYTES
cdef int _BATCH_ROWS, _LEAST_NAME, _MOST_NAME, _END, PREDICATE, OBJECT, GRAPH
cdef int _IRI, _BLANK_NODE, _LITERAL, _PREFIX_NAME, _UNDEFINED, _TRIPLE_TERM, _INTEGER, _DOUBLE
cdef int _LEX, _LANGTAG, _DATATYPE, _DT_PREFIX, _DIRECTION, _LANGDIR, _SIMPLE, _DT_STRINGS
cdef int _IN_IRI, _IN_STRING, _IN_NAME, _IN_SCHEME
cdef bytes _ALLOWED, _FLAGS, _ESCAPES
cdef Message IRI, BLANK_NODE, LITERAL, PREFIX_NAME, EMPTY, DECIMAL, TERM, TRIPLE, QUAD, PREFIX, STREAM_ROW

@cython.locals(rest=Size)
cdef Size _field_size(Size size) noexcept
@cython.locals(flags=Bytes)
cdef Size _ascii_end(Bytes buf, Size at, Size end, int flag) noexcept
@cython.locals(flags=Bytes, at=Size)
cdef bint _is_relative(Bytes buf, Size start, Size stop) noexcept
cdef Size _closing(Bytes buf, unsigned char close, Size at, Size end) noexcept

@cython.final
cdef class Message:
    cdef readonly str name
    cdef readonly tuple members
    cdef bint union, repeated
    # Codes of types by place, 0 where the wire does not have the member: 16 bytes for each wire.
    cdef bytes codes
    # Places by field number of Protocol Buffers.
    cdef bytes places
    # The places of members that must occur, as bits.
    cdef unsigned int thrift_required, protobuf_required

@cython.final
cdef class Buffer:
    cdef bytearray held
    cdef unsigned char *buf
    cdef Size size, capacity
    cdef int reserve(self, Size size) except -1
    cdef int byte(self, unsigned char value) except -1
    @cython.locals(at=Size)
    cdef int put(self, Bytes source, Size start, Size stop) except -1
    cdef int add(self, bytes data) except -1
    @cython.locals(flags=Bytes, escapes=Bytes, at=Size, size=Size, byte=cython.uchar, high=cython.uchar)
    cdef int text(self, Bytes source, Size start, Size stop, int flag) except -1
    cdef int varint(self, Size value) except -1
    cdef int cut(self, Size size) except -1
    cdef bytes between(self, Size start, Size stop)

@cython.final
cdef class Wire:
    cdef bytes data
    cdef Bytes buf
    # The position, and the end of the message or the data.
    cdef Size pos, end
    # The last string.
    cdef Size start, stop
    # The place of the last member of the open struct; this and the end of the structs around it.
    cdef int last, depth
    cdef int lasts[256]
    cdef Size ends[256]
    cdef bint thrift
    cdef Size string_bytes, row_bytes
    cdef object limits
    cdef int hold(self, bytes data) except -1
    cdef int open_row(self, Size at) except -1
    @cython.locals(size=Number, limit=Number, rest=Number)
    cpdef int begin(self) except -1
    @cython.locals(bits=cython.uint, required=cython.uint, code=cython.int, place=cython.int, number=Number)
    cpdef int field(self, Message message) except -1
    @cython.locals(at=cython.int)
    cdef int check_required(self, Message message, int place, unsigned int required) except -1
    cdef int overrun(self) except -1
    @cython.locals(value=Number, part=Number, shift=cython.int)
    cdef Number varint(self, int bits) except? 0
    @cython.locals(header=cython.int, size=Number)
    cpdef Size elements(self) except -1
    @cython.locals(size=Number, limit=Number, rest=Number)
    cdef int text(self, Message message, int place) except -1
    cpdef object number(self, int bits)
    cdef object double(self)

cdef class RowReader:
    cdef public Number row
    cdef readonly Wire wire
    cdef public dict prefixes
    cdef public object limits
    cdef public bint solutions
    cdef readonly bint has_relative_iris
    cdef bint busy
    # Number of quoted triples around a term.
    cdef int depth
    # Bytes that the rows of the batch have made of fewer, and those of all prefixes.
    cdef Size expansion, prefix_bytes
    # The strings of the term that was read, by place, empty where there is none; and the members of a
    # literal that were there, as bits.
    cdef Size starts[10]
    cdef Size stops[10]
    cdef unsigned int seen
    # Text that was written.
    cdef Buffer out
    @cython.locals(expansion=Size, mark=Size)
    cdef Size _read(self, Size at, Size end, list batch) except -1
    cpdef take(self, list batch)
    @cython.locals(allowed=Bytes, kind=cython.int)
    cdef int _term(self, int position) except -1
    @cython.locals(place=cython.int, start=Size)
    cdef int _write_terms(self, Message message) except -1
    @cython.locals(place=cython.int, at=cython.int)
    cdef int _strings(self, Message message, int offset) except -1
    cdef bytes _bytes(self, int place)
    cdef bytes _whole(self, int place)
    cdef int _expand(self, Size size) except -1
    @cython.locals(checks=cython.int)
    cdef int _text(self, Bytes buf, Size start, Size stop, int flag) except -1
    cdef int _iri(self, Bytes buf, Size start, Size stop) except -1
    @cython.locals(typed=cython.bint)
    cdef int _literal(self) except -1
    @cython.locals(place=cython.int)
    cdef int _number(self, int kind) except -1

cdef class StatementReader(RowReader):
    cdef public object base
    cdef public list declared
    cdef public Number statements
    @cython.locals(wire=Wire, kind=cython.int)
    cpdef take(self, list batch)

cdef class RowWriter:
    cdef public Number row, statements
    cdef public object limits
    cdef object describe
    cdef bint solutions, thrift, busy
    cdef Size row_bytes, string_bytes
    # IRI by name; in Thrift, names by IRI and the lengths that IRIs have, the longest first.
    cdef dict prefixes, names
    cdef list lengths
    # Members of literals, by the text that follows their string; and terms.
    cdef dict suffixes, known
    # A term, the members of a statement, and rows.
    cdef Buffer alone, body, out
    # Reads lines that are not in canonical form; and the number of lines before.
    cdef object parser
    cdef Number line
    @cython.locals(buf=Bytes, end=Size, pos=Size, stop=Size, usual=bytes)
    cdef int _lines(self, bytes text) except -1
    cdef int _check_string(self, Size size, str what) except -1
    @cython.locals(width=cython.int, size=Size)
    cdef Size _line(self, Bytes buf, Size pos, Size end) except -2
    @cython.locals(place=cython.int, flag=cython.int, close=cython.uchar, stop=Size, quote=Size)
    cdef Size _line_term(self, Bytes buf, Size pos, Size end, int position) except -2
    @cython.locals(size=Size, inner=Size)
    cdef int _put_term(
        self, Buffer out, int place, int field, Bytes buf, Size start, Size stop, bytes suffix
    ) except -1
