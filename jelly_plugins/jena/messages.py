"""The messages of Jena RDF Binary, stated once for both of its encodings.

A union has one member, a struct any of its members, each at most once. Both readers reject members
that are not listed: a member that was added later, such as the base direction of a literal, may
change what a term means, and skipping it would lose that silently.

Reference: RDF Binary (Apache Jena), the sections "Thrift encoding of …" and "Protobuf encoding of
RDF Terms". Later additions: ``baseDirection`` and ``langdir`` of a literal, ``base`` as a row, and
``RDF_Patch_Row``.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple


class Type(IntEnum):
    """Types of members, with the codes of Thrift's compact protocol."""

    BOOL = 1
    I32 = 5
    I64 = 6
    DOUBLE = 7
    STRING = 8
    LIST = 9
    STRUCT = 12


class Member(NamedTuple):
    """A member of a message.

    :ivar thrift: its field id in Thrift, 0 where Thrift does not have it.
    :ivar protobuf: its field number in Protocol Buffers, 0 where those do not have it.
    :ivar required: whether it must be there. (In Protocol Buffers, an absent string or number is
        the empty string or 0.)
    """

    name: str
    type: Type
    thrift: int
    protobuf: int
    required: bool = True


class Schema(NamedTuple):
    """A message: a struct, or a union of which one member is there. Code refers to a member by its
    place among the members, from 1."""

    name: str
    members: tuple[Member, ...] = ()
    union: bool = False


_STRING: Final = Type.STRING
_STRUCT: Final = Type.STRUCT


def _strings(name: str, *members: str) -> Schema:
    """A message of required strings, which are numbered from 1 in both encodings."""
    return Schema(name, tuple(Member(each, _STRING, at, at) for at, each in enumerate(members, 1)))


IRI: Final = _strings("RDF_IRI", "iri")
BLANK_NODE: Final = _strings("RDF_BNode", "label")
PREFIX_NAME: Final = _strings("RDF_PrefixName", "prefix", "localName")
VARIABLE: Final = _strings("RDF_VAR", "name")
PREFIX: Final = _strings("RDF_PrefixDecl", "prefix", "uri")
LITERAL: Final = Schema(
    "RDF_Literal",
    (
        Member("lex", _STRING, 1, 1),
        Member("langtag", _STRING, 2, 2, required=False),
        Member("datatype", _STRING, 3, 3, required=False),
        Member("dtPrefix", _STRUCT, 4, 4, required=False),
        Member("baseDirection", _STRING, 5, 0, required=False),
        Member("langdir", _STRING, 0, 5, required=False),
        Member("simple", Type.BOOL, 0, 9, required=False),
    ),
)
DECIMAL: Final = Schema(
    "RDF_Decimal", (Member("value", Type.I64, 1, 1), Member("scale", Type.I32, 2, 2))
)
ANY: Final = Schema("RDF_ANY")
UNDEFINED: Final = Schema("RDF_UNDEF")
TERM: Final = Schema(
    "RDF_Term",
    (
        Member("iri", _STRUCT, 1, 1),
        Member("bnode", _STRUCT, 2, 2),
        Member("literal", _STRUCT, 3, 3),
        Member("prefixName", _STRUCT, 4, 4),
        Member("variable", _STRUCT, 5, 5),
        Member("any", _STRUCT, 6, 7),
        Member("undefined", _STRUCT, 7, 8),
        Member("repeat", _STRUCT, 8, 9),
        Member("tripleTerm", _STRUCT, 9, 6),
        Member("valInteger", Type.I64, 10, 20),
        Member("valDouble", Type.DOUBLE, 11, 21),
        Member("valDecimal", _STRUCT, 12, 22),
    ),
    union=True,
)
TRIPLE: Final = Schema(
    "RDF_Triple", tuple(Member(name, _STRUCT, at, at) for at, name in enumerate("SPO", 1))
)
QUAD: Final = Schema("RDF_Quad", (*TRIPLE.members, Member("G", _STRUCT, 4, 4, required=False)))

#: A row of a graph or dataset.
STREAM_ROW: Final = Schema(
    "RDF_StreamRow",
    (
        Member("prefixDecl", _STRUCT, 1, 1),
        Member("triple", _STRUCT, 2, 2),
        Member("quad", _STRUCT, 3, 3),
        Member("base", _STRUCT, 0, 4),
    ),
    union=True,
)

#: The first row of SPARQL results.
VARIABLES: Final = Schema("RDF_VarTuple", (Member("vars", Type.LIST, 1, 1),))
#: Any other row of SPARQL results. Without variables it has no list, as Apache Jena writes it.
RESULT: Final = Schema("RDF_DataTuple", (Member("row", Type.LIST, 1, 1, required=False),))

_STATEMENT: Final = (
    *(Member(name, _STRUCT, at, 0) for at, name in enumerate("spo", 1)),
    Member("g", _STRUCT, 4, 0, required=False),
)
_GRAPH_NODE: Final = Member("graphNode", _STRUCT, 1, 0, required=False)

# The rows of a patch, which Thrift alone has.
PATCH_HEADER: Final = Schema(
    "Patch_Header", (Member("name", _STRING, 1, 0), Member("value", _STRUCT, 2, 0))
)
PATCH_ADD: Final = Schema("Patch_Data_Add", _STATEMENT)
PATCH_DELETE: Final = Schema("Patch_Data_Del", _STATEMENT)
PATCH_ADD_PREFIX: Final = Schema(
    "Patch_Prefix_Add",
    (_GRAPH_NODE, Member("prefix", _STRING, 2, 0), Member("iriStr", _STRING, 3, 0)),
)
PATCH_DELETE_PREFIX: Final = Schema(
    "Patch_Prefix_Del", (_GRAPH_NODE, Member("prefix", _STRING, 2, 0))
)
PATCH_ROW: Final = Schema(
    "RDF_Patch_Row",
    (
        Member("header", _STRUCT, 1, 0),
        Member("dataAdd", _STRUCT, 2, 0),
        Member("dataDel", _STRUCT, 3, 0),
        Member("prefixAdd", _STRUCT, 4, 0),
        Member("prefixDel", _STRUCT, 5, 0),
        Member("txn", Type.I32, 6, 0),
    ),
    union=True,
)
