"""The patch: headers, and operations in order. In memory, or as a stream that is read once.

A log is a sequence of patches, each with an ``id`` and, but for the first, a ``prev``: the id of
the patch before it. Reading and writing are not here.

Reference: RDF Patch (https://afs.github.io/rdf-delta/rdf-patch.html).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, Final
from uuid import uuid4

from ..codec.common.limits import NESTING_CEILING
from ..codec.common.terms import Iri, Term, parts_of
from ..codec.patch.operations import (
    ABORT,
    BEGIN,
    CHAIN_KEYS,
    COMMIT,
    END,
    ID,
    PREV,
    AnyOperation,
    Header,
    Namespace,
    Operation,
    OperationKind,
    add,
    add_namespace,
    chain_key,
    delete,
    delete_namespace,
    header,
)
from ..errors import LimitError, TruncatedError, shown
from ..notebook import MOST_ROWS, short, table

__all__ = [
    "ABORT",
    "BEGIN",
    "CHAIN_KEYS",
    "COMMIT",
    "END",
    "ID",
    "PREV",
    "Header",
    "Namespace",
    "Operation",
    "OperationKind",
    "Patch",
    "add",
    "add_namespace",
    "delete",
    "delete_namespace",
    "group",
    "header",
]

#: Headers that a patch may have.
_HEADERS: Final = 1 << 16


class Patch:
    """One patch.

    Iterating over it gives its operations. If it came from a reader, or was made of an iterator,
    they stream, once, whatever their number; :attr:`operations` reads them into memory instead, and
    so does requesting the next patch from the reader. Headers among the operations join
    :attr:`headers` as they are read.

    :param operations: in order; no headers and no END.
    :param headers: pairs of a key and a term; keys may recur.
    :ivar headers: in order.
    :ivar source: the name of the log that it was read from; None if it was made.

    >>> from jelly_plugins import Iri, Triple
    >>> statement = Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))
    >>> patch = Patch([BEGIN, add(statement), COMMIT], [("id", Iri("urn:1"))])
    >>> patch.id, patch.prev, [operation.kind.code for operation in patch]
    (Iri(value='urn:1'), None, ['TX', 'A', 'TC'])
    """

    __slots__ = ("_is_left", "_operations", "_owner", "_source", "headers", "source")

    def __init__(
        self, operations: Iterable[Operation] = (), headers: Iterable[tuple[str, Any]] = ()
    ) -> None:
        self.headers: list[Header] = [Header(*parts_of(each, (2,), "a header")) for each in headers]
        self._operations: list[Operation] | None = None
        #: Whether the reader has moved to the next patch before all was read.
        self._is_left = False
        self._source: Iterator[AnyOperation] | None = None
        self._owner: object = None
        self.source: str | None = None
        if isinstance(operations, Iterator):
            self._source = operations
        else:
            self._operations = list(operations)

    @property
    def id(self) -> Term | None:
        """The header ``id``, None without one."""
        return self.header(ID)

    @property
    def prev(self) -> Term | None:
        """The header ``prev``: the id of the patch before; None without one."""
        return self.header(PREV)

    def header(self, key: str) -> Term | None:
        """The value of the first header with this key, None without one. ``ID``, ``PREV`` and
        ``previous`` are other forms of ``id`` and ``prev``.
        """
        key = chain_key(key)
        return next((each.value for each in self.headers if each.chain_key == key), None)

    @property
    def operations(self) -> list[Operation]:
        """All operations, in memory.

        :raises RuntimeError: they have streamed by already.
        """
        if self._operations is None:
            self._operations = list(self)
        return self._operations

    @property
    def in_memory(self) -> bool:
        """Whether the operations can be had again and again, because they do not stream."""
        return self._operations is not None

    def __iter__(self) -> Iterator[Operation]:
        return (each for each in self._rows() if each.kind is not OperationKind.HEADER)

    def rows(self) -> Iterator[Operation]:
        """Headers and operations in order, headers that are known at the start first; without END.

        What a writer writes. Like iterating, it streams once unless the patch is in memory.
        """
        yield from [header(*each) for each in self.headers]
        yield from self._rows()

    def _rows(self) -> Iterator[Operation]:
        """Operations, and those headers among them that were not known before."""
        if self._operations is not None:
            return iter(self._operations)
        source, self._source = self._source, None
        if source is None:
            raise RuntimeError("the operations of this patch were already streamed")
        return self._stream(source)

    def _stream(self, source: Iterator[AnyOperation]) -> Iterator[Operation]:
        for row in source:
            if row.kind is OperationKind.HEADER:
                _add_header(self.headers, row)
            yield row
        self._owner = None
        if self._is_left:
            raise RuntimeError("the reader has moved to the next patch")

    def keep(self, owner: object) -> None:
        """Keep a reference to what the operations are read from, as long as there may be more."""
        if not self.in_memory:
            self._owner = owner

    def read_all(self) -> None:
        """Read the operations into memory, unless streaming has begun."""
        if self._source is not None:
            self._operations = list(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Patch):
            return NotImplemented
        # Operations first: reading them may bring more headers.
        return self.operations == other.operations and self.headers == other.headers

    __hash__ = None  # type: ignore[assignment]

    def _repr_html_(self) -> str:
        rows: list[tuple[str, object]] = [
            (f"H {key}", short(value)) for key, value in self.headers[:MOST_ROWS]
        ]
        if self._operations is None:
            return table("Patch, streaming", rows)
        rows += [(kind.code, short(value)) for kind, value in self._operations[:MOST_ROWS]]
        number = len(self._operations)
        rest = number - MOST_ROWS
        more = f"and {rest:,} more operations" if rest > 0 else ""
        return table(f"Patch of {number:,} operations", rows, more=more)

    def __repr__(self) -> str:
        operations = "streaming" if self._operations is None else f"{len(self._operations)}"
        headers = ", ".join(f"{key}={value!r}" for key, value in self.headers)
        return f"<Patch of {operations} operations; {headers or 'no headers'}>"


def chain_headers(id_: Any, prev: Any) -> list[Header]:
    return [Header(key, term) for key, term in ((ID, id_), (PREV, prev)) if term is not None]


def new_id() -> Iri:
    """Make an id that no other patch has: a random UUID, as a URN."""
    return Iri(uuid4().urn)


def group(rows: Iterable[AnyOperation], source: str | None = None) -> Iterator[Patch]:
    """Patches from rows, each of them ended by END.

    Patches stream: each must be read before the next is requested, and is read into memory
    otherwise. A partly streamed patch cannot be read any further.

    :param source: the name of the log, for errors.
    :raises LimitError: a patch has too many headers.
    :raises TruncatedError: the rows end inside a patch.

    >>> [len(patch.operations) for patch in group([BEGIN, COMMIT, END, END])]
    [2, 0]
    """
    left = iter(rows)
    for row in left:
        headers: list[Header] = []
        while row.kind is OperationKind.HEADER:
            _add_header(headers, row)
            row = _next(left)
        rest = _rest(row, left)
        patch = Patch(rest, headers)
        patch.source = source
        yield patch
        patch.read_all()
        for _ in rest:
            # What was not read is skipped.
            patch._is_left = True
        patch.keep(None)


def _add_header(headers: list[Header], row: AnyOperation) -> None:
    headers.append(row.value)
    if len(headers) > _HEADERS:
        raise LimitError(f"a patch has more than {_HEADERS} headers")


def _rest(row: AnyOperation, source: Iterator[AnyOperation]) -> Iterator[AnyOperation]:
    """The operations of a patch, up to its END."""
    while row.kind is not OperationKind.END:
        yield row
        row = _next(source)


def _next(source: Iterator[AnyOperation]) -> AnyOperation:
    for row in source:
        return row
    raise TruncatedError("the rows end inside a patch")


def check_patches(patches: object) -> None:
    """Reject one patch, or the path of a log, where patches are required."""
    if isinstance(patches, Patch):
        raise TypeError(f"patches are needed, not {shown(patches)}; for one patch, give [patch]")
    if isinstance(patches, str | bytes | os.PathLike):
        raise TypeError(
            f"patches are needed, not {shown(patches)}; read_patches(path) reads those of a log"
        )


def check_nesting(terms: Iterable[Any], depth: int = 0) -> None:
    """Reject a statement whose hash would end the process, since it nests too many triples."""
    for term in terms:
        if isinstance(term, tuple):
            if depth == NESTING_CEILING:
                raise LimitError(f"quoted triples are nested more than {NESTING_CEILING} deep")
            check_nesting(term, depth + 1)
