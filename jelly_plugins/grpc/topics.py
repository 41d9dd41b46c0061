"""The interface of applications, and the package's own: topics of files, stores and graphs, sinks
that load published streams, and a service of several topics by name. A live topic is in
:mod:`.broadcast`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from threading import RLock
from typing import Any, Final, Protocol, Self, TypeAlias, runtime_checkable

from ..backends import owner_of
from ..codec import DEFAULT_LIMITS, Decoder, Limits, PhysicalType, StreamOptions, delimit
from ..errors import JellyError, OptionsError, ServiceError, StatementError
from ..io.streams import FrameBytes
from ..patch.replay.transactions import lock_of
from ..reserved import reject_graph
from .frames import FRAME_SIZE, pulled, unchanged
from .protocol import answer_to, open_stream, rejected

#: Bytes of a snapshot or a published stream that are held in memory; what is more is in a
#: temporary file.
_IN_MEMORY: Final = 1 << 20


class Published:
    """The frames of a stream that a client publishes: an iterator of bytes, each a frame. The
    server makes it for each call.

    :ivar options: the stream's options, which were found to be supported.
    :raises ServiceError: while iterating: the client has disconnected, or exceeds a limit.
    """

    # That the requests end is not enough: gRPC lets them end too where the connection is lost, and
    # reports that a moment later. So the end is read twice, and the second answer comes after any
    # report.

    def __init__(self, requests: Iterator[bytes], context: Any, most: int, limits: Limits) -> None:
        self._requests = requests
        self._context = context
        self._most = most
        self._bytes = 0
        self.options, self._frames = open_stream(iter(self._receive, None), limits)
        self.options.check(limits)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        return next(self._frames)

    def check(self) -> None:
        """Make sure that the client still waits for an answer.

        :raises ServiceError: it does not.
        """
        # That the time is up may be known before gRPC has ended the call.
        if not self._context.is_active() or self._context.time_remaining() == 0:
            raise ServiceError("the client has disconnected", status="CANCELLED")

    def _receive(self) -> bytes | None:
        frame = self._request()
        if frame is None:
            frame = self._request()
            self.check()
            if frame is not None:
                raise ServiceError("the stream continues after its end", status="INTERNAL")
            return None
        self._bytes += len(frame)
        if self._bytes > self._most:
            raise ServiceError(
                f"the stream has more than {self._most:,} bytes", status="RESOURCE_EXHAUSTED"
            )
        return frame

    def _request(self) -> bytes | None:
        try:
            return next(self._requests, None)
        except Exception as error:
            # gRPC raises the state of the call, without a message.
            raise ServiceError(
                "the client has disconnected, or was idle for too long", status="CANCELLED"
            ) from error


@runtime_checkable
class Subscribable(Protocol):
    """An object that clients can subscribe to."""

    def subscribe(self, topic: str, options: StreamOptions | None) -> Iterable[bytes]:
        """The frames of a stream, for one subscriber.

        Called in a separate thread for each call, which also reads the frames, one by one, as the
        subscriber reads them. If the iterable has a method ``cancel``, it is called from another
        thread once frames are no longer wanted; ``close``, if there is one, after the last.

        :param topic: the requested topic.
        :param options: the requested options, or None. The server rejects a stream that exceeds
            them.
        :return: frames without delimiters, beginning with the stream's options.
        :raises ServiceError: with the status that the subscriber is to get.
        """
        ...


@runtime_checkable
class Publishable(Protocol):
    """An object that clients can publish to."""

    def publish(self, frames: Published) -> None:
        """Take all frames of a stream; it counts as received when this returns.

        Called in a thread of the call's own. If it returns before the last frame, the publisher
        gets INTERNAL.

        :raises JellyError: the stream is rejected, with INVALID_ARGUMENT unless the error is a
            ServiceError, which has a status.
        """
        ...


class Service(Subscribable, Publishable, Protocol):
    """An application with all streams of a server. Its method ``close``, if any, is called when the
    server is stopped: endless streams should end then."""


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
        :raises SourceError: it is not a Jelly file.
        """
        try:
            frames = FrameBytes(self._path, limits=self._limits)
        except JellyError as error:
            raise ServiceError(f"topic {topic} does not exist now", status="UNAVAILABLE") from error
        yield from unchanged(frames, self._limits)


class StoreTopic:
    """The contents of an Oxigraph store, or of a graph or dataset of rdflib's, at the time of
    subscription, with the options that a subscriber requests.

    A store is written while it is sent, in bounded memory. rdflib's graphs must not change while
    they are read. So each subscriber gets a snapshot, which is written at once and then sent at the
    subscriber's pace; beyond a megabyte it is in a temporary file.

    :param store: a ``pyoxigraph.Store``, or a Graph, Dataset or ConjunctiveGraph.
    :param graph: of an Oxigraph store, stream this graph only, by default as triples.
    :ivar lock: held while a snapshot is written; code that changes the graph must hold it too.
        Sinks of the same graph have the same.
    """

    def __init__(self, store: Any, *, graph: Any = None, limits: Limits = DEFAULT_LIMITS) -> None:
        self._store = store
        self._backend = owner_of(store)
        self._limits = limits
        self._settings = {"limits": limits, **FRAME_SIZE}
        if graph is not None:
            self._settings["graph"] = graph
        self.lock = _shared_lock(store)

    def subscribe(self, topic: str, options: StreamOptions | None) -> Iterator[bytes]:
        """The frames of a dump.

        :raises ServiceError: the store cannot be written with the requested options.
        """

        def write(out: Any) -> None:
            settings = dict(self._settings)
            if options is not None:
                usual = StreamOptions.flat(PhysicalType.QUADS)
                settings["options"] = answer_to(options, replace(usual, stream_name=topic))
            try:
                self._backend.dump(self._store, out, **settings)
            except (OptionsError, StatementError) as error:
                if options is None:
                    raise
                raise rejected(error) from error

        if self._backend.name == "oxigraph":
            return pulled(write, self._limits)
        return self._snapshot(write)

    def _snapshot(self, write: Callable[[Any], None]) -> Iterator[bytes]:
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as file:
            with self.lock:
                write(file)
            file.seek(0)
            with FrameBytes(file, limits=self._limits) as frames:
                yield from frames


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
    :param settings: for the store's ``load``, such as ``graph=`` or ``blank_nodes=``.
    :ivar lock: held while a stream is loaded. Topics of the same graph have the same.
    """

    def __init__(self, store: Any, *, limits: Limits = DEFAULT_LIMITS, **settings: Any) -> None:
        self._store = store
        self._load = owner_of(store).load
        self._settings = {"limits": limits, **settings}
        self.lock = _shared_lock(store)

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
    as it has arrived. The frames before an error stay. Blank nodes are new ones for each stream.

    :param store: a ``pyoxigraph.Store``.
    """

    def __init__(self, store: Any, *, limits: Limits = DEFAULT_LIMITS) -> None:
        self._store = store
        self._backend = owner_of(store)
        if self._backend.name != "oxigraph":
            raise TypeError(f"frames are loaded into Oxigraph stores, not into {store!r}")
        self._limits = limits

    def publish(self, frames: Published) -> None:
        """Load a stream.

        :raises JellyError: a frame cannot be read, or the store cannot hold it.
        """
        from pyoxigraph import NamedNode, Quad

        decoder = Decoder(self._backend.factory(), limits=self._limits)
        for data in frames:
            frame = decoder.decode(data)
            quads = [
                each if isinstance(each, Quad) else Quad(each.subject, each.predicate, each.object)
                for each in frame.statements
            ]
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

    :param topics: by name. A path becomes a :class:`FileTopic`, a store or graph a
        :class:`StoreTopic`.
    :param sink: takes streams without a topic; by default they are rejected.
    :raises TypeError: a value is not a topic.
    """

    def __init__(self, topics: Mapping[str, Topic], *, sink: Publishable | None = None) -> None:
        self._topics = {name: _topic_of(topic) for name, topic in topics.items()}
        self._sink = sink

    def subscribe(self, topic: str, options: StreamOptions | None) -> Iterable[bytes]:
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
    return StoreTopic(topic)


def stop(service: object) -> None:
    """Call the ``close`` of an application or a part of it, if there is one."""
    close = getattr(service, "close", None)
    if close is not None:
        close()
