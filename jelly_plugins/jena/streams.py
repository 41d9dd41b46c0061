"""Whole files of rows: RDF Thrift and RDF Protobuf to statements and back, in generic or any other
terms.

A row has no frame around it, so that an error has the number of its row in the file, from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final, Generic, Self, TypeVar

from ..codec import (
    DEFAULT_LIMITS,
    AnyFrame,
    Describe,
    Limits,
    Statement,
    TermFactory,
    describe,
)
from ..codec.text.ntriples import Notation
from ..errors import JellyError, SourceError
from ..io.progress import Progress, Steps
from ..io.sinks import Destination, open_output
from ..io.sources import CHUNK, Closing, Input, Source, name_of
from ..io.streams import BATCH, GENERIC
from .codec import RowDecoder, RowEncoder, RowTextDecoder
from .names import DETECTION_BYTES, JenaFormat, detect, format_of
from .writer import declared

_T = TypeVar("_T")

#: Bytes that a decoder is given at once, where the source has them ready.
_AT_ONCE: Final = 4 * CHUNK


class JenaSource(Closing, Generic[_T]):
    """An open source of rows: an iterator of what is decoded of them, and a context manager that
    closes it.

    :param src: path, URL, open binary file or bytes; compression is detected from the content.
    :param format: how rows are encoded; by default detected from the name or the content.
    :raises SourceError: the source cannot be opened, or is neither encoding.
    """

    _items: Generator[_T]

    def __init__(self, src: Source, format: JenaFormat | None) -> None:  # noqa: A002
        self._input = Input(src)
        self._chunks = self._input.chunks()
        try:
            self.format = format or format_of(self.name) or self._detected()
        except BaseException:
            self._input.close()
            raise

    def _detected(self) -> JenaFormat:
        """The encoding by the first bytes; a source without any has no rows in either."""
        head = b""
        for chunk in self._chunks:
            head += chunk
            if len(head) >= DETECTION_BYTES:
                break
        self._chunks = chain((head,), self._chunks)
        found = detect(head[:DETECTION_BYTES])
        if found is None and head:
            raise SourceError(
                "neither RDF Thrift nor RDF Protobuf: name the format", source=self.name
            )
        return found or JenaFormat.THRIFT

    @property
    def name(self) -> str:
        """The source's name, as errors have it."""
        return self._input.name

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> _T:
        try:
            return next(self._items)
        except BaseException as error:
            self._input.close()
            if isinstance(error, JellyError):
                error.locate(source=self.name)
            raise

    def close(self) -> None:
        """Close the source, if it was opened here."""
        self._items.close()
        self._input.close()


def batches(
    chunks: Iterable[bytes],
    decode: Callable[[bytes, int], tuple[_T, int]],
    finish: Callable[[bytes], object],
) -> Generator[_T]:
    """The output of a decoder for rows that come in chunks.

    :param decode: takes bytes and a position, and returns the contents of the rows from there on,
        and the position after the last whole one.
    :param finish: takes what no row was made of.
    """
    pending: list[bytes] = []
    size = wanted = 0
    rest = b""
    for chunk in chain(chunks, (b"",)):
        pending.append(chunk)
        size += len(chunk)
        # Fast sources are read in large chunks: the overhead of a call is more work than a row. A
        # long row is not scanned again before there is twice as much of it.
        if chunk and (size < wanted or (size < _AT_ONCE and len(chunk) >= CHUNK)):
            continue
        rest = b"".join(pending)
        at = 0
        while at < len(rest):
            batch, stop = decode(rest, at)
            yield batch
            if stop == at:
                break
            at = stop
        rest = rest[at:]
        pending = [rest]
        size = len(rest)
        wanted = 2 * size if size > CHUNK else 0
    finish(rest)


class JenaReader(JenaSource[AnyFrame]):
    """Reads a source batch by batch: an iterator of the contents of some rows, as a
    :class:`~jelly_plugins.Frame` with statements and namespaces; and a context manager.

    :param factory: makes the terms, see :class:`~jelly_plugins.codec.TermFactory`.
    :param quads: whether triples come as quads in the default graph.
    :param generalized: whether any kind of term may occur in any position.
    :param directions: whether language-tagged strings may have a base direction.

    The other parameters, and what is raised: see :class:`JenaSource`; errors while iterating have
    the row.

    >>> with JenaReader(bytes.fromhex("1c180178180475726e3a0000")) as batches:
    ...     [batch.namespaces for batch in batches], batches.prefixes
    ([[('x', Iri(value='urn:'))]], {'x': 'urn:'})
    """

    def __init__(
        self,
        src: Source,
        *,
        format: JenaFormat | None = None,  # noqa: A002
        factory: TermFactory[Any] = GENERIC,
        quads: bool = False,
        generalized: bool = False,
        directions: bool = True,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        super().__init__(src, format)
        self._decoder = RowDecoder(
            factory,
            self.format,
            quads=quads,
            generalized=generalized,
            directions=directions,
            limits=limits,
        )
        self._items = batches(self._chunks, self._decoder.decode, self._decoder.finish)

    @property
    def prefixes(self) -> dict[str, str]:
        """The prefixes that were declared so far, IRI by name."""
        return self._decoder.prefixes

    @property
    def base(self) -> str | None:
        """The base IRI that was declared last. All IRIs are whole without it."""
        return self._decoder.base


class JenaText(JenaSource[bytes]):
    """Reads a source as lines of N-Quads, or of N-Triples: an iterator of chunks of text, each of
    whole lines, or empty; and a context manager.

    :param graphs: whether named graphs are accepted; N-Triples has none.
    :param notation: how quoted triples are written.
    :param validator: the factory of what the text is for, see
        :class:`~jelly_plugins.jena.text.RowTextDecoder`.
    :param generalized: whether any kind of term may occur in any position.
    :param on_namespace: called with name and IRI of each prefix that is declared.

    The other parameters, and what is raised: see :class:`JenaReader`.

    """

    #: Rows have no frames that an error could name.
    frame: None = None

    def __init__(
        self,
        src: Source,
        *,
        format: JenaFormat | None = None,  # noqa: A002
        graphs: bool = True,
        notation: Notation = Notation.RDF_1_2,
        validator: TermFactory[Any] | None = None,
        generalized: bool = False,
        on_namespace: Callable[[str, str], object] | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        super().__init__(src, format)
        self._on_namespace = on_namespace
        self._decoder = RowTextDecoder(
            self.format,
            graphs=graphs,
            notation=notation,
            validator=validator,
            generalized=generalized,
            limits=limits,
        )
        self._items = batches(self._chunks, self._decode, self._decoder.finish)

    @property
    def statements(self) -> int:
        """Number of statements so far."""
        return self._decoder.statements

    def _decode(self, data: bytes, at: int) -> tuple[bytes, int]:
        text, stop = self._decoder.decode_text(data, at)
        declared = self._decoder.declared
        if self._on_namespace is not None:
            for name, iri in declared:
                self._on_namespace(name, iri)
        declared.clear()
        return text, stop


def read(
    src: Source,
    *,
    format: JenaFormat | None = None,  # noqa: A002
    generalized: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[Statement]:
    """Read RDF Thrift or RDF Protobuf as one sequence of statements, in generic terms.

    Blank node labels are kept as they are. A language-tagged string with a base direction has both
    in its language tag, as N-Triples of RDF 1.2 writes them: ``en--ltr``.

    :param src: path, URL, open binary file or bytes; compressed or not.
    :param format: how rows are encoded; by default detected from the name or the content.
    :param generalized: whether any kind of term may occur in any position.
    :param limits: the limits on untrusted input.
    :return: triples and quads, as the rows are.
    :raises JellyError: while iterating, with source and row.

    >>> from jelly_plugins import Iri, Triple
    >>> import io
    >>> file = io.BytesIO()
    >>> write([Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))], file, format=JenaFormat.THRIFT)
    1
    >>> list(read(file.getvalue()))
    [Triple(subject=Iri(value='urn:s'), predicate=Iri(value='urn:p'), object=Iri(value='urn:o'))]
    """
    with JenaReader(src, format=format, generalized=generalized, limits=limits) as batches:
        for batch in batches:
            yield from batch.statements


def encode(
    statements: Iterable[tuple[Any, ...]],
    format: JenaFormat,  # noqa: A002
    *,
    namespaces: Mapping[str, str] | None = None,
    base: str | None = None,
    generalized: bool = False,
    describe: Describe = describe,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Generator[bytes, None, int]:
    """Encode statements, and return their number; see :func:`write`."""
    encoder = RowEncoder(format, describe, generalized=generalized, limits=limits)
    if opening := declared(encoder, namespaces, base):
        yield opening
    iterator = iter(statements)
    steps = Steps(progress)
    count = 0
    while batch := list(islice(iterator, BATCH)):
        count += len(batch)
        yield encoder.add(batch)
        steps.reach(count)
    steps.end(count)
    return count


def write(
    statements: Iterable[tuple[Any, ...]],
    dst: Destination,
    *,
    format: JenaFormat | None = None,  # noqa: A002
    namespaces: Mapping[str, str] | None = None,
    base: str | None = None,
    generalized: bool = False,
    describe: Describe = describe,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> int:
    """Write statements as RDF Thrift or RDF Protobuf.

    :param statements: triples or quads, also mixed. Quads in the default graph become triples, as
        Apache Jena has them.
    :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. A path is
        replaced only once everything is written.
    :param format: how rows are encoded; by default detected from the name.
    :param namespaces: declarations to write first, IRI by name. In RDF Thrift IRIs are abbreviated
        with them, as Apache Jena does.
    :param base: a base IRI to declare, in RDF Protobuf; IRIs are written in full anyway.
    :param generalized: whether any kind of term may occur in any position.
    :param describe: takes the statements' terms apart, see ``codec.Describe``.
    :param progress: called about every 10,000 statements and at the end, with the number of
        statements since the last call, as ``tqdm.update`` takes it.
    :param limits: limits on the output.
    :return: the number of statements.
    :raises ValueError: no format is given, and the name does not indicate one.
    :raises JellyError: with the row, if a statement cannot be written.
    :raises OptionsError: RDF Thrift has no base IRI.
    """
    rows = encode(
        statements,
        format or format_for(dst),
        namespaces=namespaces,
        base=base,
        generalized=generalized,
        describe=describe,
        progress=progress,
        limits=limits,
    )
    with open_output(dst) as out:
        while True:
            try:
                out.write(next(rows))
            except StopIteration as end:
                return int(end.value)


def format_for(dst: Destination) -> JenaFormat:
    """The encoding that a destination's name indicates.

    :raises ValueError: it does not indicate one.
    """
    found = format_of(dst)
    if found is None:
        raise ValueError(
            f"the name {name_of(dst)!r} is of neither RDF Thrift nor RDF Protobuf: give format"
        )
    return found
