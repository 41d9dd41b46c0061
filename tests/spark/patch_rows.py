"""The rows that a patch file has as a DataFrame, made one by one: what those by column are held
against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from jelly_plugins.codec import AnyOperation, OperationKind
from jelly_plugins.io.sources import Source
from jelly_plugins.patch import PatchReader
from jelly_plugins.spark.patch_rows import ABOUT, PatchRow

from ..ntriples import WholeTexts

_ADD: Final = OperationKind.ADD
_DELETE: Final = OperationKind.DELETE


def patch_rows(operations: Iterable[AnyOperation], *, about: bool = False) -> Iterator[PatchRow]:
    """The rows of one file's operations.

    :param operations: with terms of :class:`~tests.ntriples.WholeTexts`.
    :param about: whether headers and ends of patches are rows too.
    """
    patch = 0
    transactions = 0
    transaction: int | None = None
    names: dict[str, str | None] = {}
    for order, (kind, value) in enumerate(operations):
        if kind is _ADD or kind is _DELETE:
            yield PatchRow(
                patch, names.get("id"), names.get("prev"), transaction, order, kind.code, *value
            )
            continue
        if kind is OperationKind.BEGIN:
            transaction = transactions
            transactions += 1
        elif kind is OperationKind.HEADER:
            names.setdefault(value.key, value.value)
        if about or kind not in ABOUT:
            yield PatchRow(
                patch,
                names.get("id"),
                names.get("prev"),
                transaction,
                order,
                kind.code,
                **_named(kind, value),
            )
        if kind in (OperationKind.COMMIT, OperationKind.ABORT):
            transaction = None
        elif kind is OperationKind.END:
            patch += 1
            names.clear()


def _named(kind: OperationKind, value: Any) -> dict[str, str | None]:
    if kind is OperationKind.HEADER:
        return {"name": value.key, "value": value.value}
    if kind in (OperationKind.ADD_NAMESPACE, OperationKind.DELETE_NAMESPACE):
        return {"name": value.name, "value": value.iri, "graph": value.graph or None}
    return {}


def read_rows(src: Source, *, about: bool = False) -> Iterator[PatchRow]:
    """The rows of a file.

    :raises JellyError: while iterating, with source and place.

    >>> [row.kind for row in read_rows(b"TX . A <urn:s> <urn:p> <urn:o> . TC .")]
    ['TX', 'A', 'TC']
    """
    with PatchReader(src, factory=WholeTexts()) as operations:
        yield from patch_rows(operations, about=about)
