# Made by proto/regenerate.py from proto/grpc.proto, which is under the Apache License 2.0.
# Do not edit.

from . import rdf_pb2 as rdf_pb2
from ._pool import define

define(
    globals(),
    b'\n\ngrpc.proto\x12!eu.ostrzyciel.jelly.core.proto.v1\x1a\trdf.proto"\x8c'
    b'\x01\n\x12RdfStreamSubscribe\x12\x14\n\x05topic\x18\x01 \x01(\tR\x05topic\x12`\n\x11requested_opt'
    b'ions\x18\x02 \x01(\x0b23.eu.ostrzyciel.jelly.core.proto.v1.RdfStreamOpti'
    b'onsR\x10requestedOptions"\x13\n\x11RdfStreamReceived2\x87\x02\n\x10RdfStreamServ'
    b'ice\x12z\n\x0cSubscribeRdf\x125.eu.ostrzyciel.jelly.core.proto.v1.RdfS'
    b'treamSubscribe\x1a1.eu.ostrzyciel.jelly.core.proto.v1.RdfStream'
    b'Frame0\x01\x12w\n\nPublishRdf\x121.eu.ostrzyciel.jelly.core.proto.v1.Rd'
    b'fStreamFrame\x1a4.eu.ostrzyciel.jelly.core.proto.v1.RdfStreamRe'
    b'ceived(\x01b\x06proto3'
)
