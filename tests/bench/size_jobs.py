"""The size of a stream in bytes, for the same statements in the same order with the same options.

Smaller is better: the ratio is the size of the others relative to ours.
"""

from __future__ import annotations

from typing import Final

from jelly_plugins import codec

from .codec_jobs import encode, pyjelly_encode, pyjelly_terms
from .data import Data
from .measure import Runs

#: Rows of a frame in pyjelly.
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
