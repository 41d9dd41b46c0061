"""The order of the files of a log that is split into several files."""

from __future__ import annotations

import re
from typing import Final

_DIGITS: Final = re.compile(r"([0-9]+)")


def natural(path: str) -> tuple[tuple[str | int, ...], ...]:
    """Return a sort key for a path: folder by folder, with numbers in names compared as numbers.

    Paths with equal keys, such as ``1`` and ``01``, have no defined order.

    >>> sorted(["a/10.rdfp", "a/2.rdfp", "a-b/1.rdfp"], key=natural)
    ['a/2.rdfp', 'a/10.rdfp', 'a-b/1.rdfp']
    """
    return tuple(
        tuple(int(part) if at % 2 else part for at, part in enumerate(_DIGITS.split(name)))
        for name in path.split("/")
    )
