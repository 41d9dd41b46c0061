"""The contents of a patch, row by row: operations, headers, and the end of a patch.

The one vocabulary of everything that reads, writes or applies patches, whatever they came from.
Statements and terms are those of the caller's factory, generic ones by default.

Reference: RDF Patch, section "Row types"; RdfPatchRow in patch.proto, whose numbers are used here.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeAlias

from ..common.terms import GraphName, Iri, Statement, Term


class OperationKind(IntEnum):
    """Kinds of rows that a patch is made of."""

    ADD = 2
    DELETE = 3
    ADD_NAMESPACE = 4
    DELETE_NAMESPACE = 5
    BEGIN = 6
    COMMIT = 7
    ABORT = 8
    #: Describes the patch, and has no effect.
    HEADER = 14
    #: The patch ends here.
    END = 15

    @property
    def code(self) -> str:
        """What RDF Patch text calls it.

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


if TYPE_CHECKING:
    from typing_extensions import TypeVar

    # The default is generic terms.
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
    """What is added or deleted by ADD_NAMESPACE and DELETE_NAMESPACE.

    ``iri`` is always there in an addition, and may be None in a deletion. ``graph`` is None in
    patches of triples; in patches of quads it is a graph's name, or the default graph.
    """

    name: str
    iri: IriT = None  # type: ignore[assignment]
    graph: GraphT = None  # type: ignore[assignment]


#: Keys of the headers that make a log of patches: each has an id, and that of the patch before it.
ID: Final = "id"
PREV: Final = "prev"
CHAIN_KEYS: Final = (ID, PREV)


class Header(NamedTuple, Generic[TermT]):
    """A header of a patch; the value is any term."""

    key: str
    value: TermT


class Operation(NamedTuple, Generic[ValueT]):
    """One row of a patch.

    ``value`` is a statement (a triple or a quad) for ADD and DELETE, a :class:`Namespace` for
    ADD_NAMESPACE and DELETE_NAMESPACE, a :class:`Header` for HEADER, otherwise None.

    >>> from jelly_plugins import Iri, Triple
    >>> kind, statement = add(Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o")))
    >>> kind.name, statement.object
    ('ADD', Iri(value='urn:o'))
    """

    kind: OperationKind
    value: ValueT = None  # type: ignore[assignment]


#: An operation in the terms of any library.
AnyOperation: TypeAlias = Operation[Any]

#: A transaction starts (TX).
BEGIN: Final = Operation(OperationKind.BEGIN)
#: The transaction is done (TC).
COMMIT: Final = Operation(OperationKind.COMMIT)
#: The transaction is undone (TA).
ABORT: Final = Operation(OperationKind.ABORT)
#: A patch ends (Z in RDF Patch text, punctuation in Jelly-Patch).
END: Final = Operation(OperationKind.END)


def add(statement: Any) -> Operation:
    """The operation that adds a statement."""
    return Operation(OperationKind.ADD, statement)


def delete(statement: Any) -> Operation:
    """The operation that deletes a statement."""
    return Operation(OperationKind.DELETE, statement)


def add_namespace(name: str, iri: Any, graph: Any = None) -> Operation:
    """The operation that binds a namespace's name to an IRI; ``graph`` only in patches of quads."""
    return Operation(OperationKind.ADD_NAMESPACE, Namespace(name, iri, graph))


def delete_namespace(name: str, iri: Any = None, graph: Any = None) -> Operation:
    """The operation that takes a namespace's name away."""
    return Operation(OperationKind.DELETE_NAMESPACE, Namespace(name, iri, graph))


def header(key: str, value: Any) -> Operation:
    """The row of a header."""
    return Operation(OperationKind.HEADER, Header(key, value))
