"""What rdflib knows about a call and does not pass on to its plugins; read from the call stack.

``ConjunctiveGraph.parse`` hands a parser a plain Graph, and ``Graph.serialize`` asks for UTF-8
whether its caller did or not. Both matter here: quads must not vanish in a Graph that cannot show
them, and Jelly is no text. Where there is no stack to look at, the answer is the cautious one.
"""

from __future__ import annotations

import inspect
from types import CodeType, FrameType
from typing import Any, Final

from rdflib.graph import ConjunctiveGraph, Graph

#: Calls between rdflib's and ours, at most; a subclass of a plugin may add one or two.
_DEPTH: Final = 8


def _locals_of(code: CodeType) -> dict[str, Any] | None:
    """The local variables of the nearest caller that runs ``code``."""
    frame: FrameType | None = inspect.currentframe()
    for _ in range(_DEPTH):
        frame = frame and frame.f_back
        if frame is None:
            return None
        if frame.f_code is code:
            return frame.f_locals
    return None


def dataset_parsing_into(sink: Graph) -> ConjunctiveGraph | None:
    """The ConjunctiveGraph or Dataset whose ``parse`` was called, and has ``sink`` as its default
    graph."""
    found = _locals_of(ConjunctiveGraph.parse.__code__)
    dataset = found and found.get("self")
    if isinstance(dataset, ConjunctiveGraph) and default_graph(dataset) is sink:
        return dataset
    return None


def text_is_expected() -> bool:
    """Whether ``Graph.serialize`` was called without a destination and without an encoding: it
    will make a string of what is written."""
    found = _locals_of(Graph.serialize.__code__) or {}
    return "destination" in found and found["destination"] is None and found["encoding"] is None


def default_graph(dataset: ConjunctiveGraph) -> Graph:
    """The default graph. rdflib 7.6 deprecates one of its two names; older ones lack the other."""
    name = "default_graph" if hasattr(dataset, "default_graph") else "default_context"
    graph: Graph = getattr(dataset, name)
    return graph
