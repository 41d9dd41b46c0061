"""HTML for notebooks: small tables of any amount of data.

A class gives one in ``_repr_html_``, which notebooks call. Nothing is read for a table: what
streams still streams afterwards. How terms are shown is registered where their classes are defined.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields
from functools import singledispatch
from itertools import chain, islice
from typing import Any, Final

#: Limits of a table: rows, characters of a cell, and elements of a collection in a cell.
MOST_ROWS: Final = 20
MOST_CHARACTERS: Final = 300
_MOST_ELEMENTS: Final = 5


def table(title: str, rows: Iterable[tuple[str, object]], *, more: str = "") -> str:
    """A table of names and values with a title; values of None are left out.

    :param more: a line under the table, such as how many rows are not in it.

    >>> print(table("A <title>", [("rows", 1234), ("none", None)]))
    <table><caption>A &lt;title&gt;</caption><tr><th>rows</th><td>1,234</td></tr></table>
    """
    parts = [f"<table><caption>{_html(title)}</caption>"]
    parts += [
        f"<tr><th>{_html(name)}</th><td>{_html(_text(value))}</td></tr>"
        for name, value in rows
        if value is not None
    ]
    if more:
        parts.append(f'<tr><td colspan="2">{_html(more)}</td></tr>')
    return "".join([*parts, "</table>"])


@singledispatch
def parts(value: Any) -> Iterator[str]:
    """The text of a term in chunks, each followed by a space; registered for each class of terms.
    A chunk has at most :data:`MOST_CHARACTERS` of the term."""
    yield f"{str(value)[:MOST_CHARACTERS]} "


def short(value: Any) -> str:
    """The text of a statement or term, shortened to fit a cell."""
    text = ""
    # A statement is a tuple of terms, and a quoted triple among them as well.
    terms = value if isinstance(value, tuple) else (value,)
    for part in chain.from_iterable(map(parts, terms)):
        text += part
        if len(text) > MOST_CHARACTERS:
            break
    return text.rstrip()


def statements_table(title: str, rows: Iterable[tuple[str, object]], statements: list[Any]) -> str:
    """A table with the first statements of a list after other rows."""
    number = len(statements)
    more = f"and {number - MOST_ROWS:,} more statements" if number > MOST_ROWS else ""
    shown = [(str(at), short(each)) for at, each in enumerate(statements[:MOST_ROWS])]
    return table(title, [*rows, *shown], more=more)


def _html(text: str) -> str:
    from html import escape

    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]}…"
    # A surrogate alone cannot be sent to a browser.
    return escape(text.encode("utf-8", "replace").decode())


def _text(value: object) -> str:
    if parts.dispatch(type(value)) is not parts.dispatch(object):
        return short((value,))
    if isinstance(value, str):
        # The value of a member of an enumeration.
        return str.__str__(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return _listed(value, [f"{_text(key)}: {_text(value[key])}" for key in _first(value)])
    if isinstance(value, list | tuple | set | frozenset):
        return _listed(value, list(map(_text, _first(value))))
    if isinstance(value, Shown):
        return ", ".join(
            name if part is True else f"{name} {_text(part)}"
            for name, part in value.shown()
            if part is not None and part is not False and part != ""
        )
    return str(value)


def _first(elements: Iterable[Any]) -> list[Any]:
    return list(islice(elements, _MOST_ELEMENTS))


def _listed(elements: Collection[Any], texts: list[str]) -> str:
    rest = len(elements) - len(texts)
    return ", ".join(texts) + (f" and {rest:,} more" if rest else "")


class Shown:
    """Shows the fields of a dataclass."""

    __slots__ = ()

    def shown(self) -> list[tuple[str, object]]:
        """The names and values of the fields."""
        known: Any = self
        return [(each.name, getattr(self, each.name)) for each in fields(known)]

    def _repr_html_(self) -> str:
        return table(type(self).__name__, self.shown())
