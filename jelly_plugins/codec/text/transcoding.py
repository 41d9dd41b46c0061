"""Jelly-RDF to N-Triples and N-Quads and back, for stores, files and pipes that use text.

Bytes in, bytes out. The parser of ``ntriples`` reads the text, and its ``term_text`` defines how
terms are written. The compiled kernel does the same without making terms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final, Self

from ...errors import LimitError
from ..common.limits import DEFAULT_LIMITS, Limits, over
from ..common.terms import BlankNode, Iri, Literal, TermFactory
from ..rdf.decoder import AnyFrame, Decoder
from ..rdf.encoder import Encoder
from ..rdf.options import PhysicalType, StreamOptions
from .lines import BLANK_NODE, IRI, LITERAL, Pattern
from .ntriples import Dialect, LineParser, Notation, term_text

#: Approximate size in bytes of the chunks in which text is yielded.
CHUNK: Final = 1 << 18

#: Size in bytes above which a term is long. A few bytes of a frame can repeat such a term, and each
#: statement of the text contains it in full.
LONG_TERM: Final = 1 << 10

#: Characters above which a term's text may exceed LONG_TERM bytes.
_PERHAPS_LONG: Final = LONG_TERM // 4

#: The terms inside a quoted triple's text that are not quoted triples themselves.
_TERMS: Final = Pattern(rf"{IRI}|{BLANK_NODE}|{LITERAL}")


class TermText(str):
    """A term's text, with the validator's term."""

    __slots__ = ("term",)

    term: Any

    @classmethod
    def of(cls, text: str, term: Any) -> Self:
        made = cls(text)
        made.term = term
        return made


class TextFactory:
    """Makes terms as N-Triples text, and statements as lines.

    :param notation: how quoted triples are written.
    :param validator: also makes each term, and rejects terms that it cannot make.
    """

    def __init__(
        self,
        notation: Notation = Notation.RDF_1_2,
        validator: TermFactory[Any] | None = None,
    ) -> None:
        self._notation = notation
        self._validator: Any = validator
        self.default_graph = ""
        if validator is not None:
            self.default_graph = TermText.of("", validator.default_graph)

    def iri(self, value: str) -> str:
        term = None if self._validator is None else self._validator.iri(value)
        return self._with(term, term_text(Iri(value)))

    def blank_node(self, label: str) -> str:
        term = None if self._validator is None else self._validator.blank_node(label)
        return self._with(term, term_text(BlankNode(label)))

    def literal(self, lex: str, langtag: str | None, datatype: str | None) -> str:
        term = None if self._validator is None else self._validator.literal(lex, langtag, datatype)
        return self._with(term, term_text(Literal(lex, langtag, datatype)))

    def quoted_triple(self, *terms: Any) -> str:
        term = None
        if self._validator is not None:
            term = self._validator.quoted_triple(*(each.term for each in terms))
        opening, closing = self._notation.value
        return self._with(term, f"{opening}{' '.join(terms)}{closing}")

    def triple(self, terms: tuple[Any, Any, Any]) -> tuple[str, ...]:
        if self._validator is not None:
            self._validator.triple(tuple(each.term for each in terms))
        return terms

    def quad(self, terms: tuple[Any, Any, Any, Any]) -> tuple[str, ...]:
        if self._validator is not None:
            self._validator.quad(tuple(each.term for each in terms))
        return terms if terms[3] else terms[:3]

    def check_graph(self, name: Any) -> None:
        """Accept any name: text has no empty graphs."""
        if self._validator is not None:
            self._validator.check_graph(name.term)

    def _with(self, term: Any, text: str) -> str:
        return text if self._validator is None else TermText.of(text, term)


class ChunkDecoder:
    """The state of a stream in a decoder that converts statements to another form."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder

    @property
    def options(self) -> StreamOptions | None:
        """The stream's options; None before the first row is read."""
        return self._decoder.options

    @property
    def next_frame(self) -> int:
        """Number of the next frame."""
        return self._decoder.next_frame

    @property
    def inside_graph(self) -> bool:
        """Whether a graph is open, in physical type GRAPHS."""
        return self._decoder.inside_graph


class TextDecoder(ChunkDecoder):
    """Reads the frames of one stream as lines of N-Triples, or of N-Quads if it has graphs.

    :param notation: how quoted triples are written.
    :param limits: the limits on untrusted input.
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
        factory = TextFactory(notation, validator)
        super().__init__(Decoder(factory, limits=limits, first_frame=first_frame))
        self._limits = limits
        #: Number of statements decoded in all frames.
        self.statements = 0
        #: The frame that is being decoded, with the namespaces that were read so far as text; None
        #: between frames.
        self.frame: AnyFrame | None = None
        #: The other contents of the last decoded frame, set once all its chunks were consumed:
        #: namespaces and empty graphs as text, metadata, and the frame's sizes.
        self.last_frame: AnyFrame | None = None

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Decode the next frame; yield its lines in chunks of any size up to about :data:`CHUNK`
        bytes plus one term. Consume all of them before decoding the next frame.

        :param data: the frame's bytes, without a delimiter.
        :raises JellyError: with frame and row, on any error; chunks of the frame may have been
            yielded before.
        """
        pending: list[str] = []
        size = 0
        long_bytes = 0
        frame = self._decoder.decode(data)
        statements, frame.statements = frame.statements, []
        frame.graphs = []
        self.frame = frame
        for statement in statements:
            self.statements += 1
            for text in (*statement, "."):
                pending.append(text)
                size += len(text)
                if len(text) > _PERHAPS_LONG:
                    long_bytes += _long_bytes(text)
                pending.append(" " if text != "." else "\n")
                if size > CHUNK:
                    yield "".join(pending).encode()
                    pending.clear()
                    size = 0
            if long_bytes > self._limits.frame_expansion:
                raise too_much(self._limits, long_bytes).locate(frame=frame.index)
        if pending:
            yield "".join(pending).encode()
        self.last_frame = frame
        self.frame = None

    def finish(self) -> None:
        """Mark the end of the stream.

        :raises OptionsError: the stream had no options, because it had no rows at all.
        """
        self._decoder.finish()


def _long_bytes(text: str) -> int:
    """Count the bytes of the long terms within a term's text: the term itself, unless it is a
    quoted triple.
    """
    sizes = [len(text.encode())]
    if text.startswith("<<"):
        sizes = [len(part[0].encode()) for part in _TERMS.compiled.finditer(text)]
    return sum(size for size in sizes if size > LONG_TERM)


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

    def restart(self) -> list[bytes]:
        """Make the next frame a restart point; see
        :meth:`~jelly_plugins.codec.rdf.encoder.Encoder.restart`.
        """
        return self._encoder.restart()

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
        # A CR at the end of the data may be half of a line end.
        cut = max(data.rfind(b"\n"), data.rfind(b"\r", 0, -1)) + 1
        if not cut:
            self._pending += data
            self._parser.check_length(len(self._pending))
            return []
        whole = bytes(self._pending) + data[:cut]
        self._pending[:] = data[cut:]
        self._parser.check_length(len(self._pending))
        before = self._parser.line_ends
        try:
            return self._add(whole)
        except BaseException:
            self._parser.count_lines(before, whole)
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
