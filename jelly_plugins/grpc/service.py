"""The interface that applications of a server implement."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator
from typing import Any, Protocol, runtime_checkable

from ..codec import StreamOptions


class Published(Protocol):
    """The frames of a stream that a client publishes: an iterator of bytes, each a frame."""

    @property
    def options(self) -> StreamOptions:
        """The stream's options, which were found to be supported."""
        ...

    def __iter__(self) -> Iterator[bytes]: ...

    def __next__(self) -> bytes:
        """The next frame.

        :raises ServiceError: the client has disconnected, or exceeds a limit.
        """
        ...

    def check(self) -> None:
        """Make sure that the client still waits for an answer.

        :raises ServiceError: it does not.
        """
        ...


@runtime_checkable
class Subscribable(Protocol):
    """An object that clients can subscribe to."""

    def subscribe(self, topic: str, options: StreamOptions | None) -> Iterable[bytes]:
        """The frames of a stream, for one subscriber.

        Called in a separate thread for each call, which also reads the frames, one by one, as the
        subscriber reads them. If the iterable has a method ``cancel``, it is called from another
        thread once frames are no longer wanted; ``close``, if there is one, after the last.

        :param topic: the requested topic.
        :param options: the requested options, or None. The server rejects a stream that exceeds
            them.
        :return: frames without delimiters, beginning with the stream's options.
        :raises ServiceError: with the status that the subscriber is to get.
        """
        ...


@runtime_checkable
class Publishable(Protocol):
    """An object that clients can publish to."""

    def publish(self, frames: Published) -> None:
        """Take all frames of a stream; it counts as received when this returns.

        Called in a thread of the call's own. If it returns before the last frame, the publisher
        gets INTERNAL.

        :raises JellyError: the stream is rejected, with INVALID_ARGUMENT unless the error is a
            ServiceError, which has a status.
        """
        ...


class Service(Subscribable, Publishable, Protocol):
    """An application with all streams of a server. Its method ``close``, if any, is called when the
    server is stopped: endless streams should end then."""


class AsyncPublished(Protocol):
    """As :class:`Published`, for an event loop."""

    @property
    def options(self) -> StreamOptions: ...

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    def __anext__(self) -> Awaitable[bytes]: ...


class AsyncService(Protocol):
    """As :class:`Service`, for an event loop: see :func:`.aio.serve`.

    Pending calls are cancelled once their result is no longer awaited.
    """

    def subscribe(
        self, topic: str, options: StreamOptions | None
    ) -> AsyncIterator[bytes] | Awaitable[AsyncIterator[bytes]]:
        """The frames of a stream: an asynchronous generator, or a coroutine that returns one."""
        ...

    async def publish(self, frames: AsyncPublished) -> None:
        """Take a stream."""
        ...


def stop(service: Any) -> Any:
    """Call the application's ``close``, if it has one."""
    close = getattr(service, "close", None)
    return None if close is None else close()
