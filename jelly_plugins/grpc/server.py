"""A server of Jelly's streaming service: blocking, in threads. For an event loop see :mod:`.aio`.

It listens on the loopback unless another address is named. Without TLS and a token, any client that
can reach the address can read and publish.

One thread of gRPC serves a call from beginning to end. An error of the application or the client
ends the call with a status, so that an incomplete stream never looks complete.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, Final, TypedDict, Unpack

import grpc
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

from ..codec import DEFAULT_LIMITS, Limits
from ..errors import JellyError, OptionsError, ServiceError, SourceError
from ..io.sources import Closing
from ..proto import grpc_pb2, rdf_pb2
from . import protocol
from .protocol import SERVICE, fitted, iterate, open_stream, rejected
from .security import Bounds, Guard, ServerTls
from .topics import Published, Service, Topic, Topics, stop

_LOGGER: Final = logging.getLogger("jelly_plugins.grpc")

LOOPBACK: Final = "127.0.0.1"

#: Threads for other calls than streams: health, reflection, and rejections.
_SPARE_THREADS: Final = 8
#: Seconds after which a silent connection is probed, and seconds to wait for an answer.
_KEEPALIVE: Final = 60
_KEEPALIVE_ANSWER: Final = 20
#: Maximum number of characters of an error's message to the client: it travels in a header.
_LONGEST: Final = 500


class ServeOptions(TypedDict, total=False):
    """The settings of a :class:`Server`, as keyword arguments."""

    host: str
    port: int
    tls: ServerTls | None
    token: str | None
    bounds: Bounds
    limits: Limits


class Server(Closing):
    """A running server; a context manager that stops it.

    :param service: the application, or its topics by name.
    :param host: address to listen on. Any other than the loopback accepts every client that can
        reach it, unless ``tls`` and ``token`` are set.
    :param port: 0 for any that is free, see ``Server.port``.
    :param tls: certificates; without them nothing is encrypted.
    :param token: that clients have to show, as ``authorization: Bearer …``; only the health
        check is open, not its watch. It is not for connections without TLS that others can
        listen to.
    :param bounds: what clients may ask for.
    :param limits: on streams that are published.
    :raises SourceError: the address cannot be listened on, or a certificate cannot be read.
    """

    def __init__(
        self,
        service: Service | Mapping[str, Topic],
        *,
        host: str = LOOPBACK,
        port: int = 0,
        tls: ServerTls | None = None,
        token: str | None = None,
        bounds: Bounds = Bounds(),  # noqa: B008 (it cannot be changed)
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        if not 0 <= port < 1 << 16:
            raise ValueError(f"{port} is not a port")
        self._service: Service = Topics(service) if isinstance(service, Mapping) else service
        self._bounds = bounds
        self._limits = limits
        self._lock = threading.Lock()
        self._stopped = False
        credentials = None if tls is None else tls.credentials()
        self._guard = Guard(bounds, token)
        number = bounds.streams + _SPARE_THREADS
        #: The start of the names of the threads that serve calls.
        self._prefix = f"jelly-grpc-{id(self)}"
        self._threads = ThreadPoolExecutor(number, thread_name_prefix=self._prefix)
        self._server = grpc.server(
            self._threads,
            interceptors=[self._guard],
            options=[
                ("grpc.max_receive_message_length", bounds.message_bytes),
                ("grpc.max_send_message_length", bounds.message_bytes),
                # Otherwise a second server may listen on a port in use, and get half of the calls.
                ("grpc.so_reuseport", 0),
                ("grpc.keepalive_time_ms", _KEEPALIVE * 1000),
                ("grpc.keepalive_timeout_ms", _KEEPALIVE_ANSWER * 1000),
            ],
            maximum_concurrent_rpcs=number,
        )
        # Messages are bytes.
        methods: dict[str, Any] = {
            "SubscribeRdf": grpc.unary_stream_rpc_method_handler(self._subscribe),
            "PublishRdf": grpc.stream_unary_rpc_method_handler(self._publish),
        }
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(SERVICE, methods),)
        )
        self._health = health.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        names = (SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server, pool=_descriptors())
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            if credentials is None:
                self.port = self._server.add_insecure_port(address)
            else:
                self.port = self._server.add_secure_port(address, credentials)
        except RuntimeError as error:
            self._end()
            # gRPC does not say whether it rejects the address or the certificate.
            also = "" if tls is None else ", or its certificate or key is invalid"
            raise SourceError(f"cannot be listened on{also}", source=address) from error
        #: Host and port, as clients name them.
        self.address = address.removesuffix(f":{port}") + f":{self.port}"
        self._server.start()
        for name in ("", SERVICE):
            self._health.set(name, health_pb2.HealthCheckResponse.SERVING)

    def close(self) -> None:
        """Stop at once."""
        self.stop(0)

    def stop(self, grace: float | None = None) -> None:
        """Accept no more calls, end endless streams, and wait for active calls.

        Called again, it waits too, and cuts calls after the shorter time. Called by one of the
        server's own calls it does not wait, since that call would wait for itself.

        :param grace: seconds after which calls are cut; None for as long as they take.
        """
        with self._lock:
            first, self._stopped = not self._stopped, True
        self._health.enter_graceful_shutdown()
        # A call may last for days; gRPC waits at least as long as a thread can.
        stopped = self._server.stop(threading.TIMEOUT_MAX if grace is None else grace)
        try:
            if first:
                stop(self._service)
        finally:
            is_own = threading.current_thread().name.startswith(self._prefix)
            if not is_own:
                stopped.wait()
            self._end(wait=not is_own)

    def _end(self, *, wait: bool = True) -> None:
        self._threads.shutdown(wait)
        self._guard.stop()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the server has been stopped.

        :param timeout: seconds to wait at most.
        :return: whether it has.
        """
        return not self._server.wait_for_termination(timeout)

    def _subscribe(self, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        try:
            try:
                topic, asked = protocol.read_subscribe(request, self._limits)
            except JellyError as error:
                raise rejected(error) from error
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
                    raise rejected(error) from error
                for frame in frames:
                    yield from fitted(frame, options, self._bounds.message_bytes)
        except Exception as error:
            # A stream that the application cannot read or write is not the client's error.
            _abort(context, error, "DATA_LOSS")

    def _publish(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        try:
            frames = Published(requests, context, self._bounds.stream_bytes, self._limits)
            self._service.publish(frames)
            if next(frames, None) is not None:
                raise ServiceError("the service took only a part of the stream", status="INTERNAL")
        except Exception as error:
            _abort(context, error, "INVALID_ARGUMENT")
        return protocol.RECEIVED


def serve(service: Service | Mapping[str, Topic], **settings: Unpack[ServeOptions]) -> Server:
    """Serve streams; returns at once. See :class:`Server` for the settings.

    :param service: the application, or its topics by name.

    >>> with serve({}) as server:
    ...     print(server.address.startswith("127.0.0.1:"))
    True
    """
    return Server(service, **settings)


def _descriptors() -> DescriptorPool:
    pool = DescriptorPool()
    for module in (rdf_pb2, grpc_pb2, health_pb2, reflection_pb2):
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    return pool


def _abort(context: grpc.ServicerContext, error: Exception, otherwise: str) -> None:
    """End a call, by an exception. Errors that are not JellyErrors are logged, and the client gets
    no message of theirs.

    :param otherwise: the status of a JellyError that has none.
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
