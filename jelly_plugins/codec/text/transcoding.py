"""Jelly-RDF to N-Triples and N-Quads and back, for stores, files and pipes that use text.

Bytes in, bytes out. The parser of ``ntriples`` reads the text, and its ``term_text`` defines how
terms are written. The classes here go through terms; the compiled kernel does the same without
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final, NamedTuple, Self, TypeAlias

from ...errors import LimitError
from ..common.limits import DEFAULT_LIMITS, Limits, over
from ..common.options import PhysicalType, StreamOptions
from ..common.terms import BlankNode, Iri, Literal, Term, TermFactory
from ..rdf.decoder import AnyFrame, Decoder
from ..rdf.encoder import Encoder
from .ntriples import Dialect, LineParser, Notation, term_text

#: Approximate size in bytes of the chunks in which text is yielded.
CHUNK: Final = 1 << 18

#: Size in bytes above which a term is long. A few bytes of a frame can repeat such a term, and each
#: statement of the text contains it in full.
LONG_TERM: Final = 1 << 10

#: The sum of two sizes below this always fits into an offset of a column.
CEILING: Final = 1 << 30


class TermText(str):
    """A term's text, with the validator's term."""

    __slots__ = ("term",)

    term: Any

    @classmethod
    def of(cls, text: str, term: Any) -> Self:
        made = cls(text)
        made.term = term
        return made


class QuotedText(NamedTuple):
    """A quoted triple's text in parts, which share the texts of its terms: a frame may quote long
    terms in any number of triples.
    """

    parts: tuple[Text, ...]
    size: int
    term: Any = None


#: What a :class:`TextFactory` makes.
Text: TypeAlias = "str | QuotedText"


def text_parts(text: Text) -> Iterator[str]:
    """Yield the parts of a term's text."""
    if isinstance(text, QuotedText):
        for part in text.parts:
            yield from text_parts(part)
    else:
        yield text


def whole(text: Text) -> str:
    """Join the parts of a term's text."""
    return text if isinstance(text, str) else "".join(text_parts(text))


def longest_term(limits: Limits) -> int:
    """Maximum size of a term in a column: that of a line of text, if offsets can hold it."""
    return min(limits.frame_bytes, CEILING)


class TextFactory:
    """Makes terms as N-Triples text. A statement is a tuple of texts; the default graph is empty.

    :param notation: how quoted triples are written.
    :param validator: also makes each term, and rejects terms that it cannot make.
    :param limits: bounds the size of a term's text as :func:`longest_term` does; None for text of
        any size.
    """

    def __init__(
        self,
        notation: Notation = Notation.RDF_1_2,
        validator: TermFactory[Any] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._opening, self._closing = notation.value
        self._validator: Any = validator
        self._limits = limits
        self.default_graph: Any = ""
        if validator is not None:
            self.default_graph = TermText.of("", validator.default_graph)

    def iri(self, value: str) -> Any:
        return self._made("iri", Iri(value), value)

    def blank_node(self, label: str) -> Any:
        return self._made("blank_node", BlankNode(label), label)

    def literal(self, lex: str, langtag: str | None, datatype: str | None) -> Any:
        parts = (lex, langtag, datatype)
        return self._made("literal", Literal(*parts), *parts)

    def _made(self, method: str, term: Term, *parts: str | None) -> str:
        """Write a term, after the validator's method has made it of its parts."""
        valid = None if self._validator is None else getattr(self._validator, method)(*parts)
        text = term_text(term)
        self.check_size(len(text.encode()))
        return text if self._validator is None else TermText.of(text, valid)

    def quoted_triple(self, *terms: Any) -> Any:
        term = None
        if self._validator is not None:
            term = self._validator.quoted_triple(*(each.term for each in terms))
        subject, predicate, object_ = terms
        parts = (self._opening, subject, " ", predicate, " ", object_, self._closing)
        return QuotedText(parts, self.check_triple(terms), term)

    def triple(self, terms: tuple[Any, Any, Any]) -> tuple[Any, ...]:
        if self._validator is not None:
            self._validator.triple(tuple(each.term for each in terms))
        return terms

    def quad(self, terms: tuple[Any, Any, Any, Any]) -> tuple[Any, ...]:
        if self._validator is not None:
            self._validator.quad(tuple(each.term for each in terms))
        return terms if terms[3] else terms[:3]

    def check_graph(self, name: Any) -> None:
        """Accept any name: text has no empty graphs."""
        if self._validator is not None:
            self._validator.check_graph(name.term)

    def check_size(self, size: int) -> None:
        """Reject a text of too many bytes."""
        if self._limits is not None and size > longest_term(self._limits):
            raise over(self._limits, "frame_bytes", size, "the length of a term's text")

    def check_triple(self, terms: tuple[Any, ...]) -> int:
        """Return the size of a quoted triple's text in bytes."""
        sizes = [term.size if type(term) is QuotedText else len(term.encode()) for term in terms]
        size = len(self._opening) + len(self._closing) + sum(sizes) + 2
        self.check_size(size)
        return size


class TextDecoder(Decoder):
    """Reads the frames of one stream as lines of N-Triples, or of N-Quads if it has graphs.

    :param notation: how quoted triples are written.
    :param limits: the limits on untrusted input. ``frame_bytes`` bounds the text of a term too.
    :param first_frame: number of the first frame, if the stream is part of a longer one.
    :param validator: the factory of the backend that will read the text. The decoder rejects terms
        that this factory rejects, so that the backend need not check them again. The compiled
        kernel calls it only for terms that are not certainly well-formed (IRIs by RFC 3987,
        language tags by BCP 47) and for statements that RDF 1.2 does not allow.

    >>> from jelly_plugins.codec import Encoder, StreamOptions, Triple
    >>> encoder = Encoder(StreamOptions())
    >>> encoder.add([Triple(Iri("urn:s"), Iri("urn:p"), Literal("o"))])
    []
    >>> b"".join(TextDecoder().decode(encoder.flush()))
    b'<urn:s> <urn:p> "o" .\\n'
    """

    def __init__(
        self,
        notation: Notation = Notation.RDF_1_2,
        *,
        limits: Limits = DEFAULT_LIMITS,
        first_frame: int = 0,
        validator: TermFactory[Any] | None = None,
    ) -> None:
        factory = TextFactory(notation, validator, limits)
        super().__init__(factory, limits=limits, first_frame=first_frame)
        #: Number of statements decoded in all frames.
        self.statements = 0
        #: The frame that is being decoded, with the namespaces that were read so far as text; None
        #: between frames.
        self.frame: AnyFrame | None = None
        #: The other contents of the last decoded frame, set once all its chunks were consumed:
        #: namespaces and empty graphs as text, metadata, and the frame's sizes.
        self.last_frame: AnyFrame | None = None
        #: Bytes of long terms in the frame, and those above the usual before it.
        self._long_bytes = 0

    def decode(self, data: bytes) -> Iterator[bytes]:  # type: ignore[override]
        """Decode the next frame; yield its lines in chunks of any size up to about :data:`CHUNK`
        bytes plus one term. Consume all of them before decoding the next frame.

        :param data: the frame's bytes, without a delimiter.
        :raises JellyError: with frame and row, on any error; chunks of the frame may have been
            yielded before.
        """
        pending: list[str] = []
        size = 0
        usual = self._usual
        frame = super().decode(data)
        self._unfinished = True
        self._long_bytes = max(0, self._long_bytes - usual)
        statements, frame.statements = frame.statements, []
        frame.graphs = []
        self.frame = frame
        for statement in statements:
            self.statements += 1
            for term in statement:
                # Most terms have one part.
                for text in (term,) if isinstance(term, str) else text_parts(term):
                    pending.append(text)
                    size += len(text)
                    if len(text) > LONG_TERM // 4:
                        encoded = len(text.encode())
                        self._long_bytes += encoded if encoded > LONG_TERM else 0
                    if size > CHUNK:
                        yield "".join(pending).encode()
                        pending.clear()
                        size = 0
                pending.append(" ")
            pending.append(".\n")
            if self._long_bytes > self._limits.frame_expansion:
                raise too_much(self._limits, self._long_bytes).locate(frame=frame.index)
        if pending:
            yield "".join(pending).encode()
        self.last_frame = frame
        self.frame = None
        self._unfinished = False


def too_much(limits: Limits, long_bytes: int) -> LimitError:
    """The error for long terms that a frame's text repeats too often."""
    return over(limits, "frame_expansion", long_bytes, "what long terms of a frame take as text")


class TermEncoder:
    """Writes terms in N-Triples syntax as frames: the common part of :class:`TextEncoder` and
    :class:`~jelly_plugins.codec.text.columns.ColumnEncoder`.

    :param options: the stream's options.
    :param dialect: the triples that may be terms.
    :param generalized: whether any kind of term may occur in any position.
    :param relative_iris: whether IRIs without a scheme are accepted.
    :param settings: ``frame_rows``, ``frame_bytes`` and ``restart_every``, see
        :class:`~jelly_plugins.codec.rdf.encoder.Encoder`.
    """

    #: The class of the encoder; the compiled kernel overrides it.
    _encoder_type: ClassVar = Encoder

    def __init__(
        self,
        options: StreamOptions,
        *,
        dialect: Dialect = Dialect.RDF_STAR,
        generalized: bool = False,
        relative_iris: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        **settings: Any,
    ) -> None:
        self._encoder: Encoder = self._encoder_type(options, limits=limits, **settings)
        quads = options.physical_type is not PhysicalType.TRIPLES
        self._parser = LineParser(dialect, generalized, relative_iris, limits, quads=quads)

    @property
    def options(self) -> StreamOptions:
        """The options as written."""
        return self._encoder.options

    def flush(self, metadata: Mapping[str, bytes] | None = None) -> bytes:
        """End the frame, empty or not; see :meth:`~jelly_plugins.codec.Encoder.flush`."""
        return self._encoder.flush(metadata)

    def finish(self) -> list[bytes]:
        """End the stream.

        :return: the remaining frames.
        """
        return self._encoder.finish()


class TextEncoder(TermEncoder):
    """Writes lines of N-Triples, or of N-Quads for streams that have graphs, as frames.

    The stream's physical type determines which of the two formats is read. For the parameters see
    :class:`TermEncoder`.

    >>> from jelly_plugins.codec import GenericFactory
    >>> encoder = TextEncoder(StreamOptions())
    >>> frames = encoder.feed(b"<urn:s> <urn:p> _:o .") + encoder.finish()
    >>> Decoder(GenericFactory()).decode(frames[0]).statements[0].object
    BlankNode(label='o')
    """

    def __init__(self, options: StreamOptions, **settings: Any) -> None:
        super().__init__(options, **settings)
        #: The start of an incomplete line.
        self._pending = bytearray()

    @property
    def statements(self) -> int:
        """Number of statements written."""
        return self._parser.count

    def add_namespace(self, name: str, iri: str) -> None:
        """Declare a namespace before the text that follows; see ``Encoder.add_namespace``."""
        self._encoder.add_namespace(name, iri)

    def feed(self, data: bytes) -> list[bytes]:
        """Process the next chunk of the text.

        :return: the completed frames.
        :raises TextError: with the line.
        :raises JellyError: a statement cannot be written with these options.
        """
        if type(data) is bytes and not self._pending and data.endswith(b"\n"):
            lines = data
        else:
            # A CR at the end of the data may be half of a line end.
            cut = max(data.rfind(b"\n"), data.rfind(b"\r", 0, -1)) + 1
            if not cut:
                self._pending += data
                self._parser.check_length(len(self._pending))
                return []
            lines = bytes(self._pending) + data[:cut]
            self._pending[:] = data[cut:]
            self._parser.check_length(len(self._pending))
        before = self._parser.line_ends
        try:
            return self._add(lines)
        except BaseException:
            self._parser.count_lines(before, lines)
            raise

    def finish(self) -> list[bytes]:
        """End the stream; the last line may lack a line end.

        :return: the remaining frames.
        """
        frames = self._add(bytes(self._pending)) if self._pending else []
        self._pending.clear()
        return frames + super().finish()

    def _add(self, data: bytes) -> list[bytes]:
        """Write whole lines."""
        return self._encoder.add(self._parser.statements(data))
