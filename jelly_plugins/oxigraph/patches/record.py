"""Changes to an Oxigraph store that are written to a log of patches as they are made.

The log comes first: a patch is written and flushed, then applied to the store. A process that ends
in between leaves a log that is one patch ahead.

Writing its position takes a store longer than adding a statement. So the store is marked while it
is recorded, and its position is written now and then. After the end of a process that has not
closed its recorder, the patches after that position are applied again. They state which quads exist
and which do not, so that applying all of them in their order gives the same result. But no other
change may come between: whatever else changes stores rejects one that is marked.

Only effective changes are recorded: statements that go and that come. Where a change does nothing,
there is no patch, so that a patch can be undone by doing its opposite.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from operator import attrgetter
from threading import RLock
from typing import Any, Final, NamedTuple, Self, TypeAlias, Unpack

from pyoxigraph import Quad, RdfFormat, Store, serialize

from ...codec import PatchOptions, plain_lines
from ...codec.patch.operations import add, delete
from ...codec.text.ntriples import STAND_IN
from ...errors import TextError
from ...patch.recording import DEFAULT, LogWriter, RecordOptions, RecordSettings
from ...patch.replay.replay import Position, replay_log
from ...patch.replay.transactions import ReplaySettings, lock_of
from ...reserved import BOOKKEEPING_IRI, reject_graph
from ..rows import Row, RowFactory, canonical_quads, check_terms, row_of
from ..terms import DEFAULT_GRAPH, GraphName, check_store, describe_directed
from .replay import StoreTarget
from .store import (
    BOOKKEEPING,
    Recording,
    Update,
    apply,
    check_recorded,
    move,
    moved_rows,
    position_in,
    recording_of,
)

#: Operations after which the position is written.
_OPERATIONS: Final = 10_000
#: How blank nodes begin in text whose labels may be the written form of others.
_STAND_IN: Final = f"_:{STAND_IN}".encode()
_GRAPH_NAME: Final = attrgetter("graph_name")
_IN_BLOCK: Final = (
    "this is inside a transaction of the recorder: change the store with the object that 'with "
    "recorder.transaction() as changes' gives"
)

#: Whether each quad is there in the end, in the order of the last changes.
Net: TypeAlias = dict[Quad, bool]


def record(
    store: Store,
    log: str | os.PathLike[str],
    settings: RecordSettings = DEFAULT,
    **options: Unpack[RecordOptions],
) -> Recorder:
    """Change a store through an object that writes each change to a log.

    Patches of the log that the store lacks are applied first. While the recorder is open, the store
    is marked, in the store itself, and only the recorder can change it: ``load``, ``replay`` and
    other recorders raise an error that names the log. If the process ends without closing the
    recorder, record the same log again; it must be the one that was written: an older copy, or one
    that was truncated by a power failure, is not detected. ``sync`` prevents the latter.

    :param log: path of the log; created if missing. Only one recorder at a time may have it.
    :param settings: see :class:`~jelly_plugins.patch.recording.RecordSettings`. A new log is by
        default a Jelly-Patch stream of quads with ``rdf_star``. With ``sync``, the store is
        flushed too, after each change: if that raises an error, as on a full disk, log and store
        keep the change.
    :param options: fields of the settings that differ.
    :raises ChainError: the log does not belong to this store, or the store is being recorded in
        another log.
    :raises JellyError: the log cannot be read, or cannot be written.

    >>> import tempfile
    >>> from pyoxigraph import BlankNode, NamedNode
    >>> from jelly_plugins.oxigraph import replay
    >>> quad = Quad(BlankNode("b"), NamedNode("urn:p"), NamedNode("urn:o"))
    >>> copy = Store()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with record(Store(), f"{folder}/log.jellyp") as recorder:
    ...         recorder.add(quad)
    ...     replay(copy, f"{folder}/log.jellyp").patches, quad in copy
    (1, True)
    """
    check_store(store)
    settings = settings.but(options, PatchOptions(rdf_star=True))
    writer = LogWriter(log, settings, describe=describe_directed)
    try:
        return Recorder(store, writer, name=_catch_up(store, writer, settings))
    except BaseException:
        writer.abandon()
        raise


def _catch_up(store: Store, writer: LogWriter, settings: RecordSettings) -> str | None:
    """Apply what a store lacks of a log, and mark the store; return the name of the log."""
    position = None
    name = settings.name
    with lock_of(store):
        found = recording_of(store)
        check_recorded(store, found if found and found.path == writer.path else None)
        if writer.patches:
            name = name or (found and found.log) or None
            replaying = ReplaySettings(name=name, limits=settings.limits)
            target = StoreTarget(store, replaying, recording=found)
            position = replay_log(target, writer.path, RowFactory(), replaying).position
        elif name is not None:
            writer.check_new(position_in(store, name))
        if position is not None:
            name = position.log
        move(store, found, position, Recording(name or "", writer.path))
    return name


class Recorder:
    """A store whose changes are recorded; a context manager that closes the log. Made by
    :func:`record`.

    Each method that changes the store is one transaction, of store and log, unless it is called on
    what :meth:`transaction` gives. The store must not be changed otherwise meanwhile.

    Threads may share it: one transaction is made after the other, in store and log in the same
    order. A child that is forked may not: it gets an error, and closing changes nothing there.

    :ivar store: the store, for reading.
    """

    def __init__(self, store: Store, writer: LogWriter, *, name: str | None) -> None:
        self.store: Final = store
        self._writer = writer
        self._name = name
        #: Operations since the position was written.
        self._operations = 0
        #: Held by the thread that has a transaction; and the store's.
        self._lock = RLock()
        self._in_block = False
        self._store_lock = lock_of(store)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write the position, remove the mark of the store, and close the log."""
        if not self._writer.is_of_this_process or self._writer.closed:
            # The store is that of the parent, which closes the log.
            self._writer.close()
            return
        with self._lock, self._store_lock:
            try:
                recording = recording_of(self.store)
                if recording is not None and recording.path == self._writer.path:
                    move(self.store, recording, self.position, None)
            finally:
                self._writer.close()

    @property
    def position(self) -> Position | None:
        """The store's position in the log; None if nothing was recorded yet."""
        place = self._writer.place
        return place.position(self._name) if place.patches else None

    @contextmanager
    def transaction(self) -> Iterator[Changes]:
        """Several changes in one transaction and one patch, made when the block ends. Those of
        other threads wait until then.

        An exception in the block leaves store and log as they were.

        :raises SourceError: the recorder is closed.
        :raises RuntimeError: the thread is in such a block already; changes in it are made with the
            object that the block has.
        """
        with self._lock:
            self._writer.check_open()
            if self._in_block:
                raise RuntimeError(_IN_BLOCK)
            changes = Changes(self.store)
            self._in_block = True
            try:
                yield changes
            finally:
                self._in_block = False
            self._commit(changes._net)

    def add(self, quad: Quad) -> None:
        """Add a quad.

        :raises JellyError: the log cannot express it, or is closed; nothing was changed.
        :raises OSError: the log cannot be written; nothing was changed.
        :raises TypeError: it is not a pyoxigraph quad.
        """
        self._change([quad], True)

    def remove(self, quad: Quad) -> None:
        """Remove a quad; errors are those of :meth:`add`."""
        self._change([quad], False)

    def extend(self, quads: Iterable[Quad]) -> None:
        """Add quads, all or none; errors are those of :meth:`add`."""
        self._change(list(quads), True)

    def update(self, update: str, **settings: Any) -> None:
        """Run a SPARQL update, see :meth:`Changes.update`."""
        with self.transaction() as transaction:
            transaction.update(update, **settings)

    def _change(self, quads: list[Quad], there: bool) -> None:
        with self._lock:
            if self._in_block:
                raise RuntimeError(_IN_BLOCK)
            self._commit(requested(quads, there))

    def _commit(self, net: Net) -> None:
        store, writer = self.store, self._writer
        # Before the position is written, which a recorder that is closed must not do.
        writer.check_open()
        with self._store_lock:
            deletes, adds = staged(store, net)
            count = len(deletes.quads) + len(adds.quads)
            if not count:
                return
            if self._operations >= _OPERATIONS:
                apply(store, *self._position_rows())
                self._operations = 0
            self._operations += count
            before = writer.place
            try:
                is_exact = self._append(deletes, adds)
                # The log has a name now; or the patch, if applied again, would lead to other quads.
                moves = not is_exact or not before.patches
                self._make(deletes, adds, moves)
                if writer.sync:
                    store.flush()
            except BaseException:
                # The store has all of the change, or nothing.
                made = all(quad in store for quad in adds.quads) and not any(
                    quad in store for quad in deletes.quads
                )
                if writer.place is not before and not made:
                    writer.cut(before)
                raise

    def _append(self, deletes: Staged, adds: Staged) -> bool:
        """Write a patch to the log; return whether what it says leads to these quads again, and to
        no others, so that applying it twice is right. A label that looks like the written form of
        another one may not."""
        old, new = deletes.text, adds.text
        if old is not None and new is not None:
            try:
                self._writer.append(lines=(old, new))
                return _STAND_IN not in new and _STAND_IN not in old
            except TextError:
                # What Oxigraph has beyond N-Quads goes term by term.
                pass
        self._writer.append(
            [
                *(delete(tuple(quad)) for quad in deletes.checked),
                *(add(tuple(quad)) for quad in adds.checked),
            ]
        )
        return False

    def _make(self, deletes: Staged, adds: Staged, moves: bool) -> None:
        """Change the store and, if it moves, the position, wholly or not at all."""
        if deletes.quads or moves:
            old, new = self._position_rows() if moves else ((), ())
            apply(self.store, [*deletes.rows, *old], [*adds.rows, *new])
        else:
            # In half the time of an update.
            self.store.extend(adds.quads)

    def _position_rows(self) -> tuple[set[Row], set[Row]]:
        """The rows of the bookkeeping to delete and to add, once the log has a change."""
        position = self.position
        assert position is not None
        mark = Recording(position.log, self._writer.path)
        return moved_rows(self.store, recording_of(self.store), position, mark)


class Staged(NamedTuple):
    """Quads that are all deleted, or all added, in the form that the store gives them and graph by
    graph; their lines of N-Quads, None if these are not well-formed; and those that were requested
    in another form, by that form."""

    quads: list[Quad]
    text: bytes | None
    changed: Mapping[Quad, Quad]

    @property
    def checked(self) -> list[Quad]:
        """The quads, if each of their terms is one."""
        if self.text is None:
            check_terms(self.quads)
        return self.quads

    @property
    def rows(self) -> list[Row]:
        return [row_of(quad) for quad in self.checked]


_NOTHING: Final = Staged([], b"", {})


def stage(quads: list[Quad]) -> Staged:
    """Bring quads into the form that the store gives them, with their text."""
    if not quads:
        return _NOTHING
    text = serialize(quads, format=RdfFormat.N_QUADS) or b""
    found = plain_lines(text)
    if found is None or found[0] != len(quads):
        return _stage_unusual(quads)
    _, named, odd = found
    if named:
        graphs = list(map(_GRAPH_NAME, quads))
        if named != len(quads) - graphs.count(DEFAULT_GRAPH):
            return _stage_unusual(quads)
        order = {graph: number for number, graph in enumerate(dict.fromkeys(graphs))}
        grouped = sorted(quads, key=lambda quad: order[quad.graph_name])
        if grouped != quads:
            return stage(grouped)
    if not odd:
        return Staged(quads, text, {})
    kept = [*quads]
    changed = {}
    for number, new in zip(odd, canonical_quads([quads[at] for at in odd]), strict=True):
        if new != quads[number]:
            changed[quads[number]] = kept[number] = new
    if changed:
        # The form that the store gives a well-formed literal is well-formed.
        text = serialize(kept, format=RdfFormat.N_QUADS) or b""
    return Staged(kept, text, changed)


def _stage_unusual(quads: list[Quad]) -> Staged:
    """Stage quads whose text is not well-formed."""
    known = canonical_quads(quads)
    changed = {old: new for old, new in zip(quads, known, strict=True) if old != new}
    return Staged(known, None, changed)


def requested(quads: list[Quad], there: bool) -> Net:
    """Changes that a caller requests: whether each quad is there in the end."""
    try:
        if BOOKKEEPING in map(_GRAPH_NAME, quads):
            reject_graph(BOOKKEEPING_IRI)
    except AttributeError:
        wrong = next(quad for quad in quads if not isinstance(quad, Quad))
        raise TypeError(f"a pyoxigraph.Quad is needed, not {wrong!r:.200}") from None
    return dict.fromkeys(quads, there)


def staged(store: Store, net: Net) -> tuple[Staged, Staged]:
    """The quads to delete from a store, and those to add: no others than those that are, and that
    are not, in it."""
    adding = [quad for quad, there in net.items() if there]
    deleting = [quad for quad, there in net.items() if not there] if len(adding) < len(net) else []
    deletes, adds = stage(deleting), stage(adding)
    if deletes.changed or adds.changed:
        # Of operations on one quad in several forms, the last one counts.
        changed = {**deletes.changed, **adds.changed}
        last: Net = {}
        for quad, there in net.items():
            now = changed.get(quad, quad)
            last.pop(now, None)
            last[now] = there
        return staged(store, last)
    present = [quad for quad in deletes.quads if quad in store]
    absent = [quad for quad in adds.quads if quad not in store]
    return (
        deletes if len(present) == len(deletes.quads) else stage(present),
        adds if len(absent) == len(adds.quads) else stage(absent),
    )


class Changes:
    """The changes of one transaction; see :meth:`.Recorder.transaction`. They are not in the store
    until it ends.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._net: Net = {}

    def add(self, quad: Quad) -> None:
        """Add a quad.

        :raises TermError: it is in the graph that keeps the positions of logs.
        :raises TypeError: it is not a pyoxigraph quad.
        """
        self._change([quad], True)

    def remove(self, quad: Quad) -> None:
        """Remove a quad; errors are those of :meth:`add`."""
        self._change([quad], False)

    def extend(self, quads: Iterable[Quad]) -> None:
        """Add quads; errors are those of :meth:`add`."""
        self._change(list(quads), True)

    def remove_all(self, quads: Iterable[Quad]) -> None:
        """Remove quads; errors are those of :meth:`add`."""
        self._change(list(quads), False)

    def update(self, update: str, **settings: Any) -> None:
        """Run a SPARQL update on the store and what was changed here so far.

        Its effect is recorded quad by quad. It takes more than twice the time of the update alone,
        whose patterns are evaluated first; ``LOAD`` fetches once. Graphs are those that quads are
        in: creating one has no effect, dropping one removes its quads, and dropping or
        moving one that is missing is not an error.

        :param settings: those of ``pyoxigraph.Store.update``.
        :raises SyntaxError: the update is malformed.
        :raises RuntimeError: it fails.
        :raises OSError: ``LOAD`` cannot fetch or read its source.
        """
        from .updates import UpdateEffect

        UpdateEffect(self._store, self, settings).take(update)

    def _quads(self, graph: GraphName | None = None) -> list[Quad]:
        """The quads of a graph, or of all, with what was changed here so far."""
        deletes, adds = staged(self._store, self._net)
        gone = {*deletes.quads}
        found = self._store.quads_for_pattern(None, None, None, graph)
        return [
            *(quad for quad in found if quad not in gone and quad.graph_name != BOOKKEEPING),
            *(quad for quad in adds.quads if graph is None or quad.graph_name == graph),
        ]

    def _change(self, quads: list[Quad], there: bool) -> None:
        changes = requested(quads, there)
        for quad in changes if self._net else ():
            self._net.pop(quad, None)
        self._net.update(changes)

    def _begin_update(self) -> Update:
        deletes, adds = staged(self._store, self._net)
        update = Update()
        update.change(deletes.rows, adds.rows)
        return update
