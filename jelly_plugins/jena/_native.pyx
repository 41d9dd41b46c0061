# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True,
# initializedcheck=False, allow_none_for_extension_args=False
"""The compiled kernel of Jena RDF Binary: what `reader`, `writer` and `text` do, which are its
reference. Same interface, same limits, same errors, same bytes.

The rules for memory are those of `codec._native`, whose files it is made with. One thing is simpler
here: only rows of the usual form are read and written, that is, statements of IRIs, prefix names,
blank nodes and literals in the order of their positions, without errors. Any other
row is handed to the reference, which reads it or reports the error; so there are no rules
here that could differ. What the reference has to know for that (row, prefixes, what was counted,
and, for a repeat, the row before) is handed to it first.
"""

import os
import re

cimport cython

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from cpython.object cimport PyObject
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.tuple cimport PyTuple_Check, PyTuple_GET_SIZE, PyTuple_GetSlice, PyTuple_New
from cpython.unicode cimport PyUnicode_AsUTF8String, PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, memmove, memset

from ..codec.text import lines, ntriples
from ..codec.common import terms
from ..codec.common import term_reader as reference_terms
from ..codec.rdf.decoder import Frame
from ..codec.common.limits import DEFAULT_LIMITS
from ..codec.common.terms import (
    DEFAULT_GRAPH as GENERIC_DEFAULT_GRAPH,
    XSD_STRING,
    BlankNode,
    GenericFactory,
    Iri,
    Kind,
    Literal,
    Quad,
    Triple,
)
from ..errors import JellyError, OrderError, TermError
from . import reader as reference_reader
from . import text as reference_jena_text
from . import writer as reference_jena_writer
from .names import JenaFormat

cdef size_t CACHED_STRING = reference_terms.CACHED_STRING
cdef bytes XSD_STRING_OBJECT = XSD_STRING.encode()
cdef const uint8_t *XSD_STRING_BYTES = <const uint8_t *> <const char *> XSD_STRING_OBJECT
cdef size_t XSD_STRING_SIZE = len(XSD_STRING_OBJECT)

include "../codec/kernel/common/memory.pxi"
include "../codec/kernel/common/wire.pxi"
include "../codec/kernel/common/slots.pxi"
include "../codec/kernel/common/objects.pxi"
include "../codec/kernel/common/terms.pxi"
include "../codec/kernel/text/writer.pxi"
include "../codec/kernel/common/plain_terms.pxi"
include "../codec/kernel/text/line_reader.pxi"
include "kernel/rows.pxi"
include "kernel/thrift.pxi"
include "kernel/protobuf.pxi"
include "kernel/prefixes.pxi"
include "kernel/decoder.pxi"
include "kernel/text_decoder.pxi"
include "kernel/encoder.pxi"

# Whether this build is one for finding errors.
poisoned = IS_POISONED

load_writer_rules()
load_line_rules()
load_validation_rules()
if (IRI, BLANK_NODE, LITERAL, TRIPLE, DEFAULT_GRAPH) != tuple(Kind):
    raise ImportError("the kernel's kinds of terms are not those of codec.terms")
