"""The order of rows: the state machine of a Jelly-RDF stream, defined once.

Rules of this file:
1. The file consists of tables. Decoder, encoder and the compiled kernel use these and define no
   others.
2. A pair that is not in a table is an error; a comment next to the table gives the reason.
3. The numbers are those of rdf.proto.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from ..common.options import PhysicalType


class Row(IntEnum):
    """Fields of RdfStreamRow, exactly one of which is set in a row."""

    OPTIONS = 1
    TRIPLE = 2
    QUAD = 3
    GRAPH_START = 4
    GRAPH_END = 5
    NAMESPACE = 6
    NAME = 9
    PREFIX = 10
    DATATYPE = 11


class State(IntEnum):
    """The state of a stream between two rows."""

    START = 0
    TRIPLES = 1
    QUADS = 2
    OUTSIDE_GRAPH = 3
    INSIDE_GRAPH = 4


#: The state after the options row, by physical type.
FIRST_STATE: Final = {
    PhysicalType.TRIPLES: State.TRIPLES,
    PhysicalType.QUADS: State.QUADS,
    PhysicalType.GRAPHS: State.OUTSIDE_GRAPH,
}

#: Rows that are allowed anywhere after the options and do not change the state.
_ANYWHERE: Final = (Row.OPTIONS, Row.NAMESPACE, Row.NAME, Row.PREFIX, Row.DATATYPE)

#: The state after a row, by the state before it. In START only options are allowed; FIRST_STATE
#: gives the state after them.
NEXT: Final[dict[State, dict[Row, State]]] = {
    State.START: {Row.OPTIONS: State.START},
    State.TRIPLES: {
        **dict.fromkeys(_ANYWHERE, State.TRIPLES),
        Row.TRIPLE: State.TRIPLES,
    },
    State.QUADS: {
        **dict.fromkeys(_ANYWHERE, State.QUADS),
        Row.QUAD: State.QUADS,
    },
    State.OUTSIDE_GRAPH: {
        **dict.fromkeys(_ANYWHERE, State.OUTSIDE_GRAPH),
        Row.GRAPH_START: State.INSIDE_GRAPH,
    },
    State.INSIDE_GRAPH: {
        **dict.fromkeys(_ANYWHERE, State.INSIDE_GRAPH),
        Row.TRIPLE: State.INSIDE_GRAPH,
        Row.GRAPH_END: State.OUTSIDE_GRAPH,
    },
}

#: Descriptions of the states for errors.
WHERE: Final = {
    State.START: "before the stream options",
    State.TRIPLES: "in a stream of physical type TRIPLES",
    State.QUADS: "in a stream of physical type QUADS",
    State.OUTSIDE_GRAPH: "outside a graph in a stream of physical type GRAPHS",
    State.INSIDE_GRAPH: "inside a graph in a stream of physical type GRAPHS",
}
