"""The compiled form has the interface of its reference."""

from .boundaries import count_lines as count_lines
from .boundaries import cut_rows as cut_rows
from .boundaries import in_default_graph as in_default_graph
from .boundaries import join_frames as join_frames
from .boundaries import weave as weave
