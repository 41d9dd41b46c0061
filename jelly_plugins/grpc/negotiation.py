"""Options that a subscriber asks for, and whether a stream keeps to them.

A stream may say less than was asked for, never more. The logical type and the name of the stream
are the server's to choose. A version of 0 asks for none: Jelly-JVM's clients leave it out.

Reference: Jelly gRPC streaming protocol, section "Stream options"; RdfStreamSubscribe in
grpc.proto.
"""

from __future__ import annotations

from dataclasses import replace

from ..codec import StreamOptions
from ..codec.common.options import FLAGS, MIN_NAME_TABLE, TABLES
from ..errors import OptionsError, ServiceError


def check_request(asked: StreamOptions | None) -> None:
    """Refuse options that no stream could have.

    :raises OptionsError: there is no such stream.
    """
    if asked is None:
        return
    asked.check_consistency()
    if asked.max_name_table_size < MIN_NAME_TABLE:
        raise OptionsError(
            f"a name table of {asked.max_name_table_size} entries is too small, "
            f"the least is {MIN_NAME_TABLE}"
        )


def check_answer(asked: StreamOptions | None, options: StreamOptions) -> None:
    """Refuse a stream that is not what was asked for.

    :param options: those of the stream.
    :raises OptionsError: the stream has another physical type, or more than was asked for.

    >>> check_answer(StreamOptions.big(), StreamOptions.small(version=1))
    >>> check_answer(StreamOptions.small(), StreamOptions.big(version=1))
    Traceback (most recent call last):
        ...
    jelly_plugins.errors.OptionsError: the stream's max_name_table_size is 4000, asked for was 128
    """
    if asked is None:
        return
    if options.physical_type is not asked.physical_type:
        raise OptionsError(
            f"the stream's physical type is {options.physical_type.name}, "
            f"asked for was {asked.physical_type.name}"
        )
    for name in FLAGS:
        if getattr(options, name) and not getattr(asked, name):
            raise OptionsError(f"the stream has {name}, which was not asked for")
    for name in (*TABLES, "version"):
        found, most = getattr(options, name), getattr(asked, name)
        if found > most and (name != "version" or most):
            raise OptionsError(f"the stream's {name} is {found}, asked for was {most}")


def answer_to(asked: StreamOptions | None, usual: StreamOptions) -> StreamOptions:
    """Options for a stream that is written for a subscriber.

    :param usual: what the stream has unless something else is asked for; tables are never larger,
        and the name is the one that it has.

    >>> answer_to(StreamOptions(max_name_table_size=8), StreamOptions()).max_name_table_size
    8
    """
    if asked is None:
        return usual
    sizes = {name: min(getattr(asked, name), getattr(usual, name)) for name in TABLES}
    return replace(
        usual,
        physical_type=asked.physical_type,
        logical_type=asked.logical_type or asked.physical_type.flat,
        version=min(asked.version, usual.version) or usual.version,
        **sizes,
    )


def refused(error: Exception) -> ServiceError:
    """The error for a request that cannot be answered as it is."""
    return ServiceError(str(error), status="INVALID_ARGUMENT")
