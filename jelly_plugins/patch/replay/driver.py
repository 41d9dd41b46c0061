"""One replay of one log: its rows become transactions, some of these are selected, and applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, Generic

from ...codec.patch.operations import AnyOperation
from ...errors import JellyError
from .commits import C, Commits, Progress, Target
from .position import Replayed, check_name
from .selection import Selection
from .transactions import Event, Transaction, Transactions


class Replay(Generic[C]):
    """One replay of one log.

    :param target: where to.
    :param text: the text of a header's value, in the syntax of N-Triples.
    :param graph: the graph of positions, see :class:`.Position`.
    :param log: the log's name.
    :param check_prev: whether a patch must follow the one that was applied last.
    :param until: id of the patch after which to stop.
    :param group: how many transactions are applied together at most.
    :param dry_run: apply nothing.
    :param progress: called after each transaction.
    :ivar done: what was done so far.
    :raises OptionsError: ``log`` cannot be a name.
    """

    def __init__(
        self,
        target: Target[C],
        *,
        text: Callable[[Any], str],
        graph: str = "",
        log: str | None = None,
        check_prev: bool = True,
        until: str | None = None,
        group: int = 1,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> None:
        check_name(log)
        self.done = done = Replayed()
        self._selection = Selection(
            target.positions,
            target.changes,
            done=done,
            graph=graph,
            log=log,
            check_prev=check_prev,
            until=until,
        )
        self._transactions = Transactions(
            target.changes, text=text, keeps_rows=self._selection.keeps_rows, done=done
        )
        self._commits = Commits(target, done=done, group=group, dry_run=dry_run, progress=progress)

    def run(
        self,
        batches: Iterable[Iterable[AnyOperation]],
        *,
        has_ended: Callable[[], bool] = lambda: True,
        ends_after_headers: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Replay rows. What comes before an error is applied.

        :param batches: the rows, in batches as they are read.
        :param has_ended: see :meth:`.Transactions.read`, likewise ``ends_after_headers``. If it is
            not known what ends a patch, patches may grow.
        :return: whether ``until`` was reached, so that rows may be left.
        :raises JellyError: a patch cannot be read or applied; the message names it.
        """
        events = self._transactions.read(
            chain.from_iterable(batches), has_ended=has_ended, ends_after_headers=ends_after_headers
        )
        try:
            for event in events:
                self._take(event)
                if self._selection.is_complete:
                    break
        except Exception as error:
            if not self._commits.failed:
                if isinstance(error, JellyError):
                    self._name(error)
                self._commits.commit()
            raise
        self._commits.commit()
        self._selection.check_found()
        return self._selection.is_complete

    def wait(self) -> None:
        """Apply what is complete, because it is not known when more rows come.

        :raises ChainError: the rows so far do not have the store's position.
        """
        for event in self._transactions.release():
            self._take(event)
        self.commit()
        self._selection.check_found()

    def commit(self) -> None:
        """Apply the transactions that only wait to be applied with others: to read more of the
        source may take long."""
        self._commits.commit()

    @property
    def unfinished(self) -> int:
        """Number of operations in a transaction that the rows do not end."""
        return self._transactions.unfinished

    def _take(self, event: Event[C]) -> None:
        if isinstance(event, Transaction):
            entry = self._selection.transaction(event)
        else:
            entry = self._selection.end(event)
        if entry is not None:
            self._commits.put(entry)

    def _name(self, error: JellyError) -> None:
        """Have an error name the patch that is being read, if there is one."""
        transactions, selection = self._transactions, self._selection
        if transactions.id is not None:
            error.message = f"patch {transactions.id}: {error.message}"
        elif transactions.has_headers or selection.has_begun:
            error.message = f"patch number {selection.number}: {error.message}"
