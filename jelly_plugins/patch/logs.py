"""Logs as wholes: several as one, and the log that undoes one.

What a single patch becomes is in ``undo`` and ``compaction``; files are not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any
from uuid import uuid4

from ..codec import Iri
from ..codec.operations import Header, Operation, OperationKind
from ..errors import OrderError
from .chain import check_follows
from .model import ID, PREV, Patch
from .undo import invert


def new_id() -> Iri:
    """An id that no other patch has: a random UUID, as a URN."""
    return Iri(uuid4().urn)


def join(patches: Iterable[Patch]) -> Iterator[Patch]:
    """The patches of several logs as those of one, in which each follows the one before.

    An ``id`` or ``prev`` that a patch has is kept, and one that it lacks is made; the first patch
    needs no ``prev``. Patches stream, as those of a reader do.

    :raises ChainError: a patch names another one before it than the one that is there.
    :raises OrderError: a patch names its ``id`` or ``prev`` behind its first operation, when it is
        known already what they are.

    >>> first, second = join([Patch(headers=[("id", Iri("urn:1"))]), Patch()])
    >>> first.headers, second.prev
    ([Header(key='id', value=Iri(value='urn:1'))], Iri(value='urn:1'))
    """
    last: Any = None
    for number, patch in enumerate(patches, 1):
        check_follows(number, patch, last)
        own = list(patch.headers)
        headers = list(own)
        if patch.prev is None and last is not None:
            headers.insert(0, Header(PREV, last))
        last = patch.id
        if last is None:
            last = new_id()
            headers.insert(0, Header(ID, last))
        yield Patch(_behind(len(own), patch), headers)


def _behind(headers: int, patch: Patch) -> Iterator[Operation]:
    """The rows of a patch behind the headers that it starts with."""
    for row in islice(patch.rows(), headers, None):
        if row.kind is OperationKind.HEADER and row.value.key in (ID, PREV):
            raise OrderError(f"the header {row.value.key!r} stands behind the patch's operations")
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
    log = list(patches)
    last: Any = None
    for number, patch in enumerate(log, 1):
        check_follows(number, patch, last)
        last = patch.id
    inverted: list[Patch] = []
    for patch in reversed(log):
        made = new_id()
        headers = [(ID, made)] if last is None else [(ID, made), (PREV, last)]
        inverted.append(Patch(invert(patch).operations, headers))
        last = made
    return inverted
