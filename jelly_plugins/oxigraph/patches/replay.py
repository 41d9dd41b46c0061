"""Patch logs into Oxigraph stores: each transaction is one of the store's, and happens once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pyoxigraph import Store

from ...codec import DEFAULT_LIMITS, Limits
from ...errors import TruncatedError
from ...io.progress import Progress
from ...io.sources import Source
from ...patch import Patch
from ...patch.replay.position import Replayed
from ...patch.replay.replay import replay_log
from ...patch.replay.settings import INTERVAL, OnTransaction, ReplaySettings
from ..rows import RowFactory
from ..terms import DEFAULT_GRAPH, GraphName, check_store
from .changes import StoreTarget
from .deferred import check_recorded


def replay(
    store: Store,
    log: Source | Iterable[Patch],
    *,
    graph: GraphName = DEFAULT_GRAPH,
    named_graphs: bool = True,
    check_unmatched: bool = False,
    check_blank_nodes: bool = True,
    check_prev: bool = True,
    name: str | None = None,
    until: str | None = None,
    follow: bool = False,
    interval: float = INTERVAL,
    stop: Callable[[], bool] | None = None,
    commit_every: int | None = None,
    dry_run: bool = False,
    on_transaction: OnTransaction | None = None,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Replayed:
    """Apply a log of patches to a store, from the store's position in it.

    Each transaction of a patch (TX to TC; operations outside of any form one too) is one
    transaction of the store, whatever its size: after any error, and after the end of the process,
    the store has all of it or none. Aborted transactions (TA) have no effect. The
    position in the log is kept in the store and moves in the same transaction, so that running the
    same again continues after the last one. The position and the namespaces are in a separate
    graph: see
    :mod:`~jelly_plugins.oxigraph.patches.bookkeeping`.

    For how the store changes terms, see :mod:`jelly_plugins.oxigraph`; labels of blank nodes
    are kept, as far as Oxigraph takes them (see ``terms.kept``). Operations on two forms that the
    store holds as one literal, such as ``"01"^^xsd:integer`` and ``"1"^^xsd:integer``, are
    operations on one quad.

    Consecutive small transactions are applied together: the store then has all of such
    a group or none of it. See ``commit_every``.

    If a process that recorded a log (see :func:`.record`) has ended without closing it, the store
    may have more patches of it than its position says. They are applied again, with the same
    result. Until all of them are, applying another log, or this one only up to ``until``, is an
    error.

    One transaction is held in memory. If several replays apply a log to one store at a time, one of
    them continues; the others end with an error, and no patch is applied twice.

    :param log: path, URL, open binary file or bytes, Jelly-Patch or RDF Patch text, compressed or
        not; or patches in generic terms.
    :param graph: the graph to use instead of the default graph. The position belongs to this
        graph: the same log goes into another graph from its beginning.
    :param named_graphs: whether patches may have statements in other graphs.
    :param check_unmatched: adding an existing statement, or deleting a missing one, is an error.
    :param check_blank_nodes: deleting a statement with a blank node that is not there is an error:
        the store has other labels than the patch, as after a load with new ones. Other deletions
        that match nothing are counted: see ``Replayed.unmatched``.
    :param check_prev: whether a patch that names the one before it (``prev``) must come after that
        one. Without it, patches are applied in the order of the log. Then a source without
        ``name`` that begins before the store's position, but not at the beginning of
        its log, is taken for another log and applied again: give the log a name, or leave this on.
    :param name: the name of the log in the store. By default, the id of its first patch,
        or, without ids, a digest of its first transaction; a log that begins with a patch
        whose ``prev`` was applied last, or with that patch itself, continues the log of that one.
    :param until: id of the patch after which to stop: an IRI, or a term in the syntax of N-Triples.
        It is an error if the store is past it already.
        Whether the log has it is checked before anything is applied, where the log can be read
        twice (a file, bytes, a list of patches); otherwise, as in a pipe, once it has ended.
    :param follow: apply what is complete and wait for more, in a file given by its path. It is an
        error if the file is deleted or replaced (rotated), or gets shorter than what was read of
        it; its contents so far are applied, and a new replay continues in the new file. A file that
        is rewritten in place and not shorter is not detected: logs may only be appended to.
    :param interval: seconds between two checks of a followed file.
    :param stop: called before each wait; ends the replay when it returns True.
    :param commit_every: maximum number of transactions to apply together, up to 10,000 operations
        and some megabytes in all. If one of them cannot be applied, those before it are applied,
        and none after it. Waiting transactions are applied before more of the source is read, so
        that a pipe or a growing file delays nothing. The default is 100; for patches from an
        iterable other than a list it is 1, since each may have to be awaited. With 1, other readers
        of the store see each transaction.
    :param dry_run: read the log and check that its patches follow one another and the store's
        position, but change nothing.
    :param on_transaction: called after each transaction with the result so far. An exception that
        it raises ends the replay; the reported transactions stay applied, with the rest of their
        group, and nothing after it.
    :param progress: called after each transaction with the number of its operations, as
        ``tqdm.update`` takes it.
    :param limits: the limits on untrusted input.
    :raises ChainError: a patch does not follow the previous one, or the log does not follow what
        was applied; nothing was applied of that patch and of those after it. Or an id names two
        patches; the log has no patch ``until``, or the store is past it; or another replay has
        moved on.
    :raises ConflictError: with ``check_blank_nodes`` a deletion, or with ``check_unmatched`` an
        operation, changes nothing; nothing was applied of its transaction.
    :raises JellyError: the log cannot be read, or has data that the store cannot hold. What was
        applied before stays, and the message names the patch. Or ``name`` is empty or not a string,
        or ``commit_every`` is less than 1.
    :raises TypeError: ``graph`` is not a pyoxigraph term.
    :raises OSError: the store cannot be written.

    >>> from pyoxigraph import Store
    >>> log = b"H id <urn:uuid:1> .\\nTX .\\nA <urn:s> <urn:p> _:o .\\nTC .\\n"
    >>> store = Store()
    >>> replay(store, log).transactions, replay(store, log).transactions
    (1, 0)
    """
    check_store(store)
    settings = ReplaySettings(
        check_prev=check_prev,
        log_name=name,
        until=until,
        follow=follow,
        interval=interval,
        stop=stop,
        commit_every=commit_every,
        dry_run=dry_run,
        on_transaction=on_transaction,
        progress=progress,
        limits=limits,
    )
    target = StoreTarget(
        store,
        graph=graph,
        check_unmatched=check_unmatched,
        check_blank_nodes=check_blank_nodes,
        limits=limits,
    )
    if until is not None:
        check_recorded(store)
    factory = RowFactory(graph=graph, named_graphs=named_graphs)
    done = Replayed()
    try:
        replay_log(target, log, factory, settings, done)
    except TruncatedError:
        # Its complete patches were applied: these are all that a recorder has left.
        if not dry_run:
            target.end(done.position)
        raise
    if not dry_run:
        target.end(done.position)
    return done
