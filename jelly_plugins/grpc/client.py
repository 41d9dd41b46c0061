"""A client of Jelly's streaming service: blocking. For an event loop see :mod:`.aio`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, Self, TypeVar

import grpc

from ..backends import BlankNodes, owner_of
from ..codec import DEFAULT_LIMITS, Frame, Limits, StreamOptions, delimit
from ..errors import OptionsError
from ..io.sinks import Destination, open_output
from ..io.sources import Closing
from . import wire
from .errors import check_received, closed_error, received_error
from .frames import FrameFile, fitted_all
from .incoming import Answer, AnswerCheck, AnswerDecoder, factory_of
from .outgoing import outgoing
from .security import ClientTls, authorization

#: Bytes of a message that gRPC takes unless it is told otherwise.
DEFAULT_MESSAGE_BYTES: Final = 4 << 20


S = TypeVar("S", bound=Answer)


class Connection:
    """A connection to a server, for clients that block and for those of an event loop.

    :param target: host and port.
    :param tls: for a server that has it.
    :param token: that the server asks for.
    :param message_bytes: bytes of a message, which is one frame, in either direction.
    :param limits: on streams that come from the server.
    """

    #: What makes channels.
    _library: Any = grpc

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
        self._message_bytes = message_bytes
        self._limits = limits
        self._metadata = authorization(token)
        options = channel_options(message_bytes)
        if tls is None:
            self._channel = self._library.insecure_channel(target, options)
        else:
            self._channel = self._library.secure_channel(target, tls.credentials(), options)
        self._publish = self._channel.stream_unary(wire.path_of(wire.PUBLISH))
        self._subscribe = self._channel.unary_stream(wire.path_of(wire.SUBSCRIBE))

    def _answer(
        self,
        make: Callable[..., S],
        topic: str,
        options: StreamOptions | None,
        backend: str | None,
        blank_nodes: BlankNodes,
        timeout: float | None,
    ) -> S:
        """What ``make`` makes of the answer to a subscription."""
        factory = factory_of(backend, blank_nodes)
        call = self._subscribe(
            wire.write_subscribe(topic, options),
            timeout=seconds_of(timeout),
            metadata=self._metadata,
        )
        name = f"{self.target}: {topic}"
        decoder = AnswerDecoder(factory, options, name=name, limits=self._limits)
        check = AnswerCheck(options, name=name, limits=self._limits)
        return make(call, decoder, check, name, self._limits)


class Client(Connection, Closing):
    """A connection to a server; a context manager that closes it. For any number of threads.

    See :class:`Connection` for the parameters.
    """

    def close(self) -> None:
        """End all calls, and the connection."""
        self._channel.close()

    def publish(
        self,
        data: Any,
        *,
        topic: str | None = None,
        options: StreamOptions | None = None,
        backend: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Publish a stream; returns once the server has received all of it.

        :param data: a Jelly source (path, URL, open binary file or bytes), whose frames stay as
            they are; an rdflib graph or dataset, or an Oxigraph store; or statements.
        :param topic: the stream's name, by which servers know what it is for.
        :param options: of the stream, by default those of the data.
        :param backend: whose terms statements have, ``"rdflib"`` or ``"oxigraph"``; by default they
            are generic.
        :param timeout: seconds until the server must have received all of it.
        :raises ServiceError: with the server's status, or what became of the connection;
            DATA_LOSS if the server answers before it has received all of the stream.
        :raises JellyError: the data cannot be read or said; the server is told nothing of it but
            that there is no stream.
        """
        frames = outgoing(data, topic=topic, options=options, backend=backend, limits=self._limits)
        self.publish_frames(frames, timeout=timeout)

    def publish_frames(self, frames: Iterable[bytes], *, timeout: float | None = None) -> None:
        """Publish a stream that is encoded already; see :meth:`publish`.

        :param frames: without delimiters; large ones are divided if the stream is flat.
        """
        requests = _Requests(fitted_all(frames, self._message_bytes, self._limits))
        call: Any = self._publish.future(
            requests, timeout=seconds_of(timeout), metadata=self._metadata
        )
        requests.call.set_result(call)
        try:
            check_received(call.result(), requests.failure, requests.sent, self.target)
        except (grpc.RpcError, grpc.FutureCancelledError) as error:
            if requests.failure is not None:
                raise requests.failure from None
            raise received_error(call, self.target) from error
        finally:
            call.cancel()
            requests.close()

    def subscribe(
        self,
        topic: str,
        *,
        options: StreamOptions | None = None,
        backend: str | None = None,
        blank_nodes: BlankNodes = "fresh",
        timeout: float | None = None,
    ) -> Subscription:
        """Subscribe to a topic.

        :param options: what the stream may have; the server must keep to it, and is checked.
        :param backend: whose terms are made, ``"rdflib"`` or ``"oxigraph"``; by default generic
            ones.
        :param blank_nodes: new nodes for the backend, or the stream's labels.
        :param timeout: seconds until the stream must have ended.
        """
        return self._answer(Subscription, topic, options, backend, blank_nodes, timeout)


class Subscription(Answer, Closing):
    """A stream that comes: an iterator of its frames, and a context manager that ends it. For one
    thread at a time, but for :meth:`close`.

    Take it in one way: frame by frame, as statements, as bytes, or whole into a store or a file.
    """

    #: To be closed with the stream.
    _client: Client | None = None

    def close(self) -> None:
        """Ask for no more. A thread that waits for a frame gets none."""
        self._closed = True
        self._call.cancel()
        if self._client is not None:
            self._client.close()

    @property
    def options(self) -> StreamOptions:
        """The stream's options; waits until they have come.

        :raises JellyError: the stream has none.
        """
        while self._decoder.options is None:
            frame = self._next()
            if frame is None:
                raise OptionsError("no options were read", source=self.name)
            self._peeked.append(frame)
        return self._decoder.options

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Frame:
        frame = self._peeked.pop(0) if self._peeked else self._next()
        if frame is None:
            raise StopIteration
        return frame

    def statements(self) -> Iterator[Any]:
        """All statements, one after the other.

        :raises JellyError: with the place in the stream.
        """
        for frame in self:
            yield from frame.statements

    def frames(self) -> Iterator[bytes]:
        """The frames as bytes, whose options are looked at and nothing else."""
        while (data := self._receive()) is not None:
            self._check.take(data)
            yield data

    def load(self, store: Any, **settings: Any) -> int:
        """Load the whole stream into an rdflib graph or dataset, or an Oxigraph store: all or
        nothing.

        :param settings: for the store's own ``load``.
        :return: number of statements.
        :raises JellyError: the stream breaks off, or the store cannot hold what it says.
        """
        with self.open() as file:
            source: Any = file
            return owner_of(store).load(store, source, limits=self._limits, **settings)

    def save(self, dst: Destination) -> None:
        """Write the whole stream to a Jelly file; a path is replaced only once all has come. An
        open file, such as a pipe, gets each frame as soon as it has come."""
        with open_output(dst) as out:
            flush = getattr(out, "flush", None)
            for frame in self._not_empty():
                out.write(delimit(frame))
                if flush is not None:
                    flush()

    def open(self) -> FrameFile:
        """The whole stream as a delimited Jelly file, for whatever reads one."""
        return FrameFile(self._not_empty(), self.name)

    def _not_empty(self) -> Iterator[bytes]:
        frame = None
        for frame in self.frames():
            yield frame
        if self.is_cut:
            raise closed_error(self.name)
        if frame is None:
            raise OptionsError("the stream has no frames", source=self.name)

    def _next(self) -> Frame | None:
        data = self._receive()
        if data is not None:
            return self._decoder.take(data)
        if not self._closed:
            self._decoder.finish()
        return None

    def _receive(self) -> bytes | None:
        try:
            data: bytes | None = next(self._call, None)
        except grpc.RpcError as error:
            if self._closed:
                self.is_cut = True
                return None
            raise received_error(self._call, self.name) from error
        except grpc.FutureCancelledError:
            self.is_cut = True
            return None
        return data


class _Requests:
    """Requests for gRPC, which takes them in a thread of its own, and takes an exception there for
    a matter of its own. So a failure is kept, and the call cancelled before the requests end: the
    server must not take them for all."""

    def __init__(self, frames: Iterator[bytes]) -> None:
        self._frames = frames
        #: Set once there is one.
        self.call: Future[Any] = Future()
        self.failure: Exception | None = None
        #: Whether there are no more.
        self.sent = False
        self._lock = threading.Lock()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        call = self.call.result()
        try:
            with self._lock:
                return next(self._frames)
        except StopIteration:
            self.sent = True
            raise
        except Exception as error:
            self.failure = error
            call.cancel()
            raise StopIteration from None

    def close(self) -> None:
        """Close what gives the frames. If it is waited for just now, it is left to itself: who
        waits takes no more of it afterwards."""
        close = getattr(self._frames, "close", None)
        if close is not None and self._lock.acquire(blocking=False):
            try:
                with suppress(Exception):
                    close()
            finally:
                self._lock.release()


def seconds_of(timeout: float | None) -> float | None:
    """A timeout as gRPC knows it, which takes what is very long for what is over."""
    return None if timeout is None or timeout > threading.TIMEOUT_MAX else timeout


def channel_options(message_bytes: int) -> list[tuple[str, int]]:
    """Options of a channel."""
    return [
        ("grpc.max_receive_message_length", message_bytes),
        ("grpc.max_send_message_length", message_bytes),
        # Clients of one process do not share a connection, so that none waits for another.
        ("grpc.use_local_subchannel_pool", 1),
    ]


def publish(
    data: Any,
    target: str,
    *,
    topic: str | None = None,
    options: StreamOptions | None = None,
    backend: str | None = None,
    timeout: float | None = None,
    **connection: Any,
) -> None:
    """Publish a stream to a server; see :meth:`Client.publish`.

    :param target: host and port.
    :param connection: as for :class:`Client`.
    """
    with Client(target, **connection) as client:
        client.publish(data, topic=topic, options=options, backend=backend, timeout=timeout)


def subscribe(
    topic: str,
    target: str,
    *,
    options: StreamOptions | None = None,
    backend: str | None = None,
    blank_nodes: BlankNodes = "fresh",
    timeout: float | None = None,
    **connection: Any,
) -> Subscription:
    """Subscribe to a topic of a server; see :meth:`Client.subscribe`. Use it in a ``with`` block,
    at whose end the connection is closed.

    :param target: host and port.
    :param connection: as for :class:`Client`.
    """
    client = Client(target, **connection)
    try:
        stream = client.subscribe(
            topic, options=options, backend=backend, blank_nodes=blank_nodes, timeout=timeout
        )
    except BaseException:
        client.close()
        raise
    stream._client = client
    return stream
