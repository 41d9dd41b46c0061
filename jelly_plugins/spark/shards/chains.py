"""Which patches of a log a store does not have yet, by their ids. No I/O.

Rules:
1. All patches of a call are one log, in their order. A log is known by the id of its first patch,
   and by the id of the last one that was applied; both are part of the version.
2. A log that begins with the first patch of a known log, or with a patch that follows another one
   (``prev``), must have the last applied patch: what is after that is new. A log that begins with
   the last applied patch, or whose ``prev`` names that, continues it.
3. A patch that was the last one, and has grown since, is applied again as a whole. RDF has set
   semantics, so this does no harm.
4. A patch without an id is not recognised, and is applied whenever it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ...errors import ChainError, LimitError
from .root import MAX_LOGS, Log

#: Ids that an error names, at most.
_SHOWN: Final = 3


class PatchRows(NamedTuple):
    """A patch of a log.

    :ivar place: where it is, for the caller.
    :ivar id: its id, in the syntax of N-Triples; None without one.
    :ivar prev: id of the patch that it follows; None without one.
    :ivar rows: number of its rows, without headers and its end, up to the end of the last complete
        transaction.
    """

    place: Any
    id: str | None
    prev: str | None
    rows: int


class Resolved(NamedTuple):
    """What to apply of a log.

    :ivar logs: the positions in all logs, once it is applied.
    :ivar start: number of patches before the first one to apply.
    """

    logs: tuple[Log, ...]
    start: int


def resolve(
    patches: Sequence[PatchRows],
    logs: Sequence[Log],
    *,
    check_prev: bool = True,
    forget: bool = False,
) -> Resolved:
    """Find out which patches of a log are new.

    :param patches: the patches, in order.
    :param logs: the store's positions in logs.
    :param check_prev: whether each patch must follow the one that its ``prev`` names.
    :param forget: whether the oldest positions may be dropped if there are too many.
    :raises ChainError: a patch does not follow the one before it, or the log does not follow what
        was applied.
    :raises LimitError: there are too many logs.
    """
    known, start = _known(patches, logs, check_prev)
    log, seen = known, set[str]()
    for patch in patches[start:]:
        before = None if log is None else log.last
        if check_prev and None not in (before, patch.prev) and before not in (patch.id, patch.prev):
            raise ChainError(
                f"it follows patch {patch.prev}, but the patch before it is {before}",
                expected=before,
                found=patch.prev,
            )
        if patch.id is None:
            continue
        if patch.id in seen and patch.id != before:
            raise ChainError("an earlier patch of the log has the same id", found=patch.id)
        seen.add(patch.id)
        log = Log(patch.id if log is None else log.first, patch.id, patch.rows)
    kept = list(logs)
    if log is not None and log != known:
        kept = [*(each for each in logs if each != known), log]
    if len(kept) > MAX_LOGS and not forget:
        raise LimitError(
            f"a store has the positions of {MAX_LOGS} logs at most: connect patches with prev, or "
            "pass application and batch"
        )
    return Resolved(tuple(kept[-MAX_LOGS:]), start)


def _known(
    patches: Sequence[PatchRows], logs: Sequence[Log], check_prev: bool
) -> tuple[Log | None, int]:
    """Return the known log that patches are of, and how many of them the store has."""
    opening = next((patch for patch in patches if patch.id or patch.prev), None)
    if opening is None:
        return None, 0
    firsts = {log.first: log for log in logs}
    lasts = {log.last: log for log in logs}
    known = lasts.get(opening.id or "") or firsts.get(opening.id or "")
    if known is not None:
        lasts = {known.last: known}
    elif (known := lasts.get(opening.prev or "")) is not None:
        return known, 0
    elif opening.prev is None or not check_prev:
        return None, 0
    elif not lasts:
        raise ChainError(
            f"it follows patch {opening.prev}, but nothing was applied before", found=opening.prev
        )
    # A log that begins in the middle may be any of the known ones.
    for at in reversed(range(len(patches))):
        if (known := lasts.get(patches[at].id or "")) is not None:
            return known, at + (patches[at].rows == known.rows)
    heads = " or ".join([*lasts][:_SHOWN])
    if len(lasts) > _SHOWN:
        heads += f" or one of {len(lasts) - _SHOWN} others"
    message = f"the store is at patch {heads}, which the log does not have"
    if opening.prev is not None:
        message = f"the log follows patch {opening.prev}, but the store is at patch {heads}"
    raise ChainError(message, expected=heads, found=opening.prev)
