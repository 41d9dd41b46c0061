"""How large a stream is, in bytes, for the same statements in the same order with the same options.

A smaller stream is a lesser figure: the ratio says how many times as large the others are.
"""

from __future__ import annotations

from typing import Final

from jelly_plugins import codec

from .codec_jobs import encode, pyjelly_encode, pyjelly_terms
from .data import Data
from .measure import Runs

#: Rows in a frame of pyjelly's.
_FRAME_ROWS: Final = 250


def file_size(data: Data) -> Runs:
    """Size of the stream"""
    theirs = pyjelly_terms(data)
    return Runs(
        {
            "ours": lambda: encode(codec.Encoder, data.statements, frame_rows=_FRAME_ROWS),
            "pyjelly": lambda: pyjelly_encode(theirs),
            "N-Triples": lambda: len(data.ntriples),
        },
        unit="bytes",
        rounds=1,
    )


JOBS: Final = (file_size,)
