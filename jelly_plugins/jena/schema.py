"""The messages of Jena RDF Binary, stated once for both of its encodings.

A union has one member, a struct any of its members, each at most once. Unlisted members are
rejected by both readers: a member that was added later, as the base direction of a literal was, may
change what a term means, and skipping it would lose that silently.

Reference: RDF Binary (Apache Jena), the sections "Thrift encoding of …" and "Protobuf encoding of
RDF Terms". Later additions: ``baseDirection`` and ``langdir`` of a literal, ``base`` as a row, and
``RDF_Patch_Row``.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple


class Scalar(Enum):
    """Types that are not messages."""

    STRING = "string"
    BOOL = "bool"
    I32 = "i32"
    I64 = "i64"
    DOUBLE = "double"


class Member(NamedTuple):
    """A field of a message.

    :ivar thrift: its id in Thrift, 0 where Thrift does not have it.
    :ivar protobuf: its number in Protocol Buffers, 0 where those do not have it.
    :ivar required: whether it must be there. (A string or number is always there in Protocol
        Buffers, which do not write what is empty or 0.)
    :ivar repeated: whether it is a list.
    """

    name: str
    type: Scalar | Message
    thrift: int
    protobuf: int
    required: bool = True
    repeated: bool = False


class Message:
    """A message: a struct, or a union of which one member is there."""

    def __init__(self, name: str, *members: Member, union: bool = False) -> None:
        self.name = name
        self.union = union
        self.members: list[Member] = []
        self.by_thrift: dict[int, Member] = {}
        self.by_protobuf: dict[int, Member] = {}
        self.by_name: dict[str, Member] = {}
        for member in members:
            self.add(member)

    def add(self, member: Member) -> None:
        """Add a member; messages that hold one another are closed so."""
        self.members.append(member)
        self.by_name[member.name] = member
        if member.thrift:
            self.by_thrift[member.thrift] = member
        if member.protobuf:
            self.by_protobuf[member.protobuf] = member


_STRING: Final = Scalar.STRING

IRI: Final = Message("RDF_IRI", Member("iri", _STRING, 1, 1))
PREFIX_NAME: Final = Message(
    "RDF_PrefixName", Member("prefix", _STRING, 1, 1), Member("localName", _STRING, 2, 2)
)
BLANK_NODE: Final = Message("RDF_BNode", Member("label", _STRING, 1, 1))
LITERAL: Final = Message(
    "RDF_Literal",
    Member("lex", _STRING, 1, 1),
    Member("langtag", _STRING, 2, 2, required=False),
    Member("datatype", _STRING, 3, 3, required=False),
    Member("dtPrefix", PREFIX_NAME, 4, 4, required=False),
    Member("baseDirection", _STRING, 5, 0, required=False),
    Member("langdir", _STRING, 0, 5, required=False),
    Member("simple", Scalar.BOOL, 0, 9, required=False),
)
DECIMAL: Final = Message(
    "RDF_Decimal", Member("value", Scalar.I64, 1, 1), Member("scale", Scalar.I32, 2, 2)
)
VARIABLE: Final = Message("RDF_VAR", Member("name", _STRING, 1, 1))
ANY: Final = Message("RDF_ANY")
UNDEFINED: Final = Message("RDF_UNDEF")
REPEAT: Final = Message("RDF_REPEAT")
TRIPLE: Final = Message("RDF_Triple")
TERM: Final = Message(
    "RDF_Term",
    Member("iri", IRI, 1, 1),
    Member("bnode", BLANK_NODE, 2, 2),
    Member("literal", LITERAL, 3, 3),
    Member("prefixName", PREFIX_NAME, 4, 4),
    Member("variable", VARIABLE, 5, 5),
    Member("any", ANY, 6, 7),
    Member("undefined", UNDEFINED, 7, 8),
    Member("repeat", REPEAT, 8, 9),
    Member("tripleTerm", TRIPLE, 9, 6),
    Member("valInteger", Scalar.I64, 10, 20),
    Member("valDouble", Scalar.DOUBLE, 11, 21),
    Member("valDecimal", DECIMAL, 12, 22),
    union=True,
)
for _number, _name in enumerate("SPO", 1):
    TRIPLE.add(Member(_name, TERM, _number, _number))
QUAD: Final = Message("RDF_Quad", *TRIPLE.members, Member("G", TERM, 4, 4, required=False))
PREFIX: Final = Message(
    "RDF_PrefixDecl", Member("prefix", _STRING, 1, 1), Member("uri", _STRING, 2, 2)
)

#: A row of a graph or dataset.
STREAM_ROW: Final = Message(
    "RDF_StreamRow",
    Member("prefixDecl", PREFIX, 1, 1),
    Member("triple", TRIPLE, 2, 2),
    Member("quad", QUAD, 3, 3),
    Member("base", IRI, 0, 4),
    union=True,
)

#: The first row of SPARQL results.
VARIABLES: Final = Message("RDF_VarTuple", Member("vars", VARIABLE, 1, 1, repeated=True))
#: Any other row of SPARQL results. Without variables it has no list, as Apache Jena writes it.
RESULT: Final = Message("RDF_DataTuple", Member("row", TERM, 1, 1, required=False, repeated=True))

_STATEMENT: Final = (
    Member("s", TERM, 1, 0),
    Member("p", TERM, 2, 0),
    Member("o", TERM, 3, 0),
    Member("g", TERM, 4, 0, required=False),
)

#: A row of a patch, which Thrift alone has.
PATCH_ROW: Final = Message(
    "RDF_Patch_Row",
    Member(
        "header",
        Message("Patch_Header", Member("name", _STRING, 1, 0), Member("value", TERM, 2, 0)),
        1,
        0,
    ),
    Member("dataAdd", Message("Patch_Data_Add", *_STATEMENT), 2, 0),
    Member("dataDel", Message("Patch_Data_Del", *_STATEMENT), 3, 0),
    Member(
        "prefixAdd",
        Message(
            "Patch_Prefix_Add",
            Member("graphNode", TERM, 1, 0, required=False),
            Member("prefix", _STRING, 2, 0),
            Member("iriStr", _STRING, 3, 0),
        ),
        4,
        0,
    ),
    Member(
        "prefixDel",
        Message(
            "Patch_Prefix_Del",
            Member("graphNode", TERM, 1, 0, required=False),
            Member("prefix", _STRING, 2, 0),
        ),
        5,
        0,
    ),
    Member("txn", Scalar.I32, 6, 0),
    union=True,
)
