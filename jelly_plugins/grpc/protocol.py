"""The service's protocol, without I/O: its methods and messages, the options that a stream begins
with, and how they answer a request.

A stream may have less than was requested, never more. The server chooses the stream's logical type
and name. Version 0 requests no version: Jelly-JVM's clients leave it out.

The messages are read and written without protobuf's classes, so that their errors are the codec's.

Reference: Jelly gRPC streaming protocol, section "Stream options"; RdfStreamService and
RdfStreamSubscribe in grpc.proto.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Final

from ..codec import Decoder, Limits, StreamOptions
from ..codec.common.options import FLAGS, MIN_NAME_TABLE, TABLES, read_options, write_options
from ..codec.common.wire import (
    BYTES,
    bytes_field,
    read_field,
    read_fields,
    read_string,
    string_field,
)
from ..errors import LimitError, OptionsError, ServiceError
from ..io.streams import GENERIC, first_options

SERVICE: Final = "eu.ostrzyciel.jelly.core.proto.v1.RdfStreamService"
SUBSCRIBE: Final = f"/{SERVICE}/SubscribeRdf"
PUBLISH: Final = f"/{SERVICE}/PublishRdf"

#: An RdfStreamReceived, which has no fields.
RECEIVED: Final = b""

#: Bytes of a message that gRPC accepts by default.
DEFAULT_MESSAGE_BYTES: Final = 4 << 20
#: Bytes of a message that are not the frame's.
_MESSAGE_OVERHEAD: Final = 1 << 10
#: Bytes of a frame that are sent at once, where the frame may be divided.
_SENT_BYTES: Final = 1 << 20
#: Frames without a row that may come before the options, and their bytes: they are kept.
_FRAMES_BEFORE_OPTIONS: Final = 1000
_BYTES_BEFORE_OPTIONS: Final = 1 << 20


def write_subscribe(topic: str, options: StreamOptions | None) -> bytes:
    requested = b"" if options is None else bytes_field(2, write_options(options))
    return string_field(1, topic) + requested


def read_subscribe(data: bytes, limits: Limits) -> tuple[str, StreamOptions | None]:
    """Read an RdfStreamSubscribe: the topic, and the options that are requested."""
    topic = ""
    options = None
    types = {1: BYTES, 2: BYTES}
    for number, start, stop, _ in read_fields(data, 0, len(data), types, "RdfStreamSubscribe"):
        if number == 1:
            topic = read_string(data, start, stop, "the topic")
        else:
            options = read_options(StreamOptions, data, start, stop, limits)
    if options is not None:
        options.check_consistency()
        if options.max_name_table_size < MIN_NAME_TABLE:
            raise OptionsError(
                f"a name table of {options.max_name_table_size} entries is too small, "
                f"the minimum is {MIN_NAME_TABLE}"
            )
    return topic, options


def check_answer(requested: StreamOptions | None, options: StreamOptions) -> None:
    """Reject a stream that has another physical type, or more, than was requested."""
    if requested is None:
        return
    check_features(options, requested, "request")
    for name in (*TABLES, "version"):
        found, most = getattr(options, name), getattr(requested, name)
        if found > most and (name != "version" or most):
            raise OptionsError(f"the stream's {name} is {found} (requested: {most})")


def check_features(options: StreamOptions, allowed: StreamOptions, by: str) -> None:
    """Reject a stream of another physical type, or with a feature that is not allowed.

    :param by: what the allowed options are of.
    """
    if options.physical_type is not allowed.physical_type:
        raise OptionsError(
            f"the stream's physical type is {options.physical_type.name}, "
            f"that of the {by} {allowed.physical_type.name}"
        )
    for name in FLAGS:
        if getattr(options, name) and not getattr(allowed, name):
            raise OptionsError(f"the stream has {name}, which the {by} does not have")


def answer_to(requested: StreamOptions | None, usual: StreamOptions) -> StreamOptions:
    """Options for a stream that is written for a subscriber.

    :param usual: those of the stream without a request; its tables are never larger, and its name
        is always this one.
    """
    if requested is None:
        return usual
    sizes = {name: min(getattr(requested, name), getattr(usual, name)) for name in TABLES}
    return replace(
        usual,
        physical_type=requested.physical_type,
        logical_type=requested.logical_type or requested.physical_type.flat,
        version=min(requested.version, usual.version) or usual.version,
        **sizes,
    )


def rejected(error: Exception) -> ServiceError:
    return ServiceError(str(error), status="INVALID_ARGUMENT")


def open_stream(frames: Iterator[bytes], limits: Limits) -> tuple[StreamOptions, Iterator[bytes]]:
    """Read a stream up to its options: frames without a row may come before them. Return the
    options, and all frames."""
    decoder = Decoder(GENERIC, limits=limits)
    kept: list[bytes] = []
    size = 0
    for frame in frames:
        kept.append(frame)
        options = first_options(frame, limits)
        if options is not None:
            return options, chain(kept, frames)
        # Decoding such a frame raises the error that it has.
        decoder.decode(frame)
        size += len(frame)
        if len(kept) > _FRAMES_BEFORE_OPTIONS or size > _BYTES_BEFORE_OPTIONS:
            raise OptionsError("the stream does not begin with options")
    raise OptionsError("the stream has no options" if kept else "the stream has no frames")


def fitted(frame: bytes, options: StreamOptions | None, message_bytes: int) -> Iterator[bytes]:
    """A frame in chunks that can be sent.

    In a flat stream frames have no meaning, and a large one is divided between its rows. In a
    grouped stream each frame is an element.

    :param options: of the stream; None before they have come, where no frame is divided.
    :param message_bytes: size of the largest message that the other side accepts.
    """
    most = message_bytes - _MESSAGE_OVERHEAD
    if options is None or options.grouped or len(frame) <= min(_SENT_BYTES, most):
        if options is not None:
            _check_size(len(frame), most, "a frame that is one element")
        yield frame
        return
    start = pos = 0
    while pos < len(frame):
        before = pos
        _, _, pos, _ = read_field(frame, pos, len(frame))
        _check_size(pos - before, most, "a row")
        if pos - start > min(_SENT_BYTES, most) and before > start:
            yield frame[start:before]
            start = before
    yield frame[start:]


def _check_size(size: int, most: int, what: str) -> None:
    if size > most:
        raise LimitError(f"{what} takes {size:,} bytes, a message of this service {most:,}")


def iterate(frames: Iterable[bytes]) -> Generator[bytes, None, None]:
    """Iterate over frames, and close their source after the last or when iteration ends early."""
    try:
        yield from frames
    finally:
        close = getattr(frames, "close", None)
        if close is not None:
            close()
