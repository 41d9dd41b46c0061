"""Topics of files, stores and graphs, and a service of several topics by name.

A topic that is being published to while others listen is in :mod:`.broadcast`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, TypeAlias

from ..backends import owner_of
from ..codec import DEFAULT_LIMITS, Limits, PhysicalType, StreamOptions
from ..errors import JellyError, OptionsError, ServiceError, StatementError
from ..io.sinks import Writable
from ..io.streams import FrameBytes
from .buffers import Pulled
from .calls import stop
from .frames import FRAME_BYTES, FRAME_ROWS, iterate
from .service import Publishable, Published, Subscribable
from .sinks import shared_lock
from .wire import answer_to, rejected

#: Bytes of a snapshot that are held in memory; what is more is in a temporary file.
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
        self._graph = graph
        self._limits = limits
        self._backend = owner_of(store)

    def subscribe(self, topic: str, options: StreamOptions | None) -> Iterable[bytes]:
        """The frames of a dump.

        :raises ServiceError: the store cannot be written with the requested options.
        """
        usual = replace(_QUADS if self._graph is None else _TRIPLES, stream_name=topic)
        if (
            options is not None
            and self._graph is None
            and options.physical_type is PhysicalType.TRIPLES
        ):
            raise rejected(OptionsError(f"topic {topic} has quads"))
        answer = answer_to(options, usual)

        def write(out: Writable) -> None:
            with _rejections(options):
                self._backend.dump(
                    self._store,
                    out,
                    graph=self._graph,
                    options=answer,
                    frame_rows=FRAME_ROWS,
                    frame_bytes=FRAME_BYTES,
                    limits=self._limits,
                )

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
        self._backend = owner_of(graph)
        self._limits = limits
        self.lock = lock or shared_lock(graph)

    def subscribe(self, topic: str, options: StreamOptions | None) -> Iterator[bytes]:
        """The frames of a snapshot.

        :raises ServiceError: the graph cannot be written with the requested options.
        """
        settings: dict[str, Any] = {"frame_rows": FRAME_ROWS, "frame_bytes": FRAME_BYTES}
        if options is not None:
            settings["options"] = answer_to(options, replace(_QUADS, stream_name=topic))
        file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (_frames_of closes it)
        try:
            with self.lock, _rejections(options):
                self._backend.dump(self._graph, file, limits=self._limits, **settings)
            file.seek(0)
        except BaseException:
            file.close()
            raise
        return _frames_of(file, self._limits)


def _frames_of(file: Any, limits: Limits) -> Iterator[bytes]:
    with file, FrameBytes(file, limits=limits) as frames:
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


Topic: TypeAlias = "Subscribable | str | os.PathLike[str] | Any"


class Topics:
    """A service of several topics by name, and of a sink.

    A stream that is published goes to the topic that it has for a name (``stream_name`` in its
    options), if that one is published to, and otherwise into the sink.

    :param topics: by name. A path becomes a :class:`FileTopic`, an Oxigraph store a
        :class:`StoreTopic`, an rdflib graph a :class:`GraphTopic`.
    :param sink: takes streams without a topic; by default they are rejected.
    """

    def __init__(self, topics: Mapping[str, Topic], *, sink: Publishable | None = None) -> None:
        self._topics = {name: topic_of(topic) for name, topic in topics.items()}
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


def topic_of(topic: Topic) -> Subscribable:
    """Convert a topic's value, see :class:`Topics`.

    :raises TypeError: the value is not a topic.
    """
    if isinstance(topic, Subscribable):
        return topic
    if isinstance(topic, str | os.PathLike):
        return FileTopic(topic)
    backend = owner_of(topic)
    return StoreTopic(topic) if backend.name == "oxigraph" else GraphTopic(topic)
