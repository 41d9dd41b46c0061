"""Encode what a client publishes: files, stores and graphs, statements."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ..backends import find_owner, get_backend
from ..codec import DEFAULT_LIMITS, Limits, StreamOptions, describe
from ..codec.common.options import write_options
from ..codec.common.row_reader import ROW_TAG
from ..codec.common.wire import bytes_field, read_field
from ..codec.rdf.decoder import first_options
from ..codec.rdf.rules import Row
from ..errors import JellyError
from ..formats.convert import convert
from ..formats.settings import ConversionSettings, LoadSettings, OptionChanges
from ..formats.transcode import transcode
from ..io.names import Format, FormatName
from ..io.sinks import Writable
from ..io.sources import Source
from ..io.streams import FrameBytes, encode
from .buffers import Pulled
from .frames import FRAME_BYTES, FRAME_ROWS, iterate


def outgoing(
    data: Any,
    *,
    format: FormatName | None = None,  # noqa: A002
    topic: str | None = None,
    options: StreamOptions | None = None,
    backend: str | None = None,
    limits: Limits,
) -> Iterator[bytes]:
    """The frames of a stream; see :meth:`.client.Client.publish` for the parameters.

    :raises ValueError: there is no format of that name.
    :raises JellyError: while iterating.
    """
    if isinstance(data, str | os.PathLike | bytes | bytearray | memoryview) or hasattr(
        data, "read"
    ):
        form = LoadSettings(format=format).format_for(data)
        if form is not Format.JELLY:
            return _converted(data, form, topic, options, limits)
        return iterate(_of_source(data, topic, options, limits))
    # Looking for a backend takes as long as some thousand statements.
    owner = None if isinstance(data, list | tuple | Iterator) else find_owner(data)
    if owner is not None:
        settings: dict[str, Any] = {} if options is None else {"options": options}

        def write(out: Any) -> None:
            owner.dump(
                data,
                out,
                frame_rows=FRAME_ROWS,
                frame_bytes=FRAME_BYTES,
                limits=limits,
                **settings,
            )

        frames: Iterator[bytes] = iterate(Pulled(write, limits))
    else:
        frames = encode(
            data,
            options=options,
            describe=describe if backend is None else get_backend(backend).describe,
            frame_rows=FRAME_ROWS,
            frame_bytes=FRAME_BYTES,
            limits=limits,
        )
    return frames if topic is None else renamed(frames, topic)


def _of_source(
    source: Any, topic: str | None, options: StreamOptions | None, limits: Limits
) -> Any:
    if topic is None and options is None:
        return _frames_of(source, limits)

    def changed(found: StreamOptions) -> StreamOptions:
        chosen = options or found
        return replace(
            chosen,
            stream_name=chosen.stream_name if topic is None else topic,
            version=chosen.version or found.version,
        )

    # Options may be repeated anywhere, so that they cannot be changed in one place.
    return Pulled(
        lambda out: transcode([source], out, ConversionSettings(limits=limits), options=changed),
        limits,
    )


def _frames_of(source: Any, limits: Limits) -> Iterator[bytes]:
    with FrameBytes(source, limits=limits) as frames:
        try:
            yield from frames
        except JellyError as error:
            error.locate(source=frames.name)
            raise


def _converted(
    source: Source, form: Format, topic: str | None, options: StreamOptions | None, limits: Limits
) -> Iterator[bytes]:
    """The frames of a source in another format than Jelly."""

    def write(out: Writable) -> None:
        convert(
            source,
            out,
            source_format=form,
            target_format=Format.JELLY,
            changes=OptionChanges(like=options, stream_name=topic),
            frame_rows=FRAME_ROWS,
            frame_bytes=FRAME_BYTES,
            limits=limits,
        )

    return iterate(Pulled(write, limits))


def renamed(frames: Iterable[bytes], name: str) -> Iterator[bytes]:
    """A stream under another name.

    :param frames: of a stream that has its options once.
    """
    is_renamed = False
    for frame in iterate(iter(frames)):
        options = None if is_renamed else first_options(frame, DEFAULT_LIMITS)
        if options is None:
            yield frame
        else:
            yield _with_options(frame, replace(options, stream_name=name))
            is_renamed = True


def _with_options(frame: bytes, options: StreamOptions) -> bytes:
    """A frame with other options in its first row."""
    pos = 0
    while True:
        start = pos
        tag, _, pos, _ = read_field(frame, pos, len(frame))
        if tag == ROW_TAG:
            row = bytes_field(Row.OPTIONS, write_options(options))
            return frame[:start] + bytes_field(ROW_TAG >> 3, row) + frame[pos:]
