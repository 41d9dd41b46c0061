"""Read a version of a sharded store: its quads, and answers to queries; and restore versions,
remove what is no longer needed, and check stores. No Spark.

Shards are opened in this process, read-only, when they are first used, and stay open as long as the
object exists.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit
from weakref import finalize

import pyarrow as pa
import pyarrow.compute as pc
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Store, Triple

from ...arrow import QUADS
from ...codec import DEFAULT_LIMITS, Limits, LogicalType, PhysicalType, StreamOptions
from ...codec.common.positions import POSITIONS
from ...codec.common.terms import convert
from ...errors import JellyError, OptionsError, TermError
from ...io.sinks import Destination
from ...notebook import Shown
from ...oxigraph.dumping import lines_of, write_quads
from ...oxigraph.rows import TERMS, describe_text, graph_text, text_of
from ...oxigraph.terms import GraphName, describe_directed
from ...sparql import ResultsFormat, write_results
from .queries import Scope, scope_of
from .root import (
    CommitConflictError,
    Folder,
    RootError,
    Shard,
    Storage,
    Version,
    commit,
    every,
    find,
    root_errors,
    shard_of,
    version_file,
    whole_number,
)

_QUADS: Final = StreamOptions(
    physical_type=PhysicalType.QUADS, logical_type=LogicalType.FLAT_QUADS, rdf_star=True
)
#: A line of N-Quads as Oxigraph writes it. Literals and triple terms have spaces, but cannot end
#: with what a graph may be.
_LINE: Final = (
    r"^(?P<subject>\S+) (?P<predicate>\S+) (?P<object>.+?)"
    r'(?: (?P<graph><[^<>"\s]*>|_:[^\s"]+))? \.$'
)
#: Default number of versions that a vacuum keeps, and for how long it keeps others.
DEFAULT_KEEP: Final = 10
DEFAULT_GRACE: Final = timedelta(days=1)
#: A root, as callers give it: a path, a ``file:`` URL, or the URL of a folder in a bucket.
AnyRoot: TypeAlias = str | os.PathLike[str]


def storage_at(root: AnyRoot | Storage, options: Mapping[str, Any] | None = None) -> Storage:
    """Return the storage of a root.

    :param options: settings of a bucket.
    """
    if not isinstance(root, str | os.PathLike):
        if not hasattr(root, "versions"):
            raise TypeError(f"root must be a path or a URL (got {root!r})")
        return root
    text = os.fspath(root)
    if "://" in text and not text.startswith("file:"):
        from .bucket import Bucket

        return Bucket(text, options or {})
    if options:
        raise OptionsError("storage_options are for buckets, and the root is a folder", source=text)
    if text.startswith("file:"):
        parts = urlsplit(text)
        if parts.netloc not in ("", "localhost"):
            raise RootError("a file: URL must not name a host", source=text)
        text = unquote(parts.path)
    if not text:
        raise RootError("the root must not be empty")
    return Folder(Path(text).absolute())


@contextmanager
def reading(storage: Storage, shard: Shard) -> Iterator[Store]:
    """Open the store of a shard that is not empty."""
    with storage.open(shard) as folder, root_errors(f"{shard.store} cannot be read", storage.name):
        yield Store.read_only(str(folder))


class ShardedStore:
    """One version of a sharded store; later versions do not change it.

    Iterating over it yields its quads, and ``len()`` returns their number.

    :param root: its folder, or the URL of a folder in a bucket: ``s3://``, ``gs://``, ``az://``.
    :param version: the version to open; by default the newest.
    :param storage_options: settings and credentials of a bucket, see docs/buckets.md; missing ones
        come from the environment.
    :raises RootError: the store or the version does not exist, or the version was vacuumed.
    :raises TypeError, ValueError: the version is not a whole number.

    :ivar content: the version: its shards, positions in logs, batches and namespaces.
    """

    def __init__(
        self,
        root: AnyRoot,
        version: int | None = None,
        *,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        if version is not None:
            version = whole_number("version", version)
        self._storage: Final = storage_at(root, storage_options)
        self.content: Final[Version] = find(self._storage, version)
        self._stores: Final[dict[int, Store]] = {}
        self._opened: Final = ExitStack()
        # The stores close before the folders that were fetched for them are removed.
        finalize(self, _close, self._stores, self._opened)

    @property
    def root(self) -> str:
        """The root: the path of a folder, or a URL."""
        return self._storage.name

    @property
    def version(self) -> int:
        """Number of the open version."""
        return self.content.number

    def versions(self) -> list[Version]:
        """Return all versions that were not vacuumed, the newest first.

        :raises RootError: the file of a version is damaged.
        """
        return every(self._storage)

    # Quads

    def __len__(self) -> int:
        return self.content.quads

    def __iter__(self) -> Iterator[Quad]:
        return self.quads_for_pattern(None, None, None)

    def __contains__(self, quad: Quad) -> bool:
        return any(True for _ in self.quads_for_pattern(*quad))

    def shard(self, number: int) -> Store | None:
        """Return one of the shards, open read-only; None if it is empty.

        It can be read as long as this object exists, which keeps the files fetched from a bucket.

        :raises IndexError: the store does not have so many shards.
        :raises RootError: its store does not exist, or is damaged.
        """
        shards = self.content.shards
        if not 0 <= number < len(shards):
            raise IndexError(f"number must be from 0 to {len(shards) - 1} (got {number})")
        shard = shards[number]
        if shard.store is None:
            return None
        if number not in self._stores:
            with ExitStack() as opened:
                self._stores[number] = opened.enter_context(reading(self._storage, shard))
                self._opened.push(opened.pop_all())
        return self._stores[number]

    def quads_for_pattern(
        self,
        subject: NamedNode | BlankNode | None,
        predicate: NamedNode | None,
        object: NamedNode | BlankNode | Literal | Triple | None,  # noqa: A002
        graph_name: GraphName | None = None,
    ) -> Iterator[Quad]:
        """Return the quads that match a pattern, see ``pyoxigraph.Store.quads_for_pattern``.

        If the term that determines the shard is given, only that shard is opened.

        :raises RootError: a store does not exist, or is damaged.
        """
        key = subject if self.content.shard_by == "subject" else graph_name
        for store in self._shards(None if key is None else graph_text(key)):
            with self._reading():
                yield from store.quads_for_pattern(subject, predicate, object, graph_name)

    def _shards(self, key: str | None) -> Iterator[Store]:
        """Return the shards that are not empty, or that of a key."""
        count = len(self.content.shards)
        numbers = range(count) if key is None else (shard_of(key, count),)
        return (store for number in numbers if (store := self.shard(number)) is not None)

    def _reading(self) -> Any:
        return root_errors(f"version {self.version} cannot be read", self._storage.name)

    # Queries

    def select(self, query: str) -> Iterator[dict[str, str | None]]:
        """Return the solutions of a SELECT query that each shard can answer independently.

        With shards by subject, these are queries about one subject at a time: all triple patterns
        have the same subject, a variable or a term. With shards by graph, all are in the same
        graph. FILTER, BIND, OPTIONAL, MINUS and UNION are supported within that, and property paths
        with shards by graph. Operations on all solutions are not: apply DISTINCT, ORDER BY, LIMIT
        and aggregates to the result. VALUES, EXISTS, FROM, SERVICE, BASE, NOW() and escapes such as
        ``\\u0041`` are not supported either. Other queries are rejected; the solutions of a
        supported query equal those of a single store with all quads. For any other query, read the
        format ``jelly-store`` with Spark SQL, or query each :meth:`shard`.

        :param query: SPARQL 1.1.
        :return: for each solution the terms in the syntax of N-Triples by the names of variables;
            None for an unbound variable. Equal solutions may repeat.
        :raises QueryError: shards cannot answer the query independently, or it is not well-formed.
        """
        scope = scope_of(query, self.content.shard_by)
        for solution in self._solutions(query, scope):
            terms = zip(scope.variables, solution, strict=True)
            yield {name: None if term is None else text_of(term) for name, term in terms}

    def write_solutions(
        self,
        query: str,
        dst: Destination,
        *,
        format: ResultsFormat | str | None = None,  # noqa: A002
        **settings: Any,
    ) -> int:
        """Write the solutions of a SELECT query with :func:`~jelly_plugins.sparql.write_results`.

        :param query: see :meth:`select`.
        :param dst: where to write.
        :param format: format of the results.
        :param settings: other settings of :func:`~jelly_plugins.sparql.write_results`.
        :return: the number of solutions.
        :raises QueryError: shards cannot answer the query independently, or it is not well-formed.
        """
        scope = scope_of(query, self.content.shard_by)
        settings = {"format": format, "describe": describe_directed, **settings}
        return write_results(scope.variables, self._solutions(query, scope), dst, **settings)

    def _solutions(self, query: str, scope: Scope) -> Iterator[tuple[Any, ...]]:
        for store in self._shards(scope.key):
            with self._reading():
                found: Any = store.query(query)
                yield from map(tuple, found)

    # The whole version

    def dump(self, dst: Destination, *, limits: Limits = DEFAULT_LIMITS) -> int:
        """Write all quads as a delimited Jelly-RDF stream, shard by shard, in constant memory.

        Labels of blank nodes are kept, since they are shared by all shards.

        :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. An existing
            file is replaced only after everything is written.
        :param limits: limits of the encoder.
        :return: number of quads written.
        :raises JellyError: a term cannot be expressed in Jelly.
        """
        return write_quads(self, dst, options=_QUADS, limits=limits)


def _close(stores: dict[int, Store], opened: ExitStack) -> None:
    stores.clear()
    opened.close()


# Stores as columns


def pattern_of(conditions: Mapping[str, str]) -> tuple[Any, ...]:
    """Return the arguments of ``Store.quads_for_pattern`` for conditions: text of the term by name
    of the position; empty for the default graph."""
    pattern = [
        convert(conditions[name], TERMS, describe_text) if name in conditions else None
        for name in POSITIONS
    ]
    try:
        Store().quads_for_pattern(*pattern)
    except TypeError as error:
        raise TermError(f"no quad of a store has these terms: {dict(conditions)}") from error
    return tuple(pattern)


def scan(store: Store, pattern: tuple[Any, ...]) -> Iterator[pa.RecordBatch]:
    """Return the quads of a store that match a pattern, as batches with the schema of
    :data:`jelly_plugins.arrow.QUADS`, in constant memory.

    Oxigraph writes each term as the format ``jelly`` does, so that its lines are only divided.
    """
    for text in lines_of(store.quads_for_pattern(*pattern), RdfFormat.N_QUADS):
        # Not splitlines(), which also divides at other characters.
        found = pc.extract_regex(pa.array(text.decode().rstrip("\n").split("\n")), _LINE)
        columns = [pc.struct_field(found, name) for name in POSITIONS]
        columns[3] = pc.if_else(pc.equal(columns[3], ""), None, columns[3])
        yield pa.RecordBatch.from_arrays(columns, schema=QUADS)


# Upkeep


@dataclass(frozen=True, slots=True)
class Vacuumed(Shown):
    """What a vacuum has removed.

    :ivar versions: numbers of the versions.
    :ivar stores: names of stores, or of objects in a bucket, relative to the root.
    """

    versions: tuple[int, ...]
    stores: tuple[str, ...]


def restore(
    root: AnyRoot, version: int, *, storage_options: Mapping[str, Any] | None = None
) -> Version:
    """Create a version with the quads, namespaces and positions in logs of an earlier one.

    No store is copied. A log that is given again is applied from its position in that version. The
    numbers of batches stay those of the newest version, so that a streaming query continues.

    :param root: see :class:`.ShardedStore`, and for ``storage_options``.
    :param version: number of the version.
    :return: the new version.
    :raises RootError: the version does not exist, or was vacuumed.
    :raises CommitConflictError: another writer has committed first; nothing was changed.
    """
    storage = storage_at(root, storage_options)
    number = whole_number("version", version)
    # In this order: a vacuum that removes the old version makes a newer one than this.
    now = find(storage)
    old = find(storage, number)
    return commit(storage, now, replace(old, batches=now.batches, restored=number))


def vacuum(
    root: AnyRoot,
    *,
    keep: int = DEFAULT_KEEP,
    grace: timedelta = DEFAULT_GRACE,
    dry_run: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> Vacuumed:
    """Remove old versions, stores that only these need, and remains of failed attempts.

    Before it removes stores, this creates a version with the content of the newest one: attempts
    that have begun before can then no longer commit what is removed, and start again.

    :param root: see :class:`.ShardedStore`, and for ``storage_options``.
    :param keep: number of versions to keep, the newest ones; at least 1.
    :param grace: nothing is removed that was written, or was the newest version, within this time.
        It must be longer than any reader keeps a version open.
    :param dry_run: remove nothing, and return what would be removed.
    :return: what was removed.
    :raises TypeError, ValueError: a setting has an invalid type, or is out of range.
    """
    if whole_number("keep", keep) < 1:
        raise ValueError(f"keep must be at least 1 (got {keep})")
    if not isinstance(grace, timedelta):
        raise TypeError(f"grace must be a timedelta, such as timedelta(hours=24) (got {grace!r})")
    if grace < timedelta():
        raise ValueError(f"grace must not be negative (got {grace})")
    storage = storage_at(root, storage_options)
    stored = storage.stored()
    versions = every(storage)
    if not versions:
        raise RootError("there is no sharded store here", source=storage.name)
    seconds = grace.total_seconds()
    # A version was the newest one until the next one was committed.
    old = [
        version.number for newer, version in pairwise(versions[keep - 1 :]) if newer.age >= seconds
    ]

    def unneeded(versions: list[Version]) -> list[str]:
        kept = (each for each in versions if each.number not in old)
        needed = {name for each in kept for name in each.stored()}
        return [name for name, age in stored.items() if name not in needed and age >= seconds]

    found = unneeded(versions)
    if dry_run:
        return Vacuumed(tuple(sorted(old)), tuple(sorted(found)))
    storage.remove(map(version_file, old))
    if found:
        # After this, no attempt or restore that has begun before can commit: the version of
        # another writer serves as well. What was committed in the meantime is needed.
        with suppress(CommitConflictError):
            newest = find(storage)
            commit(storage, newest, newest)
        found = unneeded(every(storage))
        storage.remove(found)
    return Vacuumed(tuple(sorted(old)), tuple(sorted(found)))


def verify(
    root: AnyRoot, version: int | None = None, *, storage_options: Mapping[str, Any] | None = None
) -> list[str]:
    """Open each store of a version, read it, and compare its number of quads with the version's.

    :param root: see :class:`.ShardedStore`, and for the other parameters.
    :return: a message for each problem; empty if there are none.
    :raises RootError: the version does not exist, or its file is damaged.
    """
    storage = storage_at(root, storage_options)
    problems = []
    for number, shard in enumerate(find(storage, version).shards):
        if shard.store is None:
            continue
        try:
            with reading(storage, shard) as store:
                quads = sum(1 for _ in store)
        except JellyError as error:
            problems.append(f"shard {number}: {error.message}")
            continue
        if quads != shard.quads:
            problems.append(
                f"shard {number}: {shard.store} has {quads} quads, and the version {shard.quads}"
            )
    return problems
