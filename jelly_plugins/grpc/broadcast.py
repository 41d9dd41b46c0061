"""A live topic: what clients publish to it is sent to all current subscribers.

Frames cannot be forwarded unchanged: each needs the lookups of those before it, which a client
that subscribes later has not received, and each publisher's stream has its own. So
they are decoded and encoded again, once for all subscribers, as one stream without an end. Whenever
a client subscribes, the next frame is a restart point, from which a reader can begin: see
:mod:`~jelly_plugins.codec.rdf.restarts`.

The buffer of each subscriber is bounded. A slow subscriber slows the publishers, or is
disconnected; the frames sent to it have no gaps in either case. A frame that cannot be sent to the
subscribers is an error of its publisher.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from typing import Any, Final

from ..codec import DEFAULT_LIMITS, Decoder, Encoder, Frame, Limits, StreamOptions
from ..codec.common.options import VERSION_1_1
from ..errors import OptionsError, ServiceError
from ..formats.transcode import ScopedFactory
from .frames import DEFAULT_BUFFER_BYTES, FRAME_SIZE, FrameBuffer, outgoing
from .protocol import (
    DEFAULT_MESSAGE_BYTES,
    check_answer,
    check_features,
    fitted,
    open_stream,
    rejected,
)
from .topics import Published

#: Seconds that publishers wait for a slow subscriber.
DEFAULT_TIMEOUT: Final = 10.0


class Broadcast:
    """A live topic: subscribers receive what is published after they subscribe.

    Blank nodes of one published stream are other nodes than those of the next. Where the topic's
    logical type is grouped, each published frame is one element, and goes out as one frame.
    Publishing is not all or nothing: frames sent before an error are not taken back.

    :param options: of the outgoing stream; subscribers that request less are rejected, and so
        are published streams of another physical type, or with features that it does not declare.
        With version 1, namespaces are not sent. Later subscribers do not receive earlier ones.
    :param buffer_bytes: bytes of frames that wait for a subscriber, at most.
    :param subscriber_timeout: seconds that the publisher of a frame waits for subscribers whose
        buffers are full, for all of them together, before they are disconnected with
        RESOURCE_EXHAUSTED. 0 disconnects at once; None waits without a limit.
    :param message_bytes: bytes of the largest message that goes out. A larger element, or row of a
        flat stream, is rejected. Give the value of the server's :class:`.Bounds`, if it is not the
        default.
    """

    def __init__(
        self,
        options: StreamOptions,
        *,
        buffer_bytes: int = DEFAULT_BUFFER_BYTES,
        subscriber_timeout: float | None = DEFAULT_TIMEOUT,
        message_bytes: int = DEFAULT_MESSAGE_BYTES,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        #: The options of the outgoing stream.
        self.options: Final = replace(options, version=options.version or VERSION_1_1)
        self._limits = limits
        self._buffer_bytes = buffer_bytes
        self._timeout = subscriber_timeout
        self._message_bytes = message_bytes
        self._scopes = count()
        #: Held while a frame goes out, so that all see the same order.
        self._sending = threading.Lock()
        #: Held while what follows is changed or read.
        self._lock = threading.Lock()
        self._subscribers: list[FrameBuffer] = []
        self._has_newcomers = False
        self._closed = False
        self._start()

    def _start(self) -> None:
        """Make an encoder whose next frame can follow any other, and the frame that flat streams
        begin with: only the options."""
        self._encoder = Encoder(self.options, limits=self._limits, **FRAME_SIZE)
        self._opening = self._encoder.flush()
        self._encoder.restart()

    @property
    def subscribers(self) -> int:
        """The number of current subscribers."""
        with self._lock:
            return len(self._open_subscribers())

    def _open_subscribers(self) -> list[FrameBuffer]:
        return [buffer for buffer in self._subscribers if buffer.is_open]

    def subscribe(self, _topic: str, options: StreamOptions | None) -> Iterable[bytes]:
        """What is published from now on.

        :raises ServiceError: the topic has more than was requested, or was closed.
        """
        try:
            check_answer(options, self.options)
        except OptionsError as error:
            raise rejected(error) from error
        buffer = FrameBuffer(self._buffer_bytes)
        if not self.options.grouped:
            # In a grouped stream this frame would be an element.
            buffer.put(self._opening)
        with self._lock:
            if self._closed:
                raise _closing()
            # A topic to which nothing is published must not keep all that have ever subscribed.
            self._subscribers = [*self._open_subscribers(), buffer]
            self._has_newcomers = True
        return buffer

    def publish(self, frames: Published) -> None:
        """Forward a stream frame by frame.

        :raises JellyError: the stream cannot be read or forwarded.
        """
        self._forward(frames.options, frames)

    def send(self, data: Any, **settings: Any) -> None:
        """Publish from this process: statements, a graph or store, or a source.

        :param settings: as for :func:`.client.publish`.
        :raises JellyError: the data cannot be forwarded.
        """
        frames = outgoing(data, limits=self._limits, **settings)
        self._forward(*open_stream(frames, self._limits))

    def close(self) -> None:
        """End all subscriptions, after the frames already published, with UNAVAILABLE: this server
        sends no more of the stream, which has no end."""
        with self._lock:
            self._closed = True
            for buffer in self._subscribers:
                buffer.end(_closing())
            self._subscribers = []

    def _forward(self, options: StreamOptions, frames: Iterable[bytes]) -> None:
        own = self.options
        check_features(options, own, "topic")
        if own.grouped and options.base_logical_type not in (0, own.base_logical_type):
            raise OptionsError("the logical type of the stream is not that of the topic")
        decoder = Decoder(ScopedFactory(next(self._scopes)), limits=self._limits)
        for data in frames:
            frame = decoder.decode(data)
            with self._sending:
                self._send(frame)
        decoder.finish()

    def _send(self, frame: Frame) -> None:
        """Send a frame to all subscribers."""
        with self._lock:
            here = self._subscribers = self._open_subscribers()
            has_newcomers, self._has_newcomers = self._has_newcomers, False
        if not here:
            # The next frame sent is a restart point, since a client must have subscribed.
            return
        if has_newcomers:
            self._encoder.restart()
        try:
            chunks = self._encoded(frame)
        except BaseException:
            # Rows or lookup entries of the encoder were not sent.
            self._start()
            raise
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        for data in chunks:
            # Subscribers that keep up do not wait for the others.
            for buffer in [each for each in here if not each.put(data, timeout=0)]:
                left = None if deadline is None else max(0, deadline - time.monotonic())
                if not buffer.put(data, timeout=left):
                    too_slow = "the subscriber is too slow for what is published"
                    buffer.end(ServiceError(too_slow, status="RESOURCE_EXHAUSTED"), drop=True)

    def _encoded(self, frame: Frame) -> list[bytes]:
        """Encode a frame of a published stream as frames of the outgoing stream."""
        encoder = self._encoder
        if self.options.has_namespaces:
            for name, iri in frame.namespaces:
                encoder.add_namespace(name, iri.value)
        ended = encoder.add(frame.statements)
        for graph in frame.empty_graphs:
            encoder.start_graph(graph)
        encoder.end_graph()
        return [
            chunk
            for data in (*ended, encoder.flush(frame.metadata))
            for chunk in fitted(data, self.options, self._message_bytes)
        ]


def _closing() -> ServiceError:
    return ServiceError("the server is being stopped", status="UNAVAILABLE")
