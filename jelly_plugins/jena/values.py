"""Value forms of literals, which are read and never written: numbers instead of lexical forms.

A number has one lexical form here, whatever it was written from: an integer and a decimal in plain
digits, a double in its canonical form. (Apache Jena writes derived types of integers and numbers
with other forms so too, and integers of more than 64 bits wrong; what they were is lost.)

Reference: XML Schema 1.1 Part 2, sections 3.3.3, 3.3.5 and 3.4.13.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Final

from ..codec.common.limits import Limits, over

_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
XSD_INTEGER: Final = _XSD + "integer"
XSD_DECIMAL: Final = _XSD + "decimal"
XSD_DOUBLE: Final = _XSD + "double"


def double_text(value: float) -> str:
    """The lexical form of a double.

    >>> double_text(1.0), double_text(-1500.25), double_text(1e-7), double_text(float("inf"))
    ('1.0E0', '-1.50025E3', '1.0E-7', 'INF')
    """
    if math.isnan(value):
        return "NaN"
    sign = "-" if math.copysign(1, value) < 0 else ""
    if math.isinf(value):
        return f"{sign}INF"
    if value == 0:
        return f"{sign}0.0E0"
    _, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    first, *rest = map(str, digits)
    return f"{sign}{first}.{''.join(rest) or '0'}E{int(exponent) + len(rest)}"


def decimal_text(value: int, scale: int, limits: Limits) -> str:
    """The lexical form of ``value`` times ten to the power of ``-scale``.

    :raises LimitError: it is longer than a string may be.

    >>> from jelly_plugins.codec import DEFAULT_LIMITS
    >>> decimal_text(-25, 1, DEFAULT_LIMITS), decimal_text(5, -2, DEFAULT_LIMITS)
    ('-2.5', '500')
    """
    digits = str(abs(value))
    size = max(len(digits) - min(scale, 0), scale + 1)
    if size > limits.string_bytes:
        raise over(limits, "string_bytes", size, "the length of a decimal number")
    sign = "-" if value < 0 else ""
    if scale <= 0:
        return f"{sign}{digits}{'0' * -scale if value else ''}"
    digits = digits.rjust(scale + 1, "0")
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}"
