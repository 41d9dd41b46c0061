"""Does a patch follow the one before it? What errors say if not, and how they call a patch.

Patches of a log are counted from 1, wherever they are counted. One without an id that changes
nothing (a keepalive) is counted, and none follows it: what is behind it follows what is before it.
"""

from __future__ import annotations

from typing import Any

from ...codec.text.ntriples import term_text
from ...errors import ChainError
from ..model import Patch


def check_follows(number: int, patch: Patch, last: Any, *, first: bool) -> None:
    """Refuse a patch that names another one before it.

    :param number: of the patch in its log.
    :param last: id of the patch before, None without one.
    :param first: whether there is none before; then it may follow anything.
    :raises ChainError: it does.
    """
    if first or patch.prev is None or patch.prev == last:
        return
    name = f"number {number}" if patch.id is None else term_text(patch.id)
    found = term_text(patch.prev)
    expected = None if last is None else term_text(last)
    before = "has no id" if expected is None else f"is {expected}"
    raise ChainError(
        f"patch {name}: it follows patch {found}, but the one before it {before}",
        expected=expected,
        found=found,
    )
