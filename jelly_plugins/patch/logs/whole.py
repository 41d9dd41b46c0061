"""Logs as wholes: several as one, and the log that undoes one.

What a single patch becomes is in ``undo`` and ``compaction``; files are not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, Final
from uuid import uuid4

from ...codec import Iri
from ...codec.patch.operations import AnyOperation, Header, OperationKind
from ...errors import OrderError
from ..model import ID, PREV, Patch
from .transactions import check_follows, committed
from .undo import invert

#: Rows of a patch without an id that are looked through for one that has an effect: if it begins
#: with a longer transaction, that is taken for one that is not aborted.
_AHEAD: Final = 10_000


def new_id() -> Iri:
    """An id that no other patch has: a random UUID, as a URN."""
    return Iri(uuid4().urn)


def join(patches: Iterable[Patch]) -> Iterator[Patch]:
    """The patches of several logs as those of one, in which each follows the one before.

    An ``id`` or ``prev`` that a patch has is kept, and one that it lacks is made; the first patch
    needs no ``prev``. Patches without an ``id`` that change nothing (keepalives) stay as they are,
    and none follows them. Patches stream, as those of a reader do.

    :raises ChainError: a patch names another one before it than the one that is there.
    :raises OrderError: a patch has its ``id`` or ``prev`` after its first operation, when it is
        known already what they are.

    >>> from jelly_plugins import Triple
    >>> from jelly_plugins.patch import add
    >>> operations = [add(Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o")))]
    >>> first, second = join([Patch(headers=[("id", Iri("urn:1"))]), Patch(operations)])
    >>> first.headers, second.prev
    ([Header(key='id', value=Iri(value='urn:1'))], Iri(value='urn:1'))
    """
    last: Any = None
    first = True
    for number, patch in enumerate(patches, 1):
        check_follows(number, patch, last, first=first)
        own = list(patch.headers)
        headers = list(own)
        rows: Iterator[AnyOperation] = islice(patch.rows(), len(own), None)
        if patch.id is None:
            opening, has_effect = _opening(rows)
            rows = chain(opening, rows)
            if not has_effect:
                yield Patch(_checked(rows), own)
                continue
        first = False
        if patch.prev is None and last is not None:
            headers.insert(0, Header(PREV, last))
        last = patch.id
        if last is None:
            last = new_id()
            headers.insert(0, Header(ID, last))
        yield Patch(_checked(rows), headers)


def _opening(rows: Iterator[AnyOperation]) -> tuple[list[AnyOperation], bool]:
    """The first rows of a patch, and whether it has an effect, which they show."""
    read: list[AnyOperation] = []
    inside = changes = False
    for row in rows:
        read.append(row)
        kind = row.kind
        if kind is OperationKind.HEADER:
            continue
        if kind is OperationKind.BEGIN:
            inside = True
        elif kind is OperationKind.ABORT:
            inside = changes = False
        elif kind is OperationKind.COMMIT:
            if changes:
                break
            inside = False
        else:
            changes = True
            if not inside or len(read) > _AHEAD:
                break
    return read, changes


def _checked(rows: Iterable[AnyOperation]) -> Iterator[AnyOperation]:
    """The rows of a patch after the headers at its start."""
    for row in rows:
        if row.kind is OperationKind.HEADER and row.value.key in (ID, PREV):
            raise OrderError(f"the header {row.value.key!r} comes after the patch's operations")
        yield row


def invert_log(patches: Iterable[Patch]) -> list[Patch]:
    """The log that undoes a log: the inverse of each patch, the last one first.

    Each has a new ``id``, and the first one follows the last patch of the log, if that has an
    ``id``. See :func:`~jelly_plugins.patch.invert` for what an inverse is. Memory holds both logs.

    :raises ChainError: a patch names another one before it than the one that is there.
    :raises JellyError: a patch cannot be undone.

    >>> log = [Patch(headers=[("id", Iri("urn:1"))]), Patch(headers=[("id", Iri("urn:2"))])]
    >>> first, second = invert_log(log)
    >>> first.prev, second.prev == first.id
    (Iri(value='urn:2'), True)
    """
    log: list[Patch] = []
    last: Any = None
    for number, patch in enumerate(list(patches), 1):
        check_follows(number, patch, last, first=not log)
        if patch.id is None and not any(True for _ in committed(patch)):
            continue
        log.append(patch)
        last = patch.id
    inverted: list[Patch] = []
    for patch in reversed(log):
        made = new_id()
        headers = [(ID, made)] if last is None else [(ID, made), (PREV, last)]
        inverted.append(Patch(invert(patch).operations, headers))
        last = made
    return inverted
