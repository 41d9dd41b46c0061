"""Several sources of any formats as one sequence of statements."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any

from ..codec import BlankNode, Quad, Statement, Triple
from ..io.sources import Closing
from ..io.streams import GENERIC, FrameReader
from .names import Format
from .reading import TextReader, name_of
from .settings import ConversionSettings, Given
from .transcode import ScopedFactory


class MergedReader(Closing):
    """The statements of several sources; see :class:`.StatementReader`.

    :param generalized: whether generalized statements are accepted.
    :param directions: whether language-tagged strings may have a base direction.
    """

    def __init__(
        self,
        given: Sequence[Given],
        settings: ConversionSettings,
        *,
        generalized: bool,
        directions: bool,
    ) -> None:
        self._given = given
        self._fresh = settings.blank_nodes == "fresh"
        self._settings = settings
        self._generalized = generalized
        self._directions = directions
        self.name = name_of(given[0].source)
        self.prefixes: dict[str, str] = {}
        self._statements = self._read()

    def close(self) -> None:
        self._statements.close()

    def __iter__(self) -> Iterator[Statement]:
        return self._statements

    def _read(self) -> Generator[Statement]:
        for scope, (src, form) in enumerate(self._given):
            if form is Format.JELLY:
                yield from self._of_jelly(src, scope)
            else:
                yield from self._of_text(src, form, scope)

    def _of_jelly(self, src: Any, scope: int) -> Iterator[Statement]:
        factory = ScopedFactory(scope) if self._fresh else GENERIC
        with FrameReader(src, factory=factory, **self._settings.reading) as frames:
            self.name = frames.name
            for frame in frames:
                self.prefixes |= {name: iri.value for name, iri in frame.namespaces}
                yield from frame.statements

    def _of_text(self, src: Any, form: Format, scope: int) -> Iterator[Statement]:
        with TextReader(
            src,
            form,
            base=self._settings.base,
            generalized=self._generalized,
            directions=self._directions,
            dialect=self._settings.dialect,
            limits=self._settings.limits,
        ) as text:
            self.name = text.name
            for statement in text:
                self.prefixes |= text.prefixes
                yield _scoped(statement, scope) if self._fresh else statement


def _scoped(statement: Any, scope: int) -> Any:
    """A statement whose blank nodes carry the number of their source, as those of Jelly do."""
    terms = [
        BlankNode(f"s{scope}.{term.label}")
        if isinstance(term, BlankNode)
        else (_scoped(term, scope) if isinstance(term, Triple) else term)
        for term in statement
    ]
    return Quad._make(terms) if isinstance(statement, Quad) else Triple._make(terms)
