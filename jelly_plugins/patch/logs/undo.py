"""The patch that undoes another."""

from __future__ import annotations

from typing import Any

from ...codec.patch.operations import AnyOperation, Namespace, OperationKind, delete_namespace
from ...errors import StatementError
from ..model import BEGIN, COMMIT, ID, PREV, Header, Patch, add, add_namespace, delete
from .transactions import parts_of


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
        inverted = [_inverted(operation, bound) for operation in operations]
        if in_transaction:
            # From the last to the first: the start comes last for now.
            inverted = [COMMIT, *inverted, BEGIN]
        inverse += inverted
    inverse.reverse()
    headers = [Header(key, term) for key, term in ((ID, id), (PREV, patch.id)) if term is not None]
    return Patch(inverse, headers)


def _inverted(operation: AnyOperation, bound: dict[tuple[str, Any], Any]) -> AnyOperation:
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
