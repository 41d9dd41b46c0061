"""The compiled module of this package, if it exists and rdflib's terms have the expected structure.

The compiled module sets the slots of new terms, reads those of others, and bypasses constructors.
Therefore its terms are compared with rdflib's own when it is first used: the slots of the classes,
and the contents of each slot.

It was tested with rdflib 7.1.0, 7.1.4, 7.2.1, 7.3.0, 7.4.0, 7.5.0 and 7.6.0.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterator
from functools import cache
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import Any, Final

import rdflib
from rdflib import namespace
from rdflib import term as rdflib_term
from rdflib.term import BNode, Literal, URIRef

from ...codec import native
from ...codec.common.terms import XSD_STRING, BlankNode, Iri
from ...codec.common.terms import Literal as GenericLiteral

_LOG = logging.getLogger(__name__)

#: The slots of the classes of terms.
_SLOTS: Final[dict[type, frozenset[str]]] = {
    URIRef: frozenset(),
    BNode: frozenset(),
    Literal: frozenset(("_language", "_datatype", "_value", "_ill_typed")),
}

#: Lexical forms by datatype, canonical and others; rdflib logs no warning for any of them.
_FORMS: Final = {
    None: ("", "a b", "\u00e9"),
    namespace.XSD.string: ("", "a"),
    namespace.XSD.anyURI: ("urn:x",),
    namespace.XSD.token: ("a", " a  b "),
    namespace.XSD.normalizedString: ("a\tb",),
    namespace.XSD.integer: ("0", "-0", "01", "-17", "+1", "9" * 30),
    namespace.XSD.int: ("5", "4294967296"),
    namespace.XSD.unsignedByte: ("255", "-1"),
    namespace.XSD.decimal: ("0", "1.50", "-.5", "1.", "01.0", "-0.0", "0.00000000010"),
    namespace.XSD.double: ("1.0", "1.5E0", "INF", "1e300"),
    namespace.XSD.float: ("17.25", "NaN"),
    namespace.XSD.boolean: ("true", "false", "1"),
    namespace.XSD.date: ("2020-02-29", "2020-01-01Z"),
    namespace.XSD.dateTime: (
        "2020-01-01T00:00:00",
        "2020-01-01T00:00:00Z",
        "2020-01-01T00:00:00-00:00",
        "2020-01-01T00:00:00.5+01:30",
    ),
    namespace.XSD.time: ("12:00:00",),
    namespace.XSD.duration: ("P1D", "P1Y2M"),
    namespace.XSD.hexBinary: ("0aFF",),
    namespace.XSD.base64Binary: ("YQ==",),
    URIRef("urn:x"): ("a",),
}
_LANGTAGS: Final = ("en", "de-CH-1996", "EN")
_TEXTS: Final = ("urn:a", "urn:\u00e9\u20ac", "")


@cache
def compiled() -> ModuleType | None:
    """The compiled module; None if it is missing, switched off, or does not match rdflib."""
    if not native:
        return None
    try:
        from .. import _native
    except ModuleNotFoundError:
        return None
    except (ImportError, AttributeError, KeyError) as error:
        # It looks up parts of rdflib by name when it is loaded.
        reason: str | None = f"it lacks {error}"
    else:
        reason = next(_differences(_native), None)
        if reason is None:
            return _native
    warn_of_slow_path("terms are made and described", reason)
    return None


def warn_of_slow_path(what: str, reason: str | None) -> None:
    """Warn that a fast path is not used."""
    _LOG.warning(
        "rdflib %s differs from the versions that jelly-plugins supports: %s; %s by rdflib's own "
        "methods, more slowly",
        rdflib.__version__,
        reason,
        what,
    )


def _differences(module: Any) -> Iterator[str]:
    for kind, slots in _SLOTS.items():
        yield from differences_of_layout(kind, slots)
        if any("__init__" in vars(base) for base in kind.__mro__[:-1]):
            yield f"{kind.__name__} has an __init__"
    code = vars(Literal)["__new__"].__func__.__code__
    if "NORMALIZE_LITERALS" not in code.co_names or vars(rdflib_term).get("rdflib") is not rdflib:
        yield "Literal does not read rdflib.NORMALIZE_LITERALS"
    for character in map(chr, range(128)):
        invalid = character in rdflib_term._invalid_uri_chars
        if rdflib_term._is_valid_uri(character) is invalid:
            yield f"URIRef has another rule for the character {character!r}"
    for text in _TEXTS:
        for made, expected in (
            (module.iri(text), URIRef(text)),
            (module.blank_node(text), BNode(text)),
        ):
            yield from _differences_of_terms(module, made, expected)
    make = module.Literals(_slow).literal
    for literal in _literals():
        yield from _differences_of_terms(module, make(*literal), _slow(*literal))


def differences_of_layout(kind: type, slots: frozenset[str]) -> Iterator[str]:
    """How the objects of a class differ from a string with the named slots."""
    found = {
        name
        for base in kind.__mro__
        for name, value in vars(base).items()
        if isinstance(value, MemberDescriptorType)
    }
    if found != slots:
        yield f"{kind.__name__} has the slots {sorted(found)}, not {sorted(slots)}"
    if (
        kind.__basicsize__ != str.__basicsize__ + len(slots) * struct.calcsize("P")
        # From Python 3.12 on, these come before the object, and its size does not show them.
        or kind.__dictoffset__
        or kind.__weakrefoffset__
    ):
        yield f"objects of {kind.__name__} have other members than slots"


def _literals() -> Iterator[tuple[str, str | None, str | None]]:
    for iri, forms in _FORMS.items():
        for form in forms:
            yield form, None, None if iri is None else str(iri)
    for langtag in _LANGTAGS:
        yield "x", langtag, None


def _slow(lex: str, langtag: str | None, datatype: str | None) -> Literal:
    return Literal(lex, lang=langtag, datatype=datatype)


def parts_of(term: Any) -> tuple[Any, ...]:
    """A term's class, text and hash, and the contents of its slots with their types."""
    unset = object()
    slots = [
        (name, getattr(term, name, unset))
        for base in type(term).__mro__
        for name, value in vars(base).items()
        if isinstance(value, MemberDescriptorType)
    ]
    # Not a number is not equal to itself.
    described = [(name, type(value), value is unset or repr(value)) for name, value in slots]
    return type(term), str(term), hash(term), described


def _differences_of_terms(module: Any, made: Any, expected: Any) -> Iterator[str]:
    """How a constructed term, or its generic form, differs from rdflib's."""
    what = f"the {type(expected).__name__} {str(expected)!r}"
    if parts_of(made) != parts_of(expected):
        yield f"{what} differs from rdflib's"
        return
    # A fallback would hide that a slot is read wrongly.
    if module.Generic(reject, reject).term(expected) != _generic(expected):
        yield f"{what} is described wrongly"


def _generic(term: Any) -> Any:
    if isinstance(term, URIRef):
        return Iri(str(term))
    if isinstance(term, BNode):
        return BlankNode(str(term))
    datatype = None if term.datatype is None else str(term.datatype)
    return GenericLiteral(str(term), term.language, None if datatype == XSD_STRING else datatype)


def reject(term: Any) -> Any:
    """The fallback of a ``Generic`` of the compiled module that must not need one.

    :raises ValueError: always.
    """
    raise ValueError(f"{term!r} is not a term of a known class")


def replaced(methods: tuple[tuple[type, str], ...]) -> str | None:
    """Name a method that was replaced, whose globals are those of another module; None if none
    was.
    """
    for owner, name in methods:
        method = vars(owner).get(name)
        if (
            not isinstance(method, FunctionType)
            or method.__globals__["__name__"] != owner.__module__
        ):
            return f"{owner.__name__}.{name} is not rdflib's"
    return None
