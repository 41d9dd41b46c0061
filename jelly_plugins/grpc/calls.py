"""The two methods of the service, as gRPC calls them, and the limits on calls.

One thread of gRPC serves a call from beginning to end. An error of the application or the client
ends the call with a status, so that an incomplete stream never looks complete.
"""

from __future__ import annotations

import hmac
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final, Self

import grpc

from ..codec import DEFAULT_LIMITS, Limits
from ..errors import JellyError, OptionsError, ServiceError
from . import protocol
from .protocol import DEFAULT_MESSAGE_BYTES, fitted, iterate, open_stream
from .security import HEADER, authorization
from .service import Service

_LOGGER: Final = logging.getLogger("jelly_plugins.grpc")

#: Maximum number of characters of an error's message to the client: it travels in a header.
_LONGEST: Final = 500

#: The health check, which needs no token; how many are served at once, and their maximum seconds.
_CHECK: Final = "/grpc.health.v1.Health/Check"
_CHECKS: Final = 4
_CHECK_SECONDS: Final = 10

#: Number of times that a bound is checked before it is reached, and the maximum seconds between two
#: checks.
_LOOKS: Final = 4
_SECONDS: Final = 1.0


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

    def handlers(self) -> grpc.GenericRpcHandler:
        """The methods, by their names; messages are bytes."""
        return grpc.method_handlers_generic_handler(
            protocol.SERVICE,
            {
                "SubscribeRdf": grpc.unary_stream_rpc_method_handler(self.subscribe),
                "PublishRdf": grpc.stream_unary_rpc_method_handler(self.publish),
            },
        )

    def subscribe(self, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        """SubscribeRdf."""
        try:
            yield from self._frames(request, context)
        except Exception as error:
            # A stream that the application cannot read or write is not the client's error.
            _abort(context, error, "DATA_LOSS")

    def _frames(self, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        try:
            topic, asked = protocol.read_subscribe(request, self._limits)
        except JellyError as error:
            raise protocol.rejected(error) from error
        given = self._service.subscribe(topic, asked)
        cancel = getattr(given, "cancel", None)
        if cancel is not None and not context.add_callback(cancel):
            cancel()
        with closing(iterate(given)) as source:
            try:
                options, frames = open_stream(source, DEFAULT_LIMITS)
            except OptionsError:
                # Frames end early when the client has disconnected.
                if context.is_active():
                    raise
                return
            try:
                protocol.check_answer(asked, options)
            except OptionsError as error:
                raise protocol.rejected(error) from error
            for frame in frames:
                yield from fitted(frame, options, self._bounds.message_bytes)

    def publish(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        """PublishRdf."""
        try:
            frames = Incoming(requests, context, self._bounds, self._limits)
            self._service.publish(frames)
            if next(frames, None) is not None:
                raise ServiceError("the service took only a part of the stream", status="INTERNAL")
        except Exception as error:
            _abort(context, error, "INVALID_ARGUMENT")
        return protocol.RECEIVED


class Incoming:
    """The frames of a stream that a client publishes, see :class:`.service.Published`.

    That the requests end is not enough: gRPC lets them end too where the connection is lost, and
    reports that a moment later. So the end is read twice, and the second answer comes after
    any report.

    :raises JellyError: the stream is empty, has no options, or such as are not supported.
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
        self._most = bounds.stream_bytes
        self._bytes = 0
        self.options, self._frames = open_stream(iter(self._receive, None), limits)
        self.options.check(limits)

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


def _abort(context: grpc.ServicerContext, error: Exception, otherwise: str) -> None:
    """End a call.

    :param otherwise: the status of a JellyError that has none. Other errors are logged, and the
        client gets no message of theirs.
    :raises Exception: always, which gRPC takes for the end of the call.
    """
    if isinstance(error, ServiceError):
        message, name = error.message, error.status
    elif isinstance(error, JellyError):
        # The client must not see where the server has its sources.
        error.source = None
        message, name = str(error), otherwise
    else:
        _LOGGER.error("a call failed", exc_info=error)
        message, name = "the service failed", "INTERNAL"
    status = grpc.StatusCode.__members__.get(name, grpc.StatusCode.OK)
    message = " ".join(message.split())[:_LONGEST].encode(errors="backslashreplace").decode()
    context.abort(grpc.StatusCode.UNKNOWN if status is grpc.StatusCode.OK else status, message)


class Guard(grpc.ServerInterceptor):
    """Rejects calls without the token and calls beyond the bounds; cancels calls whose client is
    idle, and streams that take too long.

    A client is idle only while the server waits for it. A subscriber of a topic without news is not
    idle; a subscriber that does not read what it was sent is. A call is cancelled at most a quarter
    of the bound too late, and at most a second.

    A method with one request waits for it here, because gRPC would wait for it in a thread of the
    pool without a bound. The time that a wrong token takes does not depend on how much of it was
    right. Only the health check (not its watch) needs no token, so that its number is limited.
    """

    def __init__(self, bounds: Bounds, token: str | None) -> None:
        self._token = None if token is None else authorization(token)[0][1].encode()
        self._idle = math.inf if bounds.idle is None else bounds.idle
        seconds = math.inf if bounds.seconds is None else bounds.seconds
        stream = (threading.Semaphore(bounds.streams), bounds.streams, seconds)
        #: Calls at once, their number, and the maximum seconds of each, by method.
        self._bounds: dict[str, tuple[threading.Semaphore, int, float]] = {
            protocol.SUBSCRIBE: stream,
            protocol.PUBLISH: stream,
            _CHECK: (threading.Semaphore(_CHECKS), _CHECKS, _CHECK_SECONDS),
        }
        self._interval = min(_SECONDS, self._idle / _LOOKS, seconds / _LOOKS)
        self._calls: set[_Call] = set()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="jelly-grpc-time", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the watching thread."""
        self._stopped.set()
        self._thread.join()

    def intercept_service(
        self, continuation: Callable[[Any], Any], handler_call_details: Any
    ) -> Any:
        handler = continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None:
            return None
        if method != _CHECK and not self._is_authorized(handler_call_details.invocation_metadata):
            return grpc.stream_stream_rpc_method_handler(_unauthenticated)
        behavior = (
            handler.unary_unary
            or handler.unary_stream
            or handler.stream_unary
            or handler.stream_stream
        )
        if getattr(behavior, "experimental_non_blocking", False):
            # The watch of the health service, which takes no thread.
            return handler

        def answers(requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
            call = _Call(requests, context)
            slots, number, seconds = self._bounds.get(method, (None, 0, math.inf))
            call.deadline = time.monotonic() + seconds
            if slots is not None and not slots.acquire(blocking=False):
                context.abort(
                    grpc.StatusCode.RESOURCE_EXHAUSTED,
                    f"the server already serves {number} streams, its maximum",
                )
            with self._lock:
                self._calls.add(call)
            try:
                given = behavior(call if handler.request_streaming else call.request(), context)
                for each in iterate(given if handler.response_streaming else (given,)):
                    call.since = time.monotonic()
                    # gRPC comes back here once it has sent this.
                    yield each
                    call.since = None
            finally:
                with self._lock:
                    self._calls.remove(call)
                if slots is not None:
                    slots.release()

        # To a client, an answer looks the same as a stream of one message.
        return grpc.stream_stream_rpc_method_handler(
            answers, handler.request_deserializer, handler.response_serializer
        )

    def _is_authorized(self, metadata: Any) -> bool:
        if self._token is None:
            return True
        given = [value for key, value in metadata if key == HEADER]
        value = given[0] if len(given) == 1 else ""
        raw = value.encode(errors="replace") if isinstance(value, str) else value
        return hmac.compare_digest(raw, self._token)

    def _watch(self) -> None:
        while not self._stopped.wait(self._interval):
            with self._lock:
                calls = tuple(self._calls)
            now = time.monotonic()
            for call in calls:
                since = call.since
                if now >= call.deadline or (since is not None and now - since >= self._idle):
                    call.context.cancel()


def _unauthenticated(_requests: object, context: grpc.ServicerContext) -> Any:
    context.abort(grpc.StatusCode.UNAUTHENTICATED, "a valid token is needed")


class _Call:
    """A call, and its requests as an iterator.

    :ivar deadline: when it is cancelled.
    :ivar since: since when the server has waited for the client; None if it does not wait.
    """

    def __init__(self, requests: Iterator[Any], context: grpc.ServicerContext) -> None:
        self._requests = requests
        self.context = context
        self.deadline = math.inf
        self.since: float | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        self.since = time.monotonic()
        try:
            return next(self._requests)
        finally:
            self.since = None

    def request(self) -> Any:
        """The only request."""
        for request in self:
            return request
        return self.context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the request is missing")
