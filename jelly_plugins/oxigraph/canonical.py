"""The form that a store gives literals of XML Schema's datatypes: ``"01"^^xsd:integer`` is ``"1"``.

Of the usual forms it is known what becomes of them; tests compare that with the store. For all
others the store is asked, many at a time.

What stays as it is, is known here and nowhere else, but for the compiled codec, which knows no
store: it recognises the same forms by itself (``is_plain_form`` in ``kernel/patch/columns.pxi``).
Tests compare all that recognise them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Final

from pyoxigraph import Literal, NamedNode, Quad, Store

from ..reserved import private

_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_DAY: Final = r"[1-9][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_TIME: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_NUMBER: Final = r"(?!-0\Z)-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?"
#: Characters of numbers that come back from the store unchanged.
_LONGEST: Final = {"decimal": 17, "double": 15, "float": 6}
_OTHER_FORMS: Final = {
    "boolean": "true|false",
    "integer": r"0|-?[1-9][0-9]{0,16}",
    "date": rf"{_DAY}Z?",
    "dateTime": rf"{_DAY}T{_TIME}(?:\.[0-9]{{0,8}}[1-9])?Z?",
}
#: Lexical forms that the store keeps for sure, by datatype. What it makes of all others it is asked
#: for.
FORMS: Final = {
    f"{_XSD}{name}": re.compile(pattern)
    for name, pattern in {
        **_OTHER_FORMS,
        **{name: rf"(?=.{{1,{size}}}\Z){_NUMBER}" for name, size in _LONGEST.items()},
    }.items()
}


def _short_number(longest: int) -> str:
    """The numbers that have room on both sides of the point: a pattern without look-ahead."""
    whole = (longest - 2) // 2
    part = rf"\.[0-9]{{0,{longest - whole - 3}}}[1-9]"
    return rf"0|-?[1-9][0-9]{{0,{whole - 1}}}(?:{part})?|-?0{part}"


_FORMS_IN_TERMS: Final = "".join(
    rf'|"(?:{pattern})"\^\^<{re.escape(_XSD)}{name}>'
    for name, pattern in {
        **_OTHER_FORMS,
        **{name: _short_number(size) for name, size in _LONGEST.items()},
    }.items()
)
#: Objects in the syntax of N-Triples that the store keeps for sure, if they are valid: nodes, IRIs,
#: strings with a short language tag or none, and most of the forms above. Like the pattern that
#: follows, it is one for RE2, which Arrow has.
KEPT_TERM: Final = rf'(?s)^(?:_.*|<[^<].*|".*"(?:@[a-z]{{2,3}}(?:-[a-z]{{2}})?)?{_FORMS_IN_TERMS})$'
#: What datatypes of XML Schema's and RDF's begin with, which may have other forms, or be refused.
KNOWN_DATATYPE: Final = rf'"\^\^<(?:{re.escape(_XSD)}|{re.escape(_RDF)})'
#: XML Schema's datatypes that the store takes for mere text.
TEXTS: Final = frozenset(f"{_XSD}{name}" for name in ("anyURI", "language", "token"))

#: Other forms that say the same as one of those above.
_INTEGER: Final = r"[+-]?[0-9]{1,40}"
_DECIMAL: Final = r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{1,40})?|\.[0-9]{1,40})"
_OTHERS: Final = {
    f"{_XSD}{name}": re.compile(pattern)
    for name, pattern in {
        "integer": _INTEGER,
        "decimal": _DECIMAL,
        "double": rf"{_DECIMAL}(?:[eE][+-]?[0-9]{{1,2}})?",
        "float": rf"{_DECIMAL}(?:[eE][+-]?[0-9]{{1,2}})?",
    }.items()
}
_DATE_TIME: Final = f"{_XSD}dateTime"
#: A point in time with needless zeros, on a day that there is, and what is to be left of it.
_THERE: Final = (
    r"[1-9][0-9]{3}-"
    r"(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30))"
)
_LONG_TIME: Final = re.compile(rf"({_THERE}T{_TIME}(?:\.[0-9]{{0,8}}[1-9])?)\.?0{{1,9}}(Z?)")

#: The same by what comes after the part that they have in common.
_FORMS_IN_TEXT: Final = {
    datatype.removeprefix(_XSD).encode(): re.compile(form.pattern.encode())
    for datatype, form in FORMS.items()
}
_TEXTS_IN_TEXT: Final = frozenset(datatype.removeprefix(_XSD).encode() for datatype in TEXTS)

#: What stands between a lexical form and the name of XML Schema's datatype in N-Quads.
TYPE: Final = b'"^^<' + _XSD.encode()

_PROBE: Final = NamedNode(private("probe"))
_INDEX: Final = private("literal:")


def is_canonical(lex: str, datatype: str) -> bool:
    """Whether the store keeps a literal as it is, for sure.

    >>> is_canonical("1.5", f"{_XSD}decimal"), is_canonical("1.50", f"{_XSD}decimal")
    (True, False)
    """
    form = FORMS.get(datatype)
    if form is not None:
        return form.fullmatch(lex) is not None
    return datatype in TEXTS or not datatype.startswith(_XSD)


def odd_lines(text: bytes) -> list[int]:
    """Numbers, from 0, of the lines of N-Quads that may have literals in another form than the
    store would give them.

    >>> odd_lines(b'<urn:s> <urn:p> "01"^^<http://www.w3.org/2001/XMLSchema#integer> .\\n')
    [0]
    """
    odd: list[int] = []
    line = 0
    # In strings the quote is escaped, so that what is before it is no form; and where a form has
    # an escaped quote in it, the store keeps it, whatever comes after the quote.
    for before, after in pairwise(text.split(TYPE)):
        line += before.count(b"\n")
        name = after[: after.find(b">")]
        form = _FORMS_IN_TEXT.get(name)
        if form is None:
            sure = name in _TEXTS_IN_TEXT
        else:
            sure = form.fullmatch(before, before.rfind(b'"') + 1) is not None
        if not sure and odd[-1:] != [line]:
            odd.append(line)
    return odd


def canonical(literal: Literal) -> Literal:
    """The literal that the store makes of a literal.

    >>> print(canonical(Literal("01", datatype=NamedNode(f"{_XSD}integer"))))
    "1"^^<http://www.w3.org/2001/XMLSchema#integer>
    """
    return _rewritten(literal) or _asked(literal)


def canonicals(literals: Iterable[Literal]) -> dict[Literal, Literal]:
    """What the store makes of literals."""
    made = {literal: _rewritten(literal) for literal in literals}
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
    # A new store, because it never forgets what it was told.
    store = Store()
    nodes = [NamedNode(f"{_INDEX}{number}") for number in range(len(literals))]
    store.extend(
        [Quad(node, _PROBE, literal) for node, literal in zip(nodes, literals, strict=True)]
    )
    made = {quad.subject: quad.object for quad in store}
    found = [made[node] for node in nodes]
    assert all(isinstance(term, Literal) for term in found)
    return found
