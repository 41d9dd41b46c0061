"""Another number of shards, as one new version: what each shard has goes to those it belongs to.

A quad's shard is its hash modulo their number. So what goes to a new shard comes from such old ones
only that leave the same remainder by the greatest common divisor of both numbers. A task takes some
of the new shards of one such class, reads the old ones of it once, and writes a store for each.
Nothing of that can be seen before the commit: a task may fail, or run twice, and what it leaves is
for a vacuum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import uuid4

from pyoxigraph import Quad, Store

from ...errors import JellyError
from ...oxigraph.rows import graph_text
from .commits import Commit, CommitLog, Shard, open_log
from .errors import CommitConflictError, RootError, unreadable
from .layout import Root, check_layout, new_store_name, shard_of
from .settings import metadata_of, whole_number
from .storage import AnyRoot, Attempt, MakingStore, Storage, storage_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Stores that a task writes, at most, while it reads the old ones once.
TOGETHER: Final = 8
#: Quads that a task holds.
HELD: Final = 1 << 17
#: Keys whose shard is remembered.
_REMEMBERED: Final = 1 << 14

#: What a task has made: number of the shard, its store, number of quads, and checksum.
Made: TypeAlias = tuple[int, str, int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one task is to do.

    :ivar layout: how the new version is laid out.
    :ivar version: its number.
    :ivar sources: the old shards' stores, with the checksums of the lists of their files.
    :ivar targets: the new shards' numbers.
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
    """Give a sharded store another number of shards, as one new version with the same quads.

    Positions in logs, batches of applications and namespaces stay. Earlier versions stay as they
    are. A batch that is at work meanwhile loses against the new version, or wins against it.

    :param root: as for :class:`.ShardedStore`; likewise ``storage_options``.
    :param shards: how many there are to be.
    :param spark: runs the tasks; as many as both numbers have in common, or more. Without it they
        run here.
    :param processes: processes in which tasks run without Spark. With more than one, what the
        program does when it is imported must be under ``if __name__ == "__main__"``.
    :param metadata: what is to be said of the new version, see :func:`.apply_patches`.
    :return: the newest version; the one there is, if it has as many shards.
    :raises CommitConflictError: another writer has made a version meanwhile. Nothing was changed.
    :raises RootError: there is no sharded store, or it is damaged.
    :raises TypeError, ValueError: a number is none, or out of range.
    """
    wanted = whole_number("shards", shards, 1)
    check_layout(wanted, None)
    processes = whole_number("processes", processes, 1)
    said = metadata_of(metadata)
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
        return log.publish(head.next(shards=tuple(new), operations=0, metadata=said))
    except CommitConflictError:
        storage.discard(store for _, store, _, _ in made)
        raise


def _works(log: CommitLog, head: Commit, layout: Root, attempt: Attempt) -> Iterator[Work]:
    """The tasks. Classes without quads have none."""
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
    """What tasks have made, if nothing is missing.

    :raises CommitConflictError: they have failed because there is another version now.
    :raises RootError: something is missing.
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
            f"{moved} quads of {head.quads} are in the shards they belong to: verify says more"
        )
        raise RootError(message, source=log.storage.name)
    return made


def move(work: Work) -> list[Made]:
    """What a task does: write the stores of some new shards.

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
    """The store of a new shard, made once there is a quad for it.

    :param stack: closes it.
    """

    def __init__(self, work: Work, number: int, stack: ExitStack) -> None:
        self._storage: Final = work.storage
        self._number: Final = number
        self._name: Final = new_store_name(number, work.version)
        self._stack: Final = stack
        self._making: MakingStore | None = None
        self._store: Store | None = None
        self._written = 0
        #: Quads that are to be written.
        self.waiting: list[Quad] = []

    def write(self) -> None:
        """Write what is waiting."""
        if self._store is None:
            self._making = self._stack.enter_context(self._storage.make(self._name, None))
            self._store = Store(str(self._making.folder))
        self._store.bulk_extend(self.waiting)
        self._written += len(self.waiting)
        self.waiting = []

    def finish(self) -> Made | None:
        """Make all that was written last; None if there is nothing."""
        if self.waiting:
            self.write()
        if self._store is None or self._making is None:
            return None
        self._store.flush()
        # Closed: until then Oxigraph may write.
        self._store = None
        return self._number, self._name, self._written, self._making.finish()


class _Moving:
    """Quads on their way to the stores of new shards."""

    def __init__(self, layout: Root, targets: Mapping[int, _Target]) -> None:
        self._by_graph: Final = layout.shard_by == "graph"
        self._targets: Final = targets
        self._held = 0

        @lru_cache(_REMEMBERED)
        def target(term: Any) -> _Target | None:
            return targets.get(shard_of(graph_text(term), layout.shards))

        self._target: Final = target

    def move(self, source: Store) -> None:
        """Move those quads of a store that belong here."""
        by_graph, find = self._by_graph, self._target
        for quad in source:
            target = find(quad.graph_name if by_graph else quad.subject)
            if target is not None:
                target.waiting.append(quad)
                self._held += 1
                if self._held == HELD:
                    self._write()

    def _write(self) -> None:
        """Make room: of the shard that has most."""
        fullest = max(self._targets.values(), key=lambda target: len(target.waiting))
        self._held -= len(fullest.waiting)
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

    def here(works: Sequence[Work]) -> Iterable[Sequence[Made]]:
        if processes == 1 or len(works) == 1:
            return map(move, works)
        # What opens stores and talks to buckets has threads, which a fork would lose.
        workers = min(processes, len(works))
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            try:
                return list(pool.map(move, works))
            except BrokenProcessPool as error:
                raise JellyError(f"a process that moves quads has ended: {error}") from error

    return here
