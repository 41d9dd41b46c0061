"""Writing logs in RDF/XML: one document for each message, on one line.

Reference: RDF 1.1 XML Syntax, sections "Node Elements and Property Elements" and "Core Syntax
Terms".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from ..codec import Iri, Literal
from ..codec.text.lines import NAME_START
from ..codec.text.ntriples import StandIns
from ..errors import TermError
from ..formats.xml import NAME, NAME_PART, NO_CHARACTER, NO_PROPERTIES, RESERVED_NAMESPACES
from .checking import ParsedChecker
from .model import Message

_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_WHOLE_NAME: Final = re.compile(NAME)
_NO_NAME_PART: Final = re.compile(rf"[^{NAME_PART}]")
_FIRST: Final = re.compile(rf"[{NAME_START}]")
#: Labels that are valid both in XML and in N-Quads; others are replaced by a stand-in.
NODE_IDS: Final = StandIns(re.compile(rf"{NAME}(?<!\.)").fullmatch)
_SPECIAL: Final = re.compile('[&<>"\t\n\r\x85\u2028]')
_HEADER: Final = '<?xml version="1.0" encoding="utf-8"?><rdf:RDF xmlns:rdf="' + _RDF + '"'
#: Property elements that are remembered.
_KNOWN: Final = 1 << 12
_PREFIX: Final = re.compile(r"(?!(?i:xml))[A-Za-z][A-Za-z0-9_-]*+")


class RdfXmlWriter:
    """Makes documents of RDF/XML of messages.

    :param prefixes: IRI by name, for the properties.
    """

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self._checker = ParsedChecker("RDF/XML", graphs=False, quoted=False)
        self._prefixes = {
            iri: name for name, iri in prefixes.items() if _PREFIX.fullmatch(name) and name != "rdf"
        }
        self._header = _HEADER
        for iri, name in self._prefixes.items():
            self._header += f' xmlns:{name}="{_escaped(iri)}"'
        self._prefixes[_RDF] = "rdf"
        self._element = lru_cache(_KNOWN)(self._new_element)

    def text(self, message: Message) -> bytes:
        """A message as a document.

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
            predicate: Any = quad.predicate
            opening, closing = self._element(predicate.value)
            parts += (opening, *_content(quad.object, closing))
        parts.append("/>\n" if subject is None else "</rdf:Description></rdf:RDF>\n")
        return "".join(parts).encode()

    def _new_element(self, iri: str) -> tuple[str, str]:
        """How the property element of a predicate opens and is closed."""
        # The longest name at the end.
        end = max((found.end() for found in _NO_NAME_PART.finditer(iri)), default=0)
        first = _FIRST.search(iri, end)
        if first is None or iri in NO_PROPERTIES or iri[: first.start()] in RESERVED_NAMESPACES:
            raise TermError(f"RDF/XML cannot express the predicate <{iri[:80]}>")
        namespace, local = iri[: first.start()], iri[first.start() :]
        prefix = self._prefixes.get(namespace)
        if prefix is None:
            return f'<p:{local} xmlns:p="{_escaped(namespace)}"', f"</p:{local}>"
        return f"<{prefix}:{local}", f"</{prefix}:{local}>"


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
