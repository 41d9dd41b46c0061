"""Frames on their way: a bounded buffer between two threads, and the frames of what a client
publishes (files, stores and graphs, statements)."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, Self

from ..backends import find_owner, get_backend
from ..codec import DEFAULT_LIMITS, Decoder, Limits, LogicalType, StreamOptions, describe
from ..codec.common.options import write_options
from ..codec.common.row_reader import ROW_TAG
from ..codec.common.wire import FrameSplitter, bytes_field, read_field
from ..codec.rdf.rules import Row
from ..errors import JellyError
from ..formats.convert import convert
from ..formats.settings import LoadSettings, OptionChanges
from ..io.chunks import in_thread
from ..io.sinks import Writable
from ..io.sources import Format, FormatName, Source
from ..io.streams import GENERIC, FrameBytes, encode, first_options
from .protocol import open_stream

#: Size of the frames that are made to be sent. Each message costs as much as many rows.
FRAME_SIZE: Final[dict[str, Any]] = {"frame_rows": 4096, "frame_bytes": 256 << 10}
#: Bytes of frames that wait, at most, or one frame that is larger.
DEFAULT_BUFFER_BYTES: Final = 1 << 20
#: Bytes that a frame counts for besides its own.
_OVERHEAD: Final = 64


class FrameBuffer:
    """A queue of frames from one thread to another, with at most ``size`` bytes; iterate over it to
    take them."""

    def __init__(self, size: int = DEFAULT_BUFFER_BYTES) -> None:
        self.is_open = True
        self._size = size
        self._frames: deque[bytes] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._failure: BaseException | None = None

    def put(self, frame: bytes, *, timeout: float | None = None) -> bool:
        """Add a frame; wait while the buffer is full. After the end, frames are discarded. Return
        False if the buffer is still full."""
        size = len(frame) + _OVERHEAD

        def is_possible() -> bool:
            return not (self.is_open and self._frames and self._bytes + size > self._size)

        with self._changed:
            if not self._changed.wait_for(is_possible, timeout):
                return False
            if self.is_open:
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
            self._changed.wait_for(lambda: self._frames or not self.is_open)
            if not self._frames:
                if self._failure is not None:
                    raise self._failure
                raise StopIteration
            frame = self._frames.popleft()
            self._bytes -= len(frame) + _OVERHEAD
            self._changed.notify_all()
            return frame


class _Splitting:
    """A file that hands over each frame that is written, as soon as it is whole."""

    def __init__(self, put: Callable[[bytes], None], splitter: FrameSplitter) -> None:
        self._put = put
        self._splitter = splitter

    def write(self, data: bytes, /) -> None:
        for frame in self._splitter.feed(data):
            self._put(frame)


def pulled(write: Callable[[Writable], object], limits: Limits) -> Iterator[bytes]:
    """The frames of a delimited stream while a thread writes it, which waits until they are taken.

    :param write: writes the stream to the file that it receives. Once frames are no longer wanted,
        writing to this file raises an error.
    """

    def produce(put: Callable[[bytes], None]) -> None:
        splitter = FrameSplitter(limits=limits)
        write(_Splitting(put, splitter))
        for frame in splitter.finish():
            put(frame)

    return in_thread(produce)


def outgoing(
    data: Any,
    *,
    format: FormatName | None = None,  # noqa: A002
    topic: str | None = None,
    options: StreamOptions | None = None,
    backend: str | None = None,
    limits: Limits,
) -> Iterator[bytes]:
    """The frames of a stream; see :meth:`.client.Client.publish` for the parameters."""
    if isinstance(data, str | os.PathLike | bytes | bytearray | memoryview) or hasattr(
        data, "read"
    ):
        return _of_source(
            data, LoadSettings(format=format).format_for(data), topic, options, limits
        )
    settings: dict[str, Any] = {**FRAME_SIZE, "limits": limits}
    if options is not None:
        settings["options"] = options
    # Looking for a backend takes as long as some thousand statements.
    owner = None if isinstance(data, list | tuple | Iterator) else find_owner(data)
    if owner is None:
        describing = describe if backend is None else get_backend(backend).describe
        frames: Iterator[bytes] = encode(data, describe=describing, **settings)
    else:
        dump = owner.dump
        frames = pulled(lambda out: dump(data, out, **settings), limits)
    return frames if topic is None else _renamed(frames, topic)


def _of_source(
    source: Any, form: Format, name: str | None, options: StreamOptions | None, limits: Limits
) -> Iterator[bytes]:
    if form is Format.JELLY and name is None and options is None:
        return unchanged(source, limits)
    logical_type = LogicalType(options.logical_type) if options else LogicalType.UNSPECIFIED
    settings: dict[str, Any] = {
        "changes": OptionChanges(like=options, logical_type=logical_type or None, stream_name=name),
        # The frames of Jelly stay as they are. But its options may be repeated anywhere, so that
        # all of it is written again.
        **({} if form is Format.JELLY else FRAME_SIZE),
    }
    return pulled(
        lambda out: convert(
            source, out, source_format=form, target_format=Format.JELLY, limits=limits, **settings
        ),
        limits,
    )


def unchanged(source: Source | FrameBytes, limits: Limits) -> Iterator[bytes]:
    """The frames of a Jelly file, as they are.

    :raises SourceError: it is in another format.
    """
    with source if isinstance(source, FrameBytes) else FrameBytes(source, limits=limits) as file:
        try:
            _, frames = open_stream(iter(file), limits)
        except JellyError as error:
            file.reject(error, Decoder(GENERIC))
        try:
            yield from frames
        except JellyError as error:
            error.locate(source=file.name)
            raise


def _renamed(frames: Iterator[bytes], name: str) -> Iterator[bytes]:
    """A stream, which has its options once, in its first row, under another name."""
    first = next(frames)
    options = first_options(first, DEFAULT_LIMITS)
    assert options is not None
    _, _, end, _ = read_field(first, 0, len(first))
    row = bytes_field(Row.OPTIONS, write_options(replace(options, stream_name=name)))
    yield bytes_field(ROW_TAG >> 3, row) + first[end:]
    yield from frames
