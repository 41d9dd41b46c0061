"""RDF/XML rewritten for pyoxigraph's parser, and what RDF/XML cannot express.

pyoxigraph's parser reads UTF-8 only, loses text beside comments, instructions and CDATA sections,
rejects relative bases and entities in single quotes, expands entities without a bound, accepts
documents that are not well-formed, and reports no line. :class:`RdfXmlText` lets expat read a
document, and makes of its events an equivalent one of elements and text in UTF-8.

Reference: XML 1.0; RDF 1.1 XML Syntax.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from typing import Any, Final
from xml.parsers import expat

from ..codec.text.lines import LABEL_PART, NAME_START, NOT_IN_IRI, shorten, unescaped
from ..codec.text.ntriples import StandIns, written_label
from ..errors import JellyError, LimitError, TermError, TextError
from ..io.chunks import Chunk, relabelled
from ..io.sources import CHUNK
from .reading import DEPTH, NEED_BASE, SCHEME, gathered, resolved, too_deep
from .scans import IRI_BYTES

#: A name of XML without a colon.
NAME: Final = rf"[{NAME_START}][{LABEL_PART}.]*+"
#: A character that XML does not have.
NO_CHARACTER: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_PARSE_TYPES: Final = frozenset(("Literal", "Resource", "Collection", "Triple"))
#: Attributes of RDF that are checked.
_CHECKED: Final = ("parseType", "nodeID", "bagID")
_IRI: Final = re.compile(rf"[A-Za-z][A-Za-z0-9+.\-]*+:[^{NOT_IN_IRI}]*+")

#: Attributes that a tag may have, and namespaces that may be in scope: pyoxigraph compares each of
#: them with all others.
_ATTRIBUTES: Final = 1 << 12
#: Bytes of a tag or comment, which expat holds, and reads again from its start with each chunk.
_TAG: Final = 1 << 18
#: Characters of an entity, with those that it refers to.
_ENTITY: Final = 1 << 10
_REFERENCE: Final = re.compile(r"&([^\s;&<#]++);")
#: Bytes at the end of a chunk in which a reference may have begun.
_REFERENCE_BYTES: Final = 256
_PREDEFINED: Final = ("amp", "lt", "gt", "quot", "apos")
#: Bytes of the rewritten document, and of the namespaces that XML literals get, and how many more
#: for each byte of the document.
_EXPANDED: Final = 1 << 24
_EXPANDED_PER_BYTE: Final = 16

# Most text has nothing to escape: a search takes a fraction of the time.
_HAS_ESCAPES: Final = re.compile(r"[&<>\r]").search
_HAS_ATTRIBUTE_ESCAPES: Final = re.compile(r"[&<\"\r\n\t]").search
_IN_TEXT: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_IN_ATTRIBUTE: Final = str.maketrans(
    {"&": "&amp;", "<": "&lt;", '"': "&#34;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
)


class RdfXmlText:
    """An RDF/XML document, rewritten while it is read.

    :param base: the IRI that a relative ``xml:base`` is resolved against.
    :param line: number of the first line.

    :ivar namespaces: IRI by prefix, those that were declared last. The default namespace has the
        prefix ``""``.
    """

    def __init__(self, base: str | None = None, line: int = 1) -> None:
        self.namespaces: dict[str, str] = {}
        self._line = line
        self._base = base
        #: Names of attributes of RDF, by the prefixes in scope.
        self._checked: frozenset[str] = frozenset()
        #: Declarations of namespaces in scope.
        self._in_scope = 0
        #: The base, the names and the declarations around each open element.
        self._open: list[tuple[str | None, frozenset[str], int]] = []
        #: The number of elements around the content of an XML literal; 0 outside of one.
        self._literal = 0
        #: Characters of entities and of namespaces, by name.
        self._entities = dict.fromkeys(_PREDEFINED, 1)
        self._declared: dict[str, int] = {}
        #: Whether a document type may declare entities that are not read.
        self._is_external = False
        self._before = b""
        self._out: list[str] = []
        self._fed = self._expanded = 0
        #: What the document begins with, but for white space.
        self._opening = b"<"
        parser = self._parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._document_type
        parser.EntityDeclHandler = self._entity
        parser.SkippedEntityHandler = self._skipped

    def chunks(self, document: Iterable[bytes]) -> Iterator[bytes]:
        """The rewritten document, once.

        :param document: in UTF-8, UTF-16, or an encoding of single bytes that it declares.
        """
        for chunk in gathered(document):
            if not self._fed:
                self._opening = chunk.lstrip()[:2] or b"<"
            for at in range(0, len(chunk), CHUNK):
                yield from self._parsed(chunk[at : at + CHUNK], is_last=False)
        yield from self._parsed(b"", is_last=True)

    def _parsed(self, data: bytes, *, is_last: bool) -> Iterator[bytes]:
        """The text that some bytes become; before an error, what comes before it."""
        self._fed += len(data)
        failed = self._parse(data, is_last=is_last)
        if self._out:
            text = "".join(self._out).encode()
            self._out.clear()
            self._expanded += len(text)
            yield text
        if failed is not None:
            raise failed
        self._check_expanded()
        if self._is_external:
            self._check_references(data)
        if self._fed - max(0, self._parser.CurrentByteIndex) > _TAG:
            raise LimitError("a tag or comment is too long")

    def _parse(self, data: bytes, *, is_last: bool) -> JellyError | None:
        """Let expat call the handlers; return the error, if there is one."""
        parser = self._parser
        try:
            parser.Parse(data, is_last)
        except expat.ExpatError as error:
            message = expat.ErrorString(error.code)
            if is_last:
                has_root = self._open or message != expat.errors.XML_ERROR_NO_ELEMENTS
                message = f"the document {'is truncated' if has_root else 'has no root element'}"
            if self._opening[:1] not in b"<\xfe\xff\x00":
                message += "; this is another syntax than RDF/XML, which begins with <"
            failed = TextError(f"malformed XML: {message}")
            failed.line, failed.column = self._line + error.lineno - 1, error.offset + 1
            return failed
        except JellyError as error:
            if isinstance(error, TextError):
                error.line = self._line + parser.CurrentLineNumber - 1
            return error
        except (LookupError, ValueError) as error:
            # From Python's codecs, which expat asks for what it does not know.
            return TextError(f"the declared encoding is not supported: {error}", line=self._line)
        return None

    def _check_expanded(self) -> None:
        if self._expanded > _EXPANDED + _EXPANDED_PER_BYTE * self._fed:
            raise TextError(
                "entities, or namespaces of XML literals, expand to more than "
                f"{_EXPANDED_PER_BYTE} times the document"
            )

    def _document_type(self, _: str, system: str | None, __: str | None, ___: bool) -> None:
        self._is_external = system is not None

    def _check_references(self, data: bytes) -> None:
        """Check references, in any encoding: in attributes, expat leaves those out without an error
        that an external document type may declare."""
        text = self._before + data.replace(b"\0", b"")
        for name in _REFERENCE.findall(text.decode(errors="replace")):
            if name not in self._entities:
                raise TextError(f"the entity &{name}; is not declared")
        self._before = text[-_REFERENCE_BYTES:]

    def _entity(self, name: str, is_parameter: bool, value: str | None, *_: Any) -> None:
        if is_parameter or value is None:
            raise TextError("external and parameter entities are not supported")
        size = len(value)
        for inner in _REFERENCE.findall(value):
            if inner not in self._entities:
                raise TextError(f"the entity &{inner}; is not declared before &{name};")
            size += self._entities[inner]
        if size > _ENTITY:
            raise LimitError(f"the entity &{name}; expands to more than {_ENTITY} characters")
        self._entities.setdefault(name, size)

    def _skipped(self, name: str, is_parameter: bool) -> None:
        kind = "parameter entity %" if is_parameter else "entity &"
        raise TextError(f"the {kind}{name}; is not declared")

    def _text(self, text: str) -> None:
        self._out.append(text.translate(_IN_TEXT) if _HAS_ESCAPES(text) else text)

    def _end(self, name: str) -> None:
        self._base, self._checked, self._in_scope = self._open.pop()
        if len(self._open) < self._literal:
            self._literal = 0
        self._out.append(f"</{name}>")

    def _start(self, name: str, attributes: list[str]) -> None:
        self._open.append((self._base, self._checked, self._in_scope))
        if len(self._open) > DEPTH:
            raise too_deep()
        if self._literal and len(self._open) == self._literal + 1:
            # pyoxigraph declares all namespaces in scope in each element of the literal's content.
            self._expanded += sum(self._declared.values())
            self._check_expanded()
        if not attributes:
            self._out.append(f"<{name}>")
            return
        if len(attributes) > 2 * _ATTRIBUTES:
            raise LimitError(f"a tag has more than {_ATTRIBUTES} attributes")
        names, values = attributes[::2], attributes[1::2]
        for key, value in zip(names, values, strict=True):
            if key.startswith("xmlns"):
                self._declare(key[6:], value)
        tag = f"<{name}"
        in_literal = self._literal
        for key, value in zip(names, values, strict=True):
            if in_literal:
                pass
            elif key in self._checked:
                value = self._attribute(key, value)
            elif key == "xml:base":
                self._base = self._resolved(value)
                if self._base is None:
                    continue
                value = self._base
            if _HAS_ATTRIBUTE_ESCAPES(value):
                value = value.translate(_IN_ATTRIBUTE)
            tag += f' {key}="{value}"'
        self._out.append(f"{tag}>")

    def _declare(self, prefix: str, iri: str) -> None:
        _check_length(iri)
        self._in_scope += 1
        if self._in_scope > _ATTRIBUTES:
            raise LimitError(f"more than {_ATTRIBUTES} declarations of namespaces are in scope")
        self._declared[prefix] = len(prefix) + len(iri)
        names = {f"{prefix}:{name}" for name in _CHECKED}
        if iri == _RDF:
            self._checked |= names
        elif self._checked & names:
            self._checked -= names
        if _IRI.fullmatch(iri):
            self.namespaces[prefix] = iri

    def _attribute(self, key: str, value: str) -> str:
        """The value of an attribute of RDF."""
        name = key.rpartition(":")[2]
        if name == "bagID":
            raise TextError("rdf:bagID is not part of RDF 1.1")
        if name == "nodeID":
            # pyoxigraph writes these as N-Quads that are not valid.
            return written_label(value) if value.endswith(".") else value
        if value not in _PARSE_TYPES:
            raise TextError(f"the parseType {value} is not supported")
        if value == "Literal":
            self._literal = len(self._open)
        return value

    def _resolved(self, reference: str) -> str | None:
        """The base of an element with an attribute ``xml:base``."""
        if not reference:
            return self._base
        _check_length(reference)
        base = resolved(reference, self._base, "xml:base")
        if not SCHEME.match(base):
            raise TextError(f"the xml:base {reference!r} is relative{NEED_BASE}")
        _check_length(base)
        return base


def _check_length(iri: str) -> None:
    if len(iri) > IRI_BYTES:
        raise LimitError(f"a namespace or base has more than {IRI_BYTES} characters")


# Writing

#: IRIs that are not properties in RDF/XML, but for those that pyoxigraph rejects.
_NO_PROPERTIES: Final = frozenset(_RDF + name for name in ("aboutEach", "aboutEachPrefix", "bagID"))
#: Namespaces that cannot have a prefix.
RESERVED_NAMESPACES: Final = (
    "http://www.w3.org/XML/1998/namespace",
    "http://www.w3.org/2000/xmlns/",
)
#: Labels of blank nodes in RDF/XML: pyoxigraph writes any as ``rdf:nodeID``, which has to be an XML
#: name.
XML_LABELS: Final = StandIns(re.compile(NAME).fullmatch)
#: The characters of XML names without a colon, and those that begin one.
_NAME_CHARACTERS: Final = re.compile(f"[{LABEL_PART}.]*+")
_NAME_STARTS: Final = re.compile(f"[{NAME_START}]")
#: Predicates of lines and of triple terms.
_PREDICATE: Final = re.compile(
    rb'"(?:[^"\\]++|\\.)*+"|(?:^|<<\( )(?:<[^>]*+>|_:[^ ]++) <([^>]*+)>', re.MULTILINE | re.DOTALL
)
#: The class that a line states.
_CLASS: Final = re.compile(
    rb"^[^ \n]++ <http://www\.w3\.org/1999/02/22-rdf-syntax-ns#type> <([^>]*+)> ", re.MULTILINE
)
_STRING: Final = re.compile(rb'"((?:[^"\\]++|\\.)*+)"', re.DOTALL)
_CONTROLS: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def _is_element(name: str) -> bool:
    """Whether XML parsers read an element of a name: expat, as many others, has the names of the
    fourth edition of XML 1.0, which are fewer.
    """
    try:
        expat.ParserCreate().Parse(f"<{name}/>".encode(), True)
    except expat.ExpatError:
        return False
    return True


@lru_cache(maxsize=4096)
def _element_of(iri: str) -> str | None:
    """The name at the end of an IRI that an element can have; empty if XML parsers reject it, None
    if there is none. In linear time, which a search for a name before the end is not.
    """
    end = _NAME_CHARACTERS.match(iri[::-1])
    assert end is not None
    tail = iri[len(iri) - end.end() :]
    start = _NAME_STARTS.search(tail)
    if start is None:
        return None
    name = tail[start.start() :]
    return name if _is_element(name) else ""


class XmlChecks:
    """Rejects what pyoxigraph would write, but RDF/XML cannot express."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def checked(self, text: bytes) -> bytes:
        """The text of a chunk of N-Quads, with labels that are XML names."""
        for found in set(_PREDICATE.findall(text)) - self._known:
            predicate = found.decode()
            name = _element_of(predicate)
            if predicate and name is None:
                message = f"RDF/XML cannot express the predicate <{shorten(predicate)}>"
                raise TermError(f"{message}: it has no XML name at its end")
            if name is not None and (
                not name
                or predicate in _NO_PROPERTIES
                or predicate.removesuffix(name) in RESERVED_NAMESPACES
            ):
                raise TermError(f"RDF/XML cannot express the predicate <{shorten(predicate)}>")
            self._known.add(found)
        if b"\\" in text or b"\xef\xbf" in text or _CONTROLS.search(text):
            for string in _STRING.findall(text):
                if character := NO_CHARACTER.search(unescaped(string.decode())):
                    code = ord(character[0])
                    raise TermError(f"XML cannot express the character U+{code:04X}")
        return relabelled(text, lambda label: XML_LABELS.write(label.decode()).encode())


def with_classes_later(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Chunks with another statement of a subject before those whose class has no XML name:
    pyoxigraph makes the name of an element of the class that comes first.

    :raises TermError: a subject has no other statement beside them.
    """
    subject = b""
    held: list[bytes] = []
    for text, statements in chunks:
        if held or not all(map(_may_be_first, _CLASS.finditer(text))):
            waiting = held + text.splitlines(keepends=True)
            lines: list[bytes] = []
            held = []
            for name, group in groupby(waiting, _subject):
                _reject(held)
                for line in group:
                    if name == subject or _may_be_first(_CLASS.match(line)):
                        lines += (line, *held)
                        held = []
                        subject = name
                    else:
                        held.append(line)
            text = b"".join(lines)
        if text:
            subject = _subject(text[text.rfind(b"\n", 0, -1) + 1 :])
        yield Chunk(text, statements)
    _reject(held)


def _subject(line: bytes) -> bytes:
    return line[: line.find(b" ")]


def _may_be_first(stated: re.Match[bytes] | None) -> bool:
    """Whether a statement may be the first of its subject."""
    return stated is None or bool(_element_of(stated[1].decode()))


def _reject(held: list[bytes]) -> None:
    if held:
        iri = held[0].split(b" ")[2].decode()
        raise TermError(
            f"RDF/XML cannot express a subject with the class {shorten(iri)} alone, which has no "
            "XML name at its end"
        )
