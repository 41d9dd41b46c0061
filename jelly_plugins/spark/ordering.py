"""The order of paths in which a log may lie in several files."""

from __future__ import annotations

import re
from typing import Final

_DIGITS: Final = re.compile(r"([0-9]+)")


def natural(path: str) -> tuple[tuple[str | int, ...], ...]:
    """What paths are ordered by: folder by folder, numbers in names as numbers.

    Two paths that it cannot tell apart, such as ``1`` and ``01``, are in no order.

    >>> sorted(["a/10.rdfp", "a/2.rdfp", "a-b/1.rdfp"], key=natural)
    ['a/2.rdfp', 'a/10.rdfp', 'a-b/1.rdfp']
    """
    return tuple(
        tuple(int(part) if at % 2 else part for at, part in enumerate(_DIGITS.split(name)))
        for name in path.split("/")
    )
