"""Encode what a client publishes: files, stores and graphs, statements."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ..backends import find_owner, get_backend
from ..codec import DEFAULT_LIMITS, Limits, LogicalType, StreamOptions, describe
from ..codec.common.options import write_options
from ..codec.common.row_reader import ROW_TAG
from ..codec.common.wire import bytes_field, read_field
from ..codec.rdf.decoder import first_options
from ..codec.rdf.rules import Row
from ..errors import JellyError
from ..formats.convert import convert
from ..formats.settings import LoadSettings, OptionChanges
from ..io.names import Format, FormatName
from ..io.streams import FrameBytes, encode
from .buffers import Pulled
from .protocol import FRAME_SIZE, iterate


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
    settings: dict[str, Any] = {**FRAME_SIZE, "limits": limits}
    if isinstance(data, str | os.PathLike | bytes | bytearray | memoryview) or hasattr(
        data, "read"
    ):
        form = LoadSettings(format=format).format_for(data)
        if form is Format.JELLY:
            if topic is None and options is None:
                return _frames_of(data, limits)
            # Its frames stay as they are. Options may be repeated anywhere, so that all of it is
            # written again.
            settings = {"limits": limits}
        logical_type = LogicalType(options.logical_type) if options else LogicalType.UNSPECIFIED
        changes = OptionChanges(like=options, logical_type=logical_type or None, stream_name=topic)
        return Pulled(
            lambda out: convert(
                data,
                out,
                source_format=form,
                target_format=Format.JELLY,
                changes=changes,
                **settings,
            ),
            limits,
        )
    # Looking for a backend takes as long as some thousand statements.
    owner = None if isinstance(data, list | tuple | Iterator) else find_owner(data)
    frames: Iterator[bytes]
    if owner is None:
        describing = describe if backend is None else get_backend(backend).describe
        frames = encode(data, options=options, describe=describing, **settings)
    else:
        if options is not None:
            settings["options"] = options
        dump = owner.dump
        frames = Pulled(lambda out: dump(data, out, **settings), limits)
    return frames if topic is None else renamed(frames, topic)


def _frames_of(source: Any, limits: Limits) -> Iterator[bytes]:
    with FrameBytes(source, limits=limits) as frames:
        try:
            yield from frames
        except JellyError as error:
            error.locate(source=frames.name)
            raise


def renamed(frames: Iterable[bytes], name: str) -> Iterator[bytes]:
    """A stream under another name.

    :param frames: of a stream that has its options once, in its first row.
    """
    rest = iterate(frames)
    first = next(rest, b"")
    options = first_options(first, DEFAULT_LIMITS)
    if options is not None:
        _, _, end, _ = read_field(first, 0, len(first))
        row = bytes_field(Row.OPTIONS, write_options(replace(options, stream_name=name)))
        first = bytes_field(ROW_TAG >> 3, row) + first[end:]
    yield first
    yield from rest
