"""The service on the wire: the names of its methods, and its messages that are no frames.

Frames are bytes here, which the codec reads and writes; what is left are two small messages. Both
are read and written without protobuf's classes, so that their errors are the codec's too.

Reference: RdfStreamService in grpc.proto.
"""

from __future__ import annotations

from typing import Final

from ..codec import Limits, StreamOptions
from ..codec.common.wire import BYTES, bytes_field, read_fields, read_string, string_field
from ..codec.rdf.decoder import read_options
from ..codec.rdf.encoder import write_options

SERVICE: Final = "eu.ostrzyciel.jelly.core.proto.v1.RdfStreamService"
SUBSCRIBE: Final = "SubscribeRdf"
PUBLISH: Final = "PublishRdf"

#: An RdfStreamReceived, which has no fields.
RECEIVED: Final = b""

_FIELDS: Final = {1: BYTES, 2: BYTES}


def path_of(method: str) -> str:
    """What a request for a method names.

    >>> path_of(SUBSCRIBE)
    '/eu.ostrzyciel.jelly.core.proto.v1.RdfStreamService/SubscribeRdf'
    """
    return f"/{SERVICE}/{method}"


def write_subscribe(topic: str, options: StreamOptions | None) -> bytes:
    """Write an RdfStreamSubscribe."""
    asked = b"" if options is None else bytes_field(2, write_options(options))
    return string_field(1, topic) + asked


def read_subscribe(data: bytes, limits: Limits) -> tuple[str, StreamOptions | None]:
    """Read an RdfStreamSubscribe: the topic, and the options that are asked for.

    :raises WireError: malformed.
    :raises OptionsError: the physical type that is asked for is none.

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
            options = read_options(data, start, stop, limits)
    return topic, options
