# cython: language_level=3, auto_pickle=False
"""Scans of Turtle, TriG and JSON for what pyoxigraph's parsers do not bound. No I/O.

That of Turtle keeps up to 540 bytes for each open bracket, and frees nested triple terms by
recursion: some thousand levels end the process. It keeps all prefixes, and makes whole IRIs of
names however long their prefix or the base is. That of JSON-LD takes time that grows with the
square of the depth, copies all terms for each context, and holds objects as a whole.

The module is written in Cython's pure Python mode: setup.py compiles it as ``formats._scans``, and
it runs uncompiled, too; ``formats.reading`` chooses. Every read of ``buf`` is before the end of the
bytes that ``scan`` holds.

Reference: JSON-LD 1.1 Processing Algorithms and API, section "Data Round Tripping".
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

try:
    import cython
except ModuleNotFoundError:
    from ..codec.common import cython_shim as cython

from ..codec.common.limits import Limits, over
from ..errors import LimitError, TextError

#: Prefixes that a text may declare.
PREFIXES: Final = 100_000
#: Bytes of the IRI of a prefix, or of the base: each name with the prefix has them again, in memory
#: too where a store holds the statements.
IRI_BYTES: Final = 1 << 12

# Where the scan is, as flags of the bytes that it stops at there.
_OUTSIDE = cython.declare(cython.int, 1)
_IN_IRI = cython.declare(cython.int, 2)
_IN_COMMENT = cython.declare(cython.int, 4)
_IN_DOUBLE = cython.declare(cython.int, 8)
_IN_SINGLE = cython.declare(cython.int, 16)
#: The flag of bytes that go on with a word.
_WORD = cython.declare(cython.int, 32)
#: Likewise, outside of strings of JSON, and of bytes after a number.
_IN_JSON = cython.declare(cython.int, 64)
_AFTER_NUMBER = cython.declare(cython.int, 128)

_STOPS: Final = {
    1: rb"\"'<>#()\[\]{}~\\pPbB",
    2: b">",
    4: rb"\r\n",
    8: rb"\"\\",
    16: rb"'\\",
    32: rb"A-Za-z0-9_:%\-\x80-\xff",
    64: rb"\"\[\]{},0-9",
    128: rb"^0-9.eE+\-",
}
_SEARCHES: Final = {flag: re.compile(b"[" + stops + b"]") for flag, stops in _STOPS.items()}
_FLAGS = cython.declare(
    bytes,
    bytes(
        sum(flag for flag, stop in _SEARCHES.items() if stop.match(bytes([byte])))
        for byte in range(256)
    ),
)

_PREFIX = cython.declare(bytes, b"prefix")
_BASE = cython.declare(bytes, b"base")
#: Bytes that decide whether a word begins at a position, and what begins or ends there otherwise.
_WORD_BYTES = cython.declare(cython.Py_ssize_t, 7)
_TOKEN_BYTES = cython.declare(cython.Py_ssize_t, 3)
#: Longer numbers are not checked, nor are shorter integers.
_NUMBER_BYTES = cython.declare(cython.Py_ssize_t, 1 << 10)
_INTEGER_BYTES = cython.declare(cython.Py_ssize_t, 20)
#: The order of magnitude of the integers that are misread.
_MAGNITUDE: Final = 20

#: An absolute IRI.
_SCHEME: Final = re.compile(rb"[A-Za-z][A-Za-z0-9+.\-]*+:")


@cython.cfunc
@cython.exceptval(check=False)
def _stop(
    buf: cython.p_uchar, flag: cython.int, pos: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The position of the next byte with a flag; ``end`` if there is none."""
    if cython.compiled:
        flags: cython.p_uchar = _FLAGS
        while pos < end and not flags[buf[pos]] & flag:
            pos += 1
        return pos
    else:
        found = _SEARCHES[flag].search(buf, pos, end)
        return end if found is None else found.start()


@cython.cfunc
@cython.exceptval(check=False)
def _is_word(buf: cython.p_uchar, pos: cython.Py_ssize_t, word: bytes) -> cython.bint:
    """Whether a word begins and ends, in upper or lower case."""
    at: cython.Py_ssize_t
    letters: cython.p_uchar = word
    for at in range(len(word)):
        if buf[pos + at] | 32 != letters[at]:
            return False
    return not _FLAGS[buf[pos + len(word)]] & _WORD


@cython.final
@cython.cclass
class TurtleScan:
    """Scans text chunk by chunk. What decides of the last bytes may follow: they are scanned with
    the next chunk.


    :ivar at: position in the chunk of what an error is about.
    :ivar longest: bytes of the longest IRI of a prefix or base.
    :ivar longest_iri: bytes of the longest other IRI.
    :ivar repeats: number of reifiers and annotations, which repeat the object of a statement.
    """

    at = cython.declare(cython.Py_ssize_t, visibility="readonly")
    longest = cython.declare(cython.Py_ssize_t, visibility="readonly")
    longest_iri = cython.declare(cython.Py_ssize_t, visibility="readonly")
    repeats = cython.declare(cython.Py_ssize_t, visibility="readonly")
    #: Bytes of the IRI that has begun, but for those of this chunk.
    iri: cython.Py_ssize_t
    state: cython.int
    #: Whether three quotation marks end the string.
    is_long: cython.bint
    #: The word of the declaration whose IRI follows.
    declaration: bytes
    #: Bytes that are scanned with the next chunk, and the one before them.
    rest: bytes
    before: cython.int
    open: cython.Py_ssize_t
    depth: cython.Py_ssize_t
    base: cython.Py_ssize_t
    prefixes: cython.Py_ssize_t

    def __init__(self, depth: int, base: int = 0) -> None:
        self._check(base)
        self.longest = self.base = base
        self.depth = depth
        self.at = self.repeats = self.open = self.prefixes = self.iri = self.longest_iri = 0
        self.state = _OUTSIDE
        self.is_long = False
        self.rest = self.declaration = b""
        self.before = 32

    def scan(self, chunk: bytes) -> bool:
        """Scan the next chunk.

        :return: whether it ends within a string, an IRI or a comment.
        """
        data: bytes = self.rest + chunk
        buf: cython.p_uchar = data
        end: cython.Py_ssize_t = len(data)
        pos: cython.Py_ssize_t = 0
        stop: cython.Py_ssize_t
        # Where the IRI begins that goes on.
        start: cython.Py_ssize_t = 0
        byte: cython.int
        while True:
            pos = _stop(buf, self.state, pos, end)
            if pos == end:
                break
            byte = buf[pos]
            if self.state != _OUTSIDE and byte != 92 and not self.is_long:
                if self.state == _IN_IRI:
                    self.longest_iri = max(self.longest_iri, self.iri + pos - start)
                self.state = _OUTSIDE
                pos += 1
                continue
            if end - pos < (_WORD_BYTES if byte | 32 in (98, 112) else _TOKEN_BYTES):
                break
            if byte == 92:  # backslash: an escape
                pos += 2
                while self.state == _OUTSIDE and pos < end and _FLAGS[buf[pos]] & _WORD:
                    # The name goes on.
                    pos += 1
            elif self.is_long:
                if buf[pos + 1] == byte and buf[pos + 2] == byte:
                    self.state = _OUTSIDE
                    self.is_long = False
                    pos += 2
                pos += 1
            elif byte == 34 or byte == 39:
                self.state = _IN_DOUBLE if byte == 34 else _IN_SINGLE
                self.is_long = buf[pos + 1] == byte and buf[pos + 2] == byte
                pos += 3 if self.is_long else 1
            elif byte == 35:  # #
                self.state = _IN_COMMENT
                pos += 1
            elif byte == 60 and buf[pos + 1] != 60:  # <
                if self.declaration:
                    self.at = pos - len(self.rest)
                    stop = _stop(buf, _IN_IRI, pos, end)
                    self._check(stop - pos - 1)
                    if stop == end:
                        break
                    self._declare(data[pos + 1 : stop])
                    pos = stop
                else:
                    self.state = _IN_IRI
                    self.iri = 0
                    start = pos + 1
                pos += 1
            elif byte == 62:  # >
                if buf[pos + 1] == 62:
                    self.open -= self.open > 0
                    pos += 1
                pos += 1
            elif byte == 41 or byte == 93 or byte == 125:  # ) ] }
                self.open -= self.open > 0
                pos += 1
            elif byte == 126:  # ~
                self.repeats += 1
                pos += 1
            elif byte | 32 == 112 or byte | 32 == 98:  # p, b
                # A name may have a dot before such a word, which then counts as a declaration.
                if not _FLAGS[buf[pos - 1] if pos else self.before] & _WORD:
                    if _is_word(buf, pos, _PREFIX):
                        self.declaration = _PREFIX
                    elif _is_word(buf, pos, _BASE):
                        self.declaration = _BASE
                pos += 1
            else:  # << ( [ {
                self.open += 1
                if self.open > self.depth:
                    self.at = pos - len(self.rest)
                    raise LimitError(f"the text is nested more than {self.depth} deep")
                self.repeats += byte == 123 and buf[pos + 1] == 124
                pos += 2 if byte == 60 else 1
        if self.state == _IN_IRI:
            self.iri += pos - start
        if pos:
            self.before = buf[pos - 1]
        self.rest = data[pos:]
        return self.state != _OUTSIDE

    def _check(self, size: int) -> None:
        if size > IRI_BYTES:
            raise LimitError(f"a prefix or base has more than {IRI_BYTES} bytes")

    def _declare(self, iri: bytes) -> None:
        size = len(iri) if _SCHEME.match(iri) else len(iri) + self.base
        self._check(size)
        self.longest = max(self.longest, size)
        if self.declaration == _BASE:
            self.base = size
        else:
            self.prefixes += 1
            if self.prefixes > PREFIXES:
                raise LimitError(f"the text declares more than {PREFIXES} prefixes")
        self.declaration = b""


@cython.final
@cython.cclass
class JsonScan:
    """Scans a document of JSON chunk by chunk; after the last one, a space.

    :param limits: ``frame_rows`` bounds the values of an object at the top of the document or of an
        array there.
    """

    depth: cython.Py_ssize_t
    limits: Any
    in_string: cython.bint
    rest: bytes
    #: Whether the document is an array.
    is_array: cython.bint
    values: cython.Py_ssize_t
    open: cython.Py_ssize_t

    def __init__(self, depth: int, limits: Limits) -> None:
        self.depth = depth
        self.limits = limits
        self.in_string = self.is_array = False
        self.rest = b""
        self.values = self.open = 0

    def scan(self, chunk: bytes) -> None:
        """Scan the next chunk."""
        data: bytes = self.rest + chunk
        buf: cython.p_uchar = data
        end: cython.Py_ssize_t = len(data)
        pos: cython.Py_ssize_t = 0
        stop: cython.Py_ssize_t
        byte: cython.int
        while True:
            pos = _stop(buf, _IN_DOUBLE if self.in_string else _IN_JSON, pos, end)
            if pos == end:
                break
            byte = buf[pos]
            if byte == 92:  # backslash
                if end - pos < 2:
                    break
                pos += 2
            elif byte == 34:
                self.in_string = not self.in_string
                pos += 1
            elif byte == 44:  # ,
                if self.is_array and self.open == 1:
                    self.values = 0
                else:
                    self.values += 1
                    self._check_values()
                pos += 1
            elif byte == 91 or byte == 123:  # [ {
                if not self.open:
                    self.is_array = byte == 91
                self.open += 1
                if self.open > self.depth:
                    raise LimitError(f"the text is nested more than {self.depth} deep")
                pos += 1
            elif byte == 93 or byte == 125:  # ] }
                self.open -= self.open > 0
                pos += 1
            else:
                stop = _stop(buf, _AFTER_NUMBER, pos, end)
                if stop == end and stop - pos <= _NUMBER_BYTES:
                    break
                if stop - pos <= _NUMBER_BYTES:
                    _check_number(data[pos:stop])
                pos = stop
        self.rest = data[pos:]

    def _check_values(self) -> None:
        if self.values > self.limits.frame_rows:
            what = "the number of values of one object"
            raise over(self.limits, "frame_rows", self.values, what)


def _check_number(number: bytes) -> None:
    if len(number) <= _INTEGER_BYTES and b"e" not in number and b"E" not in number:
        return
    try:
        magnitude = Decimal(number.decode()).adjusted()
    except ArithmeticError:
        # The parser reports it, or reads it.
        return
    if magnitude == _MAGNITUDE:
        raise TextError(
            f"the number {number.decode()} cannot be read as an integer: "
            'use {"@value": "…", "@type": "http://www.w3.org/2001/XMLSchema#integer"}'
        )
