"""Topics of files, stores and graphs, sinks that load published streams, and a service of several
topics by name. A live topic is in :mod:`.broadcast`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from threading import RLock
from typing import Any, Final, TypeAlias

from ..backends import BlankNodes, owner_of
from ..codec import DEFAULT_LIMITS, Decoder, Limits, PhysicalType, StreamOptions, delimit
from ..errors import JellyError, OptionsError, ServiceError, StatementError
from ..io.streams import FrameBytes
from ..patch.replay.target import lock_of
from ..reserved import reject_graph
from .buffers import Pulled
from .protocol import FRAME_SIZE, answer_to, iterate, rejected
from .service import Publishable, Published, Subscribable, stop

#: Bytes of a snapshot or a published stream that are held in memory; what is more is in a
#: temporary file.
_IN_MEMORY: Final = 1 << 20

_TRIPLES: Final = StreamOptions.flat(PhysicalType.TRIPLES)
_QUADS: Final = StreamOptions.flat(PhysicalType.QUADS)


class FileTopic:
    """A Jelly file, streamed as it is to each subscriber.

    The stream is not adapted to a subscriber's request: if it exceeds the requested options, the
    subscriber is rejected.

    :param path: of a Jelly file, compressed or not.
    """

    def __init__(self, path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> None:
        self._path = path
        self._limits = limits

    def subscribe(self, topic: str, _options: StreamOptions | None) -> Iterator[bytes]:
        """The frames of the file.

        :raises ServiceError: the file does not exist now.
        """
        try:
            frames = FrameBytes(self._path, limits=self._limits)
        except JellyError as error:
            raise ServiceError(f"topic {topic} does not exist now", status="UNAVAILABLE") from error
        return iterate(frames)


class StoreTopic:
    """The contents of an Oxigraph store, or of one graph, at the time of subscription.

    It is written while it is sent, in bounded memory, with the options that a subscriber requests.

    :param store: a ``pyoxigraph.Store``.
    :param graph: stream this graph only, by default as triples.
    """

    def __init__(self, store: Any, *, graph: Any = None, limits: Limits = DEFAULT_LIMITS) -> None:
        self._store = store
        self._dump = owner_of(store).dump
        self._graph = graph
        self._limits = limits

    def subscribe(self, topic: str, options: StreamOptions | None) -> Iterable[bytes]:
        """The frames of a dump.

        :raises ServiceError: the store cannot be written with the requested options.
        """
        whole = self._graph is None
        if whole and options is not None and options.physical_type is PhysicalType.TRIPLES:
            raise rejected(OptionsError(f"topic {topic} has quads"))
        settings: dict[str, Any] = {
            "graph": self._graph,
            "options": answer_to(
                options, replace(_QUADS if whole else _TRIPLES, stream_name=topic)
            ),
            "limits": self._limits,
            **FRAME_SIZE,
        }

        def write(out: Any) -> None:
            with _rejections(options):
                self._dump(self._store, out, **settings)

        return Pulled(write, self._limits)


class GraphTopic:
    """The contents of an rdflib Graph or Dataset at the time of subscription.

    rdflib's graphs must not change while they are read. So each subscriber gets a snapshot, which
    is written at once and then sent at the subscriber's pace; beyond a megabyte it is in a
    temporary file.

    :param graph: Graph, Dataset or ConjunctiveGraph.
    :param lock: held while a snapshot is written; code that changes the graph must hold it too. By
        default one that sinks of the same graph have.
    """

    def __init__(self, graph: Any, *, lock: Any = None, limits: Limits = DEFAULT_LIMITS) -> None:
        self._graph = graph
        self._dump = owner_of(graph).dump
        self._limits = limits
        self.lock = lock or _shared_lock(graph)

    def subscribe(self, topic: str, options: StreamOptions | None) -> Iterator[bytes]:
        """The frames of a snapshot.

        :raises ServiceError: the graph cannot be written with the requested options.
        """
        settings: dict[str, Any] = {"limits": self._limits, **FRAME_SIZE}
        if options is not None:
            settings["options"] = answer_to(options, replace(_QUADS, stream_name=topic))
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as file:
            out: Any = file
            with self.lock, _rejections(options):
                self._dump(self._graph, out, **settings)
            file.seek(0)
            with FrameBytes(out, limits=self._limits) as frames:
                yield from frames


@contextmanager
def _rejections(asked: StreamOptions | None) -> Iterator[None]:
    """A stream that cannot be written with the requested options is rejected; with the default
    options it is a server error."""
    try:
        yield
    except (OptionsError, StatementError) as error:
        if asked is None:
            raise
        raise rejected(error) from error


def _shared_lock(graph: object) -> RLock:
    """The lock under which a graph or store is read or changed as a whole: that of the store that a
    graph of rdflib is in. All topics and sinks of the store have the same, and replays of logs."""
    return lock_of(getattr(graph, "store", graph))


class StoreSink:
    """Loads streams into a store, graph or dataset: each whole, or not at all.

    A published stream arrives at the client's pace and may break off. So it is first kept in a
    temporary file: a slow client does not block the store. One stream is loaded at a time. Blank
    nodes are new ones for each stream.

    :param store: an Oxigraph store, or a graph or dataset of rdflib's.
    :param lock: held while a stream is loaded; by default one that topics of the same graph have.
    :param settings: for the store's ``load``, such as ``graph=`` or ``blank_nodes=``.
    """

    def __init__(
        self, store: Any, *, lock: Any = None, limits: Limits = DEFAULT_LIMITS, **settings: Any
    ) -> None:
        self._store = store
        self._load = owner_of(store).load
        self._settings = {"limits": limits, **settings}
        self.lock = lock or _shared_lock(store)

    def publish(self, frames: Published) -> None:
        """Load a stream.

        :raises JellyError: it cannot be read, or the store cannot hold it.
        """
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as file:
            for frame in frames:
                file.write(delimit(frame))
            file.seek(0)
            with self.lock:
                # A call may be cancelled by the time it gets the lock.
                frames.check()
                self._load(self._store, file, **self._settings)


class FrameSink:
    """Loads streams into an Oxigraph store frame by frame: each frame whole, or not at all, as soon
    as it has arrived. The frames before an error stay.

    :param store: a ``pyoxigraph.Store``.
    :param graph: the graph that triples go into, by default the default graph. Quads are rejected
        with one.
    :param blank_nodes: new nodes for each stream, or its labels as they are.
    """

    def __init__(
        self,
        store: Any,
        *,
        graph: Any = None,
        blank_nodes: BlankNodes = "fresh",
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._store = store
        self._backend = owner_of(store)
        if self._backend.name != "oxigraph":
            raise TypeError(f"frames are loaded into Oxigraph stores, not into {store!r}")
        self._graph = graph
        self._blank_nodes = blank_nodes
        self._limits = limits

    def publish(self, frames: Published) -> None:
        """Load a stream.

        :raises JellyError: a frame cannot be read, or the store cannot hold it.
        """
        from pyoxigraph import DefaultGraph, NamedNode, Quad

        graph = DefaultGraph() if self._graph is None else self._graph
        decoder = Decoder(self._backend.factory(blank_nodes=self._blank_nodes), limits=self._limits)
        for data in frames:
            frame = decoder.decode(data)
            quads = []
            for statement in frame.statements:
                if not isinstance(statement, Quad):
                    subject, predicate, object_ = statement
                    quads.append(Quad(subject, predicate, object_, graph))
                elif self._graph is None:
                    quads.append(statement)
                else:
                    raise OptionsError("a stream of quads names its graphs itself")
            for name in {quad.graph_name for quad in quads} | set(frame.empty_graphs):
                if isinstance(name, NamedNode):
                    reject_graph(name.value)
            self._store.extend(quads)
            for empty in frame.empty_graphs:
                self._store.add_graph(empty)
        decoder.finish()


Topic: TypeAlias = "Subscribable | str | os.PathLike[str] | Any"


class Topics:
    """A service of several topics by name, and of a sink.

    A stream that is published goes to the topic that it has for a name (``stream_name`` in its
    options), if that one is published to, and otherwise into the sink.

    :param topics: by name. A path becomes a :class:`FileTopic`, an Oxigraph store a
        :class:`StoreTopic`, an rdflib graph a :class:`GraphTopic`.
    :param sink: takes streams without a topic; by default they are rejected.
    :raises TypeError: a value is not a topic.
    """

    def __init__(self, topics: Mapping[str, Topic], *, sink: Publishable | None = None) -> None:
        self._topics = {name: _topic_of(topic) for name, topic in topics.items()}
        self._sink = sink

    def subscribe(self, topic: str, options: StreamOptions | None) -> Any:
        """The frames of a topic.

        :raises ServiceError: no topic has this name.
        """
        found = self._topics.get(topic)
        if found is None:
            raise ServiceError(f"topic {topic!r} does not exist", status="NOT_FOUND")
        return found.subscribe(topic, options)

    def publish(self, frames: Published) -> None:
        """Pass a stream to its topic, or to the sink.

        :raises ServiceError: no topic or sink takes it.
        """
        name = frames.options.stream_name
        topic = self._topics.get(name)
        taker = topic if isinstance(topic, Publishable) else self._sink
        if taker is None:
            raise ServiceError(
                f"nothing is published here under the name {name!r}", status="INVALID_ARGUMENT"
            )
        taker.publish(frames)

    def close(self) -> None:
        """Close the topics and the sink."""
        for part in (*self._topics.values(), self._sink):
            stop(part)


def _topic_of(topic: Topic) -> Subscribable:
    if isinstance(topic, Subscribable):
        return topic
    if isinstance(topic, str | os.PathLike):
        return FileTopic(topic)
    return StoreTopic(topic) if owner_of(topic).name == "oxigraph" else GraphTopic(topic)
