"""The frames of a stream, without I/O: the options that it begins with, and messages of the size
that the other side takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ..codec import DEFAULT_LIMITS, Decoder, Limits, StreamOptions
from ..codec.common.wire import read_field
from ..codec.rdf.decoder import first_options
from ..errors import LimitError, OptionsError
from ..io.streams import GENERIC

#: Bytes of a message that gRPC takes by default.
DEFAULT_MESSAGE_BYTES: Final = 4 << 20
#: Bytes of a frame that are sent at once, where the frame may be divided.
SENT_BYTES: Final = 1 << 20
#: Bytes of a message that are not the frame's.
_MESSAGE_OVERHEAD: Final = 1 << 10
#: Rows of a frame that is made to be sent. Each message costs as much as many rows.
FRAME_ROWS: Final = 4096
FRAME_BYTES: Final = 256 << 10
#: Frames without a row that may come before the options, and their bytes: they are kept.
_FRAMES_BEFORE_OPTIONS: Final = 1000
_BYTES_BEFORE_OPTIONS: Final = 1 << 20


class Opening:
    """Finds the options that a stream begins with: frames without a row may come before them.

    :ivar options: None until they have been found.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.options: StreamOptions | None = None
        self._limits = limits
        self._decoder = Decoder(GENERIC, limits=limits)
        self._frames = 0
        self._bytes = 0

    def take(self, frame: bytes) -> bool:
        """Look for the options in the next frame, unless they have been found.

        :return: whether this frame has brought them.
        :raises JellyError: the stream does not begin with options.
        """
        if self.options is not None:
            return False
        self.options = first_options(frame, self._limits)
        if self.options is not None:
            return True
        # Decoding such a frame raises the error that it has.
        self._decoder.decode(frame)
        self._frames += 1
        self._bytes += len(frame)
        if self._frames > _FRAMES_BEFORE_OPTIONS or self._bytes > _BYTES_BEFORE_OPTIONS:
            raise OptionsError("the stream does not begin with options")
        return False


def open_stream(frames: Iterator[bytes], limits: Limits) -> tuple[StreamOptions, Iterator[bytes]]:
    """Read a stream up to its options.

    :return: the options, and all frames.
    :raises JellyError: the stream does not begin with options.
    """
    opening = Opening(limits)
    kept: list[bytes] = []
    for frame in frames:
        kept.append(frame)
        opening.take(frame)
        if opening.options is not None:
            return opening.options, _after(kept, frames)
    raise OptionsError("the stream has no options" if kept else "the stream has no frames")


def _after(kept: list[bytes], frames: Iterator[bytes]) -> Iterator[bytes]:
    yield from kept
    yield from frames


def fitted_stream(frames: Iterable[bytes], message_bytes: int, limits: Limits) -> Iterator[bytes]:
    """The frames of a stream that a client sends, in chunks that can be sent: see :func:`fitted`.

    :raises LimitError: a frame cannot be divided so.
    """
    options: StreamOptions | None = None
    for frame in iterate(iter(frames)):
        options = options or first_options(frame, limits)
        yield from fitted(frame, options, message_bytes)


def fitted(frame: bytes, options: StreamOptions | None, message_bytes: int) -> Iterator[bytes]:
    """A frame in chunks that can be sent.

    In a flat stream frames have no meaning, and a large one is divided between its rows. In a
    grouped stream each frame is an element.

    :param options: of the stream; None before they have come, where no frame is divided.
    :param message_bytes: of the largest message that the other side takes.
    :raises LimitError: an element, or a row, is too large.
    """
    if options is None:
        yield frame
        return
    most = message_bytes - _MESSAGE_OVERHEAD
    if options.grouped or len(frame) <= min(SENT_BYTES, most):
        _check_size(len(frame), most, "a frame that is one element")
        yield frame
        return
    start = pos = 0
    while pos < len(frame):
        before = pos
        _, _, pos, _ = read_field(frame, pos, len(frame))
        _check_size(pos - before, most, "a row")
        if pos - start > min(SENT_BYTES, most) and before > start:
            yield frame[start:before]
            start = before
    yield frame[start:]


def _check_size(size: int, most: int, what: str) -> None:
    if size > most:
        raise LimitError(f"{what} takes {size:,} bytes, a message of this service {most:,}")


def iterate(frames: Iterable[bytes]) -> Iterator[bytes]:
    """Iterate over frames, and close their source after the last or when iteration ends early."""
    try:
        yield from frames
    finally:
        close = getattr(frames, "close", None)
        if close is not None:
            close()
