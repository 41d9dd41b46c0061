"""Which patches of a log a store does not have yet, by their ids. No I/O.

Rules:
1. All patches of a call are one log, in their order. A log is known by the id of its first patch,
   and by the id of the last one that was applied; both are part of the version.
2. A log that begins with the first patch of a known log, or with a patch that follows none
   (``prev``), must have the last applied patch: what is after that is new. A log that begins with
   the last applied patch, or whose ``prev`` names that, continues it.
3. A patch may have grown at its end, if it was the last one: the rows that it had are skipped.
4. A patch without an id is not recognised, and is applied whenever it is given.
5. Rows of RDF have set semantics, so that a patch that repeats the one before it does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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
    :ivar rows: number of its rows up to the end of the last complete transaction.
    """

    place: Any
    id: str | None
    prev: str | None
    rows: int


@dataclass(slots=True, kw_only=True)
class Resolved:
    """What to apply of a log.

    :ivar logs: the positions in all logs, once it is applied.
    :ivar after: place of the last patch that was applied before; None to apply all.
    :ivar rows: number of rows of that patch that were applied.
    :ivar patches: number of patches to apply.
    :ivar unnamed: how many of these have no id.
    """

    logs: tuple[Log, ...]
    after: Any = None
    rows: int = 0
    patches: int = 0
    unnamed: int = 0


def resolve(
    patches: Iterable[PatchRows],
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
    found = _Resolving(logs, check_prev)
    for patch in patches:
        found.add(patch)
    found.check_found()
    return found.result(forget)


class _Resolving:
    def __init__(self, logs: Sequence[Log], check_prev: bool) -> None:
        self._logs = logs
        self._check_prev = check_prev
        #: The log, once its first patch with an id is known, and its position before.
        self._log: Log | None = None
        self._known: Log | None = None
        #: The logs whose last patches are looked for.
        self._sought: dict[str, Log] = {}
        self._opening: str | None = None
        #: Hashes of the ids that nothing but their order connects with the patch before.
        self._loose: set[int] = set()
        self._found = Resolved(logs=())

    def add(self, patch: PatchRows) -> None:
        """Add the next patch.

        :raises ChainError: it does not follow the one before it.
        """
        done = self._found
        if self._log is None and not self._sought and (patch.id or patch.prev):
            self._begin(patch)
        if patch.id in self._sought:
            self._log = self._known = self._sought[patch.id]
            self._sought = {}
        elif not self._sought:
            self._check_follows(patch)
        if self._known is not None and patch.id == self._known.last and self._log == self._known:
            # The patch that was applied last, or a repetition of it.
            done.after, done.rows = patch.place, self._known.rows
            done.patches = done.unnamed = 0
            if patch.rows > self._known.rows:
                self._log = self._known._replace(rows=patch.rows)
                done.patches = 1
            return
        done.patches += 1
        if patch.id is None:
            done.unnamed += 1
        elif not self._sought:
            first = patch.id if self._log is None else self._log.first
            self._log = Log(first, patch.id, patch.rows)

    def _begin(self, patch: PatchRows) -> None:
        """Find out which log begins with a patch."""
        firsts = {log.first: log for log in self._logs}
        lasts = {log.last: log for log in self._logs}
        self._opening = patch.prev
        if (log := lasts.get(patch.id or "") or firsts.get(patch.id or "")) is not None:
            self._sought = {log.last: log}
        elif (log := lasts.get(patch.prev or "")) is not None:
            self._log = self._known = log
        elif patch.prev is not None and self._check_prev:
            if not lasts:
                raise ChainError(
                    f"it follows patch {patch.prev}, but nothing was applied before",
                    found=patch.prev,
                )
            # The log may begin in the middle.
            self._sought = lasts

    def _check_follows(self, patch: PatchRows) -> None:
        before = None if self._log is None else self._log.last
        if patch.id is not None and patch.id != before and patch.prev is None:
            if hash(patch.id) in self._loose or (self._log and patch.id == self._log.first):
                raise ChainError("an earlier patch of the log has the same id", found=patch.id)
            self._loose.add(hash(patch.id))
        if None in (before, patch.prev) or patch.id == before or not self._check_prev:
            return
        if patch.prev != before:
            raise ChainError(
                f"it follows patch {patch.prev}, but the patch before it is {before}",
                expected=before,
                found=patch.prev,
            )

    def check_found(self) -> None:
        """Check that the store's position is in the log.

        :raises ChainError: it is not.
        """
        if not self._sought:
            return
        names = list(self._sought)
        heads = " or ".join(names[:_SHOWN])
        if len(names) > _SHOWN:
            heads += f" or one of {len(names) - _SHOWN} others"
        message = f"the store is at patch {heads}, which the log does not have"
        if self._opening is not None:
            message = f"the log follows patch {self._opening}, but the store is at patch {heads}"
        raise ChainError(message, expected=heads, found=self._opening)

    def result(self, forget: bool) -> Resolved:
        """Return the result, with the new positions."""
        kept = list(self._logs)
        if self._log is not None and self._log != self._known:
            kept = [log for log in kept if log != self._known]
            kept.append(self._log)
        if len(kept) > MAX_LOGS:
            if not forget:
                raise LimitError(
                    f"a store has the positions of {MAX_LOGS} logs at most: connect patches with "
                    "prev, or pass application and batch"
                )
            kept = kept[-MAX_LOGS:]
        self._found.logs = tuple(kept)
        return self._found
