"""What the terms of a stream are: how many of each kind in each position, how often they repeat,
how long they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from ..codec import BlankNode, DefaultGraph, Iri, Literal, Triple
from ..codec.common.positions import POSITIONS

#: Distinct terms that are counted exactly; where there are more, at least so many are known of.
COUNTED: Final = 1 << 20
#: Datatypes, languages and predicates that are kept while counting, and of these how many are
#: reported, the most frequent first.
_KEPT: Final = 1 << 16
LISTED: Final = 10

_KINDS: Final = {
    Iri: "IRIs",
    BlankNode: "blank nodes",
    Literal: "literals",
    Triple: "quoted triples",
    DefaultGraph: "the default graph",
}


@dataclass(slots=True, kw_only=True)
class TermCounts:
    """Counts over the statements of a stream; of what stands in quoted triples, nothing.

    :ivar positions: number of terms by kind, by position.
    :ivar distinct: number of distinct terms by kind, :data:`COUNTED` of all at most.
    :ivar complete: whether there are no more distinct terms than that.
    :ivar characters: number of characters of IRIs, labels and lexical forms, by kind, repeats
        included.
    :ivar longest: characters of the longest, by kind.
    :ivar datatypes: number of literals by datatype.
    :ivar languages: number of literals by language tag.
    :ivar predicates: number of statements by predicate.
    """

    positions: dict[str, Counter[str]] = field(default_factory=dict)
    distinct: Counter[str] = field(default_factory=Counter)
    complete: bool = True
    characters: Counter[str] = field(default_factory=Counter)
    longest: dict[str, int] = field(default_factory=dict)
    datatypes: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    predicates: Counter[str] = field(default_factory=Counter)
    _seen: set[int] = field(default_factory=set)

    def add(self, statements: Iterable[tuple[Any, ...]]) -> None:
        """Count the terms of some statements.

        >>> counts = TermCounts()
        >>> counts.add([(Iri("urn:s"), Iri("urn:p"), Literal("x", langtag="en"))] * 2)
        >>> counts.positions["object"], counts.distinct["IRIs"], counts.languages
        (Counter({'literals': 2}), 2, Counter({'en': 2}))
        """
        for position, column in enumerate(zip(*map(_padded, statements), strict=True)):
            kinds = self.positions.setdefault(POSITIONS[position], Counter())
            for term, number in Counter(column).items():
                if term is not None:
                    self._count(term, number, kinds, is_predicate=position == 1)

    def _count(self, term: Any, number: int, kinds: Counter[str], *, is_predicate: bool) -> None:
        kind = _KINDS[type(term)]
        kinds[kind] += number
        text = _text(term)
        self.characters[kind] += number * len(text)
        self.longest[kind] = max(self.longest.get(kind, 0), len(text))
        if is_predicate:
            _keep(self.predicates, text, number)
        if isinstance(term, Literal):
            if term.langtag is not None:
                _keep(self.languages, term.langtag, number)
            else:
                _keep(self.datatypes, term.datatype_iri, number)
        # Hashes take a fraction of the memory of terms, and two terms hardly ever have the same.
        mark = hash((kind, term))
        if mark not in self._seen:
            if len(self._seen) < COUNTED:
                self._seen.add(mark)
                self.distinct[kind] += 1
            else:
                self.complete = False

    def as_dict(self) -> dict[str, Any]:
        """The counts as JSON has them; the most frequent of what may be many."""
        return {
            "positions": {name: dict(kinds) for name, kinds in self.positions.items() if kinds},
            "distinct": dict(self.distinct),
            "complete": self.complete,
            "characters": dict(self.characters),
            "longest": self.longest,
            "datatypes": dict(self.datatypes.most_common(LISTED)),
            "languages": dict(self.languages.most_common(LISTED)),
            "predicates": dict(self.predicates.most_common(LISTED)),
        }


def _padded(statement: tuple[Any, ...]) -> tuple[Any, ...]:
    return statement if len(statement) == 4 else (*statement, None)


def _text(term: Any) -> str:
    if isinstance(term, Iri):
        return term.value
    if isinstance(term, BlankNode):
        return term.label
    return term.lex if isinstance(term, Literal) else ""


def _keep(counter: Counter[str], name: str, number: int) -> None:
    if name in counter or len(counter) < _KEPT:
        counter[name] += number
