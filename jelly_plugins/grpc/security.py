"""What clients may do: TLS with certificates of one or both sides, a token, and the bounds of a
server."""

from __future__ import annotations

import hmac
import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import grpc

from ..errors import SourceError
from .protocol import DEFAULT_MESSAGE_BYTES, PUBLISH, SUBSCRIBE, iterate

#: A file in PEM, or what is in one.
Pem: TypeAlias = str | Path | bytes

_HEADER: Final = "authorization"
#: The health check, which needs no token; how many are served at once, and their maximum seconds.
_CHECK: Final = "/grpc.health.v1.Health/Check"
_CHECKS: Final = 4
_CHECK_SECONDS: Final = 10
#: Number of times that a bound is checked before it is reached, and the maximum seconds between two
#: checks.
_LOOKS: Final = 4
_SECONDS: Final = 1.0


def _read(pem: Pem | None) -> Any:
    if pem is None or isinstance(pem, bytes):
        return pem
    try:
        return Path(pem).read_bytes()
    except (OSError, ValueError) as error:
        message = getattr(error, "strerror", None) or str(error)
        raise SourceError(message, source=str(pem)) from error


@dataclass(frozen=True, kw_only=True)
class ServerTls:
    """The certificates of a server, and the clients that it accepts.

    :ivar certificate: its certificate, and those between it and the authority: a file or its bytes.
    :ivar key: its private key.
    :ivar client_ca: the authority whose certificates clients must present (mutual TLS); None
        accepts clients without one.
    """

    certificate: Pem
    key: Pem
    client_ca: Pem | None = None

    def credentials(self) -> grpc.ServerCredentials:
        """For a port."""
        return grpc.ssl_server_credentials(
            [(_read(self.key), _read(self.certificate))],
            root_certificates=_read(self.client_ca),
            require_client_auth=self.client_ca is not None,
        )


@dataclass(frozen=True, kw_only=True)
class ClientTls:
    """The servers that a client trusts, and its own credentials.

    :ivar ca: the authority of the server's certificate; None for those that gRPC trusts.
    :ivar certificate: the client's certificate, for a server that requires one.
    :ivar key: its private key.
    """

    ca: Pem | None = None
    certificate: Pem | None = None
    key: Pem | None = None

    def __post_init__(self) -> None:
        # gRPC ends the process for one without the other.
        if (self.certificate is None) != (self.key is None):
            raise ValueError("a certificate and its key must be given together")

    def credentials(self) -> grpc.ChannelCredentials:
        """For a channel."""
        return grpc.ssl_channel_credentials(
            root_certificates=_read(self.ca),
            private_key=_read(self.key),
            certificate_chain=_read(self.certificate),
        )


def authorization(token: str | None) -> tuple[tuple[str, str], ...]:
    """The metadata of a call with a token."""
    return () if token is None else ((_HEADER, f"Bearer {check_token(token)}"),)


def check_token(token: str) -> str:
    """Check that a header can have a token, and return it."""
    if not token or not token.isascii() or not token.isprintable() or token != token.strip():
        raise ValueError("a token must be printable ASCII, without surrounding spaces")
    return token


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
        for name, least in (("streams", 1), ("message_bytes", 1 << 13), ("stream_bytes", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least} (got {getattr(self, name)})")
        for name in ("seconds", "idle"):
            bound = getattr(self, name)
            if bound is not None and not bound > 0:
                raise ValueError(f"{name} must be greater than 0 (got {bound})")


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
        streams = (threading.Semaphore(bounds.streams), bounds.streams, seconds)
        #: Calls at once, their number, and the maximum seconds of each, by method.
        self._bounds: dict[str, tuple[threading.Semaphore, int, float]] = {
            SUBSCRIBE: streams,
            PUBLISH: streams,
            _CHECK: (threading.Semaphore(_CHECKS), _CHECKS, _CHECK_SECONDS),
        }
        self._interval = min(_SECONDS, self._idle / _LOOKS, seconds / _LOOKS)
        self._calls: set[_Call] = set()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="jelly-grpc-time", daemon=True)
        self._thread.start()

    def stop(self) -> None:
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
            slots, number, seconds = self._bounds.get(method, (None, 0, math.inf))
            if slots is not None and not slots.acquire(blocking=False):
                context.abort(
                    grpc.StatusCode.RESOURCE_EXHAUSTED,
                    f"the server already serves {number} streams, its maximum",
                )
            call = _Call(requests, context, time.monotonic() + seconds)
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
        given = [value for key, value in metadata if key == _HEADER]
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

    def __init__(
        self, requests: Iterator[Any], context: grpc.ServicerContext, deadline: float
    ) -> None:
        self._requests = requests
        self.context = context
        self.deadline = deadline
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
        for request in self:
            return request
        return self.context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the request is missing")
