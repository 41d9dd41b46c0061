"""RDF/XML rewritten for pyoxigraph's parser, and what RDF/XML cannot express.

pyoxigraph's parser reads UTF-8 only, loses text beside comments, instructions and CDATA sections,
rejects relative bases, expands entities without a bound, and accepts documents that are not
well-formed. :class:`RdfXmlText` lets expat read a document, and makes of its events an equivalent
one of elements and text in UTF-8.

Reference: XML 1.0; RDF 1.1 XML Syntax.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final
from xml.parsers import expat

from ..codec.text.lines import LABEL_PART, NAME_START, NOT_IN_IRI, unescaped
from ..codec.text.ntriples import StandIns, written_label
from ..errors import JellyError, LimitError, TermError, TextError
from ..io.chunks import relabelled
from ..lazy import library
from .depth import DEPTH, too_deep
from .scans import IRI_BYTES

#: A name of XML without a colon.
NAME: Final = rf"[{NAME_START}][{LABEL_PART}.]*+"
#: A character that XML does not have.
NO_CHARACTER: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_PARSE_TYPES: Final = frozenset(("Literal", "Resource", "Collection", "Triple"))
#: Attributes of RDF that are checked.
_CHECKED: Final = ("parseType", "nodeID", "bagID")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*+:")
_IRI: Final = re.compile(rf"[A-Za-z][A-Za-z0-9+.\-]*+:[^{NOT_IN_IRI}]*+")
_NOT_IN_IRI: Final = re.compile(f"[{NOT_IN_IRI}]")
#: What to add to the error of a relative IRI without a base.
NEED_BASE: Final = ": relative IRIs need a base"

#: Attributes that a tag may have: pyoxigraph compares each of them with all others.
_ATTRIBUTES: Final = 1 << 12
#: Bytes of a tag or comment, at most twice as many: expat holds it, and makes all its attributes.
_TAG: Final = 1 << 24
#: Characters of an entity, with those that it refers to; and where there are any, bytes of a tag,
#: and bytes that are parsed at once.
_ENTITY: Final = 1 << 10
_TAG_WITH_ENTITIES: Final = 1 << 16
_STEP: Final = 1 << 12
_REFERENCE: Final = re.compile(r"&([^\s;&<#]{1,255}+);")
#: Bytes of one.
_LONGEST_REFERENCE: Final = 4 * 255 + 2
_PREDEFINED: Final = ("amp", "lt", "gt", "quot", "apos")
#: Characters of the rewritten document, and of the namespaces that XML literals get, and how many
#: more for each byte of the document.
_EXPANDED: Final = 1 << 24
_EXPANDED_PER_BYTE: Final = 16

# Most text has nothing to escape: a search takes a fraction of the time.
_HAS_ESCAPES: Final = re.compile(r"[&<>\r]").search
_HAS_ATTRIBUTE_ESCAPES: Final = re.compile(r"[&<\"\r\n\t]").search
_IN_TEXT: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_IN_ATTRIBUTE: Final = str.maketrans(
    {"&": "&amp;", "<": "&lt;", '"': "&#34;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
)

_TURTLE: Final = "Turtle, or a format like it"
#: How texts in other syntaxes begin, which are often named ``.owl``, ``.rdf`` or ``.xml``.
_SYNTAXES: Final = (
    (re.compile(rb"\s*(Prefix|Ontology|Import)\s*\("), "OWL functional-style syntax"),
    (re.compile(rb"\s*(Prefix|Ontology|Import):"), "OWL Manchester syntax"),
    (re.compile(rb"\s*(format-version|ontology):"), "OBO format"),
    (re.compile(rb"\s*(#|_:|@?(prefix|base)\s|<https?:)", re.IGNORECASE), _TURTLE),
    (re.compile(rb"\s*[{\[]"), "JSON"),
)
_SYNTAX_BYTES: Final = 100


class RdfXmlText:
    """An RDF/XML document, rewritten while it is read.

    :param base: the IRI that a relative ``xml:base`` is resolved against.
    :param line: number of the first line.

    :ivar namespaces: IRI by prefix, those that were declared last. The default namespace has the
        prefix ``""``.

    >>> text = RdfXmlText("http://example.org/")
    >>> chunks = [b"<a xmlns='urn:x' xml:ba", b"se='b/'>c<!-- d -", b"-><![CDATA[&]]></a>"]
    >>> b"".join(text.chunks(chunks)).decode()
    '<a xmlns="urn:x" xml:base="http://example.org/b/">c&amp;</a>'
    >>> text.namespaces
    {'': 'urn:x'}
    """

    def __init__(self, base: str | None = None, line: int = 1) -> None:
        self.namespaces: dict[str, str] = {}
        self._line = line
        #: The base, and those around the open elements.
        self._base = base
        self._bases: list[str | None] = []
        #: Characters of entities and of namespaces, by name.
        self._entities = dict.fromkeys(_PREDEFINED, 1)
        self._declared: dict[str, int] = {}
        self._expanded = 0
        self._checked: set[str] = set()
        #: Whether a document type may declare entities that are not read.
        self._is_external = False
        #: The end of the last chunk, which a reference may begin in.
        self._before = b""
        self._out: list[str] = []
        self._head = b""
        self._fed = 0
        parser = self._parser = expat.ParserCreate("utf-8")
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

        :param document: in UTF-8, see ``xml``.
        :raises TextError: the document is not well-formed, or has something that is not read here.
        :raises LimitError: elements are nested too deep, a tag has too many attributes, or a
            namespace or base is too long.
        """
        waiting: list[bytes] = []
        size = token = 0
        for chunk in document:
            self._head = (self._head + chunk)[:_SYNTAX_BYTES]
            waiting.append(chunk)
            size += len(chunk)
            # Expat reads a token that has not ended from its start again.
            if size < token:
                continue
            yield from self._parsed(b"".join(waiting), is_last=False)
            token = self._token()
            waiting.clear()
            size = 0
        yield from self._parsed(b"".join(waiting), is_last=True)

    def _token(self) -> int:
        """Bytes of the token that has not ended."""
        return self._fed - max(0, self._parser.CurrentByteIndex)

    def _parsed(self, data: bytes, *, is_last: bool) -> Iterator[bytes]:
        """The text that some bytes become; before an error, what comes before it."""
        pos = 0
        while pos < len(data) or is_last:
            entities = len(self._entities) > len(_PREDEFINED)
            # Before the root element, entities may follow.
            in_steps = entities or not self._declared
            chunk = data[pos : pos + _STEP] if in_steps else data[pos:]
            pos += len(chunk)
            self._fed += len(chunk)
            failed = self._parse(chunk)
            if is_last and pos == len(data) and failed is None:
                is_last = False
                failed = self._parse(b"", is_last=True)
            if self._out:
                text = "".join(self._out)
                self._out.clear()
                self._expanded += len(text)
                yield text.encode()
            if failed is not None:
                raise failed
            self._check_expanded()
            if self._token() > (_TAG_WITH_ENTITIES if entities else _TAG):
                where = " in a document with entities" if entities else ""
                raise LimitError(f"a tag or comment{where} is too long")

    def _parse(self, data: bytes, *, is_last: bool = False) -> JellyError | None:
        """Let expat call the handlers; return the error, if there is one."""
        parser = self._parser
        try:
            parser.Parse(data, is_last)
            if self._is_external:
                self._check_references(data)
        except expat.ExpatError as error:
            message = expat.ErrorString(error.code)
            if is_last:
                has_root = self._bases or message != expat.errors.XML_ERROR_NO_ELEMENTS
                message = f"the document {'is truncated' if has_root else 'has no root element'}"
            failed = TextError(f"malformed XML: {message}")
            syntaxes = (name for pattern, name in _SYNTAXES if pattern.match(self._head))
            if not self._declared and (syntax := next(syntaxes, None)):
                failed = TextError(f"this is not RDF/XML but {syntax}")
            failed.line, failed.column = self._line + error.lineno - 1, error.offset + 1
            return failed
        except JellyError as error:
            if isinstance(error, TextError):
                error.line = self._line + parser.CurrentLineNumber - 1
            return error
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
        """Check references to entities, which expat leaves out if they may be declared in an
        external document type."""
        data = self._before + data
        self._before = data[-_LONGEST_REFERENCE:]
        for name in _REFERENCE.findall(data.decode(errors="replace")):
            if name not in self._entities:
                raise TextError(f"the entity &{name}; is not declared")

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
        self._base = self._bases.pop()
        self._out.append(f"</{name}>")

    def _start(self, name: str, attributes: list[str]) -> None:
        self._bases.append(self._base)
        if len(self._bases) > DEPTH:
            raise too_deep()
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
        for key, value in zip(names, values, strict=True):
            if key in self._checked or key == "xml:base":
                value = self._attribute(key, value)
                if not value:
                    continue
            if _HAS_ATTRIBUTE_ESCAPES(value):
                value = value.translate(_IN_ATTRIBUTE)
            tag += f' {key}="{value}"'
        self._out.append(f"{tag}>")

    def _declare(self, prefix: str, iri: str) -> None:
        _check_length(iri)
        self._declared[prefix] = len(prefix) + len(iri)
        if iri == _RDF:
            self._checked.update(f"{prefix}:{name}" for name in _CHECKED)
        if _IRI.fullmatch(iri):
            self.namespaces[prefix] = iri

    def _attribute(self, key: str, value: str) -> str:
        """The value of an attribute that is checked; empty if the attribute is left out."""
        if key == "xml:base":
            return self._new_base(value)
        name = key.rpartition(":")[2]
        if name == "bagID":
            raise TextError("rdf:bagID is not part of RDF 1.1")
        if name == "nodeID":
            # pyoxigraph writes these as N-Quads that are not valid.
            return written_label(value) if value.endswith(".") else value
        if value not in _PARSE_TYPES:
            raise TextError(f"the parseType {value} is not supported")
        if value == "Literal":
            # pyoxigraph declares all namespaces in scope in the literal.
            self._expanded += sum(self._declared.values())
            self._check_expanded()
        return value

    def _new_base(self, reference: str) -> str:
        """The base of an element with an attribute ``xml:base``."""
        if _SCHEME.match(reference):
            self._base = reference
        elif self._base is not None:
            self._base = _resolved(reference, self._base)
        elif reference:
            raise TextError(f"the xml:base {reference!r} is relative{NEED_BASE}")
        _check_length(self._base or "")
        return self._base or ""


def _check_length(iri: str) -> None:
    if len(iri) > IRI_BYTES:
        raise LimitError(f"a namespace or base has more than {IRI_BYTES} characters")


def _resolved(reference: str, base: str) -> str:
    """Resolve a relative IRI.

    :raises TextError: the result or the base is not an absolute IRI.
    """
    pyoxigraph = library("pyoxigraph", "this format", "oxigraph")
    escaped = _NOT_IN_IRI.sub(lambda found: f"\\u{ord(found[0]):04X}", reference)
    text = f"<{escaped}> <x:p> <x:o> ."
    try:
        (statement,) = pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.TURTLE, base_iri=base)
    except (SyntaxError, ValueError) as error:
        message = f"the IRI {reference!r} cannot be resolved against {base!r}: {error}"
        raise TextError(message) from None
    return str(statement.subject.value)


# Writing

#: IRIs that are not properties in RDF/XML, or abbreviate another one.
_NO_PROPERTIES: Final = frozenset(
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
#: Namespaces that cannot have a prefix.
_RESERVED_NAMESPACES: Final = (
    "http://www.w3.org/XML/1998/namespace",
    "http://www.w3.org/2000/xmlns/",
)
#: Labels of blank nodes in RDF/XML: pyoxigraph writes any as ``rdf:nodeID``, which has to be an XML
#: name.
XML_LABELS: Final = StandIns(re.compile(NAME).fullmatch)
#: IRIs that end in an XML name without a colon, as properties have to in RDF/XML.
_XML_PREDICATE: Final = re.compile(rf"{NAME}\Z")
#: Predicates of lines and of triple terms.
_PREDICATE: Final = re.compile(
    rb'"(?:[^"\\]++|\\.)*+"|(?:^|<<\( )(?:<[^>]*+>|_:[^ ]++) <([^>]*+)>', re.MULTILINE | re.DOTALL
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


class XmlChecks:
    """Rejects what pyoxigraph would write, but RDF/XML cannot express."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def checked(self, text: bytes) -> bytes:
        """The text of a chunk of N-Quads, with labels that are XML names.

        :raises TermError: RDF/XML cannot express it.
        """
        for found in set(_PREDICATE.findall(text)) - self._known:
            predicate = found.decode()
            name = _XML_PREDICATE.search(predicate)
            if predicate and name is None:
                message = f"RDF/XML cannot express the predicate <{predicate}>"
                raise TermError(f"{message}: it has no XML name at its end")
            if name and (
                predicate in _NO_PROPERTIES
                or predicate[: name.start()] in _RESERVED_NAMESPACES
                or not _is_element(name[0])
            ):
                raise TermError(f"RDF/XML cannot express the predicate <{predicate}>")
            self._known.add(found)
        if b"\\" in text or b"\xef\xbf" in text or _CONTROLS.search(text):
            for string in _STRING.findall(text):
                if character := NO_CHARACTER.search(unescaped(string.decode())):
                    code = ord(character[0])
                    raise TermError(f"XML cannot express the character U+{code:04X}")
        return relabelled(text, lambda label: XML_LABELS.write(label.decode()).encode())
