"""Jelly-SPARQL once more, over the classes that protoc generates: slow, and without anything of the
codec. Terms are tuples: ``("iri", value)``, ``("bnode", label)``, ``("literal", lex, langtag,
datatype)``."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from jelly_plugins.proto import rdf_pb2, sparql_pb2

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


class Writer:
    """Encodes solutions in any of the ways that a stream may have them: frames, columns, cuts of
    IRIs, forms and ids are drawn."""

    KINDS = ("iri", "bnode", "literal", "poly")
    SIZES = (1000, 500, 100)

    def __init__(self, draw: Random, variables: list[str]) -> None:
        self.draw = draw
        self.variables = variables
        self.prefixes = draw.random() < 0.7
        #: Ids by value, and what the frame adds: of names, prefixes and datatypes.
        self.known: list[dict[str, int]] = [{}, {}, {}]
        self.added: list[list[tuple[int, str]]] = [[], [], []]
        #: The id of the last entry that a reader has.
        self.last = [0, 0, 0]
        self.kinds: list[str] = []
        self.order: list[int] = []
        self.ids = (0, 0)

    def chance(self, share: float) -> bool:
        return self.draw.random() < share

    def frames(self, rows: list[tuple[Any, ...]]) -> Iterator[bytes]:
        first, start = True, 0
        while first or start < len(rows):
            end = len(rows) if self.chance(0.3) else self.draw.randint(start, len(rows))
            yield self.frame(rows[start:end], first)
            first, start = False, end

    def frame(self, rows: list[tuple[Any, ...]], first: bool) -> bytes:
        frame = sparql_pb2.SparqlResultsFrame(row_count=len(rows))
        if first:
            frame.options.version = 1
            frame.options.max_name_table_size = self.SIZES[0]
            frame.options.max_prefix_table_size = self.SIZES[1] if self.prefixes else 0
            frame.options.max_datatype_table_size = self.SIZES[2]
        if self.chance(0.2):
            frame.metadata["key"] = b"value"
        for known in self.known:
            if self.chance(0.2):
                # Their ids are used again.
                known.clear()
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(self.variables)
        if self.place(columns, first):
            for at, name in enumerate(self.variables):
                frame.variables.add(name=name, column_index=self.order.index(at))
        if rows or self.chance(0.5):
            for at in self.order:
                self.column(frame, self.kinds[at], columns[at])
        self.entries(frame)
        data: bytes = frame.SerializeToString()
        return data

    def place(self, columns: list[tuple[Any, ...]], first: bool) -> bool:
        """Give each variable a column that holds its cells; whether a header says so."""
        found = [{cell[0] for cell in cells if cell} for cells in columns]
        kept = not first and not self.chance(0.2)
        if kept and all(
            kind == "poly" or kinds <= {kind} for kind, kinds in zip(self.kinds, found, strict=True)
        ):
            return self.chance(0.1)
        self.kinds = [
            self.draw.choice([*kinds, "poly"] if len(kinds) == 1 else ["poly"]) for kinds in found
        ]
        places = list(range(len(columns)))
        self.draw.shuffle(places)
        self.order = sorted(places, key=lambda at: self.KINDS.index(self.kinds[at]))
        return True

    def runs(self, cells: tuple[Any, ...]) -> tuple[list[Any], list[int]]:
        runs: list[tuple[Any, int]] = []
        for cell in cells:
            if runs and runs[-1][0] == cell and (cell is None or self.chance(0.98)):
                runs[-1] = (cell, runs[-1][1] + 1)
            else:
                runs.append((cell, 1))
        if runs and runs[-1][0] is None and self.chance(0.7):
            # A reader pads.
            runs.pop()
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
        return [value for value, _ in runs if value is not None], layouts

    def column(self, frame: Any, kind: str, cells: tuple[Any, ...]) -> None:
        values, layouts = self.runs(cells)
        self.ids = (0, 0)
        if kind == "iri":
            ids = [self.iri(value) for value in values]
            prefixes = [prefix for prefix, _ in ids]
            if not any(prefixes[1:]) and self.chance(0.8):
                # One for all, or none.
                prefixes = [prefix for prefix in prefixes[:1] if prefix]
            frame.iri_columns.add(
                name_ids=[name for _, name in ids], prefix_ids=prefixes, layouts=layouts
            )
        elif kind == "bnode":
            frame.bnode_columns.add(values=[value[1] for value in values], layouts=layouts)
        elif kind == "poly":
            frame.poly_columns.add(values=map(self.term, values), layouts=layouts)
        elif self.chance(0.7) and len({value[2:] for value in values}) == 1 and not values[0][2]:
            datatype = 0 if values[0][3] is None else self.entry(2, values[0][3])
            frame.literal_columns.add(
                lex_values=[value[1] for value in values], datatype=datatype, layouts=layouts
            )
        else:
            frame.literal_columns.add(values=map(self.literal, values), layouts=layouts)

    def term(self, value: Any) -> Any:
        if value[0] == "iri":
            prefix, name = self.iri(value)
            return sparql_pb2.SparqlTerm(iri=rdf_pb2.RdfIri(prefix_id=prefix, name_id=name))
        if value[0] == "bnode":
            return sparql_pb2.SparqlTerm(bnode=value[1])
        return sparql_pb2.SparqlTerm(literal=self.literal(value))

    def literal(self, value: Any) -> Any:
        _, lex, langtag, datatype = value
        if langtag is not None:
            return rdf_pb2.RdfLiteral(lex=lex, langtag=langtag)
        if datatype is None and self.chance(0.8):
            return rdf_pb2.RdfLiteral(lex=lex)
        return rdf_pb2.RdfLiteral(lex=lex, datatype=self.entry(2, datatype or XSD_STRING))

    def iri(self, value: Any) -> tuple[int, int]:
        """The ids of an IRI as they are written."""
        text, cut, prefix = value[1], 0, 0
        if self.prefixes and (self.ids[0] or self.chance(0.9)):
            cut = self.draw.choice([0, text.rfind("/") + 1, self.draw.randint(0, len(text))])
            prefix = self.entry(1, text[:cut])
        name = self.entry(0, text[cut:])
        before, self.ids = self.ids, (prefix, name)
        return (
            0 if prefix == before[0] and self.chance(0.8) else prefix,
            0 if name == before[1] + 1 and self.chance(0.8) else name,
        )

    def entry(self, table: int, value: str) -> int:
        known = self.known[table]
        if value not in known:
            known[value] = len(known) + 1
            self.added[table].append((known[value], value))
        return known[value]

    def entries(self, frame: Any) -> None:
        for table, into in enumerate((frame.names, frame.prefixes, frame.datatypes)):
            for number, value in self.added[table]:
                follows = number == self.last[table] + 1
                if not into or not follows or self.chance(0.2):
                    into.add(id=0 if follows and self.chance(0.5) else number)
                into[-1].values.append(value)
                self.last[table] = number
            self.added[table] = []


def encode(draw: Random, variables: list[str], rows: list[tuple[Any, ...]]) -> list[bytes]:
    """A stream of some solutions."""
    return list(Writer(draw, variables).frames(rows))
