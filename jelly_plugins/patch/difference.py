"""The patch that makes one graph or dataset into another.

Namespaces are not compared. Memory holds the old statements and what is new.
"""

from __future__ import annotations

import ctypes
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from itertools import chain
from operator import is_
from typing import Any, Final, TypeAlias, cast, get_args
from typing import Literal as Choice

from ..backends import find_owner
from ..codec import DEFAULT_GRAPH, BlankNode, Iri, Literal, Quad, Triple, describe
from ..codec.common.canonical_labels import canonical_labels
from ..codec.common.terms import parts_of
from ..codec.text.forms import XSD
from ..errors import TermError
from ..formats.settings import ConversionSettings
from ..formats.table import read_statements
from ..io.names import Format, format_of
from ..io.sources import Source, is_source
from ..io.streams import read
from .model import BEGIN, COMMIT, ID, PREV, Operation, Patch, add, add_namespace, delete

#: Labels of blank nodes: canonical for files and kept for all else; or kept; or canonical; or there
#: must be no blank nodes.
BlankNodes: TypeAlias = Choice["auto", "keep", "canonicalize", "reject"]

#: A file in any RDF format, a graph, dataset or store of a backend, or the statements themselves.
Statements: TypeAlias = Source | Iterable[Any]

_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)")
_TIMES: Final = frozenset(
    (
        "dateTime",
        "dateTimeStamp",
        "date",
        "time",
        "gYear",
        "gYearMonth",
        "gMonth",
        "gMonthDay",
        "gDay",
        "duration",
        "yearMonthDuration",
        "dayTimeDuration",
    )
)


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
    Exceptions are statements that differ from a deleted one only in the lexical form of a literal
    (``1`` and ``01``, ``en`` and ``EN``). Stores such as Oxigraph hold both as one, so the
    remaining one is also deleted and added again. If nothing changed, the patch has no operations.
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
    quads: set[bool] = set()
    # Whether each old statement is in the new ones too.
    kept = dict.fromkeys(_quads(old, base, blank_nodes, quads), False)
    added: dict[Quad, None] = {}
    for statement in _quads(new, base, blank_nodes, quads):
        if statement in kept:
            kept[statement] = True
        else:
            added[statement] = None
    deleted = [statement for statement, stays in kept.items() if not stays]
    values = set(map(_by_value, deleted)) - set(deleted)
    if values:
        again = [each for each, stays in kept.items() if stays and _by_value(each) in values]
        deleted += again
        added |= dict.fromkeys(again)
    made: Callable[[Quad], Any] = (lambda quad: quad) if True in quads else _triple
    changes = [
        change(made(statement))
        for change, statement in _in_runs(
            chain(((delete, each) for each in deleted), ((add, each) for each in added))
        )
    ]
    graph = DEFAULT_GRAPH if True in quads else None
    declared = [add_namespace(name, Iri(iri), graph) for name, iri in (namespaces or {}).items()]
    headers = [(key, term) for key, term in ((ID, id), (PREV, prev)) if term is not None]
    return Patch([BEGIN, *declared, *changes, COMMIT] if changes else [], headers)


def _quads(
    source: Statements, base: str | None, blank_nodes: BlankNodes, quads: set[bool]
) -> Iterator[Quad]:
    """The statements of a source as quads.

    :param quads: takes whether there were quads, and whether there were triples.
    """
    statements: Iterator[Any] = map(_statement, statements_of(source, base=base))
    if blank_nodes == "canonicalize" or (blank_nodes == "auto" and is_source(source)):
        statements = canonical(statements)
    for statement in statements:
        if blank_nodes == "reject":
            _reject_blank_nodes(statement)
        if len(statement) == 4:
            quads.add(True)
            yield Quad._make(statement)
        else:
            quads.add(False)
            yield Quad._make((*statement, DEFAULT_GRAPH))


def statements_of(source: Statements, *, base: str | None = None) -> Iterator[Any]:
    """The statements of a source.

    :param source: a path, URL, open binary file or bytes, which are Jelly unless the name ends as
        that of another format; an object of a backend (an rdflib ``Graph``, a pyoxigraph
        ``Store``); or an iterable of statements, which come as they are.
    :param base: IRI that relative ones in a file are resolved against; without it they are
        rejected.
    :return: triples or quads; in generic terms unless they were given as they are.
    :raises JellyError: the source cannot be read.
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


def _in_runs(
    changes: Iterable[tuple[Callable[[Any], Operation], Quad]],
) -> Iterator[tuple[Callable[[Any], Operation], Quad]]:
    """Changes with those of each subject together, and among them those of each predicate: what
    replaces something is next to it, and a writer repeats most terms."""
    subjects: dict[Any, dict[Any, list[Any]]] = {}
    for change, quad in changes:
        predicates = subjects.setdefault((quad.graph, quad.subject), {})
        predicates.setdefault(quad.predicate, []).append((change, quad))
    for predicates in subjects.values():
        for run in predicates.values():
            yield from run


def _by_value(statement: Any) -> Any:
    """A statement with the values of its literals in their place; itself if there are none whose
    lexical forms a store may change."""
    parts = [
        _value(part)
        if isinstance(part, Literal)
        else _by_value(part)
        if isinstance(part, Triple)
        else part
        for part in statement
    ]
    return statement if all(map(is_, parts, statement)) else tuple(parts)


def _value(literal: Literal) -> Any:
    """The value of a literal, which literals of other values may have, too: all times of a datatype
    are taken for equal, and all durations."""
    if literal.langtag is not None:
        return literal.lex, literal.langtag.lower()
    name = (literal.datatype or "").removeprefix(XSD)
    if literal.datatype is None or name == literal.datatype:
        return literal
    if name in _TIMES:
        return None, name
    value: Any = literal.lex
    if name in ("float", "double"):
        with suppress(ValueError):
            value = float(value)
    elif name == "boolean":
        value = {"1": "true", "0": "false"}.get(value, value)
    elif _DECIMAL.fullmatch(value):
        value = Decimal(value)
    if name == "float" and isinstance(value, float):
        # Single precision, in which more are equal.
        value = ctypes.c_float(value).value
    # What is not equal to itself is never found.
    return "NaN" if value != value else value, name


def _triple(quad: Quad) -> Triple:
    return Triple._make(quad[:3])


def _reject_blank_nodes(terms: Iterable[Any]) -> None:
    for term in terms:
        if isinstance(term, BlankNode):
            raise TermError(
                f"the blank node _:{term.label} has no meaning outside its graph: "
                'blank_nodes="keep" keeps its label, "canonicalize" gives it a canonical one'
            )
        if isinstance(term, tuple):
            _reject_blank_nodes(term)


def canonical(statements: Iterable[Any]) -> Iterator[Any]:
    """Give canonical labels to the blank nodes of statements, which may change their order.

    :param statements: in generic terms.
    :raises LimitError: the blank nodes are too symmetric.
    """
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
    """A statement with other labels for its blank nodes, in quoted triples too."""
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
    return any(
        isinstance(term, BlankNode) or (isinstance(term, tuple) and has_blank_nodes(term))
        for term in terms
    )
