"""The two methods of the service, as gRPC calls them.

One thread of gRPC serves a call from beginning to end. An error of the application or the client
ends the call with a status, so that an incomplete stream never looks complete.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Self

import grpc

from ..codec import Limits, StreamOptions
from ..errors import JellyError, OptionsError, ServiceError
from . import wire
from .frames import DEFAULT_MESSAGE_BYTES, Opening, fitted, iterate, open_stream
from .service import Service

LOGGER: Final = logging.getLogger("jelly_plugins.grpc")

#: Characters of an error's message to the client, at most: it travels in a header.
_LONGEST: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Limits on the resources that the clients of a server may use.

    :ivar streams: how many are served at once; the server rejects more with RESOURCE_EXHAUSTED.
    :ivar message_bytes: bytes of a message, which is one frame, in either direction.
    :ivar stream_bytes: bytes of a published stream.
    :ivar seconds: after which a stream is cut, in either direction; None for no such bound. The
        client's own deadline holds besides.
    :ivar idle: seconds that the server waits for a client that does not send the next frame of
        what it publishes, or does not read what it is sent; at most a quarter more passes. Then
        the call ends with CANCELLED. Subscribers of a topic without news are not idle. None for no
        such bound.
    """

    streams: int = 200
    message_bytes: int = DEFAULT_MESSAGE_BYTES
    stream_bytes: int = 4 << 30
    seconds: float | None = None
    idle: float | None = 300

    def __post_init__(self) -> None:
        if self.streams < 1 or self.message_bytes < 1 << 13 or self.stream_bytes < 1:
            raise ValueError("a bound must be at least 1")
        for name in ("seconds", "idle"):
            bound = getattr(self, name)
            if bound is not None and not bound > 0:
                raise ValueError(f"{name} must be greater than 0 (got {bound})")


class Calls:
    """Serves an application's streams.

    :param limits: those on streams that clients publish.
    """

    def __init__(self, service: Service, bounds: Bounds, limits: Limits) -> None:
        self._service = service
        self._bounds = bounds
        self._limits = limits
        self._slots = threading.BoundedSemaphore(bounds.streams)

    def handlers(self) -> grpc.GenericRpcHandler:
        """The methods, by their names; messages are bytes."""
        return grpc.method_handlers_generic_handler(
            wire.SERVICE,
            {
                wire.SUBSCRIBE: grpc.unary_stream_rpc_method_handler(self.subscribe),
                wire.PUBLISH: grpc.stream_unary_rpc_method_handler(self.publish),
            },
        )

    def subscribe(self, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        """SubscribeRdf."""
        try:
            with self._slot():
                try:
                    topic, asked = wire.read_subscribe(request, self._limits)
                except JellyError as error:
                    raise wire.rejected(error) from error
                yield from self._frames(topic, asked, context)
        except Exception as error:
            # A stream that the application cannot read or write is not the client's error.
            abort(context, service_error(error, "DATA_LOSS"))

    def _frames(
        self, topic: str, asked: StreamOptions | None, context: grpc.ServicerContext
    ) -> Iterator[bytes]:
        given = self._service.subscribe(topic, asked)
        cancel = getattr(given, "cancel", None)
        if cancel is not None and not context.add_callback(cancel):
            cancel()
        early: StreamOptions | None = getattr(given, "options", None)
        if early is not None:
            context.send_initial_metadata(wire.metadata_of(early))
        opening = Opening()
        for frame in iterate(given):
            if opening.take(frame) and opening.options is not None:
                try:
                    wire.check_answer(asked, opening.options)
                except OptionsError as error:
                    raise wire.rejected(error) from error
            yield from fitted(frame, opening.options, self._bounds.message_bytes)
        if opening.options is None and context.is_active():
            raise OptionsError("the stream has no options: it is empty")

    def publish(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        """PublishRdf."""
        try:
            with self._slot():
                frames = Incoming(requests, context, self._bounds, self._limits)
                frames.open()
                self._service.publish(frames)
                if next(frames, None) is not None:
                    raise part_error()
        except Exception as error:
            abort(context, service_error(error, "INVALID_ARGUMENT"))
        return wire.RECEIVED

    @contextmanager
    def _slot(self) -> Iterator[None]:
        if not self._slots.acquire(blocking=False):
            raise ServiceError(
                f"the server already serves {self._bounds.streams} streams, its maximum",
                status="RESOURCE_EXHAUSTED",
            )
        try:
            yield
        finally:
            self._slots.release()


class Incoming:
    """The frames of a stream that a client publishes, see :class:`.service.Published`.

    That the requests end is not enough: gRPC lets them end too where the connection is lost, and
    reports that a moment later. So the end is read twice, and the second answer comes after
    any report.
    """

    def __init__(
        self,
        requests: Iterator[bytes],
        context: grpc.ServicerContext,
        bounds: Bounds,
        limits: Limits,
    ) -> None:
        self._requests = requests
        self._context = context
        self._bounds = bounds
        self._limits = limits
        self._bytes = 0

    def open(self) -> None:
        """Read up to the options.

        :raises JellyError: the stream is empty, has no options, or such as are not supported.
        """
        self.options, self._frames = open_stream(iter(self._receive, None), self._limits)
        self.options.check(self._limits)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        return next(self._frames)

    def check(self) -> None:
        # That the time is up may be known before gRPC has ended the call.
        if not self._context.is_active() or self._context.time_remaining() == 0:
            raise ServiceError("the client has disconnected", status="CANCELLED")

    def when_over(self, act: Callable[[], None]) -> None:
        """Register a callback, which another thread calls at the end of the call."""
        if not self._context.add_callback(act):
            act()

    def _receive(self) -> bytes | None:
        """The next request; None if the client has ended the stream."""
        frame = self._request()
        if frame is None:
            frame = self._request()
            self.check()
            if frame is not None:
                raise ServiceError("the stream continues after its end", status="INTERNAL")
            return None
        self._bytes += len(frame)
        if self._bytes > self._bounds.stream_bytes:
            raise ServiceError(
                f"the stream has more than {self._bounds.stream_bytes:,} bytes",
                status="RESOURCE_EXHAUSTED",
            )
        return frame

    def _request(self) -> bytes | None:
        try:
            return next(self._requests, None)
        except Exception as error:
            # What gRPC raises is the state of the call, and has no words.
            raise ServiceError(
                "the client has disconnected, or was idle for too long", status="CANCELLED"
            ) from error


def stop(service: Any) -> None:
    """Call the application's ``close``, if it has one."""
    close = getattr(service, "close", None)
    if close is not None:
        close()


def service_error(error: Exception, otherwise: str) -> ServiceError:
    """The error that the client gets for an error of the server.

    :param otherwise: the status of a JellyError that has none. Other errors are logged, and the
        client gets no message of theirs.
    """
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, JellyError):
        # The client must not see where the server has its sources.
        error.source = None
        return ServiceError(str(error)[:_LONGEST], status=otherwise)
    LOGGER.error("a call failed", exc_info=error)
    return ServiceError("the service failed", status="INTERNAL")


def abort(context: Any, error: ServiceError) -> None:
    """End a call.

    :raises Exception: always, which gRPC takes for the end of the call.
    """
    status = grpc.StatusCode.__members__.get(error.status)
    if status in (None, grpc.StatusCode.OK):
        status = grpc.StatusCode.UNKNOWN
    message = " ".join(error.message.split())[:_LONGEST]
    context.abort(status, message.encode(errors="backslashreplace").decode())


def part_error() -> ServiceError:
    """The error for an application that returns before it has taken all of a stream."""
    return ServiceError("the service took only a part of the stream", status="INTERNAL")
