"""Undo and redo by patches that a log gets at its end, so that all who follow the log follow them.

A patch that undoes another has that one's id in its header ``undoes``, a patch that repeats it has
it in ``redoes``. By these headers alone a log is like the history of an editor: an undo goes back
from the newest patch that is in effect, a redo forth again, and any other patch ends what could be
redone. Stores are not known here: they replay the log.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from errno import ENOENT
from itertools import islice
from typing import Any, Final

from ..codec import DEFAULT_LIMITS, Limits, Term, describe
from ..codec.patch.operations import BEGIN, COMMIT, AnyOperation, header
from ..codec.text.ntriples import term_text
from ..errors import ChainError, JellyError, OptionsError, SourceError
from .logs import Chain, committed, effective, reverse_of, subject_of
from .model import ID, PREV, Patch
from .reader import read_patches
from .recording import LogWriter, RecordSettings
from .replay.transactions import as_term

#: Keys of headers: the id of the patch that a patch undoes, or repeats after it was undone.
UNDOES: Final = "undoes"
REDOES: Final = "redoes"


def undo(
    log: str | os.PathLike[str],
    *,
    count: int | None = None,
    to: str | Term | None = None,
    sync: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> list[Patch]:
    """Undo the newest patches of a log, by patches appended to it: for each, from the newest on,
    its inverse in one transaction. Patches that were undone before do not count.

    Stores are not changed: a leader and its followers replay the log. The log must not be open in
    a recorder. Of operations that changed nothing, those that repeat an earlier one of the log are
    left out; others are not detected, see :func:`~jelly_plugins.patch.invert`.

    All patches are appended or, after an error, none. A process that is killed may leave some of
    them, each complete; calling again with the same ``to`` appends the rest.

    :param log: path of the log, Jelly-Patch or RDF Patch text, not compressed. Each patch needs an
        ``id``. A truncated patch at its end is cut off, as a recorder does, unless an error is
        raised.
    :param count: number of patches to undo; 1 by default, if ``to`` is not given.
    :param to: go back to the state after the patch with this id: a term, such as ``patch.id``, an
        IRI, or a term in the syntax of N-Triples.
    :param sync: have each patch on the disk before the next one, see
        :func:`jelly_plugins.oxigraph.record`.
    :param limits: the limits for reading the log.
    :return: the patches appended; none if the log is in the state ``to``.
    :raises ChainError: the log has no such patch, or it is undone; or there are fewer than
        ``count`` patches; or patches have no ``id``.
    :raises StatementError: a namespace is deleted whose IRI the log does not contain.
    :raises OptionsError: ``count`` and ``to`` are both given, ``count`` is less than 1, or nothing
        can follow in the log.
    :raises SourceError: the log cannot be read or written, or a recorder has it open.
    :raises JellyError: the log is not valid.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from jelly_plugins.patch import check
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = Path(folder, "log.rdfp")
    ...     _ = log.write_text("H id <urn:1> .\\nTX .\\nA <urn:s> <urn:p> <urn:o> .\\nTC .\\n")
    ...     [patch] = undo(log)
    ...     [again] = redo(log)
    ...     check(log).patches
    3
    >>> [row.kind.code for row in patch], patch.header("undoes"), again.header("redoes")
    (['TX', 'D', 'TC'], Iri(value='urn:1'), Iri(value='urn:1'))
    """
    return _append(log, -1, count, to, sync, limits)


def redo(
    log: str | os.PathLike[str],
    *,
    count: int | None = None,
    to: str | Term | None = None,
    sync: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> list[Patch]:
    """Redo the patches of a log that were undone last, by appending their changes again.

    What was undone can be redone until another patch is appended. See :func:`undo` for the
    parameters, and for what is raised.

    :param count: number of patches to redo; 1 by default, if ``to`` is not given.
    :param to: go forth to the state after the patch with this id.
    :return: the patches appended; none if the log is in the state ``to``.
    """
    return _append(log, 1, count, to, sync, limits)


def _append(
    log: str | os.PathLike[str],
    step: int,
    count: int | None,
    to: str | Term | None,
    sync: bool,
    limits: Limits,
) -> list[Patch]:
    """Undo (``step`` -1) or redo (1)."""
    if count is not None and to is not None:
        raise OptionsError("count and to exclude each other")
    if count is not None and count < 1:
        raise OptionsError(f"count must be at least 1 (got {count})")
    sought = None if to is None else as_term(to, "to")
    if not isinstance(log, str | os.PathLike):
        raise TypeError(f"the log must be the path of a file (got {type(log).__name__})")
    name = os.fspath(log)
    if not os.path.exists(name):
        raise SourceError(os.strerror(ENOENT), source=name)
    settings = RecordSettings(sync=sync, limits=limits)
    with LogWriter(log, settings, describe=describe) as writer:
        try:
            history = _History(sought)
            for patch, _ in _patches(log, limits):
                history.add(patch)
            numbers = history.steps(step, count or 1)
            effects = _effects(log, numbers, limits)
            key = UNDOES if step < 0 else REDOES
            made = []
            for number in numbers:
                operations = effects[number]
                if step < 0:
                    operations = list(map(reverse_of, reversed(operations)))
                before, about = writer.place.head, history.ids[number]
                writer.append(operations, [header(key, about)])
                headers = [(ID, writer.place.head), (PREV, before), (key, about)]
                made.append(Patch([BEGIN, *operations, COMMIT], headers))
        except BaseException as error:
            writer.abandon()
            if isinstance(error, JellyError):
                error.locate(source=name)
            raise
    return made


class _History:
    """The patches of a log as an editor has its history."""

    def __init__(self, sought: str | None) -> None:
        self.ids: list[Any] = []
        self._sought = sought
        #: Those in effect after the patch sought.
        self._found: list[int] | None = None
        self._chain = Chain()
        #: Numbers of the patches that are in effect, and after them of those that are undone; and
        #: how many are in effect.
        self._line: list[int] = []
        self._depth = 0

    def add(self, patch: Patch) -> None:
        self._chain.follow(patch, changes=True)
        line, number = self._line, len(self.ids)
        id_: Any = patch.id
        self.ids.append(id_)
        for key, at, step in ((UNDOES, self._depth - 1, -1), (REDOES, self._depth, 1)):
            named = patch.header(key)
            if named is None:
                continue
            known = self.ids[line[at]] if 0 <= at < len(line) else None
            if named != known:
                expected = None if known is None else term_text(known)
                raise ChainError(
                    f"patch {term_text(id_)}: its header {key} is {term_text(named)}, but the "
                    f"next patch to {key[:4]} is {expected or 'none'}",
                    expected=expected,
                    found=term_text(named),
                )
            self._depth += step
            break
        else:
            line[self._depth :] = [number]
            self._depth += 1
        if term_text(id_) == self._sought:
            self._found = line[: self._depth]

    def steps(self, step: int, count: int) -> list[int]:
        """The numbers of the patches to undo (``step`` -1) or redo (1), in order."""
        line, depth, sought = self._line, self._depth, self._sought
        doing, other = ("undo", "redo") if step < 0 else ("redo", "undo")
        goal = depth + step * count
        if sought is not None:
            if self._found is None:
                raise ChainError(f"the log has no patch {sought}", expected=sought)
            goal = len(self._found)
            if line[:goal] != self._found:
                raise ChainError(
                    f"the log cannot {doing} to patch {sought}: it was undone, and other patches "
                    "followed",
                    found=sought,
                )
            if (goal - depth) * step < 0:
                raise ChainError(
                    f"the state after patch {sought} is reached by {other}, not by {doing}",
                    found=sought,
                )
        if not 0 <= goal <= len(line):
            left = depth if step < 0 else len(line) - depth
            found = "only one patch" if left == 1 else f"only {left} patches"
            raise ChainError(f"the log has {found if left else 'no patch'} to {doing}")
        return line[goal:depth][::-1] if step < 0 else line[depth:goal]


def _effects(
    log: str | os.PathLike[str], numbers: Sequence[int], limits: Limits
) -> dict[int, list[AnyOperation]]:
    """What patches of a log have changed, as far as the log shows it. Memory holds these patches
    and not the others, so the log is read twice."""

    def patches() -> Iterator[tuple[int, list[AnyOperation]]]:
        for number, (_, changes) in enumerate(islice(_patches(log, limits), end)):
            yield number, changes

    end = max(numbers, default=-1) + 1
    wanted = frozenset(numbers)
    subjects = {subject_of(row) for number, rows in patches() if number in wanted for row in rows}
    effects: dict[int, list[AnyOperation]] = {}
    last: dict[Any, AnyOperation] = {}
    for number, rows in patches():
        if number in wanted:
            effects[number] = list(effective(rows, last))
        else:
            last |= {of: row for row in rows if (of := subject_of(row)) in subjects}
    return effects


def _patches(
    log: str | os.PathLike[str], limits: Limits
) -> Iterator[tuple[Patch, list[AnyOperation]]]:
    """The patches of a log, each of which has an id, and their changes. Empty ones and those that
    repeat the one before them are left out."""
    previous = None
    for patch in read_patches(log, limits=limits):
        # The operations may bring headers.
        changes = list(committed(patch))
        if patch.id not in (None, previous):
            yield patch, changes
            previous = patch.id
