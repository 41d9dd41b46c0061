"""Patches and logs edited: joined, compacted, inverted. Files are not known here.

Patches of a log are counted from 1, wherever they are counted. One without an id that changes
nothing (a keepalive) is counted, and none follows it: the next one follows the one before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, Final

from ...codec import DEFAULT_GRAPH
from ...codec.patch.operations import (
    AnyOperation,
    Header,
    Namespace,
    Operation,
    OperationKind,
    delete_namespace,
)
from ...codec.text.ntriples import term_text
from ...errors import ChainError, OrderError, StatementError
from ..model import (
    BEGIN,
    COMMIT,
    ID,
    PREV,
    Patch,
    add,
    add_namespace,
    check_patches,
    delete,
    new_id,
)
from ..text.order import PatchOrder

_BOUNDS: Final = (OperationKind.BEGIN, OperationKind.COMMIT, OperationKind.ABORT)
#: Rows of a patch without an id that are looked through for one that has an effect: if it begins
#: with a longer transaction, that is taken for one that is not aborted.
_AHEAD: Final = 10_000
_ADDS: Final = (OperationKind.ADD, OperationKind.ADD_NAMESPACE)
_STATEMENTS: Final = (OperationKind.ADD, OperationKind.DELETE)


def parts_of(operations: Iterable[Operation]) -> Iterator[tuple[bool, list[Operation]]]:
    """The operations of a patch, those of each transaction and those between two together.

    :return: whether they were in a transaction, and the operations, without the rows that start and
        end it. Nothing comes of a transaction that was aborted.
    :raises OrderError: transactions are not in order.
    """
    order = PatchOrder()
    part: list[Operation] = []
    for operation in operations:
        kind = operation.kind
        inside = order.inside_transaction
        order.take(kind)
        if kind not in _BOUNDS:
            part.append(operation)
            continue
        if part and kind is not OperationKind.ABORT:
            yield inside, part
        part = []
    if order.inside_transaction:
        raise OrderError("a patch ends inside a transaction")
    if part:
        yield False, part


def committed(operations: Iterable[Operation]) -> Iterator[Operation]:
    """The operations of a patch that have an effect.

    :raises OrderError: transactions are not in order.
    """
    for _, part in parts_of(operations):
        yield from part


def check_follows(number: int, patch: Patch, last: Any, *, first: bool) -> None:
    """Reject a patch that does not follow the previous one.

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


def join(patches: Iterable[Patch]) -> Iterator[Patch]:
    """The patches of several logs as those of one, in which each follows the one before.

    An ``id`` or ``prev`` that a patch has is kept, and one that it lacks is made; the first patch
    needs no ``prev``. Patches without an ``id`` that change nothing (keepalives) stay as they are,
    and none follows them. Patches stream, as those of a reader do.

    :raises ChainError: a patch names another one before it than the one that is there.
    :raises OrderError: a patch has its ``id`` or ``prev`` after its first operation, when it is
        known already what they are.

    >>> from jelly_plugins import Iri, Triple
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
        if row.kind is OperationKind.HEADER and row.value.chain_key in (ID, PREV):
            raise OrderError(f"the header {row.value.key!r} comes after the patch's operations")
        yield row


def subject_of(operation: AnyOperation) -> tuple[Any, ...]:
    """What an operation is about: the statement, or the name of the namespace in its graph."""
    kind, value = operation
    if kind in _STATEMENTS:
        # A triple is the same statement as a quad in the default graph.
        statement: tuple[Any, ...] = value
        return statement if len(statement) == 4 else (*statement, DEFAULT_GRAPH)
    # A name is bound once in each graph, whatever its IRI.
    return (None, value.name, DEFAULT_GRAPH if value.graph is None else value.graph)


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
    # The first and the last operation on each thing, in the order of the first.
    ends: dict[Any, tuple[AnyOperation, AnyOperation]] = {}
    first: Patch | None = None
    last: Patch | None = None
    for number, patch in enumerate(patches, 1):
        changes = False
        for operation in committed(patch):
            key = subject_of(operation)
            ends[key] = (ends.get(key, (operation,))[0], operation)
            changes = True
        # The operations may have brought headers of their own.
        check_follows(number, patch, None if last is None else last.id, first=first is None)
        if patch.id is None and not changes:
            continue
        first = first or patch
        last = patch
    if first is None or last is None:
        return Patch()
    operations: list[AnyOperation] = []
    for opening, closing in ends.values():
        differ = exact and opening.kind is not closing.kind
        if differ and closing.kind is OperationKind.ADD_NAMESPACE:
            # The binding that was replaced, so that the result can be inverted.
            operations.append(opening)
        if not differ or closing.kind not in _STATEMENTS:
            operations.append(closing)
    # Deletions, then additions.
    operations.sort(key=lambda operation: operation.kind in _ADDS)
    headers = [(key, term) for key, term in ((ID, last.id), (PREV, first.prev)) if term is not None]
    return Patch([BEGIN, *operations, COMMIT] if operations else [], headers)


def invert(patch: Patch, *, id: Any = None) -> Patch:  # noqa: A002
    """The patch that undoes ``patch``: its operations from the last to the first, each reversed.

    The inverse undoes each operation of the patch. That restores the old data if each addition
    added something and each deletion deleted something, as in patches that were recorded or made by
    :func:`~jelly_plugins.patch.diff`. Transactions stay transactions; aborted ones did nothing, and
    are left out. Of the headers, the inverse has ``prev``, the ``id`` of ``patch``, which it
    follows.

    A log of several patches is undone from its end: by ``jelly patch invert``, or as one patch by
    ``invert(compact(patches, exact=True))``. Their inverses in the old order are not a log.

    :param id: the ``id`` of the inverse, a term.
    :raises StatementError: a namespace is deleted without its IRI, and the patch does not contain
        it.
    :raises OrderError: the patch's transactions are not in order.
    :raises TypeError: it is not a Patch.

    >>> from jelly_plugins import Iri, Triple
    >>> statement = Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))
    >>> [operation.kind.code for operation in invert(Patch([BEGIN, add(statement), COMMIT]))]
    ['TX', 'D', 'TC']
    """
    if not isinstance(patch, Patch):
        raise TypeError(f"a Patch is needed, not {patch!r}; read_patches(path) reads a log")
    bound: dict[tuple[str, Any], Any] = {}
    inverse: list[AnyOperation] = []
    for in_transaction, operations in parts_of(patch):
        inverted = [inverted_operation(operation, bound) for operation in operations]
        if in_transaction:
            # From the last to the first: the start comes last for now.
            inverted = [COMMIT, *inverted, BEGIN]
        inverse += inverted
    inverse.reverse()
    headers = [Header(key, term) for key, term in ((ID, id), (PREV, patch.id)) if term is not None]
    return Patch(inverse, headers)


def inverted_operation(operation: AnyOperation, bound: dict[tuple[str, Any], Any]) -> AnyOperation:
    """The reverse of one operation.

    :param bound: IRI by name and graph of the namespaces that the patch has added so far.
    """
    kind, value = operation
    if kind is OperationKind.ADD:
        return delete(value)
    if kind is OperationKind.DELETE:
        return add(value)
    name, iri, graph = Namespace(*value)
    if kind is OperationKind.ADD_NAMESPACE:
        bound[name, graph] = iri
        return delete_namespace(name, iri, graph)
    iri = iri if iri is not None else bound.get((name, graph))
    if iri is None:
        raise StatementError(
            f"the namespace {name}: is deleted without its IRI, so that it cannot be added again"
        )
    return add_namespace(name, iri, graph)


def invert_log(patches: Iterable[Patch]) -> list[Patch]:
    """The log that undoes a log: the inverse of each patch, the last one first.

    Each has a new ``id``, and the first one follows the last patch of the log, if that has an
    ``id``. See :func:`invert` for what an inverse is. Memory holds both logs.

    :raises ChainError: a patch names another one before it than the one that is there.
    :raises JellyError: a patch cannot be undone.

    >>> from jelly_plugins import Iri
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
