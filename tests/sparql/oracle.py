"""Jelly-SPARQL once more, over the classes that protoc generates: slow, and without anything of the
codec. Terms are tuples: ``("iri", value)``, ``("bnode", label)``, ``("literal", lex, langtag,
datatype)``."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from jelly_plugins.proto import rdf2_pb2, rdf_pb2, sparql_pb2

XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"


class OracleError(Exception):
    """A stream that is not valid."""


def need(holds: Any, why: str) -> None:
    if not holds:
        raise OracleError(why)


class Reader:
    """Decodes the frames of a stream."""

    def __init__(self) -> None:
        self.variables: list[str] | None = None
        self.boolean: bool | None = None
        self.first = True
        self.tables: list[dict[int, str]] = [{}, {}, {}]
        self.last = [0, 0, 0]
        self.columns: list[int] = []

    def frame(self, data: bytes) -> list[tuple[Any, ...]]:
        frame = sparql_pb2.SparqlResultsFrame.FromString(data)
        need(frame.HasField("options") == self.first, "options")
        if self.first:
            need(frame.options.version == 1, "version")
            need(frame.options.max_name_table_size >= 128, "names")
            self.sizes = (
                frame.options.max_name_table_size,
                frame.options.max_prefix_table_size,
                frame.options.max_datatype_table_size,
            )
        columns = [
            *frame.iri_columns,
            *frame.bnode_columns,
            *frame.literal_columns,
            *frame.poly_columns,
        ]
        if frame.HasField("ask_result"):
            need(self.first, "a late ask_result")
            self.boolean = frame.ask_result.value
        if self.boolean is not None:
            need(not (frame.variables or columns or frame.row_count), "content with ask_result")
            self.first = False
            return []
        if self.first or frame.variables:
            names = [each.name for each in frame.variables]
            need(self.first or names == self.variables, "variables")
            need(len(set(names)) == len(names), "two variables of one name")
            self.variables = names
            self.layout: list[int] | None = None
            self.columns = [each.column_index for each in frame.variables]
            need(sorted(self.columns) == list(range(len(names))), "column_index")
        self.first = False
        for number, entries in enumerate((frame.names, frame.prefixes, frame.datatypes)):
            for packed in entries:
                at = packed.id or self.last[number] + 1
                for value in packed.values:
                    need(at <= self.sizes[number], "table")
                    self.tables[number][at] = value
                    self.last[number] = at
                    at += 1
        if not columns and not frame.row_count:
            return []
        need(len(columns) == len(self.variables or ()), "columns")
        layout = [len(frame.iri_columns), len(frame.bnode_columns), len(frame.literal_columns)]
        need(self.layout in (None, layout), "columns change")
        self.layout = layout
        cells = [self.cells(column, frame.row_count) for column in columns]
        return [tuple(cells[at][row] for at in self.columns) for row in range(frame.row_count)]

    def cells(self, column: Any, rows: int) -> list[Any]:
        values = list(self.values(column))
        found: list[Any] = []
        tokens = list(column.layouts)
        while tokens:
            token = tokens.pop(0)
            length = token % 16
            if length == 15:
                need(tokens, "extension")
                length += tokens.pop(0)
            for _ in range(token // 32):
                need(values, "skip")
                found.append(values.pop(0))
            need(len(found) + length <= rows, "too many cells")
            if token // 16 % 2:
                found += [None] * (length + 1)
            else:
                need(values, "repeat")
                found += [values.pop(0)] * (length + 2)
        found += values
        need(len(found) <= rows, "too many cells")
        return found + [None] * (rows - len(found))

    def values(self, column: Any) -> Iterator[Any]:
        self.ids = (0, 0)
        if isinstance(column, sparql_pb2.SparqlIriColumn):
            prefixes = list(column.prefix_ids) or [0]
            if len(prefixes) == 1:
                prefixes *= len(column.name_ids)
            need(len(prefixes) == len(column.name_ids), "prefix_ids")
            for prefix, name in zip(prefixes, column.name_ids, strict=True):
                yield self.iri(prefix, name)
        elif isinstance(column, sparql_pb2.SparqlBnodeColumn):
            yield from (("bnode", label) for label in column.values)
        elif isinstance(column, sparql_pb2.SparqlLiteralColumn):
            need(not (column.values and column.lex_values), "both forms")
            need(not (column.datatype and not column.lex_values), "datatype alone")
            datatype = self.entry(2, column.datatype) if column.datatype else XSD_STRING
            yield from (literal(lex, None, datatype) for lex in column.lex_values)
            yield from map(self.literal, column.values)
        else:
            for term in column.values:
                kind = term.WhichOneof("term")
                need(kind, "no term")
                if kind == "iri":
                    yield self.iri(term.iri.prefix_id, term.iri.name_id)
                elif kind == "bnode":
                    yield ("bnode", term.bnode)
                else:
                    yield self.literal(term.literal)

    def iri(self, prefix: int, name: int) -> tuple[str, str]:
        self.ids = (prefix or self.ids[0], name or self.ids[1] + 1)
        prefix, name = self.ids
        return ("iri", (self.entry(1, prefix) if prefix else "") + self.entry(0, name))

    def literal(self, value: Any) -> tuple[Any, ...]:
        kind = value.WhichOneof("literalKind")
        if kind == "langtag":
            return literal(value.lex, value.langtag, None)
        return literal(value.lex, None, self.entry(2, value.datatype) if kind else XSD_STRING)

    def entry(self, table: int, number: int) -> str:
        need(number in self.tables[table], "lookup")
        return self.tables[table][number]


def literal(lex: str, langtag: str | None, datatype: str | None) -> tuple[Any, ...]:
    return ("literal", lex, langtag, None if datatype == XSD_STRING else datatype)


# A case for each kind of column, one after the other.
def encode(  # noqa: C901
    draw: Random, variables: list[str], rows: list[tuple[Any, ...]]
) -> bytes:
    """One frame: each variable in any column that holds it, in any form, runs cut at random."""
    names: dict[str, int] = {}
    datatypes: dict[str, int] = {}
    frame = sparql_pb2.SparqlResultsFrame(row_count=len(rows))
    frame.options.version = 1
    frame.options.max_name_table_size = 10_000
    frame.options.max_datatype_table_size = 100
    placed: list[tuple[int, int, str]] = []

    def lit(term: Any) -> Any:
        _, lex, langtag, datatype = term
        if langtag is not None:
            return rdf_pb2.RdfLiteral(lex=lex, langtag=langtag)
        if datatype is None:
            return rdf_pb2.RdfLiteral(lex=lex)
        number = datatypes.setdefault(datatype, len(datatypes) + 1)
        return rdf_pb2.RdfLiteral(lex=lex, datatype=number)

    for at, name in enumerate(variables):
        cells = [row[at] for row in rows]
        kinds = {cell[0] for cell in cells if cell}
        kind = kinds.pop() if len(kinds) == 1 and draw.random() < 0.8 else "poly"
        runs: list[tuple[Any, int]] = []
        for cell in cells:
            if runs and runs[-1][0] == cell and (cell is None or draw.random() < 0.9):
                runs[-1] = (cell, runs[-1][1] + 1)
            else:
                runs.append((cell, 1))
        layouts: list[int] = []
        skip = 0
        for value, count in runs:
            if value is not None and count == 1:
                skip += 1
                continue
            length = count - (1 if value is None else 2)
            layouts.append(skip * 32 + (16 if value is None else 0) + min(length, 15))
            layouts += [length - 15] if length >= 15 else []
            skip = 0
        values = [value for value, _ in runs if value is not None]
        for value in values:
            if value[0] == "iri":
                names.setdefault(value[1], len(names) + 1)
        if kind == "iri":
            frame.iri_columns.add(name_ids=[names[v[1]] for v in values], layouts=layouts)
            order = 0
        elif kind == "bnode":
            frame.bnode_columns.add(values=[v[1] for v in values], layouts=layouts)
            order = 1
        elif kind == "literal":
            frame.literal_columns.add(values=map(lit, values), layouts=layouts)
            order = 2
        else:
            column = frame.poly_columns.add(layouts=layouts)
            order = 3
            for value in values:
                if value[0] == "iri":
                    column.values.add(iri=rdf_pb2.RdfIri(name_id=names[value[1]]))
                elif value[0] == "bnode":
                    column.values.add(bnode=value[1])
                else:
                    column.values.add(literal=lit(value))
        placed.append((order, at, name))
    index = {name: place for place, (_, _, name) in enumerate(sorted(placed))}
    for name in variables:
        frame.variables.add(name=name, column_index=index[name])
    for known, into, make in (
        (names, frame.names, rdf2_pb2.RdfNameEntryPacked),
        (datatypes, frame.datatypes, rdf2_pb2.RdfDatatypeEntryPacked),
    ):
        values = list(known)
        cut = draw.randrange(len(values) + 1)
        into.append(make(values=values[:cut]))
        into.append(make(id=cut + 1 if draw.random() < 0.5 else 0, values=values[cut:]))
    data: bytes = frame.SerializeToString()
    return data
