"""Check messages before they are written in a syntax that pyoxigraph parses."""

from __future__ import annotations

from ..codec.text.checking import Checker
from ..errors import TermError
from ..formats.reading import pyoxigraph_module


class ParsedChecker(Checker):
    """Also rejects the terms that pyoxigraph's parsers reject, or omit with their statements.

    :raises MissingExtraError: pyoxigraph is not installed.
    """

    def __init__(self, name: str, *, graphs: bool, quoted: bool) -> None:
        super().__init__(name, graphs=graphs, quoted=quoted)
        self._pyoxigraph = pyoxigraph_module()

    def check_iri(self, iri: str) -> None:
        super().check_iri(iri)
        try:
            self._pyoxigraph.NamedNode(iri)
        except ValueError as error:
            raise TermError(f"Oxigraph rejects the IRI {iri[:80]!r}: {error}") from None

    def check_literal(self, lex: str, tag: str | None, datatype: str | None) -> None:
        super().check_literal(lex, tag, datatype)
        if tag is None:
            return
        try:
            self._pyoxigraph.Literal("", language=tag.partition("--")[0])
        except ValueError as error:
            raise TermError(f"Oxigraph rejects the language tag {tag[:80]!r}: {error}") from None
