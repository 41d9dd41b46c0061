"""The columns of a row of a patch file; separate, so that importing them is fast."""

from __future__ import annotations

from typing import NamedTuple


class PatchRow(NamedTuple):
    """An operation and its position in the file. Terms are text of N-Triples.

    :ivar patch: number of its patch in the file, from 0.
    :ivar id: the patch's header ``id``, if it has been read.
    :ivar prev: the patch's header ``prev``, if it has been read.
    :ivar transaction: number of its transaction in the file, from 0; None outside of a transaction.
        TX, TC and TA belong to the transaction that they start or end.
    :ivar order: number of the row in the file, from 0; headers and ends of patches count.
    :ivar kind: as in RDF Patch text: A, D, PA, PD, TX, TC, TA; H and Z on request.
    :ivar name: of a namespace or header.
    :ivar value: the IRI of a namespace, the term of a header.
    """

    patch: int
    id: str | None
    prev: str | None
    transaction: int | None
    order: int
    kind: str
    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    graph: str | None = None
    name: str | None = None
    value: str | None = None
