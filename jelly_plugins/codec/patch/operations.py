"""The contents of a patch, row by row: operations, headers, and the end of a patch.

All code that reads, writes or applies patches uses these types, whatever the format. Statements and
terms are those of the caller's factory; by default they are generic.

Reference: RDF Patch, section "Row types"; RdfPatchRow in patch.proto, whose numbers are the values
of the kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeAlias

from ...notebook import parts
from ..common.terms import GraphName, Iri, Statement, Term


class OperationKind(IntEnum):
    """Kinds of rows in a patch."""

    ADD = 2
    DELETE = 3
    ADD_NAMESPACE = 4
    DELETE_NAMESPACE = 5
    BEGIN = 6
    COMMIT = 7
    ABORT = 8
    #: A header, which has no effect.
    HEADER = 14
    #: The end of a patch.
    END = 15

    @property
    def code(self) -> str:
        """The code of this kind in RDF Patch text.

        >>> OperationKind.ADD_NAMESPACE.code, OperationKind.END.code
        ('PA', 'Z')
        """
        return _CODES[self]


_CODES: Final = {
    OperationKind.ADD: "A",
    OperationKind.DELETE: "D",
    OperationKind.ADD_NAMESPACE: "PA",
    OperationKind.DELETE_NAMESPACE: "PD",
    OperationKind.BEGIN: "TX",
    OperationKind.COMMIT: "TC",
    OperationKind.ABORT: "TA",
    OperationKind.HEADER: "H",
    OperationKind.END: "Z",
}


@parts.register(OperationKind)
def _(kind: OperationKind) -> Iterator[str]:
    yield kind.code


if TYPE_CHECKING:
    from typing_extensions import TypeVar

    # Generic terms are the default.
    IriT = TypeVar("IriT", covariant=True, default=Iri | None)
    GraphT = TypeVar("GraphT", covariant=True, default=GraphName | None)
    TermT = TypeVar("TermT", covariant=True, default=Term)
    ValueT = TypeVar(
        "ValueT",
        covariant=True,
        default="Statement | Namespace | Header | None",
    )
else:
    from typing import TypeVar

    IriT, GraphT, TermT, ValueT = map(TypeVar, ("IriT", "GraphT", "TermT", "ValueT"))


class Namespace(NamedTuple, Generic[IriT, GraphT]):
    """The namespace that ADD_NAMESPACE adds or DELETE_NAMESPACE deletes.

    ``iri`` may be None only in a deletion. ``graph`` is None in patches of triples; in patches of
    quads it is a graph's name or the default graph.
    """

    name: str
    iri: IriT = None  # type: ignore[assignment]
    graph: GraphT = None  # type: ignore[assignment]


#: Keys of the headers that chain the patches of a log: a patch's own id, and the id of the previous
#: patch.
ID: Final = "id"
PREV: Final = "prev"
CHAIN_KEYS: Final = (ID, PREV)


#: How the keys of these headers may be written, in lower case.
_CHAIN: Final = {ID: ID, PREV: PREV, "previous": PREV}


def chain_key(key: str) -> str:
    """A header's key; if it chains patches, in its usual form. Apache Jena compares such keys
    without case, and knows ``previous`` as well.

    >>> chain_key("Previous"), chain_key("ID"), chain_key("Author")
    ('prev', 'id', 'Author')
    """
    return _CHAIN.get(key.lower(), key) if isinstance(key, str) else key


class Header(NamedTuple, Generic[TermT]):
    """A header of a patch; the value can be any term."""

    key: str
    value: TermT

    @property
    def chain_key(self) -> str:
        """See :func:`chain_key`."""
        return chain_key(self.key)


class Operation(NamedTuple, Generic[ValueT]):
    """One row of a patch.

    ``value`` is a statement (a triple or a quad) for ADD and DELETE, a :class:`Namespace` for
    ADD_NAMESPACE and DELETE_NAMESPACE, a :class:`Header` for HEADER, and None for all other kinds.

    >>> from jelly_plugins import Iri, Triple
    >>> kind, statement = add(Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o")))
    >>> kind.name, statement.object
    ('ADD', Iri(value='urn:o'))
    """

    kind: OperationKind
    value: ValueT = None  # type: ignore[assignment]


#: An operation with terms of any library.
AnyOperation: TypeAlias = Operation[Any]

#: A transaction starts (TX).
BEGIN: Final = Operation(OperationKind.BEGIN)
#: A transaction commits (TC).
COMMIT: Final = Operation(OperationKind.COMMIT)
#: A transaction aborts (TA).
ABORT: Final = Operation(OperationKind.ABORT)
#: A patch ends (Z in RDF Patch text, punctuation in Jelly-Patch).
END: Final = Operation(OperationKind.END)
#: Rows that change something: statements, and namespaces.
STATEMENTS: Final = (OperationKind.ADD, OperationKind.DELETE)
NAMESPACES: Final = (OperationKind.ADD_NAMESPACE, OperationKind.DELETE_NAMESPACE)
CHANGES: Final = frozenset((*STATEMENTS, *NAMESPACES))
#: Rows that end a transaction or a patch.
ENDS: Final = (OperationKind.COMMIT, OperationKind.ABORT, OperationKind.END)
#: Rows that end a transaction of operations outside of TX and TC, which are before them.
OPENS: Final = (OperationKind.BEGIN, OperationKind.HEADER)


def add(statement: Any) -> Operation:
    """Make the operation that adds a statement."""
    return Operation(OperationKind.ADD, statement)


def delete(statement: Any) -> Operation:
    """Make the operation that deletes a statement."""
    return Operation(OperationKind.DELETE, statement)


def add_namespace(name: str, iri: Any, graph: Any = None) -> Operation:
    """Make the operation that binds a namespace's name to an IRI; ``graph`` is for patches of
    quads.
    """
    return Operation(OperationKind.ADD_NAMESPACE, Namespace(name, iri, graph))


def delete_namespace(name: str, iri: Any = None, graph: Any = None) -> Operation:
    """Make the operation that removes a namespace's name."""
    return Operation(OperationKind.DELETE_NAMESPACE, Namespace(name, iri, graph))


def header(key: str, value: Any) -> Operation:
    """Make the row of a header."""
    return Operation(OperationKind.HEADER, Header(key, value))
