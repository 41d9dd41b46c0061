"""Conditions on the terms of rows, applied while reading. Does not import Spark.

A condition is a set of texts, formatted as in the columns. A term must equal one of them. Empty
text means the default graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ...codec import DEFAULT_LIMITS
from ...codec.common.positions import POSITIONS
from ...codec.text.ntriples import Dialect, LineParser, term_text
from ...errors import OptionsError, TextError

#: By name of the position.
Conditions: TypeAlias = Mapping[str, frozenset[str]]


def conditions_of(options: Mapping[str, str]) -> Conditions:
    """Return the conditions of the options that are named after positions.

    Each value is a term of N-Triples, in any valid spelling.

    :raises OptionsError: a value is not a term; names the option.
    """
    given = ((name, options.get(name)) for name in POSITIONS)
    return {
        name: frozenset([_text(name, value.strip())]) for name, value in given if value is not None
    }


def _text(name: str, value: str) -> str:
    if not value and name == "graph":
        return value
    parser = LineParser(Dialect.RDF_STAR, True, True, DEFAULT_LIMITS, quads=True)
    try:
        return term_text(parser.term(value.encode(), POSITIONS.index(name)))
    except (TextError, UnicodeError) as error:
        raise OptionsError(
            f"option {name}: {value!r} is not a valid term of N-Triples, such as <http://example.org/>"
            f": {getattr(error, 'message', error)}"
        ) from None
