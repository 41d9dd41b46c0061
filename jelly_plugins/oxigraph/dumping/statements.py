"""Quads and triples of pyoxigraph as a Jelly-RDF stream, wherever they come from."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final

from pyoxigraph import Quad, RdfFormat, Triple, serialize

from ...codec import (
    DEFAULT_FRAME_BYTES,
    DEFAULT_FRAME_ROWS,
    DEFAULT_LIMITS,
    Limits,
    PhysicalType,
    StreamOptions,
    TextEncoder,
    delimit,
)
from ...errors import StatementError, TermError, TextError
from ...io.progress import Progress, Steps
from ...io.sinks import Destination
from ...io.streams import BATCH, with_options, write_delimited

#: Bytes of a statement that an error shows.
_SHOWN: Final = 200


def encode_quads(
    quads: Iterable[Quad | Triple],
    *,
    options: StreamOptions | None = None,
    namespaces: Mapping[str, str] | None = None,
    frame_rows: int = DEFAULT_FRAME_ROWS,
    frame_bytes: int = DEFAULT_FRAME_BYTES,
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[bytes]:
    """Encode quads or triples as a delimited Jelly-RDF stream, frame by frame.

    For a response over HTTP, for example. See :func:`write_quads` for the parameters, and for what
    is raised.

    :return: the frames as bytes, each with its delimiter.

    >>> from pyoxigraph import RdfFormat, parse
    >>> len(b"".join(encode_quads(parse(b"<urn:s> <urn:p> <urn:o> .", RdfFormat.N_TRIPLES))))
    70
    """
    settings = {"frame_rows": frame_rows, "frame_bytes": frame_bytes, "limits": limits}
    return (delimit(frame) for frame in _encode(quads, options, namespaces, settings))


def write_quads(
    quads: Iterable[Quad | Triple],
    dst: Destination,
    *,
    options: StreamOptions | None = None,
    namespaces: Mapping[str, str] | None = None,
    frame_rows: int = DEFAULT_FRAME_ROWS,
    frame_bytes: int = DEFAULT_FRAME_BYTES,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> int:
    """Write quads or triples as a flat, delimited Jelly-RDF stream.

    The quads can come from anywhere: a list, :func:`pyoxigraph.parse`, ``Store.quads_for_pattern``
    or a CONSTRUCT query. They are written one by one, in constant memory.

    :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. A path is
        replaced only once everything is written.
    :param options: of the stream; by default flat triples if the first is a ``Triple``, flat quads
        otherwise. In a stream of quads, a triple is in the default graph. Triple terms need
        ``rdf_star``.
    :param namespaces: declarations to write first, IRI by name.
    :param frame_rows: rows of a frame, at most.
    :param frame_bytes: bytes of a frame after which it ends.
    :param progress: called about every 10,000 statements and at the end, with the number of
        statements since the last call, as ``tqdm.update`` takes it.
    :param limits: limits on the output, by default those of a reader.
    :return: number of statements written.
    :raises StatementError: the options have no place for a statement.
    :raises JellyError: Jelly cannot express a term.
    :raises SourceError: the path cannot be written.

    >>> from io import BytesIO
    >>> from pyoxigraph import RdfFormat, parse
    >>> write_quads(parse(b"<urn:s> <urn:p> <urn:o> .", RdfFormat.TURTLE), BytesIO())
    1
    """
    settings = {"frame_rows": frame_rows, "frame_bytes": frame_bytes, "limits": limits}
    written: int = write_delimited(_encode(quads, options, namespaces, settings, progress), dst)
    return written


def _encode(
    quads: Iterable[Quad | Triple],
    options: StreamOptions | None,
    namespaces: Mapping[str, str] | None,
    settings: dict[str, Any],
    progress: Progress | None = None,
) -> Generator[bytes, None, int]:
    """The frames without delimiters; the number of statements is the generator's value.

    By way of Oxigraph's own text. With the compiled kernel, it takes two thirds of the time that it
    takes to ask Python for each term (weather; time of the processor); without it, 1.6 times.
    """
    options, iterator = with_options(quads, options, _infer_options)
    encoder = TextEncoder(options, namespaces=bool(namespaces), **settings)
    for name, iri in (namespaces or {}).items():
        encoder.add_namespace(name, iri)
    steps = Steps(progress)
    triples = options.physical_type is PhysicalType.TRIPLES
    format_ = RdfFormat.N_TRIPLES if triples else RdfFormat.N_QUADS
    for text in lines_of(iterator, format_):
        with naming_lines(text, encoder):
            frames = encoder.feed(text)
        yield from frames
        steps.reach(encoder.statements)
    yield from encoder.finish()
    steps.end(encoder.statements)
    return encoder.statements


@contextmanager
def naming_lines(text: bytes, encoder: TextEncoder) -> Iterator[None]:
    """Have errors name the statement of Oxigraph's text that an encoder rejects: one that
    Jelly cannot express (a base direction), or a blank node whose label is not one of N-Triples,
    which Oxigraph does not check.

    :raises TermError: instead of a TextError.
    """
    before = encoder.statements
    try:
        yield
    except TextError as error:
        at = (error.line or 1) - before - 1
        lines = text.split(b"\n", at + 1)[at : at + 1] if at >= 0 else []
        shown = f": {lines[0][:_SHOWN].decode(errors='replace')}" if lines else ""
        raise TermError(f"{error.message}{shown}") from None


def _infer_options(first: Quad | Triple | None) -> StreamOptions:
    triples = isinstance(first, Triple)
    return StreamOptions.flat(PhysicalType.TRIPLES if triples else PhysicalType.QUADS)


def lines_of(statements: Iterable[Any], format_: RdfFormat) -> Iterator[bytes]:
    """Quads and triples in chunks of N-Triples or N-Quads.

    :raises StatementError: N-Triples has no place for the graph of a quad.
    """
    iterator = iter(statements)
    while batch := list(islice(iterator, BATCH)):
        try:
            text = serialize(batch, format=format_)
        except ValueError:
            raise StatementError("a stream of triples has no place for a named graph") from None
        assert text is not None
        yield text
