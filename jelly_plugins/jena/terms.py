"""The codec of rows, and rows of terms of any library by way of their text, which is made and
parsed once for each. Only this module chooses the form of the codec, compiled or not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from ..codec import (
    DEFAULT_LIMITS,
    BlankNode,
    Describe,
    Iri,
    Kind,
    Limits,
    Literal,
    TermFactory,
    Triple,
)
from ..codec import describe as describe_generic
from ..codec import native as _native_codec
from ..codec.common.limits import over
from ..codec.common.positions import GRAPH, OBJECT, POSITIONS, undeclared
from ..codec.common.terms import build, terms_of, text_of
from ..codec.text.lines import unescaped
from ..codec.text.ntriples import TAGGED_DATATYPES, LineParser, read_label, term_text
from ..errors import JellyError, StatementError, TermError
from . import messages
from .names import JenaFormat

if TYPE_CHECKING:
    from .rows import Message, RowReader, RowWriter, StatementReader
else:
    try:
        if not _native_codec:
            raise ModuleNotFoundError("the Python codec runs")
        from ._rows import Message, RowReader, RowWriter, StatementReader
    except ModuleNotFoundError:
        from .rows import Message, RowReader, RowWriter, StatementReader

__all__ = [
    "Message",
    "RowWriter",
    "StatementReader",
    "TermReader",
    "TermTexts",
    "TermWriter",
    "Terms",
    "native",
]

#: Whether the compiled form runs.
native: Final = RowWriter.__module__.endswith("._rows")

#: Caches of terms are cleared at this many entries; terms with longer text are not kept.
_KEPT: Final = 1 << 16
_KEPT_BYTES: Final = 1 << 10


class Terms(dict[bytes, Any]):
    """Terms by their text in canonical N-Quads, made when they are first looked up.

    :param factory: makes them. A language tag has its base direction: ``en--ltr``.

    >>> from jelly_plugins.codec import GenericFactory
    >>> Terms(GenericFactory(), DEFAULT_LIMITS)[b"<urn:s>"]
    Iri(value='urn:s')
    """

    def __init__(self, factory: TermFactory[Any], limits: Limits) -> None:
        super().__init__()
        self._factory = factory
        self._parser = LineParser(
            relative_iris=True, limits=limits, quads=True, base_directions=True
        )

    def __missing__(self, text: bytes) -> Any:
        made = self._made(str(text, "utf-8"))
        if len(text) <= _KEPT_BYTES:
            if len(self) >= _KEPT:
                self.clear()
            self[text] = made
        return made

    def _made(self, text: str) -> Any:
        factory = self._factory
        if text.startswith("<<"):
            return self._of_generic(self._parser.term(text.encode(), OBJECT))
        if text[0] == "<":
            return build(factory.iri, unescaped(text[1:-1]))
        if text[0] == "_":
            return build(factory.blank_node, read_label(text[2:]))
        end = text.rfind('"')
        mark = text[end + 1 : end + 2]
        langtag = text[end + 2 :] if mark == "@" else None
        datatype = unescaped(text[end + 4 : -1]) if mark == "^" else None
        return build(factory.literal, unescaped(text[1:end]), langtag, datatype)

    def _of_generic(self, term: Any) -> Any:
        kind, *parts = describe_generic(term)
        factory = self._factory
        if kind is Kind.TRIPLE:
            return build(factory.quoted_triple, *map(self._of_generic, parts))
        make: Any = (factory.iri, factory.blank_node, factory.literal)[kind]
        return build(make, *parts)


class TermReader(RowReader):
    """Reads rows in a library's terms.

    :param factory: makes the terms, see :class:`Terms`.
    """

    def __init__(
        self,
        factory: TermFactory[Any],
        format: JenaFormat,  # noqa: A002
        *,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        super().__init__(format, limits=limits)
        self.factory = factory
        self._terms = Terms(factory, limits)

    def term(self, position: int) -> Any:
        """Read a term that is a member's value; see ``RowReader.term_text``.

        :return: the term; the default graph, or None for an undefined term.
        """
        text = self.term_text(position)
        if not text:
            return self.factory.default_graph if position == GRAPH else None
        return self._terms[text]


class TermWriter(RowWriter):
    """Writes rows of a library's terms.

    :param describe: takes terms apart, see ``codec.Describe``.

    >>> triple = Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))
    >>> TermWriter(JenaFormat.THRIFT).add([triple]).hex(" ", 4)
    '2c1c1c18 0575726e 3a730000 1c1c1805 75726e3a 7000001c 1c180575 726e3a6f 00000000'
    """

    def __init__(
        self,
        format: JenaFormat,  # noqa: A002
        describe: Describe = describe_generic,
        *,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        super().__init__(format, limits=limits)
        self._describe = describe
        self._texts = TermTexts(describe, limits)

    def encoded(self, term: Any) -> bytes:
        """The bytes of a term, of any kind that may be an object.

        :raises JellyError: it cannot be written.
        """
        kind, *parts = self._describe(term)
        if kind == Kind.LITERAL and parts[1] is None and parts[2] in TAGGED_DATATYPES:
            # Text does not have such literals.
            members = [(1, self.string(parts[0], "a lexical form")), (3, parts[2].encode())]
            return self.struct(messages.TERM, [(3, self.struct(messages.LITERAL, members))])
        return self.term(self._texts.text(term, OBJECT))

    def add(self, statements: Iterable[Iterable[Any]]) -> bytes:
        """Write triples or quads.

        :return: their rows.
        :raises JellyError: with the row, if one cannot be written.
        """
        return self.add_lines(self._texts.lines(statements, self.row))


class TermTexts:
    """The texts of a library's terms.

    :param describe: takes terms apart, see ``codec.Describe``.
    """

    def __init__(self, describe: Describe, limits: Limits) -> None:
        self._describe = describe
        self._limits = limits
        self._known: tuple[dict[Any, bytes], ...] = ({}, {}, {}, {})

    def text(self, term: Any, position: int) -> bytes:
        """The text of a term.

        :raises JellyError: it is not a term, or not allowed in this position.
        """
        # Hashing tuples that are nested deeply enough ends the process.
        if isinstance(term, tuple):
            return self._made(term, position)
        known = self._known[position]
        try:
            found = known.get(term)
        except TypeError:
            # All terms can be hashed: taking this apart reports the error.
            return self._made(term, position)
        if found is None:
            found = self._made(term, position)
            if len(found) <= _KEPT_BYTES:
                if len(known) >= _KEPT:
                    known.clear()
                known[term] = found
        return found

    def lines(self, statements: Iterable[Iterable[Any]], row: int = 0) -> bytes:
        """Triples or quads as lines.

        :param row: number of the first, for errors.
        :raises JellyError: with the row, if one is not a statement.
        """
        lines: list[bytes] = []
        try:
            for statement in statements:
                terms = terms_of(statement)
                if not 3 <= len(terms) <= 4:
                    raise StatementError(f"a statement of {len(terms)} terms")
                # The text of the default graph is empty.
                texts = [self.text(term, position) for position, term in enumerate(terms)]
                lines.append(b" ".join(filter(None, texts)) + b" .\n")
        except JellyError as error:
            error.locate(row=row + len(lines))
            raise
        return b"".join(lines)

    def _made(self, term: Any, position: int) -> bytes:
        return term_text(self._generic(term, position, 0), directions=True).encode()

    def _generic(self, term: Any, position: int, depth: int) -> Any:
        """The term as a generic one."""
        kind, *parts = self._describe(term)
        if undeclared(position, kind, False, rdf_star=True) is not None:
            raise StatementError(f"{Kind(kind).name} as {POSITIONS[position]}")
        if kind == Kind.DEFAULT_GRAPH:
            return term
        if kind == Kind.TRIPLE:
            if len(parts) != 3:
                raise TermError(f"a quoted triple of {len(parts)} terms")
            if depth == self._limits.nesting:
                raise over(self._limits, "nesting", depth + 1, "the depth of quoted triples")
            return Triple(*(self._generic(part, at, depth + 1) for at, part in enumerate(parts)))
        if kind == Kind.LITERAL:
            lex, langtag, datatype = parts
            return Literal(
                _string(lex, "a lexical form"),
                None if langtag is None else _string(langtag, "a language tag"),
                None if datatype is None else _string(datatype, "an IRI"),
            )
        if kind == Kind.IRI:
            return Iri(_string(parts[0], "an IRI"))
        return BlankNode(_string(parts[0], "a blank node label"))


def _string(value: Any, what: str) -> str:
    text = text_of(value)
    if not isinstance(text, str):
        raise TermError(f"{what} is not a string: {value!r}")
    return text
