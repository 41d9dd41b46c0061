"""Bounded buffers of frames between two threads."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Self

from ..codec import Limits
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
    :ivar is_open: whether frames can be added.
    """

    def __init__(self, size: int = DEFAULT_BUFFER_BYTES) -> None:
        self.is_open = True
        self._size = size
        self._frames: deque[bytes] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._failure: BaseException | None = None

    @property
    def waiting(self) -> int:
        """Number of frames that wait."""
        return len(self._frames)

    def put(self, frame: bytes, *, timeout: float | None = None) -> bool:
        """Add a frame; wait while the buffer is full.

        :param timeout: seconds to wait; None for no limit.
        :return: whether the frame was added in time.
        :raises NotWantedError: the buffer has ended.
        """
        size = len(frame) + _OVERHEAD
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while self.is_open and self._frames and self._bytes + size > self._size:
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

    def end(self, failure: BaseException | None = None, *, drop: bool = False) -> None:
        """Mark the end, unless it is marked. For any thread.

        :param failure: raised after the last frame.
        :param drop: discard the waiting frames.
        """
        with self._changed:
            if self.is_open:
                self.is_open = False
                self._failure = failure
            if drop:
                self._frames.clear()
                self._bytes = 0
            self._changed.notify_all()

    def cancel(self) -> None:
        """Stop reading: iteration ends, and so does waiting for space. For any thread."""
        self.end(drop=True)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        with self._changed:
            while not self._frames and self.is_open:
                self._changed.wait()
            if not self._frames:
                if self._failure is not None:
                    raise self._failure
                raise StopIteration
            frame = self._frames.popleft()
            self._bytes -= len(frame) + _OVERHEAD
            self._changed.notify_all()
            return frame


class Pulled(FrameBuffer):
    """The frames of a delimited stream while it is written.

    It is written in a separate thread, which starts when the first frame is requested, and
    blocks while frames are not taken.

    :param write: writes the stream to the file that it receives. Once frames are no longer wanted,
        writing to this file raises an error.
    """

    def __init__(self, write: Callable[[Writable], object], limits: Limits) -> None:
        super().__init__()
        self._write = write
        self._splitter = FrameSplitter(limits=limits)
        self._thread = threading.Thread(target=self._run, name="jelly-frames", daemon=True)

    def __next__(self) -> bytes:
        if self._thread.ident is None:
            self._thread.start()
        return super().__next__()

    def close(self) -> None:
        """Stop, and wait until the writing thread has ended."""
        self.cancel()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        failure = None
        try:
            self._write(self)
            for frame in self._splitter.finish():
                self.put(frame)
        except BaseException as error:
            failure = error.with_traceback(None)
        self.end(failure)

    def write(self, data: bytes, /) -> int:
        """Add bytes of the stream."""
        for frame in self._splitter.feed(data):
            self.put(frame)
        return len(data)

    def flush(self) -> None:
        """Do nothing: complete frames are passed on at once."""
