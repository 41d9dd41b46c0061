"""The form that a store gives literals of XML Schema's datatypes: ``"01"^^xsd:integer`` is ``"1"``.

Common forms that stay as they are are known; tests compare them with the store. For all others the
store is queried, many at a time.

``codec.text.forms`` defines which stay unchanged. Tests compare all that recognise them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from pyoxigraph import Literal, NamedNode, Quad, Store

from ..codec.text.forms import LONGEST, OTHER_FORMS, XSD, is_canonical
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
_PROBE: Final = NamedNode(private("probe"))
_INDEX: Final = private("literal:")


def canonical(literal: Literal) -> Literal:
    """The literal that the store makes of a literal."""
    return literal if _stays(literal) else _asked(literal)


def canonicals(literals: Iterable[Literal]) -> dict[Literal, Literal]:
    """What the store makes of literals."""
    made = {literal: literal for literal in literals}
    unknown = [literal for literal in made if not _stays(literal)]
    if unknown:
        made.update(zip(unknown, _ask(unknown), strict=True))
    return made


def _stays(literal: Literal) -> bool:
    """Whether a literal is certainly in canonical form; otherwise the store has to be asked."""
    return literal.language is not None or is_canonical(literal.value, literal.datatype.value)


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
