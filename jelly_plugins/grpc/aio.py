"""The streaming service for asyncio: :func:`serve`, :func:`publish` and :func:`subscribe`.

Clients and servers wrap the blocking ones and wait in threads. Applications of a server are called
in threads, as those of :mod:`.server`.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Iterable,
    Mapping,
)
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeVar, Unpack

from ..codec import Frame, StreamOptions
from . import client as blocking
from .client import PublishOptions, RequestOptions, SubscribeOptions, UploadOptions, divided
from .frames import FrameBuffer, outgoing
from .server import ServeOptions
from .server import Server as BlockingServer
from .topics import Service, Topic

__all__ = ["Client", "Server", "Subscription", "publish", "serve", "subscribe"]

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
        """The stream's options; waits for them.

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
        return await _waited(self._thread, wait, self._stream.close)


async def _waited(thread: ThreadPoolExecutor, wait: Callable[[], T], end: Callable[[], None]) -> T:
    """Wait in a thread; where the task is cancelled, ``end`` makes ``wait`` end."""
    waiting = asyncio.get_running_loop().run_in_executor(thread, wait)
    try:
        return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        end()
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
        with ThreadPoolExecutor(2, thread_name_prefix="jelly-grpc-upload") as threads:
            buffer = filling = None
            if isinstance(frames, AsyncIterable):
                buffer = FrameBuffer()
                filling = asyncio.create_task(_fill(buffer, aiter(frames), threads))
                frames = buffer
            try:
                upload = blocking.Upload(self._client, frames, timeout)
                await _waited(threads, upload.finish, upload.cancel)
            finally:
                if buffer is not None and filling is not None:
                    buffer.cancel()
                    filling.cancel()
                    await asyncio.gather(filling, return_exceptions=True)


async def _fill(
    buffer: FrameBuffer, frames: AsyncIterator[bytes], threads: ThreadPoolExecutor
) -> None:
    """Move frames to a buffer, and close their source."""
    try:
        async for frame in frames:
            if not buffer.put(frame, timeout=0):
                await asyncio.get_running_loop().run_in_executor(threads, buffer.put, frame)
        buffer.end()
    except Exception as error:
        buffer.end(error)
    finally:
        close = getattr(frames, "aclose", None)
        if close is not None:
            await close()


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


async def serve(service: Service | Mapping[str, Topic], **settings: Unpack[ServeOptions]) -> Server:
    """Serve streams; see :class:`.server.Server` for the settings.

    :param service: the application, which is called in threads, or its topics by name.
    """
    return Server(await asyncio.to_thread(BlockingServer, service, **settings))
