"""Checks of XML before pyoxigraph parses it, or while it is written.

pyoxigraph expands each reference to an entity, without a bound: an entity may
expand to far more text than its reference. So the text is checked first. Entities
are found by their declarations alone, wherever these are, so that nothing depends on where a parser
takes the document type to begin or to end.

pyoxigraph also accepts a document without a root element, so that a file which is truncated in its
prolog would pass for one without statements: expat looks for the root element.

Reference: XML 1.0, productions 2 to 5, sections "Documents" and "Physical Structures"; Namespaces
in XML 1.0, production 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final
from xml.parsers import expat

from ..codec.text.lines import LABEL_PART, NAME_START
from ..errors import TextError

#: What a name may have, inside brackets.
NAME_PART: Final = LABEL_PART + "."
#: A name without a colon.
NAME: Final = rf"[{NAME_START}][{NAME_PART}]*+"
#: A character that XML does not have.
NO_CHARACTER: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
#: IRIs that are not properties in RDF/XML, or abbreviate another one.
NO_PROPERTIES: Final = frozenset(
    _RDF + name
    for name in (
        "RDF",
        "ID",
        "about",
        "parseType",
        "resource",
        "nodeID",
        "datatype",
        "Description",
        "li",
        "aboutEach",
        "aboutEachPrefix",
        "bagID",
    )
)
#: Namespaces that no prefix can be declared for.
RESERVED_NAMESPACES: Final = (
    "http://www.w3.org/XML/1998/namespace",
    "http://www.w3.org/2000/xmlns/",
)

_OPENING: Final = b"<!ENTITY"
_ENTITY: Final = re.compile(
    _OPENING + rb"\s++([^\s%\"'<>&]{1,255}+)\s++(?:\"([^\"<]*+)\"|'([^'<]*+)')[ \t\r\n]*+>"
)
_REFERENCE: Final = re.compile(rb"&(?!#)([^\s;&]++);")

#: More bytes than a reference has.
_NAME_BYTES: Final = 1 << 9
#: Maximum size of an expanded entity, with nested ones.
_ENTITY_BYTES: Final = 1 << 16
#: Bytes that its declaration may take.
_DECLARATION_BYTES: Final = 1 << 17
#: Maximum size of all expanded references, and how many more bytes for each byte of the text.
_EXPANDED_BYTES: Final = 1 << 24
_EXPANDED_PER_BYTE: Final = 16


class EntityGuard:
    """Rejects entities of one text that are too large; the text comes in chunks.

    :param line: number of its first line.
    :ivar expanded: bytes that its references expand to.
    """

    def __init__(self, line: int = 1) -> None:
        self.expanded = 0
        self._size = 0
        self._line = line
        #: Bytes that each entity expands to.
        self._entities: dict[bytes, int] = {}
        #: The end of what was looked at, which may be the start of a declaration or a reference.
        self._rest = b""
        self._waiting: list[bytes] = []
        #: Bytes of the text in which a declaration that has begun has to end; 0 if none has.
        self._declaring = 0

    def look(self, chunk: bytes) -> None:
        """Look at what comes next.

        :raises TextError: entities expand to too much, or are of a kind that is not known here;
            with the line.
        """
        self._size += len(chunk)
        self._waiting.append(chunk)
        if self._declaring and b">" not in chunk and self._size < self._declaring:
            # A declaration goes on.
            return
        data = b"".join((self._rest, *self._waiting))
        self._waiting.clear()
        done = self._declare(data)
        if self._entities:
            sizes = self._entities
            self.expanded += sum(sizes.get(name, 0) for name in _REFERENCE.findall(data, 0, done))
            if self.expanded > _EXPANDED_BYTES + _EXPANDED_PER_BYTE * self._size:
                raise self._error(f"entities expand to {self.expanded} bytes", data, done)
        self._line += data.count(b"\n", 0, done)
        self._rest = data[done:]

    def _declare(self, data: bytes) -> int:
        """Note the entities that a text declares.

        :return: where the text ends that is known to be whole.
        """
        self._declaring = 0
        pos = 0
        while (start := data.find(_OPENING, pos)) >= 0:
            found = _ENTITY.match(data, start)
            if found is None:
                if b">" in data[start:] or len(data) - start > _DECLARATION_BYTES:
                    raise self._error("an entity of a kind that is not read here", data, start)
                self._declaring = self._size - (len(data) - start) + _DECLARATION_BYTES + 1
                return start
            value = found[2] or found[3] or b""
            sizes = self._entities
            size = len(value) + sum(sizes.get(name, 0) for name in _REFERENCE.findall(value))
            if size > _ENTITY_BYTES:
                raise self._error(f"an entity expands to {size} bytes", data, start)
            sizes[found[1]] = size
            pos = found.end()
        opening = data.rfind(b"<", max(pos, len(data) - len(_OPENING) + 1))
        if self._entities:
            opening = max(opening, data.rfind(b"&", max(pos, len(data) - _NAME_BYTES)))
            if b";" in data[opening:]:
                opening = -1
        return len(data) if opening < 0 else opening

    def _error(self, what: str, data: bytes, pos: int) -> TextError:
        return TextError(what, line=self._line + data.count(b"\n", 0, pos))


def guarded(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks of an XML text, each yielded after it was checked.

    :raises TextError: see :class:`EntityGuard`.

    >>> bomb = b'<!DOCTYPE a [<!ENTITY b "' + b"c" * 70000 + b'">]><a>&b;</a>'
    >>> list(guarded([bomb]))
    Traceback (most recent call last):
    jelly_plugins.errors.TextError: line 1: an entity expands to 70000 bytes
    """
    guard = EntityGuard()
    for chunk in chunks:
        guard.look(chunk)
        yield chunk


def with_line_feeds(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks of an XML document whose lines end in line feeds only, as every parser of XML has to
    read them.

    >>> list(with_line_feeds([b"a\\r\\nb\\r", b"\\nc\\r", b"d"]))
    [b'a\\nb\\n', b'c\\n', b'd']
    """
    after_return = False
    for chunk in chunks:
        part = chunk[1:] if after_return and chunk.startswith(b"\n") else chunk
        if chunk:
            after_return = chunk.endswith(b"\r")
        yield part.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in part else part


#: A tag with a value of ``parseType`` that pyoxigraph does not know.
_PARSE_TYPE: Final = re.compile(
    rb"<[^<>!?][^<>]*?\bparseType\s*=\s*([\"'])(?!(?:Literal|Resource|Collection|Triple)\1)([^\"'<>]*)\1"
)
#: Bytes of a tag that are looked at together.
_TAG_BYTES: Final = 1 << 12


def with_known_parse_types(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks of an RDF/XML document, each after it was checked. pyoxigraph omits properties whose
    ``rdf:parseType`` is another one than those of the specification, which are XML literals.

    :raises TextError: there is one.

    >>> list(with_known_parse_types([b"<e:p rdf:parse", b"Type='Other'>"]))
    Traceback (most recent call last):
    jelly_plugins.errors.TextError: the parseType Other is not supported
    """
    tag = b""
    for chunk in chunks:
        data = tag + chunk
        if b"parseType" in data and (found := _PARSE_TYPE.search(data)):
            raise TextError(f"the parseType {found[2].decode(errors='replace')} is not supported")
        start = data.rfind(b"<")
        tag = data[start:] if start >= 0 and len(data) - start < _TAG_BYTES else b""
        yield chunk


_OTHER_ENCODING: Final = tuple(
    expat.errors.codes[message]
    for message in (
        expat.errors.XML_ERROR_UNKNOWN_ENCODING,
        expat.errors.XML_ERROR_INCORRECT_ENCODING,
    )
)


class _HasRootError(Exception):
    """A document has a root element."""


def with_root(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks of an XML document, each as it is.

    :raises TextError: after the last one: the document has no root element.

    >>> list(with_root([b"<?xml version='1.0'?>", b"<!-- <a/> -->"]))
    Traceback (most recent call last):
    jelly_plugins.errors.TextError: the document has no root element
    """

    def begins(*_: object) -> None:
        raise _HasRootError

    parser = expat.ParserCreate()
    parser.StartElementHandler = begins
    looking = True
    for chunk in chunks:
        yield chunk
        if looking:
            try:
                parser.Parse(chunk, False)
            except _HasRootError:
                looking = False
            except expat.ExpatError as error:
                if error.code not in _OTHER_ENCODING:
                    raise TextError(
                        f"malformed XML: {expat.ErrorString(error.code)}", line=error.lineno
                    ) from None
                looking = False
            except (LookupError, ValueError):
                # An encoding that only pyoxigraph may know.
                looking = False
    if looking:
        raise TextError("the document has no root element")
