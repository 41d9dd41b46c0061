"""The patch that makes one graph or dataset into another.

Namespaces are not compared. Memory holds the old statements and what is new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Literal, TypeAlias, get_args

from ..backends import get_backend
from ..codec import DEFAULT_GRAPH, BlankNode, Quad, Triple
from ..codec.common.conversion import convert
from ..errors import MissingExtraError, TermError
from ..io.streams import GENERIC
from .model import BEGIN, COMMIT, ID, PREV, Operation, Patch, add, delete
from .statements import Statements, statements_of

#: What becomes of blank nodes: nodes of the same label are the same; or those of the same canonical
#: label are; or there must be none.
BlankNodes: TypeAlias = Literal["keep", "canonicalize", "refuse"]


def diff(
    old: Statements,
    new: Statements,
    *,
    id: Any = None,  # noqa: A002
    prev: Any = None,
    blank_nodes: BlankNodes = "keep",
) -> Patch:
    """The patch that makes ``old`` into ``new``, in one transaction: subject by subject, and for
    each predicate deletions before additions.

    It says no more than what changed: each statement that it deletes is in ``old``, and none that
    it adds. If nothing changed it has no operations. Where either side has quads, so has the patch,
    and triples are taken as quads in the default graph.

    :param old: a file, a graph, dataset or store, or statements; see
        :func:`~jelly_plugins.patch.statements.statements_of`.
    :param new: the same.
    :param id: the patch's ``id``, a term.
    :param prev: the patch's ``prev``, a term.
    :param blank_nodes: ``"keep"`` takes nodes of the same label for the same, which is right for
        two states of one store. ``"canonicalize"`` gives the nodes of each side their labels by
        RDFC-1.0 first, which makes isomorphic sides equal: the patch then leads from the canonical
        form of ``old`` to that of ``new``, and is for data with these labels. ``"refuse"`` raises
        an error where there is a blank node.
    :raises TermError: there is a blank node, and they are refused.
    :raises MissingExtraError: canonical labels need pyoxigraph, which is not installed.
    :raises JellyError: a source cannot be read.

    >>> from jelly_plugins import Iri
    >>> s, p, o = map(Iri, ("urn:s", "urn:p", "urn:o"))
    >>> [operation.kind.code for operation in diff([Triple(s, p, o)], [Triple(s, p, p)])]
    ['TX', 'D', 'A', 'TC']
    """
    if blank_nodes not in get_args(BlankNodes):
        raise ValueError(f"blank_nodes is one of {get_args(BlankNodes)}, not {blank_nodes!r}")
    quads: set[bool] = set()
    # Whether each old statement is in the new ones too.
    kept = dict.fromkeys(_quads(old, blank_nodes, quads), False)
    added: dict[Quad, None] = {}
    for statement in _quads(new, blank_nodes, quads):
        if statement in kept:
            kept[statement] = True
        else:
            added[statement] = None
    deleted = (statement for statement, stays in kept.items() if not stays)
    made: Callable[[Quad], Any] = (lambda quad: quad) if True in quads else _triple
    changes = [
        change(made(statement))
        for change, statement in _in_runs(
            chain(((delete, each) for each in deleted), ((add, each) for each in added))
        )
    ]
    headers = [(key, term) for key, term in ((ID, id), (PREV, prev)) if term is not None]
    return Patch([BEGIN, *changes, COMMIT] if changes else [], headers)


def _quads(source: Statements, blank_nodes: BlankNodes, quads: set[bool]) -> Iterator[Quad]:
    """The statements of a source as quads.

    :param quads: takes whether there were quads, and whether there were triples.
    """
    statements = statements_of(source)
    if blank_nodes == "canonicalize":
        statements = _canonical(statements)
    for statement in statements:
        if blank_nodes == "refuse":
            _refuse_blank_nodes(statement)
        if len(statement) == 4:
            quads.add(True)
            yield Quad._make(statement)
        else:
            quads.add(False)
            yield Quad._make((*statement, DEFAULT_GRAPH))


def _in_runs(
    changes: Iterable[tuple[Callable[[Any], Operation], Quad]],
) -> Iterator[tuple[Callable[[Any], Operation], Quad]]:
    """Changes with those of each subject together, and among them those of each predicate: what
    stands in the place of something stands beside it, and a writer repeats most terms."""
    subjects: dict[Any, dict[Any, list[Any]]] = {}
    for change, quad in changes:
        predicates = subjects.setdefault((quad.graph, quad.subject), {})
        predicates.setdefault(quad.predicate, []).append((change, quad))
    for predicates in subjects.values():
        for run in predicates.values():
            yield from run


def _triple(quad: Quad) -> Triple:
    return Triple._make(quad[:3])


def _refuse_blank_nodes(terms: Iterable[Any]) -> None:
    for term in terms:
        if isinstance(term, BlankNode):
            raise TermError(
                f"the blank node _:{term.label} has no meaning outside its graph: "
                'blank_nodes="keep" trusts its label, "canonicalize" finds out which it is'
            )
        if isinstance(term, tuple):
            _refuse_blank_nodes(term)


def _canonical(statements: Iterable[Any]) -> Iterator[Any]:
    """Statements with the labels that RDFC-1.0 gives to their blank nodes, in no certain order.

    pyoxigraph, which finds them, has the language tags of these statements in lower case.
    """
    try:
        from pyoxigraph import CanonicalizationAlgorithm, Dataset
    except ImportError:
        raise MissingExtraError(
            "canonical labels need a library: pip install 'jelly-plugins[oxigraph]'"
        ) from None
    backend = get_backend("oxigraph")
    factory = backend.factory(blank_nodes="keep")
    quads = False
    dataset = Dataset()
    for statement in statements:
        quads = quads or len(statement) == 4
        if _has_blank_nodes(statement):
            # Statements without them have no part in it, and stay as they are.
            terms = tuple(convert(term, factory) for term in statement)
            dataset.add(factory.quad(terms if len(terms) == 4 else (*terms, factory.default_graph)))
        else:
            yield statement
    dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    for quad in dataset:
        terms = tuple(convert(term, GENERIC, backend.describe) for term in quad)
        yield Quad._make(terms) if quads else Triple._make(terms[:3])


def _has_blank_nodes(terms: Iterable[Any]) -> bool:
    return any(
        isinstance(term, BlankNode) or (isinstance(term, tuple) and _has_blank_nodes(term))
        for term in terms
    )
