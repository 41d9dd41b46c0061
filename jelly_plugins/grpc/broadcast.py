"""A topic that is published to while others listen: what comes in goes out to all of them.

Frames cannot be forwarded unchanged: each needs the lookups of those before it, which a client
that subscribes later has not received, and each publisher's stream has its own. So
they are decoded and encoded again, once for all subscribers, as one stream without an end. Whenever
a client subscribes, the next frame is a restart point, from which a reader can begin: see
:mod:`~jelly_plugins.codec.rdf.restarts`.

The buffer of each subscriber is bounded. A slow subscriber slows the publishers, or is
disconnected; the frames sent to it have no gaps in either case.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from typing import Any, Final

from ..codec import DEFAULT_LIMITS, Decoder, Encoder, Frame, Limits, StreamOptions
from ..codec.rdf.options import VERSION_1_1
from ..errors import OptionsError, ServiceError
from ..formats.transcode import ScopedFactory
from .buffers import DEFAULT_BUFFER_BYTES, FrameBuffer, NotWantedError
from .frames import FRAME_BYTES, FRAME_ROWS, open_stream
from .outgoing import outgoing
from .service import Published
from .wire import check_answer, rejected

#: Seconds that publishers wait for a slow subscriber.
DEFAULT_TIMEOUT: Final = 10.0

#: Characters of namespaces that are kept for later subscribers: they go before all else, in one
#: frame, and any publisher adds to them.
_NAMESPACE_SIZE: Final = 64 << 10


class Broadcast:
    """A topic without a past: subscribers get what is published while they listen.

    Blank nodes of one published stream are other nodes than those of the next. Where the topic's
    logical type is grouped, each published frame is one element, and goes out as one frame.
    Publishing is not all or nothing: what has gone out before an error has gone out.

    :param options: of the outgoing stream; subscribers that request less are rejected, and so
        are published streams of another physical type, or with features that it lacks. With
        version 1 no namespaces go out.
    :param buffer_bytes: bytes of frames that wait for a subscriber, at most.
    :param subscriber_timeout: seconds that publishers wait for a subscriber whose buffer is full,
        before it is disconnected with RESOURCE_EXHAUSTED. 0 disconnects at once; None waits without
        a limit.
    """

    def __init__(
        self,
        options: StreamOptions,
        *,
        buffer_bytes: int = DEFAULT_BUFFER_BYTES,
        subscriber_timeout: float | None = DEFAULT_TIMEOUT,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        if subscriber_timeout is not None and subscriber_timeout < 0:
            raise ValueError("subscriber_timeout must not be negative")
        if options.version == 0:
            options = replace(options, version=VERSION_1_1)
        self._limits = limits
        self._buffer_bytes = buffer_bytes
        self._timeout = subscriber_timeout
        self._options = options
        self._encoder = self._new_encoder()
        self._scopes = count()
        self._namespaces: dict[str, str] = {}
        self._namespace_size = 0
        #: Held while a frame goes out, so that all see the same order.
        self._sending = threading.Lock()
        #: Held while the two lists are looked at.
        self._lock = threading.Lock()
        self._subscribers: list[FrameBuffer] = []
        self._newcomers: list[FrameBuffer] = []
        self._closed = False

    @property
    def options(self) -> StreamOptions:
        """Those of the stream that goes out."""
        return self._options

    @property
    def subscribers(self) -> int:
        """How many listen now."""
        with self._lock:
            buffers = (*self._subscribers, *self._newcomers)
            return sum(buffer.is_open for buffer in buffers)

    def subscribe(self, _topic: str, options: StreamOptions | None) -> Iterable[bytes]:
        """What is published from now on.

        :raises ServiceError: the topic has more than was requested, or was closed.
        """
        try:
            check_answer(options, self._options)
        except OptionsError as error:
            raise rejected(error) from error
        buffer = FrameBuffer(self._buffer_bytes)
        with self._lock:
            if self._closed:
                raise _closing()
            # The options go out at once, so that a subscriber knows that it is one.
            buffer.put(self._opening())
            self._newcomers.append(buffer)
        return buffer

    def publish(self, frames: Published) -> None:
        """Pass a stream on, frame by frame.

        :raises JellyError: it cannot be read, or not be passed on.
        """
        self._pass_on(frames.options, frames)

    def send(self, data: Any, **settings: Any) -> None:
        """Publish from within: statements, a graph or store, or a source.

        :param settings: as for :func:`.client.publish`.
        :raises JellyError: the data cannot be passed on.
        """
        frames = outgoing(data, limits=self._limits, **settings)
        self._pass_on(*open_stream(frames, self._limits))

    def _pass_on(self, options: StreamOptions, frames: Iterable[bytes]) -> None:
        self._check(options)
        decoder = Decoder(ScopedFactory(next(self._scopes)), limits=self._limits)
        for data in frames:
            frame = decoder.decode(data)
            with self._sending:
                self._send(frame)
        decoder.finish()

    def close(self) -> None:
        """End all subscriptions, after the frames already published, with UNAVAILABLE: this server
        sends no more of the stream, which has no end."""
        with self._lock:
            self._closed = True
            for buffer in (*self._subscribers, *self._newcomers):
                buffer.end(_closing())
            self._subscribers.clear()
            self._newcomers.clear()

    def _check(self, options: StreamOptions) -> None:
        """Reject a stream that cannot be broadcast.

        :raises OptionsError: it cannot.
        """
        own = self._options
        if options.physical_type is not own.physical_type:
            raise OptionsError(
                f"the stream's physical type is {options.physical_type.name}, "
                f"the topic's {own.physical_type.name}"
            )
        for name in ("generalized_statements", "rdf_star"):
            if getattr(options, name) and not getattr(own, name):
                raise OptionsError(f"the stream has {name}, which the topic does not have")
        if own.grouped and options.base_logical_type not in (0, own.base_logical_type):
            raise OptionsError("the logical type of the stream is not that of the topic")

    def _opening(self) -> bytes:
        """A frame with the rows that precede all statements."""
        encoder = self._new_encoder()
        for name, iri in self._namespaces.items():
            encoder.add_namespace(name, iri)
        return encoder.flush()

    def _new_encoder(self) -> Encoder:
        return Encoder(
            self._options,
            frame_rows=FRAME_ROWS,
            frame_bytes=FRAME_BYTES,
            limits=self._limits,
        )

    def _send(self, frame: Frame) -> None:
        """Let a frame go out to all subscribers."""
        with self._lock:
            if self._options.has_namespaces:
                for name, iri in frame.namespaces:
                    self._remember(name, iri.value)
            newcomers, self._newcomers = self._newcomers, []
            here = [buffer for buffer in self._subscribers + newcomers if buffer.is_open]
            self._subscribers = here[:]
        if not here:
            # The next frame sent is a restart point, since a client must have subscribed.
            return
        if newcomers:
            self._encoder.restart()
        for data in self._encoded(frame):
            for buffer in here:
                self._hand(buffer, data)

    def _remember(self, name: str, iri: str) -> None:
        """Keep a namespace for later subscribers, up to a limit."""
        before = self._namespaces.pop(name, None)
        if before is not None:
            self._namespace_size -= len(name) + len(before)
        self._namespaces[name] = iri
        self._namespace_size += len(name) + len(iri)
        while self._namespace_size > _NAMESPACE_SIZE:
            oldest = next(iter(self._namespaces))
            self._namespace_size -= len(oldest) + len(self._namespaces.pop(oldest))

    def _encoded(self, frame: Frame) -> list[bytes]:
        """A frame of one published stream as frames of the stream that goes out."""
        encoder = self._encoder
        if self._options.has_namespaces:
            for name, iri in frame.namespaces:
                encoder.add_namespace(name, iri.value)
        ended = encoder.add(frame.statements)
        for graph in frame.empty_graphs:
            encoder.start_graph(graph)
        encoder.end_graph()
        return [*ended, encoder.flush(frame.metadata)]

    def _hand(self, buffer: FrameBuffer, data: bytes) -> None:
        """Give a frame to one subscriber, or cut it."""
        try:
            taken = buffer.put(data, timeout=self._timeout)
        except NotWantedError:
            return
        if not taken:
            buffer.end(_too_slow(), drop=True)


def _too_slow() -> ServiceError:
    return ServiceError(
        "the subscriber is too slow for what is published", status="RESOURCE_EXHAUSTED"
    )


def _closing() -> ServiceError:
    return ServiceError("the server is being stopped", status="UNAVAILABLE")
