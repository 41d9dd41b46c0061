"""Which form of ``boundaries`` runs: the compiled one, where it is there and the codec's is used."""

from __future__ import annotations

from ..codec import native

try:
    if not native:
        raise ImportError("the Python codec goes with the Python form")
    from ._native import count_lines, cut_rows, join_frames, weave
except ImportError:
    from .boundaries import count_lines, cut_rows, join_frames, weave

__all__ = ["count_lines", "cut_rows", "join_frames", "weave"]
