"""A client of Jelly's streaming service: blocking. For an event loop see :mod:`.aio`."""

from __future__ import annotations

import io
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Self, TypedDict, Unpack

import grpc

from ..backends import BlankNodes, get_backend, owner_of
from ..codec import DEFAULT_LIMITS, Decoder, Frame, Limits, StreamOptions, delimit
from ..errors import JellyError, OptionsError, ServiceError
from ..io.chunks import ChunkFile
from ..io.sinks import Destination, check_jelly_name, open_output
from ..io.sources import Closing, FormatName
from ..io.streams import GENERIC, first_options
from . import protocol
from .frames import outgoing
from .protocol import DEFAULT_MESSAGE_BYTES, fitted, iterate, open_stream
from .security import ClientTls, authorization


class ConnectionOptions(TypedDict, total=False):
    """The settings of a :class:`Client`, as keyword arguments."""

    tls: ClientTls | None
    token: str | None
    message_bytes: int
    limits: Limits


class RequestOptions(TypedDict, total=False):
    """The settings of :meth:`Client.subscribe`, as keyword arguments."""

    options: StreamOptions | None
    backend: str | None
    blank_nodes: BlankNodes
    timeout: float | None


class UploadOptions(TypedDict, total=False):
    """The settings of :meth:`Client.publish` but for the timeout, as keyword arguments."""

    format: FormatName | None
    topic: str | None
    options: StreamOptions | None
    backend: str | None


class SubscribeOptions(RequestOptions, ConnectionOptions, total=False):
    """The settings of :func:`subscribe`, as keyword arguments."""


class PublishOptions(UploadOptions, ConnectionOptions, total=False):
    """The settings of :func:`publish`, as keyword arguments."""

    timeout: float | None


class Subscription(Closing):
    """A stream that is received: an iterator of its frames, and a context manager that ends it. For
    one thread at a time, except :meth:`close`.

    Take it in one way: frame by frame, as statements, as bytes, or whole into a store or a file.

    :ivar name: how errors name the stream.
    :ivar is_cut: whether it was closed before it ended.
    """

    def __init__(
        self,
        call: Any,
        name: str,
        *,
        requested: StreamOptions | None,
        factory: Any,
        limits: Limits,
    ) -> None:
        self.name = name
        self.is_cut = False
        self._call = call
        self._requested = requested
        self._limits = limits
        #: The client, if it is closed with the stream.
        self._client: Client | None = None
        self._decoder = Decoder(factory, limits=limits)
        self._frames: Iterator[bytes] = iter(self._receive, None)
        self._options: StreamOptions | None = None
        self._closed = False

    def close(self) -> None:
        """End the stream. A thread that waits for a frame gets none."""
        self._closed = True
        self._call.cancel()
        if self._client is not None:
            self._client.close()

    @property
    def options(self) -> StreamOptions:
        """The stream's options; waits for them.

        :raises JellyError: the stream has none.
        """
        with self._located():
            return self._options or self._open()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Frame:
        data = self._next()
        with self._located():
            if data is not None:
                frame: Frame = self._decoder.decode(data)
                return frame
            if not self._closed:
                self._decoder.finish()
        raise StopIteration

    def statements(self) -> Iterator[Any]:
        """All statements, one after the other.

        :raises JellyError: with the place in the stream.
        """
        for frame in self:
            yield from frame.statements

    def frames(self) -> Iterator[bytes]:
        """The frames as bytes; only the stream's options are checked."""
        return iter(self._next, None)

    def load(self, store: Any, **settings: Any) -> int:
        """Load the whole stream into an rdflib graph or dataset, or an Oxigraph store: all or
        nothing.

        :param settings: for the store's own ``load``.
        :return: number of statements.
        :raises JellyError: the stream ends too early, or the store cannot hold what it has.
        """
        with self.open() as file:
            source: Any = file
            count: int = owner_of(store).load(store, source, limits=self._limits, **settings)
            return count

    def save(self, dst: Destination) -> None:
        """Write the whole stream to a Jelly file; a path is replaced only after the whole stream
        has arrived. An open file, such as a pipe, gets each frame as soon as it arrives.

        :raises SourceError: the path cannot be written, or has the ending of another format.
        :raises JellyError: the stream ends too early.
        """
        check_jelly_name(dst)
        with open_output(dst) as out:
            flush = getattr(out, "flush", None)
            for frame in self._whole():
                out.write(delimit(frame))
                if flush is not None:
                    flush()

    def open(self) -> io.RawIOBase:
        """The whole stream as a readable file of delimited Jelly."""
        return ChunkFile((delimit(frame) for frame in self._whole()), self.name)

    def _whole(self) -> Iterator[bytes]:
        yield from self.frames()
        if self.is_cut:
            raise ServiceError("closed before its end", status="CANCELLED", source=self.name)

    def _next(self) -> bytes | None:
        """The next frame, of a stream that is what was requested; None at the end."""
        with self._located():
            if self._options is None:
                try:
                    self._open()
                except OptionsError:
                    if self.is_cut:
                        return None
                    raise
            return next(self._frames, None)

    def _open(self) -> StreamOptions:
        options, self._frames = open_stream(self._frames, self._limits)
        protocol.check_answer(self._requested, options)
        self._options = options
        return options

    def _receive(self) -> bytes | None:
        """The next message; None at the end, and when the stream was closed."""
        try:
            data: bytes | None = next(self._call, None)
        except (grpc.RpcError, grpc.FutureCancelledError) as error:
            if not self._closed and isinstance(error, grpc.RpcError):
                raise _status_error(self._call, self.name) from error
            self.is_cut = True
            return None
        return data

    @contextmanager
    def _located(self) -> Iterator[None]:
        try:
            yield
        except JellyError as error:
            error.locate(source=self.name)
            raise


class Client(Closing):
    """A connection to a server; a context manager that closes it. For any number of threads.

    :param target: host and port.
    :param tls: for a server that has it.
    :param token: that the server requires.
    :param message_bytes: bytes of a message, which is one frame, in either direction.
    :param limits: on streams that come from the server.
    """

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
            self._channel = grpc.insecure_channel(target, options)
        else:
            self._channel = grpc.secure_channel(target, tls.credentials(), options)
        self._publish: Any = self._channel.stream_unary(protocol.PUBLISH)
        self._subscribe: Any = self._channel.unary_stream(protocol.SUBSCRIBE)

    def close(self) -> None:
        """End all calls, and the connection."""
        self._channel.close()

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

        :param options: what the stream may have; a stream that has more raises an error.
        :param backend: whose terms are made, ``"rdflib"`` or ``"oxigraph"``; by default generic
            ones.
        :param blank_nodes: new nodes for the backend, or the stream's labels.
        :param timeout: seconds until the stream must have ended.
        :raises KeyError: there is no such backend.
        """
        factory: Any = GENERIC
        if backend is not None:
            factory = get_backend(backend).factory(blank_nodes=blank_nodes)
        message = protocol.write_subscribe(topic, options)
        return Subscription(
            self._subscribe(message, timeout=timeout, metadata=self._metadata),
            f"{self.target}: {topic}",
            requested=options,
            factory=factory,
            limits=self.limits,
        )

    def publish(
        self, data: Any, *, timeout: float | None = None, **settings: Unpack[UploadOptions]
    ) -> None:
        """Publish a stream; returns once the server has received all of it.

        :param data: a source (path, URL, open binary file or bytes); an rdflib graph or dataset, or
            an Oxigraph store; or statements. The frames of Jelly stay as they are.
        :param format: of a source: a :class:`~jelly_plugins.Format` or its name. By default it
            follows from the name of the source, and is Jelly where the name says nothing.
        :param topic: the stream's name, from which servers know its purpose.
        :param options: of the stream, by default those of the data.
        :param backend: whose terms statements have, ``"rdflib"`` or ``"oxigraph"``; by default they
            are generic.
        :param timeout: seconds until the server must have received all of it.
        :raises ServiceError: with the server's status, or the state of the connection; DATA_LOSS if
            the server answers before it has received all of the stream.
        :raises JellyError: the data cannot be read or written; the server only sees a cancelled
            call.
        """
        frames = outgoing(data, limits=self.limits, **settings)
        self.publish_frames(frames, timeout=timeout)

    def publish_frames(self, frames: Iterable[bytes], *, timeout: float | None = None) -> None:
        """Publish a stream that is encoded already; see :meth:`publish`.

        :param frames: without delimiters; large ones are divided if the stream is flat.
        """
        Upload(self, frames, timeout).finish()


class Upload:
    """A stream that is being published."""

    def __init__(self, client: Client, frames: Iterable[bytes], timeout: float | None) -> None:
        self._target = client.target
        self._sent = False
        self._failure: Exception | None = None
        self._started = threading.Event()
        self._requests = self._read(frames, client.limits, client._message_bytes)
        self._call = client._publish.future(
            self._requests, timeout=timeout, metadata=client._metadata
        )
        self._started.set()

    def _read(self, frames: Iterable[bytes], limits: Limits, most: int) -> Generator[bytes]:
        """The requests. gRPC reads them in a thread of its own, where it swallows exceptions. If
        they only ended, the server would take them for a whole stream: so the call is cancelled."""
        options: StreamOptions | None = None
        self._started.wait()
        try:
            for frame in iterate(frames):
                options = options or first_options(frame, limits)
                yield from fitted(frame, options, most)
            self._sent = True
        except Exception as error:
            self._failure = error
            self._call.cancel()

    def finish(self) -> None:
        """Wait for the server's answer."""
        try:
            self._call.result()
            # What is read after that was not waited for.
            sent = self._sent
        except (grpc.RpcError, grpc.FutureCancelledError) as error:
            if self._failure is None:
                raise _status_error(self._call, self._target) from error
            sent = False
        finally:
            self.cancel()
            # A thread of gRPC's that is reading the source closes it as soon as it is done.
            with suppress(Exception):
                self._requests.close()
        if self._failure is not None:
            raise self._failure
        if not sent:
            raise ServiceError(
                "the server answered before it had received all of the stream",
                status="DATA_LOSS",
                source=self._target,
            )

    def cancel(self) -> None:
        """Make :meth:`finish` end, with an error if the server has not answered."""
        self._call.cancel()


def _status_error(call: Any, source: str) -> ServiceError:
    """The error for a call that ended with a status."""
    status: grpc.StatusCode = call.code() or grpc.StatusCode.UNKNOWN
    return ServiceError(call.details() or "no reason is given", status=status.name, source=source)


def publish(data: Any, target: str, **settings: Unpack[PublishOptions]) -> None:
    """Publish a stream to a server.

    :param target: host and port.
    :param settings: as for :meth:`Client.publish` and :class:`Client`.
    """
    given, connection = divided(settings)
    with Client(target, **connection) as client:
        client.publish(data, **given)


def subscribe(topic: str, target: str, **settings: Unpack[SubscribeOptions]) -> Subscription:
    """Subscribe to a topic of a server. Use it in a ``with`` block, at whose end the connection is
    closed.

    :param target: host and port.
    :param settings: as for :meth:`Client.subscribe` and :class:`Client`.
    """
    given, connection = divided(settings)
    client = Client(target, **connection)
    try:
        stream = client.subscribe(topic, **given)
    except BaseException:
        client.close()
        raise
    stream._client = client
    return stream


def divided(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of a stream, and those of the connection."""
    given = dict(settings)
    names = ConnectionOptions.__annotations__
    return given, {name: given.pop(name) for name in names if name in given}
