# What the compiled form of `writing` takes from C, and its variables that only C sees.
cdef extern from "Python.h":
    int _is_ascii_object "PyUnicode_IS_ASCII"(object)

cdef int IRIS, BLANK_NODES, LITERALS, MIXED, NAMES, PREFIXES, DATATYPES, _IRI, _BLANK_NODE, _LITERAL
cdef long long _KEPT_BYTES, _KEPT_TERMS
cdef object Iri, Literal, BlankNode, text_of
