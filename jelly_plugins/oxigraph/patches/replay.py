"""Patch logs into Oxigraph stores: each transaction is one of the store's, and happens once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Unpack

from pyoxigraph import Store

from ...io.sources import Source
from ...patch import Patch
from ...patch.replay.replay import Replayed, replay_log
from ...patch.replay.settings import DEFAULT, ReplayOptions, ReplaySettings
from ..rows import RowFactory
from ..terms import DEFAULT_GRAPH, GraphName, check_store
from .bookkeeping import check_recorded
from .target import StoreTarget


def replay(
    store: Store,
    log: Source | Iterable[Patch],
    settings: ReplaySettings = DEFAULT,
    *,
    graph: GraphName = DEFAULT_GRAPH,
    named_graphs: bool = True,
    **options: Unpack[ReplayOptions],
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

    A store that is being recorded (see :func:`.record`) is changed by its recorder only. If the
    process of the recorder has ended without closing it, open its log with ``record`` again.

    One transaction is held in memory. If several replays apply a log to one store at a time, one of
    them continues; the others end with an error, and no patch is applied twice.

    :param log: path, URL, open binary file or bytes, Jelly-Patch or RDF Patch, compressed or not;
        or patches in generic terms.
    :param settings: see :class:`~jelly_plugins.patch.replay.settings.ReplaySettings`.
    :param graph: the graph to use instead of the default graph. The position belongs to this
        graph: the same log goes into another graph from its beginning.
    :param named_graphs: whether patches may have statements in other graphs.
    :param options: fields of the settings that differ.
    :raises ChainError: a patch does not follow the previous one, or the log does not follow what
        was applied; nothing was applied of that patch and of those after it. Or an id names two
        patches; the log has no patch ``until``, or the store is past it; another replay has moved
        on; or the store is being recorded.
    :raises ConflictError: with ``check_blank_nodes`` a deletion, or with ``check_unmatched`` an
        operation, changes nothing; nothing was applied of its transaction.
    :raises JellyError: the log cannot be read, or has data that the store cannot hold. What was
        applied before stays, and the message names the patch. Or a setting is invalid.
    :raises TypeError: ``graph`` is not a pyoxigraph term.
    :raises OSError: the store cannot be written.

    >>> from pyoxigraph import Store
    >>> log = b"H id <urn:uuid:1> .\\nTX .\\nA <urn:s> <urn:p> _:o .\\nTC .\\n"
    >>> store = Store()
    >>> replay(store, log).transactions, replay(store, log).transactions
    (1, 0)
    """
    check_store(store)
    settings = replace(settings, **options)
    done = Replayed()
    target = StoreTarget(store, settings, graph=graph)
    if not settings.dry_run:
        check_recorded(store)
    factory = RowFactory(graph=graph, named_graphs=named_graphs)
    replay_log(target, log, factory, settings, done)
    return done
