# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False,
# allow_none_for_extension_args=False
"""Compiled code for rdflib: it makes and describes terms, and reads and writes the indices of
stores in memory. Without it, ``terms`` and ``dump`` do the same, and ``addN`` fills graphs.

For maintainers:

1. The fast paths require exactly the classes that this module knows: the exact type, the offsets of
   its slots, and functions that were not replaced. rdflib's own constructors make all other terms.
   ``terms`` and ``memory`` compare the results with rdflib's before they use this module.
2. The garbage collector does not track terms, tuples of terms and most dictionaries of an index,
   although rdflib's classes are tracked by default: they hold strings and numbers, which cannot be
   part of a cycle. Millions of tracked objects would slow down each collection of the user's
   program.
"""

cimport cython

from cpython.dict cimport PyDict_Next
from cpython.float cimport PyFloat_FromString
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_SIZE, PyTuple_New
from cpython.unicode cimport PyUnicode_Concat

# C variables, because each term is compared with them.
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
