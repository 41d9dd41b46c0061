# Made by proto/regenerate.py from proto/sparql.proto, which is under the Apache License 2.0.
# Do not edit.

from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.internal.containers import RepeatedCompositeFieldContainer
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message import Message

from . import rdf_pb2
from . import rdf2_pb2

DESCRIPTOR: FileDescriptor

class SparqlResultsOptions(Message):
    stream_name: str
    max_name_table_size: int
    max_prefix_table_size: int
    max_datatype_table_size: int
    version: int
    def __init__(
        self,
        *,
        stream_name: str | None = ...,
        max_name_table_size: int | None = ...,
        max_prefix_table_size: int | None = ...,
        max_datatype_table_size: int | None = ...,
        version: int | None = ...,
    ) -> None: ...

class SparqlVariable(Message):
    name: str
    column_index: int
    def __init__(
        self,
        *,
        name: str | None = ...,
        column_index: int | None = ...,
    ) -> None: ...

class SparqlAskResult(Message):
    value: bool
    def __init__(
        self,
        *,
        value: bool | None = ...,
    ) -> None: ...

class SparqlTerm(Message):
    @property
    def iri(self) -> rdf_pb2.RdfIri: ...
    bnode: str
    @property
    def literal(self) -> rdf_pb2.RdfLiteral: ...
    def __init__(
        self,
        *,
        iri: rdf_pb2.RdfIri | Mapping[str, Any] | None = ...,
        bnode: str | None = ...,
        literal: rdf_pb2.RdfLiteral | Mapping[str, Any] | None = ...,
    ) -> None: ...

class SparqlIriColumn(Message):
    name_ids: int
    layouts: int
    prefix_ids: int
    def __init__(
        self,
        *,
        name_ids: int | None = ...,
        layouts: int | None = ...,
        prefix_ids: int | None = ...,
    ) -> None: ...

class SparqlBnodeColumn(Message):
    values: str
    layouts: int
    def __init__(
        self,
        *,
        values: str | None = ...,
        layouts: int | None = ...,
    ) -> None: ...

class SparqlLiteralColumn(Message):
    @property
    def values(self) -> RepeatedCompositeFieldContainer[rdf_pb2.RdfLiteral]: ...
    layouts: int
    lex_values: str
    datatype: int
    def __init__(
        self,
        *,
        values: Iterable[rdf_pb2.RdfLiteral | Mapping[str, Any]] | None = ...,
        layouts: int | None = ...,
        lex_values: str | None = ...,
        datatype: int | None = ...,
    ) -> None: ...

class SparqlPolyColumn(Message):
    @property
    def values(self) -> RepeatedCompositeFieldContainer[SparqlTerm]: ...
    layouts: int
    def __init__(
        self,
        *,
        values: Iterable[SparqlTerm | Mapping[str, Any]] | None = ...,
        layouts: int | None = ...,
    ) -> None: ...

class SparqlResultsFrame(Message):
    @property
    def options(self) -> SparqlResultsOptions: ...
    @property
    def variables(self) -> RepeatedCompositeFieldContainer[SparqlVariable]: ...
    row_count: int
    @property
    def names(self) -> RepeatedCompositeFieldContainer[rdf2_pb2.RdfNameEntryPacked]: ...
    @property
    def prefixes(self) -> RepeatedCompositeFieldContainer[rdf2_pb2.RdfPrefixEntryPacked]: ...
    @property
    def datatypes(self) -> RepeatedCompositeFieldContainer[rdf2_pb2.RdfDatatypeEntryPacked]: ...
    @property
    def iri_columns(self) -> RepeatedCompositeFieldContainer[SparqlIriColumn]: ...
    @property
    def bnode_columns(self) -> RepeatedCompositeFieldContainer[SparqlBnodeColumn]: ...
    @property
    def literal_columns(self) -> RepeatedCompositeFieldContainer[SparqlLiteralColumn]: ...
    @property
    def poly_columns(self) -> RepeatedCompositeFieldContainer[SparqlPolyColumn]: ...
    @property
    def ask_result(self) -> SparqlAskResult: ...
    @property
    def metadata(self) -> MutableMapping[str, bytes]: ...
    def __init__(
        self,
        *,
        options: SparqlResultsOptions | Mapping[str, Any] | None = ...,
        variables: Iterable[SparqlVariable | Mapping[str, Any]] | None = ...,
        row_count: int | None = ...,
        names: Iterable[rdf2_pb2.RdfNameEntryPacked | Mapping[str, Any]] | None = ...,
        prefixes: Iterable[rdf2_pb2.RdfPrefixEntryPacked | Mapping[str, Any]] | None = ...,
        datatypes: Iterable[rdf2_pb2.RdfDatatypeEntryPacked | Mapping[str, Any]] | None = ...,
        iri_columns: Iterable[SparqlIriColumn | Mapping[str, Any]] | None = ...,
        bnode_columns: Iterable[SparqlBnodeColumn | Mapping[str, Any]] | None = ...,
        literal_columns: Iterable[SparqlLiteralColumn | Mapping[str, Any]] | None = ...,
        poly_columns: Iterable[SparqlPolyColumn | Mapping[str, Any]] | None = ...,
        ask_result: SparqlAskResult | Mapping[str, Any] | None = ...,
        metadata: Mapping[str, bytes] | None = ...,
    ) -> None: ...
