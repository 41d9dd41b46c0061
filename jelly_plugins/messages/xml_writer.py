"""Writing logs in RDF/XML: one document for each message, on one line.

Reference: RDF 1.1 XML Syntax, sections "Node Elements and Property Elements" and "Core Syntax
Terms".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ..codec import Iri, Literal
from ..codec.text.checking import Checker
from ..codec.text.lines import NAME_START
from ..codec.text.ntriples import StandIns
from ..errors import TermError
from ..formats.xml import NAME, NAME_PART, NO_CHARACTER, NO_PROPERTIES, RESERVED_NAMESPACES
from ..io.sinks import Writable
from .model import Message

_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_WHOLE_NAME: Final = re.compile(NAME)
_NO_NAME_PART: Final = re.compile(rf"[^{NAME_PART}]")
_FIRST: Final = re.compile(rf"[{NAME_START}]")
#: Labels that are valid XML names; others are replaced by a stand-in.
NODE_IDS: Final = StandIns(_WHOLE_NAME.fullmatch)
_SPECIAL: Final = re.compile('[&<>"\t\n\r\x85\u2028]')
_HEADER: Final = '<?xml version="1.0" encoding="utf-8"?><rdf:RDF xmlns:rdf="' + _RDF + '"'
#: Texts that are remembered; with more, remembering starts afresh.
_KNOWN: Final = 1 << 12
_PREFIX: Final = re.compile(r"(?!(?i:xml))[A-Za-z][A-Za-z0-9_-]*+")


class RdfXmlWriter:
    """Writes messages as documents of RDF/XML.

    :param prefixes: IRI by name, for the properties.
    """

    def __init__(self, out: Writable, *, prefixes: Mapping[str, str]) -> None:
        self._out = out
        self._checker = Checker("RDF/XML", graphs=False, quoted=False)
        self._prefixes = {
            iri: name for name, iri in prefixes.items() if _PREFIX.fullmatch(name) and name != "rdf"
        }
        self._header = _HEADER
        for iri, name in self._prefixes.items():
            self._header += f' xmlns:{name}="{_escaped(iri)}"'
        self._prefixes[_RDF] = "rdf"
        #: Property elements, opened and closed, by IRI.
        self._elements: dict[str, tuple[str, str]] = {}

    def write(self, message: Message) -> None:
        """Write a message.

        :raises TermError: RDF/XML cannot express it.
        """
        parts = [self._header]
        subject: Any = None
        for quad in message.quads:
            self._checker.check(quad)
            if subject is None:
                parts.append(">")
            if quad.subject != subject:
                if subject is not None:
                    parts.append("</rdf:Description>")
                subject = quad.subject
                parts.append(f"<rdf:Description {_reference('about', subject)}>")
            opening, closing = self._element(quad.predicate)
            parts += (opening, *_content(quad.object, closing))
        parts.append("/>\n" if subject is None else "</rdf:Description></rdf:RDF>\n")
        self._out.write("".join(parts).encode())

    def finish(self) -> None:
        """End the log."""

    def _element(self, predicate: Any) -> tuple[str, str]:
        """How the property element of a predicate opens and is closed."""
        iri: str = predicate.value
        known = self._elements.get(iri)
        if known is not None:
            return known
        # The longest name at the end.
        end = max((found.end() for found in _NO_NAME_PART.finditer(iri)), default=0)
        first = _FIRST.search(iri, end)
        if first is None or iri in NO_PROPERTIES or iri[: first.start()] in RESERVED_NAMESPACES:
            raise TermError(f"RDF/XML cannot express the predicate <{iri[:80]}>")
        namespace, local = iri[: first.start()], iri[first.start() :]
        prefix = self._prefixes.get(namespace)
        if prefix is None:
            made = (f'<p:{local} xmlns:p="{_escaped(namespace)}"', f"</p:{local}>")
        else:
            made = (f"<{prefix}:{local}", f"</{prefix}:{local}>")
        if len(self._elements) >= _KNOWN:
            self._elements.clear()
        self._elements[iri] = made
        return made


def _content(term: Any, closing: str) -> tuple[str, ...]:
    """What follows the name of a property element."""
    if not isinstance(term, Literal):
        return (f" {_reference('resource', term)}/>",)
    if term.langtag is not None:
        return (f' xml:lang="{term.langtag}">', _escaped(term.lex), closing)
    if term.datatype is not None:
        return (f' rdf:datatype="{_escaped(term.datatype)}">', _escaped(term.lex), closing)
    return (">", _escaped(term.lex), closing)


def _reference(attribute: str, term: Any) -> str:
    if isinstance(term, Iri):
        return f'rdf:{attribute}="{_escaped(term.value)}"'
    return f'rdf:nodeID="{NODE_IDS.write(term.label)}"'


def _escaped(text: str) -> str:
    if (found := NO_CHARACTER.search(text)) is not None:
        raise TermError(f"XML cannot express the character U+{ord(found[0]):04X}")
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", text)
