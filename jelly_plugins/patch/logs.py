"""Logs as wholes: compacted, inverted, checked, converted.

Patches of a log are counted from 1. One without an ``id`` that changes nothing (a keepalive) is
counted too, and none follows it: the next one follows the one before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import itemgetter
from typing import Any, Final, NamedTuple, Unpack

from ..codec import DEFAULT_GRAPH, DEFAULT_LIMITS, Limits, PatchOptions, PatchStatementType, Quad
from ..codec.common.options import TABLES
from ..codec.common.terms import parts_of as items_of
from ..codec.patch.operations import (
    BEGIN,
    CHANGES,
    COMMIT,
    ID,
    PREV,
    STATEMENTS,
    AnyOperation,
    Operation,
    OperationKind,
    add,
    add_namespace,
    delete,
    delete_namespace,
)
from ..codec.text.ntriples import Notation, term_text
from ..errors import ChainError, JellyError, OrderError, StatementError, shown
from ..io.sinks import Destination
from ..io.sources import Source
from ..notebook import Shown
from .formats import PatchFormat, PatchOptionChanges, format_named
from .model import Patch, chain_headers, check_nesting, check_patches, group, new_id
from .reader import PatchReader, ReadOptions
from .rows import PatchOrder
from .writer import format_for, inferred, rows_of, write_rows

_BOUNDS: Final = (OperationKind.BEGIN, OperationKind.COMMIT, OperationKind.ABORT)
_ADDS: Final = (OperationKind.ADD, OperationKind.ADD_NAMESPACE)
_UNCHANGED: Final = PatchOptionChanges()


class Chain:
    """The patches of a log in order, each of which follows the one before it."""

    def __init__(self) -> None:
        self.last: Any = None
        self._number = 0
        #: The first patch may follow any, but none that comes later.
        self._first: Patch | None = None

    def follow(self, patch: Patch, *, changes: bool) -> bool:
        """Take the next patch; return whether others can follow it. If not, it is a keepalive:
        without an id and ``changes``."""
        self._number += 1
        first = self._first or patch
        if patch.id is not None and patch.id == first.prev:
            name = term_text(patch.id)
            raise ChainError(
                f"patch {name}: the first patch of the log follows it", found=name
            ).locate(source=patch.source)
        if first is not patch and patch.prev is not None and patch.prev != self.last:
            name = f"number {self._number}" if patch.id is None else term_text(patch.id)
            found = term_text(patch.prev)
            expected = None if self.last is None else term_text(self.last)
            before = "has no id" if expected is None else f"is {expected}"
            raise ChainError(
                f"patch {name}: it follows patch {found}, but the one before it {before}",
                expected=expected,
                found=found,
            ).locate(source=patch.source)
        if patch.id is None and not changes:
            return False
        self._first = first
        self.last = patch.id
        return True


# Operations


def parts_of(operations: Iterable[Operation]) -> Iterator[tuple[bool, list[Operation]]]:
    """The operations of each transaction of a patch, and those between two, without the rows that
    start and end it; and whether they were in a transaction. Nothing comes of an aborted one."""
    order = PatchOrder()
    part: list[Operation] = []
    for operation in operations:
        inside = order.inside_transaction
        order.take(operation)
        if operation.kind not in _BOUNDS:
            part.append(operation)
            continue
        if part and operation.kind is not OperationKind.ABORT:
            yield inside, part
        part = []
    if order.inside_transaction:
        raise OrderError("a patch ends inside a transaction")
    if part:
        yield False, part


def committed(operations: Iterable[Operation]) -> Iterator[Operation]:
    """The operations of a patch that have an effect."""
    for _, part in parts_of(operations):
        yield from part


def subject_of(operation: AnyOperation) -> tuple[Any, ...]:
    """What an operation is about: the statement, or the name of the namespace in its graph."""
    kind, value = operation
    if kind in STATEMENTS:
        # A triple is the same statement as a quad in the default graph.
        terms = value if type(value) is Quad else items_of(value, (3, 4), "a statement")
        s, p, o, g = terms if len(terms) == 4 else (*terms, DEFAULT_GRAPH)
        if isinstance(o, tuple) or isinstance(s, tuple) or isinstance(p, tuple):
            check_nesting((s, p, o))
        return s, p, o, g
    # A name is bound once in each graph, whatever its IRI.
    name, _, graph = value
    return (None, name, DEFAULT_GRAPH if graph is None else graph)


def effective(
    operations: Iterable[AnyOperation], last: dict[Any, AnyOperation]
) -> Iterator[AnyOperation]:
    """Those operations that do not repeat earlier ones, of which ``last`` keeps the last on each
    subject. One that binds the name of a namespace again comes after one that deletes the earlier
    binding."""
    for operation in operations:
        kind, value = operation
        subject = subject_of(operation)
        before = last.get(subject)
        last[subject] = operation
        if before is None:
            yield operation
        elif kind in STATEMENTS:
            if before.kind is not kind:
                yield operation
        else:
            name, iri, graph = value
            is_bound = before.kind is OperationKind.ADD_NAMESPACE
            adds = kind is OperationKind.ADD_NAMESPACE
            if is_bound and adds and before.value[1] == iri:
                continue
            if is_bound:
                yield delete_namespace(name, before.value[1], graph)
            if adds:
                yield operation


def reverse_of(operation: AnyOperation) -> AnyOperation:
    """The operation that undoes one."""
    kind, value = operation
    if kind is OperationKind.ADD:
        return delete(value)
    if kind is OperationKind.DELETE:
        return add(value)
    name, iri, graph = value
    if kind is OperationKind.ADD_NAMESPACE:
        return delete_namespace(name, iri, graph)
    if iri is None:
        raise StatementError(
            f"the namespace {name}: is deleted without its IRI, so that it cannot be added again"
        )
    return add_namespace(name, iri, graph)


# Patches and logs


def compact(patches: Iterable[Patch], *, exact: bool = False) -> Patch:
    """One patch, in one transaction, that leaves what ``patches`` leave when applied in order.

    Of the operations on one statement the last counts; the same goes for a namespace's name in its
    graph. Aborted transactions did nothing, and are left out; so are patches without an ``id`` that
    change nothing (keepalives), which nothing follows. The result follows what the first
    patch follows and can replace the last: it has the ``prev`` of the one and the ``id`` of the
    other, and no other headers. Its memory is that of the statements which the patches touch.

    :param patches: in order; those that stream are read as they go.
    :param exact: whether each addition added something and each deletion deleted something, as in
        patches that were recorded or made by :func:`~jelly_plugins.patch.diff`. A statement that
        is added and deleted again is left out then, and so is one that is deleted and added again.
        Without it, the last operation is kept, which is right whatever there was before.
    :raises OrderError: transactions are not in order.
    :raises ChainError: a patch's ``prev`` is not the ``id`` of the patch before it, or the first
        patch follows a later one.
    :raises TypeError: it is one patch, or a path.

    >>> from jelly_plugins import Iri, Triple
    >>> from jelly_plugins.patch import add, delete
    >>> statement = Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))
    >>> log = [Patch([add(statement)]), Patch([delete(statement)])]
    >>> compact(log).operations == [BEGIN, delete(statement), COMMIT], compact(log, exact=True)
    (True, <Patch of 0 operations; no headers>)
    """
    check_patches(patches)
    # The first and the last operation on each thing, in the order of the first.
    ends: dict[Any, tuple[AnyOperation, AnyOperation]] = {}
    known = Chain()
    of_log: list[Patch] = []
    for patch in patches:
        changes = False
        for operation in committed(patch):
            key = subject_of(operation)
            ends[key] = (ends.get(key, (operation,))[0], operation)
            changes = True
        # The operations may have brought headers of their own.
        if known.follow(patch, changes=changes):
            of_log = [*of_log[:1], patch]
    if not of_log:
        return Patch()
    operations: list[AnyOperation] = []
    for opening, closing in ends.values():
        differ = exact and opening.kind is not closing.kind
        if differ and closing.kind is OperationKind.ADD_NAMESPACE:
            # The binding that was replaced, so that the result can be inverted.
            operations.append(opening)
        if not differ or closing.kind not in STATEMENTS:
            operations.append(closing)
    # Deletions, then additions.
    operations.sort(key=lambda operation: operation.kind in _ADDS)
    rows = [BEGIN, *operations, COMMIT] if operations else []
    return Patch(rows, chain_headers(of_log[-1].id, of_log[0].prev))


def invert(patch: Patch, *, id: Any = None) -> Patch:  # noqa: A002
    """The patch that undoes ``patch``: its operations from the last to the first, each reversed.

    The inverse restores the old data if each addition added something and each deletion deleted
    something, as in patches that were recorded or made by :func:`~jelly_plugins.patch.diff`.
    Operations that repeat an earlier one of the patch are left out; others that change nothing are
    not detected. Transactions stay transactions; aborted ones did nothing, and are left out. Of the
    headers, the inverse has ``prev``, the ``id`` of ``patch``, which it follows.

    A log of several patches is undone from its end: by ``jelly patch invert``, or as one patch by
    ``invert(compact(patches, exact=True))``. Their inverses in the old order are not a log.

    :param id: the ``id`` of the inverse, a term.
    :raises StatementError: a namespace is deleted without its IRI, and the patch does not contain
        it.
    :raises OrderError: the patch's transactions are not in order.
    :raises TypeError: it is not a Patch.

    >>> from jelly_plugins import Iri, Triple
    >>> statement = Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))
    >>> [operation.kind.code for operation in invert(Patch([BEGIN, add(statement), COMMIT]))]
    ['TX', 'D', 'TC']
    """
    if not isinstance(patch, Patch):
        raise TypeError(f"a Patch is needed, not {shown(patch)}; read_patches(path) reads a log")
    operations = _inverse(parts_of(patch), {})
    return Patch(operations, chain_headers(id, patch.id))


def _inverse(
    parts: Iterable[tuple[bool, list[Operation]]], last: dict[Any, AnyOperation]
) -> list[Operation]:
    """The operations that undo those of a patch."""
    inverse: list[Operation] = []
    for in_transaction, operations in parts:
        undone = list(map(reverse_of, effective(operations, last)))
        # From the last to the first: the start comes last for now.
        inverse += [COMMIT, *undone, BEGIN] if in_transaction and undone else undone
    inverse.reverse()
    return inverse


def invert_log(patches: Iterable[Patch]) -> list[Patch]:
    """The log that undoes a log: the inverse of each patch, the last one first, with a new ``id``;
    the first one follows the last patch of the log. Operations that repeat one of an earlier patch
    are left out. Memory holds the inverse, and what the log touches."""
    known = Chain()
    last: dict[Any, AnyOperation] = {}
    inverses: list[list[Operation]] = []
    for patch in patches:
        parts = list(parts_of(patch))
        if known.follow(patch, changes=bool(parts)):
            inverses.append(_inverse(parts, last))
    inverted: list[Patch] = []
    prev = known.last
    for operations in reversed(inverses):
        made = new_id()
        inverted.append(Patch(operations, chain_headers(made, prev)))
        prev = made
    return inverted


# Checking


class Problem(NamedTuple):
    """Something wrong with a log.

    :ivar patch: number of the patch in the log, from 1.
    """

    patch: int
    message: str


@dataclass(slots=True)
class Report(Shown):
    """What :func:`check` has found.

    :ivar format: the log's format; None if unknown.
    :ivar patches: number of patches that are complete.
    :ivar rows: number of rows of each kind, headers included.
    :ivar first_id: ``id`` of the first patch, None without one.
    :ivar first_prev: ``prev`` of the first patch: what the log follows.
    :ivar last_id: ``id`` of the last patch that is complete: the log's head.
    :ivar problems: in the order in which they were found. Reading stops at what is malformed.
    :ivar deviations: deviations from the specification that have one sensible reading, which was
        used: the first occurrence of each kind.
    """

    format: PatchFormat | None = None
    patches: int = 0
    rows: Counter[OperationKind] = field(default_factory=Counter)
    first_id: Any = None
    first_prev: Any = None
    last_id: Any = None
    problems: list[Problem] = field(default_factory=list)
    deviations: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return not self.problems


def check(src: Source, **settings: Unpack[ReadOptions]) -> Report:
    """Read a log, and look whether its patches follow each other.

    A log of patches without ``id`` and ``prev`` is in order. Once a patch has an ``id``, those that
    follow have one of their own, and a ``prev``, the ``id`` of the patch before. Patches without
    ``id`` that change nothing do not count.

    :param src: path, URL, open binary file or bytes.
    :param settings: see :class:`~jelly_plugins.patch.PatchReader`. With ``strict``, a deviation is
        a problem.
    :return: the report; true if there are no problems.
    :raises SourceError: the source cannot be opened. One that breaks off or is corrupt has a
        problem.

    >>> check(b"H id <urn:1> . Z . H id <urn:2> . H prev <urn:3> . Z .").problems[0].message
    'prev is <urn:3>, but the patch before is <urn:1>'
    """
    report = Report()
    # A log that cannot be opened is an error, not a problem of the log.
    reader = PatchReader(src, **settings)
    # The last patch that is not a keepalive, and the numbers of those with an id.
    last: Patch | None = None
    numbers: dict[Any, int] = {}
    try:
        with reader:
            for number, patch in enumerate(group(reader), 1):
                before = report.rows.copy()
                report.rows.update(map(itemgetter(0), patch.rows()))
                report.patches = number
                changes = report.rows - before
                if patch.id is None and CHANGES.isdisjoint(changes):
                    continue
                report.problems += [
                    Problem(number, each) for each in _problems(patch, last, numbers)
                ]
                if last is None:
                    report.first_id, report.first_prev = patch.id, patch.prev
                report.last_id = patch.id
                last = patch
                if patch.id is not None:
                    numbers.setdefault(patch.id, number)
    except JellyError as error:
        report.problems.append(Problem(report.patches + 1, str(error)))
    report.format = reader.format
    report.deviations = [str(error) for error in reader.deviations]
    return report


def _problems(patch: Patch, last: Patch | None, numbers: Mapping[Any, int]) -> Iterator[str]:
    """What is wrong with the ids of a patch."""
    keys = Counter(each.chain_key for each in patch.headers)
    yield from (f"{keys[key]} headers {key}" for key in (ID, PREV) if keys[key] > 1)
    if last is not None:
        if patch.prev is None:
            if numbers or patch.id is not None:
                yield "no prev"
        elif patch.prev != last.id:
            before = "has no id" if last.id is None else f"is {term_text(last.id)}"
            yield f"prev is {term_text(patch.prev)}, but the patch before {before}"
        if patch.id is None and numbers:
            yield "no id"
    if patch.id is not None:
        if patch.prev == patch.id:
            yield f"prev is the patch's own id, {term_text(patch.id)}"
        if patch.id in numbers:
            yield f"the id {term_text(patch.id)} is that of patch {numbers[patch.id]} too"


# Conversion


def convert(
    sources: Sequence[Source],
    dst: Destination,
    *,
    source_format: PatchFormat | str | None = None,
    target_format: PatchFormat | str | None = None,
    changes: PatchOptionChanges = _UNCHANGED,
    notation: Notation | str = Notation.RDF_1_2,
    strict: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> None:
    """Write a log, or several as one, as Jelly-Patch or as RDF Patch text.

    The rows are kept as they are, and labels of blank nodes too. Several logs become one, in their
    order; a patch that names another one before it than the last one with an ``id`` is an error.
    The Jelly-Patch stream written has the options of those read. Text becomes quads, unless
    ``changes`` say that it is triples, in a stream that may have quoted triples if it is longer
    than 1,000 rows.

    :param sources: paths, URLs, open binary files or bytes.
    :param source_format: by default detected from each source's content.
    :param target_format: by default detected from the destination's name.
    :param changes: options of the stream written.
    :param notation: of quoted triples in text.
    :param strict: whether to reject known deviations of other implementations; see
        :class:`~jelly_plugins.patch.PatchReader`.

    >>> import io
    >>> file = io.BytesIO()
    >>> logs = [b"H id <urn:1> . Z .", b"D <urn:s> <urn:p> <urn:o> ."]
    >>> convert(logs, file, target_format=PatchFormat.JELLY_PATCH)
    >>> [len(patch.operations) for patch in group(PatchReader(file.getvalue()))]
    [0, 1]
    """
    with ExitStack() as stack:
        readers = [
            stack.enter_context(
                PatchReader(
                    source,
                    format=source_format,
                    statement_type=changes.statement_type or PatchStatementType.QUADS,
                    generalized=bool(changes.generalized_statements),
                    strict=strict,
                    limits=limits,
                )
            )
            for source in sources
        ]
        guessed, logs = zip(*map(inferred, map(iter, readers)), strict=True)
        known = [reader.options or guess for reader, guess in zip(readers, guessed, strict=True)]
        options = changes.on(_common(known))
        names = [reader.name for reader in readers]
        form = format_named(target_format) or format_for(dst)
        if form is not PatchFormat.JELLY_PATCH:
            # It cannot declare them.
            is_generalized = bool(changes.generalized_statements)
            options = replace(options, generalized_statements=is_generalized)
        write_rows(
            # Each log by itself: one that ends inside a patch is not continued by the next.
            logs[0]
            if len(logs) == 1
            else rows_of(_following(chain.from_iterable(map(group, logs, names)))),
            dst,
            format=form,
            options=options,
            notation=notation,
            limits=limits,
        )


def _following(patches: Iterable[Patch]) -> Iterator[Patch]:
    known = Chain()
    for patch in patches:
        known.follow(patch, changes=False)
        yield patch


def _common(known: Sequence[PatchOptions]) -> PatchOptions:
    """Options under which everything can be said that can be said under each of some."""
    if len(known) == 1:
        return known[0]
    triples = all(each.statement_type is PatchStatementType.TRIPLES for each in known)
    tables: dict[str, Any] = {name: max(getattr(each, name) for each in known) for name in TABLES}
    return PatchOptions(
        statement_type=PatchStatementType.TRIPLES if triples else PatchStatementType.QUADS,
        generalized_statements=any(each.generalized_statements for each in known),
        rdf_star=any(each.rdf_star for each in known),
        **tables,
    )
