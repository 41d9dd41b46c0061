"""RDF/XML rewritten for pyoxigraph's parser, chunk by chunk.

pyoxigraph's parser reads UTF-8 only, loses text beside comments, instructions and CDATA sections,
rejects relative bases and entities in single quotes, expands entities without a bound, and accepts
documents that XML does not allow. :class:`RdfXmlText` makes of a document an equivalent one of
elements and text in UTF-8, without comments, instructions, CDATA sections or a document type.

``<`` begins markup wherever it occurs, since values of attributes cannot contain it. So a chunk is
cut at each ``<!`` and ``<?``. Most chunks have none, and pass after a few searches. Only a chunk
with namespaces or other attributes that are checked here is split into its tags.

This module does not check that tags match or that attributes are unique: pyoxigraph does.

Reference: XML 1.0, sections "Character Data and Markup", "Physical Structures" and
"Attribute-Value Normalization"; RDF 1.1 XML Syntax.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from itertools import islice
from typing import Any, Final

from ..codec.text.lines import NOT_IN_IRI
from ..codec.text.ntriples import written_label
from ..errors import LimitError, TextError
from ..lazy import library
from .depth import DEPTH, too_deep
from .xml import NO_CHARACTER, normalized

_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_PARSE_TYPES: Final = frozenset((b"Literal", b"Resource", b"Collection", b"Triple"))
#: The start of an absolute IRI.
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*+:")
_IRI: Final = re.compile(rf"[A-Za-z][A-Za-z0-9+.\-]*+:[^{NOT_IN_IRI}]*+")
_NOT_IN_IRI: Final = re.compile(f"[{NOT_IN_IRI}]")

_QUOTED: Final = rb"\"[^\"]*+\"|'[^']*+'"
_COMMENT: Final = rb"<!--(?:[^-]++|-(?!-))*+-->"
_INSTRUCTION: Final = rb"<\?(?:[^?]++|\?(?!>))*+\?>"
_DECLARATION: Final = rb"<!(?!--)(?:[^<>\"']++|" + _QUOTED + rb")*+>"

_DOCTYPE: Final = re.compile(
    rb"<!DOCTYPE[ \t\n](?:[^\[<>\"']++|" + _QUOTED + rb")*+(?:\[("
    rb"(?:[^\]<\"']++|" + _COMMENT + rb"|" + _INSTRUCTION + rb"|" + _DECLARATION + rb")*+"
    rb")\][ \t\n]*+)?+>"
)
#: Maximum length of a document type.
_DOCTYPE_BYTES: Final = 1 << 20
#: The parts of its internal subset.
_SUBSET: Final = re.compile(
    rb"[ \t\n]++|" + _COMMENT + rb"|" + _INSTRUCTION + rb"|(" + _DECLARATION + rb")"
)
_ENTITY: Final = re.compile(
    rb"<!ENTITY[ \t\n]++([^\s%\"'<>&;]{1,255}+)[ \t\n]++(?:\"([^\"<]*+)\"|'([^'<]*+)')[ \t\n]*+>"
)
#: A quotation mark after the name of an attribute, its type, or "#FIXED".
_HAS_DEFAULT: Final = re.compile(rb"[\"']")
_PREDEFINED: Final = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'"}
_ESCAPE: Final = re.compile(rb"&(?:#(x[0-9A-Fa-f]++|[0-9]++)|(amp|lt|gt|quot|apos));")
_REFERENCE: Final = re.compile(rb"&([^\s;&<#]{1,255}+);")
_CHARACTER: Final = re.compile(rb"&#(x[0-9A-Fa-f]++|[0-9]++);")
#: Maximum length of a reference.
_REFERENCE_BYTES: Final = 1 << 8
#: Entities in entities, at most.
_ENTITY_DEPTH: Final = 64
#: Maximum size of an expanded entity, with nested ones.
_ENTITY_BYTES: Final = 1 << 16
#: Maximum size of all expanded references and of the namespaces that XML literals get, and how many
#: more bytes for each byte of the document.
_EXPANDED_BYTES: Final = 1 << 24
_EXPANDED_PER_BYTE: Final = 16

#: What begins with the same character as a tag, and is none.
_SECTION: Final = re.compile(rb"<[!?]")
_TAG: Final = re.compile(rb"<[^<>!?\"'][^<>\"']*+(?:(?:\"[^\"<]*+\"|'[^'<]*+')[^<>\"']*+)*+>")
_TAG_OR_OPENING: Final = re.compile(_TAG.pattern + b"|<")
_ATTRIBUTE: Final = re.compile(rb"([^ \t\n=\"'<>/]++)[ \t\n]*+=[ \t\n]*+(\"[^\"]*+\"|'[^']*+')")
#: Attributes that a tag may have: pyoxigraph compares each of them with all others.
_ATTRIBUTES: Final = 1 << 12
#: A tag that may have so many.
_LONG: Final = re.compile(rb"<[^<]{%d}" % (8 * _ATTRIBUTES))
#: The words of attributes that are checked or changed.
_WORDS: Final = (b"xml:base", b"parseType", b"bagID")
_XMLNS: Final = re.compile(
    rb"[ \t\n]xmlns(?::([^ \t\n=\"'<>/]++))?+[ \t\n]*+=[ \t\n]*+(\"[^\"]*+\"|'[^']*+')"
)
#: A tag whose first attribute is one.
_FIRST_XMLNS: Final = re.compile(rb"<[^ \t\n<>!?/\"'=&]++" + _XMLNS.pattern)
#: A value with white space that is read as a space, or with a character that is not allowed.
_BREAK: Final = re.compile(rb"=[ \t\n]*+(?:\"[^\"<\n\t]*+[<\n\t]|'[^'<\n\t]*+[<\n\t])")

#: A label that pyoxigraph reads and then writes as N-Quads that are not valid.
_DOTTED: Final = re.compile(rb"nodeID[ \t\n]*+=[ \t\n]*+(?:\"[^\"<]*\.\"|'[^'<]*\.')")
_SPACES: Final = bytes.maketrans(b"\n\t", b"  ")

#: What to add to the error of a relative IRI without a base.
NEED_BASE: Final = ": relative IRIs need a base"

_TURTLE: Final = "Turtle, or a format like it"
#: Bytes that show what a text is that is not XML.
_SYNTAX_BYTES: Final = 32
#: How texts in other syntaxes begin, which are often named ``.owl``, ``.rdf`` or ``.xml``.
_SYNTAXES: Final = (
    (re.compile(r"(Prefix|Ontology|Import)\s*\("), "OWL functional-style syntax"),
    (re.compile(r"(Prefix|Ontology|Import):"), "OWL Manchester syntax"),
    (re.compile(r"format-version:|ontology:"), "OBO format"),
    (re.compile(r"#|_:|@(prefix|base)\s|(prefix|base)\s", re.I), _TURTLE),
    (re.compile(r"[{\[]"), "JSON"),
)


class RdfXmlText:
    """An RDF/XML document, rewritten while it is read.

    :param base: the IRI that a relative ``xml:base`` is resolved against.
    :param line: number of the first line.

    :ivar namespaces: IRI by prefix, those that were declared last. The default namespace has the
        prefix ``""``.

    >>> text = RdfXmlText("http://example.org/")
    >>> chunks = [b"<a xmlns='urn:x' xml:ba", b"se='b/'>c<!-- d -", b"-><![CDATA[&]]></a>"]
    >>> b"".join(text.chunks(chunks)).decode()
    '<a xmlns=\\'urn:x\\' xml:base="http://example.org/b/">c&amp;</a>'
    >>> text.namespaces
    {'': 'urn:x'}
    """

    def __init__(self, base: str | None = None, line: int = 1) -> None:
        self.namespaces: dict[str, str] = {}
        self._base = base
        self._entities = _Entities()
        #: Characters of each namespace, by prefix.
        self._declared: dict[bytes, int] = {}
        #: Prefixes that were declared for the namespace of RDF.
        self._rdf: set[bytes] = set()
        self._line = line
        self._begun = self._has_type = self._has_root = False
        #: The open inner elements with a base: how many elements are open around each, since the
        #: outermost of them, and the base around it.
        self._bases: list[tuple[int, str | None]] = []
        self._depth = 0
        #: Elements that are open.
        self._open = 0
        #: What ends the comment, the instruction or the CDATA section that is open.
        self._end = b""

    def chunks(self, document: Iterable[bytes]) -> Iterator[bytes]:
        """The rewritten document, once.

        :param document: in any encoding, without a byte order mark of UTF-8.
        :raises TextError: the document is not well-formed, is truncated, or has something that is
            not read here; with the line.
        :raises LimitError: elements are nested too deep, or a tag has too many attributes.
        """
        return self.rewritten(normalized(document))

    def rewritten(self, document: Iterable[bytes]) -> Iterator[bytes]:
        """Likewise, of a document that :func:`.xml.normalized` has made."""
        waiting: list[bytes] = []
        size = wanted = 0
        for chunk in document:
            waiting.append(chunk)
            size += len(chunk)
            self._entities.document_bytes += len(chunk)
            if size < wanted:
                continue
            rest = b"".join(waiting)
            done = yield from self._whole_tokens(rest)
            rest = rest[done:]
            waiting = [rest]
            size = len(rest)
            # No more text is scanned again than is new.
            wanted = 2 * size
        if size:
            rest = b"".join(waiting)
            done = yield from self._whole_tokens(rest, final=True)
            if done < len(rest):
                raise self._error("the document is truncated")
        # pyoxigraph accepts a document that ends inside of an element.
        if self._end or self._open > 0:
            raise self._error("the document is truncated")
        if not self._has_root:
            raise self._error("the document has no root element")

    def _error(self, message: str) -> TextError:
        return TextError(message, line=self._line)

    def _whole_tokens(self, data: bytes, *, final: bool = False) -> Any:
        """The text of whole tokens; a generator that returns where they end."""
        pos = 0
        while pos < len(data):
            done = pos
            if self._end:
                pos, text = self._section(data, pos)
            elif data.startswith((b"<!", b"<?"), pos):
                pos, text = self._opened(data, pos), b""
            else:
                pos, text = self._content(data, pos, final=final)
            if text:
                yield text
            self._line += data.count(b"\n", done, pos)
            if pos == done:
                break
        return pos

    def _section(self, data: bytes, start: int) -> tuple[int, bytes]:
        """The text of what is in a comment, an instruction or a CDATA section."""
        end = self._end
        # The characters "--" do not occur in comments.
        mark = end[:2] if end == b"-->" else end
        found = data.find(mark, start)
        if found >= 0:
            if data.startswith(end, found):
                self._end = b""
                after = found + len(end)
            elif len(data) - found < len(end):
                after = found
            else:
                raise self._error('malformed XML: a comment has "--"')
        else:
            found = after = max(start, len(data) - len(mark) + 1)
        return after, _escaped(data[start:found]) if end == b"]]>" else b""

    def _opened(self, data: bytes, start: int) -> int:
        """Begin a comment, an instruction or a CDATA section, or read the document type.

        :return: where it goes on; the start if that is not known yet.
        """
        begun, self._begun = self._begun, True
        if data.startswith(b"<?", start):
            opening, end = b"<?", b"?>"
            target = data[start : start + 6].lower()
            if len(target) < 6:
                self._begun = begun
                return start
            if target[:5] == b"<?xml" and target[5:] in b" \t\n?" and begun:
                raise self._error("malformed XML: an XML declaration that is not at the start")
        elif data.startswith(b"<!--", start):
            opening, end = b"<!--", b"-->"
        elif data.startswith(b"<![CDATA[", start):
            opening, end = b"<![CDATA[", b"]]>"
            if not self._has_root:
                raise self._error("malformed XML: a CDATA section before the root element")
        elif data.startswith(b"<!DOCTYPE", start):
            return self._document_type(data, start)
        else:
            opening = data[start : start + 9]
            if any(each.startswith(opening) for each in (b"<!--", b"<![CDATA[", b"<!DOCTYPE")):
                return start
            raise self._error("malformed XML: an unknown declaration")
        self._end = end
        return start + len(opening)

    def _document_type(self, data: bytes, start: int) -> int:
        found = _DOCTYPE.match(data, start)
        size = len(data) - start if found is None else found.end() - start
        if size > _DOCTYPE_BYTES:
            raise self._error("the document type is malformed, or too long")
        if found is None:
            return start
        if self._has_type or self._has_root:
            raise self._error("malformed XML: a document type that is not before the root element")
        self._has_type = True
        try:
            self._entities.declare(found[1] or b"")
        except TextError as error:
            raise self._error(error.message) from None
        return found.end()

    def _content(self, data: bytes, start: int, *, final: bool) -> tuple[int, bytes]:
        """Rewrite tags and text up to the next ``<!`` or ``<?``."""
        found = _SECTION.search(data, start)
        end = len(data) if found is None else found.start()
        last = data.rfind(b"<", start, end)
        is_whole = last < 0 or _TAG.match(data, last, end) is not None
        if end < len(data):
            if not is_whole:
                raise self._error('malformed XML: "<" in a tag')
        elif not is_whole:
            end = last
        elif not final:
            last = data.rfind(b"&", max(last, start, end - _REFERENCE_BYTES), end)
            if last >= 0 and data.find(b";", last, end) < 0:
                end = last
        text = data[start:end]
        self._check_tags(text)
        self._begun = self._begun or bool(text)
        if not self._has_root and (before := text.partition(b"<")[0].strip(b" \t\n")):
            if len(text) < _SYNTAX_BYTES and end == len(data) and not final:
                return start, b""
            raise self._error(_other_syntax(before))
        if b"&" in text:
            try:
                text = self._entities.expanded(text)
            except TextError as error:
                error.line = self._line + (error.line or 0)
                raise
        declarations: list[tuple[bytes, bytes]] = []
        # Some writers declare a namespace in every tag: those need not be taken apart.
        if number := text.count(b"xmlns"):
            declarations = _FIRST_XMLNS.findall(text)
        if (
            not self._has_root
            or self._bases
            or len(declarations) < number
            or any(word in text for word in _WORDS)
            or _BREAK.search(text) is not None
            or (b"nodeID" in text and _DOTTED.search(text) is not None)
        ):
            text = _TAG_OR_OPENING.sub(self._tag, text)
        else:
            for prefix, value in dict.fromkeys(declarations):
                self._declare(prefix, value)
        return end, text

    def _check_tags(self, text: bytes) -> None:
        """Check a text of whole tags for what takes pyoxigraph time that grows with its square.

        :raises LimitError: too many elements are open, or a tag has too many attributes.
        """
        if _LONG.search(text) is not None:
            for tag in _TAG.findall(text):
                attributes = islice(_ATTRIBUTE.finditer(tag), _ATTRIBUTES + 1)
                if len(tag) > 8 * _ATTRIBUTES and sum(1 for _ in attributes) > _ATTRIBUTES:
                    raise LimitError(f"a tag has more than {_ATTRIBUTES} attributes")
        tags = text.count(b"<")
        closing = text.count(b"</")
        # If no tag and no text has another ">", each "/>" ends a tag.
        is_plain = text.count(b">") == tags
        empty = (
            text.count(b"/>")
            if is_plain
            else sum(tag.endswith(b"/>") for tag in _TAG.findall(text))
        )
        if self._open + tags - closing - empty <= DEPTH:
            self._open += tags - 2 * closing - empty
            return
        for tag in _TAG.findall(text):
            if tag.startswith(b"</"):
                self._open -= 1
            elif not tag.endswith(b"/>"):
                self._open += 1
                if self._open > DEPTH:
                    raise too_deep()

    def _tag(self, found: re.Match[bytes]) -> bytes:
        """Note the namespaces of a tag, and check and rewrite its attributes."""
        tag = found[0]
        try:
            if tag == b"<":
                raise TextError('malformed XML: "<" in a tag')
            if not self._has_root and tag.startswith((b"<http://", b"<https://")):
                raise TextError(f"this is not RDF/XML but {_TURTLE}")
            if tag.startswith(b"</"):
                self._leave()
                return tag
            for prefix, value in _XMLNS.findall(tag):
                self._declare(prefix, value)
            outer = self._base
            rewritten = _ATTRIBUTE.sub(self._attribute, tag)
            self._enter(outer, is_empty=tag.endswith(b"/>"))
        except TextError as error:
            error.line = self._line + found.string.count(b"\n", 0, found.start())
            raise
        self._has_root = True
        return rewritten

    def _enter(self, outer: str | None, *, is_empty: bool) -> None:
        """Note that an element begins, where that is of use.

        :param outer: the base around it.
        """
        if is_empty:
            self._base = outer
        elif self._has_root and (self._bases or self._base != outer):
            if self._base != outer:
                self._bases.append((self._depth, outer))
            self._depth += 1

    def _leave(self) -> None:
        if self._bases:
            self._depth -= 1
            if self._depth == self._bases[-1][0]:
                self._base = self._bases.pop()[1]

    def _declare(self, prefix: bytes, value: bytes) -> None:
        """Note a namespace.

        :param value: the quoted value of its attribute.
        """
        iri = _unescaped(value[1:-1])
        self._declared[prefix] = len(prefix) + len(iri)
        if iri == _RDF:
            self._rdf.add(prefix)
        if _IRI.fullmatch(iri):
            self.namespaces[prefix.decode(errors="replace")] = iri

    def _attribute(self, found: re.Match[bytes]) -> bytes:
        name, quoted = found.groups()
        mark, value = quoted[:1], quoted[1:-1].translate(_SPACES)
        prefix, _, local = name.rpartition(b":")
        if name == b"xml:base":
            return self._base_attribute(_unescaped(value))
        if prefix in self._rdf:
            if local == b"parseType" and value not in _PARSE_TYPES:
                raise TextError(f"the parseType {_unescaped(value)} is not supported")
            if local == b"parseType" and value == b"Literal":
                # pyoxigraph declares all namespaces in scope in the literal.
                self._entities.count(sum(self._declared.values()), "namespaces of XML literals")
            if local == b"nodeID" and value.endswith(b"."):
                value = written_label(_unescaped(value)).encode()
            if local == b"bagID":
                raise TextError("rdf:bagID is not part of RDF 1.1")
        return name + b"=" + mark + value + mark

    def _base_attribute(self, reference: str) -> bytes:
        """The attribute ``xml:base`` of an element, which gets that base."""
        if _SCHEME.match(reference):
            self._base = reference
        elif self._base is not None:
            self._base = resolved(reference, self._base)
        elif reference:
            raise TextError(f"the xml:base {reference!r} is relative{NEED_BASE}")
        else:
            return b""
        return b'xml:base="' + escape(self._base).encode() + b'"'


def resolved(reference: str, base: str) -> str:
    """Resolve a relative IRI.

    :raises TextError: the result is not an IRI, or the base is none.

    >>> resolved("../b", "http://example.org/x/y")
    'http://example.org/b'
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


class _Entities:
    """The entities of a document.

    :ivar document_bytes: size of the document so far.
    """

    def __init__(self) -> None:
        self.document_bytes = 0
        self._expanded_bytes = 0
        #: The values that were declared, with references to entities in them.
        self._values: dict[bytes, bytes] = {}
        #: What references expand to.
        self._texts: dict[bytes, bytes] = {}

    def declare(self, subset: bytes) -> None:
        """Read the internal subset of a document type.

        :raises TextError: it has something that would change the document and is not read here.
        """
        pos = 0
        while pos < len(subset):
            found = _SUBSET.match(subset, pos)
            if found is None:
                raise TextError("a document type with parameter entities is not supported")
            pos = found.end()
            declaration = found[1] or b""
            if declaration.startswith(b"<!ENTITY"):
                entity = _ENTITY.fullmatch(declaration)
                value = b"<" if entity is None else _with_characters(entity[2] or entity[3] or b"")
                if entity is None or b"<" in value:
                    raise TextError("an entity of a kind that is not read here")
                self._values.setdefault(entity[1], value)
            elif declaration.startswith(b"<!ATTLIST") and _HAS_DEFAULT.search(declaration):
                raise TextError("default values of attributes are not supported")

    def expanded(self, text: bytes) -> bytes:
        """A text without references to declared entities.

        :raises TextError: entities expand to too much, or are not declared, with the number of
            line feeds before; or a reference is to a character that XML does not have.
        """
        if b"&#" in text:
            _check_characters(text)
        return _REFERENCE.sub(self._replacement, text) if self._values else text

    def count(self, size: int, what: str) -> None:
        """Count bytes that a few bytes of the document expand to.

        :raises TextError: they are too many.
        """
        self._expanded_bytes += size
        if self._expanded_bytes > _EXPANDED_BYTES + _EXPANDED_PER_BYTE * self.document_bytes:
            raise TextError(f"{what} expand to {self._expanded_bytes} bytes")

    def _replacement(self, found: re.Match[bytes]) -> bytes:
        name = found[1]
        if name in _PREDEFINED:
            return found[0]
        try:
            text = self._text(name, ())
            self.count(len(text), "entities")
        except TextError as error:
            error.line = found.string.count(b"\n", 0, found.start())
            raise
        return text

    def _text(self, name: bytes, within: tuple[bytes, ...]) -> bytes:
        """What a reference expands to. References to characters stay, and quotation marks become
        such, so that it may occur in the value of an attribute."""
        known = self._texts.get(name)
        if known is not None:
            return known
        if name not in self._values:
            raise TextError(f"the entity &{name.decode(errors='replace')}; is not declared")
        if name in within or len(within) > _ENTITY_DEPTH:
            raise TextError(f"the entity &{name.decode(errors='replace')}; contains itself")
        size = len(self._values[name])

        def nested(found: re.Match[bytes]) -> bytes:
            nonlocal size
            if found[1] in _PREDEFINED:
                return found[0]
            text = self._text(found[1], (*within, name))
            size += len(text)
            check()
            return text

        def check() -> None:
            if size > _ENTITY_BYTES:
                raise TextError(f"an entity expands to {size} bytes")

        check()
        text = _REFERENCE.sub(nested, self._values[name])
        text = text.replace(b'"', b"&#34;").replace(b"'", b"&#39;")
        _check_characters(text)
        self._texts[name] = text
        return text


def _check_characters(text: bytes) -> None:
    """Check references to characters.

    :raises TextError: XML does not have one of the characters.
    """
    for number in set(_CHARACTER.findall(text)):
        _character(number)


def _character(number: bytes) -> str:
    digits = number.lstrip(b"x").lstrip(b"0") or b"0"
    code = int(digits, 16 if number.startswith(b"x") else 10) if len(digits) < 8 else 0
    if code > 0x10FFFF or NO_CHARACTER.match(chr(code)):
        raise TextError(f"XML does not have the character &#{number[:20].decode()};")
    return chr(code)


def _with_characters(text: bytes) -> bytes:
    """A text in which references to characters are replaced by them."""
    return _CHARACTER.sub(lambda found: _character(found[1]).encode(), text)


def _unescaped(text: bytes) -> str:
    """The characters of a text without references to declared entities."""
    return _ESCAPE.sub(
        lambda found: _PREDEFINED[found[2]] if found[2] else _character(found[1]).encode(), text
    ).decode(errors="replace")


def _escaped(text: bytes) -> bytes:
    """Text of a CDATA section as text."""
    return text.replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", b"&gt;")


def _other_syntax(before: bytes) -> str:
    """The error of a document that begins with something else than markup."""
    text = before[:100].decode(errors="replace")
    for pattern, syntax in _SYNTAXES:
        if pattern.match(text):
            return f"this is not RDF/XML but {syntax}"
    return f"malformed XML: the text {text[:20]!r} before the root element"
