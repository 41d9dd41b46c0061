"""Change the number of shards in one new version, by moving quads to their new shards.

A quad's shard is its hash modulo the number of shards. The quads of a new shard therefore come only
from old shards with the same remainder modulo the greatest common divisor of both numbers. A task
takes some new shards of one such class, reads the old shards of the class once, and writes a store
for each new one. Nothing is visible before the commit: a task may fail or run twice, and a vacuum
removes what it leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import uuid4

from pyoxigraph import Quad, Store

from ...errors import JellyError
from ...oxigraph.rows import graph_text
from .checks import metadata_of, whole_number
from .commits import Commit, CommitLog, Shard, open_log
from .errors import CommitConflictError, RootError, unreadable
from .layout import Root, check_layout, new_store_name, shard_of
from .processes import run_in_processes
from .storage import AnyRoot, Attempt, MakingStore, Storage, storage_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Maximum number of stores that a task writes while it reads the old ones once.
TOGETHER: Final = 8
#: Number of quads that a task buffers.
BUFFERED: Final = 1 << 17
#: Number of keys whose shard is cached.
_REMEMBERED: Final = 1 << 14

#: The result for one shard: its number, its store, number of quads, and checksum.
Made: TypeAlias = tuple[int, str, int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The work of one task.

    :ivar storage: storage of the root.
    :ivar attempt: the attempt.
    :ivar layout: layout of the new version.
    :ivar version: number of the new version.
    :ivar sources: the old shards' stores, with the checksums of the lists of their files.
    :ivar targets: numbers of the new shards.
    """

    storage: Storage
    attempt: Attempt
    layout: Root
    version: int
    sources: tuple[tuple[str, str], ...]
    targets: tuple[int, ...]


def reshard(
    root: AnyRoot,
    shards: int,
    spark: SparkSession | None = None,
    *,
    processes: int = 1,
    metadata: Mapping[str, str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Commit:
    """Change the number of shards of a sharded store, in one new version with the same quads.

    Positions in logs, batches of applications and namespaces are kept. Earlier versions do not
    change. If a batch is applied meanwhile, the writer that commits second fails.

    :param root: root of the store, see :class:`.ShardedStore`.
    :param shards: the new number of shards.
    :param spark: runs the tasks; the greatest common divisor of both numbers, or more. Without it,
        they run on this machine.
    :param processes: number of processes for tasks without Spark. With more than one, the main
        module must guard its code with ``if __name__ == "__main__"``.
    :param metadata: a description of the new version, see :func:`.apply_patches`.
    :param storage_options: settings and credentials of a bucket, see :class:`.ShardedStore`.
    :return: the new version; the newest one, if it has as many shards.
    :raises CommitConflictError: another writer has committed a version meanwhile. Nothing was
        changed.
    :raises RootError: the store does not exist, or is damaged.
    :raises TypeError, ValueError: a number is invalid or out of range.
    """
    wanted = whole_number("shards", shards, 1)
    check_layout(wanted, None)
    processes = whole_number("processes", processes, 1)
    metadata = metadata_of(metadata)
    storage = storage_at(root, storage_options)
    if spark is not None:
        storage = storage.everywhere()
    log = open_log(storage)
    head = log.head()
    layout = log.layout_of(head)
    if layout.shards == wanted:
        return head
    attempt = storage.attempt(uuid4().hex)
    try:
        attempt.begin()
        works = list(_works(log, head, replace(layout, shards=wanted), attempt))
        made = _made(log, head, works, _runner(spark, processes))
    except OSError as error:
        raise RootError(f"cannot be written: {error}", source=storage.name) from error
    finally:
        attempt.end()
    new = [Shard()] * wanted
    for number, store, quads, checksum in made:
        new[number] = Shard(store, quads, checksum)
    try:
        return log.publish(head.next(shards=tuple(new), operations=0, metadata=metadata))
    except CommitConflictError:
        storage.discard(store for _, store, _, _ in made)
        raise


def _works(log: CommitLog, head: Commit, layout: Root, attempt: Attempt) -> Iterator[Work]:
    """Return the work of tasks. Classes without quads have none."""
    assert head.shards is not None
    classes = gcd(len(head.shards), layout.shards)
    for remainder in range(classes):
        olds = head.shards[remainder::classes]
        sources = tuple(each.named for each in olds if each.named is not None)
        targets = range(remainder, layout.shards, classes)
        for start in range(0, len(targets) if sources else 0, TOGETHER):
            yield Work(
                storage=log.storage,
                attempt=attempt,
                layout=layout,
                version=head.version + 1,
                sources=sources,
                targets=tuple(targets[start : start + TOGETHER]),
            )


def _made(log: CommitLog, head: Commit, works: Sequence[Work], run: _Runner) -> list[Made]:
    """Run tasks, and check that no quad is missing.

    :raises CommitConflictError: they have failed because there is another version now.
    :raises RootError: quads are missing.
    """
    try:
        made = [each for result in run(works) for each in result] if works else []
    except (JellyError, OSError) as error:
        if log.head().version != head.version:
            raise log.conflict(head.version + 1) from error
        raise
    moved = sum(quads for _, _, quads, _ in made)
    if moved != head.quads:
        log.storage.discard(store for _, store, _, _ in made)
        message = (
            f"{moved} of {head.quads} quads are in the right shards: verify the store for details"
        )
        raise RootError(message, source=log.storage.name)
    return made


def move(work: Work) -> list[Made]:
    """Write the stores of some new shards; runs in a task.

    :raises RootError: a store cannot be read or written.
    """
    work.attempt.check()
    storage = work.storage
    with ExitStack() as stack:
        targets = {number: _Target(work, number, stack) for number in work.targets}
        moving = _Moving(work.layout, targets)
        for name, checksum in work.sources:
            what = f"{name} cannot be read, or its quads not written"
            with storage.open(name, checksum) as opened, unreadable(what, storage.name):
                moving.move(Store.read_only(str(opened.folder)))
        return [made for target in targets.values() if (made := target.finish()) is not None]


class _Target:
    """The store of a new shard, which is created with the first quad.

    :param stack: closes the store.
    """

    def __init__(self, work: Work, number: int, stack: ExitStack) -> None:
        self._storage: Final = work.storage
        self._number: Final = number
        self._name: Final = new_store_name(number, work.version)
        self._stack: Final = stack
        self._making: MakingStore | None = None
        self._store: Store | None = None
        self._written = 0
        #: Quads to write.
        self.waiting: list[Quad] = []

    def write(self) -> None:
        """Write the waiting quads."""
        if self._store is None:
            self._making = self._stack.enter_context(self._storage.make(self._name, None))
            self._store = Store(str(self._making.folder))
        self._store.bulk_extend(self.waiting)
        self._written += len(self.waiting)
        self.waiting = []

    def finish(self) -> Made | None:
        """Write the remaining quads; return None if the shard has no quads."""
        if self.waiting:
            self.write()
        if self._store is None or self._making is None:
            return None
        self._store.flush()
        # Close the store: until then, Oxigraph may write.
        self._store = None
        return self._number, self._name, self._written, self._making.finish()


class _Moving:
    """Moves quads to the stores of new shards."""

    def __init__(self, layout: Root, targets: Mapping[int, _Target]) -> None:
        self._by_graph: Final = layout.shard_by == "graph"
        self._targets: Final = targets
        self._buffered = 0

        @lru_cache(_REMEMBERED)
        def target(term: Any) -> _Target | None:
            return targets.get(shard_of(graph_text(term), layout.shards))

        self._target: Final = target

    def move(self, source: Store) -> None:
        """Move the quads of a store that belong to the targets."""
        by_graph, find = self._by_graph, self._target
        for quad in source:
            target = find(quad.graph_name if by_graph else quad.subject)
            if target is not None:
                target.waiting.append(quad)
                self._buffered += 1
                if self._buffered == BUFFERED:
                    self._write()

    def _write(self) -> None:
        """Write the quads of the shard with the most waiting quads."""
        fullest = max(self._targets.values(), key=lambda target: len(target.waiting))
        self._buffered -= len(fullest.waiting)
        fullest.write()


_Runner: TypeAlias = Callable[[Sequence[Work]], Iterable[Sequence[Made]]]


def _runner(spark: SparkSession | None, processes: int) -> _Runner:
    if spark is not None:
        from .tasks import run_each

        session = spark

        def on_spark(works: Sequence[Work]) -> Iterable[Sequence[Made]]:
            found = run_each(session, works, lambda work: {"made": move(work)})
            return [[tuple(each) for each in result["made"]] for result in found]

        return on_spark

    return lambda works: run_in_processes(move, works, processes)
