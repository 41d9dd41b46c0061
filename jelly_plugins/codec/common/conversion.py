"""Convert terms of one library to those of another."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

from ...errors import LimitError, TermError
from .limits import NESTING_CEILING
from .terms import Describe, Kind, TermFactory, build, describe


def convert(
    term: Any, factory: TermFactory[Any], describe: Describe = describe, *, depth: int = 0
) -> Any:
    """Convert a term to one made by a factory.

    :param describe: describes the term; the function for generic terms by default.
    :param depth: number of quoted triples around it.
    """
    kind, *parts = describe(term)
    if kind is Kind.DEFAULT_GRAPH:
        return factory.default_graph
    if kind is Kind.TRIPLE:
        if depth == NESTING_CEILING:
            raise LimitError(f"quoted triples are nested more than {NESTING_CEILING} deep")
        parts = [convert(part, factory, describe, depth=depth + 1) for part in parts]
        return factory.quoted_triple(*parts)
    check_text(parts[0])
    for part in parts[1:]:
        if part is not None:
            check_text(part)
    return build(_CONSTRUCTORS[kind](factory), *parts)


_CONSTRUCTORS: Final[dict[Kind, Callable[[TermFactory[Any]], Callable[..., Any]]]] = {
    Kind.IRI: attrgetter("iri"),
    Kind.BLANK_NODE: attrgetter("blank_node"),
    Kind.LITERAL: attrgetter("literal"),
}


def check_text(part: Any) -> None:
    """Reject a part of a term that is not a string."""
    if not isinstance(part, str):
        raise TermError(f"a part of a term is not a string: {part!r}")
    if not part.isascii():
        try:
            part.encode()
        except UnicodeEncodeError:
            raise TermError("a term has a surrogate, which is not a character") from None
