"""The patch that makes one graph or dataset into another.

Namespaces are not compared. Memory holds the old statements and what is new.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias, cast, get_args
from typing import Literal as Choice

from ..backends import find_owner
from ..codec import DEFAULT_GRAPH, BlankNode, Iri, Literal, Quad, Triple, describe
from ..codec.common.canonical_labels import canonical_labels
from ..codec.common.terms import parts_of
from ..codec.text.forms import TEXTS, XSD, is_canonical
from ..errors import TermError
from ..formats.convert import read_statements
from ..formats.settings import ConversionSettings
from ..io.sources import Format, Source, format_of, is_source
from ..io.streams import read
from .model import (
    BEGIN,
    COMMIT,
    Operation,
    Patch,
    add,
    add_namespace,
    chain_headers,
    check_nesting,
    delete,
)

#: Labels of blank nodes: canonical for files and kept for all else; or kept; or canonical; or there
#: must be no blank nodes.
BlankNodes: TypeAlias = Choice["auto", "keep", "canonicalize", "reject"]

#: A file in any RDF format, a graph, dataset or store of a backend, or the statements themselves.
Statements: TypeAlias = Source | Iterable[Any]


def diff(
    old: Statements,
    new: Statements,
    *,
    id: Any = None,  # noqa: A002
    prev: Any = None,
    blank_nodes: BlankNodes = "auto",
    base: str | None = None,
    namespaces: Mapping[str, str] | None = None,
) -> Patch:
    """The patch that makes ``old`` into ``new``, in one transaction: subject by subject, and for
    each predicate deletions before additions.

    The patch is minimal: each statement that it deletes is in ``old``, and none that it adds.
    Exceptions are statements that may differ from a deleted one only in the lexical form of a
    literal (``1`` and ``01``, ``en`` and ``EN``). Stores such as Oxigraph hold both as one, so the
    remaining one is also deleted and added again; the same goes for other literals of the same
    datatype if one of the two is not in a usual form. If nothing changed, the patch has no
    operations.
    If either side has quads, the patch has quads, and triples become quads in the default graph.

    :param old: a file, a graph, dataset or store, or statements; see
        :func:`~jelly_plugins.patch.difference.statements_of`.
    :param new: as ``old``.
    :param id: the patch's ``id``, a term.
    :param prev: the patch's ``prev``, a term.
    :param blank_nodes: nodes of the same label are the same node. ``"auto"`` gives the blank nodes
        of files canonical labels, which depend on the statements alone, and keeps those of graphs,
        datasets, stores and statements. ``"keep"`` keeps all labels: right for two dumps of one
        store. ``"canonicalize"`` gives canonical labels to both sides, so that isomorphic sides are
        equal. ``"reject"`` raises an error for a blank node. The patch fits data with the labels of
        ``old``: for canonical ones, a store that was filled with
        ``oxigraph.load(…, blank_nodes="canonicalize")``.
    :param base: IRI that relative ones in files are resolved against; without it they are rejected.
    :param namespaces: namespaces that the patch adds before anything else, IRI by prefix.
    :raises TermError: there is a blank node, and ``blank_nodes`` is ``"reject"``.
    :raises LimitError: blank nodes are too symmetric for canonical labels.
    :raises JellyError: a source cannot be read.

    >>> from jelly_plugins import Iri
    >>> s, p, o = map(Iri, ("urn:s", "urn:p", "urn:o"))
    >>> [operation.kind.code for operation in diff([Triple(s, p, o)], [Triple(s, p, p)])]
    ['TX', 'D', 'A', 'TC']
    """
    if blank_nodes not in get_args(BlankNodes):
        raise ValueError(f"blank_nodes must be one of {get_args(BlankNodes)} (got {blank_nodes!r})")
    are_quads: set[bool] = set()
    # Whether each old statement is in the new ones too.
    kept = dict.fromkeys(_quads(old, base, blank_nodes, are_quads), False)
    added: dict[Quad, None] = {}
    for statement in _quads(new, base, blank_nodes, are_quads):
        if statement in kept:
            kept[statement] = True
        else:
            added[statement] = None
    deleted = [statement for statement, stays in kept.items() if not stays]
    again = _same_values(deleted, (statement for statement, stays in kept.items() if stays))
    # By subject and predicate: what replaces something is next to it, and a writer repeats most
    # terms.
    subjects: dict[Any, dict[Any, list[Operation]]] = {}
    for make, statements in ((delete, (*deleted, *again)), (add, (*added, *again))):
        for quad in statements:
            predicates = subjects.setdefault((quad.graph, quad.subject), {})
            change = make(quad if True in are_quads else Triple._make(quad[:3]))
            predicates.setdefault(quad.predicate, []).append(change)
    changes = [
        row for predicates in subjects.values() for rows in predicates.values() for row in rows
    ]
    graph = DEFAULT_GRAPH if True in are_quads else None
    declared = [add_namespace(name, Iri(iri), graph) for name, iri in (namespaces or {}).items()]
    rows = [BEGIN, *declared, *changes, COMMIT] if changes else []
    return Patch(rows, chain_headers(id, prev))


def _quads(
    source: Statements, base: str | None, blank_nodes: BlankNodes, are_quads: set[bool]
) -> Iterator[Quad]:
    """The statements of a source as quads. ``are_quads`` takes whether there were quads, and
    triples."""
    statements: Iterator[Any] = map(_statement, statements_of(source, base=base))
    if blank_nodes == "canonicalize" or (blank_nodes == "auto" and is_source(source)):
        statements = canonical(statements)
    for statement in statements:
        if isinstance(statement.object, tuple) or isinstance(statement.subject, tuple):
            check_nesting(statement)
        for label in _labels(statement) if blank_nodes == "reject" else ():
            raise TermError(
                f"the blank node _:{label} has no meaning outside its graph: "
                'blank_nodes="keep" keeps its label, "canonicalize" gives it a canonical one'
            )
        are_quads.add(len(statement) == 4)
        yield Quad._make(statement if len(statement) == 4 else (*statement, DEFAULT_GRAPH))


def statements_of(source: Statements, *, base: str | None = None) -> Iterator[Any]:
    """The statements of a source.

    :param source: a path, URL, open binary file or bytes, which are Jelly unless the name ends as
        that of another format; an object of a backend (an rdflib ``Graph``, a pyoxigraph
        ``Store``); or an iterable of statements, which come as they are.
    :param base: IRI that relative ones in a file are resolved against; without it they are
        rejected.
    :return: triples or quads; in generic terms unless they were given as they are.
    """
    if is_source(source):
        form = format_of(source) or Format.JELLY
        return read_statements(source, form, ConversionSettings(base=base))
    backend = find_owner(source)
    if backend is None:
        return iter(cast(Iterable[Any], source))
    # Whatever the backend, what it writes is what it holds.
    data = io.BytesIO()
    backend.dump(source, data)
    return read(data.getvalue())


def _statement(given: Any) -> Triple | Quad:
    terms = parts_of(given, (3, 4), "a statement")
    return Triple._make(terms) if len(terms) == 3 else Quad._make(terms)


def _same_values(deleted: Iterable[Quad], kept: Iterable[Quad]) -> list[Quad]:
    """Those statements of ``kept`` that a store may hold as one with a deleted one, because they
    differ only in the lexical form of literals. Of the forms that a store may change, all of a
    datatype are taken for equal."""
    slots = {(slot, is_changed) for _, slot, is_changed in map(_slot, deleted)}
    if not slots:
        return []
    found = []
    for statement, slot, is_changed in map(_slot, kept):
        if slot is not None and ((slot, True) in slots or (is_changed and (slot, False) in slots)):
            found.append(statement)
    return found


def _slot(quad: Quad) -> tuple[Quad, Any, bool]:
    """A statement; what it has in common with those of the same value, None if it has no literal of
    which there are other forms; and whether a store may change its form."""
    is_changed = False

    def common(terms: Iterable[Any]) -> tuple[Any, ...]:
        nonlocal is_changed
        parts: list[Any] = []
        for term in terms:
            if isinstance(term, Triple):
                parts.append(common(term))
            elif not isinstance(term, Literal):
                parts.append(term)
            elif term.langtag is not None:
                parts.append((term.lex, term.langtag.lower()))
                is_changed = is_changed or not term.langtag.islower()
            elif (
                term.datatype is None or not term.datatype.startswith(XSD) or term.datatype in TEXTS
            ):
                parts.append(term)
            else:
                parts.append(term.datatype)
                is_changed = is_changed or not is_canonical(term.lex, term.datatype)
        return tuple(parts)

    slot = common(quad)
    return quad, None if slot == quad else slot, is_changed


def canonical(statements: Iterable[Any]) -> Iterator[Any]:
    """Give canonical labels to the blank nodes of statements in generic terms, which may change
    their order."""
    held = []
    for statement in statements:
        if has_blank_nodes(statement):
            held.append(statement)
        else:
            yield statement
    labels = canonical_labels(held, describe)
    for statement in held:
        yield relabelled(statement, labels)


def relabelled(statement: Any, labels: dict[str, str]) -> Any:
    return statement._make(
        BlankNode(labels[term.label])
        if isinstance(term, BlankNode)
        else relabelled(term, labels)
        if isinstance(term, Triple)
        else term
        for term in statement
    )


def has_blank_nodes(terms: Iterable[Any]) -> bool:
    """Whether a statement has a blank node, in a quoted triple or outside."""
    return any(True for _ in _labels(terms))


def _labels(terms: Iterable[Any]) -> Iterator[str]:
    for term in terms:
        if isinstance(term, BlankNode):
            yield term.label
        elif isinstance(term, tuple):
            yield from _labels(term)
