"""Rows of Jena RDF Binary to N-Triples and N-Quads and back, for stores and files that take text.

Bytes in, bytes out. The form of the text is that of ``codec.ntriples``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ..codec import DEFAULT_LIMITS, AnyFrame, Limits, TermFactory
from ..codec.text.lines import Text
from ..codec.text.ntriples import Dialect, LineParser, Notation
from ..codec.text.transcoding import TextFactory, validated_as
from ..errors import TermError
from .names import JenaFormat
from .reader import RowDecoder
from .writer import RowEncoder


class RowTextDecoder(RowDecoder):
    """Reads the rows of one stream as lines of N-Quads, or of N-Triples.

    :param format: how rows are encoded.
    :param graphs: whether named graphs are accepted; N-Triples has none.
    :param notation: how quoted triples are written.
    :param validator: the factory of the backend that the text is for: it rejects what that cannot
        hold. See ``codec.TextDecoder``.
    :param generalized: whether any kind of term may occur in any position.
    :param limits: the limits on untrusted input.

    >>> terms = ["1c1c1805" + term.encode().hex() + "0000" for term in ("urn:s", "urn:p", "urn:o")]
    >>> rows = bytes.fromhex("2c" + "".join(terms) + "0000")
    >>> RowTextDecoder(JenaFormat.THRIFT).decode_text(rows)
    (b'<urn:s> <urn:p> <urn:o> .\\n', 36)
    """

    _copies = True

    def __init__(
        self,
        format: JenaFormat,  # noqa: A002
        *,
        graphs: bool = True,
        notation: Notation = Notation.RDF_1_2,
        validator: TermFactory[Any] | None = None,
        generalized: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        factory = LineFactory(TextFactory(notation, validator), graphs=graphs)
        super().__init__(factory, format, generalized=generalized, limits=limits)
        self.graphs = graphs
        self.validator = validator
        self.notation = notation
        #: Number of statements so far.
        self.statements = 0
        #: Prefixes that were declared since they were last taken from here, as name and IRI.
        self.declared: list[tuple[str, str]] = []

    def decode_text(self, data: bytes, at: int = 0) -> tuple[bytes, int]:
        """Decode rows up to the end of the batch, or the last whole row.

        :return: their lines, and the position after the rows.
        :raises JellyError: with the row, on any error.
        """
        frame, stop = self.decode(data, at)
        return self.lines(frame), stop

    def _take(self, row: tuple[str, Any], batch: AnyFrame) -> None:
        super()._take(row, batch)
        name, value = row
        if name == "prefixDecl":
            self.declared.append((value["prefix"], value["uri"]))

    def lines(self, frame: AnyFrame) -> bytes:
        """The lines of a batch."""
        self.statements += len(frame.statements)
        return "".join(frame.statements).encode()


class LineFactory:
    """A factory of terms as text that makes lines of statements.

    :param graphs: whether named graphs are accepted; N-Triples has none.
    """

    def __init__(self, factory: TermFactory[Any], *, graphs: bool) -> None:
        self._factory = factory
        self._graphs = graphs
        self.iri = factory.iri
        self.blank_node = factory.blank_node
        self.quoted_triple = factory.quoted_triple
        self.default_graph = factory.default_graph

    def literal(self, lex: str, langtag: str | None, datatype: str | None) -> Any:
        if langtag is None or "--" not in langtag:
            return self._factory.literal(lex, langtag, datatype)
        # The validator sees the language; which directions there are was checked before.
        language, _, direction = langtag.partition("--")
        made = self._factory.literal(lex, language, None)
        return validated_as(made, f"{made}--{direction}")

    def triple(self, terms: tuple[Any, Any, Any]) -> str:
        return f"{' '.join(self._factory.triple(terms))} .\n"

    def quad(self, terms: tuple[Any, Any, Any, Any]) -> str:
        written = self._factory.quad(terms)
        if len(written) == 4 and not self._graphs:
            raise TermError("a quad in a named graph: nt has no graphs, nq, trig and jsonld do")
        return f"{' '.join(written)} .\n"

    def check_graph(self, name: Any) -> None:
        """Any name is valid: the format has no empty graphs."""


class LineEncoder:
    """Writes lines of N-Triples or N-Quads as rows of one stream.

    :param format: how rows are encoded.
    :param quads: whether the lines are N-Quads.
    :param generalized: whether any kind of term may occur in any position.
    :param limits: limits on input and output.

    :ivar rows: what writes the rows.

    >>> encoder = LineEncoder(JenaFormat.PROTOBUF, quads=False)
    >>> b"".join(encoder.encode([b"<urn:s> <urn:p> ", b"_:o ."])).hex(" ", 8)
    '1f121d0a090a070a 0575726e3a731209 0a070a0575726e3a 701a0512030a016f'
    """

    #: What writes the statements; the compiled kernel has its own.
    _encoder_type: ClassVar = RowEncoder

    def __init__(
        self,
        format: JenaFormat,  # noqa: A002
        *,
        quads: bool,
        dialect: Dialect = Dialect.RDF_STAR,
        generalized: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.rows: RowEncoder = self._encoder_type(format, generalized=generalized, limits=limits)
        self._parser = LineParser(
            dialect, generalized, False, limits, quads=quads, base_directions=True
        )

    @property
    def statements(self) -> int:
        """Number of statements that were written."""
        return self.rows.statements

    def encode(self, text: Text) -> Iterator[bytes]:
        """Write the lines of a whole text.

        :param text: UTF-8, at once or in chunks.
        :raises TextError: with the line.
        :raises JellyError: with the row, if a statement cannot be written.
        """
        for data in self._parser.chunks(text):
            if rows := self._add(data):
                yield rows

    def _add(self, data: bytes) -> bytes:
        """Write whole lines."""
        return self.rows.add(self._parser.statements(data))
