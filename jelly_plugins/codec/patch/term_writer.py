"""The terms of a Jelly-Patch stream to wire bytes: those of statements, headers and namespaces.

Reference: Jelly-Patch specification, sections "Namespaces", "Headers" and "RDF terms and graph
nodes".
"""

from __future__ import annotations

from typing import Any, Final

from ...errors import StatementError, TermError
from ..common import positions
from ..common.term_writer import TermWriter
from ..common.terms import Kind
from ..common.wire import BYTES, string_field, varint
from . import rules as patch_rules

GRAPH_TAGS: Final = {
    kind: varint(number << 3 | BYTES) for number, kind in patch_rules.NAMESPACE_GRAPH_FIELDS.items()
}
VALUE_TAGS: Final = {
    kind: varint(number << 3 | BYTES) for number, kind in patch_rules.HEADER_VALUE_FIELDS.items()
}
IRI_TAG: Final = (2 << 3 | BYTES).to_bytes()


class PatchTermWriter(TermWriter):
    """Writes the terms of a patch's rows. The graphs of statements and namespaces repeat each
    other.

    The first ids are written in full, so that a reader gets the same result even if it has the
    state of another stream that precedes this one.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.ids = (-1, -1)
        for table in (self._names, self._prefixes, self._datatypes):
            table.number_first_entry()

    def namespace(self, name: str, iri: Any, graph: Any) -> bytes:
        """Write the body of an RdfPatchNamespace.

        :param iri: an IRI, or None.
        :param graph: the graph's name; None in a stream of triples.
        :raises StatementError: the graph needs an option that was not declared.
        :raises TermError: a term is of the wrong kind, or cannot be expressed.
        """
        self.text(name, "a namespace's name")
        body = string_field(1, name) + self._row(self._namespace, iri, graph)
        if graph is not None:
            self._last[positions.GRAPH] = graph
        return body

    def _namespace(self, iri: Any, graph: Any) -> bytes:
        parts = []
        if iri is not None:
            description = self._find_outside(iri)
            if description[0] is not Kind.IRI:
                raise TermError(f"a namespace is an IRI, not {iri!r}")
            parts += [IRI_TAG, self._term(description, 0)]
        if graph is not None:
            before = self._last[positions.GRAPH]
            if before is None or not (before is graph or before == graph):
                parts.append(self._tagged(positions.GRAPH, graph, GRAPH_TAGS))
        return b"".join(parts)

    def header(self, key: str, value: Any) -> bytes:
        """Write the body of an RdfPatchHeader.

        :raises StatementError: the value needs an option that was not declared.
        :raises TermError: key or value cannot be expressed.
        """
        self.text(key, "a header's key")
        return string_field(1, key) + self._row(self._tagged, positions.OBJECT, value, VALUE_TAGS)

    def _tagged(self, position: int, term: Any, field_tags: dict[Kind, bytes]) -> bytes:
        """Encode a term that is not part of a statement: its tag, its length and its bytes."""
        description = self._find_outside(term)
        kind, tags = description[:2]
        if tags[position] is None:
            raise self.rejection(position, kind)
        return field_tags[kind] + self._term(description, 0)

    def _find_outside(self, term: Any) -> tuple[Any, ...]:
        """Describe a term that is not part of a statement."""
        if isinstance(term, tuple):
            self.check_nesting(term)
        return self._find(term)


def check_width(statement: tuple[Any, ...], width: int) -> None:
    """Reject a triple in a stream of quads, and a quad in a stream of triples.

    :raises StatementError: the statement does not have ``width`` terms.
    """
    if len(statement) != width:
        raise StatementError(
            f"a statement of {len(statement)} terms in a stream of statements of {width}"
        )
