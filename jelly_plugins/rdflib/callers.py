"""What rdflib knows about a call and does not pass on to its plugins; read from the call stack.

``ConjunctiveGraph.parse`` hands a parser a plain Graph, and ``Graph.serialize`` asks for UTF-8
whether its caller did or not. Both matter here: quads must not vanish in a Graph that cannot show
them, and Jelly is not text. Where there is no stack to look at, quads are refused for the Graph,
and rdflib fails to decode what it was given, or returns it as a string of no use.

Nothing in rdflib's interface tells (read up to 7.6): the Graph of a ConjunctiveGraph is like any
other in its store, and both an ``encoding="utf-8"`` of the caller's and none at all come with a new
BytesIO. tests/rdflib/test_callers.py shows what users would meet without the stack.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Final

from rdflib.graph import ConjunctiveGraph, Graph

#: Calls between rdflib's and ours, at most; a subclass of a plugin may add one or two.
_DEPTH: Final = 8


def _locals_of(function: Callable[..., Any]) -> dict[str, Any] | None:
    """The local variables of the nearest caller that runs ``function``."""
    # What somebody has put in place of a method may be without code.
    code: CodeType | None = getattr(function, "__code__", None)
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
    found = _locals_of(ConjunctiveGraph.parse)
    dataset = found and found.get("self")
    if isinstance(dataset, ConjunctiveGraph) and default_graph(dataset) is sink:
        return dataset
    return None


def text_is_expected() -> bool:
    """Whether ``Graph.serialize`` was called without a destination and without an encoding: it
    will make a string of what is written."""
    found = _locals_of(Graph.serialize) or {}
    return "destination" in found and found["destination"] is None and found["encoding"] is None


def default_graph(dataset: ConjunctiveGraph) -> Graph:
    """The default graph. rdflib 7.6 deprecates one of its two names; older ones lack the other."""
    name = "default_graph" if hasattr(dataset, "default_graph") else "default_context"
    graph: Graph = getattr(dataset, name)
    return graph
