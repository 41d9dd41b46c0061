"""Patches from files as columns, for what takes them in bulk; the other side of ``reader``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from ..codec import (
    DEFAULT_LIMITS,
    AnyOperation,
    Limits,
    Operation,
    OperationColumns,
    OperationKind,
    PatchColumnDecoder,
    TermFactory,
)
from ..codec.patch.columns import OperationGatherer
from ..codec.text.ntriples import Notation
from ..codec.text.transcoding import TextFactory
from ..errors import JellyError
from ..io.sources import Source
from .reader import JellyReader, PatchReader

_STATEMENT: Final = Operation(OperationKind.ADD)


class PatchColumnReader(PatchReader):
    """Reads a source in columns: an iterator of those, see :class:`.PatchReader`. What was read
    before an error comes out before it. Quoted triples are written in ``notation`` or, with a
    ``validator``, as that writes them; ``batches`` are ``batch_rows`` and ``batch_bytes`` of
    :class:`~jelly_plugins.codec.PatchColumnDecoder`."""

    def __init__(
        self,
        src: Source,
        *,
        notation: Notation = Notation.RDF_1_2,
        validator: TermFactory[Any] | None = None,
        limits: Limits = DEFAULT_LIMITS,
        **batches: Any,
    ) -> None:
        self._decoder = PatchColumnDecoder(notation, validator=validator, limits=limits, **batches)
        self._gathered = OperationGatherer(limits, **batches)
        factory: Any = TextFactory(notation) if validator is None else validator
        super().__init__(src, factory=factory, limits=limits)

    def _jelly_reader(self) -> JellyReader:
        return _JellyColumns(self._decoder, self._settings)

    def __iter__(self) -> Iterator[OperationColumns]:  # type: ignore[override]
        return self._rows  # type: ignore[return-value]

    def __next__(self) -> OperationColumns:  # type: ignore[override]
        return next(self._rows)  # type: ignore[return-value]

    def _lists(self, chunks: Iterator[bytes], *, growing: bool) -> Iterator[Iterable[Any]]:
        found: Iterator[Any] = chain.from_iterable(super()._lists(chunks, growing=growing))
        is_jelly = self._jelly is not None
        flush = self._decoder.flush if is_jelly else self._gathered.flush
        try:
            for batch in found if is_jelly else self._gathered.add(found):
                yield (batch,)
        except JellyError:
            yield flush()
            raise
        yield flush()


class _JellyColumns(JellyReader):
    """Reads the columns of a Jelly-Patch stream."""

    def batches(self, chunks: Iterable[bytes], *, growing: bool = False) -> Iterator[Any]:  # noqa: ARG002
        for chunk in chunks:
            yield from map(self._decode, self.splitter.feed(chunk))

    def _decode(self, frame: bytes) -> Iterator[Any]:
        return map(self._marked, self.decoder.decode(frame))

    def finish(self) -> Iterator[Any]:
        return map(self._marked, self.decoder.finish())

    def _marked(self, batch: OperationColumns) -> OperationColumns:
        return batch if self.has_marks else replace(batch, others=tuple(self._others(batch)))

    def _others(self, batch: OperationColumns) -> Iterator[tuple[int, AnyOperation]]:
        """The rows of a batch besides statements, with the ends of patches."""
        before = 0
        for at, row in (*batch.others, (len(batch.adds), None)):
            rows: list[AnyOperation] = []
            if at > before:
                # For the order of rows, one statement is as good as many.
                self.add(_STATEMENT, [])
                before = at
            if row is not None:
                self.add(row, rows)
                yield from ((at, each) for each in rows)
