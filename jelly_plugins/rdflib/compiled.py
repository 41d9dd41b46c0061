"""Whether the compiled half of this package is there, and gives what rdflib gives.

It relies on how rdflib's literals and stores are built inside. Both are compared with what it
makes of them, once in a process; where they differ (a later rdflib), it is not used.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any, Final

from rdflib.namespace import XSD
from rdflib.term import BNode, Literal, URIRef

from ..codec import native

#: Forms of datatypes that are treated by themselves, canonical and not; rdflib warns of none.
_FORMS: Final = {
    None: ("", "a b", "\u00e9"),
    XSD.string: ("", "a"),
    XSD.anyURI: ("urn:x",),
    XSD.token: ("a", " a  b "),
    XSD.normalizedString: ("a\tb",),
    XSD.integer: ("0", "-0", "01", "-17", "+1", "9" * 30),
    XSD.int: ("5", "4294967296"),
    XSD.unsignedByte: ("255", "-1"),
    XSD.decimal: ("0", "1.50", "-.5", "1.", "01.0", "-0.0", "0.00000000010"),
    XSD.double: ("1.0", "1.5E0", "INF", "1e300"),
    XSD.float: ("17.25", "NaN"),
    XSD.boolean: ("true", "false", "1"),
    XSD.date: ("2020-02-29", "2020-01-01Z"),
    XSD.dateTime: (
        "2020-01-01T00:00:00",
        "2020-01-01T00:00:00Z",
        "2020-01-01T00:00:00-00:00",
        "2020-01-01T00:00:00.5+01:30",
    ),
    XSD.time: ("12:00:00",),
    XSD.duration: ("P1D", "P1Y2M"),
    XSD.hexBinary: ("0aFF",),
    XSD.base64Binary: ("YQ==",),
    URIRef("urn:x"): ("a",),
}
_LANGTAGS: Final = ("en", "de-CH-1996", "EN")


def parts_of(literal: Literal) -> tuple[Any, ...]:
    """All that there is to a literal, and the types of it."""
    value = literal.value
    return (
        type(literal),
        str(literal),
        literal.language,
        literal.datatype,
        type(literal.datatype),
        type(value),
        # Not a number is not equal to itself.
        repr(value),
        literal.ill_typed,
        hash(literal),
    )


@cache
def compiled() -> ModuleType | None:
    """The compiled module, None where it is not there, not wanted or not to be trusted."""
    if not native:
        return None
    try:
        from . import _native
    except (ImportError, AttributeError, KeyError):
        # Not built, or made for another rdflib.
        return None
    return _native if _agrees(_native) else None


def _agrees(module: Any) -> bool:
    """Whether terms and hashes are those that rdflib makes."""
    make = module.Literals(_slow).literal
    literals: list[tuple[str, str | None, str | None]] = [
        *((form, None, iri and str(iri)) for iri, forms in _FORMS.items() for form in forms),
        *(("x", langtag, None) for langtag in _LANGTAGS),
    ]
    for literal in literals:
        made = make(*literal)
        if parts_of(made) != parts_of(_slow(*literal)) or not _hashes_agree(module, made):
            return False
    iri, node = module.iri("urn:\u00e9"), module.blank_node("b")
    return (
        (type(iri), iri, hash(iri)) == (URIRef, URIRef("urn:\u00e9"), hash(URIRef("urn:\u00e9")))
        and (type(node), node) == (BNode, BNode("b"))
        and _hashes_agree(module, node)
    )


def _slow(lex: str, langtag: str | None, datatype: str | None) -> Literal:
    return Literal(lex, lang=langtag, datatype=datatype)


def _hashes_agree(module: Any, term: Any) -> bool:
    triple = (URIRef("urn:s"), URIRef("urn:p"), term)
    return bool(module.hashes(triple) == (*map(hash, triple), hash(triple)))
