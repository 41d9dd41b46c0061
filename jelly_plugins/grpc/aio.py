"""The streaming service for asyncio: :func:`serve`, :func:`publish` and :func:`subscribe`.

Clients and servers wrap the blocking ones and wait in threads. The application of a server runs in
the event loop in which :func:`serve` is called.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Iterable,
    Mapping,
)
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Any, Self, TypeVar, Unpack

from ..codec import Frame, StreamOptions
from ..errors import ServiceError
from . import client as blocking
from .calls import Incoming
from .client import PublishOptions, RequestOptions, SubscribeOptions, UploadOptions, divided
from .outgoing import outgoing
from .server import ServeOptions
from .server import Server as BlockingServer
from .service import AsyncPublished, AsyncService, Service, stop

__all__ = ["AsyncPublished", "Client", "Server", "Subscription", "publish", "serve", "subscribe"]

T = TypeVar("T")


class _AsyncClosing:
    """An asynchronous context manager that closes itself."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        raise NotImplementedError


class Subscription(_AsyncClosing):
    """A stream that is received: an asynchronous iterator of its frames, and a context manager that
    ends it. See :class:`.client.Subscription`.

    A task that is cancelled while it waits for the stream ends it.
    """

    def __init__(self, stream: blocking.Subscription) -> None:
        #: How errors name the stream.
        self.name = stream.name
        self._stream = stream
        # Threads of the loop's own executor are few, and a frame may take days to come.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="jelly-grpc-stream")
        self._closed = False

    async def close(self) -> None:
        """End the stream."""
        self._closed = True
        self._stream.close()
        self._thread.shutdown(wait=False)

    async def options(self) -> StreamOptions:
        """The stream's options; waits until they have come.

        :raises JellyError: the stream has none.
        """
        return await self._in_thread(lambda: self._stream.options)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Frame:
        frame = await self._in_thread(lambda: next(self._stream, None))
        if frame is None:
            raise StopAsyncIteration
        return frame

    async def statements(self) -> AsyncGenerator[Any, None]:
        """All statements, one after the other."""
        async for frame in self:
            for statement in frame.statements:
                yield statement

    async def frames(self) -> AsyncGenerator[bytes, None]:
        """The frames as bytes; only the stream's options are checked."""
        frames = self._stream.frames()
        while (data := await self._in_thread(lambda: next(frames, None))) is not None:
            yield data

    async def load(self, store: Any, **settings: Any) -> int:
        """Load the whole stream into an rdflib graph or dataset, or an Oxigraph store, in a thread:
        all or nothing. See :meth:`.client.Subscription.load`."""
        return await self._in_thread(lambda: self._stream.load(store, **settings))

    async def _in_thread(self, wait: Callable[[], T]) -> T:
        if self._closed:
            # There is nothing to wait for.
            return wait()
        waiting = asyncio.get_running_loop().run_in_executor(self._thread, wait)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            self._stream.close()
            await asyncio.gather(waiting, return_exceptions=True)
            raise


class Client(_AsyncClosing):
    """A connection to a server; an asynchronous context manager.

    See :class:`.client.Client` for the parameters.
    """

    def __init__(self, target: str, **connection: Unpack[blocking.ConnectionOptions]) -> None:
        self._client = blocking.Client(target, **connection)

    async def close(self) -> None:
        """End all calls, and the connection."""
        self._client.close()

    def subscribe(self, topic: str, **settings: Unpack[RequestOptions]) -> Subscription:
        """Subscribe to a topic; see :meth:`.client.Client.subscribe`."""
        return Subscription(self._client.subscribe(topic, **settings))

    async def publish(
        self, data: Any, *, timeout: float | None = None, **settings: Unpack[UploadOptions]
    ) -> None:
        """Publish a stream; see :meth:`.client.Client.publish`."""
        frames = outgoing(data, limits=self._client.limits, **settings)
        await self.publish_frames(frames, timeout=timeout)

    async def publish_frames(
        self, frames: Iterable[bytes] | AsyncIterable[bytes], *, timeout: float | None = None
    ) -> None:
        """Publish a stream that is encoded already; see :meth:`.client.Client.publish_frames`.

        :param frames: an iterable is read in a thread, an asynchronous one in the event loop.
        """
        loop = asyncio.get_running_loop()
        of_loop = None
        source: Any = frames
        if isinstance(frames, AsyncIterable):
            source = of_loop = _FramesOfLoop(_all_of(frames), loop)
        upload = self._client._start_upload(source, timeout)
        over = asyncio.Event()
        upload.call.result().add_done_callback(lambda _: loop.call_soon_threadsafe(over.set))
        try:
            await over.wait()
            # What closes the source may wait.
            await asyncio.to_thread(upload.finish)
        finally:
            await asyncio.to_thread(upload.close)
            if of_loop is not None:
                of_loop.cancel()
                await of_loop.aclose()


async def publish(data: Any, target: str, **settings: Unpack[PublishOptions]) -> None:
    """Publish a stream to a server; see :func:`.client.publish`."""
    given, connection = divided(settings)
    async with Client(target, **connection) as client:
        await client.publish(data, **given)


def subscribe(topic: str, target: str, **settings: Unpack[SubscribeOptions]) -> Subscription:
    """Subscribe to a topic of a server; see :func:`.client.subscribe`. Use it in an ``async with``
    block, at whose end the connection is closed."""
    return Subscription(blocking.subscribe(topic, target, **settings))


class Server(_AsyncClosing):
    """A running server; an asynchronous context manager that stops it. Made by :func:`serve`."""

    def __init__(self, server: BlockingServer) -> None:
        self._server = server
        #: Host and port, as clients name them.
        self.address = server.address
        self.port = server.port

    async def close(self) -> None:
        """Stop at once."""
        await self.stop(0)

    async def stop(self, grace: float | None = None) -> None:
        """See :meth:`.server.Server.stop`."""
        await asyncio.to_thread(self._server.stop, grace)

    async def wait(self) -> None:
        """Wait until the server has been stopped."""
        await asyncio.to_thread(self._server.wait)


async def serve(
    service: AsyncService | Service | Mapping[str, Any], **settings: Unpack[ServeOptions]
) -> Server:
    """Serve streams; see :class:`.server.Server` for the settings.

    :param service: an application for this event loop, see :class:`.service.AsyncService`; or one
        that blocks, which is called in threads.
    """
    adapted: Any = service
    if inspect.iscoroutinefunction(getattr(service, "publish", None)):
        adapted = _InLoop(service, asyncio.get_running_loop())
    return Server(BlockingServer(adapted, **settings))


class _InLoop:
    """Adapts an application of an event loop to the server's threads."""

    def __init__(self, service: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._service = service
        self._loop = loop

    def subscribe(self, topic: str, options: StreamOptions | None) -> _ClosingFramesOfLoop:
        async def frames() -> AsyncGenerator[bytes, None]:
            given = self._service.subscribe(topic, options)
            async for frame in _all_of(await given if inspect.isawaitable(given) else given):
                yield frame

        return _ClosingFramesOfLoop(frames(), self._loop)

    def publish(self, frames: Incoming) -> None:
        """Run the application on a published stream."""
        with ThreadPoolExecutor(1, thread_name_prefix="jelly-grpc-frames") as thread:
            pulled = _Pulled(frames, thread)
            task = asyncio.run_coroutine_threadsafe(self._service.publish(pulled), self._loop)

            def abandon() -> None:
                # An application that waits for a frame gets an error instead.
                if not pulled.is_waiting:
                    task.cancel()

            frames.when_over(abandon)
            try:
                task.result()
            except CancelledError:
                raise ServiceError("the client has disconnected", status="CANCELLED") from None

    def close(self) -> None:
        async def run() -> None:
            given = stop(self._service)
            if inspect.isawaitable(given):
                await given

        asyncio.run_coroutine_threadsafe(run(), self._loop).result()


async def _all_of(frames: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    """The same frames, from a generator; closing it closes their source."""
    source = aiter(frames)
    try:
        async for frame in source:
            yield frame
    finally:
        close = getattr(source, "aclose", None)
        if close is not None:
            await close()


class _FramesOfLoop:
    """Adapts an asynchronous generator to a thread."""

    def __init__(
        self, frames: AsyncGenerator[bytes, None], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._frames = frames
        self._loop = loop
        # A generator that was cancelled cannot be closed before it is done.
        self._running = asyncio.Lock()
        self._cancelled = False
        self._pending: Future[bytes | None] | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        self._pending = asyncio.run_coroutine_threadsafe(self._next(), self._loop)
        if self._cancelled:
            self._pending.cancel()
        try:
            frame = self._pending.result()
        except CancelledError:
            frame = None
        if frame is None:
            raise StopIteration
        return frame

    async def _next(self) -> bytes | None:
        async with self._running:
            return await anext(self._frames, None)

    def cancel(self) -> None:
        self._cancelled = True
        if self._pending is not None:
            self._pending.cancel()

    async def aclose(self) -> None:
        async with self._running:
            await self._frames.aclose()


class _ClosingFramesOfLoop(_FramesOfLoop):
    """The same, closed by the thread that reads it."""

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self.aclose(), self._loop).result()


class _Pulled:
    """Adapts the frames of a published stream to a coroutine; see :class:`.service.AsyncPublished`.

    :param thread: reads them.
    :ivar is_waiting: whether the coroutine waits for one.
    """

    def __init__(self, frames: Incoming, thread: ThreadPoolExecutor) -> None:
        self.options = frames.options
        self.is_waiting = False
        self._frames = frames
        self._thread = thread

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        self.is_waiting = True
        try:
            loop = asyncio.get_running_loop()
            frame = await loop.run_in_executor(self._thread, next, self._frames, None)
        finally:
            self.is_waiting = False
        if frame is None:
            raise StopAsyncIteration
        return frame
