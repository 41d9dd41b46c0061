# Made by proto/regenerate.py from proto/rdf.proto, which is under the Apache License 2.0.
# Do not edit.

from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.internal.containers import RepeatedCompositeFieldContainer
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message import Message


DESCRIPTOR: FileDescriptor

PhysicalStreamType: EnumTypeWrapper
PHYSICAL_STREAM_TYPE_UNSPECIFIED: int
PHYSICAL_STREAM_TYPE_TRIPLES: int
PHYSICAL_STREAM_TYPE_QUADS: int
PHYSICAL_STREAM_TYPE_GRAPHS: int

LogicalStreamType: EnumTypeWrapper
LOGICAL_STREAM_TYPE_UNSPECIFIED: int
LOGICAL_STREAM_TYPE_FLAT_TRIPLES: int
LOGICAL_STREAM_TYPE_FLAT_QUADS: int
LOGICAL_STREAM_TYPE_GRAPHS: int
LOGICAL_STREAM_TYPE_DATASETS: int
LOGICAL_STREAM_TYPE_SUBJECT_GRAPHS: int
LOGICAL_STREAM_TYPE_NAMED_GRAPHS: int
LOGICAL_STREAM_TYPE_TIMESTAMPED_NAMED_GRAPHS: int

class RdfIri(Message):
    prefix_id: int
    name_id: int
    def __init__(
        self,
        *,
        prefix_id: int | None = ...,
        name_id: int | None = ...,
    ) -> None: ...

class RdfLiteral(Message):
    lex: str
    langtag: str
    datatype: int
    def __init__(
        self,
        *,
        lex: str | None = ...,
        langtag: str | None = ...,
        datatype: int | None = ...,
    ) -> None: ...

class RdfDefaultGraph(Message):
    def __init__(
        self,
    ) -> None: ...

class RdfTriple(Message):
    @property
    def s_iri(self) -> RdfIri: ...
    s_bnode: str
    @property
    def s_literal(self) -> RdfLiteral: ...
    @property
    def s_triple_term(self) -> RdfTriple: ...
    @property
    def p_iri(self) -> RdfIri: ...
    p_bnode: str
    @property
    def p_literal(self) -> RdfLiteral: ...
    @property
    def p_triple_term(self) -> RdfTriple: ...
    @property
    def o_iri(self) -> RdfIri: ...
    o_bnode: str
    @property
    def o_literal(self) -> RdfLiteral: ...
    @property
    def o_triple_term(self) -> RdfTriple: ...
    def __init__(
        self,
        *,
        s_iri: RdfIri | Mapping[str, Any] | None = ...,
        s_bnode: str | None = ...,
        s_literal: RdfLiteral | Mapping[str, Any] | None = ...,
        s_triple_term: RdfTriple | Mapping[str, Any] | None = ...,
        p_iri: RdfIri | Mapping[str, Any] | None = ...,
        p_bnode: str | None = ...,
        p_literal: RdfLiteral | Mapping[str, Any] | None = ...,
        p_triple_term: RdfTriple | Mapping[str, Any] | None = ...,
        o_iri: RdfIri | Mapping[str, Any] | None = ...,
        o_bnode: str | None = ...,
        o_literal: RdfLiteral | Mapping[str, Any] | None = ...,
        o_triple_term: RdfTriple | Mapping[str, Any] | None = ...,
    ) -> None: ...

class RdfQuad(Message):
    @property
    def s_iri(self) -> RdfIri: ...
    s_bnode: str
    @property
    def s_literal(self) -> RdfLiteral: ...
    @property
    def s_triple_term(self) -> RdfTriple: ...
    @property
    def p_iri(self) -> RdfIri: ...
    p_bnode: str
    @property
    def p_literal(self) -> RdfLiteral: ...
    @property
    def p_triple_term(self) -> RdfTriple: ...
    @property
    def o_iri(self) -> RdfIri: ...
    o_bnode: str
    @property
    def o_literal(self) -> RdfLiteral: ...
    @property
    def o_triple_term(self) -> RdfTriple: ...
    @property
    def g_iri(self) -> RdfIri: ...
    g_bnode: str
    @property
    def g_default_graph(self) -> RdfDefaultGraph: ...
    @property
    def g_literal(self) -> RdfLiteral: ...
    def __init__(
        self,
        *,
        s_iri: RdfIri | Mapping[str, Any] | None = ...,
        s_bnode: str | None = ...,
        s_literal: RdfLiteral | Mapping[str, Any] | None = ...,
        s_triple_term: RdfTriple | Mapping[str, Any] | None = ...,
        p_iri: RdfIri | Mapping[str, Any] | None = ...,
        p_bnode: str | None = ...,
        p_literal: RdfLiteral | Mapping[str, Any] | None = ...,
        p_triple_term: RdfTriple | Mapping[str, Any] | None = ...,
        o_iri: RdfIri | Mapping[str, Any] | None = ...,
        o_bnode: str | None = ...,
        o_literal: RdfLiteral | Mapping[str, Any] | None = ...,
        o_triple_term: RdfTriple | Mapping[str, Any] | None = ...,
        g_iri: RdfIri | Mapping[str, Any] | None = ...,
        g_bnode: str | None = ...,
        g_default_graph: RdfDefaultGraph | Mapping[str, Any] | None = ...,
        g_literal: RdfLiteral | Mapping[str, Any] | None = ...,
    ) -> None: ...

class RdfGraphStart(Message):
    @property
    def g_iri(self) -> RdfIri: ...
    g_bnode: str
    @property
    def g_default_graph(self) -> RdfDefaultGraph: ...
    @property
    def g_literal(self) -> RdfLiteral: ...
    def __init__(
        self,
        *,
        g_iri: RdfIri | Mapping[str, Any] | None = ...,
        g_bnode: str | None = ...,
        g_default_graph: RdfDefaultGraph | Mapping[str, Any] | None = ...,
        g_literal: RdfLiteral | Mapping[str, Any] | None = ...,
    ) -> None: ...

class RdfGraphEnd(Message):
    def __init__(
        self,
    ) -> None: ...

class RdfNamespaceDeclaration(Message):
    name: str
    @property
    def value(self) -> RdfIri: ...
    def __init__(
        self,
        *,
        name: str | None = ...,
        value: RdfIri | Mapping[str, Any] | None = ...,
    ) -> None: ...

class RdfNameEntry(Message):
    id: int
    value: str
    def __init__(
        self,
        *,
        id: int | None = ...,
        value: str | None = ...,
    ) -> None: ...

class RdfPrefixEntry(Message):
    id: int
    value: str
    def __init__(
        self,
        *,
        id: int | None = ...,
        value: str | None = ...,
    ) -> None: ...

class RdfDatatypeEntry(Message):
    id: int
    value: str
    def __init__(
        self,
        *,
        id: int | None = ...,
        value: str | None = ...,
    ) -> None: ...

class RdfStreamOptions(Message):
    stream_name: str
    physical_type: int
    generalized_statements: bool
    rdf_star: bool
    max_name_table_size: int
    max_prefix_table_size: int
    max_datatype_table_size: int
    logical_type: int
    version: int
    def __init__(
        self,
        *,
        stream_name: str | None = ...,
        physical_type: int | str | None = ...,
        generalized_statements: bool | None = ...,
        rdf_star: bool | None = ...,
        max_name_table_size: int | None = ...,
        max_prefix_table_size: int | None = ...,
        max_datatype_table_size: int | None = ...,
        logical_type: int | str | None = ...,
        version: int | None = ...,
    ) -> None: ...

class RdfStreamRow(Message):
    @property
    def options(self) -> RdfStreamOptions: ...
    @property
    def triple(self) -> RdfTriple: ...
    @property
    def quad(self) -> RdfQuad: ...
    @property
    def graph_start(self) -> RdfGraphStart: ...
    @property
    def graph_end(self) -> RdfGraphEnd: ...
    @property
    def namespace(self) -> RdfNamespaceDeclaration: ...
    @property
    def name(self) -> RdfNameEntry: ...
    @property
    def prefix(self) -> RdfPrefixEntry: ...
    @property
    def datatype(self) -> RdfDatatypeEntry: ...
    def __init__(
        self,
        *,
        options: RdfStreamOptions | Mapping[str, Any] | None = ...,
        triple: RdfTriple | Mapping[str, Any] | None = ...,
        quad: RdfQuad | Mapping[str, Any] | None = ...,
        graph_start: RdfGraphStart | Mapping[str, Any] | None = ...,
        graph_end: RdfGraphEnd | Mapping[str, Any] | None = ...,
        namespace: RdfNamespaceDeclaration | Mapping[str, Any] | None = ...,
        name: RdfNameEntry | Mapping[str, Any] | None = ...,
        prefix: RdfPrefixEntry | Mapping[str, Any] | None = ...,
        datatype: RdfDatatypeEntry | Mapping[str, Any] | None = ...,
    ) -> None: ...

class RdfStreamFrame(Message):
    @property
    def rows(self) -> RepeatedCompositeFieldContainer[RdfStreamRow]: ...
    @property
    def metadata(self) -> MutableMapping[str, bytes]: ...
    def __init__(
        self,
        *,
        rows: Iterable[RdfStreamRow | Mapping[str, Any]] | None = ...,
        metadata: Mapping[str, bytes] | None = ...,
    ) -> None: ...
