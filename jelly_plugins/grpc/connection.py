"""What the client that blocks and the client of an event loop have in common.

Channels, requests, and the state of the streams that are sent and received. Nothing here waits for
the server: :mod:`.client` and :mod:`.aio` do that.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Generic, NoReturn, TypeVar

import grpc

from ..backends import BlankNodes, get_backend
from ..codec import DEFAULT_LIMITS, Decoder, Frame, Limits, StreamOptions
from ..codec.common.wire import check_empty
from ..errors import JellyError, OptionsError, ServiceError, WireError
from ..io.streams import GENERIC
from . import wire
from .frames import DEFAULT_MESSAGE_BYTES, Opening
from .security import ClientTls, authorization

AnswerT = TypeVar("AnswerT", bound="Answer")


class Request:
    """A request for a topic, see :meth:`Connection.subscribe` for the parameters. Whatever is wrong
    with it raises here, before there is a connection."""

    def __init__(
        self,
        topic: str,
        *,
        options: StreamOptions | None = None,
        backend: str | None = None,
        blank_nodes: BlankNodes = "fresh",
        timeout: float | None = None,
    ) -> None:
        self.topic = topic
        self.options = options
        self.factory: Any = (
            GENERIC if backend is None else get_backend(backend).factory(blank_nodes=blank_nodes)
        )
        self.message = wire.write_subscribe(topic, options)
        self.timeout = seconds_of(timeout)


class Connection(Generic[AnswerT]):
    """A connection to a server.

    :param target: host and port.
    :param tls: for a server that has it.
    :param token: that the server requires.
    :param message_bytes: bytes of a message, which is one frame, in either direction.
    :param limits: on streams that come from the server.
    """

    #: The module that makes channels.
    _library: Any
    #: The class of the streams that are received.
    _answers: Any

    def __init__(
        self,
        target: str,
        *,
        tls: ClientTls | None = None,
        token: str | None = None,
        message_bytes: int = DEFAULT_MESSAGE_BYTES,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.target = target
        self.limits = limits
        self._message_bytes = message_bytes
        self._metadata = authorization(token)
        options = [
            ("grpc.max_receive_message_length", message_bytes),
            ("grpc.max_send_message_length", message_bytes),
            # Clients of one process do not share a connection, so that none waits for another.
            ("grpc.use_local_subchannel_pool", 1),
        ]
        if tls is None:
            self._channel = self._library.insecure_channel(target, options)
        else:
            self._channel = self._library.secure_channel(target, tls.credentials(), options)
        self._publish = self._channel.stream_unary(wire.path_of(wire.PUBLISH))
        self._subscribe = self._channel.unary_stream(wire.path_of(wire.SUBSCRIBE))

    def subscribe(
        self,
        topic: str,
        *,
        options: StreamOptions | None = None,
        backend: str | None = None,
        blank_nodes: BlankNodes = "fresh",
        timeout: float | None = None,
    ) -> AnswerT:
        """Subscribe to a topic.

        :param options: what the stream may have; a stream that has more raises an error.
        :param backend: whose terms are made, ``"rdflib"`` or ``"oxigraph"``; by default generic
            ones.
        :param blank_nodes: new nodes for the backend, or the stream's labels.
        :param timeout: seconds until the stream must have ended.
        """
        request = Request(
            topic, options=options, backend=backend, blank_nodes=blank_nodes, timeout=timeout
        )
        return self._send(request)

    def _send(self, request: Request, *, owned: bool = False) -> AnswerT:
        """Send a request.

        :param owned: whether the stream closes this connection when it is closed.
        """
        call = self._subscribe(request.message, timeout=request.timeout, metadata=self._metadata)
        answer: AnswerT = self._answers(call, request, self, owned)
        return answer


class Answer:
    """The state of a stream that is received.

    :param call: of gRPC's.
    :param owned: whether the connection is closed with the stream.
    :ivar name: how errors name the stream.
    :ivar is_cut: whether it was closed before its end had come.
    """

    def __init__(self, call: Any, request: Request, connection: Any, owned: bool) -> None:
        self.name = f"{connection.target}: {request.topic}"
        self.is_cut = False
        self._call = call
        self._client = connection if owned else None
        self._limits: Limits = connection.limits
        self._requested = request.options
        self._opening = Opening(self._limits)
        self._decoder = Decoder(request.factory, limits=self._limits)
        self._peeked: list[bytes] = []
        self._closed = False
        #: Options that came before the first frame.
        self._early: StreamOptions | None = None

    def _cancel(self) -> None:
        self._closed = True
        self._call.cancel()

    def _check(self, data: bytes | None) -> bytes | None:
        """Check that the stream is what was requested, as far as the next frame shows.

        :param data: None at the end.
        """
        if data is not None:
            with self._located():
                if self._opening.take(data) and self._opening.options is not None:
                    wire.check_answer(self._requested, self._opening.options)
        return data

    def _decode(self, data: bytes | None) -> Frame | None:
        """Decode the next frame.

        :param data: None at the end.
        """
        self._check(data)
        with self._located():
            if data is not None:
                frame: Frame = self._decoder.decode(data)
                return frame
            if not self._closed:
                self._decoder.finish()
        return None

    def _take_early(self, metadata: Any) -> StreamOptions | None:
        """The options in the call's initial metadata, if it has any."""
        with self._located():
            self._early = wire.options_in(metadata or (), self._limits)
            if self._early is not None:
                wire.check_answer(self._requested, self._early)
        return self._early

    def _peek(self, data: bytes | None) -> None:
        """Keep a frame that was read for the stream's options."""
        if data is None:
            raise OptionsError("no options were read", source=self.name)
        self._check(data)
        self._peeked.append(data)

    def _check_end(self) -> None:
        """Check that a stream of which all frames were checked is whole."""
        if self.is_cut:
            raise ServiceError("closed before its end", status="CANCELLED", source=self.name)
        if self._opening.options is None:
            raise OptionsError("the stream has no options: it is empty", source=self.name)

    @contextmanager
    def _located(self) -> Iterator[None]:
        try:
            yield
        except JellyError as error:
            error.locate(source=self.name)
            raise


class Upload:
    """The state of a stream that is published.

    :param target: of the connection.
    :ivar failure: the error of the data, after which the call is cancelled: if its requests only
        ended, the server would take them for a whole stream.
    :ivar sent: whether the data have ended.
    """

    def __init__(self, target: str) -> None:
        self.failure: Exception | None = None
        self.sent = False
        self._target = target

    def check(self, answer: bytes) -> None:
        """Check the server's answer.

        :raises Exception: the failure.
        :raises ServiceError: the answer came too early, or is not an RdfStreamReceived.
        """
        if self.failure is not None:
            raise self.failure
        if not self.sent:
            raise ServiceError(
                "the server answered before it had received all of the stream",
                status="DATA_LOSS",
                source=self._target,
            )
        try:
            check_empty(answer, 0, len(answer), "RdfStreamReceived")
        except WireError as error:
            raise ServiceError(
                f"the server's answer is malformed: {error.message}",
                status="INTERNAL",
                source=self._target,
            ) from error

    def fail(self, call: Any, error: BaseException) -> NoReturn:
        """Raise the failure, or else what a call ended with."""
        if self.failure is not None:
            raise self.failure from None
        raise status_error(call, self._target) from error


def status_error(call: Any, source: str) -> ServiceError:
    """The error for a call that ended with a status.

    :param call: or the error that it raised, where that has the status.
    """
    status: grpc.StatusCode = call.code() or grpc.StatusCode.UNKNOWN
    return ServiceError(call.details() or "no reason is given", status=status.name, source=source)


def seconds_of(timeout: float | None) -> float | None:
    """A timeout for gRPC, to which a very long one would be over at once."""
    return None if timeout is None or timeout > threading.TIMEOUT_MAX else timeout
