"""The service's protocol: its methods, its messages other than frames, and the options that a
subscriber requests.

A stream may have less than was requested, never more. The server chooses the stream's logical type
and name. Version 0 requests no version: Jelly-JVM's clients leave it out.

The messages are read and written without protobuf's classes, so that their errors are the codec's.

Reference: Jelly gRPC streaming protocol, section "Stream options"; RdfStreamService and
RdfStreamSubscribe in grpc.proto.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from ..codec import Limits, StreamOptions
from ..codec.common.options import FLAGS, MIN_NAME_TABLE, TABLES, read_options, write_options
from ..codec.common.wire import BYTES, bytes_field, read_fields, read_string, string_field
from ..errors import OptionsError, ServiceError

SERVICE: Final = "eu.ostrzyciel.jelly.core.proto.v1.RdfStreamService"
SUBSCRIBE: Final = "SubscribeRdf"
PUBLISH: Final = "PublishRdf"

#: An RdfStreamReceived, which has no fields.
RECEIVED: Final = b""

_FIELDS: Final = {1: BYTES, 2: BYTES}

#: Key in a call's initial metadata: the options of a stream whose first frame may take long to
#: come. Not part of the protocol: clients that do not know it wait for the frame.
_OPTIONS_KEY: Final = "jelly-plugins-options-bin"


def path_of(method: str) -> str:
    """The path of a method in a request.

    >>> path_of(SUBSCRIBE)
    '/eu.ostrzyciel.jelly.core.proto.v1.RdfStreamService/SubscribeRdf'
    """
    return f"/{SERVICE}/{method}"


def write_subscribe(topic: str, options: StreamOptions | None) -> bytes:
    """Write an RdfStreamSubscribe."""
    requested = b"" if options is None else bytes_field(2, write_options(options))
    return string_field(1, topic) + requested


def read_subscribe(data: bytes, limits: Limits) -> tuple[str, StreamOptions | None]:
    """Read an RdfStreamSubscribe: the topic, and the options that are requested.

    :raises WireError: the message is malformed.
    :raises OptionsError: no stream can have these options.

    >>> from jelly_plugins.codec import DEFAULT_LIMITS
    >>> read_subscribe(write_subscribe("weather", None), DEFAULT_LIMITS)
    ('weather', None)
    """
    topic = ""
    options = None
    for number, start, stop, _ in read_fields(data, 0, len(data), _FIELDS, "RdfStreamSubscribe"):
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


def metadata_of(options: StreamOptions) -> tuple[tuple[str, bytes], ...]:
    """The initial metadata of a call with a stream's options."""
    return ((_OPTIONS_KEY, write_options(options)),)


def options_in(metadata: Iterable[tuple[str, str | bytes]], limits: Limits) -> StreamOptions | None:
    """The options in a call's initial metadata, if it has any.

    :raises JellyError: they are malformed.
    """
    for key, value in metadata:
        if key == _OPTIONS_KEY and isinstance(value, bytes):
            return read_options(StreamOptions, value, 0, len(value), limits)
    return None


def check_answer(requested: StreamOptions | None, options: StreamOptions) -> None:
    """Reject a stream that is not what was requested.

    :param options: those of the stream.
    :raises OptionsError: the stream has another physical type, or more than was requested.

    >>> check_answer(StreamOptions.big(), StreamOptions.small(version=1))
    >>> check_answer(StreamOptions.small(), StreamOptions.big(version=1))
    Traceback (most recent call last):
        ...
    jelly_plugins.errors.OptionsError: the stream's max_name_table_size is 4000 (requested: 128)
    """
    if requested is None:
        return
    if options.physical_type is not requested.physical_type:
        raise OptionsError(
            f"the stream's physical type is {options.physical_type.name}, "
            f"not the requested {requested.physical_type.name}"
        )
    for name in FLAGS:
        if getattr(options, name) and not getattr(requested, name):
            raise OptionsError(f"the stream has {name}, which was not requested")
    for name in (*TABLES, "version"):
        found, most = getattr(options, name), getattr(requested, name)
        if found > most and (name != "version" or most):
            raise OptionsError(f"the stream's {name} is {found} (requested: {most})")


def answer_to(requested: StreamOptions | None, usual: StreamOptions) -> StreamOptions:
    """Options for a stream that is written for a subscriber.

    :param usual: those of the stream without a request; its tables are never larger, and its name
        is always this one.

    >>> answer_to(StreamOptions(max_name_table_size=8), StreamOptions()).max_name_table_size
    8
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
    """The error for a request that the server cannot satisfy."""
    return ServiceError(str(error), status="INVALID_ARGUMENT")
