"""The terms of a Jelly-Patch stream: those of statements, headers and namespaces.

Reference: Jelly-Patch specification, sections "Namespaces", "Headers" and "RDF terms and graph
nodes".
"""

from __future__ import annotations

from typing import Any, Final

from ...errors import StatementError, WireError
from ..common import positions
from ..common.term_reader import TermReader
from ..common.terms import Kind
from ..common.wire import BYTES, read_fields
from . import rules as patch_rules
from .operations import Header, Namespace

_GRAPH_BIT: Final = 1 << positions.GRAPH

NAMESPACE_FIELDS: Final = dict.fromkeys((1, 2, *patch_rules.NAMESPACE_GRAPH_FIELDS), BYTES)
HEADER_FIELDS: Final = dict.fromkeys((1, *patch_rules.HEADER_VALUE_FIELDS), BYTES)


class PatchTermReader(TermReader):
    """Reads the terms of a patch's rows. Statements and namespaces repeat each other's graphs."""

    def namespace(self, data: bytes, pos: int, end: int, *, needs_iri: bool) -> Namespace:
        """Read an RdfPatchNamespace. In a stream of quads it has a graph, set or repeated; the
        graph is None if no previous row has one.

        :param needs_iri: whether the IRI is required, as in an addition.
        :raises StatementError: the IRI is missing, or the graph is not allowed.
        """
        name = ""
        iri = None
        graph: tuple[Kind, int, int] | None = None
        value: tuple[int, int] | None = None
        for number, start, stop, _ in read_fields(
            data, pos, end, NAMESPACE_FIELDS, "RdfPatchNamespace"
        ):
            if number == 1:
                name = self.string(data, start, stop, "a namespace's name")
            elif number == 2:
                value = (start, stop)
            elif graph is not None:
                raise WireError("a namespace's graph is set twice")
            else:
                graph = (patch_rules.NAMESPACE_GRAPH_FIELDS[number], start, stop)
        # The IRI is read before the graph, whatever their order on the wire.
        if value is not None:
            iri = self.iri(data, *value)
        elif needs_iri:
            raise StatementError("a namespace is added without an IRI")
        if len(self.last) <= positions.GRAPH:
            if graph is not None:
                raise StatementError("a namespace has a graph in a stream of triples")
            return Namespace(name, iri, None)
        if graph is not None:
            kind, start, stop = graph
            self.last[positions.GRAPH] = self._term(positions.GRAPH, kind, data, start, stop)
            self._missing &= ~_GRAPH_BIT
        return Namespace(name, iri, self.last[positions.GRAPH])

    def header(self, data: bytes, pos: int, end: int) -> Header:
        """Read an RdfPatchHeader, whose value never repeats.

        :raises StatementError: the value is missing.
        """
        key = ""
        value = None
        for number, start, stop, _ in read_fields(data, pos, end, HEADER_FIELDS, "RdfPatchHeader"):
            if number == 1:
                key = self.string(data, start, stop, "a header's key")
            elif value is not None:
                raise WireError("a header's value is set twice")
            else:
                kind = patch_rules.HEADER_VALUE_FIELDS[number]
                value = self._term(positions.OBJECT, kind, data, start, stop)
        if value is None:
            raise StatementError("a header has no value; values cannot repeat there")
        return Header(key, value)

    def _term(self, position: int, kind: Kind, data: bytes, pos: int, end: int) -> Any:
        self.check_declared(position, kind)
        return self.term(kind, data, pos, end)
