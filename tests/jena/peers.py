"""Independent implementations of the encodings: the ``thrift`` package and protobuf, with a second
copy of Apache Jena's schema in their own form.

In values, a struct is a dict by names of members, a union a pair of name and value.
"""

from __future__ import annotations

import io
from functools import cache
from typing import Any, Final

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# The type, and for structs and lists the type of the contents.
_STRING, _STRUCT, _I32, _I64, _DOUBLE, _LIST = 11, 12, 8, 10, 4, 15

_PREFIX_NAME: Final = {1: ("prefix", _STRING, None), 2: ("localName", _STRING, None)}
_EMPTY: Final[dict[int, Any]] = {}
_TRIPLE: dict[int, Any] = {}
THRIFT_TERM: Final[dict[int, Any]] = {
    1: ("iri", _STRUCT, {1: ("iri", _STRING, None)}),
    2: ("bnode", _STRUCT, {1: ("label", _STRING, None)}),
    3: (
        "literal",
        _STRUCT,
        {
            1: ("lex", _STRING, None),
            2: ("langtag", _STRING, None),
            3: ("datatype", _STRING, None),
            4: ("dtPrefix", _STRUCT, _PREFIX_NAME),
            5: ("baseDirection", _STRING, None),
        },
    ),
    4: ("prefixName", _STRUCT, _PREFIX_NAME),
    5: ("variable", _STRUCT, {1: ("name", _STRING, None)}),
    6: ("any", _STRUCT, _EMPTY),
    7: ("undefined", _STRUCT, _EMPTY),
    8: ("repeat", _STRUCT, _EMPTY),
    9: ("tripleTerm", _STRUCT, _TRIPLE),
    10: ("valInteger", _I64, None),
    11: ("valDouble", _DOUBLE, None),
    12: ("valDecimal", _STRUCT, {1: ("value", _I64, None), 2: ("scale", _I32, None)}),
}
_TRIPLE.update({at: (name, _STRUCT, THRIFT_TERM) for at, name in enumerate("SPO", 1)})
_UNIONS: Final = [THRIFT_TERM]
THRIFT_ROW: Final[dict[int, Any]] = {
    1: ("prefixDecl", _STRUCT, {1: ("prefix", _STRING, None), 2: ("uri", _STRING, None)}),
    2: ("triple", _STRUCT, _TRIPLE),
    3: ("quad", _STRUCT, {**_TRIPLE, 4: ("G", _STRUCT, THRIFT_TERM)}),
}
THRIFT_VARIABLES: Final = {1: ("vars", _LIST, {1: ("name", _STRING, None)})}
THRIFT_RESULT: Final = {1: ("row", _LIST, THRIFT_TERM)}
_UNIONS.append(THRIFT_ROW)


def thrift_bytes(rows: list[tuple[dict[int, Any], Any]]) -> bytes:
    """Write rows with the compact protocol of the ``thrift`` package."""
    compact = pytest.importorskip("thrift.protocol.TCompactProtocol")
    transport = pytest.importorskip("thrift.transport.TTransport").TMemoryBuffer()
    protocol = compact.TCompactProtocol(transport)
    for message, value in rows:
        _thrift_write(protocol, message, value)
    written: bytes = transport.getvalue()
    return written


def _is_union(message: Any) -> bool:
    return any(message is union for union in _UNIONS)


def _thrift_write(protocol: Any, message: Any, value: Any) -> None:
    members = dict([value]) if _is_union(message) else value
    protocol.writeStructBegin("")
    for number, (name, kind, inner) in message.items():
        if name not in members:
            continue
        protocol.writeFieldBegin(name, kind, number)
        _thrift_write_value(protocol, kind, inner, members[name])
        protocol.writeFieldEnd()
    protocol.writeFieldStop()
    protocol.writeStructEnd()


def _thrift_write_value(protocol: Any, kind: int, inner: Any, value: Any) -> None:
    if kind == _STRUCT:
        _thrift_write(protocol, inner, value)
    elif kind == _STRING:
        protocol.writeString(value)
    elif kind == _LIST:
        protocol.writeListBegin(_STRUCT, len(value))
        for each in value:
            _thrift_write(protocol, inner, each)
        protocol.writeListEnd()
    else:
        {_I32: protocol.writeI32, _I64: protocol.writeI64, _DOUBLE: protocol.writeDouble}[kind](
            value
        )


def thrift_values(data: bytes, message: dict[int, Any]) -> list[Any]:
    """Read rows with the compact protocol of the ``thrift`` package."""
    compact = pytest.importorskip("thrift.protocol.TCompactProtocol")
    transport = pytest.importorskip("thrift.transport.TTransport").TMemoryBuffer(data)
    protocol = compact.TCompactProtocol(transport)
    rows = []
    while transport.cstringio_buf.tell() < len(data):
        rows.append(_thrift_read(protocol, message))
    return rows


def _thrift_read(protocol: Any, message: Any) -> Any:
    found: dict[str, Any] = {}
    protocol.readStructBegin()
    while True:
        _, kind, number = protocol.readFieldBegin()
        if kind == 0:
            break
        name, expected, inner = message[number]
        assert kind == expected
        found[name] = _thrift_read_value(protocol, kind, inner)
        protocol.readFieldEnd()
    protocol.readStructEnd()
    return next(iter(found.items())) if _is_union(message) else found


def _thrift_read_value(protocol: Any, kind: int, inner: Any) -> Any:
    if kind == _STRUCT:
        return _thrift_read(protocol, inner)
    if kind == _STRING:
        return protocol.readString()
    if kind == _LIST:
        _, size = protocol.readListBegin()
        return [_thrift_read(protocol, inner) for _ in range(size)]
    return {_I32: protocol.readI32, _I64: protocol.readI64, _DOUBLE: protocol.readDouble}[kind]()


# Protocol Buffers

_F = descriptor_pb2.FieldDescriptorProto

#: Fields by message: name, number, type or message, and the name of the oneof, if any.
_MESSAGES: Final[dict[str, list[tuple[str, int, Any, str | None]]]] = {
    "RDF_IRI": [("iri", 1, _F.TYPE_STRING, None)],
    "RDF_PrefixName": [
        ("prefix", 1, _F.TYPE_STRING, None),
        ("localName", 2, _F.TYPE_STRING, None),
    ],
    "RDF_BNode": [("label", 1, _F.TYPE_STRING, None)],
    "RDF_Literal": [
        ("lex", 1, _F.TYPE_STRING, None),
        ("simple", 9, _F.TYPE_BOOL, "literalKind"),
        ("langtag", 2, _F.TYPE_STRING, "literalKind"),
        ("datatype", 3, _F.TYPE_STRING, "literalKind"),
        ("dtPrefix", 4, "RDF_PrefixName", "literalKind"),
        ("langdir", 5, _F.TYPE_STRING, "literalKind"),
    ],
    "RDF_Decimal": [("value", 1, _F.TYPE_SINT64, None), ("scale", 2, _F.TYPE_SINT32, None)],
    "RDF_Var": [("name", 1, _F.TYPE_STRING, None)],
    "RDF_ANY": [],
    "RDF_UNDEF": [],
    "RDF_REPEAT": [],
    "RDF_Term": [
        ("iri", 1, "RDF_IRI", "term"),
        ("bnode", 2, "RDF_BNode", "term"),
        ("literal", 3, "RDF_Literal", "term"),
        ("prefixName", 4, "RDF_PrefixName", "term"),
        ("variable", 5, "RDF_Var", "term"),
        ("tripleTerm", 6, "RDF_Triple", "term"),
        ("any", 7, "RDF_ANY", "term"),
        ("undefined", 8, "RDF_UNDEF", "term"),
        ("repeat", 9, "RDF_REPEAT", "term"),
        ("valInteger", 20, _F.TYPE_SINT64, "term"),
        ("valDouble", 21, _F.TYPE_DOUBLE, "term"),
        ("valDecimal", 22, "RDF_Decimal", "term"),
    ],
    "RDF_Triple": [(name, at, "RDF_Term", None) for at, name in enumerate("SPO", 1)],
    "RDF_Quad": [(name, at, "RDF_Term", None) for at, name in enumerate("SPOG", 1)],
    "RDF_PrefixDecl": [("prefix", 1, _F.TYPE_STRING, None), ("uri", 2, _F.TYPE_STRING, None)],
    "RDF_StreamRow": [
        ("prefixDecl", 1, "RDF_PrefixDecl", "row"),
        ("triple", 2, "RDF_Triple", "row"),
        ("quad", 3, "RDF_Quad", "row"),
        ("base", 4, "RDF_IRI", "row"),
    ],
    "RDF_VarTuple": [("vars", 1, ["RDF_Var"], None)],
    "RDF_DataTuple": [("row", 1, ["RDF_Term"], None)],
}


@cache
def protobuf_class(name: str) -> Any:
    """Return the class of a message."""
    file = descriptor_pb2.FileDescriptorProto(name="jena.proto", package="j", syntax="proto3")
    for message, fields in _MESSAGES.items():
        made = file.message_type.add(name=message)
        oneofs: list[str] = []
        for field, number, kind, oneof in fields:
            repeated = isinstance(kind, list)
            kind = kind[0] if repeated else kind
            added = made.field.add(
                name=field,
                number=number,
                label=_F.LABEL_REPEATED if repeated else _F.LABEL_OPTIONAL,
                type=_F.TYPE_MESSAGE if isinstance(kind, str) else kind,
                type_name=f".j.{kind}" if isinstance(kind, str) else None,
            )
            if oneof is not None:
                if oneof not in oneofs:
                    oneofs.append(oneof)
                    made.oneof_decl.add(name=oneof)
                added.oneof_index = oneofs.index(oneof)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"j.{name}"))


def protobuf_bytes(rows: list[tuple[str, Any]]) -> bytes:
    """Write rows with protobuf, each with its length; a pair is a message's name and value."""
    out = io.BytesIO()
    for name, value in rows:
        data = _protobuf_message(protobuf_class(name)(), value).SerializeToString()
        size = len(data)
        while size > 0x7F:
            out.write(bytes((size & 0x7F | 0x80,)))
            size >>= 7
        out.write(bytes((size,)) + data)
    return out.getvalue()


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


def protobuf_values(data: bytes, name: str) -> list[Any]:
    """Read delimited messages with protobuf."""
    rows = []
    at = 0
    while at < len(data):
        size = shift = 0
        while True:
            byte = data[at]
            at += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        rows.append(_protobuf_value(protobuf_class(name).FromString(data[at : at + size])))
        at += size
    return rows


def _protobuf_value(message: Any) -> Any:
    found: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        optional = field.containing_oneof is not None or field.message_type is not None
        if optional and not message.HasField(field.name):
            continue
        found[field.name] = _protobuf_value(value) if field.message_type is not None else value
    is_union = message.DESCRIPTOR.name in ("RDF_Term", "RDF_StreamRow")
    return next(iter(found.items())) if is_union else found
