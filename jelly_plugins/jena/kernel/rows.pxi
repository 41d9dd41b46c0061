# The contents of a row, independent of its encoding. Nothing here needs the GIL.

cdef enum:
    # Besides IRI, BLANK_NODE and LITERAL: an IRI that is a prefix name.
    PREFIX_NAME = 6


cdef struct RowTerm:
    # A term of a row. Its Slices are the row's.
    int kind
    # All of its bytes in the row: a repeated term has the same bytes.
    Slice wire
    # An IRI, a label, a lexical form, or a prefix's name.
    Slice text
    # The local part of a prefixed name.
    Slice local
    # Of a literal: what it has, of size 0 what it has not. A datatype is an IRI or a prefix name.
    Slice langtag
    Slice datatype
    Slice prefix
    bint has_prefix


cdef struct Row:
    # Three terms, or four where there is a graph.
    int width
    RowTerm terms[4]
