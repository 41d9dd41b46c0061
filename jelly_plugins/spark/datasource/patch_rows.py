"""Patch files as rows: one for each operation, in the order of the file.

Jelly-Patch and RDF Patch text, compressed or not. Knows nothing of Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

from ...codec import AnyOperation, OperationKind, PatchStreamType
from ...codec.text.transcoding import TextFactory
from ...io.sources import Source
from ...patch import PatchReader
from .patch_row import PatchRow

_ADD: Final = OperationKind.ADD
_DELETE: Final = OperationKind.DELETE

#: Rows that say something about their patch, and do nothing.
ABOUT: Final = (OperationKind.HEADER, OperationKind.END)


def patch_rows(operations: Iterable[AnyOperation], *, about: bool = False) -> Iterator[PatchRow]:
    """The rows of one file's operations.

    :param operations: with terms of :class:`~jelly_plugins.codec.text.transcoding.TextFactory`.
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


def read_rows(
    src: Source, *, about: bool = False, first: int = 0, stop: int | None = None
) -> Iterator[PatchRow]:
    """The rows of a file.

    :param first: the ``order`` of the first row that is asked for.
    :param stop: of the first one that is not, in a file that may be growing behind it; None for
        the end of the file.
    :raises JellyError: while iterating, with source and place.

    >>> [row.kind for row in read_rows(b"TX . A <urn:s> <urn:p> <urn:o> . TC .")]
    ['TX', 'A', 'TC']
    """
    growing = stop is not None
    with PatchReader(
        src, factory=TextFactory(), wait=not_waiting if growing else None
    ) as operations:
        for row in patch_rows(islice(operations, stop), about=about):
            if row.order >= first:
                yield row


def boundary(src: Source) -> int:
    """How many rows of a growing file are complete, headers and ends of patches included.

    Patches are given out whole. Where nothing says that a patch has ended (a stream of type FLAT,
    and text), transactions are, and what stands outside of them.

    :raises JellyError: the file is corrupt, or compressed.

    >>> boundary(b"TX . TC .\\nTX .\\nA <urn:s>")
    2
    """
    complete = count = 0
    inside = False
    with PatchReader(src, factory=TextFactory(), wait=not_waiting) as operations:
        for count, (kind, _) in enumerate(operations, 1):
            if kind is OperationKind.BEGIN:
                inside = True
            elif kind in (OperationKind.COMMIT, OperationKind.ABORT):
                inside = False
            if kind is OperationKind.END or (not inside and not _marks_ends(operations)):
                complete = count
    return complete


def _marks_ends(reader: PatchReader) -> bool:
    options = reader.options
    return options is not None and options.stream_type is not PatchStreamType.FLAT


def not_waiting() -> bool:
    """Whether to wait for more of a file."""
    return False
