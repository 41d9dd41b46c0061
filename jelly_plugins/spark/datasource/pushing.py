"""Filters that Spark hands to a reader, as conditions that are looked at while files are decoded.

Spark 4 does so where ``spark.sql.python.filterPushdown.enabled`` is true, which it is not by
default; and where it is not, refuses readers that have a method for it. So the readers here have
none, but an attribute that Spark calls in its place, see :class:`PushFilters`.

What is said of a filter: whether Spark has to look at it once more. It does not where a condition
says the same to the letter. It does where rows may come that are none (mode PERMISSIVE), and with
filters that are no equality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from pyspark.sql.datasource import (
    DataSourceReader,
    EqualNullSafe,
    EqualTo,
    Filter,
    In,
    IsNotNull,
    IsNull,
)

from ...codec.common.positions import POSITIONS
from .conditions import Conditions, both

#: Texts of a list that each row is compared with, at most; longer ones are Spark's.
MOST_TEXTS: Final = 64


class PushFilters:
    """Stands in a reader's place ``pushFilters``.

    Spark tells by ``__func__`` whether a reader has its own method, and fails where it has one and
    nothing is to be pushed.

    :param take: is given the conditions that filters make.
    :param exact: whether no row comes that does not meet them.
    """

    def __init__(self, take: Callable[[Conditions], None], *, exact: bool) -> None:
        self.__func__ = DataSourceReader.pushFilters
        self._take = take
        self._exact = exact

    def __call__(self, filters: Sequence[Filter]) -> Iterable[Filter]:
        """Take filters, all of which have to be met.

        :return: those that Spark has to look at all the same.
        """
        conditions: Conditions = {}
        left = []
        for each in filters:
            found = condition(each)
            if found is None:
                left.append(each)
            else:
                conditions = both(conditions, found)
        self._take(conditions)
        if not self._exact:
            return filters
        return [each for each in left if not _is_implied(each, conditions)]


def condition(given: Filter) -> Conditions | None:
    """A filter as a condition; None if it is none that can be had.

    >>> condition(EqualTo(("graph",), "<urn:g>"))
    {'graph': frozenset({'<urn:g>'})}
    >>> condition(IsNull(("graph",)))
    {'graph': frozenset({''})}
    """
    texts: Sequence[Any] = ()
    if isinstance(given, EqualTo | EqualNullSafe):
        texts = (given.value,)
    elif isinstance(given, In):
        texts = given.value
    elif isinstance(given, IsNull) and given.attribute == ("graph",):
        return {"graph": frozenset([""])}
    else:
        return None
    name = given.attribute[0]
    if len(given.attribute) > 1 or name not in POSITIONS or len(texts) > MOST_TEXTS:
        return None
    # No term is empty, and null is equal to nothing.
    if not all(isinstance(text, str) and text for text in texts):
        return None
    return {name: frozenset(texts)}


def _is_implied(given: Filter, conditions: Conditions) -> bool:
    """Whether a filter only says that there is a term, where conditions say which."""
    return (
        isinstance(given, IsNotNull)
        and len(given.attribute) == 1
        and "" not in conditions.get(given.attribute[0], frozenset([""]))
    )
