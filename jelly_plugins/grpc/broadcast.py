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
from ..codec.rdf.options import VERSION_1_1
from ..errors import OptionsError, ServiceError
from ..formats.transcode import ScopedFactory
from .buffers import DEFAULT_BUFFER_BYTES, FrameBuffer, NotWantedError
from .frames import DEFAULT_MESSAGE_BYTES, FRAME_BYTES, FRAME_ROWS, fitted, open_stream
from .outgoing import outgoing
from .service import Published
from .wire import check_answer, rejected

#: Seconds that publishers wait for a slow subscriber.
DEFAULT_TIMEOUT: Final = 10.0

#: Characters of namespaces that are kept for later subscribers: they go before all else, in one
#: frame, and any publisher adds to them.
_NAMESPACE_SIZE: Final = 64 << 10


class Broadcast:
    """A live topic: subscribers receive what is published after they subscribe.

    Blank nodes of one published stream are other nodes than those of the next. Where the topic's
    logical type is grouped, each published frame is one element, and goes out as one frame.
    Publishing is not all or nothing: frames sent before an error are not taken back.

    :param options: of the outgoing stream; subscribers that request less are rejected, and so
        are published streams of another physical type, or with features that it does not declare.
        With version 1, namespaces are not sent.
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
        if subscriber_timeout is not None and subscriber_timeout < 0:
            raise ValueError("subscriber_timeout must not be negative")
        if options.version == 0:
            options = replace(options, version=VERSION_1_1)
        self._limits = limits
        self._buffer_bytes = buffer_bytes
        self._timeout = subscriber_timeout
        self._message_bytes = message_bytes
        self._options = options
        self._encoder = self._restarting()
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
        """The options of the outgoing stream."""
        return self._options

    @property
    def subscribers(self) -> int:
        """The number of current subscribers."""
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
        buffer = FrameBuffer(self._buffer_bytes, options=self._options)
        with self._lock:
            if self._closed:
                raise _closing()
            if not self._options.grouped:
                # In a grouped stream this frame would be an element: see _send.
                buffer.put(self._opening())
            self._newcomers.append(buffer)
        return buffer

    def publish(self, frames: Published) -> None:
        """Forward a stream frame by frame.

        :raises JellyError: the stream cannot be read or forwarded.
        """
        self._pass_on(frames.options, frames)

    def send(self, data: Any, **settings: Any) -> None:
        """Publish from this process: statements, a graph or store, or a source.

        :param settings: as for :func:`.client.publish`.
        :raises JellyError: the data cannot be forwarded.
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

    def _restarting(self) -> Encoder:
        """An encoder whose next frame can follow any other, such as the opening one."""
        encoder = self._new_encoder()
        encoder.flush()
        encoder.restart()
        return encoder

    def _send(self, frame: Frame) -> None:
        """Send a frame to all subscribers.

        :raises JellyError: the frame cannot be encoded, or not be sent.
        """
        with self._lock:
            newcomers, self._newcomers = self._newcomers, []
            opening = self._opening() if newcomers and self._options.grouped else b""
            if self._options.has_namespaces:
                for name, iri in frame.namespaces:
                    self._remember(name, iri.value)
            here = [buffer for buffer in self._subscribers + newcomers if buffer.is_open]
            self._subscribers = here[:]
        if not here:
            # The next frame sent is a restart point, since a client must have subscribed.
            return
        if newcomers:
            self._encoder.restart()
        try:
            chunks = self._encoded(frame, len(opening))
        except BaseException:
            self._start_again()
            raise
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        for data in chunks:
            # Subscribers that keep up do not wait for the others.
            full = []
            for buffer in here:
                # The rows of two frames are a frame.
                chunk = opening + data if opening and buffer in newcomers else data
                if not _put(buffer, chunk, 0):
                    full.append((buffer, chunk))
            for buffer, chunk in full:
                left = None if deadline is None else max(0, deadline - time.monotonic())
                if not _put(buffer, chunk, left):
                    buffer.end(_too_slow(), drop=True)

    def _start_again(self) -> None:
        """Make the next frame a restart point for all subscribers, because rows or lookup entries
        of the encoder were not sent."""
        self._encoder = self._restarting()
        with self._lock:
            self._newcomers = self._subscribers + self._newcomers
            self._subscribers = []

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

    def _encoded(self, frame: Frame, reserved: int) -> list[bytes]:
        """Encode a frame of a published stream as frames of the outgoing stream.

        :param reserved: bytes that its message needs besides.
        :raises LimitError: an element or a row is too large for a message.
        """
        encoder = self._encoder
        if self._options.has_namespaces:
            for name, iri in frame.namespaces:
                encoder.add_namespace(name, iri.value)
        ended = encoder.add(frame.statements)
        for graph in frame.empty_graphs:
            encoder.start_graph(graph)
        encoder.end_graph()
        most = self._message_bytes - reserved
        return [
            chunk
            for data in (*ended, encoder.flush(frame.metadata))
            for chunk in fitted(data, self._options, most)
        ]


def _put(buffer: FrameBuffer, data: bytes, timeout: float | None) -> bool:
    """Give a frame to one subscriber; returns False if its buffer is still full."""
    try:
        return buffer.put(data, timeout=timeout)
    except NotWantedError:
        return True


def _too_slow() -> ServiceError:
    return ServiceError(
        "the subscriber is too slow for what is published", status="RESOURCE_EXHAUSTED"
    )


def _closing() -> ServiceError:
    return ServiceError("the server is being stopped", status="UNAVAILABLE")
