"""Frames of a Jelly-SPARQL stream to string columns in the layout of Apache Arrow.

Terms are in N-Triples syntax; unbound cells are null. No Arrow library is needed.
"""

from __future__ import annotations

from typing import Any

from ..common.limits import Limits, over
from ..text.columns import ColumnFactory, column_of
from ..text.ntriples import Notation
from .decoder import ResultsDecoder, ResultsFrame
from .kernel import text_column
from .options import RESULTS_LIMITS


class ResultsColumnDecoder(ResultsDecoder):
    """Reads frames like :class:`.decoder.ResultsDecoder`, with a
    :class:`~jelly_plugins.codec.Column` for each variable.

    :param limits: the limits on untrusted input; ``frame_expansion`` bounds the bytes of text in
        all columns of a frame.

    >>> from jelly_plugins.codec import Iri
    >>> from .encoder import ResultsEncoder
    >>> encoder = ResultsEncoder(["s"])
    >>> [data] = encoder.add([(Iri("urn:a"),), (None,)]) + encoder.finish()
    >>> ResultsColumnDecoder().decode(data).columns[0].values()
    ['<urn:a>', None]
    """

    def __init__(self, *, limits: Limits = RESULTS_LIMITS) -> None:
        factory: Any = ColumnFactory(Notation.RDF_1_2, limits)
        super().__init__(factory, limits=limits)
        self._text_bytes = 0

    def decode(self, data: bytes) -> ResultsFrame:
        """Decode the next frame; see :meth:`.decoder.ResultsDecoder.decode`."""
        self._text_bytes = 0
        return super().decode(data)

    def _no_cells(self) -> Any:
        return column_of([])

    def _read_column(self, number: int, data: bytes, pos: int, end: int, rows: int) -> Any:
        most = self._limits.frame_expansion
        column = text_column(
            self._terms, number, data, pos, end, rows, max(0, most - self._text_bytes)
        )
        if column is None:
            cells = super()._read_column(number, data, pos, end, rows)
            self._text_bytes += sum(map(len, filter(None, cells)))
            if self._text_bytes > most:
                raise over(
                    self._limits, "frame_expansion", self._text_bytes, "the text of a frame's cells"
                )
            return column_of(cells)
        self._text_bytes += len(column.data)
        return column
