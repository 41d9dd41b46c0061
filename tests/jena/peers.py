"""Independent implementations of the encodings: the ``thrift`` package and protobuf, with a second
copy of Apache Jena's schema.

In values, a struct is a dict by names of members, a union a pair of name and value.
"""

from __future__ import annotations

import io
from functools import cache
from typing import Any, Final

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from jelly_plugins.jena import JenaFormat

_F = descriptor_pb2.FieldDescriptorProto
#: Types other than messages: their codes in Thrift and in Protocol Buffers.
_CODES: Final = {
    "string": (11, _F.TYPE_STRING),
    "i32": (8, _F.TYPE_SINT32),
    "i64": (10, _F.TYPE_SINT64),
    "double": (4, _F.TYPE_DOUBLE),
    "bool": (2, _F.TYPE_BOOL),
}
_STRUCT, _LIST = 12, 15

#: Members by message: name, type (of a repeated one in a list), and their numbers in Thrift and in
#: Protocol Buffers; 0 where the encoding does not have it.
_SCHEMA: Final[dict[str, list[tuple[str, Any, int, int]]]] = {
    "RDF_IRI": [("iri", "string", 1, 1)],
    "RDF_PrefixName": [("prefix", "string", 1, 1), ("localName", "string", 2, 2)],
    "RDF_BNode": [("label", "string", 1, 1)],
    "RDF_Literal": [
        ("lex", "string", 1, 1),
        ("langtag", "string", 2, 2),
        ("datatype", "string", 3, 3),
        ("dtPrefix", "RDF_PrefixName", 4, 4),
        ("baseDirection", "string", 5, 0),
        ("langdir", "string", 0, 5),
        ("simple", "bool", 0, 9),
    ],
    "RDF_Decimal": [("value", "i64", 1, 1), ("scale", "i32", 2, 2)],
    "RDF_Var": [("name", "string", 1, 1)],
    "RDF_Empty": [],
    "RDF_Term": [
        ("iri", "RDF_IRI", 1, 1),
        ("bnode", "RDF_BNode", 2, 2),
        ("literal", "RDF_Literal", 3, 3),
        ("prefixName", "RDF_PrefixName", 4, 4),
        ("variable", "RDF_Var", 5, 5),
        ("any", "RDF_Empty", 6, 7),
        ("undefined", "RDF_Empty", 7, 8),
        ("repeat", "RDF_Empty", 8, 9),
        ("tripleTerm", "RDF_Triple", 9, 6),
        ("valInteger", "i64", 10, 20),
        ("valDouble", "double", 11, 21),
        ("valDecimal", "RDF_Decimal", 12, 22),
    ],
    "RDF_Triple": [(name, "RDF_Term", at, at) for at, name in enumerate("SPO", 1)],
    "RDF_Quad": [(name, "RDF_Term", at, at) for at, name in enumerate("SPOG", 1)],
    "RDF_PrefixDecl": [("prefix", "string", 1, 1), ("uri", "string", 2, 2)],
    "RDF_StreamRow": [
        ("prefixDecl", "RDF_PrefixDecl", 1, 1),
        ("triple", "RDF_Triple", 2, 2),
        ("quad", "RDF_Quad", 3, 3),
        ("base", "RDF_IRI", 0, 4),
    ],
    "RDF_VarTuple": [("vars", ["RDF_Var"], 1, 1)],
    "RDF_DataTuple": [("row", ["RDF_Term"], 1, 1)],
}
_UNIONS: Final = ("RDF_Term", "RDF_StreamRow")


def encoded(form: JenaFormat, *rows: tuple[str, Any]) -> bytes:
    """Write rows, each the name and the value of a message."""
    if form is JenaFormat.THRIFT:
        protocol, transport = _compact()
        for name, value in rows:
            _thrift_write(protocol, name, value)
        written: bytes = transport.getvalue()
        return written
    out = io.BytesIO()
    for name, value in rows:
        data = _protobuf_message(_protobuf_class(name)(), value).SerializeToString()
        size = len(data)
        while size > 0x7F:
            out.write(bytes((size & 0x7F | 0x80,)))
            size >>= 7
        out.write(bytes((size,)) + data)
    return out.getvalue()


# Thrift


def _compact() -> tuple[Any, Any]:
    compact = pytest.importorskip("thrift.protocol.TCompactProtocol")
    transport = pytest.importorskip("thrift.transport.TTransport").TMemoryBuffer()
    return compact.TCompactProtocol(transport), transport


def _code(kind: Any) -> int:
    return _LIST if isinstance(kind, list) else _CODES[kind][0] if kind in _CODES else _STRUCT


def _thrift_write(protocol: Any, message: str, value: Any) -> None:
    members = dict([value]) if message in _UNIONS else value
    protocol.writeStructBegin("")
    for name, kind, number, _ in _SCHEMA[message]:
        if number and name in members:
            protocol.writeFieldBegin(name, _code(kind), number)
            _thrift_write_value(protocol, kind, members[name])
            protocol.writeFieldEnd()
    protocol.writeFieldStop()
    protocol.writeStructEnd()


def _thrift_write_value(protocol: Any, kind: Any, value: Any) -> None:
    if isinstance(kind, list):
        protocol.writeListBegin(_STRUCT, len(value))
        for each in value:
            _thrift_write(protocol, kind[0], each)
        protocol.writeListEnd()
    elif kind in _CODES:
        getattr(protocol, f"write{kind.capitalize()}")(value)
    else:
        _thrift_write(protocol, kind, value)


# Protocol Buffers


@cache
def _protobuf_class(name: str) -> Any:
    """Return the class of a message."""
    file = descriptor_pb2.FileDescriptorProto(name="jena.proto", package="j", syntax="proto3")
    for message, members in _SCHEMA.items():
        made = file.message_type.add(name=message)
        if message in (*_UNIONS, "RDF_Literal"):
            made.oneof_decl.add(name="kind")
        for member, kind, _, number in members:
            if not number:
                continue
            repeated = isinstance(kind, list)
            kind = kind[0] if repeated else kind
            added = made.field.add(
                name=member,
                number=number,
                label=_F.LABEL_REPEATED if repeated else _F.LABEL_OPTIONAL,
                type=_CODES[kind][1] if kind in _CODES else _F.TYPE_MESSAGE,
                type_name=None if kind in _CODES else f".j.{kind}",
            )
            if made.oneof_decl and member != "lex":
                added.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"j.{name}"))


def _protobuf_message(message: Any, value: Any) -> Any:
    members = dict([value]) if isinstance(value, tuple) else value
    message.SetInParent()
    for name, member in members.items():
        if isinstance(member, list):
            for each in member:
                _protobuf_message(getattr(message, name).add(), each)
        elif isinstance(member, tuple | dict):
            _protobuf_message(getattr(message, name), member)
        else:
            setattr(message, name, member)
    return message
