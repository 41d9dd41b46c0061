"""The form that a store gives literals of XML Schema's datatypes: ``"01"^^xsd:integer`` is ``"1"``.

The results for common forms are known; tests compare them with the store. For all others the store
is queried, many at a time.

``codec.text.forms`` defines which stay unchanged. Tests compare all that recognise them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Final

from pyoxigraph import Literal, NamedNode, Quad, Store

from ..codec.text.forms import LONGEST, OTHER_FORMS, TIME, XSD, is_canonical
from ..reserved import private

_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def _short_number(longest: int) -> str:
    """Numbers whose digits fit on both sides of the point: a pattern without look-ahead."""
    whole = (longest - 2) // 2
    part = rf"\.[0-9]{{0,{longest - whole - 3}}}[1-9]"
    return rf"0|-?[1-9][0-9]{{0,{whole - 1}}}(?:{part})?|-?0{part}"


_FORMS_IN_TERMS: Final = "".join(
    rf'|"(?:{pattern})"\^\^<{re.escape(XSD)}{name}>'
    for name, pattern in {
        **OTHER_FORMS,
        **{name: _short_number(size) for name, size in LONGEST.items()},
    }.items()
)
#: What datatypes of XML Schema's and RDF's begin with, which may have other forms, or be rejected;
#: a pattern for RE2, which Arrow has.
KNOWN_DATATYPE: Final = rf'"\^\^<(?:{re.escape(XSD)}|{re.escape(_RDF)})'

# Terms that are certainly valid and in the store's form, as patterns for RE2: see ``plain``, which
# has the same rules with look-ahead. All other terms have to be parsed.
_FIRST: Final = r"[A-Za-z0-9\-._~!$&'()*+,;=:@?]|%[0-9A-Fa-f]{2}"
_PART: Final = rf"(?:{_FIRST}|/)"
_AUTHORITY: Final = rf"//[A-Za-z0-9\-._~]*(?::[0-9]*)?(?:[/?]{_PART}*)?"
_SURE_IRI: Final = (
    rf"<[A-Za-z][A-Za-z0-9+\-.]*:(?:{_AUTHORITY}|/?(?:(?:{_FIRST}){_PART}*)?)(?:#{_PART}*)?>"
)
_SURE_NODE: Final = "_:[A-Za-z0-9_]+"
_SURE_STRING: Final = r'"(?:[^"\\\x00-\x1f\x7f\x{fffe}\x{ffff}]|\\[tbnrf"\\])*"'
_SURE_LITERAL: Final = rf"{_SURE_STRING}(?:@[a-z]{{2,3}}(?:-[a-z]{{2}})?)?{_FORMS_IN_TERMS}"
#: Patterns of terms that are certainly valid and in the store's form: of subjects, predicates,
#: objects and graphs.
SURE_TERMS: Final = tuple(
    f"^(?:{pattern})$"
    for pattern in (
        f"{_SURE_IRI}|{_SURE_NODE}",
        _SURE_IRI,
        f"{_SURE_IRI}|{_SURE_NODE}|{_SURE_LITERAL}",
        f"{_SURE_IRI}|{_SURE_NODE}",
    )
)
#: A pattern of literals that are certainly valid, and in the store's form unless their datatype is
#: a :data:`KNOWN_DATATYPE`.
SURE_TYPED: Final = rf"^{_SURE_STRING}\^\^{_SURE_IRI}$"
#: Other forms that are equivalent to one of those above.
_INTEGER: Final = r"[+-]?[0-9]{1,40}"
_DECIMAL: Final = r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{1,40})?|\.[0-9]{1,40})"
_OTHERS: Final = {
    f"{XSD}{name}": re.compile(pattern)
    for name, pattern in {
        "integer": _INTEGER,
        "decimal": _DECIMAL,
        "double": rf"{_DECIMAL}(?:[eE][+-]?[0-9]{{1,2}})?",
        "float": rf"{_DECIMAL}(?:[eE][+-]?[0-9]{{1,2}})?",
    }.items()
}
_DATE_TIME: Final = f"{XSD}dateTime"
#: A point in time with needless zeros, on a day that there is, and what is to be left of it.
_THERE: Final = (
    r"[1-9][0-9]{3}-"
    r"(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30))"
)
_LONG_TIME: Final = re.compile(rf"({_THERE}T{TIME}(?:\.[0-9]{{0,8}}[1-9])?)\.?0{{1,9}}(Z?)")

_PROBE: Final = NamedNode(private("probe"))
_INDEX: Final = private("literal:")


def canonical(literal: Literal) -> Literal:
    """The literal that the store makes of a literal.

    >>> print(canonical(Literal("01", datatype=NamedNode(f"{XSD}integer"))))
    "1"^^<http://www.w3.org/2001/XMLSchema#integer>
    """
    return _rewritten(literal) or _asked(literal)


def canonicals(literals: Iterable[Literal]) -> dict[Literal, Literal]:
    """What the store makes of literals."""
    made = {literal: _rewritten(literal) for literal in dict.fromkeys(literals)}
    unknown = [literal for literal, known in made.items() if known is None]
    asked = dict(zip(unknown, _ask(unknown), strict=True)) if unknown else {}
    return {literal: known or asked[literal] for literal, known in made.items()}


def _rewritten(literal: Literal) -> Literal | None:
    """The literal in canonical form; None where the store has to be asked."""
    if literal.language is not None:
        return literal
    lex = literal.value
    datatype = literal.datatype.value
    if is_canonical(lex, datatype):
        return literal
    other = _other_form(lex, datatype)
    if other is None or not is_canonical(other, datatype):
        return None
    return Literal(other, datatype=literal.datatype)


def _other_form(lex: str, datatype: str) -> str | None:
    """A form of the same value, without what is needless in it."""
    if (form := _OTHERS.get(datatype)) is not None:
        if form.fullmatch(lex) is None:
            return None
        # Neither rounds.
        number = format(Decimal(lex), "f")
        return number.rstrip("0").rstrip(".") if "." in number else number
    if datatype == _DATE_TIME and (found := _LONG_TIME.fullmatch(lex)):
        return found[1] + found[2]
    return None


@lru_cache(maxsize=4096)
def _asked(literal: Literal) -> Literal:
    return _ask([literal])[0]


def _ask(literals: list[Literal]) -> list[Literal]:
    # A new store, because a store never forgets its strings.
    store = Store()
    nodes = [NamedNode(f"{_INDEX}{number}") for number in range(len(literals))]
    store.extend(
        [Quad(node, _PROBE, literal) for node, literal in zip(nodes, literals, strict=True)]
    )
    made = {quad.subject: quad.object for quad in store}
    found = [made[node] for node in nodes]
    assert all(isinstance(term, Literal) for term in found)
    return found
