# Made by proto/regenerate.py from proto/rdf2.proto, which is under the Apache License 2.0.
# Do not edit.

from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.internal.containers import RepeatedCompositeFieldContainer
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message import Message


DESCRIPTOR: FileDescriptor

class RdfNameEntryPacked(Message):
    id: int
    values: str
    def __init__(
        self,
        *,
        id: int | None = ...,
        values: str | None = ...,
    ) -> None: ...

class RdfPrefixEntryPacked(Message):
    id: int
    values: str
    def __init__(
        self,
        *,
        id: int | None = ...,
        values: str | None = ...,
    ) -> None: ...

class RdfDatatypeEntryPacked(Message):
    id: int
    values: str
    def __init__(
        self,
        *,
        id: int | None = ...,
        values: str | None = ...,
    ) -> None: ...
