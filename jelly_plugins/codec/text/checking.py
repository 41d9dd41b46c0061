"""Check that a syntax for other parsers can express a quad: strict RDF 1.2.

The codec writes N-Triples, N-Quads and Jelly, which can express more. For the other syntaxes a quad
or term is checked before it is written, because a parser would misread one that the syntax cannot
express.
"""

from __future__ import annotations

import re
from typing import Any, Final

from ...errors import LimitError, TermError
from ..common.limits import NESTING_CEILING
from ..common.terms import DEFAULT_GRAPH, BlankNode, Iri, Literal, Quad, Triple
from .lines import LANGTAG, NOT_IN_IRI
from .ntriples import TAGGED_DATATYPES

_IRI: Final = re.compile(rf"[A-Za-z][A-Za-z0-9+.\-]*+:[^{NOT_IN_IRI}\ud800-\udfff]*+")
_TAG: Final = re.compile(LANGTAG)
_LONG_SUBTAG: Final = re.compile("[A-Za-z0-9]{9}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
#: Size of the cache of terms that are known to be valid.
_KNOWN: Final = 1 << 12


class Checker:
    """Rejects quads that a syntax cannot express.

    :param graphs: whether the syntax has named graphs.
    :param quoted: whether the syntax has triple terms.
    :param name: the syntax's name in errors.
    """

    def __init__(self, name: str, *, graphs: bool, quoted: bool) -> None:
        self._name = name
        self._graphs = graphs
        self._quoted = quoted
        self._known: set[Any] = set()

    def check(self, quad: Quad) -> None:
        """Check a quad.

        :raises TermError: the syntax cannot express it.
        """
        subject, predicate, object_, graph = quad
        self._check_triple(subject, predicate, object_, 0)
        if graph is not DEFAULT_GRAPH:
            if not self._graphs:
                raise TermError(f"a quad in a named graph: {self._name} has no graphs")
            self._check_node(graph, "graph name")

    def _check_triple(self, subject: Any, predicate: Any, object_: Any, depth: int) -> None:
        if depth > NESTING_CEILING:
            raise LimitError(f"quoted triples are nested more than {NESTING_CEILING} deep")
        self._check_node(subject, "subject")
        if not isinstance(predicate, Iri):
            raise self._rejection(predicate, "predicate")
        self._check_term(predicate)
        if isinstance(object_, Triple):
            if not self._quoted:
                raise self._rejection(object_, "object")
            self._check_triple(*object_, depth + 1)
        else:
            self._check_term(object_)

    def _check_node(self, term: Any, role: str) -> None:
        if not isinstance(term, Iri | BlankNode):
            raise self._rejection(term, role)
        self._check_term(term)

    def _check_term(self, term: Any) -> None:
        if term in self._known:
            return
        if isinstance(term, Iri):
            self.check_iri(term.value)
        elif isinstance(term, Literal):
            self.check_literal(term.lex, term.langtag, term.datatype)
        elif not isinstance(term, BlankNode):
            raise TermError(f"{term!r} is not a term of jelly_plugins")
        if len(self._known) >= _KNOWN:
            self._known.clear()
        self._known.add(term)

    def check_iri(self, iri: str) -> None:
        """Check an IRI, which must be absolute.

        :raises TermError: the syntax cannot express it.
        """
        if _IRI.fullmatch(iri) is None:
            raise TermError(f"{self._name} cannot express the IRI {iri[:80]!r}")

    def check_literal(self, lex: str, tag: str | None, datatype: str | None) -> None:
        """Check a literal.

        :raises TermError: the syntax cannot express it.
        """
        if tag is not None and (_TAG.fullmatch(tag) is None or _LONG_SUBTAG.search(tag)):
            raise TermError(f"{self._name} cannot express the language tag {tag[:80]!r}")
        if datatype is not None:
            self.check_iri(datatype)
            if datatype in TAGGED_DATATYPES:
                raise TermError(f"a literal of type {datatype} has no language tag")
        if _SURROGATE.search(lex):
            raise TermError("a term has a surrogate, which is not a character")

    def _rejection(self, term: Any, role: str) -> TermError:
        kind = {Triple: "a quoted triple", Literal: "a literal", BlankNode: "a blank node"}
        return TermError(f"{self._name} has no {role} that is {kind.get(type(term), repr(term))}")
