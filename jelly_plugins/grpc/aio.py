"""The same for an event loop: :func:`serve`, :func:`publish` and :func:`subscribe`.

Clients use gRPC's asyncio API; sources, stores and graphs, which block, are read in threads. A
server serves calls in threads, as the blocking one does; the application runs in the event loop in
which :func:`serve` is called.
"""

from __future__ import annotations

import asyncio
import inspect
import tempfile
import threading
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
)
from concurrent.futures import CancelledError, Future
from contextlib import aclosing, suppress
from queue import SimpleQueue
from typing import Any, Final, Self

import grpc
import grpc.aio

from ..backends import BlankNodes, owner_of
from ..codec import Frame, StreamOptions, delimit
from ..errors import JellyError, ServiceError
from . import server as blocking
from .calls import Incoming
from .connection import Answer, Connection, Request, Upload, seconds_of, status_error
from .frames import Fitting
from .outgoing import outgoing
from .service import AsyncService, Service

__all__ = ["Client", "Server", "Subscription", "publish", "serve", "subscribe"]

#: Bytes of a stream that are held in memory before it is loaded.
_IN_MEMORY: Final = 4 << 20


class Subscription(Answer):
    """A stream that is received: an asynchronous iterator of its frames, and a context manager that
    ends it. See :class:`.client.Subscription`."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the stream."""
        self._cancel()
        if self._client is not None:
            await self._client.close()

    async def options(self) -> StreamOptions:
        """The stream's options; waits until they have come.

        :raises JellyError: the stream has none.
        """
        options = self._opening.options or self._early
        if options is None:
            options = self._take_early(await self._initial_metadata())
        while options is None:
            self._peek(await self._receive())
            options = self._opening.options
        return options

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Frame:
        frame = self._decode(await self._next())
        if frame is None:
            raise StopAsyncIteration
        return frame

    async def statements(self) -> AsyncIterator[Any]:
        """All statements, one after the other."""
        async for frame in self:
            for statement in frame.statements:
                yield statement

    async def frames(self) -> AsyncGenerator[bytes, None]:
        """The frames as bytes; only the stream's options are checked."""
        while (data := self._check(await self._next())) is not None:
            yield data

    async def load(self, store: Any, **settings: Any) -> int:
        """Load the whole stream into an rdflib graph or dataset, or an Oxigraph store, in a thread:
        all or nothing. See :meth:`.client.Subscription.load`."""
        owner = owner_of(store)
        file: Any
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as file:
            async with aclosing(self.frames()) as frames:
                async for frame in frames:
                    file.write(delimit(frame))
            self._check_end()
            file.seek(0)
            try:
                return await asyncio.to_thread(
                    owner.load, store, file, limits=self._limits, **settings
                )
            except JellyError as error:
                # It has the temporary file's name.
                error.source = self.name
                raise

    async def _initial_metadata(self) -> Any:
        try:
            # Before it, gRPC may leave the task that sends the request behind.
            await self._call.wait_for_connection()
            return await self._call.initial_metadata()
        except grpc.RpcError:
            # Asking for the next frame raises it with its status.
            return ()
        except asyncio.CancelledError:
            if self._closed:
                return ()
            raise

    async def _next(self) -> bytes | None:
        return self._peeked.pop(0) if self._peeked else await self._receive()

    async def _receive(self) -> bytes | None:
        try:
            data = await self._call.read()
        except (grpc.RpcError, asyncio.CancelledError) as error:
            if self._closed:
                self.is_cut = True
                return None
            if isinstance(error, grpc.RpcError):
                raise status_error(error, self.name) from error
            raise
        return None if data is grpc.aio.EOF else data


class Client(Connection[Subscription]):
    """A connection to a server; an asynchronous context manager. For one event loop.

    See :class:`.client.Client` for the parameters.
    """

    _library = grpc.aio
    _answers = Subscription

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End all calls, and the connection."""
        await self._channel.close()

    async def publish(
        self,
        data: Any,
        *,
        topic: str | None = None,
        options: StreamOptions | None = None,
        backend: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Publish a stream; see :meth:`.client.Client.publish`."""
        frames = outgoing(data, topic=topic, options=options, backend=backend, limits=self.limits)
        await self.publish_frames(frames, timeout=timeout)

    async def publish_frames(
        self, frames: Iterable[bytes] | AsyncIterable[bytes], *, timeout: float | None = None
    ) -> None:
        """Publish a stream that is encoded already; see :meth:`.client.Client.publish_frames`.

        If a server rejects a stream that is still being sent, gRPC for asyncio occasionally reports
        INTERNAL instead of the server's status.

        :param frames: of an iterable that blocks, they are waited for in threads.
        """
        upload = Upload(self.target)
        call = self._publish(timeout=seconds_of(timeout), metadata=self._metadata)
        sending = asyncio.create_task(_send(self._fitted(frames), call, upload))
        try:
            upload.check(await call)
        except grpc.RpcError as error:
            upload.fail(error, error)
        except asyncio.CancelledError:
            if upload.failure is None:
                raise
            raise upload.failure from None
        finally:
            call.cancel()
            sending.cancel()
            await asyncio.wait({sending})

    async def _fitted(
        self, frames: Iterable[bytes] | AsyncIterable[bytes]
    ) -> AsyncGenerator[bytes, None]:
        fitting = Fitting(self._message_bytes, self.limits)
        if isinstance(frames, AsyncIterable):
            async for frame in frames:
                for chunk in fitting.take(frame):
                    yield chunk
            return
        chunks: Any = fitting.take_all(frames)
        try:
            while (found := await asyncio.to_thread(next, chunks, None)) is not None:
                yield found
        finally:
            # If a thread still waits for one, closing is left to that thread.
            with suppress(ValueError):
                await asyncio.to_thread(chunks.close)


async def _send(frames: AsyncGenerator[bytes, None], call: Any, upload: Upload) -> None:
    """Send a stream. If the call ends before it, :meth:`Client.publish_frames` raises why."""
    async with aclosing(frames):
        try:
            async for frame in frames:
                await call.write(frame)
            upload.sent = True
            await call.done_writing()
        except Exception as error:
            if not (upload.sent or call.done()):
                upload.failure = error
        finally:
            if not upload.sent:
                call.cancel()


async def publish(
    data: Any,
    target: str,
    *,
    topic: str | None = None,
    options: StreamOptions | None = None,
    backend: str | None = None,
    timeout: float | None = None,
    **connection: Any,
) -> None:
    """Publish a stream to a server; see :func:`.client.publish`."""
    async with Client(target, **connection) as client:
        await client.publish(data, topic=topic, options=options, backend=backend, timeout=timeout)


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
    """Subscribe to a topic of a server; see :func:`.client.subscribe`. Use it in an ``async with``
    block, at whose end the connection is closed."""
    request = Request(
        topic, options=options, backend=backend, blank_nodes=blank_nodes, timeout=timeout
    )
    return Client(target, **connection)._send(request, owned=True)


class Server:
    """A running server; an asynchronous context manager that stops it. Made by :func:`serve`."""

    def __init__(self, server: blocking.Server) -> None:
        self._server = server
        #: Host and port, as clients name them.
        self.address = server.address
        self.port = server.port

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop(0)

    async def stop(self, grace: float | None = None) -> None:
        """See :meth:`.server.Server.stop`."""
        await asyncio.to_thread(self._server.stop, grace)

    async def wait(self) -> None:
        """Wait until the server has been stopped."""
        await asyncio.to_thread(self._server.wait)


async def serve(service: AsyncService | Service | Mapping[str, Any], **settings: Any) -> Server:
    """Serve streams; see :func:`.server.serve` for the parameters.

    :param service: an application for this event loop, see :class:`.service.AsyncService`; or one
        that blocks, which is called in threads.
    """
    adapted: Any = service
    if inspect.iscoroutinefunction(getattr(service, "publish", None)):
        adapted = _InLoop(service, asyncio.get_running_loop())
    return Server(blocking.serve(adapted, **settings))


class _InLoop:
    """An application of an event loop, as the server's threads see it."""

    def __init__(self, service: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._service = service
        self._loop = loop

    def subscribe(self, topic: str, options: StreamOptions | None) -> _FramesOfLoop:
        async def start() -> AsyncIterator[bytes]:
            given = self._service.subscribe(topic, options)
            frames: AsyncIterable[bytes] = await given if inspect.isawaitable(given) else given
            return aiter(frames)

        return _FramesOfLoop(start, self._loop)

    def publish(self, frames: Incoming) -> None:
        """Have the application take a stream. This thread reads what the application asks for."""
        pulled = _Pulled(frames.options)
        task = asyncio.run_coroutine_threadsafe(self._service.publish(pulled), self._loop)
        task.add_done_callback(lambda _: pulled.requests.put(None))

        def abandon() -> None:
            # An application that waits for a frame gets an error instead.
            if not pulled.is_waiting:
                task.cancel()

        frames.when_over(abandon)
        while (request := pulled.requests.get()) is not None:
            try:
                found: bytes | Exception | None = next(frames, None)
            except Exception as error:
                found = error
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(_answer, request, found)
        try:
            task.result()
        except CancelledError:
            raise ServiceError("the client has disconnected", status="CANCELLED") from None

    def close(self) -> None:
        close = getattr(self._service, "close", None)
        if close is None:
            return

        async def run() -> None:
            given = close()
            if inspect.isawaitable(given):
                await given

        asyncio.run_coroutine_threadsafe(run(), self._loop).result()


class _FramesOfLoop:
    """An asynchronous iterator, as a thread sees it.

    :param start: returns the iterator; called when the first frame is requested, so that it can
        be cancelled like all that follows.
    """

    def __init__(
        self, start: Callable[[], Awaitable[AsyncIterator[bytes]]], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._start = start
        self._frames: AsyncIterator[bytes] | None = None
        self._loop = loop
        # Cancelled and not yet done, a generator cannot be closed.
        self._at_work = asyncio.Lock()
        self._lock = threading.Lock()
        self._cancelled = False
        self._pending: Future[bytes | None] | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        with self._lock:
            if self._cancelled:
                raise StopIteration
            self._pending = asyncio.run_coroutine_threadsafe(self._next(), self._loop)
        try:
            frame = self._pending.result()
        except CancelledError:
            frame = None
        if frame is None:
            raise StopIteration
        return frame

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._pending is not None:
                self._pending.cancel()

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()

    async def _next(self) -> bytes | None:
        async with self._at_work:
            if self._frames is None:
                self._frames = await self._start()
            return await anext(self._frames, None)

    async def _close(self) -> None:
        async with self._at_work:
            close = getattr(self._frames, "aclose", None)
            if close is not None:
                await close()


class _Pulled:
    """The frames of a published stream, as a coroutine sees them; see
    :class:`.service.AsyncPublished`.

    :ivar requests: one for each frame that the coroutine asks for; None at the end.
    """

    def __init__(self, options: StreamOptions) -> None:
        self.options = options
        self.requests: SimpleQueue[asyncio.Future[bytes | None] | None] = SimpleQueue()
        self.is_waiting = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        request: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self.is_waiting = True
        try:
            self.requests.put(request)
            frame = await request
        finally:
            self.is_waiting = False
        if frame is None:
            raise StopAsyncIteration
        return frame


def _answer(request: asyncio.Future[bytes | None], found: bytes | Exception | None) -> None:
    if request.done():
        # The coroutine was cancelled.
        return
    if isinstance(found, Exception):
        request.set_exception(found)
    else:
        request.set_result(found)
