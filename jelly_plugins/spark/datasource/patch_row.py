"""What a row of a patch file says; apart from what makes rows, for those who need its columns."""

from __future__ import annotations

from typing import NamedTuple


class PatchRow(NamedTuple):
    """An operation, and where it stands. Terms are text of N-Triples.

    :ivar patch: number of its patch in the file, from 0.
    :ivar id: the patch's header ``id``, as far as it was read.
    :ivar prev: the patch's header ``prev``, likewise.
    :ivar transaction: number of its transaction in the file, from 0; None outside of one. TX, TC
        and TA are of the transaction that they start or end.
    :ivar order: number of the row in the file, from 0; headers and ends of patches count.
    :ivar kind: as RDF Patch text has it: A, D, PA, PD, TX, TC, TA; H and Z on request.
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
