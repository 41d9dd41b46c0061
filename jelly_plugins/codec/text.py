"""Jelly-RDF to N-Triples and N-Quads and back, for stores, files and pipes that take text.

Bytes in, bytes out. The form of the text is that of ``ntriples``, whose parser reads it, and whose
``term_text`` says how terms are written. The compiled kernel does the same without making terms.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final

from .decoder import Decoder
from .encoder import Encoder
from .limits import DEFAULT_LIMITS, Limits
from .ntriples import Dialect, LineParser, Notation, term_text
from .options import PhysicalType, StreamOptions
from .terms import BlankNode, Iri, Literal

#: Text comes out in pieces of about this many bytes.
PIECE: Final = 1 << 18


class TextFactory:
    """Makes terms that are their own text, and statements that are lines."""

    default_graph: Final = ""

    def __init__(self, notation: Notation = Notation.RDF_STAR) -> None:
        self._notation = notation

    def iri(self, value: str) -> str:
        return term_text(Iri(value))

    def blank_node(self, label: str) -> str:
        return term_text(BlankNode(label))

    def literal(self, lex: str, langtag: str | None, datatype: str | None) -> str:
        return term_text(Literal(lex, langtag, datatype))

    def quoted_triple(self, *terms: str) -> str:
        opening, closing = self._notation.value
        return f"{opening}{' '.join(terms)}{closing}"

    def triple(self, terms: tuple[str, str, str]) -> tuple[str, ...]:
        return terms

    def quad(self, terms: tuple[str, str, str, str]) -> tuple[str, ...]:
        return terms if terms[3] else terms[:3]


class TextDecoder:
    """Reads the frames of one stream as lines of N-Triples, or of N-Quads where it has graphs.

    :param notation: how quoted triples are written.
    :param limits: what is believed of the input.
    :param first_frame: number of the first frame, where the stream is part of a longer one.

    >>> from jelly_plugins.codec import Encoder, StreamOptions, Triple
    >>> encoder = Encoder(StreamOptions())
    >>> encoder.add([Triple(Iri("urn:s"), Iri("urn:p"), Literal("o"))])
    []
    >>> b"".join(TextDecoder().decode(encoder.flush()))
    b'<urn:s> <urn:p> "o" .\\n'
    """

    def __init__(
        self,
        notation: Notation = Notation.RDF_STAR,
        *,
        limits: Limits = DEFAULT_LIMITS,
        first_frame: int = 0,
    ) -> None:
        self._decoder = Decoder(TextFactory(notation), limits=limits, first_frame=first_frame)

    @property
    def options(self) -> StreamOptions | None:
        """The stream's options, once its first row was read."""
        return self._decoder.options

    @property
    def next_frame(self) -> int:
        """Number of the frame that is next."""
        return self._decoder.next_frame

    @property
    def inside_graph(self) -> bool:
        """Whether a graph was started and not ended, in physical type GRAPHS."""
        return self._decoder.inside_graph

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Decode the next frame; its lines come in pieces of any size, never of more than
        some :data:`PIECE` bytes and a term. All of them must be taken before the next frame is
        decoded.

        :param data: the frame's bytes, without a delimiter.
        :raises JellyError: with frame and row, whatever is wrong; pieces of the frame may have
            come out before.
        """
        pending: list[str] = []
        size = 0
        for statement in self._decoder.decode(data).statements:
            for text in (*statement, "."):
                pending.append(text)
                size += len(text)
                pending.append(" " if text != "." else "\n")
                if size > PIECE:
                    yield "".join(pending).encode()
                    pending.clear()
                    size = 0
        if pending:
            yield "".join(pending).encode()

    def finish(self) -> None:
        """Say that no frame follows.

        :raises OptionsError: the stream had no options, because it had no rows at all.
        """
        self._decoder.finish()


class TextEncoder:
    """Writes lines of N-Triples, or of N-Quads for streams that have graphs, as frames.

    :param options: of the stream; its physical type says which of the two formats is read.
    :param dialect: which triples may be terms.
    :param generalized: whether any kind of term may stand in any position.
    :param relative_iris: whether IRIs without a scheme are taken as they are.
    :param settings: ``frame_rows``, ``frame_bytes``, ``restart_every`` and ``limits``, see
        :class:`~jelly_plugins.codec.encoder.Encoder`.

    >>> from jelly_plugins.codec import GenericFactory
    >>> encoder = TextEncoder(StreamOptions())
    >>> frames = encoder.feed(b"<urn:s> <urn:p> _:o .") + encoder.finish()
    >>> Decoder(GenericFactory()).decode(frames[0]).statements[0].object
    BlankNode(label='o')
    """

    #: What writes the statements; the compiled kernel has its own.
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
        self._parser = LineParser(
            dialect,
            generalized,
            relative_iris,
            limits,
            quads=options.physical_type is not PhysicalType.TRIPLES,
        )
        #: The start of a line whose end is not there yet.
        self._pending = bytearray()

    @property
    def options(self) -> StreamOptions:
        """The options as they are written."""
        return self._encoder.options

    def feed(self, data: bytes) -> list[bytes]:
        """Take the next piece of the text.

        :return: the frames that came to their end.
        :raises TextError: with the line.
        :raises JellyError: a statement cannot be written with these options.
        """
        # A CR at the very end may be half of a line end.
        cut = max(data.rfind(b"\n"), data.rfind(b"\r", 0, -1)) + 1
        if not cut:
            self._pending += data
            self._parser.check_length(len(self._pending))
            return []
        whole = bytes(self._pending) + data[:cut]
        self._pending[:] = data[cut:]
        self._parser.check_length(len(self._pending))
        return self._add(whole)

    def restart(self) -> list[bytes]:
        """Let the next frame be a restart point; see
        :meth:`~jelly_plugins.codec.encoder.Encoder.restart`."""
        return self._encoder.restart()

    def finish(self) -> list[bytes]:
        """End the stream; the last line may be without a line end.

        :return: what frames are left.
        """
        frames = self._add(bytes(self._pending)) if self._pending else []
        self._pending.clear()
        return frames + self._encoder.finish()

    def _add(self, data: bytes) -> list[bytes]:
        """Write whole lines."""
        return self._encoder.add(self._parser.statements(data))
