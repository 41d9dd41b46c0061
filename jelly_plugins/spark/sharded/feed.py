"""The changes of a sharded store as patches, one for each version.

A patch is one transaction. Its ``id`` is derived from the id of its version's commit, which is
globally unique, and its ``prev`` is the id of the patch of the version before. A feed that starts
at the empty store starts with a patch without changes; otherwise a first version could be applied
to a store that is not empty. A follower therefore detects which patches were applied and whether
one is missing, with the ordinary rules of patches.

Patches are computed by comparing versions. They are available between any two versions that can be
opened, and need constant memory. Two Oxigraph stores return quads in the same order, which depends
on the quads only. Two shards are therefore read in parallel; where they differ, a lookup in the
other store shows which side has an additional quad. Only the speed depends on that order: every
reported difference was looked up. A shard that has the same store in both versions is not opened.
No Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from uuid import NAMESPACE_OID, UUID, uuid5

from pyoxigraph import Quad

from ...codec import DEFAULT_GRAPH, Iri, Literal, PatchOptions
from ...codec import Quad as GenericQuad
from ...codec.common.conversion import convert
from ...io.sinks import Destination
from ...io.streams import GENERIC
from ...oxigraph.rows import describe_text, row_of
from ...patch.formats import PatchFormat
from ...patch.model import (
    BEGIN,
    COMMIT,
    ID,
    PREV,
    Operation,
    Patch,
    add,
    add_namespace,
    delete,
    delete_namespace,
)
from ...patch.writer import write_patches
from .commits import Commit, CommitLog

if TYPE_CHECKING:
    from .store import ShardedStore

#: The header with the version that a patch leads to.
VERSION: Final = "version"
_INTEGER: Final = "http://www.w3.org/2001/XMLSchema#integer"


#: A quad, and whether it is new.
Difference: TypeAlias = tuple[bool, Quad]


class Step(NamedTuple):
    """The step from one version to the next one that can be opened.

    :ivar before: number of the version before.
    :ivar after: number of the version after.
    """

    before: int
    after: int


def patch_id(commit: Commit) -> str:
    """Return the IRI that is the ``id`` of a version's patch.

    >>> patch_id(Commit(shards=(), id="0c9f5b1e2d3a4f60918273645566778b"))
    'urn:uuid:0c9f5b1e-2d3a-4f60-9182-73645566778b'
    """
    try:
        return UUID(commit.id).urn
    except ValueError:
        # The commit was written by another program.
        return uuid5(NAMESPACE_OID, commit.id).urn


def steps(log: CommitLog, old: Commit, new: Commit) -> list[Step]:
    """Return the steps between two versions; versions that can no longer be opened are skipped.

    :raises ValueError: they are in the wrong order.
    """
    first, last = old.version, new.version
    if last < first:
        raise ValueError(f"from_version {first} must not be after to_version {last}")
    inner = [version for version in log.versions() if first < version < last]
    known = [version for version in inner if log.read(version).readable]
    ends = [last] if last > first else []
    return [Step(*each) for each in pairwise([first, *known, *ends])]


def changes(
    log: CommitLog, wanted: Iterable[Step], at: Callable[[int], ShardedStore]
) -> Iterator[Patch]:
    """Return the patches of steps. They stream: read each one before requesting the next.

    :param at: opens a version.
    :raises RootError: a version can no longer be opened, or cannot be read.
    """
    for step in wanted:
        old = at(step.before)
        new = old.at(step.after)
        before = patch_id(old.commit)
        if not step.before:
            before = _beginning(log)
            yield Patch([BEGIN, COMMIT], _headers(before, 0))
        yield Patch(_operations(old, new), _headers(patch_id(new.commit), step.after, before))


def _beginning(log: CommitLog) -> str:
    """Return the id for the empty version of a store, derived from the id of version 1."""
    first = log.read(1)
    return uuid5(NAMESPACE_OID, f"before {first.id}").urn


def _headers(id_: str, version: int, prev: str | None = None) -> list[tuple[str, Any]]:
    follows = [] if prev is None else [(PREV, Iri(prev))]
    return [(ID, Iri(id_)), *follows, (VERSION, Literal(str(version), None, _INTEGER))]


def _operations(old: ShardedStore, new: ShardedStore) -> Iterator[Operation]:
    yield BEGIN
    yield from _namespaces(old.commit.namespaces, new.commit.namespaces)
    if not _is_resharded(old.commit, new.commit):
        for is_new, quad in differences(old, new):
            yield (add if is_new else delete)(_statement(quad))
    yield COMMIT


def _is_resharded(old: Commit, new: Commit) -> bool:
    """Return whether a version has the same quads as the previous one in other shards."""
    assert old.shards is not None
    assert new.shards is not None
    return (
        new.version == old.version + 1
        and new.restored is None
        and len(new.shards) != len(old.shards)
    )


def _namespaces(
    old: Mapping[str, Mapping[str, str]], new: Mapping[str, Mapping[str, str]]
) -> Iterator[Operation]:
    """Return the operations for namespaces that were bound or unbound."""
    for graph in sorted({*old, *new}):
        before, after = old.get(graph, {}), new.get(graph, {})
        where = _term(graph) if graph else DEFAULT_GRAPH
        for name in sorted(before.keys() - after.keys()):
            yield delete_namespace(name, Iri(before[name]), where)
        for name, iri in sorted(after.items()):
            if before.get(name) != iri:
                yield add_namespace(name, Iri(iri), where)


def _statement(quad: Quad) -> GenericQuad:
    subject, predicate, object_, graph = row_of(quad)
    return GenericQuad(
        _term(subject), _term(predicate), _term(object_), _term(graph) if graph else DEFAULT_GRAPH
    )


def _term(text: str) -> Any:
    return convert(text, GENERIC, describe_text)


def write_changes(
    log: CommitLog,
    wanted: Iterable[Step],
    at: Callable[[int], ShardedStore],
    dst: Destination,
    format: PatchFormat = PatchFormat.JELLY_PATCH,  # noqa: A002
) -> None:
    """Write the patches of steps as a log.

    :param at: opens a version.
    :raises RootError: a version can no longer be opened, or cannot be read.
    """
    # Any statement may have quoted triples.
    options = PatchOptions(rdf_star=True) if format is PatchFormat.JELLY_PATCH else None
    write_patches(changes(log, wanted, at), dst, format=format, options=options)


def newest_after(log: CommitLog, found: Commit, most: int | None, last: Commit) -> Commit:
    """Return the version to which a follower advances from a version.

    :param found: the follower's version.
    :param most: maximum number of versions to advance; None for no maximum.
    :param last: do not advance past this version.
    """
    wanted = [each for each in log.versions() if found.version < each <= last.version]
    if most is None:
        # The newest version can always be opened.
        wanted = wanted[-1:]
    readable = (commit for commit in map(log.read, wanted) if commit.readable)
    for commit in islice(readable, most):
        found = commit
    return found


# Differences between versions


def differences(old: ShardedStore, new: ShardedStore) -> Iterator[Difference]:
    """Return the quads that are in only one of two versions, each once.

    :raises RootError: a store cannot be read.
    """
    if old.layout != new.layout:
        yield from _looked_for(iter(old), old, iter(new), new)
        return
    assert old.commit.shards is not None
    assert new.commit.shards is not None
    for number, (before, after) in enumerate(
        zip(old.commit.shards, new.commit.shards, strict=True)
    ):
        if before.store != after.store:
            yield from _side_by_side(number, old, new)


def _side_by_side(number: int, old: ShardedStore, new: ShardedStore) -> Iterator[Difference]:
    """Return the differences of one shard."""
    olds, news = old.quads_of_shard(number), new.quads_of_shard(number)
    before, after = next(olds, None), next(news, None)
    while before is not None and after is not None:
        if before == after:
            before, after = next(olds, None), next(news, None)
        elif before not in new:
            yield False, before
            before = next(olds, None)
        elif after not in old:
            yield True, after
            after = next(news, None)
        else:
            # The orders differ: compare by lookups only.
            break
    yield from _looked_for(
        chain([before] if before is not None else [], olds),
        old,
        chain([after] if after is not None else [], news),
        new,
    )


def _looked_for(
    olds: Iterator[Quad], old: ShardedStore, news: Iterator[Quad], new: ShardedStore
) -> Iterator[Difference]:
    """Return the quads that only one side has, by lookups, in any order."""
    yield from ((False, quad) for quad in olds if quad not in new)
    yield from ((True, quad) for quad in news if quad not in old)
