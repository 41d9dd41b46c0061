# Variables of the compiled form of `writing` that only C sees.
cdef int IRIS, BLANK_NODES, LITERALS, MIXED, NAMES, PREFIXES, DATATYPES, _IRI, _BLANK_NODE, _LITERAL
cdef long long _KEPT_BYTES, _KEPT_TERMS
cdef object Iri, Literal, BlankNode, text_of
