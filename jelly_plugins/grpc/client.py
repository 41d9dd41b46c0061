"""A client of Jelly's streaming service: blocking. For an event loop see :mod:`.aio`."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Self

import grpc

from ..backends import BlankNodes, owner_of
from ..codec import Frame, StreamOptions, delimit
from ..formats.reading import ChunkFile
from ..io.names import check_jelly_name
from ..io.sinks import Destination, open_output
from ..io.sources import Closing
from .connection import Answer, Connection, Request, Upload, seconds_of, status_error
from .frames import Fitting
from .outgoing import outgoing


class Subscription(Answer, Closing):
    """A stream that is received: an iterator of its frames, and a context manager that ends it. For
    one thread at a time, except :meth:`close`.

    Take it in one way: frame by frame, as statements, as bytes, or whole into a store or a file.
    """

    def close(self) -> None:
        """End the stream. A thread that waits for a frame gets none."""
        self._cancel()
        if self._client is not None:
            self._client.close()

    @property
    def options(self) -> StreamOptions:
        """The stream's options; waits until they have come.

        :raises JellyError: the stream has none.
        """
        options = (
            self._opening.options or self._early or self._take_early(self._call.initial_metadata())
        )
        while options is None:
            self._peek(self._receive())
            options = self._opening.options
        return options

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Frame:
        frame = self._decode(self._next())
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
        """The frames as bytes; only the stream's options are checked."""
        while (data := self._check(self._next())) is not None:
            yield data

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
        """The whole stream as a delimited Jelly file, for whatever reads one."""
        return ChunkFile((delimit(frame) for frame in self._whole()), self.name)

    def _whole(self) -> Iterator[bytes]:
        yield from self.frames()
        self._check_end()

    def _next(self) -> bytes | None:
        return self._peeked.pop(0) if self._peeked else self._receive()

    def _receive(self) -> bytes | None:
        try:
            return next(self._call, None)
        except (grpc.RpcError, grpc.FutureCancelledError) as error:
            if not self._closed and isinstance(error, grpc.RpcError):
                raise status_error(self._call, self.name) from error
            self.is_cut = True
            return None


class Client(Connection[Subscription], Closing):
    """A connection to a server; a context manager that closes it. For any number of threads.

    :param target: host and port.
    :param tls: for a server that has it.
    :param token: that the server requires.
    :param message_bytes: bytes of a message, which is one frame, in either direction.
    :param limits: on streams that come from the server.
    """

    _library = grpc
    _answers = Subscription

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
        frames = outgoing(data, topic=topic, options=options, backend=backend, limits=self.limits)
        self.publish_frames(frames, timeout=timeout)

    def publish_frames(self, frames: Iterable[bytes], *, timeout: float | None = None) -> None:
        """Publish a stream that is encoded already; see :meth:`publish`.

        :param frames: without delimiters; large ones are divided if the stream is flat.
        """
        requests = _Requests(
            Fitting(self._message_bytes, self.limits).take_all(frames), Upload(self.target)
        )
        call: Any = self._publish.future(
            requests, timeout=seconds_of(timeout), metadata=self._metadata
        )
        requests.call.set_result(call)
        try:
            requests.upload.check(call.result())
        except (grpc.RpcError, grpc.FutureCancelledError) as error:
            requests.upload.fail(call, error)
        finally:
            call.cancel()
            requests.close()


class _Requests:
    """Requests for gRPC, which takes them in a thread of its own, where it swallows exceptions."""

    def __init__(self, frames: Iterator[bytes], upload: Upload) -> None:
        self.upload = upload
        #: Set once there is one.
        self.call: Future[Any] = Future()
        self._frames = frames
        self._lock = threading.Lock()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        call = self.call.result()
        try:
            with self._lock:
                return next(self._frames)
        except StopIteration:
            self.upload.sent = True
            raise
        except Exception as error:
            self.upload.failure = error
            call.cancel()
            raise StopIteration from None

    def close(self) -> None:
        """Close the source of frames. If a thread waits for it at the moment, that thread closes
        it, and reads no more of it."""
        close = getattr(self._frames, "close", None)
        if close is not None and self._lock.acquire(blocking=False):
            try:
                with suppress(Exception):
                    close()
            finally:
                self._lock.release()


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
    request = Request(
        topic, options=options, backend=backend, blank_nodes=blank_nodes, timeout=timeout
    )
    return Client(target, **connection)._send(request, owned=True)
