"""Read a version of a sharded store: its quads, and answers to queries. No Spark.

Shards are opened in this process, read-only, when they are first used, and stay open as long as the
object exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final
from weakref import finalize

import pyarrow as pa
import pyarrow.compute as pc
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Store, Triple

from ...arrow import QUADS
from ...codec import DEFAULT_LIMITS, Limits, LogicalType, PhysicalType, StreamOptions
from ...codec.common.positions import POSITIONS
from ...codec.common.terms import convert
from ...errors import TermError
from ...io.sinks import Destination
from ...oxigraph.dumping import lines_of, write_quads
from ...oxigraph.rows import TERMS, describe_text, graph_text, text_of
from ...oxigraph.terms import GraphName, describe_directed
from ...sparql import ResultsFormat, write_results
from .queries import Scope, scope_of
from .root import Shard, Version, every, find, shard_of, unreadable, whole_number
from .storage import AnyRoot, Storage, storage_at

_QUADS: Final = StreamOptions(
    physical_type=PhysicalType.QUADS, logical_type=LogicalType.FLAT_QUADS, rdf_star=True
)
#: A line of N-Quads as Oxigraph writes it. Literals and triple terms have spaces, but cannot end
#: with what a graph may be.
_LINE: Final = (
    r"^(?P<subject>\S+) (?P<predicate>\S+) (?P<object>.+?)"
    r'(?: (?P<graph><[^<>"\s]*>|_:[^\s"]+))? \.$'
)


@contextmanager
def reading(storage: Storage, shard: Shard) -> Iterator[Store]:
    """Open the store of a shard that is not empty.

    :raises RootError: it is missing or damaged, also while it is read.
    """
    with storage.open(shard) as folder, unreadable(f"{shard.store} cannot be read", storage.name):
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

        :raises RootError: its store does not exist, or is damaged.
        """
        shard = self.content.shards[number]
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
        return unreadable(f"version {self.version} cannot be read", self._storage.name)

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
    """Return the arguments of ``Store.quads_for_pattern`` for conditions.

    :param conditions: text of the term by name of the position; empty for the default graph.
    :raises TermError: no quad of a store has such a term there.
    """
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

    :raises OSError, RuntimeError: the store cannot be read.
    """
    for text in lines_of(store.quads_for_pattern(*pattern), RdfFormat.N_QUADS):
        # Not splitlines(), which also divides at other characters.
        found = pc.extract_regex(pa.array(text.decode().rstrip("\n").split("\n")), _LINE)
        columns = [pc.struct_field(found, name) for name in POSITIONS]
        columns[3] = pc.if_else(pc.equal(columns[3], ""), None, columns[3])
        yield pa.RecordBatch.from_arrays(columns, schema=QUADS)
