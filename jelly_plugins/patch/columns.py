"""Patches from files as columns, for what takes them in bulk; the other side of ``reader``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from ..codec import (
    DEFAULT_LIMITS,
    AnyOperation,
    Limits,
    OperationColumns,
    OperationKind,
    PatchColumnDecoder,
    PatchStreamType,
    TermFactory,
)
from ..codec.patch.columns import OperationGatherer
from ..codec.text.ntriples import Notation
from ..codec.text.transcoding import TextFactory
from ..errors import JellyError
from ..io.sources import Source
from .reader import PatchReader


class PatchColumnReader(PatchReader):
    """Reads a source in columns: an iterator of those, see :class:`.PatchReader`.

    What was read before an error comes out before it.

    :param notation: how quoted triples are written; with a validator, as it writes them.
    :param validator: makes the text of terms, see :class:`~jelly_plugins.codec.PatchColumnDecoder`.
    :param wait: see :class:`.PatchReader`, and for ``resumable``.
    :param batches: ``batch_rows`` and ``batch_bytes``, see there.

    >>> with PatchColumnReader(b"TX . A <urn:s> <urn:p> <urn:o> . TC .") as batches:
    ...     [(batch.adds, [row.kind.code for _, row in batch.others]) for batch in batches]
    [(b'\\x01', ['TX', 'TC', 'Z'])]
    """

    def __init__(
        self,
        src: Source,
        *,
        notation: Notation = Notation.RDF_1_2,
        validator: TermFactory[Any] | None = None,
        wait: Callable[[], bool] | None = None,
        resumable: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        **batches: Any,
    ) -> None:
        factory: Any = TextFactory(notation) if validator is None else validator
        super().__init__(src, factory=factory, wait=wait, resumable=resumable, limits=limits)
        self._gathered = OperationGatherer(limits, **batches)
        self._decoder: Any = PatchColumnDecoder(
            notation, validator=validator, limits=limits, **batches
        )

    def __iter__(self) -> Iterator[OperationColumns]:  # type: ignore[override]
        return self._rows  # type: ignore[return-value]

    def __next__(self) -> OperationColumns:  # type: ignore[override]
        return next(self._rows)  # type: ignore[return-value]

    def _read_text(self, chunks: Iterator[bytes]) -> Iterator[Any]:
        with self._locating():
            try:
                yield from self._gathered.add(super()._read_text(chunks))
            except JellyError:
                yield from self._gathered.flush()
                raise
            yield from self._gathered.flush()

    def _read_jelly(self, chunks: Iterator[bytes]) -> Iterator[Iterable[Any]]:
        try:
            for batch in self._decode(chunks):
                yield (batch,)
        except JellyError:
            yield self._decoder.flush()
            raise

    def _decode(self, chunks: Iterator[bytes]) -> Iterator[OperationColumns]:
        for batch in self._decoded(chunks):
            options = self._decoder.options
            punctuated = options.stream_type is PatchStreamType.PUNCTUATED
            yield batch if punctuated else replace(batch, others=tuple(self._split_others(batch)))

    def _decoded(self, chunks: Iterator[bytes]) -> Iterator[OperationColumns]:
        for chunk in chunks:
            for frame in self._splitter.feed(chunk):
                yield from self._decoder.decode(frame)
        if self._wait is not None:
            yield from self._decoder.flush()
            return
        for frame in self._splitter.finish():
            yield from self._decoder.decode(frame)
        yield from self._finish()

    def _split_others(self, batch: OperationColumns) -> Iterator[tuple[int, AnyOperation]]:
        """The rows of a batch besides statements, with the ends of patches, see
        :meth:`.PatchReader._split`."""
        before = 0
        for at, row in (*batch.others, (len(batch.adds), None)):
            if at > before:
                # For the order of rows, one statement is as good as many.
                self._order.take(OperationKind.ADD)
                before = at
            if row is not None:
                yield from ((at, each) for each in self._split((row,)))
