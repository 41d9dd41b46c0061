"""A version of a sharded store, to be read: its quads, its history, answers to queries.

Reading needs no Spark: shards are opened where the program runs, for reading only, and only those
that are asked. Each of them stays open as long as the object lives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
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
from ...oxigraph.rows import graph_text
from ...oxigraph.terms import GraphName, describe, describe_directed
from ...sparql import ResultsFormat, write_results
from .cleaning import DEFAULT_GRACE, DEFAULT_KEEP, Vacuumed, unclaimed, vacuum
from .commits import Commit, Shard, open_log
from .dumping import default_threads, dump_stores
from .errors import RootError, of_shard, unreadable
from .feed import changes, steps
from .layout import Root, open_root, shard_of
from .positions import check_archives
from .queries import Scope, as_text, scope_of
from .restoring import restore
from .settings import Time, whole_number
from .storage import AnyRoot, OpenStore

if TYPE_CHECKING:
    from datetime import timedelta
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from ...patch.model import Patch

_QUADS: Final = StreamOptions(
    physical_type=PhysicalType.QUADS, logical_type=LogicalType.FLAT_QUADS, rdf_star=True
)


class ShardedStore:
    """A sharded store as it was at one version; later commits do not change what it shows.

    Iterating over it gives its quads, and ``len()`` their number.

    :param root: its folder, or the URL of a folder in a bucket: ``s3://``, ``gs://``, ``az://``.
    :param version: the version to open; by default the newest.
    :param timestamp: instead of a version, a time: the version is opened that was the newest then.
        A ``datetime`` with a time zone, or text such as ``2026-11-21T15:45:59Z`` (RFC 3339).
    :param storage_options: settings and credentials of a bucket, see docs/sharded-store.md; what
        they lack, the environment says.
    :raises RootError: there is no sharded store, or the version is gone, or there was none at the
        time.
    :raises TypeError, ValueError: the version is not a whole number, or the time none with a time
        zone; or both are given.

    :ivar layout: number of shards, and what they are made by.
    :ivar commit: what the version is made of.
    """

    def __init__(
        self,
        root: AnyRoot,
        *,
        version: int | None = None,
        timestamp: Time | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._log: Final = open_log(root, storage_options)
        self._storage: Final = self._log.storage
        self.commit: Final[Commit] = self._log.find(version, timestamp)
        assert self.commit.shards is not None
        self._shards: Final = self.commit.shards
        self.layout: Final[Root] = self._log.layout_of(self.commit)
        self._open: dict[int, tuple[Store, OpenStore]] = {}

    @property
    def root(self) -> Path | str:
        """Where it lies: the path of a folder, or a URL."""
        return self._storage.root

    # Versions

    @property
    def version(self) -> int:
        """The version that is open; 0 before the first commit."""
        return self.commit.version

    def head(self) -> Commit:
        """The newest version there is now."""
        return self._log.head()

    def history(self) -> Iterator[Commit]:
        """All versions, the newest first. One that is not ``readable`` cannot be opened any more.

        :raises RootError: a commit is damaged.
        """
        return self._log.history()

    def at(self, version: int | None = None, *, timestamp: Time | None = None) -> ShardedStore:
        """The store at another version; without one, at the newest.

        :raises RootError: there is none of this number or at this time, or it is gone.
        """
        return ShardedStore(self._storage, version=version, timestamp=timestamp)

    def restore(
        self,
        version: int | None = None,
        *,
        timestamp: Time | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Commit:
        """Make an earlier version the newest again, see :func:`.restore`."""
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
        """One of the shards, open for reading only; None if nothing was ever in it.

        It can be read as long as this object lives: then what was fetched of a bucket goes.

        :raises RootError: its store is not there.
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
        """A shard that there is something in."""
        store = self.shard(number)
        assert store is not None
        return store

    @contextmanager
    def _reading(self, number: int) -> Iterator[None]:
        """Make an error of the library of what Oxigraph raises where a store is damaged."""
        try:
            yield
        except (OSError, RuntimeError) as error:
            if number in self._open:
                self._open[number][1].doubt()
            message = f"{self._shards[number].store} cannot be read: {error}"
            with of_shard(self.version, number):
                raise RootError(message, source=self._storage.name) from error

    def shard_number(self, term: NamedNode | BlankNode | DefaultGraph) -> int:
        """The shard that the quads of a subject, or of a graph, are in, as the store has it."""
        return shard_of(graph_text(term), self.layout.shards)

    def quads_for_pattern(
        self,
        subject: NamedNode | BlankNode | None,
        predicate: NamedNode | None,
        object: NamedNode | BlankNode | Literal | Triple | None,  # noqa: A002
        graph_name: GraphName | None = None,
    ) -> Iterator[Quad]:
        """The quads that fit a pattern, see ``pyoxigraph.Store.quads_for_pattern``.

        If the term that shards are made by is given, its shard alone is opened.
        """
        for number in self._numbers_of(subject, graph_name):
            yield from self._quads(number, subject, predicate, object, graph_name)

    def _quads(self, number: int, *pattern: Any) -> Iterator[Quad]:
        """The quads of a shard that fit a pattern."""
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
        """Number of quads that fit a pattern; that of all quads is known without opening any."""
        if subject is None and predicate is None and object is None and graph_name is None:
            return self.commit.quads
        found = self.quads_for_pattern(subject, predicate, object, graph_name)
        return sum(1 for _ in found)

    def _shard_of(self, subject: Any, graph: Any) -> int:
        return self.shard_number(subject if self.layout.shard_by == "subject" else graph)

    def _numbers_of(self, subject: Any, graph: Any) -> Iterable[int]:
        """The shards in which there can be quads with these terms."""
        key = subject if self.layout.shard_by == "subject" else graph
        return range(self.layout.shards) if key is None else (self.shard_number(key),)

    def quads_of_shard(self, number: int) -> Iterator[Quad]:
        """The quads of one shard."""
        return self._quads(number, None, None, None, None)

    # Changes

    def changes(self, from_version: int, to_version: int | None = None) -> Iterator[Patch]:
        """What was changed between two versions: a patch for each version behind the first.

        Each is one transaction, with the quads and namespaces that its version has changed in the
        end; empty if it has changed none. Its ``id`` is its version's, its ``prev`` that of the
        version before, and ``version`` the number. From version 0 on, an empty patch of that
        version comes first. Versions that cannot be opened any more are passed over: the next patch
        says what they have changed, too. Applied one after the other to a store that is as the
        first version was, they make it as the last one is.

        Patches stream: each is to be read before the next is asked for. It takes about as long as
        to read, twice, all shards that have changed; memory does not grow.

        :param from_version: the version to begin behind; 0 is the empty store.
        :param to_version: the last version; by default this one.
        :return: patches, for :func:`jelly_plugins.patch.write_patches` and the like; if there may
            be quoted triples, with options that say so, ``PatchOptions(rdf_star=True)``.
        :raises RootError: one of these versions cannot be opened.
        :raises TypeError, ValueError: they are no versions, or in the wrong order.
        """
        to_version = self.version if to_version is None else to_version
        return changes(self._storage, steps(self._storage, from_version, to_version), self.at)

    # Queries

    def select(self, query: str, *, unchecked: bool = False) -> Iterator[dict[str, str | None]]:
        """The solutions of a SELECT query that each shard can answer alone, one after the other.

        With shards by subject that are queries about one subject at a time: all triple patterns
        that are joined have the same subject. With shards by graph, about one graph at a time.
        FILTER, BIND, VALUES, OPTIONAL, MINUS, EXISTS and UNION are fine within that; property paths
        with shards by graph. What needs to see all solutions is not: DISTINCT, ORDER BY, LIMIT,
        aggregates; do it with the result. Nor are FROM, SERVICE, NOW() and escapes such as
        ``\\u0041``. A query that is answered is answered as by one store with all quads.

        :param query: SPARQL 1.1.
        :param unchecked: ask the shards whatever the query is, but for SERVICE; then solutions that
            join what is in two shards are missing, and counts are those of shards.
        :return: for each solution the terms in the syntax of N-Triples by the names of variables;
            None for what is unbound. Equal solutions can recur.
        :raises QueryError: shards cannot answer the query alone, or it is not well-formed.
        """
        scope = Scope.all(query) if unchecked else scope_of(query, self.layout.shard_by)
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
    ) -> None:
        """Write the solutions of a SELECT query as :func:`~jelly_plugins.sparql.write_results`
        does, whose settings these are; :meth:`select` says which queries the shards can answer.

        :raises QueryError: shards cannot answer the query alone, or it is not well-formed.
        """
        scope = Scope.all(query) if unchecked else scope_of(query, self.layout.shard_by)
        write_results(
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
        """The solutions of a SELECT query as a DataFrame, with a Spark task for each shard.

        The columns are the query's variables; see :meth:`select` for what can be asked and what
        comes. The root has to be on a path that every executor sees.
        """
        from .tasks import select_on_spark

        scope = Scope.all(query) if unchecked else scope_of(query, self.layout.shard_by)
        shards = (self._shards[number] for number in self._numbers(scope))
        stores = [shard.named for shard in shards if shard.named is not None]
        storage = self._storage.everywhere()
        return select_on_spark(spark, storage, stores, query, scope.variables)

    def _numbers(self, scope: Scope) -> Iterable[int]:
        if scope.keys is None:
            return range(self.layout.shards)
        return sorted({shard_of(key, self.layout.shards) for key in scope.keys})

    # Everything at once

    def dump(
        self, dst: Destination, *, threads: int | None = None, limits: Limits = DEFAULT_LIMITS
    ) -> int:
        """Write all quads as a delimited Jelly-RDF stream, shard after shard, in constant memory.

        Labels of blank nodes are kept: they are the same node in all shards. Shards that are read
        ahead wait in temporary files, twice as many as threads at most. Without the compiled kernel
        there is one thread.

        :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. A path is
            replaced only once everything is written.
        :param threads: shards that are read at once; by default as many as there are processors,
            up to 8. With 1 there are no temporary files.
        :return: number of quads written.
        :raises JellyError: a term cannot be said in Jelly.
        """
        threads = default_threads() if threads is None else whole_number("threads", threads)
        if threads < 1:
            raise ValueError("threads must be at least 1")
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
        """Read every byte and every quad of the version.

        That every file of every store has the bytes that were written; that each quad is in the
        right shard, and that the counts are right. A store whose files are damaged is not opened.
        Of all versions, that none before the newest lacks its commit, that the newest was not made
        in the future, and that no store is finished which no commit names, of a version that is
        newer than all: an attempt is active or was killed, or the newest commit was lost.

        :param every: read the commits of all versions, and all that can be opened, not this one
            alone: each file, and the quads of each store, once.
        :return: what is wrong, in words: a text for each file that is damaged, which names the
            root, the version, the shard and the file; empty if all is well.
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
                # That of a version that is verified is reported below.
                if versions[0] not in wanted:
                    problems.append(str(error))
        for first, last in self._log.gaps():
            which = f"version {first}" if first == last else f"versions {first} to {last}"
            problems.append(f"{which}: not there, and newer ones are: commits were lost")
        for name in unclaimed(self._log):
            problems.append(
                f"{name}: not of any commit: an active attempt, one that did not end, or a commit "
                "that was lost"
            )
        seen: set[object] = set()
        for version in wanted:
            problems += (f"version {version}{each}" for each in self._problems(version, seen))
        return [f"{self._storage.name}: {problem}" for problem in problems]

    def _problems(self, version: int, seen: set[object]) -> Iterator[str]:
        """What is wrong with a version.

        :param seen: archives, stores and files that were read, which are not read again.
        """
        try:
            commit = self._log.read(version)
            unseen = [archive for archive in commit.archives if archive not in seen]
            check_archives(self._storage, unseen)
            seen.update(unseen)
        except (JellyError, OSError) as error:
            yield f": {error}"
            # What was opened can be read without.
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
            yield f": the shards have {total} quads, and the commit {commit.quads}"

    def _verify_shard(self, number: int, shard: Shard, seen: set[object]) -> Iterator[str]:
        assert shard.named is not None
        found = list(self._storage.damages(*shard.named, seen))
        if found:
            yield from (f"{shard.store}/{each}" for each in found)
            return
        count = strangers = 0
        try:
            for quad in self.quads_of_shard(number):
                count += 1
                if self._shard_of(quad.subject, quad.graph_name) != number:
                    strangers += 1
        except JellyError as error:
            yield error.message.removeprefix(f"version {self.version}, shard {number}: ")
            return
        if strangers:
            yield f"{strangers} quads belong to other shards"
        if count != shard.quads:
            yield f"{count} quads, and the commit says {shard.quads}"

    def vacuum(
        self,
        *,
        keep: int = DEFAULT_KEEP,
        grace: timedelta = DEFAULT_GRACE,
        dry_run: bool = False,
        metadata: Mapping[str, str] | None = None,
    ) -> Vacuumed:
        """Remove what is not needed: stores of old versions, and what failed attempts have left.

        Where there is something to remove, that makes a version first, with the content of the
        newest one. A batch that is applied meanwhile begins again.

        :param keep: versions to keep, the newest ones; at least 1. Those that have the stores of
            the version after them, as before a vacuum's, are kept and not counted.
        :param grace: nothing is removed that was put, or the current version, within this time.
            It must be longer than the longest batch takes and than any reader keeps a version open.
        :param dry_run: remove nothing, and say what would be.
        :param metadata: what is to be said of the new version, see :func:`.apply_patches`.
        """
        return vacuum(self._storage, keep=keep, grace=grace, dry_run=dry_run, metadata=metadata)
