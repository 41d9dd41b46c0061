"""Docstrings as the site shows them: roles become links, examples blocks of code, and comments that
begin with ``#:`` docstrings of the names below them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import griffe

_ROLE = re.compile(r":(?:attr|class|data|func|meth|mod|exc):`(?:([^`<>]+?) *<)?~?([\w.]+)>?`")
#: Several errors that are raised for the same reason: Griffe takes one at a time.
_RAISES = re.compile(r"^:raises (\w+), (\w+): (.*(?:\n[ \t]+\S.*)*)", re.MULTILINE)
_FIELD = re.compile(r"^:(?:param|ivar|raises|return)\b.*(?:\n[ \t]+\S.*)*", re.MULTILINE)
_EXAMPLE = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


class Docstrings(griffe.Extension):
    """Rewrites the docstrings of a package once all of it is loaded."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        everything = list(_objects(pkg))
        self._by_name = {each.path.rpartition(".")[2]: each.path for each in everything}
        for each in everything:
            if each.is_attribute:
                _describe(each)
            if each.docstring is not None:
                each.docstring.value = self._markdown(each, each.docstring.value)

    def _markdown(self, owner: griffe.Object, text: str) -> str:
        text = _RAISES.sub(r":raises \1: \3\n:raises \2: \3", text)
        # What follows fields is about the whole; Griffe takes it for a part of the last.
        fields = "\n".join(field[0] for field in _FIELD.finditer(text))
        text = f"{_FIELD.sub('', text).strip()}\n\n{fields}"
        text = _ROLE.sub(lambda role: self._link(owner, role[1], role[2]), text)
        return _EXAMPLE.sub(lambda example: f"```pycon\n{example[0]}\n```", text)

    def _link(self, owner: griffe.Object, title: str | None, name: str) -> str:
        shown = title or name.lstrip(".")
        return f'<autoref identifier="{self._path(owner, name)}" optional>`{shown}`</autoref>'

    def _path(self, owner: griffe.Object, name: str) -> str:
        if name.startswith("jelly_plugins."):
            return name
        first, _, rest = name.lstrip(".").partition(".")
        try:
            path = owner.resolve(first)
        except griffe.NameResolutionError:
            path = self._by_name.get(first, first)
        return f"{path}.{rest}" if rest else path


def _describe(attribute: Any) -> None:
    """Give an attribute the comment above it, and take away a value that is only its own name."""
    if attribute.labels == {"instance-attribute"}:
        attribute.value = None
    if attribute.docstring is not None or attribute.lineno is None:
        return
    above = []
    for line in reversed(attribute.lines_collection[attribute.filepath][: attribute.lineno - 1]):
        if not line.strip().startswith("#:"):
            break
        above.append(line.strip().removeprefix("#:").strip())
    if above:
        attribute.docstring = griffe.Docstring(
            "\n".join(reversed(above)),
            parent=attribute,
            parser=griffe.Parser.sphinx,
        )


def _objects(owner: griffe.Object) -> Iterator[griffe.Object]:
    yield owner
    for member in owner.members.values():
        if isinstance(member, griffe.Object):
            yield from _objects(member)
