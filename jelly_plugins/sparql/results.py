"""Results of SPARQL queries from and into any format: :func:`read_results`, :func:`write_results`,
:func:`write_boolean`."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain, count, islice
from typing import Any, Final

from ..codec import Describe, FrameSplitter, Limits, TermFactory, delimit, describe
from ..codec.common.detection import StreamKind, is_cut, kind_of
from ..codec.sparql.decoder import ResultsDecoder, ResultsFrame
from ..codec.sparql.encoder import DEFAULT_FRAME_CELLS, ResultsEncoder, encode_boolean
from ..codec.sparql.options import RESULTS_LIMITS, ResultsOptions
from ..errors import JellyError, LimitError, SourceError, TruncatedError, shown
from ..io.sinks import Counted, Destination, open_output
from ..io.sources import Closing, Input, Source, name_of
from ..io.streams import GENERIC
from ..notebook import table
from .formats import (
    DETECTION_BYTES,
    ResultsFormat,
    codec_of,
    detected,
    format_named,
    format_of,
)

#: Cells that solutions may have in all, and how many more for each byte of the source: in JSON and
#: XML a solution without a binding takes a few bytes, however many variables there are.
_CELLS: Final = 1 << 24
_CELLS_PER_BYTE: Final = 64

#: Solutions, and cells, of a frame that is made of the solutions of such a format.
_FRAME_ROWS: Final = 4096
_FRAME_CELLS: Final = 1 << 16
#: Solutions that the encoder of Jelly-SPARQL takes at once, at most.
_BATCH: Final = 4096


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
        self._bytes = 0
        self._items: Generator[Any] | None = None
        try:
            head, self._chunks = _peek(self._input.chunks())
            named = format_named(format) if format is not None else format_of(self.name)
            found = detected(head)
            if named is ResultsFormat.JELLY and (
                (kind := kind_of(head)) not in (None, StreamKind.JELLY_SPARQL)
                or found in (ResultsFormat.JSON, ResultsFormat.XML)
            ):
                raise SourceError(f"this is {kind or found}, not Jelly-SPARQL")
            form = named or found
            if not head and (form is None or not form.is_binary):
                raise SourceError("the results are empty: they have no header")
            if form is None:
                raise SourceError("the format of these results is not known: format names it")
            self.format = form
            # Generators, unlike other iterators, raise an error when two threads or a source that
            # reads from its reader enter them at once.
            self._items = items = self._read()
            # The first item is a mark: the header was read.
            next(items)
            self._solutions: Iterator[tuple[Any, ...]] = items
            if form is ResultsFormat.JELLY:
                self._solutions = (each for frame in items for each in frame.solutions())
        except BaseException as error:
            if isinstance(error, JellyError):
                error.locate(source=self.name)
            self.close()
            raise

    @property
    def name(self) -> str:
        """The name of the source in error messages."""
        return self._input.name

    @property
    def compression(self) -> str | None:
        """``"gzip"``, ``"bz2"``, ``"zstd"`` or None."""
        return self._input.compression

    def _repr_html_(self) -> str:
        known = ("name", "format", "variables", "boolean", "options")
        return table(type(self).__name__, [(each, getattr(self, each)) for each in known])

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._solutions

    def __next__(self) -> tuple[Any, ...]:
        return next(self._solutions)

    def frames(self) -> Iterator[ResultsFrame]:
        """The solutions by columns, instead of one by one: in the frames of Jelly-SPARQL, and in
        groups of some thousand in other formats."""
        assert self._items is not None
        if self.format is ResultsFormat.JELLY:
            return self._items
        return self._grouped(self._items)

    def close(self) -> None:
        """Close the source, if it was opened here."""
        if self._items is not None:
            self._items.close()
        self._input.close()

    def _read(self) -> Generator[Any]:
        """A mark once the header was read, then the frames of Jelly-SPARQL, or the solutions of any
        other format."""
        try:
            if self.format is ResultsFormat.JELLY:
                yield from self._jelly_frames()
                return
            codec = codec_of(self.format)
            items = codec.read(self._sized(self._chunks), self._factory, self._limits)
            header = next(items)
            if isinstance(header, bool):
                self.boolean = header
            else:
                self.variables = header
            yield None
            width = len(self.variables)
            if width <= _CELLS_PER_BYTE:
                yield from items
            for row, solution in enumerate(items, 1):
                if row * width > _CELLS + _CELLS_PER_BYTE * self._bytes:
                    raise LimitError(
                        f"the solutions have more than {_CELLS:,} cells, and {_CELLS_PER_BYTE} for "
                        "each byte of the source",
                        row=row,
                    )
                yield solution
        except JellyError as error:
            error.locate(source=self.name)
            raise
        finally:
            self._input.close()

    def _sized(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self._bytes += len(chunk)
            yield chunk

    def _jelly_frames(self) -> Generator[ResultsFrame | None]:
        decoder = self._decoder()
        asked: ResultsFrame | None = None
        try:
            for data in self._frame_bytes():
                frame = decoder.decode(data)
                if frame.index == 0:
                    self.options, self.boolean = decoder.options, decoder.boolean
                    self.variables = list(decoder.variables or ())
                if decoder.boolean is not None:
                    # Only metadata may follow.
                    asked = asked or frame
                    continue
                if frame.index == 0:
                    yield None
                yield frame
            decoder.finish()
        except TruncatedError as error:
            error.locate(frame=decoder.next_frame)
            raise
        if asked is not None:
            yield None
            yield asked

    def _frame_bytes(self) -> Iterator[bytes]:
        splitter = FrameSplitter(limits=self._limits)
        for chunk in self._chunks:
            yield from splitter.feed(chunk)
        yield from splitter.finish()

    def _grouped(self, solutions: Iterator[tuple[Any, ...]]) -> Generator[ResultsFrame]:
        width = len(self.variables)
        step = max(1, min(_FRAME_ROWS, _FRAME_CELLS // max(1, width)))
        for number in count():
            batch = list(islice(solutions, step))
            if not batch:
                return
            columns = [self._column(cells) for cells in zip(*batch, strict=True)]
            yield ResultsFrame(number, len(batch), columns)

    def _decoder(self) -> ResultsDecoder:
        return ResultsDecoder(self._factory, limits=self._limits)

    def _column(self, cells: Sequence[Any]) -> Any:
        return list(cells)


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


# Writing


def format_for(dst: Destination, format: ResultsFormat | str | None) -> ResultsFormat:  # noqa: A002
    """The format that is given, or that of a destination's name.

    :raises ValueError: there is neither.
    """
    if format is not None:
        return format_named(format)
    found = format_of(dst)
    if found is None:
        raise ValueError(
            f"the format of {shown(name_of(dst))} is unknown: give format, such as 'jellys'"
        )
    return found


def encode_results(
    variables: Sequence[str],
    solutions: Iterable[Sequence[Any]],
    *,
    options: ResultsOptions | None = None,
    describe: Describe = describe,
    frame_cells: int = DEFAULT_FRAME_CELLS,
    limits: Limits = RESULTS_LIMITS,
) -> Iterator[bytes]:
    """Encode results as Jelly-SPARQL; the bytes of each frame come with their delimiter, as soon as
    there are solutions enough for it.

    :param frame_cells: cells (rows times variables) after which a frame ends.

    See :func:`write_results` for the other parameters and for what is raised.
    """
    encoder = ResultsEncoder(
        variables, options=options, describe=describe, frame_cells=frame_cells, limits=limits
    )
    iterator = iter(solutions)
    step = max(1, min(frame_cells, _BATCH) // max(1, len(variables)))
    while batch := list(islice(iterator, step)):
        yield from map(delimit, encoder.add(batch))
    yield from map(delimit, encoder.finish())


def write_results(
    variables: Sequence[str],
    solutions: Iterable[Sequence[Any]],
    dst: Destination,
    *,
    format: ResultsFormat | str | None = None,  # noqa: A002
    options: ResultsOptions | None = None,
    frame_cells: int = DEFAULT_FRAME_CELLS,
    describe: Describe = describe,
    limits: Limits = RESULTS_LIMITS,
) -> int:
    """Write the solutions of a SELECT query, as they come.

    :param variables: their names, in order.
    :param solutions: a term for each variable, None where it is unbound.
    :param dst: path or open binary file; a path is replaced only once everything is written.
    :param format: a :class:`~jelly_plugins.sparql.ResultsFormat` or a name of one; by default
        that of the destination's name.
    :param options: of a Jelly-SPARQL stream: table sizes, name.
    :param frame_cells: cells (rows times variables) after which a frame of Jelly-SPARQL ends.
    :param describe: takes the terms apart, see ``codec.Describe``.
    :param limits: bounds of what is written.
    :return: the number of solutions.
    :raises ValueError: no format is given, and the name does not indicate one.
    :raises JellyError: a term or a name cannot be written.
    """
    form = format_for(dst, format)
    counted = Counted(solutions)
    if form is ResultsFormat.JELLY:
        chunks = encode_results(
            variables,
            counted,
            options=options,
            describe=describe,
            frame_cells=frame_cells,
            limits=limits,
        )
    else:
        chunks = codec_of(form).write(variables, counted, describe, limits)
    with open_output(dst) as out:
        for chunk in chunks:
            out.write(chunk)
    return counted.count


def write_boolean(
    value: bool,
    dst: Destination,
    *,
    format: ResultsFormat | str | None = None,  # noqa: A002
    options: ResultsOptions | None = None,
) -> None:
    """Write the result of an ASK query; see :func:`write_results`.

    :raises TermError: the format has no place for it: Jena's binary ones, and CSV.
    """
    form = format_for(dst, format)
    if form is ResultsFormat.JELLY:
        data = delimit(encode_boolean(value, options=options))
    else:
        data = codec_of(form).boolean(value).encode()
    with open_output(dst) as out:
        out.write(data)
