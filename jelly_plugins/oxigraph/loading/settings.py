"""How a source is loaded: what :func:`jelly_plugins.oxigraph.load` is given, checked once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from pyoxigraph import NamedNode

from ...backends import BlankNodes
from ...codec import DEFAULT_LIMITS, Limits
from ...io.progress import Progress
from ...reserved import reject_graph
from ..terms import GraphName, check_graph
from .lexical_forms import LexicalForm

#: How blank node labels are handled in a load: new nodes, unchanged labels, or labels that depend
#: on the statements alone.
LoadedBlankNodes: TypeAlias = Literal["fresh", "keep", "canonicalize"]

#: How quoted triples outside the object position are handled: an error, or a reifier.
QuotedTriples: TypeAlias = Literal["reject", "reify"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """The settings of a load; see :func:`jelly_plugins.oxigraph.load`.

    :raises ValueError: ``blank_nodes`` or ``quoted_triples`` is not one of the values.
    :raises TypeError: ``graph`` is not a pyoxigraph term.
    :raises TermError: ``graph`` is reserved.
    """

    graph: GraphName | None = None
    blank_nodes: LoadedBlankNodes = "fresh"
    atomic: bool = True
    quoted_triples: QuotedTriples = "reject"
    progress: Progress | None = None
    limits: Limits = DEFAULT_LIMITS
    concatenated: bool = False
    strict: bool = False
    on_namespace: Callable[[str, str], object] | None = None
    bookkeeping: bool = False
    lexical_form: LexicalForm | None = None

    def __post_init__(self) -> None:
        if self.quoted_triples not in get_args(QuotedTriples):
            raise ValueError(
                f"quoted_triples must be 'reject' or 'reify' (got {self.quoted_triples!r})"
            )
        if self.blank_nodes not in get_args(LoadedBlankNodes):
            raise ValueError(
                "blank_nodes must be 'fresh', 'keep' or, in a load, 'canonicalize' "
                f"(got {self.blank_nodes!r})"
            )
        if self.graph is not None:
            check_graph(self.graph)
        if isinstance(self.graph, NamedNode) and not self.bookkeeping:
            reject_graph(self.graph.value, what="what is to be loaded")

    @property
    def labels(self) -> BlankNodes:
        """How terms are made of labels. Where they become canonical later, they may be new ones."""
        return "keep" if self.blank_nodes == "keep" else "fresh"

    def declare(self, name: str, iri: str) -> None:
        """Call ``on_namespace`` for a namespace of the source."""
        if self.on_namespace is not None:
            self.on_namespace(name, iri)
