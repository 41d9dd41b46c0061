"""The lexical forms of XML Schema's datatypes that a store keeps unchanged: it returns
``"01"^^xsd:integer`` as ``"1"``, and ``"1"`` unchanged.

The compiled kernel has its own implementation (``kernel/text/forms.pxi``).
"""

from __future__ import annotations

import re
from typing import Final

XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_DAY: Final = r"[1-9][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
TIME: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_NUMBER: Final = r"(?!-0\Z)-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?"
#: Maximum characters of numbers that the store returns unchanged.
LONGEST: Final = {"decimal": 17, "double": 15, "float": 6}
#: Patterns of lexical forms other than such numbers.
OTHER_FORMS: Final = {
    "boolean": "true|false",
    "integer": r"0|-?[1-9][0-9]{0,16}",
    "date": rf"{_DAY}Z?",
    "dateTime": rf"{_DAY}T{TIME}(?:\.[0-9]{{0,8}}[1-9])?Z?",
}
#: Patterns of the lexical forms that the store certainly keeps, by datatype. For all other forms
#: the store itself is asked.
FORMS: Final = {
    f"{XSD}{name}": re.compile(pattern)
    for name, pattern in {
        **OTHER_FORMS,
        **{name: rf"(?=.{{1,{size}}}\Z){_NUMBER}" for name, size in LONGEST.items()},
    }.items()
}
#: XML Schema's datatypes that the store treats as text.
TEXTS: Final = frozenset(f"{XSD}{name}" for name in ("anyURI", "language", "token"))


def is_canonical(lex: str, datatype: str) -> bool:
    """Whether the store certainly keeps a literal unchanged.

    >>> is_canonical("1.5", f"{XSD}decimal"), is_canonical("1.50", f"{XSD}decimal")
    (True, False)
    """
    form = FORMS.get(datatype)
    if form is not None:
        return form.fullmatch(lex) is not None
    return datatype in TEXTS or not datatype.startswith(XSD)
