"""Bounded buffers of frames between two threads."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, Self

from ..codec import Limits, StreamOptions
from ..codec.common.framing import FrameSplitter
from ..io.sinks import Writable

#: Bytes of frames that wait, at most, or one frame that is larger.
DEFAULT_BUFFER_BYTES: Final = 1 << 20

#: Bytes that a frame counts for besides its own.
_OVERHEAD: Final = 64


class NotWantedError(Exception):
    """The reader of a buffer has stopped."""


class FrameBuffer:
    """A queue of frames from one thread to another; iterate over it to take them.

    :param size: bytes of frames that wait, at most.
    :ivar options: of the stream, where it may take long until its first frame.
    """

    def __init__(
        self, size: int = DEFAULT_BUFFER_BYTES, *, options: StreamOptions | None = None
    ) -> None:
        self.options = options
        self._size = size
        self._frames: deque[bytes] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._ended = False
        self._failure: BaseException | None = None
        self._cancelled = False

    @property
    def is_open(self) -> bool:
        """Whether frames are put in and taken."""
        return not (self._cancelled or self._ended)

    @property
    def waiting(self) -> int:
        """Number of frames that wait."""
        return len(self._frames)

    def put(self, frame: bytes, *, timeout: float | None = None) -> bool:
        """Add a frame; wait while the buffer is full.

        :param timeout: seconds to wait; None for no limit.
        :return: whether the frame was added in time.
        :raises NotWantedError: the reader has stopped.
        """
        size = len(frame) + _OVERHEAD
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while self.is_open and self._is_full(size):
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._changed.wait(left)
            if not self.is_open:
                raise NotWantedError
            self._frames.append(frame)
            self._bytes += size
            self._changed.notify_all()
        return True

    def _is_full(self, size: int) -> bool:
        return bool(self._frames) and self._bytes + size > self._size

    def end(self, failure: BaseException | None = None, *, drop: bool = False) -> None:
        """Mark the end.

        :param failure: raised after the last frame.
        :param drop: discard the waiting frames.
        """
        with self._changed:
            if self._ended:
                return
            self._ended = True
            self._failure = failure
            if drop:
                self._forget()
            self._changed.notify_all()

    def cancel(self) -> None:
        """Stop reading: iteration ends, and so does waiting for space. Callable from any thread."""
        with self._changed:
            self._cancelled = True
            self._forget()
            self._changed.notify_all()

    def _forget(self) -> None:
        self._frames.clear()
        self._bytes = 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        with self._changed:
            while not self._frames and self.is_open:
                self._changed.wait()
            if not self._frames:
                if self._failure is not None and not self._cancelled:
                    raise self._failure
                raise StopIteration
            frame = self._frames.popleft()
            self._bytes -= len(frame) + _OVERHEAD
            self._changed.notify_all()
            return frame


class Pulled:
    """The frames of a delimited stream while it is written: an iterator.

    It is written in a separate thread, which starts when the first frame is requested, and
    blocks while frames are not taken.

    :param write: writes the stream to what it is given. Where frames are not wanted any more,
        writing raises there.
    :param limits: those of frames.
    """

    def __init__(self, write: Callable[[Writable], object], limits: Limits) -> None:
        self._write = write
        self._splitter = FrameSplitter(limits=limits)
        self._buffer = FrameBuffer()
        self._thread: threading.Thread | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="jelly-frames", daemon=True)
            self._thread.start()
        return next(self._buffer)

    def cancel(self) -> None:
        """Ask for no more frames. For any thread."""
        self._buffer.cancel()

    def close(self) -> None:
        """Stop, and wait until the writing thread has ended."""
        self.cancel()
        if self._thread is not None and self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._write(self)
            self._put_all(self._splitter.finish())
        except NotWantedError:
            pass
        except BaseException as error:
            self._buffer.end(error.with_traceback(None))
        else:
            self._buffer.end()

    def write(self, data: bytes, /) -> int:
        """Add bytes of the stream."""
        self._put_all(self._splitter.feed(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: complete frames are passed on at once."""

    def _put_all(self, frames: Iterable[bytes]) -> None:
        for frame in frames:
            self._buffer.put(frame)
