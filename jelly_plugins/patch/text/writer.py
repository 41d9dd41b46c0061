"""Rows of patches to RDF Patch text, in the plainest form, one row on a line.

Blank nodes are written as ``<_:label>``, which Apache Jena and rdflib read with the intended label.
Z is written only where it is needed, see ``patch.rows``: rdflib cannot read it.

Reference: RDF Patch (https://afs.github.io/rdf-delta/rdf-patch.html); Z as Apache Jena has it.
"""

from __future__ import annotations

import re
from typing import Any, Final

from ...codec import DEFAULT_LIMITS, Describe, Iri, Kind, Limits, Literal, describe
from ...codec.common.limits import over
from ...codec.common.terms import parts_of
from ...codec.patch.operations import AnyOperation, Namespace, OperationKind
from ...codec.text.ntriples import Notation, term_text
from ...codec.text.transcoding import LONG_TERM
from ...errors import StatementError, TermError
from ..rows import RowWriter
from .reader import DEFAULT_GRAPH_IRI

_PLAIN_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_\-]*+")
#: A cache of terms that reaches this many entries starts afresh. Without it, writing takes twice as
#: long.
_CACHE_ENTRIES: Final = 1 << 16
_STATEMENTS: Final = (OperationKind.ADD, OperationKind.DELETE)
_NAMESPACES: Final = (OperationKind.ADD_NAMESPACE, OperationKind.DELETE_NAMESPACE)

#: What the parts of terms are called in errors, and which of them a literal may lack.
_PARTS: Final = {
    Kind.IRI: ("an IRI",),
    Kind.BLANK_NODE: ("a blank node label",),
    Kind.LITERAL: ("a lexical form", "a language tag", "a datatype"),
}
_OPTIONAL: Final = ("a language tag", "a datatype")


class PatchTextWriter(RowWriter):
    """Writes the rows of one text.

    :param describe: takes the caller's terms apart; those of ``codec.terms`` by default.
    :param notation: of quoted triples.
    :param limits: ``nesting`` bounds quoted triples, as in reading; ``frame_expansion`` the long
        terms that a patch repeats.
    :param continues: see :class:`.RowWriter`, and for ``strict``.

    >>> from jelly_plugins.patch import BEGIN
    >>> b"".join(PatchTextWriter().write([BEGIN]))
    b'TX .\\n'
    """

    mark = b"Z .\n"

    def __init__(
        self,
        describe: Describe = describe,
        *,
        continues: bool = False,
        notation: Notation = Notation.RDF_1_2,
        strict: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        super().__init__(continues=continues, strict=strict)
        self._describe = describe
        self._marks = notation.value
        self._limits = limits
        self._texts: dict[Any, str] = {}
        #: Bytes of the long terms that the patch repeats, so far.
        self._repeated = 0

    def row(self, row: AnyOperation) -> bytes:
        """A row's line."""
        kind, value = row
        parts: list[str] = []
        if kind in _STATEMENTS:
            parts = [self._text(term) for term in parts_of(value, (3, 4), "a statement")]
            if not all(parts[:3]):
                raise StatementError("the default graph may only be the graph of a statement")
            if not parts[-1]:
                # The default graph.
                parts.pop()
        elif kind in _NAMESPACES:
            parts = self._namespace(kind, value)
        elif kind is OperationKind.HEADER:
            key, term = parts_of(value, (2,), "a header")
            _check_string(key, "a header's key")
            plain = _PLAIN_KEY.fullmatch(key)
            parts = [key if plain else term_text(Literal(key)), self._text(term)]
        elif kind is OperationKind.END:
            self._repeated = 0
        return " ".join([kind.code, *parts, ".\n"]).encode()

    def _namespace(self, kind: OperationKind, namespace: Namespace) -> list[str]:
        name, iri, graph = parts_of(namespace, (3,), "a namespace")
        _check_string(name, "a namespace's name")
        parts = [term_text(Literal(name))]
        graph_text = "" if graph is None else self._text(graph)
        if iri is not None:
            parts.append(self._text(iri))
            if kind is OperationKind.DELETE_NAMESPACE:
                graph_text = graph_text or f"<{DEFAULT_GRAPH_IRI}>"
        elif kind is OperationKind.ADD_NAMESPACE:
            raise StatementError("a namespace is added without an IRI")
        return [*parts, graph_text] if graph_text else parts

    def _text(self, term: Any) -> str:
        if isinstance(term, tuple):
            # Hashing tuples that are nested deeply enough ends the process.
            return self._make(term, 0)
        try:
            text = self._texts.get(term)
        except (TypeError, AttributeError):
            # Unhashable terms have no parts, or parts that are not strings.
            return self._make(term, 0)
        if text is None:
            text = self._make(term, 0)
            if len(self._texts) >= _CACHE_ENTRIES:
                self._texts.clear()
            self._texts[term] = text
        elif len(text) > LONG_TERM:
            self._repeated += len(text)
            if self._repeated > self._limits.frame_expansion:
                what = "what a patch repeats of long terms"
                raise over(self._limits, "frame_expansion", self._repeated, what)
        return text

    def _make(self, term: Any, depth: int) -> str:
        kind, *parts = self._describe(term)
        for part, what in zip(parts, _PARTS.get(kind, ()), strict=False):
            if part is not None or what not in _OPTIONAL:
                _check_string(part, what)
        if kind == Kind.IRI:
            if parts[0].startswith("_:"):
                raise TermError(f"RDF Patch text has <{parts[0]}> for a blank node")
            return term_text(Iri(parts[0]))
        if kind == Kind.BLANK_NODE:
            return term_text(Iri(f"_:{parts[0]}"))
        if kind == Kind.LITERAL:
            lex, langtag, datatype = parts
            if langtag is None and datatype is not None:
                # Readers accept a literal of rdf:langString without a tag, which N-Triples lacks.
                return f"{term_text(Literal(lex))}^^{term_text(Iri(datatype))}"
            return term_text(Literal(lex, langtag))
        if kind == Kind.TRIPLE:
            if depth >= self._limits.nesting:
                raise over(self._limits, "nesting", depth + 1, "the depth of quoted triples")
            opening, closing = self._marks
            return f"{opening}{' '.join(self._make(part, depth + 1) for part in parts)}{closing}"
        return ""


def _check_string(value: Any, what: str) -> None:
    """Reject a part of a row that is not a string.

    :raises TermError: it is not.
    """
    if not isinstance(value, str):
        raise TermError(f"{what} is not a string: {value!r}")
