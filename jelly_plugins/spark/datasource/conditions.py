"""Conditions on terms that rows have to meet to be read. Knows nothing of Spark.

A condition is a set of texts, as the columns have them, of which a term has to have one; empty text
stands for the default graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ...codec import DEFAULT_LIMITS
from ...codec.common.positions import POSITIONS
from ...codec.text.ntriples import Dialect, LineParser, term_text
from ...errors import OptionsError, TextError

#: By the name of the position.
Conditions: TypeAlias = Mapping[str, frozenset[str]]


def conditions_of(options: Mapping[str, str]) -> Conditions:
    """The conditions that options with the positions' names ask for.

    Each is a term of N-Triples, written in any way.

    :raises OptionsError: with the option that is no term.
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
