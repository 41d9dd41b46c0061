"""Statements to rows of Jena RDF Binary: the Python codec, which the compiled one follows.

Terms of any backend in, bytes out; no I/O. The output is what Apache Jena writes for the same
statements: prefix names in Thrift only, where prefixes are declared; no value forms; statements in
the default graph as triples.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..codec import DEFAULT_LIMITS, Describe, Kind, Limits, describe
from ..codec.common.limits import over
from ..codec.common.positions import GRAPH, POSITIONS, undeclared
from ..codec.common.terms import terms_of, text_of
from ..errors import JellyError, OptionsError, StatementError, TermError
from .names import JenaFormat
from .reader import WIRES
from .schema import STREAM_ROW, TERM
from .wire import Wire, check_row_bytes

_CACHE_ENTRIES: Final = 1 << 16
#: What Apache Jena has in no local name.
_SEPARATOR: Final = re.compile(r".*[/#]", re.DOTALL)


class TermWriter:
    """Makes values of rows of terms.

    :param describe: takes terms apart, see ``codec.Describe``.
    :param format: how rows are encoded.

    :ivar prefixes: IRI by name, as declared so far.
    """

    def __init__(
        self,
        describe: Describe,
        *,
        format: JenaFormat,  # noqa: A002
        generalized: bool = False,
        limits: Limits,
    ) -> None:
        self.describe = describe
        self.limits = limits
        self.prefixes: dict[str, str] = {}
        self._generalized = generalized
        self._format = format
        #: Whether IRIs become prefix names where they can.
        self._abbreviate = format is JenaFormat.THRIFT
        #: Names by IRI, and the lengths that IRIs have, the longest first.
        self._names: dict[str, str] = {}
        self._lengths: list[int] = []

    @property
    def abbreviates(self) -> bool:
        """Whether there are prefixes that IRIs may be abbreviated with."""
        return bool(self._lengths)

    def declare(self, name: str, iri: str) -> None:
        """Bind a prefix's name.

        :raises LimitError: there are too many prefixes.
        """
        self.check_string(name, "a prefix")
        self.check_string(iri, "an IRI")
        before = self.prefixes.get(name)
        self.prefixes[name] = iri
        if len(self.prefixes) > self.limits.prefix_table:
            count = len(self.prefixes)
            raise over(self.limits, "prefix_table", count, "the number of prefixes")
        if not self._abbreviate or before == iri:
            return
        added = {name: iri}
        if before is not None:
            # It may have been the first name of its IRI.
            self._names, self._lengths, added = {}, [], self.prefixes
        # Of several names for an IRI, the first is used.
        for each, value in added.items():
            self._names.setdefault(value, each)
        self._lengths = sorted({*self._lengths, *map(len, added.values())}, reverse=True)

    def term(self, term: Any, position: int, depth: int = 0) -> tuple[str, Any]:
        """A term's value, see :class:`~jelly_plugins.jena.wire.Wire`.

        :param position: its position in its statement.
        :param depth: number of quoted triples around it.
        :raises JellyError: it cannot be written, or not there.
        """
        kind, *parts = self.describe(term)
        if kind != Kind.TRIPLE:
            parts = [text_of(part) for part in parts]
        if undeclared(position, kind, self._generalized, rdf_star=True) is not None:
            raise StatementError(f"{Kind(kind).name} as {POSITIONS[position]}")
        if kind == Kind.IRI:
            self.check_string(parts[0], "an IRI")
            name = self._prefix_name(parts[0])
            return ("iri", {"iri": parts[0]}) if name is None else ("prefixName", name)
        if kind == Kind.BLANK_NODE:
            self.check_string(parts[0], "a blank node label")
            return "bnode", {"label": parts[0]}
        if kind == Kind.LITERAL:
            return self._literal(*parts)
        if len(parts) != 3:
            raise TermError(f"a quoted triple of {len(parts)} terms")
        if depth == self.limits.nesting:
            raise over(self.limits, "nesting", depth + 1, "the depth of quoted triples")
        return "tripleTerm", {
            name: self.term(part, at, depth + 1)
            for at, (name, part) in enumerate(zip("SPO", parts, strict=True))
        }

    def _literal(self, lex: str, langtag: str | None, datatype: str | None) -> tuple[str, Any]:
        self.check_string(lex, "a lexical form")
        value: dict[str, Any] = {"lex": lex}
        if langtag is not None:
            self.check_string(langtag, "a language tag")
            language, mark, direction = langtag.partition("--")
            if mark and (not language or direction not in ("ltr", "rtl")):
                raise TermError(f"{langtag[:80]!r} is not a language tag with a base direction")
            if not mark or self._format is JenaFormat.THRIFT:
                value["langtag"] = language
            if mark:
                value["langdir"] = langtag
                value["baseDirection"] = direction
        elif datatype is not None:
            self.check_string(datatype, "an IRI")
            name = self._prefix_name(datatype)
            if name is None:
                value["datatype"] = datatype
            else:
                value["dtPrefix"] = name
        else:
            value["simple"] = True
        return "literal", value

    def _prefix_name(self, iri: str) -> dict[str, str] | None:
        """The prefix name of an IRI, by the longest prefix that is one; None if there is none."""
        if not self._lengths:
            return None
        found = _SEPARATOR.match(iri)
        least = 0 if found is None else found.end()
        for length in self._lengths:
            if length < least:
                break
            prefix = self._names.get(iri[:length])
            if prefix is not None:
                return {"prefix": prefix, "localName": iri[length:]}
        return None

    def check_string(self, text: str, what: str) -> None:
        """Reject a string that is too long or that UTF-8 cannot express, and any other type.

        :raises LimitError: it is too long.
        :raises TermError: it is not a string, or has a surrogate.
        """
        if not isinstance(text, str):
            raise TermError(f"{what} is not a string: {text!r}")
        try:
            size = len(text) if text.isascii() else len(text.encode())
        except UnicodeEncodeError:
            raise TermError(f"{what} has a surrogate, which is not a character") from None
        if size > self.limits.string_bytes:
            raise over(self.limits, "string_bytes", size, f"the length of {what}")


class RowEncoder:
    """Writes statements as rows of one stream.

    :param format: how rows are encoded.
    :param describe: takes terms apart, see ``codec.Describe``.
    :param generalized: whether any kind of term may occur in any position.
    :param limits: limits on the output.

    >>> from jelly_plugins import Iri, Triple
    >>> encoder = RowEncoder(JenaFormat.THRIFT)
    >>> encoder.add([Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))]).hex(" ", 4)
    '2c1c1c18 0575726e 3a730000 1c1c1805 75726e3a 7000001c 1c180575 726e3a6f 00000000'
    """

    def __init__(
        self,
        format: JenaFormat,  # noqa: A002
        describe: Describe = describe,
        *,
        generalized: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.format = format
        self.describe = describe
        self.limits = limits
        #: Number of the row that is next.
        self.row = 0
        #: Number of statements that were written.
        self.statements = 0
        self.terms = TermWriter(
            describe,
            format=format,
            generalized=generalized,
            limits=limits,
        )
        self._wire: Wire = WIRES[format]
        self._encoded: dict[Any, bytes] = {}

    def add_prefix(self, name: str, iri: str) -> bytes:
        """Declare a prefix: its row.

        :raises JellyError: it cannot be declared.
        """
        self.terms.declare(name, iri)
        self._encoded.clear()
        return self._row(("prefixDecl", {"prefix": name, "uri": iri}))

    def set_base(self, iri: str) -> bytes:
        """The row of a base IRI. All IRIs are written in full anyway.

        :raises OptionsError: the encoding has no such row.
        """
        if self.format is JenaFormat.THRIFT:
            raise OptionsError("RDF Thrift has no row for a base IRI")
        self.terms.check_string(iri, "an IRI")
        return self._row(("base", {"iri": iri}))

    def add(self, statements: Iterable[tuple[Any, ...]]) -> bytes:
        """Write triples or quads.

        :return: their rows.
        :raises JellyError: with the row, whatever cannot be written.
        """
        return b"".join([self.statement(statement) for statement in statements])

    def statement(self, statement: tuple[Any, ...]) -> bytes:
        """Write one triple or quad.

        :raises JellyError: with the row, if it cannot be written.
        """
        try:
            statement = terms_of(statement)
            if len(statement) not in (3, 4):
                raise StatementError(f"a statement of {len(statement)} terms")
            encoded = {
                name: self._term(term, position)
                for position, (name, term) in enumerate(zip("SPO", statement, strict=False))
            }
            name = "triple"
            if len(statement) == 4 and self.describe(statement[3])[0] != Kind.DEFAULT_GRAPH:
                name = "quad"
                encoded["G"] = self._term(statement[3], GRAPH)
        except JellyError as error:
            error.locate(row=self.row)
            raise
        row = self._row((name, encoded))
        self.statements += 1
        return row

    def _term(self, term: Any, position: int) -> bytes:
        if isinstance(term, tuple):
            # Hashing tuples that are nested deeply enough ends the process.
            return self._wire.encode(TERM, self.terms.term(term, position))
        # The same term may be allowed in one place and not in another.
        key = (term, position)
        try:
            encoded = self._encoded.get(key)
        except TypeError:
            # All terms can be hashed: taking this apart reports the error.
            return self._wire.encode(TERM, self.terms.term(term, position))
        if encoded is None:
            encoded = self._wire.encode(TERM, self.terms.term(term, position))
            if len(self._encoded) >= _CACHE_ENTRIES:
                self._encoded.clear()
            self._encoded[key] = encoded
        return encoded

    def _row(self, value: tuple[str, Any]) -> bytes:
        row = self._wire.write(STREAM_ROW, value)
        try:
            check_row_bytes(len(row), self.limits)
        except JellyError as error:
            error.locate(row=self.row)
            raise
        self.row += 1
        return row


def declared(encoder: RowEncoder, prefixes: Mapping[str, str] | None, base: str | None) -> bytes:
    """The rows that a stream opens with."""
    rows = [] if base is None else [encoder.set_base(base)]
    rows += [encoder.add_prefix(name, iri) for name, iri in (prefixes or {}).items()]
    return b"".join(rows)


__all__ = ["RowEncoder", "TermWriter", "declared"]
