"""The columns of the formats: as schemas, and their terms as text of N-Triples or as structures.

Every column is nullable: a row for an error has only the error. Names are case-insensitive, as in
Spark. Terms are converted by whole columns in Arrow, and one by one only if characters are escaped.
Text is not validated: the encoder does that.
"""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, LongType, NullType, StringType, StructField, StructType

from ...codec import BlankNode, Iri, Literal
from ...codec.common.positions import POSITIONS
from ...codec.text.ntriples import term_text
from ...errors import OptionsError, TermError
from ..patch_rows import NUMBERS, PatchRow
from .options import CORRUPT, SPLIT, Settings

GRAPH: Final = "graph"
#: The column with the kind of operation.
KIND: Final = "kind"

#: The fields of a split term.
TERM: Final = StructType(
    [StructField(name, StringType()) for name in ("value", "kind", "datatype", "language")]
)

# Schemas


def statement_fields(settings: Settings) -> list[StructField]:
    return [StructField(name, _term(settings)) for name in POSITIONS]


def operation_fields(settings: Settings) -> list[StructField]:
    fields = []
    for name in PatchRow._fields:
        kind: DataType = LongType() if name in NUMBERS else StringType()
        fields.append(StructField(name, _term(settings) if name in POSITIONS else kind))
    return fields


def _term(settings: Settings) -> DataType:
    return TERM if settings["terms"] == SPLIT else StringType()


def _check_unique(schema: StructType) -> None:
    if len({name.lower() for name in schema.names}) < len(schema.names):
        raise OptionsError(f"two columns have the same name: {', '.join(schema.names)}")


def check_requested(given: StructType, available: StructType) -> None:
    """Check the schema that a user gives for reading: any of the columns, in any order, and that
    for errors, without which errors would be rows of nulls."""
    _check_unique(given)
    there = {field.name.lower(): field.dataType.simpleString() for field in available}
    for field in given:
        kind = field.dataType.simpleString()
        if there.get(field.name.lower()) != kind or not field.nullable:
            null = "" if field.nullable else " NOT NULL"
            raise OptionsError(
                f"column {field.name}:{kind}{null} is not available: with these options, the "
                f"columns are {available.simpleString()}, all nullable"
            )
    if CORRUPT in there and CORRUPT not in map(str.lower, given.names):
        raise OptionsError(f"mode PERMISSIVE needs the column {CORRUPT}: add it to the schema")


def check_written(
    schema: StructType, besides: tuple[str, ...] = (), optional: tuple[str, ...] = ()
) -> None:
    """Check that columns represent statements or operations.

    :param besides: required columns of text, besides terms.
    :param optional: optional columns of any type.
    """
    _check_unique(schema)
    names = {name.lower() for name in schema.names}
    missing = {*besides, *POSITIONS} - {GRAPH} - names
    other = names - {*besides, *optional, *POSITIONS}
    if missing or other:
        raise OptionsError(
            f"the columns must be {', '.join((*besides, *POSITIONS[:3]))} and, for graphs, graph: "
            + ", ".join(
                [f"{name} is missing" for name in sorted(missing)]
                + [f"{name} is not one of them" for name in sorted(other)]
            )
        )
    for each in schema:
        kind, name = each.dataType, each.name.lower()
        if name in optional or isinstance(kind, StringType | NullType):
            continue
        split = isinstance(kind, StructType) and {*map(str.lower, kind.names)} == {*TERM.names}
        if not split or name in besides:
            raise OptionsError(
                f"column {each.name} must be text or a structure of value, kind, datatype and "
                f"language (got {kind.simpleString()})"
            )


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return a schema as Spark expects it of its record batches."""
    return to_arrow_schema(schema, timezone="UTC")


# Batches


def complete(found: pa.RecordBatch, path: str, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with the columns of ``schema``, made of the columns that were read.

    :param found: columns whose names are in lower case; terms are text.
    :param path: the value of the column ``source``.
    """
    columns = []
    for field in schema:
        name = field.name.lower()
        if name in found.schema.names:
            column = found[name]
            if pa.types.is_struct(field.type):
                column = split_terms(column.cast(pa.string()), field.type)
            columns.append(column if column.type == field.type else column.cast(field.type))
        elif name == "source":
            columns.append(pa.repeat(pa.scalar(path, pa.string()), found.num_rows))
        else:
            columns.append(pa.nulls(found.num_rows, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with the names of columns in lower case, and VOID columns as text."""
    columns = [
        column.cast(pa.string()) if pa.types.is_null(column.type) else column
        for column in batch.columns
    ]
    names = [name.lower() for name in batch.schema.names]
    return pa.RecordBatch.from_arrays(columns, names=names)


# Terms

#: Kinds of terms, as the column ``kind`` has them. A triple's value is its text.
IRI: Final = "iri"
BLANK_NODE: Final = "blank_node"
LITERAL: Final = "literal"
TRIPLE: Final = "triple"

_XSD_STRING: Final = "http://www.w3.org/2001/XMLSchema#string"
_LANG_STRING: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"

_LITERAL: Final = (
    r'(?s)^"(?P<lex>(?:[^"\\]|\\.)*)"(?:@(?P<language>.+)|\^\^<(?P<datatype>[^>]*)>)?$'
)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_SHORT: Final = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
#: Characters that must be escaped in an IRI.
_IRI_SPECIAL: Final = r'[\x00-\x20<>"{}|^`\\]'
_LEX_SPECIAL: Final = r'[\x00-\x1f"\\\x7f]'


def split_terms(column: pa.Array, struct: pa.StructType) -> pa.Array:
    """Split terms, of text of N-Triples, into structures; null stays null.

    Every literal has a datatype; one with a language has ``rdf:langString``.
    """
    encoded = column.dictionary_encode()
    parts = _split(encoded.dictionary.cast(pa.string()))
    return pa.StructArray.from_arrays(parts, fields=list(struct)).take(encoded.indices)


def _split(terms: pa.Array) -> list[pa.Array]:
    none = pa.scalar(None, pa.string())
    is_triple = pc.starts_with(terms, "<<")
    is_iri = pc.and_not(pc.starts_with(terms, "<"), is_triple)
    is_blank = pc.starts_with(terms, "_:")
    is_literal = pc.starts_with(terms, '"')
    found = pc.extract_regex(terms, pattern=_LITERAL)
    lex, language, datatype = (
        pc.struct_field(found, name) for name in ("lex", "language", "datatype")
    )
    language = pc.if_else(pc.equal(language, ""), none, language)
    datatype = pc.if_else(pc.equal(datatype, ""), _XSD_STRING, _unescaped(datatype))
    datatype = pc.if_else(pc.is_valid(language), _LANG_STRING, datatype)
    kinds = pa.StructArray.from_arrays(
        [is_iri, is_blank, is_literal, is_triple], names=list("abcd")
    )
    kind = pc.case_when(kinds, IRI, BLANK_NODE, LITERAL, TRIPLE)
    value = pc.case_when(
        kinds,
        _unescaped(pc.utf8_slice_codeunits(terms, 1, -1)),
        pc.utf8_slice_codeunits(terms, 2),
        _unescaped(lex),
        terms,
    )
    return [value, kind, datatype, language]


def _unescaped(column: pa.Array) -> pa.Array:
    escaped = pc.fill_null(pc.match_substring(column, "\\"), False)
    if not pc.any(escaped).as_py():
        return column
    values = [_ESCAPE.sub(_character, each) for each in column.filter(escaped).to_pylist()]
    return pc.replace_with_mask(column, escaped, pa.array(values, pa.string()))


def _character(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _SHORT.get(found[3], found[3])


def join_terms(column: pa.Array) -> pa.Array:
    """Join structures into terms, as text of N-Triples; text stays as it is."""
    if not pa.types.is_struct(column.type):
        return column
    names = [field.name.lower() for field in column.type]
    value, kind, datatype, language = (
        # A null structure gets null fields.
        pc.struct_field(column, [names.index(name)]).cast(pa.string())
        for name in ("value", "kind", "datatype", "language")
    )
    known = pc.is_in(kind, value_set=pa.array([IRI, BLANK_NODE, LITERAL, TRIPLE]))
    there = pc.is_valid(column)
    if pc.any(pc.and_(there, pc.invert(known))).as_py():
        invalid = kind.filter(pc.and_(there, pc.invert(known)))[0].as_py()
        raise TermError(
            f"the kind of a term must be {IRI}, {BLANK_NODE}, {LITERAL} or {TRIPLE} "
            f"(got {invalid!r})"
        )
    if pc.any(pc.and_(there, pc.is_null(value))).as_py():
        raise TermError("a term has no value")
    is_iri, is_blank, is_literal = (pc.equal(kind, each) for each in (IRI, BLANK_NODE, LITERAL))
    tag = pc.binary_join_element_wise("@", language, "")
    plain = pc.or_kleene(pc.is_null(datatype), pc.equal(datatype, _XSD_STRING))
    typed = pc.binary_join_element_wise("^^<", datatype, ">", "")
    suffix = pc.if_else(pc.is_valid(language), tag, pc.if_else(plain, "", typed))
    kinds = pa.StructArray.from_arrays([is_iri, is_blank, is_literal], names=list("abc"))
    joined = pc.case_when(
        pc.fill_null(kinds, False) if kinds.null_count else kinds,
        pc.binary_join_element_wise("<", value, ">", ""),
        pc.binary_join_element_wise("_:", value, ""),
        pc.binary_join_element_wise('"', value, '"', suffix, ""),
        value,
    )
    special = pc.or_(
        pc.and_(is_iri, pc.match_substring_regex(value, _IRI_SPECIAL)),
        pc.and_(
            is_literal,
            pc.or_(
                pc.match_substring_regex(value, _LEX_SPECIAL),
                pc.fill_null(pc.match_substring_regex(datatype, _IRI_SPECIAL), False),
            ),
        ),
    )
    special = pc.fill_null(special, False)
    if not pc.any(special).as_py():
        return joined
    fields = (each.filter(special).to_pylist() for each in (value, kind, datatype, language))
    texts = [_text(*each) for each in zip(*fields, strict=True)]
    return pc.replace_with_mask(joined, special, pa.array(texts, pa.string()))


def _text(value: str, kind: str, datatype: str | None, language: str | None) -> str:
    if kind == IRI:
        return term_text(Iri(value))
    if kind == BLANK_NODE:
        return term_text(BlankNode(value))
    if language is not None:
        return term_text(Literal(value, language))
    return term_text(Literal(value, None, None if datatype == _XSD_STRING else datatype))
