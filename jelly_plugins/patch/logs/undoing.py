"""Undo and redo by patches that a log gets at its end, so that all who follow the log follow them.

A patch that undoes another has that one's id in its header ``undoes``, a patch that repeats it has
it in ``redoes``. By these headers alone a log is like the history of an editor: an undo goes back
from the newest patch that is in effect, a redo forth again, and any other patch ends what could be
redone. Stores are not known here: they replay the log.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from errno import ENOENT
from itertools import islice
from typing import Any, Final, NamedTuple

from ...codec import DEFAULT_LIMITS, Limits, Term, describe
from ...codec.patch.operations import (
    BEGIN,
    COMMIT,
    AnyOperation,
    OperationKind,
    delete_namespace,
    header,
)
from ...codec.text.ntriples import term_text
from ...errors import ChainError, OptionsError, SourceError
from ..model import ID, PREV, Patch
from ..reader import read_patches
from ..recording import LogWriter, RecordSettings
from ..replay.settings import as_term
from .editing import committed, inverted_operation, subject_of

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
        ``id``. A truncated patch at its end is cut off, as a recorder does.
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
    """Undo or redo.

    :param step: -1 or 1.
    """
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
        start = writer.place
        try:
            ids, line, depth, target = _history(log, sought, limits)
            if sought is None:
                target = depth + step * (count or 1)
            numbers = _steps(line, depth, target, step, sought)
            effects = _effects(log, numbers, limits)
            key = UNDOES if step < 0 else REDOES
            made = []
            for number in numbers:
                operations = effects[number]
                if step < 0:
                    operations = [inverted_operation(each, {}) for each in reversed(operations)]
                before, about = writer.place.head, ids[number]
                writer.append(operations, [header(key, about)])
                headers = [(ID, writer.place.head), (PREV, before), (key, about)]
                made.append(Patch([BEGIN, *operations, COMMIT], headers))
        except BaseException:
            writer.cut(start)
            raise
    return made


class _History(NamedTuple):
    """The patches of a log as an editor has its history.

    :ivar ids: ids of all patches, by their numbers from 0.
    :ivar line: numbers of the patches that are in effect, and after them of those that are undone.
    :ivar depth: number of those that are in effect.
    :ivar target: the depth after the patch sought; None if other patches have followed since.
    """

    ids: list[Any]
    line: list[int]
    depth: int
    target: int | None


def _history(log: str | os.PathLike[str], sought: str | None, limits: Limits) -> _History:
    """Read the history of a log.

    :param sought: id of a patch in the syntax of N-Triples.
    :raises ChainError: a patch does not follow the one before it; or a header names another patch
        than the one that is next; or the log has no patch ``sought``.
    """
    ids: list[Any] = []
    done: list[int] = []
    undone: list[int] = []
    found: list[int] | None = None
    for headers, _ in _patches(log, limits):
        patch, number = headers[ID], len(ids)
        if ids and PREV in headers and headers[PREV] != ids[-1]:
            raise ChainError(
                f"patch {term_text(patch)} follows patch {term_text(headers[PREV])}, but the log "
                f"has {term_text(ids[-1])} before it",
                expected=term_text(ids[-1]),
                found=term_text(headers[PREV]),
            )
        ids.append(patch)
        for key, source, goal in ((UNDOES, done, undone), (REDOES, undone, done)):
            if key not in headers:
                continue
            if not source or ids[source[-1]] != headers[key]:
                expected = term_text(ids[source[-1]]) if source else None
                raise ChainError(
                    f"patch {term_text(patch)}: its header {key} is {term_text(headers[key])}, but "
                    f"the next patch to {key[:4]} is {expected or 'none'}",
                    expected=expected,
                    found=term_text(headers[key]),
                )
            goal.append(source.pop())
            break
        else:
            undone.clear()
            done.append(number)
        if sought is not None and term_text(patch) == sought:
            found = list(done)
    if sought is not None and found is None:
        raise ChainError(f"the log has no patch {sought}", expected=sought)
    line = [*done, *reversed(undone)]
    target = None if found is None or line[: len(found)] != found else len(found)
    return _History(ids, line, len(done), target)


def _steps(
    line: list[int], depth: int, target: int | None, step: int, sought: str | None
) -> list[int]:
    """The numbers of the patches to undo or to redo, in order.

    :param target: the depth to reach; see :class:`_History`.
    :param step: -1 to undo, 1 to redo.
    :raises ChainError: there are none.
    """
    doing, other = ("undo", "redo") if step < 0 else ("redo", "undo")
    if target is None:
        raise ChainError(
            f"the log cannot {doing} to patch {sought}: it was undone, and other patches followed",
            found=sought,
        )
    if not 0 <= target <= len(line):
        left = depth if target < 0 else len(line) - depth
        found = f"only {left} patches" if left else "no patch"
        raise ChainError(f"the log has {found} to {doing}")
    if (target - depth) * step < 0:
        raise ChainError(
            f"the state after patch {sought} is reached by {other}, not by {doing}", found=sought
        )
    return line[target:depth][::-1] if step < 0 else line[depth:target]


def _effects(
    log: str | os.PathLike[str], numbers: Sequence[int], limits: Limits
) -> dict[int, list[AnyOperation]]:
    """What patches of a log have changed, as far as the log shows it.

    Memory holds these patches and not the others, so the log is read twice.

    :param numbers: of the patches, from 0.
    """
    if not numbers:
        return {}
    wanted = frozenset(numbers)
    end = max(wanted) + 1

    def changes() -> Iterator[tuple[int, list[AnyOperation]]]:
        for number, (_, operations) in enumerate(islice(_patches(log, limits), end)):
            yield number, operations

    patches = {number: operations for number, operations in changes() if number in wanted}
    subjects = {subject_of(row) for rows in patches.values() for row in rows}
    before: dict[Any, AnyOperation] = {}
    for number, rows in changes():
        if number in wanted:
            patches[number] = list(_effective(patches[number], before))
            continue
        for row in rows:
            subject = subject_of(row)
            if subject in subjects:
                before[subject] = row
    return patches


def _patches(
    log: str | os.PathLike[str], limits: Limits
) -> Iterator[tuple[dict[str, Any], list[AnyOperation]]]:
    """The headers and the changes of the patches of a log, each of which has an id. A patch that
    repeats the one before it is left out."""
    previous = None
    for patch in read_patches(log, limits=limits):
        changes = list(committed(patch))
        headers: dict[str, Any] = {}
        for each in patch.headers:
            headers.setdefault(each.chain_key, each.value)
        if headers[ID] != previous:
            yield headers, changes
        previous = headers[ID]


def _effective(
    operations: Iterable[AnyOperation], last: dict[Any, AnyOperation]
) -> Iterator[AnyOperation]:
    """Those operations that do not repeat earlier ones; a namespace that replaces another one
    deletes that first.

    :param last: the last operation on each subject, which is kept up.
    """
    for operation in operations:
        subject = subject_of(operation)
        before = last.get(subject)
        last[subject] = operation
        if before is None:
            yield operation
            continue
        same = before.kind is operation.kind
        if operation.kind not in (OperationKind.ADD_NAMESPACE, OperationKind.DELETE_NAMESPACE):
            if not same:
                yield operation
            continue
        name, iri, graph = operation.value
        if before.kind is OperationKind.ADD_NAMESPACE:
            if same and before.value.iri == iri:
                continue
            yield delete_namespace(name, before.value.iri, graph)
        if operation.kind is OperationKind.ADD_NAMESPACE:
            yield operation
