"""Statements as N-Triples and N-Quads, for tests to compare and to read again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jelly_plugins.codec.common.terms import Statement
from jelly_plugins.codec.text.ntriples import Notation, statement_text
from jelly_plugins.codec.text.transcoding import TextFactory, whole


class WholeTexts(TextFactory):
    """Makes terms as text, quoted triples included."""

    def quoted_triple(self, *terms: Any) -> str:
        return whole(super().quoted_triple(*terms))


def write_lines(
    statements: Iterable[Statement], notation: Notation = Notation.RDF_1_2
) -> Iterator[bytes]:
    """Statements as lines in UTF-8, with their line ends."""
    for statement in statements:
        yield f"{statement_text(statement, notation)}\n".encode()
