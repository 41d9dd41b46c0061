"""Which form of ``boundaries`` runs: the compiled one, where that is there and the codec's runs."""

from __future__ import annotations

from ..codec import native

try:
    if not native:
        raise ModuleNotFoundError("the Python codec goes with the Python form")
    from ._native import count_lines, cut_rows, in_default_graph, join_frames, weave
except ModuleNotFoundError:
    from .boundaries import count_lines, cut_rows, in_default_graph, join_frames, weave

__all__ = ["count_lines", "cut_rows", "in_default_graph", "join_frames", "weave"]
