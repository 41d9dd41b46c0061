"""Write statements that are not of a log, such as those of a DataFrame, as one version of a store.

The driver begins the write, tasks stage the statements, and the driver commits what the tasks have
returned. Only staged operations that a task has returned count, so that a task may fail, run twice
or finish late. No Spark here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa

from .batch import Applied, BatchSettings, Runner, StagedBatch, is_applied, writing
from .commits import Commit, CommitLog, make_log, open_log
from .layout import Root
from .replaying.position import Replayed
from .resolve import Resolved
from .staged_files import PartWriter, Ranges, nquads_of
from .storage import Attempt, Storage

#: Number of the transaction that statements are staged under.
_TRANSACTION: Final = 0


class Part(NamedTuple):
    """The staged statements of a task.

    :ivar name: its name.
    :ivar operations: number of operations.
    """

    name: str
    operations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreWrite:
    """A write of statements. Can be sent to other processes.

    :ivar storage: storage of the root.
    :ivar settings: how to write.
    :ivar replaces: whether the statements replace those of the store.
    :ivar layout: the layout that statements are staged for.
    :ivar attempt: receives the staged statements; None if the batch was written before.
    """

    storage: Storage
    settings: BatchSettings
    replaces: bool
    layout: Root
    attempt: Attempt | None

    @classmethod
    def begin(cls, storage: Storage, settings: BatchSettings, *, replaces: bool) -> StoreWrite:
        """Begin a write; creates the store if it does not exist.

        :raises CheckpointError: earlier batches are of another streaming query, or the batch would
            skip batches that a restore has undone.
        :raises RootError: the store has another layout, or cannot be written.
        """
        storage = storage.everywhere()
        log, head = make_log(storage, settings.shards, settings.shard_by, create=settings.create)
        attempt = None
        if not is_applied(log, head, settings):
            attempt = storage.attempt(uuid4().hex)
            with writing(storage):
                attempt.begin()
        return cls(
            storage=storage,
            settings=settings,
            replaces=replaces,
            layout=log.layout_of(head),
            attempt=attempt,
        )

    def stage(self, number: int, batches: Iterable[tuple[pa.RecordBatch, Any]]) -> Part | None:
        """Stage the operations of a task.

        :param number: number of the task, which determines the order of its operations.
        :param batches: statements with terms in Oxigraph's form, which Oxigraph has checked; and
            NumPy arrays, with 1 for each statement to add and 0 for each to delete.
        :return: what :meth:`commit` takes; None if the batch was written before.
        :raises JellyError: a statement is in the reserved graph, or cannot be staged.
        """
        if self.attempt is None:
            return None
        self.attempt.check()
        # A second attempt of the task must not write to the files of the first.
        name = f"{number:010d}-{uuid4().hex}"
        writer = PartWriter(self.attempt, self.layout, name)
        operations = 0
        for statements, adds in batches:
            transactions = np.full(len(adds), _TRANSACTION)
            writer.write(statements, nquads_of(statements), transactions, adds)
            operations += len(adds)
        writer.finish()
        return Part(name, operations)

    def commit(
        self, parts: Iterable[Part], run: Runner, query: str | None = None
    ) -> Applied | None:
        """Write the staged operations as one version, and end the write.

        :param parts: what the tasks have returned, one for each.
        :param run: does the work of shards, such as :func:`.on_driver`.
        :param query: id of the streaming query that numbers the batches; None without one.
        :return: the result; None if the batch was written before.
        :raises CheckpointError: earlier batches are of another streaming query, or the batch would
            skip batches that a restore has undone.
        :raises CommitConflictError: other writers committed first, in all attempts, or another
            number of shards was committed; nothing was changed.
        :raises JellyError: a store cannot be written; nothing was changed.
        """
        log = open_log(self.storage)
        settings = replace(self.settings, query=query)
        if self.attempt is None:
            is_applied(log, log.head(), settings)
            return None
        try:
            with writing(self.storage):
                return replace(self, settings=settings).batch(log, parts).commit(run)
        finally:
            self.end()

    def batch(self, log: CommitLog, parts: Iterable[Part], *, moves: bool = False) -> StagedBatch:
        """Return the staged operations: one transaction, without a position in a log.

        :param parts: what the tasks have returned, one for each.
        :param moves: whether they are the statements of the head, for other shards.
        """
        assert self.attempt is not None
        # The names are in the order of the tasks.
        counts = {name: count for name, count in sorted(parts) if count}
        operations = sum(counts.values())

        def resolve(head: Commit) -> Resolved:
            return Resolved(
                replayed=Replayed(transactions=1, operations=operations),
                held_back=0,
                taken={name: Ranges([(_TRANSACTION, _TRANSACTION)]) for name in counts},
                statements=operations,
                positions=head.positions,
                namespaces=head.namespaces,
                replaces=self.replaces,
                moves=moves,
            )

        return StagedBatch(
            log=log,
            attempt=self.attempt,
            settings=self.settings,
            layout=self.layout,
            resolve=resolve,
        )

    def end(self) -> None:
        """Remove all staged operations, as far as possible."""
        if self.attempt is not None:
            self.attempt.end()
