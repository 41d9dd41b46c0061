# Made by proto/regenerate.py from proto/patch.proto, which is under the Apache License 2.0.
# Do not edit.

from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.internal.containers import RepeatedCompositeFieldContainer
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message import Message

from . import rdf_pb2

DESCRIPTOR: FileDescriptor

PatchStatementType: EnumTypeWrapper
PATCH_STATEMENT_TYPE_UNSPECIFIED: int
PATCH_STATEMENT_TYPE_TRIPLES: int
PATCH_STATEMENT_TYPE_QUADS: int

PatchStreamType: EnumTypeWrapper
PATCH_STREAM_TYPE_UNSPECIFIED: int
PATCH_STREAM_TYPE_FRAME: int
PATCH_STREAM_TYPE_FLAT: int
PATCH_STREAM_TYPE_PUNCTUATED: int

class RdfPatchTransactionStart(Message):
    def __init__(
        self,
    ) -> None: ...

class RdfPatchTransactionCommit(Message):
    def __init__(
        self,
    ) -> None: ...

class RdfPatchTransactionAbort(Message):
    def __init__(
        self,
    ) -> None: ...

class RdfPatchNamespace(Message):
    name: str
    @property
    def value(self) -> rdf_pb2.RdfIri: ...
    @property
    def g_iri(self) -> rdf_pb2.RdfIri: ...
    g_bnode: str
    @property
    def g_default_graph(self) -> rdf_pb2.RdfDefaultGraph: ...
    @property
    def g_literal(self) -> rdf_pb2.RdfLiteral: ...
    def __init__(
        self,
        *,
        name: str | None = ...,
        value: rdf_pb2.RdfIri | Mapping[str, Any] | None = ...,
        g_iri: rdf_pb2.RdfIri | Mapping[str, Any] | None = ...,
        g_bnode: str | None = ...,
        g_default_graph: rdf_pb2.RdfDefaultGraph | Mapping[str, Any] | None = ...,
        g_literal: rdf_pb2.RdfLiteral | Mapping[str, Any] | None = ...,
    ) -> None: ...

class RdfPatchHeader(Message):
    key: str
    @property
    def h_iri(self) -> rdf_pb2.RdfIri: ...
    h_bnode: str
    @property
    def h_literal(self) -> rdf_pb2.RdfLiteral: ...
    @property
    def h_triple_term(self) -> rdf_pb2.RdfTriple: ...
    def __init__(
        self,
        *,
        key: str | None = ...,
        h_iri: rdf_pb2.RdfIri | Mapping[str, Any] | None = ...,
        h_bnode: str | None = ...,
        h_literal: rdf_pb2.RdfLiteral | Mapping[str, Any] | None = ...,
        h_triple_term: rdf_pb2.RdfTriple | Mapping[str, Any] | None = ...,
    ) -> None: ...

class RdfPatchPunctuation(Message):
    def __init__(
        self,
    ) -> None: ...

class RdfPatchOptions(Message):
    statement_type: int
    stream_type: int
    generalized_statements: bool
    rdf_star: bool
    max_name_table_size: int
    max_prefix_table_size: int
    max_datatype_table_size: int
    version: int
    def __init__(
        self,
        *,
        statement_type: int | str | None = ...,
        stream_type: int | str | None = ...,
        generalized_statements: bool | None = ...,
        rdf_star: bool | None = ...,
        max_name_table_size: int | None = ...,
        max_prefix_table_size: int | None = ...,
        max_datatype_table_size: int | None = ...,
        version: int | None = ...,
    ) -> None: ...

class RdfPatchRow(Message):
    @property
    def options(self) -> RdfPatchOptions: ...
    @property
    def statement_add(self) -> rdf_pb2.RdfQuad: ...
    @property
    def statement_delete(self) -> rdf_pb2.RdfQuad: ...
    @property
    def namespace_add(self) -> RdfPatchNamespace: ...
    @property
    def namespace_delete(self) -> RdfPatchNamespace: ...
    @property
    def transaction_start(self) -> RdfPatchTransactionStart: ...
    @property
    def transaction_commit(self) -> RdfPatchTransactionCommit: ...
    @property
    def transaction_abort(self) -> RdfPatchTransactionAbort: ...
    @property
    def name(self) -> rdf_pb2.RdfNameEntry: ...
    @property
    def prefix(self) -> rdf_pb2.RdfPrefixEntry: ...
    @property
    def datatype(self) -> rdf_pb2.RdfDatatypeEntry: ...
    @property
    def header(self) -> RdfPatchHeader: ...
    @property
    def punctuation(self) -> RdfPatchPunctuation: ...
    def __init__(
        self,
        *,
        options: RdfPatchOptions | Mapping[str, Any] | None = ...,
        statement_add: rdf_pb2.RdfQuad | Mapping[str, Any] | None = ...,
        statement_delete: rdf_pb2.RdfQuad | Mapping[str, Any] | None = ...,
        namespace_add: RdfPatchNamespace | Mapping[str, Any] | None = ...,
        namespace_delete: RdfPatchNamespace | Mapping[str, Any] | None = ...,
        transaction_start: RdfPatchTransactionStart | Mapping[str, Any] | None = ...,
        transaction_commit: RdfPatchTransactionCommit | Mapping[str, Any] | None = ...,
        transaction_abort: RdfPatchTransactionAbort | Mapping[str, Any] | None = ...,
        name: rdf_pb2.RdfNameEntry | Mapping[str, Any] | None = ...,
        prefix: rdf_pb2.RdfPrefixEntry | Mapping[str, Any] | None = ...,
        datatype: rdf_pb2.RdfDatatypeEntry | Mapping[str, Any] | None = ...,
        header: RdfPatchHeader | Mapping[str, Any] | None = ...,
        punctuation: RdfPatchPunctuation | Mapping[str, Any] | None = ...,
    ) -> None: ...

class RdfPatchFrame(Message):
    @property
    def rows(self) -> RepeatedCompositeFieldContainer[RdfPatchRow]: ...
    def __init__(
        self,
        *,
        rows: Iterable[RdfPatchRow | Mapping[str, Any]] | None = ...,
    ) -> None: ...
