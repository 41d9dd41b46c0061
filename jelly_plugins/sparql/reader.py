"""Results of SPARQL queries in any format: :func:`read_results`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from ..codec import FrameSplitter, Limits, TermFactory
from ..codec.common.detection import is_cut, kind_of
from ..codec.sparql.decoder import ResultsDecoder, ResultsFrame
from ..codec.sparql.options import RESULTS_LIMITS, ResultsOptions
from ..errors import JellyError, SourceError, TruncatedError
from ..io.sources import Closing, Input, Source
from ..io.streams import GENERIC
from ..jena.streams import batches
from ..notebook import table
from .csv import read_csv
from .formats import DETECTION_BYTES, ResultsFormat, detected, format_named, format_of
from .jena import RowDecoder, Solution
from .w3c import BATCH, TextResults
from .xml import XmlResults


class ResultsReader(Closing):
    """Reads results: an iterator of solutions, and a context manager that closes the source.

    :param src: path, URL, open binary file or bytes; compressed or not.
    :param format: a :class:`~jelly_plugins.sparql.ResultsFormat` or a name of one; by default
        the source's name or content decides.
    :param factory: makes the terms, see :class:`~jelly_plugins.codec.TermFactory`.
    :param limits: the limits on untrusted input.
    :ivar variables: names of the variables, in order; empty for a result of ASK.
    :ivar boolean: the result of an ASK query; None if there are solutions.
    :ivar format: the format of the source.
    :ivar options: the options of a Jelly-SPARQL stream, otherwise None.
    :raises JellyError: at once if the header cannot be read, otherwise while iterating; with the
        source, and with frame (Jelly-SPARQL) or row (Jena's formats, where the variables are row
        0).

    A solution is a tuple of a term for each variable, None where it is unbound. Blank node labels
    are those of the source. Memory does not grow with the number of solutions.
    """

    def __init__(
        self,
        src: Source,
        *,
        format: ResultsFormat | str | None = None,  # noqa: A002
        factory: TermFactory[Any] = GENERIC,
        limits: Limits = RESULTS_LIMITS,
    ) -> None:
        self.variables: list[str] = []
        self.boolean: bool | None = None
        self.options: ResultsOptions | None = None
        self._factory = factory
        self._limits = limits
        self._input = Input(src)
        self._items: Generator[ResultsFrame] | None = None
        try:
            head, self._chunks = _peek(self._input.chunks())
            named = format_named(format) if format is not None else format_of(self.name)
            found = detected(head)
            if named is ResultsFormat.JELLY and found is not ResultsFormat.JELLY:
                self._reject(head, found)
            form = named or found
            if not head and (form is None or not form.is_binary):
                raise SourceError("the results are empty: they have no header")
            if form is None:
                raise SourceError("the format of these results is not known: format names it")
            self.format = form
            self._items = self._read()
            # What comes with the first batch has the header before it.
            self._frames = chain([next(self._items)], self._items)
            self._solutions = chain.from_iterable(map(ResultsFrame.solutions, self._frames))
        except BaseException as error:
            if isinstance(error, JellyError):
                error.locate(source=self.name)
            self.close()
            raise

    @property
    def name(self) -> str:
        """The source's name, as errors have it."""
        return self._input.name

    @property
    def compression(self) -> str | None:
        """``"gzip"``, ``"bz2"``, ``"zstd"`` or None."""
        return self._input.compression

    def _repr_html_(self) -> str:
        known = ("name", "format", "variables", "boolean", "options")
        return table(type(self).__name__, [(each, getattr(self, each)) for each in known])

    def __iter__(self) -> Iterator[Solution]:
        return self._solutions

    def __next__(self) -> Solution:
        return next(self._solutions)

    def frames(self) -> Iterator[ResultsFrame]:
        """The solutions by columns, instead of one by one: in the frames of Jelly-SPARQL, and in
        parts of any size in other formats."""
        return self._frames

    def close(self) -> None:
        """Close the source, if it was opened here."""
        if self._items is not None:
            self._items.close()
        self._input.close()

    @staticmethod
    def _reject(head: bytes, found: ResultsFormat | None) -> None:
        """Say what content is that should be Jelly-SPARQL, if it is known."""
        kind = kind_of(head)
        if kind is not None or found in (ResultsFormat.JSON, ResultsFormat.XML):
            raise SourceError(f"this is {kind or found}, not Jelly-SPARQL")

    def _read(self) -> Generator[ResultsFrame]:
        try:
            if self.format is ResultsFormat.JELLY:
                yield from decoded(self._chunks, self._decoder(), self._limits, self._note)
                return
            for number, batch in enumerate(self._batches()):
                columns = [self._column(cells) for cells in zip(*batch, strict=True)]
                empty = [self._column(()) for _ in self.variables]
                yield ResultsFrame(number, len(batch), columns or empty)
        except JellyError as error:
            error.locate(source=self.name)
            raise
        finally:
            self._input.close()

    def _decoder(self) -> ResultsDecoder:
        """What reads the frames of Jelly-SPARQL."""
        return ResultsDecoder(self._factory, limits=self._limits)

    def _column(self, cells: Sequence[Any]) -> Any:
        """A column of a format without frames."""
        return list(cells)

    def _batches(self) -> Iterator[list[Solution]]:
        """The solutions of a format without frames; the first batch comes with the header."""
        if self.format.jena is not None:
            rows = RowDecoder(self.format.jena, self._factory, self._limits)
            for batch in batches(self._chunks, rows.decode, rows.finish):
                # The row of variables may be longer than a chunk.
                if rows.started:
                    self.variables = rows.variables
                    yield batch
        elif self.format is ResultsFormat.CSV:
            self.variables, solutions = read_csv(self._chunks, self._factory, self._limits)
            yield []
            while batch := list(islice(solutions, BATCH)):
                yield batch
        else:
            text = (
                XmlResults(self._chunks, self._factory, self._limits)
                if self.format is ResultsFormat.XML
                else TextResults(self._chunks, self.format, self._factory, self._limits)
            )
            self.variables, self.boolean = text.variables or [], text.boolean
            yield []
            yield from text.batches()

    def _note(self, decoder: ResultsDecoder) -> None:
        self.options = decoder.options
        self.variables, self.boolean = list(decoder.variables or ()), decoder.boolean


def decoded(
    chunks: Iterator[bytes],
    decoder: ResultsDecoder,
    limits: Limits,
    on_header: Callable[[ResultsDecoder], object],
) -> Iterator[ResultsFrame]:
    """The frames of a Jelly-SPARQL stream.

    :param on_header: called with the decoder before the first frame is given out.
    """
    splitter = FrameSplitter(limits=limits)
    asked: ResultsFrame | None = None

    def frames() -> Iterator[bytes]:
        for chunk in chunks:
            yield from splitter.feed(chunk)
        yield from splitter.finish()

    try:
        for number, data in enumerate(frames()):
            frame = decoder.decode(data)
            if decoder.boolean is not None:
                # Nothing may follow but metadata, and a caller reads no frames.
                asked = asked or frame
                continue
            if number == 0:
                on_header(decoder)
            yield frame
        decoder.finish()
        if asked is not None:
            on_header(decoder)
            yield asked
    except TruncatedError as error:
        error.locate(frame=decoder.next_frame)
        raise


def _peek(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """A source's first bytes, and all its chunks."""
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= DETECTION_BYTES:
            break
        # A stream may wait after its header: no more is read than it takes.
        if detected(head) is not None and not is_cut(head):
            break
    return head, chain((head,), chunks)


def read_results(
    src: Source,
    *,
    format: ResultsFormat | str | None = None,  # noqa: A002
    factory: TermFactory[Any] = GENERIC,
    limits: Limits = RESULTS_LIMITS,
) -> ResultsReader:
    """Read the results of a SPARQL query, in generic terms by default; see :class:`ResultsReader`.

    >>> import io
    >>> from jelly_plugins import Iri
    >>> from jelly_plugins.sparql import write_results
    >>> file = io.BytesIO()
    >>> write_results(["s", "o"], [(Iri("urn:s"), None)], file, format="jelly-sparql")
    1
    >>> with read_results(file.getvalue()) as results:
    ...     results.variables, list(results)
    (['s', 'o'], [(Iri(value='urn:s'), None)])
    """
    return ResultsReader(src, format=format, factory=factory, limits=limits)
