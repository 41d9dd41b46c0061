# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False,
# allow_none_for_extension_args=False
"""What of this package is worth compiling: rdflib's terms made and taken apart, and the indices of
its stores in memory read and written. ``terms`` and ``dump`` do the same without it; graphs are
filled with ``addN``.

For maintainers:

1. rdflib's classes are taken as they are only where they are exactly what is known here: by exact
   type, by the places of their slots, by functions that are still the ones they were. Whatever is
   unusual goes to rdflib's own constructors. ``terms`` and ``memory`` compare the results with
   rdflib's before they use any of this.
2. Terms, and tuples of terms, are taken off the garbage collector's lists, where rdflib's classes
   put even IRIs: they hold strings and numbers, which can be part of no cycle. Millions of them
   would make each collection of the user's program slow.
"""

cimport cython

from cpython.dict cimport PyDict_Next
from cpython.float cimport PyFloat_FromString
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_SIZE, PyTuple_New
from cpython.unicode cimport PyUnicode_Concat

# Known to C, because they are looked at for each term.
cdef object URIRef, BNode, RdflibLiteral, Iri, BlankNode, Literal

import rdflib
from datetime import date, datetime
from decimal import Decimal
from rdflib import term as rdflib_term
from rdflib.term import BNode, URIRef
from rdflib.term import Literal as RdflibLiteral

from ..codec.common.terms import XSD_STRING, BlankNode, Iri, Literal, terms_of
from ..errors import TermError

include "../codec/kernel/common/slots.pxi"
include "kernel/objects.pxi"
include "kernel/terms.pxi"
include "kernel/generic.pxi"
include "kernel/indices.pxi"
