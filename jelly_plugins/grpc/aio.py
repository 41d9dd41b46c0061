"""The same for an event loop: :func:`serve`, :func:`publish` and :func:`subscribe`.

Clients use gRPC's own for asyncio. A server's calls are served by threads, as those of the blocking
one; what an application does runs in the loop that :func:`serve` is called in. What blocks
(sources, stores and graphs) is read in threads.
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
    Iterator,
    Mapping,
)
from concurrent.futures import CancelledError, Future
from contextlib import aclosing, suppress
from typing import Any, Final, Self

import grpc
import grpc.aio

from ..backends import BlankNodes, owner_of
from ..codec import Frame, StreamOptions, delimit
from ..errors import JellyError, OptionsError, ServiceError
from . import server as blocking
from .calls import Incoming
from .client import Connection, seconds_of
from .errors import check_received, closed_error, part_error, received_error
from .frames import fitted_all
from .incoming import Answer
from .outgoing import outgoing
from .service import AsyncService, Service

#: Bytes of a stream that are held in memory before it is loaded.
_IN_MEMORY: Final = 4 << 20


class Client(Connection):
    """A connection to a server; an asynchronous context manager. For one event loop.

    See :class:`.client.Connection` for the parameters.
    """

    _library = grpc.aio

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
        frames = outgoing(data, topic=topic, options=options, backend=backend, limits=self._limits)
        await self.publish_frames(frames, timeout=timeout)

    async def publish_frames(
        self, frames: Iterable[bytes] | AsyncIterable[bytes], *, timeout: float | None = None
    ) -> None:
        """Publish a stream that is encoded already; see :meth:`.client.Client.publish_frames`.

        Where a server refuses a stream that is still being sent, gRPC for asyncio every now and
        then tells INTERNAL instead of the server's status.

        :param frames: without delimiters. Those of an asynchronous iterable are sent as they are;
            others are waited for in threads.
        """
        requests = _Requests(self._sent(frames))
        call = self._publish(requests, timeout=seconds_of(timeout), metadata=self._metadata)
        requests.call = call
        try:
            check_received(await call, requests.failure, requests.sent, self.target)
        except grpc.RpcError as error:
            if requests.failure is not None:
                raise requests.failure from None
            raise received_error(error, self.target) from error
        except asyncio.CancelledError:
            if requests.failure is not None:
                raise requests.failure from None
            raise
        finally:
            call.cancel()
            await requests.close()

    async def _sent(
        self, frames: Iterable[bytes] | AsyncIterable[bytes]
    ) -> AsyncGenerator[bytes, None]:
        if isinstance(frames, AsyncIterable):
            async for frame in frames:
                yield frame
            return
        iterator: Iterator[bytes] = fitted_all(frames, self._message_bytes, self._limits)
        try:
            while (found := await asyncio.to_thread(next, iterator, None)) is not None:
                yield found
        finally:
            # One that a thread still waits for is left to that thread.
            with suppress(ValueError):
                await asyncio.to_thread(iterator.close)  # type: ignore[attr-defined]

    def subscribe(
        self,
        topic: str,
        *,
        options: StreamOptions | None = None,
        backend: str | None = None,
        blank_nodes: BlankNodes = "fresh",
        timeout: float | None = None,
    ) -> Subscription:
        """Subscribe to a topic; see :meth:`.client.Client.subscribe`."""
        return self._answer(Subscription, topic, options, backend, blank_nodes, timeout)


class _Requests:
    """Requests for gRPC, which takes them in a task of its own, and forgets that task where the
    call ends before them. So they end with the call, and whoever publishes waits for that."""

    def __init__(self, frames: AsyncGenerator[bytes, None]) -> None:
        self._frames = frames
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._idle = asyncio.Event()
        self._idle.set()
        #: Set before the loop goes on, and so before a request is taken.
        self.call: Any = None
        self.failure: Exception | None = None
        #: Whether there are no more.
        self.sent = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        self._idle.clear()
        try:
            frame = await _unless(self._ended, self._frames)
            self.sent = frame is None and not self._ended.done()
        except Exception as error:
            # Were the requests to end otherwise, the server would take them for all.
            self.failure = error
            self.call.cancel()
            frame = None
        finally:
            self._idle.set()
        if frame is None:
            raise StopAsyncIteration
        return frame

    async def close(self) -> None:
        self._ended.set_result(None)
        await self._idle.wait()
        await self._frames.aclose()


async def _next_of(frames: AsyncGenerator[bytes, None]) -> bytes | None:
    return await anext(frames, None)


async def _unless(ended: asyncio.Future[None], frames: AsyncGenerator[bytes, None]) -> bytes | None:
    """The next frame; None if there is none, or once nobody wants one any more."""
    getting = asyncio.create_task(_next_of(frames))
    try:
        waited: set[asyncio.Future[Any]] = {getting, ended}
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        return getting.result() if getting.done() else None
    finally:
        if not getting.done():
            getting.cancel()
            await asyncio.wait({getting})


class Subscription(Answer):
    """A stream that comes: an asynchronous iterator of its frames, and a context manager that ends
    it. See :class:`.client.Subscription`."""

    #: To be closed with the stream.
    _client: Client | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ask for no more."""
        self._closed = True
        self._call.cancel()
        if self._client is not None:
            await self._client.close()

    async def options(self) -> StreamOptions:
        """The stream's options; waits until they have come.

        :raises JellyError: the stream has none.
        """
        while self._decoder.options is None:
            frame = await self._next()
            if frame is None:
                raise OptionsError("no options were read", source=self.name)
            self._peeked.append(frame)
        return self._decoder.options

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Frame:
        frame = self._peeked.pop(0) if self._peeked else await self._next()
        if frame is None:
            raise StopAsyncIteration
        return frame

    async def statements(self) -> AsyncIterator[Any]:
        """All statements, one after the other."""
        async for frame in self:
            for statement in frame.statements:
                yield statement

    async def frames(self) -> AsyncGenerator[bytes, None]:
        """The frames as bytes, whose options are looked at and nothing else."""
        while (data := await self._receive()) is not None:
            self._check.take(data)
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
            if self.is_cut:
                raise closed_error(self.name)
            if not file.tell():
                raise OptionsError("the stream has no frames", source=self.name)
            file.seek(0)
            try:
                return await asyncio.to_thread(
                    owner.load, store, file, limits=self._limits, **settings
                )
            except JellyError as error:
                # It has the temporary file's name.
                error.source = self.name
                raise

    async def _next(self) -> Frame | None:
        data = await self._receive()
        if data is not None:
            return self._decoder.take(data)
        if not self._closed:
            self._decoder.finish()
        return None

    async def _receive(self) -> bytes | None:
        try:
            data = await self._call.read()
        except grpc.RpcError as error:
            if self._closed:
                self.is_cut = True
                return None
            raise received_error(error, self.name) from error
        except asyncio.CancelledError:
            if self._closed:
                self.is_cut = True
                return None
            raise
        return None if data is grpc.aio.EOF else data


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
    client = Client(target, **connection)
    stream = client.subscribe(
        topic, options=options, backend=backend, blank_nodes=blank_nodes, timeout=timeout
    )
    stream._client = client
    return stream


class Server:
    """A server at work; an asynchronous context manager that stops it. Made by :func:`serve`."""

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
        feed = _Feed(frames.options)
        feed_task = asyncio.run_coroutine_threadsafe(feed.start(self._service), self._loop)
        feed_task.result()
        frames.when_over(lambda: self._abandon(feed))
        wanted = True
        try:
            for frame in frames:
                wanted = self._hand(feed, frame)
                if not wanted:
                    break
        except Exception as error:
            self._hand(feed, error)
        else:
            if wanted:
                self._hand(feed, None)
        try:
            asyncio.run_coroutine_threadsafe(feed.result(), self._loop).result()
        except CancelledError:
            raise ServiceError("the client has gone", status="CANCELLED") from None

    def _abandon(self, feed: _Feed) -> None:
        with suppress(RuntimeError):  # the loop is closed, and nothing is left to be cancelled
            self._loop.call_soon_threadsafe(feed.abandon)

    def _hand(self, feed: _Feed, item: bytes | Exception | None) -> bool:
        return asyncio.run_coroutine_threadsafe(feed.hand(item), self._loop).result()

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

    :param start: gives the iterator; called with the first frame that is asked for, so that it can
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


class _Feed:
    """The frames of a published stream, as a coroutine sees them; see
    :class:`.service.AsyncPublished`. All of it runs in the loop."""

    def __init__(self, options: StreamOptions) -> None:
        self.options = options
        self._waiting: asyncio.Queue[bytes | Exception | None] = asyncio.Queue(1)
        self._task: asyncio.Task[None] | None = None
        self._asked = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        self._asked = True
        try:
            item = await self._waiting.get()
        finally:
            self._asked = False
        if item is None:
            raise StopAsyncIteration
        if isinstance(item, Exception):
            raise item
        return item

    async def start(self, service: Any) -> None:
        self._task = asyncio.ensure_future(service.publish(self))

    def abandon(self) -> None:
        """Say that nobody waits for an answer any more. Whoever waits for a frame is told in its
        stead, all else is cancelled."""
        if self._task is not None and not self._asked:
            self._task.cancel()

    async def hand(self, item: bytes | Exception | None) -> bool:
        """Give what comes next; returns whether it is still wanted."""
        assert self._task is not None
        put = asyncio.ensure_future(self._waiting.put(item))
        await asyncio.wait({put, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if put.done():
            return True
        put.cancel()
        return False

    async def result(self) -> None:
        assert self._task is not None
        await self._task
        if not self._waiting.empty() and isinstance(self._waiting.get_nowait(), bytes):
            raise part_error()
