"""Many patches as one: what a log, or part of one, comes to in the end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...codec import DEFAULT_GRAPH
from ...codec.patch.operations import AnyOperation, OperationKind
from ..model import BEGIN, COMMIT, ID, PREV, Patch, check_patches
from .transactions import check_follows, committed

_ADDS = (OperationKind.ADD, OperationKind.ADD_NAMESPACE)
_STATEMENTS = (OperationKind.ADD, OperationKind.DELETE)


class _Net:
    """The first and the last operation on each thing, in the order of the first."""

    def __init__(self) -> None:
        self._ends: dict[Any, tuple[AnyOperation, AnyOperation]] = {}

    def apply(self, operation: AnyOperation) -> None:
        kind, value = operation
        key: tuple[Any, ...]
        if kind in _STATEMENTS:
            # A triple is the same statement as a quad in the default graph.
            key = value if len(value) == 4 else (*value, DEFAULT_GRAPH)
        else:
            # A name is bound once in each graph, whatever its IRI.
            key = (None, value.name, DEFAULT_GRAPH if value.graph is None else value.graph)
        first, _ = self._ends.get(key, (operation, operation))
        self._ends[key] = (first, operation)

    def operations(self, exact: bool) -> list[AnyOperation]:
        """Deletions, then additions."""
        net = [
            last
            for first, last in self._ends.values()
            if not (exact and last.kind in _STATEMENTS and first.kind is not last.kind)
        ]
        return sorted(net, key=lambda operation: operation.kind in _ADDS)


def compact(patches: Iterable[Patch], *, exact: bool = False) -> Patch:
    """One patch, in one transaction, that leaves what ``patches`` leave when applied in order.

    Of the operations on one statement the last counts; the same goes for a namespace's name in its
    graph. Aborted transactions did nothing, and are left out; so are patches without an ``id`` that
    change nothing (keepalives), which nothing follows. The result follows what the first
    patch follows and can replace the last: it has the ``prev`` of the one and the ``id`` of the
    other, and no other headers. Its memory is that of the statements which the patches touch.

    :param patches: in order; those that stream are read as they go.
    :param exact: whether each addition added something and each deletion deleted something, as in
        patches that were recorded or made by :func:`~jelly_plugins.patch.diff`. A statement that
        is added and deleted again is left out then, and so is one that is deleted and added again.
        Without it, the last operation is kept, which is right whatever there was before.
    :raises OrderError: transactions are not in order.
    :raises ChainError: a patch's ``prev`` is not the ``id`` of the patch before it.
    :raises TypeError: it is one patch, or a path.

    >>> from jelly_plugins import Iri, Triple
    >>> from jelly_plugins.patch import add, delete
    >>> statement = Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))
    >>> log = [Patch([add(statement)]), Patch([delete(statement)])]
    >>> compact(log).operations == [BEGIN, delete(statement), COMMIT], compact(log, exact=True)
    (True, <Patch of 0 operations; no headers>)
    """
    check_patches(patches)
    net = _Net()
    first: Patch | None = None
    last: Patch | None = None
    for number, patch in enumerate(patches, 1):
        changes = False
        for operation in committed(patch):
            net.apply(operation)
            changes = True
        # The operations may have brought headers of their own.
        check_follows(number, patch, None if last is None else last.id, first=first is None)
        if patch.id is None and not changes:
            continue
        first = first or patch
        last = patch
    if first is None or last is None:
        return Patch()
    operations = net.operations(exact)
    headers = [(key, term) for key, term in ((ID, last.id), (PREV, first.prev)) if term is not None]
    return Patch([BEGIN, *operations, COMMIT] if operations else [], headers)
