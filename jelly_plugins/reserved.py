"""IRIs that the package keeps for itself: all of them are named here, and nowhere else.

One graph is reserved in data: the one in which stores of quads keep the positions of logs. No
statement and no namespace may be in it that a source or a caller brings (:func:`reject_graph`), and
what is written or counted leaves it out. In any other position its IRI is one like others.

All other names of ours identify something for the duration of a call, such as a graph that a failed
update would make. They have a random part, new in each process, so that no data can contain them:
they are neither rejected nor hidden (:func:`private`).
"""

from __future__ import annotations

import os
from typing import Final

from .errors import TermError

_NAMESPACE: Final = "urn:jelly-plugins:"
_SECRET: Final = os.urandom(16).hex()

#: The graph in which stores of quads keep their positions, and which is not data.
BOOKKEEPING_IRI: Final = f"{_NAMESPACE}bookkeeping"
#: The same in the syntax of N-Triples.
BOOKKEEPING_TEXT: Final = f"<{BOOKKEEPING_IRI}>"


def bookkeeping_iri(name: str) -> str:
    """An IRI in the bookkeeping graph."""
    return f"{_NAMESPACE}{name}"


def private(name: str) -> str:
    """An IRI unique to this process: the same for the same name."""
    return f"{_NAMESPACE}{_SECRET}:{name}"


def is_reserved(graph: object) -> bool:
    """Whether a graph is reserved.

    :param graph: its IRI, or its name in the syntax of N-Triples.
    """
    return graph in (BOOKKEEPING_TEXT, BOOKKEEPING_IRI)


def reject_graph(graph: object, *, what: str = "a statement") -> None:
    """Reject a reserved graph."""
    if is_reserved(graph):
        raise TermError(
            f"{what} is in the graph {BOOKKEEPING_TEXT}, which keeps the positions of logs"
        )
