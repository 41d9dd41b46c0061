# Made by proto/regenerate.py from proto/grpc.proto, which is under the Apache License 2.0.
# Do not edit.

from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.internal.containers import RepeatedCompositeFieldContainer
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message import Message

from . import rdf_pb2

DESCRIPTOR: FileDescriptor

class RdfStreamSubscribe(Message):
    topic: str
    @property
    def requested_options(self) -> rdf_pb2.RdfStreamOptions: ...
    def __init__(
        self,
        *,
        topic: str | None = ...,
        requested_options: rdf_pb2.RdfStreamOptions | Mapping[str, Any] | None = ...,
    ) -> None: ...

class RdfStreamReceived(Message):
    def __init__(
        self,
    ) -> None: ...
