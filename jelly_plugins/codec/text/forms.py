"""The lexical forms of XML Schema's datatypes that a store keeps: it gives ``"01"^^xsd:integer``
back as ``"1"``, and ``"1"`` as it is.

The compiled kernel recognises the same by itself (``kernel/text/forms.pxi``).
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_DAY: Final = r"[1-9][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
TIME: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_NUMBER: Final = r"(?!-0\Z)-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?"
#: Characters of numbers that come back from the store unchanged.
LONGEST: Final = {"decimal": 17, "double": 15, "float": 6}
#: Patterns of text that is not such a number.
OTHER_FORMS: Final = {
    "boolean": "true|false",
    "integer": r"0|-?[1-9][0-9]{0,16}",
    "date": rf"{_DAY}Z?",
    "dateTime": rf"{_DAY}T{TIME}(?:\.[0-9]{{0,8}}[1-9])?Z?",
}
#: Lexical forms that the store keeps for sure, by datatype. What it makes of all others it is asked
#: for.
FORMS: Final = {
    f"{XSD}{name}": re.compile(pattern)
    for name, pattern in {
        **OTHER_FORMS,
        **{name: rf"(?=.{{1,{size}}}\Z){_NUMBER}" for name, size in LONGEST.items()},
    }.items()
}
#: XML Schema's datatypes that the store takes for mere text.
TEXTS: Final = frozenset(f"{XSD}{name}" for name in ("anyURI", "language", "token"))

#: The same by what comes after the part that they have in common.
_FORMS_IN_TEXT: Final = {
    datatype.removeprefix(XSD).encode(): re.compile(form.pattern.encode())
    for datatype, form in FORMS.items()
}
_TEXTS_IN_TEXT: Final = frozenset(datatype.removeprefix(XSD).encode() for datatype in TEXTS)

#: The text between a lexical form and the name of XML Schema's datatype in N-Quads.
_TYPE: Final = b'"^^<' + XSD.encode()


def is_canonical(lex: str, datatype: str) -> bool:
    """Whether the store keeps a literal as it is, for sure.

    >>> is_canonical("1.5", f"{XSD}decimal"), is_canonical("1.50", f"{XSD}decimal")
    (True, False)
    """
    form = FORMS.get(datatype)
    if form is not None:
        return form.fullmatch(lex) is not None
    return datatype in TEXTS or not datatype.startswith(XSD)


def odd_lines(text: bytes) -> dict[int, int]:
    """Numbers, from 0, of the plain lines of N-Quads that may have literals in another form than
    the store would give them, and where these lines begin.

    >>> odd_lines(b'<urn:s> <urn:p> "01"^^<http://www.w3.org/2001/XMLSchema#integer> .\\n')
    {0: 0}
    """
    odd: dict[int, int] = {}
    line = at = 0
    # In strings the quote is escaped, so that the text before it is not a form; and where a form
    # has an escaped quote in it, the store keeps it, whatever comes after the quote.
    for before, after in pairwise(text.split(_TYPE)):
        line += before.count(b"\n")
        at += len(before)
        name = after[: after.find(b">")]
        form = _FORMS_IN_TEXT.get(name)
        if form is None:
            sure = name in _TEXTS_IN_TEXT
        else:
            sure = form.fullmatch(before, before.rfind(b'"') + 1) is not None
        if not sure and line not in odd:
            odd[line] = text.rfind(b"\n", 0, at) + 1
        at += len(_TYPE)
    return odd
