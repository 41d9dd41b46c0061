"""Read a version of a sharded store: its quads, its history, and answers to queries.

Reading does not need Spark. Shards are opened in this process, read-only, when they are first used,
and stay open as long as the object exists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Store, Triple

from ...codec import (
    DEFAULT_LIMITS,
    Limits,
    LogicalType,
    PhysicalType,
    StreamOptions,
    native,
)
from ...errors import JellyError
from ...io.sinks import Destination
from ...io.streams import encode, write_delimited
from ...notebook import table
from ...oxigraph.rows import graph_text
from ...oxigraph.terms import GraphName, describe, describe_directed
from ...sparql import ResultsFormat, write_results
from .checks import Time, whole_number
from .cleaning import DEFAULT_GRACE, DEFAULT_KEEP, Vacuumed, unclaimed, vacuum
from .commits import Commit, Shard, open_log
from .dumping import default_threads, dump_stores
from .errors import RootError, of_shard, unreadable
from .feed import changes, steps
from .layout import Root, open_root, shard_of
from .positions import check_archives
from .queries import Scope, as_text, scope_of
from .restoring import restore
from .storage import AnyRoot, OpenStore, storage_at

if TYPE_CHECKING:
    from datetime import timedelta
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from ...patch.model import Patch

_QUADS: Final = StreamOptions(
    physical_type=PhysicalType.QUADS, logical_type=LogicalType.FLAT_QUADS, rdf_star=True
)


#: Counts quads; a triple pattern outside of GRAPH is in the default graph only.
_COUNTS: Final = """
    SELECT ?p (COUNT(*) AS ?n) { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }
    GROUP BY ?p ORDER BY DESC(?n) ?p
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardStatistics:
    """What a shard contains.

    :ivar shard: number of the shard.
    :ivar quads: number of quads.
    :ivar files: number of files of its store.
    :ivar bytes: size of these files; those that other versions share are included.
    :ivar predicates: number of quads by predicate, in the syntax of N-Triples, the most frequent
        first.
    """

    shard: int
    quads: int = 0
    files: int = 0
    bytes: int = 0
    predicates: Mapping[str, int] = field(default_factory=dict)


class ShardedStore:
    """One version of a sharded store; later commits do not change it.

    Iterating over it yields its quads, and ``len()`` returns their number.

    :param root: its folder, or the URL of a folder in a bucket: ``s3://``, ``gs://``, ``az://``.
    :param version: the version to open; by default the newest.
    :param timestamp: instead of a version, a time: opens the version that was the newest then. A
        ``datetime`` with a time zone, or text such as ``2026-11-21T15:45:59Z`` (RFC 3339).
    :param storage_options: settings and credentials of a bucket, see docs/sharded-store.md; missing
        ones come from the environment.
    :raises RootError: the store or the version does not exist, or the version was vacuumed.
    :raises TypeError, ValueError: the version is not a whole number, or the time is invalid or has
        no time zone; or both are given.

    :ivar layout: number of shards, and the term that determines the shard of a quad.
    :ivar commit: the commit of the version.
    """

    def __init__(
        self,
        root: AnyRoot,
        *,
        version: int | None = None,
        timestamp: Time | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._storage: Final = storage_at(root, storage_options)
        self._log: Final = open_log(self._storage)
        self.commit: Final[Commit] = self._log.find(version, timestamp)
        assert self.commit.shards is not None
        self._shards: Final = self.commit.shards
        self.layout: Final[Root] = self._log.layout_of(self.commit)
        self._open: dict[int, tuple[Store, OpenStore]] = {}

    @property
    def root(self) -> Path | str:
        """The root: the path of a folder, or a URL."""
        return self._storage.root

    def _repr_html_(self) -> str:
        commit = self.commit
        shown = {"root": self.root, "version": str(commit.version), "time": commit.timestamp}
        return table(
            "ShardedStore", [*shown.items(), ("shards", len(self._shards)), ("quads", commit.quads)]
        )

    # Versions

    @property
    def version(self) -> int:
        """Number of the open version; 0 before the first commit."""
        return self.commit.version

    def head(self) -> Commit:
        """Return the newest version at this time."""
        return self._log.head()

    def history(self) -> Iterator[Commit]:
        """Return all versions, the newest first. A version that is not ``readable`` was vacuumed.

        :raises RootError: a commit is damaged.
        """
        return self._log.history()

    def at(self, version: int | None = None, *, timestamp: Time | None = None) -> ShardedStore:
        """Open another version, by default the newest.

        :raises RootError: the version does not exist, or was vacuumed.
        """
        return ShardedStore(self._storage, version=version, timestamp=timestamp)

    def restore(
        self,
        version: int | None = None,
        *,
        timestamp: Time | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Commit:
        """Commit an earlier version as the newest one, see :func:`.restore`."""
        return restore(self._storage, version, timestamp=timestamp, metadata=metadata)

    # Quads

    def __len__(self) -> int:
        return self.commit.quads

    def __iter__(self) -> Iterator[Quad]:
        return self.quads_for_pattern(None, None, None)

    def __contains__(self, quad: Quad) -> bool:
        number = self._shard_of(quad.subject, quad.graph_name)
        shard = self.shard(number)
        with self._reading(number):
            return shard is not None and quad in shard

    def shard(self, number: int) -> Store | None:
        """Return one of the shards, open read-only; None if nothing was ever added to it.

        It can be read as long as this object exists, which keeps the files fetched from a bucket.

        :raises RootError: its store does not exist.
        """
        shard = self._shards[number]
        if shard.named is None:
            return None
        if number not in self._open:
            with of_shard(self.version, number):
                opened = self._storage.open(*shard.named)
                try:
                    with unreadable(f"{shard.store} cannot be opened", self._storage.name):
                        self._open[number] = Store.read_only(str(opened.folder)), opened
                except RootError:
                    opened.doubt()
                    raise
        return self._open[number][0]

    def _store(self, number: int) -> Store:
        """Return a shard that is not empty."""
        store = self.shard(number)
        assert store is not None
        return store

    @contextmanager
    def _reading(self, number: int) -> Iterator[None]:
        """Convert exceptions that Oxigraph raises for a damaged store to errors of this library."""
        try:
            yield
        except (OSError, RuntimeError) as error:
            if number in self._open:
                self._open[number][1].doubt()
            message = f"{self._shards[number].store} cannot be read: {error}"
            with of_shard(self.version, number):
                raise RootError(message, source=self._storage.name) from error

    def shard_number(self, term: NamedNode | BlankNode | DefaultGraph) -> int:
        """Return the shard with the quads of a subject, or of a graph: see ``layout.shard_by``."""
        return shard_of(graph_text(term), self.layout.shards)

    def quads_for_pattern(
        self,
        subject: NamedNode | BlankNode | None,
        predicate: NamedNode | None,
        object: NamedNode | BlankNode | Literal | Triple | None,  # noqa: A002
        graph_name: GraphName | None = None,
    ) -> Iterator[Quad]:
        """Return the quads that match a pattern, see ``pyoxigraph.Store.quads_for_pattern``.

        If the term that determines the shard is given, only that shard is opened.
        """
        for number in self._numbers_of(subject, graph_name):
            yield from self._quads(number, subject, predicate, object, graph_name)

    def _quads(self, number: int, *pattern: Any) -> Iterator[Quad]:
        """Return the quads of a shard that match a pattern."""
        store = self.shard(number)
        if store is not None:
            with self._reading(number):
                yield from store.quads_for_pattern(*pattern)

    def count(
        self,
        subject: NamedNode | BlankNode | None = None,
        predicate: NamedNode | None = None,
        object: NamedNode | BlankNode | Literal | Triple | None = None,  # noqa: A002
        graph_name: GraphName | None = None,
    ) -> int:
        """Count the quads that match a pattern; without a pattern, no shard is opened."""
        if subject is None and predicate is None and object is None and graph_name is None:
            return self.commit.quads
        found = self.quads_for_pattern(subject, predicate, object, graph_name)
        return sum(1 for _ in found)

    def _shard_of(self, subject: Any, graph: Any) -> int:
        return self.shard_number(subject if self.layout.shard_by == "subject" else graph)

    def _numbers_of(self, subject: Any, graph: Any) -> Iterable[int]:
        """Return the shards that may have quads with these terms."""
        key = subject if self.layout.shard_by == "subject" else graph
        return range(self.layout.shards) if key is None else (self.shard_number(key),)

    def quads_of_shard(self, number: int) -> Iterator[Quad]:
        """Return the quads of one shard."""
        return self._quads(number, None, None, None, None)

    def statistics(self) -> Iterator[ShardStatistics]:
        """Return what each shard contains, in order. Counting reads all quads of a shard.

        :raises RootError: a shard's store is missing or damaged.
        """
        for number, shard in enumerate(self._shards):
            store = self.shard(number)
            if store is None or shard.named is None:
                yield ShardStatistics(shard=number)
                continue
            with of_shard(self.version, number):
                files = self._storage.files(*shard.named)
            with self._reading(number):
                found: Any = store.query(_COUNTS)
                yield ShardStatistics(
                    shard=number,
                    quads=shard.quads,
                    files=len(files),
                    bytes=sum(file.size for file in files.values()),
                    predicates={str(predicate): int(count.value) for predicate, count in found},
                )

    # Changes

    def changes(self, from_version: int, to_version: int | None = None) -> Iterator[Patch]:
        """Return the changes between two versions: a patch for each version after the first.

        Each patch is one transaction with the net changes of its version to quads and namespaces;
        it may be empty. Its ``id`` identifies the version, its ``prev`` the version before, and
        ``version`` is the version's number. If the first version is 0, an empty patch for that
        version comes first. Versions that were vacuumed are skipped: the next patch includes their
        changes. Applied in order to a store that equals the first version, the patches make it
        equal to the last one.

        Patches stream: read each one before requesting the next. This takes about as long as
        reading all changed shards twice, in constant memory.

        :param from_version: the version after which to start; 0 is the empty store.
        :param to_version: the last version; by default this one.
        :return: patches, for example for :func:`jelly_plugins.patch.write_patches`; if there may be
            quoted triples, with ``PatchOptions(rdf_star=True)``.
        :raises RootError: one of these versions cannot be opened.
        :raises TypeError, ValueError: a version is not a whole number, or they are in the wrong
            order.
        """
        old = self._log.find(from_version)
        new = self._log.find(self.version if to_version is None else to_version)
        return changes(self._log, steps(self._log, old, new), self.at)

    # Queries

    def select(self, query: str, *, unchecked: bool = False) -> Iterator[dict[str, str | None]]:
        """Return the solutions of a SELECT query that each shard can answer independently.

        With shards by subject, these are queries about one subject at a time: all triple patterns
        that are joined have the same subject. With shards by graph, they are about one graph at a
        time. FILTER, BIND, VALUES, OPTIONAL, MINUS, EXISTS and UNION are supported within that, and
        property paths with shards by graph. Operations on all solutions are not: apply DISTINCT,
        ORDER BY, LIMIT and aggregates to the result. FROM, SERVICE, NOW() and escapes such as
        ``\\u0041`` are not supported either. Other queries are rejected; the solutions of a
        supported query equal those of a single store with all quads.

        :param query: SPARQL 1.1.
        :param unchecked: evaluate any query in each shard, except SERVICE; solutions that join
            quads of two shards are then missing, and aggregates are per shard.
        :return: for each solution the terms in the syntax of N-Triples by the names of variables;
            None for an unbound variable. Equal solutions may repeat.
        :raises QueryError: shards cannot answer the query independently, or it is not well-formed.
        """
        scope = self._scope(query, unchecked)
        for solution in self._solutions(scope, query):
            yield as_text(scope.variables, solution)

    def write_solutions(
        self,
        query: str,
        dst: Destination,
        *,
        format: ResultsFormat | str | None = None,  # noqa: A002
        unchecked: bool = False,
        **settings: Any,
    ) -> int:
        """Write the solutions of a SELECT query with :func:`~jelly_plugins.sparql.write_results`.

        :param query: see :meth:`select`.
        :param dst: where to write.
        :param format: format of the results.
        :param unchecked: see :meth:`select`.
        :param settings: other settings of :func:`~jelly_plugins.sparql.write_results`.
        :return: the number of solutions.
        :raises QueryError: shards cannot answer the query independently, or it is not well-formed.
        """
        scope = self._scope(query, unchecked)
        return write_results(
            scope.variables,
            self._solutions(scope, query),
            dst,
            format=format,
            describe=describe_directed,
            **settings,
        )

    def _solutions(self, scope: Scope, query: str) -> Iterator[tuple[Any, ...]]:
        for number in self._numbers(scope):
            store = self.shard(number)
            if store is not None:
                with self._reading(number):
                    found: Any = store.query(query)
                    yield from map(tuple, found)

    def select_dataframe(
        self, spark: SparkSession, query: str, *, unchecked: bool = False
    ) -> DataFrame:
        """Return the solutions of a SELECT query as a DataFrame, with a Spark task for each shard.

        The columns are the query's variables; see :meth:`select` for supported queries and for the
        values. Every executor must be able to access the root under the same path.
        """
        from .tasks import select_on_spark

        scope = self._scope(query, unchecked)
        shards = (self._shards[number] for number in self._numbers(scope))
        stores = [shard.named for shard in shards if shard.named is not None]
        storage = self._storage.everywhere()
        return select_on_spark(spark, storage, stores, query, scope.variables)

    def _scope(self, query: str, unchecked: bool) -> Scope:
        return Scope.all(query) if unchecked else scope_of(query, self.layout.shard_by)

    def _numbers(self, scope: Scope) -> Iterable[int]:
        if scope.keys is None:
            return range(self.layout.shards)
        return sorted({shard_of(key, self.layout.shards) for key in scope.keys})

    # The whole version

    def dump(
        self, dst: Destination, *, threads: int | None = None, limits: Limits = DEFAULT_LIMITS
    ) -> int:
        """Write all quads as a delimited Jelly-RDF stream, shard by shard, in constant memory.

        Labels of blank nodes are kept, since they are shared by all shards. Shards that are read
        ahead are kept in temporary files, at most twice as many as threads. Without the compiled
        kernel there is one thread.

        :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. An existing
            file is replaced only after everything is written.
        :param threads: number of shards to read in parallel; by default the number of processors,
            up to 8. With 1 there are no temporary files.
        :param limits: limits of the encoder.
        :return: number of quads written.
        :raises JellyError: a term cannot be expressed in Jelly.
        """
        threads = default_threads() if threads is None else whole_number("threads", threads)
        if threads < 1:
            raise ValueError(f"threads must be at least 1 (got {threads})")
        numbers = [number for number, each in enumerate(self._shards) if each.store is not None]
        if native and numbers:
            return dump_stores(
                numbers,
                self._store,
                self._reading,
                dst,
                options=_QUADS,
                limits=limits,
                threads=threads,
            )
        quads = map(tuple, self)
        written: int = write_delimited(
            encode(quads, options=_QUADS, describe=describe, limits=limits), dst
        )
        return written

    def verify(self, *, every: bool = False) -> list[str]:
        """Read every byte and every quad of the version, and return all problems.

        Checks that every file of every store is unchanged, that each quad is in the right shard,
        and that the counts are right. A store with damaged files is not opened. For all versions,
        checks that no commit before the newest is missing, that the newest was not made in the
        future, and that no finished store belongs to a version newer than all commits: then an
        attempt is active or was killed, or the newest commit was lost.

        :param every: check all versions that can be opened, not only this one: each file, and the
            quads of each store, once.
        :return: a message for each problem, with the root, the version, the shard and the file;
            empty if there are none.
        """
        problems: list[str] = []
        versions = self._log.versions()[::-1]
        wanted = versions if every else [self.version]
        try:
            open_root(self._storage)
        except JellyError as error:
            problems.append(str(error))
        if versions:
            try:
                newest = self._log.get(versions[0])
                if newest is not None and (ahead := newest.ahead()) is not None:
                    problems.append(f"version {newest.version}: {ahead}")
            except JellyError as error:
                # Errors of versions to verify are reported below.
                if versions[0] not in wanted:
                    problems.append(str(error))
        for first, last in self._log.gaps():
            which = f"version {first}" if first == last else f"versions {first} to {last}"
            problems.append(f"{which}: missing, although newer versions exist: commits were lost")
        for name in unclaimed(self._log):
            problems.append(
                f"{name}: no commit names it: an attempt is active or was killed, or a commit was "
                "lost"
            )
        seen: set[object] = set()
        for version in wanted:
            problems += (f"version {version}{each}" for each in self._problems(version, seen))
        return [f"{self._storage.name}: {problem}" for problem in problems]

    def _problems(self, version: int, seen: set[object]) -> Iterator[str]:
        """Return the problems of a version.

        :param seen: archives, stores and files that were read, which are not read again.
        """
        try:
            commit = self._log.read(version)
            unseen = [archive for archive in commit.archives if archive not in seen]
            check_archives(self._storage, unseen)
            seen.update(unseen)
        except (JellyError, OSError) as error:
            yield f": {error}"
            # The open version can be verified without its file.
            if version != self.version:
                return
            commit = self.commit
        if commit.shards is None:
            if version == self.version:
                yield ": its stores were removed by a vacuum"
            return
        store = self if version == self.version else self.at(version)
        for number, shard in enumerate(commit.shards):
            if shard.named is not None and shard.named not in seen:
                seen.add(shard.named)
                for each in store._verify_shard(number, shard, seen):
                    yield f", shard {number}: {each}"
        total = sum(shard.quads for shard in commit.shards)
        if total != commit.quads:
            yield f": the shards have {total} quads, but the commit has {commit.quads}"

    def _verify_shard(self, number: int, shard: Shard, seen: set[object]) -> Iterator[str]:
        assert shard.named is not None
        found = list(self._storage.damages(*shard.named, seen))
        if found:
            yield from (f"{shard.store}/{each}" for each in found)
            return
        count = misplaced = 0
        try:
            for quad in self.quads_of_shard(number):
                count += 1
                if self._shard_of(quad.subject, quad.graph_name) != number:
                    misplaced += 1
        except JellyError as error:
            yield error.message.removeprefix(f"version {self.version}, shard {number}: ")
            return
        if misplaced:
            yield f"{misplaced} quads belong to other shards"
        if count != shard.quads:
            yield f"it has {count} quads, but the commit has {shard.quads}"

    def vacuum(
        self,
        *,
        keep: int = DEFAULT_KEEP,
        grace: timedelta = DEFAULT_GRACE,
        dry_run: bool = False,
        metadata: Mapping[str, str] | None = None,
    ) -> Vacuumed:
        """Remove data that is no longer needed: stores of old versions, remains of failed attempts.

        If there is something to remove, this first commits a version with the content of the newest
        one. A batch that is applied meanwhile is retried.

        :param keep: number of versions to keep, the newest ones; at least 1. Versions with the same
            stores as the next one, such as the version before a vacuum's, are kept and not counted.
        :param grace: nothing is removed that was put, or was current, within this time. It must be
            longer than any batch takes, and than any reader keeps a version open.
        :param dry_run: remove nothing, and return what would be removed.
        :param metadata: a description of the new version, see :func:`.apply_patches`.
        :return: what was removed.
        """
        return vacuum(self._storage, keep=keep, grace=grace, dry_run=dry_run, metadata=metadata)
